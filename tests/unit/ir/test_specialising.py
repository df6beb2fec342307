"""Warps that specialise, in the interpreter: both sides of a branch go on at once and wait for each other."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from ocl_ir.errors import IRError, MemoryAccessError
from ocl_ir.interpret import sides
from ocl_ir.interpret.kernel import run
from ocl_ir.interpret.sides import Sides
from ocl_ir.kernel.asynchronous import WARPGROUP
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.uniformity import uniformity
from ocl_ir.kernel.verify import verify
from ocl_ir.types import F32, U32, U64
from tests.support.interrupts import interrupt

GROUP = 2 * WARPGROUP
WARPS = WARPGROUP // 32


class Pair:
    """Two warpgroups: the first one gets what the second one gives, one number after the other, by a cell of local
    memory."""

    def __init__(self) -> None:
        self.k = k = KernelBuilder("pair", group_size=(GROUP, 1, 1))
        self.y = k.pointer("y", U32)
        self.cell = k.array(U32, 1, hint="cell")
        self.full, self.empty = k.array(U64, 1, hint="full"), k.array(U64, 1, hint="empty")
        self.item = k.item("local_id", hint="item")
        with k.if_(self.item == 0):
            k.init_boxes(self.full, 1, 1)
            k.init_boxes(self.empty, 1, WARPS)
        k.barrier()

    def take(self, count: int = 4, *, waits: bool = True) -> None:
        k, total = self.k, self.k.variable(0, U32, "total")
        with k.for_(0, count, hint="i") as i:
            if waits:
                k.await_boxes(self.full, 0, i & 1)
            k.assign(total, total * 10 + k.load(self.cell, 0))
            k.release_boxes(self.empty, 0)
        with k.if_(self.item == 0):
            k.store(self.y, 0, total)

    def give(self, count: int = 4, *, waits: bool = True) -> None:
        k = self.k
        with k.if_(self.item < WARPGROUP + 32), k.for_(0, count, hint="i") as i:
            if waits:
                k.await_boxes(self.empty, 0, (i + 1) & 1)
            with k.if_(self.item == WARPGROUP):
                k.store(self.cell, 0, i + 1)
            k.release_boxes(self.full, 0)

    def build(self, first: Callable[[], None], second: Callable[[], None]) -> Kernel:
        with self.k.if_(self.item < WARPGROUP, (256, 24)):
            first()
        with self.k.else_():
            second()
        verify(self.k.build())
        return self.k.build()


def result(kernel: Kernel) -> int:
    arguments = {"y": np.zeros(1, "u4")}
    run(kernel, arguments, (GROUP,))
    return int(arguments["y"][0])


def test_sides_wait_for_each_other() -> None:
    pair = Pair()
    assert result(pair.build(pair.take, pair.give)) == 1234


@pytest.mark.parametrize("who", ["take", "give"])
def test_who_does_not_wait_is_found_out(who: str) -> None:
    pair = Pair()
    waits = {"take": lambda: pair.take(waits=who != "take"), "give": lambda: pair.give(waits=who != "give")}
    said = {
        "take": (MemoryAccessError, r"reads cell\[0\], which nothing has been stored to"),
        "give": (IRError, "4 boxes for barrier 0, which waits for 1"),
    }
    kind, match = said[who]
    with pytest.raises(kind, match=match):
        result(pair.build(waits["take"], waits["give"]))


@pytest.mark.parametrize(("takes", "gives"), [(5, 4), (4, 6)])
def test_all_waiting_in_vain_is_an_error(takes: int, gives: int) -> None:
    pair = Pair()
    with pytest.raises(IRError, match=r"0 boxes for barrier 0, which waits for (1|4)"):
        result(pair.build(lambda: pair.take(takes), lambda: pair.give(gives)))


def test_a_failure_of_one_side_ends_the_other() -> None:
    pair = Pair()

    def fail() -> None:
        pair.k.await_boxes(pair.full, 0, 2)

    with pytest.raises(IRError, match="a wait for parity 2"):
        result(pair.build(pair.take, fail))


def test_whole_warpgroups_come_to_each_side() -> None:
    k = KernelBuilder("parts", group_size=(GROUP, 1, 1))
    y, item = k.pointer("y", U32), k.item("local_id", hint="item")
    with k.if_(item < 100, (256, 24)):
        k.store(y, item, 1)
    with pytest.raises(IRError, match="a part of a warpgroup of 128 work-items comes to a side"):
        run(k.build(), {"y": np.zeros(GROUP, "u4")}, (GROUP,))


def test_a_side_comes_to_its_shuffles_as_a_whole() -> None:
    for items in (WARPGROUP, 64):
        k = KernelBuilder("side", group_size=(GROUP, 1, 1))
        y, item = k.pointer("y", U32), k.item("local_id", hint="item")
        with k.if_(item < WARPGROUP, (256, 24)), k.if_(item < items):
            k.store(y, item, k.shuffle(item, (item & 31) ^ 1, 32))
        arguments = {"y": np.zeros(GROUP, "u4")}
        if items == WARPGROUP:
            run(k.build(), arguments, (GROUP,))
            np.testing.assert_array_equal(arguments["y"][:WARPGROUP], np.arange(WARPGROUP) ^ 1)
        else:
            with pytest.raises(IRError, match="divergent shuffle: 64 of 128 work-items reach it"):
                run(k.build(), arguments, (GROUP,))


def test_what_sides_assign_differs() -> None:
    k = KernelBuilder("assigned", group_size=(GROUP, 1, 1))
    item, outer = k.item("local_id", hint="item"), k.variable(0, U32, "outer")
    own: list[Ref] = []
    with k.if_(item < WARPGROUP, (256, 24)):
        inner = k.variable(0, U32, "inner")
        k.assign(inner, 1)
        own.append(k.let(inner))
        k.assign(outer, 1)
    behind = k.let(outer)
    k.store(k.pointer("y", U32), 0, behind)
    analysis = uniformity(k.build())
    assert analysis.is_uniform(own[0].operand)
    assert not analysis.is_uniform(behind.operand)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (("open", "await", "pass", "await", "pass", "close"), ""),
        (("open", "close"), ""),
        (("await",), "turns: await comes behind close"),
        (("open", "pass"), "turns: pass comes behind open"),
        (("open", "await", "await"), "turns: await comes behind await"),
        (("open", "await", "close"), "turns: close comes behind await"),
        (("open", "await", "pass"), "a group ends while warpgroups take turns"),
    ],
)
def test_turns_have_an_order(steps: tuple[str, ...], said: str) -> None:
    k = KernelBuilder("turns", group_size=(GROUP, 1, 1))
    for step in steps:
        k.turn(step, 2)  # type: ignore[arg-type]
    if said:
        with pytest.raises(IRError, match=said):
            run(k.build(), {}, (GROUP,))
    else:
        run(k.build(), {}, (GROUP,))


@pytest.mark.parametrize("first", [0, WARPGROUP])
def test_the_first_warpgroups_take_turns(first: int) -> None:
    """All that come, and none before them."""
    k = KernelBuilder("turns", group_size=(3 * WARPGROUP, 1, 1))
    y, item = k.pointer("y", U32), k.item("local_id", hint="item")
    if first:
        with k.if_(item < first, (24, 168)):
            k.store(y, item, 1)
        with k.else_():
            k.turn("open", 2)
    else:
        k.turn("open", 2)
    with pytest.raises(IRError, match=f"take turns, and {3 * WARPGROUP - first} work-items come from {first} on"):
        run(k.build(), {"y": np.zeros(first or 1, "u4")}, (3 * WARPGROUP,))


@pytest.mark.parametrize("computing", [2, 3])
def test_sides_share_the_registers_that_there_are(computing: int) -> None:
    k = KernelBuilder("registers", group_size=(3 * WARPGROUP, 1, 1))
    y, item = k.pointer("y", U32), k.item("local_id", hint="item")
    with k.if_(item < computing * WARPGROUP, (240, 24)):
        k.store(y, item, 1)
    arguments = {"y": np.zeros(3 * WARPGROUP, "u4")}
    if computing == 2:
        run(k.build(), arguments, (3 * WARPGROUP,))
    else:
        with pytest.raises(IRError, match="warps specialise and want 92160 registers, of 64512"):
            run(k.build(), arguments, (3 * WARPGROUP,))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises. What a shell runs in the background (`make nightly &`) ignores it, and Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_all_sides() -> None:
    pair = Pair()
    kernel = pair.build(lambda: pair.take(2**30), lambda: pair.give(2**30))
    threads = threading.active_count()
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(kernel, {"y": np.zeros(1, "u4")}, (GROUP,), max_steps=2**40)
    timer.join()
    assert threading.active_count() == threads


def test_an_interrupt_at_any_place_leaves_no_thread() -> None:
    """Also before all threads have been started, of which the others would wait for their turns for ever."""
    before, came, at = set(threading.enumerate()), True, 0
    while came:
        at += 1
        done: list[int] = []
        both = Sides([partial(done.append, 0), partial(done.append, 1)])
        with interrupt(at, sides.__file__) as injection:
            both.run()
        left = set(threading.enumerate()) - before
        for thread in left:
            thread.join(10)
        assert not any(thread.is_alive() for thread in left), injection.came
        came = bool(injection.came)
    assert done == [0, 1]
    assert at > 10


def test_sides_compute_as_the_caller_says() -> None:
    k = KernelBuilder("context", group_size=(GROUP, 1, 1))
    y, item = k.pointer("y", F32), k.item("local_id", hint="item")
    zero = k.convert(item & 0, F32)
    with k.if_(item < WARPGROUP, (256, 24)):
        k.store(y, item, 1.0 / zero)
    arguments = {"y": np.zeros(GROUP, "f4")}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        run(k.build(), arguments, (GROUP,))
    assert np.isinf(arguments["y"][0])


@pytest.mark.parametrize("waits", [True, False])
def test_who_waits_for_a_release_comes_behind_what_was_awaited_before_it(waits: bool) -> None:
    """A box comes to memory, a second warpgroup waits for it and releases, and the first one copies to it again: it has
    not waited for the box itself."""
    k = KernelBuilder("behind", group_size=(GROUP, 1, 1))
    source, table = k.pointer("source", U32, align=16), k.pointer("table", U32, align=128)
    stage = k.array(U32, 8 * 32, align=1024, hint="stage")
    there, free = k.array(U64, 1, hint="there"), k.array(U64, 1, hint="free")
    item = k.item("local_id", hint="item")
    with k.if_(item == 0):
        k.init_boxes(there, 1, 1)
        k.init_boxes(free, 1, WARPS)
    k.barrier()
    with k.if_(item < WARPGROUP, (24, 256)), k.if_(item == 0), k.for_(0, 2, hint="turn") as turn:
        if waits:
            k.await_boxes(free, 0, (turn + 1) & 1)
        k.copy_box((stage, 0), source, (table, 0), column=0, row=0, rows=8, barrier=(there, 0))
    with k.else_(), k.for_(0, 2, hint="turn") as turn:
        k.await_boxes(there, 0, turn & 1)
        k.release_boxes(free, 0)
    verify(k.build())
    describing = KernelBuilder("describe")
    of, to = describing.pointer("source", U32, align=16), describing.pointer("table", U32, align=128)
    describing.describe_matrix((to, 0, describing.global_id()), (of, 0), columns=64, rows=8, row_words=32, box_rows=8)
    arguments = {"source": np.zeros(8 * 32, "u4"), "table": np.zeros(32, "u4")}
    run(describing.build(), arguments, (32,))
    if waits:
        run(k.build(), arguments, (GROUP,))
    else:
        with pytest.raises(MemoryAccessError, match="which a copy or product that goes on still needs"):
            run(k.build(), arguments, (GROUP,))
