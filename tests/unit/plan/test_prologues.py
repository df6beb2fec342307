"""Products that compute their operands while they pack them, run by the interpreter, with the bits of two kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.indices import Span
from ocl_ir.layout import Layout
from ocl_ir.types import F32, I32, U64
from ocl_runtime.plan.kernels.products import launches, panels
from ocl_runtime.plan.launch import Address
from ocl_runtime.plan.target import Target
from tests.unit.plan.test_plan import Desk

CPU = Target(kind="cpu", compute_units=2, vector_bytes=8, operations_per_byte=4)
M, K, N = 17, 19, 18


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name, value in {"_SLICE_BYTES": 32, "_LEAST_REUSE": 0, "_LEAST_REUSE_OF_ONE": 0, "_LEAST_WORK": 0}.items():
        monkeypatch.setattr(panels, name, value)
    return Desk(CPU)


def real(*shape: int, seed: int = 0, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def turned(node: Node) -> Node:
    rank = len(node.shape)
    return graph.permute(node, (*range(rank - 2), rank - 1, rank - 2))


def op(name: str, *args: Node) -> Node:
    return graph.elementwise(name, *args)


def number(value: float, like: Node) -> Node:
    return graph.scalar(value, like.dtype, like.shape)


def cast(desk: Desk) -> tuple[Node, Node]:
    return graph.convert(desk.buffer(real(M, K, dtype="f2")), F32), desk.buffer(real(K, N, seed=1))


def scaled_rows(desk: Desk) -> tuple[Node, Node]:
    scales = graph.expand(desk.buffer(real(M, 1, seed=2)), (M, K))
    return op("mul", desk.buffer(real(M, K)), scales), desk.buffer(real(K, N, seed=1))


def scaled_inner_axis_of_both(desk: Desk) -> tuple[Node, Node]:
    left, right = desk.buffer(real(M, K)), desk.buffer(real(K, N, seed=1))
    scales = desk.buffer(real(K, seed=2))
    scaled = op("mul", left, graph.expand(scales, (M, K)))
    return scaled, op("add", op("mul", right, number(0.5, right)), graph.expand(graph.reshape(scales, (K, 1)), (K, N)))


def parts(desk: Desk) -> tuple[Node, Node]:
    """Of what is computed, and of what it is computed of."""
    left = graph.index(desk.buffer(real(M + 3, K + 5)), (Span(2, 1, M + 1), Span(4, 1, K + 1)))
    right = graph.index(desk.buffer(real(2 * K, N + 3, seed=1)), (Span(1, 2, K), Span(3, 1, N)))
    return graph.index(op("exp", left), (Span(1, 1, M), Span(1, 1, K))), op("maximum", right, number(0, right))


def one_factor_for_each_batch(desk: Desk) -> tuple[Node, Node]:
    """A matrix that all batches share, and one that a factor makes different."""
    left, right = op("exp", desk.buffer(real(1, M, K))), graph.expand(desk.buffer(real(K, N, seed=1)), (3, K, N))
    return graph.expand(left, (3, M, K)), op("mul", right, graph.expand(desk.buffer(real(3, 1, 1, seed=2)), (3, K, N)))


def masked(desk: Desk) -> tuple[Node, Node]:
    left = desk.buffer(real(M, K))
    seen = op("lt", left, desk.buffer(real(M, K, seed=3)))
    return op("select", seen, left, number(-1, left)), desk.buffer(real(K, N, seed=1))


def batches_of_one_right_matrix(desk: Desk) -> tuple[Node, Node]:
    right = desk.buffer(real(K, N, seed=1))
    return op("neg", desk.buffer(real(3, M, K))), graph.expand(op("exp", right), (3, K, N))


def rounded_halves(desk: Desk) -> tuple[Node, Node]:
    left, right = desk.buffer(real(M, K, dtype="f2")), desk.buffer(real(K, N, seed=1, dtype="f2"))
    return op("mul", left, number(1.1, left)), right


def gathered_rows(desk: Desk) -> tuple[Node, Node]:
    """As of an embedding, on the left, and of columns on the right, as whole vectors and one by one."""
    rows = desk.buffer(np.random.default_rng(4).integers(0, 40, M).astype("i4"))
    columns = desk.buffer(np.random.default_rng(5).integers(0, 30, N).astype("i4"))

    def counted(shape: tuple[int, int], stride: tuple[int, int]) -> Node:
        return graph.iota(I32, Layout(shape, stride))

    left = graph.gather(
        desk.buffer(real(40, K)), [graph.expand(graph.reshape(rows, (M, 1)), (M, K)), counted((M, K), (0, 1))]
    )
    right = graph.gather(desk.buffer(real(K, 30, seed=1)), [counted((K, N), (1, 0)), graph.expand(columns, (K, N))])
    return left, right


CASES: dict[str, Callable[[Desk], tuple[Node, Node]]] = {
    made.__name__: made
    for made in (
        cast, scaled_rows, scaled_inner_axis_of_both, parts, one_factor_for_each_batch, masked,
        batches_of_one_right_matrix, rounded_halves,
        gathered_rows,
    )
}  # fmt: skip


def names(desk: Desk, *roots: Node) -> list[str]:
    return [launch.kernel.name for launch in desk.plan(*roots).launches]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_operands_are_computed_while_they_are_packed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, case: Callable[[Desk], tuple[Node, Node]]
) -> None:
    root = graph.contract(*case(desk))
    assert names(desk, root) == ["pack_panels", "contract"]
    found = desk.values(root)
    monkeypatch.setattr(launches, "computes", lambda *_, **__: False)
    other = Desk(CPU)
    root = graph.contract(*case(other))
    assert len(names(other, root)) > 2
    np.testing.assert_array_equal(found, other.values(root))


def test_rows_of_a_table_that_is_too_long_for_32_bits(desk: Desk) -> None:
    """Nothing runs: there is no such memory here."""
    small = desk.buffer(real(1, K))
    assert isinstance(small, Buffer)
    table = graph.buffer(small.storage, F32, Layout.contiguous((2**32, K)))
    rows = graph.expand(graph.reshape(desk.buffer(np.zeros(M, "i8")), (M, 1)), (M, K))
    left = graph.gather(table, [rows, graph.iota(I32, Layout((M, K), (0, 1)))])
    packing = desk.plan(graph.contract(left, desk.buffer(real(K, N)))).launches[0]
    assert packing.kernel.name == "pack_panels"
    assert packing.kernel.params[0].value.type == U64
    (looked_up,) = (arg for arg in packing.args if isinstance(arg, Address) and arg.storage is small.storage)
    assert looked_up.most is not None
    assert looked_up.most >= M * K


def test_what_somebody_else_reads_is_stored(desk: Desk) -> None:
    left, right = desk.buffer(real(M, K)), desk.buffer(real(K, N, seed=1))
    scaled = op("exp", left)
    product = graph.contract(scaled, right)
    for others in ([scaled], [graph.reduce("sum", scaled, (0,), F32)], [graph.contract(scaled, turned(scaled))]):
        made = names(desk, product, *others)
        assert any("exp" in name for name in made), made


def test_what_is_long_is_computed_once(desk: Desk) -> None:
    left, right = desk.buffer(real(M, K)), desk.buffer(real(K, N, seed=1))
    many = left
    for _ in range(9):
        many = op("exp", many)
    assert names(desk, graph.contract(many, right))[0] == "exp"
    several = left
    for seed in range(3):
        several = op("add", several, desk.buffer(real(M, K, seed=seed)))
    assert names(desk, graph.contract(several, right))[0] == "add"


def test_what_would_be_read_one_by_one_is_stored(desk: Desk) -> None:
    left, right = desk.buffer(real(K, M)), desk.buffer(real(K, N, seed=1))
    assert "exp" in names(desk, graph.contract(turned(op("exp", left)), right))
    mixed = op("add", desk.buffer(real(K, K)), turned(desk.buffer(real(K, K, seed=2))))
    assert "add" in names(desk, graph.contract(mixed, right))


def test_a_matrix_of_places_that_batches_share_is_stored_once(desk: Desk) -> None:
    scaled = op("neg", desk.buffer(real(3, M, K)))
    places = graph.convert(graph.iota(I32, Layout((3, K, N), (0, N, 1))), F32)
    root = graph.contract(scaled, places)
    assert names(desk, root)[-2:] == ["pack_panels", "contract"]
    expected = -real(3, M, K).astype("f8") @ np.arange(K * N, dtype="f8").reshape(K, N)
    np.testing.assert_allclose(desk.values(root), expected, rtol=1e-5, atol=1e-2)


def test_what_is_written_over_is_read_before(desk: Desk) -> None:
    """Without a copy of what is written over, since the product may come after the write."""
    x, right = desk.buffer(real(M, K)), desk.buffer(real(K, N, seed=1))
    own = op("neg", x)  # whose memory is the plan's
    product = graph.contract(op("mul", own, number(2, own)), right)
    written = graph.assign(own, Layout((K,), (1,), 0), graph.scalar(0.0, F32, (K,)))
    planned = desk.plan(written, product)
    assert "copy" not in [launch.kernel.name for launch in planned.launches]
    desk.runtime.run(planned)
    np.testing.assert_allclose(
        desk.host(planned.results[1]), -2 * real(M, K) @ real(K, N, seed=1), rtol=1e-4, atol=1e-4
    )


def test_a_gpu_stores_operands() -> None:
    gpu = Desk(Target(compute_units=4, local_bytes=48 << 10))
    left, right = gpu.buffer(real(64, 64)), gpu.buffer(real(64, 64, seed=1))
    assert names(gpu, graph.contract(op("exp", left), right)) == ["exp", "contract"]
