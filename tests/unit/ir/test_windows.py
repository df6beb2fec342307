"""Windows of tensors that one work-item copies, and every way to describe or copy them wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ocl_ir.errors import IRError, MemoryAccessError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.asynchronous import MAP_WORDS, Swizzled
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.verify import verify
from ocl_ir.types import F16, TF32, U32, DType
from tests.support.warpgroups import laid
from tests.unit.ir.test_boxes import Boxes, described

IMAGES, HEIGHT, WIDTH = 2, 6, 5
SIZES: dict[str, Any] = {
    "columns": 64,
    "lengths": (WIDTH, HEIGHT, IMAGES),
    "strides": (32, 32 * WIDTH, 32 * WIDTH * HEIGHT),
    "steps": (1, 2),
    "before": (1, 2),
    "counts": (4, 3),
}
ROWS = 16
PICTURES = np.random.default_rng(1).integers(-99, 99, (IMAGES, HEIGHT, WIDTH, 64)).astype("f2")


def table(pictures: np.ndarray = PICTURES, dtype: DType = F16, **changes: Any) -> dict[str, np.ndarray]:
    """The arguments of a kernel that copies windows."""
    k = KernelBuilder("describe")
    source, to = k.pointer("source", U32, align=16), k.pointer("table", U32, align=128)
    sizes = {**SIZES, "box_rows": ROWS, "index": 0, **changes}
    k.describe_windows((to, MAP_WORDS, k.global_id()), (source, sizes.pop("index")), **sizes, dtype=dtype)
    verify(k.build())
    given = {"source": pictures.view("u4").ravel(), "table": np.zeros(2 * MAP_WORDS, "u4")}
    run(k.build(), given, (MAP_WORDS,))
    return {**given, "out": np.zeros(ROWS * 32, "u4")}


def copying(place: tuple[int, int, int], taps: tuple[int, int] = (0, 0), column: int = 0) -> Boxes:
    b = Boxes()
    b.init()
    with b.k.if_(b.is_first):
        where = {"column": column, "place": [each % 2**32 for each in place], "taps": taps, "rows": ROWS}
        b.k.copy_windows((b.stage, 0), b.source, (b.table, MAP_WORDS), **where, barrier=(b.there, 0))
    b.wait()
    b.store(ROWS * 32)
    return b


def taken(first: int, taps: tuple[int, int], pictures: np.ndarray = PICTURES, columns: int = 64) -> np.ndarray:
    """What lies at some place of windows, from one of them on."""
    padded = np.zeros((IMAGES + 2, HEIGHT + 9, WIDTH + 9, pictures.shape[-1]), pictures.dtype)
    padded[:IMAGES, 2 : 2 + HEIGHT, 1 : 1 + WIDTH, :columns] = pictures[..., :columns]
    rows = []
    for number in range(first, first + ROWS):
        rest, x = divmod(number, 4)
        image, y = divmod(rest, 3)
        rows.append(padded[image, y * 2 + taps[1], x + taps[0]])
    return np.array(rows)


@pytest.mark.parametrize("taps", [(0, 0), (2, 0), (1, 3)], ids=str)
@pytest.mark.parametrize("first", [0, 5, 11, 12, 20])
def test_a_box_has_one_place_of_windows(first: int, taps: tuple[int, int]) -> None:
    """Those along the width, then those of the next row, then those of the next picture; zeros outside."""
    place = first % 4 - 1, first // 4 % 3 * 2 - 2, first // 12
    got = copying(place, taps).result(table())
    np.testing.assert_array_equal(got, laid(taken(first, taps), Swizzled(turned=True, block=0), F16, ROWS * 32))


def test_columns_beyond_the_last_are_zeros() -> None:
    got = copying((-1, -2, 0)).result(table(columns=50))
    expected = taken(0, (0, 0), columns=50)
    np.testing.assert_array_equal(got, laid(expected, Swizzled(turned=True, block=0), F16, ROWS * 32))


def test_the_tensor_begins_at_a_word() -> None:
    got = copying((-1, -2, 0)).result(table(index=32 * WIDTH * HEIGHT, lengths=(WIDTH, HEIGHT, 1)))
    second = np.zeros_like(PICTURES)
    second[0] = PICTURES[1]
    expected = laid(taken(0, (0, 0), second), Swizzled(turned=True, block=0), F16, ROWS * 32)
    np.testing.assert_array_equal(got, expected)


def test_windows_of_float32_are_rounded_to_tf32() -> None:
    numbers = np.random.default_rng(2).standard_normal((IMAGES, HEIGHT, WIDTH, 32)).astype("f4")
    got = copying((-1, -2, 0)).result(table(numbers, TF32, columns=32)).view("f4")
    assert not (got.view("u4") & 0x1FFF).any()
    lies = Swizzled(turned=True, block=0, size=4)
    found = [[got[lies.place(row, column) // 4] for column in range(32)] for row in range(ROWS)]
    np.testing.assert_allclose(found, taken(0, (0, 0), numbers), rtol=2**-11)


@pytest.mark.parametrize("place", [(0, -1, 0), (3, -2, 0), (-2, -2, 0), (-1, 4, 0)], ids=str)
def test_a_box_begins_where_a_window_does(place: tuple[int, int, int]) -> None:
    copying(place).fails(IRError, f"a box that begins at ({place[0]}, {place[1]})", table())


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": (9, 2)},
        {"steps": (1, 9)},
        {"steps": (0, 2)},
        {"before": (129, 2)},
        {"counts": (140, 3)},
        {"lengths": (WIDTH + 128, HEIGHT, IMAGES)},
    ],
    ids=str,
)
def test_a_description_has_room_for_how_windows_lie(changes: dict[str, Any]) -> None:
    copying((-1, -2, 0)).fails(IRError, "of which places [0, 0] are copied", table(**changes))


def test_taps_are_near() -> None:
    copying((-1, -2, 0), (255, 0)).result(table())
    copying((-1, -2, 0), (256, 0)).fails(IRError, "of which places [256, 0] are copied", table())


@pytest.mark.parametrize("changes", [{"index": 2}, {"strides": (34, 160, 960)}, {"strides": (32, 160, 962)}], ids=str)
def test_places_begin_at_units(changes: dict[str, Any]) -> None:
    with pytest.raises(IRError, match="do not begin at multiples of 16 bytes"):
        table(**changes)


def test_boxes_of_windows_are_no_boxes_of_matrices() -> None:
    copying((0, 0, 0)).fails(IRError, "a box of windows where Matrix(", described(PICTURES.reshape(-1, 64), 64))
    b = Boxes()
    b.init()
    b.copy()
    b.wait()
    b.fails(IRError, "a box of a matrix where Windows(", table())


def test_a_box_has_the_rows_that_are_described() -> None:
    copying((-1, -2, 0)).fails(IRError, "a box of 16 rows of what is described for boxes of 8", table(box_rows=8))


def test_a_tensor_lies_in_its_memory() -> None:
    arguments = table()
    arguments["source"] = arguments["source"][:900].copy()
    copying((-1, 0, 0), (1, 0)).fails(MemoryAccessError, "whose length is 900", arguments)
