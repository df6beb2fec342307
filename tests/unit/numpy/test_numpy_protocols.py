"""NumPy's own functions called with arrays of the device: which road each call takes, and what it says about it."""

from __future__ import annotations

import operator
import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import Array
from ocl_runtime.errors import DTypeError, Error, TransferError, TransferWarning
from ocl_runtime.settings import Settings
from tests.support.interpreted import Came, InterpretedRuntime
from tests.support.numpy_cases import same


class Counting(InterpretedRuntime):
    """Counts transfers."""

    def __init__(self, numpy_calls: str = "warn") -> None:
        super().__init__()
        self.numpy_calls = numpy_calls
        self.moved: Counter[str] = Counter()

    def upload(self, host: np.ndarray, where: str = "", *, snapshot: bool = True) -> Any:
        self.moved["up"] += 1
        return super().upload(host, where, snapshot=snapshot)

    def download(self, *args: Any, **how: Any) -> Came:
        self.moved["down"] += 1
        return super().download(*args, **how)


@pytest.fixture(autouse=True)
def runtime() -> Iterator[Counting]:
    with xp.use(Counting()) as made:
        yield made


HOST = np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -4.0]], "f4")

COMPUTED: list[Callable[[Any], Any]] = [
    np.sum,
    lambda x: np.sum(x, axis=1, keepdims=True),
    lambda x: np.mean(x, 0),
    np.sin,
    lambda x: np.add(x, x),
    lambda x: np.add(1, x, dtype="f8"),
    lambda x: np.add.reduce(x, axis=1),
    lambda x: np.add.accumulate(x, axis=1),
    lambda x: np.multiply.outer(x, x),
    np.maximum.reduce,
    lambda x: np.where(x > 0, x, -x),
    lambda x: np.concatenate([x, x]),
    lambda x: np.matmul(x, x.T),
    lambda x: np.clip(x, -1, 1),
    np.zeros_like,
    lambda x: np.zeros(3, like=x),
    lambda x: np.arange(3, like=x),
    lambda x: np.divmod(x, 0.75),
    lambda x: np.float64(2) * x,
    lambda x: np.float32(2) + x,
    lambda x: np.float32(1) > x,
    lambda x: np.stack([x, x], axis=-1),
    np.transpose,
    lambda x: np.broadcast_arrays(x, x[:1]),
]


@pytest.mark.parametrize("function", COMPUTED)
def test_what_the_table_has_stays_on_the_device(function: Callable[[Any], Any], runtime: Counting) -> None:
    x = xp.asarray(HOST)
    before = runtime.moved["down"], runtime.moved["up"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = function(x)
    assert (runtime.moved["down"], runtime.moved["up"]) == before
    same(found, function(HOST))


@pytest.mark.parametrize(
    "operation", [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq, operator.pow]
)
def test_an_array_of_numpys_in_front_is_uploaded(operation: Callable[[Any, Any], Any], runtime: Counting) -> None:
    other = np.abs(HOST[:, ::-1]) + 1
    x = xp.asarray(HOST)
    runtime.moved.clear()
    found = operation(other, x)
    assert runtime.moved == {"up": 1}
    same(found, operation(other, HOST))


def test_a_matrix_of_numpys_in_front_is_multiplied(runtime: Counting) -> None:
    x = xp.asarray(HOST)
    runtime.moved.clear()
    found = HOST.T @ x
    assert runtime.moved == {"up": 1}
    same(found, HOST.T @ HOST)


DOWNLOADED: list[tuple[Callable[[Any], Any], int]] = [
    (lambda x: np.sort_complex(x[0]), 1),
    (lambda x: np.divide.accumulate(x, axis=1), 1),
    (lambda x: np.add.reduceat(x, [0, 1], axis=1), 1),
    (lambda x: np.add.reduceat(x[0], np.argsort(x[1])), 2),
]


@pytest.mark.parametrize(("function", "downloads"), DOWNLOADED)
def test_what_it_has_not_runs_in_numpy_on_a_copy(
    function: Callable[[Any], Any], downloads: int, runtime: Counting
) -> None:
    x = xp.asarray(HOST)
    runtime.moved.clear()
    with pytest.warns(TransferWarning, match="is not computed on the device") as caught:
        found = function(x)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert runtime.moved == {"down": downloads}
    expected = function(HOST)
    assert type(found) is type(expected)
    several = isinstance(expected, tuple)
    for one, other in zip(found, expected, strict=True) if several else [(found, expected)]:
        np.testing.assert_array_equal(one, other)


def test_a_transfer_is_warned_of_once_a_line() -> None:
    x = xp.asarray(HOST)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            np.sort_complex(x)
        np.sort_complex(x)
    assert [str(one.message) for one in caught] == [
        "numpy.sort_complex is not computed on the device: the array is downloaded, and NumPy computes"
    ] * 2
    assert caught[0].lineno + 1 == caught[1].lineno


def test_transfers_can_be_refused_or_be_silent() -> None:
    with xp.use(Counting("error")) as runtime:
        x = xp.asarray(HOST)
        with pytest.raises(
            TransferError, match=r"numpy\.sort_complex is not computed on the device, and OCL_RUNTIME_NUMPY=error"
        ):
            np.sort_complex(x)
        with pytest.raises(TransferError, match=r"numpy\.add\.reduceat"):
            np.add.reduceat(x, [0])
        assert runtime.moved["down"] == 0
        target = HOST.copy()
        target += np.sum(x)
    with xp.use(Counting("quiet")) as runtime, warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(np.sort_complex(xp.asarray(HOST)), np.sort_complex(HOST))
        assert runtime.moved["down"] == 1


def test_the_mode_is_a_setting() -> None:
    assert Settings().numpy_calls == "warn"
    assert Settings.from_environment({"OCL_RUNTIME_NUMPY": "error"}).numpy_calls == "error"
    with pytest.raises(Error, match="OCL_RUNTIME_NUMPY has a value that makes no sense"):
        Settings.from_environment({"OCL_RUNTIME_NUMPY": "loud"})
    assert replace(Settings(), numpy_calls="quiet").numpy_calls == "quiet"


def test_arrays_of_numpys_are_written_to_by_intent(runtime: Counting) -> None:
    x = xp.asarray(HOST)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runtime.moved.clear()
        target = HOST.copy()
        kept = target
        target += x
        assert target is kept
        np.testing.assert_array_equal(target, HOST + HOST)
        assert runtime.moved["down"] == 1

        for write in (
            lambda out, a: np.add(a, a, out=out),
            lambda out, a: np.sum(a, axis=0, keepdims=True, out=out[:1]),
            np.copyto,
            lambda out, a: np.copyto(out, a, where=a > 0),
            lambda out, a: np.multiply(a, 2, out=out, where=a > 0),
            lambda out, a: np.concatenate([a[:1], a[:1]], out=out),
            lambda out, a: np.put(out, [0, 2], a[0]),
            lambda out, a: np.add.at(out, ([0, 0], [1, 1]), a[0, :2]),
            lambda out, a: np.spacing(a, out=out),
            lambda out, a: np.frexp(a, out=(out, np.zeros(out.shape, "i4"))),
        ):
            runtime.moved.clear()
            found, expected = np.ones_like(HOST), np.ones_like(HOST)
            write(found, x)
            write(expected, HOST)
            np.testing.assert_array_equal(found, expected)
            assert runtime.moved["down"] <= 2


def test_arrays_of_ours_are_written_to(runtime: Counting) -> None:
    x = xp.asarray(HOST)
    view = x[0]
    runtime.moved.clear()
    assert np.add(x, 1, out=x) is x
    assert np.sum(HOST, axis=0, out=view) is view
    assert runtime.moved["down"] == 0
    np.testing.assert_allclose(x.numpy(), [HOST.sum(0), HOST[1] + 1])
    mantissa, exponent = xp.zeros(3), xp.zeros(3, dtype="i4")
    found = np.frexp(xp.asarray(HOST[0]), out=(mantissa, exponent))
    assert found[0] is mantissa
    assert runtime.moved["down"] == 1  # of x above
    np.testing.assert_array_equal(exponent.numpy(), np.frexp(HOST[0])[1])
    with pytest.warns(TransferWarning, match=r"numpy\.multiply\.at"):
        np.multiply.at(mantissa, [0, 0], 2)
    np.testing.assert_array_equal(mantissa.numpy(), np.frexp(HOST[0])[0] * np.array([4, 1, 1]))
    runtime.moved.clear()
    np.add.at(mantissa, [0, 0], 1)
    np.subtract.at(mantissa, [1, 1], xp.asarray([2, 3]))
    assert runtime.moved["down"] == 0
    expected = np.frexp(HOST[0])[0] * np.array([4, 1, 1]) + np.array([2, -5, 0])
    np.testing.assert_allclose(mantissa.numpy(), expected, rtol=1e-6)


def test_what_runs_in_numpy_writes_to_out_too(runtime: Counting) -> None:
    x, out = xp.asarray(HOST), xp.zeros_like(xp.asarray(HOST))
    least = np.full(HOST.shape, 1.5, np.longdouble)  # which takes NumPy
    expected = np.clip(HOST, least, 9).astype("f4")
    with pytest.warns(TransferWarning):
        assert np.clip(x, least, 9, out) is out
    np.testing.assert_array_equal(out.numpy(), expected)
    out[...] = 0
    with pytest.warns(TransferWarning):
        assert np.clip(x, least, 9, out=out) is out
    np.testing.assert_array_equal(out.numpy(), expected)
    target = np.zeros_like(HOST, "f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that is meant
        assert np.clip(x, least, 9, out=target) is target
    np.testing.assert_array_equal(target, expected)


def test_casts_that_numpy_refuses_are_refused() -> None:
    x = xp.asarray(HOST)
    ints = np.zeros((2, 3), int)
    with pytest.raises(DTypeError, match="add gives float32, which the rule 'same_kind' does not cast to int64"):
        np.add(x, 1, out=ints)
    with pytest.raises(TypeError):
        ints += x
    np.add(x, 1, out=ints, casting="unsafe")
    with pytest.raises(DTypeError, match="bitwise_and does not take float32, int"):
        np.bitwise_and(x, 1)


class Stranger:
    """An array of another library, which knows ours."""

    __array_ufunc__ = None

    def __radd__(self, other: object) -> str:
        return "theirs"


class Ducks:
    """Another one, with NumPy's protocols."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> str:
        return "theirs"

    def __array_function__(self, *args: Any) -> str:
        return "theirs"


def test_strangers_are_asked_themselves() -> None:
    x = xp.asarray(HOST)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.add(x, Ducks()) == "theirs"
        assert np.add(Ducks(), x) == "theirs"
        assert np.concatenate([x, Ducks()]) == "theirs"
        with pytest.raises(TypeError):
            np.add(x, Stranger())


def test_numpys_special_arrays_keep_their_meaning() -> None:
    masked = np.ma.masked_array(HOST, HOST < 0)
    with pytest.warns(TransferWarning):
        found = np.add(masked, xp.asarray(HOST))
    assert isinstance(found, np.ma.MaskedArray)
    np.testing.assert_array_equal(found.mask, HOST < 0)


def test_a_line_of_numpys_is_not_where_a_transfer_is_asked_for() -> None:
    x = xp.asarray(HOST)
    line = compile("sort_complex(x)", Path(np.__file__).parent / "made_up.py", "eval")
    with pytest.warns(TransferWarning) as caught:
        eval(line, {"sort_complex": np.sort_complex, "x": x})
    assert [one.filename for one in caught] == [__file__]


def test_what_prints_or_stores_downloads_by_intent(runtime: Counting, tmp_path: Any) -> None:
    x = xp.asarray(HOST)
    runtime.moved.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array2string(x) == np.array2string(HOST)
        np.save(tmp_path / "x.npy", x)
        np.savez(tmp_path / "x.npz", x=x, y=HOST)
    assert runtime.moved == {"down": 3}
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), HOST)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npz")["x"], HOST)


def test_operators_do_not_ask_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **how: Any) -> Any:
        raise AssertionError("asked")

    x, y = xp.asarray(HOST), xp.asarray(HOST)
    monkeypatch.setattr(Array, "__array_ufunc__", refuse)
    monkeypatch.setattr(Array, "__array_function__", refuse)
    same((x + y * 2 - x) @ y.T > 1, (HOST + HOST * 2 - HOST) @ HOST.T > 1)
    same(xp.sin(x) + xp.sum(x), np.sin(HOST) + np.sum(HOST))


def test_the_answers_are_loaded_with_the_first_call() -> None:
    from tests.support.fakes import python

    code = (
        "import sys, numpy, ocl_runtime as ocl; print('ocl_runtime.numpy' in sys.modules);"
        "x = ocl.arange(3); print(int(numpy.sum(x)), 'ocl_runtime.numpy' in sys.modules)"
    )
    assert python(code).split() == ["False", "3", "True"]


def test_arrays_are_still_pickled() -> None:
    x = xp.asarray(HOST)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).numpy(), HOST)


ELEMENTS_OF_NUMPY: list[Callable[[Any], Any]] = [
    lambda x: np.equal(x, np.array(["a", "b", "c"], object)),
    lambda x: np.broadcast_arrays(x, None),
    lambda x: np.concatenate([x, np.array([["a", "b", "c"]])]),
]


@pytest.mark.parametrize("function", ELEMENTS_OF_NUMPY)
def test_elements_that_arrays_do_not_have_are_numpys_business(function: Callable[[Any], Any]) -> None:
    with pytest.warns(TransferWarning):
        found = function(xp.asarray(HOST))
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(function(HOST)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_values_have_the_name_that_matplotlib_asks_for() -> None:
    np.testing.assert_array_equal(xp.asarray(HOST).to_numpy(), HOST)
