"""ocl-devices: the OpenCL devices of this machine, which one is chosen, and why.

Exit codes: 0 a device can be used, 1 none can, 2 a wrong command line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Literal

from ocl_runtime.codegen.matrix_check import verdicts
from ocl_runtime.commands import output
from ocl_runtime.device.report import report
from ocl_runtime.errors import Error
from ocl_runtime.settings import Settings

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
        folder = Settings.from_environment().cache_folder
        form: Literal["short", "verbose", "json"] = "json" if options.json else "short"
        status = report(
            how="verbose" if options.verbose else form, instructions=lambda device: verdicts(device, folder)
        )
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        output.drop()
        return 0
    except Error as error:
        print(f"ocl-devices: {error}", file=sys.stderr)
        return 1
