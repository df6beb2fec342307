"""From a plan's launches to statements of a host program.

Memory in the program is bytes; each launch views what it touches, as it needs. Sizes are written as the formulas that
they keep (`ocl_ir.guards`), and scalars that each call gives as numbers of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ocl_ir.guards import Given, formula, formulas
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Argument as Written
from ocl_ir.host.grammar import SymbolicLayout, Value
from ocl_ir.kernel.accesses import modes
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.reals import given_of
from ocl_ir.source_line import Where
from ocl_ir.types import DType, element
from ocl_runtime.plan.launch import Address, Argument, Later


class Lowering:
    """Writes launches into a program."""

    def __init__(self, builder: HostBuilder) -> None:
        self._builder = builder
        self._layouts: dict[int, tuple[Layout, SymbolicLayout]] = {}
        """What each layout is in the program, by its identity: most launches share a few."""

    def launch(
        self,
        kernel: Kernel,
        args: Sequence[Argument | int | float],
        sizes: tuple[tuple[int, ...], tuple[int, ...] | None],
        value: Callable[[Any, int], Value],
        where: Where = "",
    ) -> None:
        """Writes one launch over (global size, group size). `value` gives the program's value for a storage, of which
        the kernel makes use in some mode."""
        builder, written = self._builder, list[Written]()
        for param, arg, mode in zip(kernel.params, args, modes(kernel), strict=True):
            if type(arg) is Address:
                base, dtype = value(arg.storage, mode), element(param.value.type)
                written.append(builder.view(base, self.layout(arg.touched), dtype=dtype, where=where))
            elif type(arg) is Later:
                written.append(builder.number(number_name(arg.value, arg.dtype), arg.dtype))
            elif (number := given_of(arg)) is not None and (dtype := element(param.value.type)).kind == "float":
                written.append(builder.number(number_name(number, dtype), dtype))
            elif isinstance(arg, float | np.generic):
                written.append(arg.item() if isinstance(arg, np.generic) else float(arg))
            else:
                written.append(formula(arg))
        global_size, group_size = sizes
        builder.launch(kernel, written, formulas(global_size), group_size, where=where)

    def layout(self, layout: Layout) -> SymbolicLayout:
        """A layout with formulas for its sizes."""
        known = self._layouts.get(id(layout))
        if known is None:
            written = SymbolicLayout(formulas(layout.shape), formulas(layout.strides), formula(layout.offset))
            known = self._layouts[id(layout)] = layout, written
        return known[1]


def number_name(number: Given, dtype: DType) -> str:
    """The name of a scalar of a call, as a dtype."""
    return f"s{number.index}_{dtype.name}"
