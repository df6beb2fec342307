"""What is provably wrong with the arrays of a group or a work-item: they are read before anything was stored, or two
work-items touch one element without a barrier between them.

Only what certainly happens is refused: accesses that the whole group makes, at indices that are `a * local_id(0) + b`
with known numbers. The interpreter finds the rest (`k.interpret`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ocl_ir.errors import DataRaceError
from ocl_ir.kernel.grammar import (
    Array,
    Atomic,
    Barrier,
    Block,
    Const,
    For,
    If,
    Kernel,
    Let,
    Load,
    Operand,
    Store,
    Value,
    While,
    blocks,
    walk,
)
from ocl_ir.kernel.uniformity import Uniformity, uniformity
from ocl_ir.language.context import SpanText
from ocl_ir.language.errors import KernelError
from ocl_ir.types import Pointer

_Access = Load | Store | Atomic


class _Affine(NamedTuple):
    """An index that is `scale * local_id(0) + offset`."""

    scale: int
    offset: int


def check_arrays(kernel: Kernel) -> None:
    """Raises `KernelError` for an array that is read before anything was stored in it, and `DataRaceError` for
    work-items of a group that touch one element of local memory without an order."""
    arrays = {stmt.pointer.id: stmt for stmt in walk(kernel.body) if isinstance(stmt, Array)}
    if not arrays:
        return
    for stmt in _unstored(kernel.body, set(arrays), set()):
        if isinstance(stmt.where, SpanText):
            name = stmt.pointer.hint or "the array"
            shared = stmt.pointer.id in arrays and _is_local(stmt)
            raise KernelError(
                f"{name} is read before anything was stored there",
                place=stmt.where.span.excerpt,
                remedy="fill it, then barrier()" if shared else "fill it first",
            )
    size = kernel.group_size
    if size is not None and size[0] > 1 and size[1:] == (1, 1):
        _Races(kernel, size[0]).check()


def _is_local(stmt: _Access) -> bool:
    return isinstance(stmt.pointer.type, Pointer) and stmt.pointer.type.space == "local"


def _unstored(block: Block, arrays: set[int], stored: set[int]) -> Iterator[_Access]:
    """Accesses that read one of some arrays, in which nothing before them can have stored anything."""
    for stmt in block:
        if isinstance(stmt, For | While):  # the turn before may have stored
            stored |= {inner.pointer.id for inner in walk((stmt,)) if isinstance(inner, Store | Atomic)}
        if isinstance(stmt, Load | Atomic) and stmt.pointer.id in arrays - stored:
            yield stmt
        if isinstance(stmt, Store | Atomic):
            stored.add(stmt.pointer.id)
        for inner_block in blocks(stmt):
            yield from _unstored(inner_block, arrays, stored)


class _Races:
    """Accesses to local memory between two barriers of straight code that the whole group goes through."""

    def __init__(self, kernel: Kernel, items: int) -> None:
        self._kernel = kernel
        self._items = items
        self._flow: Uniformity = uniformity(kernel)
        self._made = {stmt.result.id: stmt for stmt in walk(kernel.body) if isinstance(stmt, Let)}

    def check(self) -> None:
        """Raises `DataRaceError` for the first pair that certainly touches one element."""
        self._block(self._kernel.body)

    def _block(self, block: Block) -> None:
        since_barrier: list[tuple[_Access, _Affine]] = []
        for stmt in block:
            if isinstance(stmt, Barrier):
                since_barrier = []
            elif isinstance(stmt, If | For | While):
                if any(isinstance(inner, Barrier) for inner in walk((stmt,))):
                    since_barrier = []
                for inner_block in blocks(stmt):
                    self._block(inner_block)
            elif isinstance(stmt, Load | Store) and _is_local(stmt) and self._flow.cause(stmt) is None:
                index = self._affine(stmt.index)
                if index is not None:
                    since_barrier.append((stmt, index))
                    self._compare(since_barrier)

    def _compare(self, accesses: list[tuple[_Access, _Affine]]) -> None:
        last, index = accesses[-1]
        for other, at in accesses:
            writes = isinstance(last, Store) or isinstance(other, Store)
            if writes and last.pointer == other.pointer:
                pair = self._meet(index, at)
                if pair is not None:
                    raise _race(last, other, pair, index)

    def _meet(self, index: _Affine, other: _Affine) -> tuple[int, int] | None:
        """Two work-items, the first at one index and the second at the other, that touch one element."""
        for item in range(self._items):
            element = index.scale * item + index.offset
            if other.scale == 0:
                partner = (item + 1) % self._items if element == other.offset else None
            else:
                quotient, rest = divmod(element - other.offset, other.scale)
                partner = quotient if not rest and 0 <= quotient < self._items and quotient != item else None
            if partner is not None:
                return item, partner
        return None

    def _affine(self, operand: Operand) -> _Affine | None:
        if isinstance(operand, Const):
            return _Affine(0, int(operand.value))
        made = self._made.get(operand.id) if isinstance(operand, Value) else None
        if made is None:
            return None
        if made.op == "local_id":
            dimension = made.args[0]
            return _Affine(1, 0) if isinstance(dimension, Const) and dimension.value == 0 else _Affine(0, 0)
        if made.op in {"copy", "convert", "uniform"}:
            return self._affine(made.args[0])
        if made.op not in {"add", "sub", "mul"}:
            return None
        left, right = (self._affine(arg) for arg in made.args)
        if left is None or right is None:
            return None
        if made.op == "mul":
            if left.scale and right.scale:
                return None
            factor, other = (left.offset, right) if not left.scale else (right.offset, left)
            return _Affine(factor * other.scale, factor * other.offset)
        sign = 1 if made.op == "add" else -1
        return _Affine(left.scale + sign * right.scale, left.offset + sign * right.offset)


def _race(later: _Access, earlier: _Access, items: tuple[int, int], index: _Affine) -> Exception:
    element = index.scale * items[0] + index.offset
    name = later.pointer.hint or "the array"
    spans = [stmt.where.span for stmt in (later, earlier) if isinstance(stmt.where, SpanText)]
    place = spans[0].excerpt if spans else ""
    lines = (
        f"lines {spans[1].line} and {spans[0].line}"
        if len(spans) > 1 and spans[0].line != spans[1].line
        else "one line"
    )
    same = later is earlier
    return DataRaceError(
        f"data race on {name}[{element}]: work-items {items[1]} and {items[0]} of each group touch it, at {lines}, and "
        "nothing orders them",
        place=place,
        remedy="let one work-item store: if local_id(0) == 0:" if same else "put a barrier() between them",
    )
