"""Variants of products as data, and which of them planning takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.guards import Guards
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, C64, F16, F32, F64, I8, DType
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.lowering import PRODUCTS
from ocl_runtime.plan.kernels.products import variant as variants_module
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.variant import Problem, Variant, plain, variants, version
from ocl_runtime.plan.target import Target
from tests.unit.plan.test_plan import CPU, GPU, Desk

LARGE_GPU = Target(kind="gpu", compute_units=132, group_size=256, vector_bytes=16, local_bytes=48 << 10)

MATRICES = replace(
    LARGE_GPU,
    matrix_instructions=("mma_f16", "mma_bf16", "mma_f64"),
    warpgroups=True,
    tile_bytes=224 << 10,
    fp16=True,
)


def operand(*shape: int, dtype: DType = F32, turned: bool = False, step: int = 1) -> Leaf:
    layout = Layout.contiguous(shape)
    if turned:
        layout = Layout(shape, (*layout.strides[:-2], 1, shape[-2]))
    if step != 1:
        layout = Layout(shape, tuple(stride * step for stride in layout.strides))
    return Leaf(graph.buffer(object(), dtype, layout), layout, False)


def product(
    m: int, n: int, k: int, *, batch: tuple[int, ...] = (), dtype: DType = F32, accumulator: DType | None = None,
    turned: str = "nn", step: int = 1,
) -> Contraction:  # fmt: skip
    return Contraction(
        left=operand(*batch, m, k, dtype=dtype, turned=turned[0] == "t", step=step),
        right=operand(*batch, k, n, dtype=dtype, turned=turned[1] == "t", step=step),
        accumulator=accumulator or dtype,
        dtype=dtype,
    )


PRODUCTS_OF = [
    product(512, 512, 512),
    product(512, 512, 512, turned="nt"),
    product(17, 33, 70000),
    product(16, 16, 16, batch=(3, 4)),
    product(1, 5, 9),
    product(300, 300, 5000, dtype=F16, accumulator=F32, turned="tn"),
    product(64, 64, 64, dtype=C64),
    product(100, 100, 100, dtype=I8, turned="tt"),
    product(128, 128, 128, dtype=F64, step=2),
    product(128, 128, 128, dtype=BF16, accumulator=F32),
]


@pytest.mark.parametrize("target", [CPU, GPU, LARGE_GPU, MATRICES], ids=["cpu", "gpu", "large", "matrices"])
@pytest.mark.parametrize("contraction", PRODUCTS_OF, ids=lambda contraction: str(Problem.of(contraction)))
def test_texts_say_what_they_are_made_of(contraction: Contraction, target: Target) -> None:
    found = variants(contraction, target)
    assert len(found) == len({*found})
    for made in found:
        assert Variant.parse(str(made)) == made
    problem = Problem.of(contraction)
    assert Problem.parse(str(problem)) == problem
    assert problem.holds(contraction)


def test_instructions_of_matrices_have_tiles_of_their_own() -> None:
    halves = product(4096, 4096, 4096, dtype=F16, accumulator=F32)
    wide, narrow = (
        variants(halves, MATRICES),
        variants(replace(halves, left=operand(4096, 4096, dtype=F16, step=3)), MATRICES),
    )
    assert {made.shape for made in wide if made.kind == "tiles"}.isdisjoint(
        {made.shape for made in narrow if made.kind == "tiles"}
    ), "a record for operands that are copied says nothing of others"


def test_panels_are_no_wider_than_a_matrix_that_may_be_read_where_it_lies() -> None:
    one_for_all = Layout((8, 200, 2000), (0, 2000, 1))
    for columns, shapes in ((40, {(8, 2)}), (70, {(8, 2), (6, 4)})):  # of 16 lanes
        contraction = product(200, columns, 2000, batch=(8,))
        contraction = replace(contraction, left=contraction.left._replace(layout=one_for_all))
        assert {made.shape for made in variants(contraction, CPU) if made.kind == "panels"} == shapes


def test_texts_stay_what_they_are() -> None:
    """What is on disk is read by these."""
    assert str(Variant("tiles", (2, 2, 4, 2), 3)) == "tiles 2x2x4x2 parts 3"
    assert str(Problem.of(PRODUCTS_OF[0])) == "f32 in f32 to f32, () 512x512x512, nn"
    assert str(Problem.of(PRODUCTS_OF[3])) == "f32 in f32 to f32, (3x4) 16x16x16, nn"
    assert str(Problem.of(PRODUCTS_OF[5])) == "f16 in f32 to f16, () 300x300x5000, tn"
    assert str(Problem.of(PRODUCTS_OF[8])) == "f64 in f64 to f64, () 128x128x128, ss"


@pytest.mark.parametrize(
    "text",
    ["", "tiles", "tiles 2x2 parts", "knots 2x2 parts 1", "tiles 2x2 parts 1\n", "tiles ²x2 parts 1", "import os"],
)
def test_other_texts_are_none(text: str) -> None:
    assert Variant.parse(text) is None
    assert Problem.parse(text) is None


def test_problems_are_told_apart() -> None:
    texts = {str(Problem.of(contraction)) for contraction in PRODUCTS_OF}
    assert len(texts) == len(PRODUCTS_OF)
    for problem in map(Problem.of, PRODUCTS_OF):
        assert sum(problem.holds(contraction) for contraction in PRODUCTS_OF) == 1


def test_variants_are_tiles_times_parts_and_blocks() -> None:
    found = variants(product(64, 64, 4096), LARGE_GPU)
    assert {made.kind for made in found} == {"tiles", "blocks"}
    assert len({made.shape for made in found if made.kind == "tiles"}) > 2
    assert len({made.parts for made in found}) > 4
    # The columns of the right matrix have to lie next to each other for blocks.
    assert {made.kind for made in variants(product(64, 64, 4096, turned="nt"), LARGE_GPU)} == {"tiles"}
    assert {made.kind for made in variants(product(512, 512, 512), CPU)} == {"panels", "blocks"}
    assert {made.kind for made in variants(product(20, 20, 20), CPU)} == {"blocks"}
    halves = replace(LARGE_GPU, tile_bytes=227 << 10, matrix_instructions=("mma_f16",), warpgroups=True)
    made = variants(product(512, 512, 512, dtype=F16, accumulator=F32), halves)
    assert {variant.kind for variant in made} == {"boxes", "tiles", "blocks"}


def test_tf32_is_a_problem_of_its_own() -> None:
    exact = product(512, 512, 512)
    rounded, target = replace(exact, tf32=True), replace(MATRICES, matrix_instructions=("mma_tf32",))
    problem = Problem.of(rounded)
    assert str(problem) == "tf32 in f32 to f32, () 512x512x512, nn"
    assert problem == Problem.parse(str(problem))
    assert problem.holds(rounded)
    assert not problem.holds(exact)
    assert {variant.kind for variant in variants(rounded, target)} == {"boxes", "blocks"}
    assert {variant.kind for variant in variants(exact, target)} == {"tiles", "blocks"}


class Known:
    """Records that are written down here."""

    def __init__(self, *records: tuple[str, str]) -> None:
        self.generation, self.known = 0, records
        self.taken: list[tuple[str, str]] = []
        self.asked_for: list[Any] = []

    def records(self, algorithm: str) -> Sequence[tuple[str, str]]:
        assert algorithm == PRODUCTS
        return self.known

    def asked(self, algorithm: str, problem: object) -> None:
        self.asked_for.append(problem)

    def used(self, algorithm: str, problem: str, kernels: Sequence[Kernel]) -> None:
        self.taken.append((problem, kernels[0].name))

    def failed(self, kernels: Sequence[Kernel], error: Exception) -> bool:
        return False

    def digest(self) -> str:
        return ""


@pytest.fixture(params=[replace(GPU, group_size=256, local_bytes=48 << 10), CPU], ids=["gpu", "cpu"])
def desk(request: pytest.FixtureRequest) -> Desk:
    return Desk(request.param)


def matrices(desk: Desk, m: int, n: int, k: int) -> tuple[np.ndarray, Node]:
    rng = np.random.default_rng(m)
    left, right = rng.integers(-2, 3, (m, k)).astype("f4"), rng.integers(-2, 3, (k, n)).astype("f4")
    return left @ right, graph.contract(desk.buffer(left), desk.buffer(right))


def contraction_of(root: Node) -> Contraction:
    left, right = root.args
    assert isinstance(left, Buffer)
    assert isinstance(right, Buffer)
    leaves = [Leaf(arg, arg.layout, False) for arg in (left, right)]
    return Contraction(left=leaves[0], right=leaves[1], accumulator=F32, dtype=F32)


def launched(desk: Desk, root: Node) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(launch.kernel.note, launch.global_size, launch.group_size) for launch in desk.plan(root).launches]


def test_the_first_variant_is_what_is_taken_without_records(desk: Desk) -> None:
    for sizes in [(20, 24, 40), (3, 5, 700), (64, 40, 300)]:
        _, root = matrices(desk, *sizes)
        contraction = contraction_of(root)
        before = launched(desk, root)
        first, *_ = variants(contraction, desk.runtime.target)
        desk.runtime.choices = Known((str(Problem.of(contraction)), str(first)))
        assert launched(desk, root) == before
        desk.runtime.choices = None


def test_a_record_chooses_the_variant_and_every_variant_is_right(desk: Desk) -> None:
    expected, root = matrices(desk, 20, 24, 200)
    contraction = contraction_of(root)
    seen = set()
    chosen = variants(contraction, desk.runtime.target)
    for made in chosen[:: max(1, len(chosen) // 6)]:
        known = desk.runtime.choices = Known(("nonsense", "x"), (str(Problem.of(contraction)), str(made)))
        seen.add(tuple(launched(desk, root)))
        assert known.taken == [(str(Problem.of(contraction)), "contract")]
        assert (desk.values(root) == expected).all(), made
    assert len(seen) > 2


@pytest.mark.parametrize("text", ["tiles 9x9x9x9 parts 1", "blocks 4x2 parts 77", "blocks 400x2 parts 1", "", "x"])
def test_a_record_that_says_no_variant_counts_for_nothing(desk: Desk, text: str) -> None:
    _, root = matrices(desk, 20, 24, 40)
    before = launched(desk, root)
    known = desk.runtime.choices = Known((str(Problem.of(contraction_of(root))), text))
    assert launched(desk, root) == before
    assert known.taken == []


def test_a_record_is_for_its_sizes_only(desk: Desk) -> None:
    _, root = matrices(desk, 20, 24, 40)
    _, other = matrices(desk, 20, 24, 41)
    contraction = contraction_of(root)
    before = launched(desk, other)
    known = desk.runtime.choices = Known(
        (str(Problem.of(contraction)), str(variants(contraction, desk.runtime.target)[-1]))
    )
    assert launched(desk, other) == before
    assert known.taken == []


def test_the_version_follows_from_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    here = version()
    assert here == version.__wrapped__()
    for file in variants_module.Path(variants_module.__file__).parent.glob("*.py"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(variants_module, "__file__", str(tmp_path / "variant.py"))
    assert version.__wrapped__() == here, "it is the text that counts, not where and when it was written"
    with (tmp_path / "tile_kernel.py").open("a") as file:
        file.write("# changed\n")
    assert version.__wrapped__() != here


def test_plain_products_have_plain_sizes() -> None:
    guards = Guards()
    m, n, k = (guards.size(name, size) for name, size in zip("mnk", (20, 24, 40), strict=True))
    layouts = Layout.contiguous((m, k)), Layout.contiguous((k, n))
    left, right = (Leaf(graph.buffer(object(), F32, layout), layout, False) for layout in layouts)
    contraction = Contraction(left=left, right=right, accumulator=F32, dtype=F32)
    before = dict(guards.conditions)
    assert math.prod(plain(contraction).sizes) == 20 * 24 * 40
    assert all(type(size) is int for size in plain(contraction).sizes)
    assert guards.conditions == before
    problem = Problem.of(plain(contraction))
    assert not replace(problem, operands="f64").holds(contraction)
    assert guards.conditions == before, "other dtypes ask nothing of sizes"
    assert not replace(problem, sizes=(21, 24, 40)).holds(contraction)
    assert len(guards.conditions) == len(before) + 1
    assert problem.holds(contraction)
