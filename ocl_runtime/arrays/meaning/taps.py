"""How the windows of convolutions and pooling lie."""

from __future__ import annotations

from typing import NamedTuple


class Taps(NamedTuple):
    """How windows lie along one axis: `length` elements that are `dilation` apart, the first ones of windows `stride`;
    `before` and `behind` there are so many more elements."""

    length: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    behind: int = 0

    @property
    def reach(self) -> int:
        """Elements from the first to the last one of a window."""
        return self.dilation * (self.length - 1) + 1

    def count(self, length: int) -> int:
        """Windows along an axis of a length; 0 or less where none fits in."""
        return (self.before + length + self.behind - self.reach) // self.stride + 1
