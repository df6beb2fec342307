"""ocl-devices: the OpenCL devices of this machine, which one is chosen, and why.

Exit codes: 0 a device can be used, 1 none can, 2 a wrong command line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ocl_runtime.commands import output
from ocl_runtime.device.report import report
from ocl_runtime.errors import Error

_EPILOG = """\
  OCL_RUNTIME_DEVICE="pocl 3.1" ocl-devices    words choose a device, here as in programs"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="ocl-devices",
        description="List the OpenCL devices: which one is chosen, why others are not, and what each can do.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--verbose", action="store_true", help="all that is known of each device, and how it is treated")
    how.add_argument("--json", action="store_true", help="the same for programs to read")
    options = parser.parse_args(arguments)
    try:
        status = report(how="verbose" if options.verbose else "json" if options.json else "short")
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        output.drop()
        return 0
    except Error as error:
        print(f"ocl-devices: {error}", file=sys.stderr)
        return 1
