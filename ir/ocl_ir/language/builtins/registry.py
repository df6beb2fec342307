"""Every builtin of the language, by its name in `ocl_runtime.language`; and what Python's own functions are."""

from __future__ import annotations

from typing import Any

from ocl_ir.language.builtins import (
    complex_numbers,
    groups,
    mathematics,
    printing,
    subgroups,
    tile_builtins,
    tuples,
    work_items,
)
from ocl_ir.language.values import python_functions

BUILTINS: dict[str, Any] = {
    **mathematics.BUILTINS,
    **complex_numbers.BUILTINS,
    **work_items.BUILTINS,
    **groups.BUILTINS,
    **subgroups.BUILTINS,
    **tile_builtins.BUILTINS,
}

python_functions.register(
    mathematics.BUILTINS | complex_numbers.BUILTINS,
    mathematics.PYTHON | complex_numbers.PYTHON | work_items.PYTHON | tuples.PYTHON | printing.PYTHON,
)
