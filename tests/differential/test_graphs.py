"""Random views, expressions and writes, computed in any order, give what NumPy gives. Nothing is built, so there are
many: it is about which nodes are one, which are computed already, and who still needs what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from tests.support.interpreted import InterpretedRuntime

ALONE = ("transpose", "reverse", "tail", "double", "sum", "sum of rows", "first row", "copy")
OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(ALONE), st.integers(0, 9)),
    st.tuples(st.sampled_from(("add", "multiply")), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.sampled_from(("increase", "write row", "element")), st.integers(0, 9)),
    st.tuples(st.sampled_from(("compute", "values", "drop")), st.integers(0, 9)),
    st.tuples(st.just("compute both"), st.integers(0, 9), st.integers(0, 9)),
)


@pytest.fixture(scope="module")
def runtime() -> Iterator[InterpretedRuntime]:
    runtime = InterpretedRuntime()
    with ocl.use(runtime):
        yield runtime


def made(xp: Any, operation: str, x: Any) -> Any:
    """What an operation on an array alone gives."""
    match operation:
        case "transpose":
            return x.T
        case "reverse":
            return x[::-1]
        case "tail":
            return x[1:] if x.shape[0] > 1 else x
        case "double":
            return x * 2 + 1
        case "sum":
            return xp.sum(x, axis=0, keepdims=True)
        case "sum of rows":
            return xp.sum(x.T, axis=1, keepdims=True)
        case "first row":
            return x + x[0]
    return abs(x)


def run(steps: list[tuple[Any, ...]]) -> None:
    hosts = [np.arange(24, dtype="f4").reshape(4, 6) % 7 + number for number in range(2)]
    pairs: list[list[Any]] = [[ocl.asarray(host), host.copy()] for host in hosts]  # ours and NumPy's
    for operation, *places in steps:
        chosen = [pairs[place % len(pairs)] for place in places]
        x, host = chosen[0]
        match operation:
            case "add" | "multiply":
                y, other = chosen[1]
                if host.shape == other.shape:
                    pairs.append([x + y, host + other] if operation == "add" else [x * y, host * other])
            case "increase":
                x += 1
                host += 1
                chosen[0][:] = x, host
            case "write row":
                x[0] = x[-1] * 2 + 1
                host[0] = host[-1] * 2 + 1
            case "element":
                np.testing.assert_allclose(float(x[-1, -1]), host[-1, -1], rtol=1e-4)
            case "compute":
                x.compute()
            case "compute both":
                ocl.compute(x, chosen[1][0])
            case "values":
                np.testing.assert_allclose(x.numpy(), host, rtol=1e-4)
            case "drop":
                if len(pairs) > 2:
                    del pairs[places[0] % len(pairs)]
            case _:
                pairs.append([made(ocl, operation, x), made(np, operation, host)])
        if np.abs(pairs[-1][1]).max() > 1e4:  # where float32 is no longer exact
            break
    for x, host in pairs:
        np.testing.assert_allclose(x.numpy(), host, rtol=1e-4)


@settings(max_examples=4 * settings().max_examples)
@given(st.lists(OPERATIONS, min_size=4, max_size=16))
@example(  # a view of a sum that was turned to the order in memory is the sum of two views, which has been computed
    [("transpose", 0), ("transpose", 1), ("add", 2, 3), ("transpose", 4), ("add", 0, 1), ("compute", 6), ("values", 5)]
)
@example(  # two views are one node, which a third array holds as it is computed
    [("add", 0, 1), ("tail", 2), ("tail", 2), ("double", 4), ("compute", 3), ("values", 4)]
)
@example(  # what is summed has been computed in another order since
    [("transpose", 0), ("tail", 2), ("increase", 2), ("sum of rows", 3), ("values", 3), ("values", 4)]
)
def test_graphs_are_numpys(runtime: InterpretedRuntime, steps: list[tuple[Any, ...]]) -> None:
    run(steps)
