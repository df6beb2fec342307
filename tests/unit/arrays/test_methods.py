"""The methods that people type, against NumPy's, and what completion shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.arrays as xp
from ocl_runtime.errors import DTypeError, ShapeError
from tests.support.interpreted import InterpretedRuntime

HOST = np.array([[[4.25, -1.5, 3.0], [2.0, 0.5, 9.0]]], "f4")


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made:
        yield made


METHODS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(1),
    "sum in a dtype": lambda x: x.sum(0, "f8"),
    "sum keeps": lambda x: x.sum(axis=(0, 2), keepdims=True),
    "mean": lambda x: x.mean(axis=1),
    "min": lambda x: x.min(0),
    "max": lambda x: x.max(),
    "prod": lambda x: x.prod(2),
    "std": lambda x: x.std(),
    "var": lambda x: x.var(1, ddof=1),
    "any": lambda x: x.any(0),
    "all": lambda x: x.all(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(2),
    "argsort": lambda x: x.argsort(),
    "argsort of an axis": lambda x: x.argsort(0),
    "cumsum": lambda x: x.cumsum(),
    "cumsum of an axis": lambda x: x.cumsum(1),
    "cumsum in a dtype": lambda x: x.cumsum(axis=-1, dtype="f8"),
    "cumprod": lambda x: x.cumprod(),
    "cumprod of an axis": lambda x: x.cumprod(axis=2),
    "nonzero": lambda x: (x > 1).nonzero()[2],
    "astype": lambda x: x.astype("i4"),
    "reshape": lambda x: x.reshape(3, 2),
    "reshape of a tuple": lambda x: x.reshape((2, -1)),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.T.flatten(),
    "transpose": lambda x: x.transpose(),
    "transpose of axes": lambda x: x.transpose(1, 0, 2),
    "transpose of a tuple": lambda x: x.transpose((2, 0, 1)),
    "T": lambda x: x.T,
    "T of one axis": lambda x: x[0, 0].T,
    "mT": lambda x: x.mT,
    "copy": lambda x: x.copy(),
    "clip": lambda x: x.clip(0, 3),
    "clip above": lambda x: x.clip(max=2),
    "round": lambda x: x.round(),
    "round to decimals": lambda x: (x / 3).round(2),
    "round to tens": lambda x: (x * 10).round(-1),
    "dot": lambda x: x[0].dot(x[0].T),
    "dot of vectors": lambda x: x[0, 0].dot(x[0, 1]),
    "dot of a number": lambda x: x.dot(2),
    "dot of a vector": lambda x: x.dot(x[0, 0]),
    "squeeze": lambda x: x.squeeze(),
    "squeeze an axis": lambda x: x.squeeze(0),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "conj": lambda x: x.conj(),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    found, expected = METHODS[name](xp.asarray(HOST)), METHODS[name](HOST)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_values_and_sizes() -> None:
    x = xp.asarray(HOST)
    assert (x.nbytes, x.itemsize, x.size) == (HOST.nbytes, HOST.itemsize, HOST.size)
    assert x.tolist() == HOST.tolist()
    assert (x.item(4), x.item(-1), x.item(0, 1, 2), x[0, 0, 0].item()) == (0.5, 9.0, 9.0, 4.25)
    assert xp.asarray([3, 4]).item(1) == 4
    assert type(xp.asarray(True).item()) is bool
    with pytest.raises(ShapeError, match="item of an array of shape"):
        x.item()


def test_fill_writes() -> None:
    x = xp.asarray(HOST)
    view = x[0, 0]
    view.fill(7)
    assert x.tolist() == [[[7, 7, 7], [2, 0.5, 9]]]


def test_ravel_is_a_view_and_flatten_is_none() -> None:
    x = xp.asarray(HOST)
    x.flatten()[0] = 100
    assert float(x[0, 0, 0]) == 4.25
    x.ravel()[0] = 100
    assert float(x[0, 0, 0]) == 100


def test_numbers() -> None:
    x = xp.asarray(np.array(2.71828, "f4"))
    assert (f"{x:.2f}", f"{x:8.3f}|", f"{x:>6.1f}") == ("2.72", "   2.718|", "   2.7")
    assert f"{xp.asarray([3])[0]:03d}" == "003"
    assert f"{x}" == str(x)
    assert complex(x) == complex(float(x))
    assert round(x, 2).numpy() == np.float32(2.72)
    assert round(xp.asarray([1.5, 2.5])).tolist() == [2.0, 2.0]
    assert [one.tolist() for one in divmod(xp.asarray([7, -7]), 3)] == [[2, -3], [1, 2]]
    assert [one.tolist() for one in divmod(7, xp.asarray([2, 3]))] == [[3, 2], [1, 1]]
    with pytest.raises(DTypeError, match=r"the format '\.2f' for an array of shape \(2,\)"):
        f"{xp.zeros(2):.2f}"


def test_completion_shows_what_users_use() -> None:
    shown = {name for name in dir(xp.zeros(1)) if not name.startswith("_")}
    assert shown == {
        "T", "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "compute", "conj", "copy", "cumprod",
        "cumsum", "device", "dot",
        "dtype", "fill", "flatten", "imag", "item", "itemsize", "mT", "max", "mean", "min", "nbytes", "ndim",
        "nonzero", "numpy", "prod", "ravel", "real", "reshape", "round", "shape", "size", "sort", "squeeze", "std",
        "sum", "to_device", "to_numpy", "to_pyopencl", "tolist", "transpose", "var",
    }  # fmt: skip
    for name in ("_mask", "_data", "_fill_value", "_baseclass"):  # by which numpy.ma knows masked arrays
        assert not hasattr(xp.zeros(1), name)


def test_the_namespace_is_the_package() -> None:
    assert xp.zeros(1).__array_namespace__() is ocl
    assert ocl.asarray([1]).__array_namespace__(api_version="2025.12") is ocl
