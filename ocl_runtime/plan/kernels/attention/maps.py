"""The launch that describes the matrices of which boxes are copied: those of all heads of each operand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.kernel.asynchronous import MAP_WORDS
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import U32, Pointer
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Parameters, Spec, rounded_up
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Address, Launch

_GROUP = 64


class Boxed(NamedTuple):
    """An operand (…, heads, rows, columns) by its name in a kernel, and how many rows its boxes have."""

    name: str
    operand: Buffer
    box_rows: int

    @property
    def heads(self) -> int:
        """Of all axes in front, too."""
        return math.prod(map(int, self.operand.shape[:-2]))


@dataclass(frozen=True, slots=True)
class _MapsForm:
    boxes: tuple[tuple[str, int], ...]
    specs: tuple[Spec, ...]


def describe(
    operands: Sequence[Boxed], parameters: Parameters, allocate: Callable[[int], Storage], lowering: Lowering
) -> Launch:
    """The launch; the parameters get the operands, and where the descriptions of each begin."""
    count = sum(each.heads for each in operands)
    words = count * MAP_WORDS
    maps = Address(allocate(words * U32.size), Layout.contiguous((words,)))
    describing, first = Parameters(U32, words), 0
    for given in (parameters, describing):
        given.pointer("maps", Pointer(U32, align=128), maps)
    for boxed in operands:
        for given in (parameters, describing):
            given.pointer(boxed.name, Pointer(U32, align=16), in_words(boxed.operand))
            given.size(f"{boxed.name}_map", first)
        describing.size(f"{boxed.name}_heads", boxed.heads)
        for size, length in zip(("rows", "columns"), boxed.operand.shape[-2:], strict=True):
            describing.size(f"{boxed.name}_{size}", length)
        first += boxed.heads
    form = _MapsForm(tuple((each.name, each.box_rows) for each in operands), tuple(describing.specs))
    kernel = lowering.kernels.get(form, _build)
    items = rounded_up(words, _GROUP)
    return Launch(kernel, tuple(describing.args), (items, 1, 1), (_GROUP, 1, 1), lowering.where)


def in_words(operand: Buffer) -> Address:
    """An operand in row-major order, as words of two elements."""
    layout = Layout.contiguous((operand.size // 2,))
    return Address(operand.storage, Layout(layout.shape, layout.strides, operand.layout.offset // 2))


def _build(form: _MapsForm) -> Kernel:
    """Of a form; each work-item stores a word of the description of a matrix, of those of all operands."""
    k = KernelBuilder("describe", group_size=(_GROUP, 1, 1), note="tensor maps of the operands of attention")
    sizes = Body.start(k, form.specs, U32, fp16=False).params
    item = k.global_id(0, "item")
    number, word = k.op("udiv", item, k.const(MAP_WORDS, U32), hint="number"), item & (MAP_WORDS - 1)
    for name, box_rows in form.boxes:
        rows, columns = sizes[f"{name}_rows"], sizes[f"{name}_columns"]
        row_words, first = columns >> 1, sizes[f"{name}_map"]
        with k.if_((number >= first) & (number < first + sizes[f"{name}_heads"])):
            k.describe_matrix(
                (sizes["maps"], number * MAP_WORDS, word),
                (sizes[name], (number - first) * (rows * row_words)),
                columns=columns,
                rows=rows,
                row_words=row_words,
                box_rows=box_rows,
            )
    return k.build()
