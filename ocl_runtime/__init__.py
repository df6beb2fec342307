"""A portable compute runtime for Python on OpenCL.

    import numpy as np
    import ocl_runtime as ocl

    x = ocl.asarray(np.linspace(0, 1, 1000, dtype=np.float32))
    y = ocl.sum(ocl.sin(x) * 2 + 1)     # builds an expression
    print(float(y))                     # computes it: one fused kernel, or a pair

Functions and dtypes have the names and signatures of the Python array API standard (2025.12). The first use chooses a
device; `Runtime("words")` with `use` chooses another. In the order in which an expression goes through them:

    arrays/            the arrays and their functions
    numpy/             NumPy's names for them; import ocl_runtime.numpy as np
    linalg/            linear algebra
    random/            random numbers
    signal/            convolutions and correlations
    fft/               Fourier transforms
    special/           special functions
    plan/              expressions to kernels: fusion, elementwise and reduction kernels, kernel cache
    codegen/           kernel IR to OpenCL C to programs
    execute/           memory, transfers, launches
    device/            which OpenCL devices there are, and what each can do
    observe/           every stage as text, profiles, timelines
    tuning/            which variants of products are the fastest
    executor.py        one device with all of the above
    runtime.py         what users hold of it
    programs/          host programs: captured or by hand, planned once, replayed; kernels in Python and OpenCL C
    tools.py           structured dtypes for these kernels
    language.py        what kernels in Python are written with
    commands/          ocl-dump, ocl-devices, ocl-bench and ocl-tune
    settings.py        what a user can set
    private_folder.py  what is remembered on disk
    errors.py          the error tree
"""

import importlib
from typing import TYPE_CHECKING, Any

from ocl_runtime import arrays
from ocl_runtime.arrays import *  # noqa: F403
from ocl_runtime.arrays import numpy_calls
from ocl_runtime.arrays.current_runtime import make_runtimes
from ocl_runtime.errors import Error
from ocl_runtime.execute.streams.chosen import stream
from ocl_runtime.settings import Settings

if TYPE_CHECKING:
    from ocl_runtime.programs import (
        ElementwiseKernel,
        RawKernel,
        RawModule,
        ReductionKernel,
        ScanKernel,
        capture,
        elementwise,
        kernel,
        new_like,
        prepare,
        reduction,
        scan,
    )
    from ocl_runtime.programs.tuning import tune
    from ocl_runtime.runtime import Runtime

__version__ = "0.1.0"
__all__ = [  # noqa: PLE0604
    *arrays.__all__,
    "ElementwiseKernel",
    "Error",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "Runtime",
    "ScanKernel",
    "Settings",
    "capture",
    "elementwise",
    "kernel",
    "new_like",
    "prepare",
    "reduction",
    "scan",
    "stream",
    "tune",
]
_PROGRAMS = (
    "ElementwiseKernel",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "ScanKernel",
    "capture",
    "elementwise",
    "kernel",
    "new_like",
    "prepare",
    "reduction",
    "scan",
)

_LATER = {
    "Runtime": "ocl_runtime.runtime",
    "tune": "ocl_runtime.programs.tuning",
    **dict.fromkeys(_PROGRAMS, "ocl_runtime.programs"),
}
"""What plans and runs takes longer to import than what builds expressions: it comes with its first use."""


def __getattr__(name: str) -> Any:
    if name in {"fft", "language", "linalg", "programs", "random", "runtime", "signal", "special", "tools"}:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _runtime(*words: str) -> Any:
    return __getattr__("Runtime")(*words)


make_runtimes(_runtime)
numpy_calls.register(lambda: importlib.import_module("ocl_runtime.numpy.protocols"))
