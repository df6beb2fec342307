"""What a host program means: its commands one after the other, over NumPy memory, kernels by their interpreter.

Streams, waits and arenas play no part: they must not change what comes out. Fresh memory is filled with a pattern, so
that what was never written shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ocl_ir.errors import ShapeError
from ocl_ir.host.grammar import Copy, Fill, Launch, Number, Program
from ocl_ir.host.schedule import BufferView, Node, bind
from ocl_ir.interpret.kernel import run as run_kernel

_UNDEFINED = 0xCD


def run(
    program: Program,
    sizes: Mapping[str, int],
    arguments: Mapping[str, NDArray[Any]],
    numbers: Mapping[str, bool | int | float] = MappingProxyType({}),
) -> list[NDArray[Any]]:
    """The results of a call, as copies; `numbers` are its scalars by name. Outputs and donated inputs among `arguments`
    (contiguous arrays) are written.

    Raises what `ocl_ir.host.schedule.bind` does, what the interpreter of kernels does, and `ShapeError` for arrays that
    do not fit the program.
    """
    schedule = bind(program, sizes)
    memory: dict[int, NDArray[np.uint8]] = {}
    for buffer in schedule.buffers:
        if buffer.kind not in {"result", "scratch"}:
            array = arguments.get(buffer.name)
            if array is None or array.nbytes != buffer.nbytes or not array.flags.c_contiguous:
                raise ShapeError(
                    f"program {program.name} wants {buffer.nbytes:,} contiguous bytes for {buffer.name}",
                    remedy="give an array of the parameter's shape and dtype",
                )
            memory[buffer.id] = array.reshape(-1).view(np.uint8)
        else:
            memory[buffer.id] = np.full(buffer.nbytes, _UNDEFINED, np.uint8)
    for node in schedule.nodes:
        _run(node, memory, numbers)
    return [_elements(memory, result).copy() for result in schedule.results]


def _run(node: Node, memory: Mapping[int, NDArray[np.uint8]], numbers: Mapping[str, bool | int | float]) -> None:
    command = node.command
    match command:
        case Fill():
            (target, number) = node.args
            assert isinstance(target, BufferView)
            assert not isinstance(number, BufferView)
            _elements(memory, target)[...] = number
        case Copy():
            target, source = node.args
            assert isinstance(target, BufferView)
            assert isinstance(source, BufferView)
            _elements(memory, target)[...] = _elements(memory, source)
        case Launch():
            args: dict[str, Any] = {}
            for param, arg in zip(command.kernel.params, node.args, strict=True):
                if isinstance(arg, BufferView):
                    whole = memory[arg.buffer].view(arg.dtype.numpy)
                    args[param.value.hint] = (whole, arg.layout.offset)
                else:
                    args[param.value.hint] = numbers[arg.name] if isinstance(arg, Number) else arg
            groups = command.group_size or (1,) * len(node.sizes)
            padded = tuple(-(-size // group) * group for size, group in zip(node.sizes, groups, strict=True))
            run_kernel(command.kernel, args, padded, groups)


def _elements(memory: Mapping[int, NDArray[np.uint8]], view: BufferView) -> NDArray[Any]:
    dtype, layout = view.dtype.numpy, view.layout
    if not layout.size:
        return np.empty(layout.shape, dtype)
    strides = tuple(stride * dtype.itemsize for stride in layout.strides)
    return as_strided(memory[view.buffer].view(dtype)[layout.offset :], layout.shape, strides)
