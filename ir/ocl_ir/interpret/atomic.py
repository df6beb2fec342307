"""What an atomic makes of an element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ocl_ir.interpret.operation import Data, same_bits
from ocl_ir.kernel.grammar import AtomicOp
from ocl_ir.ops import OPS

_CHANGES: Mapping[str, Callable[..., Any]] = {
    **{op: OPS[op].reference for op in ("add", "sub", "and", "or", "xor")},
    "min": OPS["minimum"].reference,
    "max": OPS["maximum"].reference,
    "exchange": lambda before, new: new,
    "load": lambda before: before,
    "compare_exchange": lambda before, expected, new: np.where(same_bits(before, expected), new, before),
}


def changed(op: AtomicOp, before: Data, *args: Data) -> Data:
    """What stands in the element afterwards; floats are compared bit for bit, as devices do."""
    return np.asarray(_CHANGES[op](before, *args))
