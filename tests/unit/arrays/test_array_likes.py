"""Functions and operators take what `asarray` takes, or refuse it in their own words."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.meaning.table import TABLE
from ocl_runtime.errors import DTypeError, Error, SharingError
from tests.support.interpreted import InterpretedRuntime

HOST = np.array([[4.0, 1.0, 3.0], [2.0, 0.5, 9.0], [7.0, -1.0, 2.0]], "f4")
VECTOR = np.array([1, 2, 0], "i4")


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made:
        yield made


def added(x: Any) -> Array:
    y = xp.ones((3, 3), dtype="f4")
    xp.add_at(y, [0, 2, 0], x)
    return y


def replaced(x: Any) -> Array:
    y = xp.ones((3, 3), dtype="f4")
    xp.set_at(y, [2, 0, 1], x, unique=True)
    return y


CALLS: dict[str, Callable[[Any], Any]] = {
    "asarray": xp.asarray, "astype": lambda x: xp.astype(x, "i4"), "clip": lambda x: xp.clip(x, 0, 3),
    "where": lambda x: xp.where(xp.greater(x, 1), x, 0), "positive": xp.positive, "conj": xp.conj, "real": xp.real,
    "imag": xp.imag, "angle": xp.angle,
    "complex_of": lambda x: xp.complex_of(x, 1), "round": lambda x: xp.round(x, 1), "square": xp.square,
    "reciprocal": xp.reciprocal,
    "logaddexp": lambda x: xp.logaddexp(x, x), "zeros_like": xp.zeros_like, "ones_like": xp.ones_like,
    "empty_like": xp.empty_like, "full_like": lambda x: xp.full_like(x, 3), "tril": xp.tril, "triu": xp.triu,
    "broadcast_to": lambda x: xp.broadcast_to(x, (2, 3, 3)), "broadcast_arrays": lambda x: xp.broadcast_arrays(x, 1)[1],
    "permute_dims": lambda x: xp.permute_dims(x, (1, 0)), "matrix_transpose": xp.matrix_transpose,
    "moveaxis": lambda x: xp.moveaxis(x, 0, 1), "reshape": lambda x: xp.reshape(x, -1), "expand_dims": xp.expand_dims,
    "squeeze": lambda x: xp.squeeze(xp.expand_dims(x), 0), "flip": xp.flip, "unstack": lambda x: xp.unstack(x)[1],
    "concat": lambda x: xp.concat([x, x]), "stack": lambda x: xp.stack([x, x]), "roll": lambda x: xp.roll(x, 1),
    "tile": lambda x: xp.tile(x, (2,)), "repeat": lambda x: xp.repeat(x, 2), "diff": xp.diff,
    "pad": lambda x: xp.pad(x, 1), "take": lambda x: xp.take(x, [0, 2], axis=1),
    "take_along_axis": lambda x: xp.take_along_axis(x, np.zeros((3, 1), "i4")), "nonzero": lambda x: xp.nonzero(x)[0],
    "sum": xp.sum, "prod": xp.prod, "min": xp.min, "max": xp.max, "any": xp.any, "all": xp.all, "mean": xp.mean,
    "count_nonzero": xp.count_nonzero, "var": xp.var, "std": xp.std, "argmax": xp.argmax, "argmin": xp.argmin,
    "add_at": added, "set_at": replaced, "histogram": lambda x: xp.histogram(x, 3)[0],
    "bincount": None,  # of one axis of integers
    "sort": xp.sort, "argsort": xp.argsort,
    "searchsorted": lambda x: xp.searchsorted([1, 2, 3], x), "isin": lambda x: xp.isin(x, [1, 2]),
    "top_k": lambda x: xp.top_k(x, 2).values,
    "unique_values": xp.unique_values, "unique_all": lambda x: xp.unique_all(x).inverse_indices,
    "unique_counts": lambda x: xp.unique_counts(x).counts, "unique_inverse": lambda x: xp.unique_inverse(x).values,
    "matmul": lambda x: xp.matmul(x, x), "vecdot": lambda x: xp.vecdot(x, x), "tensordot": lambda x: xp.tensordot(x, x),
    "conv": lambda x: xp.conv([[[1, 2]]], xp.reshape(x, (1, 1, -1))[..., :2]),
    "max_pool": lambda x: xp.max_pool(xp.expand_dims(x), 2), "mean_pool": lambda x: xp.mean_pool(xp.expand_dims(x), 2),
    "attention": lambda x: xp.attention(*3 * [xp.expand_dims(x)]),
    "attention_gradients": lambda x: xp.attention_gradients(*4 * [xp.expand_dims(x)])[1],
    "cumulative_sum": lambda x: xp.cumulative_sum(x, 0), "cumulative_prod": lambda x: xp.cumulative_prod(x, 0),
    "meshgrid": lambda x: xp.meshgrid(xp.reshape(x, -1), [1, 2])[0], "isdtype": None, "result_type": None,
    "download": None, "upload": None, "compute": None, "compute_into": None, "explain": None, "from_dlpack": None,
    "from_pyopencl": None, "can_cast": None, "finfo": None, "iinfo": None, "broadcast_shapes": None,
}  # fmt: skip
"""What is called for each function that takes an array; None for those that take something else, or `Array` only."""
TAKES_NO_ARRAY = {
    "allocate", "arange", "current", "empty", "eye", "full", "linspace", "ones", "pinned_empty", "precision",
    "set_default", "use", "zeros",
}  # fmt: skip


def test_every_function_is_called() -> None:
    elementwise = set(TABLE)
    functions = {name for name in xp.__all__ if inspect.isfunction(getattr(xp, name)) and not name.startswith("_")}
    assert functions - elementwise - TAKES_NO_ARRAY <= set(CALLS)


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call is not None])
def test_functions_take_lists_and_numpy_arrays(name: str) -> None:
    call = CALLS[name]
    expected = call(xp.asarray(HOST))
    for given in (HOST, HOST.tolist(), tuple(map(tuple, HOST.tolist()))):
        found = call(given)
        assert isinstance(found, Array)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


class Stranger:
    """Nothing that an array can be made of."""


class Container:
    """Offers its values as NumPy's protocol has it."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return HOST


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call is not None])
@pytest.mark.parametrize("given", [None, "text", Stranger(), {1: 2}])
def test_functions_refuse_the_rest_in_their_own_words(name: str, given: Any) -> None:
    with pytest.raises(DTypeError) as caught:
        CALLS[name](given)
    assert type(given).__name__ in caught.value.fact
    assert "test_array_likes.py" in caught.value.place
    assert caught.value.remedy


def test_pyopencl_in_the_wrong_place_is_answered_with_from_pyopencl() -> None:
    theirs = type("Array", (), {"__module__": "pyopencl.array", "__array__": None})()
    x = xp.zeros(3)
    for wrong in (
        lambda: xp.sum(theirs), lambda: x + theirs, lambda: theirs - x, lambda: xp.asarray(theirs), lambda: x == theirs,
        lambda: x.__setitem__(0, theirs), lambda: x.__iadd__(theirs),
    ):  # fmt: skip
        with pytest.raises(DTypeError, match="pyopencl") as caught:
            wrong()
        assert "from_pyopencl" in caught.value.remedy


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt,
    operator.ge, operator.eq, operator.ne, divmod,
]  # fmt: skip


@pytest.mark.parametrize("function", OPERATORS)
@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, Container])
def test_operators_take_what_asarray_takes(function: Callable[..., Any], make: Callable[..., Any]) -> None:
    other = HOST if make is Container else HOST * 2 + 1
    given = make() if make is Container else make(other)
    for found, expected in ((function(xp.asarray(HOST), given), function(HOST, other)),
                            (function(given, xp.asarray(HOST)), function(other, HOST))):  # fmt: skip
        for one, wanted in zip(found, expected, strict=True) if function is divmod else [(found, expected)]:
            assert isinstance(one, Array)
            assert one.dtype == wanted.dtype
            np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-5)


def test_products_of_matrices_take_numpy_arrays() -> None:
    x = xp.asarray(HOST)
    for product in (x @ HOST, HOST @ x, x @ HOST.tolist()):
        assert isinstance(product, Array)
        np.testing.assert_allclose(product.numpy(), HOST @ HOST, rtol=1e-5)


def test_arrays_in_place_take_numpy_arrays(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(HOST)
    x += HOST
    x *= [1.0, 2.0, 0.5]
    np.testing.assert_array_equal(x.numpy(), (HOST + HOST) * np.array([1.0, 2.0, 0.5], "f4"))
    y = xp.asarray(HOST)
    y @= np.eye(3, dtype="f4")
    np.testing.assert_array_equal(y.numpy(), HOST)


def test_strangers_may_know_better() -> None:
    class Answers:
        def __radd__(self, other: Any) -> str:
            return "added"

        def __eq__(self, other: object) -> Any:
            return "compared"

        def __rmatmul__(self, other: Any) -> str:
            return "multiplied"

        __hash__ = None  # type: ignore[assignment]

    x = xp.zeros(3)
    assert (x + Answers(), x == Answers(), x @ Answers()) == ("added", "compared", "multiplied")
    for wrong in (lambda: x + "a", lambda: None - x, lambda: x @ object(), lambda: x < None, lambda: divmod(x, "a")):
        with pytest.raises(TypeError, match=r"unsupported operand|not supported between"):
            wrong()
    with pytest.raises(TypeError, match="unsupported operand"):
        x += "a"


def test_comparing_with_none() -> None:
    x = xp.zeros(3)
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert None not in [x]
    assert x in [None, x]
    assert "text" not in [x]


def test_contains() -> None:
    x = xp.asarray([1, 2, 3])
    assert 2 in x
    assert 7 not in x
    assert None not in x
    assert "a" not in x


def test_floats_beyond_the_default_real_round_to_infinity() -> None:
    assert xp.asarray(1e39).numpy() == xp.full((), 1e39).numpy() == np.inf
    assert (xp.asarray([1.5]) * 1e39).numpy()[0] == np.inf


# ---------------------------------------------------------------------- asarray


def test_a_copy_is_a_copy() -> None:
    x = xp.asarray([1, 2, 3])
    for copied in (xp.asarray(x, copy=True), xp.asarray(x, dtype=x.dtype, copy=True), x.copy(), +x):
        assert copied is not x
        copied[0] = 9
        assert x.numpy().tolist() == [1, 2, 3]
    same = xp.asarray(x, copy=False)
    assert same is x
    assert xp.asarray(x, dtype="i8", copy=False) is x
    view = xp.asarray(x[1:], copy=True)
    x[1:] = 7
    assert view.numpy().tolist() == [2, 3]


def test_no_copy_converts_nothing_silently() -> None:
    x = xp.asarray([1, 2, 3])
    with pytest.raises(SharingError, match=r"asarray of int64 .* as float32 .* without a copy") as caught:
        xp.asarray(x, dtype="f4", copy=False)
    assert isinstance(caught.value, ValueError)


def test_asarray_moves_to_the_runtime_in_use(runtime: InterpretedRuntime) -> None:
    x = xp.asarray([1.0, 2.0]) * 2
    other = InterpretedRuntime()
    with xp.use(other):
        moved = xp.asarray(x)
        assert moved.device == other.device
        assert moved.numpy().tolist() == [2.0, 4.0]
        assert xp.asarray(x, dtype="i4").dtype == np.int32
        assert xp.asarray(x, device=other.device).device == other.device
        assert x.to_device(other.device).device == other.device
        assert x.to_device(runtime.device) is x
        with pytest.raises(SharingError, match="without a copy"):
            xp.asarray(x, copy=False)
        with pytest.raises(Error, match="is not that of the runtime in use"):
            xp.asarray(x, device=runtime.device)
    assert xp.asarray(x) is x
    with pytest.raises(Error, match="is not that of the runtime in use"):
        x.to_device(other.device)
    with pytest.raises(Error, match="to_device with the stream 3"):
        x.to_device(x.device, stream=3)


# ---------------------------------------------------------------------- the first keyword by position


def test_the_first_keyword_may_be_given_by_position() -> None:
    x = xp.asarray(HOST)
    pairs = [
        (xp.sum(x, 0), HOST.sum(0)), (xp.max(x, (0, 1)), HOST.max()), (xp.std(x, 1), HOST.std(1)),
        (xp.expand_dims(x, 0), HOST[None]), (xp.flip(x, 0), HOST[::-1]), (xp.roll(x, 1, 0), np.roll(HOST, 1, 0)),
        (xp.concat([x, x], 1), np.concatenate([HOST, HOST], 1)), (xp.stack([x, x], 1), np.stack([HOST, HOST], 1)),
        (xp.repeat(x, 2, 1), np.repeat(HOST, 2, 1)), (xp.take(x, [0], 1), HOST[:, :1]),
        (xp.cumulative_sum(x, 0), HOST.cumsum(0)), (xp.tril(x, 1), np.tril(HOST, 1)),
        (xp.diff(x, 2, axis=0), np.diff(HOST, 2, axis=0)), (xp.zeros(2, "i4"), np.zeros(2, "i4")),
        (xp.asarray([1], "u1"), np.array([1], "u1")), (xp.full(2, 1, "i2"), np.full(2, 1, "i2")),
        (xp.eye(2, 3, 1), np.eye(2, 3, 1, "f4")), (xp.arange(0, 4, 2, "i4"), np.arange(0, 4, 2, "i4")),
        (xp.linspace(0, 1, 3, "f4"), np.linspace(0, 1, 3, dtype="f4")), (xp.vecdot(x, x, 0), (HOST * HOST).sum(0)),
        (xp.tensordot(x, x, 1), np.tensordot(HOST, HOST, 1)), (xp.unstack(x, 1)[0], HOST[:, 0]),
        (xp.argmax(x, 1), HOST.argmax(1)), (xp.zeros_like(x, "i4"), np.zeros_like(HOST, "i4")),
    ]  # fmt: skip
    for found, expected in pairs:
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("k", [2**31, -(2**31), 2**40, -(2**70)])
def test_diagonals_beyond_int32(k: int) -> None:
    x = np.ones((3, 4), "f4")
    np.testing.assert_array_equal(xp.eye(3, 4, k=k).numpy(), np.zeros((3, 4)))
    np.testing.assert_array_equal(xp.tril(xp.asarray(x), k=k).numpy(), x * (k > 0))
    np.testing.assert_array_equal(xp.triu(xp.asarray(x), k=k).numpy(), x * (k < 0))


def test_linspace_of_integers() -> None:
    for start, stop, number in ((0, 10, 4), (-1, 1, 4), (5, -5, 7)):
        found = xp.linspace(start, stop, number, dtype="i4")
        np.testing.assert_array_equal(found.numpy(), np.linspace(start, stop, number, dtype="i4"))
        assert found.dtype == np.int32


# ---------------------------------------------------------------------- what the standard lets one ask


def test_namespace_info(runtime: InterpretedRuntime) -> None:
    info = xp.zeros(1).__array_namespace__().__array_namespace_info__()
    assert info.default_device() == runtime.device
    assert info.devices() == [runtime.device]
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}
    assert info.default_dtypes() == {
        "real floating": np.float32, "complex floating": np.complex64, "integral": np.int64, "indexing": np.int64,
    }  # fmt: skip
    assert set(info.dtypes()) == {
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
        "complex64", "complex128",
    }  # fmt: skip
    assert info.dtypes(kind="unsigned integer").keys() == {"uint8", "uint16", "uint32", "uint64"}
    assert info.dtypes(kind=("bool", "real floating"))["float64"] == np.float64
    assert info.dtypes(kind="complex floating") == {"complex64": np.complex64, "complex128": np.complex128}
    with pytest.raises(Error, match="is not that of the runtime in use"):
        info.dtypes(device="elsewhere")


def test_broadcast_shapes() -> None:
    assert xp.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    with pytest.raises(ValueError, match="do not broadcast"):
        xp.broadcast_shapes((3,), (4,))


ODD: list[Callable[[], Any]] = [
    lambda: xp.compute([1.0]), lambda: xp.explain([1.0]), lambda: xp.compute_into([1.0], [2.0]), lambda: xp.concat(5),
    lambda: xp.arange([1.0, 2.0]), lambda: xp.concat(np.ones(2), np.ones(2)),
    lambda: xp.cumulative_sum([1.0], np.ones(2)),
]  # fmt: skip


@pytest.mark.parametrize("call", ODD)
def test_what_takes_no_array_like_says_so(call: Callable[[], Any]) -> None:
    with pytest.raises(Error) as caught:
        call()
    assert "test_array_likes.py" in caught.value.place
    assert caught.value.remedy


def test_a_download_takes_array_likes() -> None:
    assert xp.download(HOST).result().tolist() == HOST.tolist()
    assert xp.asarray(HOST).item((1, 2)) == 9.0
    assert repr(object.__new__(Array)) == "Array(not made yet)"
