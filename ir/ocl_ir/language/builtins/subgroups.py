"""Builtins of a sub-group: neighbouring work-items of a group that exchange values.

A sub-group has `subgroup.size()` items whose linear local ids follow each other. The size is known while a kernel is
translated: 32, or the largest power of two that divides the group. The meaning is the same on every device, whether its
items exchange values in registers or through local memory (`ocl_ir.passes.shuffles`), so the whole group comes to each
call, or none of it. Reductions join in the order of `ocl_ir.kernel.collectives`.
"""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.collectives import JOINS, distances, tree
from ocl_ir.kernel.grammar import CollectiveOp
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.groups import number_of
from ocl_ir.language.builtins.tiles import Tiles
from ocl_ir.language.plain import collectives
from ocl_ir.language.values.grids import subgroup_size
from ocl_ir.language.values.table import Builtin, Namespace
from ocl_ir.language.values.values import Number, Value
from ocl_ir.types import BOOL, F16, U32


def size_of(t: Tiles) -> int:
    """How many work-items a sub-group of a kernel has."""
    return subgroup_size(t.group_items)


def lane_of(t: Tiles) -> Number:
    """A work-item's lane in its sub-group."""
    return t.index_number(t.k.op("rem", t.linear_id(), size_of(t)))


def _exchanged(t: Tiles, value: Number, lane: Ref) -> Number:
    """The value of the work-item at a lane, of which the bits count that name one."""
    wanted = t.k.convert(t.k.op("and", lane, size_of(t) - 1), U32)
    return Number(t.k.shuffle(t.k.fixed(value.ref), wanted, size_of(t)), value.dtype, value.kind, value.low)


def _shuffle(
    name: str, other: Callable[[Tiles, Ref, Ref], Ref], python: Callable[[int, int], int], what: str
) -> Builtin:
    def emit(t: Tiles, value: Value, lane: Value) -> Value:
        number = number_of(t, f"subgroup.{name}", value)
        return _exchanged(t, number, other(t, lane_of(t).ref, t.index(lane)))

    emit.__doc__ = f"""The value of the work-item {what}; lanes beyond the sub-group begin again at its start."""
    return Builtin(name, emit, collectives.shuffle(name, python))


def _reduction(name: CollectiveOp) -> Builtin:
    def emit(t: Tiles, value: Value) -> Value:
        number = number_of(t, f"subgroup.{name}", value)
        if number.dtype is BOOL:
            raise t.fault(f"subgroup.{name} of bools", "use subgroup.any or subgroup.all", DTypeError)
        if number.dtype is F16 and name in {"sum", "prod"}:
            return _rounded(t, number, JOINS[name])
        return _collective(t, name, number)

    emit.__doc__ = f"""The values of the sub-group joined by `{name}`, for each of its work-items."""
    return Builtin(name, emit, collectives.reduction("subgroup", name))


def _question(name: CollectiveOp) -> Builtin:
    def emit(t: Tiles, condition: Value) -> Value:
        return _collective(t, name, Number(t.condition_ref(condition), BOOL))

    emit.__doc__ = f"""Whether the condition holds for {name} work-items of the sub-group."""
    return Builtin(name, emit, collectives.question("subgroup", name))


def _collective(t: Tiles, op: CollectiveOp, value: Number) -> Number:
    ref = t.k.collective(op, t.k.fixed(value.ref), size=size_of(t))
    return Number(ref, value.dtype, value.kind, value.low if op in {"min", "max"} else None)


def _rounded(t: Tiles, value: Number, join: str) -> Number:
    """Halves, each sum or product of which is rounded, joined in the same order: that of the sub-group's first item."""
    own = lane_of(t).ref
    for distance, _ in tree(size_of(t)):
        value = _joined(t, join, value, _exchanged(t, value, t.k.op("xor", own, distance)))
    return _exchanged(t, value, t.k.const(0, t.index_type))


def _joined(t: Tiles, join: str, left: Number, right: Number) -> Number:
    return Number(t.k.op("round_f16", t.k.op(join, left.ref, right.ref)), left.dtype, left.kind)


def scan(t: Tiles, value: Value) -> Value:
    """The sum of the values of the sub-group up to this work-item's own."""
    total = number_of(t, "subgroup.scan", value)
    if total.dtype is not F16:
        return _collective(t, "scan", total)
    own = lane_of(t).ref
    for distance in distances(size_of(t)):
        before = _exchanged(t, total, t.k.op("sub", own, distance))
        joined = _joined(t, "add", before, total)
        total = Number(t.k.op("select", own >= distance, joined.ref, total.ref), total.dtype, total.kind)
    return total


def lane(t: Tiles) -> Value:
    """This work-item's lane in its sub-group."""
    return lane_of(t)


def size(t: Tiles) -> Value:
    """How many work-items a sub-group has: a number that is known."""
    return size_of(t)


def number(t: Tiles) -> Value:
    """The number of this work-item's sub-group in its group."""
    return t.index_number(t.k.op("floordiv", t.linear_id(), size_of(t)))


SUBGROUP = Namespace(
    "subgroup",
    lane=Builtin("lane", lane, collectives.lane),
    size=Builtin("size", size, collectives.size),
    number=Builtin("number", number, collectives.number),
    broadcast=_shuffle("broadcast", lambda t, own, lane: lane, lambda own, lane: lane, "at a lane"),
    shuffle=_shuffle(
        "shuffle",
        lambda t, own, lane: lane,
        lambda own, lane: lane,
        "at a lane, which may differ between work-items",
    ),
    shuffle_up=_shuffle(
        "shuffle_up",
        lambda t, own, by: t.k.op("sub", own, by),
        lambda own, by: own - by,
        "some lanes before",
    ),
    shuffle_down=_shuffle(
        "shuffle_down",
        lambda t, own, by: t.k.op("add", own, by),
        lambda own, by: own + by,
        "some lanes behind",
    ),
    shuffle_xor=_shuffle(
        "shuffle_xor",
        lambda t, own, mask: t.k.op("xor", own, mask),
        lambda own, mask: own ^ mask,
        "whose lane differs in bits",
    ),
    sum=_reduction("sum"),
    prod=_reduction("prod"),
    min=_reduction("min"),
    max=_reduction("max"),
    any=_question("any"),
    all=_question("all"),
    scan=Builtin("scan", scan, collectives.scan("subgroup", "scan")),
)
"""`subgroup` in `ocl_runtime.language`."""

BUILTINS = {"subgroup": SUBGROUP}
