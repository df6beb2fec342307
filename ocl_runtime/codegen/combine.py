"""The sources of several kernels as one program.

Most of what a driver does to build a small program is the same for every program: its own headers and its library. Ten
kernels in one are built in the time of one or two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """The source of one kernel, and the functions that it defines."""

    text: str
    functions: tuple[str, ...]


def combine(parts: Sequence[Part]) -> tuple[str, list[Mapping[str, str]]]:
    """One source with all of them, and for each part the functions that have other names there.

    A function whose name was taken is renamed by the preprocessor, so that each part stays as it is, letter for letter:

    >>> print(combine([Part("void f() {}\\n", ("f",)), Part("void f() { g(); }\\n", ("f",))])[0])
    void f() {}
    <BLANKLINE>
    #define f f_1
    void f() { g(); }
    #undef f
    <BLANKLINE>
    """
    taken = {name for part in parts for name in part.functions}
    met: set[str] = set()
    texts: list[str] = []
    renamed: list[Mapping[str, str]] = []
    for part in parts:
        names = {name: _free(name, taken) for name in part.functions if name in met}
        met.update(part.functions)
        taken.update(names.values())
        before = [f"#define {name} {new}\n" for name, new in names.items()]
        after = [f"#undef {name}\n" for name in names]
        texts.append("".join([*before, part.text, *after]))
        renamed.append(names)
    return "\n".join(texts), renamed


def _free(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
