"""Every guard that the kernel language generates is needed: without one of them, the interpreter sees another outcome.

That is how tests would notice a translator that leaves out the test of the index space, a bounds check of checked mode
along one axis in one direction, or the rule that a work-item stores nothing more after an access outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from ocl_ir.errors import Error
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.verify import verify
from ocl_ir.language.context import Options
from ocl_ir.language.parameters import ArgumentType, ArrayType, IndexType
from ocl_ir.language.translate import Translation, translate
from ocl_ir.layout import Layout
from ocl_ir.types import from_numpy
from ocl_runtime.language import (
    atomic_add,
    barrier,
    global_id,
    int32,
    local_array,
    local_id,
    position,
    private_array,
    vload,
    vstore,
)
from ocl_runtime.programs.kernels.variants import numbers_of
from ocl_runtime.programs.kernels.violations import STATUS_WORDS, violation
from tests.support.mutations import Mutant, bounds_checks, comparisons_of, index_space_guard, mutants, stops

# ruff: noqa: B905  # kernels zip tuples of one length


def matrices(x, y, a, b, c, d):
    i, j = position()
    y[i + c, j + d] = x[i + a, j + b]


def arrays_of_all_kinds(counts, y, a, b, c, d, e, f):
    i, lane = global_id(0), local_id(0)
    own = private_array(3, int32)
    for q in range(3):
        own[q + a] = q + i
    part = local_array(4, int32)
    part[lane + b] = own[lane % 3 + c]
    barrier()
    before = atomic_add(counts, i + d, part[3 - lane + e] + 1)
    y[i + f] = before


def vectors(x, y, a, b):
    i = global_id(0)
    vstore(y, 4 * i + b, vload(x, 4 * i + a, 4))


def counted_1d(y, count):
    i = global_id(0)
    y[i] = i + 1
    atomic_add(count, 0, 1)


def counted_2d(y, count):
    i, j = position()
    y[i, j] = i + j + 1
    atomic_add(count, 0, 1)


def counted_3d(y, count):
    i, j, k = position()
    y[i, j, k] = i + j + k + 1
    atomic_add(count, 0, 1)


class Program(NamedTuple):
    """A kernel, what it is launched over, its arrays, and the numbers of each launch."""

    kernel: Callable[..., None]
    items: tuple[int, ...]
    group: tuple[int, int, int]
    arrays: Mapping[str, np.ndarray]
    launches: Sequence[Mapping[str, int]] = ({},)

    def __str__(self) -> str:
        return self.kernel.__name__

    def translated(self, **options: Any) -> Translation:
        """Its variant."""
        types: dict[str, ArgumentType] = {
            name: ArrayType(from_numpy(array.dtype), array.ndim) for name, array in self.arrays.items()
        }
        types |= dict.fromkeys(self.launches[0], IndexType())
        chosen = Options(group_size=self.group, dimensions=len(self.items), **options)
        return translate(self.kernel, types, chosen)  # type: ignore[arg-type]

    def outcomes(self, translation: Translation, kernel: Kernel) -> list[object]:
        """What comes of each launch of the variant, or of a kernel that was made of it."""
        verify(kernel)
        return [self._outcome(translation, kernel, launch) for launch in self.launches]

    def _outcome(self, translation: Translation, kernel: Kernel, launch: Mapping[str, int]) -> object:
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        status = np.zeros(STATUS_WORDS, np.int32)
        passed = numbers_of(
            translation,
            {(name,): number for name, number in launch.items()},
            lambda path: Layout.contiguous(arrays[str(path[0])].shape),
            self.items,
            lambda path: arrays[str(path[0])].reshape(-1),
            status,
        )
        names = [param.value.hint for param in kernel.params]
        whole = tuple(-(-count // extent) * extent for count, extent in zip(self.items, self.group, strict=False))
        try:
            run(kernel, dict(zip(names, passed, strict=True)), whole, self.group[: len(whole)])
        except Error as error:
            return type(error), error.fact
        return str(violation(status, translation.sites, self.group)), {name: x.tolist() for name, x in arrays.items()}


def one_at_a_time(*names: str) -> list[dict[str, int]]:
    """Numbers that are all 0, and those where one is 1 or -1."""
    zeros = dict.fromkeys(names, 0)
    return [zeros, *({**zeros, name: by} for name in names for by in (1, -1))]


INTS = np.arange(1, 13, dtype=np.int32)
CHECKED = [
    (
        Program(
            matrices, (4, 3), (2, 1, 1), {"x": INTS.reshape(3, 4), "y": -INTS.reshape(3, 4)}, one_at_a_time(*"abcd")
        ),
        [4, 4],
        1,
    ),
    (
        Program(arrays_of_all_kinds, (8,), (4, 1, 1), {"counts": INTS[:8], "y": -INTS[:8]}, one_at_a_time(*"abcdef")),
        [2] * 6,
        4,
    ),
    (
        Program(vectors, (3,), (1, 1, 1), {"x": INTS, "y": -INTS}, one_at_a_time("a", "b")),
        [4, 4],
        1,
    ),
]


def unnoticed(program: Program, translation: Translation, dropped: list[Mutant]) -> list[str]:
    """The guards without which nothing changes."""
    wanted = program.outcomes(translation, translation.kernel)
    return [mutant.dropped for mutant in dropped if program.outcomes(translation, mutant.kernel) == wanted]


@pytest.mark.parametrize("wide", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize(("program", "comparisons", "stores"), CHECKED, ids=str)
def test_bounds_checks(program: Program, comparisons: list[int], stores: int, wide: bool) -> None:
    translation = program.translated(checked=True, wide=wide)
    kernel = translation.kernel
    checks, stopping = bounds_checks(kernel), stops(kernel)
    assert [len(comparisons_of(kernel, check)) for check in checks] == comparisons
    assert len(stopping) == stores
    # Of a vector, the last lane is below the length only where the first one is, too.
    dropped = [*mutants(kernel, checks, with_comparisons=program.kernel is not vectors), *mutants(kernel, stopping)]
    assert unnoticed(program, translation, dropped) == []


@pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
@pytest.mark.parametrize(
    "program",
    [
        Program(counted_1d, (5,), (4, 1, 1), {"y": INTS[:5], "count": INTS[:1]}),
        Program(counted_2d, (3, 5), (2, 4, 1), {"y": np.ones((5, 3), np.int32), "count": INTS[:1]}),
        Program(counted_3d, (3, 5, 3), (2, 2, 2), {"y": np.ones((3, 5, 3), np.int32), "count": INTS[:1]}),
        Program(counted_1d, (5,), (4, 1, 1), {"y": INTS, "count": INTS[:1]}),
    ],
    ids=["1-D", "2-D", "3-D", "larger array"],
)
def test_the_test_of_the_index_space(program: Program, checked: bool) -> None:
    translation = program.translated(checked=checked)
    guard = index_space_guard(translation.kernel)
    assert len(comparisons_of(translation.kernel, guard)) == len(program.items)
    assert unnoticed(program, translation, list(mutants(translation.kernel, [guard]))) == []
