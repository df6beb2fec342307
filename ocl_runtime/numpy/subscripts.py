"""The subscripts of `einsum`: a label for each axis of each operand, as text or as lists of numbers.

A label is a letter, or for an axis of an ellipsis its number counted from the end, from -1 on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple, TypeAlias

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import DTypeError, ShapeError

Label: TypeAlias = str | int
Labels: TypeAlias = tuple[Label, ...]

_NUMBERED = ascii_uppercase + ascii_lowercase
"""Which letter a number of a list is: the order of numbers is that of characters."""
_ELLIPSIS = "..."


class Subscripts(NamedTuple):
    """The labels of each operand, and those of the result."""

    inputs: tuple[Labels, ...]
    output: Labels


def split(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """The subscripts as text, and the operands, of what `einsum` is called with: a text and the operands, or operands
    each with a list behind it, and perhaps the list of the result.

    Raises `ShapeError` for no operand and for numbers that are no labels, `DTypeError` for what is no number.
    """
    if not arguments:
        raise _wrong("nothing", "give subscripts and operands: einsum('ij,jk->ik', a, b)")
    if isinstance(arguments[0], str):
        return "".join(arguments[0].split()), list(arguments[1:])
    pairs = len(arguments) // 2
    text = ",".join(_letters(arguments[2 * number + 1]) for number in range(pairs))
    if len(arguments) % 2:
        text += "->" + _letters(arguments[-1])
    return text, [arguments[2 * number] for number in range(pairs)]


def _letters(numbers: Any) -> str:
    parts = []
    for number in numbers:
        if number is Ellipsis:
            parts.append(_ELLIPSIS)
        elif not hasattr(number, "__index__"):
            raise DTypeError(
                f"einsum with a subscript {number!r}", place=calling_line(), remedy="give integers, or an Ellipsis"
            )
        elif not 0 <= number < len(_NUMBERED):
            raise _wrong(f"a subscript {number}", f"give numbers from 0 to {len(_NUMBERED) - 1}")
        else:
            parts.append(_NUMBERED[number])
    return "".join(parts)


@lru_cache(maxsize=512)
def read(text: str, ranks: tuple[int, ...]) -> Subscripts:
    """What a text says about operands of some ranks.

    Raises `ShapeError` for another number of operands or axes, for characters that are no labels, and for labels of
    the result that come twice or in no operand.
    """
    front, arrow, behind = text.partition("->")
    terms = front.split(",")
    if len(terms) != len(ranks):
        raise _wrong(f"{text!r} and {len(ranks)} operands", "give one list of labels for each operand")
    inputs = tuple(_labels(term, rank) for term, rank in zip(terms, ranks, strict=True))
    deepest = max(-min((label for label in labels if isinstance(label, int)), default=0) for labels in inputs)
    dots: Labels = tuple(range(-deepest, 0))
    times = Counter(label for labels in inputs for label in labels)
    if not arrow:
        once = sorted(label for label, count in times.items() if count == 1 and isinstance(label, str))
        return Subscripts(inputs, (*dots, *once))
    if dots and _ELLIPSIS not in behind:
        raise _wrong(f"{text!r}, whose result has no place for the axes of '...'", "write '...' behind '->' too")
    output = _labels(behind, len(behind.replace(_ELLIPSIS, "")) + deepest)
    for label, count in Counter(output).items():
        if count > 1:
            raise _wrong(f"{text!r}, whose result has {label!r} twice", "name each axis of the result once")
        if label not in times:
            raise _wrong(f"{text!r}, whose result has {label!r}, which no operand has", "take it out")
    return Subscripts(inputs, output)


def _labels(term: str, rank: int) -> Labels:
    """The labels of an operand with so many axes."""
    before, dots, behind = term.partition(_ELLIPSIS)
    for character in before + behind:
        if character not in ascii_letters:
            raise _wrong(f"{term!r}, where {character!r} is no label", "labels are letters; an ellipsis is '...'")
    left = rank - len(before) - len(behind)
    if left < 0 or (left and not dots):
        raise _wrong(f"{term!r} for an operand with {rank} axes", "name each axis, or write '...' for some")
    return (*before, *range(-left, 0), *behind)


def _wrong(what: str, remedy: str) -> ShapeError:
    return ShapeError(f"einsum with {what}", place=calling_line(), remedy=remedy)
