"""A kernel that somebody wrote in OpenCL C.

It stands where any kernel does: it is launched, captured, ordered and timed by its parameters and by what is declared
of them. Nothing looks into its text, so it has no statements, and the interpreter does not run it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.kernel.grammar import Kernel


@dataclass(frozen=True, slots=True)
class SourceKernel(Kernel):
    """A kernel with its source, in which a global pointer parameter is a buffer and an offset in elements (`ulong`).

    `modes` say for each parameter how the kernel uses what it points to, as `ocl_ir.kernel.accesses.modes` has it.
    `exact` says for each whether it touches no more than the elements that it is given; what does not may touch all of
    the memory that they lie in. `written` is the source as its author has it, line for line; `options` go to the
    compiler. `asked_at` is the line in Python that made it.
    """

    source: str = ""
    modes: tuple[int, ...] = ()
    exact: tuple[bool, ...] = ()
    written: str = ""
    options: tuple[str, ...] = ()
    asked_at: str = ""
