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
from ocl_ir.language.expressions.conversions import Conversions
from ocl_ir.language.expressions.reports import INTEGER_LIMITS, DivisionSite
from ocl_ir.language.values.host_numbers import HOST
from ocl_ir.language.values.promotion import INDEX, Class, NoCommonType, class_of, meet
from ocl_ir.language.values.values import (
    HostNumber,
    Number,
    Value,
    is_static,
    low_of,
    remedy_for_number,
    remedy_for_text,
)
from ocl_ir.program_ops import ExactOp
from ocl_ir.types import BOOL, F16, I32, I64, U64, DType, lanes

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
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_BITWISE = frozenset({"and", "or", "xor"})
_SHIFTS = frozenset({"shl", "shr"})
_DIVISIONS = frozenset({"floordiv", "rem"})
_HOST_KNOWN = (HostNumber, bool, int, float)
"""What the host can compute with."""
_ROUNDED = frozenset({"neg", "abs", "sign", "minimum", "maximum", "select", "copysign", "floor", "ceil", "trunc"})
"""Operations that give a half for halves: nothing has to be rounded."""
_COUNTING = frozenset({"add", "sub", "mul"})
"""Operations of indices that no program lets overflow, as Python has none; compilers know addresses for it, and the
interpreter reports where it is untrue. Checked mode reports an access, and runs on."""


class Arithmetic(Conversions):
    """Computes with numbers."""

    # ------------------------------------------------------------------ operations

    def binary(self, op: str, left: Value, right: Value, *, written: str = "") -> Value:
        """Python's operator on two values; errors name it as the program has it `written`, by default by its sign."""
        if is_static(left) and is_static(right) and not self._both_numpy_mixed(left, right):
            return self.static(STATIC[op], left, right)
        a, b = class_of(left), class_of(right)
        if a is None or b is None:
            if isinstance(left, tuple) and isinstance(right, tuple) and op == "add":
                return left + right
            wrong = left if a is None else right
            remedy = "compute with its elements"
            if isinstance(wrong, str):
                remedy = remedy_for_text(right if a is None else left, self._operand_texts(op)[a is None])
            raise self.fault(f"{SIGNS[op]} does not take {self.described(wrong)}", remedy, DTypeError)
        if op in HOST and isinstance(left, _HOST_KNOWN) and isinstance(right, _HOST_KNOWN):
            return HostNumber(op, (left, right), op in COMPARISONS)
        if op in COMPARISONS:
            return self._compared(op, left, right, a, b)
        if op in _SHIFTS:
            return self._shifted(op, left, right, a, b)
        if op == "pow":
            return self._power(left, right, a, b)
        class_ = self._meet(op, left, right, a, b)
        if op == "div" and not (class_.dtype and class_.dtype.is_inexact) and class_.literal != "float":
            class_ = Class(dtype=self.options.default_real)
        if op in _BITWISE:
            self._check_bits(op, class_, left, right)
        elif class_.dtype is BOOL or class_.literal == "bool":
            raise self.fault(f"{SIGNS[op]} of bools", "convert one: int(…)", DTypeError)
        if op in _DIVISIONS and class_.literal != "float" and not (class_.dtype and class_.dtype.is_inexact):
            self.check_divisor(written or SIGNS[op], right)
        return self._computed(op, (left, right), class_)

    def check_divisor(self, operation: str, divisor: Value) -> None:
        """In checked mode, reports a division of integers by 0, whose value is 0."""
        low = low_of(divisor)
        if not self.options.checked or (low is not None and low > 0) or (is_static(divisor) and divisor != 0):
            return
        zero = self.binary("eq", divisor, 0)
        is_zero = zero.ref if isinstance(zero, Number) else self.condition_ref(zero)
        self.report_where(is_zero, DivisionSite(self.span, operation))

    def _both_numpy_mixed(self, left: Value, right: Value) -> bool:
        """Whether typed constants meet, for which this language's rules hold, not NumPy's."""
        return isinstance(left, np.generic) or isinstance(right, np.generic)

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
        raise self.fault(
            f"{names[0]} with {names[1]} would be float64, which nothing here asked for",
            f"write {f' {sign} '.join(cast_one)}, or {f' {sign} '.join(cast_both)}",
            DTypeError,
        )

    def _operand_texts(self, op: str) -> list[str]:
        sign = SIGNS.get(op)
        parts = [part.strip() for part in self.span.text.split(f" {sign} ")] if sign else []
        return parts if len(parts) == 2 else ["a", "b"]

    def _check_bits(self, op: str, class_: Class, left: Value, right: Value) -> None:
        if class_.literal == "float" or (class_.dtype is not None and class_.dtype.is_inexact):
            wrong = left if not self._is_integer(left) else right
            raise self.fault(
                f"{SIGNS[op]} of {self.described(wrong)}", "bits are those of integers and bools", DTypeError
            )

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
            if op in _COUNTING and (not self.options.checked or self.options.interpreted):
                op = ExactOp(op)
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
            raise self.fault(f"vectors of {listed} lanes", "give both the same number of lanes", DTypeError)
        return refs

    def _low(self, op: str, operands: tuple[Value, ...]) -> int | None:
        """A bound that no result is below, from those of the operands."""
        first, second = (low_of(operands[0]), low_of(operands[-1]))
        if op == "rem":
            return 0 if second is not None and second > 0 else None
        if op == "maximum":
            return max((low for low in (first, second) if low is not None), default=None)
        if first is None or second is None or min(first, second) < 0:
            return None
        return {"add": first + second, "mul": first * second, "minimum": min(first, second)}.get(
            op, 0 if op in {"floordiv", "and"} else None
        )

    # ------------------------------------------------------------------ comparisons, shifts, powers

    def _compared(self, op: str, left: Value, right: Value, a: Class, b: Class) -> Value:
        class_ = self._exact_integers(a, b) or self._meet(op, left, right, a, b)
        types = self._integer_type(a), self._integer_type(b)
        if class_.dtype is U64 and None not in types and types != (U64, U64):
            if types[1] is not U64 and types[1].kind == "int":  # type: ignore[union-attr]
                return self._compared_with_uint64(_MIRRORED[op], right, left)
            if types[0].kind == "int":  # type: ignore[union-attr]
                return self._compared_with_uint64(op, left, right)
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
        integers = {dtype for dtype in map(self._integer_type, (a, b)) if dtype is not None}
        if len(integers) < 2 or len({dtype.kind for dtype in integers}) < 2:
            return None
        return Class(dtype=self.available(U64 if U64 in integers else I64))

    def _integer_type(self, class_: Class) -> DType | None:
        if class_.literal is not None:
            return None
        dtype = I32 if class_.dtype is None else class_.dtype
        return dtype if dtype.is_integer else None

    def _compared_with_uint64(self, op: str, signed: Value, unsigned: Value) -> Number:
        """Of a signed integer, which is below all of uint64 where it is negative, and else has a place there."""
        refs = [self.converted(value, U64) for value in (signed, unsigned)]
        is_negative = self.condition_ref(self.binary("lt", signed, 0))
        holds = self.k.op(op, *refs)
        if op in {"ne", "lt", "le"}:
            return Number(self.k.op("or", is_negative, holds), BOOL)
        return Number(self.k.op("and", self.k.op("not", is_negative), holds), BOOL)

    def _never_fits(self, op: str, left: Value, right: Value, class_: Class) -> bool | None:
        """What a comparison with an integer literal is that its dtype has no place for."""
        for literal, holds in ((right, op in {"lt", "le", "ne"}), (left, op in {"gt", "ge", "ne"})):
            if isinstance(literal, int) and class_.dtype in INTEGER_LIMITS:
                limits = INTEGER_LIMITS[class_.dtype]
                if literal > limits.max:
                    return holds
                if literal < limits.min:
                    return op == "ne" or (not holds and op != "eq")
        return None

    def _shifted(self, op: str, left: Value, right: Value, a: Class, b: Class) -> Number:
        for value, class_ in ((left, a), (right, b)):
            if class_.literal == "float" or (class_.dtype is not None and class_.dtype.is_inexact):
                raise self.fault(f"{SIGNS[op]} of {self.described(value)}", "shifts are those of integers", DTypeError)
        class_ = self._meet(op, left, right, a, b)
        if class_.dtype is BOOL or class_.literal == "bool":
            raise self.fault(f"{SIGNS[op]} of bools", "convert one: int(…)", DTypeError)
        return self._computed(op, (left, right), class_)

    def _power(self, base: Value, exponent: Value, a: Class, b: Class) -> Value:
        class_ = self._meet("pow", base, exponent, a, b)
        if class_.dtype is BOOL:
            class_ = INDEX
        if isinstance(exponent, int | float) and exponent == 2 and isinstance(base, Number):
            return self._computed("mul", (base, base), class_)  # rounded once
        if class_.is_index or (class_.dtype is not None and class_.dtype.is_integer) or class_.literal == "int":
            if isinstance(exponent, int) and exponent < 0:
                raise self.fault(
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
            raise self.fault(
                f"{'-' if op == 'neg' else '~'} does not take {self.described(value)}",
                remedy_for_number(value),
                DTypeError,
            )
        if value.dtype is BOOL:
            if op == "neg":
                raise self.fault("- of a bool", "write not v, or convert it: -int(v)", DTypeError)
            return Number(self.k.op("not", value.ref), BOOL)
        if op == "not" and value.dtype.is_inexact:
            raise self.fault(f"~ of {self.described(value)}", "bits are those of integers and bools", DTypeError)
        return Number(self.k.op(op, value.ref), value.dtype, value.kind)

    def real(self, op: str, *values: Value) -> Value:
        """A function of floats on numbers, of which integers become the default real."""
        if op in HOST and all(isinstance(value, _HOST_KNOWN) for value in values) and not is_static(values):
            return HostNumber(op, values)
        class_ = self.meet_all(op, values)
        if class_.literal is not None or class_.is_index or not class_.dtype.is_inexact:  # type: ignore[union-attr]
            weak = class_.literal is not None
            class_ = Class("float") if weak and self._all_weak(values) else Class(dtype=self.options.default_real)
        return self._computed(op, values, class_)

    def numeric(self, op: str, *values: Value) -> Value:
        """A function of numbers of one type."""
        class_ = self.meet_all(op, values)
        if class_.dtype is BOOL or class_.literal == "bool":
            raise self.fault(f"{op} of bools", "convert them: int(…)", DTypeError)
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
                raise self.fault(f"{op} does not take {self.described(value)}", "give it a number", DTypeError)
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
