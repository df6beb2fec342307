"""Host programs as users call them:

call.py        a program with arrays for its parameters
structs.py     structs of C as dtypes of NumPy's
struct_array.py arrays of structs
own_memory.py  memory that a program may write over
trees.py       arguments and results of Python functions
arguments.py   the memory of a captured function's arguments, and what a program for them depends on
exclusive.py   whether others need memory that it computes into
trace.py       what a function does, written down
captured.py    what it has become, for sizes that pass its guards
known_programs.py the programs that one function has become
capture.py     a program from what a Python function does
kernel_call.py a call of a kernel over arrays, and who else needs what it writes
bound_launch.py a launch bound to memory
repeats.py     calls of kernels that come again
launching.py   kernels launched over arrays
tuning.py      variants of products, measured
raw/           kernels written in OpenCL C
kernels/       kernels written in Python
"""

from ocl_runtime.programs.call import Prepared, prepare
from ocl_runtime.programs.capture import capture
from ocl_runtime.programs.kernels import elementwise, kernel, new_like, reduction, scan
from ocl_runtime.programs.raw import ElementwiseKernel, RawKernel, RawModule, ReductionKernel, ScanKernel

__all__ = [
    "ElementwiseKernel",
    "Prepared",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "ScanKernel",
    "capture",
    "elementwise",
    "kernel",
    "new_like",
    "prepare",
    "reduction",
    "scan",
]
