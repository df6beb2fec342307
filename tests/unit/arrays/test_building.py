"""Building an expression is straight: what is the same in each turn is found out once, and few calls are left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as onp
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Elementwise, Movement
from ocl_ir.guards import Backed, Guards
from ocl_ir.layout import Layout
from ocl_ir.sizes import Symbol
from ocl_ir.types import F32
from ocl_runtime.arrays.meaning import basic_index
from ocl_runtime.arrays.meaning.basic_index import followed, known_index
from tests.support.calls import calls_of
from tests.support.graphs import is_same
from tests.support.interpreted import InterpretedRuntime

HOST = np.arange(60, dtype="f4").reshape(3, 4, 5)


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made:
        yield made


# ---------------------------------------------------------------------- indices

BOUNDS = st.none() | st.integers(-7, 7)
PARTS = (
    st.none()
    | st.integers(-5, 4)
    | st.builds(slice, BOUNDS, BOUNDS, st.none() | st.integers(-3, 3).filter(lambda step: step != 0))
)
KEYS = st.lists(PARTS, max_size=5).map(tuple)


def addresses(layout: Layout) -> np.ndarray[Any, Any]:
    return np.asarray(
        layout.offset
        + sum(
            (places * stride for places, stride in zip(np.indices(layout.shape), layout.strides, strict=True)),
            np.zeros(layout.shape, int),
        )
    )


@given(st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple), st.lists(KEYS, max_size=4))
def test_indices_behind_each_other_pick_what_numpy_does(shape: tuple[int, ...], keys: list[tuple[Any, ...]]) -> None:
    host = np.arange(int(np.prod(shape))).reshape(shape)
    steps: tuple[Any, ...] = ()
    for key in keys:
        step = known_index(host.shape, key)
        try:
            picked = host[key]
        except IndexError:
            assert step is None, "who reads it says what is wrong"
            continue
        assert step is not None
        assert (step.shape(host.shape) == ()) == (len(key) == host.ndim and all(isinstance(part, int) for part in key))
        host = np.asarray(picked)
        steps = followed(steps, step)
    layout: Layout | None = Layout.contiguous(shape)
    plain: Layout | None = layout
    for step in steps:
        assert layout is not None
        assert plain is not None
        layout, plain = step.apply(layout), plain.index(step.value)
    assert layout is not None
    assert layout.shape == host.shape
    if host.size:
        assert np.array_equal(addresses(layout), host)
    if host.size:  # and the stride of an axis of length 1 says nothing
        assert layout.offset == plain.offset
        strides = zip(host.shape, layout.strides, plain.strides, strict=True)
        assert all(length == 1 or one == other for length, one, other in strides), "remembered and worked out"


def test_an_index_is_resolved_once_for_a_shape() -> None:
    x, y = xp.asarray(HOST), xp.asarray(HOST + 1)
    basic_index._resolved.cache_clear()
    for array in (x, y, x, y):
        array[1:, ::2][0]
    assert basic_index._resolved.cache_info().misses == 2
    (step,), (other,) = x[1:, ::2][0]._steps, y[1:, ::2][0]._steps
    assert step is other, "two behind each other are one"
    assert isinstance((x + 1)[1:][0]._node, Movement)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda y: y[0], lambda y: y[0, ...]),
        (lambda y: y[0], lambda y: y[np.int64(0)]),
        (lambda y: y[..., 0], lambda y: y[:, :, 0]),
        (lambda y: y[::-1], lambda y: y[::-1, :]),
        (lambda y: y[1:][:, 1:], lambda y: y[1:, 1:]),
        (lambda y: y[1:][::-1][1:], lambda y: y[-2:0:-1]),
    ],
)
def test_an_index_is_one_node_however_it_is_written(one: Callable[[Any], Any], other: Callable[[Any], Any]) -> None:
    y = xp.cumulative_sum(xp.asarray(HOST), axis=0)
    assert is_same((-one(y))._node, (-other(y))._node)


def test_tables_of_indices_are_bounded_and_find_what_comes_back() -> None:
    view = xp.asarray(HOST)[:, 0]
    before = basic_index._step.cache_info().misses
    for _ in range(150):
        view = view[::-1]
    assert basic_index._step.cache_info().misses <= before + 3
    assert len(view._steps) == 1


def test_sizes_that_left_a_captured_function_stay_out_of_tables() -> None:
    """What is equal is found in a table, and they are equal to integers."""
    guards = Guards()
    guards.close()
    sizes = tuple([cast("int", Backed(length, Symbol(f"n{length}"), guards)) for length in (5, 7)])
    left = xp.zeros(1)._new(graph.undefined(F32, sizes))
    rows = xp.asarray(np.array([1, 0], "i4"))
    works: list[Callable[[Any], Any]] = [
        lambda x: x[0] + x,
        lambda x: x[rows],
        lambda x: x[1:, ::2],
        lambda x: xp.reshape(x, (5, 1, 7)),
        xp.flip,
    ]
    for work in works:
        work(left)
        assert {*map(type, work(xp.ones((5, 7))).shape)} == {int}


@pytest.mark.parametrize(
    "key", [1.0, slice(0, 2.0), slice(0, "a"), slice(None, None, 0), 7, (0, 0, 0, 0), (Ellipsis,) * 2]
)
def test_what_is_no_index_says_so_after_one_that_is_alike(key: Any) -> None:
    x = xp.asarray(HOST)
    for _ in range(2):
        x[1], x[0:2]
        with pytest.raises(IndexError):
            x[key]


def test_bools_and_numpys_integers_are_no_plain_ones() -> None:
    x = xp.asarray(HOST)
    assert x[1].shape == (4, 5)
    assert x[True].shape == (1, 3, 4, 5)
    assert x[np.int64(1)].shape == (4, 5)
    assert np.array_equal(x[np.int64(1) : np.int64(3)].numpy(), HOST[1:3])


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((3, 4, 5), (3, 1, 4, 5, 1)),
        ((1, 4, 1), (4,)),
        ((4,), (1, 4, 1)),
        ((1, 3, 1, 4), (3, 1, 4)),
        ((2, 1), (1, 2, 1)),
    ],
)
def test_a_reshape_of_ones_is_an_index_and_never_copies(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    host = np.arange(float(np.prod(shape)), dtype="f4").reshape(shape)
    whole = xp.asarray(np.stack([host, host + 1], axis=-1))
    x = whole[(*[slice(None)] * host.ndim, 1)]  # a view with gaps, of which another reshape would be a copy
    y = xp.reshape(x, wanted)
    assert y.shape == wanted
    assert [step.kind for step in y._steps] == ["index"]
    assert np.array_equal(y.numpy(), (host + 1).reshape(wanted))
    y[...] = 0
    assert not x.numpy().any(), "it is a view"


def test_an_outer_product_of_columns_copies_none(runtime: InterpretedRuntime) -> None:
    a = onp.asarray(HOST[0])
    before = len(runtime.launched)
    product = onp.outer(a[:, 1], a[2])
    assert np.array_equal(product.numpy(), np.outer(HOST[0][:, 1], HOST[0][2]))
    assert len(runtime.launched) == before + 1


# ---------------------------------------------------------------------- operations


@pytest.mark.parametrize("name", ["minimum", "add", "true_divide", "less", "sqrt", "negative", "logical_and"])
def test_a_ufunc_gives_the_same_when_it_remembers_the_kinds(name: str) -> None:
    function, numpys = getattr(onp, name), getattr(np, name)
    others: list[Any] = [np.array([3, 1, 2], dtype) for dtype in ("f4", "f8", "i4", "u1", "?")]
    for host in others:
        for other in [*others, 2, 0.5, -0.0, True] if numpys.nin == 2 else [None]:
            given_host = (host,) if other is None else (host, other)
            given_here = [onp.asarray(one) if isinstance(one, np.ndarray) else one for one in given_host]
            for _ in range(2):
                try:
                    with np.errstate(all="ignore"):
                        expected = numpys(*given_host)
                except TypeError:
                    with pytest.raises(TypeError):
                        function(*given_here)
                    continue
                result = function(*given_here)
                assert result.dtype == expected.dtype, (host.dtype, other)
                assert np.array_equal(result.numpy(), expected), (host.dtype, other)


@pytest.mark.parametrize("name", ["add", "sin", "modf", "divmod", "minimum"])
def test_a_ufunc_takes_results_by_position_every_time(name: str) -> None:
    function, numpys = getattr(onp, name), getattr(np, name)
    given_host = [np.array([1.5, 2, 3], "f4"), np.array([2, 2, 0.5], "f4")][: numpys.nin]
    for _ in range(3):
        outs = [onp.asarray(np.zeros(3, "f4")) for _ in range(numpys.nout)]
        result = function(*map(onp.asarray, given_host), *outs)
        assert (result if numpys.nout > 1 else (result,))[0] is outs[0]
        expected = numpys(*given_host)
        for out, wanted in zip(outs, expected if numpys.nout > 1 else (expected,), strict=True):
            np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-6)
        function(*map(onp.asarray, given_host))  # which may be remembered
        with pytest.raises(TypeError):
            function(*map(onp.asarray, given_host), *outs, outs[0])


def test_an_operation_in_place_has_its_own_line_beside_one_that_is_alike() -> None:
    x, y = xp.zeros(4) + 0, xp.asarray(np.ones(3, "f4"))
    view = x[1:]
    before = view + y
    view += y
    line = sys._getframe().f_lineno - 1
    assert before is not view
    assert x._node.where.endswith(f":{line}")


def test_nodes_of_an_operation_have_its_line() -> None:
    x, y = xp.asarray(HOST), xp.asarray(HOST)
    z = x[1:] + y[:-1] * 2
    line = sys._getframe().f_lineno - 1
    node = z._node
    assert isinstance(node, Elementwise)
    assert {one.where.rpartition(":")[2] for one in (node, *node.args) if one.where} == {str(line)}


def statement(x: Any, y: Any) -> None:
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3


CALLS: dict[str, tuple[Callable[[Any, Any], object], int]] = {
    "x + y": (lambda x, y: x + y, 16),
    "x * 2": (lambda x, y: x * 2.0, 16),
    "x[1:-1]": (lambda x, y: x[1:-1], 9),
    "a statement of a stencil": (statement, 108),
}


@pytest.mark.parametrize("name", CALLS)
def test_few_functions_are_called(name: str) -> None:
    work, most = CALLS[name]
    x, y = (xp.asarray(np.ones(100, "f4")) * 1.0 for _ in range(2))
    work(x, y)
    found = calls_of(lambda: work(x, y)) - 1
    assert found <= most, f"{found} calls"
