"""Sums of products of axes with labels: NumPy's `einsum`.

Operands are joined two by two, in an order that follows from their shapes. A pair that has labels to sum over, and
others on both sides, is a product of matrices; any other is a product of elements, which is fused with the sum behind
it. What is summed over in one operand only is summed first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.guards import example
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays import Array
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import array_of, arrays, check_casting, into, only
from ocl_runtime.numpy.places import diagonal
from ocl_runtime.numpy.promotion import dtype_of, on_device
from ocl_runtime.numpy.shapes import shape as shape_of
from ocl_runtime.numpy.subscripts import Label, Labels, read, split

__all__ = ["einsum", "einsum_path"]


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """The sums of products that subscripts describe: axes with one label are gone through together, and those that the
    result does not have are summed over.

        einsum("ij,jk->ik", a, b)           # a product of matrices
        einsum("...ii->...i", a)            # diagonals
        einsum(a, [0, 1], b, [1, 2])        # labels as numbers

    The result has the dtype that the operands are promoted to, or `dtype=`; of bools it is whether any product is true.
    Without `->` it has the labels that come once, in the order of the alphabet, behind the axes of `...`. `optimize`
    chooses how an order of products is found ("greedy", "optimal", or the order that `einsum_path` gives); False stands
    for "greedy" here, since values do not depend on it but in rounding. What sums nothing over a single operand is a
    view of it.

    Raises `ShapeError` for subscripts that do not fit the operands and lengths that do not fit each other, `DTypeError`
    for casts that `casting=` ("safe") does not allow.
    """
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "safe")
    only("einsum", **kwargs)
    text, values = split(operands)
    given = arrays("einsum", values)
    subscripts = read(text, tuple([x.ndim for x in given]))
    path = _path(text, given, optimize)
    if dtype is None:
        given = as_common(*given)
    else:
        wanted = on_device(dtype_of(dtype), given[0]._executor)
        for x in given:
            check_casting("einsum", x.dtype, wanted, casting)
        given = [array_of(x, wanted) for x in given]
    lengths = _lengths(text, given, subscripts.inputs)
    terms = [_single(x, labels, lengths) for x, labels in zip(given, subscripts.inputs, strict=True)]
    uses = Counter(label for labels in (subscripts.output, *(term.labels for term in terms)) for label in labels)
    terms = [_summed(term, [label for label in term.labels if uses[label] == 1]) for term in terms]
    for step in path:
        joined, *others = [terms.pop(number) for number in sorted(step, reverse=True)][::-1]
        for count, other in enumerate(others, 1):
            rest = [*others[count:], *terms]
            kept = {*subscripts.output, *(label for term in rest for label in term.labels)}
            joined = _joined(joined, other, kept, subscripts.output if not rest else ())
        terms.append(joined)
    (result,) = terms
    return into("einsum", _ordered(result, subscripts.output), out, True, casting)


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> tuple[list[Any], str]:
    """The order in which `einsum` joins operands, for its `optimize`, and a text about it: NumPy's. Values are not
    looked at. Raises `ValueError` as NumPy's, and `Error` for `einsum_call`, which is NumPy's own affair."""
    if einsum_call:
        raise Error("einsum_path with einsum_call", place=calling_line(), remedy="leave it out")
    text, values = split(operands)
    return np.einsum_path(text, *(_dummy(_known_shape(x)) for x in values), optimize=optimize)


def _known_shape(x: Any) -> tuple[int, ...]:
    """A shape. Of sizes that are captured, the order of products is the one that is good for those at hand."""
    return tuple([example(length) for length in shape_of(x)])


def _dummy(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array of the host of a shape, and no memory."""
    return np.broadcast_to(np.zeros(()), shape)


@lru_cache(maxsize=512)
def _found(text: str, shapes: tuple[tuple[int, ...], ...], optimize: Any) -> list[tuple[int, ...]]:
    """The order that NumPy finds."""
    return np.einsum_path(text, *map(_dummy, shapes), optimize=optimize)[0][1:]


def _path(text: str, given: Sequence[Array], optimize: Any) -> list[tuple[int, ...]]:
    """Which operands are joined, step by step: numbers among those left, the result of each step coming last."""
    if isinstance(optimize, list | tuple) and optimize and optimize[0] == "einsum_path":
        path = [tuple(step) for step in optimize[1:]]
    elif len(given) < 3:
        return [tuple(range(len(given)))]
    else:
        how = tuple(optimize) if isinstance(optimize, list) else optimize
        path = _found(text, tuple(map(_known_shape, given)), "greedy" if how is False else how)
    left = len(given)
    for step in path:
        if len(set(step)) != len(step) or not step or not all(0 <= number < left for number in step):
            left = 0
            break
        left -= len(step) - 1
    if left != 1:
        raise ShapeError(
            f"einsum of {len(given)} operands in the order {path}",
            place=calling_line(),
            remedy="take what einsum_path gives for them",
        )
    return path


class _Term(NamedTuple):
    """An array, and a label for each axis, all different."""

    x: Array
    labels: Labels


def _lengths(text: str, given: Sequence[Array], inputs: Sequence[Labels]) -> dict[Label, int]:
    """How long the axes with a label are; those of length 1 are repeated."""
    lengths: dict[Label, int] = {}
    for x, labels in zip(given, inputs, strict=True):
        own: dict[Label, int] = {}
        for label, length in zip(labels, x.shape, strict=True):
            known = lengths.setdefault(label, length)
            if own.setdefault(label, length) != length or (known != length and 1 not in (known, length)):
                raise ShapeError(
                    f"einsum {text!r} of shapes {', '.join(str(one.shape) for one in given)}, where {label!r} has "
                    f"lengths {own[label] if own[label] != length else known} and {length}",
                    place=calling_line(),
                    remedy="axes with one label have to be equally long",
                )
            if known == 1:
                lengths[label] = length
    return lengths


def _single(x: Array, labels: Labels, lengths: dict[Label, int]) -> _Term:
    """An operand with each label once: of those that come twice the diagonal, and without axes that are repeated."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = _diagonal(x, first, second)
            labels = (*(own for axis, own in enumerate(labels) if axis not in (first, second)), label)
    repeated = [axis for axis, label in enumerate(labels) if x.shape[axis] != lengths[label]]
    if repeated:
        x = xp.squeeze(x, tuple(repeated))
    return _Term(x, tuple(label for axis, label in enumerate(labels) if axis not in repeated))


def _diagonal(x: Array, first: int, second: int) -> Array:
    """The diagonal of two axes of one length, in the last axis: a view, if elements on it are equally far apart."""
    length = x.shape[first]
    x = xp.moveaxis(x, (first, second), (-2, -1))
    for turned in (x, x.mT):
        with suppress(ShapeError):
            return xp.reshape(turned, (*turned.shape[:-2], length * length), copy=False)[..., :: length + 1]
    return diagonal(x, 0, -2, -1)


def _summed(term: _Term, labels: Collection[Label]) -> _Term:
    """A term summed over some of its labels, in its dtype."""
    if not labels:
        return term
    axes = tuple(axis for axis, label in enumerate(term.labels) if label in labels)
    x = xp.any(term.x, axis=axes) if term.x._dtype is BOOL else xp.sum(term.x, axis=axes, dtype=term.x.dtype)
    return _Term(x, tuple(label for label in term.labels if label not in labels))


def _joined(first: _Term, second: _Term, kept: Collection[Label], output: Labels) -> _Term:
    """The product of two terms, summed over what both have and nobody else needs. `output` are the labels of the whole
    result, if this is it."""
    summed = [label for label in first.labels if label in second.labels and label not in kept]
    if _is_better_right(first, second, summed, output):
        first, second = second, first
    shared = [label for label in first.labels if label in second.labels]
    batch = [label for label in shared if label in kept]
    rows = [label for label in first.labels if label not in shared]
    columns = [label for label in second.labels if label not in shared]
    if summed and _size(first, rows) != 1 and _size(second, columns) != 1:
        return _matrices(first, second, batch, rows, summed, columns)
    base, other = (first, second) if len(first.labels) >= len(second.labels) else (second, first)
    order = (*base.labels, *(label for label in other.labels if label not in base.labels))
    left, right = (_spread(term, order) for term in (first, second))
    product = xp.logical_and(left, right) if left._dtype is BOOL else xp.multiply(left, right)
    return _summed(_Term(product, order), summed)


def _is_better_right(first: _Term, second: _Term, summed: Collection[Label], output: Labels) -> bool:
    """Whether the first term should be the right side of a product: there columns lie next to each other, or have to be
    copied so; and the last axis of the result is one of them."""
    turned, other_turned = (bool(term.labels) and term.labels[-1] in summed for term in (second, first))
    if turned != other_turned:
        return turned
    return bool(output) and output[-1] in first.labels and output[-1] not in second.labels


def _matrices(
    first: _Term, second: _Term, batch: list[Label], rows: list[Label], summed: list[Label], columns: list[Label]
) -> _Term:
    """The same as a product of matrices: the labels in front, those of the rows, and those of the columns."""
    front = [first.x.shape[first.labels.index(label)] for label in batch]
    count = _size(first, summed)
    left = xp.reshape(_ordered(first, (*batch, *rows, *summed)), (*front, _size(first, rows), count))
    right = xp.reshape(_ordered(second, (*batch, *summed, *columns)), (*front, count, _size(second, columns)))
    if left._dtype is BOOL:
        product = xp.not_equal(xp.matmul(xp.astype(left, np.int64), xp.astype(right, np.int64)), 0)
    else:
        product = xp.matmul(left, right)
    lengths = [
        term.x.shape[term.labels.index(label)] for term, part in ((first, rows), (second, columns)) for label in part
    ]
    return _Term(xp.reshape(product, (*front, *lengths)), (*batch, *rows, *columns))


def _size(term: _Term, labels: Collection[Label]) -> int:
    return math.prod(length for length, label in zip(term.x.shape, term.labels, strict=True) if label in labels)


def _ordered(term: _Term, labels: Labels) -> Array:
    """A term with its axes in the order of the same labels."""
    if labels == term.labels:
        return term.x
    return xp.permute_dims(term.x, tuple(term.labels.index(label) for label in labels))


def _spread(term: _Term, order: Labels) -> Array:
    """A term with its axes in an order of labels, those that it lacks of length 1."""
    x = _ordered(term, tuple(label for label in order if label in term.labels))
    return x[tuple(slice(None) if label in term.labels else None for label in order)]
