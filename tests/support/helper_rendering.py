"""Renders single helpers of the templates and runs them on one device, with nothing of the compiler in between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyopencl as cl

from ocl_runtime.codegen.driver import full_options
from ocl_runtime.codegen.templates import render_def, render_helper
from ocl_runtime.device import Device

PRAGMA = "#pragma OPENCL FP_CONTRACT OFF\n"
SCALARS = {
    "i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "i8": "long", "u8": "ulong",
    "f2": "half", "f4": "float", "f8": "double",
}  # fmt: skip


@dataclass(frozen=True)
class CType:
    """A type as the templates want it described."""

    dtype: np.dtype
    lanes: int = 1
    floor: str = "floor"

    def _named(self, kind: str) -> str:
        return SCALARS[f"{kind}{self.dtype.itemsize}"] + (str(self.lanes) if self.lanes > 1 else "")

    @property
    def T(self) -> str:
        return self._named(self.dtype.kind)

    @property
    def I(self) -> str:  # noqa: E743
        return self._named("i")

    @property
    def U(self) -> str:
        return self._named("u")

    @property
    def scalar(self) -> str:
        return SCALARS[self.dtype.str[1:]]

    @property
    def suffix(self) -> str:
        return f"_{self.lanes}" if self.lanes > 1 else ""

    @property
    def bits(self) -> int:
        return self.dtype.itemsize * 8

    @property
    def kind(self) -> str:
        return {"i": "int", "u": "uint", "f": "float"}[self.dtype.kind]

    @property
    def zero(self) -> str:
        return {"f2": "(half)0.0f", "f4": "0.0f", "f8": "0.0"}.get(self.dtype.str[1:], "0")


def helper(name: str, type_: CType) -> str:
    """The source of one helper function."""
    return render_helper(name, type_)


def statements(name: str, out: str, a: str, b: str, type_: CType) -> str:
    """The statements of one operation."""
    return render_def("several_statements.cl.mako", name, out, a, b, type_)


def elementwise(name: str, type_: CType, arity: int, body: str, before: str = "") -> str:
    """A kernel that reads vectors `a`, `b`, runs `body`, which assigns `result`, and writes that."""
    names = "ab"[:arity]
    params = "".join(f"__global const {type_.scalar} *{n}_in, " for n in names)
    if type_.lanes == 1:
        loads = "".join(f"    const {type_.T} {n} = {n}_in[i];\n" for n in names)
        store = "out[i] = result"
    else:
        loads = "".join(f"    const {type_.T} {n} = vload{type_.lanes}(i, {n}_in);\n" for n in names)
        store = f"vstore{type_.lanes}(result, i, out)"
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return (
        f"{PRAGMA}{before}\n__kernel void {name}({params}__global {type_.scalar} *out)\n{{\n"
        f"    const size_t i = get_global_id(0);\n{loads}    {type_.T} result;\n{indented}    {store};\n}}\n"
    )


class Bench:
    """A queue of one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.context = cl.Context([device.cl])
        self.queue = cl.CommandQueue(self.context)

    @cached_property
    def extensions(self) -> frozenset[str]:
        return frozenset(self.device.cl.extensions.split())

    def build(self, source: str) -> cl.Program:
        return cl.Program(self.context, source).build(list(full_options(self.device)), cache_dir=False)

    def run(self, program: cl.Program, name: str, lanes: int, *inputs: np.ndarray) -> np.ndarray:
        """The kernel on whole arrays; the arrays are padded to a number of whole vectors."""
        size = inputs[0].size
        items = -(-size // lanes)
        flags = cl.mem_flags
        padded = [np.ones(items * lanes, array.dtype) for array in inputs]
        for target, source in zip(padded, inputs, strict=True):
            target[:size] = source
        buffers = [cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=array) for array in padded]
        out = np.empty_like(padded[0])
        result = cl.Buffer(self.context, flags.WRITE_ONLY, out.nbytes)
        cl.Kernel(program, name)(self.queue, (items,), None, *buffers, result)
        cl.enqueue_copy(self.queue, out, result)
        return out[:size]

    def run_kernel(
        self, program: cl.Program, items: int, inputs: list[np.ndarray], count: int, *numbers: np.generic
    ) -> np.ndarray:
        """The only kernel of a generated program, whose parameters are inputs, one result of `count` elements, and
        numbers."""
        flags = cl.mem_flags
        out = np.empty(count, inputs[0].dtype)
        result = cl.Buffer(self.context, flags.WRITE_ONLY, out.nbytes)
        buffers = [cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=array) for array in inputs]
        (kernel,) = program.all_kernels()
        memory = (arg for buffer in (*buffers, result) for arg in (buffer, np.uint64(0)))
        kernel(self.queue, (items,), None, *memory, *numbers)
        cl.enqueue_copy(self.queue, out, result)
        return out
