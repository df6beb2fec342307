"""A kernel as OpenCL C source, with the way back from each of its lines to the statement and the Python line behind
it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ocl_ir.kernel.accesses import modes, written_pointers
from ocl_ir.kernel.alignment import is_aligned
from ocl_ir.kernel.grammar import (
    Array,
    Atomic,
    GroupStmt,
    Kernel,
    Load,
    MatrixMultiply,
    Param,
    Shuffle,
    Stmt,
    Store,
    Value,
    defined,
    operands,
    walk,
)
from ocl_ir.kernel.locals import Locals, allocate
from ocl_ir.kernel.names import entry_name
from ocl_ir.kernel.printer import statement_text
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.late import Late
from ocl_ir.types import BOOL, F16, F32, F64, Pointer, Vector, element, size_of
from ocl_runtime.codegen.combine import Part
from ocl_runtime.codegen.expressions import Expressions
from ocl_runtime.codegen.helpers import helper_types, in_order
from ocl_runtime.codegen.spelling import Dialect, at_offset, memory_type, value_type
from ocl_runtime.codegen.statements import Node, Statements
from ocl_runtime.codegen.templates import render, render_helper

_MARK = "\x01"
_HELPER = re.compile(r"^static (?:inline|__attribute__\(\(noinline\)\)) \w+ (\w+)\(", re.MULTILINE)
_MANY_USES = 16
"""Of a number among the arguments, from which on it is worth a register."""
_OFFSET_MACROS = {"global": "AT", "constant": "AT_CONSTANT"}
_MACROS = {
    "AT": f"AT(buffer, offset) ({at_offset('global', '(buffer)', '(offset)')})",
    "AT_CONSTANT": f"AT_CONSTANT(buffer, offset) ({at_offset('constant', '(buffer)', '(offset)')})",
    "COMPLEMENT": "COMPLEMENT(x) ((x) ^ -(int)(get_work_dim() != 0))",
    "HELD": "HELD(x) as_float(as_uint(x) ^ -(uint)(get_work_dim() == 0))",
    "LOAD": "LOAD(type, p) (*(__global const type *)(p))",
    "STORE": "STORE(type, p, value) (*(__global type *)(p) = (value))",
    "LOAD_LOCAL": "LOAD_LOCAL(type, p) (*(__local const type *)(p))",
    "STORE_LOCAL": "STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))",
}


@dataclass(frozen=True, slots=True)
class Source(Late):
    """The source of a kernel. `functions` are those that it defines, the kernel last. A launch needs the kernel's
    `name`, its `params`, how it uses what each points to, the bytes of its local arrays, and whether work-items wait
    for each other, so that only whole groups can run it. `options` go to the compiler. `written` is what an author
    wrote, line for line, where the source is not generated, and `asked_at` the line in Python that made a kernel of it.
    Who explains a fault needs its locals, and the statement behind a line, by line number from 1."""

    text: str
    functions: tuple[str, ...]
    name: str
    params: tuple[Param, ...]
    modes: tuple[int, ...]
    local_bytes: int
    waits: bool
    options: tuple[str, ...]
    written: str
    asked_at: str
    locals: Locals
    statements: Mapping[int, Stmt]
    LATE: ClassVar = ("locals", "statements")

    @property
    def part(self) -> Part:
        """What of it goes into a program."""
        return Part(self.text, self.functions)

    @property
    def is_generated(self) -> bool:
        """Whether this library has made it; else it may define anything, and stays a program of its own."""
        return not self.written

    def explain(self, line: int) -> str:
        """The IR statement and the Python line behind a line of the source, for error messages; or how its author has
        written it, if that is otherwise. Line 0 is the source as a whole."""
        if line == 0:
            return f"kernel {self.name} asked for at {self.asked_at}" if self.asked_at else ""
        if self.written:
            own, changed = (source.splitlines()[line - 1].strip() for source in (self.written, self.text))
            return "" if own == changed else f"written as: {own}"
        stmt = self.statements.get(line)
        if stmt is None:
            return ""
        asked = f", asked for at {stmt.where}" if stmt.where else ""
        return f"from the statement `{statement_text(self.locals.kernel, stmt)}`{asked}"


def generate(kernel: Kernel, strategy: str, dialect: Dialect) -> Source:
    """OpenCL C for a kernel that has been through the passes."""
    locals_ = allocate(kernel, strategy)
    kernel = locals_.kernel
    expressions = Expressions(locals_, dialect)
    body = Statements(locals_, expressions, dialect).block(kernel.body)
    held = _held(kernel) if dialect.rereads_arguments else frozenset()
    nodes: list[Node] = []

    def mark(node: Node) -> str:
        nodes.append(node)
        return f"{_MARK}{len(nodes) - 1}{_MARK}"

    helpers = [render_helper(name, helper_types(type_)) for name, type_ in in_order(expressions.helpers)]
    marked = render(
        "kernel.cl.mako",
        note=_comment(kernel.note),
        extensions=_extensions(kernel),
        macros=[text for name, text in _MACROS.items() if name in _macros(kernel, held) | expressions.macros],
        helper_functions=helpers,
        name=entry_name(kernel),
        attributes=_attributes(kernel, dialect),
        params=[text for param in kernel.params for text in _param(param, kernel, expressions, held)],
        pointers=[
            *(_pointer(param, kernel, expressions) for param in kernel.params if _is_global(param)),
            *(f"const float {name} = HELD({name}_argument)" for name in map(expressions.name, sorted(held))),
        ],
        declarations=[f"{value_type(slot.type)} {slot.name}" for slot in locals_.shared],
        body=body,
        mark=mark,
    )
    text, behind = _unmarked(marked)
    functions = (*_HELPER.findall("\n".join(helpers)), entry_name(kernel))
    statements = {line: stmt for line, number in behind.items() if (stmt := nodes[number].stmt)}
    what = kernel.name, kernel.params, modes(kernel), _local_bytes(kernel), _waits(kernel)
    return Source(text, functions, *what, (), "", "", locals_, statements)


def written_by_hand(kernel: SourceKernel, strategy: str) -> Source:
    """The source that a kernel has already. The driver says whether its local arrays fit, and its launch whether
    work-items wait for each other."""
    what = kernel.name, kernel.params, kernel.modes, 0, False
    author = kernel.options, kernel.written, kernel.asked_at
    return Source(kernel.source, (kernel.name,), *what, *author, allocate(kernel, strategy), {})


def _local_bytes(kernel: Kernel) -> int:
    arrays = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Array)]
    pointers = [(array.pointer.type, array.length) for array in arrays]
    return sum(
        type_.dtype.size * length for type_, length in pointers if isinstance(type_, Pointer) and type_.space == "local"
    )


def _waits(kernel: Kernel) -> bool:
    return any(isinstance(stmt, GroupStmt) for stmt in walk(kernel.body))


def _unmarked(marked: str) -> tuple[str, dict[int, int]]:
    """Takes the marks out, and says which node each line belongs to: a line without mark to the node before it."""
    out: list[str] = []
    behind: dict[int, int] = {}
    current: int | None = None
    for number, line in enumerate(marked.splitlines(), start=1):
        parts = line.split(_MARK)
        if len(parts) > 1:
            current = int(parts[-2])
        if current is not None:
            behind[number] = current
        out.append("".join(parts[0::2]).rstrip())
    return "\n".join(out).strip() + "\n", behind


# ---------------------------------------------------------------------- the head of the program


def _comment(note: str) -> str:
    """A note as the inside of a one-line comment, which nothing in it ends or begins again."""
    return " ".join(note.splitlines()).replace(_MARK, "").replace("*/", "* /").replace("/*", "/ *")


def _is_global(param: Param) -> bool:
    return isinstance(param.value.type, Pointer) and param.value.type.space in {"global", "constant"}


def _pointee(param: Param, kernel: Kernel) -> str:
    """`__global const float *`: constant where the kernel only reads, volatile where it has atomics."""
    type_ = param.value.type
    assert isinstance(type_, Pointer)
    constant = " const" if type_.space == "global" and param.value.id not in written_pointers(kernel) else ""
    atomic = any(isinstance(stmt, Atomic) and stmt.pointer.id == param.value.id for stmt in walk(kernel.body))
    return f"__{type_.space}{constant}{' volatile' if atomic else ''} {memory_type(type_.dtype)} *"


def _held(kernel: Kernel) -> frozenset[int]:
    """The floats among the parameters that are used so often that they are worth a register each."""
    floats = {param.value.id for param in kernel.params if param.value.type == F32}
    uses = Counter(operand.id for stmt in walk(kernel.body) for operand in operands(stmt) if isinstance(operand, Value))
    return frozenset(id_ for id_ in floats if uses[id_] >= _MANY_USES)


def _param(param: Param, kernel: Kernel, expressions: Expressions, held: Collection[int]) -> list[str]:
    """A scalar, or a buffer and an offset into it in bytes."""
    name, type_ = expressions.name(param.value.id), param.value.type
    if not isinstance(type_, Pointer):
        scalar = "uchar" if type_ == BOOL else value_type(type_)
        return [f"const {scalar} {name}_argument" if param.value.id in held else f"const {scalar} {name}"]
    restrict = "restrict " if param.restrict else ""
    return [f"{_pointee(param, kernel)}{restrict}{name}_buffer", f"const ulong {name}_offset"]


def _pointer(param: Param, kernel: Kernel, expressions: Expressions) -> str:
    """The pointer into the buffer."""
    assert isinstance(param.value.type, Pointer)
    name, macro = expressions.name(param.value.id), _OFFSET_MACROS[param.value.type.space]
    return f"{_pointee(param, kernel)}{name} = {macro}({name}_buffer, {name}_offset)"


def _attributes(kernel: Kernel, dialect: Dialect) -> list[str]:
    attributes = []
    if kernel.group_size:
        attributes.append(f"reqd_work_group_size({', '.join(map(str, kernel.group_size))})")
    values = [value.type for stmt in walk(kernel.body) if (value := defined(stmt)) is not None]
    vectors = [type_ for type_ in values if isinstance(type_, Vector) and type_.dtype != BOOL]
    size = _subgroup_size(kernel, dialect)
    if size:  # which says how many work-items are lanes, as the hint would
        attributes.append(f"intel_reqd_sub_group_size({size})")
    elif dialect.vector_hint and vectors:
        attributes.append(f"vec_type_hint({value_type(max(vectors, key=size_of))})")
    return attributes


def _subgroup_size(kernel: Kernel, dialect: Dialect) -> int:
    """The size of sub-groups that the kernel has to ask for; 0 if it has none for which one asks."""
    asks = dialect.subgroups is not None and dialect.subgroups.spelling == "opencl"
    for stmt in walk(kernel.body):
        if (isinstance(stmt, Shuffle) and asks) or (isinstance(stmt, MatrixMultiply) and stmt.instruction.asks_size):
            return stmt.size
    return 0


def _extensions(kernel: Kernel) -> list[str]:
    """Extensions that the source must switch on. Pointers to half need none, values of half do."""
    needed: set[str] = set()
    types = {param.value.type for param in kernel.params}
    for stmt in walk(kernel.body):
        types.update(operand.type for operand in operands(stmt))
        value = defined(stmt)
        if value is not None:
            types.add(value.type)
        if isinstance(stmt, Atomic) and element(stmt.pointer.type).bits == 64:
            integers = not element(stmt.pointer.type).is_float  # others are made from compare and exchange
            extended = integers and stmt.op in {"min", "max", "and", "or", "xor"}
            needed.add(f"cl_khr_int64_{'extended' if extended else 'base'}_atomics")
        if isinstance(stmt, MatrixMultiply):
            needed.update(stmt.instruction.extensions)
    if any(not isinstance(type_, Pointer) and element(type_) == F16 for type_ in types):
        needed.add("cl_khr_fp16")
    if any(element(type_).component == F64 for type_ in types):
        needed.add("cl_khr_fp64")
    return sorted(needed)


def _macros(kernel: Kernel, held: Collection[int]) -> set[str]:
    """Macros for its pointers, wide accesses and `held` numbers that the kernel uses."""
    types = [param.value.type for param in kernel.params if _is_global(param)]
    used = {_OFFSET_MACROS[type_.space] for type_ in types if isinstance(type_, Pointer)} | (
        {"HELD"} if held else set()
    )
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Load | Store) or not is_aligned(stmt):
            continue
        moved = stmt.result.type if isinstance(stmt, Load) else stmt.value.type
        pointer = stmt.pointer.type
        assert isinstance(pointer, Pointer)
        if isinstance(moved, Vector) and not (pointer.dtype == F16 and moved.dtype == F32):
            used.add(("LOAD" if isinstance(stmt, Load) else "STORE") + ("_LOCAL" if pointer.space == "local" else ""))
    return used
