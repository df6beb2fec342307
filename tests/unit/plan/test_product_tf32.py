"""Products of float32 in tf32: how exact they are, by which instructions they are computed, and what is copied for
them, run by the interpreter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ocl_ir import tf32
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.kernel.grammar import CopyBox, MatrixMultiply, WarpgroupMultiply
from ocl_ir.types import TF32
from ocl_runtime.plan.kernels.products import candidates, copies, tiles
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.tile import WarpgroupTile
from ocl_runtime.plan.target import Target
from tests.support.depth import NIGHTLY
from tests.support.products import FMA, MATRICES, WARPGROUPS, statements
from tests.unit.plan.test_plan import Desk
from tests.unit.plan.test_product_tiles import uploaded

LIES = list(itertools.product((False, True), repeat=2))


def operands(seed: int, m: int, k: int, n: int, *batch: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    left, right = (rng.standard_normal((*batch, *shape)).astype("f4") for shape in ((m, k), (k, n)))
    return left, right


def product(desk: Desk, left: np.ndarray, right: np.ndarray, transposed: tuple[bool, bool] = (False, False)) -> Node:
    sides = zip((left, right), transposed, strict=True)
    return graph.contract(*(uploaded(desk, host, transposed=turn) for host, turn in sides), tf32=True)


def exactly(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left.astype("f8") @ right.astype("f8")


def least_error(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What either rounding of both operands may make of a sum, and that sum itself of float32."""
    return (2.0**-10 + 2.0**-22 + left.shape[-1] * 2.0**-24) * exactly(np.abs(left), np.abs(right))


@pytest.mark.parametrize("transposed", LIES, ids=str)
@pytest.mark.parametrize("target", [MATRICES, WARPGROUPS], ids=["matrix", "warpgroup"])
def test_operands_are_rounded_once(target: Target, transposed: tuple[bool, bool]) -> None:
    desk, (left, right) = Desk(target), operands(1, 64, 64, 64)
    got = desk.values(product(desk, left, right, transposed))
    rounded = exactly(*(tf32.floats_of(tf32.to_even(side)) for side in (left, right)))
    np.testing.assert_allclose(got, rounded, rtol=1e-6, atol=2e-5)
    assert (np.abs(got - exactly(left, right)) <= least_error(left, right)).all()
    assert (np.abs(got - exactly(left, right)) > 1e-4).any()  # it is not float32


@pytest.mark.parametrize("target", [MATRICES, WARPGROUPS], ids=["matrix", "warpgroup"])
def test_ties_nan_and_infinities(target: Target) -> None:
    """Boxes round ties to even, and what goes through registers away from zero."""
    desk, one = Desk(target), np.eye(64, dtype="f4")
    left = np.zeros((64, 64), "f4")
    left[0, :4] = 1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11, 1 + 2.0**-11 + 2.0**-22
    left[1, 5], left[2, 6], left[3, 7] = np.inf, np.nan, 3.4028235e38
    got = desk.values(product(desk, left, one))
    ends = (0, 2) if target is WARPGROUPS else (1, 2)
    np.testing.assert_array_equal(
        got[0, :4], [1 + ends[0] * 2.0**-10, 1 + ends[1] * 2.0**-10, -1 - ends[0] * 2.0**-10, 1 + 2.0**-10]
    )
    assert got[1, 5] == np.inf
    assert np.isnan(got[2, 6])
    assert got[3, 7] == np.inf  # the nearest tf32


def test_other_dtypes_have_no_other_precision() -> None:
    for dtype in ("f2", "f8", "i4", "c8"):
        desk = Desk(WARPGROUPS)
        _, node = desk.random(64, 64, dtype=dtype)
        assert graph.contract(node, node, tf32=True).factor is node.dtype


def tile_of(monkeypatch: pytest.MonkeyPatch, warps: tuple[int, int], fragments: int, room: int, parts: int) -> None:
    """Has all products computed by this tile."""

    def only(contraction: Contraction, _: Target) -> Any:
        turned = candidates.is_turned(contraction.sides[0]), candidates.is_turned(contraction.sides[1])
        return WarpgroupTile(warps, (1, fragments), 32, room, TF32, turned, boxes=True), parts

    monkeypatch.setattr(tiles, "chosen", only)


@pytest.mark.sample(2)
@pytest.mark.parametrize("transposed", [lies for lies in LIES if lies != (True, False)], ids=str)
@pytest.mark.parametrize(
    ("warps", "fragments", "room", "parts"),
    [((2, 1), 32, 4, 1), ((2, 2), 16, 4, 1), ((1, 2), 8, 4, 1), ((1, 1), 16, 3, 2)],
    ids=str,
)
def test_tiles_of_warpgroups(
    warps: tuple[int, int],
    fragments: int,
    room: int,
    parts: int,
    transposed: tuple[bool, bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tiles by which work-items hold the right operand, the left one, or none, with rows and columns left over."""
    tile_of(monkeypatch, warps, fragments, room, parts)
    for m, k, n in ((300, 36, 140), (68, 552, 72)) if NIGHTLY else ((140, 68, 136),):
        desk, (left, right) = Desk(WARPGROUPS), operands(m, m, k, n)
        root = product(desk, left, right, transposed)
        assert statements(desk.plan(root).launches, CopyBox)
        got = desk.values(root)
        rounded = exactly(*(tf32.floats_of(tf32.to_even(side)) for side in (left, right)))
        np.testing.assert_allclose(got, rounded, rtol=1e-5, atol=1e-4)


# ---------------------------------------------------------------------- what is copied


@pytest.mark.parametrize(("transposed", "shape", "copied"), [
    ((True, False), (64, 64, 64), 1),  # neither is turned: one of them is
    ((True, False), (64, 66, 66), 1),
    ((False, False), (64, 66, 68), 1),
    ((False, False), (40, 33, 51), 2),
    ((False, True), (40, 33, 51), 2),
    ((True, True), (40, 33, 51), 1),
    ((True, False), (41, 33, 51), 2),
    ((False, False), (64, 64, 64), 0),
    ((False, False), (36, 30, 28, 3, 2), 1),
])  # fmt: skip
def test_what_warpgroups_cannot_read_is_copied(
    transposed: tuple[bool, bool], shape: tuple[int, ...], copied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "is_worth_copying", lambda *_: True)
    desk, (left, right) = Desk(WARPGROUPS), operands(2, *shape)
    root = product(desk, left, right, transposed)
    launches = desk.plan(root).launches
    assert sum(launch.kernel.name in {"copy", "transpose"} for launch in launches) == copied
    assert statements(launches, WarpgroupMultiply)
    assert (np.abs(desk.values(root) - exactly(left, right)) <= least_error(left, right)).all()


def test_copies_are_worth_it_where_products_are_large() -> None:
    for target, instructions in ((WARPGROUPS, WarpgroupMultiply), (MATRICES, MatrixMultiply), (FMA, None)):
        for size in (48, 2048):
            desk = Desk(target)
            left, right = (desk.buffer(np.zeros((size, size), "f4")) for _ in range(2))
            root = graph.contract(graph.permute(left, (1, 0)), right, tf32=True)
            launches = desk.plan(root).launches
            is_copied = target is WARPGROUPS and size == 2048
            assert any(launch.kernel.name == "transpose" for launch in launches) == is_copied
            if instructions is not None:
                assert statements(launches, instructions if size == 2048 else MatrixMultiply)


def test_products_without_tiles_copy_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are exact."""
    monkeypatch.setattr(copies, "is_worth_copying", lambda *_: True)
    desk, (left, right) = Desk(WARPGROUPS), operands(4, 3, 33, 51)
    root = product(desk, left, right)
    assert all(launch.kernel.name not in {"copy", "transpose"} for launch in desk.plan(root).launches)
    np.testing.assert_allclose(desk.values(root), exactly(left, right), rtol=1e-5, atol=1e-5)


def test_a_product_in_float32_is_another_one() -> None:
    """Of the same operands, in one plan."""
    desk, (left, right) = Desk(WARPGROUPS), operands(3, 64, 64, 64)
    x, y = desk.buffer(left), desk.buffer(right)
    exact, rounded = graph.contract(x, y), graph.contract(x, y, tf32=True)
    planned = desk.plan(exact, rounded, graph.contract(x, y, tf32=True), dense=True)
    notes = [launch.kernel.note for launch in planned.launches if launch.kernel.name == "contract"]
    assert sorted("tf32" in note for note in notes) == [False, True, True]
    desk.runtime.run(planned)
    first, second, third = (desk.host(result) for result in planned.results)
    np.testing.assert_allclose(first, exactly(left, right), rtol=1e-5, atol=1e-5)
    assert (np.abs(second - first) > 1e-4).any()
    assert (second == third).all()
