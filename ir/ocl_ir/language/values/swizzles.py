"""Components of vectors, as OpenCL C names them (OpenCL C specification, 6.1.7)."""

from __future__ import annotations

_LETTERS = "xyzw"
_HEX = "0123456789abcdef"


def component_indices(name: str, count: int) -> list[int] | None:
    """The lanes that a name picks of a vector with `count` lanes; None where it is no such name.

    >>> component_indices("zyx", 4), component_indices("hi", 8), component_indices("s0f", 16)
    ([2, 1, 0], [4, 5, 6, 7], [0, 15])
    """
    half = (count + 1) // 2
    named = {
        "lo": list(range(half)),
        "hi": list(range(half, count)),
        "even": list(range(0, count, 2)),
        "odd": list(range(1, count, 2)),
    }
    if name in named and count != 3:
        return named[name]
    if name and set(name) <= set(_LETTERS):
        lanes = [_LETTERS.index(letter) for letter in name]
    elif len(name) > 1 and name[0] in "sS" and set(name[1:].lower()) <= set(_HEX):
        lanes = [_HEX.index(digit) for digit in name[1:].lower()]
    else:
        return None
    return lanes if max(lanes) < count and len(lanes) in {1, 2, 3, 4, 8, 16} else None
