"""Philox beside the known answers of its authors, and normal numbers beside Python's own quantiles."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from ocl_ir.random_functions import candidate_words, gamma_bits, gamma_candidate, normal_bits, philox, philox_block

# Random123, file kat_vectors, philox 4x32 10: counter, key, words.
ONES = 0xFFFFFFFF
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def arrays(dtype: str, *numbers: int) -> list[np.ndarray]:
    return [np.array([number], dtype) for number in numbers]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_the_known_answers(counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]) -> None:
    found = philox_block(arrays("u4", *counter), arrays("u4", *key))
    assert tuple(int(word[0]) for word in found) == words


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_a_place_is_a_lane_of_a_block(counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]) -> None:
    c0, *rest = counter
    for lane, word in enumerate(words):
        if c0 < 1 << 30:
            place = arrays("u4", 4 * c0 + lane)
            assert philox(*place, *arrays("u4", *rest, *key)) == word
    for lane in range(2):
        long = philox(*arrays("u8", 2 * c0 + lane), *arrays("u8", *rest, *key))
        assert long == words[2 * lane] | words[2 * lane + 1] << 32


def test_a_long_block_number_goes_into_the_next_word() -> None:
    block = (5 << 32) + 7
    words = philox_block(arrays("u4", 7, 5, 1, 2), arrays("u4", 3, 4))
    assert philox(*arrays("u8", 2 * block, 0, 1, 2, 3, 4)) == int(words[0][0]) | int(words[1][0]) << 32


@pytest.mark.parametrize(("bits", "most"), [(32, 7e-7), (64, 4e-15)])
def test_normal_numbers_are_the_quantiles(bits: int, most: float) -> None:
    rng = np.random.default_rng(0)
    sizes = np.exp2(rng.uniform(0, bits - 1, 3000))
    near = np.concatenate([sizes, 2.0 ** (bits - 1) * (1 - 1e-15) - sizes, rng.uniform(0, 2.0 ** (bits - 1), 3000)])
    words = [min(max(int(number), 0), (1 << bits - 1) - 1) for number in near] + [0, 1, (1 << bits - 1) - 1]
    numbers = normal_bits(np.array(words, f"u{bits // 8}")).view(f"f{bits // 8}").astype(np.float64)
    for word, number in zip(words, numbers.tolist(), strict=True):
        tail = ((1 << bits) - (2 * word + 1)) / 2 ** (bits + 1)
        if tail < 0.49:  # nearer to the middle, what is left of 1/2 has lost its last bits
            assert number == pytest.approx(-NormalDist().inv_cdf(tail), rel=most), word
        else:
            assert number == pytest.approx((0.5 - tail) * (2 * np.pi) ** 0.5, rel=2e-4), word


@pytest.mark.parametrize("bits", [32, 64])
def test_the_first_bit_is_the_sign(bits: int) -> None:
    words = np.random.default_rng(1).integers(0, 1 << bits - 1, 1000, f"u{bits // 8}")
    real = f"f{bits // 8}"
    upper = normal_bits(words).view(real)
    assert (upper > 0).all()
    np.testing.assert_array_equal(normal_bits(words | words.dtype.type(1 << bits - 1)).view(real), -upper)
    ordered = normal_bits(np.sort(words)).view(real)
    assert (np.diff(ordered.astype(np.float64)) >= -2e-6 * np.abs(ordered[1:])).all()


@pytest.mark.parametrize("real", ["f4", "f8"])
@pytest.mark.parametrize("shape", [1.0, 1.5, 7.0, 300.0])
def test_candidates_for_gamma_numbers(real: str, shape: float) -> None:
    """Marsaglia and Tsang's condition in more digits, but where it is a matter of the last ones."""
    kind, rng = np.dtype(real), np.random.default_rng(4)
    unsigned, bits = np.dtype(f"u{kind.itemsize}"), 8 * kind.itemsize
    d = kind.type(shape) - kind.type(1 / 3)
    c = kind.type(1) / np.sqrt(kind.type(9) * d)
    normals, words = (rng.integers(0, 1 << bits, 50_000, unsigned) for _ in range(2))
    normals = normal_bits(normals)
    found = gamma_candidate(
        normals, words, np.full(normals.shape, c).view(unsigned), np.full(normals.shape, d).view(unsigned)
    )
    number, wide = found.view(kind), np.longdouble
    x, base = normals.view(kind).astype(wide), 1 + wide(c) * normals.view(kind)
    v = np.maximum(base, 0) ** 3
    u = words.astype(wide) / wide(2) ** bits + wide(2) ** (-bits - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(base > 0, x * x / 2 + wide(d) * (1 - v + np.log(v)) - np.log(u), -1)
    clear = np.abs(room) > (1e-5 if real == "f4" else 1e-12) * shape
    assert clear.mean() > 0.99
    np.testing.assert_array_equal((number != 0)[clear], (room > 0)[clear])
    taken = number != 0
    np.testing.assert_allclose(number[taken], (wide(d) * v)[taken].astype(kind), rtol=1e-5 if real == "f4" else 1e-13)
    assert taken.mean() > 0.94


@pytest.mark.parametrize("unsigned", [np.uint32, np.uint64])
def test_words_of_candidates(unsigned: type[np.unsignedinteger[Any]]) -> None:
    """Each index has two words of its own in each draw; the number of a draw carries."""
    number, zero = np.arange(9, dtype=unsigned), np.zeros(9, unsigned)
    low, high = zero + unsigned(2**32 - 2), zero + unsigned(4)
    for turn in range(4):
        counter = zero, zero + unsigned((2**32 - 2 + turn) % 2**32), zero + unsigned(4 + (turn >= 2)), zero, zero
        wanted = [philox(unsigned(2) * number + unsigned(at), *counter) for at in (0, 1)]
        found = candidate_words(number, zero, low, high, zero, zero, turn)
        np.testing.assert_array_equal(found, wanted)
    far = candidate_words(unsigned(2**31) + number, zero, low, high, zero, zero, 0)
    assert not np.isin(far, candidate_words(number, zero, low, high, zero, zero, 0)).any()


@pytest.mark.parametrize("real", ["f4", "f8"])
def test_the_first_candidate_is_taken(real: str) -> None:
    unsigned = np.dtype(f"u{np.dtype(real).itemsize}").type
    number, zero = np.arange(20_000, dtype=unsigned), np.zeros(20_000, unsigned)
    d = np.full(20_000, 2 / 3, real)
    c = (1 / np.sqrt(d * 9)).astype(real).view(unsigned)
    words = number, zero, zero, zero, zero + unsigned(3), zero
    found = gamma_bits(*words, c, d.view(unsigned))
    turns = np.full(20_000, -1)
    for turn in range(8):
        first, second = candidate_words(*words, turn)
        candidate = gamma_candidate(normal_bits(first), second, c, d.view(unsigned))
        taken = (turns < 0) & (candidate != 0)
        np.testing.assert_array_equal(found[taken], candidate[taken])
        turns[taken] = turn
    assert 2 < turns.max() < 8
    assert turns.min() == 0
    never = gamma_bits(*words, c, np.full(20_000, np.nan, real).view(unsigned))
    assert np.isnan(never.view(real)).all()
