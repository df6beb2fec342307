"""Plans by structure: the most recently used ones of an executor.

The key is the expression without memory, sizes and scalars (`structure.py`), with what of it may be written over
(`donation.py`). Running a plan again binds memory, sizes and numbers, and builds nothing.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol

from ocl_ir.graph.build import Storage
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.source_line import Where
from ocl_runtime.errors import Error
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.plan.cache.known_lines import KnownLines
from ocl_runtime.plan.cache.routines import Routines
from ocl_runtime.plan.cache.slots import Slot, leaf_slots, named
from ocl_runtime.plan.cache.stored import Compiling, StoredPlans
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.cache.unplanned import Unplanned
from ocl_runtime.plan.donation import DonationIndices, Holders
from ocl_runtime.plan.readers import read_by_later_writes
from ocl_runtime.plan.structure import Structure

_MOST_PLANS = 1024
_MOST_BYTES = 256 * 2**20
"""Of the host's memory for plans, as far as `Template.nbytes` tells."""
_MOST_ALIKE = 32
"""Plans for one structure, which differ in what they decide by sizes."""


@dataclass(frozen=True)
class PlanStatistics:
    """Counts of plans since the cache was made: found there, made, read from disk, dropped; the structures that it has
    plans for now, and an estimate of the bytes that these take of the host's memory."""

    hits: int
    misses: int
    loaded: int
    evictions: int
    plans: int
    nbytes: int


class Building(Compiling, Protocol):
    """Who builds kernels, too."""

    @property
    def stored_plans(self) -> StoredPlans | None:
        """The plans on disk for this executor, if it uses any."""

    def build(self, kernels: Sequence[Kernel]) -> None:
        """Builds those that are not built yet."""

    def allocate(self, nbytes: int, where: Where = "", *, wait: bool = True) -> Storage:
        """Memory of `nbytes` bytes. Raises `OutOfMemoryError`; and, unless it may `wait`, `NoRoomYetError`."""

    def bind(self, template: Template) -> None:
        """Binds a plan for the sizes that it was made for, if that is possible before it runs."""


_NOTHING = DonationIndices((), ())


class Kept:
    """The plans for one structure, by what may be written over; `used` counts with the cache. `later` is what
    `read_by_later_writes` finds."""

    __slots__ = ("_making", "absent", "counted", "holders", "is_dropped", "later", "templates", "used")

    def __init__(self, structure: Structure) -> None:
        self.used = 0
        self.counted = 0
        """The bytes of its plans that the cache has counted."""
        self.is_dropped = False
        self.holders = Holders(structure)
        self.later = read_by_later_writes(structure)
        self.templates: dict[DonationIndices, list[Template]] = {}
        self.absent: set[tuple[DonationIndices, tuple[int, ...]]] = set()
        """What was looked for on disk, and was not there."""
        self._making: dict[DonationIndices, threading.RLock] = {}

    def donation(self, structure: Structure) -> DonationIndices:
        """What only an expression needs; of what is computed into memory that is there, nothing is written over, and
        nothing else is kept."""
        return _NOTHING if structure.into else self.holders.donation(structure)

    @property
    def nbytes(self) -> int:
        """About how many bytes the plans take."""
        return sum(template.nbytes for alike in self.templates.values() for template in alike)

    def fitting(self, sizes: tuple[int, ...], donation: DonationIndices) -> Template | None:
        """A plan that serves sizes."""
        templates = self.templates.get(donation, [])
        for template in templates:
            if template.knows(sizes):
                return template
        bound = named(sizes)
        return next((template for template in reversed(templates) if template.fits(bound)), None)

    def keeps(self, template: Template) -> bool:
        """Whether this is one of the plans still."""
        return not self.is_dropped and any(template in alike for alike in self.templates.values())

    def forget(self, donation: DonationIndices) -> None:
        """Nobody makes such a plan any more."""
        self._making.pop(donation, None)

    def making(self, donation: DonationIndices) -> threading.RLock:
        """Held by who makes such a plan without the registry's lock."""
        return self._making.setdefault(donation, threading.RLock())


class Wanted(NamedTuple):
    """A plan that is missing, for a structure, by its key, and where it is to be kept; and the expression, unless the
    plan is to be looked for on disk first, or is there, and to be arranged for leaves of so many bytes."""

    structure: Hashable
    sizes: tuple[int, ...]
    donation: DonationIndices
    kept: Kept
    leaves: Sequence[Slot]
    unplanned: Unplanned | None


def _built(template: Template, executor: Building, *, loaded: bool = False) -> bool:
    """Builds the kernels of a plan; False where it was a measured variant that could not be built, which is forgotten,
    so that the plan is to be made again. One that was `loaded` does not say what it follows from: made again, it does.
    Raises what building raises."""
    choices = executor.choices
    try:
        executor.build(template.distinct)
    except Error as error:
        if choices is None or not (choices.failed(template.distinct, error) or (loaded and choices.digest())):
            raise
        return False
    return True


class PlanCache:
    """The most recently used plans of one executor. Used under the registry's lock, but for `make`."""

    def __init__(self, limit: int = _MOST_PLANS, most_bytes: int = _MOST_BYTES) -> None:
        self._limit = limit
        self._most_bytes = most_bytes
        self._kept: dict[Hashable, Kept] = {}
        self._clock = itertools.count(1)
        self.lines: Final = KnownLines(self._clock)
        """What the lines of programs evaluate again and again."""
        self.routines: Final = Routines(self._clock)
        """What the library itself does."""
        self._hits = self._misses = self._loaded = self._evictions = self._nbytes = 0
        self._lock = threading.RLock()
        """Held for single steps of these."""

    def known(
        self,
        structure: Structure,
        executor: Building,
        donation: DonationIndices | None = None,
        *,
        at_once: bool = False,
    ) -> Evaluation | None:
        """The plan that computes the roots of an expression, with memory allocated for it; None where none was made.
        Unless all is to be done `at_once`, gives None, too, where it takes long to arrange it for these sizes, and
        raises `NoRoomYetError` where memory has to be waited for.
        `donation` is what `Kept.donation` has just said, if anybody has asked."""
        kept = self.of(structure)
        kept.used = next(self._clock)
        template = kept.fitting(structure.sizes, donation or kept.donation(structure))
        if template is None or not (at_once or template.is_arranged(structure.sizes)):
            return None
        before = template.nbytes
        sized = template.sized(structure)
        if template.nbytes != before:
            self._count(kept)
        planned = Evaluation(template, sized, structure, partial(executor.allocate, wait=at_once))
        self._hits += template.used  # the first who asks is who it was made for
        template.used = True
        return planned

    def plan(self, structure: Structure, executor: Building) -> Evaluation:
        """The same, made where it is missing."""
        planned = self.known(structure, executor, at_once=True)
        if planned is None:
            kept = self.of(structure)
            donation = kept.donation(structure)
            self._keep(kept, donation, Template(Unplanned(structure, donation, executor.watch_fusion), executor))
            planned = self.known(structure, executor, at_once=True)
            assert planned is not None, "what has just been made fits"
        return planned

    def wanted(self, structure: Structure, executor: Building) -> Wanted:
        """What `make` needs of an expression that `known` did not find."""
        kept = self.of(structure)
        donation = kept.donation(structure)
        stored = executor.stored_plans
        is_known = stored is None or not stored.takes() or (donation, structure.sizes) in kept.absent
        leaves = leaf_slots(structure.storages)
        is_there = kept.fitting(structure.sizes, donation) is not None
        unplanned = Unplanned(structure, donation, executor.watch_fusion) if is_known and not is_there else None
        return Wanted(structure.key, structure.sizes, donation, kept, leaves, unplanned)

    def make(self, wanted: Wanted, executor: Building) -> None:
        """Makes a plan, and builds its kernels; arranges one; or finds out whether it is on disk. Of threads that want
        the same, one makes it."""
        structure, sizes, donation, kept, leaves, unplanned = wanted
        stored = executor.stored_plans
        with kept.making(donation):
            template = kept.fitting(sizes, donation)
            if template is not None:
                if not template.is_arranged(sizes):
                    template.arrange(sizes, leaves)
                    self._count(kept)
                return
            choices = executor.choices
            generation = 0 if choices is None else choices.generation
            if unplanned is not None:
                template = Template(unplanned, executor)
                if stored is not None:  # else somebody may look on
                    template.let_go()
                    unplanned.guards.let_go()
                if not _built(template, executor) or (choices is not None and choices.generation != generation):
                    return  # what was measured says something else by now: who wants the plan asks for another one
                if stored is not None:
                    executor.bind(template)
                elif not template.is_arranged(sizes):
                    template.arrange(sizes, leaves)
                self._keep(kept, donation, template)
                kept.absent.discard((donation, sizes))
                if stored is not None:
                    stored.keep(structure, donation, template, executor)
                    template.bound = None
            elif stored is not None:
                loaded = stored.find(structure, donation, sizes, executor)
                if loaded is None or not _built(loaded, executor, loaded=True):
                    kept.absent.add((donation, sizes))
                else:
                    self._keep(kept, donation, loaded, loaded=True)

    def forget(self) -> None:
        """Drops all plans: what they follow from has changed."""
        with self._lock:
            for key in list(self._kept):
                self._drop(key)

    def of(self, structure: Structure) -> Kept:
        """What is kept for a structure."""
        known: Kept | None = structure.kept  # a key takes long to hash
        if known is not None:
            return known
        with self._lock:
            kept = self._kept.get(structure.key)
            if kept is None:
                if len(self._kept) >= self._limit:
                    self._drop(min(self._kept.items(), key=lambda item: item[1].used)[0])
                kept = self._kept[structure.key] = Kept(structure)
                kept.used = next(self._clock)
            structure.kept = kept
            return kept

    def _keep(self, kept: Kept, donation: DonationIndices, made: Template, *, loaded: bool = False) -> None:
        with self._lock:
            self._misses += not loaded
            self._loaded += loaded
            templates = dict(kept.templates)  # another thread may be looking
            alike = [*templates.get(donation, ()), made]
            templates[donation], dropped = alike[-_MOST_ALIKE:], alike[:-_MOST_ALIKE]
            for oldest in list(templates)[: len(templates) - _MOST_ALIKE]:
                dropped += templates.pop(oldest)
                kept.forget(oldest)
            kept.templates = templates
            self._evictions += len(dropped)
            self._forget(dropped)
            self._count(kept)

    def _count(self, kept: Kept) -> None:
        """Counts the memory of the plans for a structure anew; drops those that were not used for the longest time, if
        all take too much."""
        with self._lock:
            if kept.is_dropped:
                return
            nbytes = kept.nbytes
            self._nbytes += nbytes - kept.counted
            kept.counted = nbytes
            if self._nbytes <= self._most_bytes:
                return
            for key, _ in sorted(self._kept.items(), key=lambda item: item[1].used)[:-1]:
                self._drop(key)
                if self._nbytes > self._most_bytes:
                    continue
                break

    def _drop(self, key: Hashable) -> None:
        kept = self._kept.pop(key)
        kept.is_dropped = True
        dropped = [template for alike in kept.templates.values() for template in alike]
        self._nbytes -= kept.counted
        self._evictions += max(len(dropped), 1)
        self._forget(dropped)

    def _forget(self, dropped: Collection[Template]) -> None:
        self.lines.forget(dropped)
        self.routines.forget(dropped)

    @property
    def statistics(self) -> PlanStatistics:
        """How the cache did so far."""
        hits = self._hits + self.lines.hits + self.routines.hits
        return PlanStatistics(hits, self._misses, self._loaded, self._evictions, len(self._kept), self._nbytes)
