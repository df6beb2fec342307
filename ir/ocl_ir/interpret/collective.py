"""What a group makes of its values, in the order of `ocl_ir.kernel.collectives`, and what sub-groups exchange."""

from __future__ import annotations

import numpy as np

from ocl_ir.interpret.operation import Data
from ocl_ir.kernel.collectives import JOINS, SCANS, distances, tree
from ocl_ir.kernel.grammar import CollectiveOp
from ocl_ir.ops import OPS


def joined(op: CollectiveOp, values: Data, lane: int) -> Data:
    """The result for every work-item, by linear local id; `lane` is whose value a broadcast gives."""
    if op in SCANS:
        return _scanned(values, exclusive=op == "exclusive_scan")
    if op == "broadcast":
        return np.repeat(values[lane], values.size)
    join = OPS[JOINS[op]].reference
    left = values
    for distance, items in tree(values.size):
        left = np.concatenate([join(left[:items], left[distance:]), left[items:distance]])
    return np.repeat(left, values.size)


def exchanged(values: Data, lanes: Data, size: int) -> Data:
    """For every work-item, by linear local id, the value at a lane of its sub-group of some size."""
    items = np.arange(values.size)
    return np.take(values, items - items % size + lanes.astype(items.dtype))


def _scanned(values: Data, *, exclusive: bool) -> Data:
    add = OPS["add"].reference
    for distance in distances(values.size):
        values = np.concatenate([values[:distance], add(values[:-distance], values[distance:])])
    return np.concatenate([np.zeros(1, values.dtype), values[:-1]]) if exclusive else values
