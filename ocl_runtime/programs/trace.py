"""What a function does with arrays, written down as a host program instead of being done.

While a `Trace` is at work, arrays have `Planned` memory, and launches become statements. Memory in the program is
bytes; each launch views them as it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple
from weakref import ref

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.graph.forward import resolve
from ocl_ir.graph.substitute import substitute
from ocl_ir.guards import Guards, formula
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program, SymbolicLayout, Value
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import U8, DType
from ocl_runtime.arrays import Array
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams.chosen import chosen
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.donation import Donation
from ocl_runtime.plan.host.lower import Lowering
from ocl_runtime.plan.launch import Argument, Plan
from ocl_runtime.plan.planner import plan, planned_into
from ocl_runtime.plan.registry import Cell
from ocl_runtime.programs.arguments import Arguments
from ocl_runtime.programs.exclusive import Use, forget_unneeded, use_of


class Planned:
    """A storage that will have memory when the program runs."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def __repr__(self) -> str:
        return "<memory of a captured program: it has no values>"


class Result(NamedTuple):
    """A result of a captured function: its position among the program's (None: it has no elements), and how it lies."""

    position: int | None
    dtype: DType
    layout: SymbolicLayout


class SharedArgumentsError(Error):
    """A captured function writes into an argument that shares memory with another one."""


class OverlappingArgumentsError(SharedArgumentsError, ShapeError):
    """A captured function launches a kernel over arguments of which one is written and overlaps another one."""


class Trace:
    """Writes down one function. `constants` are memory that the program refers to, by parameter; cells, so that nobody
    writes over it. `assigned` are the arguments that it writes into, by number, and `into` those whose memory it
    computes into."""

    def __init__(self, name: str, executor: DeviceExecutor, guards: Guards) -> None:
        self.constants: dict[str, Cell] = {}
        self.assigned: list[int] = []
        self.into: list[int] = []
        self._guards = guards
        self._builder = HostBuilder(name if name.isidentifier() and name.isascii() else "captured")
        self._lowering = Lowering(self._builder)
        self._executor = executor
        self._values: dict[int, Value] = {}
        self._storages: dict[int, object] = {}
        self._inputs: list[Value] = []
        self._written: list[Value] = []
        self._computed: dict[Node, Buffer] = {}
        """Nodes that the program has computed so far, with their results."""
        self._lent: set[int] = set()
        """By `id`, memory of arrays that are computed to it, which results of other nodes lie in, too."""
        self._born = executor.registry.captures = executor.registry.captures + 1

    def parameters(self, arguments: Arguments) -> list[Array]:
        """Arrays like the given ones, whose memory are parameters of the program."""
        layouts = arguments.backed(self._guards)
        for name in self._guards.names():
            self._builder.size(name)
        stand_ins = [Planned(nbytes) for nbytes in arguments.nbytes(layouts)]
        for number, stand_in in enumerate(stand_ins):
            self._know(stand_in, self._input(f"x{number}", stand_in.nbytes))
        self._params = [
            Array(graph.buffer(None if range_index < 0 else stand_ins[range_index], node.dtype, layout), executor)
            for node, executor, layout, range_index in zip(
                arguments.nodes, arguments.executors, layouts, arguments.range_indices, strict=True
            )
        ]
        self._param_nodes = [param._node for param in self._params]
        self._arguments = {param._cell: number for number, param in enumerate(self._params)}
        self._shared = [
            range_index >= 0 and arguments.range_indices.count(range_index) > 1
            for range_index in arguments.range_indices
        ]
        return self._params

    def compute(self, nodes: Sequence[Node]) -> list[Buffer]:
        """What nodes will be computed to; each is computed once."""
        wanted = self._copy(nodes)
        planned = plan(list(dict.fromkeys(wanted)), self._executor)
        self.run(planned)
        results = dict(zip(planned.roots, planned.results, strict=True))
        computed = {node: self._apart(node, results[root]) for node, root in zip(nodes, wanted, strict=True)}
        self._computed |= computed
        return [computed[node] for node in nodes]

    def _copy(self, nodes: Sequence[Node]) -> list[Node]:
        """Nodes as they are by now, to be planned without the lock: others may compute what they are made of, and was
        there before."""
        with self._executor.registry.lock:
            return substitute(resolve(nodes), self._computed, copy=True)

    def compute_into(self, wanted: list[Node], cell: Cell, *, target: Callable[[], Buffer]) -> bool:
        """Computes a single value into the memory of a cell, into the part that is its target; over other memory where
        the value reads that. Where others need what lies there it does nothing, and says so. The list is emptied."""
        self.writes(cell)
        storage, value = id(getattr(cell.node, "storage", None)), ref(wanted[0])
        use = self._use(wanted, cell)
        root = value()
        if not use.is_exclusive or root is None:
            return False
        self.run(planned_into([*self._copy([root]), result := target()], self._executor))
        self._overwritten(storage)
        if use.is_read:  # and who needs the value cannot compute it again
            self._computed[root] = result
            self._lent.add(storage)
        return True

    def takes(self, cell: Cell) -> None:
        """A kernel is about to write into what a cell is, or a part of it. Unless nobody else needs what lies there,
        the cell gets memory of its own with the same contents. Raises `Error` for an array from outside of the
        function."""
        self.writes(cell)
        if not isinstance(cell.node, Buffer):
            cell.become(self.compute([cell.node])[0])
        storage = getattr(cell.node, "storage", None)
        if storage is None:
            return
        number = id(storage)
        del storage  # whoever has it needs it
        if self._use([], cell).is_exclusive:
            self._overwritten(number)
        else:
            node = cell.node
            assert isinstance(node, Buffer)
            cell.become(self._copied(node))

    def _use(self, wanted: list[Node], cell: Cell) -> Use:
        """The use that a single value, or a kernel, makes of the memory of a cell; the list is emptied. Where nobody
        else needs what lies there, and the cell is an argument, it is one that is computed into."""
        number, node = self._arguments.get(cell), cell.node
        over = [index for index, param_node in enumerate(self._param_nodes) if _same_memory(param_node, node)]
        if (
            not isinstance(node, Buffer) or node.layout.repeats or (over and number not in over)
        ):  # a part is computed; another array's memory
            return Use(is_exclusive=False, is_read=False)
        params = [self._params[index]._cell.node for index in over if index != number]
        kept = [
            node,
            *map(self._param_nodes.__getitem__, over),
            *[param for param in params if _same_memory(param, node)],
        ]
        storage = id(node.storage)
        del node, params
        forget_unneeded(self._computed)
        use = use_of(wanted, kept, self._computed, traced=storage in self._storages)
        if use.is_exclusive and number is not None and number not in self.into:
            self.into.append(number)
        return use

    def _overwritten(self, storage: int) -> None:
        """Nobody can ask any more for what was computed to memory with an `id`."""
        self._computed = {node: result for node, result in self._computed.items() if id(result.storage) != storage}

    def _apart(self, node: Node, result: Buffer) -> Buffer:
        """The result of a node; a copy where it lies in the memory of another array."""
        return self._copied(result) if id(result.storage) in self._lent and not isinstance(node, Buffer) else result

    def owns(self, cell: Cell) -> bool:
        """Whether an array was made inside of the function."""
        return cell.born >= self._born

    def writes(self, cell: Cell) -> None:
        """An array is about to be written. Raises `Error` for one from outside of the function."""
        if not self.owns(cell):
            raise Error(
                "a captured function writes into an array that is not its own",
                place=calling_line(),
                remedy="give the array as an argument, or return a new one",
            )

    def allocate(self, nbytes: int, where: Where) -> Planned:
        """Scratch memory of the program, or memory of a result."""
        planned = Planned(nbytes)
        self._know(planned, self._builder.alloc(U8, (formula(nbytes),), "t"))
        return planned

    def has_no_values(self, storage: object) -> bool:
        """Whether it is a part of the program only, or is written by it."""
        value = self._values.get(id(storage))
        return isinstance(storage, Planned) or value in self._written

    def run(self, plan: Plan) -> None:
        """Writes down a plan's launches."""
        for launch in plan.launches:
            self.launch(launch.kernel, launch.args, launch.global_size, launch.group_size)

    def launch(
        self,
        kernel: Kernel,
        args: Sequence[Argument | int | float],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None,
    ) -> None:
        """Writes down one launch, on the stream that the function has chosen, if it has."""
        number, sizes = chosen(), (global_size, group_size)
        with nullcontext() if number is None else self._builder.stream(number):
            self._lowering.launch(kernel, args, sizes, self._used)

    def end(self, roots: list[Node]) -> tuple[Program, list[Result]]:
        """The program, and where in it the results are."""
        outs: list[Value] = []
        results: list[Result] = []
        for node in self._results(roots):
            layout = self._lowering.layout(node.layout)
            if node.storage is None:
                results.append(Result(None, node.dtype, layout))
                continue
            value = self._value(node.storage)
            if value not in outs:
                outs.append(value)
            results.append(Result(outs.index(value), node.dtype, layout))
        return self._builder.build(*outs), results

    def _results(self, roots: list[Node]) -> list[Buffer]:
        """The results as memory; what would be memory that the caller keeps is copied."""
        written = self._written_arguments()
        donation = Donation([node.storage for node, _ in written], ())
        wanted = self._copy([*roots, *(after for _, after in written)])
        planned = plan(wanted, self._executor, donation=donation)
        self.run(planned)
        results = list(planned.results[: len(roots)])
        changes = [
            (before, after)
            for (before, _), after in zip(written, planned.results[len(roots) :], strict=True)
            if not after.is_as(before)
        ]
        overwritten = {id(before.storage) for before, _ in changes}
        first: dict[Node, Node] = {}
        for index, (node, root, merged) in enumerate(zip(results, roots, wanted, strict=False)):
            is_equal = first.setdefault(merged, root) is not root  # but another array, and each may be written over
            if node.storage is not None and (
                is_equal or id(node.storage) in overwritten or self._is_kept(node.storage)
            ):
                results[index] = self._copied(node)
            else:
                results[index] = self._apart(root, node)
        # What lies in an argument that gets another value is taken from there before any of them gets it.
        changes = [
            (before, self._copied(after) if id(after.storage) in overwritten else after) for before, after in changes
        ]
        for before, after in changes:
            self.run(plan([after], self._executor, into={after: before}))
        return results

    def _copied(self, node: Buffer) -> Buffer:
        copied = plan([node], self._executor, dense=True)
        self.run(copied)
        return copied.results[0]

    def _written_arguments(self) -> list[tuple[Buffer, Node]]:
        """What the function has written into: what it was given, and what that is to be."""
        written: list[tuple[Buffer, Node]] = []
        for number, (param, before) in enumerate(zip(self._params, self._param_nodes, strict=True)):
            if param._node is before or not isinstance(before, Buffer) or before.storage is None:
                continue
            if self._shared[number]:
                raise SharedArgumentsError(
                    "a captured function writes into an argument that shares memory with another one",
                    place=calling_line(),
                    remedy="give the array once, and make views of it inside",
                )
            written.append((before, param._node))
            self.assigned.append(number)
        return written

    def _is_kept(self, storage: object) -> bool:
        value = self._values.get(id(storage))
        return value is None or (value in self._inputs and value not in self._written)

    def _input(self, name: str, nbytes: int) -> Value:
        value = self._builder.input(name, U8, (formula(nbytes),))
        self._inputs.append(value)
        return value

    def _know(self, storage: object, value: Value) -> None:
        self._storages[id(storage)] = storage
        self._values[id(storage)] = value

    def _used(self, storage: object, mode: int) -> Value:
        """The value of a storage that a kernel uses in some mode."""
        base = self._value(storage)
        if mode & WRITE and base in self._inputs:
            self._builder.writes(base)
            self._written.append(base)
        return base

    def _value(self, storage: Any) -> Value:
        """The value of a storage; one that has memory already is a constant of the program."""
        value = self._values.get(id(storage))
        if value is None:
            if not isinstance(storage, Storage):
                raise Error(
                    "a captured function uses an array that another captured function kept",
                    place=calling_line(),
                    remedy="return arrays from captured functions; do not keep them elsewhere",
                )
            name = f"constant{len(self.constants)}"
            whole = graph.buffer(storage, U8, Layout((storage.nbytes,), (1,)))
            self.constants[name] = Cell(whole, self._executor.registry)
            value = self._input(name, storage.nbytes)
            self._know(storage, value)
        return value


def _same_memory(node: Node, other: Node) -> bool:
    """Whether two nodes lie in the same memory."""
    return isinstance(node, Buffer) and isinstance(other, Buffer) and node.storage is other.storage
