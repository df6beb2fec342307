"""The root of the error tree. `ocl_runtime.errors` draws the whole of it.

Every error states three things: the fact (what is wrong), the place (where: a statement with its neighbourhood, a
source line, the Python line that asked) and the remedy (what to do about it).
"""

from __future__ import annotations


class Error(Exception):
    """Anything this library raises on purpose.

    `fact` is one sentence, `place` may be several lines and is indented below it, `remedy` says what to do.
    """

    def __init__(self, fact: str, *, place: str = "", remedy: str = "") -> None:
        self.fact = fact
        self.place = place
        self.remedy = remedy
        parts = [fact]
        if place:
            parts.append("\n".join(f"  {line}" if line else line for line in place.splitlines()))
        if remedy:
            parts.append(f"  remedy: {remedy}")
        super().__init__("\n".join(parts))


class IRError(Error):
    """A kernel, or a piece of one, that is not well formed."""


class VerifyError(IRError):
    """A whole kernel broke a rule; `rule` names the check that found it."""

    def __init__(self, rule: str, fact: str, *, place: str = "", remedy: str = "") -> None:
        self.rule = rule
        super().__init__(f"{fact} [{rule}]", place=place, remedy=remedy)


class DTypeError(Error, TypeError):
    """A value of a type that an operation, an argument or a device does not take."""


class ShapeError(Error, ValueError):
    """Shapes, axes, sizes or indices that do not fit."""


class IndexingError(ShapeError, IndexError):
    """An index or an axis that an array does not have: out of bounds, one too many, or a mask of another shape."""


class RankError(ShapeError, TypeError):
    """An array with a number of axes that a protocol of Python's does not take."""


class MemoryAccessError(Error, IndexError):
    """The interpreter saw an access outside of an allocation."""


class DataRaceError(Error):
    """The interpreter saw two work-items touch the same element without an order between them."""
