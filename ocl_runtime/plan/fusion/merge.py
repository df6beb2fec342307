"""Merges groups into kernels with several results, where that saves bytes.

Groups of one bundle have the same index space. It may have reduced axes; then each value is one of the row (it depends
on the kept axes only) or one of each element. What one group computes and another of the bundle reads at the same place
stays in registers, and is stored only if somebody else needs it. A bundle of reductions that depend on each other goes
through the elements once for each, and computes what the elements need again; values of the row are computed once.

`RULES` says which pairs are merged; what all pairs must fulfil besides is in `_Merger`: one index space, one order of
reduction, no third group between the two, and the limits of a kernel. No rule changes a bit of any result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeAlias

from ocl_ir.graph.build import Elementwise, Gather, Movement, Node, Reduce, Scalar
from ocl_ir.kernel.work import length
from ocl_ir.layout import Layout
from ocl_ir.types import COMPLEX_LANES
from ocl_runtime.plan.fusion.bundles import Bundle, Result
from ocl_runtime.plan.fusion.canonical import canonical
from ocl_runtime.plan.fusion.cost import choice
from ocl_runtime.plan.fusion.decisions import Attempt, Decisions
from ocl_runtime.plan.fusion.drafts import Draft
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.growing import fits, most_operations
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.neighbours import families
from ocl_runtime.plan.fusion.reduction_order import order
from ocl_runtime.plan.fusion.values import Fold, Leaf, Lookup, Operation, Value
from ocl_runtime.plan.target import Target

MAX_FOLDS = 8
_COUNTS = 4
"""Arguments with which a reduction is told how many rows, columns and parts there are."""
_TOO_MANY = "together they have more arguments than the device takes"
_MOST_LOOKED_AT = 1000
_MOST_SIBLINGS = 8


Rule: TypeAlias = Callable[[Draft, Draft], bool]
"""Whether two drafts, the first of which the second may read, should be one."""


def intermediate(first: Draft, second: Draft) -> bool:
    """An elementwise result is read by elementwise operations: they compute it too, and store it if it is wanted."""
    return first.axes is None and second.axes is None and _reads(second, first)


def prologue(first: Draft, second: Draft) -> bool:
    """An elementwise result is reduced: the reduction stores it."""
    return first.axes is None and second.axes is not None and _reads(second, first)


def epilogue(first: Draft, second: Draft) -> bool:
    """Only results of reductions, and what else there is of each row, are computed with."""
    return first.axes is not None and second.axes is None and _over_rows(first, second) and _reads(second, first)


def dependent(first: Draft, second: Draft) -> bool:
    """What a reduction gives is needed at every element of the same row: by another one, or elementwise."""
    return first.axes is not None and not _over_rows(first, second) and _reads(second, first)


def siblings(first: Draft, second: Draft) -> bool:
    """Two results are made of the same elements in memory, at the same places."""
    if (first.axes is None) != (second.axes is None) or _reads(second, first):
        return False
    return not first.memory.isdisjoint(second.memory)


RULES: tuple[Rule, ...] = (intermediate, prologue, epilogue, dependent, siblings)


def _reads(second: Draft, first: Draft) -> bool:
    return not second.computed.isdisjoint(first.roots)


def _over_rows(first: Draft, second: Draft) -> bool:
    """Whether a draft without reduced axes is over the kept axes of another one."""
    return second.axes is None and second.shape == first.kept


def bundles(
    groups: Sequence[Group],
    needed: Collection[Node],
    target: Target,
    layouts: Layouts,
    rules: Sequence[Rule] = RULES,
    decisions: Decisions | None = None,
) -> tuple[list[Bundle], dict[Node, str]]:
    """The groups merged by the rules, those first that others read; and why results of groups are stored. Those of the
    `needed` nodes are stored, if they are results of groups."""
    if sum(isinstance(value, Operation) for group in groups for value in group.values) > most_operations(
        target, pointwise=True
    ):
        groups = _as_soon_as_possible(groups)
    return _Merger(groups, needed, target, layouts, rules, decisions).run()


def _as_soon_as_possible(groups: Sequence[Group]) -> list[Group]:
    """The groups in an order in which each comes just behind what it reads: where not all fit in a kernel, those of
    some turns of a loop come before those of the next, and little is handed on. Of several, those first that read
    most."""
    level: dict[Node, int] = {}
    reads: dict[Node, int] = {}
    for group in groups:
        computed = {leaf.source for leaf in group.leaves if leaf.computed}
        level[group.root] = 1 + max([level[source] for source in computed], default=0)
        reads[group.root] = len(computed)
    return sorted(groups, key=lambda group: (level[group.root], -reads[group.root]))


class _Merger:
    def __init__(
        self,
        groups: Sequence[Group],
        needed: Collection[Node],
        target: Target,
        layouts: Layouts,
        rules: Sequence[Rule],
        decisions: Decisions | None,
    ) -> None:
        self._groups = groups
        self._decisions = decisions
        self._target = target
        self._rules = rules
        self._needed = frozenset(needed)
        self._layouts = layouts
        self._drafts: dict[int, Draft] = {}
        self._of: dict[Node, int] = {}
        """The draft of each group, by its root."""
        self._read_by: defaultdict[int, set[int]] = defaultdict(set)
        """The drafts that read a draft, and some that did before they were joined with others."""
        self._users: dict[Node, list[int]] = {}
        """The drafts that read some memory."""
        self._mergeable = {group.root for group in groups if self._is_mergeable(group)}
        self._why = {group.root: group.why for group in groups}
        self._number = {group.root: number for number, group in enumerate(groups)}
        self._readers: dict[Node, set[Node]] = {}
        """The roots of the groups that read what another group computes."""
        for group in groups:
            for leaf in group.leaves:
                if leaf.computed:
                    self._readers.setdefault(leaf.source, set()).add(group.root)

    def run(self) -> tuple[list[Bundle], dict[Node, str]]:
        for number, group in enumerate(self._groups):
            draft = self._draft(group)
            self._drafts[number] = draft
            self._of[group.root] = number
            draft.reads = frozenset([self._of[node] for node in draft.computed])
            for read in draft.reads:
                self._read_by[read].add(number)
            if group.root not in self._mergeable:
                continue
            here, refused = number, {number}
            for candidate in self._candidates(group):
                other = self._of[self._groups[candidate].root]
                if other not in refused and self._join(other, here):
                    here, refused = other, set()  # what is larger now may fit where the smaller one did not
                refused.add(other)
            for leaf in group.leaves:
                if not isinstance(leaf.source, Scalar):
                    self._users.setdefault(leaf.source, []).append(number)
        bundles = [self._bundle(self._drafts[number]) for number in self._in_order()]
        stored = {result.group.root for bundle in bundles for result in bundle.results}
        return bundles, {root: why for root, why in self._why.items() if root in stored}

    def _is_mergeable(self, group: Group) -> bool:
        """Whether a group may share its kernel: what is computed, also where a view of that is the result."""
        if self._layouts.is_empty(group.root.shape):
            return False
        if isinstance(group.root, Movement):
            return any(isinstance(value, Operation) for value in group.values)
        return isinstance(group.root, Elementwise | Gather | Reduce)

    def _draft(self, group: Group) -> Draft:
        if group.root not in self._mergeable:
            return Draft.of(group, group.shape, None, None, self._layouts)
        long, shape = self._layouts.long(group.shape)
        reduce = group.reduce
        if reduce is None:
            return Draft.of(group, shape, None, None, self._layouts)
        axes = tuple(axis_index for axis_index, axis in enumerate(long) if axis in reduce.axes)
        whole = canonical(reduce.arg)
        lies = Layout(shape, tuple(whole.strides[axis] for axis in long))
        joins = order(lies, axes, reduce.arg.dtype, reduce.accumulator, self._target, factor=reduce.factor)
        return Draft.of(group, shape, axes, joins, self._layouts)

    def _candidates(self, group: Group) -> list[int]:
        """Groups that this one could share a kernel with, by number: whose results it reads, the latest first, and then
        those that read the same memory."""
        sources = [leaf.source for leaf in group.leaves]
        read = sorted({self._of[leaf.source] for leaf in group.leaves if leaf.computed}, reverse=True)
        siblings = [user for source in sources for user in self._users.get(source, [])[-_MOST_SIBLINGS:]]
        return list(dict.fromkeys([*read, *sorted(siblings, reverse=True)]))

    def _join(self, number: int, other: int) -> bool:
        """Makes the second draft part of the first, if a rule says so and nothing forbids it."""
        first, second = self._drafts[number], self._drafts[other]
        if first.groups[0].root not in self._mergeable or second.groups[0].root not in self._mergeable:
            return False
        if _reads(first, second):
            first, second = second, first
        for rule in self._rules:
            if rule(first, second):
                break
        else:
            return False
        made, reason = self._joined(first, second)
        if made is not None and not self._apart(number, other):
            reason = "others that read one are read by the other"
            made = None
        if self._decisions is not None:
            self._decisions.attempts.append(Attempt(rule.__name__, first.roots, second.roots, reason))
        if made is None:
            for group in first.groups:
                if group.root in second.computed:
                    self._why[group.root] = f"{group.why}, and who reads it is another kernel: {reason}"
            return False
        made.reads = (first.reads | second.reads) - {number, other}
        for group in self._drafts.pop(other).groups:
            self._of[group.root] = number
        self._drafts[number] = made
        for read in made.reads:
            self._read_by[read].add(number)
        for reader in self._read_by.pop(other, set()) & self._drafts.keys():
            if reader != number:
                self._drafts[reader].reads = (self._drafts[reader].reads - {other}) | {number}
                self._read_by[number].add(reader)
        return True

    def _joined(self, first: Draft, second: Draft) -> tuple[Draft | None, str]:
        """Both as one draft, or why not."""
        made = first.joined(second)
        if first.axes is not None and second.axes is not None:
            if (first.shape, first.axes, first.order) != (second.shape, second.axes, second.order):
                return None, "it reduces other axes, or in another order"
        elif first.axes is None and second.axes is None:
            if first.shape != second.shape:
                return None, "it has another shape"
        else:
            reduces, other = (first, second) if second.axes is None else (second, first)
            if reduces.order is not None and reduces.order.lanes > COMPLEX_LANES[-1] and other.is_complex:
                return None, "it reduces in vectors of more lanes than there are of complex numbers"
            made = replace(made, shape=reduces.shape, axes=reduces.axes, order=reduces.order)
            if other.shape == reduces.kept:
                made.rows = made.rows | {group.root for group in other.groups}
            elif other.shape != reduces.shape:
                return None, "it has another shape"
        if not made.computed.isdisjoint(made.roots):
            results = {group.root: made.stored(group) for group in made.groups}
            values = [(group, value) for group in made.groups for value in group.values]
            read = [made.over(group, value) for group, value in values if isinstance(value, Leaf) and value.computed]
            if any(leaf.layout != results.get(leaf.source, leaf.layout) for leaf in read):
                return None, "it is read at other places"
            if any(isinstance(value, Lookup) and value.leaf.source in results for _, value in values):
                return None, "elements of it are taken in any order"
        return self._limited(made)

    def _limited(self, made: Draft) -> tuple[Draft | None, str]:
        """The draft, unless it is more than a kernel takes. To build it takes longest, so that is put off where it is
        surely too much, or surely little enough."""
        most = most_operations(self._target, pointwise=made.axes is None)
        if made.axes is None and not made.looks_up:
            wanted = made.roots & self._needed
            results = len(wanted) + sum([self._is_result(root, made.roots) for root in made.roots - wanted])
            least = len({source for source, _ in made.memory} - made.roots)
            rank, scalars = len(made.shape), len(made.scalars) + _COUNTS
            if not fits(least + results, rank, self._target, scalars=scalars):
                return None, _TOO_MANY
            if made.operations <= most and fits(len(made.memory) + results, rank, self._target, scalars=scalars):
                return made, ""
        bundle = self._bundle(made)
        turns, last = bundle.passes
        in_parts = made.order is not None and made.order.parts > 1
        if in_parts and (max(turns) > 1 or not all(result.row for result in bundle.results)):
            return None, "each result is reduced in parts, by several groups of work-items"
        for group, index in zip(bundle.groups, bundle.group_values, strict=True):
            if last[index] == turns[index] or group.reduce is not None or group.root in made.rows:
                continue
            operations, loads = bundle.work(index)
            stored = any(result.value == index for result in bundle.results)
            moved = group.root.dtype.size * (1 if stored else 2)
            preferred = choice(last[index] - turns[index], operations, loads, moved, self._target)
            if preferred.keeps:
                return None, f"it goes through the elements again, where {preferred}"
        leaves = [leaf for leaf in bundle.leaves if not isinstance(leaf.source, Scalar)]
        shared = made.order is None and not any(isinstance(value, Lookup) for value in bundle.values)
        reads = len(families((leaf.source, leaf.layout) for leaf in leaves)) if shared else len(leaves)
        scalars = len(bundle.leaves) - len(leaves) + _COUNTS
        if not fits(reads + len(bundle.results), len(made.shape), self._target, scalars=scalars):
            return None, _TOO_MANY
        if sum(length(value.op) for value in bundle.values if isinstance(value, Operation)) > most:
            return None, f"together they have more than {most} operations"
        if sum(isinstance(value, Fold) for value in bundle.values) > MAX_FOLDS:
            return None, f"together they have more than {MAX_FOLDS} reductions"
        return made, ""

    def _is_result(self, root: Node, roots: Collection[Node]) -> bool:
        """Whether the result of one group of a bundle that computes some nodes is stored."""
        if root in self._needed:
            return True
        readers = self._readers.get(root)
        return readers is not None and any(reader not in roots for reader in readers)

    def _apart(self, number: int, other: int) -> bool:
        """Whether no path leads from one draft to the other through a third."""
        for start, end in ((number, other), (other, number)):
            waiting = [read for read in self._drafts[start].reads if read != end]
            seen: set[int] = set(waiting)
            while waiting:
                here = waiting.pop()
                if here == end or len(seen) > _MOST_LOOKED_AT:
                    return False
                new = self._drafts[here].reads - seen
                seen |= new
                waiting += new
        return True

    def _in_order(self) -> list[int]:
        """The drafts, those first that others read."""
        done: dict[int, None] = {}
        for number in sorted(self._drafts):
            stack = [number]
            while stack:
                here = stack[-1]
                waiting = [read for read in sorted(self._drafts[here].reads) if read not in done]
                if waiting and here not in done:
                    stack += waiting
                else:
                    done.setdefault(here)
                    stack.pop()
        return list(done)

    def _bundle(self, draft: Draft) -> Bundle:
        """A draft as it is tried, and may stay."""
        if draft.bundle is None:
            draft.bundle = self._made(draft)
        return draft.bundle

    def _made(self, draft: Draft) -> Bundle:
        """The values of all groups over one index space, each once."""
        groups = tuple(sorted(draft.groups, key=lambda group: self._number[group.root]))
        if len(groups) == 1 and draft.axes is None:
            group = groups[0]
            last = len(group.values) - 1
            return Bundle(groups, group.shape, group.values, (last,), (Result(group, last, False),))
        values: dict[Value, int] = {}
        made: dict[Node, int] = {}
        for group in groups:
            indices: list[int] = []
            for own in group.values:
                value: Value = own
                if type(own) is Operation:
                    value = Operation(own.op, own.dtype, tuple([indices[arg] for arg in own.args]))
                elif type(own) is Leaf:
                    if own.computed and own.source in made:
                        indices.append(made[own.source])
                        continue
                    value = draft.over(group, own)
                elif type(own) is Lookup:
                    value = Lookup(own.leaf, tuple([indices[arg] for arg in own.args]))
                indices.append(values.setdefault(value, len(values)))
            result, reduce = indices[-1], group.reduce
            if reduce is not None:
                fold = Fold(reduce.op, reduce.accumulator, reduce.dtype, result)
                result = values.setdefault(fold, len(values))
            made[group.root] = result
        results = tuple(
            Result(group, made[group.root], group.reduce is not None or group.root in draft.rows)
            for group in groups
            if self._is_result(group.root, made)
        )
        group_values = tuple(made[group.root] for group in groups)
        return Bundle(groups, draft.shape, tuple(values), group_values, results, draft.axes or (), draft.order)
