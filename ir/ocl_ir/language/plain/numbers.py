"""Numbers of a kernel in plain Python: an index, and a typed number of one or more lanes.

A literal is a Python number. The types in which numbers meet are those of `ocl_ir.language.values.promotion`; what
comes of them is computed by NumPy, in exactly that dtype, and integers of 32 bits and more wrap.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, SupportsInt

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.language.errors import KernelError
from ocl_ir.language.plain.printing import formatted
from ocl_ir.language.plain.work_item import default_real, refuse_zero_divisor
from ocl_ir.language.values.promotion import INDEX, Class, NoCommonType, meet
from ocl_ir.language.values.swizzles import component_indices
from ocl_ir.language.values.values import dtype_name
from ocl_ir.numpy_functions import power
from ocl_ir.ops import OPS
from ocl_ir.types import BOOL, DType, from_numpy

_COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_PYTHON = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "rem": operator.mod, "pow": operator.pow, "shl": operator.lshift,
    "shr": operator.rshift, "and": operator.and_, "or": operator.or_, "xor": operator.xor, **_COMPARISONS,
}  # fmt: skip
_NAMES = {"div": "truediv", "rem": "mod", "shl": "lshift", "shr": "rshift"}
"""Those of Python's methods that are called otherwise."""
_NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
    "rem": np.remainder, "pow": np.power, "shl": np.left_shift, "shr": np.right_shift, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_DIVISIONS = {"floordiv": "//", "rem": "%"}
_BITS = frozenset({"and", "or", "xor", "shl", "shr"})


class Operators:
    """Python's operators, by the rules of the language."""

    __array_ufunc__ = None  # NumPy's scalars leave the operation to this side
    __slots__ = ()
    value: Any
    """What NumPy or Python computes with."""

    def __bool__(self) -> bool:
        return truth(self)

    def __invert__(self) -> Any:
        return unary("not", self)

    def __neg__(self) -> Any:
        return unary("neg", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return unary("abs", self)

    def __format__(self, specification: str) -> str:
        return formatted(self.value, specification)

    __hash__ = None  # type: ignore[assignment]


def _operator(op: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: binary(op, self, other)


def _reflected(op: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: binary(op, other, self)


def give_operators(
    class_: type, one_way: Callable[[str], Callable[..., Any]], other_way: Callable[[str], Callable[..., Any]]
) -> None:
    """Gives a class all of Python's operators on numbers: what each is, and what it is where the other side is left."""
    for op in _PYTHON:
        name = _NAMES.get(op, op)
        setattr(class_, f"__{name}__", one_way(op))
        if op not in _COMPARISONS:
            setattr(class_, f"__r{name}__", other_way(op))


give_operators(Operators, _operator, _reflected)


class Index(Operators):
    """A Python int that a kernel knows at run time only. It is no `int`, which a float on its left would take for a
    literal."""

    __slots__ = ("value",)

    value: int

    def __init__(self, value: SupportsInt) -> None:
        self.value = int(value)

    def __repr__(self) -> str:
        return f"index {self.value}"

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __float__(self) -> float:
        return float(self.value)

    def __hash__(self) -> int:  # type: ignore[override]  # a typed number has none
        return hash(self.value)


class Typed(Operators):
    """A NumPy scalar, or the lanes of a vector."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return self.value.dtype

    @property
    def real(self) -> Typed:
        """The real part of a complex number."""
        return Typed(self.value.real)

    @property
    def imag(self) -> Typed:
        """The imaginary part of a complex number."""
        return Typed(self.value.imag)

    @property
    def lanes(self) -> int:
        """Lanes of a vector; 1 for a scalar."""
        return int(np.size(self.value))

    def __repr__(self) -> str:
        return repr(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __getitem__(self, lane: int) -> Typed:
        return Typed(self.value[lane])

    def __iter__(self) -> Any:
        return map(Typed, self.value)

    def __getattr__(self, name: str) -> Typed:
        lanes = component_indices(name, self.lanes) if self.lanes > 1 else None
        if lanes is None:
            raise AttributeError(f"{self!r} has no {name}")
        return Typed(self.value[lanes[0]] if len(lanes) == 1 else self.value[lanes])

    def replace(self, **components: Any) -> Typed:
        """The vector with other components."""
        value = self.value.copy()
        for name, number in components.items():
            lanes = component_indices(name, self.lanes)
            if lanes is None or len(lanes) != 1:
                raise KernelError(f"{self!r} has no component {name}", remedy="use x, y, z, w or s0 to sf")
            value[lanes[0]] = converted(number, from_numpy(self.dtype))
        return Typed(value)


def _augmented(op: str) -> Callable[[Any, Any], Any]:
    """`v += j` of a typed integer and an index is one of the integer's dtype."""

    def function(self: Typed, other: Any) -> Any:
        result = binary(op, self, other)
        if not isinstance(result, Index) or self.dtype == np.bool_:
            return result
        return Typed(converted(result, from_numpy(self.dtype), fits=False))

    return function


for _op in _PYTHON:
    if _op not in _COMPARISONS:
        setattr(Typed, f"__i{_NAMES.get(_op, _op)}__", _augmented(_op))


def class_of(value: Any) -> Class | None:
    """The class of a number; None for what is none."""
    if isinstance(value, Index):
        return INDEX
    if isinstance(value, Typed | np.generic):
        return Class(dtype=from_numpy(value.dtype))
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return Class(kind.__name__)  # type: ignore[arg-type]
    return None


def plain(value: Any) -> Any:
    """What NumPy or Python computes with."""
    return value.value if isinstance(value, Operators) else value


def truth(value: Any) -> bool:
    """Whether a number is not zero."""
    if isinstance(value, Typed) and value.lanes > 1:
        raise DTypeError("a vector is no condition", remedy="test its components, or use any(…)")
    return bool(plain(value))


# ---------------------------------------------------------------------- conversions


def converted(value: Any, dtype: DType, *, fits: bool = True) -> Any:
    """A number in a dtype, for NumPy. Raises `DTypeError` for a literal that does not fit, unless this is a cast."""
    if isinstance(value, Typed | np.generic):
        if value.dtype.kind == "c" and not dtype.is_complex:
            raise DTypeError(f"{value!r} as {dtype_name(dtype)} would lose the imaginary part")
        with np.errstate(all="ignore"):
            return plain(value).astype(dtype.numpy)
    if dtype is BOOL:
        if fits and not isinstance(value, bool):
            raise DTypeError(f"{value!r} is no bool")
        return np.bool_(value)
    if dtype.is_integer:
        if fits and isinstance(value, float):
            raise DTypeError(f"the float {value!r} has no place in {dtype_name(dtype)}")
        limits = np.iinfo(dtype.numpy)
        number = int(value)
        if fits and not isinstance(value, Index) and not limits.min <= number <= limits.max:
            raise DTypeError(f"{value!r} does not fit {dtype_name(dtype)}")
        return dtype.numpy.type((number - int(limits.min)) % 2**dtype.bits + int(limits.min))
    with np.errstate(all="ignore"):
        return dtype.numpy.type(value if isinstance(value, complex) else float(value))


def cast(value: Any, dtype: DType) -> Typed:
    """A number as a dtype, as C casts do."""
    if class_of(value) is None:
        raise DTypeError(f"{dtype_name(dtype)}(…) of {value!r}", remedy="give it a number")
    return Typed(converted(value, dtype, fits=False))


# ---------------------------------------------------------------------- operations


def common(*values: Any) -> Class:
    """The class in which numbers meet. Raises `DTypeError`."""
    classes = [class_of(value) for value in values]
    if None in classes:
        raise DTypeError(f"{values[classes.index(None)]!r} is no number", remedy="give it a number")
    result = classes[0]
    for class_ in classes[1:]:
        try:
            result = meet(result, class_, default_real())  # type: ignore[arg-type]
        except NoCommonType:
            raise DTypeError(f"{values} would meet in a float64 that none of them is") from None
    assert result is not None
    return result


def in_real(class_: Class) -> DType:
    """The dtype of floats for a class: its own, or the default real."""
    return class_.dtype if class_.dtype is not None and class_.dtype.is_inexact else default_real()


def apply(function: Callable[..., Any], dtype: DType, *values: Any) -> Typed:
    """NumPy's function of numbers in a dtype."""
    with np.errstate(all="ignore"):
        return Typed(function(*[np.asarray(converted(value, dtype)) for value in values])[()])


def binary(op: str, left: Any, right: Any, *, written: str = "") -> Any:
    """An operator on numbers; errors of divisions name it as the program has it `written`, by default by its sign."""
    if class_of(left) is None or class_of(right) is None:
        return NotImplemented
    if op in _COMPARISONS:
        return _compared(op, left, right)
    class_ = common(left, right)
    if op in _BITS and (class_.literal == "float" or (class_.dtype is not None and class_.dtype.is_inexact)):
        raise DTypeError(f"{op} of {left!r} and {right!r}: bits are those of integers")
    if class_.dtype is BOOL and op == "pow":
        class_ = INDEX
    if op == "div" or class_.literal == "float":
        dtype = in_real(class_)
        return apply(OPS[op].reference if dtype.is_complex else _NUMPY[op], dtype, left, right)
    if class_.dtype is BOOL and op not in {"and", "or", "xor"}:
        raise DTypeError(f"{op} of bools", remedy="convert one: int(…)")
    if op == "pow":
        return _power(left, right, class_)
    if op in _DIVISIONS and not (class_.dtype and class_.dtype.is_inexact) and not np.all(plain(right)):
        refuse_zero_divisor(written or _DIVISIONS[op])
    if class_.dtype is None:
        return _of_ints(op, int(left), int(right))
    if class_.dtype.is_complex:
        return apply(OPS[op].reference, class_.dtype, left, right)
    return apply(_NUMPY[op], class_.dtype, left, right)


def _of_ints(op: str, left: int, right: int) -> Index:
    if op in {"floordiv", "rem"} and right == 0:
        return Index(0)
    if op in {"shl", "shr"} and not 0 <= right < 64:
        return Index(-1 if op == "shr" and left < 0 else 0)
    return Index(_PYTHON[op](left, right))


def _power(base: Any, exponent: Any, class_: Class) -> Any:
    is_literal = isinstance(exponent, int | float)
    if is_literal and exponent == 2:
        return base * base if class_.dtype is None else apply(np.square, class_.dtype, base)
    if class_.dtype is not None and class_.dtype.is_inexact:
        return apply(np.power, class_.dtype, base, exponent)
    if is_literal and exponent < 0:
        raise DTypeError(f"an integer to the negative power {exponent}", remedy="convert the base: float32(…)")
    if class_.dtype is None:
        with np.errstate(all="ignore"):
            return Index(power(np.asarray(int(base), np.int64), np.asarray(int(exponent), np.int64)))
    return apply(power, class_.dtype, base, exponent)


def _compared(op: str, left: Any, right: Any) -> Typed:
    class_ = _comparison_class(left, right)
    function = _COMPARISONS[op]
    is_float = class_.literal == "float" or (class_.dtype is not None and class_.dtype.is_inexact)
    if not is_float and max(np.size(plain(left)), np.size(plain(right))) == 1:
        return Typed(np.bool_(function(int(left), int(right))))
    if class_.dtype is None:
        class_ = Class(dtype=default_real())
    assert class_.dtype is not None
    return apply(function, class_.dtype, left, right)


def _comparison_class(left: Any, right: Any) -> Class:
    integers = [class_ for class_ in (class_of(left), class_of(right)) if class_ is not None and _is_integral(class_)]
    return INDEX if len(integers) == 2 else common(left, right)  # integers are compared exactly


def _is_integral(class_: Class) -> bool:
    return class_.literal in {"int", "bool"} or class_.is_index or bool(class_.dtype and not class_.dtype.is_inexact)


def unary(op: str, value: Any) -> Any:
    """`-`, `~` or `abs` of an index or a typed number."""
    if isinstance(value, Index):
        return Index({"neg": -value.value, "not": ~value.value, "abs": abs(value.value)}[op])
    dtype = from_numpy(value.dtype)
    if dtype is BOOL and op != "not":
        raise DTypeError(f"{op} of a bool", remedy="convert it: int(…)")
    if op == "not" and dtype.is_inexact:
        raise DTypeError(f"~ of {value!r}", remedy="bits are those of integers and bools")
    return apply({"neg": np.negative, "not": np.invert, "abs": np.abs}[op], dtype, value)


def is_ours(*values: Any) -> bool:
    """Whether one of some values is a number that only a kernel has."""
    return any(isinstance(value, Operators) for value in values)


def in_common(chosen: Any, *values: Any) -> Any:
    """A number in the class in which several meet."""
    class_ = common(*values)
    if class_.dtype is not None:
        return Typed(converted(chosen, class_.dtype))
    if class_.literal == "float" and is_ours(*values):
        return Typed(converted(chosen, default_real()))
    return Index(chosen) if is_ours(*values) else chosen
