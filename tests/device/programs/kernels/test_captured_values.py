"""What kernels read of Python's scopes is read at every launch, and is a part of what a variant is known by (R23)."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.errors import KernelError
from ocl_runtime.language import Constant, global_id
from tests.support.arrays import python


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    first: int
    second: float


@dataclasses.dataclass(frozen=True)
class Scale:
    factor: float
    offset: int = 0

    def of(self, v: Any) -> Any:
        return v * self.factor + self.offset


def doubled(v: Any) -> Any:
    return v * 2


def tripled(v: Any) -> Any:
    return v * 3


VALUE: Any = None
MODULE = types.ModuleType("settings")


def launched(kernel: Any) -> float:
    y = ocl.asarray(np.zeros(1, np.float32))
    kernel[1](y)
    return float(y.numpy()[0])


@ocl.kernel
def plain(y):
    y[global_id(0)] = VALUE


@ocl.kernel
def called(y):
    y[global_id(0)] = VALUE(5)


@ocl.kernel
def indexed(y):
    y[global_id(0)] = VALUE[0] * 10 + VALUE[1]


@ocl.kernel
def first(y):
    y[global_id(0)] = VALUE[0]


@ocl.kernel
def halved(y):
    y[global_id(0)] = VALUE[0] / 2 if isinstance(VALUE[0], float) else VALUE[0] // 2


@ocl.kernel
def compared(y):
    if VALUE is None:
        y[global_id(0)] = -1
    elif VALUE in (Colour.RED, "red"):
        y[global_id(0)] = 1
    else:
        y[global_id(0)] = 2


@ocl.kernel
def with_method(y):
    y[global_id(0)] = VALUE.of(3)


@ocl.kernel
def with_factor(y):
    y[global_id(0)] = VALUE.factor


@ocl.kernel
def of_dtype(y):
    y[global_id(0)] = VALUE(300)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("kernel", "values", "results"),
    [
        (plain, (3, 4, 3, 3.5, True, np.float32(2.5), np.int8(-3)), (3, 4, 3, 3.5, 1, 2.5, -3)),
        (plain, (0.0, -0.0), (0.0, -0.0)),
        (plain, (np.float32(0.0), np.float32(-0.0)), (0.0, -0.0)),
        (called, (doubled, tripled, lambda v: v - 1, functools.partial(doubled), abs), (10, 15, 4, 10, 5)),
        (called, (functools.partial(lambda a, b: a - b, 7), functools.partial(lambda a, b: a - b, 9)), (2, 4)),
        (indexed, ((1, 2), (3, 4), Pair(5, 6.5)), (12, 34, 56.5)),
        (first, ((0.0,), (-0.0,)), (0.0, -0.0)),
        (first, (Pair(0.0, 1), Pair(-0.0, 1)), (0.0, -0.0)),
        (halved, ((3,), (3.0,)), (1, 1.5)),
        (compared, (None, Colour.RED, Colour.BLUE, "red", "blue"), (-1, 1, 2, 1, 2)),
        (with_method, (Scale(2.0), Scale(2.0, 1), Scale(0.5)), (6, 7, 1.5)),
        (with_factor, (Scale(0.0), Scale(-0.0)), (0.0, -0.0)),
        (of_dtype, (np.uint8, np.int32, np.float32, np.dtype(np.int8)), (44, 300, 300, 44)),
    ],
    ids=[
        "numbers",
        "zeros",
        "typed zeros",
        "functions",
        "partials",
        "tuples",
        "zeros in tuples",
        "zeros in named tuples",
        "kinds of number in tuples",
        "compared",
        "methods",
        "zeros in dataclasses",
        "dtypes",
    ],
)
def test_each_kind_changed_between_launches(
    kernel: Any, values: Any, results: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second value is seen, and the first one again."""
    here = globals()
    for value, result in [*zip(values, results, strict=True), (values[0], results[0])]:
        monkeypatch.setitem(here, "VALUE", value)
        got = launched(kernel)
        assert got == result
        assert np.signbit(got) == np.signbit(result)


@pytest.mark.parametrize(
    ("values", "results"),
    [
        ((np.float32(0.0), np.float32(-0.0)), (0.0, -0.0)),
        ((Scale(0.0), Scale(-0.0)), (0.0, -0.0)),
    ],
    ids=["typed zeros", "zeros in dataclasses"],
)
def test_each_kind_of_constant_is_told_from_others(values: Any, results: Any) -> None:
    @ocl.kernel
    def kernel(y, value: Constant):
        y[global_id(0)] = value.factor if isinstance(value, Scale) else value

    y = ocl.asarray(np.zeros(1, np.float32))
    for value, result in zip(values, results, strict=True):
        kernel[1](y, value)
        assert np.signbit(y.numpy()[0]) == np.signbit(result)


@pytest.mark.parametrize("kind", [float, np.float32])
def test_nan_has_one_variant(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @ocl.kernel
    def kernel(y, value: Constant):
        y[global_id(0)] = VALUE + value

    y = ocl.asarray(np.zeros(1, np.float32))
    for _ in range(3):
        monkeypatch.setitem(globals(), "VALUE", kind("nan"))
        kernel[1](y, kind("nan"))
    assert len(kernel.variants) == 1


def test_a_cell_and_an_attribute_of_a_module() -> None:
    def made() -> tuple[Any, Callable[[float], None]]:
        value = 1.5

        @ocl.kernel
        def kernel(y):
            y[global_id(0)] = value + MODULE.number

        def change(to: float) -> None:
            nonlocal value
            value = to

        return kernel, change

    kernel, change = made()
    MODULE.number = 10
    assert launched(kernel) == 11.5
    change(2.5)
    assert launched(kernel) == 12.5
    MODULE.number = 20
    assert launched(kernel) == 22.5


def test_what_a_helper_reads_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    @ocl.kernel
    def kernel(y):
        y[global_id(0)] = _plus_value(1)

    monkeypatch.setitem(globals(), "VALUE", 4)
    assert launched(kernel) == 5
    monkeypatch.setitem(globals(), "VALUE", 6)
    assert launched(kernel) == 7
    monkeypatch.setitem(globals(), "_plus_value", doubled)
    assert launched(kernel) == 2


def _plus_value(v: Any) -> Any:
    return v + VALUE


@pytest.mark.parametrize("is_argument", [False, True], ids=["from around", "as an argument"])
def test_a_function_that_was_reloaded_in_place(*, is_argument: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def helper(v: Any, by: Any = 1) -> Any:
        return v + by

    @ocl.kernel
    def around(y, function):
        y[global_id(0)] = VALUE(y[global_id(0)])

    @ocl.kernel
    def passed(y, function):
        y[global_id(0)] = function(y[global_id(0)])

    monkeypatch.setitem(globals(), "VALUE", helper)
    kernel, argument = (passed, helper) if is_argument else (around, None)
    y = ocl.asarray(np.zeros(1, np.float32))
    for _ in range(5):  # so that the call is bound
        kernel[1](y, argument)
    helper.__defaults__ = (10,)
    kernel[1](y, argument)
    assert y.numpy()[0] == 15
    helper.__code__ = doubled.__code__
    kernel[1](y, argument)
    assert y.numpy()[0] == 30


def test_a_name_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "VALUE", 4)
    assert launched(plain) == 4
    monkeypatch.delitem(globals(), "VALUE")
    with pytest.raises(KernelError, match="VALUE is no name"):
        launched(plain)


@pytest.mark.parametrize("value", [np.zeros(3), [1, 2], {"a": 1}, {1, 2}, bytearray(b"a"), (1, [2])], ids=repr)
def test_what_may_change_inside_is_refused(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "VALUE", value)
    with pytest.raises(KernelError, match="which kernels do not capture"):
        launched(plain)


def test_one_variant_for_many_numbers_and_sizes() -> None:
    @ocl.kernel
    def kernel(x, y, a, n, w):
        i = global_id(0)
        if i < y.size:
            y[i] = x[i] * a + n + w

    for number in range(1, 101):
        x = ocl.asarray(np.arange(number, dtype=np.float32))
        y = ocl.asarray(np.zeros(number, np.float32))
        kernel[number](x, y, number / 7, number, np.float32(number))
        assert len(kernel.variants) == 1
    np.testing.assert_array_equal(y.numpy(), x.numpy() * np.float32(100 / 7) + np.float32(100) + np.float32(100))


PROGRAM = """
import hashlib, sys
import numpy as np
import ocl_runtime as ocl
from ocl_runtime.language import global_id, float32
SCALES = (1.5, "a", None, 3)
def helper(v, names=frozenset({"x", "y", "z"})):
    return v * SCALES[0]
@ocl.kernel
def kernel(x, y, a, pair):
    i = global_id(0)
    b, c, d = x[i], x[i] + 1, x[i] + 2
    for j in range(3):
        b, c, d = c, d, helper(b)
    y[i] = b + c * a + d * pair[0] + pair[1]
x = ocl.asarray(np.arange(8, dtype=np.float32))
kernel[8](x, x.copy(), 2.0, (1, 2.5))
print(hashlib.sha256(kernel.source(x, x.copy(), 2.0, (1, 2.5), sizes=8).encode()).hexdigest())
"""


def test_the_text_does_not_depend_on_the_order_of_sets(tmp_path: Any, cache_folder: Any) -> None:
    """So the disk's cache, whose key is the text, is hit by the next process."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    outputs = set()
    for seed in ("1", "2", "3"):
        done = python(str(path), cwd=tmp_path, env={"PYTHONHASHSEED": seed, "OCL_RUNTIME_CACHE": str(cache_folder)})
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
