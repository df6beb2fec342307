"""The text that a `Print` prints: `{}` for each value, `{{` and `}}` for braces.

How a value is written follows from its dtype and is the same on devices and in the interpreter: integers in decimal,
bools as 0 and 1, floats with six significant digits, as C's `%g` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter

from ocl_ir.types import DType

_CONVERSIONS: Mapping[str, str] = {"i64": "%ld", "u64": "%lu"}
_KINDS: Mapping[str, str] = {"bool": "%d", "int": "%d", "uint": "%u", "float": "%g"}


def texts(format_: str) -> list[str]:
    """What stands before, between and behind the values. Raises `ValueError` for a format that asks for more."""
    between = [""]
    for text, field, specification, conversion in Formatter().parse(format_):
        between[-1] += text
        if field is None:
            continue
        if field or specification or conversion:
            raise ValueError("a value has a name, a number, a conversion or a specification")
        between.append("")
    return between


def printf_format(format_: str, dtypes: Sequence[DType]) -> str:
    """The same as a format for printf and for Python's `%`, of values of these types."""
    first, *behind = (text.replace("%", "%%") for text in texts(format_))
    conversions = (_CONVERSIONS.get(dtype.name, _KINDS[dtype.kind]) for dtype in dtypes)
    return first + "".join(conversion + text for conversion, text in zip(conversions, behind, strict=True))
