"""Every stage between an array expression and the binary, and every view of a host program, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ocl_ir.host.printer import text as program_text
from ocl_ir.host.schedule import Schedule
from ocl_ir.host.verify_order import text as nodes_text
from ocl_ir.kernel.printer import text
from ocl_ir.passes import PIPELINE
from ocl_runtime.codegen.compile import Compilation
from ocl_runtime.codegen.driver import Program
from ocl_runtime.observe.fusion import bundles_text, groups_text
from ocl_runtime.observe.memory_picture import memory_summary, memory_svg
from ocl_runtime.observe.pictures import streams_dot, streams_svg, summary
from ocl_runtime.plan.host.prepare import Outcome

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion

NAMES = ("graph", "built", *(name for name, _ in PIPELINE), "locals", "source", "log", "binary")
"""In order: the expression, kernel IR as built and after each pass, declarations, OpenCL C, build log, binary."""
PLAN_NAMES = ("groups", "bundles")
"""Of a plan: its operations in groups, and which of these share a kernel."""
PROGRAM_NAMES = ("program", "passes", "schedule", "streams", "memory")
"""Of a host program: as it was written, bound to sizes and after each pass, as it runs, and as pictures."""


@dataclass(frozen=True)
class Stage:
    """One stage: its name, its text, and the ending of a file that holds it."""

    name: str
    text: str
    ending: str


def stages(compilation: Compilation, program: Program | None = None) -> list[Stage]:
    """The stages of one kernel from its IR on; the last two only with a program."""
    collected: list[Stage] = []
    before = ""
    for name, kernel in compilation.stages:
        now = text(kernel)
        collected.append(Stage(name, f"no change by {name}\n" if now == before else now, "ir"))
        before = now
    collected.append(Stage("locals", locals_text(compilation), "txt"))
    collected.append(Stage("source", compilation.source.text, "cl"))
    if program is not None:
        collected.append(Stage("log", _log_text(program), "txt"))
        collected.append(Stage("binary", binary_text(program), "txt"))
    return collected


def plan_stages(fusion: Fusion) -> list[Stage]:
    """How the expression of a plan became kernels."""
    return [Stage("groups", groups_text(fusion), "txt"), Stage("bundles", bundles_text(fusion), "txt")]


def program_stages(schedule: Schedule, passes: Sequence[tuple[str, Outcome]] = ()) -> list[Stage]:
    """A host program for one choice of sizes, with what came of each pass that it went through by name; its streams as
    a Graphviz graph, too."""
    assert schedule.memory is not None, "memory is planned before a program is shown"
    return [
        Stage("program", program_text(schedule.program) + "\n", "txt"),
        *([Stage("passes", passes_text(passes), "txt")] if passes else []),
        Stage("schedule", schedule_text(schedule), "txt"),
        Stage("streams", streams_dot(schedule), "dot"),
        Stage("streams", streams_svg(schedule), "svg"),
        Stage("memory", memory_svg(schedule, schedule.memory), "svg"),
    ]


def passes_text(passes: Sequence[tuple[str, Outcome]]) -> str:
    """The buffers and nodes of a host program after each pass, or why it was not run."""
    lines: list[str] = []
    before = ""
    for name, outcome in passes:
        if isinstance(outcome, str):
            lines += [f"{name}:", f"  not run: {outcome}"]
            continue
        now = "\n".join(_lines(outcome))
        lines += [f"{name}:", "  no change" if now == before else now]
        before = now
    return "\n".join([*lines, ""])


def schedule_text(schedule: Schedule) -> str:
    """The memory of a schedule, and its nodes in order."""
    assert schedule.memory is not None, "memory is planned before a program is shown"
    return "\n".join([summary(schedule), memory_summary(schedule, schedule.memory), *_lines(schedule), ""])


def _lines(schedule: Schedule) -> list[str]:
    """Its buffers and nodes."""
    lines = []
    for buffer in schedule.buffers:
        at = f" at {schedule.offsets[buffer.id]:,}" if buffer.id in schedule.offsets else ""
        lines.append(f"  {buffer.kind} {buffer.name}: {buffer.nbytes:,} bytes{at}")
    return [*lines, nodes_text(schedule)]


def _log_text(program: Program) -> str:
    if program.built_from == "binary":
        return "not compiled now: the binary was in the cache folder (OCL_RUNTIME_CACHE=off compiles it)\n"
    shared = program.whole is not None and bool(program.log)
    of_all = "of all kernels that were built with this one, with the lines of their common source:\n" if shared else ""
    return f"{of_all}{program.log or 'the compiler said nothing'}\n"


def locals_text(compilation: Compilation) -> str:
    """The strategy, how many declarations it made, and what lives in each."""
    locals_ = compilation.source.locals
    inside: dict[str, list[str]] = {}
    for id_, slot in locals_.slots.items():
        inside.setdefault(slot.name, []).append(locals_.names[id_])
    lines = [f"strategy {locals_.strategy}: {locals_.declarations} declarations, {len(locals_.inlined)} values inlined"]
    kinds: Mapping[bool, str] = {True: "const", False: "     "}
    for slot in dict.fromkeys(locals_.slots.values()):
        held = ", ".join(inside[slot.name])
        holds = f"  holds {held}" if slot.shared else ""
        lines.append(f"  {kinds[slot.constant]} {slot.type} {slot.name}{holds}")
    return "\n".join(lines) + "\n"


def binary_text(program: Program) -> str:
    """The binary where the device gives one that a person can read (PTX), else its size and first bytes."""
    binary = program.binary
    if not binary:
        return "the driver gives no binary\n"
    try:
        readable = binary.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        readable = ""
    if readable and "\0" not in readable:
        return readable if readable.endswith("\n") else readable + "\n"
    return f"{len(binary):,} bytes that are no text, beginning {binary[:16].hex(' ')}\n"
