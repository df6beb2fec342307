"""`einsum` against NumPy's over random subscripts, shapes and dtypes, by the interpreter of kernel IR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_runtime.arrays import Array
from ocl_runtime.errors import Error
from tests.support.arrays import DTYPES
from tests.support.interpreted import InterpretedRuntime

_LABELS = "abcXY"
_DTYPES = [*DTYPES, "c8", "c16"]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[np.ndarray]]:
    """Subscripts with repeated labels, axes of length 1 that are repeated and ellipses, and operands of small whole
    numbers. Mostly they fit."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    lengths = {label: draw(st.sampled_from([0, 1, 2, 2, 3, 3])) for label in _LABELS}
    dots = draw(st.sampled_from([None, (), (2,), (3, 2)]))
    terms, hosts = [], []
    dtype = draw(st.sampled_from(_DTYPES))
    for _ in range(draw(st.integers(1, 4))):
        labels = draw(st.lists(st.sampled_from(_LABELS), max_size=3))
        own: dict[str, int] = {}
        for label in labels:
            own.setdefault(label, 1 if draw(st.integers(0, 7)) == 0 else lengths[label])
        shape, term = [own[label] for label in labels], "".join(labels)
        if dots is not None and draw(st.booleans()):
            at, count = draw(st.integers(0, len(labels))), draw(st.integers(0, len(dots)))
            front = [1 if draw(st.integers(0, 5)) == 0 else length for length in dots[len(dots) - count :]]
            shape[at:at], term = front, f"{term[:at]}...{term[at:]}"
        if draw(st.integers(0, 30)) == 0:  # that does not fit
            shape.append(2)
        terms.append(term)
        kind = np.dtype(draw(st.sampled_from(_DTYPES)) if draw(st.booleans()) else dtype)
        hosts.append(rng.integers(0 if kind.kind in "ub" else -2, 3, shape).astype(kind))
    text = ",".join(terms)
    if draw(st.booleans()):
        used = sorted({label for term in terms for label in term if label != "."})
        output = draw(st.lists(st.sampled_from(used), unique=True)) if used else []
        at = draw(st.integers(0, len(output)))
        ellipsis = "..." if dots is not None or draw(st.booleans()) else ""
        text += f"->{''.join(output[:at])}{ellipsis}{''.join(output[at:])}"
    return text, hosts


def compared(expected: Any, found: Any) -> None:
    assert isinstance(found, Array)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.numpy(), expected)


@given(calls(), st.sampled_from([False, True, "greedy", "optimal", ("greedy", 2)]))
def test_any_subscripts(call: tuple[str, list[np.ndarray]], optimize: Any) -> None:
    text, hosts = call
    with xp.use(InterpretedRuntime()):
        arrays = [ours.asarray(host) for host in hosts]
        try:
            expected = np.einsum(text, *hosts)
        except (ValueError, TypeError) as error:
            with pytest.raises(type(error)):
                ours.einsum(text, *arrays, optimize=optimize)
            return
        compared(np.asarray(expected), ours.einsum(text, *arrays, optimize=optimize))


@given(calls())
def test_lists_of_numbers_mean_what_letters_mean(call: tuple[str, list[np.ndarray]]) -> None:
    text, hosts = call

    def numbers(term: str) -> list[Any]:
        front, dots, behind = term.partition("...")
        letters = [_LABELS.index(label) * 3 for label in front + behind]
        letters[len(front) : len(front)] = [Ellipsis] if dots else []
        return letters

    terms, arrow, output = text.partition("->")
    lists = [numbers(term) for term in terms.split(",")]
    behind = [numbers(output)] if arrow else []
    with xp.use(InterpretedRuntime()):
        arrays = [ours.asarray(host) for host in hosts]
        try:
            expected = np.einsum(*(part for pair in zip(hosts, lists, strict=True) for part in pair), *behind)
        except (ValueError, TypeError) as error:
            with pytest.raises(type(error)):
                ours.einsum(*(part for pair in zip(arrays, lists, strict=True) for part in pair), *behind)
            return
        compared(
            np.asarray(expected),
            ours.einsum(*(part for pair in zip(arrays, lists, strict=True) for part in pair), *behind),
        )


def test_paths_are_numpys_and_the_same_for_a_path_that_is_given() -> None:
    rng = np.random.default_rng(0)
    hosts = [rng.integers(-2, 3, shape).astype("i4") for shape in ((2, 5), (5, 3), (3, 4), (4, 2))]
    with xp.use(InterpretedRuntime()):
        arrays = [ours.asarray(host) for host in hosts]
        for optimize in ("greedy", "optimal", True, False):
            assert ours.einsum_path("ij,jk,kl,li->", *arrays, optimize=optimize) == np.einsum_path(
                "ij,jk,kl,li->", *hosts, optimize=optimize
            )
        for path in ([(0, 1, 2, 3)], [(1, 2), (0, 2), (0, 1)], [(3, 0, 1), (0, 1)]):
            found = ours.einsum("ij,jk,kl,li", *arrays, optimize=["einsum_path", *path])
            compared(np.einsum("ij,jk,kl,li", *hosts), found)
        for path in ([(0, 1)], [(0, 1), (0, 4), (0, 1)], [(0, 0), (0, 1), (0, 1), (0, 1)]):
            with pytest.raises(ValueError, match="in the order"):
                ours.einsum("ij,jk,kl,li", *arrays, optimize=["einsum_path", *path])


def test_what_sums_nothing_is_a_view() -> None:
    with xp.use(InterpretedRuntime()):
        x = ours.asarray(np.arange(9.0).reshape(3, 3))
        ours.einsum("ii->i", x)[...] = -1
        ours.einsum("ij->ji", x)[0, 1] = 7
        ours.einsum("ii->i", x.T)[2] = 5
        np.testing.assert_array_equal(x.numpy(), [[-1, 1, 2], [7, -1, 5], [6, 7, 5]])
        x[:2, :2][...] = 0
        np.testing.assert_array_equal(ours.einsum("ii->i", x[1:, 1:]).numpy(), [0, 5])
        np.testing.assert_array_equal(ours.einsum("ii->i", (x + 1).T).numpy(), [1, 1, 6])


def kernels(text: str, *shapes: tuple[int, ...]) -> list[str]:
    """The kernels that a product takes, by name."""
    runtime = InterpretedRuntime()
    with xp.use(runtime):
        arrays = [ours.asarray(np.ones(shape, "f4")) for shape in shapes]
        runtime.launched.clear()
        ours.einsum(text, *arrays).numpy()
    return [launch.kernel.name for launch in runtime.launched]


def test_products_of_matrices_are_contractions() -> None:
    assert kernels("ij,jk", (3, 4), (4, 5)) == ["contract"]
    assert kernels("jk,ij->ik", (4, 5), (3, 4)) == ["contract"]
    assert kernels("ji,kj->ik", (4, 3), (5, 4)) == ["contract"]  # the sides are exchanged, and nothing is turned
    assert kernels("bij,bjk->bik", (2, 3, 4), (2, 4, 5)) == ["contract"]
    assert kernels("ij,jk,kl", (3, 4), (4, 5), (5, 2)) == ["contract", "contract"]
    assert "contract" not in kernels("ij,jk", (1, 4), (4, 5)) + kernels("ij,j", (3, 4), (4,))


def test_products_of_elements_are_fused_with_their_sum() -> None:
    for text, shapes in (
        ("i,i,i->", [(9,)] * 3),
        ("ij,ij->i", [(4, 6)] * 2),
        ("ij,j->i", [(4, 6), (6,)]),
        ("bi,bi,b->b", [(3, 5), (3, 5), (3,)]),
        ("ij->j", [(4, 6)]),
        ("i,j->ij", [(4,), (6,)]),
    ):
        assert len(kernels(text, *shapes)) == 1, text


def test_how_it_is_called() -> None:
    with xp.use(InterpretedRuntime()):
        x = ours.asarray(np.ones((2, 3), "f4"))
        wide = ours.einsum("ij->i", x, dtype="f8")
        assert wide.dtype == np.float64
        with pytest.raises(TypeError, match="rule 'safe'"):
            ours.einsum("ij->i", x, dtype="i4")
        assert ours.einsum("ij->i", x, dtype="i4", casting="unsafe").dtype == np.int32
        out = ours.zeros(2)
        assert ours.einsum("ij->i", x, out=out) is out
        assert out.numpy().tolist() == [3, 3]
        with pytest.raises(TypeError, match="rule 'safe'"):
            ours.einsum("ij->i", wide[:, None], out=ours.zeros(2, "f4"))
        assert isinstance(np.einsum("ij->", x), Array)  # NumPy's own function comes here
        assert isinstance(np.einsum(x, [0, 1], [1]), Array)
        for wrong in (("i",), ("i1", x), ("i.j", x), ("i....", x), (), (x, ["i"]), (x, [0, 70]), ("ij->ik", x)):
            with pytest.raises((ValueError, TypeError)):
                ours.einsum(*wrong)
        with pytest.raises(ValueError, match="'i' has lengths 2 and 3"):
            ours.einsum("ij,i", x, ours.zeros(3))
        with pytest.raises(Error, match="order='F'"):
            ours.einsum("ij", x, order="F")
        with pytest.raises(Error, match="einsum_call"):
            ours.einsum_path("ij", x, einsum_call=True)
