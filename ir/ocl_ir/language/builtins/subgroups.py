"""Builtins of a sub-group: neighbouring work-items of a group that exchange values.

A sub-group has `subgroup.size()` items whose linear local ids follow each other. The size is known while a kernel is
translated: 32, or the largest power of two that divides the group. The meaning is the same on every device: values go
through local memory, so the whole group comes to each call, or none of it. Reductions join in the order of
`ocl_ir.kernel.collectives`.
"""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.collectives import JOINS, distances, tree
from ocl_ir.language.builtins.groups import number_of
from ocl_ir.language.builtins.tiles import Tiles
from ocl_ir.language.plain import collectives
from ocl_ir.language.values.grids import subgroup_size
from ocl_ir.language.values.table import Builtin, Namespace
from ocl_ir.language.values.values import ArrayView, Number, Value
from ocl_ir.types import BOOL, F16, U8


def size_of(t: Tiles) -> int:
    """How many work-items a sub-group of a kernel has."""
    return subgroup_size(t.group_items)


def lane_of(t: Tiles) -> Number:
    """A work-item's place in its sub-group."""
    return t.index_number(t.k.op("rem", t.linear_id(), size_of(t)))


class _Exchange:
    """Local memory with the values of the whole group, which each work-item reads in its own sub-group."""

    def __init__(self, t: Tiles, value: Number) -> None:
        self._t, self._value = t, value
        self._dtype = U8 if value.dtype is BOOL else value.dtype
        self._shared: ArrayView = t.new_array(t.group_items, self._dtype, "local", "shared")
        self._item = t.index_number(t.linear_id())
        self.lane = lane_of(t)
        t.k.barrier()  # whoever still reads what was exchanged before goes on first
        self.put(value)
        t.k.barrier()

    def put(self, value: Number) -> None:
        """Stores the value of this work-item."""
        stored = Number(self._t.k.convert(value.ref, U8), U8) if value.dtype is BOOL else value
        self._t.store(self._shared, self._item, stored)

    def get(self, lane: Value) -> Number:
        """The value of the work-item at a place in the sub-group."""
        t = self._t
        first = t.binary("sub", self._item, self.lane)
        read = t.number(t.load(self._shared, t.binary("add", first, lane)))
        if self._value.dtype is BOOL:
            return Number(t.k.op("ne", read.ref, 0), BOOL)
        return Number(read.ref, read.dtype, self._value.kind)


def _shuffle(
    name: str, other: Callable[[Tiles, Number, Value], Value], python: Callable[[int, int], int], what: str
) -> Builtin:
    def emit(t: Tiles, value: Value, lane: Value) -> Value:
        exchange = _Exchange(t, number_of(t, f"subgroup.{name}", value))
        wanted = t.binary("rem", other(t, exchange.lane, lane), size_of(t))
        return exchange.get(wanted)

    emit.__doc__ = f"""The value of the work-item {what}; places beyond the sub-group begin again at its start."""
    return Builtin(name, emit, collectives.shuffle(name, python))


def _reduction(name: str) -> Builtin:
    def emit(t: Tiles, value: Value) -> Value:
        number = number_of(t, f"subgroup.{name}", value)
        if number.dtype is BOOL:
            raise t.fault(f"subgroup.{name} of bools", "use subgroup.any or subgroup.all", DTypeError)
        return _reduced(t, number, JOINS[name])

    emit.__doc__ = f"""The values of the sub-group joined by `{name}`, for each of its work-items."""
    return Builtin(name, emit, collectives.reduction("subgroup", name))


def _question(name: str) -> Builtin:
    def emit(t: Tiles, condition: Value) -> Value:
        return _reduced(t, Number(t.condition_ref(condition), BOOL), JOINS[name])

    emit.__doc__ = f"""Whether the condition holds for {name} work-items of the sub-group."""
    return Builtin(name, emit, collectives.question("subgroup", name))


def _reduced(t: Tiles, value: Number, join: str) -> Number:
    exchange = _Exchange(t, value)
    for distance, active in tree(size_of(t)):
        with t.k.if_(t.k.op("lt", exchange.lane.ref, active)):
            other = t.binary("add", exchange.lane, distance)
            exchange.put(_joined(t, join, exchange.get(exchange.lane), exchange.get(other)))
        t.k.barrier()
    return exchange.get(0)


def _joined(t: Tiles, join: str, left: Number, right: Number) -> Number:
    joined = t.k.op(join, left.ref, right.ref)
    return Number(t.k.op("round_f16", joined) if left.dtype is F16 else joined, left.dtype, left.kind)


def scan(t: Tiles, value: Value) -> Value:
    """The sum of the values of the sub-group up to this work-item's own."""
    exchange = _Exchange(t, number_of(t, "subgroup.scan", value))
    for distance in distances(size_of(t)):
        total = t.k.variable(exchange.get(exchange.lane).ref)
        with t.k.if_(t.k.op("ge", exchange.lane.ref, distance)):
            before = exchange.get(t.binary("sub", exchange.lane, distance))
            t.k.assign(total, _joined(t, "add", before, exchange.get(exchange.lane)).ref)
        t.k.barrier()
        exchange.put(Number(t.k.let(total), before.dtype, before.kind))
        t.k.barrier()
    return exchange.get(exchange.lane)


def lane(t: Tiles) -> Value:
    """This work-item's place in its sub-group."""
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
    broadcast=_shuffle("broadcast", lambda t, own, lane: lane, lambda own, lane: lane, "at a place"),
    shuffle=_shuffle(
        "shuffle",
        lambda t, own, lane: lane,
        lambda own, lane: lane,
        "at a place, which may differ between work-items",
    ),
    shuffle_up=_shuffle(
        "shuffle_up",
        lambda t, own, by: t.binary("sub", t.binary("add", own, size_of(t)), by),
        lambda own, by: own - by,
        "some places before",
    ),
    shuffle_down=_shuffle(
        "shuffle_down",
        lambda t, own, by: t.binary("add", own, by),
        lambda own, by: own + by,
        "some places behind",
    ),
    shuffle_xor=_shuffle(
        "shuffle_xor",
        lambda t, own, mask: t.binary("xor", own, mask),
        lambda own, mask: own ^ mask,
        "whose place differs in bits",
    ),
    **{name: _reduction(name) for name in ("sum", "prod", "min", "max")},
    any=_question("any"),
    all=_question("all"),
    scan=Builtin("scan", scan, collectives.scan("subgroup", "scan")),
)
"""`subgroup` in `ocl_runtime.language`."""

BUILTINS = {"subgroup": SUBGROUP}
