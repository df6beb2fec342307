"""What compilers get to see of a kernel: index arithmetic that cannot overflow, and branches with one side."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import global_id, int32


@ocl.kernel
def shifted(x, y, by):
    i = global_id(0)
    if i < y.size:
        y[i] = x[(i + by) * 2 - by]


@ocl.kernel
def wrapping(x, y):
    i = global_id(0)
    if i < y.size:
        y[i] = x[i] * int32(2**30) + x[i]


@ocl.kernel
def one_sided(x, y, n):
    i = global_id(0)
    v = x[i] if i < n else 0
    w = v
    if v > 2:
        w = x[i + 1] * 2
    y[i] = w


def integers(count: int) -> ocl.Array:
    return ocl.asarray(np.arange(count, dtype=np.int32))


def test_arithmetic_of_indices_is_plain() -> None:
    x, y = integers(30), integers(10)
    assert "(uint)" not in shifted.source(x, y, 3, sizes=10)
    shifted[10](x, y, 3)
    np.testing.assert_array_equal(y.numpy(), (np.arange(10) + 3) * 2 - 3)


def test_typed_integers_wrap() -> None:
    x, y = integers(10), integers(10)
    assert "(uint)" in wrapping.source(x, y, sizes=10)
    wrapping[10](x, y)
    wide = np.arange(10, dtype=np.int64) * (2**30 + 1)
    np.testing.assert_array_equal(y.numpy(), wide.astype(np.int32))


def test_a_branch_with_one_side_has_no_else() -> None:
    x, y = integers(11), integers(10)
    assert "else" not in one_sided.source(x, y, 7, sizes=10)
    one_sided[10](x, y, 7)
    v = np.where(np.arange(10) < 7, np.arange(10), 0)
    np.testing.assert_array_equal(y.numpy(), np.where(v > 2, np.arange(1, 11) * 2, v))


@ocl.kernel
def neighbours(x, y):
    i = global_id(0)
    if i < y.shape[1]:
        for row in range(y.shape[0]):
            total = int32(0)
            for k in range(3):
                total += x[row, i + k]
            y[row, i] = total


def test_sums_in_addresses_are_flat() -> None:
    x, y = ocl.reshape(integers(36), (3, 12)), ocl.reshape(integers(30), (3, 10))
    assert "+ i + k]" in neighbours.source(x, y, sizes=10)
    neighbours[10](x, y)
    host = np.arange(36).reshape(3, 12)
    np.testing.assert_array_equal(y.numpy(), host[:, :-2] + host[:, 1:-1] + host[:, 2:])


def test_groups_need_no_test_of_the_index_space() -> None:
    x, y = integers(30), integers(10)
    shifted[10](x, y, 3)
    shifted.groups[1](x, y, 3)
    shifted.groups[2](x, y, 3)
    names = [{param.value.hint for param in variant.kernel.params} for variant in shifted.variants]
    assert {"items" in each for each in names} == {False, True}
    np.testing.assert_array_equal(y.numpy(), (np.arange(10) + 3) * 2 - 3)
