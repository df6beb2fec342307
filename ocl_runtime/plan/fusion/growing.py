"""One group while it grows, from its result towards the leaves: which nodes its kernel computes, and what it reads.

What is too much for a kernel is cut across the order in which a program asked for it: then the kernel computes the last
turns of a loop, and reads what those before hand on. What is made of that with a few operations, such as a condition or
a square, is not handed on but computed again (`cost.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

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
    Undefined,
)
from ocl_ir.kernel.work import length
from ocl_runtime.plan.fusion.canonical import canonical, copies, stays
from ocl_runtime.plan.fusion.chain import Chain
from ocl_runtime.plan.fusion.cost import choice, operation
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.neighbours import Family, families
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Operation, Value
from ocl_runtime.plan.target import Target

MAX_OPERATIONS = 384
"""Each as long as its code (`ocl_ir.kernel.work.length`): so 50 turns of a loop over a few arrays are two or three
kernels, and 64 functions are one, which drivers build in a second or two."""
_MOST_POINTWISE = 1024
"""The same for a GPU where each work-item computes an element: its code is a quarter as long, or less."""
_MOST_AGAIN = 8
"""Operations that are looked through for a value to be computed again rather than handed on."""
_ATTEMPTS = 4
"""To find room for such operations."""
MAX_POINTERS = 24
"""Of what is read and what is stored."""

_ENDS: Mapping[type[Node], str] = {
    Reduce: "a reduction ends its kernel",
    Contract: "a product of matrices ends its kernel",
    CustomCall: "an algorithm of the library ends its kernel",
    Assign: "a write ends its kernel",
    Scatter: "a write ends its kernel",
    Scan: "a scan ends its kernel",
    Sort: "a sort ends its kernel",
}

_IN_MEMORY = frozenset({Buffer, Iota, Scalar})
_OPENED = (Elementwise, Gather, Scatter)

Reached: TypeAlias = tuple[Node, Chain | None, bool]
"""A node, how it is reached, and whether it was decided that another group computes it."""


class Growing:
    """One group while it grows."""

    def __init__(self, root: Node, alone: Mapping[Node, str], layouts: Layouts, dense: Collection[Node]) -> None:
        self.reasons: dict[Node, str] = {}
        """Why nodes at the edge of the group are left to other groups."""
        self._root = root
        self._alone = alone
        self._layouts = layouts
        self._dense = dense
        self._chains: dict[tuple[Step, int], Chain] = {}
        self._opened: dict[Reached, list[Reached]] = {}
        """What the group computes itself, with its operands."""
        self._leaves: dict[Reached, Leaf] = {}
        """How what it does not compute is read, as far as somebody has asked."""
        self.operations = 0
        """As long as their code is."""
        self._others = 0
        """Pointers that it takes for sure, with that of the result."""
        self._reads: list[Leaf] = []
        """What takes one each, unless it is a neighbour of another one."""
        self._families: tuple[int, list[tuple[Family, list[int]]]] = 0, []
        """The neighbours among so many of the first of these, as far as somebody has asked."""
        self._scalars = 0
        self._reads_others = False
        """Whether other groups compute some of what is read."""
        self._seen: set[Reached] = set()
        self._cut: list[Reached] = []
        """What there was no room for any more."""

    def reach(self, node: Node, chain: Chain | None) -> Reached:
        """Goes through the movements above a node."""
        while isinstance(node, Movement) and (node is self._root or node not in self._alone or self._looks(node)):
            copied = copies(node)
            if copied and chain is not None and chain.undoes(node):
                chain, node = chain.outer, node.arg
                continue
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

    def _looks(self, view: Node) -> bool:
        """Whether a view that is wanted is one of memory, where its readers find the elements, too."""
        while isinstance(view, Movement):
            if view in self._dense or copies(view):
                return False
            view = view.arg
        return type(view) in _ENDS or view in self._alone

    @property
    def nodes(self) -> frozenset[Node]:
        """The operations that the group computes."""
        return frozenset([reached[0] for reached in self._opened])

    def _operands(self, node: Elementwise | Gather | Scatter, chain: Chain | None) -> list[Reached]:
        """The operands of a node that is opened, but for what is written into. What is gathered from is reached from no
        index space."""
        if not isinstance(node, Gather):
            operands = node.args[1:] if isinstance(node, Scatter) else node.args
            return [self.reach(arg, chain) for arg in operands]
        table, outer, computed = self.reach(node.arg, None)
        if not isinstance(table, Buffer | Iota):
            self.reasons.setdefault(table, "elements of it are taken in any order")
            computed = True
        return [(table, outer, computed), *(self.reach(index, chain) for index in node.indices)]

    def open_from(
        self, body: Reached, rank: int, target: Target, *, share: bool, order: Mapping[Node, int] | None = None
    ) -> None:
        """Decides which nodes the group, whose index space has `rank` axes, computes itself. `share`: reads of
        neighbours share a pointer. With an `order`, what is too much for a kernel is cut across that."""
        reasons = self.reasons.copy()
        if self._open(body, rank, target, share) or order is None:
            return
        most = most_operations(target, pointwise=share)
        room, most_room = 0, most // 2  # for all of them in one kernel; the other values are handed on
        again = list[Reached]()
        for _ in range(_ATTEMPTS):  # with more room each time for what is computed again
            self.reasons, self._opened, self.operations, self._reads = reasons.copy(), {}, 0, []
            self._families = 0, []
            self._open(body, rank, target, share, order, room)
            again = self._made_of_others(order, target)
            missing = self.operations + sum(self._length(reached[0]) for reached in again) - most
            if missing <= 0 or room == most_room:
                break
            room = min(room + max(missing, _MOST_AGAIN), most_room)
        for reached in again:
            if reached in self._seen:  # there was room for what is made of it
                self._take(reached, rank, target, share, most)

    def _open(
        self,
        body: Reached,
        rank: int,
        target: Target,
        share: bool,
        order: Mapping[Node, int] | None = None,
        room: int = 0,
    ) -> bool:
        """The nearest nodes first, or the last ones of an order, with `room` for others; whether they are no more
        operations than a kernel has."""
        most = most_operations(target, pointwise=share)
        beside_others, most = most * 7 // 8, most - room  # so that others have room in the kernel that reads them
        self._seen, queue, self._cut = {body}, deque([body]), []
        self._reads_others = False
        self._scalars, self._others = 0, 2  # the body, which is not opened yet and may be read; and the result
        while queue:
            if order is None:
                reached = queue.popleft()
            else:
                reached = max(queue, key=lambda reached: order.get(reached[0], -1))
                queue.remove(reached)
            if self._reads_others:
                most = min(most, beside_others)
            queue.extend(self._take(reached, rank, target, share, most))
        return not self._cut

    @staticmethod
    def _length(node: Node) -> int:
        return length(node.op) if type(node) is Elementwise else 1

    def _take(self, reached: Reached, rank: int, target: Target, share: bool, most: int) -> Sequence[Reached]:
        """Computes a place in the group, if that is an operation and there is room; of what it is made of, what has not
        been seen."""
        node, chain, computed = reached
        if computed or not isinstance(node, _OPENED):
            return ()
        longer = self.operations + self._length(node)
        if longer > most:
            self._cut.append(reached)
            self.reasons[node] = f"the kernel that reads it has {most} operations, as many as it may"
            return ()
        args = self._operands(node, chain)
        table = args[0] if type(node) is Gather else None
        new = [arg for arg in dict.fromkeys(args) if arg not in self._seen]
        numbers, more, reads = 0, -1, list[Leaf]()
        for arg in new:
            self._reads_others |= arg[2]
            if share and arg is not table and (arg[2] or type(arg[0]) is Buffer):
                reads.append(self.leaf(arg))
            elif type(arg[0]) is not Scalar:
                more += 1
            numbers += type(arg[0]) is Scalar
        families_before = self._families
        self._reads += reads
        self._others += more
        if self._opened and not self.fits(rank, target, scalars=self._scalars + numbers):
            self._others -= more
            del self._reads[len(self._reads) - len(reads) :]
            self._families = families_before
            self.reasons[node] = "the kernel that reads it has as many arguments as the device takes"
            return ()
        self._scalars += numbers
        self._opened[reached], self.operations = args, longer
        self._seen.update(new)
        return new

    def _made_of_others(self, order: Mapping[Node, int], target: Target) -> list[Reached]:
        """Of what was cut off, the places that are made of the rest of it and of memory in so few operations that it
        costs less to compute them again than to hand them on; users before their operands."""
        edge = dict.fromkeys(sorted(self._cut, key=lambda reached: order[reached[0]]))  # operands first
        again: dict[Reached, None] = {}
        for reached in [*edge]:
            tree, operations, loads, stack = dict[Reached, None](), 0, 0, [reached]
            while stack and len(tree) <= _MOST_AGAIN:
                operand = stack.pop()
                node, chain, computed = operand
                if computed or not isinstance(node, Elementwise):
                    loads += type(node) is not Scalar
                elif (operand is reached or operand not in edge) and operand not in self._opened:
                    tree[operand] = None
                    operations += operation(node.op, [typed.dtype for typed in (node, *node.args)])
                    stack += self._operands(node, chain)
            if stack or len(tree) > _MOST_AGAIN:
                continue
            if not choice(1, operations, loads, 2 * reached[0].dtype.size, target).keeps:
                del edge[reached]
                again = dict.fromkeys([*tree, *again])
        return sorted(again, key=lambda reached: -order[reached[0]])

    def fits(self, rank: int, target: Target, *, scalars: int = 0, times: int = 1) -> bool:
        """Whether a kernel takes the pointers, `times` those of what is read. Which share one is looked at only where
        that matters: of sizes, it asks a lot."""
        pointers = times * (self._others + len(self._reads) - 1) + 1
        if len(self._reads) > 1 and not fits(pointers, rank, target, scalars=scalars):
            count, known = self._families
            shared = families(((leaf.source, leaf.layout) for leaf in self._reads[count:]), known)
            self._families = len(self._reads), shared
            pointers = times * (self._others + len(shared) - 1) + 1
        return fits(pointers, rank, target, scalars=scalars)

    def work(self) -> tuple[int, int]:
        """What the operations of the group are worth, and how many elements it loads for each."""
        operations = loads = 0
        for reached in self._seen:
            node = reached[0]
            if reached not in self._opened:
                loads += not isinstance(node, Scalar | Iota)
            elif isinstance(node, Elementwise):
                operations += operation(node.op, [typed.dtype for typed in (node, *node.args)])
            else:
                operations += 1  # a lookup
        return operations, loads

    def values(self, body: Reached) -> tuple[Value, ...]:
        """The opened operations and the leaves below them, operands first; equal leaves are one."""
        values: list[Value] = []
        known: dict[Reached | Leaf | Node, int] = {}
        entered: dict[Reached, list[Reached]] = {}  # operations whose operands are above them on the stack
        stack = [body]
        while stack:
            reached = stack.pop()
            if reached in known:
                continue
            node, args = reached[0], self._opened.get(reached)
            if args is None:
                leaf = self.leaf(reached)  # a number is the same in every chain
                same = node if type(node) is Scalar and not reached[2] else leaf
                number = known[reached] = known.setdefault(same, len(values))
                if number == len(values):
                    values.append(leaf)
                continue
            operands = entered.get(reached)
            if operands is None:
                entered[reached] = operands = args[1:] if type(node) is Gather else args
                stack.append(reached)
                stack += operands[::-1]
                continue
            known[reached] = len(values)
            indices = tuple([known[arg] for arg in operands])
            if type(node) is Gather:
                values.append(Lookup(self.leaf(args[0]), indices))
            else:
                values.append(Operation(node.op if type(node) is Elementwise else "scatter", node.dtype, indices))
        return tuple(values)

    def leaf(self, reached: Reached) -> Leaf:
        """How a node that the group does not compute is read."""
        known = self._leaves.get(reached)
        if known is None:
            node, chain, computed = reached
            if isinstance(node, Buffer | Iota) and not computed:
                layout = node.layout
            elif isinstance(node, Scalar | Undefined) or node in self._dense:
                layout = self._layouts.contiguous(node.shape)
            else:
                layout = canonical(node)
            moved = layout if chain is None or type(node) is Scalar else chain.apply(layout)
            computed = computed or not isinstance(node, Buffer | Iota | Scalar | Undefined)
            known = self._leaves[reached] = Leaf(node, moved, computed)
        return known


def most_operations(target: Target, *, pointwise: bool) -> int:
    """Operations that a kernel may have, of which each element is computed by itself or not."""
    return _MOST_POINTWISE if pointwise and target.kind == "gpu" else MAX_OPERATIONS


def fits(pointers: int, rank: int, target: Target, *, scalars: int = 0) -> bool:
    """Whether a kernel over an index space of `rank` axes takes so many pointers and scalars."""
    # An address, an offset, a first element and strides; lengths, and what the kind of kernel needs besides.
    spent = pointers * (32 + 8 * rank) + 8 * scalars + 16 * rank + 32
    return pointers <= MAX_POINTERS and spent <= target.max_argument_bytes
