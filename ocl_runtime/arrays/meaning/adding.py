"""What adding at computed places means in nodes: places that come several times get all of their addends.

Integers are added by atomic operations, in any order, which changes no bit. Floats are added as integers
(`reproducible_sums.py`); or, if the order may change the last bits from run to run, by atomic operations too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL, F32, I32, U32, DType
from ocl_runtime.errors import DTypeError

if TYPE_CHECKING:
    from ocl_runtime.plan.target import Target


def added_where(
    what: str,
    node: Node,
    coordinates: Sequence[Node],
    addends: Node,
    kept: Node,
    target: Target,
    *,
    deterministic: bool = True,
) -> Node:
    """A node with addends of its dtype at places, which may be the same: one index for each axis, as of `graph.gather`.
    Of bools, what is added is or'ed. Where `kept` does not hold, nothing is added, and the place may be out of bounds.

    Raises `DTypeError` where the device has no 64-bit atomics for the sum, `ShapeError` for too many floats; `what` is
    the function that the user called.
    """
    if node.dtype.is_complex:
        real, imag = (
            added_where(
                what,
                graph.elementwise(part, node),
                coordinates,
                graph.elementwise(part, addends),
                kept,
                target,
                deterministic=deterministic,
            )
            for part in ("real", "imag")
        )
        return graph.elementwise("complex", real, imag)
    _check_atomics(what, node.dtype, target, deterministic=deterministic)
    if not addends.size:
        return node
    if node.dtype == BOOL:
        return _added_bools(node, coordinates, addends, kept)
    if node.dtype.bits < 32:  # which no device adds in one step
        return _added_narrow(what, node, coordinates, addends, kept, deterministic=deterministic)
    return _added_wide(what, node, coordinates, addends, kept, deterministic=deterministic)


def _check_atomics(what: str, dtype: DType, target: Target, *, deterministic: bool) -> None:
    if target.atomics64 or not (dtype.bits == 64 or (dtype.is_float and deterministic)):
        return
    if dtype.is_float:
        convert = "convert to float32, and " if dtype.bits == 64 else ""
        remedy = f"{convert}say add_at(…, deterministic=False)"
    else:
        remedy = "use 32-bit integers"
    raise DTypeError(
        f"{what} in {dtype.public} on a device without 64-bit atomics", place=calling_line(), remedy=remedy
    )


def _added_bools(node: Node, coordinates: Sequence[Node], addends: Node, kept: Node) -> Node:
    """The greatest addend of each element is whether one of them holds."""
    none = graph.scalar(0, U32, node.shape, "")
    any_holds = graph.scatter("max", none, graph.convert(addends, U32), kept, coordinates)
    return graph.elementwise("or", node, graph.convert(any_holds, BOOL))


def _added_narrow(
    what: str, node: Node, coordinates: Sequence[Node], addends: Node, kept: Node, *, deterministic: bool
) -> Node:
    """Sums in 32 bits, converted: integers wrap around as they would by themselves, floats are rounded once."""
    wide: DType = F32 if node.dtype.is_float else I32
    start, addends = graph.convert(node, wide), graph.convert(addends, wide)
    if node.dtype.is_float:
        total = _added_wide(what, start, coordinates, addends, kept, deterministic=deterministic)
    else:
        none = graph.scalar(0, wide, node.shape, "")
        total = graph.elementwise("add", start, graph.scatter("add", none, addends, kept, coordinates))
    return graph.convert(total, node.dtype)


def _added_wide(
    what: str, node: Node, coordinates: Sequence[Node], addends: Node, kept: Node, *, deterministic: bool
) -> Node:
    if node.dtype.is_float and deterministic:
        from ocl_runtime.arrays.meaning import reproducible_sums  # noqa: PLC0415  # loads the language

        return reproducible_sums.added_reproducibly(what, node, coordinates, addends, kept)
    return graph.scatter("add", node, addends, kept, coordinates)
