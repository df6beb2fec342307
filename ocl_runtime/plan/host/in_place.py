"""Results written over operands that die there, and scratch memory in that of results to come and of donated inputs.

Where a launch reads a buffer for the last time and writes one of the same size for the first time, element by element
(`Kernel.pointwise`) and in the same order, the second needs no memory of its own. The first may be scratch memory, or a
donated input. The kernel then is a variant whose parameters do not promise to be apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from types import MappingProxyType

from ocl_ir.host.grammar import Launch
from ocl_ir.host.schedule import Access, BufferView, Node, Schedule
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.sizes import Size
from ocl_runtime.plan.kernels.cache import KernelCache


@dataclass(frozen=True, slots=True)
class InPlace:
    """What became of a node's result: it is written over `operand`, or has memory of its own for this `reason`."""

    node: int
    result: str
    operand: str
    reason: str


def reuse_in_place(schedule: Schedule, kernels: KernelCache) -> tuple[Schedule, tuple[InPlace, ...]]:
    """The schedule with results in the memory of operands where they can be, and what was decided for each launch that
    writes memory of its own for the first time."""
    first, last = _uses(schedule)
    nodes = list(schedule.nodes)
    moved: dict[int, int] = {}
    decided: list[InPlace] = []
    kept = {view.buffer for view in schedule.results}
    for number, node in enumerate(schedule.nodes):
        taken: set[int] = set()
        for access in node.accesses:
            buffer = schedule.buffers[access.buffer]
            fresh = buffer.kind in {"scratch", "result"} and first[access.buffer] == number and access.mode == WRITE
            if not fresh or not isinstance(node.command, Launch):
                continue
            operand, reason = _operand(schedule, number, access, last, (kept, taken), moved)
            name = "" if operand is None else schedule.buffers[operand].name
            decided.append(InPlace(number, buffer.name, name, reason))
            if operand is not None:
                taken.add(operand)
                moved[access.buffer] = moved.get(operand, operand)
                last[moved[access.buffer]] = last[access.buffer]
                nodes[number] = replace(
                    nodes[number], command=replace(node.command, kernel=_unrestricted(node.command.kernel, kernels))
                )
    nodes = [_renamed(node, moved) for node in nodes]
    results = tuple(replace(view, buffer=moved.get(view.buffer, view.buffer)) for view in schedule.results)
    buffers = list(schedule.buffers)
    for view in results:
        if buffers[view.buffer].kind == "scratch":
            buffers[view.buffer] = replace(buffers[view.buffer], kind="result")
    changed = replace(schedule, nodes=tuple(nodes), results=results, buffers=tuple(buffers))
    scratch = {buffer.id for buffer in changed.buffers if buffer.kind == "scratch"} - set(moved)
    first, last = _uses(changed)
    lives = {buffer: (first[buffer], last[buffer]) for buffer in sorted(scratch) if buffer in first}
    return replace(changed, lives=lives), tuple(decided)


def share_memory(
    schedule: Schedule, donated: Mapping[int, Size] = MappingProxyType({})
) -> tuple[Schedule, dict[int, int]]:
    """The schedule with scratch buffers and results in the memory of others of their size that are done with by then:
    of inputs that are `donated`, with their bytes, and of results to come. And which donated input is written over by
    what. For programs on one stream: elsewhere, a buffer would have to wait for who uses its memory.

    A linear scan over what begins, as registers are allocated (Poletto and Sarkar, 1999).
    """
    first, last = _uses(schedule)
    results = {view.buffer for view in schedule.results}
    homes: list[_Home] = []
    busy: dict[Size, list[tuple[int, int]]] = {}
    """Of each size (until, number) of the homes in use, as a heap."""
    free: dict[Size, list[int]] = {}
    """Of each size the numbers of the others, as a heap."""
    for input_, nbytes in donated.items():
        heappush(busy.setdefault(nbytes, []), (last.get(input_, -1), len(homes)))
        homes.append(_Home(input_))
    begins = {buffer: first[buffer] for buffer in (*schedule.lives, *results) if buffer in first}
    for buffer in sorted(begins, key=lambda buffer: (begins[buffer], buffer)):
        if schedule.buffers[buffer].kind not in {"scratch", "result"}:
            continue
        nbytes = schedule.buffers[buffer].nbytes
        used, unused = busy.setdefault(nbytes, []), free.setdefault(nbytes, [])
        while used and used[0][0] < begins[buffer]:
            heappush(unused, heappop(used)[1])
        number = heappop(unused) if unused else len(homes)
        if number == len(homes):
            homes.append(_Home())
        home = homes[number]
        home.buffers.append(buffer)
        if buffer in results:
            home.of = buffer if home.of is None else home.of
        else:  # who gets a result has it for ever
            heappush(used, (last[buffer], number))
    moved = {buffer: home.of for home in homes if home.of is not None for buffer in home.buffers if buffer != home.of}
    nodes = tuple([_renamed(node, moved) for node in schedule.nodes])
    lives = {buffer: life for buffer, life in schedule.lives.items() if buffer not in moved}
    views = tuple([replace(view, buffer=moved.get(view.buffer, view.buffer)) for view in schedule.results])
    # A result that is somewhere else is nothing to be allocated.
    buffers = tuple([replace(buffer, kind="scratch") if buffer.id in moved else buffer for buffer in schedule.buffers])
    changed = replace(schedule, nodes=nodes, lives=lives, results=views, buffers=buffers)
    return changed, {buffer: to for buffer, to in moved.items() if to in donated}


@dataclass(eq=False, slots=True)
class _Home:
    """Memory that buffers use one after the other; `of` a donated input or a result, or of scratch buffers alone."""

    of: int | None = None
    buffers: list[int] = field(default_factory=list)


def _uses(schedule: Schedule) -> tuple[dict[int, int], dict[int, int]]:
    """The first and the last node that uses each buffer."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, node in enumerate(schedule.nodes):
        for access in node.accesses:
            first.setdefault(access.buffer, number)
            last[access.buffer] = number
    return first, last


def _operand(
    schedule: Schedule,
    number: int,
    result: Access,
    last: Mapping[int, int],
    kept: tuple[set[int], set[int]],
    moved: Mapping[int, int],
) -> tuple[int | None, str]:
    """The buffer to write over, or why there is none."""
    node = schedule.nodes[number]
    assert isinstance(node.command, Launch)
    reason = "the kernel reads no operand element by element"
    if not node.command.kernel.pointwise:
        return None, reason
    for access in node.accesses:
        if access.mode != READ:
            continue
        buffer = schedule.buffers[access.buffer]
        home = moved.get(access.buffer, access.buffer)
        if sum(other.buffer == access.buffer for other in node.accesses) > 1:
            reason = f"{buffer.name} is read in several ways"
        elif buffer.kind not in {"scratch", "donated", "result"}:
            reason = f"{buffer.name} is the caller's"
        elif any(access.buffer in buffers for buffers in kept):
            reason = f"{buffer.name} is a result, or has another one in its place"
        elif last[home] > number:
            reason = f"{buffer.name} is needed later"
        elif buffer.nbytes != schedule.buffers[result.buffer].nbytes or access.itemsize != result.itemsize:
            reason = f"{buffer.name} has another size"
        elif access.layout != result.layout or not access.layout.is_dense:
            reason = f"{buffer.name} is read in another order"
        else:
            return access.buffer, ""
    return None, reason


def _renamed(node: Node, moved: Mapping[int, int]) -> Node:
    args = tuple(
        replace(arg, buffer=moved.get(arg.buffer, arg.buffer)) if isinstance(arg, BufferView) else arg
        for arg in node.args
    )
    accesses = tuple(replace(access, buffer=moved.get(access.buffer, access.buffer)) for access in node.accesses)
    return replace(node, args=args, accesses=accesses)


def _unrestricted(kernel: Kernel, kernels: KernelCache) -> Kernel:
    """The kernel without promises that its parameters are apart."""
    if not any(param.restrict for param in kernel.params):
        return kernel
    params = tuple(replace(param, restrict=False) for param in kernel.params)
    return kernels.get(("unrestricted", kernel), lambda _: replace(kernel, params=params))
