"""Cuts array expressions into groups, which `merge.py` then makes kernels of.

A group is a tree of elementwise operations, with at most one reduction, scan or write at its end. It grows from its
result towards the leaves, breadth first, and stops at

- buffers, iotas and scalars;
- reductions, scans, products of matrices and writes, which are computed first;
- what is computed anyway: a wanted result, or where another group has stopped;
- a reshape of something that does not lie in memory in order;
- what elements are gathered from, which has to be in memory;
- a node that is read in several ways (`readers.py`), if it costs less to store it than to compute it again (`cost.py`);
- the limits on operations and on kernel arguments.

Movements are not computed: each becomes a link of the `Chain` that leads from the group's index space to the leaf, and
the leaf's layout goes through the chain. A node that is reached twice by one chain is computed once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Contract,
    Elementwise,
    Gather,
    Iota,
    Movement,
    Node,
    Reduce,
    Scalar,
    Scan,
    Scatter,
    Step,
    Undefined,
)
from ocl_ir.indices import Shape
from ocl_ir.kernel.work import length
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.canonical import canonical, copies, stays
from ocl_runtime.plan.fusion.chain import Chain, in_memory
from ocl_runtime.plan.fusion.cost import choice, operation
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.neighbours import families
from ocl_runtime.plan.fusion.readers import readers
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Operation, Value, leaves_of
from ocl_runtime.plan.target import Target

MAX_OPERATIONS = 384
"""Each as long as its code (`ocl_ir.kernel.work.length`): so 50 turns of a loop over a few arrays are two or three
kernels, and 64 functions are one, which drivers build in a second or two."""
_MOST_BESIDE_OTHERS = MAX_OPERATIONS * 7 // 8
"""Of a group that reads what others compute, so that these have room in its kernel."""
MAX_POINTERS = 24
"""Of what is read and what is stored."""


_ENDS: Mapping[type[Node], str] = {
    Reduce: "a reduction ends its kernel",
    Contract: "a product of matrices ends its kernel",
    Assign: "a write ends its kernel",
    Scatter: "a write ends its kernel",
    Scan: "a scan ends its kernel",
}

_IN_MEMORY = frozenset({Buffer, Iota, Scalar})
_OPENED = (Elementwise, Gather, Scatter)


@dataclass(frozen=True, slots=True)
class Group:
    """One fused expression: `values`, operands first, the last of which is the result or what `reduce` takes.

    They are computed at every place of `shape`. What is no reduction is stored in row-major order of it, where the
    root's elements lie as `layout` says. Where the root is a write, the values are what is written, over `base`; at
    computed places, the last of them is the operation `scatter`: of the value, of whether it is written, and of its
    coordinates. Where the root is a product of matrices, the values are the two.
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
            not self.looks and self.reduce is None and self.base is None and not isinstance(self.root, Contract | Scan)
        )

    @property
    def view(self) -> Leaf | None:
        """The memory that the group only looks at in another way, if that is all it does."""
        leaf = self.values[0]
        return leaf if self.looks and isinstance(leaf, Leaf) else None


def groups(roots: Sequence[Node], target: Target, layouts: Layouts, *, dense: Collection[Node] = ()) -> list[Group]:
    """The groups that compute the roots, those first that others read; results of the `dense` roots lie in row-major
    order, all others in their canonical layout, except for views that no other group reads."""
    fuser = _Fuser(roots, target, layouts, dense)
    made: dict[Node, Group] = {}
    order: list[Group] = []
    finished: set[Node] = set()
    read: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if node in finished:
            stack.pop()
        elif node in made:
            finished.add(node)
            order.append(made[node])
        else:
            made[node] = fuser.group(node)
            computed = [leaf.source for leaf in made[node].leaves if leaf.computed]
            read.update(computed)
            stack.extend(reversed(computed))
    return [fuser.group(one.root, copied=True) if one.looks and one.root in read else one for one in order]


_Place: TypeAlias = tuple[Node, Chain | None, bool]
"""A node, how it is reached, and whether it was decided that another group computes it."""


class _Fuser:
    """What the groups of one plan have in common: which nodes are computed by themselves."""

    def __init__(self, roots: Sequence[Node], target: Target, layouts: Layouts, dense: Collection[Node]) -> None:
        self._alone = dict.fromkeys(roots, "it is wanted")
        """With the reasons."""
        self._target = target
        self._layouts = layouts
        self._dense = dense
        found = readers(self._alone)
        self._order = {node: number for number, node in enumerate(found)}
        """Of all nodes, operands first: as a program asked for them."""
        self._share = {Reduce, Scan, Scatter}.isdisjoint(map(type, found))
        """Whether all kernels let reads of neighbours share a pointer."""
        for node, count in found.items():  # operands first: what is stored of them is not computed again
            if count > 1 and isinstance(node, Elementwise | Gather) and node not in self._alone:
                why = self._kept(node, count)
                if why:
                    self._alone[node] = f"it is read in {count} ways (views, kernels): {why}"

    def _kept(self, node: Node, count: int) -> str:
        """Why a node that is read in several ways is stored, if it is."""
        growing, rank = _Growing(node, self._alone, self._layouts, self._dense), len(node.shape)
        growing.open_from(growing.place(node, None), rank, self._target, share=self._share)
        operations, loads = growing.work()
        if loads > 1 and not growing.fits(rank, self._target, times=count):
            return "to compute it again for each takes more arguments than the device takes"
        if count * growing.operations > MAX_OPERATIONS:
            return f"to compute it again for each takes more than {MAX_OPERATIONS} operations"
        found = choice(count - 1, operations, loads, 2 * node.dtype.size, self._target)
        return str(found) if found.keeps else ""

    def group(self, root: Node, *, copied: bool = False) -> Group:
        """The group of a node; of a view of memory a copy, if so asked."""
        growing = _Growing(root, self._alone, self._layouts, self._dense)
        chain: Chain | None = None
        looks, layout = False, self._layouts.contiguous(root.shape)
        if isinstance(root, Contract):
            sides = tuple(growing.leaf(growing.place(arg, None)) for arg in root.args)
            return self._grown(Group(root, None, root.shape, sides, layout, why=self._alone[root]), growing)
        shape, base = root.shape, None
        top: Node = root
        match root:
            case Reduce() | Scan():
                top, shape = root.arg, root.arg.shape
            case Assign():
                top, shape = root.value, root.value.shape
                base = growing.leaf((root.arg, None, False))
            case Scatter():
                shape, base = root.value.shape, growing.leaf((root.arg, None, False))
            case Movement() if copies(root) and not stays(root):
                top, shape = root.arg, root.arg.shape
            case Movement() | Buffer() | Iota() if root not in self._dense:
                node, _, computed = growing.place(root, None)
                looks = not copied and (computed or isinstance(node, Buffer))
                if not looks:
                    layout = canonical(root)
                    shape, chain = in_memory(layout)
        body = growing.place(top, chain)
        share = not isinstance(root, Reduce | Scan | Scatter)
        growing.open_from(body, len(shape), self._target, share=share, order=self._order)
        reduce, why = root if isinstance(root, Reduce) else None, self._alone[root]
        return self._grown(Group(root, reduce, shape, growing.values(body), layout, base, looks, why), growing)

    def _grown(self, group: Group, growing: _Growing) -> Group:
        otherwise = "a product of matrices reads it" if isinstance(group.root, Contract) else "it is written into"
        for source in [leaf.source for leaf in group.leaves if leaf.computed]:
            self._alone.setdefault(source, growing.reasons.get(source, otherwise))
        return group


class _Growing:
    """One group while it grows."""

    def __init__(self, root: Node, alone: Mapping[Node, str], layouts: Layouts, dense: Collection[Node]) -> None:
        self.reasons: dict[Node, str] = {}
        """Why nodes at the edge of the group are left to other groups."""
        self._root = root
        self._alone = alone
        self._layouts = layouts
        self._dense = dense
        self._chains: dict[tuple[Step, int], Chain] = {}
        self._opened: dict[_Place, list[_Place]] = {}
        """What the group computes itself, with its operands."""
        self._leaves: dict[_Place, Leaf] = {}
        """How what it does not compute is read, as far as somebody has asked."""
        self.operations = 0
        """As long as their code is."""
        self._others = 0
        """Pointers that it takes for sure, with that of the result."""
        self._reads: list[Leaf] = []
        """What takes one each, unless it is a neighbour of another one."""
        self._seen: set[_Place] = set()

    def place(self, node: Node, chain: Chain | None) -> _Place:
        """Goes through the movements above a node."""
        while isinstance(node, Movement) and (node is self._root or node not in self._alone):
            copied = copies(node)
            if copied and not stays(node):
                self.reasons[node] = "it is a reshape that has to copy"
                return node, chain, True
            # The chains are kept in the dictionary, so their ids stay theirs.
            chain = self._chains.setdefault((node.step, id(chain)), Chain(node.step, chain))
            node = node.arg
            if copied:
                self.reasons[node] = "a reshape of it has to copy"
                return node, chain, True
        ends = _ENDS.get(type(node))
        if ends is not None:
            self.reasons[node] = ends
        alone = ends is not None or node in self._alone
        if alone and type(node) in _IN_MEMORY:
            alone = node in self._dense  # which is read where it was copied
        return node, chain, alone and node is not self._root

    def _places(self, node: Elementwise | Gather | Scatter, chain: Chain | None) -> list[_Place]:
        """The operands of a node that is opened, but for what is written into. What is gathered from is reached from no
        index space."""
        if not isinstance(node, Gather):
            operands = node.args[1:] if isinstance(node, Scatter) else node.args
            return [self.place(arg, chain) for arg in operands]
        table, outer, computed = self.place(node.arg, None)
        if not isinstance(table, Buffer | Iota):
            self.reasons.setdefault(table, "elements of it are taken in any order")
            computed = True
        return [(table, outer, computed), *(self.place(index, chain) for index in node.indices)]

    def open_from(
        self, body: _Place, rank: int, target: Target, *, share: bool, order: Mapping[Node, int] | None = None
    ) -> None:
        """Decides which nodes the group, whose index space has `rank` axes, computes itself. `share`: reads of
        neighbours share a pointer. With an `order`, what is too much for a kernel is cut across that: of the turns of a
        loop, it is the last ones, which read no more than what a turn hands on."""
        reasons = self.reasons.copy()
        if not self._open(body, rank, target, share, None) and order is not None:
            self.reasons, self._opened, self.operations, self._reads = reasons, {}, 0, []
            self._open(body, rank, target, share, order)

    def _open(self, body: _Place, rank: int, target: Target, share: bool, order: Mapping[Node, int] | None) -> bool:
        """The nearest nodes first, or the last ones of an order; whether they are no more operations than a kernel
        has."""
        self._seen, queue = {body}, deque([body])
        fitting, most = True, MAX_OPERATIONS
        scalars, self._others = 0, 2  # the body, which is not opened yet and may be read; and the result
        while queue:
            if order is None:
                place = queue.popleft()
            else:
                place = max(queue, key=lambda one: order.get(one[0], -1))
                queue.remove(place)
            node, chain, computed = place
            if computed or not isinstance(node, _OPENED):
                continue
            longer = self.operations + (length(node.op) if type(node) is Elementwise else 1)
            if longer > most:
                fitting = False
                self.reasons[node] = f"the kernel that reads it has {most} operations, as many as it may"
                continue
            args = self._places(node, chain)
            table = args[0] if type(node) is Gather else None
            new = [arg for arg in dict.fromkeys(args) if arg not in self._seen]
            numbers, more, reads = 0, -1, list[Leaf]()
            for arg in new:
                if arg[2]:
                    most = _MOST_BESIDE_OTHERS
                if share and arg is not table and (arg[2] or type(arg[0]) is Buffer):
                    reads.append(self.leaf(arg))
                elif type(arg[0]) is not Scalar:
                    more += 1
                numbers += type(arg[0]) is Scalar
            self._reads += reads
            self._others += more
            if self._opened and not self.fits(rank, target, scalars=scalars + numbers):
                self._others -= more
                del self._reads[len(self._reads) - len(reads) :]
                self.reasons[node] = "the kernel that reads it has as many arguments as the device takes"
                continue
            scalars += numbers
            self._opened[place], self.operations = args, longer
            self._seen.update(new)
            queue.extend(new)
        return fitting

    def fits(self, rank: int, target: Target, *, scalars: int = 0, times: int = 1) -> bool:
        """Whether a kernel takes the pointers, `times` those of what is read. Which share one is looked at only where
        that matters: of sizes, it asks a lot."""
        pointers = times * (self._others + len(self._reads) - 1) + 1
        if len(self._reads) > 1 and not fits(pointers, rank, target, scalars=scalars):
            shared = families((leaf.source, leaf.layout) for leaf in self._reads)
            pointers = times * (self._others + len(shared) - 1) + 1
        return fits(pointers, rank, target, scalars=scalars)

    def work(self) -> tuple[int, int]:
        """What the operations of the group are worth, and how many elements it loads for each."""
        operations = loads = 0
        for place in self._seen:
            node = place[0]
            if place not in self._opened:
                loads += not isinstance(node, Scalar | Iota)
            elif isinstance(node, Elementwise):
                operations += operation(node.op, [one.dtype for one in (node, *node.args)])
            else:
                operations += 1  # a lookup
        return operations, loads

    def values(self, body: _Place) -> tuple[Value, ...]:
        """The opened operations and the leaves below them, operands first; equal leaves are one."""
        values: list[Value] = []
        known: dict[_Place | Leaf | Node, int] = {}
        entered: dict[_Place, list[_Place]] = {}  # operations whose operands are above them on the stack
        stack = [body]
        while stack:
            place = stack.pop()
            if place in known:
                continue
            node, args = place[0], self._opened.get(place)
            if args is None:
                leaf = self.leaf(place)  # a number is the same in every chain
                same = node if type(node) is Scalar and not place[2] else leaf
                number = known[place] = known.setdefault(same, len(values))
                if number == len(values):
                    values.append(leaf)
                continue
            operands = entered.get(place)
            if operands is None:
                entered[place] = operands = args[1:] if type(node) is Gather else args
                stack.append(place)
                stack += operands[::-1]
                continue
            known[place] = len(values)
            places = tuple([known[arg] for arg in operands])
            if type(node) is Gather:
                values.append(Lookup(self.leaf(args[0]), places))
            else:
                values.append(Operation(node.op if type(node) is Elementwise else "scatter", node.dtype, places))
        return tuple(values)

    def leaf(self, place: _Place) -> Leaf:
        """How a node that the group does not compute is read."""
        known = self._leaves.get(place)
        if known is None:
            node, chain, computed = place
            if isinstance(node, Buffer | Iota) and not computed:
                layout = node.layout
            elif isinstance(node, Scalar | Undefined) or node in self._dense:
                layout = self._layouts.contiguous(node.shape)
            else:
                layout = canonical(node)
            moved = layout if chain is None or type(node) is Scalar else chain.apply(layout)
            computed = computed or not isinstance(node, Buffer | Iota | Scalar | Undefined)
            known = self._leaves[place] = Leaf(node, moved, computed)
        return known


def fits(pointers: int, rank: int, target: Target, *, scalars: int = 0) -> bool:
    """Whether a kernel over an index space of `rank` axes takes so many pointers and scalars."""
    # An address, an offset, a first element and strides; lengths, and what the kind of kernel needs besides.
    spent = pointers * (32 + 8 * rank) + 8 * scalars + 16 * rank + 32
    return pointers <= MAX_POINTERS and spent <= target.max_argument_bytes
