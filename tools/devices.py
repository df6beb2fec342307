#!/usr/bin/env python3
"""List the OpenCL devices, as `ocl-devices` does: which one is chosen, why others are not, what each can do."""

import sys

from ocl_runtime.commands.devices import main

if __name__ == "__main__":
    sys.exit(main())
