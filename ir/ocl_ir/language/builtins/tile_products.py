"""Products of tiles: the group stores both operands in local memory, and each work-item joins its own elements by
`fma`, in ascending order of the inner axis.

Where local memory has room, there are two buffers, which take turns: then one barrier is enough, since the next product
is stored where nobody reads any more. A loop of nothing but a product of what it loads has its next operands on the way
while the present ones are multiplied.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.kernel.grammar import Array, Let, Load, Local, Stmt, Variable, walk
from ocl_ir.kernel.grammar import Value as IRValue
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tile_accesses import TileAccesses
from ocl_ir.language.builtins.tile_stages import LANES, Stage
from ocl_ir.language.statements.loop_statements import Turns
from ocl_ir.language.syntax.products import LoopOfProducts, loop_of_products
from ocl_ir.language.values.scopes import Version
from ocl_ir.language.values.values import AnyTile, LoadedTile, Number, Tile, TileShape, Value, dtype_name
from ocl_ir.types import F16, U64, DType, Pointer

_OUTERMOST = 2
"""How many blocks are open in the body of a kernel, outside of its loops and branches."""


class Stages(NamedTuple):
    """The operands of a product in local memory. `turn` says which of two buffers is in use; None: there is one."""

    left: Stage
    right: Stage
    inner: int
    turn: Ref | None

    @property
    def length(self) -> int:
        """Elements of a buffer."""
        return self.left.step_length + self.right.step_length


class TileProducts(TileAccesses):
    """Multiplies tiles."""

    def dot(self, acc: Tile, left: AnyTile, right: AnyTile) -> Tile:
        """acc + left @ right: `acc = fma(left[i, k], right[k, j], acc)` for ascending k, in the dtype of `acc`."""
        self._check_product(acc, left, right)
        comes_again = self.k.depth > _OUTERMOST
        stages = self._stages(acc, left, right, comes_again=comes_again)
        if stages.turn is None and comes_again:
            self.k.barrier()
        buffer = self._buffer(stages)
        stages.left.bring(left, buffer)
        stages.right.bring(right, buffer)
        self.k.barrier()
        sums = [self.k.variable(element.ref, hint="acc") for element in acc.elements]
        self._multiply(stages, buffer, acc.shape, sums)
        self._take_turns(stages)
        return Tile(acc.shape, acc.dtype, tuple(self.rounded(total, acc.dtype) for total in sums))

    def _check_product(self, acc: Tile, left: AnyTile, right: AnyTile) -> None:
        if left.shape[1] != right.shape[0] or acc.shape != (left.shape[0], right.shape[1]):
            raise self.fault(
                f"a product of shapes {left.shape} and {right.shape} into {acc.shape}",
                "use (m, k) and (k, n) into (m, n)",
                ShapeError,
            )
        if not acc.dtype.is_float:
            raise self.fault(f"a product into {dtype_name(acc.dtype)}", "use a tile of floats", DTypeError)

    # ------------------------------------------------------------------ local memory

    def _stages(self, acc: Tile, left: AnyTile, right: AnyTile, *, comes_again: bool) -> Stages:
        """Local memory for the operands of a product, to which the group may come again. Raises `ShapeError` where the
        device has too little."""
        dtype = self.computed_as(acc.dtype)
        first = Stage(self, left, 0, 0, dtype)
        second = Stage(self, right, 1, first.step_length, dtype)
        length = first.step_length + second.step_length
        wanted, free = length * dtype.size, self.options.local_bytes - sum(map(_bytes_of, self.local_arrays))
        in_turns = comes_again and 2 * wanted <= free
        if wanted > free:
            raise self.fault(
                f"a product of shapes {left.shape} and {right.shape} takes {wanted:,} bytes of local memory, of which "
                f"the device has {self.options.local_bytes:,}, {free:,} of them free",
                f"use tiles with a shorter inner axis than {left.shape[1]}",
                ShapeError,
            )
        array = self.new_array(length * (2 if in_turns else 1), dtype, "local", "stage", align=LANES * dtype.size)
        first.local = second.local = array.memory.pointer
        return Stages(first, second, left.shape[1], self._new_turn() if in_turns else None)

    def _new_turn(self) -> Ref:
        """A variable that says which buffer is in use."""
        variable = Variable(self.k.take_id(), self.index_type, "turn")
        self.local_arrays.append(Local(variable, self._constant(0, self.index_type).operand))
        return Ref(self.k, variable)

    def _buffer(self, stages: Stages, *, other: bool = False) -> Value:
        """Where the buffer that is in use begins, or the other one."""
        if stages.turn is None:
            return 0
        turn = self.k.let(stages.turn)
        return self.index_number((turn ^ 1 if other else turn) * stages.length)

    def _take_turns(self, stages: Stages) -> None:
        if stages.turn is not None:
            self.k.assign(stages.turn, self.k.let(stages.turn) ^ 1)

    # ------------------------------------------------------------------ what an item adds up

    def _multiply(self, stages: Stages, buffer: Value, shape: TileShape, sums: Sequence[Ref]) -> None:
        """Adds the products of what a buffer holds to the sums of a tile, which are variables."""
        k, grid = self.k, self.grid(shape)
        reads = [self._reads(stage, axis, shape, buffer) for axis, stage in enumerate((stages.left, stages.right))]
        with k.for_(0, stages.inner, dtype=U64, hint="k", unroll=min(stages.inner, 8)) as inner:
            rows, columns = ([number for read in own for number in read(inner)] for own in reads)
            for number, (row, column) in enumerate(grid.own_elements()):
                k.assign(sums[number], k.op("fma", rows[row], columns[column], sums[number]))

    def _reads(self, stage: Stage, axis: int, shape: TileShape, buffer: Value) -> list[Callable[[Ref], list[Ref]]]:
        """What reads a work-item's rows or columns of an operand at a place of the inner axis: vector by vector, or one
        by one where there are some beyond the tile, in whose place others are read: nobody looks at their products."""
        grid = self.grid(shape)
        first, steps, lanes = self.own_first(grid)[axis], grid.steps(axis), grid.lanes[axis]
        if grid.covers(axis, shape[axis]):
            origin = stage.origin(first, buffer)
            return [
                lambda inner, step=step: stage.read(origin, inner, step, lanes)  # type: ignore[misc]
                for step in steps[::lanes]
            ]
        places = [self.numeric("minimum", self._plus(first, step), shape[axis] - 1) for step in steps]
        origins = [stage.origin(place, buffer) for place in places]
        return [lambda inner, at=at: stage.read(at, inner, 0, 1) for at in origins]  # type: ignore[misc]

    def rounded(self, total: Ref, dtype: DType) -> Number:
        """What a variable holds now; halves are added up in float32 and rounded once."""
        ref = self.k.let(total)
        return Number(self.k.op("round_f16", ref) if dtype is F16 else ref, dtype)

    # ------------------------------------------------------------------ loops of products

    def prepared_turn(self, stmt: ast.For, name: str, turns: Turns) -> Callable[[Number], None] | None:
        """A loop of nothing but a product of what it loads: while a turn multiplies, the operands of the next one come
        to registers, and go to the other buffer behind that."""
        loop = loop_of_products(stmt)
        acc = None if loop is None else self._accumulator(loop, stmt)
        first = None if loop is None or acc is None else self._tried(loop, name, turns)
        if loop is None or acc is None or first is None:
            return None
        self._check_product(acc, *first)
        k, stages = self.k, self._stages(acc, *first, comes_again=True)
        if stages.turn is None:
            return None
        both = stages.left, stages.right
        units = [stage.units(tile) for stage, tile in zip(both, first, strict=True)]
        held = [stage.hold(own) for stage, own in zip(both, units, strict=True)]

        def fetch(number: Number) -> None:
            for stage, tile, own, to in zip(both, self._operands(loop, name, number), units, held, strict=True):
                stage.fetch(tile, own, to)

        def deposit(*, other: bool) -> None:
            buffer = self._buffer(stages, other=other)
            for stage, own, of in zip(both, units, held, strict=True):
                stage.deposit(own, of, buffer)

        with k.if_(turns.start < turns.stop):
            fetch(turns.number(turns.start))
            deposit(other=False)
        k.barrier()

        def turn(number: Number) -> None:
            following = self.snapshot(self._plus(number, turns.number(turns.step)))
            more = k.let(following.ref < turns.stop, "more")
            with k.if_(more):
                fetch(following)
            sums = [element.ref for element in self.scope.names[loop.acc.id].value.elements]
            self._multiply(stages, self._buffer(stages), acc.shape, sums)
            with k.if_(more):
                deposit(other=True)
            k.barrier()
            self._take_turns(stages)
            if acc.dtype is F16:
                elements = tuple(self.rounded(total, F16) for total in sums)
                self.scope.names[loop.acc.id] = Version(Tile(acc.shape, F16, elements), self.span)

        return turn

    def _accumulator(self, loop: LoopOfProducts, stmt: ast.For) -> Tile | None:
        """The tile that a loop adds products to, if that is all that it does and leaves behind."""
        acc = self.scope.names.get(loop.acc.id)
        called = None if loop.function is None else self.builtin_of(self.expression(loop.function))
        is_dot = loop.function is None or (called is not None and called.name == "dot")
        stays = {loop.acc.id} | self.liveness.head.get(id(stmt), frozenset()) if loop.names else frozenset()
        if acc is None or not isinstance(acc.value, Tile) or not is_dot or loop.names & stays:
            return None
        return acc.value

    def _tried(self, loop: LoopOfProducts, name: str, turns: Turns) -> tuple[LoadedTile, LoadedTile] | None:
        """The operands of any turn, if they are read from arrays and to compute where is all that they need; what is
        made for that is forgotten."""
        mark, index = self.marked(), IRValue(self.k.take_id(), self.index_type)
        self.k.multiples.note(index, self.k.multiples.of(turns.start.operand, turns.step.operand))
        number = turns.number(Ref(self.k, index))
        if number.kind != "index":
            return None
        with self.k.block() as block:
            left, right = self._operands(loop, name, number)
        self.back_to(mark)
        pure = all(isinstance(stmt, Let | Load) for stmt in walk(tuple(block)))
        if not pure or not isinstance(left, LoadedTile) or not isinstance(right, LoadedTile):
            return None
        return left, right

    def _operands(self, loop: LoopOfProducts, name: str, number: Number) -> tuple[Value, Value]:
        """The operands of a turn; what is loaded stays to be read."""
        names, self.scope.names = self.scope.names, dict(self.scope.names)
        self.scope.names[name] = Version(number, self.span)
        for target, expression in loop.before:
            value = self.expression(expression)
            self.scope.names[target] = Version(
                value if isinstance(value, LoadedTile) else self.snapshot(value), self.span
            )
        operands = self.expression(loop.left), self.expression(loop.right)
        self.scope.names = names
        return operands


def _bytes_of(stmt: Stmt) -> int:
    """Bytes of local memory that a declaration takes."""
    if not isinstance(stmt, Array):
        return 0
    assert isinstance(stmt.pointer.type, Pointer)
    return stmt.length * stmt.pointer.type.dtype.size
