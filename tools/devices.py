#!/usr/bin/env python3
"""List the OpenCL devices: what each can do, which one is chosen and why. Exit code 1 if none can be used."""

import sys

from ocl_runtime.device.report import report

if __name__ == "__main__":
    sys.exit(report())
