"""What every host program must fulfil, whatever its sizes: small checks, each named after its rule.

What needs numbers is in `ocl_ir.host.verify_views`, for sizes that are known already, and is checked when sizes are
bound (`ocl_ir.host.schedule`) for the others, with all that depends on which branches are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ocl_ir.errors import VerifyError
from ocl_ir.host.aliases import Listing, chain, shown
from ocl_ir.host.fault import HostCheck as Check
from ocl_ir.host.fault import HostFault as Fault
from ocl_ir.host.grammar import (
    Alloc,
    Block,
    Copy,
    Fill,
    For,
    Free,
    If,
    Launch,
    Number,
    Program,
    Stmt,
    Value,
    View,
    blocks,
    defined,
    used,
)
from ocl_ir.host.printer import names, neighbourhood
from ocl_ir.host.schedule import holds
from ocl_ir.host.verify_views import pointers_fit, views_lie_inside
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.sizes import Size, Symbol, Term, symbols
from ocl_ir.types import BOOL, U8, Pointer, element


def verify(program: Program) -> None:
    """Raises `VerifyError` for the first rule that the program breaks."""
    listing = Listing(program)
    for check in CHECKS:
        for fault in check(listing):
            excerpt = neighbourhood(program, fault.stmt)
            if fault.stmt is not None and fault.stmt.where:
                excerpt += f"\nasked for at {fault.stmt.where}"
            raise VerifyError(check.__name__, fault.fact, place=excerpt, remedy=fault.remedy)


# ---------------------------------------------------------------------- aliases


def _shown(program: Program, links: Iterable[Value]) -> str:
    return shown(links, names(program))


def aliases_are_views_of_something_else(listing: Listing) -> Iterator[Fault]:
    """No value is a view of itself, directly or around a circle; no input and no allocation is declared a view."""
    program, made = listing.program, listing.made
    params = {param.value.id for param in program.params}
    allocated = {stmt.value.id for stmt in listing.statements if type(stmt) is Alloc}
    seen: dict[int, View] = {}
    for stmt in listing.views:
        links = chain(stmt.value, made) if stmt.base.id in made else [stmt.value, stmt.base]
        if stmt.value.id in params:
            yield Fault(
                f"a parameter is declared to be an alias of another value: {_shown(program, [stmt.value, stmt.base])}",
                stmt,
                "make a view with a value of its own",
            )
        elif stmt.value.id in allocated:
            what = _shown(program, links)
            yield Fault(f"an allocation is declared to be an alias as well: {what}", stmt, "make it one of the two")
        elif stmt.value.id in seen:
            first = _shown(program, [stmt.value, seen[stmt.value.id].base])
            second = _shown(program, [stmt.value, stmt.base])
            yield Fault(f"a value has a second alias: {first}, and {second}", stmt, "give each view its own value")
        elif stmt.value.id == stmt.base.id:
            what = _shown(program, links)
            yield Fault(f"a value is an alias of itself: {what}", stmt, "make a view of another value")
        elif links[-1].id in made:  # the chain would go on
            what = _shown(program, links)
            yield Fault(f"aliases go round in a circle: {what}", stmt, "let the chain end in a parameter or an alloc")
        seen.setdefault(stmt.value.id, stmt)


def dtypes_of_views_fit(listing: Listing) -> Iterator[Fault]:
    """A view has its base's dtype, or one of the same size, neither of them bool; bytes (u8) may be anything."""
    for stmt in listing.views:
        if stmt.base.dtype is not U8 and stmt.base.dtype not in (stmt.value.dtype, U8):
            sizes = {stmt.value.dtype.size, stmt.base.dtype.size}
            if len(sizes) > 1 or BOOL in (stmt.value.dtype, stmt.base.dtype):
                links = _shown(listing.program, chain(stmt.value, listing.made))
                yield Fault(
                    f"a view of {stmt.base.dtype} as {stmt.value.dtype}: {links}",
                    stmt,
                    "use a dtype of the same size, or convert with a kernel",
                )


# ---------------------------------------------------------------------- scopes


def values_are_defined_once(listing: Listing) -> Iterator[Fault]:
    """Parameters and statements define each value once."""
    seen = set()
    for param in listing.program.params:
        if param.value.id in seen:
            yield Fault(f"two parameters are value {param.value.id}", None, "give each its own value")
        seen.add(param.value.id)
    for stmt in listing.statements:
        if type(stmt) is Alloc or type(stmt) is View:
            value = stmt.value
            if value.id in seen:
                yield Fault(f"{value.hint or 'a value'} is defined twice", stmt, "take a new value")
            seen.add(value.id)


def uses_are_in_scope(listing: Listing) -> Iterator[Fault]:
    """A value is used behind its definition, in its block or inside, and not after it was freed; so for results."""
    program = listing.program

    def look(block: Block, alive: set[int], freed: set[int]) -> Iterator[Fault]:
        own: set[int] = set()
        for stmt in block:
            for value in used(stmt):
                if value.id not in alive and value.id not in own:
                    fact = f"{_shown(program, [value])} is used before it is defined, or out of its block"
                    yield Fault(fact, stmt, "define it first")
                elif freed and listing.root(value).id in freed:
                    fact = f"{_shown(program, [value])} is used after it was freed"
                    yield Fault(fact, stmt, "free it after its last use")
            if type(stmt) is Alloc or type(stmt) is View:
                own.add(stmt.value.id)
            elif type(stmt) is Free:
                freed.add(stmt.value.id)
            else:
                for inner in blocks(stmt):
                    yield from look(inner, alive | own, freed)
        if block is program.body:
            for value in program.results:
                if value.id not in alive and value.id not in own:
                    yield Fault(
                        f"the result {names(program).get(value.id, value.hint or value.id)} is not defined at the end",
                        None,
                        "allocate it outside of loops and branches, and write it there",
                    )
                elif listing.root(value).id in freed:
                    yield Fault(
                        f"the result {_shown(program, [value])} was freed", None, "do not free what is a result"
                    )

    yield from look(program.body, {param.value.id for param in program.params}, set())


def only_allocations_are_freed(listing: Listing) -> Iterator[Fault]:
    """Freed is what an `Alloc` of the same block made: not a parameter, not a view, not something around a loop."""

    def look(block: Block) -> Iterator[Fault]:
        own = {stmt.value.id for stmt in block if type(stmt) is Alloc}
        for stmt in block:
            if type(stmt) is Free and stmt.value.id not in own:
                yield Fault(
                    f"{stmt.value.hint or 'a value'} is freed, which no alloc of this block made",
                    stmt,
                    "free it in the block that allocates it; parameters and views are not freed",
                )
            for inner in blocks(stmt) if type(stmt) is For or type(stmt) is If else ():
                yield from look(inner)

    if any(type(stmt) is Free for stmt in listing.statements):
        yield from look(listing.program.body)


def sizes_are_bound(listing: Listing) -> Iterator[Fault]:
    """Every name in a size is a size of the program or the index of a loop around it."""

    program = listing.program

    def look(block: Block, bound: frozenset[str]) -> Iterator[Fault]:
        known: set[int] = set()
        """Layouts whose names are bound, by id: many statements have the same."""
        for stmt in block:
            value = stmt.value if type(stmt) is Alloc or type(stmt) is View else None
            if value is not None and id(value.layout) in known:
                continue
            for name in sorted(frozenset[str]().union(*map(symbols, _sizes(stmt))) - bound):
                yield Fault(f"the size {name} is not bound here", stmt, "declare it with p.size, or use it in its loop")
            if value is not None:
                known.add(id(value.layout))
                continue
            inside = bound | {stmt.index.name} if isinstance(stmt, For) else bound
            for inner in blocks(stmt):
                yield from look(inner, inside)

    own = frozenset(symbol.name for symbol in program.symbols)
    for param in program.params:
        for name in sorted(frozenset[str]().union(*map(symbols, param.value.shape)) - own):
            yield Fault(f"the size {name} of {param.value.hint} is not declared", None, "declare it with p.size")
    yield from look(program.body, own)


def _sizes(stmt: Stmt) -> list[Size]:
    value = defined(stmt)
    if value is not None:
        return [*value.layout.shape, *value.layout.strides, value.layout.offset]
    match stmt:
        case Launch():
            numbers = [arg for arg in stmt.args if isinstance(arg, Symbol | Term)]
            return [*stmt.global_size, *numbers, *([] if stmt.stream is None else [stmt.stream])]
        case Copy() | Fill():
            return [] if stmt.stream is None else [stmt.stream]
        case For():
            return [stmt.start, stmt.stop, stmt.step]
        case If():
            return [stmt.condition]
    return []


# ---------------------------------------------------------------------- commands


def arguments_fit(listing: Listing) -> Iterator[Fault]:
    """A launch has an argument for each parameter: a value of its dtype for a pointer, a number for a scalar."""
    numbers = set(listing.program.numbers)
    for stmt in listing.launches:
        params = stmt.kernel.params
        if len(stmt.args) != len(params):
            yield Fault(f"{stmt.kernel.name} got {len(stmt.args)} arguments", stmt, f"it takes {_taken(stmt)}")
            continue
        for param, arg in zip(params, stmt.args, strict=True):
            type_ = param.value.type
            if isinstance(type_, Pointer):
                fits = isinstance(arg, Value) and arg.dtype == type_.dtype
            elif isinstance(arg, Symbol | Term):
                fits = element(type_) != BOOL
            elif isinstance(arg, Number):
                fits = arg.dtype == element(type_) and arg in numbers
            else:
                fits = not isinstance(arg, Value) and (element(type_).is_float or not isinstance(arg, float))
            if not fits:
                got = f"{arg.dtype} memory" if isinstance(arg, Value) else repr(arg)
                got = f"the {arg.dtype} {arg}" if isinstance(arg, Number) else got
                fact = f"{stmt.kernel.name} got {got} for {param.value.hint}"
                yield Fault(fact, stmt, f"it takes {_taken(stmt)}")


def _taken(launch: Launch) -> str:
    return ", ".join(f"{param.value.hint}: {param.value.type}" for param in launch.kernel.params)


def fills_fit(listing: Listing) -> Iterator[Fault]:
    """A fill writes a number that the dtype holds."""
    for stmt in listing.statements:
        if isinstance(stmt, Fill) and not holds(stmt.target.dtype, stmt.number):
            yield Fault(f"a fill of {stmt.target.dtype} with {stmt.number!r}", stmt, "use a number that it holds")


def copies_match(listing: Listing) -> Iterator[Fault]:
    """Both sides of a copy have the same dtype and as many axes."""
    for stmt in listing.statements:
        if isinstance(stmt, Copy) and (
            stmt.target.dtype != stmt.source.dtype or len(stmt.target.shape) != len(stmt.source.shape)
        ):
            shown = [f"{value.dtype} with {len(value.shape)} axes" for value in (stmt.source, stmt.target)]
            yield Fault(f"a copy of {shown[0]} to {shown[1]}", stmt, "copy between equal dtypes and shapes")


def host_memory_is_only_copied(listing: Listing) -> Iterator[Fault]:
    """Kernels and fills see no memory of the host, and a copy has one side of it at most; it is no result."""
    program, made = listing.program, listing.made
    host = {param.value.id for param in program.params if param.host}
    for stmt in listing.statements if host else ():
        at_host = [value for value in used(stmt) if not isinstance(stmt, View) and listing.root(value).id in host]
        if isinstance(stmt, Copy) and len(at_host) < 2:
            continue
        for value in at_host:
            yield Fault(
                f"memory of the host is used: {_shown(program, chain(value, made))}",
                stmt,
                "copy between it and memory of the device",
            )
    for value in program.results:
        if listing.root(value).id in host:
            yield Fault(f"a result is memory of the host: {_shown(program, chain(value, made))}", None, "it is there")


def inputs_are_not_written(listing: Listing) -> Iterator[Fault]:
    """Only outputs, allocations and inputs that are said to be written, directly or through views."""
    kept = _kept(listing.program)
    for stmt, value, mode in listing.accessed:
        if mode & WRITE and listing.root(value).id in kept:
            yield Fault(
                f"an input that is not donated is written: {_shown(listing.program, chain(value, listing.made))}",
                stmt,
                "write to an output or an allocation, or declare the input written or donated",
            )


def _kept(program: Program) -> set[int]:
    """The inputs that the caller keeps as they are."""
    return {param.value.id for param in program.params if not (param.output or param.donated or param.written)}


def outputs_are_written(listing: Listing) -> Iterator[Fault]:
    """Some statement writes each output; that all of it is written is found when sizes are bound."""
    roots = {listing.root(value).id for _, value, mode in listing.accessed if mode & WRITE}
    for param in listing.program.params:
        if param.output and param.value.id not in roots:
            yield Fault(
                f"the output {param.value.hint} is written nowhere",
                None,
                "write it, or leave it out; what the program may leave as it is, is an input that is written",
            )


def results_are_the_callers(listing: Listing) -> Iterator[Fault]:
    """A result is memory that the program may give away: not an input that the caller keeps."""
    kept = _kept(listing.program)
    for value in listing.program.results:
        if listing.root(value).id in kept:
            links = chain(value, listing.made)
            yield Fault(
                f"a result is an alias of an input that is not donated: {_shown(listing.program, links)}",
                None,
                "copy it, or declare the input donated",
            )


CHECKS: tuple[Check, ...] = (
    aliases_are_views_of_something_else,
    values_are_defined_once,
    uses_are_in_scope,
    only_allocations_are_freed,
    sizes_are_bound,
    dtypes_of_views_fit,
    arguments_fit,
    fills_fit,
    copies_match,
    host_memory_is_only_copied,
    inputs_are_not_written,
    outputs_are_written,
    results_are_the_callers,
    views_lie_inside,
    pointers_fit,
)
