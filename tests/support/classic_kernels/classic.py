"""What a classic kernel is: in the language, by hand in OpenCL C, and in NumPy, with inputs of two sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import ocl_runtime as ocl

Arrays = dict[str, np.ndarray]


class Launch(NamedTuple):
    """A kernel of the language and the one by hand with the same name, over so many groups.

    A text among the arguments names an array of the problem.
    """

    kernel: Any
    groups: tuple[int, ...]
    arguments: tuple[Any, ...]
    by_hand: tuple[Any, ...]
    """What the kernel in OpenCL C takes: it is told lengths that an array of the library knows."""

    @property
    def group(self) -> tuple[int, ...]:
        """The size of a group, one for each dimension."""
        return tuple((*self.kernel.group, 1, 1)[: len(self.groups)])

    @property
    def items(self) -> tuple[int, ...]:
        """How many work-items there are."""
        return tuple(count * size for count, size in zip(self.groups, self.group, strict=True))


@dataclass(frozen=True)
class Problem:
    """Inputs, the launches that solve it, and the arrays that they must leave behind."""

    arrays: Arrays
    launches: Sequence[Launch]
    expected: Callable[[], Arrays]
    rtol: float = 0.0
    """Of the largest magnitude in each array, which is what rounding errors of sums are relative to."""
    rtol_by_hand: float | None = None
    """The same for OpenCL C by hand, where that may round more."""


@dataclass(frozen=True)
class Classic:
    """A kernel, or a few that belong together."""

    name: str
    source: str
    """All of it in OpenCL C."""
    problem: Callable[..., Problem]
    small: tuple[int, ...]
    """Lengths that no tile divides, for tests and simulators."""
    real: tuple[int, ...]

    def __str__(self) -> str:
        return self.name


def check(problem: Problem, got: Mapping[str, np.ndarray], *, by_hand: bool = False) -> None:
    """Raises `AssertionError` where arrays are not what NumPy makes of the problem."""
    rtol = problem.rtol if problem.rtol_by_hand is None or not by_hand else problem.rtol_by_hand
    for name, wanted in problem.expected().items():
        scale = float(np.abs(wanted).max()) if rtol else 0.0
        np.testing.assert_allclose(got[name], wanted, rtol=0, atol=rtol * scale, err_msg=name)


def solved(problem: Problem, mode: str = "unchecked") -> Arrays:
    """The arrays after all launches in the language, in one of the modes of kernels."""
    arrays = {name: ocl.asarray(x.copy()) for name, x in problem.arrays.items()}
    for kernel, groups, arguments, _ in problem.launches:
        if 0 not in groups:
            getattr(kernel, mode).groups[groups](*named(arguments, arrays))
    return {name: np.asarray(x.numpy()) for name, x in arrays.items()}


def named(arguments: Sequence[Any], arrays: Mapping[str, Any]) -> list[Any]:
    """Arguments with the arrays that they name."""
    return [arrays[value] if isinstance(value, str) else value for value in arguments]
