"""How many kernels named expressions take, and how many bytes they move beside the least possible.

Planned for a CPU and a GPU that are written down here, so that the counts depend on no machine; `docs/FUSION.md` has
the table at its end (`--update-golden` writes it anew). The values are held against NumPy by the interpreter, on small
inputs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_runtime.arrays.core import ArrayCore
from ocl_runtime.plan.explain import explain
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

TARGETS = {
    "gpu": Target(kind="gpu", compute_units=16),
    "cpu": Target(kind="cpu", compute_units=8, group_size=64, vector_bytes=64, operations_per_byte=4),
}
Make = Callable[[Any, Any, Any], Any]
"""Makes arrays, by a library, of two matrices x and y of one shape and a row w; of NumPy's or ours alike."""


def softmax(f: Any, x: Any) -> Any:
    e = f.exp(x - f.max(x, axis=1, keepdims=True))
    return e / f.sum(e, axis=1, keepdims=True)


def centred(f: Any, x: Any) -> tuple[Any, Any]:
    d = x - f.mean(x, axis=1, keepdims=True)
    return d, f.mean(d * d, axis=1, keepdims=True)


def layer_norm(f: Any, x: Any, w: Any) -> Any:
    d, variance = centred(f, x)
    return d / f.sqrt(variance + 0.00001) * w + 1


def log_sum_exp(f: Any, x: Any) -> Any:
    m = f.max(x, axis=1, keepdims=True)
    return m + f.log(f.sum(f.exp(x - m), axis=1, keepdims=True))


def sobel(f: Any, x: Any) -> Any:
    a, b = x[:-2] + 2 * x[1:-1] + x[2:], x[2:] - x[:-2]
    across, down = a[:, 2:] - a[:, :-2], b[:, :-2] + 2 * b[:, 1:-1] + b[:, 2:]
    return f.sqrt(across * across + down * down)


def nine(x: Any) -> Any:
    total = x[1:-1, 1:-1] * 0.2
    for i in range(3):
        for j in range(3):
            total = total + x[i : x.shape[0] - 2 + i, j : x.shape[1] - 2 + j] * 0.1
    return total


def gelu(f: Any, x: Any) -> Any:
    return 0.5 * x * (1 + f.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def black_scholes(f: Any, x: Any, y: Any) -> tuple[Any, Any]:
    spot, strike = f.abs(x) + 1, f.abs(y) + 1
    d1 = (f.log(spot / strike) + 0.07) / 0.3
    d2 = d1 - 0.3
    # The normal distribution by the logistic one, within 0.01, which both libraries have.
    call = spot / (1 + f.exp(-1.702 * d1)) - strike * 0.95 / (1 + f.exp(-1.702 * d2))
    return call, call + strike * 0.95 - spot


def adam(f: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    m, v = 0.9 * x + 0.1 * y, 0.99 * f.abs(x) + 0.01 * y * y
    return m, v, x - 0.001 * m / (f.sqrt(v) + 0.0001)


def with_row_sums(f: Any, x: Any) -> tuple[Any, Any]:
    return x, f.sum(x, axis=1)


def several(*made: Any) -> tuple[Any, ...]:
    return made


def cosine(f: Any, x: Any, y: Any) -> Any:
    lengths = f.sqrt(f.sum(x * x, axis=1)) * f.sqrt(f.sum(y * y, axis=1))
    return f.sum(x * y, axis=1) / lengths


def distances(f: Any, x: Any, y: Any) -> Any:
    d = x[:60, None, :] - y[None, :50, :]
    return f.sum(d * d, axis=2)


CASES: dict[str, tuple[int, Callable[..., Any]]] = {
    "softmax of rows": (1, lambda f, x, y, w: softmax(f, x)),
    "softmax of columns": (1, lambda f, x, y, w: softmax(f, x[:30].T)),
    "layer norm": (1, lambda f, x, y, w: layer_norm(f, x, w)),
    "RMS norm": (1, lambda f, x, y, w: x / f.sqrt(f.mean(x * x, axis=1, keepdims=True) + 0.00001) * w),
    "variance of rows": (1, lambda f, x, y, w: centred(f, x)[1]),
    "mean and variance": (1, lambda f, x, y, w: several(f.mean(x, axis=1), centred(f, x)[1])),
    "log-sum-exp": (1, lambda f, x, y, w: log_sum_exp(f, x)),
    "Sobel magnitude": (1, lambda f, x, y, w: sobel(f, x)),
    "5-point stencil": (
        1,
        lambda f, x, y, w: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:],
    ),
    "9-point stencil": (1, lambda f, x, y, w: nine(x)),
    "heat step of x.T": (1, lambda f, x, y, w: x.T[1:-1] + 0.1 * (x.T[2:] - 2 * x.T[1:-1] + x.T[:-2])),
    "GELU": (1, lambda f, x, y, w: gelu(f, x)),
    "SiLU": (1, lambda f, x, y, w: x / (1 + f.exp(-x))),
    "call price": (1, lambda f, x, y, w: black_scholes(f, x, y)[0]),
    "call and put": (1, lambda f, x, y, w: black_scholes(f, x, y)),
    "a + b and a - b": (1, lambda f, x, y, w: several(x + y, x - y)),
    "a wanted intermediate": (1, lambda f, x, y, w: several(x * 2, x * 2 + y)),
    "sum, max and min of rows": (1, lambda f, x, y, w: several(*(g(x, axis=1) for g in (f.sum, f.max, f.min)))),
    "sum, max and min of all": (2, lambda f, x, y, w: several(f.sum(x), f.max(x), f.min(x))),
    "sum and sum of squares": (2, lambda f, x, y, w: several(f.sum(x), f.sum(x * x))),
    "y = 2x and its row sums": (1, lambda f, x, y, w: with_row_sums(f, x * 2)),
    "normalised by the max of all": (3, lambda f, x, y, w: x / f.max(f.abs(x))),
    "mean squared error": (2, lambda f, x, y, w: f.mean((x - y) * (x - y))),
    "cosine similarity": (1, lambda f, x, y, w: cosine(f, x, y)),
    "polynomial": (1, lambda f, x, y, w: (((0.1 * x + 0.2) * x - 0.3) * x + 0.4) * x + 0.5),
    "clip": (1, lambda f, x, y, w: f.minimum(f.maximum(x, -0.5 + 0 * x), 0.5 + 0 * x)),
    "where chain": (1, lambda f, x, y, w: f.where(x > 1, x, f.where(x > 0, y, f.where(y > 0, -x, -y)))),
    "thresholds": (1, lambda f, x, y, w: several(x > 0, x > 1, x > 2)),
    "outer difference": (1, lambda f, x, y, w: w[:, None] - w[None, :]),
    "pairwise distances": (1, lambda f, x, y, w: distances(f, x, y)),
    "momentum step": (1, lambda f, x, y, w: several(0.9 * x + y, x - 0.1 * (0.9 * x + y))),
    "Adam step": (1, lambda f, x, y, w: adam(f, x, y)),
    "complex product": (1, lambda f, x, y, w: several(x * y - w * (x + y), x * w + y * (x - y))),
}


def made(make: Callable[..., Any], library: Any, *operands: Any) -> tuple[Any, ...]:
    found = make(library, *operands)
    return found if isinstance(found, tuple) else (found,)


def planned(name: str, target: str) -> tuple[int, int, int]:
    """Kernels, bytes moved, and the least bytes."""
    runtime = InterpretedRuntime(TARGETS[target])
    with xp.use(runtime):  # type: ignore[arg-type]
        operands = [xp.asarray(np.zeros(shape, "f4")) for shape in ((2048, 640), (2048, 640), (640,))]
        arrays = made(CASES[name][1], xp, *operands)
        found = plan([one._node for one in arrays], runtime)
        text = explain(found, [one._node.storage for one in operands])
    return counted(text)


def counted(text: str) -> tuple[int, int, int]:
    """The same of what `explain` says."""
    (line,) = [line for line in text.splitlines() if " bytes moved, " in line]
    words = line.replace(",", "").split()
    return int(words[0]), int(words[2]), int(words[5])


@contextmanager
def names_kept(held: list[Any]) -> Iterator[None]:
    """The arrays that expressions have names for come into a list, as if these were a user's who still has them."""

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code.co_filename == __file__:
            held.extend(value for value in frame.f_locals.values() if isinstance(value, ArrayCore))

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(before)


def planned_with_names(name: str, target: str) -> tuple[tuple[int, int, int], list[str]]:
    """Kernels and bytes where everything that has a name is held, and what is kept for that."""
    runtime = InterpretedRuntime(TARGETS[target])
    held: list[Any] = []
    with xp.use(runtime):  # type: ignore[arg-type]
        operands = [xp.asarray(np.zeros(shape, "f4")) for shape in ((2048, 640), (2048, 640), (640,))]
        with names_kept(held):
            arrays = made(CASES[name][1], xp, *operands)
        assert len(held) >= 3  # the operands, at least
        text = str(xp.explain(*arrays))
    return counted(text), [line for line in text.splitlines() if " is kept, since somebody holds it: " in line]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str, target: str) -> None:
    kernels, moved, least = planned(name, target)
    assert kernels <= CASES[name][0]
    if CASES[name][0] == 1 and "stencil" not in name and name not in {"Sobel magnitude", "heat step of x.T"}:
        assert moved <= 1.05 * least


COSTLY = {("call price", "cpu"): 2, ("call and put", "cpu"): 2}
"""Named values that take longer to compute again than to write down, by expression and target: they are kept."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_names_for_intermediates_move_no_more(name: str, target: str) -> None:
    """What is of a row only has its result anyway, which is little."""
    kernels, moved, _ = planned(name, target)
    (kernels_named, moved_named, _), kept = planned_with_names(name, target)
    assert kernels_named == kernels
    assert len(kept) == COSTLY.get((name, target), 0)
    assert all(": computing it again takes " in line for line in kept)
    assert moved_named <= 1.05 * moved + len(kept) * 2048 * 640 * 4


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, target: str) -> None:
    rng = np.random.default_rng(0)
    hosts = [rng.standard_normal(shape).astype("f4") for shape in ((35, 53), (35, 53), (53,))]
    runtime = InterpretedRuntime(replace(TARGETS[target], compute_units=2, group_size=32))
    with xp.use(runtime):  # type: ignore[arg-type]
        arrays = made(CASES[name][1], xp, *map(xp.asarray, hosts))
        xp.compute(*arrays)
        found = [one.numpy() for one in arrays]
    for one, other in zip(found, made(CASES[name][1], np, *hosts), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_the_table(repository: Path, update_golden: bool) -> None:
    lines = [
        "Planned for two matrices of 2048 × 640 float32 and a row of 640, for a GPU of 16 compute units with 16-byte",
        "accesses and a CPU of 8 cores with 64-byte ones. The least bytes are the inputs' elements that are read, and",
        "the results, each moved once. Of each kernel an element counts once, also where a later pass over a row reads",
        "it again. `tests/unit/plan/test_fusion_counts.py` has the expressions; with `--update-golden` it writes this.",
        "",
        "| expression | kernels, GPU | bytes over the least | kernels, CPU | bytes over the least |",
        "|---|---|---|---|---|",
    ]
    for name in CASES:
        cells = []
        for target in TARGETS:
            kernels, moved, least = planned(name, target)
            cells += [str(kernels), f"{moved / least:.2f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    file = repository / "docs" / "FUSION.md"
    mark = "<!-- counts: written by tests/unit/plan/test_fusion_counts.py -->\n"
    before, _, found = file.read_text(encoding="utf-8").partition(mark)
    text = "\n".join(lines) + "\n"
    if update_golden:
        file.write_text(before + mark + text, encoding="utf-8")
        found = text
    assert found == text


@pytest.mark.parametrize("target", TARGETS)
def test_a_view_that_is_wanted_and_read_is_not_copied(target: str) -> None:
    x = np.arange(40.0, dtype="f4").reshape(4, 10)
    with xp.use(InterpretedRuntime(TARGETS[target])) as runtime:
        total = xp.sum(xp.asarray(x), axis=1)
        view = total[1:3]
        beside = view * 2
        xp.compute(view, beside)
        kernels = [launch.kernel.name for launch in runtime.launched]
        assert (view.numpy() == x.sum(1)[1:3]).all()
        assert (beside.numpy() == 2 * x.sum(1)[1:3]).all()
    assert "copy" not in kernels
    assert len(kernels) == 2
