"""How a kernel reaches the leaves of its values, with the parameters for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ocl_ir.graph.build import Buffer, Node, Scalar
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.values import Computed, Fold, Leaf, Lookup, Matrices, Operation, Product, Value, laid_out
from ocl_runtime.plan.kernels.form import Access, Fetch, Output, Parameters, Term
from ocl_runtime.plan.kernels.naming import leaf_names, output_names
from ocl_runtime.plan.kernels.windows import Window


def accesses(
    values: Sequence[Value],
    layouts: Sequence[Layout],
    parameters: Parameters,
    lane: int | None,
    lanes: int,
    *,
    names: Mapping[Node, str],
    length: str = "",
    windows: Sequence[Window] = (),
    lanes_of: Mapping[int, tuple[int, int]] = MappingProxyType({}),
) -> tuple[Term, ...]:
    """The values with their leaves described; `layouts` has the (collapsed) layout of each leaf that is no scalar.

    `length` is the parameter with the size of the index space, where that is also the size of every leaf. Leaves of one
    of the `windows` share its parameters. `lanes_of` has the axis and the lanes of leaves for which these are others.
    """
    window_of = {index: window for window in windows for index in window.shifts}
    others: set[int] = set()
    if windows:
        leaves = [index for index, value in enumerate(values) if laid_out([value])]
        others = {leaves[index] for window in windows for index in list(window.shifts)[1:]}
    shared: dict[int, Access] = {}
    """The windows whose parameters are there, by their ids."""
    remaining = iter(enumerate(layouts))
    described: list[Term] = []
    for value, name in zip(values, leaf_names(values, names, others), strict=True):
        if isinstance(value, Operation) or isinstance(value, Fold) or isinstance(value, Product):  # noqa: SIM101  # a union takes longer
            described.append(value)
        elif isinstance(value, Lookup):
            described.append(_fetch(value, name, parameters))
        elif isinstance(value, Matrices | Computed):
            raise AssertionError(value)  # only products read them
        elif isinstance(value.source, Scalar):
            described.append(parameters.scalar(name, value.source.dtype, value.source.value))
        else:
            (index, layout), source = next(remaining), value.source
            window = window_of.get(index)
            if isinstance(source, Buffer) and window is not None:
                if id(window) not in shared:
                    shared[id(window)] = parameters.window(
                        name, source.dtype, source.storage, window.layout, window.lanes
                    )
                access = shared[id(window)]._replace(shift=window.shifts[index])
            elif isinstance(source, Buffer):
                whole = length if layout.is_dense else ""
                axis, count = lanes_of.get(index, (lane, lanes))
                access = parameters.memory(name, source.dtype, source.storage, layout, axis, count, length=whole)
            else:
                access = parameters.iota(name, source.dtype, layout, *lanes_of.get(index, (lane, lanes)))
            described.append(access)
    return tuple(described)


def reached(
    values: Sequence[Value],
    names: Sequence[str],
    layouts: Sequence[Layout],
    parameters: Parameters,
    lanes: int,
    lane: int = -1,
    *,
    general: bool = False,
) -> tuple[Term, ...]:
    """What a product computes, of an operand or of its results, with the leaves described by name; `general` as of
    `Parameters.memory`."""
    remaining, made = iter(layouts), list[Term]()
    for value, name in zip(values, names, strict=True):
        if isinstance(value, Lookup):
            made.append(_fetch(value, name, parameters))
        elif not isinstance(value, Leaf):
            assert isinstance(value, Operation | Product)
            made.append(value)
        elif isinstance(value.source, Scalar):
            made.append(parameters.scalar(name, value.source.dtype, value.source.value))
        else:
            layout, source = next(remaining), value.source
            axis = lane % layout.ndim
            if isinstance(source, Buffer):
                memory = source.dtype, source.storage, layout, axis, lanes
                made.append(parameters.memory(name, *memory, general=general))
            else:
                made.append(parameters.iota(name, source.dtype, layout, axis, lanes))
    return tuple(made)


def stored_at(
    parameters: Parameters, outputs: Sequence[Output], layouts: Sequence[Layout], lanes: int = 1
) -> tuple[tuple[int, Access], ...]:
    """What a product stores, by the number of its value, and how the kernel reaches it."""
    made = []
    for name, output, layout in zip(output_names(len(outputs)), outputs, layouts, strict=True):
        memory = output.dtype, output.storage, layout, layout.ndim - 1, lanes
        made.append((output.value, parameters.memory(name, *memory, general=True)))
    return tuple(made)


def _fetch(lookup: Lookup, name: str, parameters: Parameters) -> Fetch:
    layout, source = lookup.leaf.layout, lookup.leaf.source
    if isinstance(source, Buffer):
        most = parameters.index_space_size
        return Fetch(parameters.memory(name, source.dtype, source.storage, layout, None, 1, most=most), lookup.args)
    return Fetch(parameters.iota(name, source.dtype, layout), lookup.args)
