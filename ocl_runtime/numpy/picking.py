"""NumPy's functions that take elements at places, choose among arrays, and write to places.

Places in arrays on the device cannot raise anything: what is out of bounds there is the nearest element. Those on the
host are checked at the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.errors import DTypeError, Error, IndexingError, ShapeError
from ocl_runtime.numpy.joining import resize
from ocl_runtime.numpy.operands import array_of, check_casting, common, host, into, is_weak, operands
from ocl_runtime.numpy.places import unravel_index
from ocl_runtime.numpy.shapes import lying
from ocl_runtime.plan.executor import Executor

__all__ = [
    "argwhere", "choose", "compress", "copyto", "extract", "flatnonzero", "nonzero", "piecewise", "place", "put",
    "put_along_axis", "putmask", "select", "take", "take_along_axis", "where",
]  # fmt: skip


# ---------------------------------------------------------------------- by conditions


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """The elements of `x` where the condition is not 0, else those of `y`; with the condition alone, as `nonzero`."""
    if x is None and y is None:
        return nonzero(condition)
    if type(condition) is type(x) is type(y) is Array and condition._dtype is BOOL and x._dtype is y._dtype:
        return xp.where(condition, x, y)
    (test, *choices), executor = operands("where", (condition, x, y))
    dtype = common(*choices)
    if all(map(is_weak, choices)):
        choices[0] = array_of(choices[0], dtype, executor)
    first, second = (choice if is_weak(choice) else array_of(choice, dtype, executor) for choice in choices)
    return xp.where(array_of(test, np.bool_, executor), first, second)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """The elements of the first choice whose condition holds, else of `default`.

    Raises `ShapeError` for another number of conditions than of choices, `DTypeError` for conditions that are not bool.
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ShapeError(
            f"select with {len(condlist)} conditions and {len(choicelist)} choices",
            place=calling_line(),
            remedy="give one choice for each condition",
        )
    terms, executor = operands("select", (*condlist, *choicelist, default))
    tests = [array_of(x, executor=executor) for x in terms[: len(condlist)]]
    if any(test.dtype != np.bool_ for test in tests):
        raise DTypeError("select by what is not bool", place=calling_line(), remedy="compare first, as in x != 0")
    dtype = common(*terms[len(condlist) :])
    *choices, result = (array_of(x, dtype, executor) for x in terms[len(condlist) :])
    for test, choice in zip(reversed(tests), reversed(choices), strict=True):
        result = xp.where(test, choice, result)
    return result


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """A function, or a number, of the elements for which each condition holds; one more is for all others. How many
    elements there are for a function is waited for."""
    array = array_of(x)
    if not isinstance(condlist, list | tuple) or (
        array.ndim and not isinstance(condlist[0], list | Array | np.ndarray)
    ):
        condlist = [condlist]
    tests = [xp.broadcast_to(array_of(condition, np.bool_, array._executor), array.shape) for condition in condlist]
    if len(funclist) == len(tests) + 1:
        tests.append(xp.logical_not(xp.any(xp.stack(tests), axis=0)))
    if len(funclist) != len(tests):
        raise ShapeError(
            f"piecewise with {len(tests)} conditions and {len(funclist)} functions",
            place=calling_line(),
            remedy="give one function for each condition, and one more if you like",
        )
    result = xp.zeros_like(array)
    for test, function in zip(tests, funclist, strict=True):
        result[test] = function(array[test], *args, **kw) if callable(function) else function
    return result


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element of `a` that of the choice with this number. Numbers of none count as the nearest, or from the
    front again with `mode="wrap"`."""
    _check_mode("choose", mode)
    (chosen, *terms), executor = operands("choose", (a, *choices))
    dtype = common(*terms)
    options = [array_of(x, dtype, executor) for x in terms]
    index = array_of(chosen, executor=executor)
    if mode == "wrap":
        index = xp.remainder(index, len(options))
    result = options[-1]
    for number in reversed(range(len(options) - 1)):
        result = xp.where(xp.less_equal(index, number), options[number], result)
    return into("choose", xp.broadcast_arrays(result, index, *options)[0], out)


def _check_mode(what: str, mode: str) -> None:
    if mode not in {"raise", "wrap", "clip"}:
        raise Error(f"{what} has no mode {mode!r}", place=calling_line(), remedy="use raise, wrap or clip")


# ---------------------------------------------------------------------- where something is not 0


def nonzero(a: Any) -> tuple[Array, ...]:
    """The coordinates of the elements that are not 0; their number is waited for."""
    return xp.nonzero(array_of(a))


def flatnonzero(a: Any) -> Array:
    """The places in the flat array of the elements that are not 0; their number is waited for."""
    return xp.nonzero(xp.reshape(array_of(a), -1))[0]


def argwhere(a: Any) -> Array:
    """The coordinates of the elements that are not 0, one row for each; their number is waited for."""
    x = array_of(a)
    return xp.stack(xp.nonzero(x), axis=1) if x.ndim else xp.zeros((int(bool(x)), 0), dtype=np.int64)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The parts along an axis for which a condition holds; without an axis, of the flat array. Their number is waited
    for."""
    (test, x), executor = operands("compress", (condition, a))
    array = array_of(x, executor=executor)
    array, axis = (xp.reshape(array, -1), 0) if axis is None else (array, axis)
    return into("compress", xp.take(array, flatnonzero(test), axis=axis), out)


def extract(condition: Any, arr: Any) -> Array:
    """The elements for which a condition holds; their number is waited for."""
    (test, x), executor = operands("extract", (condition, arr))
    return xp.take(xp.reshape(array_of(x, executor=executor), -1), flatnonzero(test))


# ---------------------------------------------------------------------- by places


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """The parts at places along an axis; without an axis, of the flat array."""
    x = array_of(a)
    x, axis = (xp.reshape(x, -1), 0) if axis is None else (x, axis_of("take", axis, x.ndim))
    return into("take", xp.take(x, _within("take", indices, x.shape[axis], mode, x._executor), axis=axis), out)


def _within(what: str, indices: Any, length: int, mode: str, executor: Executor) -> Any:
    """Places as `mode` has it; those on the host stay there, where they are checked."""
    _check_mode(what, mode)
    if mode == "raise":
        return indices if isinstance(indices, Array) else np.asarray(host(indices))
    index_array = array_of(indices, executor=executor)
    return xp.remainder(index_array, length) if mode == "wrap" else xp.minimum(xp.maximum(index_array, 0), length - 1)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Array:
    """The elements at places along an axis that differ along the others; without an axis, of the flat array."""
    x = array_of(arr)
    index_array = indices if isinstance(indices, Array) else np.asarray(host(indices))
    if axis is None:
        return xp.take(xp.reshape(x, -1), index_array)
    return xp.take_along_axis(x, index_array, axis=axis)


# ---------------------------------------------------------------------- writing


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Writes elements, broadcast, to an array of ours, or of NumPy's, which is downloaded to."""
    if isinstance(dst, np.ndarray):
        np.copyto(dst, host(src), casting=casting, where=host(where))  # type: ignore[arg-type]
        return
    fits = is_weak(src) and (dst.dtype.kind == "f" or not isinstance(src, float))
    source = array_of(src, dst.dtype if fits else None, dst._executor)
    into("copyto", source, dst, where, casting)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Writes values, from the front again when they are used up, to places of the flat array."""
    if isinstance(a, np.ndarray):
        np.put(a, host(ind), host(v), mode=mode)  # type: ignore[arg-type]
        return
    indices = xp.reshape(array_of(_checked(ind, a.size, mode, a._executor), executor=a._executor), -1)
    indices = xp.where(xp.less(indices, 0), indices + a.size, indices)
    values = array_of(v, a.dtype if is_weak(v) else None, a._executor)
    a[unravel_index(indices, a.shape)] = resize(values, indices.shape)


def _checked(ind: Any, count: int, mode: str, executor: Executor) -> Any:
    """Places of a flat array; out of bounds on the host they raise `IndexingError`."""
    if mode == "raise" and not isinstance(ind, Array):
        indices = np.asarray(host(ind))
        if indices.size and not -count <= int(indices.min()) <= int(indices.max()) < count:
            raise IndexingError(
                f"put at places that {count} elements do not have", place=calling_line(), remedy='see mode="clip"'
            )
        return indices
    return ind if mode == "raise" else _within("put", ind, count, mode, executor)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes values to places along an axis that differ along the others; without an axis, to the flat array."""
    if isinstance(arr, np.ndarray):
        np.put_along_axis(arr, host(indices), host(values), axis)
        return
    index_array = array_of(indices, executor=arr._executor)
    if axis is None:
        put(arr, index_array, values)
        return
    axis = axis_of("put_along_axis", axis, arr.ndim)
    index = []
    for number, length in enumerate(arr.shape):
        with xp.use(arr._executor):
            line = lying(xp.arange(length), number, arr.ndim)
        index.append(index_array if number == axis else line)
    arr[tuple(index)] = values


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Writes values where a mask holds: one after the other, from the front again when they are used up."""
    if isinstance(arr, np.ndarray):
        np.place(arr, host(mask), host(vals))
        return
    test = array_of(mask, np.bool_, arr._executor)
    number = xp.reshape(xp.cumulative_sum(xp.reshape(test, -1)) - 1, test.shape)
    values = xp.reshape(array_of(vals, arr.dtype, arr._executor), -1)
    arr[...] = xp.where(test, xp.take(values, xp.remainder(number, values.size)), arr)


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Writes values where a mask holds: each element has its own, from the front again when they are used up."""
    if isinstance(a, np.ndarray):
        np.putmask(a, host(mask), host(values))
        return
    source = array_of(values, executor=a._executor)
    check_casting("putmask", source.dtype, a.dtype, "safe")
    a[...] = xp.where(array_of(mask, np.bool_, a._executor), xp.astype(resize(source, a.shape), a.dtype), a)
