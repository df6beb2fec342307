"""Trials of a product: each variant runs on a fork of the handles of its operands.

The operands have the shapes, strides, offsets, dtypes and aliasing of those that will be multiplied, in memory that
belongs to the trial and holds random numbers. A fork of these handles (`ocl_runtime.plan.handles`) gets a result and
scratch memory of its own; what a loser has made is gone with its fork, and the winner's result is merged back, once,
and checked again. Memory of results is filled with NaN before a run that is checked: nothing is right by chance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ocl_ir.graph.build import Buffer, buffer
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.launch import Argument, Launch
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.handles import HandleContainer, Status
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products.contraction import Contraction, Elements
from ocl_runtime.plan.kernels.products.launches import variant_launches
from ocl_runtime.plan.kernels.products.variant import Variant
from ocl_runtime.plan.launch import Address
from ocl_runtime.plan.launch import Argument as PlannedArgument
from ocl_runtime.plan.target import Target
from ocl_runtime.tuning.reference import Reference, random_values

RESULT = "result"
_UNWRITTEN = np.uint32(0xFFFFFFFF)
"""NaN in each format of floats, and no integer that a product of the trial's numbers often is."""
_WHERE = "a trial of the tuner"

Handles = HandleContainer[str, Storage]


class Trial:
    """The operands of a product on a device of its own, whose commands are measured, and what the product is."""

    def __init__(self, contraction: Contraction, target: Target, engine: Engine) -> None:
        self.engine: Final = engine
        self.target: Final = target
        self.kernels: Final = KernelCache()
        self.handles: Final = Handles()
        """The operands, and in the end the winner's result."""
        self._memory: dict[str, Storage] = {}
        sources: dict[int, str] = {}
        views = []
        leaves = []
        for leaf in (contraction.left, contraction.right):
            source = leaf.source
            assert isinstance(source, Buffer)
            # Operands of one memory are of one memory here, too.
            name = sources.setdefault(id(source.storage), f"operand {len(sources)}")
            if name not in self.handles:
                ends = [
                    other.layout.range()[1] for other in (contraction.left, contraction.right) if _same(other, leaf)
                ]
                host = random_values(max(ends), source.dtype)
                self.handles.register(name, engine.upload(host, _WHERE))
                views.append((name, host))
            storage = self.handles.get(name, Status.READ_ONLY)
            leaves.append(Leaf(buffer(storage, source.dtype, source.layout), leaf.layout, leaf.computed))
        self.contraction: Final = replace(contraction, left=leaves[0], right=leaves[1])
        hosts = dict(views)
        left, right = (
            _seen(hosts[sources[id(leaf.source.storage)]], leaf.layout)
            for leaf in (contraction.left, contraction.right)
            if isinstance(leaf.source, Buffer)
        )
        dtypes = contraction.factor, contraction.accumulator, contraction.dtype
        self._reference = Reference(left, right, *dtypes)
        m, n, k = contraction.sizes
        self.shape: Final = (*contraction.batch, m, n)
        self.operations: Final = 2.0 * k * float(np.prod(self.shape)) * (4 if contraction.accumulator.is_complex else 1)

    def memory(self, name: str, nbytes: int) -> Storage:
        """Memory of the trial's own. Variants run one after the other, so that all can have the same."""
        known = self._memory.get(name)
        if known is None or known.nbytes < nbytes:
            self._memory.pop(name, None)
            known = self._memory[name] = self.engine.allocate(nbytes, _WHERE)
        return known

    def check(self, handles: Handles) -> float:
        """How far the result of some handles is off, 1 at most. Raises `WrongError`."""
        storage = handles.get(RESULT, Status.READ_ONLY)
        dtype = self.contraction.dtype
        count = int(np.prod(self.shape))
        return self._reference.check(self.engine.download(storage, dtype.numpy, count).result().reshape(self.shape))


def _same(leaf: Leaf, other: Leaf) -> bool:
    """Whether both are in one memory."""
    a, b = leaf.source, other.source
    return isinstance(a, Buffer) and isinstance(b, Buffer) and a.storage is b.storage


def _seen(host: NDArray[Any], layout: Layout) -> NDArray[Any]:
    """The elements of a layout in host memory."""
    strides = tuple(stride * host.itemsize for stride in layout.strides)
    return as_strided(host[layout.offset :], layout.shape, strides)


def _passed(argument: PlannedArgument) -> Argument:
    """An argument as the engine takes it: no number of a trial is only known later."""
    if isinstance(argument, Address):
        return cast("Storage", argument.storage), argument.touched
    assert isinstance(argument, np.generic)
    return argument


class Attempt:
    """A variant in a trial: the launches of one fork of the handles."""

    def __init__(self, trial: Trial, variant: Variant) -> None:
        self.variant: Final = variant
        self.name: Final = str(variant)
        self._trial = trial
        self._handles: Handles | None = None
        self._launches: list[Launch] = []

    def prepare(self) -> float:
        """Builds the kernels, runs them once over memory that is filled with NaN, and checks the result. Raises
        `WrongError`, and what building and launching raise."""
        trial = self._trial
        handles = trial.handles.fork()
        storage = self._allocated(handles, RESULT, int(np.prod(trial.shape)) * trial.contraction.dtype.size)
        elements = Elements.bare(trial.contraction, storage)
        scratch: list[Storage] = []

        def allocate(nbytes: int) -> Storage:
            scratch.append(self._allocated(handles, f"scratch {len(scratch)}", nbytes))
            return scratch[-1]

        lowering = Lowering(trial.target, trial.kernels, {}, _WHERE)
        planned = variant_launches(self.variant, trial.contraction, elements, allocate, lowering)
        self._launches = [
            trial.engine.prepare(
                launch.kernel,
                [_passed(argument) for argument in launch.args],
                launch.global_size,
                launch.group_size,
                _WHERE,
            )
            for launch in planned
        ]
        self._handles = handles
        return self._checked()

    def _allocated(self, handles: Handles, name: str, nbytes: int) -> Storage:
        handles.declare(name)
        storage = self._trial.memory(name, nbytes)
        handles.register(name, storage)
        return storage

    def _checked(self) -> float:
        assert self._handles is not None
        for name in self._handles:
            if not name.startswith("operand"):
                self._fill(self._handles.get(name, Status.READ_ONLY))
        self.run()
        return self._trial.check(self._handles)

    def _fill(self, storage: Storage) -> None:
        engine, nbytes = self._trial.engine, storage.nbytes
        pattern = _UNWRITTEN if nbytes % _UNWRITTEN.nbytes == 0 else _UNWRITTEN.astype(np.uint8)
        where = (storage.buffer, storage.start, nbytes, pattern)
        touch = storage.touch(WRITE)
        engine.streams.submit(engine.streams.first, [touch], "filling", _WHERE, engine.driver.fill, *where)

    def run(self) -> float:
        """Runs the launches; the seconds from the begin of the first to the end of the last on the device's clock.
        Raises `LaunchError`."""
        engine = self._trial.engine
        engine.finish()
        timed = engine.streams.profile
        assert timed is not None, "the engine of a trial measures its commands"
        timed.clear()
        for launch in self._launches:
            engine.submit(launch, engine.streams.first)
        engine.finish()
        engine.streams.look()
        return (max(command.end for command in timed) - min(command.start for command in timed)) / 1e9

    def merge(self) -> float:
        """Runs the variant, which has won, once more, gives its result to the handles of the trial, and checks it
        there. Raises `WrongError`."""
        assert self._handles is not None
        self._checked()
        self._trial.handles.merge(self._handles, [RESULT])
        return self._trial.check(self._trial.handles)

    def drop(self) -> None:
        """Leaves nothing behind."""
        self._handles, self._launches = None, []
