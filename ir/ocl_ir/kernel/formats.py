"""The text that a `Print` prints: `{}` or `{:.3f}` for each value, `{{` and `}}` for braces.

How a value is written follows from its dtype and is the same on devices and in the interpreter: integers in decimal,
bools as 0 and 1, floats with six significant digits, as C's `%g` does. A specification behind a colon is one of
Python's that printf has, too: alignment by `<` or `>`, a sign, zeros, a width, a precision, and one of `deEfgGxX`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter

from ocl_ir.types import DType

_LENGTHS: Mapping[str, str] = {"i64": "l", "u64": "l"}
_KINDS: Mapping[str, str] = {"bool": "d", "int": "d", "uint": "u", "float": "g"}
_TYPES: Mapping[str, str] = {"bool": "d", "int": "d", "uint": "dxX", "float": "eEfgG"}
"""The types of a specification that values of each kind take: negative numbers have other digits in C's `%x`."""
_SPECIFICATION = re.compile(
    r"(?P<align>[<>]?)(?P<sign>[+ ]?)(?P<zeros>0?)(?P<width>\d*)(?:\.(?P<precision>\d+))?(?P<type>[deEfgGxX]?)"
)


def parts(format_: str) -> tuple[list[str], list[str]]:
    """What stands before, between and behind the values, and the specification of each value. Raises `ValueError` for a
    format that asks for more."""
    between, specifications = [""], list[str]()
    for text, field, specification, conversion in Formatter().parse(format_):
        between[-1] += text
        if field is None:
            continue
        if field or conversion:
            raise ValueError("a value has a name, a number or a conversion")
        specifications.append(specification or "")
        between.append("")
    return between, specifications


def conversion_of(specification: str, dtype: DType) -> str:
    """What printf, and Python's `%`, take for a value of a dtype. Raises `ValueError` for a specification that printf
    has not, or that such a value does not take."""
    read = _SPECIFICATION.fullmatch(specification)
    if read is None:
        raise ValueError(f"printf has no format {specification!r}")
    shown = f"the format {specification!r}"
    type_, precision = read["type"], read["precision"]
    if type_ and type_ not in _TYPES[dtype.kind]:
        if dtype.kind == "int" and type_ in "xX":
            raise ValueError(f"{shown} writes numbers without a sign, and {dtype.numpy} has one")
        raise ValueError(f"{shown} does not take {dtype.numpy}")
    if precision is not None and type_ not in {"e", "E", "f", "g", "G"}:
        raise ValueError(f"{shown} has a precision without e, f or g")
    if read["align"] == "<" and read["zeros"]:
        raise ValueError(f"{shown} fills up with zeros behind the number")
    if type_ in {"x", "X"} and read["sign"]:
        raise ValueError(f"{shown} has a sign, and digits in base 16 have none")
    letter = type_ if type_ and type_ != "d" else _KINDS[dtype.kind]
    if letter == "u" and read["sign"]:
        raise ValueError(f"{shown} has a sign, and {dtype.numpy} has none")
    flags = ("-" if read["align"] == "<" else "") + read["sign"] + read["zeros"]
    digits = "" if precision is None else f".{precision}"
    return f"%{flags}{read['width']}{digits}{_LENGTHS.get(dtype.name, '')}{letter}"


def printf_format(format_: str, dtypes: Sequence[DType]) -> str:
    """The same as a format for printf and for Python's `%`, of values of these types."""
    between, specifications = parts(format_)
    first, *behind = (text.replace("%", "%%") for text in between)
    conversions = (conversion_of(*pair) for pair in zip(specifications, dtypes, strict=True))
    return first + "".join(conversion + text for conversion, text in zip(conversions, behind, strict=True))
