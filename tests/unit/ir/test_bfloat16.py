"""bfloat16 on the host: its names, its bits, and numbers as it has them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.bfloat16 import HELD, bfloat16, bits_of, floats_of, held, is_bfloat16, shown
from ocl_ir.errors import DTypeError
from ocl_ir.types import BF16, DTYPES, F16, F32, I8, is_dtype
from ocl_ir.types import from_numpy as scalar_type
from ocl_runtime.plan.host.copies import bits as number_bits
from tests.support.bfloat16 import EVERY, ROADS, on_road, rounded
from tests.support.bfloat16 import bits as bits_again


@pytest.mark.parametrize("road", ROADS)
def test_names(road: str) -> None:
    with on_road(road):
        for name in ("bfloat16", bfloat16, HELD):
            assert is_bfloat16(name)
            assert scalar_type(name) is BF16
        assert BF16.public is bfloat16
        assert [dtype for dtype in DTYPES.values() if is_bfloat16(dtype.public)] == [BF16]
        assert is_dtype(bfloat16)
        assert not is_dtype("bfloat16")
        for other in ("float16", "bf16x", np.dtype("V2"), np.dtype([("x", "u2")]), int, None):
            assert not is_bfloat16(other)
        for other in (np.dtype("V2"), np.dtype([("x", "u2")])):
            with pytest.raises(DTypeError, match="has no counterpart"):
                scalar_type(other)
        assert pickle.loads(pickle.dumps(BF16)) is BF16


def test_bits_and_values_of_all() -> None:
    assert np.array_equal(floats_of(EVERY).view("u4"), EVERY.astype("u4") << 16)
    found, nan = bits_of(floats_of(EVERY)), np.isnan(floats_of(EVERY))
    assert np.array_equal(found[~nan], EVERY[~nan])
    assert np.array_equal(found[nan], EVERY[nan] | 0x40)


@given(number=st.floats(width=64) | st.floats(width=32) | st.integers(-(2**24), 2**24))
def test_numbers_round_once(number: float) -> None:
    expected = bits_again(number)
    found = bits_of(number)
    assert np.isnan(rounded(number)) == np.isnan(floats_of(found))
    if not np.isnan(rounded(number)):
        assert found == expected == number_bits(number, BF16)
        assert BF16.value(number) == rounded(number)
        assert type(BF16.value(number)) is float


def test_values_of_other_dtypes_are_numpys() -> None:
    assert I8.value(300) == 44
    assert (F16.value(0.1), F32.value(2)) == (np.float16(0.1).item(), 2.0)
    assert type(F32.value(2)) is float
    assert DTYPES["bool"].value(3) is True


@pytest.mark.parametrize("road", ROADS)
def test_what_is_held_is_shown(road: str) -> None:
    with on_road(road):
        host = held(np.arange(12.0).reshape(3, 4)[:, ::2])
        assert host.dtype == HELD
        out = shown(host)
        assert out.dtype == (np.float32 if road == ROADS[1] else bfloat16)
        assert np.array_equal(out.astype("f4"), [[0, 2], [4, 6], [8, 10]])
        assert held(out).dtype == HELD
        plain = np.arange(3)
        assert shown(plain) is plain
