"""What the op table's rows of random numbers mean, on NumPy arrays: words of Philox, and numbers from words.

Everything here is made of integers and of float operations that IEEE 754 and OpenCL C round correctly on every device
(sums, products, fma; of float64, quotients and roots too), in the order that templates/helpers/random.cl.mako and
random_candidates.cl.mako have: so that a seed gives the same bits everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

GAMMA_CANDIDATES = 8
_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
"""What the key grows by in each round: the golden ratio and the square root of 3, less 1."""

# Minimax polynomials, the highest power last: log2(1 + f) / f for f in [sqrt(1/2) - 1, sqrt(2) - 1]; and, in s, the
# normal number that x stands for, divided by x, where t = -log2(1 - x**2) = 15.5 * (1 + s) is in [0, 31].
_LOG2 = "1.44269967 -0.721375823 0.480466247 -0.358963192 0.29725045 -0.272686601 0.170658439"
_NORMAL = (
    "4.40075922 2.33060145 -0.563403428 0.259642541 -0.136400059 0.0672310293 -0.00863555633 -0.0689556152 "
    "0.0763043761 0.0395389162 0.0157589912 -0.249948859 0.113971084 0.22106801 -0.148662865 -0.0568561107 0.045944117"
)

# Wichura (1988), algorithm AS 241, PPND16: numerator and denominator near the middle, in the tail, far out.
_MIDDLE = (
    "3.3871328727963666080e0 1.3314166789178437745e2 1.9715909503065514427e3 1.3731693765509461125e4 "
    "4.5921953931549871457e4 6.7265770927008700853e4 3.3430575583588128105e4 2.5090809287301226727e3",
    "1.0 4.2313330701600911252e1 6.8718700749205790830e2 5.3941960214247511077e3 "
    "2.1213794301586595867e4 3.9307895800092710610e4 2.8729085735721942674e4 5.2264952788528545610e3",
)
_TAIL = (
    "1.42343711074968357734e0 4.63033784615654529590e0 5.76949722146069140550e0 3.64784832476320460504e0 "
    "1.27045825245236838258e0 2.41780725177450611770e-1 2.27238449892691845833e-2 7.74545014278341407640e-4",
    "1.0 2.05319162663775882187e0 1.67638483018380384940e0 6.89767334985100004550e-1 "
    "1.48103976427480074590e-1 1.51986665636164571966e-2 5.47593808499534494600e-4 1.05075007164441684324e-9",
)
_FAR = (
    "6.65790464350110377720e0 5.46378491116411436990e0 1.78482653991729133580e0 2.96560571828504891230e-1 "
    "2.65321895265761230930e-2 1.24266094738807843860e-3 2.71155556874348757815e-5 2.01033439929228813265e-7",
    "1.0 5.99832206555887937690e-1 1.36929880922735805310e-1 1.48753612908506148525e-2 "
    "7.86869131145613259100e-4 1.84631831751005468180e-5 1.42151175831644588870e-7 2.04426310338993978564e-15",
)


def _low(word: Any) -> Any:
    return word & np.uint64(0xFFFFFFFF)


def philox_block(counter: Sequence[Any], key: Sequence[Any]) -> tuple[Any, ...]:
    """The four words of Philox 4x32-10 for a counter of four words and a key of two, which are arrays of uint32.

    Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011), section 3.3.
    """
    low = np.uint64(0xFFFFFFFF)
    x0, x1, x2, x3 = (np.asarray(word).astype(np.uint64) for word in counter)
    k0, k1 = (np.asarray(word).astype(np.uint64) for word in key)
    first, second = (np.uint64(number) for number in _MULTIPLIERS)
    for _ in range(_ROUNDS):
        p0, p1 = x0 * first, x2 * second
        x0, x1, x2, x3 = (p1 >> np.uint64(32)) ^ x1 ^ k0, p1 & low, (p0 >> np.uint64(32)) ^ x3 ^ k1, p0 & low
        k0, k1 = (k0 + np.uint64(_WEYL[0])) & low, (k1 + np.uint64(_WEYL[1])) & low
    return tuple(word.astype(np.uint32) for word in (x0, x1, x2, x3))


def philox(place: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """The word at a place of a stream: word `place % 4` of block `place // 4`, which is word 0 of the counter. In 64
    bits, a word consists of two, the lower one first, and a block number that is longer carries into word 1."""
    if place.dtype == np.uint32:
        words = philox_block((place >> np.uint32(2), c1, c2, c3), (k0, k1))
        lane = place & np.uint32(3)
        return np.select([lane == number for number in range(3)], words[:3], words[3])
    block = place >> np.uint64(1)
    c1 = c1 + (block >> np.uint64(32))
    words = philox_block([_low(word) for word in (block, c1, c2, c3)], [_low(word) for word in (k0, k1)])
    joined = [words[at].astype(np.uint64) | words[at + 1].astype(np.uint64) << np.uint64(32) for at in (0, 2)]
    return np.where(place & np.uint64(1), joined[1], joined[0])


def normal_bits(word: Any) -> Any:
    """The bits of a normal number, float32 or float64, that a word of the same width stands for: the first bit of the
    word is the sign, and the others, as a fraction x between 0 and 1, say how many numbers are nearer to 0."""
    bits = word.dtype.itemsize * 8
    one = word.dtype.type(1)
    k = (word << one) | one  # an odd number: x and its tail 1 - x are both exact to their last bit, and never 0
    tail = ~k + one
    scale = 2.0**-bits
    if bits == 32:
        number = _normal_f32(k.astype(np.float32) * np.float32(scale), tail.astype(np.float32) * np.float32(scale))
    else:
        number = _normal_f64(k.astype(np.float64) * scale, tail.astype(np.float64) * scale)
    return number.view(word.dtype) | word & (one << word.dtype.type(bits - 1))


def _fma(a: Any, b: Any, c: Any) -> Any:
    return (a.astype(np.float64) * b + c).astype(np.float32)  # the product is exact, and the sum is rounded twice


def _horner(coefficients: str, x: Any) -> Any:
    numbers = [np.float32(text) for text in coefficients.split()]
    result = np.full_like(x, numbers[-1])
    for number in numbers[-2::-1]:
        result = _fma(result, x, np.float64(number))
    return result


def _normal_f32(x: Any, tail: Any) -> Any:
    """As Giles (2010), Approximating the erfinv function, with one polynomial in place of two: no branch, no root."""
    y = _fma(tail, x, tail)  # 1 - x**2
    exponent, f = parts(y)
    t = _fma(-f, _horner(_LOG2, f), -exponent)
    s = _fma(t, np.float64(np.float32(1 / 15.5)), np.float64(-1))
    return x * _horner(_NORMAL, s)


def _ratio(coefficients: tuple[str, str], r: Any) -> Any:
    above, below = ([float(text) for text in one.split()] for one in coefficients)
    p, q = np.full_like(r, above[-1]), np.full_like(r, below[-1])
    for a, b in zip(above[-2::-1], below[-2::-1], strict=True):
        p, q = p * r + a, q * r + b
    return p / q


def _normal_f64(x: Any, tail: Any) -> Any:
    """Wichura (1988), The percentage points of the normal distribution, algorithm AS 241 (PPND16)."""
    half = x * 0.5
    r = np.sqrt(-_log(tail * 0.5))
    outer = np.where(r <= 5, _ratio(_TAIL, r - 1.6), _ratio(_FAR, r - 5.0))
    return np.where(half <= 0.425, half * _ratio(_MIDDLE, 0.180625 - half * half), outer)


def parts(x: Any) -> tuple[Any, Any]:
    """The exponent of an ordinary number as a float, and how much more than 1 its fraction is, which lies between the
    roots of 1/2 and 2."""
    whole: Any
    wide = x.dtype == np.float64
    whole, fraction_bits, root = (np.int64, 52, 0x3FE6A09E667F3BCD) if wide else (np.int32, 23, 0x3F3504F3)
    bits = x.view(whole) - whole(root)
    f = ((bits & whole((1 << fraction_bits) - 1)) + whole(root)).view(x.dtype) - x.dtype.type(1)
    return (bits >> whole(fraction_bits)).astype(x.dtype), f


def _log(x: Any) -> Any:
    """The natural logarithm of ordinary numbers."""
    return log_of(*parts(x))


def log_of(k: Any, f: Any) -> Any:
    """The same of 2**k * (1 + f): of float64 as fdlibm's e_log.c has it, of float32 a polynomial."""
    if f.dtype == np.float32:
        return _fma(f, _horner(_LOG2, f), k) * np.float32(math.log(2))
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    odd = z * (
        0.6666666666666735130 + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )
    square = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - (
        (square - (s * (square + (odd + even)) + k * 1.90821492927058770002e-10)) - f
    )


def candidate_words(number: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, turn: int) -> tuple[Any, Any]:
    """The two words of a candidate for the random number of an index: those of its half of a block, or in 64 bits of
    its block, and for each further turn those of the next draw, which c2 and c3 count."""
    if number.dtype == np.uint32:
        one = np.uint32(1)
        low = c2 + np.uint32(turn)
        words = philox_block((number >> one, c1, low, c3 + (low < c2).astype(np.uint32)), (k0, k1))
        is_odd = (number & one) != 0
        return np.where(is_odd, words[2], words[0]), np.where(is_odd, words[3], words[1])
    draw, place = _low(c2) + np.uint64(turn), number << np.uint64(1)
    counter = c1, _low(draw), _low(c3 + (draw >> np.uint64(32))), k0, k1
    return philox(place, *counter), philox(place | np.uint64(1), *counter)


def gamma_bits(number: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, c: Any, d: Any) -> Any:
    """The bits of standard gamma numbers of the shape d + 1/3: the first candidate that is not rejected of eight, or d
    if all are. What words they have, `candidate_words` says."""
    found = np.zeros_like(d)
    for turn in range(GAMMA_CANDIDATES):
        first, second = candidate_words(number, c1, c2, c3, k0, k1, turn)
        found = np.where(found != 0, found, gamma_candidate(normal_bits(first), second, c, d))
        if (found != 0).all():
            break
    return np.where(found != 0, found, d)


def gamma_candidate(normal: Any, word: Any, c: Any, d: Any) -> Any:
    """The bits of a candidate for a standard gamma number of the shape d + 1/3, which is at least 1, or 0 where it is
    rejected. `normal`, `c` and `d` are bits of floats as wide as the word; c is 1 / sqrt(9 d).

    Marsaglia and Tsang, A simple method for generating gamma variables (2000), without the squeeze. What is compared is
    written so that little cancels where the shape is large and the candidate near it.
    """
    real: Any = np.float32 if word.dtype == np.uint32 else np.float64
    x, c, d = (np.asarray(one).view(real) for one in (normal, c, d))
    bits, three = 8 * word.dtype.itemsize, real(3)
    t = c * x
    base = real(1) + t
    is_near = (t > real(-0.29)) & (t < real(0.41))
    k, f = parts(np.where(base > real(0), base, real(1)))
    logarithm = log_of(np.where(is_near, real(0), k), np.where(is_near, t, f))
    most = real(0.5) * x * x + d * (three * logarithm - t * (three + t * (three + t)))
    u = word.astype(real) * real(2.0**-bits) + real(2.0 ** (-bits - 1))
    holds = (base > real(0)) & (_log(u) < most)
    return np.where(holds, d * (base * base * base), real(0)).view(word.dtype)
