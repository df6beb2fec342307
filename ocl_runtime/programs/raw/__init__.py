"""Kernels written in OpenCL C:

prototype.py    the kernels of a source and their parameters
declarations.py what is declared of these
rewriting.py    an offset beside each pointer
numbers.py      numbers as kernels take them
index_space.py  over how many work-items
raw_kernel.py   kernels to be launched
"""

from ocl_runtime.programs.raw.raw_kernel import RawKernel, RawModule

__all__ = ["RawKernel", "RawModule"]
"""What users call."""
