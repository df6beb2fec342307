"""Writes the kernels in which a work-item of a CPU makes several Fourier transforms at once, one in each lane of its
vectors: Stockham's stages as in `group_kernel.py`, between two private arrays.

The turns of a stage are made once for all butterflies that need them, and for all lanes.
"""

from __future__ import annotations

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U32
from ocl_runtime.plan.kernels.fourier.butterflies import Pair, multiplied, root_of_unity, transform, turns
from ocl_runtime.plan.kernels.fourier.form import FourierForm, places


def build(form: FourierForm) -> Kernel:
    """The kernel of a form."""
    k = KernelBuilder("fourier_transform", group_size=(1, 1, 1), note=form.note)
    return _Lanes(k, form).build()


class _Lanes:
    """A kernel in the making."""

    def __init__(self, k: KernelBuilder, form: FourierForm) -> None:
        self._k, self._form = k, form
        self._places = places(k, form)
        length, part = form.n * form.batch, form.dtype.component
        count = 2 * min(2, len(form.radices) - 1)
        align = part.size * form.batch
        self._arrays = [k.array(part, length, space="private", align=align, hint="points") for _ in range(count)]

    def build(self) -> Kernel:
        k, form, done = self._k, self._form, 1
        for number, radix in enumerate(form.radices):
            step = form.n // radix
            with k.for_(0, done, dtype=form.index, hint="within") as within:
                by: list[Pair | None] = [None] * radix
                if done > 1:
                    part = form.dtype.component
                    by = [*map(self._splat, turns(k, within, radix, done * radix, part, inverse=form.inverse))]
                with k.for_(0, step // done, dtype=form.index, hint="block") as block:
                    lane = block * done + within if done > 1 else block
                    values = [self._read(number, lane + index * step if index else lane) for index in range(radix)]
                    values = [v if turn is None else multiplied(k, v, turn) for v, turn in zip(values, by, strict=True)]
                    first = block * (done * radix) + within if done > 1 else block * radix
                    for index, value in enumerate(transform(k, values, inverse=form.inverse)):
                        self._write(number, first + index * done if index else first, value)
            done *= radix
        return k.build()

    def _splat(self, turn: Pair | None) -> Pair | None:
        if turn is None or self._form.batch == 1:
            return turn
        return Pair(*(self._k.splat(part, self._form.batch) for part in turn))

    # ------------------------------------------------------------------ memory

    def _read(self, stage: int, place: Ref) -> Pair:
        k, form, at = self._k, self._form, self._places
        if stage == 0:
            begin = at.begin_in + place * at.point_in
            value = self._numbers(begin)
            return Pair(k.op("real", value), k.op("imag", value))
        source = self._arrays[2 * ((stage - 1) % 2) :][:2]
        at_place, align = place * form.batch, form.dtype.component.size * form.batch
        return Pair(*(k.load(part, at_place, count=form.batch, align=align) for part in source))

    def _numbers(self, begin: Ref) -> Ref:
        """A number for each lane; behind the last transform, those of the last one."""
        k, form, at = self._k, self._form, self._places
        if form.batch == 1:
            return k.load(at.x, begin)
        last = at.sizes[0] - at.first - 1
        columns = [k.op("minimum", last, lane) for lane in range(form.batch)]
        return k.op("vector", *(k.load(at.x, begin + column * at.step_in) for column in columns))

    def _write(self, stage: int, place: Ref, value: Pair) -> None:
        k, form = self._k, self._form
        if stage == len(form.radices) - 1:
            self._write_result(place, value)
            return
        target = self._arrays[2 * (stage % 2) :][:2]
        at_place, align = place * form.batch, form.dtype.component.size * form.batch
        for array, part in zip(target, value, strict=True):
            k.store(array, at_place, part, align=align)

    def _write_result(self, place: Ref, value: Pair) -> None:
        k, form, at = self._k, self._form, self._places
        if form.twiddled is not None:
            value = multiplied(k, value, self._turn(place))
        if at.scale is not None:
            value = Pair(value.re * at.scale, value.im * at.scale)
        number = k.op("complex", *value)
        begin = at.begin_out + place * at.point_out
        if form.batch == 1:
            k.store(at.y, begin, number)
            return
        left = at.sizes[0] - at.first
        for lane in range(form.batch):
            with k.if_(left > lane):
                k.store(at.y, begin + at.step_out * lane, k.op("extract", number, k.const(lane, U32)))

    def _turn(self, place: Ref) -> Pair:
        """By how much a result is turned, in each lane."""
        k, form, at = self._k, self._form, self._places
        n, part = form.n * form.times, form.dtype.component
        if form.twiddled:
            root = root_of_unity(k, place * at.numbers[form.twiddled - 1], n, part, inverse=form.inverse)
            turn = self._splat(root)
            assert turn is not None
            return turn
        columns = k.op("vector", *(k.const(lane, form.index) for lane in range(form.batch)))
        number = k.splat(at.first, form.batch) + columns if form.batch > 1 else at.first
        wide = k.splat(place, form.batch) if form.batch > 1 else place
        # Behind the last transform there is nothing to turn, and a number must stay below n.
        return root_of_unity(k, k.op("urem", wide * number, n), n, part, inverse=form.inverse)
