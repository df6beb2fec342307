#!/usr/bin/env python3
"""Two races that PyOpenCL lets happen on several queues, and the same programs with ocl_runtime, where they cannot.

    python examples/races.py [--runs N] [--device WORDS]

Reuse: a block of a memory pool is given back while a long kernel on one queue still has to read it, and is handed out
again to somebody who writes it on another queue (PyOpenCL's issue 447). Write after read: an array is written on one
queue while a long kernel on another still has to read it (its issue 303). A run is wrong when the long kernel saw what
was written after it was given to its queue.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pyopencl.array
from pyopencl.tools import ImmediateAllocator, MemoryPool

import ocl_runtime as ocl
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import U32

ELEMENTS = 1024
SPINS = 300_000
"""Steps of the long kernel: some milliseconds of one work-item."""

SOURCE = """
__kernel void slow_copy(uint spins, __global const uint *x, __global uint *y)
{
    uint state = get_global_id(0);
    for (uint j = 0; j < spins; ++j)
        state = state * 1664525u + 1013904223u;
    for (uint i = 0; i < %(elements)d; ++i)
        y[i] = x[i] + (state == 12345u);
}
__kernel void slow(uint spins, __global uint *sink)
{
    uint state = get_global_id(0);
    for (uint j = 0; j < spins; ++j)
        state = state * 1664525u + 1013904223u;
    sink[0] = state;
}
"""


class Raw:
    """Two queues and PyOpenCL's own tools."""

    def __init__(self, device: cl.Device) -> None:
        self.context = cl.Context([device])
        self.one, self.other = (cl.CommandQueue(self.context) for _ in range(2))
        program = cl.Program(self.context, SOURCE % {"elements": ELEMENTS}).build()
        self.slow_copy, self.slow = program.slow_copy, program.slow
        self.slow_copy.set_arg_types([np.uint32, None, None])
        self.slow.set_arg_types([np.uint32, None])

    def reuse(self) -> bool:
        """Whether a block of a `MemoryPool` was overwritten before it was read."""
        pool = MemoryPool(ImmediateAllocator(self.one))
        x, y = pool.allocate(4 * ELEMENTS), cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4 * ELEMENTS)
        cl.enqueue_fill_buffer(self.one, x, np.uint32(1), 0, 4 * ELEMENTS)
        self.slow_copy(self.one, (1,), (1,), SPINS, x, y)
        self.one.flush()
        del x
        again = pool.allocate(4 * ELEMENTS)
        cl.enqueue_fill_buffer(self.other, again, np.uint32(2), 0, 4 * ELEMENTS)
        self.other.flush()
        return self._wrong(y)

    def write_after_read(self) -> bool:
        """Whether a `pyopencl.array.Array` was overwritten before it was read."""
        x = cl.array.zeros(self.one, ELEMENTS, np.uint32) + 1
        sink = cl.array.zeros(self.one, 1, np.uint32)
        self.one.finish()
        self.slow(self.one, (1,), (1,), SPINS, sink.data)
        y = x + 0
        self.one.flush()
        x.with_queue(self.other).fill(2)
        self.other.flush()
        return self._wrong(y.data)

    def _wrong(self, y: cl.Buffer) -> bool:
        found = np.empty(ELEMENTS, np.uint32)
        cl.enqueue_copy(self.one, found, y)
        self.other.finish()
        return bool((found != 1).any())


class Ours:
    """Two streams of a runtime."""

    def __init__(self, runtime: ocl.Runtime) -> None:
        self.runtime = runtime
        self.slow_copy, self.fill = slow_copy(), fill()

    def reuse(self) -> bool:
        """Whether memory that was given back was overwritten before it was read."""
        x, y = self._ones(), self.runtime.executor.allocate(4 * ELEMENTS)
        with ocl.stream(1):
            self.runtime.launch(self.slow_copy, [SPINS, (x, 0), (y, 0)], (1,), (1,))
        del x
        with ocl.stream(2):
            again = self.runtime.executor.allocate(4 * ELEMENTS)
            self.runtime.launch(self.fill, [2, (again, 0)], (ELEMENTS,))
        return self._wrong(y)

    def write_after_read(self) -> bool:
        """Whether memory was overwritten before it was read."""
        x, y = self._ones(), self.runtime.executor.allocate(4 * ELEMENTS)
        with ocl.stream(1):
            self.runtime.launch(self.slow_copy, [SPINS, (x, 0), (y, 0)], (1,), (1,))
        with ocl.stream(2):
            self.runtime.launch(self.fill, [2, (x, 0)], (ELEMENTS,))
        return self._wrong(y)

    def _ones(self) -> object:
        with ocl.stream(1):
            x = self.runtime.executor.allocate(4 * ELEMENTS)
            self.runtime.launch(self.fill, [1, (x, 0)], (ELEMENTS,))
        return x

    def _wrong(self, y: object) -> bool:
        found = self.runtime.executor.engine.download(y, np.dtype(np.uint32), ELEMENTS).result()
        return bool((found != 1).any())


def slow_copy() -> Kernel:
    """The long kernel in kernel IR."""
    k = KernelBuilder("slow_copy", note="one work-item that is busy for a while, and then copies")
    spins, x, y = k.scalar("spins", U32), k.pointer("x", U32, length=ELEMENTS), k.pointer("y", U32, length=ELEMENTS)
    state = k.variable(k.global_id(0), hint="state")
    with k.for_(0, spins):
        k.assign(state, state * 1664525 + 1013904223)
    with k.for_(0, ELEMENTS) as i:
        k.store(y, i, k.op("select", state == 12345, k.load(x, i) + 1, k.load(x, i)))
    return k.build()


def fill() -> Kernel:
    """Writes a value everywhere."""
    k = KernelBuilder("fill")
    value, y = k.scalar("value", U32), k.pointer("y", U32, length=ELEMENTS)
    k.store(y, k.global_id(0), value)
    return k.build()


def count(wrong: Callable[[], bool], runs: int) -> int:
    """How many runs went wrong."""
    return sum(wrong() for _ in range(runs))


def main() -> int:
    """Runs each program, both ways, and prints how often it went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--device", help="words of the device")
    options = parser.parse_args()
    runtime = ocl.Runtime(options.device)
    raw, ours = Raw(runtime.device.cl), Ours(runtime)
    print(f"{runtime.device}: wrong results of {options.runs}")
    print(f"  a pool's block reused     PyOpenCL {count(raw.reuse, options.runs):>4}", end="")
    print(f"   ocl_runtime {count(ours.reuse, options.runs):>4}")
    print(f"  a write after a read      PyOpenCL {count(raw.write_after_read, options.runs):>4}", end="")
    print(f"   ocl_runtime {count(ours.write_after_read, options.runs):>4}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
