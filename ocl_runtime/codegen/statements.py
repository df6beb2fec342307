"""Kernel IR as a tree of C statements that the templates print: every text decided, nothing left to compute.

Each node names the template `def` in templates/statements.cl.mako that prints it, and keeps the IR statement it came
from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ocl_ir.kernel.formats import printf_format
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Collective,
    Const,
    Continue,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Operand,
    Print,
    Return,
    Shuffle,
    Stmt,
    Store,
    Value,
    While,
    blocks,
    walk,
)
from ocl_ir.kernel.locals import Locals, Slot
from ocl_ir.kernel.uniformity import Uniformity, uniformity
from ocl_ir.ops import OPS
from ocl_ir.types import BF16, BOOL, F16, F32, F64, U16, DType, Pointer, ValueType, Vector, element, lanes
from ocl_runtime.codegen.expressions import Expressions
from ocl_runtime.codegen.precedence import Text
from ocl_runtime.codegen.spelling import Dialect, memory_type, string_literal, unsigned_type, value_type
from ocl_runtime.codegen.templates import render_def

_ATOMIC = {"exchange": "xchg", "compare_exchange": "cmpxchg"}
_TRUE = "get_local_id(0) != UINT_MAX"
"""What no compiler knows to be true, nor to be the same in every work-item."""
_FENCES = {"local": "CLK_LOCAL_MEM_FENCE", "global": "CLK_GLOBAL_MEM_FENCE"}


@dataclass(frozen=True, slots=True)
class Node:
    """One C statement: the name of its template, its texts, and the statements nested in it."""

    template: str
    stmt: Stmt | None
    texts: dict[str, object] = field(default_factory=dict)
    body: tuple[Node, ...] = ()
    orelse: tuple[Node, ...] = ()

    def __getattr__(self, name: str) -> object:
        try:
            return self.texts[name]
        except KeyError:
            raise AttributeError(f"the template {self.template} asks for {name!r}, which no statement has") from None


@dataclass(frozen=True)
class ScalarTypes:
    """The C types that a template of several statements works with."""

    T: str
    kind: str
    bits: int
    floor: str
    """The function that rounds floats down."""


class Statements:
    """Makes the nodes of one kernel."""

    def __init__(self, locals_: Locals, expressions: Expressions, dialect: Dialect) -> None:
        self._locals = locals_
        self._x = expressions
        self._dialect = dialect
        self._guarded = _ragged_nests(locals_.kernel) if dialect.guarded_loops else frozenset()

    def block(self, block: Block) -> tuple[Node, ...]:
        """The nodes of a block; inlined statements have none of their own."""
        return tuple(node for stmt in block for node in self._stmt(stmt))

    def _stmt(self, stmt: Stmt) -> list[Node]:
        match stmt:
            case Let():
                return [] if stmt.result.id in self._locals.inlined else self._let(stmt)
            case Load():
                return (
                    [] if stmt.result.id in self._locals.inlined else [self._set(stmt, stmt.result, self._x.load(stmt))]
                )
            case Local() | Assign():
                return self._variable(stmt)
            case Store():
                return [self._store(stmt)]
            case Array():
                return [self._array(stmt)]
            case Atomic():
                return [self._atomic(stmt)]
            case If():
                condition = self._x.operand(stmt.condition).text
                then, orelse = self.block(stmt.then), self.block(stmt.orelse)
                if stmt.registers is not None:
                    calls = self._x.registers(stmt.registers)
                    first, second = (Node("call", None, {"call": call}) for call in calls)
                    then, orelse = (first, *then), (second, *orelse)
                return [Node("branch", stmt, {"condition": condition}, then, orelse)]
            case For() | While():
                loop = self._for(stmt) if isinstance(stmt, For) else self._while(stmt)
                return [Node("branch", None, {"condition": _TRUE}, (loop,))] if id(stmt) in self._guarded else [loop]
            case Barrier():
                fences = [
                    fence for space, fence in _FENCES.items() if (stmt.local if space == "local" else stmt.global_)
                ]
                return [Node("call", stmt, {"call": f"barrier({' | '.join(fences)})"})]
            case Print():
                return [self._print(stmt)]
            case Collective():
                raise AssertionError("passes/collectives.py was left out")
            case Shuffle():
                return [self._set(stmt, stmt.result, self._x.shuffle(stmt))]
            case MatrixMultiply():
                return [self._set(stmt, stmt.result, self._x.matrix_multiply(stmt))]
            case Break() | Continue() | Return():
                return [Node("call", stmt, {"call": type(stmt).__name__.lower()})]
        return [Node("call", stmt, {"call": call}) for call in self._x.asynchronous(stmt)]

    # ------------------------------------------------------------------ locals

    def _set(self, stmt: Stmt, value: Value, text: Text) -> Node:
        """Declares a value where it stands, or assigns to the slot that it shares."""
        type_ = value.type
        assert not isinstance(type_, Pointer)
        slot = self._locals.slots[value.id]
        return self._write(stmt, slot, type_, self._x.assigned(text, type_), constant=True)

    def _write(self, stmt: Stmt, slot: Slot, type_: ValueType, text: str, *, constant: bool) -> Node:
        if slot.shared:
            return Node("assign", stmt, {"name": slot.name, "value": text})
        declared = f"{'const ' if constant else ''}{value_type(type_)}"
        return Node("declare", stmt, {"type": declared, "name": slot.name, "value": text})

    def _variable(self, stmt: Local | Assign) -> list[Node]:
        slot = self._locals.slots[stmt.variable.id]
        operand = stmt.init if isinstance(stmt, Local) else stmt.value
        text = self._x.assigned(self._x.operand(operand), stmt.variable.type)
        if isinstance(stmt, Local) and not slot.shared:
            return [self._write(stmt, slot, stmt.variable.type, text, constant=False)]
        # A variable that starts in the slot of the dead value it is copied from needs no copy.
        return [] if text == slot.name else [Node("assign", stmt, {"name": slot.name, "value": text})]

    def _let(self, stmt: Let) -> list[Node]:
        if stmt.op in OPS and OPS[stmt.op].several_statements:
            return self._several(stmt)
        text = self._x.operation(stmt)
        slot = self._locals.slots[stmt.result.id]
        return [] if slot.shared and text.text == slot.name else [self._set(stmt, stmt.result, text)]

    def _several(self, stmt: Let) -> list[Node]:
        """An operation that is no expression: the result is declared first, then each lane computed."""
        type_ = stmt.result.type
        assert not isinstance(type_, Pointer)
        slot = self._locals.slots[stmt.result.id]
        nodes = []
        if not slot.shared:
            nodes.append(Node("declare_only", stmt, {"type": value_type(type_), "name": slot.name}))
        dtype = element(type_)
        is_rounded = stmt.op == "floordiv" and dtype.kind == "float"
        floor = self._x.rounding("floor", F64 if dtype == F64 else F32) if is_rounded else "floor"
        types = ScalarTypes(value_type(dtype), dtype.kind, dtype.bits, floor)
        for lane in range(lanes(type_)):
            component = f".s{lane:x}" if isinstance(type_, Vector) else ""
            a, b = (self._lane(arg, component) for arg in stmt.args)
            text = render_def("several_statements.cl.mako", stmt.op, slot.name + component, a, b, types)
            nodes.append(Node("several_statements", stmt, {"lines": text.strip("\n").splitlines()}))
        return nodes

    def _lane(self, operand: Operand, component: str) -> str:
        if isinstance(operand, Const):
            return self._x.operand(Const(operand.value, element(operand.type))).text
        return self._x.operand(operand).text + component

    # ------------------------------------------------------------------ memory

    def _store(self, stmt: Store) -> Node:
        pointer, type_ = stmt.pointer.type, stmt.value.type
        assert isinstance(pointer, Pointer)
        assert not isinstance(type_, Pointer)
        value = self._stored(self._x.operand(stmt.value), type_, pointer)
        count, name = lanes(type_), self._x.name(stmt.pointer.id)
        address, macro = self._x.address(stmt.pointer, stmt.index), self._x.aligned_macro("STORE", stmt, count)
        if pointer.dtype.name == "f16" and element(type_) == F32:
            if count == 1:
                index = self._x.operand(stmt.index, bare=True).text
                return Node("call", stmt, {"call": f"vstore_half_rte({value}, {index}, {name})"})
            if self._x.halves_by_bits(stmt, count):
                self._x.helpers["half_bits", type_] = None
                if macro:
                    self._x.macros.add(macro)
                    bits = f"half_bits_{count}({value})"
                    return Node("call", stmt, {"call": f"{macro}({memory_type(U16, count)}, {address}, {bits})"})
                target = self._x.half_bits_at(stmt.pointer, address, count)
                return Node("assign", stmt, {"name": target, "value": f"half_bits_{count}({value})"})
            return Node("call", stmt, {"call": f"vstore_half{count}_rte({value}, 0, {address})"})
        if count == 1:
            target = f"{name}[{self._x.operand(stmt.index, bare=True).text}]"
            return Node("assign", stmt, {"name": target, "value": value})
        if macro:
            return Node("call", stmt, {"call": f"{macro}({memory_type(pointer.dtype, count)}, {address}, {value})"})
        parts, at = self._x.parts(pointer.dtype, count), self._x.address_of_parts(stmt)
        return Node("call", stmt, {"call": f"vstore{parts}({value}, 0, {at})"})

    def _stored(self, text: Text, type_: ValueType, pointer: Pointer) -> str:
        count = lanes(type_)
        if pointer.dtype == BF16:
            self._x.helpers["round_to_bfloat16", type_] = None
            if count == 1:
                return f"(ushort)(as_uint(round_to_bfloat16({text.text})) >> 16)"
            return f"convert_ushort{count}(as_uint{count}(round_to_bfloat16_{count}({text.text})) >> 16)"
        if element(type_) == BOOL and count > 1:
            return f"as_uchar{count}(-{Text(self._x.assigned(text, type_), text.binds).within(15)})"
        return text.text

    def _array(self, stmt: Array) -> Node:
        pointer = stmt.pointer.type
        assert isinstance(pointer, Pointer)
        space = "__local " if pointer.space == "local" else ""
        aligned = f" __attribute__((aligned({pointer.align})))" if pointer.align > pointer.dtype.size else ""
        name, type_ = self._x.name(stmt.pointer.id), memory_type(pointer.dtype)
        declared = f"{space}{type_} {name}[{stmt.length}]{aligned}"
        if pointer.dtype == F16:  # without the extension there are pointers to half, but no variables of it
            bits = f"{space}ushort {name}_bits[{stmt.length}]{aligned}"
            declared = f"{bits}; {space}{type_} *{name} = ({space}{type_} *){name}_bits"
        return Node("call", stmt, {"call": declared})

    def _atomic(self, stmt: Atomic) -> Node:
        pointer = stmt.pointer.type
        assert isinstance(pointer, Pointer)
        address, args = self._x.address(stmt.pointer, stmt.index), [self._x.operand(arg).text for arg in stmt.args]
        if stmt.result is None and self._is_one_instruction(stmt.op, pointer):
            self._x.helpers["reduction_add", Pointer(pointer.dtype, pointer.space)] = None
            function = f"reduction_add_{pointer.space}_{value_type(pointer.dtype)}"
            return Node("call", stmt, {"call": f"{function}({address}, {args[0]})"})
        call, by_bits = self._atomic_call(stmt.op, pointer, address, args)
        if stmt.result is None:
            return Node("call", stmt, {"call": call})
        return self._set(stmt, stmt.result, Text(f"as_{value_type(pointer.dtype)}({call})" if by_bits else call))

    def _is_one_instruction(self, op: str, pointer: Pointer) -> bool:
        """Whether an instruction of NVIDIA's adds to a float in memory. To that of float32 in global memory, what is
        subnormal is 0."""
        subgroups = self._dialect.subgroups
        ptx = subgroups is not None and subgroups.spelling == "ptx"
        return ptx and op == "add" and pointer.dtype in {F32, F64} and pointer.space != "private"

    def _atomic_call(self, op: str, pointer: Pointer, address: str, args: list[str]) -> tuple[str, bool]:
        """The call, and whether it takes and gives the bits of a float."""
        dtype, space = pointer.dtype, pointer.space
        if op == "load":  # OpenCL 1.2 has no such function; a volatile access is neither kept nor taken from a cache
            return f"*(volatile __{space} {value_type(dtype)} *)({address})", False
        by_bits = dtype.is_float and op in _ATOMIC and (dtype, op) != (F32, "exchange")
        if dtype.is_float and op not in _ATOMIC:
            self._x.helpers[f"atomic_{op}", Pointer(dtype, space)] = None
            function = f"atomic_{op}_{space}_{value_type(dtype)}"
        else:  # 64-bit atomics are an extension with names of its own
            function = f"{'atom' if dtype.bits == 64 else 'atomic'}_{_ATOMIC.get(op, op)}"
        if by_bits:
            unsigned = unsigned_type(dtype)
            address, args = f"(volatile __{space} {unsigned} *)({address})", [f"as_{unsigned}({arg})" for arg in args]
        return f"{function}({', '.join([address, *args])})", by_bits

    def _print(self, stmt: Print) -> Node:
        dtypes = [element(arg.type) for arg in stmt.args]
        line = string_literal(printf_format(stmt.format, dtypes) + "\n")
        values = []
        for arg in stmt.args:
            text = self._x.operand(arg)
            values.append(f"(float){text.within(14)}" if arg.type == F16 else text.text)  # printf takes no halves
        return Node("call", stmt, {"call": f"printf({', '.join([line, *values])})"})

    # ------------------------------------------------------------------ loops

    def _for(self, stmt: For) -> Node:
        type_ = stmt.index.type
        assert not isinstance(type_, Pointer)
        down = isinstance(stmt.step, Const) and stmt.step.value < 0
        step = Const(-stmt.step.value, stmt.step.type) if down and isinstance(stmt.step, Const) else stmt.step
        by = self._x.operand(step, bare=True).text
        name = self._x.name(stmt.index.id)
        texts = {
            "type": value_type(type_),
            "name": name,
            "start": self._x.operand(stmt.start, bare=True).text,
            "condition": f"{name} {'>' if down else '<'} {self._x.operand(stmt.stop, bare=True).within(11)}",
            "advance": (f"--{name}" if down else f"++{name}") if by == "1" else f"{name} {'-' if down else '+'}= {by}",
            "unroll": stmt.unroll,
            "ordered": self._ordered(stmt),
        }
        return Node("for_loop", stmt, texts, self.block(stmt.body))

    def _while(self, stmt: While) -> Node:
        header, body = self.block(stmt.header), self.block(stmt.body)
        condition = self._x.operand(stmt.condition)
        ordered = self._ordered(stmt)
        if not header:
            return Node("while_loop", stmt, {"condition": condition.text, "ordered": ordered}, body)
        leave = Node("leave_unless", stmt, {"condition": condition.within(14)})
        return Node("while_loop", stmt, {"condition": "true", "ordered": ordered}, (*header, leave, *body))

    def _ordered(self, loop: For | While) -> bool:
        """Whether the compiler must be told to keep the order of a loop's operations."""
        return self._dialect.ordered_loops and _carries_a_float(loop)


def _ragged_nests(kernel: Kernel) -> frozenset[int]:
    """Of a kernel with barriers, the loops, by identity, that work-items may leave at different turns and that have
    loops in them; the outermost ones."""
    if not any(isinstance(stmt, Barrier) for stmt in walk(kernel.body)):
        return frozenset()
    return frozenset(_nests(kernel.body, uniformity(kernel)))


def _nests(block: Block, uniform: Uniformity) -> Iterator[int]:
    for stmt in block:
        inside = [inner for part in blocks(stmt) for inner in part]
        if not isinstance(stmt, For | While) or not inside or uniform.cause(inside[0]) is None:
            for part in blocks(stmt):
                yield from _nests(part, uniform)
        elif any(isinstance(inner, For | While) for inner in walk(tuple(inside))):
            yield id(stmt)


def _carries_a_float(loop: For | While) -> bool:
    """Whether a turn may go on with a float of the turn before: a variable from outside, or memory. Compilers make no
    vectors of loops over vectors."""
    stmts = [stmt for block in blocks(loop) for stmt in walk(block)]
    own = {stmt.variable.id for stmt in stmts if isinstance(stmt, Local)}
    read = {stmt.pointer.id for stmt in stmts if isinstance(stmt, Load)}
    return any(
        (isinstance(stmt, Assign) and stmt.variable.id not in own and _is_scalar_float(stmt.variable.type))
        or (isinstance(stmt, Store) and stmt.pointer.id in read and _is_scalar_float(stmt.value.type))
        for stmt in stmts
    )


def _is_scalar_float(type_: object) -> bool:
    return isinstance(type_, DType) and type_.is_float
