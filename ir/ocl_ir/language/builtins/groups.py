"""Builtins of a whole work-group: what it makes of its values.

Every work-item of the group comes to a collective, or none. Floats are joined in one order on every device
(`ocl_ir.kernel.collectives`), so the bits are the same everywhere. The result of a reduction is the same for the whole
group, which barriers behind it may rely on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.collectives import tree
from ocl_ir.kernel.grammar import CollectiveOp
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins.tiles import Tiles
from ocl_ir.language.plain import collectives
from ocl_ir.language.values.table import Builtin, Namespace
from ocl_ir.language.values.values import ArrayView, Number, Value
from ocl_ir.types import BOOL, F16, U32


def number_of(t: Tiles, what: str, value: Value) -> Number:
    """The number that a whole group gives to a collective. Raises `DTypeError` for a vector."""
    number = t.number(value)
    if number.lanes > 1:
        raise t.fault(f"{what} of a vector", "give its components one by one", DTypeError)
    return number


def _collective(t: Tiles, op: str, value: Number, lane: Ref | None = None) -> Number:
    ref = t.k.collective(cast("CollectiveOp", op), t.k.fixed(value.ref), lane)
    if value.dtype is F16 and op not in {"min", "max", "broadcast"}:
        ref = t.k.op("round_f16", ref)
    return Number(ref, value.dtype, value.kind, value.low if op in {"min", "max", "broadcast"} else None)


def _reduction(op: str, what: str) -> Builtin:
    def emit(t: Tiles, value: Value) -> Value:
        number = number_of(t, f"group.{op}", value)
        if number.dtype is BOOL:
            raise t.fault(f"group.{op} of bools", "use group.any, group.all or group.count", DTypeError)
        return _collective(t, op, number)

    emit.__doc__ = f"""The {what} of the values of all work-items of the group."""
    return Builtin(op, emit, collectives.reduction("group", op))


def _question(op: str, what: str) -> Builtin:
    def emit(t: Tiles, condition: Value) -> Value:
        return _collective(t, op, Number(t.condition_ref(condition), BOOL))

    emit.__doc__ = f"""Whether the condition holds for {what} of the group."""
    return Builtin(op, emit, collectives.question("group", op))


def count(t: Tiles, condition: Value) -> Value:
    """For how many work-items of the group the condition holds."""
    ones = t.k.convert(t.condition_ref(condition), t.index_type)
    return Number(t.k.collective("sum", ones), t.index_type, "index", 0)


def broadcast(t: Tiles, value: Value, lane: Value = 0) -> Value:
    """The value of the work-item with a linear local id, for the whole group."""
    return _collective(t, "broadcast", number_of(t, "group.broadcast", value), t.k.convert(t.index(lane), U32))


def _scan(op: str, what: str) -> Builtin:
    def emit(t: Tiles, value: Value) -> Value:
        return _collective(t, op, number_of(t, f"group.{op}", value))

    emit.__doc__ = (
        f"""The sum of the values of the work-items up to this one, {what}, in the order of linear local ids."""
    )
    return Builtin(op, emit, collectives.scan("group", op))


def reduce(t: Tiles, value: Value, join: Value) -> Value:
    """The values of the group, numbers or tuples of them, joined by a function of two, which must be associative."""
    if t.options.group_size is None:
        raise t.fault("group.reduce needs the size of the groups", "give it: @ocl.kernel(local=256)")
    items = math.prod(t.options.group_size)
    parts = value if isinstance(value, tuple) else (value,)
    numbers = [number_of(t, "group.reduce", part) for part in parts]
    shared = [t.new_array(items, number.dtype, "local", "shared") for number in numbers]
    item = Number(t.linear_id(), t.index_type, "index", 0)

    def joined(left: list[Value], right: list[Value]) -> list[Value]:
        pair = [tuple(side) if isinstance(value, tuple) else side[0] for side in (left, right)]
        result = t.call(join, pair, {})
        results = list(result) if isinstance(result, tuple) else [result]
        if len(results) != len(numbers):
            raise t.fault(f"the function joins {len(numbers)} numbers and gives {len(results)}", "give as many")
        return results

    t.k.barrier()
    _store(t, shared, item, list(numbers))
    for distance, active in tree(items):
        t.k.barrier()
        with t.k.if_(t.k.op("lt", item.ref, active)):
            other = Number(t.k.op("add", item.ref, distance), t.index_type, "index", 0)
            _store(t, shared, item, joined(_load(t, shared, item), _load(t, shared, other)))
    t.k.barrier()
    results = tuple(
        Number(t.k.uniform(part.ref), part.dtype, number.kind)
        for part, number in zip(_load(t, shared, 0), numbers, strict=True)
    )
    return results if isinstance(value, tuple) else results[0]


def _load(t: Tiles, arrays: list[ArrayView], index: Value) -> list[Value]:
    return [t.load(array, index) for array in arrays]


def _store(t: Tiles, arrays: list[ArrayView], index: Value, values: list[Value]) -> None:
    for array, value in zip(arrays, values, strict=True):
        t.store(array, index, value)


def _named(function: Callable[..., Any], python: Callable[..., Any]) -> Builtin:
    return Builtin(function.__name__.rstrip("_"), function, python)


GROUP = Namespace(
    "group",
    sum=_reduction("sum", "sum"),
    prod=_reduction("prod", "product"),
    min=_reduction("min", "least"),
    max=_reduction("max", "greatest"),
    any=_question("any", "any work-item"),
    all=_question("all", "all work-items"),
    count=_named(count, collectives.count),
    broadcast=_named(broadcast, collectives.broadcast),
    scan=_scan("scan", "with its own"),
    exclusive_scan=_scan("exclusive_scan", "without its own"),
    reduce=_named(reduce, collectives.group_reduce),
)
"""`group` in `ocl_runtime.language`."""

BUILTINS = {"group": GROUP}
