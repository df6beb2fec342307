"""What matrix instructions mean: products of whole matrices, by the places of elements that PTX names."""

from __future__ import annotations

import numpy as np
import pytest

from ocl_ir.bfloat16 import bits_of
from ocl_ir.errors import IRError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.matrix_instruction import OPERANDS, SUMS, WARP
from ocl_ir.kernel.verify import verify
from ocl_ir.types import BF16, F16, F64, TF32, DType

DTYPES = (F16, BF16, TF32, F64)


def kernel(dtype: DType) -> Kernel:
    """Each work-item has four registers of the left matrix, two of the right one and four sums in memory."""
    register, _ = OPERANDS[dtype]
    k = KernelBuilder("instruction")
    left, right, sums = k.pointer("left", register), k.pointer("right", register), k.pointer("sums", SUMS[dtype])
    i = k.global_id(0)
    before = k.load(sums, i * 4, count=4)
    after = k.matrix_multiply(dtype, k.load(left, i * 4, count=4), k.load(right, i * 2, count=2), before)
    k.store(sums, i * 4, after)
    verify(k.build())
    return k.build()


def places(dtype: DType) -> tuple[list[list[tuple[int, int]]], ...]:
    """Of each work-item, the row and column of each element of the left matrix, the right one and the sums."""
    left, right, sums = [], [], []
    for lane in range(WARP):
        group, thread = divmod(lane, 4)
        if dtype in {F64, TF32}:
            left.append([(group + 8 * (i % 2), thread + 4 * (i // 2)) for i in range(4)])
            right.append([(thread + 4 * i, group) for i in range(2)])
        else:
            rows, columns = (0, 0, 8, 8, 0, 0, 8, 8), (0, 1, 0, 1, 8, 9, 8, 9)
            left.append([(group + rows[i], 2 * thread + columns[i]) for i in range(8)])
            right.append([(2 * thread + row, group) for row in (0, 1, 8, 9)])
        sums.append([(group + 8 * (i // 2), 2 * thread + i % 2) for i in range(4)])
    return left, right, sums


def held(matrices: np.ndarray, where: list[list[tuple[int, int]]]) -> np.ndarray:
    """What the work-items of each warp hold of its matrix, one after the other."""
    return np.array([matrix[place] for matrix in matrices for lane in where for place in lane])


def stored(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Elements as registers."""
    if dtype is F64:
        return values
    if dtype is TF32:
        return values.astype("f4").view("u4")
    halves = bits_of(values.astype("f4")) if dtype is BF16 else values.astype("f2").view("u2")
    return halves.view("u4")


def multiplied(dtype: DType, left: np.ndarray, right: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The sums of each warp, by the interpreter."""
    in_left, in_right, in_sums = places(dtype)
    number = SUMS[dtype].numpy
    memory = held(sums, in_sums).astype(number)
    arguments = {
        "left": stored(held(left, in_left), dtype),
        "right": stored(held(right, in_right), dtype),
        "sums": memory,
    }
    run(kernel(dtype), arguments, (WARP * len(left),), (WARP * len(left),))
    out = np.full(sums.shape, 99, number)
    for warp, part in enumerate(memory.reshape(len(left), WARP, 4)):
        for lane, numbers in enumerate(part):
            for place, value in zip(in_sums[lane], numbers, strict=True):
                out[(warp, *place)] = value
    return out


def matrices(dtype: DType, warps: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, inner = np.random.default_rng(3), 8 * OPERANDS[dtype][1]
    shapes = (16, inner), (inner, 8), (16, 8)
    left, right, sums = (rng.integers(-9, 10, (warps, *shape)).astype("f8") for shape in shapes)
    return left, right, sums


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_integers_are_exact(dtype: DType) -> None:
    left, right, sums = matrices(dtype)
    np.testing.assert_array_equal(multiplied(dtype, left, right, sums), left @ right + sums)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nan_and_infinities_go_where_they_belong(dtype: DType) -> None:
    left, right, sums = matrices(dtype)
    left[0, 3, 2], left[0, 5, 1], right[1, 4, 6], sums[1, 9, 2] = np.nan, np.inf, -np.inf, np.nan
    right[0, 1, 3] = 0.0  # times infinity
    with np.errstate(invalid="ignore"):
        want = left @ right + sums
    assert np.isnan(want[0, 5, 3])
    np.testing.assert_array_equal(multiplied(dtype, left, right, sums), want)


@pytest.mark.parametrize("dtype", [F16, BF16, TF32], ids=str)
def test_sums_have_more_digits_than_operands(dtype: DType) -> None:
    left, right, sums = matrices(dtype)
    sums[:] = 2.0**20 + 1
    np.testing.assert_array_equal(multiplied(dtype, left, right, sums), left @ right + sums)


def test_of_float32_the_upper_bits_are_taken() -> None:
    """Who does not round gets what is nearer to zero."""
    left, right, sums = matrices(TF32)
    left[:], right[:], sums[:] = 0, 1, 0
    left[:, :, 0] = 1 + 2.0**-10 + 2.0**-11 + 2.0**-20
    np.testing.assert_array_equal(multiplied(TF32, left, right, sums), np.full(sums.shape, 1 + 2.0**-10))


@pytest.mark.parametrize("items", [16, 48])
def test_a_group_is_whole_warps(items: int) -> None:
    arguments = {"left": np.zeros(4 * 64), "right": np.zeros(2 * 64), "sums": np.zeros(4 * 64)}
    with pytest.raises(IRError, match=f"has {items} work-items, which are no whole sub-groups of 32"):
        run(kernel(F64), arguments, (items,), (items,))
