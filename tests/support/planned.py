"""The launches of a plan, given to a runtime one by one."""

from __future__ import annotations

from typing import Any

from ocl_ir.guards import plain
from ocl_runtime.plan.launch import Address, Launch


def arguments(launch: Launch) -> list[Any]:
    """The arguments of a planned launch as `Runtime.launch` takes them."""
    return [(arg.storage, arg.touched) if isinstance(arg, Address) else plain(arg) for arg in launch.args]
