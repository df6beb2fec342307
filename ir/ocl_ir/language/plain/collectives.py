"""What collectives are for a work-item that is a thread: of its group, and of its sub-group."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ocl_ir.kernel.collectives import JOINS, distances, tree
from ocl_ir.language.plain.numbers import Index, Typed, converted, plain, truth
from ocl_ir.language.plain.work_item import default_real, running
from ocl_ir.language.values.grids import subgroup_size
from ocl_ir.numpy_functions import maximum, minimum
from ocl_ir.types import DType, from_numpy

Scope = Literal["group", "subgroup"]

_JOINS: dict[str, Callable[..., Any]] = {
    "add": np.add, "mul": np.multiply, "minimum": minimum, "maximum": maximum,
}  # fmt: skip


def _met(scope: Scope, name: str, posted: Any) -> tuple[list[Any], int]:
    """What all work-items of the group or sub-group post in a builtin, and the number of this one among them."""
    item = running(f"{scope}.{name}")
    values, number = item.meet(f"{scope}.{name}", posted), item.number
    if scope == "group":
        return [*values], number
    size = _size()
    first = number - number % size
    return [*values[first : first + size]], number - first


def _size() -> int:
    return subgroup_size(math.prod(running("subgroup.size").launch.group))


# ---------------------------------------------------------------------- reductions and scans


def reduction(scope: Scope, op: str) -> Callable[[Any], Any]:
    """`group.sum` and its kin, by the tree of all devices."""

    def function(value: Any) -> Any:
        posted, _ = _met(scope, op, value)
        return _typed_like(value, _reduced(_JOINS[JOINS[op]], [_number(each, scope) for each in posted]))

    return function


def _number(value: Any, scope: Scope) -> Any:
    """As an array of one number. A group adds halves in float32; a sub-group rounds each sum."""
    number = np.asarray(value.value if isinstance(value, Typed) else converted(value, _alone(value)))
    return number.astype(np.float32) if scope == "group" and number.dtype == np.float16 else number


def _alone(value: Any) -> DType:
    """The dtype of an index or of a literal."""
    if isinstance(value, bool):
        return from_numpy("?")
    return default_real() if isinstance(value, float) else from_numpy("i8")


def _typed_like(value: Any, result: Any) -> Any:
    if isinstance(value, Typed):
        return Typed(result.astype(value.dtype)[()])
    return Typed(result[()]) if isinstance(value, float | bool) else Index(result)


def _reduced(join: Callable[..., Any], values: list[Any]) -> Any:
    for distance, items in tree(len(values)):
        for item in range(items):
            with np.errstate(all="ignore"):
                values[item] = np.asarray(join(values[item], values[item + distance]))
    return values[0]


def scan(scope: Scope, op: str) -> Callable[[Any], Any]:
    """The sum up to this work-item, or to the one before it."""

    def function(value: Any) -> Any:
        posted, number = _met(scope, op, value)
        sums = [_number(each, scope) for each in posted]
        for distance in distances(len(sums)):
            with np.errstate(all="ignore"):
                sums = [
                    np.asarray(own + sums[lane - distance]) if lane >= distance else own
                    for lane, own in enumerate(sums)
                ]
        if op == "exclusive_scan":
            return _typed_like(value, sums[number - 1] if number else np.zeros_like(sums[0]))
        return _typed_like(value, sums[number])

    return function


def group_reduce(value: Any, join: Callable[[Any, Any], Any]) -> Any:
    """The values of the group, joined by a function, by the same tree."""
    values, _ = _met("group", "reduce", value)
    for distance, items in tree(len(values)):
        for item in range(items):
            values[item] = join(values[item], values[item + distance])
    return values[0]


# ---------------------------------------------------------------------- questions


def question(scope: Scope, op: str) -> Callable[[Any], Typed]:
    """Whether a condition holds for any work-item, or for all."""
    holds = {"any": any, "all": all}[op]
    return lambda condition: Typed(np.bool_(holds(_met(scope, op, truth(condition))[0])))


def count(condition: Any) -> Index:
    """For how many work-items of the group it holds."""
    return Index(sum(_met("group", "count", truth(condition))[0]))


# ---------------------------------------------------------------------- values of others


def broadcast(value: Any, lane: Any = 0) -> Any:
    """The value of one work-item of the group."""
    posted, _ = _met("group", "broadcast", value)
    return _typed_like(value, np.asarray(plain(posted[int(plain(lane))])))


def shuffle(name: str, other: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    """The value of another work-item of the sub-group, by the number of this one and a number."""

    def function(value: Any, lane: Any) -> Any:
        posted, number = _met("subgroup", name, value)
        wanted = other(number, int(plain(lane))) % len(posted)
        return _typed_like(value, _number(posted[wanted], "subgroup"))

    return function


def lane() -> Index:
    """The number of this work-item in its sub-group."""
    return Index(running("subgroup.lane").number % _size())


def size() -> int:
    """How many work-items a sub-group has."""
    return _size()


def number() -> Index:
    """The number of the sub-group in its group."""
    return Index(running("subgroup.number").number // _size())
