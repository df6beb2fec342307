"""A trial of matrix instructions: known matrices are multiplied on a device, and in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.interpret.kernel import run as interpret
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.matrix_instruction import Axis, MatrixInstruction, MatrixLayout, held
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_ir.types import lanes
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.matrix_check import UNKNOWN
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.device.devices import Device
from ocl_runtime.device.trial import TrialError, launch

_SUBGROUPS = 2


def run(device: Device) -> dict[str, str]:
    """The verdict on each instruction that a device's row names, found out in this process."""
    return {name: _fault(device, INSTRUCTIONS[name]) for name in device.quirks.matrix_instructions}


def _fault(device: Device, instruction: MatrixInstruction) -> str:
    items = _SUBGROUPS * instruction.size
    if items > device.capabilities.max_work_group_size:
        return f"needs groups of {items}"
    kernel, arguments = check_kernel(instruction), known_arguments(instruction)
    before, wanted = arguments["sums"].copy(), arguments["sums"].copy()
    interpret(kernel, {**arguments, "sums": wanted}, (items,), (items,))
    source = compile_kernel(kernel, "hybrid", Dialect()).source
    passed = [value for array in arguments.values() for value in (array, np.uint64(0))]
    options = " ".join(device.quirks.build_options)
    try:
        launch(device, source.text, source.name, passed, items, items, options)
    except TrialError as error:
        return f"{UNKNOWN}{error}" if error.built else f"does not build: {error}"
    sums = arguments["sums"]
    if np.array_equal(sums, wanted):
        return ""
    if np.array_equal(sums, before):
        return "stores no sums"
    wrong = int(np.argmax(sums != wanted))
    return f"multiplies wrongly: {sums[wrong]} where {wanted[wrong]} is right, number {wrong} of the sums"


def check_kernel(instruction: MatrixInstruction) -> Kernel:
    """A kernel in which each work-item reads its registers, multiplies and stores its sums."""
    note = f"sums += left @ right    {_SUBGROUPS} products of {instruction.rows} x {instruction.inner} by "
    note += f"{instruction.inner} x {instruction.columns}, in {instruction.size} work-items each"
    k = KernelBuilder(f"check_{instruction}", group_size=(_SUBGROUPS * instruction.size, 1, 1), note=note)
    left, right = k.pointer("left", instruction.left.register), k.pointer("right", instruction.right.register)
    sums, item = k.pointer("sums", instruction.accumulator), k.item("local_id", hint="item")
    counts = [lanes(type_) for type_ in instruction.types]
    a, b, before = (
        k.load(memory, item * count, count=count) for memory, count in zip((left, right, sums), counts, strict=True)
    )
    k.store(sums, item * counts[2], k.matrix_multiply(instruction, a, b, before))
    return k.build()


def known_arguments(instruction: MatrixInstruction) -> dict[str, NDArray[Any]]:
    """What the kernel multiplies: whole numbers, of which every product and sum is exact, others in each matrix."""
    rng = np.random.default_rng(1)
    sides: tuple[tuple[str, MatrixLayout, tuple[Axis, Axis], tuple[int, int]], ...] = (
        ("left", instruction.left, ("row", "inner"), (instruction.rows, instruction.inner)),
        ("right", instruction.right, ("inner", "column"), (instruction.inner, instruction.columns)),
        ("sums", instruction.sums, ("row", "column"), (instruction.rows, instruction.columns)),
    )
    return {
        name: held(instruction.dtype, layout, axes, rng.integers(-9, 10, (_SUBGROUPS, *shape)).astype("f8"))
        for name, layout, axes, shape in sides
    }
