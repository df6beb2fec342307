"""Joins products of matrices with what is computed of their results, element by element.

A bundle of elementwise groups that reads a product at its own places, and alone, becomes part of the kernel that
multiplies: its operands are read, and its results stored, where the product would be.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ocl_ir.graph.build import Contract, Node, Scalar
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.bundles import Bundle, Result
from ocl_runtime.plan.fusion.decisions import Attempt, Decisions
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.growing import fits
from ocl_runtime.plan.fusion.values import Leaf, Matrices, Operation, Product, Value
from ocl_runtime.plan.target import Target

_SIZES = 12
"""Arguments with which the kernel is told sizes, at most."""


def with_products(
    bundles: Sequence[Bundle],
    needed: Collection[Node],
    target: Target,
    joins: Callable[[Group], bool],
    decisions: Decisions | None = None,
) -> list[Bundle]:
    """The bundles, in which products are joined with who reads them. `joins` says whether the kernel of a product can
    compute more."""
    if not any(isinstance(bundle.groups[0].root, Contract) for bundle in bundles):
        return list(bundles)
    products = {
        bundle.groups[0].root: bundle
        for bundle in bundles
        if isinstance(bundle.groups[0].root, Contract) and joins(bundle.groups[0])
    }
    readers = Counter(source for bundle in bundles for source in _computed(bundle))
    made: list[Bundle] = []
    for bundle in bundles:
        joined = next(
            (
                _joined(products[source], bundle, needed)
                for source in _computed(bundle)
                if source in products and readers[source] == 1 and _fits(products[source], bundle, target)
            ),
            bundle,
        )
        if joined is not bundle:
            root = joined.groups[0].root
            made = [other for other in made if other.groups[0].root is not root]
            if decisions is not None:
                first, second = frozenset((root,)), frozenset(group.root for group in bundle.groups)
                decisions.attempts.append(Attempt("product", first, second, ""))
        made.append(joined)
    return made


def _fits(product: Bundle, bundle: Bundle, target: Target) -> bool:
    """Whether a bundle is one of elementwise operations over the elements of a product, and few enough."""
    root, shape = product.groups[0].root, bundle.shape
    pointwise = bundle.order is None and all(group.pointwise for group in bundle.groups)
    if not pointwise or not all(isinstance(value, Leaf | Operation) for value in bundle.values):
        return False
    if not _is_over(root.shape, shape) and _reshaped(bundle.values, root.shape) is None:
        return False
    reads = [value for value in bundle.values if isinstance(value, Leaf)]
    at_its_places = all(leaf.layout == Layout.contiguous(shape) for leaf in reads if leaf.source is root)
    pointers = [leaf for leaf in reads if not isinstance(leaf.source, Scalar)]
    scalars = len(reads) - len(pointers) + _SIZES
    return at_its_places and fits(len(pointers) + len(bundle.results) + 3, len(shape), target, scalars=scalars)


def _joined(product: Bundle, bundle: Bundle, needed: Collection[Node]) -> Bundle:
    """Both as one bundle, whose first values are the operands of the product and the product."""
    group, shape, values_of = product.groups[0], bundle.shape, bundle.values
    root = group.root
    if not _is_over(root.shape, shape):
        reshaped = _reshaped(values_of, root.shape)
        assert reshaped is not None, "it fits"
        shape, values_of = root.shape, reshaped
    sides = [_placed(value, shape) for value in group.values if isinstance(value, Leaf | Matrices)]
    values: list[Value] = [*sides, Product(root.dtype, (0, 1))]
    indices: list[int] = []
    for value in values_of:
        if isinstance(value, Leaf) and value.source is root:
            indices.append(2)
            continue
        indices.append(len(values))
        if isinstance(value, Operation):
            values.append(value._replace(args=tuple(indices[arg] for arg in value.args)))
        else:
            values.append(value)
    results = [replace(result, value=indices[result.value]) for result in bundle.results]
    if root in needed:
        results.insert(0, Result(group, 2, False))
    return Bundle(
        groups=(group, *bundle.groups),
        shape=shape,
        values=tuple(values),
        group_values=(2, *(indices[value] for value in bundle.group_values)),
        results=tuple(results),
    )


def _is_over(product: Shape, shape: Shape) -> bool:
    """Whether an index space is that of the elements of a product, but for axes of length 1 in front."""
    return len(shape) >= 2 and shape[-2:] == product[-2:] and _long(shape) == _long(product)  # noqa: PLR2004


def _reshaped(values: Sequence[Value], shape: Shape) -> tuple[Value, ...] | None:
    """Values over another shape of the same size, in the same order, if all that is read is a view there, too."""
    made = list[Value]()
    for value in values:
        if isinstance(value, Leaf):
            layout = value.layout.reshape(shape) if value.layout.size == math.prod(shape) else None
            if layout is None:
                return None
            made.append(value._replace(layout=layout))
        else:
            made.append(value)
    return tuple(made)


def _placed(side: Leaf | Matrices, shape: Shape) -> Leaf | Matrices:
    """An operand of a product over the axes in front of an index space, which lacks axes of length 1 or has more."""
    if isinstance(side, Matrices):
        split, padding = side.split, side.split.padding
        front = side.leaf.layout.ndim - split.rows - split.columns
        if padding is not None:
            bounds = tuple([(_in_front(bound, front, shape), length) for bound, length in padding.bounds])
            split = split._replace(padding=padding._replace(bounds=bounds))
        return Matrices(_replaced(side.leaf, front, shape), split)
    return _replaced(side, side.layout.ndim - 2, shape)


def _replaced(leaf: Leaf, front: int, shape: Shape) -> Leaf:
    lies = _in_front(leaf.layout, front, shape)
    return leaf if lies == leaf.layout else leaf._replace(layout=lies)


def _in_front(layout: Layout, count: int, shape: Shape) -> Layout:
    """A layout with the axes in front of an index space in place of its first ones."""
    axes = zip(layout.shape[:count], layout.strides[:count], strict=True)
    strides = iter([stride for length, stride in axes if length != 1])
    front = [next(strides) if length != 1 else 0 for length in shape[:-2]]
    return Layout((*shape[:-2], *layout.shape[count:]), (*front, *layout.strides[count:]), layout.offset)


def _computed(bundle: Bundle) -> list[Node]:
    """What a bundle reads that others compute."""
    return list(dict.fromkeys(leaf.source for leaf in bundle.leaves if leaf.computed))


def _long(shape: Shape) -> list[int]:
    return [length for length in shape if length != 1]
