"""What a variant of a kernel is, as text: every stage to the binary, and what a work-item asks for and does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ocl_ir.kernel.grammar import (
    Atomic,
    Barrier,
    Collective,
    For,
    Kernel,
    Load,
    Shuffle,
    Stmt,
    Store,
    While,
    blocks,
    walk,
)
from ocl_ir.kernel.work import operations
from ocl_ir.language.translate import Translation
from ocl_ir.types import DType, Pointer, Vector, element, lanes
from ocl_runtime.errors import Error
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.observe.stages import NAMES, stages


def dumped(translation: Translation, executor: DeviceExecutor, stage: str | None) -> str:
    """The stages of a variant on a device, or one of them by name. Raises `Error` for a stage that kernels have not."""
    executable = executor.engine.executable(translation.kernel)
    all_stages = stages(executable.compilation, executable.program)
    if stage is None:
        return "\n".join(f"── {made.name}\n{made.text}" for made in all_stages)
    named = [made for made in all_stages if made.name == stage]
    if not named:
        raise Error(f"a kernel has no stage {stage!r}", remedy=f"use one of {', '.join(NAMES[1:])}")
    return named[0].text


def source_of(translation: Translation, executor: DeviceExecutor, *, lines: bool) -> str:
    """The OpenCL C of a variant; with `lines`, each line says which line of Python asked for it."""
    source = executor.engine.executable(translation.kernel).compilation.source
    if not lines:
        return source.text
    marked = []
    for number, text in enumerate(source.text.splitlines(), start=1):
        stmt = source.statements.get(number)
        where = str(stmt.where) if stmt is not None and stmt.where else ""
        says = where and not text.strip().startswith("}")
        marked.append(f"{text}  /* {where.rpartition('/')[2].replace('*/', '* /')} */" if says else text)
    return "\n".join(marked) + "\n"


def explained(translation: Translation, executor: DeviceExecutor, items: tuple[int, ...]) -> str:
    """What a variant asks for and does, for a person to read."""
    kernel = translation.kernel
    executable = executor.engine.executable(kernel)
    memory = executable.memory_use()
    counts = Counter(dict(_accesses(kernel.body)))
    group = "x".join(map(str, kernel.group_size or ()))
    numbers = [1] * len(kernel.params)
    lines = [
        f"{kernel.name}: {' x '.join(map(str, items))} work-items in groups of {group}, on {executor.device}",
        f"  private memory of a work-item: {memory.private:,} bytes; local memory of a group: {memory.local:,} bytes",
        f"  about {operations(kernel, numbers):g} operations a work-item, loops of unknown length counted as {_TURNS}",
        *[f"  {what}: {count:g} bytes a work-item" for what, count in sorted(counts.items())],
        f"  waits for its group at {_count(kernel.body, Barrier)} barriers and "
        f"{sum(isinstance(stmt, Collective) and not stmt.size for stmt in walk(kernel.body))} collectives",
        *_of_subgroups(kernel, executable.compilation.kernel),
    ]
    floats = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Atomic) and element(stmt.pointer.type).is_float]
    if any(stmt.op in {"add", "sub"} for stmt in floats):
        lines.append("  the order of float atomics varies, and with it the last bits of their sums")
    lines += [f"  parameter {param.value.hint}: {param.value.type}" for param in kernel.params]
    return "\n".join(lines)


def _of_subgroups(kernel: Kernel, lowered: Kernel) -> Iterator[str]:
    """How work-items exchange values in their sub-groups, if they do."""
    count = sum(isinstance(stmt, Shuffle | Collective) and stmt.size > 0 for stmt in walk(kernel.body))
    if count:
        how = "in registers" if _count(lowered.body, Shuffle) else "through local memory"
        yield f"  exchanges values in its sub-group {'once' if count == 1 else f'{count} times'}, {how}"


_TURNS = 4


def _count(body: tuple[Stmt, ...], kind: type) -> int:
    return sum(isinstance(stmt, kind) for stmt in walk(body))


def _accesses(body: tuple[Stmt, ...], turns: float = 1) -> Iterator[tuple[str, float]]:
    """The bytes that a work-item moves, by what it does where: each access once, those of loops a few times."""
    counted: Counter[str] = Counter()
    for stmt in body:
        if isinstance(stmt, Load | Store):
            moved = stmt.result.type if isinstance(stmt, Load) else stmt.value.type
            pointer = stmt.pointer.type
            assert isinstance(pointer, Pointer)
            assert isinstance(moved, DType | Vector)
            what = "reads" if isinstance(stmt, Load) else "writes"
            counted[f"{what} {pointer.space} memory"] += turns * pointer.dtype.size * lanes(moved)  # type: ignore[assignment]
        inner = turns * _TURNS if isinstance(stmt, For | While) else turns
        for block in blocks(stmt):
            for what, count in _accesses(block, inner):
                counted[what] += count  # type: ignore[assignment]
    yield from counted.items()
