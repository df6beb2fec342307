"""What a row of the op table says of an operation; the table is `ocl_ir.ops`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ocl_ir.types import DType

CLASSES: dict[str, frozenset[str]] = {
    "F": frozenset({"float"}),
    "C": frozenset({"complex"}),
    "G": frozenset({"float", "complex"}),
    "I": frozenset({"int", "uint"}),
    "S": frozenset({"int"}),
    "U": frozenset({"uint"}),
    "N": frozenset({"int", "uint", "float"}),
    "Z": frozenset({"int", "uint", "float", "complex"}),
    "B": frozenset({"bool"}),
    "L": frozenset({"bool", "int", "uint"}),
    "A": frozenset({"bool", "int", "uint", "float", "complex"}),
}
CLASS_NAMES = {
    "F": "floating point", "C": "complex", "G": "floating point or complex", "I": "integer", "S": "signed integer",
    "U": "unsigned integer", "N": "integer or floating point", "Z": "numeric", "B": "bool", "L": "bool or integer",
    "A": "any scalar or vector",
}  # fmt: skip


@dataclass(frozen=True)
class Op:
    """One row. `ulp` bounds the error against the exact result, by dtype name, in units in the last place.

    Bounds are those of the OpenCL C specification (table "Relative error as ULPs", full profile; section 9.5 of the
    extension specification for half). Of complex numbers they bound the distance from the exact result, in units in
    the last place of its magnitude. `reference` is the operation on NumPy arrays of the operands' dtype.
    """

    name: str
    operands: str
    result: str
    spelling: Mapping[str, str]
    reference: Callable[..., Any]
    ulp: Mapping[str, float] = field(default_factory=dict)
    commutative: bool = False
    several_statements: bool = False
    """Lowered to more than one statement: it may still read an operand after it first wrote its result."""
    helper: str = ""
    """The function of templates/helpers that the spelling calls, and that for complex numbers where it is called."""
    constant_shift: Mapping[str, str] = field(default_factory=dict)
    """Spellings where the second operand is a literal below the width."""
    only: frozenset[str] = frozenset()
    """The dtypes of operands, by name, where these are fewer than the letters say."""

    @property
    def arity(self) -> int:
        """Number of operands."""
        return len(self.operands)

    def takes(self, dtype: DType) -> bool:
        """Whether operands of the kind that it wants may have this dtype."""
        return not self.only or dtype.name in self.only

    def takes_complex(self) -> bool:
        """Whether operands may be complex numbers."""
        return all("complex" in CLASSES[letter] for letter in self.operands if letter != "B")
