from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_runtime.errors import IndexingError, ShapeError
from tests.support.interpreted import InterpretedRuntime


@pytest.fixture(autouse=True, scope="module")
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made:
        yield made


def same(found: Any, expected: Any) -> None:
    assert found.dtype == np.asarray(expected).dtype
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found.numpy(), expected)


HOSTS = [
    np.array([[3, 1, 3], [0, 3, -2]], "i4"), np.array([[0.5, np.nan, 2], [np.nan, -np.inf, np.inf]], "f4"),
    np.array([[False, True], [True, False]]), np.array([[7, 7]], "u1"), np.array([[-0.0, 0.0]], "f2"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.dtype))
def test_places_of_extremes(name: str, host: np.ndarray) -> None:
    x, find, reference = xp.asarray(host), getattr(xp, name), getattr(np, name)
    for axis in (None, 0, 1, -1):
        for keepdims in (False, True):
            same(find(x, axis=axis, keepdims=keepdims), reference(host, axis=axis, keepdims=keepdims))
    same(find(x.T, axis=0), reference(host.T, axis=0))
    same(find(x.T), reference(host.T))


@given(st.lists(st.integers(-3, 3) | st.just(None), min_size=1, max_size=40))
def test_the_first_of_several_is_found(values: list[int | None]) -> None:
    host = np.array([np.nan if value is None else value for value in values], "f4")
    same(xp.argmax(xp.asarray(host)), host.argmax())
    same(xp.argmin(xp.asarray(host)), host.argmin())


def test_no_elements_have_no_extreme() -> None:
    for shape, axis in (((0,), None), ((2, 0), 1), ((0, 3), 0)):
        with pytest.raises(ShapeError, match="of no elements"):
            xp.argmax(xp.zeros(shape), axis=axis)
    assert xp.argmax(xp.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(IndexingError, match="argmin along axis 2"):
        xp.argmin(xp.zeros((2, 3)), axis=2)


FLOATS = st.sampled_from([-np.inf, -2.0, -0.0, 0.0, 1.0, 1.5, 3.0, np.inf, np.nan])


@given(
    st.lists(FLOATS, max_size=20),
    st.lists(FLOATS, min_size=1, max_size=6),
    st.sampled_from(["left", "right"]),
    st.booleans(),
)
def test_places_in_sorted_arrays(table: list[float], values: list[float], side: Any, sorted_: bool) -> None:
    host, wanted = np.array(table, "f4"), np.array(values, "f4")
    order = np.argsort(host, kind="stable")
    if sorted_:
        same(xp.searchsorted(host[order], wanted, side=side), np.searchsorted(host[order], wanted, side=side))
    else:
        found = xp.searchsorted(host, wanted, side=side, sorter=order)
        same(found, np.searchsorted(host, wanted, side=side, sorter=order))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 1000])
def test_places_in_sorted_integers(size: int) -> None:
    table = np.arange(size, dtype="i8") // 2
    values = np.arange(-1, size // 2 + 2).reshape(-1, 1)
    for side in ("left", "right"):
        same(xp.searchsorted(table, values, side), np.searchsorted(table, values, side))
        same(xp.searchsorted(table, 1, side), np.searchsorted(table, 1, side))


def test_what_searchsorted_refuses() -> None:
    for wrong in (
        lambda: xp.searchsorted(xp.zeros((2, 2)), 1),
        lambda: xp.searchsorted(xp.zeros(2), 1, side="middle"),  # type: ignore[arg-type]
        lambda: xp.searchsorted(xp.zeros(2), 1, sorter=[0]),
    ):
        with pytest.raises(ShapeError, match="searchsorted in shape"):
            wrong()


@pytest.mark.parametrize("invert", [False, True])
def test_membership(invert: bool) -> None:
    elements, values = np.array([[1, 2], [3, np.nan]], "f4"), np.array([[3, np.nan, 1]], "f4")
    same(xp.isin(elements, values, invert=invert), np.isin(elements, values, invert=invert))
    same(xp.isin(elements, [], invert=invert), np.isin(elements, [], invert=invert))
    same(xp.isin(2, [2, 3], invert=invert), np.isin(2, [2, 3], invert=invert))
