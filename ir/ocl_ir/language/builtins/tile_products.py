"""Products of tiles: the group stores both operands in local memory, and each work-item adds up its own elements.

Where local memory has room, there are two buffers, which take turns: then one barrier is enough, since the next product
is stored where nobody reads any more. A loop of nothing but a product of what it loads has its next operands on the way
while the present ones are multiplied.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.kernel.grammar import Array, Let, Load, Local, Stmt, Variable, walk
from ocl_ir.kernel.grammar import Value as IRValue
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tile_accesses import TileAccesses
from ocl_ir.language.builtins.tile_fma import FmaMultiplication
from ocl_ir.language.builtins.tile_matrices import by_instructions
from ocl_ir.language.builtins.tile_stages import Multiplication, Stage
from ocl_ir.language.statements.loop_statements import Turns
from ocl_ir.language.syntax.products import LoopOfProducts, loop_of_products
from ocl_ir.language.values.scopes import Version
from ocl_ir.language.values.values import AnyTile, LoadedTile, Number, Tile, Value, dtype_name
from ocl_ir.types import F16, DType, Pointer

_OUTERMOST = 2
"""How many blocks are open in the body of a kernel, outside of its loops and branches."""
_ALIGN = 32
"""Of local memory, in bytes: four float64."""


class Buffers(NamedTuple):
    """A product with its local memory. `turn` says which of two buffers is in use; None: there is one."""

    product: Multiplication
    turn: Ref | None

    @property
    def stages(self) -> tuple[Stage, Stage]:
        """The operands."""
        return self.product.left, self.product.right


class TileProducts(TileAccesses):
    """Multiplies tiles."""

    def dot(self, acc: Tile, left: AnyTile, right: AnyTile, *, matrix: bool = False) -> Tile:
        """acc + left @ right: `acc = fma(left[i, k], right[k, j], acc)` for ascending k, in the dtype of `acc`; by the
        device's matrix instructions, where they may be used and there are some."""
        comes_again = self.k.depth > _OUTERMOST
        buffers = self._buffers(acc, left, right, comes_again=comes_again, matrix=matrix)
        if buffers.turn is None and comes_again:
            self.k.barrier()
        begin = self._begin(buffers)
        for stage, tile in zip(buffers.stages, buffers.product.operands, strict=True):
            stage.bring(tile, begin)
        self.k.barrier()
        sums = [self.k.variable(element.ref, hint="acc") for element in acc.elements]
        buffers.product.multiply(begin, sums)
        self._take_turns(buffers)
        return Tile(acc.shape, acc.dtype, tuple(self.rounded(total, acc.dtype) for total in sums))

    def rounded(self, total: Ref, dtype: DType) -> Number:
        """What a variable holds now; halves are added up in float32 and rounded once."""
        ref = self.k.let(total)
        return Number(self.k.op("round_f16", ref) if dtype is F16 else ref, dtype)

    def _multiplication(self, acc: Tile, left: AnyTile, right: AnyTile, *, matrix: bool) -> Multiplication:
        """How a product is computed. Raises `ShapeError` and `DTypeError` for tiles that do not fit."""
        if left.shape[1] != right.shape[0] or acc.shape != (left.shape[0], right.shape[1]):
            raise self.fault(
                f"a product of shapes {left.shape} and {right.shape} into {acc.shape}",
                "use (m, k) and (k, n) into (m, n)",
                ShapeError,
            )
        if not acc.dtype.is_float:
            raise self.fault(f"a product into {dtype_name(acc.dtype)}", "use a tile of floats", DTypeError)
        by_matrices = by_instructions(self, acc, left, right) if matrix else None
        return by_matrices or FmaMultiplication(self, acc, left, right)

    # ------------------------------------------------------------------ local memory

    def _buffers(self, acc: Tile, left: AnyTile, right: AnyTile, *, comes_again: bool, matrix: bool) -> Buffers:
        """A product, to which the group may come again, with its local memory. Raises `ShapeError` where the device has
        too little, and what `_multiplication` raises."""
        product = self._multiplication(acc, left, right, matrix=matrix)
        wanted = product.length * product.dtype.size
        free = self.options.local_bytes - sum(map(_bytes_of, self.local_arrays))
        in_turns = comes_again and 2 * wanted <= free
        if wanted > free:
            raise self.fault(
                f"a product of shapes {left.shape} and {right.shape} takes {wanted:,} bytes of local memory, of which "
                f"the device has {self.options.local_bytes:,}, {free:,} of them free",
                f"use tiles with a shorter inner axis than {left.shape[1]}",
                ShapeError,
            )
        length = product.length * (2 if in_turns else 1)
        array = self.new_array(length, product.dtype, "local", "stage", align=_ALIGN)
        product.left.local = product.right.local = array.memory.pointer
        return Buffers(product, self._new_turn() if in_turns else None)

    def _new_turn(self) -> Ref:
        """A variable that says which buffer is in use."""
        variable = Variable(self.k.take_id(), self.index_type, "turn")
        self.local_arrays.append(Local(variable, self._constant(0, self.index_type).operand))
        return Ref(self.k, variable)

    def _begin(self, buffers: Buffers, *, other: bool = False) -> Value:
        """Where the buffer that is in use begins, or the other one."""
        if buffers.turn is None:
            return 0
        turn = self.k.let(buffers.turn)
        return self.address((self.index_number(turn ^ 1 if other else turn), buffers.product.length))

    def _take_turns(self, buffers: Buffers) -> None:
        if buffers.turn is not None:
            self.k.assign(buffers.turn, self.k.let(buffers.turn) ^ 1)

    # ------------------------------------------------------------------ loops of products

    def prepared_turn(self, stmt: ast.For, name: str, turns: Turns) -> Callable[[Number], None] | None:
        """A loop of nothing but a product of what it loads: while a turn multiplies, the operands of the next one come
        to registers, and go to the other buffer behind that."""
        loop = loop_of_products(stmt)
        acc = None if loop is None else self._accumulator(loop, stmt)
        first = None if loop is None or acc is None else self._tried(loop, name, turns)
        if loop is None or acc is None or first is None:
            return None
        mark, matrix = self.marked(), any(self.expression(keyword.value) for keyword in loop.keywords)
        k, buffers = self.k, self._buffers(acc, *first, comes_again=True, matrix=matrix)
        if buffers.turn is None:
            self.back_to(mark)
            return None
        units = [stage.units(tile) for stage, tile in zip(buffers.stages, first, strict=True)]
        room = [stage.room(own) for stage, own in zip(buffers.stages, units, strict=True)]

        def fetch(number: Number) -> None:
            tiles = self._operands(loop, name, number)
            for stage, tile, own, to in zip(buffers.stages, tiles, units, room, strict=True):
                stage.fetch(tile, own, to)

        def deposit(*, other: bool) -> None:
            begin = self._begin(buffers, other=other)
            for stage, own, of in zip(buffers.stages, units, room, strict=True):
                stage.deposit(own, of, begin)

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
            buffers.product.multiply(self._begin(buffers), sums)
            with k.if_(more):
                deposit(other=True)
            k.barrier()
            self._take_turns(buffers)
            if acc.dtype is F16:
                elements = tuple(self.rounded(total, F16) for total in sums)
                self.scope.names[loop.acc.id] = Version(Tile(acc.shape, F16, elements), self.span)

        return turn

    def _accumulator(self, loop: LoopOfProducts, stmt: ast.For) -> Tile | None:
        """The tile that a loop adds products to, if that is all that it does and leaves behind."""
        acc = self.scope.names.get(loop.acc.id)
        stays = {loop.acc.id} | self.liveness.head.get(id(stmt), frozenset())
        if acc is None or not isinstance(acc.value, Tile) or loop.names & stays or not self._is_dot(loop):
            return None
        return acc.value

    def _is_dot(self, loop: LoopOfProducts) -> bool:
        """Whether a loop calls `dot`, as it may be called, or has an operator."""
        if loop.function is None:
            return True
        called = self.builtin_of(self.expression(loop.function))
        keywords = [(keyword.arg, self.expression(keyword.value)) for keyword in loop.keywords]
        known = all(name == "matrix" and isinstance(value, bool) for name, value in keywords)
        return called is not None and called.name == "dot" and known

    def _tried(self, loop: LoopOfProducts, name: str, turns: Turns) -> tuple[LoadedTile, LoadedTile] | None:
        """The operands of any turn, if they are read from arrays and to compute where is all that they need; what is
        made for that is forgotten."""
        if turns.number(turns.start).kind != "index":
            return None
        mark, index = self.marked(), IRValue(self.k.take_id(), self.index_type)
        self.k.multiples.note(index, self.k.multiples.of(turns.start.operand, turns.step.operand))
        with self.k.block() as block:
            left, right = self._operands(loop, name, turns.number(Ref(self.k, index)))
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
