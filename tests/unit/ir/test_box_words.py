"""Where work-items read operands of 64-bit words that boxes have copied: every element once, and from all banks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.asynchronous import ROW_BYTES, Swizzled
from ocl_ir.kernel.box_words import BoxLayout
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_ir.kernel.matrix_words import Chunks
from ocl_ir.kernel.verify import verify
from ocl_ir.types import F64, U32

DOUBLES = INSTRUCTIONS["mma_f64"]
LENGTH, FIRST = 64, 32
"""Places of an operand, and where a warp's part of it begins."""
WORDS = LENGTH * 16
SIDES = [(side, turned) for side in range(2) for turned in (False, True)]


def read(side: int, turned: bool, fragment: int) -> np.ndarray:
    """Which words of local memory a work-item reads for a fragment: by lane, place of its own axis and word."""
    layout = BoxLayout(Chunks.of(DOUBLES), side, turned, LENGTH, 0)
    places = [layout.start(fragment) + layout.moved(place * layout.words.own) for place in range(layout.words.each)]
    k = KernelBuilder("read", group_size=(32, 1, 1))
    numbers, out, lane = k.pointer("numbers", F64), k.pointer("out", F64), k.item("local_id")
    own = layout.own_place(k.const(FIRST, U32), lane)
    origins = layout.origins(own, lane)
    held = [value for place in places for value in layout.read(k, numbers, origins, k.const(0, U32), place)[0]]
    for number, value in enumerate(held):
        k.store(out, lane * len(held) + number, value)
    verify(k.build())
    got = np.zeros((32, len(places), len(held) // len(places)))
    run(k.build(), {"numbers": np.arange(float(WORDS)), "out": got.ravel()}, (32,), (32,))
    return got.astype(int)


@pytest.mark.parametrize(("side", "turned"), SIDES)
def test_each_element_is_read_where_the_instruction_has_it(side: int, turned: bool) -> None:
    layout, lies = BoxLayout(Chunks.of(DOUBLES), side, turned, LENGTH, 0), Swizzled(turned, 16 * ROW_BYTES, 8)
    operand = DOUBLES.right if side else DOUBLES.left
    own, inner = operand.places("column" if side else "row"), operand.places("inner")
    registers = {order: number for number, order in enumerate(layout.words.order)}
    seen = Counter()
    for fragment in range(2):
        got = read(side, turned, fragment)
        for lane, place, word in np.ndindex(got.shape):
            register = registers[place, word]
            row = FIRST + layout.start(fragment) + layout.moved(int(own[lane, register]))
            assert got[lane, place, word] == lies.place(row, int(inner[lane, register])) // 8
            seen[row, int(inner[lane, register])] += 1
    assert set(seen.values()) == {1}
    assert len(seen) == 2 * (8 if side else 16) * 16


@pytest.mark.parametrize(("side", "turned"), SIDES)
def test_half_of_the_lanes_read_from_all_banks(side: int, turned: bool) -> None:
    """But of a right operand that is turned, two from each: its columns stay in order."""
    for fragment in range(2):
        got = read(side, turned, fragment)
        for half in (got[:16], got[16:]):
            banks = half.reshape(16, -1) % 16
            assert {max(Counter(column).values()) for column in banks.T.tolist()} == {2 if side and turned else 1}


def test_neighbouring_sums_are_neighbours_in_a_row() -> None:
    for turned in (False, True):
        layout = BoxLayout(Chunks.of(DOUBLES), 1, turned, LENGTH, 0)
        for place in range(0, 8, 2):
            assert layout.moved(place + 1) == layout.moved(place) + 1
