#!/usr/bin/env python3
"""Measure which variants of products are the fastest, as `ocl-tune` does."""

import sys

from ocl_runtime.commands.tune import main

if __name__ == "__main__":
    sys.exit(main())
