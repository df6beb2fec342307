"""Arguments and results of Python functions: arrays inside of tuples, lists and dictionaries, and other values beside.

`flatten` takes a tree apart into its arrays and its shape, which is what is left: hashable, equal for trees that differ
in their arrays only, and enough for `unflatten` to put other arrays in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.errors import DTypeError
from ocl_runtime.programs.struct_array import StructArray
from ocl_runtime.programs.structs import Struct


@dataclass(frozen=True, slots=True)
class _Branch:
    kind: type
    keys: tuple[Hashable, ...]
    children: tuple[Shape, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.kind, self.keys, self.children)))

    def __hash__(self) -> int:  # asked for several times in each call
        return self._hash


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value that is no array; told apart by type and text, since 1 == 1.0 == True and 0.0 == -0.0."""

    kind: type
    told: str
    value: Hashable


class _Float:
    """Where a float was that each call gives."""

    def __repr__(self) -> str:
        return "a float"


_FLOAT = _Float()
Shape: TypeAlias = "_Branch | _Leaf | _Float | None"
"""What is left of a tree; None where an array was."""


def flatten(tree: Any, what: str, floats: list[float] | None = None) -> tuple[list[Array], Shape]:
    """The arrays of a tree, in order, and its shape; its floats are put into a list if there is one, and are a part of
    the shape otherwise. Raises `DTypeError` for a value that cannot be told apart."""
    arrays: list[Array] = []
    return arrays, _shape(tree, arrays, floats, what)


# No functions inside of functions: one that calls itself would hold the arrays until the collector of garbage comes.
def _shape(tree: Any, arrays: list[Array], floats: list[float] | None, what: str) -> Shape:
    """The shape of a tree, whose arrays and floats are appended to those that there are."""
    if isinstance(tree, Array):
        arrays.append(tree)
        return None
    if isinstance(tree, StructArray):
        arrays.append(tree.memory)
        return _Branch(StructArray, (tree.struct,), (None,))
    if floats is not None and type(tree) is float:
        floats.append(tree)
        return _FLOAT
    if type(tree) in (tuple, list) or _is_named(tree):
        return _Branch(type(tree), (), tuple([_shape(child, arrays, floats, what) for child in tree]))
    if type(tree) is dict:
        return _Branch(dict, tuple(tree), tuple([_shape(child, arrays, floats, what) for child in tree.values()]))
    try:
        hash(tree)
    except TypeError:
        raise DTypeError(
            f"{what} a {type(tree).__name__}, by whose value calls cannot be told apart",
            place=calling_line(),
            remedy="use arrays, numbers, strings, and tuples, lists and dictionaries of them",
        ) from None
    return _Leaf(type(tree), repr(tree) if isinstance(tree, float) else "", tree)


def with_leaves(shape: Shape, change: Callable[[Any], Any]) -> Shape:
    """The shape with another value for each that is no array."""
    if isinstance(shape, _Branch):
        return _Branch(shape.kind, shape.keys, tuple([with_leaves(child, change) for child in shape.children]))
    return _Leaf(shape.kind, shape.told, change(shape.value)) if isinstance(shape, _Leaf) else shape


class _Positional(dict[tuple[type, ...], _Branch]):
    def __missing__(self, kinds: tuple[type, ...]) -> _Branch:
        children = tuple([_FLOAT if kind is float else None for kind in kinds])
        self[kinds] = made = _Branch(tuple, (), (_Branch(tuple, (), children), _Branch(dict, (), ())))
        return made


positional: Callable[[tuple[type, ...]], Shape] = _Positional().__getitem__
"""The shape of a call with nothing but arrays and floats of each call, in order, by their types."""


def unflatten(shape: Shape, arrays: Sequence[Array], floats: Sequence[float] = ()) -> Any:
    """The tree of this shape with these arrays and floats."""
    return arrays[0] if shape is None else _tree(shape, iter(arrays), iter(floats))


def _tree(shape: Shape, left: Iterator[Array], floats: Iterator[float]) -> Any:
    if shape is None:
        return next(left)
    if isinstance(shape, _Float):
        return next(floats)
    if isinstance(shape, _Leaf):
        return shape.value
    children = [next(left) if child is None else _tree(child, left, floats) for child in shape.children]
    if shape.kind is StructArray:
        return StructArray.over(children[0], cast("Struct", shape.keys[0]))
    if shape.kind is dict:
        return dict(zip(shape.keys, children, strict=True))
    if shape.kind is list:
        return children
    return tuple(children) if shape.kind is tuple else shape.kind(*children)


def _is_named(tree: object) -> bool:
    """Whether something is a tuple with names."""
    return isinstance(tree, tuple) and hasattr(tree, "_fields")
