"""ocl-tune: measures which variants of products of matrices are the fastest, and what was measured by now.

Exit codes: 0 measured, listed or forgotten, 1 no variant is right, or an error, 2 a wrong command line, 130
interrupted.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np

from ocl_ir.graph.build import buffer
from ocl_ir.layout import Layout
from ocl_ir.types import DTYPES, from_numpy
from ocl_runtime.arrays import Array, matrix_transpose, precision
from ocl_runtime.commands import output
from ocl_runtime.errors import Error, SettingError
from ocl_runtime.programs.trace import Planned
from ocl_runtime.programs.tuning import tune
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from ocl_runtime.tuning.records import Records
from ocl_runtime.tuning.report import duration

_DTYPES = ("f2", "bf16", "tf32", "f4", "f8", "c8", "c16", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
_EPILOG = """\
  ocl-tune matmul 4096 4096 4096 --dtype f4 --seconds 20    (m, k) by (k, n) for m, n and k
  ocl-tune matmul 512 512 64 --batch 16 --transpose right   sixteen of them, the right one by columns
  ocl-tune --list                                           what was measured, for all devices
  ocl-tune --forget                                         all of that is forgotten
Later programs use the fastest variant for just these sizes. OCL_RUNTIME_TUNE=off ignores what was measured."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if (options.what is None) == (not (options.list or options.forget)):
        parser.error("expected matmul M N K, --list or --forget")
    if options.what is not None and len(options.sizes) != 3:  # noqa: PLR2004  # m, n and k
        parser.error(f"matmul takes three sizes, M N K, and got {len(options.sizes)}")
    try:
        if options.list:
            print(_listed(_records()))
            return 0
        if options.forget:
            return _forgotten(_records())
        return _measured(options)
    except BrokenPipeError:
        output.drop()
        return 0
    except KeyboardInterrupt:
        return 130
    except Error as error:
        print(f"ocl-tune: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ocl-tune",
        description="Measure which variants of products of matrices are the fastest on a device, and remember them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", choices=["matmul"], help="what to tune")
    parser.add_argument("sizes", nargs="*", type=_size, metavar="M N K", help="rows, columns, products of each sum")
    parser.add_argument("--batch", type=_size, metavar="B", help="so many products at once")
    parser.add_argument("--dtype", choices=_DTYPES, default="f4", help="of the operands: f4; tf32 is f4 by precision")
    parser.add_argument("--transpose", choices=["left", "right", "both"], help="operands that lie by columns")
    parser.add_argument("--seconds", type=_seconds, default=10.0, help="to measure: 10")
    parser.add_argument("--device", metavar="WORDS", help="words of the device: gpu, cpu, pocl, nvidia, …")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--list", action="store_true", help="what was measured by now")
    how.add_argument("--forget", action="store_true", help="forget all that was measured")
    return parser


def _size(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"expected a whole number, one or more, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, not {text!r}")
    return seconds


def _records() -> Records:
    settings = Settings.from_environment()
    if settings.cache_folder is None:
        raise SettingError(
            "nothing is kept on disk, since OCL_RUNTIME_CACHE is off",
            place="the environment variable OCL_RUNTIME_CACHE",
            remedy="name a folder there, or unset it",
        )
    return Records(settings.cache_folder)


def _listed(records: Records) -> str:
    """What was measured, by device."""
    lines = []
    for place, made in records.all():
        lines.append(f"{place.device}, driver {place.driver}")
        for record in sorted(made, key=lambda record: record.key):
            gain = f"{record.unmeasured / record.seconds:.2f} times" if record.seconds else ""
            lines.append(
                f"  {record.algorithm} {record.problem}: {record.variant}, {duration(record.seconds)}, {gain}"
                f" (kernels {record.version})"
            )
    return "\n".join(lines) or "nothing was measured"


def _forgotten(records: Records) -> int:
    count = sum(len(made) for _, made in records.all())
    records.clear()
    print(f"forgot {count} record{'' if count == 1 else 's'}")
    return 0


def _measured(options: argparse.Namespace) -> int:
    m, n, k = options.sizes
    batch = () if options.batch is None else (options.batch,)
    turned = {"left": {"left"}, "right": {"right"}, "both": {"left", "right"}}.get(options.transpose, set())
    is_tf32 = options.dtype == "tf32"
    dtype = DTYPES["bf16"] if options.dtype == "bf16" else from_numpy(np.dtype("f4" if is_tf32 else options.dtype))
    runtime = Runtime(options.device)

    def operand(rows: int, columns: int, *, by_columns: bool) -> Array:
        shape = (*batch, columns, rows) if by_columns else (*batch, rows, columns)
        # Trials have operands of their own: these are only planned with.
        memory = Planned(math.prod(shape) * dtype.size)
        array = Array(buffer(memory, dtype, Layout.contiguous(shape)), runtime.executor)
        return matrix_transpose(array) if by_columns else array

    with precision("tf32" if is_tf32 else "float32"):
        product = operand(m, k, by_columns="left" in turned) @ operand(k, n, by_columns="right" in turned)
    report = tune(product, seconds=options.seconds, progress=True)
    print(report)
    return 0 if all(tuned.winner is not None for tuned in report) else 1
