"""What computing an expression would do, for a person to read: graph, kernels, bytes, streams and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ocl_ir.graph.build import Node
from ocl_ir.graph.printer import text
from ocl_ir.graph.substitute import substitute
from ocl_ir.kernel.accesses import READ, WRITE, modes
from ocl_ir.layout import Layout
from ocl_ir.source_line import in_function
from ocl_ir.types import element
from ocl_runtime.plan.cache.evaluation import AnyPlan
from ocl_runtime.plan.launch import Address, Launch


def explain(plan: AnyPlan, inputs: Sequence[object], kept: Mapping[Node, str] = MappingProxyType({})) -> str:
    """The text for a plan whose memory is `inputs` and what it allocates; it need not have run. `kept` are results that
    nobody has asked for, with the reasons.

    The least bytes are those of the inputs' elements that are read, and of the results, each moved once.
    """
    moved = [_moved(launch) for launch in plan.launches]
    planned = substitute(plan.roots, {})  # what is written twice is computed once
    lines = [part.rstrip("\n") for part in dict.fromkeys(map(text, planned))]
    own = {id(storage) for storage in inputs}
    least = _least(plan, own)
    total = sum(read + written for read, written in moved)
    count = len(plan.launches)
    lines.append("")
    lines.append(
        f"{count} kernel{'s' * (count != 1)}, {total:,} bytes moved, {least:,} at least"
        + (f": {total / least:.2f} times as many" if least else "")
    )
    for number, (launch, (read, written)) in enumerate(zip(plan.launches, moved, strict=True), 1):
        over = "×".join(str(size) for size in launch.global_size if size != 1) or "1"
        name = in_function(launch.kernel.name, launch.where)
        lines.append(
            f"  {number}. {name}  {over} work-items in groups of {launch.group_size[0]}, "
            f"stream +{launch.stream}: reads {read:,} bytes, writes {written:,}    {launch.where}".rstrip()
        )
    for node, why in kept.items():
        lines.append(f"  {_name(node)} is kept, since somebody holds it: {why}")
    for node, why in plan.why.items():
        if node not in plan.roots:
            lines.append(f"  {_name(node)} is computed by itself: {why}")
    for result in plan.in_place:
        where = "written over an operand" if not result.reason else f"memory of its own: {result.reason}"
        lines.append(f"  {_name(result.root)}: {where}")
    made = {id(arg.storage): arg.storage for launch in plan.launches for arg in launch.args if isinstance(arg, Address)}
    sizes = [storage.nbytes for number, storage in made.items() if number not in own]
    lines.append(f"memory: {len(sizes)} allocation{'s' * (len(sizes) != 1)}, {sum(sizes):,} bytes")
    return "\n".join(lines) + "\n"


def _name(node: Node) -> str:
    what = getattr(node, "op", type(node).__name__.lower())
    return f"{what}: {node.typed}" + (f" ({node.where})" if node.where else "")


def _moved(launch: Launch) -> tuple[int, int]:
    """Bytes that a launch reads and writes, each element once."""
    read = written = 0
    for param, arg, mode in zip(launch.kernel.params, launch.args, modes(launch.kernel), strict=True):
        if isinstance(arg, Address):
            nbytes = _elements(arg) * element(param.value.type).size
            read += nbytes * bool(mode & READ)
            written += nbytes * bool(mode & WRITE)
    return read, written


def _elements(arg: Address) -> int:
    """Different elements that are touched, or as many as they can be."""
    count = 1
    for length, stride in zip(arg.touched.shape, arg.touched.strides, strict=True):
        count *= length if stride else 1
    return count if arg.most is None else min(count, arg.most)


def _least(plan: AnyPlan, inputs: set[int]) -> int:
    read: dict[tuple[int, Layout], int] = {}
    for launch in plan.launches:
        for param, arg, mode in zip(launch.kernel.params, launch.args, modes(launch.kernel), strict=True):
            if isinstance(arg, Address) and mode & READ and id(arg.storage) in inputs:
                read[id(arg.storage), arg.touched] = _elements(arg) * element(param.value.type).size
    results = {result: result.size * result.dtype.size for result in plan.results}
    return sum(read.values()) + sum(results.values())
