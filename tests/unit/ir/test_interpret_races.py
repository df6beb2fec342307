"""Data races: each kind is reported with both statements and work-items, and its ordered twin is accepted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ocl_ir.errors import DataRaceError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32, I32, U8, U16, U32

GROUP = 4


def race(kernel: Kernel, args: dict[str, object], items: int = GROUP, group: int = GROUP) -> DataRaceError:
    with pytest.raises(DataRaceError) as caught:
        run(kernel, args, (items,), (group,))  # type: ignore[arg-type]
    error = caught.value
    assert error.place.count("-->") == 2
    assert error.place.count("asked for at") == 2
    assert error.remedy
    run(kernel, args, (items,), (group,), check_races=False)  # type: ignore[arg-type]
    return error


def shared(kernel: Callable[[KernelBuilder, Ref, Ref], None], space: str, group_size: int = GROUP) -> Kernel:
    """A kernel over 16 zeros in local or global memory, `x`."""
    k = KernelBuilder("shared", group_size=(group_size, 1, 1))
    out = k.pointer("out", I32)
    item = k.item("local_id", hint="item")
    memory = out if space == "global" else k.array(I32, 16, hint="x")
    if space == "local":
        with k.if_(item == 0), k.for_(0, 16) as j:
            k.store(memory, j, 0)
        k.barrier()
    kernel(k, memory, item)
    return k.build()


def numbers() -> dict[str, object]:
    return {"out": np.zeros(16, np.int32)}


def fence(k: KernelBuilder, space: str) -> None:
    k.barrier(local=space == "local", global_=space == "global")


def other_fence(k: KernelBuilder, space: str) -> None:
    k.barrier(local=space == "global", global_=space == "local")


@pytest.mark.parametrize("space", ["local", "global"])
class TestWithinAGroup:
    def test_write_then_read(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.store(x, item, 1)
            k.load(x, (item + 1) & 3)

        text = str(race(shared(planted, space), numbers()))
        assert f"data race on {'x' if space == 'local' else 'out'}[" in text
        assert "work-item (0, 0, 0) of group (0, 0, 0) and work-item (1, 0, 0) of group (0, 0, 0)" in text
        assert f"put a {space} barrier between them" in text
        assert "-->   store" in text
        assert "-->   let" in text

    def test_a_barrier_of_the_space_orders(self, space: str) -> None:
        def ordered(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.store(x, item, 1)
            fence(k, space)
            k.load(x, (item + 1) & 3)
            fence(k, space)
            k.store(x, (item + 2) & 3, 3)

        run(shared(ordered, space), numbers(), (GROUP,))  # type: ignore[arg-type]

    def test_a_barrier_of_the_other_space_does_not(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.store(x, item, 1)
            other_fence(k, space)
            k.load(x, (item + 1) & 3)

        race(shared(planted, space), numbers())

    def test_read_then_write(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.load(x, (item + 1) & 3)
            k.store(x, item, 1)

        race(shared(planted, space), numbers())

    def test_read_by_the_writer_and_then_by_another(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            # x[0] is read by work-items 0 and 1, in this order, and then written by 0: the second reader counts.
            with k.if_(item == 0):
                k.load(x, 0)
            with k.if_(item == 1):
                k.load(x, 0)
            with k.if_(item == 0):
                k.store(x, 0, 1)

        assert "work-item (1, 0, 0)" in str(race(shared(planted, space), numbers()))

    def test_two_stores_of_one_statement(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.store(x, item >> 1, 5)

        error = race(shared(planted, space), numbers())
        assert "work-item (0, 0, 0) of group (0, 0, 0) and work-item (1, 0, 0) of group (0, 0, 0)" in error.fact
        arrows = [line for line in error.place.splitlines() if line.startswith("-->")]
        assert arrows[0] == arrows[1]

    def test_only_active_lanes_count(self, space: str) -> None:
        def ordered(k: KernelBuilder, x: Ref, item: Ref) -> None:
            with k.if_(item & 1 == 0):
                k.store(x, item >> 1, 5)

        run(shared(ordered, space), numbers(), (GROUP,))  # type: ignore[arg-type]

    def test_overlapping_vectors(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.store(x, item * 2, k.splat(k.const(1, I32), 4))

        def ordered(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.store(x, item * 4, k.splat(k.const(1, I32), 4))

        race(shared(planted, space), numbers())
        run(shared(ordered, space), numbers(), (GROUP,))  # type: ignore[arg-type]

    def test_own_elements_and_shared_reads(self, space: str) -> None:
        def ordered(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.load(x, 9)
            k.store(x, item, 1)
            k.store(x, item, k.load(x, item) + k.load(x, 9))

        run(shared(ordered, space), numbers(), (GROUP,))  # type: ignore[arg-type]

    def test_atomics_among_themselves(self, space: str) -> None:
        def ordered(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.atomic("add", x, 0, 1)
            k.atomic("max", x, 0, 1)

        run(shared(ordered, space), numbers(), (GROUP,))  # type: ignore[arg-type]

    @pytest.mark.parametrize("load_first", [True, False])
    def test_an_atomic_beside_a_plain_read(self, space: str, load_first: bool) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            if load_first:
                k.load(x, 0)
            k.atomic("add", x, 0, 1)
            if not load_first:
                k.load(x, 0)

        race(shared(planted, space), numbers())

    def test_an_atomic_beside_a_plain_write(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            k.atomic("add", x, 0, 1)
            with k.if_(item == 3):
                k.store(x, 0, 1)

        race(shared(planted, space), numbers())

    def test_between_iterations(self, space: str) -> None:
        def planted(k: KernelBuilder, x: Ref, item: Ref) -> None:
            with k.for_(0, 3) as j:
                k.store(x, (item + j) & 3, 1)
                fence(k, space) if fenced else None

        for fenced in (True, False):
            if fenced:
                run(shared(planted, space), numbers(), (GROUP,))  # type: ignore[arg-type]
            else:
                race(shared(planted, space), numbers())


def test_the_barrier_missing_from_a_tree_reduction() -> None:
    def build(barrier: bool) -> Kernel:
        k = KernelBuilder("reduce", group_size=(8, 1, 1))
        x, out = k.pointer("x", F32), k.pointer("out", F32)
        tile = k.array(F32, 8, hint="tile")
        item = k.item("local_id", hint="item")
        k.store(tile, item, k.load(x, k.global_id()))
        k.barrier()
        for width in (4, 2, 1):
            with k.if_(item < width):
                k.store(tile, item, k.load(tile, item) + k.load(tile, item + width))
            if barrier:
                k.barrier()
        with k.if_(item == 0):
            k.store(out, k.item("group_id"), k.load(tile, 0))
        return k.build()

    args = {"x": np.ones(16, np.float32), "out": np.zeros(2, np.float32)}
    run(build(barrier=True), args, (16,))
    assert args["out"].tolist() == [8, 8]
    text = str(race(build(barrier=False), args, 16, 8))
    assert "data race on tile[" in text
    assert "work-item" in text


def between_groups(first: str, second: str) -> Kernel:
    """Group 0 does `first` to x[0] and group 1 does `second`; each passes a barrier, which helps nothing."""
    k = KernelBuilder("groups")
    x = k.pointer("x", I32)
    k.barrier(local=True, global_=True)
    for number, what in enumerate((first, second)):
        with k.if_((k.item("group_id") == number) & (k.item("local_id") == number)):
            match what:
                case "read":
                    k.load(x, 0)
                case "write":
                    k.store(x, 0, 1)
                case "atomic":
                    k.atomic("add", x, 0, 1)
    k.barrier(local=True, global_=True)
    return k.build()


@pytest.mark.parametrize("first", ["read", "write", "atomic"])
@pytest.mark.parametrize("second", ["read", "write", "atomic"])
def test_between_groups(first: str, second: str) -> None:
    kernel, args = between_groups(first, second), {"x": np.zeros(1, np.int32)}
    if first == second and first != "write":
        run(kernel, args, (4,), (2,))
        return
    text = str(race(kernel, args, 4, 2))
    assert (
        "data race on x[0]: work-item (1, 0, 0) of group (1, 0, 0) and work-item (0, 0, 0) of group (0, 0, 0)" in text
    )
    assert "no barrier orders different groups" in text


def test_a_group_far_back_is_remembered() -> None:
    k = KernelBuilder("far")
    x = k.pointer("x", I32)
    group = k.item("group_id")
    with k.if_(group != 1):
        k.load(x, 5)
    with k.if_(group == 6):
        k.store(x, 5, 1)
    kernel, args = k.build(), {"x": np.zeros(8, np.int32)}
    assert "of group (0, 0, 0)" in str(race(kernel, args, 7, 1))
    run(kernel, args, (6,), (1,))  # type: ignore[arg-type]


def copy_shifted(dtype_to: object = I32) -> Kernel:
    k = KernelBuilder("shift")
    x, y = k.pointer("x", I32), k.pointer("y", dtype_to)  # type: ignore[arg-type]
    i = k.global_id()
    k.store(y, i, k.convert(k.load(x, i), dtype_to))  # type: ignore[arg-type]
    return k.build()


def test_two_parameters_with_one_buffer() -> None:
    buffer = np.zeros(32, np.int32)
    run(copy_shifted(), {"x": buffer, "y": buffer}, (8,), (4,))
    run(copy_shifted(), {"x": (buffer, 8), "y": buffer}, (8,), (4,))
    text = str(race(copy_shifted(), {"x": (buffer, 1), "y": buffer}, 8, 4))
    assert (
        "data race on y[1]: work-item (1, 0, 0) of group (0, 0, 0) and work-item (0, 0, 0) of group (0, 0, 0)" in text
    )
    # Within the first group nothing clashes here, between the groups it does.
    assert "group (1, 0, 0)" in str(race(copy_shifted(), {"x": (buffer, 4), "y": buffer}, 8, 4))


def test_overlapping_views_of_different_dtypes() -> None:
    buffer = np.zeros(64, np.uint8)
    x = buffer[4:36].view(np.int32)
    apart, over = buffer[36:52].view(np.uint16), buffer[2:18].view(np.uint16)
    run(copy_shifted(U16), {"x": x, "y": apart}, (8,), (8,))
    race(copy_shifted(U16), {"x": x, "y": over}, 8, 8)


def test_views_that_overlap_where_nobody_touches_them() -> None:
    buffer = np.zeros(64, np.uint8)
    run(copy_shifted(U16), {"x": buffer[:32].view(np.int32), "y": buffer[16:48].view(np.uint16)}, (4,), (4,))
    race(copy_shifted(U16), {"x": buffer[:32].view(np.int32), "y": buffer[14:48].view(np.uint16)}, 4, 4)


def test_narrow_elements_next_to_each_other_do_not_race() -> None:
    k = KernelBuilder("bytes")
    x = k.pointer("x", U8)
    k.store(x, k.global_id(), 3)
    run(k.build(), {"x": np.zeros(64, np.uint8)}, (64,), (16,))


def test_private_memory_has_no_races() -> None:
    k = KernelBuilder("private")
    mine = k.array(U32, 2, space="private")
    k.store(mine, 0, k.global_id())
    k.store(mine, 0, k.load(mine, 0))
    run(k.build(), {}, (8,), (4,))
