"""Plans that are made once: for an expression and all that are like it.

The key is the expression without memory, sizes and scalars (`structure.py`), with what of it may be written over
(`donation.py`). A plan is made by running the planner over memory that is only numbered, sizes that keep their formula
(`ocl_ir.guards`), and scalars that are not known. What the planner decides by sizes are guards; other sizes that pass
them use the same plan. Running it again binds numbers to memory and sizes to formulas: no group is formed, no kernel
looked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from ocl_ir.graph.build import Buffer, Elements, Node, Storage
from ocl_ir.guards import Backed, Given, Guards, formula, plain
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.sizes import value
from ocl_ir.source_line import Where
from ocl_runtime.plan.donation import Donation, DonationPlaces, Holders
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.launch import Address, Argument, InPlace, Later, Launch, Plan, passed
from ocl_runtime.plan.planner import Planning, plan
from ocl_runtime.plan.spread import spread
from ocl_runtime.plan.structure import Structure
from ocl_runtime.plan.target import Target

_MOST_PLANS = 1024
_MOST_ALIKE = 32
"""Plans for one structure, which differ in what they decide by sizes."""
_MOST_BOUND = 64
"""Sizes for which a plan stays bound."""


@dataclass(frozen=True)
class PlanStatistics:
    """Counts since the cache was made, and the structures that it has plans for now."""

    hits: int
    misses: int
    evictions: int
    plans: int


Asker: TypeAlias = int | Where
"""The Python line that asked for something, or the number of the node that has it."""


class Slot:
    """Memory in a plan: number `place` of what it is bound to."""

    __slots__ = ("__weakref__", "nbytes", "place", "where")

    def __init__(self, place: int, nbytes: int = 0, where: Where = "") -> None:
        self.place = place
        self.nbytes = nbytes
        self.where = where


@dataclass
class Slots:
    """What the planner needs of an executor; its memory is slots."""

    target: Target
    kernels: KernelCache
    first: int = 0
    slots: list[Slot] = field(default_factory=list)

    def allocate(self, nbytes: int, where: Where = "") -> Slot:
        """A slot that is allocated when the plan runs."""
        slot = Slot(self.first + len(self.slots), nbytes, where)
        self.slots.append(slot)
        return slot


@dataclass(slots=True)
class Bound:
    """A plan for some sizes: bytes to allocate, launches over slots, and for each result its node, the slot of its
    memory if it has any, and how it lies there. `prepared` is what the executor made of the launches, to run them
    again."""

    memory: Sequence[tuple[int, Asker]]
    launches: Sequence[tuple[Launch, Asker]]
    computed: Sequence[tuple[int, int | None, Elements]]
    prepared: Any = None


class Evaluation:
    """A plan for memory, sizes and scalars: a `Plan` whose parts are made when they are asked for."""

    __slots__ = ("_structure", "_template", "bound", "storages")

    def __init__(self, template: Template, bound: Bound, structure: Structure, storages: list[Storage]) -> None:
        self._template = template
        self._structure = structure
        self.bound = bound
        self.storages = storages
        """By slot."""

    def line(self, asker: Asker) -> Where:
        """The Python line of this evaluation."""
        return self._structure.nodes[asker].line if isinstance(asker, int) else asker

    def numbers(self, given: Sequence[Later]) -> list[bool | int | float]:
        """Scalar arguments."""
        scalars = self._structure.scalars
        return [passed(plain(scalars[one.value.place]), one.dtype).item() for one in given]

    def hand_over(self, anew: Callable[[Storage], Storage]) -> None:
        """Gives memory that was written over another identity: nodes that still name the old one must not be
        computed."""
        for place in self._template.taken:
            self.storages[place] = anew(self.storages[place])

    @property
    def roots(self) -> tuple[Node, ...]:
        """The nodes that were asked for."""
        return tuple([self._structure.nodes[place] for place in self._structure.roots])

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches over the memory of this evaluation."""
        return tuple(
            replace(one, args=tuple(map(self._argument, one.args)), where=self.line(asker))
            for one, asker in self.bound.launches
        )

    def _argument(self, arg: Argument) -> Argument:
        if isinstance(arg, Address):
            return Address(self.storages[arg.storage.place], arg.offset, arg.touched, arg.most)
        return passed(plain(self._structure.scalars[arg.value.place]), arg.dtype) if isinstance(arg, Later) else arg

    @property
    def computed(self) -> dict[Node, Buffer]:
        """What is in memory once they have run, by node."""
        nodes, storages, found = self._structure.nodes, self.storages, {}
        for place, slot, elements in self.bound.computed:
            node = nodes[place]
            found[node] = elements.within(None if slot is None else storages[slot], node.line)
        return found

    @property
    def results(self) -> tuple[Buffer, ...]:
        """That of the roots."""
        computed = self.computed
        return tuple(computed[root] for root in self.roots)

    @property
    def taken(self) -> tuple[Storage, ...]:
        """Memory that was offered and is overwritten."""
        return tuple(self.storages[place] for place in self._template.taken)

    @property
    def in_place(self) -> tuple[InPlace, ...]:
        """What became of the result of every group."""
        return tuple(InPlace(self._structure.nodes[place], reason) for place, reason in self._template.in_place)

    @property
    def why(self) -> dict[Node, str]:
        """For what is computed on its own, why it is."""
        return {self._structure.nodes[place]: reason for place, reason in self._template.why}


class Building(Planning, Protocol):
    """Who builds kernels, too."""

    def build(self, kernels: Sequence[Kernel]) -> None:
        """Builds those that are not built yet."""


AnyPlan: TypeAlias = Plan | Evaluation


class Unplanned:
    """An expression over slots, to be planned: made under the registry's lock, and then nobody else's."""

    def __init__(self, structure: Structure, donation: DonationPlaces, kept: _Kept) -> None:
        self.kept = kept
        self.donation = donation
        self.sizes = structure.sizes
        self.guards = Guards()
        sizes = [self.guards.size(name, number) for name, number in _named(structure.sizes).items()]
        self.leaves = [Slot(place, getattr(one, "nbytes", 0)) for place, one in enumerate(structure.storages)]
        self.nodes = structure.again(self.leaves, sizes, [Given(place) for place in range(len(structure.scalars))])
        self.roots = [self.nodes[place] for place in structure.roots]


class Template:
    """A plan over slots: `taken` are those of memory that it writes over; `in_place` and `why` name nodes by number."""

    def __init__(self, unplanned: Unplanned, executor: Planning) -> None:
        self.used = False
        self._guards = unplanned.guards
        nodes, leaves, donation = unplanned.nodes, unplanned.leaves, unplanned.donation
        self._slots = Slots(executor.target, executor.kernels, len(leaves))
        given = Donation([leaves[place] for place in donation.storages], {nodes[place] for place in donation.needed})
        made = plan(unplanned.roots, self._slots, donation=given)
        self._launches = made.launches  # and none of the nodes, of which there may be many
        places = {node: place for place, node in enumerate(nodes)}
        # What others have been computed to may have made two nodes alike: they are one here.
        self._computed = [(place, made.computed[node]) for place, node in enumerate(nodes) if node in made.computed]
        self.taken = [slot.place for slot in made.taken]
        self.in_place = [(places[one.root], one.reason) for one in made.in_place]
        self.why = [(places[node], reason) for node, reason in made.why.items()]
        self._bound: OrderedDict[tuple[int, ...], Bound] = OrderedDict()

    @property
    def kernels(self) -> list[Kernel]:
        """What it launches."""
        return [launch.kernel for launch in self._launches]

    def fits(self, sizes: tuple[int, ...]) -> bool:
        """Whether the plan serves these sizes."""
        return sizes in self._bound or self._guards.hold(_named(sizes))

    def run(self, structure: Structure, executor: Planning) -> Evaluation:
        """The plan for memory, sizes and scalars that pass the guards, with memory allocated."""
        bound = self._bound.get(structure.sizes)
        if bound is None:
            bound = self._bound[structure.sizes] = self._bind(_named(structure.sizes))
            while len(self._bound) > _MOST_BOUND:
                self._bound.popitem(last=False)
        made = Evaluation(self, bound, structure, structure.storages.copy())
        for nbytes, asker in bound.memory:
            made.storages.append(executor.allocate(nbytes, made.line(asker)))
        return made

    def _bind(self, sizes: Mapping[str, int]) -> Bound:
        def number(given: Any) -> Any:
            return value(formula(given), sizes) if isinstance(given, Backed) else given

        def numbers(given: Sequence[int]) -> Any:
            return tuple(map(number, given))

        def layout(given: Layout) -> Layout:
            return Layout(numbers(given.shape), numbers(given.strides), number(given.offset))

        def argument(arg: Argument, dtype: Any) -> Argument:
            if isinstance(arg, Address):
                touched = None if arg.touched is None else layout(arg.touched)
                return Address(arg.storage, number(arg.offset), touched, number(arg.most))
            return dtype.numpy.type(number(arg)) if isinstance(arg, Backed) else arg

        launches = [
            Launch(
                one.kernel,
                tuple(argument(arg, param.value.type) for arg, param in zip(one.args, one.kernel.params, strict=True)),
                numbers(one.global_size),
                numbers(one.group_size),
                one.where,
            )
            for one in self._launches
        ]
        memory = [(number(slot.nbytes), _asker(slot.where)) for slot in self._slots.slots]
        apart = [(one, _asker(one.where)) for one in spread(launches, self._slots.target.streams)]
        computed = [
            (place, None if one.storage is None else one.storage.place, Elements(one.dtype, layout(one.layout)))
            for place, one in self._computed
        ]
        return Bound(memory, apart, computed)


def _asker(where: Where) -> Asker:
    return int(where) if isinstance(where, str) and where.isdigit() else where


def _named(sizes: Sequence[int]) -> dict[str, int]:
    return {f"n{place}": size for place, size in enumerate(sizes)}


class _Kept:
    """The plans for one structure, by what may be written over; `used` counts with the cache."""

    __slots__ = ("_making", "holders", "templates", "used")

    def __init__(self, structure: Structure) -> None:
        self.used = 0
        self.holders = Holders(structure)
        self.templates: dict[DonationPlaces, list[Template]] = {}
        self._making: dict[DonationPlaces, threading.RLock] = {}

    def fitting(self, sizes: tuple[int, ...], donation: DonationPlaces) -> Template | None:
        """A plan that serves sizes."""
        return next((one for one in self.templates.get(donation, ()) if one.fits(sizes)), None)

    def forget(self, donation: DonationPlaces) -> None:
        """Nobody makes such a plan any more."""
        self._making.pop(donation, None)

    def making(self, donation: DonationPlaces) -> threading.RLock:
        """Held by who makes such a plan without the registry's lock."""
        return self._making.setdefault(donation, threading.RLock())


class PlanCache:
    """The most recently used plans of one executor. Used under the registry's lock, but for `make`."""

    def __init__(self, limit: int = _MOST_PLANS) -> None:
        self._limit = limit
        self._kept: dict[Hashable, _Kept] = {}
        self._used = self._hits = self._misses = self._evictions = 0
        self._lock = threading.RLock()
        """Held for single steps of these."""

    def known(self, structure: Structure, executor: Planning) -> Evaluation | None:
        """The plan that computes the roots of an expression, with memory allocated for it; None where none was made."""
        kept = self._of(structure)
        template = kept.fitting(structure.sizes, kept.holders.donation(structure))
        if template is None:
            return None
        self._hits += template.used  # the first who asks is who it was made for
        template.used = True
        return template.run(structure, executor)

    def plan(self, structure: Structure, executor: Planning) -> Evaluation:
        """The same, made where it is missing."""
        planned = self.known(structure, executor)
        if planned is None:
            unplanned = self.unplanned(structure)
            template = Template(unplanned, executor)
            self._keep(unplanned, template)
            template.used = True
            planned = template.run(structure, executor)
        return planned

    def unplanned(self, structure: Structure) -> Unplanned:
        """What `make` needs of an expression that `known` did not find."""
        kept = self._of(structure)
        return Unplanned(structure, kept.holders.donation(structure), kept)

    def make(self, unplanned: Unplanned, executor: Building) -> None:
        """Makes a plan, and builds its kernels. Of threads that want the same, one makes it."""
        kept, donation = unplanned.kept, unplanned.donation
        with kept.making(donation):
            if kept.fitting(unplanned.sizes, donation) is None:
                template = Template(unplanned, executor)
                executor.build(template.kernels)
                self._keep(unplanned, template)

    def _of(self, structure: Structure) -> _Kept:
        with self._lock:
            kept = self._kept.get(structure.key)  # once, since a key takes long to hash
            if kept is None:
                if len(self._kept) >= self._limit:
                    del self._kept[min(self._kept, key=lambda key: self._kept[key].used)]
                    self._evictions += 1
                kept = self._kept[structure.key] = _Kept(structure)
            self._used += 1
            kept.used = self._used
            return kept

    def _keep(self, unplanned: Unplanned, made: Template) -> None:
        kept, donation = unplanned.kept, unplanned.donation
        with self._lock:
            self._misses += 1
            templates = dict(kept.templates)  # another thread may be looking
            alike = templates[donation] = [*templates.get(donation, ()), made][-_MOST_ALIKE:]
            self._evictions += len(kept.templates.get(donation, ())) + 1 - len(alike)
            for oldest in list(templates)[: len(templates) - _MOST_ALIKE]:
                self._evictions += len(templates.pop(oldest))
                kept.forget(oldest)
            kept.templates = templates

    @property
    def statistics(self) -> PlanStatistics:
        """How the cache did so far."""
        return PlanStatistics(self._hits, self._misses, self._evictions, len(self._kept))
