"""Where NumPy's `linalg` means more than the standard's: symmetric matrices, integers, halves, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as np
from ocl_runtime.errors import DTypeError, Error, MatrixShapeError, ShapeError
from tests.support.interpreted import InterpretedRuntime
from tests.support.matrices import adjoint, symmetric

nan = numpy.nan


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made:
        yield made


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_one_triangle_of_symmetric_matrices_is_read(dtype: str) -> None:
    host = symmetric("random", (2, 3, 3), dtype)
    half = np.asarray(numpy.where(numpy.tri(3, dtype=bool), host, host.dtype.type(nan)))
    u, s, vh = (part.numpy() for part in np.linalg.svd(half, hermitian=True))
    numpy.testing.assert_allclose(u * s[:, None] @ vh, host, atol=1e-12)
    numpy.testing.assert_allclose(adjoint(u) @ u, numpy.broadcast_to(numpy.eye(3), u.shape), atol=1e-12)
    numpy.testing.assert_allclose(s, numpy.linalg.svd(host, hermitian=True).S, rtol=1e-9)
    values = np.linalg.svd(half, compute_uv=False, hermitian=True)
    numpy.testing.assert_allclose(values.numpy(), s, rtol=1e-9)
    numpy.testing.assert_allclose(np.linalg.pinv(half, hermitian=True).numpy(), numpy.linalg.inv(host), rtol=1e-9)
    assert np.linalg.matrix_rank(half, hermitian=True).tolist() == [3, 3]
    for triangle in ("U", "u"):
        upper = np.linalg.eigvalsh(np.asarray(numpy.swapaxes(half.numpy(), 1, 2).conj()), UPLO=triangle)
        numpy.testing.assert_allclose(upper.numpy(), numpy.linalg.eigvalsh(host), rtol=1e-9)


@pytest.mark.parametrize("exponent", [0, 1, 5, numpy.int64(2), True, -1])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "c8"])
def test_powers_have_the_dtypes_of_numpys(dtype: str, exponent: Any) -> None:
    host = numpy.array([[[1, 1], [1, 0]]], dtype)
    found, wanted = np.linalg.matrix_power(np.asarray(host), exponent), numpy.linalg.matrix_power(host, exponent)
    assert found.dtype == wanted.dtype
    numpy.testing.assert_allclose(found.numpy(), wanted, atol=1e-6)


HALVES: list[Callable[[Any, Any], Any]] = [
    lambda la, x: la.norm(x),
    lambda la, x: la.norm(x, 1),
    lambda la, x: la.norm(x, axis=1, keepdims=True),
    lambda la, x: la.vector_norm(x, ord=3),
    lambda la, x: la.vector_norm(x, ord=None, axis=0),
    lambda la, x: la.matrix_norm(x),
    lambda la, x: la.matrix_norm(x, ord=-numpy.inf),
]


@pytest.mark.parametrize("function", HALVES)
def test_norms_of_halves_are_halves(function: Callable[[Any, Any], Any]) -> None:
    host = numpy.array([[3, 4], [0, 1]], "f2")
    found, wanted = function(np.linalg, np.asarray(host)), function(numpy.linalg, host)
    assert found.dtype == wanted.dtype
    numpy.testing.assert_allclose(found.numpy(), wanted, rtol=2e-3)


NOT_MATRICES: list[Callable[[Any, Any], Any]] = [
    lambda la, ones: la.inv(ones(2, 3)),
    lambda la, ones: la.inv(ones(3)),
    lambda la, ones: la.det(ones(2, 3)),
    lambda la, ones: la.eig(ones(2, 3)),
    lambda la, ones: la.eigh(ones(3)),
    lambda la, ones: la.cholesky(ones(2, 3)),
    lambda la, ones: la.qr(ones(3)),
    lambda la, ones: la.svd(ones(3)),
    lambda la, ones: la.matrix_power(ones(2, 3), 2),
    lambda la, ones: la.cond(ones(0, 2)),
    lambda la, ones: la.cond(ones(2, 3), 1),
    lambda la, ones: la.lstsq(ones(2, 2, 2), ones(2)),
    lambda la, ones: la.lstsq(ones(2, 2), ones(2, 1, 1)),
    lambda la, ones: la.lstsq(ones(2, 2), ones()),
    lambda la, ones: la.lstsq(ones(2, 2), ones(3)),
    lambda la, ones: la.multi_dot([ones(2, 2, 2), ones(2, 2), ones(2, 2)]),
    lambda la, ones: la.tensorsolve(ones(2, 3, 5), ones(2, 3)),
    lambda la, ones: la.tensorinv(ones(2, 3), ind=1),
]


@pytest.mark.parametrize("function", NOT_MATRICES)
def test_what_are_no_matrices_is_numpys_error_too(function: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(numpy.linalg.LinAlgError):
        function(numpy.linalg, lambda *shape: numpy.ones(shape))
    with pytest.raises(MatrixShapeError) as caught:
        function(np.linalg, lambda *shape: np.ones(shape))
    assert isinstance(caught.value, np.linalg.LinAlgError)
    assert isinstance(caught.value, ShapeError)
    assert "test_numpy_linalg.py" in caught.value.place
    assert caught.value.remedy


REFUSED: list[tuple[Callable[[Any, Any], Any], type[Exception], str]] = [
    (lambda la, x: la.matrix_norm(x, ord="foo"), Error, "matrix_norm with ord='foo'"),
    (lambda la, x: la.matrix_norm(x[:0], ord=3), Error, "matrix_norm with ord=3"),
    (lambda la, x: la.norm(x, [2]), Error, r"matrix_norm with ord=\[2\]"),
    (lambda la, x: la.cond(x, "foo"), Error, "cond with ord='foo'"),
    (lambda la, x: la.cond(x, [1]), Error, r"cond with ord=\[1\]"),
    (lambda la, x: la.norm(x[0], "fro"), Error, "vector_norm with ord='fro'"),
    (lambda la, x: la.vector_norm(x, ord="nuc"), Error, "vector_norm with ord='nuc'"),
    (lambda la, x: la.vector_norm(x, axis=5), IndexError, "vector_norm along axis 5"),
    (lambda la, x: la.qr(x, ["r"]), Error, r"qr in mode \['r'\]"),
    (lambda la, x: la.qr(x, "raw"), Error, "qr in mode 'raw'"),
    (lambda la, x: la.eigh(x, 3), Error, "UPLO=3"),
    (lambda la, x: la.matrix_power(x, 1.5), DTypeError, "matrix_power by 1.5"),
    (lambda la, x: la.pinv(x, 1e-3, rtol=None), Error, "pinv with rcond= and rtol="),
    (lambda la, x: la.matrix_rank(x, 1e-3, rtol=1e-3), Error, "matrix_rank with tol= and rtol="),
    (lambda la, x: la.cross(x, x), ValueError, r"cross of shapes \(2, 2\) and \(2, 2\)"),
    (lambda la, x: la.svd(x[:1], hermitian=True), MatrixShapeError, "svd of matrices"),
    (lambda la, x: la.lstsq(x * nan, x), np.linalg.LinAlgError, "lstsq of a matrix with NaN or infinities"),
    (lambda la, x: la.lstsq(x[:1] * nan, x[:1]), np.linalg.LinAlgError, "lstsq of a matrix with NaN"),
]


@pytest.mark.parametrize(("function", "kind", "fact"), REFUSED)
def test_refuses_in_its_own_words(function: Callable[[Any, Any], Any], kind: type[Exception], fact: str) -> None:
    with pytest.raises(kind, match=fact) as caught:
        function(np.linalg, np.ones((2, 2)))
    assert isinstance(caught.value, Error)
    assert "test_numpy_linalg.py" in caught.value.place
    assert caught.value.remedy


def test_systems_of_no_matrices_are_not_singular() -> None:
    for right in (np.zeros((0, 2, 1)), np.zeros((0, 2, 0))):
        assert np.linalg.solve(np.ones((1, 2, 2)), right).shape == right.shape
    assert np.linalg.solve(np.ones((0, 2, 2)), np.zeros(2)).shape == (0, 2)


def test_only_the_matrix_of_least_squares_must_be_finite() -> None:
    found = np.linalg.lstsq(np.ones((3, 2)), np.asarray([nan, 1, 1]))
    assert numpy.isnan(found.solution.numpy()).all()
    assert int(found.rank) == 1


def test_tolerances_of_the_host() -> None:
    host = numpy.array([numpy.diag([1, 1e-2, 1e-4])] * 3)
    limits = numpy.array([1e-1, 1e-3, 1e-5])
    for how in ({"tol": limits}, {"tol": limits.tolist()}, {"rtol": limits}, {"rtol": limits.tolist()}):
        assert numpy.linalg.matrix_rank(np.asarray(host), **how).tolist() == [1, 2, 3]
    found, wanted = numpy.linalg.pinv(np.asarray(host), limits), numpy.linalg.pinv(host, limits)
    numpy.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9)


def test_two_arrays_are_multiplied_as_by_dot() -> None:
    cube, vector = numpy.arange(8).reshape(2, 2, 2), numpy.arange(2)
    for pair in ((cube, vector), (vector, vector), (cube, cube)):
        found = np.linalg.multi_dot([np.asarray(part) for part in pair])
        numpy.testing.assert_array_equal(found.numpy(), numpy.linalg.multi_dot(pair))
    bools = [numpy.eye(2, dtype=bool)] * 3
    assert np.linalg.multi_dot(bools).dtype == numpy.linalg.multi_dot(bools).dtype
