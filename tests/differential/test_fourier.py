"""Fourier transforms by the interpreter of kernel IR, which finds races, for GPUs and CPUs of small groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_runtime import fft
from ocl_runtime.fft.lengths import is_smooth, primitive_root, smooth_length
from ocl_runtime.plan.kernels.fourier.passes import factors
from ocl_runtime.plan.launch import Address
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8),
    "large groups": Target(kind="gpu", compute_units=3, group_size=64),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=32),
}


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@st.composite
def transforms(draw: st.DrawFn) -> tuple[np.ndarray, int, int | None, str]:
    shape = draw(st.lists(st.integers(1, 5), min_size=0, max_size=2))
    axis = draw(st.integers(0, len(shape)))
    shape.insert(
        axis, draw(st.sampled_from([1, 2, 3, 4, 6, 8, 9, 10, 12, 14, 16, 17, 20, 22, 26, 32, 34, 36, 47, 48, 64]))
    )
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    dtype = draw(st.sampled_from(["c8", "c16"]))
    host = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    n = draw(st.none() | st.sampled_from([1, 4, 7, 16, 18, 33]))
    return host, axis, n, draw(st.sampled_from(["backward", "ortho", "forward"]))


@given(made=transforms())
@QUICK
def test_against_numpy(runtime: InterpretedRuntime, made: tuple[np.ndarray, int, int | None, str]) -> None:
    host, axis, n, norm = made
    wide = host.astype("c16")
    eps = 40 * np.finfo(host.dtype).eps
    how = {"n": n, "axis": axis, "norm": norm}
    with xp.use(runtime):
        x = xp.asarray(host)
        pairs = [(fft.fft(x, **how), np.fft.fft(wide, **how)), (fft.ifft(x, **how), np.fft.ifft(wide, **how)),
                 (fft.rfft(x.real, **how), np.fft.rfft(wide.real, **how))]  # fmt: skip
        if n is not None or host.shape[axis] > 1:
            pairs.append((fft.irfft(x, **how), np.fft.irfft(wide, **how)))
        for found, exact in pairs:
            assert found.shape == exact.shape
            assert np.linalg.norm(found.numpy() - exact) <= eps * max(np.linalg.norm(exact), 1e-30)


@pytest.mark.sample(4)
@pytest.mark.parametrize("n", [2**11, 3000, 2**12])
def test_long_lines(runtime: InterpretedRuntime, n: int) -> None:
    """Several passes, with few points in a group."""
    rng = np.random.default_rng(0)
    host = (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))).astype("c8")
    exact = np.fft.fft(host.astype("c16"))
    with xp.use(runtime):
        found = fft.fft(xp.asarray(host)).numpy()
    assert np.linalg.norm(found - exact) < 1e-6 * np.linalg.norm(exact)


@given(n=st.integers(1, 5000), most=st.integers(2, 40))
@settings(deadline=None)
def test_factors_are_as_few_as_there_can_be(n: int, most: int) -> None:
    found = factors(n, most)
    if found is None:
        assert any(n % prime == 0 and all(prime % i for i in range(2, prime)) for prime in range(most + 1, n + 1))
        return
    assert np.prod(found) == n
    assert max(found) <= most
    assert list(found) == sorted(found, reverse=True)
    least = 1
    while most**least < n:
        least += 1
    assert len(found) >= least


def test_a_line_of_a_prime_length_is_not_padded(runtime: InterpretedRuntime) -> None:
    host = np.ones((20, 97), "c8")
    with xp.use(runtime):
        fft.fft(xp.asarray(host)).compute()
    touched = [arg.touched.size for launch in runtime.launched for arg in launch.args if isinstance(arg, Address)]
    assert max(touched) == host.size


def test_a_primitive_root_has_all_remainders_as_powers() -> None:
    for n in range(1, 700):
        root, is_prime = primitive_root(n), n > 2 and all(n % divisor for divisor in range(2, n))
        assert (root is not None) == (is_prime and is_smooth(n - 1))
        if root is not None:
            assert {pow(root, k, n) for k in range(n - 1)} == set(range(1, n))
    assert primitive_root(65_537) == 3
    assert primitive_root(2**31 - 1) is None  # 2^31 - 2 has the factor 331


@given(st.integers(1, 10**6))
def test_a_smooth_length_is_the_next_one(least: int) -> None:
    found = smooth_length(least)
    assert found >= least
    assert is_smooth(found)
    rest = found
    for prime in (2, 3, 5):
        while rest % prime == 0:
            rest //= prime
    assert rest == 1
    assert found < 2 * least
