"""Prototypes with an offset beside each pointer: memory of arrays lies somewhere in a buffer of the driver's.

    __kernel void scale(__global float *x, float a)
    {

becomes, on the same lines, so that errors of the compiler name those of the author,

    __kernel void scale(__global float *x_buffer, const ulong x_offset, float a)
    { __global float *x = (__global void *)((__global char *)x_buffer + x_offset);

Offsets count bytes. A vector is passed as its lanes: each is a number.
Local memory is declared in the body, since its size is known when the source is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ocl_runtime.codegen.spelling import at_offset
from ocl_runtime.programs.raw.prototype import C_NAMES, Parameter, Prototype, code_of

_RESTRICT = re.compile(r"\b(?:restrict|__restrict__|__restrict)\b")


def rewritten(source: str, declared: Sequence[Prototype], local: Mapping[str, int]) -> str:
    """The source with other prototypes for kernels, everywhere where these are declared; `local` is how many elements
    of local memory parameters get, by name."""
    code = code_of(source)
    words = frozenset(re.findall(r"\w+", source))
    changes: list[tuple[int, int, str]] = []
    for prototype in declared:
        opening: list[str] = []
        taken = set(words)
        for parameter in prototype.parameters:
            if parameter.is_local:
                opening.append(_local(parameter, code, local[parameter.name]))
            elif parameter.is_pointer and not parameter.offset:
                text, statement = _pointer(parameter, code, taken)
                changes.append(_change(parameter, text, source))
                opening.append(statement)
            elif parameter.lanes > 1 and not parameter.is_pointer:
                text, statement = _vector(parameter, taken)
                changes.append(_change(parameter, text, source))
                opening.append(statement)
        kept = [parameter for parameter in prototype.parameters if not parameter.is_local]
        for index, parameter in enumerate(prototype.parameters):
            if parameter.is_local:  # with the comma behind it, or the one in front of it
                is_last = not any(other.start > parameter.start for other in kept)
                start = parameter.start - (is_last and index > 0)
                end = parameter.end + (not is_last)
                changes.append((start, end, "\n" * source.count("\n", start, end)))
        if prototype.body is not None and opening:
            changes.append((prototype.body, prototype.body, " " + " ".join(opening)))
    for start, end, text in sorted(changes, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _change(parameter: Parameter, text: str, source: str) -> tuple[int, int, str]:
    """What stands for a parameter, over as many lines."""
    lines = source.count("\n", parameter.start, parameter.end) - text.count("\n")
    return parameter.start, parameter.end, text + "\n" * lines


def _local(parameter: Parameter, code: str, count: int) -> str:
    """The statement that declares local memory."""
    kind = _RESTRICT.sub("", code[parameter.start : parameter.named[0]]).replace("*", "")
    return f"{' '.join(kind.split())} {parameter.name}[{count}];"


def lanes_of(parameter: Parameter) -> list[str]:
    """The names of the numbers that a vector is passed as."""
    return [f"{parameter.name}_{lane}" for lane in range(parameter.lanes)]


def _pointer(parameter: Parameter, code: str, taken: set[str]) -> tuple[str, str]:
    """A parameter as a buffer and an offset, and the statement that makes the pointer of them."""
    before = code[parameter.start : parameter.named[0]]
    if "[" in code[parameter.named[1] : parameter.end]:
        before += "*"
    buffer, offset = _free(f"{parameter.name}_buffer", taken), _free(f"{parameter.name}_offset", taken)
    target = at_offset(parameter.space, buffer, offset)
    space = "" if before.endswith("*") else " "
    declaration = f"{' '.join(before.split())}{space}{parameter.name} = {target};"
    return f"{before}{buffer}, const ulong {offset}", declaration


def _vector(parameter: Parameter, taken: set[str]) -> tuple[str, str]:
    """A vector as one number for each lane, and the statement that makes it of them."""
    names = [_free(name, taken) for name in lanes_of(parameter)]
    assert parameter.dtype is not None
    scalar = C_NAMES[parameter.dtype]
    text = " " + ", ".join(f"const {scalar} {name}" for name in names)
    return text, f"const {parameter.type} {parameter.name} = ({parameter.type})({', '.join(names)});"


def _free(wish: str, taken: set[str]) -> str:
    while wish in taken:
        wish += "_"
    taken.add(wish)
    return wish
