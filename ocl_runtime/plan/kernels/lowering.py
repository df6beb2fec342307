"""With what expressions become launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ocl_ir.graph.build import Node
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.target import Target


class Lowering(NamedTuple):
    """What the target is, the kernels that there are, the names of arrays, and the Python line that asks (`where`)."""

    target: Target
    kernels: KernelCache
    names: Mapping[Node, str]
    where: str = ""
