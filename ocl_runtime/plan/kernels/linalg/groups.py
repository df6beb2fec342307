"""What work-items of a group do together, and what is left of it where a group is one work-item, as on CPUs: nothing
waits there, so drivers see plain loops."""

from __future__ import annotations

from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS

barrier, group, local_size = (BUILTINS[name] for name in ("barrier", "group", "local_size"))


def wait() -> None:
    """Waits for all work-items of the group."""
    if local_size(0) > 1:
        barrier()


def any_of(condition: Any) -> Any:
    """Whether a condition holds for any work-item."""
    if local_size(0) > 1:
        return group.any(condition)
    return condition


def max_of(value: Any) -> Any:
    """The greatest value of all work-items."""
    if local_size(0) > 1:
        return group.max(value)
    return value


def sum_of(value: Any) -> Any:
    """The sum of the values of all work-items."""
    if local_size(0) > 1:
        return group.sum(value)
    return value


def joined_by(values: Any, join: Any) -> Any:
    """The values of all work-items joined."""
    if local_size(0) > 1:
        return group.reduce(values, join)
    return values
