"""Products of matrices of any strides, shapes and dtypes against NumPy, on the device of the tests and, packed as
CPUs do it and in tiles as GPUs do, under Oclgrind. Whole numbers are exact, in whichever order they are added up.

This file is also a program (`tests.support.oclgrind`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_ir.types import from_numpy
from ocl_runtime.device import choose
from ocl_runtime.plan.kernels.products import panels, tiles
from ocl_runtime.settings import Settings
from tests.support.oclgrind import begins, ends, exists_here, reports

DTYPES = ("f4", "f4", "f8", "f2", "c8", "c16", "i4", "i1", "u2", "i8")
LENGTHS = st.one_of(st.sampled_from([1, 16, 17, 63, 64, 65, 96, 97, 192, 193, 257]), st.integers(1, 140))
FEW = settings(max_examples=max(6, settings.default.max_examples // 6), deadline=None)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[tuple[int, ...], list[int], tuple[slice, ...]]:
    """How an operand of a shape is cut out of a larger array: its shape, its axes in order, and the slices."""
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in shape]
    starts = [draw(st.sampled_from([0, 0, 1, 3])) for _ in shape]
    order = list(draw(st.permutations(range(len(shape))))) if draw(st.booleans()) else list(range(len(shape)))
    keys, whole = [], []
    for length, step, start in zip(shape, steps, starts, strict=True):
        reach = (length - 1) * abs(step) + 1
        whole.append(start + reach + draw(st.integers(0, 2)))
        last = start + reach
        keys.append(slice(start, last, step) if step > 0 else slice(last - 1, start - 1 if start else None, step))
    return tuple(whole[axis] for axis in order), order, tuple(keys)


def operand(view: tuple[tuple[int, ...], list[int], tuple[slice, ...]], dtype: str, seed: int) -> tuple[Any, Any]:
    """An array of the device and the same of NumPy, with small whole numbers."""
    shape, order, keys = view
    random = np.random.default_rng(seed)
    host = random.integers(0 if dtype[0] == "u" else -2, 3, shape).astype(dtype)
    if dtype[0] == "c":
        host = (host + 1j * random.integers(-2, 3, shape)).astype(dtype)
    back = tuple(int(axis) for axis in np.argsort(order))
    return ocl.permute_dims(ocl.asarray(host), back)[keys], host.transpose(back)[keys]


def compare(left: tuple[Any, Any], right: tuple[Any, Any], dtype: str) -> None:
    exact = "c16" if dtype[0] == "c" else "i8"
    expected = (left[1].astype(exact) @ right[1].astype(exact)).astype(dtype)
    np.testing.assert_array_equal((left[0] @ right[0]).numpy(), expected)


@pytest.fixture(scope="module")
def packing() -> Iterator[ocl.Runtime]:
    """A runtime that packs small operands, too, and keeps no plans."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "_LEAST_REUSE", 0)
        patch.setattr(panels, "_LEAST_REUSE_OF_ONE", 0)
        patch.setattr(panels, "_LEAST_WORK", 0)
        yield ocl.Runtime(choose(), Settings(cache_folder=None))


@FEW
@given(
    st.data(), st.sampled_from(DTYPES), st.tuples(LENGTHS, LENGTHS, LENGTHS), st.lists(st.integers(1, 3), max_size=2)
)
def test_products_are_those_of_numpy(
    packing: ocl.Runtime, data: st.DataObject, dtype: str, sizes: tuple[int, ...], front: list[int]
) -> None:
    m, k, n = sizes
    fronts = [tuple(data.draw(st.sampled_from([length, 1])) for length in front) for _ in range(2)]
    with ocl.use(packing):
        left = operand(data.draw(views((*fronts[0], m, k))), dtype, 0)
        right = operand(data.draw(views((*fronts[1], k, n))), dtype, 1)
        compare(left, right, dtype)


def test_real_numbers_are_made_of_complex_ones(packing: ocl.Runtime) -> None:
    """Of which vectors are shorter than those that are packed."""
    random = np.random.default_rng(0)
    z = (random.integers(-3, 4, (65, 40)) + 1j * random.integers(-3, 4, (65, 40))).astype("c8")
    right = random.integers(-2, 3, (40, 130)).astype("f4")
    with ocl.use(packing):
        np.testing.assert_array_equal((ocl.real(ocl.asarray(z)) @ ocl.asarray(right)).numpy(), z.real @ right)
        found = (ocl.abs(ocl.asarray(z)) @ ocl.asarray(right)).numpy()
        np.testing.assert_allclose(found, np.abs(z) @ right, rtol=1e-5, atol=1e-3)


WHOLE = (slice(None), slice(None))
TILES = {
    "f4": ((33, 20, 35), (16, 8, 64), (1, 300, 17)),
    "f8": ((17, 9, 24),),
    "f2": ((24, 16, 32),),
    "i4": ((19, 17, 16),),
    "c8": ((16, 9, 17),),
}
"""Sizes by dtype: edges, whole units, and an inner axis for which it pays to have tiles for one row."""


def on(kind: str, **changed: Any) -> ocl.Runtime:
    """The simulator as a device of another kind."""
    made = ocl.Runtime(choose("oclgrind"), Settings(cache_folder=None))
    made.executor.target = replace(made.executor.target, kind=kind, **changed)
    return made


def main() -> None:
    """Multiplies on the simulator: in panels of short slices, so that small matrices have several, and in tiles."""
    panels._SLICE_BYTES, panels._LEAST_REUSE, panels._LEAST_REUSE_OF_ONE, panels._LEAST_WORK = 32, 0, 0, 0
    for few in (0, 256):
        panels._MOST_ROWS_IN_PLACE = panels._MOST_ROWS_OF_OTHERS = few
        with ocl.use(on("cpu", vector_bytes=16, fp16=False)):
            for dtype in ("f4", "f2", "i4", "f8") if not few else ("f4", "f2"):
                for m, k, n in ((17, 17, 33), (18, 25, 32)):
                    begins(f"panels {m} x {k} x {n} {dtype} {few}")
                    right = ((k, n), [0, 1], WHOLE) if few else ((n, k), [1, 0], WHOLE)
                    compare(operand(((m, k), [0, 1], WHOLE), dtype, 0), operand(right, dtype, 1), dtype)
    built, build = [], tiles.build
    tiles.build = lambda form: built.append(form) or build(form)  # type: ignore[func-returns-value]
    with ocl.use(on("gpu", compute_units=2, group_size=128, fp16=False)):
        for number, (dtype, sizes) in enumerate(TILES.items()):
            for m, k, n in sizes:
                begins(f"tiles {m} x {k} x {n} {dtype}")
                left = ((k, m), [1, 0], WHOLE) if number % 2 else ((m, k), [0, 1], WHOLE)
                compare(operand(left, dtype, 0), operand(((k, n), [0, 1], WHOLE), dtype, 1), dtype)
        more_of_tiles()
    assert {form.left.access.dtype for form in built} == {from_numpy(name) for name in TILES}
    ends()


def more_of_tiles() -> None:
    """Batches, parts of a long inner axis, what is computed behind, a padded picture, and attention in blocks."""
    random = np.random.default_rng(2)
    a, b, bias = (random.integers(-2, 3, shape).astype("f4") for shape in ((2, 18, 700), (2, 700, 16), (16,)))
    begins("tiles of batches and parts")
    np.testing.assert_array_equal((ocl.asarray(a) @ ocl.asarray(b)).numpy(), a @ b)
    begins("tiles and more")
    found = ocl.maximum(ocl.asarray(a[0, :, :20]) @ ocl.asarray(b[0, :20]) + ocl.asarray(bias), 0).numpy()
    np.testing.assert_array_equal(found, np.maximum(a[0, :, :20] @ b[0, :20] + bias, 0))
    begins("tiles of a padded picture")
    picture, weights = (
        ocl.asarray(a[0, :2, :36].reshape(1, 2, 6, 6)),
        ocl.asarray(b[0].ravel()[:288].reshape(16, 2, 3, 3)),
    )
    assert ocl.conv(picture, weights, padding=1).numpy().shape == (1, 16, 6, 6)
    begins("attention")
    q = ocl.asarray(random.standard_normal((2, 20, 8)).astype("f4"))
    assert np.isfinite(ocl.attention(q, q, q, causal=True).numpy()).all()


@pytest.mark.skipif(not exists_here(), reason="PyPI has Oclgrind for x86-64 Linux only")
@pytest.mark.xdist_group("oclgrind")
def test_nothing_is_reported() -> None:
    said = reports(__file__)
    names = {f"tiles {m} x {k} x {n} {dtype}" for dtype, sizes in TILES.items() for m, k, n in sizes}
    assert (
        names | {"panels 17 x 17 x 33 f4 0", "panels 18 x 25 x 32 f2 256", "tiles of batches and parts", "attention"}
        <= said.keys()
    )
    assert {name: text for name, text in said.items() if text} == {}


if __name__ == "__main__":
    main()
