"""What is turned, read back to front or over the ends of rows, as GPUs and CPUs get it, on the device of the tests and
under Oclgrind.

This file is also a program (`tests.support.oclgrind`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import choose
from ocl_runtime.settings import Settings
from tests.support.depth import NIGHTLY
from tests.support.oclgrind import begins, ends, exists_here, reports

Kind = Literal["gpu", "cpu"]
KINDS: tuple[tuple[Kind, int, int], ...] = (("gpu", 16, 16), ("gpu", 16, 64), ("cpu", 64, 16))
"""Kinds of targets, with the bytes of a wide access and the work-items of a group."""
CASES: dict[str, Callable[..., Any]] = {
    "turned": lambda x, y, np: np.reshape(x.T, (-1,)),
    "turned and added": lambda x, y, np: x.T + y,
    "turned twice": lambda x, y, np: np.where(y > x.T, x[::-1].T, y),
    "turned and multiplied": lambda x, y, np: np.reshape(x.T, (-1,)) * 2,
    "turned back to front": lambda x, y, np: x[::-1, ::-1].T + y[::-1, ::-1],
    "back to front": lambda x, y, np: x[::-1, ::-1] + x,
    "rows back to front": lambda x, y, np: x[:, ::-1] + x[::-1],
    "over the ends of rows": lambda x, y, np: x[1:, 1:] + x[:-1, :-1][::-1],
}
SHAPES = ((24, 16), (37, 19))
LONG_ROWS = (5, 300)
DTYPES = ("f4", "f2", "?")


def runtime(kind: Kind, vector_bytes: int, group_size: int, device: Any) -> ocl.Runtime:
    """A runtime that treats a device as if it was of some kind, and as if its driver took halves one by one."""
    device = replace(device, quirks=replace(device.quirks, scalar_halves=True))
    made = ocl.Runtime(device, Settings(cache_folder=None))
    made.executor.target = replace(
        made.executor.target, kind=kind, vector_bytes=vector_bytes, group_size=group_size, fp16=False
    )
    return made


def compare(make: Callable[..., Any], shape: tuple[int, int], dtype: str) -> None:
    random = np.random.default_rng(0)
    x, y = (random.integers(0, 50, shape).astype(dtype) for shape in (shape, shape[::-1]))
    np.testing.assert_array_equal(make(ocl.asarray(x), ocl.asarray(y), ocl).numpy(), make(x, y, np))


def main() -> None:
    """Computes everything on the simulator."""
    device = choose("oclgrind")
    for kind, vector_bytes, group_size in KINDS[:1] + KINDS[2:]:
        with ocl.use(runtime(kind, vector_bytes, group_size, device)):
            for name, make in CASES.items():
                begins(f"{name} on a {kind}")
                for shape in SHAPES[1], LONG_ROWS:
                    compare(make, shape, "f4")
                compare(make, SHAPES[0], "f2")
    ends()


# Beside the first kind, the second has more work-items for the same tiles: that is one matter for all dtypes.
@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("target", "dtype"),
    [(kind, dtype) for kind in KINDS for dtype in DTYPES if NIGHTLY or kind != KINDS[1] or dtype == "f2"],
    ids=str,
)
def test_results_are_numpys(target: tuple[Kind, int, int], dtype: str) -> None:
    with ocl.use(runtime(*target, choose())):
        for make in CASES.values():
            for shape in (LONG_ROWS, *SHAPES) if make is CASES["over the ends of rows"] else SHAPES:
                if dtype != "?" or make is not CASES["turned and multiplied"]:  # a bool times an int is an int there
                    compare(make, shape, dtype)


@pytest.mark.skipif(not exists_here(), reason="PyPI has Oclgrind for x86-64 Linux only")
@pytest.mark.xdist_group("oclgrind")
def test_nothing_is_reported() -> None:
    said = reports(__file__)
    assert {f"{name} on a {kind}" for name in CASES for kind in ("gpu", "cpu")} <= said.keys()
    assert {name: text for name, text in said.items() if text} == {}


if __name__ == "__main__":
    main()
