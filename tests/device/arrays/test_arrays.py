"""Arrays on the device against NumPy: values, dtypes, views, reductions, and what they cost in launches and memory.

Values are exact where the operation is; elsewhere the bound is that of the op table, against a wider reference.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer
from ocl_ir.ops import OPS
from ocl_ir.types import from_numpy
from ocl_runtime.arrays.meaning.semantics import arity
from ocl_runtime.arrays.meaning.table import TABLE, Row
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError
from ocl_runtime.plan.kernels.elementwise import ElementwiseForm
from ocl_runtime.plan.kernels.reduce_kernel import ReduceForm
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from tests.support.arrays import DTYPES, FLOATS, INTEGERS, KINDS, assert_same, counting, edges, has, ordinary, pairs
from tests.support.depth import NIGHTLY
from tests.support.rehearsal import one_by_one, rehearsal
from tests.support.ulp import ulps


@pytest.fixture(scope="session")
def shared(device: Device, tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    return Runtime(device, Settings(cache_folder=None))  # PoCL compiles each kernel once more for a binary


@pytest.fixture(autouse=True)
def runtime(shared: Runtime) -> Iterator[Runtime]:
    with ocl.use(shared), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, for infinities and divisions by zero
        yield shared


@pytest.fixture
def fresh(shared: Runtime) -> Iterator[Runtime]:
    """A runtime that has no kernels yet, over the same programs on disk."""
    made = Runtime(shared.device, shared.settings)
    with ocl.use(made):
        yield made


def together(results: list[ocl.Array]) -> list[np.ndarray]:
    """Values of one evaluation. Those of one shape that read the same arrays are one kernel: a kernel for each would
    take a minute to build."""
    ocl.compute(*results)
    return [result.numpy() for result in results]


# ---------------------------------------------------------------------- elementwise functions


def refused(row: Row, dtype: str, runtime: Runtime) -> bool:
    """Whether a function takes no array of a dtype."""
    kind = np.dtype(dtype).kind
    if kind == "b" and row.name in {"subtract", "negative", "sign"}:
        return True
    if row.name == "nextafter" and dtype == "f2" and not runtime.executor.target.fp16:
        return True
    return kind == "f" and row.rule in {"bits", "count"}


def assert_function(row: Row, found: np.ndarray, hosts: list[np.ndarray]) -> None:
    """NumPy's values, or those of a wider reference within the bound of the op table."""
    dtype = hosts[0].dtype
    real = row.rule == "real" or (row.name == "pow" and dtype.kind == "f")
    if not real:
        # NumPy's powers of bools are of int8, and so on: its own functions have the meaning.
        expected = np.asarray(
            getattr(np, row.name)(*hosts) if row.rule != "rounding" or dtype.kind == "f" else hosts[0]
        )
        assert_same(found, expected, *hosts, zeros=row.name not in {"minimum", "maximum"})
        return
    hosts = hosts if dtype.kind == "f" else [host.astype("f4") for host in hosts]
    computed = hosts[0].dtype
    assert found.dtype == computed
    op, bound = OPS[row.op], OPS[row.op].ulp[from_numpy(computed).name]
    if bound == 0 or row.name in {"divide", "fma"}:  # whose references are exact in the operands' own dtype
        exact = op.reference(*hosts)
        if bound == 0:
            assert_same(found, exact, *hosts)
            return
    else:
        exact = op.reference(*(host.astype("f8" if computed.itemsize < 8 else np.longdouble) for host in hosts))
    off = ulps(found, exact)
    worst = int(np.argmax(off))
    given = [host.ravel()[worst] for host in hosts]
    assert off.flat[worst] <= bound, (
        f"{row.name}{given} is {found.flat[worst]!r}, not {exact.flat[worst]!r}: {off.flat[worst]} ULP"
    )


def inputs(row: Row, dtype: str) -> list[np.ndarray]:
    one, other = pairs(dtype)
    hosts = [one, other, np.roll(one, 3)][: arity(row)]
    if np.dtype(dtype).kind == "i" and row.name == "pow":
        hosts[1] = np.where(hosts[1] < 0, np.array(3, dtype), hosts[1])  # NumPy refuses negative powers of integers
    return hosts


OF_FLOATS = [name for name, row in TABLE.items() if row.rule in {"numeric", "real", "rounding"}]
OF_INTEGERS = [name for name, row in TABLE.items() if row.rule in {"numeric", "bits"}]


@pytest.fixture(scope="module")
def functions(shared: Runtime) -> None:
    """The kernels of single functions, built together."""
    wanted = [*itertools.product(OF_FLOATS, FLOATS), *itertools.product(OF_INTEGERS, ["?", "i4"])]
    with ocl.use(shared), rehearsal(shared):
        for name, dtype in wanted:
            if has(shared, dtype) and not refused(TABLE[name], dtype, shared):
                getattr(ocl, name)(*map(ocl.asarray, inputs(TABLE[name], dtype))).compute()


@pytest.mark.sample(8)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OF_FLOATS)
@pytest.mark.usefixtures("functions")
def test_a_function_of_floats(name: str, dtype: str, runtime: Runtime) -> None:
    row = TABLE[name]
    if not has(runtime, dtype):
        with pytest.raises(DTypeError, match="the device has no float64"):
            ocl.asarray(edges(dtype))
        return
    hosts = inputs(row, dtype)
    if refused(row, dtype, runtime):
        with pytest.raises(DTypeError, match=f"{name} does not take"):
            getattr(ocl, name)(*map(ocl.asarray, hosts))
        return
    assert_function(row, getattr(ocl, name)(*map(ocl.asarray, hosts)).numpy(), hosts)


@pytest.mark.parametrize("dtype", ["?", "i4"])
@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.usefixtures("functions")
def test_a_function_of_integers(name: str, dtype: str, runtime: Runtime) -> None:
    row = TABLE[name]
    hosts = inputs(row, dtype)
    if refused(row, dtype, runtime):
        with pytest.raises(DTypeError, match=f"{name} does not take"):
            getattr(ocl, name)(*map(ocl.asarray, hosts))
        return
    assert_function(row, getattr(ocl, name)(*map(ocl.asarray, hosts)).numpy(), hosts)


@pytest.mark.parametrize("dtype", [dtype for dtype in INTEGERS if dtype != "i4"])
def test_functions_of_the_other_integers(dtype: str) -> None:
    rows = [TABLE[name] for name in OF_INTEGERS]
    arrays, of_powers = ([ocl.asarray(host) for host in inputs(TABLE[name], dtype)] for name in ("fma", "pow"))
    found = together(
        [getattr(ocl, row.name)(*(of_powers if row.name == "pow" else arrays)[: arity(row)]) for row in rows]
    )
    for row, result in zip(rows, found, strict=True):
        assert_function(row, result, inputs(row, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_that_give_bools(dtype: str, runtime: Runtime) -> None:
    if not has(runtime, dtype):
        return
    rows = [row for row in TABLE.values() if row.rule in {"compare", "classify", "logical"}]
    hosts = [inputs(row, dtype) for row in rows]
    arrays = [ocl.asarray(host) for host in inputs(TABLE["equal"], dtype)]
    found = together([getattr(ocl, row.name)(*arrays[: arity(row)]) for row in rows])
    for row, given_, result in zip(rows, hosts, found, strict=True):
        integers = np.dtype(dtype).kind != "f"
        expected = given_[0] < 0 if row.name == "signbit" and integers else getattr(np, row.name)(*given_)
        assert_same(result, expected, *given_)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["?", *INTEGERS])
def test_real_functions_of_integers(dtype: str) -> None:
    """They are functions of the numbers as float32. In `make test` each dtype has a third of them, and each of them
    three dtypes; nightly has all."""
    rows = [row for row in TABLE.values() if row.rule == "real"]
    if not NIGHTLY:
        rows = rows[("?", *INTEGERS).index(dtype) % 3 :: 3]
    arrays = [ocl.asarray(host) for host in inputs(TABLE["fma"], dtype)]
    found = together([getattr(ocl, row.name)(*arrays[: arity(row)]) for row in rows])
    for row, result in zip(rows, found, strict=True):
        assert_function(row, result, inputs(row, dtype))


def test_regression_tan_beside_a_huge_argument() -> None:
    """On 16 lanes, PoCL 3.1's own function gave 0.0115 for 1e-20 where another lane held 1e30."""
    host = np.resize(np.array([1e-38, 1e-20, -1e-5, 0.0078, 1, 1e30, -3e38, 6434], "f4"), 77)
    assert_function(TABLE["tan"], ocl.tan(ocl.asarray(host)).numpy(), [host])


def test_rounding_of_integers_is_what_is_there(runtime: Runtime) -> None:
    for dtype, row in itertools.product(["?", *INTEGERS], [row for row in TABLE.values() if row.rule == "rounding"]):
        x = ocl.asarray(edges(dtype))
        with counting(runtime) as counted:
            assert_same(getattr(ocl, row.name)(x).numpy(), edges(dtype))
        assert counted["launch", "launches"] == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(dtype: str, runtime: Runtime) -> None:
    if not has(runtime, dtype):
        with pytest.raises(DTypeError, match="the device has no float64"):
            ocl.astype(ocl.zeros(3), dtype)
        return
    some = [0, 0.4, 1.6, 2, 100.9]
    hosts = dict.fromkeys("?iuf", np.resize(edges(dtype), 37))
    if np.dtype(dtype).kind == "f":  # out of range is unspecified, as in NumPy
        hosts["i"] = np.resize(np.array([*some, -0.4, -1.6, -100.9], dtype), 37)
        hosts["u"] = np.resize(np.array(some, dtype), 37)
    arrays = {kind: ocl.asarray(host) for kind, host in hosts.items()}
    targets = [to for to in DTYPES if has(runtime, to)]
    found = together([ocl.astype(arrays[to[0]], to) for to in targets])
    for to, result in zip(targets, found, strict=True):
        assert_same(result, hosts[to[0]].astype(to), hosts[to[0]])


@pytest.mark.parametrize("size", [1, 997])
def test_regression_doubles_round_to_half_once(size: int, runtime: Runtime) -> None:
    if not runtime.executor.target.fp64:
        return
    tie = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 2.0**-25, 3 * 2.0**-25, 65520.0, 2049.0, 6.1e-5])
    near = np.concatenate([tie, tie * (1 + 2.0**-40), tie * (1 - 2.0**-40)])
    edge = np.array([0, np.inf, np.nan, 1e-320, 1e-60, 1e300, 3.4028235677973366e38, np.finfo("f4").max])
    random = np.random.default_rng(0).standard_normal(900) * 10.0 ** np.arange(-9, 9).repeat(50)
    for host in ([np.resize(np.concatenate([near, -near, edge, -edge, random]), size)] if size > 1
                 else near[:, None]):  # fmt: skip
        x = ocl.asarray(host)
        assert_same(ocl.astype(x, "f2").numpy(), host.astype("f2"), host)
        assert_same(ocl.astype(x + 0.0, "f2").numpy(), (host + 0.0).astype("f2"), host)


X, Y = (ordinary("f4", 4, 6, seed=seed) + np.float32(0.25) for seed in (1, 2))
OTHERS = [
    "xp.square(x)", "xp.reciprocal(x)", "xp.logaddexp(x, y)", "xp.positive(x)", "xp.clip(x, -1, 2)",
    "xp.clip(x, min=y)", "xp.clip(x, max=y[:1])", "xp.where(x > y, x, y)", "xp.where(x > y, 1, x)",
    "xp.astype(x, xp.int16)",
    "xp.broadcast_to(x[:, :1], (3, 4, 6))", "xp.broadcast_arrays(x, y[0])[1]", "xp.permute_dims(x, (1, 0))",
    "xp.matrix_transpose(x)", "xp.moveaxis(x[None], 0, -1)", "xp.reshape(x, (3, -1))", "xp.reshape(x.T, (24,))",
    "xp.expand_dims(x, axis=1)", "xp.squeeze(x[:1], 0)", "xp.flip(x)", "xp.flip(x, axis=1)", "xp.unstack(x, axis=1)[2]",
    "xp.tril(x, k=1)", "xp.triu(x, k=-1)", "xp.meshgrid(x[0], y[:, 0])[1]", "xp.meshgrid(x[0], x[1], indexing='ij')[0]",
    "xp.full((2, 3), 2.5, dtype=xp.float32)", "xp.full_like(x, 3)", "xp.zeros((2, 0), dtype=xp.int8)",
    "xp.zeros_like(x)", "xp.ones(7, dtype=xp.uint16)", "xp.ones_like(x)", "xp.arange(3, 50, 7)",
    "xp.arange(5.0, 1.0, -0.5, dtype=xp.float32)",
    "xp.linspace(-1, 3, 33, dtype=xp.float32)", "xp.linspace(0, 1, 8, endpoint=False, dtype=xp.float32)",
    "xp.eye(5, 7, k=-2, dtype=xp.float32)", "xp.asarray(x)", "xp.sum(x)", "xp.prod(x, axis=0)", "xp.max(x, axis=1)",
    "xp.min(x, axis=(0, 1), keepdims=True)", "xp.mean(x, axis=1)", "xp.var(x, axis=0, correction=1)", "xp.std(x)",
    "xp.any(x > 3, axis=0)", "xp.all(x > -9)", "xp.count_nonzero(x > 0, axis=1)", "xp.empty((0, 3), dtype=xp.float32)",
    "xp.empty_like(x) * 0 + 1", "xp.take(x, np.array([2, 0, -1]), axis=1)",
    "xp.take_along_axis(x, np.array([[0, 5, -2]] * 4), axis=1)", "xp.nonzero(x > 1)[1]", "xp.concat([x, y[1:], x])",
    "xp.stack([x, y], axis=1)", "xp.roll(x, (1, -2), axis=(0, 1))", "xp.tile(x, (2, 3))", "xp.repeat(x, 3, axis=1)",
    "xp.diff(x, n=2, axis=0)", "xp.pad(x, ((1, 2), (0, 3)), 'reflect')", "xp.cumulative_sum(x, axis=1)",
    "xp.cumulative_prod(x, axis=0, include_initial=True)", "xp.matmul(x, y.T)", "xp.tensordot(x, y, axes=((0,), (0,)))",
    "xp.vecdot(x, y)", "xp.conj(x)", "xp.real(x)", "xp.imag(x)", "xp.argmax(x)",
    "xp.argmin(x.T, axis=1, keepdims=True)", "xp.searchsorted(xp.linspace(-3, 3, 33, dtype=xp.float32), y, 'right')",
    "xp.isin(x, y[:2], invert=True)", "xp.round(x, 1)",
]  # fmt: skip
NO_VALUES = {
    "Array", "__array_api_version__", "compute", "current", "use", "set_default", "can_cast", "finfo", "iinfo",
    "isdtype", "result_type", "e", "inf", "nan", "pi", "newaxis", "bool", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
    "Download", "allocate", "compute_into", "download", "pinned_empty", "upload", "from_dlpack", "from_pyopencl",
    "explain", "precision", "__array_namespace_info__", "broadcast_shapes",
}  # fmt: skip
"""Names of `ocl_runtime.arrays` that compute nothing; other files test them."""
ELSEWHERE = {
    "add_at", "angle", "argsort", "attention", "attention_gradients", "bincount", "complex_of", "conv", "histogram",
    "max_pool", "mean_pool", "set_at", "sort", "top_k", "unique_all", "unique_counts", "unique_inverse",
    "unique_values",
}  # fmt: skip
"""Tested by `test_adding.py`, `test_complex.py`, `test_indexing.py`, `test_selecting.py`, `test_sets.py`,
`test_sorting.py` and, in `tests/differential/`, `test_attention.py`, `test_channels.py` and `test_counting.py`."""


def evaluated(code: str) -> ocl.Array:
    return eval(code, {"xp": ocl, "np": np, "x": ocl.asarray(X), "y": ocl.asarray(Y)})  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def others(shared: Runtime) -> None:
    """The kernels of the other functions, built together, but for those that ask for values."""
    with ocl.use(shared), rehearsal(shared):
        for code in OTHERS:
            if "nonzero(x > 1)" not in code:
                evaluated(code).compute()


@pytest.mark.sample(3)
@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.usefixtures("others")
def test_the_other_functions(code: str) -> None:
    expected = np.asarray(eval(code, {"xp": np, "np": np, "x": X, "y": Y}))
    found = evaluated(code)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-6, atol=1e-6)


def test_every_function_is_tested_here() -> None:
    tested = {name for name in ocl.arrays.__all__ if any(f"xp.{name}(" in code for code in OTHERS)}
    assert set(ocl.arrays.__all__) == NO_VALUES | ELSEWHERE | set(TABLE) | tested


# ---------------------------------------------------------------------- promotion and broadcasting


def test_operands_are_promoted_and_broadcast(runtime: Runtime) -> None:
    """Each pair of dtypes in another shape; NumPy's promotion, and its values."""
    shapes = [((5, 1), (1, 7)), ((3, 5, 7), (7,)), ((1,), (5, 7)), ((), (33,)), ((2, 1, 3), (1, 4, 1))]
    pairs_ = list(itertools.product(("?", "i1", "u2", "i8", "u8", "f2", "f4"), repeat=2))
    added = []
    for number, (left, right) in enumerate(pairs_):
        one, other = shapes[number % len(shapes)]
        a, b = ordinary(left, *one, seed=number), ordinary(right, *other, seed=number + 1)
        if has(runtime, left) and has(runtime, right) and (np.add(a, b).dtype != "f8" or runtime.executor.target.fp64):
            added.append((a, b))
            continue
        with pytest.raises(DTypeError, match="no float64"):
            ocl.asarray(a) + ocl.asarray(b)
    sums = one_by_one(runtime, lambda: [ocl.asarray(a) + ocl.asarray(b) for a, b in added])
    for (a, b), found in zip(added, sums, strict=True):
        assert_same(found.numpy(), np.add(a, b))


# ---------------------------------------------------------------------- views


VIEWS = [
    np.s_[1:], np.s_[::2], np.s_[::-1], np.s_[-2:0:-2], np.s_[..., 0], np.s_[..., 1:], np.s_[..., ::-1],
    np.s_[:, None, 1], np.s_[2, ..., 3:1:-1], np.s_[None, ..., None], np.s_[1:2, :, 5:5], np.s_[-1, -1, -1],
    np.s_[:, ::-1, 1::3], np.s_[3, 1], np.s_[:, 2:3], np.s_[...],
]  # fmt: skip


@pytest.mark.parametrize("key", VIEWS, ids=str)
def test_views_look_at_the_same_memory(key: Any, runtime: Runtime) -> None:
    host = ordinary("f4", 4, 5, 7)
    x = ocl.asarray(host)
    orders = ((0, 1, 2), (2, 0, 1))
    read = one_by_one(runtime, lambda: [ocl.permute_dims(x, order)[key] * 2 + x[0, 0, 0] for order in orders])
    for order, computed in zip(orders, read, strict=True):
        seen, expected = ocl.permute_dims(x, order)[key], host.transpose(order)[key]
        assert isinstance(seen._node, Buffer)
        assert seen._node.storage is x._node.storage
        with counting(runtime) as counted:
            seen.compute()
        assert counted["launch", "launches"] == 0
        assert counted["memory", "allocations"] == 0
        assert_same(seen.numpy(), np.asarray(expected))
        assert_same(computed.numpy(), np.asarray(expected * 2 + host[0, 0, 0]))


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "i8"])
@pytest.mark.parametrize("offset", [1, 3, 16, 33])
def test_unaligned_views_are_read_rightly(dtype: str, offset: int, runtime: Runtime) -> None:
    a, b = ordinary(dtype, 1000, seed=1), ordinary(dtype, 1000, seed=2)
    x, y = ocl.asarray(a), ocl.asarray(b)
    added, largest, doubled = one_by_one(runtime, lambda: [
        x[offset:] + y[:-offset], ocl.max(x[offset:] - y[:-offset]), ocl.reshape(x, (20, 50))[1:, offset:] * 2,
    ])  # fmt: skip
    assert_same(added.numpy(), a[offset:] + b[:-offset])
    assert_same(largest.numpy(), np.max(a[offset:] - b[:-offset]))
    rows = a.reshape(20, 50)
    assert_same(doubled.numpy(), rows[1:, offset:] * np.array(2, dtype))


def test_a_view_of_an_expression_is_computed_as_such(runtime: Runtime) -> None:
    host = ordinary("i4", 30, 40)
    x = ocl.asarray(host)
    with counting(runtime) as counted:
        found = ((x + 1)[::-2, 3:] * ocl.permute_dims(x * x, (1, 0))[3:, ::-2].T).numpy()
    assert_same(found, (host + 1)[::-2, 3:] * (host * host).T[3:, ::-2].T)
    assert counted["launch", "launches"] == 1


# ---------------------------------------------------------------------- sizes and ranks

SIZES = [0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1023, 1025, 100_003]


@pytest.mark.parametrize("dtype", ["i1", "f4"])
def test_sizes_around_lanes_and_groups(dtype: str, fresh: Runtime) -> None:
    for size in SIZES:
        host = ordinary(dtype, size, seed=size)
        x = ocl.asarray(host)
        assert_same((x * x - 1).numpy(), host * host - np.array(1, dtype))
        assert_same(ocl.sum(x, dtype="i8").numpy(), host.sum(dtype="i8"))
    forms = list(fresh.executor.kernels._kernels)
    # One elementwise kernel, and the one that writes the sum of no elements.
    computing = [form for form in forms if isinstance(form, ElementwiseForm) and len(form.values) > 1]
    filling = [form for form in forms if isinstance(form, ElementwiseForm) and len(form.values) == 1]
    assert (len(computing), len(filling)) == (1, 1)
    # Reductions differ in what the planner decides by size, and the second launch in what it reads.
    reductions = [form for form in forms if isinstance(form, ReduceForm)]
    decided = {
        (form.way, form.lanes, form.team, form.split, form.held, form.reduced, form.values[0].dtype)
        for form in reductions
    }
    assert len(reductions) == len(decided) == len(forms) - 2
    assert {form.team & (form.team - 1) for form in reductions} == {0}


@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 17), (16, 16), (65, 3), (2, 3, 65), (7, 1, 9), (2, 3, 4, 17), (2, 1, 3, 2, 33)]
)
def test_ranks(shape: tuple[int, ...], runtime: Runtime) -> None:
    host = ordinary("f4", *shape)
    turned, column = host.transpose(), ordinary("f4", shape[0], *(1,) * (len(shape) - 1), seed=3)
    x = ocl.asarray(host)
    axes = tuple(reversed(range(len(shape))))
    whole, doubled, summed = one_by_one(runtime, lambda: [
        ocl.maximum(x, ocl.asarray(column)) + ocl.flip(x, axis=0),
        ocl.permute_dims(x, axes) * 2,
        ocl.sum(ocl.permute_dims(x, axes) * 2, axis=(0, -1)),
    ])  # fmt: skip
    assert_same(whole.numpy(), np.maximum(host, column) + host[::-1], zeros=False)
    assert_same(doubled.numpy(), turned * 2)
    assert_same(summed.numpy(), np.sum(turned * 2, axis=(0, -1)))


# ---------------------------------------------------------------------- reductions

SUBSETS = [axes for count in range(5) for axes in itertools.combinations(range(4), count)]


@pytest.mark.sample(4)
@pytest.mark.parametrize("axes", SUBSETS, ids=str)
def test_reductions_over_every_subset_of_axes(axes: tuple[int, ...], runtime: Runtime) -> None:
    host = ordinary("f4", 3, 4, 5, 17)
    x = ocl.asarray(host)
    keepdims = len(axes) % 2 == 1
    turned = ocl.permute_dims(x, (3, 1, 0, 2))[::-1]
    total, largest = one_by_one(runtime, lambda: [ocl.sum(x, axis=axes, keepdims=keepdims), ocl.max(turned, axis=axes)])
    assert_same(total.numpy(), np.sum(host, axis=axes, keepdims=keepdims))
    assert_same(largest.numpy(), np.max(host.transpose(3, 1, 0, 2)[::-1], axis=axes), zeros=False)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", KINDS)
def test_reductions_of_every_dtype(dtype: str, runtime: Runtime) -> None:
    if not has(runtime, dtype):
        return
    kind = np.dtype(dtype).kind
    host = np.resize(edges(dtype), 1003) if kind in "iu" else ordinary(dtype, 1003)
    x = ocl.asarray(host)
    names = ["sum", "prod", "min", "max", "any", "all"]
    sizes = [7 if name == "prod" and kind not in "iu" else host.size for name in names]
    results = one_by_one(
        runtime, lambda: [getattr(ocl, name)(x[:size]) for name, size in zip(names, sizes, strict=True)]
    )
    for name, size, found in zip(names, sizes, results, strict=True):
        # Integers wrap around, as in NumPy.
        assert_same(found.numpy(), np.asarray(getattr(np, name)(host[:size])), zeros=False)


@pytest.mark.sample(3)
@pytest.mark.parametrize("shape", [(2**20,), (2**10, 2**10), (3, 2**18 + 1), (2**18 + 1, 3), (2**20, 1), (64, 64, 255)])
def test_large_reductions(shape: tuple[int, ...], runtime: Runtime) -> None:
    host = np.random.default_rng(1).random(shape, np.float32)
    whole = ordinary("i4", *shape)
    x, y = ocl.asarray(host), ocl.asarray(whole)
    every = [None, *range(len(shape))]

    def reduced(axes: int | None) -> list[ocl.Array]:
        return [ocl.sum(x * x + 1, axis=axes), ocl.sum(y, axis=axes), ocl.min(x, axis=axes)]

    with rehearsal(runtime):
        for array in itertools.chain.from_iterable(map(reduced, every)):
            array.compute()
    for axes in every:
        squares, total, least = reduced(axes)
        with counting(runtime) as counted:
            squares.compute()
        assert 1 <= counted["launch", "launches"] <= 2
        np.testing.assert_allclose(squares.numpy(), np.sum(host.astype("f8") ** 2 + 1, axis=axes), rtol=2e-6)
        assert_same(total.numpy(), np.asarray(np.sum(whole, axis=axes, dtype="i8")))
        assert_same(least.numpy(), np.asarray(np.min(host, axis=axes)))


def test_reductions_see_every_nan() -> None:
    for size in (1, 5, 64, 65, 5000):
        for place in {0, size // 2, size - 1}:
            host = np.arange(size, dtype="f4")
            host[place] = np.nan
            x = ocl.asarray(host)
            assert all(np.isnan(float(reduced(x))) for reduced in (ocl.min, ocl.max, ocl.sum, ocl.mean))
    assert float(ocl.max(ocl.asarray(np.full(100, -np.inf, "f4")))) == -np.inf
    assert float(ocl.min(ocl.asarray(np.full(100, np.inf, "f4")))) == np.inf


def test_reductions_of_no_elements() -> None:
    x = ocl.zeros((3, 0, 2))
    assert_same(ocl.sum(x, axis=1).numpy(), np.zeros((3, 2), "f4"))
    assert_same(ocl.prod(x, axis=(0, 1)).numpy(), np.ones(2, "f4"))
    assert_same(ocl.sum(x, axis=2).numpy(), np.zeros((3, 0), "f4"))
    assert_same(ocl.max(x, axis=0).numpy(), np.zeros((0, 2), "f4"))
    assert np.isnan(ocl.mean(x).numpy())
    assert [bool(ocl.any(x)), bool(ocl.all(x))] == [False, True]


def test_halves_add_up_in_float32() -> None:
    host = np.random.default_rng(0).random(10_000).astype("f2")
    expected = host.astype("f8").sum()
    assert np.float16(np.inf) != expected
    assert ulps(ocl.sum(ocl.asarray(host)).numpy(), np.asarray(expected)) <= 0.51
    assert float(ocl.mean(ocl.full(4000, 60000.0, dtype="f2"))) == 60000


def test_the_same_bits_every_time(runtime: Runtime) -> None:
    host = np.random.default_rng(5).standard_normal(300_001).astype("f4")
    results = []
    for made in (runtime, runtime, Runtime(runtime.device, runtime.settings)):
        with ocl.use(made):
            x = ocl.asarray(host)
            results.append(
                [ocl.sum(ocl.sin(x) * x).numpy(), ocl.prod(ocl.reshape(x[:-1], (1000, 300)), axis=0).numpy()]
            )
    for again in results[1:]:
        for one, other in zip(results[0], again, strict=True):
            assert_same(one, other)


# ---------------------------------------------------------------------- fused and step by step

BY_KIND: dict[str, list[str]] = {
    "f": [
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "sqrt", "exp", "sin", "abs", "negative", "floor",
        "where",
    ],
    "i": [
        "add", "subtract", "multiply", "maximum", "bitwise_xor", "bitwise_and", "abs", "negative", "floor_divide",
        "where",
    ],
    "u": ["add", "subtract", "multiply", "minimum", "bitwise_or", "bitwise_invert", "remainder", "where"],
}  # fmt: skip
BINARY = {"where", *(name for name, row in TABLE.items() if arity(row) == 2)}


class Trees:
    """Draws an expression twice: computed at its end, and after every operation, which is compared with NumPy's."""

    def __init__(self, data: st.DataObject, runtime: Runtime) -> None:
        self.draw = data.draw
        self.mixes = runtime.executor.target.fp64
        self.shape = tuple(self.draw(st.lists(st.sampled_from([1, 2, 3, 5, 17, 33]), min_size=1, max_size=3), "shape"))
        self.leaves = 0

    def tree(self, depth: int) -> tuple[ocl.Array, ocl.Array]:
        """Fused, and step by step."""
        if depth == 0 or not self.draw(st.integers(0, 4), "leaf"):
            return self.leaf()
        one = self.tree(depth - 1)
        name = self.draw(st.sampled_from(BY_KIND[one[0].dtype.kind]), "function")
        if name not in BINARY:
            return self.applied(name, one)
        other = self.tree(depth - 1)
        kinds = one[0].dtype.kind + other[0].dtype.kind
        fits = kinds[0] == kinds[1] or (kinds[1] in "iu" and kinds[0] in "iu") or (self.mixes and kinds[0] == "f")
        same = not fits or self.draw(st.integers(0, 3), "same operand") == 0
        return self.applied(name, one, one if same else other)

    def leaf(self) -> tuple[ocl.Array, ocl.Array]:
        """A view of some memory, of a part of the shape."""
        shape = tuple(length if self.draw(st.integers(0, 3), "whole") else 1 for length in self.shape)
        shape = shape[self.draw(st.integers(0, len(shape) - 1), "axes gone") :]
        self.leaves += 1
        dtype = self.draw(st.sampled_from(["f4", "f4", "f2", "i4", "u1"]), "dtype")
        memory = ocl.asarray(ordinary(dtype, *(2 * length + 1 for length in shape), seed=self.leaves))
        start, step = self.draw(st.integers(0, 1), "start"), self.draw(st.sampled_from([1, 1, 2, -1]), "step")
        key = tuple(slice(start, start + length * abs(step), abs(step)) for length in shape)
        x = memory[key] if step > 0 else ocl.flip(memory[key])
        return x, x

    def applied(self, name: str, *operands: tuple[ocl.Array, ocl.Array]) -> tuple[ocl.Array, ocl.Array]:
        fused, steps = (call(name, *(operand[place] for operand in operands)).compute() if place else
                        call(name, *(operand[place] for operand in operands)) for place in (0, 1))  # fmt: skip
        hosts = [operand[1].numpy() for operand in operands]
        common = np.result_type(*hosts)
        hosts = [np.broadcast_to(host, steps.shape).astype(common) for host in hosts]
        if name == "where":
            assert_same(steps.numpy(), np.where(hosts[0] > hosts[1], hosts[0], hosts[1]))
        else:
            assert_function(TABLE[name], steps.numpy(), hosts)
        return fused, steps


def call(name: str, *operands: ocl.Array) -> ocl.Array:
    return ocl.where(operands[0] > operands[1], *operands) if name == "where" else getattr(ocl, name)(*operands)


@settings(max_examples=max(20, settings().max_examples * 3 // 10), phases=[p for p in Phase if p != Phase.explain])
@given(data=st.data())
def test_fused_is_step_by_step_bit_for_bit(data: st.DataObject, shared: Runtime) -> None:
    with ocl.use(shared), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        trees = Trees(data, shared)
        fused, steps = trees.tree(3)
        if data.draw(st.booleans(), "reduce"):
            axis = data.draw(st.sampled_from([None, *range(fused.ndim)]), "axis")
            # The order in which floats are added depends on the dtypes and strides of what is read, so on fusion.
            reduce = ocl.max if fused.dtype.kind == "f" else ocl.sum
            fused, steps = reduce(fused, axis=axis), reduce(steps, axis=axis)
        with counting(shared) as counted:
            fused.compute()
        assert counted["launch", "launches"] <= 2
        assert_same(fused.numpy(), steps.numpy())


# ---------------------------------------------------------------------- what it costs


def test_an_expression_is_one_launch_and_with_a_reduction_a_pair(fresh: Runtime) -> None:
    x, y = (ocl.asarray(np.random.default_rng(seed).random(300_000, np.float32)) for seed in (1, 2))
    with counting(fresh) as counted:
        (ocl.where(x > y, ocl.exp(-x * x) + y, ocl.sqrt(y)) * 2 - x / (y + 1)).compute()
    assert counted["launch", "launches"] == 1
    assert counted["memory", "allocations"] == 1
    assert counted["kernel", "kernels"] == 1
    with counting(fresh) as counted:
        ocl.mean(ocl.abs(x - y) * x).compute()
    assert counted["launch", "launches"] <= 3  # the sum, its parts, and the division by the count
    with counting(fresh) as counted:
        ocl.sum(ocl.abs(x - y) * x).compute()
    assert counted["launch", "launches"] <= 2
    assert counted["memory", "allocations"] <= 2


def test_new_shapes_numbers_and_arrays_need_no_new_kernel(fresh: Runtime) -> None:
    def run(size: int) -> None:
        a, b = ordinary("f4", size, 40, seed=size), ordinary("f4", size, 40, seed=size + 1)
        x, y = ocl.asarray(a), ocl.asarray(b)
        assert_same((x * float(size) + y[:, 1:2]).numpy(), a * np.float32(size) + b[:, 1:2])
        assert_same(ocl.sum(x - y, axis=1).numpy(), np.sum(a - b, axis=1))

    run(7)
    with counting(fresh) as counted:
        for size in range(8, 58):
            run(size)
    assert counted["kernel", "kernels"] == 0
    assert counted["kernel", "misses"] == 0
    assert counted["launch", "compiled"] == 0
    assert counted["program", "built"] == 0
    assert counted["launch", "launches"] == 2 * 50


def test_memory_is_used_again(fresh: Runtime) -> None:
    x = ocl.asarray(np.ones(10_000, "f4"))
    for _ in range(2):
        x = (x * 2 + 1).compute()
    with counting(fresh) as counted:
        for _ in range(20):
            x = (x * 2 + 1).compute()
    assert counted["memory", "created"] == 0
    assert counted["memory", "allocations"] == 20
    np.testing.assert_array_equal(x.numpy(), np.full(10_000, 2.0**23 - 1, "f4"))


def test_used_memory_is_not_handed_out(fresh: Runtime) -> None:
    """What waits in the queue still reads the memory of arrays that are gone already."""
    expected, found = [], []
    for number in range(20):
        host = np.full(300_000, number, "f4")
        x = ocl.asarray(host)
        found.append((ocl.sin(x) + x).compute())
        del x
        expected.append(np.sin(host) + host)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5)


def test_values_are_computed_once_and_shared_nodes_too(fresh: Runtime) -> None:
    x = ocl.asarray(ordinary("f4", 1000))
    root = ocl.exp(x)
    one, two = root + 1, root * 2
    with counting(fresh) as counted:
        ocl.compute(root, one, two)
        for done in (root, one, two, root[3:], one):
            done.numpy()
    assert counted["launch", "launches"] == 1
    with counting(fresh) as counted:
        again = (root - 1).compute()
    assert counted["launch", "launches"] == 1
    np.testing.assert_allclose(again.numpy(), np.exp(ordinary("f4", 1000)) - 1, rtol=1e-6)


def test_asarray_copies_at_the_call(fresh: Runtime) -> None:
    host = ordinary("i4", 50_000)
    before = host.copy()
    x = ocl.asarray(host)
    assert ocl.asarray(x) is x
    pending = x + 1
    host[:] = 99
    assert_same(x.numpy(), before)
    assert_same(pending.numpy(), before + 1)
    result = x.numpy()
    result[:] = 7
    assert_same(x.numpy(), before)
    turned = ocl.asarray(before.reshape(500, 100).T[::-2])
    assert_same(turned.numpy(), before.reshape(500, 100).T[::-2])


def test_deep_expressions_are_cut_where_they_must(runtime: Runtime) -> None:
    x = ocl.asarray(ordinary("i4", 100))
    total, expected = x, ordinary("i4", 100)
    for number in range(1000):
        total, expected = total * 3 + number, expected * np.int32(3) + np.int32(number)
    assert_same(total.numpy(), expected)
    many, wanted = ocl.zeros(50, dtype="i4"), np.zeros(50, "i4")
    for number in range(60):
        host = ordinary("i4", 50, seed=number)
        many, wanted = many + ocl.asarray(host), wanted + host
    assert_same(many.numpy(), wanted)


# ---------------------------------------------------------------------- threads


def in_threads(count: int, work: Any) -> list[Any]:
    """What `work(number)` gives in as many threads, which start together."""
    found: list[Any] = [None] * count
    ready = threading.Barrier(count)

    def run(number: int) -> None:
        ready.wait()
        try:
            found[number] = work(number)
        except BaseException as error:  # noqa: BLE001
            found[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    errors = [one for one in found if isinstance(one, BaseException)]
    if errors:
        raise errors[0]
    return found


def test_threads_compute_the_same_and_different_expressions(fresh: Runtime) -> None:
    host = ordinary("f4", 5000)
    x = ocl.asarray(host)
    lazy = x * 3 - 1

    def work(number: int) -> None:
        with ocl.use(fresh):
            for turn in range(10):
                scale = number * 10 + turn
                assert_same((x * scale + 2).numpy(), host * np.float32(scale) + np.float32(2))  # one kernel for all
                assert_same(lazy.numpy(), host * np.float32(3) - np.float32(1))  # one array
                if number % 2:
                    assert_same(ocl.max(x[number:] * scale).numpy(), np.max(host[number:] * np.float32(scale)))
                else:
                    assert_same((ocl.abs(x) - number).numpy(), np.abs(host) - np.float32(number))

    in_threads(8, work)
    # Threads that want one program at once build it once.
    programs = fresh.statistics()["program"]
    assert programs["built"] + programs["disk_hits"] <= 6


def test_threads_without_use_share_the_default_runtime(shared: Runtime) -> None:
    ocl.set_default(lambda: shared)
    try:
        found = in_threads(4, lambda number: ocl.asarray([number]) + 1)
        assert all(array._executor is shared.executor for array in found)
        assert [int(array[0]) for array in found] == [1, 2, 3, 4]
    finally:
        ocl.set_default(Runtime)


def test_a_view_that_another_thread_looks_at_stays_computed(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other one has found out by then, the node of an expression, does not take the place of the memory."""
    host = np.arange(12, dtype="f4").reshape(3, 4)
    x = ocl.asarray(host)
    whole = x + 1  # which stays an expression: it is cheap, and somebody holds the memory
    view = whole[1:]
    looks, go = threading.Event(), threading.Event()
    other, stepped = threading.Thread(target=lambda: view._node), graph.stepped

    def slowly(*given: Any) -> Any:
        made = stepped(*given)
        if threading.current_thread() is other:
            looks.set()
            assert go.wait(10)
        return made

    monkeypatch.setattr(graph, "stepped", slowly)
    other.start()
    assert looks.wait(10)
    view.compute()
    go.set()
    other.join()
    assert isinstance(view._node, Buffer)
    assert_same(view.numpy(), host[1:] + 1)


@pytest.mark.parametrize("computed", ["the whole", "both", "the view", "neither"])
def test_a_view_that_has_to_copy_once_the_whole_is_computed(computed: str, runtime: Runtime) -> None:
    """The whole is computed in the order of its operand's memory, in which the view's elements are no view."""
    host = np.arange(24, dtype="f4").reshape(4, 6)
    whole = ocl.asarray(host).T + 1
    view = ocl.reshape(whole, (12, 2))
    ocl.compute(*{"the whole": [whole], "both": [whole, view], "the view": [view], "neither": []}[computed])
    assert_same(view.numpy(), (host.T + 1).reshape(12, 2))
    assert_same((view * 2).numpy(), (host.T + 1).reshape(12, 2) * 2)
    whole[0, 1] = -1
    host[1, 0] = -2
    assert_same(view.numpy(), (host.T + 1).reshape(12, 2))
