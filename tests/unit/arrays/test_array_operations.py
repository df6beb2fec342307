"""The short way to the node of an operation gives what the long one does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.printer import text
from ocl_ir.types import F32, F64, DType
from ocl_runtime.arrays import operations
from ocl_runtime.arrays.meaning.semantics import arity
from ocl_runtime.arrays.meaning.table import TABLE
from ocl_runtime.arrays.operations import binary, operation, reflected, unary
from ocl_runtime.errors import Error
from tests.support.graphs import is_same
from tests.support.interpreted import InterpretedRuntime

DTYPES = ("bool", "i1", "u1", "i4", "u8", "f2", "f4", "f8")
NUMBERS = (0, 3, -1, 300, 2**40, 2**70, 0.5, -2.0, float("nan"), 1e39)


@pytest.fixture(params=[F32, F64], ids=["default float32", "default float64"], autouse=True)
def runtime(request: pytest.FixtureRequest) -> Iterator[InterpretedRuntime]:
    default: DType = request.param
    runtime = InterpretedRuntime(default_real=default)
    with xp.use(runtime):  # type: ignore[arg-type]
        yield runtime


def said(make: Callable[[], Node]) -> tuple[str, list[Node]]:
    """The text of a node, and what it is made of in the end; or the text of the error."""
    try:
        node = make()
    except Error as error:
        return f"{type(error).__name__}: {error.fact}", []
    return text(node), [one for one in graph.walk(node) if isinstance(one, graph.Buffer)]


def arrays(*shape: int) -> list[xp.Array]:
    return [xp.asarray(np.ones(shape, dtype)) for dtype in DTYPES]


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if arity(row) == 1])
def test_of_an_array(name: str) -> None:
    for x in arrays(2, 3):
        assert said(lambda x=x: unary(name, x)) == said(lambda x=x: operation(name, (x,))[0])  # type: ignore[misc]


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if arity(row) == 2])
def test_of_two(name: str) -> None:
    others: list[Any] = [*arrays(2, 3), *arrays(3), *arrays(2, 1), *arrays(4), *NUMBERS, True]
    for x in arrays(2, 3):
        for other in others:
            short = said(lambda x=x, other=other: binary(name, x, other)[0])  # type: ignore[misc]
            assert short == said(lambda x=x, other=other: operation(name, (x, other))[0])  # type: ignore[misc]
            turned = said(lambda x=x, other=other: reflected(name, x, other)[0])  # type: ignore[misc]
            assert turned == said(lambda x=x, other=other: operation(name, (other, x))[0])  # type: ignore[misc]


@pytest.mark.parametrize("dtype", ["i4", "f2", "f4", "f8"])
def test_arithmetic_goes_the_short_way(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = xp.asarray(np.ones((2, 3), dtype))
    with monkeypatch.context() as patched:
        for way in ("operation", "apply"):
            patched.delattr(operations, way)
        results = [x + x, x * 2, 2 - x, xp.abs(x), x + x[0], x < x]
    assert [result.dtype for result in results] == [x.dtype] * 5 + [np.bool_]


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8"])
@pytest.mark.parametrize(
    "way",
    [
        lambda x, k: x**k,
        xp.pow,
        lambda x, k: operation("pow", (x, k))[0],
        lambda x, k: x ** x.numpy().dtype.type(k),
        np.power,
    ],
)
def test_short_powers_are_products(dtype: str, way: Callable[[Any, int], Any]) -> None:
    x = xp.asarray(np.array([0, 1, 3], dtype))
    products = {2: x * x, 3: x * x * x, 4: (x * x) * (x * x)}
    for exponent, product in products.items():
        power = way(x, exponent)
        assert is_same(getattr(power, "_node", power), product._node)
    assert not is_same((x**5)._node, (x * x * x * x * x)._node)


def test_roots_of_negative_zero_and_infinity_are_numpys() -> None:
    """Also by an exponent of NumPy's, which has a dtype of its own (which NumPy 2.1 does not heed)."""
    host = np.array([-0.0, -np.inf, 4.0], np.float32)
    with np.errstate(invalid="ignore"):
        for exponent in (0.5, np.float32(0.5), np.float64(0.5)):
            found = (xp.asarray(host) ** exponent).numpy()
            expected = np.sqrt(host.astype(np.result_type(host, exponent)))
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found[:1]), np.signbit(expected[:1]))
