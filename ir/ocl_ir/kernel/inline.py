"""Which bindings get no line of their own but are written inside of the one expression that uses them.

A binding is inlined when nobody named it, it is used once, by a later statement of the same block, nothing in between
could change its value, and the line does not grow too long. Names, liveness and code generation all follow this one
decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ocl_ir.kernel.grammar import (
    Assign,
    Atomic,
    Await,
    AwaitBoxes,
    Barrier,
    Block,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    For,
    InitBoxes,
    Kernel,
    Let,
    Load,
    ReleaseBoxes,
    Stmt,
    Store,
    Value,
    Variable,
    WarpgroupMultiply,
    While,
    blocks,
    operands,
    walk,
)
from ocl_ir.ops import OPS, WORK_ITEM

MOST_OPERATIONS = 6
"""Operations and loads on one line; to take a lane of a vector is none."""


def inlined(kernel: Kernel) -> Mapping[int, Let | Load]:
    """The statements that are written where their result is used, by the result's id."""
    return _Inliner(kernel).chosen


def reads(stmt: Stmt, chosen: Mapping[int, Let | Load]) -> list[Value | Variable]:
    """The values and variables that the statement's line reads, through everything inlined into it."""
    read: list[Value | Variable] = []
    waiting = list(reversed(operands(stmt)))
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Value) and operand.id in chosen:
            waiting.extend(reversed(operands(chosen[operand.id])))
        elif isinstance(operand, Value | Variable):
            read.append(operand)
    return read


_WRITES = frozenset(
    {
        Store, Atomic, Barrier, CopyAsync, WarpgroupMultiply, Await, DescribeMatrix, DescribeWindows, InitBoxes,
        CopyBox, CopyWindows, AwaitBoxes, ReleaseBoxes,
    }
)  # fmt: skip
"""What memory may be otherwise behind."""


class _Inliner:
    def __init__(self, kernel: Kernel) -> None:
        self.chosen: dict[int, Let | Load] = {}
        self._size: dict[int, int] = {}
        self._reads: dict[int, tuple[bool, set[int]]] = {}
        """Whether a candidate's expression reads memory, and which variables it reads."""
        self._uses: Counter[int] = Counter()
        for stmt in walk(kernel.body):
            self._uses.update(operand.id for operand in operands(stmt) if isinstance(operand, Value))
        self._block(kernel.body)

    def _block(self, block: Block, last: While | None = None) -> None:
        """Decides for the statements of a block; `last` is the loop whose condition is read at the block's end."""
        candidates: dict[int, Let | Load] = {}
        for stmt in block:
            if not isinstance(stmt, While):  # its condition is read in its header, again and again
                self._take(stmt, candidates)
            for disturbed in self._disturbed(stmt, candidates):
                del candidates[disturbed]
            if isinstance(stmt, While):
                self._block(stmt.header, stmt)
                self._block(stmt.body)
            else:
                for inner in blocks(stmt):
                    self._block(inner)
            if isinstance(stmt, Let | Load) and self._may_be_inlined(stmt):
                candidates[stmt.result.id] = stmt
                self._reads[stmt.result.id] = self._read(stmt)
        if last is not None:
            self._take(last, candidates)

    def _may_be_inlined(self, stmt: Let | Load) -> bool:
        if stmt.result.is_named or self._uses[stmt.result.id] != 1:
            return False
        if isinstance(stmt, Load):
            return True
        # Index-space questions return size_t, so their declaration gives the type; several statements are no
        # expression.
        return stmt.op not in WORK_ITEM and not (stmt.op in OPS and OPS[stmt.op].several_statements)

    def _take(self, stmt: Stmt, candidates: dict[int, Let | Load]) -> None:
        size = 1 if isinstance(stmt, Let | Load) and not (isinstance(stmt, Let) and stmt.op == "extract") else 0
        for position, operand in enumerate(operands(stmt)):
            made = candidates.get(operand.id) if isinstance(operand, Value) else None
            if made is None or not self._takes(stmt, position, made):
                continue
            grown = size + self._size.get(made.result.id, 1)
            if grown <= MOST_OPERATIONS:
                size = grown
                self.chosen[made.result.id] = made
                del candidates[made.result.id]
        if isinstance(stmt, Let | Load):
            self._size[stmt.result.id] = size

    def _read(self, made: Let | Load) -> tuple[bool, set[int]]:
        """Whether an expression, with all that was inlined into it, reads memory, and which variables it reads."""
        loads, variables = isinstance(made, Load), set()
        for operand in operands(made):
            if isinstance(operand, Variable):
                variables.add(operand.id)
            elif isinstance(operand, Value) and operand.id in self.chosen:
                inner_loads, inner_variables = self._reads[operand.id]
                loads = loads or inner_loads
                variables |= inner_variables
        return loads, variables

    def _disturbed(self, stmt: Stmt, candidates: Mapping[int, Let | Load]) -> list[int]:
        """The expressions that read what running `stmt` could change."""
        inner = [stmt] if isinstance(stmt, Let | Load) else [*walk((stmt,))]
        writes = any(type(each) in _WRITES for each in inner)
        assigned = {each.variable.id for each in inner if isinstance(each, Assign)}
        if not (writes or assigned):
            return []
        disturbed = []
        for id_ in candidates:
            loads, variables = self._reads[id_]
            if (loads and writes) or not assigned.isdisjoint(variables):
                disturbed.append(id_)
        return disturbed

    def _takes(self, stmt: Stmt, position: int, made: Let | Load) -> bool:
        """Whether an expression may stand where the statement has its operand number `position`."""
        if isinstance(stmt, Let) and stmt.op in OPS:
            row = OPS[stmt.op]
            repeated = any(text.count(f"{{{position}}}") > 1 for text in row.spelling.values())
            return not row.several_statements and not repeated
        if isinstance(stmt, For) and position > 0:
            # C evaluates stop and step before every iteration: nothing that could change meanwhile.
            return isinstance(made, Let) and not any(
                isinstance(arg, Variable) or (isinstance(arg, Value) and arg.id in self.chosen) for arg in made.args
            )
        return True
