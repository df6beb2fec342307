"""The precision of products by choice: what a block of code says, and what each product keeps of that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as onp
from ocl_ir.graph.build import Contract, Node, walk
from ocl_ir.graph.printer import text
from ocl_ir.types import F16, F32, TF32, DType
from ocl_runtime import linalg
from ocl_runtime.errors import SettingError
from tests.support.interpreted import InterpretedRuntime
from tests.support.products import FMA, WARPGROUPS

RNG = np.random.default_rng(0)
LEFT, RIGHT = (RNG.standard_normal((64, 64)).astype("f4") for _ in range(2))
EXACT = LEFT.astype("f8") @ RIGHT.astype("f8")


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime(WARPGROUPS)) as made:
        yield made


def factors(*arrays: xp.Array) -> list[DType]:
    """As what products of an expression are multiplied."""
    nodes: list[Node] = [x._node for x in arrays]
    return [node.factor for node in walk(*nodes) if isinstance(node, Contract)]


def is_exact(x: xp.Array) -> bool:
    return bool(np.abs(x.numpy() - EXACT).max() < 3e-5)


def test_float32_is_the_default() -> None:
    x, y = xp.asarray(LEFT), xp.asarray(RIGHT)
    assert factors(x @ y) == [F32]
    assert is_exact(x @ y)


def test_a_block_chooses_and_blocks_nest() -> None:
    x = xp.asarray(LEFT)
    with xp.precision("tf32"):
        first = x @ x
        with xp.precision("float32"):
            second = x @ x
        third = x @ x
    assert [*factors(first), *factors(second), *factors(third), *factors(x @ x)] == [TF32, F32, TF32, F32]


def test_an_error_ends_the_choice() -> None:
    x = xp.asarray(LEFT)
    with pytest.raises(KeyError), xp.precision("tf32"):
        raise KeyError
    assert factors(x @ x) == [F32]


def test_functions_are_decorated() -> None:
    @xp.precision("tf32")
    def layer(x: xp.Array) -> xp.Array:
        return xp.tanh(x @ x)

    x = xp.asarray(LEFT)
    assert factors(layer(x)) == factors(layer(x)) == [TF32]
    assert factors(x @ x) == [F32]


def test_functions_that_go_on_after_their_call_are_refused() -> None:
    async def later(x: xp.Array) -> xp.Array:
        return x @ x

    def each(x: xp.Array) -> Iterator[xp.Array]:
        yield x @ x

    for function in (later, each):
        with pytest.raises(SettingError, match=f"{function.__name__} goes on after its call"):
            xp.precision("tf32")(function)


def test_a_decorated_function_may_call_itself() -> None:
    @xp.precision("tf32")
    def power(x: xp.Array, times: int) -> xp.Array:
        return x if times == 1 else x @ power(x, times - 1)

    x = xp.asarray(LEFT)
    assert factors(power(x, 3)) == [TF32, TF32]
    assert factors(x @ x) == [F32]


def test_it_is_decided_where_a_product_is_built() -> None:
    x, y = xp.asarray(LEFT), xp.asarray(RIGHT)
    with xp.precision("tf32"):
        rounded = x @ y
    exact = x @ y
    with xp.precision("tf32"):
        assert is_exact(exact)
    assert not is_exact(rounded)


def test_products_of_the_same_operands_are_not_mixed_up() -> None:
    """In one expression, or one after the other."""
    x, y = xp.asarray(LEFT), xp.asarray(RIGHT)
    for _ in range(4):
        with xp.precision("tf32"):
            rounded = x @ y
        assert is_exact(x @ y)
        assert not is_exact(rounded)
    with xp.precision("tf32"):
        difference = x @ y - EXACT.astype("f4")
    both = difference - (x @ y - EXACT.astype("f4"))
    assert np.abs(both.numpy()).max() > 1e-4


def test_each_thread_has_its_own_choice() -> None:
    x = xp.asarray(LEFT)
    begun, go_on = threading.Event(), threading.Event()
    found: list[DType] = []

    def other(runtime: Any) -> None:
        with xp.use(runtime):
            found.extend(factors(x @ x))
            with xp.precision("tf32"):
                begun.set()
                go_on.wait(10)
                found.extend(factors(x @ x))

    thread = threading.Thread(target=other, args=(xp.current(),))
    with xp.precision("float32"):
        thread.start()
        assert begun.wait(10)
        assert factors(x @ x) == [F32]
        go_on.set()
        thread.join()
    assert found == [F32, TF32]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: xp.matmul(x, x),
        lambda x: xp.tensordot(x, x, axes=1),
        lambda x: onp.einsum("ij,jk", x, x),
        lambda x: onp.dot(x, x),
        lambda x: linalg.matrix_power(x, 2),
        lambda x: xp.conv(xp.reshape(x, (1, 4, 32, 32)), xp.reshape(x[:4, :36], (4, 4, 3, 3))),
        lambda x: xp.attention(*(xp.reshape(x, (1, 1, 64, 64)),) * 3),
    ],
    ids=["matmul", "tensordot", "einsum", "dot", "matrix_power", "conv", "attention"],
)
def test_all_products_of_matrices_take_it(function: Callable[[xp.Array], xp.Array]) -> None:
    x = xp.asarray(LEFT)
    assert set(factors(function(x))) == {F32}
    with xp.precision("tf32"):
        assert set(factors(function(x))) == {TF32}


def test_algorithms_of_linear_algebra_do_not() -> None:
    with xp.precision("tf32"):
        assert set(factors(linalg.pinv(xp.asarray(LEFT)))) == {F32}
        assert set(factors(*linalg.svd(xp.asarray(LEFT)))) == {F32}


def test_other_dtypes_stay_as_they_are() -> None:
    with xp.precision("tf32"):
        x = xp.astype(xp.asarray(LEFT), "float16")
        assert factors(x @ x) == [F16]


def test_the_expression_says_it() -> None:
    x = xp.asarray(LEFT)
    with xp.precision("tf32"):
        rounded = x @ x
    assert [line.find(", in tf32)") > 0 for line in lines(rounded)] == [True]
    assert [line.find(", in tf32)") > 0 for line in lines(x @ x)] == [False]


def lines(x: xp.Array) -> list[str]:
    """What the text of an expression says of its products."""
    return [line for line in text(x._node).splitlines() if "contract(" in line]


def test_a_target_without_such_instructions_multiplies_float32() -> None:
    with xp.use(InterpretedRuntime(FMA)), xp.precision("tf32"):
        assert is_exact(xp.asarray(LEFT) @ xp.asarray(RIGHT))


@pytest.mark.parametrize("name", ["TF32", "bfloat16", None, 32, ""])
def test_what_is_no_precision_is_an_error_that_names_it(name: Any) -> None:
    with pytest.raises(SettingError) as caught:
        xp.precision(name)
    assert repr(name) in str(caught.value)
    assert 'choose "float32" or "tf32"' in str(caught.value)
