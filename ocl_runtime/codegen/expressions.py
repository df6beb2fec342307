"""Operations as OpenCL C expressions, with no more parentheses than C's precedence asks for.

A bool vector has two forms: the mask that a comparison gives, as wide as what was compared, and chars, as a variable
holds it. An expression keeps the form that it was made in, and is converted only where another one is needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

from ocl_ir.kernel.alignment import is_aligned
from ocl_ir.kernel.grammar import Const, Let, Load, Operand, Shuffle, Store, Value
from ocl_ir.kernel.intervals import Intervals
from ocl_ir.kernel.locals import Locals
from ocl_ir.ops import OPS, WORK_ITEM, Op
from ocl_ir.program_ops import ExactOp, InlineC
from ocl_ir.subgroups import Subgroups
from ocl_ir.types import BOOL, DTYPES, F32, F64, DType, Pointer, Type, ValueType, Vector, element, lanes
from ocl_runtime.codegen.spelling import literal, mask_type, memory_type, unsigned_type, value_type

PRIMARY, UNARY, TERNARY, ANYTHING = 15, 14, 3, 0
_BINARY = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, "<=": 10, ">": 10, ">=": 10,
    "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4, "?": 3, ":": 3,
}  # fmt: skip
_CLEARER = {"&": UNARY, "^": UNARY, "|": UNARY, "<<": UNARY, ">>": UNARY, "||": _BINARY["&&"] + 1}
"""How tightly operands of these must bind for a reader, who knows their precedence less well than the compiler does."""


@dataclass(frozen=True, slots=True)
class Text:
    """An expression: its text, how tightly it binds, and the width of its lanes where it is a bool vector."""

    text: str
    binds: int = PRIMARY
    mask_bits: int = 0
    unsigned_binds: int = -1
    """Of `(int)(x)`, where x is unsigned: how tightly x binds. -1 for all else."""

    def within(self, least: int) -> str:
        """The text, in parentheses where it binds less tightly than its surroundings ask for."""
        return self.text if self.binds >= least else f"({self.text})"

    def unsigned(self, least: int) -> str:
        """The text as an unsigned integer: without its cast, where it is one already."""
        if self.unsigned_binds < 0:
            return f"({{U}}){self.within(UNARY)}"
        inner = self.text[self.text.index(")(") + 2 : -1]
        return inner if self.unsigned_binds >= least else f"({inner})"


@dataclass(frozen=True)
class Dialect:
    """What the target wants spelled differently."""

    own_math: bool = False
    """Use the library's functions where the compiler's own do not become vector code, or are wrong on wide vectors."""
    vector_hint: bool = False
    """Say of a kernel with vectors that it needs no further vectorization."""
    ordered_loops: bool = False
    """Forbid vectors of loops that carry floats, because the compiler would change the order of operations."""
    guarded_loops: bool = False
    """In kernels with barriers, put loops that work-items leave at different turns behind a condition that is true."""
    aligned_halves: bool = False
    """Move vectors of halves that are not known to be aligned as integers: the driver takes them for aligned."""
    subgroups: Subgroups | None = None
    """The sub-groups in which work-items exchange values without local memory; None: in none."""


_WRAPPING = {"add": "+", "sub": "-", "mul": "*"}
"""Operations that wrap, and how C writes them where they cannot."""
OWN_MATH = frozenset({"sin", "cos", "tan", "exp", "log", "tanh"})
"""Functions of float32 that templates/helpers has a branch-free version of."""
ROUNDING = frozenset({"rint", "floor", "ceil", "trunc"})
"""Functions that PoCL gets wrong for constants that no integer holds, see templates/helpers/rounding.cl.mako."""
BY_FOURS = frozenset({"pow", "fmod"})
"""Functions of float64 that PoCL gets wrong on more than 4 lanes, see templates/helpers/by_fours.cl.mako."""


class Expressions:
    """Makes the texts of one kernel's expressions and remembers which helper functions they call."""

    def __init__(self, locals_: Locals, dialect: Dialect) -> None:
        self._locals = locals_
        self._dialect = dialect
        self.helpers: dict[tuple[str, Type], None] = {}

    def operand(self, operand: Operand, *, bare: bool = False) -> Text:
        """An operand: a literal, a name, or the expression inlined here."""
        if isinstance(operand, Const):
            text = literal(operand, bare=bare)
            return Text(
                text, UNARY if text[0] in "-(" and not text.endswith(" - 1)") else PRIMARY, _bool_bits(operand.type)
            )
        if isinstance(operand, Value) and operand.id in self._locals.inlined:
            made = self._locals.inlined[operand.id]
            return self.load(made) if isinstance(made, Load) else self.operation(made)
        return Text(self.name(operand.id), PRIMARY, _bool_bits(operand.type))

    def name(self, id_: int) -> str:
        """The C name of a value or variable."""
        slot = self._locals.slots.get(id_)
        return slot.name if slot is not None else self._locals.names[id_]

    def assigned(self, text: Text, type_: ValueType) -> str:
        """The text as a variable of this type may take it."""
        return self._as_mask(text, 8, type_) if _bool_bits(type_) else text.text

    def _as_mask(self, text: Text, bits: int, type_: ValueType) -> str:
        return text.text if text.mask_bits == bits else f"convert_{mask_type(bits, lanes(type_))}({text.text})"

    # ------------------------------------------------------------------ memory

    def load(self, load: Load) -> Text:
        """What a load reads."""
        pointer, type_ = load.pointer.type, load.result.type
        assert isinstance(pointer, Pointer)
        assert not isinstance(type_, Pointer)
        count, name = lanes(type_), self.name(load.pointer.id)
        if pointer.dtype.name == "f16" and element(type_).name == "f32":
            return self._half(load, name, count)
        if count == 1:
            loaded = Text(f"{name}[{self.operand(load.index, bare=True).text}]")
        elif is_aligned(load) and pointer.space in {"global", "local"}:
            macro = "LOAD" if pointer.space == "global" else "LOAD_LOCAL"
            loaded = Text(f"{macro}({memory_type(pointer.dtype, count)}, {self.address(load.pointer, load.index)})")
        else:
            loaded = Text(f"vload{count}(0, {self.address(load.pointer, load.index)})")
        if pointer.dtype.name == "bf16":
            wide = f"(uint){loaded.text}" if count == 1 else f"convert_uint{count}({loaded.text})"
            return Text(f"as_float{'' if count == 1 else count}({wide} << 16)")
        if pointer.dtype.kind == "bool" and count > 1:
            return Text(f"{loaded.text} != (uchar{count})(0)", _BINARY["!="], 8)
        return loaded

    def _half(self, load: Load, name: str, count: int) -> Text:
        if count == 1:
            return Text(f"vload_half({self.operand(load.index, bare=True).text}, {name})")
        address = self.address(load.pointer, load.index)
        if self.halves_by_bits(load, count):
            self.helpers["half_values", Vector(F32, count)] = None
            return Text(f"half_values_{count}({self.half_bits_at(load.pointer, address, count, ' const')})")
        return Text(f"vload_half{count}(0, {address})")

    def halves_by_bits(self, access: Load | Store, count: int) -> bool:
        """Whether a vector of halves is moved as integers. (PoCL's functions for 3 lanes are right.)"""
        return self._dialect.aligned_halves and not is_aligned(access) and count != 3

    def half_bits_at(self, pointer: Value, address: str, count: int, constant: str = "") -> str:
        """The bits of halves in memory, which may start at any half."""
        assert isinstance(pointer.type, Pointer)
        self.helpers["any_half", Vector(F32, count)] = None
        return f"*(__{pointer.type.space}{constant} any_half_{count} *)({address})"

    def address(self, pointer: Value, index: Operand) -> str:
        """`pointer + index`."""
        name = self.name(pointer.id)
        if isinstance(index, Const) and index.value == 0:
            return name
        return f"{name} + {self.operand(index, bare=True).within(_BINARY['+'] + 1)}"

    # ------------------------------------------------------------------ other work-items

    def shuffle(self, shuffle: Shuffle) -> Text:
        """The value of another work-item of the sub-group."""
        type_ = shuffle.result.type
        subgroups = self._dialect.subgroups
        assert subgroups is not None, "passes/shuffles.py was not told of the target"
        value, lane = (self.operand(operand).text for operand in (shuffle.value, shuffle.lane))
        if subgroups.spelling == "ptx":
            self.helpers["warp_shuffle", type_] = None
            return Text(f"warp_shuffle_{value_type(type_)}({value}, {lane})")
        if type_ == BOOL:
            return Text(f"sub_group_shuffle((uchar)({value}), {lane}) != 0", _BINARY["!="])
        return Text(f"sub_group_shuffle({value}, {lane})")

    # ------------------------------------------------------------------ operations

    def operation(self, let: Let) -> Text:
        """What an operation computes."""
        type_ = let.result.type
        assert not isinstance(type_, Pointer)
        if isinstance(let.op, InlineC):
            return Text(f"({let.op.format(*[self.operand(arg).within(PRIMARY) for arg in let.args])})")
        if let.op in WORK_ITEM:
            dimension = let.args[0]
            assert isinstance(dimension, Const)
            return Text(f"get_{let.op}({dimension.value})")
        row = OPS.get(let.op)
        return self._structural(let, type_) if row is None else self._spelled(row, let, type_)

    def _spelled(self, row: Op, let: Let, type_: ValueType) -> Text:
        source = let.args[-1].type
        assert not isinstance(source, Pointer)
        less = _steps_down(let)
        spelling = self._spelling(row, let, source) if less is None else "{0} - {1}"
        form, args = _parsed(spelling), let.args if less is None else (let.args[0], less)
        infix, shift, same = "(" not in spelling, spelling in row.constant_shift.values(), row.operands
        texts: list[Text] = []
        for position, operand in enumerate(args):
            # Beside an operand of the type, a literal needs no suffix and a scalar no splat; nor does a shift's amount.
            # What is shifted does: in C, it gives the result its type by itself.
            beside = (other for at, other in enumerate(args) if at != position and same[at] == same[position])
            bare = infix and any(not isinstance(other, Const) for other in beside)
            if row.constant_shift:
                bare = shift and position == 1
            text = self.operand(self._scalar_of(operand, args) if infix else operand, bare=bare)
            if _bool_bits(operand.type):
                wanted = element(source).bits if element(source) != BOOL else 8
                text = Text(self._as_mask(text, wanted, source), text.binds, wanted)
            if position == 1 and spelling == "{0} + {1}" and self._grows(operand):
                text = Text(text.text)
            texts.append(text)
        words = {
            "T": value_type(source), "U": unsigned_type(source), "V": f"_{lanes(source)}" if lanes(source) > 1 else "",
            "bits": element(source).bits, "top": element(source).bits - 1,
        }  # fmt: skip
        alone = 0 if row.constant_shift else None
        spelled = "".join(
            piece if isinstance(piece, str) else _placed(piece, texts, args, exact=piece.position == alone)
            for piece in form.pieces
        )
        for word, value in words.items():
            spelled = spelled.replace(f"{{{word}}}", str(value))
        mask = element(source).bits if row.result == "bool" and lanes(type_) > 1 else _bool_bits(type_)
        return Text(spelled, form.binds, mask, form.inner_binds)

    def _scalar_of(self, operand: Operand, args: tuple[Operand, ...]) -> Operand:
        """The scalar of a splat beside a vector, which C widens by itself; any other operand as it is."""

        def splat(arg: Operand) -> Let | None:
            made = self._locals.inlined.get(arg.id) if isinstance(arg, Value) else None
            return made if isinstance(made, Let) and made.op == "splat" else None

        made = splat(operand)
        vectors = [arg for arg in args if not isinstance(arg, Const) and splat(arg) is None]
        return made.args[0] if made is not None and vectors and element(operand.type) != BOOL else operand

    def _spelling(self, row: Op, let: Let, source: ValueType) -> str:
        if row.name in _WRAPPING and self._is_plain(let):
            return f"{{0}} {_WRAPPING[row.name]} {{1}}"
        if self._dialect.own_math and row.name in OWN_MATH and element(source).name == "f32":
            self.helpers[f"fast_{row.name}", source] = None
            return f"fast_{row.name}{{V}}({{0}})"
        if self._dialect.own_math and row.name in ROUNDING and element(source) in {F32, F64}:
            return f"{self.rounding(row.name, source)}({{0}})"
        if self._dialect.own_math and row.name in BY_FOURS and element(source) == F64 and lanes(source) > 4:
            self.helpers[f"{row.name}_by_fours", source] = None
            return f"{row.name}_by_fours{{V}}({{0}}, {{1}})"
        if row.helper:
            self.helpers[row.helper, source] = None
        dtype, vector, last = element(source), lanes(source) > 1, let.args[-1]
        shifts = isinstance(last, Const) and row.constant_shift and 0 <= last.value < dtype.bits
        spellings = row.constant_shift if shifts else row.spelling
        form = "vector" if vector else "narrow" if dtype.is_integer and dtype.bits < 32 else "scalar"
        keys = (f"{dtype.kind}/{form}", form, dtype.kind, "any")
        return spellings[next(key for key in keys if key in spellings)]

    def _is_plain(self, let: Let) -> bool:
        """Whether a signed operation cannot overflow, in a type in which C computes."""
        dtype = element(let.result.type)
        signed = isinstance(let.result.type, DType) and dtype.kind == "int" and dtype.bits >= 32
        return signed and (isinstance(let.op, ExactOp) or self._intervals.is_exact(let.result))

    def _grows(self, operand: Operand) -> bool:
        """Whether it is a sum of two that are not negative and that cannot overflow: `a + (b + c)` is `a + b + c` then,
        in which compilers see what is the same for several c."""
        made = self._locals.inlined.get(operand.id) if isinstance(operand, Value) else None
        if not isinstance(made, Let) or made.op != "add" or not self._is_plain(made):
            return False
        return all(self._intervals.of(arg).low >= 0 for arg in made.args)

    @cached_property
    def _intervals(self) -> Intervals:
        return Intervals(self._locals.kernel)

    def rounding(self, name: str, type_: ValueType) -> str:
        """The function that rounds float32 or float64 to whole numbers, by the name of its operation."""
        if not self._dialect.own_math:
            return name
        self.helpers[f"whole_{name}", type_] = None
        return f"whole_{name}_{value_type(type_)}"

    def _structural(self, let: Let, type_: ValueType) -> Text:
        first = let.args[0]
        source = first.type
        assert not isinstance(source, Pointer)
        text = self.operand(first)
        match let.op:
            case "copy" | "uniform":
                return text
            case "convert":
                return self._convert(text, source, type_)
            case "bitcast":
                return Text(f"as_{value_type(type_)}({text.text})")
            case "lo" | "hi":
                return Text(f"{text.within(PRIMARY)}.{let.op}", PRIMARY, text.mask_bits)
            case "extract":
                lane = let.args[1]
                assert isinstance(lane, Const)
                component = f"{text.within(PRIMARY)}.s{int(lane.value):x}"
                return Text(f"{component} != 0", _BINARY["!="]) if element(source) == BOOL else Text(component)
        joined = [self.operand(arg, bare=True) for arg in let.args]  # vector and splat
        sign = "-" if element(type_) == BOOL else ""
        listed = ", ".join(f"{sign}{part.within(UNARY if sign else ANYTHING)}" for part in joined)
        return Text(f"({value_type(type_)})({listed})", UNARY, _bool_bits(type_))

    def _convert(self, text: Text, source: ValueType, target: ValueType) -> Text:
        vector = isinstance(target, Vector)
        if element(target) == BOOL and element(source) != BOOL:
            zero = f"({value_type(source)})(0)" if vector else "0"
            mask = element(source).bits if vector else 0
            return Text(f"{text.within(_BINARY['!='] + 1)} != {zero}", _BINARY["!="], mask)
        if not vector:
            return Text(f"({value_type(target)}){text.within(UNARY)}", UNARY)
        # The lanes of a bool vector are 0 and -1.
        plain = f"-{text.within(UNARY + 1)}" if element(source) == BOOL else text.text
        return Text(f"convert_{value_type(target)}({plain})", PRIMARY, _bool_bits(target))


def _bool_bits(type_: object) -> int:
    return 8 if isinstance(type_, Vector) and type_.dtype == BOOL else 0


def _steps_down(let: Let) -> Const | None:
    """By how much less, where an unsigned sum adds what wraps: x + 4294967295u is x - 1."""
    last = let.args[-1]
    if let.op != "add" or not isinstance(last, Const) or element(last.type).kind != "uint":
        return None
    bits = element(last.type).bits
    return Const((1 << bits) - int(last.value), last.type) if bits >= 32 and last.value >= 1 << (bits - 1) else None


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """Where an operand stands in a spelling: which one, how tightly it must bind, and whether it is wanted unsigned."""

    position: int
    binds: int
    unsigned: bool
    after_minus: bool
    chain: int
    """What binds just so is the same operator again, and needs no parentheses as the left operand."""
    argument: bool
    """Whether a function takes it, which must see its exact type."""


def _placed(placeholder: _Placeholder, texts: list[Text], args: tuple[Operand, ...], *, exact: bool) -> str:
    """The text of an operand where it stands; `exact`: nothing beside it gives a literal its type."""
    text, operand = texts[placeholder.position], args[placeholder.position]
    if not placeholder.unsigned:
        placed = text.text if text.binds == placeholder.chain else text.within(placeholder.binds)
        return f"({placed})" if placeholder.after_minus and placed.startswith("-") else placed
    if isinstance(operand, Const) and isinstance(operand.type, DType):
        dtype = operand.type
        unsigned = Const(int(operand.value) % (1 << dtype.bits), DTYPES[f"u{dtype.bits}"])
        return literal(unsigned, bare=dtype.bits >= 32 and not placeholder.argument and not exact)
    placed = text.unsigned(placeholder.binds)
    return f"({placed})" if placeholder.after_minus and placed.startswith("-") else placed


@dataclass(frozen=True)
class _Form:
    pieces: tuple[str | _Placeholder, ...]
    binds: int
    inner_binds: int
    """What is inside of the outer cast of a wrapping operation binds so; -1 where there is none."""


_OPERAND = re.compile(r"(\(\{U\}\)\{\d\}|\{\d\})")
_CALLED = re.compile(r"(\w\(|, )$")


@cache
def _parsed(spelling: str) -> _Form:
    """Splits a spelling at its operands and finds what C's precedence asks of each and gives to the whole."""
    parts = _OPERAND.split(spelling)
    pieces: list[str | _Placeholder] = list(parts)
    for at in range(1, len(parts), 2):
        before, after = parts[at - 1], parts[at + 1]
        binds = max(_left(before), _right(after))
        argument = bool(_CALLED.search(before))
        operator = after.split()[0] if after.strip() and not before.strip() else ""
        chain = _BINARY[operator] if operator in _CLEARER else -1
        pieces[at] = _Placeholder(int(parts[at][-2]), binds, "{U}" in parts[at], before.endswith("-"), chain, argument)
    wraps = spelling.startswith("({T})(") and "({U})" in spelling
    return _Form(tuple(pieces), _binding(spelling), _binding(spelling[len("({T})(") : -1]) if wraps else -1)


def _left(before: str) -> int:
    """How tightly an operand must bind because of what stands before it."""
    stripped = before.rstrip()
    if not stripped or stripped[-1] in ",(":
        return ANYTHING
    if stripped.endswith(")") or before == stripped:
        return UNARY  # a cast, or a sign
    operator = stripped.split()[-1]
    return _CLEARER.get(operator, _BINARY[operator] + 1)


def _right(after: str) -> int:
    stripped = after.lstrip()
    if not stripped or stripped[0] in ",)":
        return ANYTHING
    operator = stripped.split()[0]
    return _CLEARER.get(operator, _BINARY[operator] + (1 if operator == "?" else 0))


def _binding(spelling: str) -> int:
    """How tightly the whole spelling binds."""
    depth, flat = 0, ""
    for char in spelling:
        depth += (char == "(") - (char == ")")
        flat += char if depth == 0 and char != ")" else "_"
    weakest = min((_BINARY[word] for word in flat.split() if word in _BINARY), default=PRIMARY)
    return UNARY if weakest == PRIMARY and (spelling[0] in "-~!" or spelling.startswith("({T})")) else weakest
