"""An evaluation that comes again and again, written out as Python: one straight function for one plan and its sizes.

What an evaluation goes through is the same each time but for the memory and the numbers: the expression is compared
with the one that is known, who else holds its nodes is counted, memory is allocated or taken over, the program is given
to the device, and results are handed out. Written out, this takes a third of what the general way takes, which goes
through tables. Where anything is not as it was, the function answers None before it has changed anything, and the
evaluation goes the general way.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Protocol, TypeAlias

from ocl_ir.graph.build import Buffer, Movement, Node, Scalar, Storage
from ocl_ir.graph.forward import forward
from ocl_ir.source_line import Where
from ocl_ir.types import F32, DType
from ocl_runtime.errors import NoRoomYetError, OutOfMemoryError
from ocl_runtime.plan.cache.comparison import Comparison, Text
from ocl_runtime.plan.cache.evaluation import Evaluation, passed_number
from ocl_runtime.plan.donation import Held, Holders, most_donated, used_outside
from ocl_runtime.plan.history import History, is_live, made_of
from ocl_runtime.plan.planning import Planning
from ocl_runtime.plan.readers import elsewhere, noted
from ocl_runtime.plan.structure import Structure


class Allocator(Protocol):
    """Memory of a device."""

    def stream(self) -> Any:
        """The stream that this thread's commands go to."""

    def allocate(self, nbytes: int, where: Where, stream: Any, *, wait: bool) -> Storage:
        """Memory of `nbytes` with undefined contents, asked for at a Python line, for use on a stream first. Raises
        `OutOfMemoryError`, and, unless it may `wait`, `NoRoomYetError`."""


Give: TypeAlias = "Callable[[Any, list[Any], Sequence[Where], dict[str, Any], Any], None]"
"""Starts the program of a plan, as the executor has bound it to some sizes: over memory for its buffers, for the Python
lines of its steps, with numbers by name, from a stream on."""


class Giving(Planning, Protocol):
    """Who runs what is planned."""

    @property
    def device_memory(self) -> Allocator:
        """What `allocate` takes memory from while no function is captured."""

    def handed_over(self, storage: Any) -> Any:
        """The same memory as another storage."""

    @property
    def give(self) -> Give:
        """Starts a program."""


Written: TypeAlias = "Callable[[list[Node], Sequence[Any], Giving], list[Buffer] | None]"
"""Evaluates nodes, which become cells, and empties the list; None, and nothing has changed, for what it was not written
for."""


def _own_references() -> int:
    """The references that `sys.getrefcount` finds to what one local variable has. Without the debugger that may run
    this module: what it looks at has a reference more, which is not so any more where it has gone."""
    code: dict[str, Any] = {"references": sys.getrefcount}
    exec("def count():\n    n0, = [object()]\n    return references(n0)", code)
    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(None)
    if callable(profiler):  # cProfile's is written in C: it refers to no variables, and could not be set again
        sys.setprofile(None)
    try:
        count: int = code["count"]()
    finally:
        if callable(profiler):
            sys.setprofile(profiler)
        sys.settrace(tracer)
    return count


_LOCAL: Final = _own_references() if hasattr(sys, "getrefcount") else 0


def written(
    structure: Structure, planned: Evaluation, holders: Holders, memory: Allocator, past: History
) -> Text | None:
    """The text of the function for evaluations like one that is about to run; None where there is something special
    about it. What its history keeps are the last of its roots."""
    asked = len(structure.roots) - len(past.kept)
    if not _LOCAL or planned.pieces or (structure.writes and structure.into):
        return None
    held = None if structure.into else holders.look(structure)  # before anything here holds a node, too
    text = Comparison(structure, asked)
    if held is not None:
        template, sized = planned.template, planned.sized
        nodes = structure.nodes
        own = planned.own
        # What is no memory of its own, as a view of an operand, goes the general way; so does what has two results.
        if not {*structure.roots} <= {index for index, _, _, _ in sized.computed} or any(
            slot is None or slot not in own or _is_turned(nodes[index]) for index, slot, _, _ in sized.computed
        ):
            return None
        if not {*template.donated, *template.taken} <= {index for index, _ in held.storages}:
            return None  # somebody has come to hold what was free
        _compare_holders(text, structure, held, template.donated)
        uses = Counter(arg for node in structure.nodes for arg in node.args)
        text.refuse([f"references(n{root}) <= {uses[nodes[root]] + _LOCAL}" for root in structure.roots[asked:]])
        if structure.writes:
            _compare_readers(text, structure, held)
        if past.left_out:
            _compare_left_out(text, structure, past)
    _give(text, structure, planned, past)
    _hand_out(text, structure, planned, asked)
    text.names |= {
        "NoRoomYetError": NoRoomYetError,
        "OutOfMemoryError": OutOfMemoryError,
        "allocate": memory.allocate,
        "device_memory": memory,
        "Buffer": Buffer,
        "forward": forward,
        "number": passed_number,
        "references": sys.getrefcount,
        "sized": planned.sized,
    }
    return text.text()


def _compare_holders(text: Comparison, structure: Structure, held: Held, donated: Collection[int]) -> None:
    """Refuses where others hold other nodes, or other memory, than those of this very expression."""
    text.refuse(
        [f"references(n{index}) {'<=' if is_held else '>'} {uses + _LOCAL}" for index, uses, is_held in held.nodes]
    )
    for index, buffers in held.storages:
        name, most = text.storages[index], most_donated([structure.nodes[buffer] for buffer in buffers])
        needed = [f"references({name}) != {len(buffers) + _LOCAL}", f"{name}.nbytes > {most}"]
        is_needed = " or ".join([*needed, f"used_outside({name})"])
        text.refuse([is_needed if index in donated else f"not ({is_needed})"])
    text.names["used_outside"] = used_outside


def _compare_readers(text: Comparison, structure: Structure, held: Held) -> None:
    """Refuses where others look at memory that is written over: what they need of it may have to be copied. Views of
    nodes hold these, which counts."""
    own = ", ".join([f"n{index}" for index in range(len(structure.nodes)) if index not in held.needed])
    text.add(f"own = {{{own}}}")
    numbers = {node: number for number, node in enumerate(structure.nodes)}
    written_over = [structure.nodes[write].args[0] for write in structure.writes]
    names = [f"n{numbers[base]}" for base in written_over if isinstance(base, Buffer)]
    text.refuse([f"used_outside({name}.storage) or elsewhere(noted({name}.storage), {name}, own)" for name in names])
    text.add("del own")
    text.names |= {"elsewhere": elsewhere, "noted": noted}


def _compare_left_out(text: Comparison, structure: Structure, past: History) -> None:
    """Refuses where values that stay expressions would not: an evaluation has left them out before, or nobody else
    needs the memory that they are made of (`ocl_runtime.plan.history`)."""
    number_of = {node: number for number, node in enumerate(structure.nodes)}
    text.refuse([f"n{number_of[node]}.left_out" for node in past.left_out])
    uses = Counter(id(node.storage) for node in structure.nodes if isinstance(node, Buffer))
    names = dict(zip(map(id, structure.storages), text.storages, strict=True))
    needed = []
    for node in dict.fromkeys(node for value in past.left_out for node in made_of(value, past.kept)):
        if isinstance(node, Buffer) and node.storage is not None:
            memory = id(node.storage)
            needed.append(f"references({names[memory]}) <= {uses[memory] + _LOCAL} and not is_live(n{number_of[node]})")
    text.refuse(needed)
    text.names["is_live"] = is_live


def _give(text: Comparison, structure: Structure, planned: Evaluation, past: History) -> None:
    """Allocates memory, or takes it over, and gives the program to the device."""
    sized, template = planned.sized, planned.template
    storages = [*text.storages]
    allocated = [
        f"s{number} = allocate({nbytes}, {_line(text, by)}, stream, wait=False)"
        for number, (nbytes, by) in enumerate(sized.memory, len(storages))
    ]
    storages += [f"s{number}" for number in range(len(storages), len(planned.storages))]
    arena = "None"
    if sized.arena:
        arena = "arena"
        allocated.append(f"arena = allocate({sized.arena}, {_line(text, sized.askers[-1])}, stream, wait=False), 0")
    text.add("stream = device_memory.stream()")  # which refuses in a forked child
    if allocated:
        text.add("try:")
        for line in allocated:
            text.add(f"    {line}")
        text.add("except (OutOfMemoryError, NoRoomYetError):")
        text.add("    return None")
    for index in template.taken:
        text.add(f"s{index} = executor.handed_over(s{index})")
    memory = ["None" if slot is None else f"({storages[slot]}, 0)" for slot in template.slots]
    text.add(f"memory = [{', '.join([*memory, arena])}]")
    if arena != "None":
        text.add("del arena")
    lines = ", ".join(_line(text, asker) for asker in sized.askers)
    numbers = ", ".join(_number(text, *entry) for entry in template.numbers)
    for number, node in enumerate(structure.nodes):
        if node in past.left_out:
            text.add(f"n{number}.left_out = True")
    text.add(f"executor.give(sized.ready, memory, [{lines}], {{{numbers}}}, stream)")
    text.add("del memory")  # scratch memory goes back as soon as all is given


def _is_turned(node: Node) -> bool:
    return isinstance(node, Movement) and node.step.kind == "permute"


def _hand_out(text: Comparison, structure: Structure, planned: Evaluation, asked: int) -> None:
    """Makes the results of nodes, for cells and for who has built on the nodes."""
    roots = [] if structure.into else [f"n{root}" for root in structure.roots[:asked]]
    computed = planned.sized.computed if roots else ()
    for number, slot, dtype, layout in computed:
        name, shape, flat = f"n{number}", text.named(layout.shape), layout.is_dense
        args = f"{shape}, {text.named(dtype)}, {name}.line, {flat}, (), s{slot}, {text.named(layout)}"
        text.add(f"r{name} = Buffer({args})")
    for number, name in enumerate(roots):
        text.add(f"if cells[{number}] is not None:")
        text.add(f"    cells[{number}].become(r{name})")
    text.add("roots.clear()")
    for number, _, _, _ in computed:
        text.add(f"if references(n{number}) > {_LOCAL}:")
        text.add(f"    forward(n{number}, rn{number})")
    text.add(f"return [{', '.join(f'r{name}' for name in roots)}]")


def _line(text: Comparison, asker: int | Where) -> str:
    return f"n{asker}.line" if isinstance(asker, int) else text.named(asker)


def _number(text: Comparison, name: str, scalar: int, dtype: DType) -> str:
    value = f"{text.nodes(Scalar)[scalar]}.value"
    converted = f"number({value}, {text.named(dtype)})"
    return f"{name!r}: {value} if type({value}) is float else {converted}" if dtype is F32 else f"{name!r}: {converted}"
