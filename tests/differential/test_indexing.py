"""Random reads at computed places against NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
from ocl_runtime.errors import DTypeError
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES, assert_same, ordinary
from tests.support.interpreted import InterpretedRuntime

TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=16),
    "cpu": Target(kind="cpu", compute_units=2, group_size=8, vector_bytes=64),
    "half": Target(kind="gpu", compute_units=1, group_size=4, fp16=True),
}
QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 4),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
INDEX_DTYPES = st.sampled_from([np.dtype(code) for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")])


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@st.composite
def hosts(draw: st.DrawFn, **shape: int) -> np.ndarray:
    sizes = draw(hnp.array_shapes(**{"min_dims": 1, "max_dims": 4, "min_side": 1, "max_side": 6} | shape))
    return ordinary(draw(st.sampled_from(DTYPES)), *sizes, seed=draw(st.integers(0, 9)))


@st.composite
def places(draw: st.DrawFn, length: int, shape: tuple[int, ...]) -> np.ndarray:
    """Places along an axis, some of them counted from the end, as a list, an array or an array on the device."""
    dtype = draw(INDEX_DTYPES)
    lowest = -length if dtype.kind == "i" else 0
    return draw(hnp.arrays(dtype, shape, elements=st.integers(lowest, length - 1)))


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index with at least one array in it, beside slices, numbers, new axes and at most one Ellipsis."""
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=5))
    narrower = [common, common[1:], tuple(1 for _ in common), tuple(draw(st.sampled_from((1, one))) for one in common)]
    used = draw(st.integers(1, len(shape)))
    kinds = draw(st.lists(st.sampled_from(["array", "array", "slice", "number"]), min_size=used, max_size=used))
    kinds[draw(st.integers(0, used - 1))] = "array"
    dots = draw(st.integers(0, used))  # axes in front of the Ellipsis
    parts: list[Any] = []
    for place, kind in enumerate(kinds):
        if place == dots:
            parts.append(...)
        length = shape[place] if place < dots else shape[len(shape) - used + place]
        if draw(st.integers(0, 4)) == 0:
            parts.append(None)
        if kind == "slice":
            parts.append(draw(st.slices(length)))
        elif kind == "number":
            parts.append(draw(st.integers(-length, length - 1)))
        else:
            parts.append(draw(places(length, draw(st.sampled_from(narrower)))))
    return tuple(parts)


def ours(draw: Any, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same index with arrays on the device, on the host, or as lists."""
    how = draw(st.sampled_from(["device", "host", "list"]))
    make = {"device": xp.asarray, "host": lambda one: one, "list": lambda one: one.tolist() if one.size else one}[how]
    return tuple(make(part) if isinstance(part, np.ndarray) else part for part in key)


@given(data=st.data())
@QUICK
def test_reads_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts())
    key = data.draw(keys(host.shape))
    with xp.use(runtime):
        x, index = xp.asarray(host), ours(data.draw, key)
        assert_same(x[index].numpy(), np.asarray(host[key]))
        assert_same((x == 1)[index].numpy(), np.asarray((host == 1)[key]))
        view = np.s_[..., ::-1]  # strides that are no row's
        assert_same(xp.flip(x, axis=-1)[index].numpy(), np.asarray(host[view][key]))


@given(data=st.data())
@QUICK
def test_reads_fuse_with_what_they_are_made_of_and_what_is_made_of_them(
    runtime: InterpretedRuntime, data: st.DataObject
) -> None:
    host = data.draw(hosts()).astype("f4")
    key = data.draw(keys(host.shape))
    with xp.use(runtime):
        x, index = xp.asarray(host), ours(data.draw, key)
        expected = np.asarray((host * 2)[key] + host[key])
        found = (x * 2)[index] + x[index]
        assert_same(found.numpy(), expected)
        axis = data.draw(st.none() | st.integers(0, expected.ndim - 1)) if expected.ndim else None
        assert_same(xp.sum(found, axis=axis).numpy(), np.asarray(expected.sum(axis=axis)))
        again = ((x * 2)[index] + x[index])[..., None]  # a view of what was not computed
        assert_same(xp.reshape(again, -1).numpy(), expected.reshape(-1))


@given(data=st.data())
@QUICK
def test_take_is_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts())
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    wanted = data.draw(places(host.shape[axis], data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0))))
    with xp.use(runtime):
        x = xp.asarray(host)
        for index in (wanted, xp.asarray(wanted), wanted.tolist() if wanted.size else wanted):
            assert_same(xp.take(x, index, axis=axis).numpy(), np.asarray(host.take(wanted.astype("i8"), axis)))


@given(data=st.data())
@QUICK
def test_take_along_axis_is_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts())
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    shape = [data.draw(st.sampled_from((1, length))) for length in host.shape]
    shape[axis] = data.draw(st.integers(0, 7))
    wanted = data.draw(places(host.shape[axis], tuple(shape)))
    with xp.use(runtime):
        x = xp.asarray(host)
        expected = np.take_along_axis(host, wanted.astype("i8"), axis)
        for index in (wanted, xp.asarray(wanted)):
            assert_same(xp.take_along_axis(x, index, axis=axis).numpy(), expected)


@given(data=st.data())
@QUICK
def test_places_out_of_bounds_on_the_device_are_the_nearest(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts(max_dims=2))
    dtype = data.draw(INDEX_DTYPES)
    wanted = data.draw(hnp.arrays(dtype, 5, elements=hnp.from_dtype(dtype)))
    length = len(host)
    exact = [int(one) + length * int(one < 0) for one in wanted]
    with xp.use(runtime):
        found = xp.asarray(host)[xp.asarray(wanted)]
        assert_same(found.numpy(), host[np.clip(np.array(exact, object), 0, length - 1).astype("i8")])


@given(data=st.data())
@QUICK
def test_writes_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Of places that come several times the last stays; views and older expressions see what they should."""
    host = data.draw(hosts())
    key = data.draw(keys(host.shape))
    shape = host[key].shape
    narrow = data.draw(st.sampled_from([shape, shape[1:], tuple(1 for _ in shape)]))
    value = ordinary(data.draw(st.sampled_from(DTYPES)), *narrow, seed=1)
    before = host.copy()
    with xp.use(runtime), np.errstate(all="ignore"):
        x, index = xp.asarray(host), ours(data.draw, key)
        old, view = x == 1, x[..., ::2]
        x[index] = xp.asarray(value)
        host[key] = value
        assert_same(x.numpy(), host)
        assert_same(old.numpy(), before == 1)
        assert_same(view.numpy(), host[..., ::2])


@given(data=st.data())
@QUICK
def test_operators_in_place_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts()).astype("f4")
    key = data.draw(keys(host.shape))
    with xp.use(runtime):
        x, index = xp.asarray(host), ours(data.draw, key)
        x[index] += 3
        host[key] += 3
        x[index] *= x[index]
        host[key] *= host[key]
        x[..., ::-1][index] = 5  # through a view
        host[..., ::-1][key] = 5
        assert_same(x.numpy(), host)


@given(data=st.data())
@QUICK
def test_an_array_that_is_its_own_index(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = np.array(data.draw(st.permutations(range(9))), "i4")
    with xp.use(runtime):
        x = xp.asarray(host)
        x[x] = x[x[x]] + x
        host[host] = host[host[host]] + host
        assert_same(x.numpy(), host)


@given(data=st.data())
@QUICK
def test_masks_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Reads, beside other indices too, and writes of one value for each place where the mask holds."""
    host = data.draw(hosts(min_side=0, max_dims=3))
    first = data.draw(st.integers(0, host.ndim - 1))
    last = data.draw(st.integers(first + 1, host.ndim))
    mask = data.draw(hnp.arrays(bool, host.shape[first:last]))
    key = (*(slice(None) for _ in range(first)), mask)
    with xp.use(runtime), np.errstate(all="ignore"):
        x = xp.asarray(host)
        for given in (mask, xp.asarray(mask)):
            assert_same(x[(*key[:-1], given)].numpy(), host[key])
            assert_same((x == 1)[(..., given, *[slice(None)] * (host.ndim - last))].numpy(), (host == 1)[key])
        for found, expected in zip(xp.nonzero(x), host.nonzero(), strict=True):
            assert_same(found.numpy(), expected)
        value = ordinary(host.dtype.char, *host[key].shape, seed=3)
        x[(*key[:-1], xp.asarray(mask))] = xp.asarray(value)
        host[key] = value
        assert_same(x.numpy(), host)
        if last < host.ndim and all(host.shape[last:]):  # of no elements, NumPy takes any index
            columns = np.zeros(int(mask.sum()), "i4")
            only = (*key, *(0 for _ in host.shape[last:]))
            assert_same(x[only].numpy(), host[only])
            assert_same(x[(*key, columns)].numpy(), host[(*key, columns)])


@given(data=st.data())
@settings(QUICK, max_examples=max(3, settings.default.max_examples // 25))  # thousands of elements each
def test_masks_of_many_tiles(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Around the ends of blocks, tiles and rows of what is packed; dense, sparse, empty and full masks."""
    shape = data.draw(
        st.sampled_from([(63,), (64,), (65,), (255,), (257,), (1025,), (4096,), (4097,), (8192,), (3, 1400)])
    )
    dtype = data.draw(st.sampled_from(["f4", "?", "i1", "f2", "i8", "f8"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    density = data.draw(st.sampled_from([0.0, 0.001, 0.5, 0.99, 1.0]))
    host, mask = rng.integers(0, 2 if dtype == "?" else 100, shape).astype(dtype), rng.random(shape) < density
    if data.draw(st.booleans()):  # a long part without any
        mask.reshape(-1)[: mask.size // 2] = False
    key = data.draw(st.sampled_from([np.s_[...], np.s_[..., ::-1]]))
    with xp.use(runtime):
        x, m = xp.asarray(host)[key], xp.asarray(mask)[key]
        found, taken = x[m], (x == x)[m & (x == x)]
        assert_same(found.numpy(), host[key][mask[key]])
        assert taken.size == found.size
        for ours_, expected in zip(xp.nonzero(m), np.nonzero(mask[key]), strict=True):
            assert_same(ours_.numpy(), expected)


def test_masks_keep_no_number_for_each_place(runtime: InterpretedRuntime) -> None:
    """Counted in rows, or in some parts of each: what lies in between takes far less than a byte for each place."""
    host = np.random.default_rng(0).random(2 * 4096).astype("f4")
    with xp.use(runtime):
        x = xp.asarray(host).compute()
        m = (x > 0.4).compute()
        before = runtime.allocations.copy()
        picked = x[m].compute()
        made = runtime.allocations - before
        assert_same(picked.numpy(), host[host > 0.4])
        assert made.pop(host.nbytes if runtime.target.kind == "gpu" else picked.nbytes) == 1
        assert max(made) <= host.size // 8


def test_unique_places_are_written_by_one_kernel(runtime: InterpretedRuntime) -> None:
    """Of any index with arrays; what is not said to be unique keeps the last value for each element."""
    rng = np.random.default_rng(0)
    indices: list[tuple[tuple[int, ...], tuple[Any, ...]]] = [
        ((300,), (rng.permutation(300),)),
        ((300,), (rng.permutation(300)[:90] - 300,)),
        ((12, 9), (rng.permutation(12), slice(None, None, -2))),
        ((12, 9), (slice(1, 7), rng.permutation(9))),
    ]
    with xp.use(runtime):
        for shape, index in indices:
            host = rng.random(shape).astype("f4")
            value = rng.random(host[index].shape).astype("f4")
            x, y = xp.asarray(host).compute(), xp.asarray(value).compute()
            key = tuple(xp.asarray(part) if isinstance(part, np.ndarray) else part for part in index)
            runtime.launched.clear()
            xp.set_at(x, key, y, unique=True)
            x.compute()
            assert len(runtime.launched) == 1
            host[index] = value
            assert_same(x.numpy(), host)
        mask = rng.random((4, 5)) < 0.5
        x, host = xp.zeros((4, 5)), np.zeros((4, 5), "f4")
        xp.set_at(x, xp.asarray(mask), np.arange(mask.sum()), unique=True)
        host[mask] = np.arange(mask.sum())
        assert_same(x.numpy(), host)
        z = xp.zeros(3)
        xp.set_at(z, [0, 2, 0], [1, 2, 3])
        assert_same(z.numpy(), np.array([3, 0, 2], "f4"))
        with pytest.raises(DTypeError, match="set_at of list"):
            xp.set_at([1, 2], [0], 3)  # type: ignore[arg-type]
