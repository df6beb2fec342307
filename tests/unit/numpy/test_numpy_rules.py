"""Rules of `ocl_runtime.numpy`: float64 where NumPy makes it, refusals in our own words, runtimes, few kernels."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from types import FrameType
from typing import Any

import numpy
import pytest

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as np
from ocl_ir.types import F64
from ocl_runtime.arrays import Array, reals
from ocl_runtime.arrays.current_runtime import current
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import (
    DTypeError,
    Error,
    MixedDevicesError,
    NumberRangeError,
    PrecisionWarning,
    ShapeError,
    SharingError,
    TransferWarning,
)
from ocl_runtime.numpy import elementwise, promotion
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES
from tests.support.interpreted import InterpretedRuntime
from tests.support.numpy_cases import EXPRESSIONS, names


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield made


FLOAT64: list[Callable[[], Any]] = [
    lambda: np.zeros(3),
    lambda: np.ones((2, 2)),
    lambda: np.empty(2),
    lambda: np.eye(2),
    lambda: np.full(2, 0.5),
    lambda: np.array([1.0]),
    lambda: np.asarray([0.5, 1]),
    lambda: np.array([1, 2], float),
    lambda: np.linspace(0, 1, 3),
    lambda: np.arange(0, 1, 0.5),
    lambda: np.divide(np.arange(3), 2),
    lambda: np.mean(np.arange(3)),
    lambda: np.std(np.arange(3)),
    lambda: np.sin(np.arange(3)),
    lambda: np.add(np.arange(3), 0.5),
    lambda: np.add(np.arange(3), np.ones(3, "f4")),
    lambda: np.average(np.arange(3)),
    lambda: np.sinc(np.arange(3)),
    lambda: np.hanning(4),
    lambda: np.interp(0.5, [0, 1], [0, 1]),
    lambda: np.concatenate([np.arange(3), np.ones(3, "f4")]),
    lambda: np.where(np.arange(3) > 1, 0.5, 1),
    lambda: np.astype(np.arange(3) / np.float64(2), float),
]


@pytest.mark.parametrize("make", FLOAT64)
def test_float64_where_numpy_makes_it(make: Callable[[], Array]) -> None:
    assert make().dtype == numpy.float64
    with xp.use(InterpretedRuntime(default_real=F64)):
        assert make().dtype == numpy.float64


@pytest.mark.parametrize("make", FLOAT64[:-1])
def test_float32_where_the_device_has_no_float64(make: Callable[[], Array]) -> None:
    promotion._float32_instead.cache_clear()
    with xp.use(InterpretedRuntime(Target(group_size=8, fp64=False))):
        with pytest.warns(PrecisionWarning, match="the device has no float64") as caught:
            assert make().dtype == numpy.float32
        assert [one.filename for one in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # one a process
            assert make().dtype == numpy.float32
        numpy.testing.assert_array_equal(make().numpy().shape, make().shape)


@pytest.mark.parametrize("name", elementwise.UFUNCS)
def test_dtypes_of_results_are_numpys(name: str) -> None:
    with xp.use(InterpretedRuntime(Target(group_size=8, fp16=True))):
        check_dtypes(getattr(numpy, name), getattr(np, name))


def check_dtypes(theirs: numpy.ufunc, function: Callable[..., Any]) -> None:
    hosts = [numpy.ones(1, dtype) for dtype in DTYPES]
    arrays = [np.asarray(host) for host in hosts]
    if theirs.nin == 1:
        cases = [((host,), (array,)) for host, array in zip(hosts, arrays, strict=True)]
    else:
        cases = [((hosts[i], hosts[j]), (arrays[i], arrays[j])) for i, j in product(range(len(hosts)), repeat=2)]
        for host, array in zip(hosts, arrays, strict=True):
            for number in (1, 1.0, True, numpy.float64(1), numpy.int8(1), numpy.bool_(True)):
                cases += [((host, number), (array, number)), ((number, host), (number, array))]
    for given, operands in cases:
        try:
            expected = theirs(*given)
        except TypeError:
            with pytest.raises(TypeError):
                function(*operands)
            continue
        found = function(*operands)
        several = isinstance(expected, tuple)
        for one, other in zip(found, expected, strict=True) if several else [(found, expected)]:
            assert one.dtype == other.dtype, given


@pytest.mark.parametrize(
    "quantiles",
    [
        lambda x: np.quantile(x, [0.5]),
        lambda x: np.quantile(x, numpy.array([0.5])),
        lambda x: np.nanquantile(x, 0.5),
        lambda x: np.nanpercentile(x, [[50]]),
        lambda x: np.percentile(x, 50, method="hazen"),
        lambda x: np.gradient(x, numpy.arange(3.0) + 1.7e9) + 1,
    ],
)
@pytest.mark.filterwarnings("ignore::ocl_runtime.errors.PrecisionWarning")
def test_without_float64_parts_and_distances_are_float32(quantiles: Callable[[Array], Array]) -> None:
    with xp.use(InterpretedRuntime(Target(group_size=8, fp64=False))):
        found = quantiles(np.asarray([3, 1, 2], "f4"))
    assert found.dtype == numpy.float32
    assert found.numpy().flat[0] == (-1 if found.ndim == 1 and found.size == 3 else 2)


def test_without_float64_numpys_own_float64_arrays_are_refused() -> None:
    with (
        xp.use(InterpretedRuntime(Target(group_size=8, fp64=False))),
        pytest.raises(DTypeError, match="the device has no float64"),
    ):
        np.sum(numpy.zeros(3))


@pytest.mark.parametrize(
    "divided",
    [
        lambda x: x / 2,
        lambda x: 2 / x[1:],
        lambda x: x.mean(),
        lambda x: x.reshape(3, 1).std(axis=0),
        lambda x: (-x).astype(numpy.int16) * 0.5,
        lambda x: (x + numpy.arange(3)) / 2,
        lambda x: xp.asarray([1, 2, 3]) / x,
        lambda x: (xp.asarray([1, 2, 3]) * x) / 2,
        lambda x: next(iter(x)) / 3,
        xp.sin,
        lambda x: np.add.outer(x, x) / 2,
        lambda x: np.maximum.reduce(x) / 2,
        lambda x: np.cumsum(x) / 2,
        lambda x: np.divmod(x, 2)[1] / 2,
        lambda x: np.nonzero(x)[0] / 2,
        lambda x: np.mgrid[:3] / 2,
        lambda x: np.r_[1, 2, x] / 2,
        lambda x: pickle.loads(pickle.dumps(x)) / 2,
        lambda x: copy.deepcopy(x) / 2,
    ],
)
def test_operators_and_methods_make_float64_of_integers(divided: Callable[[Array], Array]) -> None:
    x = np.arange(3)
    assert divided(x).dtype == numpy.float64
    with xp.use(InterpretedRuntime(Target(group_size=8, fp64=False))):
        assert divided(np.arange(3)).dtype == numpy.float32


def test_what_numpys_names_are_given_keeps_its_setting() -> None:
    x = xp.asarray([1, 2, 3])
    assert np.asarray(x) is x
    np.add(x, 1, out=x)
    np.divmod(x, 2, out=(x, None))
    assert (x / 2).dtype == numpy.float32
    assert (np.add(x, 1) / 2).dtype == numpy.float64
    assert np.asarray(x).mean().dtype == numpy.float32
    assert (np.fromfunction(lambda i: x, (3,)) / 2).dtype == numpy.float64  # what a user's function gave
    assert (x / 2).dtype == numpy.float32


@pytest.mark.parametrize(
    "divided",
    [
        lambda x: (numpy.arange(3) + x) / 2,
        lambda x: numpy.int64(2) * x / 2,
        lambda x: numpy.add(x, 1) / 2,
        lambda x: numpy.divmod(x, 2)[1] / 2,
        lambda x: numpy.reshape(x, (3, 1)).mean(),
        lambda x: numpy.sum(x) / 2,
        lambda x: numpy.zeros(3, dtype=int, like=x) / 2,
        lambda x: numpy.nonzero(x)[0] / 2,
    ],
)
def test_what_numpys_own_functions_give_goes_on_as_their_operands_do(divided: Callable[[Array], Array]) -> None:
    assert divided(xp.arange(3)).dtype == numpy.float32
    assert divided(np.arange(3)).dtype == numpy.float64


def test_what_runs_inside_of_numpys_own_functions_keeps_its_setting(runtime: InterpretedRuntime) -> None:
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TransferWarning)
        numpy.apply_along_axis(lambda line: seen.append((current(), xp.zeros(1).dtype)) or line, 0, np.arange(2))
    assert seen == [(runtime, numpy.float32)]


@pytest.mark.parametrize(
    "copied",
    [
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.from_dlpack(x, copy=True),
        lambda x: x.copy(),
        lambda x: moved(x, xp.asarray),
        lambda x: moved(x, xp.from_dlpack),
        lambda x: moved(x, lambda x: x.to_device(current().device)),
    ],
)
def test_copies_go_on_as_what_they_are_copies_of(copied: Callable[[Array], Array]) -> None:
    assert (copied(np.arange(3)) / 2).dtype == numpy.float64
    assert (copied(xp.arange(3)) / 2).dtype == numpy.float32


def moved(x: Array, move: Callable[[Array], Array]) -> Array:
    with xp.use(InterpretedRuntime()):
        return move(x)


def test_pickled_arrays_go_on_as_before_whatever_the_settings() -> None:
    with xp.use(InterpretedRuntime(default_real=F64)):
        pickled = pickle.dumps((np.arange(3), xp.arange(3)))
    first, second = pickle.loads(pickled)
    assert ((first / 2).dtype, (second / 2).dtype) == (numpy.float64, numpy.float32)
    with xp.use(InterpretedRuntime(Target(group_size=8, fp64=False))):
        assert (pickle.loads(pickled)[0] / 2).dtype == numpy.float32


def test_arrays_are_made_while_arrays_are_made() -> None:
    """A signal's handler may come between any two steps of it."""

    def profile(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_filename == reals.__file__:
            sys.setprofile(None)
            assert (np.arange(2) / 2).dtype == numpy.float64

    with xp.use(InterpretedRuntime()):
        sys.setprofile(profile)
        try:
            assert (np.arange(3) / 2).dtype == numpy.float64
        finally:
            sys.setprofile(None)


def test_arrays_of_both_namespaces_are_of_one_runtime(runtime: InterpretedRuntime) -> None:
    x, y = np.arange(3), xp.arange(3)
    z, w = x + y, y * 2
    xp.compute(x, w, z)
    assert z.device == y.device
    assert xp.asarray(x) is x
    assert xp.from_dlpack(x) is x
    assert "computed already" in xp.explain(x, z, w)
    with xp.use(InterpretedRuntime()), pytest.raises(MixedDevicesError, match="arrays of different runtimes"):
        np.arange(3) + x


def test_the_standards_namespace_keeps_its_setting() -> None:
    x = np.arange(3)
    assert (xp.arange(3) / 2).dtype == numpy.float32
    assert xp.zeros(3).dtype == numpy.float32
    assert x.__array_namespace__().__name__ == "ocl_runtime"


def test_numpys_scalars_are_arrays_of_shape_0() -> None:
    for found in (np.sum([1, 2]), np.sin(0.5), np.dot([1], [2]), np.array(3)):
        assert isinstance(found, Array)
        assert found.shape == ()
    assert isinstance(np.float32(3), numpy.float32)  # the type itself is NumPy's


CODES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
RANKS = {"b": 0, "i": 1, "u": 1, "f": 2}


@pytest.mark.parametrize("name", ["add", "subtract"])
@pytest.mark.parametrize("dtype", CODES)
def test_what_is_added_at_places_is_converted_first(name: str, dtype: str) -> None:
    """Integers of any width and sign, and numbers, wrap around as NumPy's do. Floats into integers, and numbers into
    bools, which NumPy converts in each step, are refused."""
    start, places = numpy.array([3, 0, 1]).astype(dtype), [0, 0, 2, 2]
    numbers: list[Any] = [numpy.bool_([1, 0, 0, 1]), True, 1, 300, -1, 0.5]
    for code in CODES[1:]:
        whole = numpy.iinfo(code) if code[0] in "iu" else None
        values = [1, 2, whole.min, whole.max] if whole and dtype[0] != "f" else [1, 0, 2, 0.5]
        numbers += [numpy.array(values).astype(code), xp.asarray(numpy.array(values).astype(code))]
    for number in numbers:
        host = number.numpy() if isinstance(number, Array) else numpy.asarray(number)
        x, expected = xp.asarray(start), start.copy()
        if RANKS[host.dtype.kind] > RANKS[start.dtype.kind] or (name, dtype) == ("subtract", "?"):
            with pytest.raises(DTypeError, match=rf"{name}\.at of {host.dtype} to {start.dtype}"):
                getattr(np, name).at(x, places, number)
            continue
        if numpy.result_type(dtype, host).kind == "f" and start.dtype.kind in "iu":  # NumPy adds in float64
            host = host.astype(dtype)
        getattr(np, name).at(x, places, number)
        getattr(numpy, name).at(expected, places, host)
        numpy.testing.assert_array_equal(x.numpy(), expected)


REFUSED: list[tuple[str, type[Exception], str]] = [
    ("np.zeros(3, order='F')", Error, "zeros does not take order='F'"),
    ("np.reshape(f2, -1, order='F')", Error, "reshape does not take order='F'"),
    ("np.ravel(f2, 'F')", Error, "ravel does not take order='F'"),
    ("np.array([300], 'i1')", NumberRangeError, "an array of int8 cannot be made of them"),
    ("np.array([[1], [1, 2]], 'i4')", ShapeError, "no array can be made of a list"),
    ("np.array(['a', 'b'], 'f4')", DTypeError, "has no counterpart on a device|no array"),
    ("np.array([1], like=[1])", Error, "array does not take like= a list"),
    ("np.array([1], ndmax=1)", Error, "array does not take ndmax=1"),
    ("np.add(f2, 1, signature='ff->f')", Error, "add does not take signature='ff->f'"),
    ("np.matmul(f2, f2.T, axes=[(0, 1)] * 3)", Error, "matmul does not take axes="),
    ("np.clip(f2, 0, 1, casting='no')", Error, "clip does not take casting='no'"),
    ("np.pad(f1, 1, stat_length=2)", Error, "pad does not take stat_length=2"),
    ("np.interp(f1, [0, 1], [0, 1], period=0)", ShapeError, "interp with a period of 0"),
    ("np.subtract.accumulate(f1)", Error, "subtract.accumulate is not computed on the device"),
    ("np.multiply.at(f1, [0], 2)", Error, "multiply.at is not computed on the device"),
    ("np.add.at(H([1.0]), [0], 1)", Error, "add.at writes into ndarray"),
    ("np.add.at(i1, [0], 0.5)", TypeError, "add.at of float64 to int32"),
    ("np.subtract.at(i1, [0], f1[:1])", TypeError, "subtract.at of float32 to int32"),
    ("np.add.at(b1, [0], 1)", TypeError, "add.at of int64 to bool"),
    ("np.subtract.at(b1, [0], True)", TypeError, "subtract.at of bool to bool"),
    ("np.bincount(i1, minlength=None)", TypeError, "bincount with minlength=None"),
    ("np.histogram(f1, 'odd')", ShapeError, "histogram with bins='odd'"),
    ("np.histogram(f1, [2, 1])", ShapeError, "histogram with edges that do not ascend"),
    ("np.histogram_bin_edges(f1, 0)", ShapeError, "histogram_bin_edges with 0 bins"),
    ("np.partition(f2, 4)", ValueError, "partition at 4 of 4 elements"),
    ("np.argpartition(f2, [0, -4], axis=0)", ValueError, "argpartition at -4 of 3 elements"),
    ("np.partition(f2, 1.5)", TypeError, "float"),
    ("np.partition(f2, 1, kind='quick')", Error, "partition of the kind 'quick'"),
    ("np.partition(f2, 1, order='a')", Error, "partition by fields"),
    ("np.lexsort([f1, f2])", ValueError, "lexsort of keys of shapes"),
    ("np.lexsort([])", ValueError, "lexsort of keys of shapes"),
    ("np.lexsort([f1, f1], axis=1)", IndexError, "lexsort along axis 1"),
    ("np.quantile(f2, 1.5)", ValueError, "quantile of 1.5"),
    ("np.percentile(f2, [50, 101])", ValueError, "percentile of"),
    ("np.quantile(f2, 0.5, method='best')", ValueError, "quantile by the method 'best'"),
    ("np.quantile(f2[:0], 0.5)", IndexError, "quantile of no elements"),
    ("np.quantile(b2, 0.5)", TypeError, "subtract does not take bool, bool"),
    (
        "np.quantile(f1, 0.5, method='inverted_cdf', weights=[-1] * 12)",
        ShapeError,
        "quantile with weights that are neg",
    ),
    ("np.median(f2, axis=2)", IndexError, "median along axis 2"),
    ("np.unique(f2, axis=2)", IndexError, "unique along axis 2"),
    ("np.isin(i1, [1], kind='hash')", Error, "isin of the kind 'hash'"),
    ("np.isin(f1, [1], kind='table')", TypeError, "isin of float32 among int64 by a table"),
    ("np.add.reduceat(f1, [0])", Error, "add.reduceat is not computed on the device"),
    ("np.subtract.reduce(f1)", Error, "subtract.reduce is not computed on the device"),
    ("np.sin(f1, f1, f1)", TypeError, "sin takes 1 operands and 1 results, not 3"),
    ("np.sin()", TypeError, "sin takes 1 operands and 1 results, not 0"),
    ("np.sin(f1, out=[1])", DTypeError, "sin with out= a list"),
    ("np.add(f1, 1, dtype='i4')", DTypeError, "add does not take float32, int as int32"),
    ("np.subtract(b1, b1)", DTypeError, "subtract does not take bool, bool"),
    ("np.bitwise_and(f1, 1)", DTypeError, "bitwise_and does not take float32, int"),
    ("np.sin('a')", DTypeError, "array does not take|sin does not take"),
    ("np.sum([[1], [1, 2]])", ShapeError, "no array can be made of a list"),
    ("np.concatenate([f1, f1], dtype='i4', casting='safe')", DTypeError, "the rule 'safe' does not cast to int32"),
    ("np.putmask(f1, b1, i1)", DTypeError, "the rule 'safe' does not cast to float32"),
    ("np.max(f2, where=b2)", ShapeError, "max with where= and without initial="),
    ("np.sum(f2, axis=2)", IndexError, "along axis 2"),
    ("np.add(c1, 300)", NumberRangeError, "300 is out of range for int8"),
    ("np.split(f1, 5)", ShapeError, "an axis of length 12 in 5 equal parts"),
    ("np.array_split(f1, 0)", ShapeError, "0 parts of an array"),
    ("np.vsplit(f1, 2)", ShapeError, "vsplit of an array with 1 axes"),
    ("np.broadcast_shapes((2,), (3,))", ShapeError, "shapes .2,., .3,. do not broadcast"),
    ("np.select([f2], [1])", DTypeError, "select by what is not bool"),
    ("np.select([], [])", ShapeError, "select with 0 conditions"),
    ("np.piecewise(f1, [f1 > 0], [1, 2, 3])", ShapeError, "piecewise with 1 conditions and 3 functions"),
    ("np.choose(i1, [1, 2], mode='no')", Error, "choose has no mode 'no'"),
    ("np.ravel_multi_index(([0], [0]), (2, 2), mode='no')", Error, "there is no mode 'no'"),
    ("np.put(f1, [99], 1)", IndexError, "put at places that 12 elements do not have"),
    ("np.insert(f1, 99, 1)", IndexError, "insert before place 99"),
    ("np.diag(f3)", ShapeError, "diag of shape"),
    ("np.fill_diagonal(f1, 1)", ShapeError, "fill_diagonal of shape"),
    ("np.diag_indices_from(f2)", ShapeError, "diag_indices_from of shape"),
    ("np.tril_indices_from(f1)", ShapeError, "tril_indices_from of shape"),
    ("np.ix_(f2)", ShapeError, "ix_ of shape"),
    ("np.mgrid[0:]", DTypeError, "a grid without an end"),
    ("np.r_['0,2', f1]", DTypeError, "r_ with directions"),
    ("np.geomspace(0, 1)", ShapeError, "geomspace from or to 0"),
    ("np.asarray_chkfinite(n1)", ShapeError, "the array has infinities or NaN"),
    ("np.require(f1, requirements=['F'])", Error, "require of column-major order"),
    ("np.cross([1], [2])", ShapeError, "cross of vectors of lengths 1 and 1"),
    ("np.cov(f3)", ShapeError, "cov of shape"),
    ("np.cov(f1[:3], ddof=0.5)", ValueError, "cov with ddof 0.5"),
    ("np.cov(f1[:3], fweights=[1, -1, 2])", ValueError, "cov with fweights that are negative"),
    ("np.cov(f1[:3], aweights=[1, -1, 2])", ValueError, "cov with aweights that are negative"),
    ("np.cov(f1[:3], fweights=[1, 0.5, 2])", TypeError, "cov with fweights that are no integers"),
    ("np.cov(f1[:3], fweights=[0, 0, 0])", ZeroDivisionError, "cov with fweights that are all 0"),
    ("np.cov(f1[:3], fweights=i1)", ShapeError, r"cov with fweights of shape \(12,\) for 3 samples"),
    ("np.convolve(f1, [])", ShapeError, "convolve of"),
    ("np.correlate(f1, f1, 'no')", ShapeError, "mode 'no'"),
    ("np.gradient(f1[:1])", ShapeError, "gradient along axis 0 of length 1"),
    ("np.gradient(f2, 1, 2, 3)", ShapeError, "gradient along 2 axes with 3 distances"),
    (
        "np.gradient(f2, [[1, 2, 4]], 1)",
        ShapeError,
        r"gradient along axis 0 of length 3 with distances of shape \(1, 3\)",
    ),
    ("np.gradient(f1, f1[:3])", ShapeError, r"gradient along axis 0 of length 12 with distances of shape \(3,\)"),
    ("np.gradient(b1)", TypeError, "gradient of bool"),
    ("np.ediff1d(b1)", TypeError, "ediff1d of bool"),
    ("np.digitize(f1, [0, 2, 1])", ValueError, "digitize with bins that neither rise nor fall"),
    ("np.digitize(f1, np.array([0, 2, 1]))", ValueError, "digitize with bins that neither rise nor fall"),
    ("np.digitize(f1, f2)", ValueError, r"digitize with bins of shape \(3, 4\)"),
    ("np.digitize(f1 * 1j, [0, 1])", TypeError, "digitize of complex64"),
    ("np.interp(f1, [0, 1], [0])", ShapeError, "interp of points of shapes"),
    ("np.polyder(f1, -1)", ValueError, "polyder -1 times"),
    ("np.polyint(f1, -1)", ValueError, "polyint -1 times"),
    ("np.polyint(f1, 3, [1, 2])", ValueError, "polyint 3 times with 2 constants"),
    ("np.polyder(f1, 'a')", TypeError, "polyder 'a' times"),
    ("np.linalg.lstsq(d2, d2[:, 0], rcond='a')", TypeError, "lstsq with rcond='a'"),
    ("np.linalg.tensorinv(d2, ind='a')", TypeError, "tensorinv with ind='a'"),
    ("np.stack([])", ValueError, "stack of no arrays"),
    ("np.vstack([])", ValueError, "vstack of no arrays"),
    ("np.partition(f1, True)", ValueError, "partition at True"),
    ("np.partition(f1, [True])", ValueError, "partition at .True."),
    ("np.partition(f1, [])", TypeError, "partition at places of float64"),
    ("np.quantile(f1 * 1j, 0.5)", TypeError, "quantile of complex64"),
    ("np.poly(f2)", ShapeError, "poly of shape"),
    ("np.unpackbits(i1)", DTypeError, "unpackbits of int32"),
    ("np.packbits(b1, bitorder='no')", Error, "there is no bitorder 'no'"),
    ("np.vecmat(f1[:3], f2, axis=0)", Error, "vecmat along axis 0"),
    ("np.copyto(i1, 2.5)", DTypeError, "does not cast to int32"),
    ("np.copyto(f1, f2)", ShapeError, "shape"),
]


@pytest.mark.parametrize(("expression", "kind", "fact"), REFUSED)
def test_refuses_in_its_own_words(expression: str, kind: type[Exception], fact: str) -> None:
    with pytest.raises(kind, match=fact) as caught:
        eval(expression, names(np))
    if kind is not TypeError:
        assert isinstance(caught.value, Error)
        assert caught.value.remedy


@pytest.mark.parametrize("name", ["polyadd", "polysub"])
def test_sums_of_polynomials_of_two_runtimes_are_refused_by_name(name: str) -> None:
    with xp.use(InterpretedRuntime()):
        x = np.arange(3)
    with pytest.raises(MixedDevicesError, match=f"{name} of arrays of different runtimes"):
        getattr(np, name)(np.arange(3), x)


def test_an_empty_list_of_places_divides_nothing() -> None:
    assert np.partition(np.asarray([3, 1, 2]), numpy.array([], int)).shape == (3,)


def test_arrays_are_copied_where_that_is_asked_for_and_moved_to_the_runtime_in_use(runtime: InterpretedRuntime) -> None:
    x = np.arange(3)
    assert np.asarray(x) is x
    assert np.asarray(x, copy=False) is x
    for own in (np.array(x), np.asarray(x, copy=True), np.array(x, copy=None, dtype="f4")):
        own[0] = 7
        assert int(x[0]) == 0
    with pytest.raises(SharingError):
        np.asarray([1, 2], copy=False)
    with pytest.raises(SharingError):
        np.asarray(x, "f4", copy=False)
    with pytest.raises(MixedDevicesError):
        np.asarray([1, 2], device="another")
    with xp.use(InterpretedRuntime()) as other:
        assert base_executor(np.asarray(x)._executor) is other
        assert base_executor(np.array([1, 2])._executor) is other
        assert base_executor(np.array([x, x])._executor) is runtime


MAKES_ITS_OWN = ("np.zeros(", "np.ones(", "np.array(", "np.ix_(")
"""Arrays beside the given ones."""
MOVES = ("np.asarray(f", "np.ascontiguousarray(", "np.asarray_chkfinite(", "np.require(")
"""To the runtime in use, which is what they are for."""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "expression", [one for one in EXPRESSIONS if not any(part in one for part in (*MAKES_ITS_OWN, *MOVES))]
)
def test_results_stay_with_the_runtime_of_the_operands(expression: str, runtime: InterpretedRuntime) -> None:
    arrays = names(np)
    with xp.use(InterpretedRuntime()) as other:
        found = eval(expression, arrays)
        several = found if isinstance(found, list | tuple) else [found]
        executors = {base_executor(one._executor) for one in several if isinstance(one, Array)}
    has_arrays = any(name in arrays for name in re.findall(r"\b[a-z]\d\b", expression))
    assert executors <= {runtime if has_arrays else other}


def test_two_runtimes_do_not_mix() -> None:
    x = np.arange(3)
    with xp.use(InterpretedRuntime()):
        y = np.arange(3)
    with pytest.raises(MixedDevicesError):
        np.add(x, y)
    with pytest.raises(MixedDevicesError):
        np.concatenate([x, y])
    with pytest.raises(MixedDevicesError):
        np.zeros(3, like=y)
    assert numpy.zeros(3, like=y)._executor is y._executor
    assert numpy.linspace(y[0], 1, 3)._executor is y._executor


ONE_KERNEL = [
    "np.isclose(f2, f2 + 1)",
    "np.nansum(n2)",
    "np.clip(f2, -1, 1) * np.sinc(f2)",
    "np.nan_to_num(n2)",
    "np.select([f2 > 1, f2 < 0], [f2, -f2], 9)",
    "np.hypot(f2, f2) + np.heaviside(f2, 0.5)",
    "np.diagonal(f2) + 1",
    "np.ptp(f2)",
    "np.add.outer(f1, i1)",
    "np.trapezoid(f1)",
]


@pytest.mark.parametrize("expression", ONE_KERNEL)
def test_compositions_are_fused(expression: str, runtime: InterpretedRuntime) -> None:
    arrays = names(np)
    before = len(runtime.launched)
    eval(expression, arrays).compute()
    assert len(runtime.launched) == before + 1


def test_views_share_memory() -> None:
    x = np.zeros((3, 4))
    for view in (
        np.ravel(x), np.reshape(x, (4, 3)), np.transpose(x), np.swapaxes(x, 0, 1), np.flip(x), np.rot90(x),
        np.split(x, 3)[0], np.atleast_3d(x), np.expand_dims(x, 0), np.squeeze(x[:1]), np.rollaxis(x, 1),
    ):  # fmt: skip
        x[...] = 0
        view[...] = 1
        assert float(np.sum(x)) == view.size
        assert np.shares_memory(x, view)
    for own in (np.array(x), np.copy(x), np.astype(x, float), np.full_like(x, 2), np.positive(x), np.round(x)):
        x[...] = 0
        own[...] = 1
        assert float(np.sum(x)) == 0
        assert not np.may_share_memory(x, own)


def test_numbers_must_have_a_value_in_the_dtype_that_they_fill() -> None:
    for call in (
        lambda: np.full(2, 300, dtype=numpy.uint8), lambda: np.full(2, -1, dtype=numpy.uint8),
        lambda: np.full(2, numpy.nan, dtype=int), lambda: np.copyto(np.zeros(2, "u1"), 300),
        lambda: np.put(np.zeros(2, "u1"), 0, 300),
    ):  # fmt: skip
        with pytest.raises(NumberRangeError):
            call()
    assert np.full(2, 2.75, dtype=int).tolist() == [2, 2]
    assert np.full(2, True, dtype="f4").tolist() == [1, 1]


@pytest.mark.parametrize("number", [-1, 2.5])
def test_linspace_takes_sizes_only(number: Any) -> None:
    with pytest.raises(ShapeError, match="linspace has the length"):
        np.linspace(0, 1, number)
