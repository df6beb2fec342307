"""The key of a kernel that makes Fourier transforms, and what its work-items share in finding their elements."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType


@dataclass(frozen=True, slots=True)
class FourierForm:
    """Transforms of `n` points by stages of `radices`, over `rank` axes of transforms, of the first of which a group
    has `batch`, with `team` work-items each; on a CPU one work-item has them in lanes (`team` 0).

    `neighbours_in`, `neighbours_out`: points of a transform are neighbours where it reads and writes, else transforms
    are. `twiddled`: result k of a transform with number m on axis `twiddled` is turned by m k / (n `times`).
    """

    dtype: DType
    n: int
    radices: tuple[int, ...]
    team: int
    batch: int
    rank: int
    neighbours_in: bool
    neighbours_out: bool
    inverse: bool
    scaled: bool
    twiddled: int | None
    times: int
    index: DType
    restrict: bool

    @property
    def note(self) -> str:
        """For who reads the source."""
        by = " x ".join(map(str, self.radices))
        turned = "" if self.twiddled is None else f", turned for one of {self.n * self.times}"
        return f"Fourier transforms of {self.n} = {by} points{turned}    {self.dtype}"


@dataclass(frozen=True, slots=True)
class Places:
    """The parameters of a kernel, and where its group's transforms begin."""

    x: Ref
    y: Ref
    scale: Ref | None
    sizes: list[Ref]
    point_in: Ref
    point_out: Ref
    begin_in: Ref
    begin_out: Ref
    step_in: Ref
    step_out: Ref
    first: Ref
    """The number on axis 0 of the first transform of the group."""
    numbers: list[Ref]
    """Those on the other axes."""


def places(k: KernelBuilder, form: FourierForm) -> Places:
    """Declares the parameters and takes the number of a group apart."""
    axes = range(form.rank)
    sizes = [k.scalar(f"n{axis}", form.index) for axis in axes]
    point_in, point_out = k.scalar("point_in", form.index), k.scalar("point_out", form.index)
    steps_in = [k.scalar(f"in{axis}", form.index) for axis in axes]
    steps_out = [k.scalar(f"out{axis}", form.index) for axis in axes]
    scale = k.scalar("scale", form.dtype.component) if form.scaled else None
    x = k.pointer("x", form.dtype, restrict=form.restrict)
    y = k.pointer("y", form.dtype, restrict=form.restrict)
    number = k.item("group_id", 0, "group", form.index)
    blocks = k.op("udiv", sizes[0] + (form.batch - 1), form.batch, hint="blocks")
    first = k.op("mul", k.op("urem", number, blocks), form.batch, hint="first")
    number = k.op("udiv", number, blocks)
    begin_in, begin_out, numbers = first * steps_in[0], first * steps_out[0], list[Ref]()
    for axis in axes[1:]:
        last = axis == form.rank - 1
        numbers.append(number if last else k.op("urem", number, sizes[axis], hint=f"~i{axis}"))
        number = number if last else k.op("udiv", number, sizes[axis])
        begin_in, begin_out = begin_in + numbers[-1] * steps_in[axis], begin_out + numbers[-1] * steps_out[axis]
    return Places(
        x, y, scale, sizes, point_in, point_out, k.let(begin_in, "begin_in"), k.let(begin_out, "begin_out"),
        steps_in[0], steps_out[0], first, numbers,
    )  # fmt: skip
