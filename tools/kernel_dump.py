#!/usr/bin/env python3
"""Show every step from an array expression, or from a program, to what runs on the device. See --help."""

import sys

from ocl_runtime.commands.dump import main

if __name__ == "__main__":
    sys.exit(main())
