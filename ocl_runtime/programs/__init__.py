"""Host programs as users call them:

call.py      a program with arrays for its parameters
capture.py   a program from what a Python function does
"""

from ocl_runtime.programs.call import Prepared, prepare
from ocl_runtime.programs.capture import capture

__all__ = ["Prepared", "capture", "prepare"]
