#!/usr/bin/env python3
"""Measure what the library reaches on a device, beside its ceilings and other libraries. See --help."""

import sys

from ocl_runtime.commands.bench.command import main

if __name__ == "__main__":
    sys.exit(main())
