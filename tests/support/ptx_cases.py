"""Small kernels of NVIDIA's instructions, as `tests.support.cases` has others: no other device takes their source."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.asynchronous import MAP_WORDS, WARPGROUP, Swizzled
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_ir.types import F16, F32, U32, U64, Vector
from tests.support.cases import Args, Case
from tests.support.warpgroups import laid, sums_of

WARP = 32
PTX_CASES: list[Case] = []


def case(
    arguments: Callable[[np.random.Generator], Args], expected: Callable[[Args], Args], items: int
) -> Callable[[Callable[[], KernelBuilder]], None]:
    def register(build: Callable[[], KernelBuilder]) -> None:
        PTX_CASES.append(Case(build.__name__, build().build(), arguments, expected, (items,), (items,)))

    return register


def halves(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Words of small integers as float16."""
    return rng.integers(-9, 10, shape).astype("f2").ravel().view("u4")


def matrix(words: np.ndarray, columns: int) -> np.ndarray:
    return words.view("f2").reshape(-1, columns).astype("f4")


# ---------------------------------------------------------------------- matrix instructions


@case(
    lambda rng: {"a": halves(rng, 16, 16), "b": halves(rng, 8, 16), "y": np.zeros(16 * 8, "f4")},
    lambda g: {"y": (matrix(g["a"], 16) @ matrix(g["b"], 16).T).ravel()},
    WARP,
)
def matrix_product() -> KernelBuilder:
    note = "y = a @ b    16 rows of 16 halves by 8 columns of 16"
    k = KernelBuilder("matrix_product", group_size=(WARP, 1, 1), note=note)
    a, b, y = k.pointer("a", U32), k.pointer("b", U32), k.pointer("y", F32, align=8)
    item = k.item("local_id", hint="item")
    group, thread = k.let(item >> 2, "group"), k.let(item & 3, "thread")
    at = k.let(group * 8 + thread, "at")
    left = k.op("vector", *(k.load(a, at + later) for later in (0, 64, 4, 68)), hint="left")
    right = k.op("vector", *(k.load(b, at + later) for later in (0, 4)), hint="right")
    sums = k.matrix_multiply(INSTRUCTIONS["mma_f16"], left, right, k.const(0.0, Vector(F32, 4)), "sums")
    for lower in range(2):
        pair = k.op("vector", *(k.op("extract", sums, 2 * lower + step) for step in range(2)))
        k.store(y, at * 2 + 64 * lower - group * 8, pair, align=8)
    return k


# ---------------------------------------------------------------------- copies and products of warpgroups


def warpgroup_sums(product: np.ndarray) -> np.ndarray:
    """What each work-item has of a product, one after the other."""
    held = np.zeros((WARPGROUP, product.shape[1] // 2), "f4")
    for item, number, row, column in sums_of(product.shape[1]):
        held[item, number] = product[row, column]
    return held.ravel()


@case(
    lambda rng: {"a": halves(rng, 64, 64), "b": halves(rng, 8, 64), "y": np.zeros(64 * 8, "f4")},
    lambda g: {"y": warpgroup_sums(matrix(g["a"], 64) @ matrix(g["b"], 64).T)},
    WARPGROUP,
)
def warpgroup_product() -> KernelBuilder:
    note = "y = a @ b    64 rows of 64 halves by 8 columns of 64, as work-items hold sums"
    k = KernelBuilder("warpgroup_product", group_size=(WARPGROUP, 1, 1), note=note)
    a, b, y = k.pointer("a", U32, align=16), k.pointer("b", U32, align=16), k.pointer("y", F32)
    stage = k.array(U32, (64 + 8) * 32, align=1024, hint="stage")
    sums = k.array(F32, 4, space="private", hint="sums")
    item = k.item("local_id", hint="item")

    def copy(source: Ref, unit: Ref, begin: int) -> None:
        row = k.let(unit >> 3, "row")
        k.copy_async(stage, row * 32 + ((unit ^ row) & 7) * 4 + begin, source, unit * 4, True)

    with k.for_(item, 64 * 8, WARPGROUP, hint="unit") as unit:
        copy(a, unit, 0)
    with k.if_(item < 64):
        copy(b, item, 64 * 32)
    k.commit()
    with k.for_(0, 4, unroll=4, hint="i") as i:
        k.store(sums, i, 0.0)
    k.await_("copies")
    k.barrier()
    turned = Swizzled(turned=True, block=0)
    k.warpgroup_multiply(sums, F16, 8, (stage, 0, turned), (stage, 64 * 32, turned), 4)
    k.await_("products")
    with k.for_(0, 4, unroll=4, hint="i") as i:
        k.store(y, item * 4 + i, k.load(sums, i))
    return k


# ---------------------------------------------------------------------- boxes


def description() -> KernelBuilder:
    k = KernelBuilder("description", note="how a matrix of halves lies, for boxes of 8 rows")
    n, a, maps = k.scalar("n", U32), k.pointer("a", U32, align=16), k.pointer("maps", U32, align=128)
    k.describe_matrix((maps, 0, k.global_id()), (a, 0), columns=n, rows=12, row_words=64, box_rows=8)
    return k


def described(rng: np.random.Generator) -> Args:
    given = {"a": halves(rng, 12, 128), "maps": np.zeros(MAP_WORDS, "u4")}
    run(description().build(), {**given, "n": 100}, (MAP_WORDS,))
    return {**given, "y": np.zeros(8 * 32, "u4")}


def last_box(given: Args) -> Args:
    """Four rows, and 36 columns, are inside."""
    whole = np.zeros((8, 64), "f4")
    whole[:4, :36] = matrix(given["a"], 128)[8:, 64:100]
    return {"y": laid(whole, Swizzled(turned=True, block=0), F16, 8 * 32)}


@case(described, last_box, WARP)
def box() -> KernelBuilder:
    k = KernelBuilder("box", group_size=(WARP, 1, 1), note="y = a[8:16, 64:128]    as it lies in local memory")
    a, maps, y = k.pointer("a", U32, align=16), k.pointer("maps", U32, align=128), k.pointer("y", U32)
    stage, there = k.array(U32, 8 * 32, align=1024, hint="stage"), k.array(U64, 1, hint="there")
    released = k.array(U64, 1, hint="released")
    item = k.item("local_id", hint="item")
    with k.if_(item == 0):
        k.init_boxes(there, 1, 1)
        k.init_boxes(released, 1, 1)
    k.barrier()
    with k.if_(item == 0):
        k.copy_box((stage, 0), a, (maps, 0), column=64, row=8, rows=8, barrier=(there, 0))
    k.await_boxes(there, 0, 0)
    with k.for_(item, 8 * 32, WARP, hint="word") as word:
        k.store(y, word, k.load(stage, word))
    k.release_boxes(released, 0)
    k.await_boxes(released, 0, 0)
    return k


# ---------------------------------------------------------------------- windows

SPACE, KERNEL, STRIDE, BEFORE = (7, 9), (3, 3), (1, 2), (1, 1)
"""Height and width of two pictures of 64 halves at each place, and how windows lie over them."""
COUNTS = (7, 5)


def windows_description() -> KernelBuilder:
    k = KernelBuilder("windows_description", note="windows of pictures of halves, for boxes of 40")
    a, maps = k.pointer("a", U32, align=16), k.pointer("maps", U32, align=128)
    (height, width), (down, across) = SPACE, COUNTS
    k.describe_windows(
        (maps, 0, k.global_id()),
        (a, 0),
        columns=64,
        lengths=(width, height, 2),
        strides=(32, 32 * width, 32 * width * height),
        steps=STRIDE[::-1],
        before=BEFORE[::-1],
        counts=(across, down),
        box_rows=40,
    )
    return k


def pictures(rng: np.random.Generator) -> Args:
    given = {"a": halves(rng, 2, *SPACE, 64), "maps": np.zeros(MAP_WORDS, "u4")}
    run(windows_description().build(), given, (MAP_WORDS,))
    return {**given, "y": np.zeros(40 * 32, "u4")}


def last_tap(given: Args) -> Args:
    """Of the windows from the second in the third row on, into the second picture: the last tap in the first row."""
    whole = np.zeros((2, SPACE[0] + 2, SPACE[1] + 2, 64), "f4")
    whole[:, 1:-1, 1:-1] = given["a"].view("f2").reshape(2, *SPACE, 64)
    taps = whole[:, : COUNTS[0], 2 : 2 + 2 * COUNTS[1] : 2].reshape(-1, 64)
    return {"y": laid(taps[11 : 11 + 40], Swizzled(turned=True, block=0), F16, 40 * 32)}


@case(pictures, last_tap, WARP)
def windows() -> KernelBuilder:
    note = "one tap of windows of two pictures, as they lie in local memory"
    k = KernelBuilder("windows", group_size=(WARP, 1, 1), note=note)
    a, maps, y = k.pointer("a", U32, align=16), k.pointer("maps", U32, align=128), k.pointer("y", U32)
    stage, there = k.array(U32, 40 * 32, align=1024, hint="stage"), k.array(U64, 1, hint="there")
    item = k.item("local_id", hint="item")
    with k.if_(item == 0):
        k.init_boxes(there, 1, 1)
    k.barrier()
    with k.if_(item == 0):
        place = {"column": 0, "place": (1, 1, 0), "taps": (2, 0), "rows": 40}
        k.copy_windows((stage, 0), a, (maps, 0), **place, barrier=(there, 0))
    k.await_boxes(there, 0, 0)
    with k.for_(item, 40 * 32, WARP, hint="word") as word:
        k.store(y, word, k.load(stage, word))
    return k


# ---------------------------------------------------------------------- warps that specialise

SPECIALISED = 3 * WARPGROUP
"""Work-items: two warpgroups compute, one copies."""


def blocks(rng: np.random.Generator) -> Args:
    given = {"a": halves(rng, 40, 64), "maps": np.zeros(MAP_WORDS, "u4")}
    run(description().build(), {**given, "n": 64}, (MAP_WORDS,))
    return {**given, "y": np.zeros(2 * 8 * 32, "u4")}


def turned_blocks(given: Args) -> Args:
    """Each warpgroup has the last block's words, of which there are none behind row 12, plus its number."""
    last = np.zeros((8, 64), "f4")
    last[:4] = matrix(given["a"], 128)[8:12, :64]
    words = laid(last, Swizzled(turned=True, block=0), F16, 8 * 32)
    return {"y": np.concatenate([words, words + 1])}


@case(blocks, turned_blocks, SPECIALISED)
def specialised() -> KernelBuilder:
    k = KernelBuilder("specialised", group_size=(SPECIALISED, 1, 1), note="the last of five blocks, by two warpgroups")
    a, maps, y = k.pointer("a", U32, align=16), k.pointer("maps", U32, align=128), k.pointer("y", U32)
    stage, there = k.array(U32, 2 * 8 * 32, align=1024, hint="stage"), k.array(U64, 2, hint="there")
    free = k.array(U64, 2, hint="free")
    item = k.item("local_id", hint="item")
    with k.if_(item == 0):
        k.init_boxes(there, 2, 1)
        k.init_boxes(free, 2, 2 * WARPGROUP // WARP)
    k.barrier()
    with k.if_(item < 2 * WARPGROUP, (240, 24)):
        warpgroup = k.op("udiv", item, k.const(WARPGROUP, U32))
        k.turn("open", 2)
        with k.for_(0, 5, hint="block") as block:
            k.await_boxes(there, block & 1, block >> 1 & 1)
            k.turn("await", 2)
            with k.for_(item & (WARPGROUP - 1), 8 * 32, WARPGROUP, hint="word") as word:
                k.store(y, warpgroup * (8 * 32) + word, k.load(stage, (block & 1) * (8 * 32) + word) + warpgroup)
            k.turn("pass", 2)
            k.release_boxes(free, block & 1)
        k.turn("close", 2)
    with k.else_(), k.if_(item == 2 * WARPGROUP), k.for_(0, 5, hint="block") as block:
        k.await_boxes(free, block & 1, (block >> 1) + 1 & 1)
        at, row = (block & 1) * (8 * 32), block * 2
        k.copy_box((stage, at), a, (maps, 0), column=0, row=row, rows=8, barrier=(there, block & 1))
    return k


PTX_KERNELS = [*(each.kernel for each in PTX_CASES), description().build(), windows_description().build()]
