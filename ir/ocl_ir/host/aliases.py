"""Views of memory in host programs: what each is a view of, down to the root, and whether it fits there.

An alias is a `View` in the program and nothing else, so its chain can be followed to the root: a parameter or an
allocation. What must hold for the numbers of a view is written here once: `ocl_ir.host.verify_views` asks where a
program is built, for sizes that are known then, and `ocl_ir.host.schedule` where the others are bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from ocl_ir.host.grammar import Launch, Program, Stmt, SymbolicLayout, Value, View, accessed, walk
from ocl_ir.kernel.grammar import Const, Param
from ocl_ir.layout import Layout
from ocl_ir.sizes import value as number_of
from ocl_ir.types import DType, Pointer


class Misfit(NamedTuple):
    """Why a value, as a view or for a kernel, does not fit its memory ("is a view of …"), and what to do."""

    fact: str
    remedy: str


class Listing:
    """A program with its statements listed, outer before inner: the checks ask the same of them again and again."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.statements = [*walk(program.body)]
        self.views = [stmt for stmt in self.statements if type(stmt) is View]
        self.launches = [stmt for stmt in self.statements if type(stmt) is Launch]
        self.made = {stmt.value.id: stmt for stmt in self.views}
        """The view that makes each value that is one."""
        self._roots = {stmt.value.id: root(stmt.value, self.made) for stmt in self.views}

    @cached_property
    def accessed(self) -> list[tuple[Stmt, Value, int]]:
        """Which memory is touched, by which statement and how, where launches have as many arguments as they should."""
        return [(stmt, value, mode) for stmt in self.statements for value, mode in accessed(stmt)]

    def root(self, value: Value) -> Value:
        """What the chain of a value ends in."""
        return self._roots.get(value.id, value)


def chain(value: Value, made: Mapping[int, View]) -> list[Value]:
    """The value, what it is a view of, and so on to the root; it ends where it would go round."""
    links = [value]
    while (view := made.get(links[-1].id)) is not None:
        if any(link.id == view.base.id for link in links):
            return [*links, view.base]
        links.append(view.base)
    return links


def root(value: Value, made: Mapping[int, View]) -> Value:
    """What the chain ends in."""
    view = made.get(value.id)
    if view is None:
        return value
    return chain(value, made)[-1] if view.base.id in made else view.base  # most values are views of their root


def shown(links: Iterable[Value], names: Mapping[int, str]) -> str:
    """Values as errors print their chain: u -> t -> x."""
    return " -> ".join(names.get(link.id, f"?{link.hint or link.id}") for link in links)


def described(value: Value, misfit: Misfit, made: Mapping[int, View], names: Mapping[int, str]) -> str:
    """The fact of an error: what does not fit, and the chain if the value is a view."""
    links = chain(value, made)
    return f"{names[value.id]} {misfit.fact}" + (f": {shown(links, names)}" if len(links) > 1 else "")


def bound_layout(layout: SymbolicLayout, sizes: Mapping[str, int]) -> Layout:
    """A layout whose sizes are all known. Raises what `ocl_ir.sizes.value` does."""
    shape, strides = (tuple(number_of(size, sizes) for size in part) for part in (layout.shape, layout.strides))
    return Layout(shape, strides, number_of(layout.offset, sizes))


def view_misfit(layout: Layout, dtype: DType, nbytes: int | None) -> Misfit | None:
    """Whether a view lies outside of its root's `nbytes` bytes; where they are not known, whether it begins before."""
    low, high = layout.range()
    if any(length < 0 for length in layout.shape):
        return Misfit(f"has the shape {layout.shape}", "use sizes that are not negative")
    if low >= 0 and (nbytes is None or high * dtype.size <= nbytes):
        return None
    has = "" if nbytes is None else f", which has {nbytes // dtype.size}"
    return Misfit(
        f"is a view of elements {low} to {high} of its memory{has}", "use sizes with which the view lies inside"
    )


def pointer_misfit(
    stmt: Launch, param: Param, layout: Layout, nbytes: int | None, numbers: Mapping[int, int]
) -> Misfit | None:
    """Whether what a kernel gets for a pointer is not aligned as it wants, or shorter than the kernel may touch.

    `numbers` are the launch's scalars by the id of their parameter, `nbytes` the bytes of the root if they are known.
    """
    type_, kernel = param.value.type, stmt.kernel.name
    assert isinstance(type_, Pointer)
    low, _ = layout.range()
    size = type_.dtype.size
    if low * size % type_.align:
        return Misfit(
            f"begins at byte {low * size}, and {kernel} wants it aligned to {type_.align}",
            "use an aligned offset, or a kernel that promises less",
        )
    promised = param.length.value if isinstance(param.length, Const) else numbers.get(getattr(param.length, "id", -1))
    if isinstance(promised, int) and nbytes is not None and (low + promised) * size > nbytes:
        return Misfit(
            f"has {layout.size} elements, of which {kernel} may touch {promised}",
            "give the kernel the length of what it gets",
        )
    return None
