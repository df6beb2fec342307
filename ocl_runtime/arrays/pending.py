"""Long pending work is started by itself, in parts that are alike.

    for _ in range(10_000):
        x = 0.5 * (x + ocl.roll(x, 1))

Nobody has to know when to call `compute`. What an array is grows by each turn; once it is as deep as a bound, and some
Python line stands in it more than once, it is computed as far as it goes, without waiting. From then on that line is
where parts of this loop are cut: each has the same whole number of turns, and all but the first and the last share one
plan; and another run of the loop has the parts of this one. One long expression without a loop is never cut.

A part starts as the next array is made that has so much below it: by then the statement that made the part is over, and
what only this statement needed, such as the array that it replaces, is gone and can be written over.
"""

from __future__ import annotations

import signal
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from functools import partial
from itertools import islice
from operator import attrgetter
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import ref

from ocl_ir.graph.build import Movement, Node, walk
from ocl_ir.graph.forward import current
from ocl_ir.graph.nodes import cost, deepen
from ocl_ir.source_line import Line
from ocl_runtime.plan.registry import Cell, Registry
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

BOUND = 256
"""Cost of what stands above each other, in operations, that is left pending."""
_TURNS = 16
"""Of which a part has a multiple."""
_MOST = 8 * BOUND
"""A part costs no more than this, unless a single turn does."""
_NEVER = frozenset({"__del__", "__repr__", "__str__", "__format__"})
"""Functions in which nothing is started, beside handlers of signals and what `weakref.finalize` calls."""

_MOST_MEASURED = 2 * _MOST
"""Nodes that are looked at when depths are noted anew."""

Compute: TypeAlias = Callable[["Executor", ref[Node], ref[Cell]], object]
"""Computes a node, and makes it the result of a cell that is just this node; nothing where it is gone or computed."""


def relieve(node: Node, cell: Cell, executor: Executor, compute: Compute) -> None:
    """Has work started that is pending below a node, which a cell is, if it is time: at a line where parts are cut,
    once a part costs enough; such a line is found, at every so much, where one comes again and no such line that
    will do is in between. What fails there is raised where the values are asked for. Nothing is started in a captured
    function, amid an evaluation of this thread, or where work must not begin: in a finalizer, a handler of a signal, a
    `repr`."""
    if tracer.get() is not None:
        return
    registry, line = executor.registry, node.line
    own = registry.pending  # this thread's
    own.newest.append(ref(node))
    threshold = registry.threshold(line)
    if own.part is None and (_is_early(node) if threshold is None else node.depth < threshold):  # nearly always
        return
    if get_ident() in registry.evaluating:
        return
    if own.part is not None:
        if _is_amid_more():
            return
        part, own.part = own.part, None
        part.start(registry)
        _measure(own.newest)  # in front of the part, or beside it: what they stand on is computed now
        if node.depth < BOUND:
            own.measured = registry.evaluations
            return
        own.measured = -1  # something older is deep, or seems to be
        threshold = registry.threshold(line)  # of a part that failed, it is another one
        if _is_early(node) if threshold is None else node.depth < threshold:
            return
    if not isinstance(line, Line):
        return
    if threshold is None:
        if registry.passes(line, node.depth):
            return
        pending, turn, other, state = _chain(node, line, registry, node.depth)
        if turn and pending >= max(BOUND, 2 * other):
            threshold = _threshold(turn)
            registry.cut(state, threshold)
            if state is not line:
                return
        elif other:
            registry.passed(line, 2 * other)
    else:
        # Where nothing else was computed since the depths were measured, it need not be looked through.
        measured = own.measured == registry.evaluations
        pending = node.depth if measured else _chain(node, line, registry, threshold).pending
    if threshold is not None and pending >= threshold:
        own.part = _Scheduled(node, cell, line, threshold, partial(compute, executor))


def _is_early(node: Node) -> bool:
    """Whether a node does not stand deep enough for its loop to be looked for. For that, the whole of it is looked
    through at 256, 512, 1,024, …: so it takes no longer than making it."""
    rounds = node.depth // BOUND
    return bool(rounds & (rounds - 1)) or _depth_below(node) >= rounds * BOUND


def _depth_below(node: Node) -> int:
    """That of the deepest array below a node."""
    args = node.args
    while args:
        node = max(args, key=attrgetter("depth"))
        if node.cell is not None:
            return node.depth
        args = node.args  # once: another thread may be computing it
    return 0


def _measure(newest: Iterable[ref[Node]]) -> None:
    """Notes the depths of arrays anew, and of all nodes below them."""
    arrays = [array for reference in tuple(newest) if (array := reference()) is not None]
    for node in islice(walk(*arrays), _MOST_MEASURED):
        if node.args:
            deepen(node)


def _is_amid_more() -> bool:
    """Whether the calling code is a part of something that must not start any work."""
    handlers = {_FINALIZE, *[_code(handler) for handler in map(_handler_of, _SIGNALS) if callable(handler)]}
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
        if code.co_name in _NEVER or code.co_name.startswith("_repr_") or code in handlers:
            return True
    return False


def _code(function: object) -> object:
    """The code of a function, a method, or an object that can be called; None of what is not Python."""
    function = getattr(function, "__func__", function)
    call = getattr(type(function), "__call__", None)  # noqa: B004 what is called, not whether
    return getattr(function, "__code__", None) or getattr(call, "__code__", None)


_FINALIZE = _code(weakref.finalize.__call__)
_SIGNALS = [*map(int, signal.valid_signals())]
# What `signal` makes of it, an enumeration where there is no handler, takes ten times as long.
_handler_of = getattr(sys.modules.get("_signal"), "getsignal", signal.getsignal)


class _Scheduled:
    """A part that is to be started, on the stream that is chosen now. It keeps nothing of what it computes alive, and
    nothing of the context or the runtime once that is gone."""

    def __init__(
        self, node: Node, cell: Cell, line: Line, threshold: int, compute: Callable[[ref[Node], ref[Cell]], object]
    ) -> None:
        self._line = line
        self._threshold = threshold
        self._node = ref(node, self._forget)
        self._compute: Callable[[], object] | None = partial(copy_context().run, compute, self._node, ref(cell))

    def _forget(self, _: ref[Node]) -> None:
        self._compute = None

    def start(self, registry: Registry) -> None:
        """Starts it, unless somebody has computed it since. If that fails, twice as much is pending the next time."""
        compute = self._compute
        if compute is None:
            return
        try:
            compute()
        except Exception:
            registry.cut(self._line, 2 * self._threshold)


def _threshold(turn: int) -> int:
    """What a part of a loop costs whose turns cost so much: as many turns after which sizes that change by one each
    time can be divided as before, if that is not too much. Half a turn less, so that no odd operation makes it one
    more."""
    turns = -(-BOUND // (turn * _TURNS)) * _TURNS
    return min(turns, max(_MOST // turn, 1)) * turn - turn // 2


def _deepest_of(nodes: Sequence[Node]) -> Node:
    """The deepest of some nodes, as it is by now; of a view, what it looks at."""
    deepest, most = nodes[0], -1
    for node in nodes:
        below, args = node, node.args
        if args and type(node) is Movement:
            below = args[0]
            args = below.args
        depth = below.depth if args else 0
        if depth > most:
            deepest, most = below, depth
    return current(deepest) if deepest.result is not None or type(deepest) is Movement else deepest


class _Chain(NamedTuple):
    """What nodes cost that stand above each other; how much of it a turn of a loop does, if it is one; what parts cost
    that are cut at other lines of the turn, 0 if none is; and the line of what a turn hands on to the next."""

    pending: int
    turn: int
    other: int
    state: Line


def _chain(node: Node, line: Line, registry: Registry, most: int) -> _Chain:
    """That below a node, up to a limit. A turn is from one node that was made at a line to the next."""
    length = turns = last = arrays = 0
    cut_at, state = 0, line
    above: list[tuple[Node, int]] = []
    below = current(node)
    args = below.args
    while args and length <= most:
        above.append((below, length))
        other = below.line
        if below.cell is not None and below is not node and isinstance(other, Line):  # an array, not a part of one
            arrays += 1
            is_held = below.cell() is not None
            if other is line:
                if not turns and is_held:
                    state = line
                turns, last = turns + 1, length
            elif not turns:
                cut_at = max(cut_at, registry.threshold(other) or 0)
                # What only a statement needs is gone by now, but for the operand of its newest operation.
                if is_held and arrays > 1 and state is line:
                    state = other
        length += cost(below)
        below = _deepest_of(args)
        args = below.args
    if not args:
        for passed, before in above:  # some of what was below has been computed since
            passed.depth = length - before
    return _Chain(length, last // turns if turns else 0, cut_at, state)
