"""NumPy's names that are not here, each with what comes nearest.

Sorting, sets, histograms, linear algebra, Fourier transforms and random numbers come later; then their names move from
here to the modules that compute them.
"""

from __future__ import annotations

_DOWNLOADS = "numpy.{name}(x) takes arrays too: it runs in NumPy on a copy that is downloaded"
_OF_HOST = "numpy.{name} makes arrays of the host; asarray(…) uploads them"
_DATES = "arrays have no dates: use integers, and numpy.{name} on the host"
_OBJECTS = "arrays have no such elements: use numpy.{name} on the host"
_FUNCTIONS = (
    "write it with functions of arrays, such as where(…), which run as one kernel; or use numpy.{name} on x.numpy()"
)

_GROUPS: dict[str, str] = {
    _DOWNLOADS: """
        argpartition argsort bincount einsum frexp gcd histogram histogram2d histogram_bin_edges histogramdd i0
        intersect1d lcm ldexp lexsort median nanmedian nanpercentile nanquantile partition percentile polydiv polyfit
        quantile roots setdiff1d setxor1d sort sort_complex union1d unique unique_all unique_counts unique_inverse
        unique_values
    """,
    _OF_HOST: "kaiser memmap",
    _DATES: "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday isnat",
    _OBJECTS: "char rec recarray record strings",
    _FUNCTIONS: "apply_along_axis frompyfunc nditer nested_iters vectorize",
    "numpy.linalg takes arrays too: it runs in NumPy on copies that are downloaded; @, dot, inner, outer, tensordot, "
    "vecdot, trace, cross and kron are here": "linalg",
    "numpy.fft takes arrays too: it runs in NumPy on copies that are downloaded": "fft",
    "draw with numpy.random.default_rng(seed), and upload with asarray(…)": "random",
    "for missing elements, use NaN with nansum and its kin, or where(mask, x, value)": "ma",
    "use polyval, polyadd, polymul, polyder, polyint; or numpy.{name} on the host": "poly1d polynomial",
    "matrices are arrays with two axes here: use @ for their product": "asmatrix bmat matrix",
    "arrays are in row-major order: x.T has the columns as rows": "asfortranarray",
    "use broadcast_shapes or broadcast_arrays": "broadcast",
    "use ravel(x), which is a view": "flatiter",
    "arrays are real: check the domain first, as in where(x >= 0, sqrt(x), nan)": "emath",
    "einsum is not here yet: see tensordot": "einsum_path",
    "it is about NumPy itself: use numpy.{name}": "core ctypeslib f2py lib test",
}

MISSING: dict[str, str] = {
    name: nearest.format(name=name) for nearest, names in _GROUPS.items() for name in names.split()
}
"""What comes nearest, by name."""
