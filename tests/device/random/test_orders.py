"""Random orders and choices without replacement on a device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DistributionError, DTypeError, IndexingError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.random import default_rng
from ocl_runtime.runtime import Runtime


@pytest.fixture(scope="module", autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    made = Runtime(device, engine.settings)
    with ocl.use(made):
        yield made


def chi_square(counts: np.ndarray, wanted: np.ndarray, freedom: int) -> float:
    """How far the sum is off, as a normal number (Wilson and Hilferty)."""
    total = ((counts - wanted) ** 2 / wanted).sum()
    return float(((total / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (2 / (9 * freedom)) ** 0.5)


@pytest.mark.parametrize("count", [0, 1, 10, 5000, 100_003])
def test_a_permutation_has_all_places(count: int) -> None:
    found = default_rng(1).permutation(count)
    assert (found.dtype, found.shape) == (np.int64, (count,))
    np.testing.assert_array_equal(np.sort(found.numpy()), np.arange(count))
    if count > 1:
        assert (found.numpy() != default_rng(2).permutation(count).numpy()).any()
        np.testing.assert_array_equal(found.numpy(), default_rng(1).permutation(count).numpy())


def test_all_orders_are_as_likely() -> None:
    """All 24 orders of 4 elements, each row having an order of its own."""
    rows = 24_000
    x = ocl.broadcast_to(ocl.arange(4), (rows, 4))
    found = default_rng(3).permuted(x, axis=1).numpy()
    numbers = found @ np.array([64, 16, 4, 1])
    _, counts = np.unique(numbers, return_counts=True)
    assert counts.size == 24
    assert chi_square(counts, np.full(24, rows / 24), 23) < 3.3


def test_where_an_element_goes() -> None:
    count = 60_000
    place = np.argsort(default_rng(4).permutation(count).numpy())
    blocks = np.bincount(place[: count // 2] * 30 // count, minlength=30)  # where those of the first half are
    assert chi_square(blocks, np.full(30, count / 60), 30) < 3.3
    assert abs(np.corrcoef(place[1:], place[:-1])[0, 1]) < 4.5 / count**0.5


def test_parts_along_axes() -> None:
    host = np.arange(60).reshape(3, 4, 5)
    rng, x = default_rng(5), ocl.asarray(host)
    for axis in (0, 1, -1):
        found = rng.permutation(x, axis=axis).numpy()
        moved, parts = np.moveaxis(host, axis, 0), np.moveaxis(found, axis, 0)
        assert sorted(part.tobytes() for part in parts) == sorted(part.tobytes() for part in moved)
        lines = rng.permuted(x, axis=axis)
        np.testing.assert_array_equal(np.sort(lines.numpy(), axis), host)
    everything = rng.permuted(x)
    assert everything.shape == x.shape
    np.testing.assert_array_equal(np.sort(everything.numpy(), None), host.ravel())
    np.testing.assert_array_equal(np.sort(rng.permutation([5, 6, 7]).numpy()), [5, 6, 7])


def test_in_place() -> None:
    host = np.arange(1000).reshape(100, 10)
    x = ocl.asarray(host)
    view = x[:50]
    assert default_rng(6).shuffle(view) is None
    np.testing.assert_array_equal(x.numpy()[50:], host[50:])
    np.testing.assert_array_equal(np.sort(x.numpy()[:50], axis=0), host[:50])
    assert (x.numpy() != host).any()
    out = ocl.zeros((100, 10), dtype="i8")
    assert default_rng(7).permuted(x, axis=1, out=out) is out
    np.testing.assert_array_equal(np.sort(out.numpy(), axis=1), np.sort(x.numpy(), axis=1))
    for write in (default_rng(8).shuffle, lambda host: default_rng(8).permuted(x, axis=1, out=host)):
        with pytest.raises(DTypeError, match="in place"):
            write(host)


def test_choices_without_replacement() -> None:
    rng = default_rng(9)
    for count, size in ((10, 10), (100_000, 70), (5000, (20, 30)), (5, 0), (7, None)):
        found = rng.choice(count, size, replace=False)
        assert found.shape == (() if size is None else np.zeros(size).shape)
        assert np.unique(found.numpy()).size == found.size
        assert ((found.numpy() >= 0) & (found.numpy() < count)).all()
    x = ocl.asarray(np.arange(12.0).reshape(3, 4))
    assert rng.choice(x, 2, replace=False, axis=1).shape == (3, 2)
    drawn = np.stack([rng.choice(6, 2, replace=False).numpy() for _ in range(600)])
    assert chi_square(np.bincount(drawn.ravel(), minlength=6), np.full(6, 200), 5) < 3.3


def test_choices_with_probabilities() -> None:
    """Each is the next one in proportion to its probability among those that are left."""
    rng, p = default_rng(10), np.array([0.1, 0.0, 0.2, 0.3, 0.4])
    times = 1500
    drawn = np.stack([rng.choice(5, 2, replace=False, p=p).numpy() for _ in range(times)])
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(drawn.T), 1)
    wanted = times * p[:, None] * p / (1 - p[:, None])
    np.fill_diagonal(wanted, 0)
    assert (counts[wanted == 0] == 0).all()
    assert chi_square(counts[wanted > 0], wanted[wanted > 0], 11) < 3.3
    on_device = rng.choice(5, 3, replace=False, p=ocl.asarray(p.astype("f4"))).numpy()
    assert 1 not in on_device.tolist()


def test_errors() -> None:
    rng = default_rng(11)
    for draw in (
        lambda: rng.choice(5, 6, replace=False), lambda: rng.choice(3, 3, replace=False, p=[0.5, 0.5, 0]),
        lambda: rng.permutation(-1), lambda: rng.permutation(1.5),
    ):  # fmt: skip
        with pytest.raises(DistributionError):
            draw()
    with pytest.raises(IndexingError, match="permuted along axis 2"):
        rng.permuted(ocl.zeros((2, 2)), axis=2)
