"""`OCL_RUNTIME_CHECK=on`: places in index arrays on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_runtime.errors import IndexingError
from ocl_runtime.plan.checks import Checks
from ocl_runtime.settings import Settings
from tests.support.interpreted import InterpretedRuntime


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    made = InterpretedRuntime()
    made.checks = Checks()
    with xp.use(made):
        yield made


def bad_read(x: Any) -> Any:
    return x[:, xp.asarray([0, 7, -9])]


def bad_write(x: Any) -> Any:
    x[xp.asarray(np.array([1, 9], "u1"))] = 5
    return x


def bad_take(x: Any) -> Any:
    return xp.take_along_axis(x, xp.asarray([[0], [-4]]), axis=1)


@pytest.mark.parametrize(
    ("use", "value", "axis", "length"), [(bad_read, 7, 1, 3), (bad_write, 9, 0, 2), (bad_take, -4, 1, 3)]
)
def test_the_next_value_that_is_read_says_what_was_wrong(
    use: Callable[[Any], Any], value: int, axis: int, length: int
) -> None:
    x = xp.zeros((2, 3))
    result = use(x)
    result.compute()  # which reads nothing
    with pytest.raises(IndexingError) as caught:
        xp.ones(1).numpy()
    assert f"index {value} in an array was out of bounds for axis {axis} of length {length}" in caught.value.fact
    assert "test_checks.py" in caught.value.place
    assert f"use {-length} to {length - 1}" in caught.value.remedy
    assert result.numpy().size, "it is raised once"


def test_the_first_of_several_is_named() -> None:
    x = xp.zeros(4)
    x[xp.asarray([0, 1])]
    x[xp.asarray([2, -5, 8])]
    x[xp.asarray([99])]
    with pytest.raises(IndexingError, match="index -5 in"):
        float(x[0])
    x[xp.asarray([77])]
    with pytest.raises(IndexingError, match="index 77 in"):
        bool(x[0] == 0)


def test_places_that_are_there_raise_nothing(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(np.arange(12.0, dtype="f4").reshape(3, 4))
    index = xp.asarray(np.array([[-3, 2], [0, 1]], "i8"))
    np.testing.assert_array_equal(x[index].numpy(), x.numpy()[index.numpy()])
    for dtype in ("i1", "u1", "u8"):
        assert x[xp.asarray(np.array([2, 0], dtype))].numpy().shape == (2, 4)
    assert x[x > 5].numpy().tolist() == [6, 7, 8, 9, 10, 11]
    assert x[xp.zeros((0,), dtype="i4")].numpy().shape == (0, 4)
    assert runtime.checks is not None
    runtime.checks.report(lambda record: pytest.fail("nothing is left to be checked"))


def test_checks_do_not_pile_up(runtime: InterpretedRuntime) -> None:
    x, index = xp.zeros(4).compute(), xp.asarray([3, 0])
    for _ in range(64):
        x[index]
    assert runtime.launched, "checks are computed now and then"
    x[xp.asarray([4])]
    with pytest.raises(IndexingError, match="index 4 in"):
        x.numpy()


def test_a_violation_stays_where_its_reader_is_interrupted_and_is_raised_once(runtime: InterpretedRuntime) -> None:
    checks = runtime.checks
    assert checks is not None
    xp.zeros(3)[xp.asarray([5])]

    def interrupted(record: Any) -> Any:
        raise KeyboardInterrupt

    def read_by_two(record: Any) -> Any:
        if record is first:
            with pytest.raises(IndexingError, match="index 5 in"):
                checks.report(lambda record: np.array([1, 5]))  # as another thread does, which is done first
            return np.array([1, 5])
        return np.array([1, 7])

    with pytest.raises(KeyboardInterrupt):
        checks.report(interrupted)
    first = checks._ended[0].node
    xp.zeros(3)[xp.asarray([7])]  # noted later, and not with it
    with pytest.raises(IndexingError, match="index 7 in"):
        checks.report(read_by_two)
    checks.report(lambda record: pytest.fail("nothing is left to be checked"))


def test_looking_leaves_the_violation_to_who_reads() -> None:
    x = xp.zeros(3)
    y = x[xp.asarray([5])]
    assert repr(y).startswith("Array([0.]")
    with pytest.raises(IndexingError, match="index 5 in"):
        y.numpy()


def test_a_download_reports_too() -> None:
    y = xp.zeros(3)[xp.asarray([5])]
    coming = xp.download(y)
    with pytest.raises(IndexingError, match="index 5 in"):
        coming.result()


def test_without_checks_the_nearest_element_is_taken(runtime: InterpretedRuntime) -> None:
    runtime.checks = None
    assert xp.asarray([1, 2, 3])[xp.asarray([5])].tolist() == [3]
    assert not Settings.from_environment({}).check
    assert Settings.from_environment({"OCL_RUNTIME_CHECK": "on"}).check
