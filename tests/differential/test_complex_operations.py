"""Every operation of complex numbers on every device and in the interpreter, against NumPy in long double: within the
bounds of the op table for numbers of all sizes, and with C99's special values (Annex G)."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.op_rows import Op
from ocl_ir.ops import OPS
from ocl_ir.types import BOOL, C64, C128, COMPLEX_LANES, DType, element
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.engine import Engine

COUNT = 960
CASES = [(dtype, count) for dtype in (C64, C128) for count in (1, *COMPLEX_LANES)]
ROWS = [row for row in OPS.values() if row.takes_complex() and row.result != "complex"] + [OPS["select"]]
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, np.inf, -np.inf, np.nan)


@cache
def operands(dtype: DType) -> tuple[np.ndarray, ...]:
    """Three columns of numbers of all sizes; the first begins with all pairs of special parts."""
    rng = np.random.default_rng(dtype.bits)
    part = dtype.component.numpy
    columns = []
    for _ in range(3):
        sizes = np.exp2(
            np.where(rng.random((COUNT, 2)) < 0.7, rng.uniform(-3, 3, (COUNT, 2)), rng.uniform(-20, 20, (COUNT, 2)))
        )
        parts = (rng.standard_normal((COUNT, 2)) * sizes).astype(part)
        columns.append(parts.view(dtype.numpy)[:, 0])
    special = np.array([complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)], dtype.numpy)
    special.real = [a for a, _ in itertools.product(SPECIAL, SPECIAL)]
    special.imag = [b for _, b in itertools.product(SPECIAL, SPECIAL)]
    columns[0][: special.size] = special
    return tuple(columns)


def kernel(dtype: DType, count: int) -> Kernel:
    k = KernelBuilder(f"operations_of_{dtype}x{count}")
    a, b, c = (k.pointer(name, dtype) for name in "abc")
    mask, same, flags = k.pointer("mask", BOOL), k.pointer("same", dtype), k.pointer("flags", BOOL)
    parts = k.pointer("parts", dtype.component)
    at = k.global_id(0, "i") * count
    columns = [k.load(pointer, at, count=count, hint=hint) for pointer, hint in ((a, "x"), (b, "y"), (c, "z"))]
    condition = k.load(mask, at, count=count, hint="condition")
    to = {BOOL: flags, dtype: same, dtype.component: parts}
    for place, row in enumerate(ROWS):
        args = [condition, *columns[:2]] if row.name == "select" else columns[: row.arity]
        result = k.op(row.name, *args)
        k.store(to[element(result.type)], at + place * COUNT, result)
    joined = k.op("complex", k.op("imag", columns[0]), k.op("real", columns[0]))
    k.store(same, at + len(ROWS) * COUNT, joined)
    return k.build()


def arguments(dtype: DType) -> dict[str, np.ndarray]:
    size = COUNT * (len(ROWS) + 1)
    kinds = {"same": dtype.numpy, "flags": np.bool_, "parts": dtype.component.numpy}
    return {
        **dict(zip("abc", operands(dtype), strict=True)), "mask": np.random.default_rng(1).random(COUNT) < 0.5,
        **{name: np.zeros(size, kind) for name, kind in kinds.items()},
    }  # fmt: skip


def precise(row: Op, args: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = [arg if arg.dtype == np.bool_ else arg.astype(np.clongdouble) for arg in args]
        if row.name == "fma":
            return wide[0] * wide[1] + wide[2]
        exact = np.asarray(row.reference(*wide))
        if row.name == "acosh":  # C17's value, which NumPy before 2.2 does not have
            exact = np.where((wide[0].real == 0) & np.isnan(wide[0].imag), complex(np.nan, np.pi / 2), exact)
        return exact


def complaints(dtype: DType, results: dict[str, Any]) -> list[str]:
    found, columns, mask = [], operands(dtype), results["mask"]
    for place, row in enumerate(ROWS):
        args = [mask, *columns[:2]] if row.name == "select" else list(columns[: row.arity])
        name = {"bool": "flags", "real": "parts"}.get(row.result, "same")
        got = results[name][place * COUNT : (place + 1) * COUNT]
        for at in np.flatnonzero(wrong(row, dtype, args, got))[:4]:
            shown = ", ".join(repr(arg[at]) for arg in args)
            right = precise(row, [arg[at : at + 1] for arg in args])[0]
            found.append(f"{row.name}({shown}) is {got[at]!r} and not {right!r}")
    swapped = results["same"][len(ROWS) * COUNT :]
    if not np.array_equal(
        swapped.view(dtype.component.numpy),
        columns[0].view(dtype.component.numpy).reshape(-1, 2)[:, ::-1].ravel(),
        equal_nan=True,
    ):
        found.append("complex(imag, real) has other parts")
    return found


def wrong(row: Op, dtype: DType, args: list[np.ndarray], got: np.ndarray) -> np.ndarray:
    """Which results are outside of what the row promises."""
    with np.errstate(all="ignore"):
        bound, exact = row.ulp.get(dtype.name, 0.0), precise(row, args)
        if not bound:
            wanted = np.asarray(row.reference(*args))
            assert wanted.dtype == got.dtype, row.name
            return ~same_parts(got, wanted)
        info = np.finfo(dtype.component.numpy)
        if row.name == "pow":  # whose logarithm is as far off as it is large
            bound = bound * (1 + np.abs(args[1].astype(np.clongdouble) * np.log(args[0].astype(np.clongdouble))))
        size = np.abs(exact)
        if row.name == "fma":
            size = np.abs(args[0].astype(np.clongdouble) * args[1]) + np.abs(args[2])
        distance = np.abs(got.astype(np.clongdouble) - exact)
        near = distance <= bound * (info.eps * size + info.smallest_normal)
        rounded = exact.astype(got.dtype)
        finite = np.isfinite(rounded) & (np.abs(exact) < info.max / 4)
        if row.name == "pow":  # of which C says nothing
            return finite & np.isfinite(args[0]) & ~near
        return np.where(finite, ~near, ~special_like(got, exact))


def same_parts(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where both parts are equal, NaN beside NaN; of zeros, the sign is the same."""
    if got.dtype.kind != "c":
        return (got == wanted) | ((got != got) & (wanted != wanted))
    pairs = ((got.real, wanted.real), (got.imag, wanted.imag))
    equal = [((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)) for a, b in pairs]
    return equal[0] & equal[1]


def special_like(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Where results that are not finite are of the same kind, part by part."""
    if got.dtype.kind != "c":
        return np.isnan(got) == np.isnan(exact)
    kinds = [
        (np.isnan(a) & np.isnan(b)) | (np.isinf(a) & np.isinf(b)) | (np.isclose(a, b.astype(a.dtype), rtol=1e-4))
        for a, b in ((got.real, exact.real), (got.imag, exact.imag))
    ]
    return kinds[0] & kinds[1]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("dtype", "count"), CASES, ids=str)
def test_every_operation_on_the_device(dtype: DType, count: int, engine: Engine) -> None:
    made = kernel(dtype, count)
    if not engine.device.capabilities.computes(dtype.component.name):
        with pytest.raises(DTypeError, match="cannot compute with"):
            engine.executable(made)
        return
    args = arguments(dtype)
    on_device = {name: (engine.upload(value), 0) for name, value in args.items()}
    engine.launch(made, on_device, (COUNT // count,), (min(8, COUNT // count),))
    results = {name: engine.download(on_device[name][0], one.dtype, one.size).result() for name, one in args.items()}
    found = complaints(dtype, results)
    assert not found, f"{dtype} in {count} lanes on {engine.device}:\n" + "\n".join(found)


@pytest.mark.parametrize(("dtype", "count"), CASES, ids=str)
def test_every_operation_in_the_interpreter(dtype: DType, count: int) -> None:
    args = {name: value.copy() for name, value in arguments(dtype).items()}
    run(kernel(dtype, count), args, (COUNT // count,))
    found = complaints(dtype, args)
    assert not found, f"{dtype} in {count} lanes:\n" + "\n".join(found)
