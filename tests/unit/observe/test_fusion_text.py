"""How a dump shows the groups and bundles of a plan, and the passes of an evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.host.schedule import Schedule
from ocl_ir.types import F32
from ocl_runtime.commands.expression import Planner, parse
from ocl_runtime.observe.fusion import bundles_text, groups_text
from ocl_runtime.observe.stages import passes_text
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.cache.unplanned import Unplanned
from ocl_runtime.plan.donation import DonationIndices
from ocl_runtime.plan.planner import Fusion
from ocl_runtime.plan.structure import Structure
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

TARGET = Target(kind="gpu", vector_bytes=16, streams=4, fp16=False)
NOTHING = DonationIndices((), ())
SHIFTED = "exp(x - max(x))"


def fused(expression: str, *declarations: str, target: Target = TARGET) -> Fusion:
    fusions: list[Fusion] = []
    planner = Planner(target, F32)
    parsed = parse(expression, declarations, planner)
    Template(Unplanned(Structure([parsed.node]), NOTHING, fusions.append, parsed.names), planner)
    (fusion,) = fusions
    return fusion


def structure_of(expression: str, *declarations: str) -> Structure:
    return Structure([parse(expression, declarations, Planner(TARGET, F32)).node])


def test_an_operand_that_is_packed() -> None:
    target = Target(kind="cpu", compute_units=2, vector_bytes=64)
    fusion = fused("(tanh(x) * 2) @ w + 1", "x:f32[512,512]", "w:f32[512,512]", target=target)
    assert bundles_text(fusion) == (
        "1 bundle of 3 groups\n"
        "\n"
        "bundle 1: kernels pack_panels, contract_add, over [512, 512]\n"
        "  computes %2, y\n"
        "  joins %2 and y: product\n"
        "  joins %1 and %2, y: operand\n"
        "  stores y: it is wanted\n"
        "  keeps %2 in registers\n"
        "\n"
        "rules:\n"
        "  product: Elementwise operations over the results of a product of matrices, which nothing else reads\n"
        "  operand: Elementwise operations whose result a product of matrices alone reads, and packs\n"
    )


def test_groups_and_bundles_of_a_softmax_of_everything() -> None:
    fusion = fused(f"{SHIFTED} / sum({SHIFTED})", "x:f32[1000000]")
    assert groups_text(fusion) == (
        "3 groups\n"
        "\n"
        "group %0: a reduction along [0], over [1000000]\n"
        "  %0: f32[] = max(x, axes [0])    <expression>:1\n"
        "  reads x: f32[1000000]\n"
        "  ends at %0: a reduction ends its kernel\n"
        "\n"
        "group %3: a reduction along [0], over [1000000]\n"
        "  %1: f32[1000000] = sub(x, expand(%0, [1000000]))    (computed for y, too)    <expression>:1\n"
        "  %2: f32[1000000] = exp(%1)    (computed for y, too)    <expression>:1\n"
        "  %3: f32[] = sum(%2, axes [0])    <expression>:1\n"
        "  reads x: f32[1000000]\n"
        "  reads %0: f32[1000000] strides [0]\n"
        "  ends at %3: a reduction ends its kernel\n"
        "\n"
        "group y: elementwise, over [1000000]\n"
        "  %1: f32[1000000] = sub(x, expand(%0, [1000000]))    (computed for %3, too)    <expression>:1\n"
        "  %2: f32[1000000] = exp(%1)    (computed for %3, too)    <expression>:1\n"
        "  y: f32[1000000] = div(%2, expand(%3, [1000000]))    <expression>:1\n"
        "  reads x: f32[1000000]\n"
        "  reads %0: f32[1000000] strides [0]\n"
        "  reads %3: f32[1000000] strides [0]\n"
        "  ends at y: it is wanted\n"
    )
    in_parts = "each result is reduced in parts, by several groups of work-items"
    stored = f"a reduction ends its kernel, and who reads it is another kernel: {in_parts}"
    assert bundles_text(fusion) == (
        "3 bundles of 3 groups\n"
        "\n"
        "bundle 1: kernels max, max, over [1000000], reduced axes [0]\n"
        "  computes %0\n"
        f"  stores %0: {stored}\n"
        "\n"
        "bundle 2: kernels sub_exp_sum, sum, over [1000000], reduced axes [0]\n"
        "  computes %3\n"
        f"  stores %3: {stored}\n"
        "\n"
        "bundle 3: kernel sub_exp_div, over [1000000]\n"
        "  computes y\n"
        "  stores y: it is wanted; memory of its own, since the operands have other dtypes, shapes or orders\n"
        "\n"
        "left apart, though a rule would join them:\n"
        f"  %0 (bundle 1) and %3 (bundle 2): dependent, but {in_parts}\n"
        f"  %3 (bundle 2) and y (bundle 3): dependent, but {in_parts}\n"
        f"  %0 (bundle 1) and y (bundle 3): dependent, but {in_parts}\n"
        "\n"
        "rules:\n"
        "  dependent: What a reduction gives is needed at every element of the same row: "
        "by another one, or elementwise\n"
    )


def test_a_bundle_of_several_groups() -> None:
    shown = bundles_text(fused("sqrt(sum(x * x, axis=1))", "x:f32[64, 48]"))
    assert "bundle 1: kernel mul_sum_sqrt, over [64, 48], reduced axes [1]\n  computes %1, y\n" in shown
    assert "  joins %1 and y: epilogue\n" in shown
    assert "  keeps %1 in registers\n" in shown
    assert "  epilogue: Only results of reductions, and what else there is of each row, are computed with\n" in shown


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("cumulative_sum(x, axis=1)", "a scan along axis 1"),
        ("sort(x, axis=1)", "a sort along the last axis"),
        ("x @ x", "a product of matrices"),
        ("permute_dims(x + 1, (1, 0))", "elementwise"),
        ("max(x)", "a reduction along [0, 1]"),
    ],
)
def test_what_a_group_does_at_its_end(expression: str, kind: str) -> None:
    assert f"\ngroup y: {kind}, over [32, 32]\n" in groups_text(fused(expression, "x:f32[32, 32]"))


def test_lines_numbers_and_roots_of_an_evaluation() -> None:
    shown: list[str] = []
    runtime = InterpretedRuntime()
    runtime.watch_fusion = lambda fusion: shown.append(groups_text(fusion) + bundles_text(fusion))
    with xp.use(runtime):  # type: ignore[arg-type]
        for length in (40, 56):  # which one plan serves
            x = xp.asarray(np.ones(length, "f4"))
            xp.compute(x * 2.5, x[8:] + 1)
    assert len(shown) == 1
    here = Path(__file__).name
    lines = [line for line in shown[0].splitlines() if here in line]
    assert [line.split("    ")[0].strip() for line in lines] == [
        "y0: f32[40] = mul(a, 2.5)",
        "y1: f32[32] = add(b, 1.0)",
    ]
    assert "reads b: f32[32] offset 8" in shown[0]


@pytest.mark.parametrize(
    "expression",
    [
        f"{SHIFTED} / sum({SHIFTED})",
        "x[1:] * 2 - x[:-1]",
        "cumulative_sum(x + sum(x))",
        "take(x, astype(x, int32)) + 1",
    ],
)
def test_looking_on_finds_out_nothing(expression: str) -> None:
    structure = structure_of(expression, "x:f32[5000]")
    planner, shown = Planner(TARGET, F32), list[str]()
    alone = Template(Unplanned(structure, NOTHING), planner)
    watched = Template(
        Unplanned(structure, NOTHING, lambda fusion: shown.append(groups_text(fusion) + bundles_text(fusion))), planner
    )
    assert len(shown) == 1
    assert repr(watched.guards) == repr(alone.guards)


def passes(expression: str, declaration: str) -> list[tuple[str, Schedule | str]]:
    unplanned = Unplanned(structure_of(expression, declaration), NOTHING, lambda fusion: None)
    template = Template(unplanned, Planner(TARGET, F32))
    sized = template.first()
    return template.passes(sized, ["program.py:1"] * len(sized.askers))


def test_passes_of_an_evaluation_on_several_streams() -> None:
    outcomes = passes("sum(cumulative_sum(x, axis=0) * cumulative_sum(x, axis=1))", "x:f32[20000, 20000]")
    ran = [name for name, outcome in outcomes if not isinstance(outcome, str)]
    assert ran == ["bound", "packed", "streams", "memory", "waits"]
    last = outcomes[-1][1]
    assert isinstance(last, Schedule)
    assert {node.stream for node in last.nodes} == {0, 1}
    assert "share_memory:\n  not run: on several streams, " in passes_text(outcomes)


def test_passes_of_an_evaluation_in_order() -> None:
    outcomes = passes("cumulative_sum(x / sum(x))", "x:f32[1000]")
    ran = [name for name, outcome in outcomes if not isinstance(outcome, str)]
    assert ran == ["bound", "share_memory", "packed"]
    text = passes_text(outcomes)
    assert "streams:\n  not run: one stream, in order: each node needs the one before it" in text
    assert "in_place:\n  not run: the planner has placed results over operands" in text


def test_a_number_that_is_all_there_is_and_names_that_are_taken() -> None:
    text = groups_text(fused("zeros((4,))"))
    assert "\n  y: f32[4] = 0.0    <expression>:1\n  ends at y: it is wanted\n" in text
    text = groups_text(fused("y + y0 * 2", "y:f32[4]", "y0:f32[4]"))
    assert "\n  y_: f32[4] = add(y, %0)    " in text
    assert "\n  reads y: f32[4]\n  reads y0: f32[4]\n  ends at y_: it is wanted\n" in text
