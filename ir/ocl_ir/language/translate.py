"""From a function's syntax tree and the types of its arguments to kernel IR."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from types import FunctionType

from ocl_ir.kernel.grammar import If, Kernel, Stmt
from ocl_ir.kernel.matrix_instruction import MatrixInstruction
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins import registry  # noqa: F401, what Python's own functions are
from ocl_ir.language.builtins.tile_matrices import FragmentsAsked
from ocl_ir.language.builtins.tiles import Tiles
from ocl_ir.language.context import Host, Options, Scalar, Source, waits
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions.reports import Site
from ocl_ir.language.parameters import ArgumentType, declare
from ocl_ir.language.proofs.divergence import check_that_groups_stay_together
from ocl_ir.language.proofs.fences import with_fences
from ocl_ir.language.proofs.local_memory import check_arrays
from ocl_ir.language.syntax.source import source_of
from ocl_ir.language.values.captures import Capture
from ocl_ir.language.values.scopes import Scope, Version
from ocl_ir.language.values.values import TileShape


@dataclass(frozen=True, slots=True)
class Translation:
    """A variant of a kernel. `sources` says where each parameter of the kernel comes from, and `open_numbers` are those
    whose numbers each call gives; `sites` are what the
    record of the first violation counts; `dimensions_asked` are those of the index space that the program asks for.

    `waits`: work-items wait for each other, so that the index space is whole groups. `asks_units`: it depends on which
    arrays lie in whole units.
    """

    kernel: Kernel
    sources: tuple[Source, ...]
    open_numbers: tuple[int, ...]
    sites: tuple[Site, ...]
    captures: tuple[Capture, ...]
    dimensions_asked: frozenset[int]
    waits: bool
    asks_units: bool = False


def translate(function: FunctionType, arguments: Mapping[str, ArgumentType], options: Options) -> Translation:
    """The kernel that a function is for arguments of some types.

    Raises `KernelError`, `DTypeError`, `ShapeError` or `IndexingError`, each with the place in the source.
    """
    fragments: dict[TileShape, MatrixInstruction] = {}
    while True:
        try:
            return _translated(function, arguments, options, fragments)
        except FragmentsAsked as asked:
            fragments = {**fragments, asked.shape: asked.instruction}


def _translated(
    function: FunctionType,
    arguments: Mapping[str, ArgumentType],
    options: Options,
    fragments: Mapping[TileShape, MatrixInstruction],
) -> Translation:
    """The same, where tiles of some shapes are fragments of matrix instructions."""
    source = source_of(function)
    frame = source.frame
    span = Span.of(source.node, frame)
    name = frame.function if frame.function.isidentifier() and frame.function.isascii() else "kernel"
    t = Tiles(name, options, span)
    t.fragments = fragments
    t.frame = frame
    t.span = span
    t._function = source.node
    node = source.node
    if isinstance(node, ast.Lambda):
        raise t.fault("a lambda is no kernel: it has no statements", "write a function with def")
    t.scope = Scope({}, None, t.names_of(function))
    with t.k.block() as body:
        values = declare(t, arguments)
        t.scope.names = {name: Version(value, span) for name, value in values.items()}
        t.statements(node.body)
    is_together = waits(body)
    is_guarded = not is_together and not options.whole
    if is_guarded:
        body = _guarded(t, body)
    for stmt in (*t.first_statements, *body):
        t.k.emit(stmt)
    kernel = with_fences(t.k.build())
    if is_together:
        check_that_groups_stay_together(kernel)
    check_arrays(_unguarded(kernel) if is_guarded else kernel)
    return Translation(
        replace(kernel, note=f"{frame.function}, {span}"),
        tuple(t.sources),
        tuple([index for index, source in enumerate(t.sources) if isinstance(source, Scalar | Host)]),
        tuple(t.sites),
        tuple(t.captures.values()),
        frozenset(t.dimensions_asked),
        is_together,
        t.asks_units,
    )


def _guarded(t: Tiles, body: list[Stmt]) -> list[Stmt]:
    """The body for just the work-items that were asked for: groups may reach beyond them."""
    t.k.where = None
    with t.k.block() as guard:
        tests: list[Ref] = []
        for dimension in range(t.options.dimensions):
            item = t.k.item("global_id", dimension, "", t.index_type)
            tests.append(t.k.op("lt", item, t.items(dimension).ref))
        inside = reduce(lambda a, b: t.k.op("and", a, b), tests)
    return [*guard, If(inside.operand, tuple(body))]


def _unguarded(kernel: Kernel) -> Kernel:
    """What whole groups run, which all pass the guard."""
    *guard, inside = kernel.body
    assert isinstance(inside, If)
    return replace(kernel, body=(*guard, *inside.then))
