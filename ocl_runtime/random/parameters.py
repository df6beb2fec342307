"""What a distribution is given, checked, and the shape of what it gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ocl_ir.indices import Shape
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, F64, DType
from ocl_runtime.arrays import Array, asarray, astype, broadcast_shapes
from ocl_runtime.arrays.axes import shape_of
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.errors import DistributionError, DTypeError, ShapeError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

Size: TypeAlias = "int | Iterable[int] | None"
Parameter: TypeAlias = "float | Array"


def real_dtype(what: str, dtype: Any, executor: Executor, parameters: Iterable[Any] = ()) -> DType:
    """The dtype of a draw of reals: what is asked for; else float64 where a parameter is an array of that, and the
    default real. Raises `DTypeError` for other dtypes than float32 and float64, and for what the device lacks."""
    if dtype is None:
        wide = any(isinstance(value, Array) and value._dtype is F64 for value in parameters)
        return F64 if wide else executor.default_real
    wanted = to_dtype(dtype)
    if wanted not in {F32, F64}:
        raise DTypeError(
            f"{what} draws float32 and float64, not {wanted.public}",
            place=calling_line(),
            remedy="convert the draw: astype(x, dtype)",
        )
    return require(wanted, executor.target)


def shape_for(what: str, size: Size, parameters: Iterable[Any]) -> Shape:
    """The shape of a draw: `size`, to which the parameters must broadcast; without one, what they broadcast to.

    Raises `ShapeError`.
    """
    shapes = [value.shape for value in parameters if isinstance(value, Array)]
    if size is None:
        return broadcast_shapes(*shapes) if shapes else ()
    shape = shape_of(size)
    if shapes and broadcast_shapes(shape, *shapes) != shape:
        raise ShapeError(
            f"{what} of size {shape} with parameters of shapes {', '.join(map(str, shapes))}",
            place=calling_line(),
            remedy="give a size that the parameters broadcast to, or none",
        )
    return shape


def given(what: str, at_least: float | None = None, **parameters: Any) -> list[Any]:
    """Parameters as numbers and arrays. Those on the host are checked: none may be below `at_least`, nor NaN. Arrays of
    the device are not looked at.

    Raises `DistributionError` (a ValueError), and `DTypeError` for what is no number.
    """
    values = []
    for name, value in parameters.items():
        if isinstance(value, Array):
            values.append(value)
            continue
        host = _host(what, name, value)
        if at_least is not None and not (host >= at_least).all():
            raise DistributionError(
                f"{what} with {name} = {value!r}, which is below {at_least:g}",
                place=calling_line(),
                remedy=f"give a {name} that is not",
            )
        values.append(asarray(host) if host.ndim else host.item())
    return values


def above(what: str, **parameters: Any) -> None:
    """Raises `DistributionError` where a parameter on the host is not above 0."""
    for name, value in parameters.items():
        if not isinstance(value, Array) and not (_host(what, name, value) > 0).all():
            raise DistributionError(
                f"{what} with {name} = {value!r}, which is not above 0",
                place=calling_line(),
                remedy=f"give a {name} that is",
            )


def trials(what: str, n: Any) -> Any:
    """A number of trials, or an array of them. Raises `DistributionError` for what on the host is below 0 or no whole
    number, and as `given` does."""
    (values,) = given(what, 0.0, n=n)
    if not isinstance(n, Array) and (_host(what, "n", n) % 1 != 0).any():
        raise DistributionError(
            f"{what} with n = {n!r}, which is no whole number", place=calling_line(), remedy="give an n that is"
        )
    return values


def shares(what: str, p: Any) -> Any:
    """A probability, or an array of them. Raises `DistributionError` for what on the host is below 0 or above 1."""
    (values,) = given(what, 0.0, p=p)
    if not isinstance(p, Array) and (_host(what, "p", p) > 1).any():
        raise DistributionError(
            f"{what} with p = {p!r}, which is above 1", place=calling_line(), remedy="give a p that is not"
        )
    return values


def triangle(what: str, left: Any, mode: Any, right: Any) -> None:
    """Raises `DistributionError` where corners on the host are not in this order, or all are one."""
    if any(isinstance(value, Array) for value in (left, mode, right)):
        return
    left, mode, right = (_host(what, name, value) for name, value in (("left", left), ("mode", mode), ("right", right)))
    if not ((left <= mode) & (mode <= right) & (left < right)).all():
        raise DistributionError(
            f"{what} from {left} by {mode} to {right}",
            place=calling_line(),
            remedy="give left <= mode <= right and left < right",
        )


def _host(what: str, name: str, value: Any) -> Any:
    host = np.asarray(value)
    if host.dtype.kind not in "biuf":
        raise DTypeError(
            f"{what} with {name} = {value!r}, which is no number", place=calling_line(), remedy="give numbers"
        )
    return host


def as_reals(dtype: DType, values: Iterable[Any]) -> list[Any]:
    """Arrays among parameters in the dtype of a draw; numbers, which take it by themselves, as floats."""
    return [astype(value, dtype.public) if isinstance(value, Array) else float(value) for value in values]


def probabilities(p: Any, count: int, dtype: DType) -> Array:
    """One probability for each of so many things, in a dtype if they are on the host, where they are checked.

    Raises `DistributionError` for those that are below 0 or do not sum to 1, `ShapeError` for another number of them.
    """
    if not isinstance(p, Array):
        host = np.asarray(p, np.float64)
        if not (host >= 0).all() or abs(host.sum() - 1) > 1.5e-8:
            raise DistributionError(
                "probabilities that are below 0 or do not sum to 1", place=calling_line(), remedy="divide by their sum"
            )
        p = asarray(host.astype(dtype.numpy))
    given: Array = p
    if given.shape != (count,):
        raise ShapeError(
            f"a choice of {count} with probabilities of shape {given.shape}",
            place=calling_line(),
            remedy="give one for each",
        )
    return given


def line_of_probabilities(p: Any) -> Any:
    """Probabilities on the host, along one axis, as float64. The last one is what the others leave.

    Raises `DistributionError` for those that are below 0 or of which all but the last sum to more than 1, `ShapeError`
    for none, and for other axes.
    """
    host = np.asarray(p.numpy() if isinstance(p, Array) else p, np.float64)
    if host.ndim != 1 or not host.size:
        raise ShapeError(
            f"probabilities of shape {host.shape}", place=calling_line(), remedy="give a line of them, one at least"
        )
    if not (host >= 0).all() or host[:-1].sum() > 1 + 1e-12:
        raise DistributionError(
            "probabilities that are below 0 or sum to more than 1", place=calling_line(), remedy="divide by their sum"
        )
    return np.append(host[:-1], max(0.0, 1.0 - host[:-1].sum()))
