"""Arguments and results of Python functions: arrays inside of tuples, lists and dictionaries, and other values beside.

`flatten` takes a tree apart into its arrays and its shape, which is what is left: hashable, equal for trees that differ
in their arrays only, and enough for `unflatten` to put other arrays in their places.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.errors import DTypeError


@dataclass(frozen=True, slots=True)
class _Branch:
    kind: type
    keys: tuple[Hashable, ...]
    children: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value that is no array; told apart by type and text, since 1 == 1.0 == True and 0.0 == -0.0."""

    kind: type
    told: str
    value: Hashable


Shape: TypeAlias = "_Branch | _Leaf | None"
"""What is left of a tree; None where an array was."""


def flatten(tree: Any, what: str) -> tuple[list[Array], Shape]:
    """The arrays of a tree, in order, and its shape. Raises `DTypeError` for a value that cannot be told apart."""
    arrays: list[Array] = []
    return arrays, _shape(tree, arrays, what)


# No functions inside of functions: one that calls itself would hold the arrays until the collector of garbage comes.
def _shape(tree: Any, arrays: list[Array], what: str) -> Shape:
    """The shape of a tree, whose arrays are appended to those that there are."""
    if isinstance(tree, Array):
        arrays.append(tree)
        return None
    if type(tree) in (tuple, list):
        return _Branch(type(tree), (), tuple([_shape(child, arrays, what) for child in tree]))
    if type(tree) is dict:
        return _Branch(dict, tuple(tree), tuple([_shape(child, arrays, what) for child in tree.values()]))
    try:
        hash(tree)
    except TypeError:
        raise DTypeError(
            f"{what} a {type(tree).__name__}, by whose value calls cannot be told apart",
            place=calling_line(),
            remedy="use arrays, numbers, strings, and tuples, lists and dictionaries of them",
        ) from None
    return _Leaf(type(tree), repr(tree) if isinstance(tree, float) else "", tree)


def unflatten(shape: Shape, arrays: Sequence[Array]) -> Any:
    """The tree of this shape with these arrays."""
    return _tree(shape, iter(arrays))


def _tree(shape: Shape, left: Iterator[Array]) -> Any:
    if shape is None:
        return next(left)
    if isinstance(shape, _Leaf):
        return shape.value
    children = [_tree(child, left) for child in shape.children]
    if shape.kind is dict:
        return dict(zip(shape.keys, children, strict=True))
    return tuple(children) if shape.kind is tuple else children
