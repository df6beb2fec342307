"""Complex arrays on a device against NumPy: functions, reductions, products, views, writes, kernels in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as onp
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.language import complex64, conj, exp, global_id
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting, has

RANDOM = np.random.default_rng(0)
DTYPES = ["c8", "c16"]
SHAPES = [(7,), (5, 4, 130), (0, 3), (300, 300)]


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(dtype)


def close(found: Any, wanted: Any, dtype: str, scale: float = 1) -> None:
    """Equal dtype and shape, and values within some ULP of the largest."""
    found, wanted = np.asarray(found.numpy()), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if found.size:
        eps = np.finfo(np.dtype(dtype)).eps
        np.testing.assert_allclose(found, wanted, rtol=0, atol=64 * scale * eps * np.abs(wanted).max())


ELEMENTWISE: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda x, y: x * y + 1, lambda x, y: x * y + 1), (lambda x, y: x / y, lambda x, y: x / y),
    (lambda x, y: -x - y * (1 + 2j), lambda x, y: -x - y * (1 + 2j)), (lambda x, y: 1j / y, lambda x, y: 1j / y),
    (lambda x, _: abs(x), lambda x, _: np.abs(x)), (lambda x, _: x.real + 2 * x.imag, lambda x, _: x.real + 2 * x.imag),
    (lambda x, y: x.conj() * y, lambda x, y: x.conj() * y), (lambda x, _: ocl.angle(x), lambda x, _: np.angle(x)),
    (lambda x, _: x**2, lambda x, _: x**2), (lambda x, _: ocl.sqrt(x), lambda x, _: np.sqrt(x)),
    (lambda x, y: x**y, lambda x, y: x**y), (lambda x, _: ocl.exp(x), lambda x, _: np.exp(x)),
    (lambda x, y: ocl.where(x.real > y.real, x, y), lambda x, y: np.where(x.real > y.real, x, y)),
    (lambda x, y: x == ocl.where(x.real > 0, x, y), lambda x, y: x == np.where(x.real > 0, x, y)),
    (lambda x, _: ocl.astype(x.real, x.dtype), lambda x, _: x.real.astype(x.dtype)),
    (lambda x, _: ocl.round(x, 1), lambda x, _: np.round(x, 1)), (lambda x, _: ocl.sign(x), lambda x, _: np.sign(x)),
    (lambda x, _: x[..., ::-2] * 2, lambda x, _: x[..., ::-2] * 2), (lambda x, _: x.T * 1, lambda x, _: x.T * 1),
    (lambda x, y: ocl.concat([x, y]), lambda x, y: np.concatenate([x, y])),
    (lambda x, _: x[x.real > 0], lambda x, _: x[x.real > 0]), (lambda x, _: ocl.isnan(x), lambda x, _: np.isnan(x)),
]  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        pytest.skip("no float64")
    with ocl.use(runtime):
        for shape in SHAPES:
            x, y = numbers(shape, dtype), numbers(shape, dtype)
            for ours, numpys in ELEMENTWISE:
                close(ours(ocl.asarray(x), ocl.asarray(y)), numpys(x, y), dtype, 4)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_and_scans(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        pytest.skip("no float64")
    with ocl.use(runtime):
        for shape in SHAPES:
            host = numbers(shape, dtype)
            x = ocl.asarray(host)
            for axis in (None, 0, -1):
                close(ocl.sum(x, axis=axis), host.sum(axis), dtype, 16)
                close(ocl.sum(abs(x) ** 2, axis=axis), (np.abs(host) ** 2).sum(axis), dtype, 16)
                np.testing.assert_array_equal(ocl.any(x, axis=axis).numpy(), host.any(axis))
                np.testing.assert_array_equal(ocl.count_nonzero(x, axis=axis).numpy(), np.count_nonzero(host, axis))
                if host.size:
                    close(ocl.mean(x, axis=axis), host.mean(axis), dtype, 16)
                    close(ocl.var(x, axis=axis), host.var(axis), dtype, 16)
            close(ocl.prod(x[..., :5], axis=-1), host[..., :5].prod(-1), dtype)
            for axis in (0, -1):
                close(ocl.cumulative_sum(x, axis=axis), host.cumsum(axis), dtype, 16)
            close(ocl.cumulative_prod(x[..., :6], axis=-1), host[..., :6].cumprod(-1), dtype)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        pytest.skip("no float64")
    with ocl.use(runtime):
        for m, k, n in ((3, 4, 5), (33, 65, 17), (128, 100, 130), (1, 7, 1)):
            x, y = numbers((m, k), dtype), numbers((k, n), dtype)
            a, b = ocl.asarray(x), ocl.asarray(y)
            close(a @ b, x @ y, dtype, 16)
            close(ocl.matrix_transpose(b) @ ocl.matrix_transpose(a), y.T @ x.T, dtype, 16)
            close(a @ b[:, 0], x @ y[:, 0], dtype, 16)
            close(ocl.vecdot(a, a), np.sum(x.conj() * x, -1), dtype, 16)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_writes_and_sums_at_places(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        pytest.skip("no float64")
    with ocl.use(runtime):
        host, other = numbers((20, 30), dtype), numbers((20, 30), dtype)
        x = ocl.asarray(host)
        x[2:5, ::3] = 2 - 1j
        x[7] = other[7]
        x += ocl.asarray(other)
        wanted = host.copy()
        wanted[2:5, ::3] = 2 - 1j
        wanted[7] = other[7]
        wanted += other
        close(x, wanted, dtype)
        rows = RANDOM.integers(0, 20, 100)
        ocl.add_at(x, rows, ocl.asarray(np.ones((100, 30), dtype) * 1j))
        np.add.at(wanted, rows, 1j)
        close(x, wanted, dtype, 4)
        x.fill(3j)
        assert x[3, 4].item() == 3j
        x.real, x[4:].imag = other.real, other[4:].imag
        wanted[:] = other.real + 3j
        wanted[4:] = other[4:]
        close(x, wanted, dtype)


def test_making_and_showing(runtime: Runtime) -> None:
    with ocl.use(runtime):
        assert ocl.asarray([1j, 2]).dtype == np.complex64
        assert ocl.asarray([1 + 2j, 3]).tolist() == [1 + 2j, 3]
        assert (ocl.asarray(2.5 - 1j).item(), complex(ocl.asarray(1j))) == (2.5 - 1j, 1j)
        assert repr(ocl.asarray([1 + 2j])).startswith("Array([1.+2.j], shape=(1,), dtype=complex64")
        assert ocl.full(3, 1j).tolist() == [1j] * 3
        assert ocl.zeros(2, dtype=ocl.complex64).tolist() == ocl.zeros_like(ocl.asarray([1j, 2])).tolist() == [0, 0]
        assert ocl.eye(2, dtype=ocl.complex64).tolist() == [[1, 0], [0, 1]]
        np.testing.assert_allclose(ocl.linspace(0, 1 + 1j, 5).numpy(), np.linspace(0, 1 + 1j, 5), rtol=1e-6)
        joined = ocl.complex_of([1.0, 2.0], ocl.asarray([[3.0], [4.0]]))
        assert joined.tolist() == [[1 + 3j, 2 + 3j], [1 + 4j, 2 + 4j]]
        assert {(x * 1j).dtype for x in (ocl.arange(2), ocl.ones(2), ocl.ones(2, dtype="f2"))} == {np.dtype("c8")}
        assert ocl.finfo(ocl.complex64).bits == 32
        assert ocl.isdtype(ocl.complex64, "complex floating")
        assert not ocl.isdtype(ocl.complex64, "real floating")


def test_what_has_no_order_or_no_place_is_refused(runtime: Runtime) -> None:
    with ocl.use(runtime):
        x = ocl.asarray([1j, 2])
        for wrong in (
            lambda: x < 1, lambda: ocl.max(x), lambda: ocl.sort(x), lambda: ocl.argmax(x), lambda: ocl.floor(x),
            lambda: ocl.maximum(x, 1), lambda: ocl.astype(x, ocl.float32), lambda: ocl.signbit(x), lambda: x // 2,
            lambda: ocl.atan2(x, 1), lambda: x & 1, lambda: ocl.ones(2).__setitem__(0, 1j),
            lambda: ocl.ones(2).__setitem__(slice(None), x), lambda: float(x[0]), lambda: int(x[1]),
            lambda: setattr(ocl.ones(2), "imag", 1), lambda: setattr(x, "real", x), lambda: np.cbrt(x),
        ):  # fmt: skip
            with pytest.raises(DTypeError):
                wrong()


def test_numpys_names(runtime: Runtime) -> None:
    host = np.array([3 + 4j, 0, -1j, np.nan + 1j, complex(np.inf, 1)], "c8")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for function in (np.abs, np.angle, np.real, np.imag, np.conj, np.isreal, np.iscomplex, np.nan_to_num, np.exp2):
            with np.errstate(invalid="ignore"):
                found, wanted = function(x), function(host)
            assert isinstance(found, ocl.Array)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, equal_nan=True)
        assert np.iscomplexobj(x)
        assert onp.zeros(2, dtype=complex).dtype in {np.dtype("c16"), np.dtype("c8")}
        assert onp.real_if_close(ocl.asarray([1 + 1e-9j], dtype="c8")).dtype == np.float32
        np.testing.assert_allclose(np.multiply(x[:3], 1j).numpy(), host[:3] * 1j)


def test_memory_is_numpys(runtime: Runtime) -> None:
    with ocl.use(runtime):
        host = numbers((4, 6), "c8")
        x = ocl.asarray(host) * 2
        np.testing.assert_array_equal(np.from_dlpack(x), host * 2)
        np.testing.assert_array_equal(ocl.from_dlpack(host).numpy(), host)
        lent = x.to_pyopencl()
        assert lent.dtype == np.complex64
        np.testing.assert_array_equal(lent.get(), host * 2)
        np.testing.assert_array_equal((ocl.from_pyopencl(lent) + 1).numpy(), host * 2 + 1)


def test_chains_are_one_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):
        x, y = (ocl.asarray(numbers((10_000,), "c8")) for _ in range(2))
        with counting(runtime) as counted:
            (ocl.exp(x * y) / (1 + abs(x)) + ocl.conj(y)).compute()
        assert counted["launch", "launches"] == 1


def test_captured(runtime: Runtime) -> None:
    with ocl.use(runtime):
        step = ocl.capture(lambda x, y: ocl.sum(x * ocl.conj(y)) + (0.5 - 1j))
        for size in (10, 3000, 20_000):
            x, y = numbers((size,), "c8"), numbers((size,), "c8")
            found = step(ocl.asarray(x), ocl.asarray(y)).item()
            np.testing.assert_allclose(found, np.sum(x * y.conj()) + (0.5 - 1j), rtol=1e-3, atol=1e-3 * size**0.5)


@ocl.kernel
def _orbit(z, escaped, turns):  # type: ignore[no-untyped-def]
    i = global_id()
    w = complex(0.0, 0.0)
    steps = 0
    for _ in range(turns):
        if abs(w) <= 2:
            w = w * w + z[i]
            steps += 1
    escaped[i] = steps
    z[i] = conj(w) * exp(complex(0, w.real)) / 2


def test_kernels_in_python(runtime: Runtime) -> None:
    host = (RANDOM.uniform(-2, 1, 500) + 1j * RANDOM.uniform(-1, 1, 500)).astype("c8")
    with ocl.use(runtime):
        z, escaped = ocl.asarray(host), ocl.zeros(500, dtype="i4").copy()
        _orbit[500](z, escaped, 30)
        other, others = ocl.asarray(host), ocl.zeros(500, dtype="i4").copy()
        _orbit.interpret[500](other, others, 30)
        same = escaped.numpy() == others.numpy()  # chaos makes a turn of a last bit
        assert same.mean() > 0.98
        quiet = same & (others.numpy() == 30)
        np.testing.assert_allclose(z.numpy()[quiet], other.numpy()[quiet], rtol=1e-3, atol=1e-4)
        with pytest.raises(DTypeError, match="pass its parts"):
            _orbit[500](z, escaped, 1j)


def test_element_functions(runtime: Runtime) -> None:
    @ocl.elementwise
    def mixed(a, b):  # type: ignore[no-untyped-def]
        return a * conj(b) + complex64(1)

    x, y = numbers((40,), "c8"), numbers((40,), "c8")
    with ocl.use(runtime):
        close(mixed(ocl.asarray(x), ocl.asarray(y)), x * y.conj() + 1, "c8")


def test_small_powers_of_infinities(runtime: Runtime) -> None:
    host = np.array([np.inf, complex(-np.inf, 1), 2 - 0j, 1 + 2j], "c8")
    with ocl.use(runtime):
        z = ocl.asarray(host)
        np.testing.assert_array_equal((z ** ocl.ones(4)).numpy(), host)
        np.testing.assert_allclose((z**7)[2:].numpy(), host[2:] ** 7, rtol=1e-6)
        np.testing.assert_allclose((z**-6)[2:].numpy(), host[2:] ** -6, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_near_zero_keep_the_digits_of_the_real_part(runtime: Runtime, dtype: str) -> None:
    """Of numbers near the unit circle, whose squares all but cancel what is taken away."""
    if not has(runtime, dtype):
        pytest.skip("no float64")
    circle = np.exp(2j * np.pi * RANDOM.random(1000)) * (1 + RANDOM.normal(size=1000) * 10.0 ** -RANDOM.integers(0, 8))
    diagonal = np.exp(1j * np.pi / 4 * RANDOM.normal(1, 1e-3, 1000)) * (1 - RANDOM.random(1000) * 2e-3)
    near = np.concatenate([circle, np.exp(1j * RANDOM.uniform(-0.5, 0.5, 1000)), diagonal]).astype(dtype)
    less = (near - 1)[(np.abs(near - 1) < 0.7)].astype(dtype)
    with ocl.use(runtime):
        for function, z, around in ((ocl.log, near, 0), (ocl.log1p, less, 1)):
            real = function(ocl.asarray(z)).numpy().real
            squares = [(around + Fraction(float(n.real))) ** 2 + Fraction(float(n.imag)) ** 2 - 1 for n in z]
            exact = np.array([0.5 * math.log1p(float(square)) for square in squares])
            assert np.abs(exact).min() < np.finfo(dtype).eps * 1e3
            np.testing.assert_allclose(real, exact, rtol=8 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps ** 2)
