"""Linear algebra against NumPy, by the interpreter of kernel IR, which finds races.

Blocks are small here, so that small matrices have several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_ir.graph.linalg import Cholesky, LuFactor, LuSolve
from ocl_ir.kernel.work import operations
from ocl_runtime import linalg
from ocl_runtime.linalg.operands import called
from ocl_runtime.plan.kernels import library_kernel
from ocl_runtime.plan.kernels.linalg import cholesky, jacobi, lu, panels, qr, triangular
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime
from tests.support.matrices import KINDS, adjoint, largest, matrix, symmetric, within

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}
SHAPES = st.tuples(st.integers(0, 7), st.integers(0, 7))
BATCHES = st.sampled_from([(), (1,), (2,), (0,), (2, 2)])
DTYPES = st.sampled_from(["f4", "c8", "f8", "c16"])


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cholesky, "_BLOCK", 3)
    monkeypatch.setattr(triangular, "_BLOCK", 2)
    monkeypatch.setattr(panels, "_COLUMNS", 2)
    monkeypatch.setattr(panels, "_ROWS", 1)  # of 8 at most
    monkeypatch.setattr(lu, "_PANEL", 2)
    monkeypatch.setattr(lu, "_MOVED", 2)
    monkeypatch.setattr(qr, "_PANEL", 2)
    monkeypatch.setattr(qr, "_BLOCK", 4)
    monkeypatch.setattr(jacobi, "_SMALL", 4)
    monkeypatch.setattr(jacobi, "_BLOCK", 2)
    monkeypatch.setattr(jacobi, "_LANES", 2)


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


def drawn(data: st.DataObject, shape: tuple[int, ...], kinds: tuple[str, ...] = KINDS) -> tuple[np.ndarray, xp.Array]:
    """A matrix of some kind, in row-major order, transposed or with gaps."""
    host = matrix(data.draw(st.sampled_from(kinds)), shape, data.draw(DTYPES), data.draw(st.integers(0, 9)))
    match data.draw(st.sampled_from(["rows", "columns", "gaps"])):
        case "columns":
            return host, xp.matrix_transpose(xp.asarray(np.swapaxes(host, -1, -2).copy()))
        case "gaps":
            wide = np.zeros((*shape[:-1], 2 * shape[-1]), host.dtype)
            wide[..., ::2] = host
            return host, xp.asarray(wide)[..., ::2]
    return host, xp.asarray(host)


def identity(host: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.eye(host.shape[-1], dtype=host.dtype), (*host.shape[:-2], *[host.shape[-1]] * 2))


def half(host: np.ndarray, *, upper: bool = False) -> np.ndarray:
    """Matrices with NaN in the triangle that is not to be read."""
    read = np.tri(host.shape[-1], dtype=bool)
    return np.where(read.T if upper else read, host, host.dtype.type(np.nan))


def check_orthonormal(columns: np.ndarray) -> None:
    within(adjoint(columns) @ columns, identity(columns), 1)


@given(data=st.data())
@QUICK
def test_cholesky(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    n, batch = data.draw(SHAPES)[0], data.draw(BATCHES)
    root, upper = matrix("random", (*batch, n, n), data.draw(DTYPES)), data.draw(st.booleans())
    host = root @ adjoint(root) + np.eye(n, dtype=root.dtype)
    with xp.use(runtime):
        factor = linalg.cholesky(xp.asarray(half(host, upper=upper)), upper=upper).numpy()
    np.testing.assert_array_equal(factor, np.triu(factor) if upper else np.tril(factor))
    within(adjoint(factor) @ factor if upper else factor @ adjoint(factor), host, largest(host))


@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan])
def test_what_is_not_positive_definite(runtime: InterpretedRuntime, pivot: float) -> None:
    host = np.eye(5, dtype="f4")
    host[3, 3] = pivot
    with xp.use(runtime), pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        linalg.cholesky(xp.asarray(host))


@given(data=st.data())
@QUICK
def test_triangular_systems(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    n, k = data.draw(SHAPES)
    how: dict[str, Any] = {name: data.draw(st.booleans()) for name in ("lower", "transposed", "unit_diagonal")}
    batch = data.draw(BATCHES)
    with xp.use(runtime):
        host, a = drawn(data, (*batch, n, n), ("random",))
        right = matrix("random", (*batch, n, k), host.dtype)
        found = linalg.solve_triangular(a / 4 + 2 * xp.eye(n, dtype=a.dtype), xp.asarray(right), **how).numpy()
    full = host / 4 + 2 * np.eye(n, dtype=host.dtype)
    read = np.tril(full) if how["lower"] else np.triu(full)
    if how["unit_diagonal"]:
        read = read - np.eye(n, dtype=read.dtype) * read + np.eye(n, dtype=read.dtype)
    if how["transposed"]:
        read = np.swapaxes(read, -1, -2)
    within(read @ found, right, largest(read) * largest(found))


@given(data=st.data())
@QUICK
def test_systems(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    n, k = data.draw(SHAPES)
    batch = data.draw(BATCHES)
    with xp.use(runtime):
        host, a = drawn(data, (*batch, n, n), ("random", "graded", "defective", "identity"))
        right = matrix("random", (n, k), host.dtype)
        found = linalg.solve(a, xp.asarray(right)).numpy()
        within(host @ found, np.broadcast_to(right, found.shape), largest(host) * largest(found))
        vector = linalg.solve(a, xp.asarray(right[:, 0])).numpy() if k else None
    if vector is not None:
        assert vector.tobytes() == found[..., 0].tobytes()


@given(data=st.data())
@QUICK
def test_determinants_and_inverses(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    n, batch = data.draw(SHAPES)[0], data.draw(BATCHES)
    with xp.use(runtime):
        host, a = drawn(data, (*batch, n, n), ("random", "singular", "defective", "zeros"))
        determinant, (sign, logarithm) = linalg.det(a).numpy(), linalg.slogdet(a)
        wanted = np.linalg.det(host.astype(np.result_type(host, "f8")))
        scale = np.maximum(largest(host), 1) ** n
        assert (np.abs(determinant - wanted) <= 50 * n * np.finfo(host.dtype).eps * scale).all()
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(sign.numpy() * np.exp(logarithm.numpy()), determinant, rtol=1e-4)
        if (np.linalg.cond(host) < 1e3).all() if host.size else True:
            within(linalg.inv(a).numpy() @ host, identity(host), largest(np.linalg.inv(host)) * largest(host))


def test_singular_matrices_have_no_inverse(runtime: InterpretedRuntime) -> None:
    with xp.use(runtime):
        a = xp.asarray(np.array([np.eye(3), np.ones((3, 3))], "f4"))
        for function in (linalg.inv, lambda x: linalg.solve(x, xp.ones(3)), lambda x: linalg.matrix_power(x, -1)):
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                function(a)
        assert linalg.det(a).numpy().tolist() == [1, 0]
        assert linalg.slogdet(a).logabsdet.numpy().tolist() == [0, -np.inf]


@given(data=st.data())
@QUICK
def test_qr(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(["reduced", "complete"]))
    with xp.use(runtime):
        host, a = drawn(data, (*data.draw(BATCHES), *data.draw(SHAPES)))
        q, r = (factor.numpy() for factor in linalg.qr(a, mode=mode))
    wanted = np.linalg.qr(host, mode=mode)
    assert (q.shape, r.shape) == (wanted.Q.shape, wanted.R.shape)
    np.testing.assert_array_equal(r, np.triu(r))
    assert not np.diagonal(r, axis1=-2, axis2=-1).imag.any()
    check_orthonormal(q)
    within(q @ r, host, largest(host))


@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize("kind", ["tiny", "huge"])
def test_qr_of_what_has_no_squares(runtime: InterpretedRuntime, kind: str, dtype: str) -> None:
    host = matrix(kind, (5, 2), dtype)
    with xp.use(runtime):
        q, r = (factor.numpy() for factor in linalg.qr(xp.asarray(host)))
    check_orthonormal(q)
    within(q @ r, host, largest(host))


@given(data=st.data())
@settings(QUICK, max_examples=max(1, settings.default.max_examples // 25))
def test_eigenvalues(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    n, kind, dtype = data.draw(SHAPES)[0], data.draw(st.sampled_from(KINDS)), data.draw(DTYPES)
    host = symmetric(kind, (*data.draw(BATCHES), n, n), dtype, data.draw(st.integers(0, 9)))
    with xp.use(runtime):
        values, vectors = (part.numpy() for part in linalg.eigh(xp.asarray(half(host))))
        alone = linalg.eigvalsh(xp.asarray(half(host))).numpy()
    scale = largest(host)
    check_orthonormal(vectors)
    within(vectors * values[..., None, :] @ adjoint(vectors), host, scale)
    wanted = np.linalg.eigvalsh(host.astype(np.result_type(host, "f8")))[..., None].astype(host.real.dtype)
    within(values[..., None], wanted, scale)
    within(alone[..., None], wanted, scale)
    assert (np.diff(values) >= 0).all()


@given(data=st.data())
@settings(QUICK, max_examples=max(1, settings.default.max_examples // 25))
def test_singular_values(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    full = data.draw(st.booleans())
    with xp.use(runtime):
        host, a = drawn(data, (*data.draw(BATCHES), *data.draw(SHAPES)))
        u, s, vh = (part.numpy() for part in linalg.svd(a, full_matrices=full))
        alone = linalg.svdvals(a).numpy()
    wanted = np.linalg.svd(host, full_matrices=full)
    assert [part.shape for part in (u, s, vh)] == [part.shape for part in wanted]
    check_orthonormal(u)
    check_orthonormal(adjoint(vh))
    k, scale = s.shape[-1], largest(host)
    within(u[..., :k] * s[..., None, :] @ vh[..., :k, :], host, scale)
    exact = host.astype(np.result_type(host, "f8"))
    values = np.linalg.svd(exact, compute_uv=False)[..., None].astype(host.real.dtype)
    within(s[..., None], values, scale)
    within(alone[..., None], values, scale)
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()


@pytest.mark.sample(4)
@pytest.mark.parametrize(("value", "dtype"), [(np.nan, "f4"), (np.inf, "c8")])
def test_what_is_no_number_ends(runtime: InterpretedRuntime, value: float, dtype: str) -> None:
    host = np.ones((4, 4), dtype)
    host[2, 3] = host[3, 2] = value
    with xp.use(runtime):
        x = xp.asarray(host)
        for part in (*linalg.eigh(x), *linalg.svd(x), linalg.svdvals(x), linalg.pinv(x)):
            assert np.isnan(part.numpy()).all()
        least = linalg.lstsq(x, xp.ones(4, dtype=dtype))
        for part in (least.solution, least.residuals, least.singular_values):
            assert np.isnan(part.numpy()).all()
        assert int(least.rank) == int(linalg.matrix_rank(x)) == 0
        q, r = (part.numpy() for part in linalg.qr(x))
        assert np.isnan(q[:, 2:]).all()
        assert np.isnan(r[np.triu_indices(4)][np.triu_indices(4)[1] >= 3]).all()
        assert not np.isfinite(linalg.det(x).numpy())


RTOLS = {
    "number": 1e-3,
    "NumPy's number": np.float32(1e-3),
    "list": [1e-1, 1e-3, 1e-5],
    "array of the host": np.array([1e-1, 1e-3, 1e-5]),
    "array": None,
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", RTOLS)
def test_each_matrix_has_its_own_tolerance(runtime: InterpretedRuntime, kind: str) -> None:
    host = np.array([np.diag([1, 1e-2, 1e-4])] * 3)
    rtol: Any = RTOLS[kind]
    with xp.use(runtime):
        x, limits = xp.asarray(host), RTOLS["array of the host"] if kind == "array" else rtol
        rtol = xp.asarray(limits) if kind == "array" else rtol
        assert linalg.matrix_rank(x, rtol=rtol).numpy().tolist() == np.linalg.matrix_rank(host, rtol=limits).tolist()
        np.testing.assert_allclose(linalg.pinv(x, rtol=rtol).numpy(), np.linalg.pinv(host, rtol=limits), rtol=1e-9)
        ranks = linalg.lstsq(x, xp.ones((3, 3, 1), dtype=x.dtype), rtol=rtol).rank
        assert ranks.numpy().tolist() == np.linalg.matrix_rank(host, rtol=limits).tolist()


@pytest.mark.parametrize("factor", [1.0, 1j])
def test_least_squares_of_what_has_no_reciprocals(runtime: InterpretedRuntime, factor: complex) -> None:
    host = (np.eye(2) * 1e-310 + 1e-311) * factor
    with xp.use(runtime):
        found = linalg.lstsq(xp.asarray(host), xp.asarray(np.full(2, 1e-310))).solution.numpy()
    np.testing.assert_allclose(found, np.full(2, 1 / 1.2) / factor, rtol=1e-12)


@pytest.mark.sample(6)
@pytest.mark.parametrize("order", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_conditions_of_singular_matrices(runtime: InterpretedRuntime, order: Any) -> None:
    """Nothing is raised for them, nor for a batch in which some are singular; NaN stays NaN."""
    host = np.array([np.zeros((2, 2)), np.diag([0, 1]), np.diag([1, 2]), [[1, 2], [4, 3]], [[np.nan, 1], [2, 3]]])
    with xp.use(runtime):
        found = linalg.cond(xp.asarray(host), ord=order).numpy()
        assert linalg.cond(xp.asarray(host[:0]), ord=order).shape == (0,)
    regular = [order != "nuc" or np.linalg.det(one) for one in host[:4]]  # NumPy has no "nuc" of others
    wanted = [np.linalg.cond(one, order) if fits else np.inf for one, fits in zip(host, regular, strict=False)]
    wanted.append(np.nan)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_every_algorithm_of_complex_matrices(runtime: InterpretedRuntime) -> None:
    """With a column of numbers so small that their reciprocals are infinite."""
    host = matrix("random", (6, 5), "c8")
    host[:, 1] *= 3e-40
    square = host[:5]
    positive = square @ adjoint(square) + np.eye(5, dtype="c8")
    with xp.use(runtime):
        q, r = (factor.numpy() for factor in linalg.qr(xp.asarray(host)))
        u, s, vh = (part.numpy() for part in linalg.svd(xp.asarray(host), full_matrices=False))
        values, vectors = (part.numpy() for part in linalg.eigh(xp.asarray(positive)))
        root = linalg.cholesky(xp.asarray(half(positive))).numpy()
        factors = called(LuFactor(), xp.asarray(square)).numpy()
    for columns in (q, u, adjoint(vh), vectors):
        check_orthonormal(columns)
    within(vectors * values[..., None, :] @ adjoint(vectors), positive, largest(positive))
    within(root @ adjoint(root), positive, largest(positive))
    within(q @ r, host, largest(host))
    within(u * s[..., None, :] @ vh, host, largest(host))
    sources = np.arange(5)
    for row, other in enumerate(factors[5].real.astype(int)):
        sources[[row, other]] = sources[[other, row]]
    np.testing.assert_array_equal(factors[6], sources)
    square = square[sources]
    within((np.tril(factors[:5], -1) + np.eye(5, dtype="c8")) @ np.triu(factors[:5]), square, largest(square))


@pytest.mark.sample(2)
@pytest.mark.parametrize("columns", [1, 12])
def test_rows_of_right_sides_are_moved_without_going_through_pivots(runtime: InterpretedRuntime, columns: int) -> None:
    """The first launch of a system, which does the same for each element however large the matrices are."""
    work = set()
    with xp.use(runtime):
        for n in (4, 12):
            host, right = matrix("random", (2, n, n), "c8"), matrix("random", (2, n, columns), "c8", 1)
            factors = called(LuFactor(), xp.asarray(host)).compute()
            runtime.launched.clear()
            x = called(LuSolve(), factors, xp.asarray(right)).numpy()
            within(host @ x, right, largest(host) * largest(x))
            first = runtime.launched[0]
            work.add(operations(first.kernel, [int(arg) if isinstance(arg, np.integer) else arg for arg in first.args]))
    assert len(work) == 1


def test_sizes_in_one_plan(runtime: InterpretedRuntime) -> None:
    """Plans are made for the sizes of a call; kernels serve all."""
    with xp.use(runtime):
        for n in (3, 5, 3):
            host = matrix("random", (n, n), "f4", n)
            np.testing.assert_allclose((linalg.inv(xp.asarray(host)) @ xp.asarray(host)).numpy(), np.eye(n), atol=1e-4)


def test_cholesky_is_in_place_where_that_may_be() -> None:
    runtime = InterpretedRuntime(TARGETS["gpu"])
    with xp.use(runtime):
        x = xp.asarray(np.eye(2, dtype="f4") * 4)
        runtime.allocations.clear()
        np.testing.assert_array_equal(called(Cholesky(), x * 1).numpy(), np.eye(2) * 2)
        assert runtime.allocations[16] == 1
        np.testing.assert_array_equal(x.numpy(), np.eye(2) * 4)


def test_wide_indices(runtime: InterpretedRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of matrices that have more elements than 32 bits count."""
    monkeypatch.setattr(library_kernel, "_MOST_NARROW", 0)
    host = matrix("random", (5, 5), "f4")
    positive = host @ host.T + np.eye(5, dtype="f4")
    with xp.use(runtime):
        x = xp.asarray(host)
        np.testing.assert_allclose((linalg.inv(x) @ x).numpy(), np.eye(5), atol=1e-4)
        np.testing.assert_allclose(
            linalg.cholesky(xp.asarray(positive)).numpy(), np.linalg.cholesky(positive), rtol=1e-4
        )
        np.testing.assert_allclose(linalg.svdvals(x).numpy(), np.linalg.svdvals(host), rtol=1e-4)


def test_several_results_are_computed_once() -> None:
    runtime = InterpretedRuntime(TARGETS["gpu"])
    with xp.use(runtime):
        q, r = linalg.qr(xp.asarray(matrix("random", (4, 3), "f4")))
        q.compute()
        runtime.launched.clear()
        assert r.numpy().shape == (3, 3)
        assert not runtime.launched
