"""`python -m ocl_runtime`: list the OpenCL devices, as `ocl-devices` does."""

import sys

from ocl_runtime.device.report import report

if __name__ == "__main__":
    sys.exit(report())
