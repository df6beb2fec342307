"""Kernels in Python, three ways: plain Python over NumPy, the interpreter, the device. All agree bit for bit.

Each statement form of the language has a kernel here.
"""

# ruff: noqa: B007, B905, E731, PLW2901, RET505  # the forms of statements are what is tested

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from ocl_runtime.language import (
    atomic_add,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_max,
    atomic_min,
    barrier,
    c_div,
    c_mod,
    cdiv,
    float2,
    float4,
    float16,
    float32,
    global_id,
    global_size,
    group,
    group_id,
    hint,
    int32,
    local_array,
    local_id,
    local_size,
    maximum,
    num_groups,
    position,
    private_array,
    uint8,
    uint32,
    unrolled,
    vload,
    vstore,
    where,
)
from tests.support.three_ways import agree

N = 40
X = ((np.arange(N) * 7) % 23 - 9).astype(np.float32) / 4
K = ((np.arange(N) * 5) % 17 - 8).astype(np.int32)
U = ((np.arange(N) * 3) % 19).astype(np.uint32)


def floats(*values: float) -> np.ndarray:
    return np.array(values or [0.0] * N, np.float32)


# ---------------------------------------------------------------------- assignments


def assignment(x, y):
    i = global_id(0)
    v = x[i]
    w = v
    v = v + 1
    a = b = v * 2
    a += 1
    y[i] = v + w * 10 + a * 100 + b


def retyped(k, y):
    i = global_id(0)
    v = k[i]
    v = float32(v) / 4
    v: float32 = v * 2
    y[i] = v


def unpacked(x, y):
    i = global_id(0)
    a, b = x[i], x[i] + 1
    a, b = b, a
    (c, d), e = (a, b), a * b
    y[i] = c - d * 2 + e


def rotated_in_a_loop(x, y):
    i = global_id(0)
    a, b, c = x[i], x[i] + 1, x[i] + 2
    for _ in range(i % 5):
        a, b, c = b, c, a
    y[i] = a + b * 10 + c * 100


def augmented_elements(x, y):
    i = global_id(0)
    y[i] += x[i]
    y[i] *= 2
    y[i] -= x[(i + 1) % x.size]
    y[i] /= 4


def augmented_by_indices(k, y, b):
    i = global_id(0)
    total, product, small = k[i], k[i], b[i]
    for j in range(i):
        total += j
        product *= j + 3
        small += j * 77
        small -= 1
    total ^= i
    total //= i + 2
    small %= i + 300
    small >>= 1
    y[i] = total + product
    b[i] = small


def augmented_integers(k, y):
    i = global_id(0)
    y[i] += k[i]
    y[i] <<= 3
    y[i] |= 5
    y[i] &= 1023
    y[i] ^= k[i]
    y[i] >>= 1
    y[i] //= 3
    y[i] %= 7
    y[i] **= 2


def parameter_assigned(x, y, n):
    n = n + 1
    n *= 2
    y[global_id(0)] = x[global_id(0)] * n


# ---------------------------------------------------------------------- branches


def branches(x, y):
    i = global_id(0)
    if x[i] < -1:
        v = x[i] * 2
    elif x[i] < 0:
        v = -x[i]
    elif x[i] < 1:
        v = x[i] + 5
    else:
        v = x[i] - 5
    y[i] = v


def branch_without_else(x, y):
    i = global_id(0)
    v = x[i]
    if i % 3 == 0:
        v = v * 2
        if i % 2:
            v += 1
    y[i] = v


def branches_of_two_types(x, k, y, z):
    i = global_id(0)
    if x[i] > 0:
        v, w = x[i], k[i]
    else:
        v, w = -x[i], k[i] * 2
    y[i] = v
    z[i] = w


def conditional_expressions(x, y):
    i = global_id(0)
    v = x[i] if x[i] > 0 else -x[i]
    w = 1 if i < 5 else 2 if i < 10 else x[i]
    y[i] = v + w + (x[i - 1] if i > 0 else x[0])


def short_circuit(x, y, k):
    i = global_id(0)
    v = 0
    if i > 0 and x[i - 1] > 0:
        v += 1
    if i == 0 or x[i - 1] < 0:
        v += 10
    if not (i < x.size - 1 and x[i + 1] > 0 and k[i] != 0):
        v += 100
    if k[i] and not x[i]:
        v += 1000
    y[i] = v


def boolean_values(x, y, k):
    i = global_id(0)
    a = x[i] > 0 and k[i] > 0
    b = x[i] > 0 or k[i] > 0
    c = not a
    y[i] = a + 2 * int(b) + 4 * int(c) + 8 * int(a == b) + 16 * int(a != c)


def chained_comparisons(x, y):
    i = global_id(0)
    v = 0
    if -1 < x[i] <= 2:
        v += 1
    if 0 <= i < 10 < x.size:
        v += 2
    if i < 5 != (x[i] > 0):
        v += 4
    y[i] = v


def membership(k, y):
    i = global_id(0)
    y[i] = int(k[i] in (1, 2, 3)) + 2 * int(k[i] not in (-1, 0))


# ---------------------------------------------------------------------- loops


def counted_loops(x, y, n):
    i = global_id(0)
    total = 0.0
    for j in range(n):
        total += x[j]
    for j in range(2, n):
        total += x[j] * j
    for j in range(n - 1, -1, -1):
        total -= x[j] / 2
    for j in range(0, n, 3):
        total += j
    for j in range(n, 0, -2):
        total += j * 2
    y[i] = total


def loops_that_run_zero_times(y):
    i = global_id(0)
    v = i
    for j in range(i, 0):
        v += j + 1
    for j in range(0, i - 100):
        v += 5
    for j in range(5, 5 + i, -1):
        v += 7
    y[i] = v


def runtime_steps(k, y):
    i = global_id(0)
    v = 0
    step = int(k[i]) if k[i] != 0 else 7
    for j in range(0, 20, step):
        v = (v * 3 + j) % 1009
    for j in range(20, 0, step):
        v = (v * 5 + j) % 1009
    y[i] = v


def bounds_are_taken_once(y):
    i = global_id(0)
    n = 5
    v = 0
    for j in range(n):
        n = n + i
        v += n + j
    y[i] = v


def loop_variable_assigned(y):
    i = global_id(0)
    v = 0
    for j in range(6):
        j = j * 2 + i
        v += j
    y[i] = v


def typed_range(u, y):
    i = global_id(0)
    v = uint32(0)
    for j in range(u[i]):
        v += j * j
    y[i] = v


def nested_loops(x, y):
    i = global_id(0)
    total = 0.0
    for a in range(4):
        for b in range(a, i % 7):
            if b == 5:
                break
            if (a + b) % 2:
                continue
            total += x[b] * a
    y[i] = total


def loops_carry_several_types(x, k, y, z, w):
    i = global_id(0)
    f, n, u, c = x[i], k[i], uint32(1), False
    for j in range(i % 6):
        f = f * 2 + 1
        n = n - 3 if c else n + 1
        u = u * 3 + 1
        c = not c
    y[i] = f
    z[i] = n
    w[i] = u + uint32(c)


def unrolled_loops(x, y):
    i = global_id(0)
    total = x[i]
    for j in unrolled(range(4)):
        if j == 3:
            break
        if j == 1:
            continue
        total = total * 2 + j
    for factor in (2, 3.5, 0.25):
        total += factor * x[i]
    for j in hint(range(8), unroll=4):
        total += j
    for number, (a, b) in enumerate(zip((1, 2), (3, 4))):
        total += number * a * b
    y[i] = total


def while_loops(k, y):
    i = global_id(0)
    n = int(k[i]) + 20
    steps = 0
    while n != 1 and steps < 30:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    y[i] = steps * 1000 + n


def endless_loop(k, y):
    i = global_id(0)
    v = int(k[i]) + 10
    while True:
        v += 7
        if v % 11 == 0:
            last = v * 2
            break
        if v > 200:
            last = -v
            break
    y[i] = last


def while_with_loads_in_its_test(x, y):
    i = global_id(0)
    j = i
    while j < x.size and x[j] < 1:
        j += 1
    y[i] = j


def break_and_continue(k, y):
    i = global_id(0)
    v = 0
    for j in range(30):
        if j % 3 == 0:
            continue
        if j > k[i] + 10:
            v += 100
            break
        v += j
    y[i] = v


def early_return(x, y):
    i = global_id(0)
    if i >= x.size - 3:
        return
    y[i] = x[i]
    for j in range(5):
        if j == i:
            y[i] = -1
            return
        y[i] += 1


def early_return_of_all(x, y):
    i = global_id(0)
    if i % 2:
        y[i] = 1
        return
    if i % 3:
        y[i] = 2
        return
    if i >= 0:
        return
    y[i] = 3


# ---------------------------------------------------------------------- functions


def _clamped(v, low, high):
    if v < low:
        return low
    if v > high:
        return high
    return v


def _first_above(x, least, start):
    for j in range(start, x.size):
        if x[j] > least:
            return j
    return -1


def _first_pair(x, total):
    for a in range(x.size):
        for b in range(a):
            if x[a] + x[b] == total:
                return a, b
    return 0, 0


def _divided(a, b):
    return a // b, a % b


def _while_returns(n):
    while True:
        n -= 3
        if n < 0:
            return n
        if n == 4:
            return 40


def _nested_returns(v, n):
    for j in range(n):
        if j == 2:
            if v > 0:
                return v
        elif j == 4:
            return -v
        v = v + 1
    if v > 3:
        return v * 100
    return v


def _filled(view, value):
    for j in range(view.size):
        view[j] = value


def _default(v, scale=2, *, offset=1):
    return v * scale + offset


def helpers(x, y):
    i = global_id(0)
    y[i] = _clamped(x[i], -1, 1) + _default(x[i]) + _default(x[i], 3, offset=x[i]) + _default(x[i], offset=0)


def helpers_that_return_in_loops(x, y):
    i = global_id(0)
    y[i] = _first_above(x, 2, i) * 10 + _while_returns(i)


def helper_that_returns_tuples(x, y):
    i = global_id(0)
    a, b = _first_pair(x, x[i])
    q, r = _divided(i * 7, 5)
    y[i] = a + b * 10 + q * 100 + r * 1000


def helper_with_nested_returns(x, y):
    i = global_id(0)
    y[i] = _nested_returns(x[i], i % 7)


def views_to_helpers(z):
    i = global_id(0)
    if i < z.shape[0]:
        _filled(z[i], i)
        _filled(z[i, 2:4], -1)
        _filled(z[i][5:], i * 2)


def defaults_of_nested_functions(x, y):
    i = global_id(0)
    v = 1

    def f(a, b=v, *, c=x[i]):
        return a * 10 + b + c

    g = lambda a, v=v: a * 100 + v
    v = 5
    total = 0.0
    for t in unrolled(range(3)):
        h = lambda a, t=t: a * t
        t = 7
        total += h(x[i])
    y[i] = f(i) + g(i) * 1000 + v + total


def tuples_chosen(x, y):
    i = global_id(0)
    p = Pair(x[i], i)
    q = p if p.a > 0 else Pair(-x[i] * x[N - 1 - i], 3)
    a, (b, c) = (i, (2.5, x[i])) if i % 3 else (1, (x[N - 1 - i], 0))
    for t in range(3):
        q = q if q.a > t else Pair(q.a + 1.5, q.b)
    best = (x[0], 0)
    for j in range(1, i):
        best = (x[j], j) if x[j] > best[0] else best
    y[i] = q.a + q.b * 10 + a * 100 + b + c + best[0] + best[1]


def nested_functions(x, y):
    i = global_id(0)
    scale = x[i]

    def scaled(v):
        return v * scale

    square = lambda v: v * v  # noqa: E731
    y[i] = scaled(square(x[i])) + scaled(2)


def function_arguments(x, y, f, g):
    i = global_id(0)
    y[i] = f(x[i]) + g(x[i], 2)


# ---------------------------------------------------------------------- memory


def private_arrays(x, y):
    i = global_id(0)
    own = private_array(5, float32)
    for j in range(5):
        own[j] = x[(i + j) % x.size]
    for a in range(4):
        for b in range(4 - a):
            if own[b] > own[b + 1]:
                own[b], own[b + 1] = own[b + 1], own[b]
    y[i] = own[0] + own[2] * 10 + own[4] * 100


def local_arrays(x, y):
    part = local_array((2, 8), float32)
    lane, i = local_id(0), global_id(0)
    part[0, lane] = x[i]
    part[1, lane] = x[i] * 2
    barrier()
    y[i] = part[0, 7 - lane] + part[1, (lane + 1) % 8] * 10


def reduction_by_hand(x, y):
    part = local_array(8, float32)
    lane = local_id(0)
    part[lane] = x[global_id(0)]
    barrier()
    step = 4
    while step > 0:
        if lane < step:
            part[lane] += part[lane + step]
        barrier()
        step //= 2
    if lane == 0:
        y[group_id(0)] = part[0]


def barrier_in_a_loop(x, y):
    part = local_array(8, float32)
    lane, i = local_id(0), global_id(0)
    v = x[i]
    for _ in range(5):
        part[lane] = v
        barrier()
        v = part[(lane + 1) % 8] + 1
        barrier()
    y[i] = v


def negative_literals(x, y):
    i = global_id(0)
    y[i] = x[-1] + x[-2] * 10
    if i == 0:
        y[-1] = 5


def matrices(z, y):
    i = global_id(0)
    if i < z.shape[0]:
        row = z[i]
        column = z[:, i]
        v = row[0] + column[1] * 10 + z[-1, i] + z[i, -1]
        y[i] = v + z[..., 2][i] + z[1:][0, i] + row.size + z.ndim + len(z)


def atomics(k, z):
    i = global_id(0)
    atomic_add(z, k[i] + 8, 1)
    atomic_max(z, 20, k[i])
    atomic_min(z, 21, k[i])
    z[22 + i] = atomic_exchange(z, 22 + i, i) + atomic_compare_exchange(z, 62 + i, 0, i)


class Pair(NamedTuple):
    a: float
    b: float


def named_tuples(x, y, p):
    i = global_id(0)
    q = p
    for j in range(i % 4):
        q = Pair(q.a * 2, q.b + j)
        if x[i] > 0:
            q = Pair(q.b, q.a)
    y[i] = q.a * x[i] + q.b


def _put(z, value):
    slot = atomic_add(z, 0, 1)
    z[slot + 1] = value


def atomics_in_helpers(z, w):
    i = global_id(0)
    _put(z, 5)
    atomic_add(w, max(i % 3, 1), 1)


def vectors(x, y):
    i = global_id(0)
    v = vload(x, i * 4, 4)
    w = float4(v.x, v.yz, 2)
    v = (v * w + 1).wzyx
    v = v.replace(x=v.y * 2)
    a, b = v.lo, v.hi
    pair = float2(a.x, b[1])
    vstore(y, i * 4, v - float4(pair, pair.yx))


def collectives(x, y, k):
    i = global_id(0)
    total = group.sum(x[i])
    least, greatest = group.min(k[i]), group.max(x[i])
    v = total + float32(least) + greatest
    if group.any(x[i] > 3):
        v += 1000
    if group.all(x[i] > -5):
        v += 2000
    v += group.count(x[i] > 0) * 10000
    v += group.broadcast(x[i], 3)
    y[i] = v + group.scan(x[i]) + float32(group.exclusive_scan(k[i]))


def collective_in_a_loop(x, y):
    i = global_id(0)
    v = x[i]
    while group.any(v > -3):
        v -= 1
    y[i] = v


def group_join(x, y):
    i = global_id(0)

    def better(a, b):
        if b[0] > a[0]:
            return b
        return a

    value, at = group.reduce((x[i], i), better)
    y[i] = value * 100 + at


def sizes(y):
    i = global_id(0)
    y[i] = global_size(0) + 100 * local_size(0) + 10000 * num_groups(0) + 1000000 * group_id(0)


# ---------------------------------------------------------------------- numbers


def index_beside_numbers(u8, h, y, z):
    i = global_id(0)
    y[i] = i * 1000 + u8[i]
    z[i] = h[i] * i


def integer_divisions(k, y):
    i = global_id(0)
    a, b = k[i], i % 7 * 2 - 7
    y[i] = a // b + 100 * (a % b) + 10000 * c_div(a, b) + 1000000 * c_mod(a, b) + 31 * cdiv(a, b)


def python_extremes(x, y):
    i = global_id(0)
    y[i] = min(x[i], 1) + max(x[i], -1, 0.5) * 10 + min((3, i)) + maximum(x[i], 0) + where(x[i] > 0, x[i], 2)


def half(h, z):
    i = global_id(0)
    v = h[i] * 3 + 1
    v = v / 7 - h[i]
    z[i] = v * v + float16(i)


def host_numbers(x, y, a, n):
    i = global_id(0)
    scale = (a * 3 + 1) / 7
    v = x[i] * scale if a > 0 else x[i]
    y[i] = v + math.sqrt(a) * n + n / 2


def bytes_and_casts(x, k, y):
    i = global_id(0)
    y[i] = int(uint8(k[i])) + int32(x[i]) * 1000 + int(x[i]) * 7 + bool(k[i])


# ---------------------------------------------------------------------- what is easily got wrong

G = 7


def closure_after_branch(x, y):
    i = global_id(0)
    v = x[i]

    def g():
        return v * 2

    if i > 3:
        v = x[i] + 1
    else:
        v = x[i] - 1
    y[i] = g()


def closure_in_loop(x, y):
    i = global_id(0)
    v = x[i]
    g = lambda a: v + a
    for j in range(3):
        v = v * 2
    y[i] = g(1)


def slices_clamp(x, y):
    i = global_id(0)
    a = x[2:100]
    b = x[-100:3]
    c = x[5:2]
    d = x[-3:]
    e = x[i:]
    f = x[:i]
    g = x[3:-2]
    y[i] = (
        a.size
        + b.size * 2
        + c.size * 3
        + d.size * 4
        + e.size * 5
        + f.size * 6
        + g.size * 7
        + d[0]
        + (e[0] if e.size > 0 else 0)
    )


def tuple_of_arrays(x, y, z):
    i = global_id(0)
    t = 0.0
    for v in (x, x[1:]):
        if i < v.size:
            t += v[i]
    y[i] = t + z.shape[0] * 10 + z.shape[1]


def number_around_the_kernel(x, y):
    i = global_id(0)
    y[i] = x[i] + G


def tuples_grow(x, y):
    i = global_id(0)
    t = (x[i],)
    t += (x[i] * 2, i)
    y[i] = t[0] + t[1] + t[2] + len(t)


def flag_in_a_loop(x, y):
    i = global_id(0)
    found = False
    k = -1
    for j in range(x.size):
        if not found and x[j] > 2:
            found = True
            k = j
    y[i] = k if found else -5


def default_of_none(x, y):
    i = global_id(0)

    def f(v, w=None):
        if w is None:
            return v
        return v * w

    y[i] = f(x[i]) + f(x[i], 2)


def view_of_view(z, y):
    i = global_id(0)
    m = z[1:, 1:5]
    r = m[1]
    c = m[:, 2]
    y[i] = r[i % 4] + c[i % 3] * 100 + m[-1, -1] + m[1:][0, 0] + m.shape[0] + m.shape[1] * 10


def names_of_math_and_numpy(x, y):
    i = global_id(0)
    y[i] = math.floor(x[i] / 2) + math.pi + np.float32(2) + np.maximum(x[i], 1) + np.abs(x[i]) + math.fabs(x[i])


def breaks_of_inner_loops(x, y):
    i = global_id(0)
    t = 0
    for a in range(5):
        k = 0
        while True:
            k += 1
            if k > a:
                break
            if k == 2 and i % 2:
                t += 100
                break
        t += k
        if t > i + 5:
            break
    y[i] = t


def names_that_hide_builtins(x, y):
    global_idx = global_id
    i = global_idx(0)
    max = x[i]
    abs = lambda v: v + max
    y[i] = abs(1)


def computed_indices(x, y):
    i = global_id(0)
    y[i] = x[i // 2 * 2 + i % 2] + x[min(i + 3, x.size - 1)] + x[(i * i) % x.size]


def choice_that_is_known(x, y):
    i = global_id(0)
    a, b = (x[i], 1) if x.ndim == 1 else (1, 2)
    y[i] = a + b


def conditional_chain(x, y):
    i = global_id(0)
    v = -1 if x[i] < -2 else 0 if x[i] < 0 else 1 if x[i] < 3 else 2.5
    y[i] = v


def unrolled_with_conditions(x, y):
    i = global_id(0)
    t = x[i]
    for j in unrolled(range(4)):
        if x[i] > j:
            t += j
        if j % 2:
            continue
        t *= 2
    y[i] = t


def literals_are_carried(x, y):
    i = global_id(0)
    a = 0
    b = 0.0
    c = 1
    for j in range(4):
        a = a + 1
        b = b + x[j]
        c = c * 2 if j > 1 else c
    y[i] = a + b + c


def literal_beside_halves(h, z):
    i = global_id(0)
    b = 0.0
    for j in range(4):
        b = b + h[j]
    z[i] = b


def search_by_halves(x, y):
    i = global_id(0)
    n = x.size
    lo, hi = 0, n
    while lo < hi:
        mid = (lo + hi) // 2
        if x[mid] < 2:
            lo = mid + 1
        else:
            hi = mid
    y[i] = lo


def nested_function_that_gives_a_tuple(x, y):
    i = global_id(0)
    a, b = x[i], i

    def sw(p, q):
        return q, p

    c, d = sw(a, b)
    y[i] = c * 10 + d


def private_matrix(x, y):
    i = global_id(0)
    p = private_array((2, 3), float32)
    for a in range(2):
        for b in range(3):
            p[a, b] = x[(a * 3 + b + i) % x.size]
    r = p[1]
    r[0] += 100
    y[i] = p[1, 0] + p[0][2] + p[:, 1][1]


def floored_remainders(x, y):
    i = global_id(0)
    y[i] = (i - 8) // 3 * 100 + (i - 8) % 3 * 10 + (3 - i) % -4


def nested_function_that_returns_in_loops(x, y):
    i = global_id(0)

    def f(v):
        for a in range(4):
            for b in range(4):
                if a * b > v:
                    return a * 10 + b
        return -1

    y[i] = f(i) + f(i - 20) * 1000


def bits_of_integers(k, y):
    i = global_id(0)
    y[i] = (k[i] >> 1) + ((k[i] << 2) | 1) + (~k[i] & 255) + (k[i] ^ i) + (1 << (i % 5))


def first_negative(x, n):
    for j in range(n):
        if x[j] < 0:
            return j
    return n


def barrier_after_return_helper(x, y):
    part = local_array(8, float32)
    l = local_id(0)
    i = global_id(0)
    v = first_negative(x[i:], min(3, x.size - i))
    part[l] = v
    barrier()
    y[i] = part[7 - l]


def uniform_return_then_barrier(x, y, n):
    part = local_array(8, float32)
    l = local_id(0)
    i = global_id(0)
    if n < 0:
        return
    part[l] = x[i]
    barrier()
    for j in range(n):
        if j == 3:
            return
        part[(l + 1) % 8] = part[(l + 1) % 8] + j
        barrier()
    y[i] = part[7 - l]


def quotient_by_zero_of_the_host(x, y, a, b):
    i = global_id(0)
    if b != 0:
        y[i] = x[i] * (a / b)
    else:
        y[i] = -1


def host_number_beside_three_dtypes(h, x, d, y, e, a):
    i = global_id(0)
    y[i] = x[i] * a + float32(h[i] * a)
    e[i] = d[i] * a


def arrays_of_bools(m, y, x):
    i = global_id(0)
    m[i] = x[i] > 0
    m[i] = m[i] and not x[0] > 0
    y[i] = m[i]
    if m[i]:
        y[i] = 3


def bytes_wrap(b, y):
    i = global_id(0)
    t = b[i]
    for j in range(3):
        t = t * 3 + b[j]
    y[i] = t + i


def float64_numbers(d, e):
    i = global_id(0)
    e[i] = d[i] / 3 + d[i] // 2 + d[i] % 3 + math.sqrt(abs(d[i]))


def vectors_in_loops(x, y):
    i = global_id(0)
    v = vload(x, (i % 2) * 8, 8)
    w = v * 2 + v.s76543210
    y[i] = w[0] + w.lo.x + w.hi.w + w.even.y + w.odd.z
    v2 = float4(1, 2, 3, 4) * x[i]
    c = v2
    if x[i] > 0:
        c = v2 + 1
    for j in range(3):
        c = c * 0.5 + v2
    y[i] += c.x + c.w


def scans(x, y, k):
    i = global_id(0)
    a = group.scan(k[i])
    b = group.exclusive_scan(k[i])
    c = group.sum(i)
    d = group.max(i)
    e = group.min(x[i])
    f = group.broadcast(i, 2)
    y[i] = float32(a) + float32(b) * 10 + c + d + e + f


def collectives_in_loops(x, y):
    i = global_id(0)
    t = 0.0
    for j in range(3):
        t += group.sum(x[i] + j)
    while group.any(t > 100):
        t -= 50
    y[i] = t


def collectives_of_halves(h, z):
    i = global_id(0)
    z[i] = group.sum(h[i]) + group.scan(h[i])


def histogram_of_a_group(k, c):
    i = global_id(0)
    p = local_array(4, int32)
    if local_id(0) < 4:
        p[local_id(0)] = 0
    barrier()
    atomic_add(p, k[i] % 4, 1)
    barrier()
    if local_id(0) < 4:
        atomic_add(c, local_id(0), p[local_id(0)])


def private_in_loop(x, y):
    i = global_id(0)
    t = 0.0
    for j in range(3):
        p = private_array(3, float32)
        for q in range(3):
            p[q] = x[(i + q + j) % x.size]
        t += p[j]
    y[i] = t


def float_atomic(x, c):
    atomic_add(c, 0, x[global_id(0)])


def negative_literals_of_views(x, y):
    i = global_id(0)
    v = x[:]
    y[i] = v[-1] + v[1:][-2] + x[...][0]


def big_unsigned(u, y):
    i = global_id(0)
    y[i] = u[i] - 1 if u[i] > 0 else 5


def index_below_zero(x, y):
    i = global_id(0)
    if i - 1 >= 0:
        y[i] = x[i - 1]
    else:
        y[i] = -9


def three_dimensions(z3):
    a, b, c = position()
    z3[a, b, c] = a * 100 + b * 10 + c + global_size(2) * 1000


def unsigned_divisions(u, y):
    i = global_id(0)
    y[i] = u[i] // 3 + u[i] % 5 + cdiv(u[i], 4)


def rounded(x, y):
    i = global_id(0)
    y[i] = round(x[i] / 2) + math.ceil(x[i] / 3) * 10 + math.trunc(x[i] / 3) * 100 + int(x[i] / 4) * 1000


# ---------------------------------------------------------------------- branches of which one side goes on


def _else_that_goes_on(v, w):
    if v > w:
        return v
    r = w * 2
    return r + 1


def one_side_goes_on(x, y):
    i = global_id(0)
    if i > 20:
        return
    v = x[i]
    y[i] = v + _else_that_goes_on(v, 1)


def one_side_makes_all_kinds(x, y):
    i = global_id(0)
    if i <= 20:
        row = x[i:]
        pair = (x[i], 3)
        n = 5
        f = lambda a: a + pair[0]
    else:
        return
    y[i] = row[0] + row.size + pair[0] + pair[1] + n + f(2)


def one_side_in_a_loop(x, y):
    i = global_id(0)
    v = x[i]
    for j in range(5):
        if j < i:
            v = v + 1
            w = v * 2
        else:
            continue
        if w > 5:
            z = w
        else:
            break
        v = z / 2
    y[i] = v


# ---------------------------------------------------------------------- literals whose type a loop finds out


def literal_behind_a_branch(b, y):
    i = global_id(0)
    v = 0
    for j in range(i):
        if j % 2:
            v = v + 1
        v = v + b[j]
    y[i] = v


def literal_behind_a_loop(b, y):
    i = global_id(0)
    v = 0
    for j in range(i):
        for _ in range(2):
            v = v + 1
        v = v + b[j]
    y[i] = v


def literal_of_one_side(b, y):
    i = global_id(0)
    v, pair = 0, (0, 0)
    for j in range(16):
        if j < i:
            v = v + 1
            pair = (pair[0] + 1, v)
        else:
            continue
        v = v + b[j]
        pair = (pair[0] + b[j], pair[1])
    y[i] = int(v) + int(pair[0]) * 1000 + int(pair[1])


def literals_alone(y):
    i = global_id(0)
    v, f = 0, 0.0
    for _ in range(i):
        for q in range(3):
            if q:
                v = v + 1
            f = f + 0.5
    y[i] = v * 1000 + int(f)


class Case(NamedTuple):
    kernel: Any
    sizes: Any
    arguments: dict[str, Any]
    local: Any = None

    def __str__(self) -> str:
        return str(self.kernel.__name__)


INTS = np.zeros(N, np.int32)
Y = {"y": floats()}
Z = np.arange(24, dtype=np.float32).reshape(4, 6)
CASES = [
    Case(assignment, N, {"x": X, **Y}),
    Case(retyped, N, {"k": K, **Y}),
    Case(unpacked, N, {"x": X, **Y}),
    Case(rotated_in_a_loop, N, {"x": X, **Y}),
    Case(augmented_elements, N, {"x": X, "y": X[::-1].copy()}),
    Case(augmented_integers, N, {"k": K, "y": K[::-1].copy()}),
    Case(augmented_by_indices, N, {"k": K, "y": INTS, "b": K.astype(np.int8)}),
    Case(parameter_assigned, N, {"x": X, **Y, "n": 5}),
    Case(branches, N, {"x": X, **Y}),
    Case(branch_without_else, N, {"x": X, **Y}),
    Case(branches_of_two_types, N, {"x": X, "k": K, **Y, "z": INTS}),
    Case(conditional_expressions, N, {"x": X, **Y}),
    Case(short_circuit, N, {"x": X, "y": INTS, "k": K}),
    Case(boolean_values, N, {"x": X, "y": INTS, "k": K}),
    Case(chained_comparisons, N, {"x": X, "y": INTS}),
    Case(membership, N, {"k": K, "y": INTS}),
    Case(counted_loops, N, {"x": X, **Y, "n": 9}),
    Case(loops_that_run_zero_times, N, {"y": INTS}),
    Case(runtime_steps, N, {"k": K, "y": INTS}),
    Case(bounds_are_taken_once, N, {"y": INTS}),
    Case(loop_variable_assigned, N, {"y": INTS}),
    Case(typed_range, N, {"u": U, "y": U * 0}),
    Case(nested_loops, N, {"x": X, **Y}),
    Case(loops_carry_several_types, N, {"x": X, "k": K, **Y, "z": INTS, "w": U * 0}),
    Case(unrolled_loops, N, {"x": X, **Y}),
    Case(while_loops, N, {"k": K, "y": INTS}),
    Case(endless_loop, N, {"k": K, "y": INTS}),
    Case(while_with_loads_in_its_test, N, {"x": X, "y": INTS}),
    Case(break_and_continue, N, {"k": K, "y": INTS}),
    Case(early_return, N, {"x": X, **Y}),
    Case(early_return_of_all, N, {"x": X, **Y}),
    Case(helpers, N, {"x": X, **Y}),
    Case(helpers_that_return_in_loops, N, {"x": X, "y": INTS}),
    Case(helper_that_returns_tuples, N, {"x": X, "y": INTS}),
    Case(helper_with_nested_returns, N, {"x": X, **Y}),
    Case(views_to_helpers, 8, {"z": np.zeros((6, 8), np.float32)}),
    Case(defaults_of_nested_functions, N, {"x": X, **Y}),
    Case(tuples_chosen, N, {"x": X, **Y}),
    Case(nested_functions, N, {"x": X, **Y}),
    Case(function_arguments, N, {"x": X, **Y, "f": lambda v: v * 3, "g": lambda v, w: v * w - 1}),
    Case(private_arrays, N, {"x": X, **Y}),
    Case(local_arrays, N, {"x": X, **Y}, 8),
    Case(reduction_by_hand, N, {"x": X, "y": floats(*[0] * 5)}, 8),
    Case(barrier_in_a_loop, N, {"x": X, **Y}, 8),
    Case(negative_literals, N - 1, {"x": X, **Y}),
    Case(matrices, 8, {"z": np.arange(30, dtype=np.float32).reshape(5, 6), "y": floats(*[0] * 8)}),
    Case(atomics, N, {"k": K, "z": np.zeros(120, np.int32)}),
    Case(atomics_in_helpers, N, {"z": np.zeros(N + 1, np.int32), "w": np.zeros(3, np.int32)}),
    Case(named_tuples, N, {"x": X, **Y, "p": Pair(1.5, 2.0)}),
    Case(vectors, N // 4, {"x": X, **Y}),
    Case(collectives, N, {"x": X, **Y, "k": K}, 8),
    Case(collective_in_a_loop, N, {"x": X, **Y}, 8),
    Case(group_join, N, {"x": X, **Y}, 8),
    Case(sizes, N - 3, {"y": INTS}, 8),
    Case(
        index_beside_numbers,
        N,
        {"u8": U.astype(np.uint8), "h": X.astype(np.float16), "y": INTS, "z": X.astype(np.float16)},
    ),
    Case(integer_divisions, N, {"k": K, "y": INTS}),
    Case(python_extremes, N, {"x": X, **Y}),
    Case(half, N, {"h": X.astype(np.float16), "z": X.astype(np.float16)}),
    Case(host_numbers, N, {"x": X, **Y, "a": 0.7, "n": 3}),
    Case(bytes_and_casts, N, {"x": X, "k": K, "y": INTS}),
    Case(closure_after_branch, N, {"x": X, **Y}),
    Case(closure_in_loop, N, {"x": X, **Y}),
    Case(slices_clamp, N, {"x": X, **Y}),
    Case(tuple_of_arrays, N, {"x": X, **Y, "z": Z}),
    Case(number_around_the_kernel, N, {"x": X, **Y}),
    Case(tuples_grow, N, {"x": X, **Y}),
    Case(flag_in_a_loop, N, {"x": X, **Y}),
    Case(default_of_none, N, {"x": X, **Y}),
    Case(view_of_view, N, {"z": Z, **Y}),
    Case(names_of_math_and_numpy, N, {"x": X, **Y}),
    Case(breaks_of_inner_loops, N, {"x": X, "y": INTS}),
    Case(names_that_hide_builtins, N, {"x": X, **Y}),
    Case(computed_indices, N, {"x": X, **Y}),
    Case(choice_that_is_known, N, {"x": X, **Y}),
    Case(conditional_chain, N, {"x": X, **Y}),
    Case(unrolled_with_conditions, N, {"x": X, **Y}),
    Case(literals_are_carried, N, {"x": X, **Y}),
    Case(literal_beside_halves, N, {"h": X.astype(np.float16), "z": X.astype(np.float16)}),
    Case(search_by_halves, N, {"x": X, "y": INTS}),
    Case(nested_function_that_gives_a_tuple, N, {"x": X, **Y}),
    Case(private_matrix, N, {"x": X, **Y}),
    Case(floored_remainders, N, {"x": X, "y": INTS}),
    Case(nested_function_that_returns_in_loops, N, {"x": X, "y": INTS}),
    Case(bits_of_integers, N, {"k": K, "y": INTS}),
    Case(barrier_after_return_helper, 16, {"x": X, **Y}, 8),
    Case(uniform_return_then_barrier, 16, {"x": X, **Y, "n": 2}, 8),
    Case(uniform_return_then_barrier, 16, {"x": X, **Y, "n": 5}, 8),
    Case(quotient_by_zero_of_the_host, N, {"x": X, **Y, "a": 1.0, "b": 0.0}),
    Case(quotient_by_zero_of_the_host, N, {"x": X, **Y, "a": 1.0, "b": 3.0}),
    Case(
        host_number_beside_three_dtypes,
        N,
        {"h": X.astype("f2"), "x": X, "d": X.astype("f8"), **Y, "e": X.astype("f8"), "a": 0.1},
    ),
    Case(arrays_of_bools, N, {"m": np.zeros(N, bool), "y": INTS, "x": X}),
    Case(bytes_wrap, N, {"b": U.astype(np.uint8) * 9, "y": INTS}),
    Case(float64_numbers, N, {"d": X.astype("f8"), "e": X.astype("f8")}),
    Case(vectors_in_loops, N, {"x": X, **Y}),
    Case(scans, N, {"x": X, **Y, "k": K}, 8),
    Case(collectives_in_loops, N, {"x": X, **Y}, 8),
    Case(collectives_of_halves, N, {"h": X.astype("f2"), "z": X.astype("f2")}, 8),
    Case(histogram_of_a_group, N, {"k": K, "c": np.zeros(4, np.int32)}, 8),
    Case(private_in_loop, N, {"x": X, **Y}),
    Case(float_atomic, N, {"x": X, "c": np.zeros(1, np.float32)}),
    Case(negative_literals_of_views, N, {"x": X, **Y}),
    Case(big_unsigned, N, {"u": U, "y": U * 0}),
    Case(index_below_zero, N, {"x": X, **Y}),
    Case(three_dimensions, (4, 3, 2), {"z3": np.zeros((2, 3, 4), np.int32)}, (2, 1, 1)),
    Case(unsigned_divisions, N, {"u": U, "y": U * 0}),
    Case(rounded, N, {"x": X, **Y}),
    Case(one_side_goes_on, N, {"x": X, **Y}),
    Case(one_side_makes_all_kinds, N, {"x": X, **Y}),
    Case(one_side_in_a_loop, N, {"x": X, **Y}),
    Case(literal_behind_a_branch, N, {"b": U.astype(np.uint8) * 13, "y": INTS}),
    Case(literal_behind_a_loop, N, {"b": U.astype(np.uint8) * 13, "y": INTS}),
    Case(literal_of_one_side, N, {"b": U.astype(np.uint8) * 13, "y": INTS}),
    Case(literals_alone, N, {"y": INTS}),
]


@pytest.mark.sample(8)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_statements(case: Case) -> None:
    quotients = 1.0 if case.kernel is float64_numbers else 0.0
    agree(case.kernel, case.sizes, case.arguments, local=case.local, most_ulps=quotients)
