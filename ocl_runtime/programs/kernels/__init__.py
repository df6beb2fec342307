"""Kernels written in Python, as users call them:

annotations.py  what a parameter's annotation says
names.py        what the language has
arguments.py    the types of a call's arguments, and their numbers
sizes.py        over how many work-items
translated.py   what functions have been translated to
variants.py     translated once for types
violations.py   what checked mode found
interpreted.py  a launch in the interpreter
plain.py        a launch in plain Python
inspection.py   stages and figures as text
launcher.py     a kernel over an index space
kernel.py       what users call
element_arguments.py  arguments of functions of elements
tuple_reduction.py    reductions of several numbers at once
join_laws.py          whether what joins is associative
interpreted_functions.py  maps, reductions and scans in the interpreter
element_functions.py  maps, reductions and scans of arrays
"""

from ocl_runtime.programs.kernels.element_functions import elementwise, reduction, scan
from ocl_runtime.programs.kernels.kernel import Kernel, kernel, new_like

__all__ = ["Kernel", "elementwise", "kernel", "new_like", "reduction", "scan"]
