"""Cuts array expressions into groups; each group becomes one kernel (a reduction one or two).

A group is a tree of elementwise operations, with at most one reduction at its end. It grows from its result towards the
leaves, breadth first, and stops at

- buffers, iotas and scalars;
- reductions, products of matrices and writes, which are computed first;
- what is computed anyway: a wanted result, or where another group has stopped;
- a reshape of something that does not lie in memory in order;
- what elements are gathered from, which has to be in memory;
- a costly node that is read through several views: computing it once is cheaper than once for each view;
- the limits on operations and on kernel arguments.

Movements are not computed: each becomes a link of the `_Chain` that leads from the group's index space to the leaf, and
the leaf's layout goes through the chain. A node that is reached twice by one chain is computed once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ir.graph import (
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
    Scatter,
    Step,
    Undefined,
    walk,
)
from ir.layout import Layout, Shape
from ir.types import DType
from ocl_runtime.plan.target import Target

MAX_OPERATIONS = 128
MAX_POINTERS = 23
RECOMPUTE = 4
"""Operations that a node read through several views may take to be computed again for each."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a group reads: `source` is a buffer, iota or scalar, or (`computed`) the dense result of another group."""

    source: Node
    layout: Layout
    computed: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on earlier values of the group, given by their places."""

    op: str
    dtype: DType
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """The element of a leaf at coordinates that are earlier values of the group, given by their places."""

    leaf: Leaf
    args: tuple[int, ...]


_ENDS: Mapping[type[Node], str] = {
    Reduce: "a reduction ends its kernel",
    Contract: "a product of matrices ends its kernel",
    Assign: "a write ends its kernel",
    Scatter: "a write ends its kernel",
}

Value: TypeAlias = Leaf | Operation | Lookup


@dataclass(frozen=True, slots=True)
class Group:
    """One fused expression: `values`, operands first, the last of which is the result or what `reduce` takes.

    `dense`: another group reads the result, which must lie in memory in order. Where the root is a write, the values
    are what is written, over `base`; at computed places, the last of them is the operation `scatter`: of the value, of
    whether it is written, and of its coordinates. Where it is a product of matrices, they are the two. `why` says why
    the root is not computed by who reads it.
    """

    root: Node
    reduce: Reduce | None
    shape: Shape
    values: tuple[Value, ...]
    dense: bool = False
    base: Leaf | None = None
    why: str = ""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """All that the group reads."""
        leaves = tuple(
            value.leaf if isinstance(value, Lookup) else value
            for value in self.values
            if not isinstance(value, Operation)
        )
        return leaves if self.base is None else (*leaves, self.base)

    @property
    def view(self) -> Leaf | None:
        """The memory that the group only looks at in another way, if that is all it does."""
        leaf = self.values[0]
        copies = self.dense or self.reduce is not None or self.base is not None or isinstance(self.root, Contract)
        if copies or len(self.values) > 1 or not isinstance(leaf, Leaf):
            return None
        return leaf if leaf.computed or isinstance(leaf.source, Buffer) else None


def groups(roots: Sequence[Node], target: Target, *, dense: bool = False) -> list[Group]:
    """The groups that compute the roots (all of them `dense`, if so asked), those first that others read."""
    fuser = _Fuser(roots, target)
    made: dict[Node, Group] = {}
    order: list[Group] = []
    finished: set[Node] = set()
    read: set[Node] = set(roots) if dense else set()
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
    return [replace(group, dense=group.root in read) for group in order]


class _Chain:
    """The movements between a group's index space and a node, the one next to the node first."""

    __slots__ = ("outer", "step")

    def __init__(self, step: Step, outer: _Chain | None) -> None:
        self.step = step
        self.outer = outer

    def apply(self, layout: Layout) -> Layout:
        link: _Chain | None = self
        while link is not None:
            moved = link.step.apply(layout)
            assert moved is not None, "only dense leaves are reached through a reshape"
            layout, link = moved, link.outer
        return layout


_Place: TypeAlias = tuple[Node, _Chain | None, bool]
"""A node, how it is reached, and whether it was decided that another group computes it."""


class _Fuser:
    """What the groups of one plan have in common: which nodes are computed by themselves."""

    def __init__(self, roots: Sequence[Node], target: Target) -> None:
        through_views = "it is read through several views, and storing it costs less than computing it for each"
        self._alone = dict.fromkeys(_read_through_views(roots), through_views) | dict.fromkeys(roots, "it is wanted")
        """With the reasons."""
        self._target = target

    def group(self, root: Node) -> Group:
        if isinstance(root, Contract):
            growing = _Growing(root, self._alone)
            places = [growing.place(arg, None) for arg in root.args]
            values = tuple(_leaf(node, chain, copied or not isinstance(node, Buffer)) for node, chain, copied in places)
            return self._grown(Group(root, None, root.shape, values, why=self._alone[root]), growing)
        reduce = root if isinstance(root, Reduce) else None
        growing = _Growing(root, self._alone)
        top = root.arg if isinstance(root, Reduce) else root.value if isinstance(root, Assign) else root
        shape = root.value.shape if isinstance(root, Scatter) else top.shape
        body = growing.place(top, None)
        growing.open_from(body, len(shape), self._target)
        base = None
        if isinstance(root, Assign | Scatter):
            base = _leaf(root.arg, None, computed=not isinstance(root.arg, Buffer | Iota | Scalar | Undefined))
        group = Group(root, reduce, shape, growing.values(body), base=base, why=self._alone[root])
        return self._grown(group, growing)

    def _grown(self, group: Group, growing: _Growing) -> Group:
        otherwise = "a product of matrices reads it" if isinstance(group.root, Contract) else "it is written into"
        for leaf in group.leaves:
            if leaf.computed:
                self._alone.setdefault(leaf.source, growing.reasons.get(leaf.source, otherwise))
        return group


def _read_through_views(roots: Iterable[Node]) -> set[Node]:
    readers: Counter[Node] = Counter()
    moved: set[Node] = set()
    for node in walk(*roots):
        readers.update(set(node.args))
        if isinstance(node, Movement):
            moved.add(node.arg)
    return {node for node in moved if readers[node] > 1 and node.work > RECOMPUTE}


class _Growing:
    """One group while it grows."""

    def __init__(self, root: Node, alone: Mapping[Node, str]) -> None:
        self.reasons: dict[Node, str] = {}
        """Why nodes at the edge of the group are left to other groups."""
        self._root = root
        self._alone = alone
        self._chains: dict[tuple[Step, int], _Chain] = {}
        self._opened: set[_Place] = set()

    def place(self, node: Node, chain: _Chain | None) -> _Place:
        """Goes through the movements above a node."""
        while isinstance(node, Movement) and (node is self._root or node not in self._alone):
            # The chains are kept in the dictionary, so their ids stay theirs.
            chain = self._chains.setdefault((node.step, id(chain)), _Chain(node.step, chain))
            copied = node.step.kind == "reshape" and not node.arg.flat
            node = node.arg
            if copied:
                self.reasons[node] = "a reshape of it has to copy"
                return node, chain, True
        ends = _ENDS.get(type(node))
        if ends is not None:
            self.reasons[node] = ends
        leaf = isinstance(node, Buffer | Iota | Scalar)
        alone = ends is not None or node in self._alone
        return node, chain, node is not self._root and not leaf and alone

    def _places(self, node: Elementwise | Gather | Scatter, chain: _Chain | None) -> list[_Place]:
        """The operands of a node that is opened, but for what is written into. What is gathered from is reached from no
        index space."""
        if not isinstance(node, Gather):
            operands = node.operands[1:] if isinstance(node, Scatter) else node.operands
            return [self.place(arg, chain) for arg in operands]
        table, outer, computed = self.place(node.arg, None)
        if not isinstance(table, Buffer | Iota):
            self.reasons.setdefault(table, "elements of it are taken in any order")
            computed = True
        return [(table, outer, computed), *(self.place(index, chain) for index in node.indices)]

    def open_from(self, body: _Place, rank: int, target: Target) -> None:
        """Decides which nodes the group, whose index space has `rank` axes, computes itself."""
        pointer_bytes = 32 + 8 * rank  # address, offset, first element, strides
        budget = target.max_argument_bytes - pointer_bytes - 16 * rank - 32
        seen, queue = {body}, deque([body])
        pointers, spent = 1, pointer_bytes
        while queue:
            place = queue.popleft()
            node, chain, computed = place
            if computed or not isinstance(node, Elementwise | Gather | Scatter):
                continue
            if len(self._opened) == MAX_OPERATIONS:
                self.reasons[node] = f"the kernel that reads it has {MAX_OPERATIONS} operations, as many as it may"
                continue
            new = list(dict.fromkeys(self._places(node, chain)))
            new = [arg for arg in new if arg not in seen]
            numbers = sum(isinstance(arg[0], Scalar) for arg in new)
            more = len(new) - numbers - 1
            more_bytes = more * pointer_bytes + numbers * 8
            if self._opened and (pointers + more > MAX_POINTERS or spent + more_bytes > budget):
                self.reasons[node] = "the kernel that reads it has as many arguments as the device takes"
                continue
            pointers, spent = pointers + more, spent + more_bytes
            self._opened.add(place)
            seen.update(new)
            queue.extend(new)

    def values(self, body: _Place) -> tuple[Value, ...]:
        """The opened operations and the leaves below them, operands first; equal leaves are one."""
        values: list[Value] = []
        known: dict[_Place | Leaf, int] = {}
        stack = [body]
        while stack:
            place = stack[-1]
            if place in known:
                stack.pop()
                continue
            node, chain, computed = place
            if place not in self._opened:
                leaf = _leaf(node, chain, computed)
                if leaf not in known:
                    known[leaf] = len(values)
                    values.append(leaf)
                known[place] = known[leaf]
                continue
            assert isinstance(node, Elementwise | Gather | Scatter)
            args = self._places(node, chain)
            if isinstance(node, Gather):
                table = args.pop(0)
            waiting = [arg for arg in args if arg not in known]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            known[place] = len(values)
            places = tuple(known[arg] for arg in args)
            if isinstance(node, Gather):
                values.append(Lookup(_leaf(*table), places))
            else:
                op = "scatter" if isinstance(node, Scatter) else node.op
                values.append(Operation(op, node.dtype, places))
        return tuple(values)


def _leaf(node: Node, chain: _Chain | None, computed: bool) -> Leaf:
    if isinstance(node, Buffer | Iota) and not computed:
        layout, by_other_group = node.layout, False
    else:
        layout, by_other_group = Layout.contiguous(node.shape), not isinstance(node, Scalar | Undefined)
    moved = layout if chain is None or isinstance(node, Scalar) else chain.apply(layout)
    return Leaf(node, moved, by_other_group)
