"""Numbers as other types: conversions, literals that must fit, conditions, casts, and how errors call them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.context import Host
from ocl_ir.language.expressions.reports import INTEGER_LIMITS, ConversionSite, Reports
from ocl_ir.language.values.promotion import Class, class_of
from ocl_ir.language.values.values import HostNumber, Number, Value, dtype_name, is_static, remedy_for_number
from ocl_ir.types import BF16, BOOL, F16, F32, F64, DType, element, with_lanes


class Conversions(Reports):
    """Converts numbers."""

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
            raise self.fault(
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
        if isinstance(value, HostNumber) and dtype.is_complex:
            return self.k.convert(self.converted(value, dtype.component), dtype)
        if isinstance(value, HostNumber):
            made = self.parameter(Host(value, dtype), value.name or "number", dtype)
            return self.condition_of_byte(made.ref) if dtype is BOOL else made.ref
        if isinstance(value, bool | int | float | np.generic):
            return self._literal(value, dtype, fits=fits)
        assert isinstance(value, Number)
        if value.dtype is BOOL or dtype is BOOL:
            return self._of_bool(value, dtype)
        if value.dtype.is_complex and not dtype.is_complex:
            raise self.fault(
                f"{self.described(value)} as {dtype_name(dtype)} would lose the imaginary part",
                "take a part: v.real, v.imag or abs(v)",
                DTypeError,
            )
        ref = self.k.convert(value.ref, computed)
        if dtype is F16 and value.dtype is not F16:
            ref = self.k.op("round_f16", ref)
        return ref

    def _of_bool(self, value: Number, dtype: DType) -> Ref:
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
        if isinstance(plain, complex):
            if not dtype.is_complex:
                raise self.fault(f"{value!r} has no place in {dtype_name(dtype)}", "take its real part", DTypeError)
            parts = [self._constant(part, dtype.component) for part in (plain.real, plain.imag)]
            return self.k.op("complex", *parts)
        if dtype is BOOL:
            if not isinstance(plain, bool) and fits:
                raise self.fault(f"{value!r} is no bool", "write a comparison: x != 0", DTypeError)
            return self._constant(bool(plain), BOOL)
        if dtype.is_integer:
            if isinstance(plain, float):
                if fits:
                    raise self.fault(
                        f"the float {value!r} has no place in {dtype_name(dtype)}", "convert it: int(…)", DTypeError
                    )
                if not math.isfinite(plain):
                    raise self.fault(
                        f"{value!r} has no place in {dtype_name(dtype)}", "use a finite number", DTypeError
                    )
                plain = int(plain)
            limits = INTEGER_LIMITS[dtype]
            if not limits.min <= plain <= limits.max:
                if fits:
                    raise self.fault(
                        f"{value!r} does not fit {dtype_name(dtype)}",
                        f"use a number from {limits.min} to {limits.max}, or convert the number beside it: int32(…)",
                        DTypeError,
                    )
                plain = (int(plain) - int(limits.min)) % (1 << dtype.bits) + int(limits.min)
            return self._constant(int(plain), computed)
        try:
            rounded = float(np.float16(plain)) if dtype is F16 else float(plain)
        except OverflowError:  # of an int; floats that are too large become infinite
            raise self.fault(
                f"an int of {len(str(plain))} digits does not fit {dtype_name(dtype)}", "use a float", DTypeError
            ) from None
        return self._constant(rounded, computed)

    def _constant(self, value: bool | int | float, dtype: DType, count: int = 1) -> Ref:
        type_ = with_lanes(dtype, count)
        return self.k.const(float(value) if dtype.is_inexact else value, type_)

    def number(self, value: Value) -> Number:
        """A number on the device: a literal alone is an index, or of the default real."""
        if isinstance(value, Number):
            return value
        class_ = class_of(value)
        if class_ is None:
            raise self.fault(f"{self.described(value)} is no number", remedy_for_number(value), DTypeError)
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
                raise self.fault("a vector is no condition", "test its components, or use any(…)", DTypeError)
            return self.converted(value, BOOL)
        if is_static(value):
            return bool(value)
        if isinstance(value, tuple):
            return bool(value)
        raise self.fault(f"{self.described(value)} is no condition", "test an element, or its size", DTypeError)

    def condition_ref(self, value: Value) -> Ref:
        """The same on the device, where it may be known now."""
        condition = self.condition(value)
        return self._constant(condition, BOOL) if isinstance(condition, bool) else condition

    # ------------------------------------------------------------------ casts

    def cast(self, value: Value, dtype: DType) -> Value:
        """A number as a dtype, as C casts do: floats lose their fraction, integers their upper bits."""
        self.available(dtype)
        if class_of(value) is None:
            raise self.fault(f"{dtype_name(dtype)}(…) of {self.described(value)}", "give it a number", DTypeError)
        if dtype is BF16:
            raise self.fault("bfloat16 is a dtype of memory only", "compute in float32; the store rounds", DTypeError)
        return Number(self.converted(value, dtype, fits=False), dtype)

    def to_index(self, value: Value) -> Value:
        """`int(v)`: floats lose their fraction; checked mode reports what an index does not hold."""
        if is_static(value):
            return self.static(int, value)
        if isinstance(value, HostNumber):
            real = F64 if self.options.fp64 else F32
            value = Number(self.converted(value, real), real)
        if not isinstance(value, Number):
            raise self.fault(f"int(…) of {self.described(value)}", "give it a number", DTypeError)
        if value.kind == "index":
            return value
        if value.dtype is BOOL:
            return self._unbooled(value)
        self.check_range(value, self.index_type, ConversionSite(self.span, element(value.type), self.index_type))
        return Number(self.k.convert(value.ref, self.index_type), self.index_type, "index", value.low)

    def static(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """What Python computes now."""
        try:
            return function(*args, **keywords)
        except Exception as error:
            raise self.fault(
                f"{type(error).__name__}: {error}",
                "this is computed while the kernel is translated: write what Python can do",
            ) from error

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
