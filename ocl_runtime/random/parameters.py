"""What a distribution is given, checked, and the shape of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ocl_ir.indices import Shape
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, F64, DType
from ocl_runtime.arrays import Array, asarray, astype, broadcast_shapes
from ocl_runtime.arrays.axes import shape_of
from ocl_runtime.arrays.hosts import host_values, is_array_like
from ocl_runtime.arrays.meaning.dtypes import require, to_dtype
from ocl_runtime.errors import DistributionError, DTypeError, ShapeError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

Size: TypeAlias = "int | Iterable[int] | None"
Parameter: TypeAlias = "float | Array"


class _Constraint(NamedTuple):
    """What a parameter must be. NaN is nothing of it."""

    holds: Callable[[Any], Any]
    fault: str
    remedy: str


_FINITE = _Constraint(np.isfinite, "is infinite", "that is finite")
_NOT_BELOW_0 = _Constraint(lambda x: x >= 0, "is below 0", ">= 0")
_ABOVE_0 = _Constraint(lambda x: x > 0, "is not above 0", "> 0")
_NOT_ABOVE_1 = _Constraint(lambda x: x <= 1, "is above 1", "<= 1")
_BELOW_1 = _Constraint(lambda x: x < 1, "is not below 1", "< 1")
_WHOLE = _Constraint(lambda x: np.floor(x) == x, "is no whole number", "without a fraction")
# Counts are made of float64.
_EXACT = _Constraint(lambda x: x <= 1 << 53, "is above 2**53", "<= 2**53")
_MOST_MEAN = 2.0**63 - 10 * 2.0**31.5
"""As NumPy's: ten standard deviations below what int64 does not hold."""
_COUNTED = _Constraint(lambda x: x <= _MOST_MEAN, f"is above {_MOST_MEAN:.6g}", "that int64 can count")
_TRIALS = (_NOT_BELOW_0, _WHOLE, _EXACT)

_CONSTRAINTS: dict[str, dict[str, tuple[_Constraint, ...]]] = {
    "uniform": {"low": (_FINITE,), "high": (_FINITE,)},
    "normal": {"scale": (_NOT_BELOW_0,)},
    "lognormal": {"sigma": (_NOT_BELOW_0,)},
    "exponential": {"scale": (_NOT_BELOW_0,)},
    "laplace": {"scale": (_NOT_BELOW_0,)},
    "logistic": {"scale": (_NOT_BELOW_0,)},
    "gumbel": {"scale": (_NOT_BELOW_0,)},
    "rayleigh": {"scale": (_NOT_BELOW_0,)},
    "weibull": {"a": (_ABOVE_0,)},
    "pareto": {"a": (_ABOVE_0,)},
    "power": {"a": (_ABOVE_0,)},
    "wald": {"mean": (_ABOVE_0,), "scale": (_ABOVE_0,)},
    "noncentral_chisquare": {"df": (_ABOVE_0,), "nonc": (_NOT_BELOW_0,)},
    "noncentral_f": {"dfnum": (_ABOVE_0,), "dfden": (_ABOVE_0,), "nonc": (_NOT_BELOW_0,)},
    "multivariate_normal": {"mean": (_FINITE,), "cov": (_FINITE,), "tol": (_NOT_BELOW_0,)},
    "standard_gamma": {"shape": (_NOT_BELOW_0,)},
    "gamma": {"shape": (_NOT_BELOW_0,), "scale": (_NOT_BELOW_0,)},
    "chisquare": {"df": (_ABOVE_0,)},
    "beta": {"a": (_ABOVE_0,), "b": (_ABOVE_0,)},
    "f": {"dfnum": (_ABOVE_0,), "dfden": (_ABOVE_0,)},
    "standard_t": {"df": (_ABOVE_0,)},
    "dirichlet": {"alpha": (_ABOVE_0,)},
    "poisson": {"lam": (_NOT_BELOW_0, _COUNTED)},
    "binomial": {"n": _TRIALS, "p": (_NOT_BELOW_0, _NOT_ABOVE_1)},
    "negative_binomial": {"n": (_ABOVE_0,), "p": (_ABOVE_0, _NOT_ABOVE_1)},
    "multinomial": {"n": _TRIALS},
    "geometric": {"p": (_ABOVE_0, _NOT_ABOVE_1)},
    "logseries": {"p": (_NOT_BELOW_0, _BELOW_1)},
}


class Prepared(NamedTuple):
    """What a draw is made with: parameters that are arrays have its dtype, others are floats."""

    dtype: DType
    shape: Shape
    parameters: list[Any]


def prepared(what: str, size: Size, dtype: Any, executor: Executor, parameters: Mapping[str, Any]) -> Prepared:
    """The dtype, the shape and the parameters of a draw. Parameters on the host are checked; arrays of the device are
    not looked at.

    Raises `DistributionError` (a ValueError) for those that are out of range, `DTypeError` for what is no number, and
    what `real_dtype` and `shape_for` do.
    """
    found = checked(what, parameters)
    lists = [parameters[name] for name, value in found.items() if value.ndim]
    real = real_dtype(what, dtype, executor, lists)
    shape = shape_for(what, size, found.values())
    if what in _TOGETHER and not any(isinstance(value, Array) for value in found.values()):
        _TOGETHER[what](real, *found.values())
    return Prepared(real, shape, [_as_real(value, real) for value in found.values()])


def checked(what: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as arrays of the device or of the host; what each of these must be is checked."""
    found = {
        name: value if isinstance(value, Array) else _host(what, name, value) for name, value in parameters.items()
    }
    for name, constraints in _CONSTRAINTS.get(what, {}).items():
        if not isinstance(found[name], Array):
            for constraint in constraints:
                _require(what, name, parameters[name], found[name], constraint)
    return found


def _require(what: str, name: str, value: Any, host: Any, constraint: _Constraint) -> None:
    if not constraint.holds(host).all():
        fault = "is NaN" if np.isnan(host).any() else constraint.fault
        raise DistributionError(
            f"{what} with {name} = {value!r}, which {fault}",
            place=calling_line(),
            remedy=f"give a number {constraint.remedy}",
        )


def _host(what: str, name: str, value: Any) -> Any:
    """An array of NumPy, or a number of it."""
    if isinstance(value, int) and 64 < value.bit_length() < 1024:
        value = float(value)  # beyond the integers of NumPy, and not beyond its floats
    if type(value) is float:
        return np.float64(value)  # the same, sooner
    host = host_values(value, F64) if is_array_like(value) else np.asarray(None)
    if host.dtype.kind not in "biuf":
        raise DTypeError(
            f"{what} with {name} = {value!r}, which is no number", place=calling_line(), remedy="give numbers"
        )
    return host


def _as_real(value: Any, dtype: DType) -> Parameter:
    if isinstance(value, Array):
        return astype(value, dtype.public)
    if not value.ndim:
        return float(value)
    with np.errstate(over="ignore"):  # as a number does that is too great for the dtype, it becomes infinite
        return asarray(value.astype(dtype.numpy))


def real_dtype(what: str, dtype: Any, executor: Executor, arrays: Iterable[Any]) -> DType:
    """The dtype of a draw of reals: what is asked for; else float64 where a parameter is an array of that, and the
    default real, which lists of Python's floats take, too. Raises `DTypeError` for other dtypes than float32 and
    float64, and for what the device lacks."""
    if dtype is None:
        wide = any(
            (value.dtype if isinstance(value, Array) else host_values(value, executor.default_real).dtype) == np.float64
            for value in arrays
        )
        return require(F64, executor.target) if wide else executor.default_real
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
    shapes = [value.shape for value in parameters if isinstance(value, Array | np.ndarray) and value.ndim]
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


def _interval(dtype: DType, low: Any, high: Any) -> None:
    with np.errstate(all="ignore"):
        low, high = low.astype(dtype.numpy), high.astype(dtype.numpy)
        span = high - low
    if not np.isfinite(span).all():
        raise DistributionError(
            f"uniform from {low} to {high}, whose difference is not finite in {dtype.public}",
            place=calling_line(),
            remedy="give nearer bounds" + (", or dtype=float64" if dtype is F32 else ""),
        )
    if (span < 0).any():
        raise DistributionError(
            f"uniform from {low} to {high}, which is below it", place=calling_line(), remedy="give low <= high"
        )


def _triangle(dtype: DType, left: Any, mode: Any, right: Any) -> None:
    if not ((left <= mode) & (mode <= right) & (left < right)).all():
        raise DistributionError(
            f"triangular from {left} by {mode} to {right}",
            place=calling_line(),
            remedy="give left <= mode <= right and left < right",
        )


def _gamma_means(dtype: DType, n: Any, p: Any) -> None:
    """Means are gamma numbers, of which none is ten standard deviations above theirs."""
    with np.errstate(all="ignore"):
        most = (n + 10 * np.sqrt(n)) * ((1 - p) / p)
    if not (most <= _MOST_MEAN).all():
        raise DistributionError(
            f"negative_binomial with n = {n} and p = {p}, of a mean that int64 cannot count",
            place=calling_line(),
            remedy="give a smaller n, or a greater p",
        )


def _degrees_that_count(dtype: DType, df: Any, nonc: Any) -> None:
    """Few degrees, and those of an array, become a Poisson number more."""
    if (df.ndim or df <= 1) and not (nonc <= _MOST_MEAN).all():
        raise DistributionError(
            f"noncentral_chisquare of {df} degrees with nonc = {nonc}, which int64 cannot count",
            place=calling_line(),
            remedy="give a smaller one, or more than 1 degree, as a number",
        )


_TOGETHER: dict[str, Callable[..., None]] = {
    "uniform": _interval,
    "triangular": _triangle,
    "noncentral_chisquare": _degrees_that_count,
    "noncentral_f": lambda dtype, dfnum, dfden, nonc: _degrees_that_count(dtype, dfnum, nonc),
    "negative_binomial": _gamma_means,
}


def probabilities(p: Any, count: int, dtype: DType) -> Array:
    """One probability of a choice for each of so many things; in a dtype if they are on the host, where they are
    checked.

    Raises `DistributionError` for those that are below 0 or do not sum to 1, `DTypeError` for what is no number, and
    `ShapeError` for another number of them.
    """
    host = None if isinstance(p, Array) else _host("choice", "p", p).astype(np.float64)
    shape = p.shape if host is None else host.shape
    if shape != (count,):
        raise ShapeError(
            f"a choice of {count} with probabilities of shape {shape}", place=calling_line(), remedy="give one for each"
        )
    if host is None:
        on_device: Array = p
        return on_device
    _require("choice", "p", p, host, _NOT_BELOW_0)
    if abs(host.sum() - 1) > 1.5e-8:
        raise DistributionError(
            f"choice with p of the sum {host.sum():.9g}", place=calling_line(), remedy="divide p by its sum"
        )
    return asarray(host.astype(dtype.numpy))


def line_of_probabilities(p: Any) -> Any:
    """Probabilities of `multinomial` on the host, along one axis, as float64. The last one is what the others leave.

    Raises `DistributionError` for those that are below 0 or of which all but the last sum to more than 1, `DTypeError`
    for what is no number, `ShapeError` for none, and for other axes.
    """
    values = p.numpy() if isinstance(p, Array) else p
    host = _host("multinomial", "pvals", values).astype(np.float64)
    if host.ndim != 1 or not host.size:
        raise ShapeError(
            f"multinomial with probabilities of shape {host.shape}",
            place=calling_line(),
            remedy="give a line of them, one at least",
        )
    _require("multinomial", "pvals", values, host, _NOT_BELOW_0)
    if host[:-1].sum() > 1 + 1e-12:
        raise DistributionError(
            f"multinomial with pvals of which all but the last have the sum {host[:-1].sum():.9g}",
            place=calling_line(),
            remedy="divide pvals by their sum",
        )
    return np.append(host[:-1], max(0.0, 1.0 - host[:-1].sum()))
