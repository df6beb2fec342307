"""The greatest and least elements, by sorting and by radix selection, in the interpreter of kernel IR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_ir.kernel.accesses import WRITE, modes
from ocl_runtime.arrays.functions import selecting
from ocl_runtime.arrays.meaning import masks
from ocl_runtime.errors import DTypeError, IndexingError, ShapeError
from ocl_runtime.plan.launch import Address
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES, elements
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=16),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@pytest.fixture
def selects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of 20 elements are not sorted."""
    monkeypatch.setattr(selecting, "_LONG", 20)
    monkeypatch.setattr(selecting, "_SHARE", 1)
    monkeypatch.setattr(selecting, "_DIGIT_BITS", 7)
    monkeypatch.setattr(masks, "_row_length", lambda size: 8)


def first_ones(host: np.ndarray, k: int, axis: int, mode: str) -> np.ndarray:
    """The places of the first elements in a stable order."""
    if mode == "smallest":
        places = np.argsort(host, axis=axis, kind="stable")
    else:
        backwards = np.argsort(np.flip(host, axis), axis=axis, kind="stable")
        places = np.flip(host.shape[axis] - 1 - backwards, axis)
    return np.take(places, range(k), axis=axis)


def check(host: np.ndarray, x: xp.Array, k: int, axis: int, mode: Any) -> None:
    found, wanted = xp.top_k(x, k, axis=axis, mode=mode), first_ones(host, k, axis, mode)
    assert found._fields == ("values", "indices")
    assert (found.values.dtype, found.indices.dtype) == (host.dtype, np.int64)
    np.testing.assert_array_equal(found.indices.numpy(), wanted)
    assert found.values.numpy().tobytes() == np.take_along_axis(host, wanted, axis).tobytes()


@given(data=st.data())
@QUICK
def test_of_rows(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
    host = elements(data.draw(st.sampled_from(DTYPES)), shape, data.draw(st.integers(0, 9)))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    k = data.draw(st.integers(0, host.shape[axis]))
    with xp.use(runtime):
        check(host, xp.asarray(host), k, axis, data.draw(st.sampled_from(["largest", "smallest"])))


@given(data=st.data())
@QUICK
@pytest.mark.usefixtures("selects")
def test_by_selection(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    length = data.draw(st.sampled_from([20, 23, 24, 31, 64, 101]))
    host = elements(data.draw(st.sampled_from(DTYPES)), (length,), data.draw(st.integers(0, 9)))
    k = data.draw(st.integers(0, length))
    key = data.draw(st.sampled_from([np.s_[:], np.s_[::-1], np.s_[None, :, None]]))
    with xp.use(runtime):
        x = xp.asarray(host)[key]
        runtime.launched.clear()
        check(host[key], x, k, 1 if x.ndim == 3 else 0, data.draw(st.sampled_from(["largest", "smallest"])))
        sorted_ = [launch for launch in runtime.launched if "sort" in launch.kernel.name]
        assert len(sorted_) <= 1 or k > 4 * TARGETS["gpu"].group_size  # the few are


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "host", [np.zeros(40, "f4"), np.repeat([2, 1, 3], [13, 14, 13]).astype("i8"), np.full(40, np.nan, "f4")], ids=str
)
@pytest.mark.usefixtures("selects")
def test_of_equal_elements_the_first_are_taken(runtime: InterpretedRuntime, host: np.ndarray) -> None:
    """Also behind whole rows of those that are searched together."""
    with xp.use(runtime):
        for k in (1, 7, 8, 15, 16, 30, 40):
            check(host, xp.asarray(host), k, 0, "largest")


@pytest.fixture
def has_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements are looked for in blocks of any line, however many are wanted."""
    for share in ("_HAS_BLOCKS", "_BLOCK_SHARE", "_LONG_BLOCK_SHARE", "_SHARE"):
        monkeypatch.setattr(selecting, share, 1)
    monkeypatch.setattr(selecting, "_LONG", 20)


@given(data=st.data())
@QUICK
@pytest.mark.usefixtures("has_blocks")
def test_from_blocks(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(50,), (101,), (3, 20), (23, 3), (2, 2, 31), (0, 7)]))
    axis = data.draw(st.integers(0, len(shape) - 1))
    host = elements(data.draw(st.sampled_from(DTYPES)), shape, data.draw(st.integers(0, 9)))
    k = data.draw(st.integers(0, shape[axis]))
    with xp.use(runtime):
        x = xp.asarray(host)[::-1]
        check(host[::-1], x, k, axis, data.draw(st.sampled_from(["largest", "smallest"])))


@pytest.mark.usefixtures("has_blocks")
def test_of_equal_maxima_the_first_blocks_are_taken(runtime: InterpretedRuntime) -> None:
    host = np.zeros((2, 60), "f4")
    host[0, 7::9] = 1
    host[1, 31:33] = np.nan
    with xp.use(runtime):
        for k in (1, 2, 3, 5, 8):
            check(host, xp.asarray(host), k, 1, "largest")
            check(host[0], xp.asarray(host[0]), k, 0, "largest")


def test_few_of_long_lines_are_found_without_sorting_them(
    runtime: InterpretedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selecting, "_HAS_BLOCKS", 600)
    host = np.random.default_rng(0).permutation(2 * 900).astype("i4").reshape(2, 900)
    with xp.use(runtime):
        xp.compute(*xp.top_k(xp.asarray(host), 3))
    written = [
        arg.touched.size
        for launch in runtime.launched
        for arg, mode in zip(launch.args, modes(launch.kernel), strict=True)
        if "sort" in launch.kernel.name and isinstance(arg, Address) and mode & WRITE
    ]
    assert written
    assert max(written) < host.size / 8


def test_errors() -> None:
    with xp.use(InterpretedRuntime()):
        x = xp.zeros((2, 3))
        for k, how in ((4, {}), (-1, {}), (3, {"axis": 0}), (1, {"mode": "best"})):
            with pytest.raises(ShapeError, match="top_k with k="):
                xp.top_k(x, k, **how)  # type: ignore[arg-type]
        with pytest.raises(IndexingError, match="top_k along axis 2"):
            xp.top_k(x, 1, axis=2)
        with pytest.raises(DTypeError, match=r"top_k with k=1\.5"):
            xp.top_k(x, 1.5)  # type: ignore[arg-type]


@given(data=st.data())
@QUICK
def test_keys_of_several_arrays(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=8))
    kinds = data.draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=3))
    keys = [elements(kind, shape, number) for number, kind in enumerate(kinds)]
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    with xp.use(runtime):
        found = ours.lexsort([xp.asarray(key) for key in keys], axis=axis)
        np.testing.assert_array_equal(found.numpy(), np.lexsort(keys, axis=axis))


@given(data=st.data())
@QUICK
def test_partitions(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=8))
    host = elements(data.draw(st.sampled_from(DTYPES)), shape, data.draw(st.integers(0, 9)))
    axis = data.draw(st.none() | st.integers(-host.ndim, host.ndim - 1))
    length = host.size if axis is None else host.shape[axis]
    kth = data.draw(st.integers(-length, length - 1))
    with xp.use(runtime):
        x = ours.asarray(host)
        divided, places = ours.partition(x, kth, axis).numpy(), ours.argpartition(x, kth, axis).numpy()
    flat, along = (host.reshape(-1), 0) if axis is None else (host, axis)
    np.testing.assert_array_equal(divided, np.take_along_axis(flat, places, along))
    np.testing.assert_array_equal(np.take(divided, kth, along), np.take(np.partition(host, kth, axis), kth, along))
    np.testing.assert_array_equal(divided, np.sort(flat, along))
