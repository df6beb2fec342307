"""Computes nodes, and lets everything that was made of them know.

Arrays are computed under the registry's lock. What may take long, planning, building, and waiting for memory that
commands use still, is done before it is taken (`Missing`), so that no thread waits for what another one lacks.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple

from ocl_ir.graph.build import Buffer, Node
from ocl_ir.graph.forward import forward, turned_back
from ocl_ir.source_line import Where
from ocl_runtime.errors import LaunchError, NoRoomYetError, OutOfMemoryError
from ocl_runtime.plan.cache.routines import Routine, RoutinePlan
from ocl_runtime.plan.history import NO_HISTORY, History, history
from ocl_runtime.plan.readers import readers_of
from ocl_runtime.plan.registry import Cell
from ocl_runtime.plan.structure import Structure
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.cache.evaluation import Evaluation
    from ocl_runtime.plan.cache.plans import Wanted
    from ocl_runtime.plan.donation import DonationIndices
    from ocl_runtime.plan.executor import Executor


_MOST_MISSES = 200
"""Evaluations in a row that a function was not written for, before it is given up."""


class Missing(NamedTuple):
    """What an evaluation lacks: a plan, with its kernels built, or room in memory. It holds none of the nodes that are
    to be computed, since others may compute them meanwhile."""

    make: Callable[[], None]
    """Plans and builds, and raises what these raise; or waits for the commands that use the memory."""
    is_plan: bool = True


def _make(wanted: Wanted, executor: Executor) -> None:
    with executor.registry.evaluating:
        executor.plans.make(wanted, executor)


def evaluate_if_planned(
    nodes: list[Node], cells: Sequence[Cell | None], executor: Executor, *, make: bool = False
) -> list[Buffer] | Missing:
    """The results of nodes, which are as they are by now (`current`) and become the cells that were just these nodes;
    None for a node that no cell is. This is where there is a plan and room, or both are to be made here; else it does
    nothing, and says what is missing, which is to be made without the lock. The registry's lock is held.

    The list is emptied: whether somebody else holds a node decides who has to hear of its result.
    """
    registry = executor.registry
    registry.evaluations += 1
    evaluating = registry.evaluating
    before = evaluating.holder
    try:
        evaluating.holder = get_ident()
        if tracer.get() is None:
            results = _repeated(nodes, cells, executor)
            if results is not None:
                return results
        return _evaluated(nodes, cells, executor, make=make)
    except NoRoomYetError as error:
        return Missing(error.wait, is_plan=False)
    finally:
        evaluating.holder = before


def _repeated(
    nodes: list[Node], cells: Sequence[Cell | None], executor: Executor, *, into: bool = False
) -> list[Buffer] | None:
    """The results of nodes, which become cells, where a function was written for them at this line, and the list is
    emptied; else None, and nothing has changed. With `into`, there are none: the first node is computed into the memory
    of the second. Not while a function is captured."""
    lines = executor.plans.lines
    for known in lines.known.get((nodes[0].line, into), ()) if nodes else ():
        evaluate = known.evaluate
        if evaluate is not None:
            results = evaluate(nodes, cells, executor)
            if results is not None:
                known.misses = 0
                known.kept.used = next(lines.clock)
                lines.hits += 1
                return results
            known.misses += 1
            if known.misses > _MOST_MISSES:
                known.evaluate, known.count, known.misses = None, 0, 0  # it may be worth another one later
    return None


def evaluate_routine(
    key: Hashable, operands: Sequence[Node], executor: Executor, line: Where
) -> tuple[Buffer, ...] | None:
    """What a routine gives of operands, by the key that it has with them (`key_of`), for a Python line; None, and
    nothing has changed, where no plan for that is kept, or its memory has to be waited for. Not while a function is
    captured."""
    registry, routines = executor.registry, executor.plans.routines
    with registry.lock:
        plan = routines.plan(key)
        if plan is None:
            return None
        evaluating = registry.evaluating
        before = evaluating.holder
        try:
            evaluating.holder = get_ident()
            results = plan.evaluate(operands, executor, line)
        except (OutOfMemoryError, NoRoomYetError):
            return None
        finally:
            evaluating.holder = before
        registry.evaluations += 1
        routines.hits += 1
        return results


def note_routine(key: Hashable, routine: Routine, operands: Sequence[Node], executor: Executor) -> None:
    """A routine has been evaluated over operands by its nodes."""
    plans = executor.plans
    with executor.registry.lock:
        if plans.routines.is_due(key):
            results = routine(*operands)
            distinct = list(dict.fromkeys(results))
            structure = Structure(distinct)
            roots = [structure.roots[distinct.index(result)] for result in results]
            del results, distinct  # what only the structure holds nobody else needs
            plans.routines.keep(key, RoutinePlan.of(structure, plans.of(structure), operands, roots))


def evaluate_into(node: Node, target: Buffer, executor: Executor, *, make: bool) -> Missing | None:
    """Computes a node into the memory of a buffer; unless plan and room are to be made where they are missing, says
    what is. The registry's lock is held."""
    registry = executor.registry
    registry.evaluations += 1
    evaluating = registry.evaluating
    before = evaluating.holder
    try:
        evaluating.holder = get_ident()
        repeats = tracer.get() is None and not executor.is_watched
        if repeats and _repeated([node, target], (), executor, into=True) is not None:
            return None
        structure = Structure([node, target], into=True)
        planned = executor.plans.plan(structure, executor) if make else executor.plans.known(structure, executor)
        if planned is None:
            executor.announce([node])
            return Missing(partial(_make, executor.plans.wanted(structure, executor), executor))
        executor.ready(planned)
        if repeats:
            executor.plans.lines.note(structure, planned, executor.device_memory, NO_HISTORY)
        try:
            executor.run(planned)
        except LaunchError as error:
            _is_measured_variant(planned, executor, error)  # the next evaluation has another one
            raise
    except NoRoomYetError as error:
        return Missing(error.wait, is_plan=False)
    finally:
        evaluating.holder = before
    return None


def _evaluated(
    nodes: list[Node], cells: Sequence[Cell | None], executor: Executor, *, make: bool
) -> list[Buffer] | Missing:
    wanted, plans = _not_computed(nodes), executor.plans
    for keeping in (True, False):
        structure, donation, past = _structure(wanted, executor, keeping=keeping)
        try:
            planned = plans.plan(structure, executor) if make else plans.known(structure, executor, donation)
            break
        except OutOfMemoryError:
            if not keeping:
                raise
    if planned is None:
        executor.announce(wanted)
        return Missing(partial(_make, plans.wanted(structure, executor), executor))
    for value in past.left_out:
        value.left_out = True
    executor.ready(planned)
    comes_again = past is NO_HISTORY or past.kept or past.left_out
    if comes_again and tracer.get() is None and not executor.is_watched:
        plans.lines.note(structure, planned, executor.device_memory, past)
    del past
    planned.hand_over(executor.handed_over)  # before the first launch: whatever comes, nobody reads what it wrote
    refused = False
    try:
        executor.run(planned)
    except LaunchError as error:
        refused = _is_measured_variant(planned, executor, error)
        if not refused:
            raise
    if refused:
        del planned, structure, wanted  # who holds nodes decides what may be written over
        return _evaluated(nodes, cells, executor, make=make)
    made = planned.computed
    results = [node if isinstance(node, Buffer) else made[node] for node in nodes]
    for cell, result in zip(cells, results, strict=True):
        if cell is not None:
            cell.become(result)
    known = [(weakref.ref(node), result) for node, result in made.items()]
    known += [(weakref.ref(base), back) for pair in made.items() for base, back in turned_back(*pair)]
    nodes.clear()
    del planned, structure, made, wanted
    for reference, result in known:
        node = reference()
        if node is not None:  # somebody has built on it
            forward(node, result)
    return results


def _is_measured_variant(planned: Evaluation, executor: Executor, error: LaunchError) -> bool:
    """Whether the driver refused an evaluation with a measured variant, which is forgotten then with all plans, and the
    evaluation can be done again, since it has written over nothing. What reads spoilt memory has no cause."""
    choices = executor.choices
    if choices is None or error.__cause__ is None or not choices.failed(planned.template.distinct, error):
        return False
    executor.plans.forget()
    return not planned.template.taken


def _structure(
    wanted: list[Node], executor: Executor, *, keeping: bool = True
) -> tuple[Structure, DonationIndices | None, History]:
    """That of some nodes, with what becomes a result besides: what others need of memory that is written over, and what
    they hold that is computed on the way, where memory is not short."""
    structure = Structure(wanted)
    kept = executor.plans.of(structure)
    donation = kept.donation(structure)
    if not (donation.computes or structure.writes):
        return structure, donation, NO_HISTORY
    needed = [structure.nodes[index] for index in donation.needed]
    copied = readers_of(structure, needed, kept.later) if structure.writes else []
    del needed
    if not donation.computes:
        past = NO_HISTORY
    elif keeping:
        past = history(structure, kept.holders, executor.target)
    else:
        past = History({}, [])  # which another evaluation would not be like
    if not (copied or past.kept):
        return structure, donation, past
    structure.add([*copied, *past.kept], copied)
    return structure, None, past


def _not_computed(roots: Sequence[Node]) -> list[Node]:
    return [root for root in dict.fromkeys(roots) if not isinstance(root, Buffer)]


def look(nodes: Callable[[], list[Node]], executor: Executor) -> str:
    """What computing would do, as text; nothing where there is nothing to compute. What it takes to find out is not
    kept, since no kernel of it is built, and done without the registry's lock, under which `nodes` is asked."""
    from ocl_runtime.plan.cache.evaluation import Evaluation
    from ocl_runtime.plan.cache.slots import Slots
    from ocl_runtime.plan.cache.template import Template
    from ocl_runtime.plan.cache.unplanned import Unplanned
    from ocl_runtime.plan.explain import explain

    plans, slots = executor.plans, Slots(executor.target, executor.kernels, choices=executor.choices)
    drafts: dict[tuple[object, ...], Template] = {}

    def attempt() -> str | tuple[tuple[object, ...], Unplanned]:  # after which it holds none of the nodes
        wanted = _not_computed(nodes())
        if not wanted:
            return ""
        structure, _, past = _structure(wanted, executor)
        kept = plans.of(structure)
        donation = kept.donation(structure)
        draft = structure.key, structure.sizes, donation
        template = kept.fitting(structure.sizes, donation) or drafts.get(draft)
        if template is None:
            return draft, Unplanned(structure, donation)
        evaluation = Evaluation(template, template.sized(structure), structure, slots.allocate)
        return explain(evaluation, structure.storages, past.kept)

    while True:
        with executor.registry.lock:
            outcome = attempt()
        if isinstance(outcome, str):
            return outcome
        draft, unplanned = outcome
        drafts[draft] = Template(unplanned, slots)
