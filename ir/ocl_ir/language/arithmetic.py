"""Operations on numbers: their types meet, literals must fit, and kernel IR is emitted.

What is known now is computed by Python; what only Python floats of the call go into is left to the host; the rest runs
on the device. Half is computed in float32 and rounded after each operation, as arrays are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.context import Context, Host
from ocl_ir.language.host_numbers import HOST
from ocl_ir.language.promotion import INDEX, Class, NoCommonType, class_of, meet
from ocl_ir.language.values import HostNumber, Number, Value, dtype_name, is_static
from ocl_ir.types import BF16, BOOL, F16, F32, F64, I32, I64, U64, DType, from_numpy, lanes, with_lanes

STATIC: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "rem": operator.mod, "pow": operator.pow, "shl": operator.lshift,
    "shr": operator.rshift, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "eq": operator.eq,
    "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
"""Python's operators, by the name of the operation."""
SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "rem": "%", "pow": "**", "shl": "<<", "shr": ">>",
    "and": "&", "or": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_BITWISE = frozenset({"and", "or", "xor"})
_SHIFTS = frozenset({"shl", "shr"})
_ROUNDED = frozenset({"neg", "abs", "sign", "minimum", "maximum", "select", "copysign", "floor", "ceil", "trunc"})
"""Operations that give a half for halves: nothing has to be rounded."""
_LIMITS = {dtype: np.iinfo(dtype.numpy) for dtype in map(from_numpy, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))}


class Arithmetic(Context):
    """Computes with numbers."""

    # ------------------------------------------------------------------ conversion

    def is_number(self, value: Value) -> bool:
        """Whether a value is a number of any class."""
        return class_of(value) is not None

    def typed(self, ref: Ref, dtype: DType, low: int | None = None) -> Number:
        """A typed number."""
        return Number(ref, dtype, "typed", low)

    def index(self, value: Value) -> Ref:
        """An integer as an index: a literal, an index, or a typed integer."""
        if isinstance(value, bool | np.bool_) or not self._is_integer(value):
            self.fail(
                f"an index must be an integer, not {self.described(value)}", "convert it: int(…)", DTypeError
            )
        if isinstance(value, int | np.integer):
            return self._constant(int(value), self.index_type)
        return self.k.convert(value.ref, self.index_type)

    def _is_integer(self, value: Value) -> bool:
        class_ = class_of(value)
        return class_ is not None and (
            class_.literal == "int" or class_.is_index or (class_.dtype is not None and class_.dtype.is_integer)
        )

    def converted(self, value: Value, dtype: DType, *, fits: bool = True) -> Ref:
        """A number as a dtype of the program; a literal must fit, unless this is a cast."""
        computed = self.computed_as(dtype)
        if isinstance(value, HostNumber):
            made = self.parameter(Host(value), value.name or "number", dtype)
            return self.condition_of_byte(made.ref) if dtype is BOOL else made.ref
        if isinstance(value, bool | int | float | np.generic):
            return self._literal(value, dtype, fits=fits)
        assert isinstance(value, Number)
        if value.dtype is BOOL or dtype is BOOL:
            return self._of_bool(value, dtype)
        ref = self.k.convert(value.ref, computed)
        if dtype is F16 and value.dtype is not F16:
            ref = self.k.op("round_f16", ref)
        return ref

    def _of_bool(self, value: Value, dtype: DType) -> Ref:
        if dtype is value.dtype:
            return value.ref
        if dtype is BOOL:
            return self.k.op("ne", value.ref, self._constant(0, self.computed_as(value.dtype), value.lanes))
        return self.k.convert(value.ref, self.computed_as(dtype))

    def condition_of_byte(self, byte: Ref) -> Ref:
        """A bool that was passed as a byte."""
        return self.k.op("ne", byte, 0)

    def _literal(self, value: Any, dtype: DType, *, fits: bool) -> Ref:
        computed = self.computed_as(dtype)
        plain = value.item() if isinstance(value, np.generic) else value
        if dtype is BOOL:
            if not isinstance(plain, bool) and fits:
                self.fail(f"{value!r} is no bool", "write a comparison: x != 0", DTypeError)
            return self._constant(bool(plain), BOOL)
        if dtype.is_integer:
            if isinstance(plain, float):
                if fits:
                    self.fail(f"the float {value!r} has no place in {dtype_name(dtype)}", "convert it: int(…)", DTypeError)
                plain = int(plain)
            limits = _LIMITS[dtype]
            if not limits.min <= plain <= limits.max:
                if fits:
                    self.fail(f"{value!r} does not fit {dtype_name(dtype)}", f"use a number up to {limits.max}", DTypeError)
                plain = (int(plain) - int(limits.min)) % (1 << dtype.bits) + int(limits.min)
            return self._constant(int(plain), computed)
        rounded = float(np.float16(plain)) if dtype is F16 else float(plain)
        return self._constant(rounded, computed)

    def _constant(self, value: bool | int | float, dtype: DType, count: int = 1) -> Ref:
        type_ = with_lanes(dtype, count)
        return self.k.const(float(value) if dtype.is_float else value, type_)

    def number(self, value: Value) -> Number:
        """A number on the device: a literal alone is an index, or of the default real."""
        if isinstance(value, Number):
            return value
        class_ = class_of(value)
        if class_ is None:
            self.fail(f"{self.described(value)} is no number", kind=DTypeError)
        return self._in_class(value, class_)

    def _in_class(self, value: Value, class_: Class) -> Number:
        """A number converted to a class; the class of a literal alone is its default."""
        if class_.literal == "bool":
            return Number(self.converted(value, BOOL), BOOL)
        if class_.literal == "int" or class_.is_index:
            low = value if isinstance(value, int) else getattr(value, "low", None)
            return Number(self.index(self._unbooled(value)), self.index_type, "index", low)
        dtype = self.options.default_real if class_.literal == "float" else class_.dtype
        assert dtype is not None
        return Number(self.converted(value, self.available(dtype)), dtype)

    def _unbooled(self, value: Value) -> Value:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, Number) and value.dtype is BOOL:
            return Number(self.k.convert(value.ref, self.index_type), self.index_type, "index", 0)
        return value

    # ------------------------------------------------------------------ conditions

    def condition(self, value: Value) -> bool | Ref:
        """What a value says as a condition: known now, or a bool of the device."""
        if isinstance(value, HostNumber):
            return self.converted(value if value.is_bool else HostNumber("ne", (value, 0.0), True), BOOL)
        if isinstance(value, Number):
            if value.lanes > 1:
                self.fail("a vector is no condition", "test its components, or use any(…)", DTypeError)
            return self.converted(value, BOOL)
        if is_static(value):
            return bool(value)
        if isinstance(value, tuple):
            return bool(value)
        self.fail(f"{self.described(value)} is no condition", "test an element, or its size", DTypeError)

    def condition_ref(self, value: Value) -> Ref:
        """The same on the device, where it may be known now."""
        condition = self.condition(value)
        return self._constant(condition, BOOL) if isinstance(condition, bool) else condition

    # ------------------------------------------------------------------ operations

    def binary(self, op: str, left: Value, right: Value) -> Value:
        """Python's operator on two values."""
        if is_static(left) and is_static(right) and not self._both_numpy_mixed(left, right):
            return self.static(STATIC[op], left, right)
        a, b = class_of(left), class_of(right)
        if a is None or b is None:
            if isinstance(left, tuple) and isinstance(right, tuple) and op == "add":
                return left + right
            wrong = left if a is None else right
            self.fail(f"{SIGNS[op]} does not take {self.described(wrong)}", "compute with its elements", DTypeError)
        if isinstance(left, HostNumber | bool | int | float) and isinstance(right, HostNumber | bool | int | float):
            if op in HOST:
                return HostNumber(op, (left, right), op in COMPARISONS)
        if op in COMPARISONS:
            return self._compared(op, left, right, a, b)
        if op in _SHIFTS:
            return self._shifted(op, left, right, a)
        if op == "pow":
            return self._power(left, right, a, b)
        class_ = self._meet(op, left, right, a, b)
        if op == "div" and not (class_.dtype and class_.dtype.is_float) and class_.literal != "float":
            class_ = Class(dtype=self.options.default_real)
        if op in _BITWISE:
            self._check_bits(op, class_, left, right)
        elif class_.dtype is BOOL or class_.literal == "bool":
            self.fail(f"{SIGNS[op]} of bools", "convert one: int(…)", DTypeError)
        return self._computed(op, (left, right), class_)

    def _both_numpy_mixed(self, left: Value, right: Value) -> bool:
        """Whether typed constants meet, for which this language's rules hold, not NumPy's."""
        return isinstance(left, np.generic) or isinstance(right, np.generic)

    def static(self, function: Callable[..., Any], *args: Any) -> Any:
        """What Python computes now."""
        try:
            return function(*args)
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}")

    def _meet(self, op: str, left: Value, right: Value, a: Class, b: Class) -> Class:
        try:
            class_ = meet(a, b, self.options.default_real)
        except NoCommonType:
            self._refuse_float64(op, left, right)
        if class_.dtype is not None:
            self.available(class_.dtype)
        return class_

    def _refuse_float64(self, op: str, left: Value, right: Value) -> None:
        texts = self._operand_texts(op)
        names = [self.described(left), self.described(right)]
        to_cast = 0 if not class_of(left).dtype.is_float else 1  # type: ignore[union-attr]
        cast_one = [f"float32({text})" if number == to_cast else text for number, text in enumerate(texts)]
        cast_both = [f"float64({text})" if number != to_cast else text for number, text in enumerate(texts)]
        sign = SIGNS.get(op, op)
        self.fail(
            f"{names[0]} with {names[1]} would be float64, which nothing here asked for",
            f"write {f' {sign} '.join(cast_one)}, or {f' {sign} '.join(cast_both)}",
            DTypeError,
        )

    def _operand_texts(self, op: str) -> list[str]:
        sign = SIGNS.get(op)
        parts = [part.strip() for part in self.span.text.split(f" {sign} ")] if sign else []
        return parts if len(parts) == 2 else ["a", "b"]

    def _check_bits(self, op: str, class_: Class, left: Value, right: Value) -> None:
        if class_.literal == "float" or (class_.dtype is not None and class_.dtype.is_float):
            wrong = left if not self._is_integer(left) else right
            self.fail(f"{SIGNS[op]} of {self.described(wrong)}", "bits are those of integers and bools", DTypeError)

    def _weak(self, left: Value, right: Value) -> bool:
        return all(not isinstance(v, Number) or v.kind == "weak" for v in (left, right))

    def _computed(self, op: str, operands: tuple[Value, ...], class_: Class, dtype: DType | None = None) -> Number:
        """An operation of the op table on operands that are converted to a class."""
        if class_.literal is not None:  # weak ones and literals: what comes of them is weak too
            kind = self.options.default_real if class_.literal == "float" else self.index_type
            refs = [self.converted(operand, kind) for operand in operands]
            return Number(self.k.op(op, *refs), kind, "weak")
        if class_.is_index:
            refs = [self.index(self._unbooled(operand)) for operand in operands]
            return Number(self.k.op(op, *refs), self.index_type, "index", self._low(op, operands))
        assert class_.dtype is not None
        refs = self._splatted([self.converted(operand, class_.dtype) for operand in operands])
        ref = self.k.op(op, *refs)
        if class_.dtype is F16 and op not in _ROUNDED:
            ref = self.k.op("round_f16", ref)
        return Number(ref, class_.dtype)

    def _splatted(self, refs: list[Ref]) -> list[Ref]:
        widths = {lanes(ref.type) for ref in refs} - {1}  # type: ignore[arg-type]
        if len(widths) > 1:
            listed = " and ".join(str(width) for width in sorted(widths))
            self.fail(f"vectors of {listed} lanes", "give both the same number of lanes", DTypeError)
        return refs

    def _low(self, op: str, operands: tuple[Value, ...]) -> int | None:
        """A bound that no result is below, from those of the operands."""
        lows = [value if isinstance(value, int) else getattr(value, "low", None) for value in operands]
        if op in {"add", "mul", "minimum", "maximum", "floordiv", "rem", "and"} and all(
            low is not None and low >= 0 for low in lows
        ):
            first, second = lows
            if op == "floordiv" or op in {"rem", "and"}:
                return 0
            return {"add": first + second, "mul": first * second, "minimum": min(lows), "maximum": max(lows)}[op]
        return 0 if op == "rem" and lows[1] is not None and lows[1] > 0 else None

    # ------------------------------------------------------------------ comparisons, shifts, powers

    def _compared(self, op: str, left: Value, right: Value, a: Class, b: Class) -> Value:
        pair = self._exact_integers(a, b)
        if pair is not None:
            class_ = pair
        else:
            class_ = self._meet(op, left, right, a, b)
        known = self._never_fits(op, left, right, class_)
        if known is not None:
            return known
        if class_.literal is not None:
            class_ = Class(dtype=self.options.default_real) if class_.literal == "float" else INDEX
        if class_.dtype is BOOL and op not in {"eq", "ne"}:
            class_ = INDEX
        if class_.is_index:
            refs = [self.index(self._unbooled(value)) for value in (left, right)]
        else:
            assert class_.dtype is not None
            refs = [self.converted(value, class_.dtype) for value in (left, right)]
        return Number(self.k.op(op, *refs), BOOL)

    def _exact_integers(self, a: Class, b: Class) -> Class | None:
        """Integers of different signs are compared in 64 bits, in which both have a place."""
        dtypes = {I32 if class_.is_index else class_.dtype for class_ in (a, b) if class_.literal is None}
        integers = {dtype for dtype in dtypes if dtype is not None and dtype.is_integer}
        signs = {dtype.kind for dtype in integers}
        if len(integers) < 2 or len(signs) < 2:
            return None
        if U64 in integers:
            self.fail(
                "uint64 with a signed integer has no integer type in common",
                "convert one: int64(…) or uint64(…)",
                DTypeError,
            )
        return Class(dtype=self.available(I64))

    def _never_fits(self, op: str, left: Value, right: Value, class_: Class) -> bool | None:
        """What a comparison with an integer literal is that its dtype has no place for."""
        for literal, holds in ((right, op in {"lt", "le", "ne"}), (left, op in {"gt", "ge", "ne"})):
            if isinstance(literal, int) and class_.dtype in _LIMITS:
                limits = _LIMITS[class_.dtype]
                if literal > limits.max:
                    return holds
                if literal < limits.min:
                    return op == "ne" or (not holds and op != "eq")
        return None

    def _shifted(self, op: str, left: Value, right: Value, a: Class) -> Number:
        for value in (left, right):
            if not self._is_integer(value):
                self.fail(f"{SIGNS[op]} of {self.described(value)}", "shifts are those of integers", DTypeError)
        if a.is_index or a.literal is not None:
            return self._computed(op, (left, right), INDEX)
        assert a.dtype is not None
        amount = self.converted(right, a.dtype, fits=True)
        return Number(self.k.op(op, *self._splatted([self.converted(left, a.dtype), amount])), a.dtype)

    def _power(self, base: Value, exponent: Value, a: Class, b: Class) -> Value:
        if isinstance(exponent, int | float) and exponent == 2 and isinstance(base, Number):
            return self.binary("mul", base, base)
        class_ = self._meet("pow", base, exponent, a, b)
        if class_.dtype is BOOL:
            class_ = INDEX
        if class_.is_index or (class_.dtype is not None and class_.dtype.is_integer) or class_.literal == "int":
            if isinstance(exponent, int) and exponent < 0:
                self.fail(
                    f"an integer to the negative power {exponent}", "convert the base: float32(…)", DTypeError
                )
            return self._computed("ipow", (base, exponent), class_)
        return self._computed("pow", (base, exponent), class_)

    # ------------------------------------------------------------------ one operand

    def unary(self, op: str, value: Value) -> Value:
        """`-`, `~` and `+`; `not` is a condition."""
        if isinstance(value, HostNumber) and op == "neg":
            return HostNumber("neg", (value,))
        if not isinstance(value, Number):
            self.fail(f"{'-' if op == 'neg' else '~'} does not take {self.described(value)}", kind=DTypeError)
        if value.dtype is BOOL:
            if op == "neg":
                self.fail("- of a bool", "write not v, or convert it: -int(v)", DTypeError)
            return Number(self.k.op("not", value.ref), BOOL)
        if op == "not" and value.dtype.is_float:
            self.fail(f"~ of {self.described(value)}", "bits are those of integers and bools", DTypeError)
        return Number(self.k.op(op, value.ref), value.dtype, value.kind)

    def real(self, op: str, *values: Value) -> Value:
        """A function of floats on numbers, of which integers become the default real."""
        if all(isinstance(value, HostNumber | bool | int | float) for value in values) and op in HOST:
            if any(isinstance(value, HostNumber) for value in values):
                return HostNumber(op, values)
        class_ = self.meet_all(op, values)
        if class_.literal is not None or class_.is_index or not class_.dtype.is_float:  # type: ignore[union-attr]
            weak = class_.literal is not None
            class_ = Class("float") if weak and self._all_weak(values) else Class(dtype=self.options.default_real)
        return self._computed(op, values, class_)

    def numeric(self, op: str, *values: Value) -> Value:
        """A function of numbers of one type."""
        class_ = self.meet_all(op, values)
        if class_.literal is not None and not self._all_weak(values):
            class_ = Class(dtype=self.options.default_real) if class_.literal == "float" else INDEX
        return self._computed(op, values, class_)

    def _all_weak(self, values: tuple[Value, ...]) -> bool:
        return any(isinstance(value, Number) and value.kind == "weak" for value in values)

    def meet_all(self, op: str, values: tuple[Value, ...]) -> Class:
        """The class in which several numbers meet."""
        classes = [class_of(value) for value in values]
        for value, class_ in zip(values, classes, strict=True):
            if class_ is None:
                self.fail(f"{op} does not take {self.described(value)}", "give it a number", DTypeError)
        common = classes[0]
        for value, class_ in zip(values[1:], classes[1:], strict=True):
            assert common is not None
            assert class_ is not None
            common = self._meet(op, values[0], value, common, class_)
        assert common is not None
        return common

    def select(self, condition: Ref, then: Value, orelse: Value) -> Value:
        """One of two numbers, both of which are computed."""
        class_ = self.meet_all("where", (then, orelse))
        if class_.literal is not None and not self._all_weak((then, orelse)):
            class_ = (
                Class(dtype=BOOL)
                if class_.literal == "bool"
                else INDEX
                if class_.literal == "int"
                else Class(dtype=self.options.default_real)
            )
        first, second = (self._in_class_or_weak(value, class_) for value in (then, orelse))
        return Number(self.k.op("select", condition, first.ref, second.ref), first.dtype, first.kind)

    def _in_class_or_weak(self, value: Value, class_: Class) -> Number:
        number = self._in_class(value, class_)
        return Number(number.ref, number.dtype, "weak") if class_.literal in {"int", "float"} else number

    # ------------------------------------------------------------------ casts

    def cast(self, value: Value, dtype: DType) -> Value:
        """A number as a dtype, as C casts do: floats lose their fraction, integers their upper bits."""
        self.available(dtype)
        if class_of(value) is None:
            self.fail(f"{dtype_name(dtype)}(…) of {self.described(value)}", "give it a number", DTypeError)
        if dtype is BF16:
            self.fail("bfloat16 is a dtype of memory only", "compute in float32; the store rounds", DTypeError)
        return Number(self.converted(value, dtype, fits=False), dtype)

    def to_index(self, value: Value) -> Value:
        """`int(v)`: floats lose their fraction."""
        if is_static(value):
            return self.static(int, value)
        if isinstance(value, HostNumber):
            return Number(self.k.convert(self.converted(value, F64 if self.options.fp64 else F32), self.index_type), self.index_type, "index")
        if not isinstance(value, Number):
            self.fail(f"int(…) of {self.described(value)}", "give it a number", DTypeError)
        if value.kind == "index":
            return value
        if value.dtype is BOOL:
            return self._unbooled(value)
        return Number(self.k.convert(value.ref, self.index_type), self.index_type, "index", value.low)

    # ------------------------------------------------------------------ words

    def described(self, value: Value) -> str:
        """A value in an error."""
        if isinstance(value, Number):
            return str(value)
        if isinstance(value, HostNumber):
            return str(value)
        if isinstance(value, np.generic):
            return f"the {value.dtype} {value}"
        if isinstance(value, bool | int | float | str):
            return f"the {type(value).__name__} {value!r}"
        if value is None:
            return "None"
        name = getattr(value, "__name__", None)
        if callable(value) and name:
            return f"the function {name}"
        if isinstance(value, tuple):
            return f"a tuple of {len(value)}"
        return str(value) if type(value).__module__.startswith("ocl_ir") else f"a {type(value).__name__}"

