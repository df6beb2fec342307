"""Random programs: the interpreter before and after the passes, and the device in every strategy, agree bit for bit.

`make test` runs 120 of them on the device, `make nightly` 2,000.
"""

from __future__ import annotations

from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.kernel.printer import text
from ocl_ir.passes import PIPELINE
from ocl_ir.passes import run as run_passes
from ocl_ir.types import Pointer, element
from ocl_runtime.codegen.compile import Compilation, compile_kernel
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.launch import Executable
from tests.differential.programs import ITEMS, Program, dtypes_of, programs
from tests.support.depth import with_builds
from tests.support.ulp import ulps

REFERENCE_ULP = 4.0
"""What NumPy's own functions may be off in the interpreter; test_operations.py has the true bounds."""
pytestmark = pytest.mark.timeout(1200)  # of hundreds of builds each, on a machine with other work
PART = with_builds(settings().max_examples * 3 // 10)
# PoCL takes seconds to build a kernel with barriers in loops, so there are fewer of these.
WORK_GROUPS = with_builds(settings().max_examples // 10)
FEWER = max(10, settings().max_examples // 7)
PHASES = [phase for phase in Phase if phase != Phase.explain]  # explaining takes longer than finding


def interpreted(program: Program, kernel: Kernel) -> dict[str, Any]:
    args = program.arguments()
    run(kernel, args, (ITEMS,), (program.group,))
    return args


def compiled(program: Program, engine: Engine) -> dict[str, Compilation]:
    """The kernel in every strategy, under names of their own; strategies that give the same source share one."""
    found: dict[str, Compilation] = {}
    known: dict[str, Compilation] = {}
    for letter, strategy in zip(ascii_lowercase, STRATEGIES, strict=False):
        name = f"{program.kernel.name}_{letter}"
        one = compile_kernel(replace(program.kernel, name=name), strategy, engine._dialect)
        found[strategy] = known.setdefault(one.source.text.replace(name, program.kernel.name), one)
    return found


def in_one_program(compilations: dict[str, Compilation]) -> dict[str, Compilation]:
    """With one source for all kernels, since most of a build is the driver's own headers. Where a strategy needs other
    helper functions than the first one, it keeps its own source."""
    parts = {strategy: one.source.text.partition("__kernel") for strategy, one in compilations.items()}
    head = next(iter(parts.values()))[0]
    kernels = dict.fromkeys(mark + body for start, mark, body in parts.values() if start == head)
    whole = head + "\n".join(kernels)
    return {
        strategy: replace(one, source=replace(one.source, text=whole)) if parts[strategy][0] == head else one
        for strategy, one in compilations.items()
    }


def on_the_device(program: Program, engine: Engine, compilation: Compilation) -> dict[str, Any]:
    """The arguments afterwards."""
    given = program.arguments()
    args: dict[str, Any] = {
        name: (engine.upload(value), 0) if isinstance(value, np.ndarray) else value for name, value in given.items()
    }
    executable = Executable(engine.device, engine.driver, compilation, engine.programs, engine.memory)
    engine.submit(executable.prepare(args, (ITEMS,), (program.group,)))
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            given[name] = engine.download(args[name][0], value.dtype, value.size).result()
    return given


def differences(program: Program, wanted: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """One line for each array that differs."""
    found = []
    for param in program.kernel.params:
        name, type_ = param.value.hint, param.value.type
        if not isinstance(type_, Pointer):
            continue
        a, b = wanted[name], got[name]
        if name in program.bounds:
            bad = ulps(b, a) > program.bounds[name] + REFERENCE_ULP
        else:
            bad = ~same_bits(a, b, element(type_).name)
        if bad.any():
            at = np.flatnonzero(bad)
            found.append(f"{name}[{at[0]}] is {b[at[0]]!r} and should be {a[at[0]]!r} ({at.size} elements differ)")
    return found


def same_bits(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    """Equal bits, or both NaN, whose bits nobody promises."""
    if dtype == "bf16":
        a, b = ((one.astype(np.uint32) << np.uint32(16)).view(np.float32) for one in (a, b))
    equal = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")
    return equal | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else equal


def fail(said: str, program: Program, found: list[str], kernel: Kernel | None = None, source: str = "") -> None:
    parts = [f"{said}:", *found, text(program.kernel)]
    if kernel is not None:
        parts += ["after the passes:", text(kernel)]
    pytest.fail("\n".join([*parts, source]), pytrace=False)


# Four tests, so that they run side by side; each draws programs of its own, with an emphasis of its own.


@settings(max_examples=PART, phases=PHASES)
@given(data=st.data())
def test_programs_of_all_kinds(data: st.DataObject, engine: Engine) -> None:
    agree(data, engine, "")


@settings(max_examples=PART, phases=PHASES)
@given(data=st.data())
def test_programs_with_many_locals(data: st.DataObject, engine: Engine) -> None:
    agree(data, engine, "locals")


@settings(max_examples=PART, phases=PHASES)
@given(data=st.data())
def test_programs_with_vectors(data: st.DataObject, engine: Engine) -> None:
    agree(data, engine, "vectors")


@settings(max_examples=WORK_GROUPS, phases=PHASES)
@given(data=st.data())
def test_programs_of_work_groups(data: st.DataObject, engine: Engine) -> None:
    agree(data, engine, "groups")


def agree(data: st.DataObject, engine: Engine, emphasis: str) -> None:
    """The interpreter before and after the passes, and the device in every strategy."""
    program = data.draw(programs(**dtypes_of(engine.device.capabilities), emphasis=emphasis))
    wanted = interpreted(program, program.kernel)
    optimised = run_passes(program.kernel)
    found = differences(program, wanted, interpreted(program, optimised))
    if found:
        fail("the passes change the interpreter's result", program, found, optimised)
    compilations = compiled(program, engine)
    for strategy, compilation in in_one_program(compilations).items():
        found = differences(program, wanted, on_the_device(program, engine, compilation))
        if found:
            source = compilations[strategy].source.text
            fail(f"{strategy} on {engine.device} differs from the interpreter", program, found, optimised, source)


@settings(max_examples=FEWER, phases=PHASES)
@given(data=st.data())
def test_no_pass_depends_on_another_one(data: st.DataObject) -> None:
    """Each pass left out of the pipeline, and each one alone."""
    program = data.draw(programs())
    wanted = interpreted(program, program.kernel)
    for name, change in PIPELINE:
        rest = tuple(stage for stage in PIPELINE if stage[0] != name)
        for said, pipeline in ((f"without {name}", rest), (f"{name} alone", ((name, change),))):
            kernel = run_passes(program.kernel, pipeline=pipeline)
            if kernel == program.kernel:
                continue
            found = differences(program, wanted, interpreted(program, kernel))
            if found:
                fail(f"the pipeline {said} changes the interpreter's result", program, found, kernel)


@settings(max_examples=FEWER, phases=PHASES)
@given(program=programs())
def test_the_passes_are_deterministic_and_each_is_done_after_one_run(program: Program) -> None:
    assert text(run_passes(program.kernel)) == text(run_passes(program.kernel))
    kernel = program.kernel
    for name, change in PIPELINE:
        kernel = change(kernel)
        assert text(change(kernel)) == text(kernel), name
