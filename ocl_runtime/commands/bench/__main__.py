"""`python -m ocl_runtime.commands.bench`: the same as `ocl-bench`."""

import sys

from ocl_runtime.commands.bench.command import main

if __name__ == "__main__":
    sys.exit(main())
