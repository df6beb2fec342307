"""Kernels written in OpenCL C:

prototype.py    the kernels of a source and their parameters
declarations.py what is declared of these
rewriting.py    an offset beside each pointer
kernel_ir.py    a kernel of a source as kernel IR
numbers.py      numbers as kernels take them
declared_structs.py  structs in generated sources
index_space.py  over how many work-items
order.py        arrays whose elements follow each other
raw_kernel.py   kernels to be launched
parameters.py   parameters as CuPy declares them
signature.py    parameters of kernels whose source is generated
operands.py     how their arrays lie, and the index of an element
indexed.py      a statement for each i
elementwise.py  a statement for each element
reduction.py    what joins elements
folding.py      kernels that join them
scan.py         running results
"""

from ocl_runtime.programs.raw.elementwise import ElementwiseKernel
from ocl_runtime.programs.raw.raw_kernel import RawKernel, RawModule
from ocl_runtime.programs.raw.reduction import ReductionKernel
from ocl_runtime.programs.raw.scan import ScanKernel

__all__ = ["ElementwiseKernel", "RawKernel", "RawModule", "ReductionKernel", "ScanKernel"]
"""What users call."""
