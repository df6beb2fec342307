"""Joins products of matrices with what is computed of their results, element by element.

A bundle of elementwise groups that reads a product at its own places, and alone, becomes part of the kernel that
multiplies: its operands are read, and its results stored, where the product would be.
"""

from __future__ import annotations

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
from ocl_runtime.plan.fusion.values import Leaf, Operation, Product, Value
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
    readers = Counter(source for bundle in bundles for source in {leaf.source for leaf in bundle.leaves if leaf.computed})
    made: list[Bundle] = []
    for bundle in bundles:
        joined = next(
            (
                _joined(products[source], bundle, needed, target)
                for source in dict.fromkeys(leaf.source for leaf in bundle.leaves if leaf.computed)
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
    if len(shape) < 2 or shape[-2:] != root.shape[-2:] or _long(shape) != _long(root.shape):
        return False
    reads = [value for value in bundle.values if isinstance(value, Leaf)]
    at_its_places = all(leaf.layout == Layout.contiguous(shape) for leaf in reads if leaf.source is root)
    pointers = [leaf for leaf in reads if not isinstance(leaf.source, Scalar)]
    scalars = len(reads) - len(pointers) + _SIZES
    return at_its_places and fits(len(pointers) + len(bundle.results) + 3, len(shape), target, scalars=scalars)


def _joined(product: Bundle, bundle: Bundle, needed: Collection[Node], target: Target) -> Bundle:
    """Both as one bundle, whose first values are the operands of the product and the product."""
    group, shape = product.groups[0], bundle.shape
    root = group.root
    sides = [replace_layout(value, shape) for value in group.values if isinstance(value, Leaf)]
    values: list[Value] = [*sides, Product(root.dtype, (0, 1))]
    indices: list[int] = []
    for value in bundle.values:
        if isinstance(value, Leaf) and value.source is root:
            indices.append(2)
            continue
        if isinstance(value, Operation):
            value = value._replace(args=tuple(indices[arg] for arg in value.args))
        indices.append(len(values))
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


def replace_layout(side: Leaf, shape: Shape) -> Leaf:
    """An operand of a product over the axes in front of an index space, which lacks axes of length 1 or has more."""
    layout = side.layout
    strides = iter([stride for length, stride in zip(layout.shape[:-2], layout.strides[:-2], strict=True) if length != 1])
    front = [next(strides) if length != 1 else 0 for length in shape[:-2]]
    lies = Layout((*shape[:-2], *layout.shape[-2:]), (*front, *layout.strides[-2:]), layout.offset)
    return side if lies == layout else side._replace(layout=lies)


def _long(shape: Shape) -> list[int]:
    return [length for length in shape if length != 1]
