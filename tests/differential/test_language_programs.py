"""Random kernels in Python: plain Python, the interpreter and the device in every strategy agree.

Each is translated as it is launched, with its accesses tested, and with wide indices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.verify import verify
from ocl_ir.language.context import Options
from ocl_ir.language.parameters import ArrayType
from ocl_ir.language.plain.arrays import PlainArray
from ocl_ir.language.plain.run import run as run_plain
from ocl_ir.language.plain.work_item import Launch
from ocl_ir.language.translate import Translation, translate
from ocl_ir.layout import Layout
from ocl_ir.types import from_numpy
from ocl_runtime.execute.engine import Engine
from ocl_runtime.programs.kernels.variants import numbers_of
from ocl_runtime.programs.kernels.violations import STATUS_WORDS
from tests.differential.programs import ITEMS
from tests.differential.python_programs import DTYPES, OUTPUTS, SLOTS, program_texts
from tests.differential.test_kernels import PHASES, compiled, in_one_program, on_the_device
from tests.support.depth import with_builds
from tests.support.three_ways import assert_same, function_from

pytestmark = pytest.mark.timeout(1200)
GROUP = 8
VARIANTS = {
    "as launched": Options(group_size=(GROUP, 1, 1)),
    "checked": Options(group_size=(GROUP, 1, 1), checked=True),
    "wide": Options(group_size=(GROUP, 1, 1), wide=True),
}
BUILT = with_builds(settings().max_examples // 8)


def arrays() -> dict[str, np.ndarray]:
    """What the programs read, and where they write."""
    rng = np.random.default_rng(7)
    inputs = {
        "f32": (rng.integers(-40, 40, ITEMS) / 8).astype(np.float32),
        "i32": rng.integers(-20, 20, ITEMS).astype(np.int32),
        "u32": rng.integers(0, 2**32, ITEMS, dtype=np.uint32),
        "f16": (rng.integers(-20, 20, ITEMS) / 4).astype(np.float16),
    }
    outputs = {f"y_{type_}": np.zeros(ITEMS * SLOTS, dtype) for type_, dtype in OUTPUTS.items()}
    return {f"k_{type_}": inputs[type_] for type_ in DTYPES} | outputs


@dataclass
class Adapted:
    """A translation as the tests of kernel IR take programs."""

    translation: Translation

    @property
    def kernel(self) -> Kernel:
        return replace(self.translation.kernel, name="k")

    group = GROUP

    def arguments(self) -> dict[str, Any]:
        """New arguments, the same every time."""
        memory = arrays()
        status = np.zeros(STATUS_WORDS, np.int32)
        passed = numbers_of(
            self.translation,
            {},
            lambda path: Layout.contiguous(memory[path[0]].shape),
            (ITEMS,),
            lambda path: memory[path[0]],
            status,
        )
        return {param.value.hint: value for param, value in zip(self.kernel.params, passed, strict=True)}


def in_plain_python(text: str) -> dict[str, np.ndarray]:
    memory = arrays()
    values = {name: PlainArray(array, from_numpy(array.dtype), name) for name, array in memory.items()}
    run_plain(function_from(text), values, Launch((ITEMS,), (GROUP, 1, 1)))
    return memory


def translated(text: str, options: Options) -> Adapted:
    function = function_from(text)
    types = {name: ArrayType(from_numpy(array.dtype), 1) for name, array in arrays().items()}
    return Adapted(translate(function, types, options))


def interpreted(program: Adapted) -> dict[str, Any]:
    verify(program.kernel)
    args = program.arguments()
    run(program.kernel, args, (ITEMS,), (GROUP,))
    return args


def compare(what: str, got: dict[str, Any], wanted: dict[str, np.ndarray]) -> None:
    for name in OUTPUTS:
        if f"y_{name}" in got:
            assert_same(f"{what}: y_{name}", got[f"y_{name}"], wanted[f"y_{name}"])


@settings(max_examples=with_builds(settings().max_examples), phases=PHASES)
@given(text=program_texts())
def test_the_interpreter_does_what_python_does(text: str) -> None:
    wanted = in_plain_python(text)
    for what, options in VARIANTS.items():
        compare(what, interpreted(translated(text, options)), wanted)


@settings(max_examples=BUILT, phases=PHASES)
@given(text=program_texts())
def test_the_device_does_what_python_does_in_every_strategy(text: str, engine: Engine) -> None:
    wanted = in_plain_python(text)
    for what, options in VARIANTS.items():
        program = translated(text, options)
        compilations = in_one_program(compiled(program, engine))  # type: ignore[arg-type]
        for strategy, compilation in compilations.items():
            compare(f"{what}, {strategy}", on_the_device(program, engine, compilation), wanted)  # type: ignore[arg-type]
