"""Helper functions that generated kernels call: the types that they are made for, and which come before which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ocl_ir.types import C64, C128, F64, DType, Pointer, Type, Vector, element, lanes, with_dtype
from ocl_runtime.codegen.spelling import memory_type, unsigned_type, value_type
from ocl_runtime.codegen.templates import HELPERS

_NEEDS = {
    "complex_expm1": ("complex_exp",), "complex_log2": ("complex_log",), "complex_log10": ("complex_log",),
    "complex_log1p": ("complex_log",), "complex_asinh": ("complex_sqrt",), "complex_acos": ("complex_sqrt",),
    "complex_acosh": ("complex_acos",), "complex_sin": ("complex_sinh",), "complex_cos": ("complex_cosh",),
    "complex_tan": ("complex_tanh",), "complex_asin": ("complex_asinh",), "complex_atan": ("complex_atanh",),
    "complex_pow": ("complex_mul", "complex_div", "complex_log", "complex_exp"),
}  # fmt: skip
"""The helper functions that others call, for one complex number."""
_BY_LANES = frozenset(HELPERS["complex_functions"]) | {"complex_sign"}
"""Helper functions that of vectors call themselves for each lane."""


@dataclass(frozen=True)
class HelperTypes:
    """The C types that a helper function is made for."""

    T: str
    I: str  # noqa: E741
    U: str
    suffix: str
    lanes: int
    bits: int
    space: str
    C: str
    R: str

    @property
    def re(self) -> str:
        """What selects the real parts of complex numbers."""
        return "x" if self.lanes == 1 else "even"

    @property
    def im(self) -> str:
        """What selects the imaginary parts."""
        return "y" if self.lanes == 1 else "odd"

    @property
    def _double(self) -> bool:
        return self.bits == F64.bits

    @property
    def exp_limit(self) -> str:
        """From where on the exponential of a part may overflow."""
        return "709.0" if self._double else "88.0"

    @property
    def tanh_limit(self) -> str:
        """From where on the hyperbolic tangent of a part is 1 but for less than an ULP."""
        return "20.0" if self._double else "10.0"

    @property
    def large(self) -> str:
        """Above this, sums of two parts may overflow."""
        return "0x1p1020" if self._double else "0x1p124"

    @property
    def small(self) -> str:
        """Below this, half of a part may be subnormal."""
        return "0x1p-1018" if self._double else "0x1p-122"

    @property
    def far(self) -> str:
        """Above this, 1 is nothing beside a part."""
        return "0x1p60" if self._double else "0x1p30"

    def number(self, text: str) -> str:
        """A literal of the parts' type."""
        if self.lanes > 1:
            return f"({self.R})({text}{'' if self._double else 'f'})"
        return f"{text}{'' if self._double else 'f'}"

    def each(self, function: str, *names: str) -> str:
        """A vector of what a function of one number gives for each lane."""
        scalar = value_type(C128 if self._double else C64)
        calls = (
            f"{function}_{scalar}({', '.join(f'{name}.s{2 * lane:x}{2 * lane + 1:x}' for name in names)})"
            for lane in range(self.lanes)
        )
        return f"({self.T})({', '.join(calls)})"


@dataclass(frozen=True)
class Number:
    """A number that is a part of the helper's name: of what may still go on, of warpgroups, of registers."""

    value: int


@dataclass(frozen=True)
class WarpgroupTypes:
    """What the instruction of a warpgroup is made for."""

    dtype: DType
    columns: int
    left_turned: bool | None
    right_turned: bool
    starts: bool

    @property
    def name(self) -> str:
        """The helper function."""
        left = "held" if self.left_turned is None else "nt"[not self.left_turned]
        adds = "first_" if self.starts else ""
        return f"warpgroup_{adds}{self.dtype}_{left}{'tn'[not self.right_turned]}_{self.columns}"

    @property
    def count(self) -> int:
        """Sums of a work-item."""
        return self.columns // 2


Made: TypeAlias = Type | Number | WarpgroupTypes
"""What a helper function is made for."""


def in_order(helpers: Iterable[tuple[str, Made]]) -> list[tuple[str, Made]]:
    """The helper functions with those that they call, which come first."""
    ordered: dict[tuple[str, Made], None] = {}

    def add(name: str, type_: Made) -> None:
        if isinstance(type_, Number | WarpgroupTypes):
            ordered[name, type_] = None
            return
        one = element(type_)
        if name in _BY_LANES and isinstance(type_, Vector):
            add(name, one)
        for needed in _NEEDS.get(name, ()) if type_ == one else ():
            add(needed, one)
        ordered[name, type_] = None

    for name, type_ in sorted(helpers, key=lambda helper: (helper[0], str(helper[1]))):
        add(name, type_)
    return list(ordered)


def helper_types(type_: Made) -> HelperTypes | Number | WarpgroupTypes:
    """What a helper function is made for: a type of values, or of what a pointer leads to."""
    if isinstance(type_, Number | WarpgroupTypes):
        return type_
    space = type_.space if isinstance(type_, Pointer) else ""
    type_ = type_.dtype if isinstance(type_, Pointer) else type_
    unsigned = unsigned_type(type_)
    suffix = f"_{type_.lanes}" if isinstance(type_, Vector) else ""
    part = element(type_).component
    pair = memory_type(C128 if part == F64 else C64, lanes(type_))
    parts = value_type(with_dtype(type_, part))
    return HelperTypes(value_type(type_), unsigned[1:], unsigned, suffix, lanes(type_), part.bits, space, pair, parts)
