"""Texts of OpenCL C with C's precedence: how tightly they bind, and what spellings ask of their operands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ocl_ir.kernel.grammar import Const, Operand
from ocl_ir.types import BOOL, DTYPES, DType, Vector
from ocl_runtime.codegen.spelling import literal

PRIMARY, UNARY, ANYTHING = 15, 14, 0
BINARY = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, "<=": 10, ">": 10, ">=": 10,
    "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4, "?": 3, ":": 3,
}  # fmt: skip
CLEARER = {"&": UNARY, "^": UNARY, "|": UNARY, "<<": UNARY, ">>": UNARY, "||": BINARY["&&"] + 1}
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


def bool_bits(type_: object) -> int:
    """The width of the lanes of a bool vector as a variable holds it; 0 for all else."""
    return 8 if isinstance(type_, Vector) and type_.dtype == BOOL else 0


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Where an operand stands in a spelling: which one, how tightly it must bind, and whether it is wanted unsigned."""

    position: int
    binds: int
    unsigned: bool
    after_minus: bool
    chain: int
    """What binds just so is the same operator again, and needs no parentheses as the left operand."""
    argument: bool
    """Whether a function takes it, which must see its exact type."""


def operand_text(placeholder: Placeholder, texts: list[Text], args: tuple[Operand, ...], *, exact: bool) -> str:
    """The text of an operand where it stands; `exact`: nothing beside it gives a literal its type."""
    text, operand = texts[placeholder.position], args[placeholder.position]
    if not placeholder.unsigned:
        inner = text.text if text.binds == placeholder.chain else text.within(placeholder.binds)
        return f"({inner})" if placeholder.after_minus and inner.startswith("-") else inner
    if isinstance(operand, Const) and isinstance(operand.type, DType):
        dtype = operand.type
        unsigned = Const(int(operand.value) % (1 << dtype.bits), DTYPES[f"u{dtype.bits}"])
        return literal(unsigned, bare=dtype.bits >= 32 and not placeholder.argument and not exact)
    inner = text.unsigned(placeholder.binds)
    return f"({inner})" if placeholder.after_minus and inner.startswith("-") else inner


@dataclass(frozen=True)
class Form:
    """A spelling, split at its operands, and how tightly the whole of it binds."""

    pieces: tuple[str | Placeholder, ...]
    binds: int
    inner_binds: int
    """What is inside of the outer cast of a wrapping operation binds so; -1 where there is none."""


_OPERAND = re.compile(r"(\(\{U\}\)\{\d\}|\{\d\})")
_CALLED = re.compile(r"(\w\(|, )$")


@cache
def parsed_spelling(spelling: str) -> Form:
    """Splits a spelling at its operands and finds what C's precedence asks of each and gives to the whole."""
    parts = _OPERAND.split(spelling)
    pieces: list[str | Placeholder] = list(parts)
    for at in range(1, len(parts), 2):
        before, after = parts[at - 1], parts[at + 1]
        binds = max(_left(before), _right(after))
        argument = bool(_CALLED.search(before))
        operator = after.split()[0] if after.strip() and not before.strip() else ""
        chain = BINARY[operator] if operator in CLEARER else -1
        pieces[at] = Placeholder(int(parts[at][-2]), binds, "{U}" in parts[at], before.endswith("-"), chain, argument)
    wraps = spelling.startswith("({T})(") and "({U})" in spelling
    return Form(tuple(pieces), _binding(spelling), _binding(spelling[len("({T})(") : -1]) if wraps else -1)


def _left(before: str) -> int:
    """How tightly an operand must bind because of what stands before it."""
    stripped = before.rstrip()
    if not stripped or stripped[-1] in ",(":
        return ANYTHING
    if stripped.endswith(")") or before == stripped:
        return UNARY  # a cast, or a sign
    operator = stripped.split()[-1]
    return CLEARER.get(operator, BINARY[operator] + 1)


def _right(after: str) -> int:
    stripped = after.lstrip()
    if not stripped or stripped[0] in ",)":
        return ANYTHING
    if stripped[0] == ".":
        return PRIMARY
    operator = stripped.split()[0]
    return CLEARER.get(operator, BINARY[operator] + (1 if operator == "?" else 0))


def _binding(spelling: str) -> int:
    """How tightly the whole spelling binds."""
    depth, flat = 0, ""
    for char in spelling:
        depth += (char == "(") - (char == ")")
        flat += char if depth == 0 and char != ")" else "_"
    weakest = min((BINARY[word] for word in flat.split() if word in BINARY), default=PRIMARY)
    return UNARY if weakest == PRIMARY and (spelling[0] in "-~!" or spelling.startswith("({T})")) else weakest
