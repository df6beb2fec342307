"""Typed construction of kernel IR; the only way to make it by hand.

    k = KernelBuilder("saxpy")
    n, a = k.scalar("n", U32), k.scalar("a", F32)
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0, "i")
    with k.if_(i < n):
        k.store(y, i, a * k.load(x, i) + k.load(y, i))
    kernel = k.build()

Every operation returns a `Ref`, which has Python's operators. A Python number beside a `Ref` takes its type; nothing
else is converted by itself, but a scalar beside a vector is splatted. `k.let(x, "name")` names a binding,
`k.variable(x)` starts a mutable local from a copy, and `k.assign(v, x)` changes it.
"""

from __future__ import annotations

from ocl_ir.errors import DTypeError, IRError
from ocl_ir.kernel.accesses import only_describes
from ocl_ir.kernel.asynchronous_builder import AsynchronousBuilder
from ocl_ir.kernel.blocks import memory_of, value_type
from ocl_ir.kernel.function import apply
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    AtomicOp,
    Collective,
    CollectiveOp,
    Const,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Operand,
    Param,
    Print,
    Shuffle,
    Store,
    Value,
    Variable,
)
from ocl_ir.kernel.literals import literal
from ocl_ir.kernel.matrix_instruction import MatrixInstruction
from ocl_ir.kernel.operands import Like, Ref
from ocl_ir.op_types import result_type
from ocl_ir.ops import OPS
from ocl_ir.program_ops import DefinedOp
from ocl_ir.source_line import calling_line
from ocl_ir.types import U32, DType, Pointer, Space, Type, ValueType, Vector, element, lanes, with_lanes


class KernelBuilder(AsynchronousBuilder):
    """Makes one kernel, statement by statement; see the module's text."""

    def __init__(
        self, name: str, *, group_size: tuple[int, int, int] | None = None, pointwise: bool = False, note: str = ""
    ) -> None:
        super().__init__()
        if not (name.isidentifier() and name.isascii()):
            raise IRError(f"{name!r} cannot be the name of a kernel", remedy="use letters, digits and underscores")
        self._name, self._group_size, self._pointwise, self._note = name, group_size, pointwise, note
        self._params: list[Param] = []

    # ------------------------------------------------------------------ parameters

    def scalar(self, name: str, dtype: DType, low: int | None = None) -> Ref:
        """A parameter passed by value; an integer that is promised never to be below `low`."""
        return self._param(Param(self._value(dtype, name), low=low))

    def pointer(
        self,
        name: str,
        dtype: DType,
        *,
        space: Space = "global",
        align: int = 0,
        restrict: bool = False,
        length: Like | None = None,
    ) -> Ref:
        """A parameter that points to elements of `dtype`; see `ocl_ir.kernel.grammar.Param`."""
        limit = None if length is None else self._operand(length, U32)
        return self._param(Param(self._value(Pointer(dtype, space, align), name), restrict, limit))

    def _param(self, param: Param) -> Ref:
        self._params.append(param)
        return Ref(self, param.value)

    # ------------------------------------------------------------------ bindings

    def op(self, name: str, *args: Like, hint: str = "", result: ValueType | None = None) -> Ref:
        """A binding of any operation; `result` is the wanted type of a structural one."""
        if any(isinstance(getattr(arg, "type", None), Pointer) for arg in args):
            raise DTypeError(
                f"{name} does not take a pointer", place=calling_line(), remedy="load from the pointer first"
            )
        if isinstance(name, DefinedOp):
            return apply(self, name.definition, [Ref(self, operand) for operand in self._defined(name, args)])
        operands = self._operands(name, args)
        try:
            type_ = result_type(name, tuple(arg.type for arg in operands), result)
        except DTypeError as error:
            error.add_note(f"  place: {calling_line()}")
            raise
        value = self._value(type_, hint)
        self.emit(Let(value, name, operands, where=calling_line()))
        return Ref(self, value)

    def _defined(self, op: DefinedOp, args: tuple[Like, ...]) -> list[Operand]:
        return [self._operand(arg, param.type) for arg, param in zip(args, op.definition.params, strict=True)]

    def let(self, value: Like, hint: str = "") -> Ref:
        """Gives a value a name; of a variable, a snapshot of what it holds now."""
        return self.op("copy", value, hint=hint)

    def const(self, value: bool | int | float, type_: ValueType) -> Ref:
        """A literal of a type."""
        return Ref(self, literal(value, type_))

    def convert(self, value: Like, dtype: DType, hint: str = "") -> Ref:
        """The value as another dtype; the value itself where it has that dtype already."""
        operand = self._operand(value, dtype)
        target = with_lanes(dtype, lanes(value_type(operand)))
        return Ref(self, operand) if operand.type == target else self.op("convert", operand, hint=hint, result=target)

    def bitcast(self, value: Like, dtype: DType) -> Ref:
        """The value's bits read as another dtype of the same width."""
        operand = self._operand(value, dtype)
        return self.op("bitcast", operand, result=with_lanes(dtype, lanes(value_type(operand))))

    def splat(self, value: Like, count: int) -> Ref:
        """A vector whose lanes all have one value."""
        operand = self._operand(value, None)
        return self.op("splat", operand, result=Vector(element(operand.type), count))

    def global_id(self, dimension: int = 0, hint: str = "i", dtype: DType = U32) -> Ref:
        """This work-item's place in the whole index space."""
        return self.item("global_id", dimension, hint, dtype)

    def item(self, question: str, dimension: int = 0, hint: str = "", dtype: DType = U32) -> Ref:
        """One of `ocl_ir.ops.WORK_ITEM`."""
        return self.op(question, Const(dimension, U32), hint=hint, result=dtype)

    def load(self, pointer: Ref, index: Like, *, count: int = 1, align: int = 0, hint: str = "") -> Ref:
        """Reads `count` elements from `index` on; float16 storage and bfloat16 read as float32 with `load_as_f32`."""
        return self._load(pointer, index, _pointer(pointer).dtype, count, align, hint)

    def load_as(
        self, pointer: Ref, index: Like, dtype: DType, *, count: int = 1, align: int = 0, hint: str = ""
    ) -> Ref:
        """Reads half or bfloat16 storage as float32, or as its bits, u16."""
        return self._load(pointer, index, dtype, count, align, hint)

    def _load(self, pointer: Ref, index: Like, dtype: DType, count: int, align: int, hint: str) -> Ref:
        value = self._value(with_lanes(dtype, count), hint)
        at = self._operand(index, U32)
        self.emit(Load(value, memory_of(pointer), at, align or _pointer(pointer).dtype.size, where=calling_line()))
        return Ref(self, value)

    # ------------------------------------------------------------------ effects

    def store(self, pointer: Ref, index: Like, value: Like, *, align: int = 0) -> None:
        """Writes the value, scalar or vector, from `index` on; float32 into half or bfloat16 storage rounds to nearest
        even."""
        to = _pointer(pointer)
        stored = self._operand(value, to.dtype)
        at = self._operand(index, U32)
        self.emit(Store(memory_of(pointer), at, stored, align or to.dtype.size, where=calling_line()))

    def variable(self, init: Like, dtype: ValueType | None = None, hint: str = "") -> Ref:
        """A mutable local that starts as a copy of `init`."""
        operand = self._operand(init, dtype)
        variable = Variable(self.take_id(), value_type(operand), hint)
        self.emit(Local(variable, operand, where=calling_line()))
        return Ref(self, variable)

    def assign(self, variable: Ref, value: Like) -> None:
        """Gives a variable a new value."""
        target = variable.operand
        if not isinstance(target, Variable):
            name = getattr(target, "hint", "") or "this value"
            raise IRError(
                f"{name} is a binding, and a binding is written once",
                place=calling_line(),
                remedy=f"start a variable from it: v = k.variable({name}), then k.assign(v, …)",
            )
        self.emit(Assign(target, self._operand(value, target.type), where=calling_line()))

    def array(self, dtype: DType, length: int, *, space: Space = "local", align: int = 0, hint: str = "") -> Ref:
        """An array shared by the work-group (`local`) or of this work-item alone (`private`)."""
        value = self._value(Pointer(dtype, space, align), hint)
        self.emit(Array(value, length, where=calling_line()))
        return Ref(self, value)

    def atomic(
        self, op: AtomicOp, pointer: Ref, index: Like, *args: Like, hint: str = "", used: bool = True
    ) -> Ref | None:
        """Changes one element in one step; gives the value before, or None if it is not `used`."""
        dtype = _pointer(pointer).dtype
        operands = tuple(self._operand(arg, dtype) for arg in args)
        result = self._value(dtype, hint) if used else None
        at = self._operand(index, U32)
        self.emit(Atomic(result, op, memory_of(pointer), at, operands, where=calling_line()))
        return None if result is None else Ref(self, result)

    def uniform(self, value: Like, hint: str = "") -> Ref:
        """The value, with the promise that every work-item of the group that comes here has the same one."""
        return self.op("uniform", value, hint=hint)

    def collective(
        self, op: CollectiveOp, value: Like, lane: Like | None = None, hint: str = "", *, size: int = 0
    ) -> Ref:
        """What the whole group makes of its values, or each sub-group of `size` items; a broadcast is of the work-item
        with the linear local id `lane`."""
        operand = self._operand(value, None)
        whose = None if lane is None else self._fixed(self._operand(lane, U32))
        result = self._value(value_type(operand), hint)
        self.emit(Collective(result, op, operand, whose, size, where=calling_line()))
        return Ref(self, result)

    def shuffle(self, value: Like, lane: Like, size: int, hint: str = "") -> Ref:
        """The value of the work-item at `lane` of its sub-group of `size` items with consecutive linear local ids."""
        operand = self._operand(value, None)
        result = self._value(value_type(operand), hint)
        self.emit(Shuffle(result, operand, self._operand(lane, U32), size, where=calling_line()))
        return Ref(self, result)

    def matrix_multiply(self, instruction: MatrixInstruction, left: Ref, right: Ref, sums: Ref, hint: str = "") -> Ref:
        """What this work-item holds of `left @ right + sums`, matrices that a sub-group holds together."""
        result = self._value(value_type(sums.operand), hint)
        stmt = MatrixMultiply(result, instruction, left.operand, right.operand, sums.operand, where=calling_line())
        self.emit(stmt)
        return Ref(self, result)

    def print_(self, format_: str, *values: Like) -> None:
        """Prints a line from each work-item that comes here: `k.print_("x[{}] is {}", i, x)`."""
        args = tuple(self._operand(value, None) for value in values)
        self.emit(Print(format_, args, where=calling_line()))

    def build(self) -> Kernel:
        """The kernel made so far."""
        if len(self._stack) > 1:
            fact, remedy = "a kernel is built inside of an open block", "call k.build() behind the with statements"
            raise IRError(fact, place=calling_line(), remedy=remedy)
        params, body = tuple(self._params), tuple(self._stack[0])
        describes = self._describes and only_describes(body)
        return Kernel(self._name, params, body, self._group_size, self._pointwise, self._note, describes=describes)

    # ------------------------------------------------------------------ inside

    def _operands(self, op: str, args: tuple[Like, ...]) -> tuple[Operand, ...]:
        """Gives numbers the type of the values beside them and splats scalars beside vectors."""
        row = OPS.get(op)
        letters = row.operands if row is not None and len(row.operands) == len(args) else "A" * len(args)
        known: dict[str, Type] = {}
        if op == "extract":  # the lane is counted, whatever the vector holds
            letters, known = "A#", {"#": U32}
        for letter, arg in zip(letters, args, strict=True):
            if isinstance(arg, Ref | Value | Variable | Const):
                type_ = arg.type
                if letter not in known or isinstance(type_, Vector):
                    known[letter] = type_
        operands = [self._operand(arg, known.get(letter)) for letter, arg in zip(letters, args, strict=True)]
        widest = max((lanes(a.type) for a in operands if not isinstance(a.type, Pointer)), default=1)
        if row is None or widest == 1:
            return tuple(operands)
        return tuple(self._splatted(arg, widest) for arg in operands)

    def _splatted(self, operand: Operand, count: int) -> Operand:
        if not isinstance(operand.type, DType):
            return operand
        if isinstance(operand, Const):
            return Const(operand.value, Vector(operand.type, count))
        return self.splat(operand, count).operand


def _pointer(ref: Ref) -> Pointer:
    type_ = memory_of(ref).type
    assert isinstance(type_, Pointer)
    return type_
