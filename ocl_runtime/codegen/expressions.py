"""Operations as OpenCL C expressions, with no more parentheses than C's precedence asks for.

A bool vector has two forms: the mask that a comparison gives, as wide as what was compared, and chars, as a variable
holds it. An expression keeps the form that it was made in, and is converted only where another one is needed.
"""

from __future__ import annotations

from functools import cached_property

from ocl_ir.kernel.grammar import Const, Let, Load, Operand, Value, walk
from ocl_ir.kernel.intervals import Intervals
from ocl_ir.op_rows import Op
from ocl_ir.ops import OPS, WORK_ITEM
from ocl_ir.program_ops import ExactOp, InlineC
from ocl_ir.types import BOOL, F32, F64, DType, Pointer, ValueType, Vector, element, lanes, with_dtype
from ocl_runtime.codegen.accesses import Accesses
from ocl_runtime.codegen.precedence import (
    ANYTHING,
    BINARY,
    PRIMARY,
    UNARY,
    Text,
    bool_bits,
    operand_text,
    parsed_spelling,
)
from ocl_runtime.codegen.spelling import literal, mask_type, unsigned_type, value_type

_WRAPPING = {"add": "+", "sub": "-", "mul": "*"}
"""Operations that wrap, and how C writes them where they cannot."""
OWN_MATH = frozenset({"sin", "cos", "tan", "exp", "log", "tanh"})
"""Functions of float32 that templates/helpers has a branch-free version of."""
ROUNDING = frozenset({"rint", "floor", "ceil", "trunc"})
"""Functions that PoCL gets wrong for constants that no integer holds, see templates/helpers/rounding.cl.mako."""
BY_FOURS = frozenset({"pow", "fmod"})
"""Functions of float64 that PoCL gets wrong on more than 4 lanes, see templates/helpers/by_fours.cl.mako."""

LANES_AT_ONCE = {"div": "first_reciprocal", "sqrt": "first_reciprocal_root"}
"""Operations that templates/helpers/division.cl.mako has for whole vectors, and what they begin with."""
CALLED = frozenset({"sin", "cos", "tan", "pow"})
"""Functions with long code, see templates/helpers/calls.cl.mako."""
_MANY_CALLS = 16
"""Such functions in a kernel that are inlined: NVIDIA's driver takes 0.1 s over as many, about with their square."""

IN_FOURS = frozenset({"exp", "exp2", "log1p", "asin", "acos", "atan", "tanh", "erf", "erfc", "tgamma"})
"""Functions that PoCL rounds otherwise on fewer than 4 lanes: by another one in the last place, of some arguments."""
_FOUR_LANES = {1: "{name}(({{T}}4)({{0}})).s0", 2: "{name}(({{0}}).s0101).lo", 3: "{name}(({{0}}).s0122).s012"}


class Expressions(Accesses):
    """Makes the texts of one kernel's expressions."""

    def operand(self, operand: Operand, *, bare: bool = False) -> Text:
        """An operand: a literal, a name, or the expression inlined here."""
        if isinstance(operand, Const):
            text = literal(operand, bare=bare)
            return Text(
                text, UNARY if text[0] in "-(" and not text.endswith(" - 1)") else PRIMARY, bool_bits(operand.type)
            )
        if isinstance(operand, Value) and operand.id in self._locals.inlined:
            made = self._locals.inlined[operand.id]
            return self.load(made) if isinstance(made, Load) else self.operation(made)
        return Text(self.name(operand.id), PRIMARY, bool_bits(operand.type))

    def assigned(self, text: Text, type_: ValueType) -> str:
        """The text as a variable of this type may take it."""
        return self._as_mask(text, 8, type_) if bool_bits(type_) else text.text

    def _as_mask(self, text: Text, bits: int, type_: ValueType) -> str:
        return text.text if text.mask_bits == bits else f"convert_{mask_type(bits, lanes(type_))}({text.text})"

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
        turned = _complemented(row, let) if self._dialect.opaque_complement else None
        if turned is not None:
            self.macros.add("COMPLEMENT")
            return Text(f"COMPLEMENT({self.operand(turned).text})")
        less = _steps_down(let)
        spelling = self._spelling(row, let, source) if less is None else "{0} - {1}"
        form, args = parsed_spelling(spelling), let.args if less is None else (let.args[0], less)
        infix, shift, same = "(" not in spelling, spelling in row.constant_shift.values(), row.operands
        texts: list[Text] = []
        for position, operand in enumerate(args):
            # Beside an operand of the type, a literal needs no suffix and a scalar no splat; nor does a shift's amount.
            # What is shifted does: in C, it gives the result its type by itself.
            beside = (other for at, other in enumerate(args) if at != position and same[at] == same[position])
            bare = infix and any(not isinstance(other, Const) for other in beside)
            bare = bare and not element(source).is_complex
            if row.constant_shift:
                bare = shift and position == 1
            text = self.operand(self._scalar_of(operand, args) if infix else operand, bare=bare)
            if bool_bits(operand.type):
                wanted = element(source).component.bits if element(source) != BOOL else 8
                text = Text(self._as_mask(text, wanted, source), text.binds, wanted)
            if position == 1 and spelling == "{0} + {1}" and self._grows(operand):
                text = Text(text.text)
            texts.append(text)
        width = element(source).component.bits
        words = {
            "T": value_type(source), "U": unsigned_type(source), "V": f"_{lanes(source)}" if lanes(source) > 1 else "",
            "C": value_type(type_), "bits": width, "half": width // 2, "top": width - 1,
        }  # fmt: skip
        alone = 0 if row.constant_shift else None
        spelled = "".join(
            piece if isinstance(piece, str) else operand_text(piece, texts, args, exact=piece.position == alone)
            for piece in form.pieces
        )
        for word, value in words.items():
            spelled = spelled.replace(f"{{{word}}}", str(value))
        mask = width if row.result == "bool" and lanes(type_) > 1 else bool_bits(type_)
        return Text(spelled, form.binds, mask, form.inner_binds)

    def _scalar_of(self, operand: Operand, args: tuple[Operand, ...]) -> Operand:
        """The scalar of a splat beside a vector, which C widens by itself; any other operand as it is."""

        def splat(arg: Operand) -> Let | None:
            made = self._locals.inlined.get(arg.id) if isinstance(arg, Value) else None
            return made if isinstance(made, Let) and made.op == "splat" else None

        made = splat(operand)
        vectors = [arg for arg in args if not isinstance(arg, Const) and splat(arg) is None]
        widened = element(operand.type) != BOOL and not element(operand.type).is_complex
        return made.args[0] if made is not None and vectors and widened else operand

    def _spelling(self, row: Op, let: Let, source: ValueType) -> str:
        if row.name in _WRAPPING and self._is_plain(let):
            return f"{{0}} {_WRAPPING[row.name]} {{1}}"
        if self._dialect.own_math and row.name in OWN_MATH and element(source).name == "f32":
            self.helpers[f"fast_{row.name}", source] = None
            return f"fast_{row.name}{{V}}({{0}})"
        if self._dialect.own_math and row.name in ROUNDING and element(source) in {F32, F64}:
            return f"{self.rounding(row.name, source)}({{0}})"
        if self._dialect.own_math and row.name in IN_FOURS and element(source) in {F32, F64} and lanes(source) < 4:
            return _FOUR_LANES[lanes(source)].format(name=row.name)
        if self._dialect.own_math and row.name in BY_FOURS and element(source) == F64 and lanes(source) > 4:
            self.helpers[f"{row.name}_by_fours", source] = None
            return f"{row.name}_by_fours{{V}}({{0}}, {{1}})"
        if (
            self._dialect.branching_division
            and row.name in LANES_AT_ONCE
            and lanes(source) > 1
            and element(source) == F32
        ):
            self.helpers[LANES_AT_ONCE[row.name], F32] = self.helpers[f"lanes_{row.name}", source] = None
            return f"lanes_{row.name}{{V}}({', '.join(f'{{{number}}}' for number in range(len(row.operands)))})"
        if row.name == "round_f16" and self._dialect.converted_halves:
            self.helpers["convert_to_half", source] = None
            return "convert_to_half{V}({0})"
        if row.name in CALLED and self._calls_functions:
            self.helpers[f"called_{row.name}", source] = None
            return f"called_{row.name}_{{T}}({', '.join(f'{{{number}}}' for number in range(len(row.operands)))})"
        if row.helper:
            self.helpers[row.helper, source] = None
        dtype, vector, last = element(source), lanes(source) > 1, let.args[-1]
        if dtype.is_complex or row.result == "complex":
            return self._complex_spelling(row, source)
        shifts = isinstance(last, Const) and row.constant_shift and 0 <= last.value < dtype.bits
        spellings = row.constant_shift if shifts else row.spelling
        form = "vector" if vector else "narrow" if dtype.is_integer and dtype.bits < 32 else "scalar"
        keys = (f"{dtype.kind}/{form}", form, dtype.kind, "any")
        return spellings[next(key for key in keys if key in spellings)]

    def _complex_spelling(self, row: Op, source: ValueType) -> str:
        """How an operation of complex numbers is spelled, or one that joins parts."""
        form = "vector" if lanes(source) > 1 else "scalar"
        keys = (f"complex/{form}", "complex", "any") if element(source).is_complex else (form, "any")
        spelling = row.spelling[next(key for key in keys if key in row.spelling)]
        if spelling.startswith("complex_"):
            self.helpers[spelling.partition("_{T}")[0], source] = None
        return spelling

    @cached_property
    def _calls_functions(self) -> bool:
        """Whether functions with long code are called, since there are many."""
        stmts = walk(self._locals.kernel.body) if self._dialect.slow_inlining else ()
        return sum(isinstance(stmt, Let) and stmt.op in CALLED for stmt in stmts) > _MANY_CALLS

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
                if element(source).is_complex:
                    return Text(f"{text.within(PRIMARY)}.s{2 * int(lane.value):x}{2 * int(lane.value) + 1:x}")
                component = f"{text.within(PRIMARY)}.s{int(lane.value):x}"
                return Text(f"{component} != 0", BINARY["!="]) if element(source) == BOOL else Text(component)
        joined = [self.operand(arg, bare=True) for arg in let.args]  # vector and splat
        if let.op == "splat" and element(type_).is_complex:
            joined *= lanes(type_)
        sign = "-" if element(type_) == BOOL else ""
        listed = ", ".join(f"{sign}{part.within(UNARY if sign else ANYTHING)}" for part in joined)
        return Text(f"({value_type(type_)})({listed})", UNARY, bool_bits(type_))

    def _convert(self, text: Text, source: ValueType, target: ValueType) -> Text:
        vector = isinstance(target, Vector)
        if element(target).is_complex:
            return self._to_complex(text, source, target)
        if element(target) == BOOL and element(source) != BOOL:
            zero = f"({value_type(source)})(0)" if vector else "0"
            mask = element(source).bits if vector else 0
            return Text(f"{text.within(BINARY['!='] + 1)} != {zero}", BINARY["!="], mask)
        if not vector:
            return Text(f"({value_type(target)}){text.within(UNARY)}", UNARY)
        # The lanes of a bool vector are 0 and -1.
        plain = f"-{text.within(UNARY + 1)}" if element(source) == BOOL else text.text
        return Text(f"convert_{value_type(target)}({plain})", PRIMARY, bool_bits(target))

    def _to_complex(self, text: Text, source: ValueType, target: ValueType) -> Text:
        """A complex number of other parts, or one that has a number as its real part."""
        if element(source).is_complex:
            return Text(f"convert_{value_type(target)}({text.text})")
        parts = with_dtype(target, element(target).component)
        real = self._convert(text, source, parts) if source != parts else text
        if lanes(target) == 1:
            return Text(f"({value_type(target)})({real.text}, 0)", UNARY)
        self.helpers["complex_of", parts] = None
        return Text(f"complex_of_{value_type(parts)}({real.text}, ({value_type(parts)})(0))")


def _complemented(row: Op, let: Let) -> Operand | None:
    """The number of 32 or 64 bits that an operation turns over: as `~x`, `x ^ -1` or `-1 - x`."""
    dtype = let.result.type
    if not isinstance(dtype, DType) or not dtype.is_integer or dtype.bits < 32:
        return None
    first, last = let.args[0], let.args[-1]
    if row.name == "not" or (row.name == "xor" and _has_all_bits(last)):
        return first
    return last if row.name in {"xor", "sub"} and _has_all_bits(first) else None


def _has_all_bits(operand: Operand) -> bool:
    if not isinstance(operand, Const) or isinstance(operand.value, float):
        return False
    bits = element(operand.type).bits
    return int(operand.value) % (1 << bits) == (1 << bits) - 1


def _steps_down(let: Let) -> Const | None:
    """By how much less, where an unsigned sum adds what wraps: x + 4294967295u is x - 1."""
    last = let.args[-1]
    if let.op != "add" or not isinstance(last, Const) or element(last.type).kind != "uint":
        return None
    bits = element(last.type).bits
    return Const((1 << bits) - int(last.value), last.type) if bits >= 32 and last.value >= 1 << (bits - 1) else None
