"""Every function of the array API standard against array-api-strict: parameters, dtypes, shapes, values, and the
classes of errors."""

from __future__ import annotations

import inspect
import warnings
from types import ModuleType
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.types import F64
from ocl_runtime import arrays as xp
from tests.support.depth import NIGHTLY
from tests.support.interpreted import InterpretedRuntime

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
] if NIGHTLY else ["bool", "int8", "uint32", "int64", "float32", "float64", "complex64"]  # fmt: skip
NO_FUNCTIONS = {"Device", "ArrayAPIStrictFlags"}
NAMES = sorted(
    name
    for name in strict.__all__
    if callable(getattr(strict, name)) and not name.startswith("_") and "flags" not in name
    if name not in NO_FUNCTIONS and not isinstance(getattr(strict, name), strict._dtypes.DType)
)
EXTENSIONS = [
    (extension, name) for extension in ("fft", "linalg") for name in sorted(getattr(strict, extension).__all__)
]

CALLS = {
    "all": ["(x)", "(x, axis=0)", "(x, axis=(0, 1), keepdims=True)"], "any": ["(x)", "(x, axis=-1)"],
    "arange": ["(3)", "(1, 7, 2)", "(0.0, 1.0, 0.25)", "(5, 1, -1, dtype=xp.float32)"],
    "argmax": ["(x)", "(x, axis=0)", "(x, axis=1, keepdims=True)"], "argmin": ["(x)", "(x, axis=-1)"],
    "argsort": ["(x)", "(x, axis=0, descending=True)"], "asarray": ["(x)", "(x, copy=True)", "([[1, 2], [3, 4]])"],
    "astype": [f"(x, xp.{dtype})" for dtype in DTYPES], "broadcast_arrays": ["(x, x[0, :])"],
    "broadcast_shapes": ["((3, 1), (4,))", "((3,), (4,))"], "broadcast_to": ["(x, (2, 3, 4))", "(x, (4, 3))"],
    # Between kinds the answer is NumPy's, beyond the standard.
    "can_cast": [f"(xp.{a}, xp.{b})" for a in DTYPES for b in DTYPES if a.strip("12468") == b.strip("12468")],
    "clip": ["(x)", "(x, min=y)", "(x, max=y)", "(x, y, y)"],
    "concat": ["([x, y])", "((x, y), axis=1)", "([x, y], axis=None)"],
    "count_nonzero": ["(x)", "(x, axis=0)", "(x, axis=(0, 1), keepdims=True)"],
    "cumulative_prod": ["(x[0, :])", "(x, axis=1)", "(x, axis=0, include_initial=True)", "(x)"],
    "cumulative_sum": ["(x[0, :])", "(x, axis=1)", "(x, axis=0, include_initial=True)", "(x)"],
    "diff": ["(x)", "(x, axis=0)", "(x, n=2)", "(x, prepend=y, append=y)"],
    "empty": ["((2, 3))"], "empty_like": ["(x)"], "expand_dims": ["(x, axis=0)", "(x, axis=-1)", "(x, axis=5)"],
    "eye": ["(3)", "(3, 4, k=1)", "(2, dtype=xp.complex64)"], "finfo": [], "flip": ["(x)", "(x, axis=1)"],
    "from_dlpack": [], "full": ["((2, 3), 4)", "(2, 1.5)", "((2,), True)", "((2,), 1j)"], "full_like": ["(x, True)"],
    "iinfo": [], "isdtype": [], "isin": ["(x, y)"],  # 2.6.1 does not invert for small integers
    "linspace": ["(0, 1, 5)", "(0.0, 2.0, num=4, endpoint=False)", "(0, 1j, 3)"],
    "matmul": ["(x, xp.matrix_transpose(y))", "(x[0, :], y[0, :])", "(x, y[0, :])", "(x, y)"],
    "matrix_transpose": ["(x)", "(x[0, :])"], "max": ["(x)", "(x, axis=0)", "(x, axis=1, keepdims=True)"],
    "mean": ["(x)", "(x, axis=0)", "(x, axis=1, keepdims=True)"], "meshgrid": ["(x[0, :], y[:, 0])"],
    "min": ["(x)", "(x, axis=0)"], "moveaxis": ["(x, 0, 1)", "(x, (0, 1), (1, 0))", "(x, 0, 5)"],
    "nonzero": ["(x)"], "ones": ["((2, 3))", "(2, dtype=xp.int8)"], "ones_like": ["(x)"],
    "permute_dims": ["(x, (1, 0))", "(x, (0, 0))"], "prod": ["(x)", "(x, axis=0)", "(x, dtype=xp.complex128)"],
    "repeat": ["(x, 2)", "(x, 3, axis=0)"], "reshape": ["(x, (4, 3))", "(x, (-1,))", "(x, (5,))"],
    "result_type": ["(x, xp.float64)", "(x, 1)", "(x, xp.int8)"], "roll": ["(x, 1)", "(x, (1, 2), axis=(0, 1))"],
    "searchsorted": ["(xp.sort(x[0, :]), y[1, :])", "(xp.sort(x[0, :]), y[1, :], side='right')"],
    "sort": ["(x)", "(x, axis=0)", "(x, descending=True)"], "squeeze": ["(x[None, ...], axis=0)", "(x, axis=0)"],
    "stack": ["([x, y])", "([x, y], axis=-1)"], "std": ["(x)", "(x, axis=0, correction=1)"],
    "sum": ["(x)", "(x, axis=0)", "(x, axis=(0, 1), keepdims=True)", "(x, dtype=xp.complex128)"],
    "take": ["(x, xp.asarray([2, 0]), axis=1)"], "take_along_axis": ["(x, xp.asarray([[1], [0], [2]]), axis=1)"],
    "tensordot": ["(x, xp.matrix_transpose(y), axes=1)", "(x, y, axes=((0, 1), (0, 1)))"], "tile": ["(x, (2, 1))"],
    "tril": ["(x)", "(x, k=1)"], "triu": ["(x)", "(x, k=-1)"], "unstack": ["(x)", "(x, axis=1)"],
    "var": ["(x)", "(x, axis=0, correction=1)"], "vecdot": ["(x, y)", "(x, y, axis=-1)"],
    "where": ["(xp.astype(x, xp.bool), x, y)", "(x, x, y)"], "zeros": ["((2, 3))", "(0)"], "zeros_like": ["(x)"],
    "unique_all": ["(x)"], "unique_counts": ["(x)"], "unique_inverse": ["(x)"], "unique_values": ["(x)"],
    "fft.fftfreq": ["(5)", "(4, d=0.5)"], "fft.rfftfreq": ["(5)", "(4, d=0.5)"],
    "fft.fftshift": ["(x)", "(x, axes=1)"], "fft.ifftshift": ["(x)", "(x, axes=(0, 1))"],
    **{f"fft.{name}": ["(x)", "(x, n=3)", "(x, axis=0, norm='ortho')"]
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": ["(x)", "(x, s=(3, 4), axes=(0, 1))", "(x, axes=(0,), norm='forward')"]
       for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"linalg.{name}": ["(x[:, :3] + 9 * xp.eye(3, dtype=x.dtype))", "(x)"] for name in ("det", "inv", "slogdet")},
    "linalg.cholesky": ["(xp.eye(3, dtype=x.dtype) * x[0, 0])", "(xp.eye(2, dtype=x.dtype), upper=True)", "(x)"],
    "linalg.cross": ["(x[:, :3], y[:, :3])", "(x, y, axis=0)", "(x, y)"],
    "linalg.diagonal": ["(x)", "(x, offset=1)", "(x, offset=-2)", "(x, offset=9)", "(x[0, :])"],
    "linalg.eigh": ["(x[:, :3] + 9 * xp.eye(3, dtype=x.dtype)).eigenvalues", "(x)"],
    "linalg.eigvalsh": ["(x[:, :3] + 9 * xp.eye(3, dtype=x.dtype))", "(x)"],
    "linalg.matmul": ["(x, xp.matrix_transpose(y))", "(x, y)"],
    "linalg.matrix_norm": ["(x)", "(x, keepdims=True, ord='nuc')",
                           *[f"(x, ord={ord})" for ord in ("1", "-1", "2", "-2", "xp.inf")]],
    "linalg.matrix_power": ["(x[:, :3], 3)", "(x[:, :3], 0)", "(x, 2)"],
    "linalg.matrix_rank": ["(x)", "(x, rtol=0.5)"], "linalg.matrix_transpose": ["(x)"],
    "linalg.outer": ["(x[0, :], y[1, :])", "(x, y)"], "linalg.pinv": ["(x)", "(x, rtol=0.1)"],
    "linalg.qr": ["(x)", "(x, mode='complete').R", "(xp.matrix_transpose(x))", "(x[0, :])"],
    "linalg.solve": ["(x[:, :3] + 9 * xp.eye(3, dtype=x.dtype), y)", "(xp.eye(3, dtype=x.dtype), y[:, 0])", "(x, y)"],
    "linalg.svd": ["(x).S", "(x, full_matrices=False).S"], "linalg.svdvals": ["(x)"],
    "linalg.tensordot": ["(x, xp.matrix_transpose(y), axes=1)"],
    "linalg.trace": ["(x)", "(x, offset=1)", "(x, dtype=xp.complex128)"],
    "linalg.vecdot": ["(x, y)", "(x, y, axis=-2)"],
    "linalg.vector_norm": ["(x)", "(x, axis=0, keepdims=True)", "(x, axis=(0, 1), ord=1)", "(x, ord=0)", "(x, ord=3.5)",
                           "(x, axis=1, ord=xp.inf)", "(x, axis=1, ord=-xp.inf)"],
}  # fmt: skip
"""Arguments of the functions that are not elementwise; x and y are matrices."""
ONLY_FLOATS = {
    "fft",
    "ifft",
    "rfft",
    "irfft",
    "hfft",
    "ihfft",
    "fftn",
    "ifftn",
    "rfftn",
    "irfftn",
    "mean",
    "std",
    "var",
}
NO_VALUES = {"empty", "empty_like"}


def named(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def calls(name: str) -> list[str]:
    if name in CALLS:
        return CALLS[name]
    parameters = [*inspect.signature(named(strict, name)).parameters]
    return ["(x)"] if parameters[:1] == ["x"] else ["(x, y)", "(x, 2)", "(2, x)", "(x, 2.5)"]


ALL = [*NAMES, *(f"{extension}.{name}" for extension, name in EXTENSIONS)]
THERE = [name for name in ALL if hasattr(ocl, name) or "." in name]


def test_every_function_is_there() -> None:
    assert set(ALL) == set(THERE)


@pytest.mark.parametrize("name", THERE)
def test_what_the_standard_calls_can_be_called(name: str) -> None:
    theirs = inspect.signature(named(strict, name)).parameters
    ours = inspect.signature(named(ocl, name)).parameters
    positional = [one for one in theirs.values() if one.kind is one.POSITIONAL_ONLY]
    taken = [one for one in ours.values() if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]
    assert len(taken) >= len(positional)
    for one in theirs.values():
        if one.kind in {one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD} and name not in {"can_cast", "finfo", "iinfo"}:
            assert one.name in ours, one.name
            assert ours[one.name].kind is not one.POSITIONAL_ONLY
            assert ours[one.name].default is not one.empty or one.default is one.empty


def host(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, 6, (3, 4))
    if dtype == "bool":
        return numbers % 2 == 0
    if dtype.startswith("c"):
        return (numbers + 1j * rng.integers(-3, 4, (3, 4))).astype(dtype)
    return (numbers / (4 if dtype.startswith("f") else 1)).astype(dtype)


def outcome(namespace: Any, code: str, dtype: str, expression: str) -> Any:
    arrays = {name: namespace.asarray(host(dtype, seed)) for seed, name in enumerate("xy")}
    module = namespace if isinstance(namespace, ModuleType) else strict
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return eval(code + expression, {"xp": module, **arrays})
        except Exception as error:
            return error


def values(result: Any) -> np.ndarray:
    return np.asarray(result.numpy() if isinstance(result, ocl.Array) else result)


def dtype_name(result: Any) -> str:
    dtype = getattr(result, "dtype", result)
    return str(getattr(dtype, "_np_dtype", dtype))


def same(name: str, found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple | list) and not isinstance(wanted, str):
        assert len(found) == len(wanted)
        if hasattr(wanted, "_fields"):
            assert found._fields == wanted._fields
        for one, other in zip(found, wanted, strict=True):
            same(name, one, other)
    elif isinstance(wanted, strict._array_object.Array):
        assert isinstance(found, ocl.Array)
        assert (dtype_name(found), found.shape) == (dtype_name(wanted), wanted.shape)
        if name not in NO_VALUES:
            tolerance = 1e-5 if found.dtype.itemsize in {4, 8} and found.dtype.kind in "fc" else 1e-12
            np.testing.assert_allclose(values(found), np.asarray(wanted._array), rtol=tolerance, atol=tolerance)
    elif isinstance(wanted, strict._dtypes.DType):
        assert dtype_name(found) == dtype_name(wanted)
    else:
        assert found == wanted


DEFAULT = {"arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros", "fft.fftfreq", "fft.rfftfreq"}
"""Functions whose result has the default real dtype, which is float64 in array-api-strict."""
ERRORS = (TypeError, ValueError, IndexError)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", THERE)
def test_dtypes_shapes_values_and_errors(name: str) -> None:
    kinds = ["float64"] if name in DEFAULT | {"can_cast", "broadcast_shapes"} else DTYPES
    if name == "linalg.matrix_rank":  # which takes integers in 2.6.1, beyond the standard
        kinds = ["float32", "float64", "complex64", "complex128"]
    with ocl.use(InterpretedRuntime(default_real=F64)):
        for dtype in kinds:
            for arguments in calls(name):
                wanted = outcome(strict, f"xp.{name}", dtype, arguments)
                if isinstance(wanted, Exception):
                    found = outcome(ocl, f"xp.{name}", dtype, arguments)
                    # Where the standard has no answer, an extension may have one; an error is of the same class.
                    if isinstance(found, Exception):
                        expected = next((kind for kind in ERRORS if isinstance(wanted, kind)), Exception)
                        assert isinstance(found, (expected, *ERRORS)), (dtype, arguments, found)
                    continue
                found = outcome(ocl, f"xp.{name}", dtype, arguments)
                assert not isinstance(found, Exception), (dtype, arguments, found)
                try:
                    same(name, found, wanted)
                except AssertionError as error:
                    raise AssertionError(f"{name}{arguments} of {dtype}: {error}") from None


def test_the_namespace_says_what_there_is() -> None:
    ours, theirs = ocl.__array_namespace_info__(), strict.__array_namespace_info__()
    with ocl.use(InterpretedRuntime()):
        for kind in (None, "bool", "integral", "real floating", "complex floating", "numeric", ("bool", "integral")):
            assert set(ours.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind))
        assert set(ours.capabilities()) == set(theirs.capabilities())
        assert set(ours.default_dtypes()) == set(theirs.default_dtypes())
    assert xp.__array_api_version__ == "2025.12" >= strict.__array_api_version__
