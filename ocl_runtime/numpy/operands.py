"""What functions take as NumPy does: anything that makes an array, `out=`, `where=`, and what cannot be honoured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.guards import NUMBERS, PythonNumber
from ocl_ir.source_line import calling_line
from ocl_ir.types import F64
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import executor_of
from ocl_runtime.arrays.current_runtime import executor_for
from ocl_runtime.arrays.hosts import host_values
from ocl_runtime.arrays.meaning.dtypes import common_of, to_dtype
from ocl_runtime.arrays.meaning.writing import fitted
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.numpy.promotion import DTypeLike, can_cast, dtype_of, on_device
from ocl_runtime.plan.executor import Executor

NOT_GIVEN: Any = np._NoValue
"""NumPy's own mark of an argument that was left out; libraries pass it on."""

Operand: TypeAlias = Array | PythonNumber | np.generic
"""What a function of the standard takes: Python's numbers are weak, NumPy's have their dtype."""


class NoArrayError(DTypeError):
    """Something that no array of the device can be made of; NumPy may know arrays of it."""


# ---------------------------------------------------------------------- arrays


def array_of(x: Any, dtype: DTypeLike = None, executor: Executor | None = None) -> Array:
    """Anything as an array, with the dtype that NumPy would give it; `executor` uploads what is on the host."""
    if not isinstance(x, Array):
        executor = executor or executor_of("array", arrays_in(x))
        if dtype is not None and is_weak(x):  # which must have a value in it, as in NumPy
            return Array(fitted(x, to_dtype(on_device(dtype_of(dtype), executor)), ()), executor)
        with xp.use(executor):
            try:
                x = _made(x, executor)
            except DTypeError as error:
                raise NoArrayError(error.fact, place=error.place, remedy=error.remedy) from None
    return x if dtype is None or x.dtype == dtype_of(dtype) else xp.astype(x, on_device(dtype_of(dtype), x._executor))


def _made(x: Any, executor: Executor) -> Array:
    if is_weak(x) or (isinstance(x, np.generic | np.ndarray) and not x.ndim):  # not moved: a constant of the kernel
        number = np.asarray(x)
        return xp.full((), number.item(), dtype=on_device(number.dtype, executor))
    if isinstance(x, list | tuple) and arrays_in(x):
        parts = [array_of(part, executor=executor) for part in x]
        return xp.stack([xp.astype(part, common(*parts), copy=False) for part in parts])
    if isinstance(x, list | tuple | range):
        host = host_values(x, F64)
        return xp.asarray(host.astype(on_device(host.dtype, executor), copy=False))
    return xp.asarray(x)


def arrays_in(x: Any) -> list[Array]:
    """The arrays in nested lists and tuples."""
    if isinstance(x, Array):
        return [x]
    if isinstance(x, list | tuple):
        return [array for part in x for array in arrays_in(part)]
    return []


_OPERANDS = (Array, *NUMBERS, np.bool_, np.number)


def operands(what: str, values: Iterable[Any]) -> tuple[list[Operand], Executor]:
    """Operands as arrays and numbers, and the runtime of the arrays. Without any array, numbers become some.

    Raises `MixedDevicesError` for arrays of two runtimes, and as `array_of` does.
    """
    parts = tuple(values)
    executor = executor_of(what, arrays_in(parts))
    terms: list[Operand] = [x if isinstance(x, _OPERANDS) else array_of(x, executor=executor) for x in parts]
    if not any(isinstance(x, Array) for x in terms):
        terms = [array_of(x, executor=executor) for x in terms]
    return terms, executor


def arrays(what: str, values: Iterable[Any]) -> list[Array]:
    """Anything as arrays of one runtime. Errors as of `operands`."""
    terms, executor = operands(what, values)
    return [array_of(x, executor=executor) for x in terms]


def is_weak(x: object) -> bool:
    """Whether something is one of Python's numbers, which take the dtype of what is beside them."""
    return isinstance(x, NUMBERS) and not isinstance(x, np.generic)  # NumPy's float64 is a float too


def kind_of(operand: Operand) -> Any:
    """What promotion looks at: a dtype, or int, float or complex for one of Python's numbers."""
    if isinstance(operand, Array | np.generic):
        return dtype_of(operand.dtype)
    if isinstance(operand, bool):
        return np.dtype(np.bool_)
    return complex if isinstance(operand, complex) else float if isinstance(operand, float) else int


def common(*terms: Operand) -> np.dtype[Any]:
    """The dtype that NumPy promotes arrays and Python's numbers to, or float32 for it where there is no float64."""
    executor = executor_of("result_type", [x for x in terms if isinstance(x, Array)])
    return on_device(_promoted(tuple(map(kind_of, terms))), executor)


@lru_cache(maxsize=1024)
def _promoted(kinds: tuple[Any, ...]) -> np.dtype[Any]:
    """Of Python's numbers, NumPy only looks at whether they are ints or floats."""
    promoted: np.dtype[Any] = common_of(*[kind(0) if isinstance(kind, type) else kind for kind in kinds])
    return promoted


def floats(*values: Any) -> list[Array]:
    """Anything as arrays of floats or complex numbers: integers become what NumPy makes of them in a mean or a product
    with a float."""
    return [x if x.dtype.kind in "fc" else array_of(x, np.float64) for x in arrays("float", values)]


def uploaded_floats(values: np.ndarray[Any, Any], beside: Array) -> Array:
    """Floats of the host as an array beside another, in float32 where the device has no float64."""
    executor = beside._executor
    return array_of(values.astype(on_device(values.dtype, executor), copy=False), executor=executor)


def host(x: Any) -> Any:
    """The values of an array as NumPy's; other things as they are, with the arrays in lists, tuples and dicts too."""
    if isinstance(x, Array):
        return x.numpy()
    if isinstance(x, list | tuple):
        parts = [host(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, dict):
        return {key: host(value) for key, value in x.items()}
    return x


# ---------------------------------------------------------------------- out= and where=


def into(what: str, result: Array, out: Any = None, where: Any = True, casting: str = "same_kind") -> Any:
    """The result, or `out` with the result written where `where` holds.

    `out` may be an array of ours or of NumPy's, which is downloaded to, or a tuple with one of them. Without `out`,
    elements where `where` does not hold are 0. Raises `DTypeError` where `casting` does not allow it, `ShapeError` for
    shapes that do not broadcast to that of `out`.
    """
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return result if where is True else xp.where(_mask(where, result), result, xp.zeros_like(result))
    if not isinstance(out, Array | np.ndarray):
        raise DTypeError(
            f"{what} with out= a {type(out).__name__}", place=calling_line(), remedy="give an array to write to"
        )
    check_casting(what, result.dtype, out.dtype, casting)
    if isinstance(out, np.ndarray):
        np.copyto(out, result.numpy(), casting="unsafe", where=host(where))
    elif where is True:
        out[...] = result
    else:
        out[...] = xp.where(_mask(where, out), xp.astype(result, out.dtype), out)
    return out


def _mask(where: Any, beside: Array) -> Array:
    return array_of(where, np.bool_, beside._executor)


def check_casting(what: str, from_: np.dtype[Any], to: np.dtype[Any], casting: str) -> None:
    """Raises `DTypeError` where a rule of NumPy's does not allow a conversion."""
    if not can_cast(from_, to, casting):
        raise DTypeError(
            f"{what} gives {from_}, which the rule {casting!r} does not cast to {to}",
            place=calling_line(),
            remedy="give an out= of that dtype, or say casting='unsafe' where that is an argument",
        )


# ---------------------------------------------------------------------- what cannot be honoured


def only(what: str, *, order: Any = None, subok: Any = False, like: Any = None, **other: Any) -> None:
    """Raises `Error` for arguments that ask for what arrays of a device do not have, `MixedDevicesError` for `like` an
    array of another runtime."""
    if order not in {None, "C", "K", "A"}:
        raise _refused(what, f"order={order!r}", "arrays are in row-major order: leave it out, or transpose them")
    if isinstance(like, Array):
        executor_for(like.device)  # which raises for an array of another runtime
    elif like is not None:
        raise _refused(what, f"like= a {type(like).__name__}", "leave it out: arrays of the device are made")
    del subok  # there are no classes below Array
    for name, value in other.items():
        if value is not None:
            raise _refused(what, f"{name}={value!r}", "leave it out")


def _refused(what: str, argument: str, remedy: str) -> Error:
    return Error(f"{what} does not take {argument}", place=calling_line(), remedy=remedy)


def sizes(shape: Any) -> tuple[int, ...]:
    """A shape from one length or several, which may be arrays with one element."""
    if type(shape) is int:
        return (shape,)
    if isinstance(shape, Array) and shape.ndim == 1:
        shape = shape.numpy().tolist()
    return tuple(shape) if isinstance(shape, Sequence | np.ndarray) else (shape,)
