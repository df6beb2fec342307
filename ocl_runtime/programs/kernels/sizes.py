"""Over how many work-items a kernel in Python runs: `k[n]`, `k[w, h, (16, 16)]`, `k.groups[gx, gy]`."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.guards import Backed
from ocl_ir.source_line import calling_line
from ocl_runtime.errors import ShapeError

Sizes = tuple[int, ...]


class LaunchSize(NamedTuple):
    """How many work-items were asked for along each dimension, and how many each group has."""

    items: Sizes
    group: tuple[int, int, int]

    @property
    def whole(self) -> Sizes:
        """The same in whole groups."""
        return tuple(-(-size // group) * group for size, group in zip(self.items, self.group, strict=False))


def launch_size(kernel: str, key: Any, group: Sizes | None, default: int, *, counts_groups: bool = False) -> LaunchSize:
    """What a subscript names: sizes of dimensions, the fastest first, and a tuple for the size of a group.

    Raises `ShapeError` for other keys.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if parts and isinstance(parts[-1], tuple):
        parts, group = parts[:-1], parts[-1]
    if not 1 <= len(parts) <= 3 or not all(_is_size(part, 0) for part in parts):
        raise _unfit(kernel, key)
    chosen = tuple(group) if group is not None else (default,)
    if not 1 <= len(chosen) <= 3 or not all(_is_size(part, 1) for part in chosen):
        raise _unfit(kernel, key)
    sizes = tuple(map(operator.index, parts))
    x, y, z = (*map(int, chosen), 1, 1)[:3]
    if any(extent > 1 for extent in (x, y, z)[len(sizes) :]):
        raise ShapeError(
            f"kernel {kernel} is launched over {len(sizes)} dimensions in groups of {chosen}",
            place=calling_line(),
            remedy="give a size for each dimension of the group",
        )
    if counts_groups:
        sizes = tuple(size * extent for size, extent in zip(sizes, (x, y, z), strict=False))
    return LaunchSize(sizes, (x, y, z))


def check_dimensions(kernel: str, size: LaunchSize, asked: Iterable[int]) -> None:
    """Raises `ShapeError` where the index space has a dimension that the kernel never asks for."""
    asked = set(asked)
    unused = [number for number, extent in enumerate(size.items) if extent > 1 and number not in asked]
    if asked and unused:
        names = " and ".join(f"dimension {number}" for number in sorted(asked))
        first = size.items[0]
        raise ShapeError(
            f"kernel {kernel} is launched over {size.items}, and asks only for {names}",
            place=calling_line(),
            remedy=f"write {kernel}[{first}, ({size.items[unused[0]]},)] for groups of {size.items[unused[0]]}; sizes "
            "count work-items, not blocks",
        )


def check_whole(kernel: str, size: LaunchSize, line: str) -> None:
    """Raises `ShapeError` where work-items that wait for each other are no whole groups."""
    for items, group, whole in zip(size.items, size.group, size.whole, strict=False):
        if items != whole:
            raise ShapeError(
                f"{items} is not a multiple of the group size {group}, and the kernel {kernel} has a barrier{line}",
                place=calling_line(),
                remedy=f"launch {whole} and test the index: i < x.size",
            )


def _is_size(part: Any, least: int) -> bool:
    is_integer = isinstance(part, int | np.integer | Backed)  # which a size is in a captured function
    return is_integer and not isinstance(part, bool) and bool(part >= least)


def _unfit(kernel: str, key: Any) -> ShapeError:
    return ShapeError(
        f"kernel {kernel} is launched over {key!r}",
        place=calling_line(),
        remedy=f"give one to three sizes in work-items, and a tuple for a group: {kernel}[n, (256,)]",
    )
