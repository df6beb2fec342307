"""Fourier transforms on a device against NumPy's, which compute in the next wider type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting, has

RANDOM = np.random.default_rng(0)
SMOOTH = [2, 3, 4, 5, 7, 8, 11, 13, 15, 16, 24, 60, 100, 128, 256, 1000, 1024, 2048]
LONG = [4096, 6000, 2**16, 2**18]
"""Those that take several passes over memory."""
OTHERS = [1, 17, 19, 34, 47, 101, 1025, 65537]
"""Those of large prime factors, and 1."""


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def complex_numbers(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype("c8")


def error(found: Any, exact: np.ndarray) -> float:
    """The distance relative to the length of the exact result; shapes are equal, and the dtype is half as wide."""
    assert found.shape == exact.shape
    assert 2 * found.dtype.itemsize == exact.dtype.itemsize
    return float(np.linalg.norm(found.numpy() - exact) / max(np.linalg.norm(exact), 1e-30))


@pytest.mark.sample(6)
@pytest.mark.parametrize("n", [*SMOOTH, *LONG, *OTHERS])
def test_every_kind_of_length(runtime: Runtime, n: int) -> None:
    host = complex_numbers(3 if n < 5000 else 1, n)
    exact = np.fft.fft(host.astype("c16"))
    pocketfft = (
        4e-8 * max(2, np.log2(n)) ** 0.5
    )  # in float32, of SciPy 1.17: 7e-8 of 17, 1.2e-7 of 1024, 1.6e-7 of 2^18
    with ocl.use(runtime):
        x = ocl.asarray(host)
        found = ocl.fft.fft(x)
        # A device without float64 makes the factors of large primes in float32.
        times = 2 if has(runtime, "f8") or n in SMOOTH + LONG else 4
        assert error(found, exact) <= times * pocketfft
        assert error(ocl.fft.ifft(found), host.astype("c16")) <= 2 * times * pocketfft


@pytest.mark.sample(6)
@pytest.mark.parametrize("shape", [(17, 6, 32), (2, 1000, 3), (64, 64), (2, 3, 256, 9), (1, 7), (300, 3, 2)])
def test_axes_of_real_and_complex_numbers(runtime: Runtime, shape: tuple[int, ...]) -> None:
    host, real = complex_numbers(*shape), RANDOM.standard_normal(shape).astype("f4")
    wide, wide_real = host.astype("c16"), real.astype("f8")
    with ocl.use(runtime):
        x, y = ocl.asarray(host), ocl.asarray(real)
        for axis in range(len(shape)):
            for norm in ("backward", "ortho", "forward"):
                how = {"axis": axis, "norm": norm}
                assert error(ocl.fft.fft(x, **how), np.fft.fft(wide, **how)) < 1e-6
                assert error(ocl.fft.rfft(y, **how), np.fft.rfft(wide_real, **how)) < 1e-6
                if shape[axis] > 1:
                    assert error(ocl.fft.irfft(x, **how), np.fft.irfft(wide, **how)) < 1e-6
        assert error(ocl.fft.fftn(x), np.fft.fftn(wide)) < 1e-6
        assert error(ocl.fft.rfftn(y), np.fft.rfftn(wide_real)) < 1e-6
        assert error(ocl.fft.fft(x.T * 2), np.fft.fft(wide.T * 2)) < 1e-6


@pytest.mark.sample(3)
@pytest.mark.parametrize("n", [4, 5, 30])
def test_lengths_cut_and_pad(runtime: Runtime, n: int) -> None:
    host, real = complex_numbers(6, 12), RANDOM.standard_normal((6, 12)).astype("f4")
    wide, wide_real = host.astype("c16"), real.astype("f8")
    with ocl.use(runtime):
        x, y = ocl.asarray(host), ocl.asarray(real)
        for axis in (0, 1):
            for name in ("fft", "ifft", "irfft", "hfft"):
                exact = getattr(np.fft, name)(wide, n=n, axis=axis)
                assert error(getattr(ocl.fft, name)(x, n=n, axis=axis), exact) < 1e-6, name
            for name in ("rfft", "ihfft"):
                exact = getattr(np.fft, name)(wide_real, n=n, axis=axis)
                assert error(getattr(ocl.fft, name)(y, n=n, axis=axis), exact) < 1e-6, name
        for s, axes in (((n, 7), (1, 0)), ((3, n), (0, 1))):
            assert error(ocl.fft.fftn(x, s=s, axes=axes), np.fft.fftn(wide, s=s, axes=axes)) < 1e-6
            assert error(ocl.fft.ifftn(x, s=s, axes=axes), np.fft.ifftn(wide, s=s, axes=axes)) < 1e-6
            assert error(ocl.fft.rfftn(y, s=s, axes=axes), np.fft.rfftn(wide_real, s=s, axes=axes)) < 1e-6
            assert error(ocl.fft.irfftn(x, s=s, axes=axes), np.fft.irfftn(wide, s=s, axes=axes)) < 1e-6


@pytest.mark.sample(4)
@pytest.mark.parametrize("n", [60, 1024, 1025, 4096])
def test_float64(runtime: Runtime, n: int) -> None:
    if not has(runtime, "f8"):
        pytest.skip("no float64")
    with ocl.use(runtime):
        host = complex_numbers(2, n).astype("c16")
        found = ocl.fft.fft(ocl.asarray(host)).numpy()
        exact = np.fft.fft(host)
        assert np.linalg.norm(found - exact) < 3e-15 * np.linalg.norm(exact)
        real = host.real.copy()
        found = ocl.fft.irfft(ocl.fft.rfft(ocl.asarray(real)), n=n).numpy()
        assert np.linalg.norm(found - real) < 3e-15 * np.linalg.norm(real)


def test_parts_that_do_not_count_and_odd_starts(runtime: Runtime) -> None:
    host = complex_numbers(9)
    flat = RANDOM.standard_normal(2 * 64 + 1).astype("f4")
    with ocl.use(runtime):
        assert error(ocl.fft.irfft(ocl.asarray(host)), np.fft.irfft(host.astype("c16"))) < 1e-6
        view = ocl.asarray(flat)[1:]
        assert error(ocl.fft.rfft(view), np.fft.rfft(flat[1:].astype("f8"))) < 1e-6


def test_views_that_begin_elsewhere(runtime: Runtime) -> None:
    """Plans are kept by what views look like, not by where they begin."""
    host, real = complex_numbers(600), RANDOM.standard_normal(600).astype("f4")
    with ocl.use(runtime):
        x, y = ocl.asarray(host), ocl.asarray(real)
        for first in (0, 2, 3, 4, 100, 1):
            part, wide = x[first : first + 65], host[first : first + 65].astype("c16")
            assert error(ocl.fft.fft(part[:64]), np.fft.fft(wide[:64])) < 1e-6
            assert error(ocl.fft.irfft(part), np.fft.irfft(wide)) < 1e-6
            assert (
                error(ocl.fft.rfft(y[first : first + 128]), np.fft.rfft(real[first : first + 128].astype("f8"))) < 1e-6
            )


def test_what_there_is_nothing_of(runtime: Runtime) -> None:
    with ocl.use(runtime):
        assert ocl.fft.fft(ocl.zeros((0, 4), dtype="c8")).shape == (0, 4)
        assert ocl.fft.rfft(ocl.zeros((0, 6), dtype="f4")).shape == (0, 4)
        assert ocl.fft.irfft(ocl.zeros((0, 4), dtype="c8")).shape == (0, 6)
        assert ocl.fft.fft(ocl.asarray([3, 4])).dtype == np.complex64
        assert np.isnan(ocl.fft.fft(ocl.asarray([np.nan, 1, 2, 3])).numpy()).all()
        for wrong in (
            lambda: ocl.fft.fft(ocl.zeros((3, 0))), lambda: ocl.fft.fft(ocl.ones(4), n=0),
            lambda: ocl.fft.fftn(ocl.ones((2, 2)), s=(1,), axes=(0, 1)), lambda: ocl.fft.rfftn(ocl.ones(())),
            lambda: ocl.fft.fftn(ocl.ones(4), s=(4, 4)), lambda: ocl.fft.fft(ocl.ones(4), n=True),
            lambda: ocl.fft.fft(ocl.ones(4), n="3"), lambda: ocl.fft.irfft(ocl.ones(4), n=2.0),  # type: ignore[arg-type]
        ):  # fmt: skip
            with pytest.raises(ShapeError, match="fft"):
                wrong()
        assert ocl.fft.fftn(ocl.ones((2, 2)), axes=0).shape == (2, 2)  # type: ignore[arg-type]
        with pytest.raises(DTypeError, match="frequencies of dtype i32"):
            ocl.fft.fftfreq(4, dtype="int32")
        with pytest.raises(DTypeError, match="rfft of complex64"):
            ocl.fft.rfft(ocl.asarray([1j]))
        with pytest.raises(Error, match="norm 'half'"):
            ocl.fft.fft(ocl.ones(4), norm="half")  # type: ignore[arg-type]


def test_frequencies_and_their_order(runtime: Runtime) -> None:
    with ocl.use(runtime):
        for n in (1, 2, 7, 8):
            np.testing.assert_allclose(ocl.fft.fftfreq(n, d=0.3).numpy(), np.fft.fftfreq(n, 0.3), rtol=1e-6)
            np.testing.assert_allclose(ocl.fft.rfftfreq(n, d=0.3).numpy(), np.fft.rfftfreq(n, 0.3), rtol=1e-6)
            host = np.arange(3.0 * n).reshape(3, n)
            x = ocl.asarray(host)
            for axes in (None, 1, (0, 1)):
                np.testing.assert_array_equal(ocl.fft.fftshift(x, axes=axes).numpy(), np.fft.fftshift(host, axes))
                np.testing.assert_array_equal(ocl.fft.ifftshift(x, axes=axes).numpy(), np.fft.ifftshift(host, axes))


def test_numpys_names(runtime: Runtime) -> None:
    host = complex_numbers(4, 8)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "irfft", "irfft2", "hfft", "fftshift"):
            found = getattr(np.fft, name)(x)
            assert isinstance(found, ocl.Array)
            np.testing.assert_allclose(found.numpy(), getattr(np.fft, name)(host), rtol=1e-4, atol=1e-4)
        out = ocl.zeros((4, 8), dtype="c8").copy()
        np.fft.fft(x, out=out)
        np.testing.assert_allclose(out.numpy(), np.fft.fft(host), rtol=1e-4, atol=1e-4)


def test_launches(runtime: Runtime) -> None:
    """A pass over memory for what fits into a group, two for what is long, and nothing that copies."""
    with ocl.use(runtime):
        for shape, axis, passes in (((50, 256), 1, 1), ((256, 50), 0, 1), ((2**16,), 0, 2)):
            x = ocl.asarray(complex_numbers(*shape)).compute()
            with counting(runtime) as counted:
                ocl.fft.fft(x, axis=axis).compute()
            assert counted["launch", "launches"] == passes


def test_captured_and_several_streams(runtime: Runtime) -> None:
    with ocl.use(runtime):
        smooth = ocl.capture(lambda x: ocl.fft.irfft(ocl.fft.rfft(x) * 0.5, n=x.shape[-1]))
        for n in (16, 100, 16):
            host = RANDOM.standard_normal((3, n)).astype("f4")
            np.testing.assert_allclose(smooth(ocl.asarray(host)).numpy(), host / 2, rtol=1e-4, atol=1e-5)
        hosts = [complex_numbers(200) for _ in range(4)]
        results = []
        for number, host in enumerate(hosts):
            with ocl.stream(number % 2):
                results.append(ocl.fft.fft(ocl.asarray(host)).compute())
        for host, result in zip(hosts, results, strict=True):
            assert error(result, np.fft.fft(host.astype("c16"))) < 1e-6
