"""`python -m ocl_runtime`: list the OpenCL devices, as `ocl-devices` does."""

import sys

from ocl_runtime.commands.devices import main

if __name__ == "__main__":
    sys.exit(main())
