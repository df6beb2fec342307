"""Structs in generated sources: declared in front of what the user wrote, unless that declares them."""

from __future__ import annotations

from collections.abc import Sequence

from ocl_runtime.codegen.spelling import memory_type
from ocl_runtime.codegen.templates import render
from ocl_runtime.programs.raw.prototype import code_of, struct_names
from ocl_runtime.programs.structs import Struct


def with_structs(structs: Sequence[Struct], preamble: str = "") -> str:
    """A text of the user's in which structs are declared. One that the text declares itself has to be of the size that
    NumPy's dtype has: else the source does not build."""
    if not structs:
        return preamble
    known = struct_names(code_of(preamble))
    return render(
        "raw_structs.cl.mako",
        declared=[struct for struct in structs if struct.name not in known],
        preamble=preamble,
        compared=[struct for struct in structs if struct.name in known],
        memory_type=memory_type,
    )
