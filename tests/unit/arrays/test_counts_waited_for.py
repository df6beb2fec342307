"""Reading by masks, and counting, where a GPU does not wait for the host, and where it must."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.kernel.printer import text
from ocl_runtime.errors import IndexingError, OutOfMemoryError
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime, Storage

GPU = Target(kind="gpu", compute_units=1, group_size=8)
CPU = Target(kind="cpu", compute_units=1, group_size=8)
HOST = np.arange(100, dtype="f4")


class Short(InterpretedRuntime):
    """A runtime that never has more than so many bytes at once."""

    def allocate(self, nbytes: int, where: str = "", *, wait: bool = True) -> Storage:
        if nbytes >= HOST.nbytes:
            raise OutOfMemoryError("no memory", place=str(where), remedy="use less")
        return super().allocate(nbytes, where, wait=wait)


def _launched(runtime: InterpretedRuntime) -> list[str]:
    names = [launch.kernel.name for launch in runtime.launched]
    runtime.launched.clear()
    return names


def test_a_gpu_packs_before_the_count_is_known() -> None:
    """Then what is picked lies in memory for all, if that is not much more; else it is copied, and the rest let go."""
    runtime = InterpretedRuntime(GPU)
    with xp.use(runtime):
        x = xp.asarray(HOST)
        for most, room in ((40, 100), (30, 30)):
            picked = x[xp.asarray(most > HOST)]
            assert _launched(runtime) == ["sum_add", "pack"]
            assert picked._node.storage.nbytes == room * HOST.itemsize
            assert np.array_equal(picked.numpy(), HOST[:most])
            picked[0] = -1
            assert np.array_equal(picked.numpy(), [-1, *HOST[1:most]])
            runtime.launched.clear()


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", [GPU, CPU])
@pytest.mark.parametrize("size", [2 * 4096, 10_000, 2 * 4096 + 77])
def test_rows_have_all_places(target: Target, size: int) -> None:
    """Rows of one length where there is a length for that, else a shorter one behind them: nobody asks at each place
    whether there is one, and all are read in vectors."""
    runtime = InterpretedRuntime(target)
    host = np.random.default_rng(0).random(size).astype("f4")
    with xp.use(runtime):
        x, mask = xp.asarray(host), xp.asarray(host < 0.7)
        runtime.launched.clear()
        picked = x[mask].compute()
        packing = [text(launch.kernel) for launch in runtime.launched if launch.kernel.name.endswith("pack")]
        assert len(packing) == (2 if size % 16 else 1)
        assert all("load4" in kernel or target is CPU for kernel in packing)
        assert np.array_equal(picked.numpy(), host[host < 0.7])
        assert np.array_equal(xp.nonzero(mask)[0].numpy(), np.flatnonzero(host < 0.7))


def test_a_cpu_packs_what_it_has_counted() -> None:
    runtime = InterpretedRuntime(CPU)
    with xp.use(runtime):
        picked = xp.asarray(HOST)[xp.asarray(HOST < 60)]
        assert _launched(runtime) == ["sum_add"]
        picked.compute()
        assert _launched(runtime) == ["pack"]


def test_what_is_picked_may_fit_where_all_does_not() -> None:
    runtime = Short(GPU)
    with xp.use(runtime):
        x, mask = xp.asarray(HOST), xp.asarray(HOST < 60)
        assert np.array_equal(x[mask].numpy(), HOST[:60])
        assert runtime.allocations[60 * HOST.itemsize] == 1


@pytest.mark.parametrize(("most", "then"), [(4096, []), (5000, ["max", "fill", "lt_scatter_add", "convert"])])
def test_a_gpu_reads_once_what_it_counts_into_few(most: int, then: list[str]) -> None:
    """Else it looks for the greatest one, and counts again."""
    runtime = InterpretedRuntime(GPU)
    host = np.random.default_rng(0).integers(0, most, 300).astype("i4")
    host[7] = most - 1
    with xp.use(runtime):
        x = xp.asarray(host)
        found = xp.bincount(x)
        found.compute()
        assert _launched(runtime)[3:] == ["sum_gt_select_max", "sum_max_eq_select", *then]
        assert np.array_equal(found.numpy(), np.bincount(host))
        assert np.array_equal(xp.bincount(x, dtype="u1").numpy(), np.bincount(host).astype("u1"))


@pytest.mark.parametrize("target", [GPU, CPU])
def test_distinct_elements_are_sorted_once(target: Target) -> None:
    """And compared once: what begins a run is in memory, and read again by what counts and packs."""
    runtime = InterpretedRuntime(target)
    host = (np.arange(60) % 7).astype("i4")
    with xp.use(runtime):
        x = xp.asarray(host)
        runtime.launched.clear()
        found = xp.unique_counts(x)
        xp.compute(*found)
        assert _launched(runtime) == [
            "sort_rows", "fill", "ne", "sum_add", "pack", "nearest_gather", "sub_lt_minimum_gather_select"
        ]  # fmt: skip
        everything = xp.unique_all(x)
        xp.compute(*everything)
        names = _launched(runtime)
        assert sum("sort" in name for name in names) == names.count("ne") == 1
        for one, other in zip(everything, np.unique_all(host), strict=True):
            np.testing.assert_array_equal(one.numpy(), other)


@pytest.mark.parametrize("target", [GPU, CPU])
def test_bincount_of_negative_numbers(target: Target) -> None:
    with xp.use(InterpretedRuntime(target)), pytest.raises(IndexingError, match="bincount of -3"):
        xp.bincount(xp.asarray(np.array([1, -3, 2], "i2")))
