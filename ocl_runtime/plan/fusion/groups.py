"""Cuts array expressions into groups, which `merge.py` then makes kernels of.

A group is a tree of elementwise operations, with at most one reduction, scan or write at its end. It grows from its
result towards the leaves, breadth first, and stops at

- buffers, iotas and scalars;
- reductions, scans, sorts, products of matrices, custom calls and writes, which are computed first;
- what is computed anyway: a wanted result, or where another group has stopped;
- a reshape of something that does not lie in memory in order, unless all else that is read can be had in the shape
  from before the reshape;
- what elements are gathered from, which has to be in memory;
- what windows look at, each of which reads most elements again;
- a node that is read in several ways (`readers.py`), if it costs less to store it than to compute it again (`cost.py`);
- the limits on operations and on kernel arguments.

Movements are not computed: each becomes a link of the `Chain` that leads from the group's index space to the leaf, and
the leaf's layout goes through the chain. A node that is reached twice by one chain is computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Contract,
    CustomCall,
    Elementwise,
    Gather,
    Iota,
    Movement,
    Node,
    Reduce,
    Scalar,
    Scan,
    Scatter,
    Sort,
    Step,
)
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.types import COMPLEX_LANES
from ocl_runtime.plan.fusion.canonical import canonical, copies, stays
from ocl_runtime.plan.fusion.chain import Chain, in_memory
from ocl_runtime.plan.fusion.cost import choice
from ocl_runtime.plan.fusion.decisions import Cut, Decisions
from ocl_runtime.plan.fusion.growing import Growing, most_operations
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.readers import readers
from ocl_runtime.plan.fusion.reduction_order import row_lanes
from ocl_runtime.plan.fusion.values import Leaf, Value, leaves_of
from ocl_runtime.plan.target import Target

_COMPUTED = (Reduce, Scan, Sort, Contract, CustomCall, Assign, Scatter)
"""What lies in row-major order once it has been computed, whoever reads it."""

_READ_WHOLE: Mapping[type[Node], str] = {
    Contract: "a product of matrices reads it",
    CustomCall: "an algorithm of the library reads it",
}
"""What computes nothing of its operands on the way, and so why they are in memory."""


@dataclass(frozen=True, slots=True)
class Group:
    """One fused expression: `values`, operands first, the last of which is the result or what `reduce` takes.

    They are computed at every place of `shape`. What is no reduction is stored in row-major order of it, where the
    root's elements lie as `layout` says. Where the root is a write, the values are what is written, over `base`; at
    computed places, the last of them is the operation `scatter`: of the value, of whether it is written, and of its
    coordinates. Where the root is a product of matrices or a
    custom call, the values are its operands.
    `looks`: the only value lies in memory and is all that the root is, in a layout. `why` says why the root is not
    computed by who reads it.
    """

    root: Node
    reduce: Reduce | None
    shape: Shape
    values: tuple[Value, ...]
    layout: Layout
    base: Leaf | None = None
    looks: bool = False
    why: str = ""
    leaves: tuple[Leaf, ...] = field(init=False, compare=False, repr=False)
    """All that the group reads."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaves", leaves_of(self.values, self.base))

    @property
    def pointwise(self) -> bool:
        """Whether each place of the index space gives one element of the result, and that is all."""
        return (
            not self.looks
            and self.reduce is None
            and self.base is None
            and not isinstance(self.root, Contract | CustomCall | Scan | Sort)
        )

    @property
    def view(self) -> Leaf | None:
        """The memory that the group only looks at in another way, if that is all it does."""
        leaf = self.values[0] if self.looks else None
        return leaf if isinstance(leaf, Leaf) else None


def groups(
    roots: Sequence[Node],
    target: Target,
    layouts: Layouts,
    *,
    dense: Collection[Node] = (),
    decisions: Decisions | None = None,
) -> list[Group]:
    """The groups that compute the roots, those first that others read; results of the `dense` roots lie in row-major
    order, all others in their canonical layout, except for views that no other group reads."""
    fuser = _Fuser(roots, target, layouts, dense, decisions)
    made: dict[Node, Group] = {}
    while True:
        order = _in_order(roots, made, fuser)
        read = {leaf.source for group in order for leaf in group.leaves if leaf.computed}
        views = [group.root for group in order if group.looks and group.root in read]
        if not views:
            return order
        for root in views:  # what it reads may have become a group of its own meanwhile, that comes later
            made[root] = fuser.group(root, copied=True)


def _in_order(roots: Sequence[Node], made: dict[Node, Group], fuser: _Fuser) -> list[Group]:
    """The groups of the roots and of all that they read, those first that others read; what is not there is made."""
    order: list[Group] = []
    finished: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if node in finished:
            stack.pop()
            continue
        if node not in made:
            made[node] = fuser.group(node)
        waiting = [leaf.source for leaf in made[node].leaves if leaf.computed and leaf.source not in finished]
        if waiting:
            stack.extend(reversed(waiting))
        else:
            finished.add(node)
            order.append(made[node])
    return order


_WIDE_ROWS = "a reduction joins more lanes than vectors have complex numbers"


def _parts_in_wide_rows(nodes: Iterable[Node], target: Target) -> list[Node]:
    """What is real and made of complex numbers, where there are reductions in more lanes than vectors have of these:
    the order of a sum depends on what is added only, not on what computes that."""
    nodes = list(nodes)
    wide = any(
        isinstance(node, Reduce) and row_lanes(node.arg.dtype, node.accumulator, target) > COMPLEX_LANES[-1]
        for node in nodes
    )
    return [
        node
        for node in nodes
        if wide
        and isinstance(node, Elementwise)
        and not node.dtype.is_complex
        and any(arg.dtype.is_complex for arg in node.args)
    ]


class _Fuser:
    """What the groups of one plan have in common: which nodes are computed by themselves."""

    def __init__(
        self,
        roots: Sequence[Node],
        target: Target,
        layouts: Layouts,
        dense: Collection[Node],
        decisions: Decisions | None,
    ) -> None:
        self._decisions = decisions
        self._alone = dict.fromkeys(roots, "it is wanted")
        """With the reasons."""
        self._target = target
        self._layouts = layouts
        self._dense = dense
        read_counts = readers(self._alone)
        if any(node.dtype.is_complex for node in read_counts):
            self._alone |= dict.fromkeys(_parts_in_wide_rows(read_counts, target), _WIDE_ROWS)
        for node in read_counts:
            if isinstance(node, Movement) and node.step.kind == "windows":
                self._keep_below(node)
        self._order = {node: number for number, node in enumerate(read_counts)}
        """Of all nodes, operands first: as a program asked for them."""
        self._reshapes = any(isinstance(node, Movement) and copies(node) for node in read_counts)
        """Whether there are some that may have to copy."""
        self._share = {Reduce, Scan, Scatter, Sort}.isdisjoint(map(type, read_counts))
        """Whether all kernels let reads of neighbours share a pointer."""
        for node, count in read_counts.items():  # operands first: what is stored of them is not computed again
            if count > 1 and isinstance(node, Elementwise | Gather) and node not in self._alone:
                why = self._kept(node, count)
                if why:
                    self._alone[node] = f"it is read in {count} ways (views, kernels): {why}"

    def _keep_below(self, windows: Node) -> None:
        """Stores what windows look at, of which each reads most elements again."""
        below = windows
        while isinstance(below, Movement) and not copies(below):
            below = below.arg
        if isinstance(below, Elementwise | Gather):
            self._alone.setdefault(below, "windows read its elements again and again")

    def _kept(self, node: Node, count: int) -> str:
        """Why a node that is read in several ways is stored, if it is."""
        growing, rank = Growing(node, self._alone, self._layouts, self._dense), len(node.shape)
        growing.open_from(growing.reach(node, None), rank, self._target, share=self._share)
        operations, loads = growing.work()
        if loads > 1 and not growing.fits(rank, self._target, times=count):
            return "to compute it again for each takes more arguments than the device takes"
        most = most_operations(self._target, pointwise=self._share)
        if count * growing.operations > most:
            return f"to compute it again for each takes more than {most} operations"
        preferred = choice(count - 1, operations, loads, 2 * node.dtype.size, self._target)
        return str(preferred) if preferred.keeps else ""

    def _before_reshapes(self, root: Elementwise) -> Shape | None:
        """The shape from before the reshapes that would have to copy, if there are some and all that the root is made
        of can be had in that shape: then nothing is copied."""
        seen, waiting = set[Node](), list[Node](root.args)
        shapes, others = list[Shape](), list[Layout]()
        most = most_operations(self._target, pointwise=True)
        while waiting:
            node = waiting.pop()
            if node in seen or type(node) is Scalar:
                continue
            seen.add(node)
            if node not in self._alone and type(node) is Elementwise and len(seen) <= most:
                waiting += node.args
            elif node not in self._alone and isinstance(node, Movement) and copies(node):
                shapes.append(node.arg.shape)
            elif isinstance(node, Buffer | Iota):
                others.append(node.layout)
            elif node in self._alone or isinstance(node, _COMPUTED):
                others.append(canonical(node))
            else:
                return None
        if not shapes or any(shape != shapes[0] for shape in shapes):
            return None
        return shapes[0] if all(layout.reshape(shapes[0]) is not None for layout in others) else None

    def group(self, root: Node, *, copied: bool = False) -> Group:
        """The group of a node; of a view of memory a copy, if so asked."""
        growing = Growing(root, self._alone, self._layouts, self._dense)
        chain: Chain | None = None
        looks, layout = False, self._layouts.contiguous(root.shape)
        if isinstance(root, Contract | CustomCall):
            sides = tuple(growing.leaf(growing.reach(arg, None)) for arg in root.args)
            return self._grown(Group(root, None, root.shape, sides, layout, why=self._alone[root]), growing)
        shape, base = root.shape, None
        top: Node = root
        match root:
            case Reduce() | Scan() | Sort():
                top, shape = root.arg, root.arg.shape
            case Assign():
                top, shape = root.value, root.value.shape
                base = growing.leaf((root.arg, None, False))
            case Scatter():
                shape, base = root.value.shape, growing.leaf((root.arg, None, False))
            case Movement() if copies(root) and not stays(root):
                top, shape = root.arg, root.arg.shape
            case Movement() | Buffer() | Iota() if root not in self._dense:
                node, _, computed = growing.reach(root, None)
                looks = not copied and (computed or isinstance(node, Buffer))
                if not looks:
                    layout = canonical(root)
                    shape, chain = in_memory(layout)
            case Elementwise() if self._reshapes:
                before = self._before_reshapes(root)
                if before is not None:
                    shape, chain = before, Chain(Step("reshape", before), None)
        body = growing.reach(top, chain)
        share = not isinstance(root, Reduce | Scan | Scatter | Sort)
        growing.open_from(body, len(shape), self._target, share=share, order=self._order)
        reduce, why = root if isinstance(root, Reduce) else None, self._alone[root]
        return self._grown(Group(root, reduce, shape, growing.values(body), layout, base, looks, why), growing)

    def _grown(self, group: Group, growing: Growing) -> Group:
        otherwise = _READ_WHOLE.get(type(group.root), "it is written into")
        for source in [leaf.source for leaf in group.leaves if leaf.computed]:
            self._alone.setdefault(source, growing.reasons.get(source, otherwise))
        if self._decisions is not None:
            self._decisions.cuts[group.root] = Cut(growing.nodes, growing.reasons)
        return group
