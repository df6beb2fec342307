"""Which results pass, and which never do."""

from __future__ import annotations

import numpy as np
import pytest

from ocl_ir import tf32
from ocl_ir.types import DTYPES, F32, TF32
from ocl_runtime.tuning.contest import WrongError
from ocl_runtime.tuning.reference import Reference, random_values

LARGE = (300, 400, 300)
"""Whose products are too many to be compared one by one."""


def product(m: int, n: int, k: int, dtype: str = "f32") -> tuple[Reference, np.ndarray]:
    left = random_values(m * k, DTYPES[dtype]).reshape(m, k)
    right = random_values(k * n, DTYPES[dtype]).reshape(k, n)
    return Reference(left, right, DTYPES[dtype], DTYPES[dtype], DTYPES[dtype]), left @ right


@pytest.mark.parametrize("sizes", [(3, 5, 7), (33, 20, 2000), LARGE])
@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "i32", "u8"])
def test_right_products_pass(sizes: tuple[int, int, int], dtype: str) -> None:
    reference, result = product(*sizes, dtype)
    assert reference.whole == (sizes != LARGE)
    assert reference.check(result) < 0.2


@pytest.mark.parametrize("sizes", [(30, 50, 70), LARGE])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
def test_one_wrong_element_never_passes(sizes: tuple[int, int, int], dtype: str) -> None:
    reference, result = product(*sizes, dtype)
    reference.check(result)
    wrong = result.copy()
    wrong[11, 13] += 1
    with pytest.raises(WrongError, match="1 of"):
        reference.check(wrong)


@pytest.mark.parametrize("sizes", [(3, 5, 7), (33, 20, 2000), LARGE])
def test_products_of_rounded_operands_pass_where_they_may_be(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    left, right = random_values(m * k, F32).reshape(m, k), random_values(k * n, F32).reshape(k, n)
    rounded = tf32.floats_of(tf32.to_even(left)) @ tf32.floats_of(tf32.to_even(right))
    reference = Reference(left, right, TF32, F32, F32)
    assert reference.check(rounded) < 1
    with pytest.raises(WrongError):
        Reference(left, right, F32, F32, F32).check(rounded)
    rounded[1, 2] += 1
    with pytest.raises(WrongError, match="1 of"):
        reference.check(rounded)


@pytest.mark.parametrize("sizes", [(30, 50, 70), LARGE])
def test_nan_never_passes(sizes: tuple[int, int, int]) -> None:
    reference, result = product(*sizes)
    result[17, 19] = np.nan
    with pytest.raises(WrongError):
        reference.check(result)
    with pytest.raises(WrongError):
        reference.check(np.full_like(result, np.nan))


def test_a_large_product_that_is_wrong_where_it_is_sampled_never_passes() -> None:
    reference, result = product(*LARGE)
    assert not reference.whole
    result[-1, :] += 1
    with pytest.raises(WrongError):
        reference.check(result)


def test_a_missing_product_is_found_in_a_sum_of_thousands() -> None:
    left = random_values(64 * 4000, DTYPES["f32"]).reshape(64, 4000)
    right = random_values(4000 * 32, DTYPES["f32"]).reshape(4000, 32)
    reference = Reference(left, right, DTYPES["f32"], DTYPES["f32"], DTYPES["f32"])
    assert reference.check(left @ right) < 0.2
    with pytest.raises(WrongError):
        reference.check(left[:, :-1] @ right[:-1])


def test_sums_of_one_sign_one_after_the_other_pass() -> None:
    """As on the diagonal of x @ x.T."""
    x = random_values(4096 * 8, DTYPES["f32"]).reshape(8, 4096)
    reference = Reference(x, x.T, DTYPES["f32"], DTYPES["f32"], DTYPES["f32"])
    sums = np.zeros((8, 8), "f4")
    for k in range(4096):
        sums += np.outer(x[:, k], x[:, k])
    assert reference.check(sums) < 0.5


def test_halves_are_compared_as_they_are_rounded() -> None:
    left, right = (
        random_values(64 * 96, DTYPES["f16"]).reshape(64, 96),
        random_values(96 * 32, DTYPES["f16"]).reshape(96, 32),
    )
    reference = Reference(left, right, DTYPES["f16"], DTYPES["f32"], DTYPES["f16"])
    right_one = (left.astype("f4") @ right.astype("f4")).astype("f2")
    assert 0.1 < reference.check(right_one) < 0.9
    with pytest.raises(WrongError):
        reference.check(right_one * np.float16(1.01))


def test_integers_wrap() -> None:
    reference, result = product(20, 20, 5000, "u8")
    assert reference.check(result) == 0.0
    with pytest.raises(WrongError):
        reference.check(result ^ 1)


def test_no_two_rows_are_alike() -> None:
    values = random_values(4096 * 4096, DTYPES["f32"]).reshape(4096, 4096)
    assert len(np.unique(values[:, 0])) > 4000
    assert np.abs(values).max() <= 1
