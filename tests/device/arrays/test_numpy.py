"""`ocl_runtime.numpy` on the device: a part of what `tests/unit/numpy/test_numpy_values.py` interprets, captured too,
and NumPy's own functions."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator

import numpy
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as np
from ocl_runtime.device import Device
from ocl_runtime.errors import TransferError, TransferWarning
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from tests.support.numpy_cases import EXPRESSIONS, names, same


@pytest.fixture(scope="module")
def shared(device: Device) -> Runtime:
    return Runtime(device, Settings(cache_folder=None))  # PoCL compiles each kernel once more for a binary


@pytest.fixture(autouse=True)
def runtime(shared: Runtime) -> Iterator[Runtime]:
    if not shared.executor.target.fp64:
        pytest.skip("the device has no float64: the expressions say what NumPy makes, which is float64")
    with ocl.use(shared), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield shared


@pytest.mark.sample(4)
@pytest.mark.parametrize("expression", EXPRESSIONS[::20])
def test_gives_what_numpy_gives(expression: str) -> None:
    expected = eval(expression, names(numpy))
    same(eval(expression, names(np)), expected)


def test_numpys_operators_and_functions_stay_on_the_device(runtime: Runtime) -> None:
    host = numpy.linspace(-1, 1, 24, dtype="f4").reshape(4, 6)
    x = ocl.asarray(host)
    same(host[::-1] + x * numpy.float32(2), host[::-1] + host * numpy.float32(2))
    same(numpy.where(x > 0, x, 0).sum(axis=0), numpy.where(host > 0, host, 0).sum(axis=0))
    same(host @ x.T, host @ host.T)
    target = host.copy()
    target += x
    numpy.testing.assert_array_equal(target, host + host)
    with pytest.warns(TransferWarning, match=r"numpy\.sort_complex"):
        numpy.testing.assert_array_equal(numpy.sort_complex(x), numpy.sort_complex(host))


def test_a_captured_function_divides_as_its_arguments_do(runtime: Runtime) -> None:
    captured = ocl.capture(lambda x: (x / 2, x + 1))
    for _ in range(2):
        half, more = captured(np.arange(4))
        assert (half.dtype, (more / 2).dtype) == (numpy.float64, numpy.float64)
        numpy.testing.assert_array_equal(half.numpy(), numpy.arange(4) / 2)
        half, more = captured(ocl.arange(4))
        assert (half.dtype, (more / 2).dtype) == (numpy.float32, numpy.float32)


def test_pyopencl_gets_what_numpys_names_made(runtime: Runtime) -> None:
    x = np.arange(4)
    numpy.testing.assert_array_equal(x.to_pyopencl().get(), numpy.arange(4))
    back = ocl.from_pyopencl(x.to_pyopencl())
    numpy.testing.assert_array_equal((back + x).numpy(), numpy.arange(4) * 2)
    numpy.testing.assert_array_equal(ocl.download(np.arange(4) / 2).result(), numpy.arange(4) / 2)


def test_a_runtime_goes_with_the_last_of_its_arrays(device: Device) -> None:
    with ocl.use(Runtime(device)) as made:
        gone = weakref.ref(made.executor)
        x = np.arange(3) + 1
    del made
    numpy.testing.assert_array_equal((x / 2).numpy(), [0.5, 1, 1.5])
    assert gone() is not None
    del x
    gc.collect()
    assert gone() is None


def test_a_captured_function_may_use_numpys_names() -> None:
    @ocl.capture
    def captured(x: ocl.Array, y: ocl.Array) -> tuple[ocl.Array, ocl.Array]:
        return np.hypot(x, y) + np.mean(x, axis=0), numpy.maximum(x, numpy.flip(y, 0))

    for rows in (3, 5):
        a, b = (numpy.arange(rows * 4, dtype="f4").reshape(rows, 4) + start for start in (0, 1))
        for _ in range(2):
            found = captured(ocl.asarray(a), ocl.asarray(b))
            same(found, (numpy.hypot(a, b) + a.mean(axis=0), numpy.maximum(a, b[::-1])))


def test_the_setting_of_the_runtime_decides(device: Device, shared: Runtime) -> None:
    strict = Runtime(device, Settings(cache_folder=shared.settings.cache_folder, numpy_calls="error"))
    with ocl.use(strict):
        x = ocl.asarray(numpy.arange(3, dtype="f4"))
    with pytest.raises(TransferError, match="OCL_RUNTIME_NUMPY=error"):
        numpy.sort_complex(x)
    same(numpy.sum(x), numpy.float32(3))
