"""Writes the kernels in which a group of a GPU makes Fourier transforms: Stockham's stages, the points of a butterfly
in registers and exchanged through local memory in between.

A stage of radix r behind `done` points takes points j + i n / r, turns them by i (j mod done) / (done r), transforms
them, and puts them to (j - j mod done) r + j mod done + i done: in order in the end, without a reversal of bits.

Source: D. Bailey, A high-performance FFT algorithm for vector supercomputers, Int. J. Supercomput. Appl. 2 (1988);
N. Govindaraju et al., High performance discrete Fourier transforms on graphics processors, SC 2008.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_runtime.plan.kernels.fourier.butterflies import Pair, multiplied, root_of_unity, transform, turns
from ocl_runtime.plan.kernels.fourier.form import FourierForm, places

_BANKS = 16
"""Points after which one is left out in local memory, so that strides of powers of two meet all banks."""


def pitch(n: int) -> int:
    """Points of local memory for a transform: an odd number, so that neighbouring transforms meet other banks."""
    return (n + n // _BANKS) | 1


def build(form: FourierForm) -> Kernel:
    """The kernel of a form."""
    k = KernelBuilder("fourier_transform", group_size=(form.team * form.batch, 1, 1), note=form.note)
    return _Group(k, form).build()


@dataclass(frozen=True, slots=True)
class _Worker:
    """Which transform of its group a work-item works on, and which of its team it is."""

    column: Ref
    lane: Ref


class _Group:
    """A kernel in the making."""

    def __init__(self, k: KernelBuilder, form: FourierForm) -> None:
        self._k, self._form = k, form
        self._places = places(k, form)
        self._item = k.item("local_id", 0, "item", form.index)
        length = pitch(form.n) * form.batch
        self._points = k.array(form.dtype, length, hint="points") if len(form.radices) > 1 else None

    def build(self) -> Kernel:
        k, form = self._k, self._form
        worker, done = self._worker(neighbours=form.neighbours_in), 1
        for number, radix in enumerate(form.radices):
            if number > 0:
                k.barrier()  # what others have put there is there
            if number == 1:
                worker = self._worker(neighbours=form.neighbours_out)
            count = form.n // radix
            lanes = [self._butterfly(worker, round_, count) for round_ in range(-(-count // form.team))]
            made = [self._transformed(worker, lane, done, radix, is_first=number == 0) for lane, _ in lanes]
            is_last = number == len(form.radices) - 1
            if number > 0 and not is_last:
                k.barrier()  # all have read what others write over now
            for (lane, exists), values in zip(lanes, made, strict=True):
                within = k.op("urem", lane, done) if done > 1 else None
                first = lane * radix if within is None else (lane - within) * radix + within
                with k.if_(exists) if exists is not None else nullcontext():
                    for step, value in enumerate(values):
                        place = first + step * done if step else first
                        self._write(worker, place, value) if is_last else self._keep(worker, place, value)
            done *= radix
        return k.build()

    def _worker(self, *, neighbours: bool) -> _Worker:
        """Neighbours among work-items are of one transform, or of neighbouring ones."""
        k, form = self._k, self._form
        if form.batch == 1:
            return _Worker(self._index(0), self._item)
        if form.team == 1:
            return _Worker(self._item, self._index(0))
        by = form.team if neighbours else form.batch
        quotient, rest = k.op("udiv", self._item, by), k.op("urem", self._item, by)
        return _Worker(quotient, rest) if neighbours else _Worker(rest, quotient)

    def _index(self, number: int) -> Ref:
        return self._k.const(number, self._form.index)

    def _butterfly(self, worker: _Worker, round_: int, count: int) -> tuple[Ref, Ref | None]:
        """A butterfly of a work-item, and whether it exists, where not all do; else it is that of another one."""
        lane = worker.lane + round_ * self._form.team if round_ else worker.lane
        if (round_ + 1) * self._form.team <= count:
            return lane, None
        return self._k.op("minimum", lane, count - 1), lane < count

    def _transformed(self, worker: _Worker, lane: Ref, done: int, radix: int, *, is_first: bool) -> list[Pair]:
        k, form = self._k, self._form
        read = self._read if is_first else self._kept
        step = form.n // radix
        values = [read(worker, lane + index * step if index else lane) for index in range(radix)]
        if done > 1:
            number = k.op("urem", lane, done)
            by = turns(k, number, radix, done * radix, form.dtype.component, inverse=form.inverse)
            values = [v if turn is None else multiplied(k, v, turn) for v, turn in zip(values, by, strict=True)]
        return transform(k, values, inverse=form.inverse)

    # ------------------------------------------------------------------ memory

    def _column(self, worker: _Worker) -> Ref:
        """A transform that exists, for those that read for one behind the last."""
        k, at = self._k, self._places
        return k.op("minimum", worker.column, at.sizes[0] - at.first - 1)

    def _read(self, worker: _Worker, place: Ref) -> Pair:
        k, at = self._k, self._places
        index = at.begin_in + self._column(worker) * at.step_in + place * at.point_in
        return self._pair(k.load(at.x, index))

    def _pair(self, value: Ref) -> Pair:
        return Pair(self._k.op("real", value), self._k.op("imag", value))

    def _local(self, worker: _Worker, place: Ref) -> Ref:
        padded = place + self._k.op("udiv", place, _BANKS)
        return padded if self._form.batch == 1 else worker.column * pitch(self._form.n) + padded

    def _kept(self, worker: _Worker, place: Ref) -> Pair:
        assert self._points is not None
        return self._pair(self._k.load(self._points, self._local(worker, place)))

    def _keep(self, worker: _Worker, place: Ref, value: Pair) -> None:
        assert self._points is not None
        self._k.store(self._points, self._local(worker, place), self._k.op("complex", *value))

    def _write(self, worker: _Worker, place: Ref, value: Pair) -> None:
        k, form, at = self._k, self._form, self._places
        if form.twiddled is not None:
            number = at.first + worker.column if form.twiddled == 0 else at.numbers[form.twiddled - 1]
            root = root_of_unity(k, place * number, form.n * form.times, form.dtype.component, inverse=form.inverse)
            value = multiplied(k, value, root)
        if at.scale is not None:
            value = Pair(value.re * at.scale, value.im * at.scale)
        index = at.begin_out + worker.column * at.step_out + place * at.point_out
        with k.if_(worker.column < at.sizes[0] - at.first):
            k.store(at.y, index, k.op("complex", *value))
