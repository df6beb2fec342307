"""What a product of matrices reads where it lies, that would have to be copied otherwise.

Rows and columns of an operand may be several axes each, through which the kernel counts; a copy that only makes one of
them is not needed. Nor are zeros written around an operand: the kernel asks of each element whether it exists. So the
windows of a padded array are multiplied where the array lies, and a product over any axes of two arrays is a product of
matrices. The copies are planned all the same where somebody else needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ocl_ir.graph.build import Assign, Buffer, Contract, Iota, Movement, Node, Scalar
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, collapse
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.values import Leaf, Matrices, Padding, Split, Value


def read_in_place(
    groups: Sequence[Group], needed: Collection[Node], is_better: Callable[[Group, Group], bool]
) -> list[Group]:
    """The groups, of which products read what they can where it lies, if that `is_better` than what they read now."""
    made = {group.root: group for group in groups}
    changed = False
    for root, group in made.items():
        if not isinstance(root, Contract) or not root.size:
            continue
        for padded in (False, True):
            values = tuple(
                _operand(value, made, padded=padded) if isinstance(value, Leaf) else value for value in group.values
            )
            in_place = group if values == group.values else replace(group, values=values)
            if in_place is not group and is_better(in_place, group):
                made[root], changed = in_place, True
                break
    return _read(made, needed) if changed else list(groups)


def _read(made: Mapping[Node, Group], needed: Collection[Node]) -> list[Group]:
    """The groups that compute what is needed, in the same order."""
    waiting = [root for root in made if root in needed]
    read = set(waiting)
    while waiting:
        for leaf in made[waiting.pop()].leaves:
            if leaf.computed and leaf.source not in read:
                read.add(leaf.source)
                waiting.append(leaf.source)
    return [group for root, group in made.items() if root in read]


def _operand(leaf: Leaf, made: Mapping[Node, Group], *, padded: bool) -> Value:
    """An operand as it lies before it is copied, and before zeros are written around it, unless it is read `padded`."""
    if not leaf.computed:
        return leaf
    grouped = _before_copy(leaf, made) or (leaf, Split())
    before_padding = None if padded else _before_padding(*grouped, made)
    matrices = _collapsed(*(before_padding or grouped))
    return matrices.leaf if matrices.split == Split() else matrices


# ---------------------------------------------------------------------- several axes


def _before_copy(leaf: Leaf, made: Mapping[Node, Group]) -> tuple[Leaf, Split] | None:
    """What a copy is a copy of, by the axes that it had before its rows and columns were one each."""
    copied = _only_reads(leaf, made, Movement, Buffer)
    if copied is None:
        return None
    (value,), layout = copied.values, leaf.layout
    assert isinstance(value, Leaf)
    rows, columns = (_axes(layout.shape[axis], layout.strides[axis], copied.shape) for axis in (-2, -1))
    lengths, strides = zip(*rows, *columns, strict=True)
    split = Layout(layout.shape[:-2] + lengths, layout.strides[:-2] + strides, layout.offset)
    places = places_of(split, copied.shape)  # it lies in row-major order of that
    if places is None:
        return None
    return value._replace(layout=along_places(places, value.layout)), Split(len(rows), len(columns))


def _axes(length: int, stride: int, shape: Shape) -> list[tuple[int, int]]:
    """An axis over the elements of a shape in row-major order as axes that do not run over the ends of its axes, with
    lengths and strides."""
    axes = []
    for number, whole in zip(reversed(shape), reversed(Layout.contiguous(shape).strides), strict=True):
        if stride == whole and number < length and length % number == 0:
            axes.append((number, stride))
            length, stride = length // number, stride * number
    return [(length, stride), *reversed(axes)]


def along_places(places: Sequence[Layout], layout: Layout) -> Layout:
    """A layout over axes that go along those of another one as the layouts of their places say."""
    steps = list(zip(places, layout.strides, strict=True))
    shape = places[0].shape
    strides = [sum(place.strides[axis] * stride for place, stride in steps) for axis in range(len(shape))]
    return Layout(shape, tuple(strides), layout.offset + sum(place.offset * stride for place, stride in steps))


def _collapsed(leaf: Leaf, split: Split) -> Matrices:
    """The operand with as few axes as can be, but one at least, for rows and columns."""
    bounds = split.padding.bounds if split.padding is not None else ()
    layouts = [leaf.layout, *(layout for layout, _ in bounds)]
    ends = leaf.layout.ndim - split.rows - split.columns, leaf.layout.ndim - split.columns, leaf.layout.ndim
    joined = [Layout(layout.shape[: ends[0]], layout.strides[: ends[0]], layout.offset) for layout in layouts]
    counts = []
    for first, end in pairwise(ends):
        parts = [Layout(layout.shape[first:end], layout.strides[first:end]) for layout in layouts]
        shape, fewer = collapse(leaf.layout.shape[first:end], parts)
        if not shape:
            shape, fewer = (1,), tuple(Layout((1,), (0,)) for _ in layouts)
        counts.append(len(shape))
        joined = [
            Layout(before.shape + shape, before.strides + part.strides, before.offset)
            for before, part in zip(joined, fewer, strict=True)
        ]
    padding = None
    if split.padding is not None:
        lengths = [length for _, length in bounds]
        padding = split.padding._replace(bounds=tuple(zip(joined[1:], lengths, strict=True)))
    return Matrices(leaf._replace(layout=joined[0]), Split(counts[0], counts[1], padding))


# ---------------------------------------------------------------------- padding


def _before_padding(leaf: Leaf, split: Split, made: Mapping[Node, Group]) -> tuple[Leaf, Split] | None:
    """What is written into zeros, if that is all that an operand has beside them."""
    written = _only_reads(leaf, made, Assign)
    if written is None:
        return None
    root, (value,), base = written.root, written.values, written.base
    assert isinstance(root, Assign)
    assert isinstance(value, Leaf)
    assert base is not None
    zeros = isinstance(base.source, Iota) and not base.layout.offset and not any(base.layout.strides)
    places, first = places_of(leaf.layout, root.shape), places_of(root.region, root.shape)
    if not zeros or places is None or first is None or not _is_box(first):
        return None
    places = [
        Layout(place.shape, place.strides, place.offset - begin.offset)
        for place, begin in zip(places, first, strict=True)
    ]
    bounds = []
    for place, length in zip(places, value.layout.shape, strict=True):
        low, high = place.range()
        if low < 0 or high > length:
            bounds.append((place, length))
    read = value._replace(layout=along_places(places, value.layout))
    return read, split._replace(padding=Padding(value.layout, tuple(bounds)))


def _is_box(places: Sequence[Layout]) -> bool:
    """Whether axes go one by one along those of the elements that they are a part of, each along its own."""
    return len(places) == places[0].ndim and all(
        stride == (1 if axis == number else 0) or length == 1
        for number, place in enumerate(places)
        for axis, (length, stride) in enumerate(zip(place.shape, place.strides, strict=True))
    )


def places_of(layout: Layout, shape: Shape) -> list[Layout] | None:
    """For a layout over the elements of a shape in row-major order, where along each axis its elements lie; None where
    steps run over the end of an axis, or there is none."""
    if not shape:
        return None
    steps = [
        _along(stride if length != 1 else 0, shape) for length, stride in zip(layout.shape, layout.strides, strict=True)
    ]
    offsets = _along(layout.offset, shape)
    places = [Layout(layout.shape, tuple(step[axis] for step in steps), offset) for axis, offset in enumerate(offsets)]
    for place, length in zip(places, shape, strict=True):
        low, high = place.range()
        if low < 0 or high > length:
            return None
    return places


def _along(distance: int, shape: Shape) -> list[int]:
    """A distance in row-major order as steps along each axis, all of one sign."""
    sign, rest, steps = (-1, -distance, list[int]()) if distance < 0 else (1, distance, list[int]())
    for length in reversed(shape[1:]):
        steps.append(sign * (rest % length))
        rest = rest // length
    return [sign * rest, *reversed(steps)]


def _only_reads(leaf: Leaf, made: Mapping[Node, Group], *kinds: type[Node]) -> Group | None:
    """The group that computes a leaf, if it only moves elements that are in memory."""
    group = made.get(leaf.source) if leaf.computed else None
    if group is None or not isinstance(group.root, kinds) or group.looks or len(group.values) != 1:
        return None
    (value,) = group.values
    return group if isinstance(value, Leaf) and not isinstance(value.source, Scalar | Iota) else None
