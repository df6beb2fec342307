"""Eigenvalues of general matrices by the interpreter of kernel IR, which finds races.

Few rows are many here, so that small matrices take the way of large ones, too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_runtime import linalg
from ocl_runtime.plan.kernels.linalg import eigen, hessenberg, schur
from ocl_runtime.plan.target import Target
from tests.support.general_matrices import MADE, check_eigenvectors, general_matrix
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=4),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigen, "_SMALL", 3)
    monkeypatch.setattr(eigen, "_STEP", 2)
    monkeypatch.setattr(eigen, "_REFLECTORS", 100)
    monkeypatch.setattr(eigen, "_SUBSTITUTED", 8)
    monkeypatch.setattr(hessenberg, "_TILE", 2)
    monkeypatch.setattr(hessenberg, "_CPU_TILE", 3)


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@given(data=st.data())
@QUICK
def test_eigenvectors(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    n, batch = data.draw(st.integers(0, 5)), data.draw(st.sampled_from([(), (1,), (2,), (0,), (1, 2)]))
    kinds = st.sampled_from(sorted(MADE))
    dtype = data.draw(st.sampled_from(["f4", "f8", "c8", "c16"]))
    count = int(np.prod(batch))
    drawn = [general_matrix(data.draw(kinds), n, dtype, data.draw(st.integers(0, 9))) for _ in range(count)]
    host = np.array(drawn, dtype).reshape((*batch, n, n))
    with xp.use(runtime):
        x = xp.asarray(host)
        if data.draw(st.booleans()):
            x = xp.matrix_transpose(xp.asarray(np.swapaxes(host, -1, -2).copy()))
        values, vectors = (part.numpy() for part in linalg.eig(x))
        alone = linalg.eigvals(x).numpy()
    check_eigenvectors(host, values, vectors)
    assert (alone.dtype, alone.shape) == (values.dtype, values.shape)
    for place in np.ndindex(batch) if n else ():
        close = 20 * n * n * np.finfo(dtype).eps * np.linalg.norm(host[place], 2)
        trace = np.trace(host[place].astype("c16"))  # which is well-conditioned for any matrix
        assert abs(alone[place].astype("c16").sum() - trace) <= close


@pytest.mark.parametrize(("n", "dtype"), [(3, "c8"), (5, "f4")])
def test_what_does_not_end_is_nan(
    runtime: InterpretedRuntime, monkeypatch: pytest.MonkeyPatch, n: int, dtype: str
) -> None:
    """With fewer iterations than a matrix needs."""
    monkeypatch.setattr(eigen, "_PER_EIGENVALUE", 0)
    monkeypatch.setattr(eigen, "_REFLECTORS", n)
    host = general_matrix("random", n, dtype)
    with xp.use(runtime):
        values, vectors = (part.numpy() for part in linalg.eig(xp.asarray(host)))
    assert np.isnan(values).all()
    assert np.isnan(vectors).all()


def test_a_cycle_is_left_by_shifts_that_are_made_up(
    runtime: InterpretedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Francis's shifts are 0 on a cyclic permutation, for which an iteration gives the same matrix."""
    monkeypatch.setattr(eigen, "_PER_EIGENVALUE", 3)
    host = general_matrix("cyclic", 3, "f4")
    with xp.use(runtime):
        values, vectors = (part.numpy() for part in linalg.eig(xp.asarray(host)))
        check_eigenvectors(host, values, vectors)
    monkeypatch.setattr(schur, "_PATIENCE", 1000)
    with xp.use(InterpretedRuntime(runtime.target)):
        assert np.isnan(linalg.eigvals(xp.asarray(host)).numpy()).all()


def test_iterations_go_on_in_the_next_launch_where_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    host = np.stack([general_matrix(kind, 4, "f4") for kind in ("random", "identity", "cyclic")])
    found = []
    for reflectors, least in ((8, 100), (10**6, 1)):
        monkeypatch.setattr(eigen, "_REFLECTORS", reflectors)
        runtime = InterpretedRuntime(TARGETS["gpu"])
        with xp.use(runtime):
            found.append(linalg.eigvals(xp.asarray(host)).numpy())
        names = [launch.kernel.name for launch in runtime.launched]
        assert sum("iterate_large" in name for name in names) >= least
    assert found[0].tobytes() == found[1].tobytes()
