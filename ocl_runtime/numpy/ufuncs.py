"""NumPy's elementwise functions as objects: call, `reduce`, `accumulate` and `outer`.

Each asks NumPy which dtypes it would compute in, converts the operands to them, and calls a function of the standard.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.reals import WithReal
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.numpy.folds import ACCUMULATES, REDUCTIONS, fold, running
from ocl_runtime.numpy.operands import (
    NOT_GIVEN,
    NoArrayError,
    Operand,
    array_of,
    arrays,
    check_casting,
    into,
    is_weak,
    kind_of,
    only,
    operands,
)
from ocl_runtime.numpy.promotion import DTypeLike, dtype_of, on_device, resolved
from ocl_runtime.numpy.results import as_numpys, numpys
from ocl_runtime.plan.executor import Executor


class ufunc:  # noqa: N801
    """One of NumPy's elementwise functions, over arrays of the device.

    The parameters are those of `numpy.ufunc`; `order="F"`, `signature` and other loops cannot be asked for.
    """

    def __init__(self, name: str, compute: Callable[..., Any], like: str = "") -> None:
        """`compute` takes the operands in the dtypes that NumPy computes in. A name that not every NumPy has is `like`
        another one."""
        self._numpy: np.ufunc = getattr(np, like or name)
        self._compute = compute
        self.__name__ = self.__qualname__ = name
        self.__doc__ = f"NumPy's `{name}` over arrays of the device.\n\n{compute.__doc__}"
        self.nin, self.nout, self.nargs = self._numpy.nin, self._numpy.nout, self._numpy.nargs
        self.__signature__ = _signature(type(self), self.nin)
        self.identity, self.signature = self._numpy.identity, self._numpy.signature
        self.methods = frozenset(
            method
            for method, has in (
                ("__call__", True),
                ("outer", self.nin == 2),
                ("reduce", name in REDUCTIONS),
                ("accumulate", name in ACCUMULATES),
                ("at", name in {"add", "subtract"}),
            )
            if has
        )
        """The methods that are computed here; `reduceat` is not."""
        self._as_it_is: set[tuple[object, ...]] = set()
        """What kinds of operands, with the default real, nothing was converted for, nor the result."""

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}' of ocl_runtime.numpy>"

    def __call__(
        self,
        *inputs: Any,
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        order: str = "K",
        dtype: DTypeLike = None,
        subok: bool = True,
        signature: Any = None,
    ) -> Any:
        """The function of the operands; the arguments are NumPy's.

        Raises `DTypeError` for dtypes that it does not take and casts that are not allowed, `ShapeError` for shapes
        that do not broadcast, `TypeError` for another number of operands.
        """
        kinds: tuple[object, ...] | None = None
        usual = len(inputs) == self.nin and out is None and where is True
        if usual and dtype is None and order == "K" and signature is None:
            kinds = _kinds(inputs)
            if kinds in self._as_it_is:
                result = self._compute(*inputs)
                is_numpys = type(result) is Array and type(result._executor) is WithReal
                return result if is_numpys else as_numpys(result, inputs)
        result = self._joined(inputs, out, where, casting, order, dtype, subok, signature, kinds)
        return as_numpys(result, (*inputs, out))

    def _joined(
        self,
        inputs: tuple[Any, ...],
        out: Any,
        where: Any,
        casting: str,
        order: str,
        dtype: DTypeLike,
        subok: bool,
        signature: Any,
        kinds: tuple[object, ...] | None,
    ) -> Any:
        if not self.nin <= len(inputs) <= (self.nin if out is not None else self.nargs):
            raise TypeError(f"{self.__name__} takes {self.nin} operands and {self.nout} results, not {len(inputs)}")
        if len(inputs) > self.nin:
            inputs, out = inputs[: self.nin], inputs[self.nin :]
        only(self.__name__, order=order, signature=signature, subok=subok)
        terms, executor = operands(self.__name__, inputs)
        results = self._of(terms, executor, None if dtype is None else dtype_of(dtype), casting, kinds)
        if self.nout == 1:
            return into(self.__name__, results[0], out, where, casting)
        outs = out if isinstance(out, tuple) else (out,)
        outs += (None,) * (self.nout - len(outs))
        return tuple(
            into(self.__name__, result, target, where, casting) for result, target in zip(results, outs, strict=True)
        )

    def _of(
        self,
        terms: list[Operand],
        executor: Executor,
        dtype: np.dtype[Any] | None,
        casting: str,
        remembered: tuple[object, ...] | None,
    ) -> tuple[Array, ...]:
        kinds = tuple([kind_of(x) for x in terms])
        types = resolved(self._numpy, kinds, dtype, casting)
        if not executor.target.fp64:
            types = tuple([on_device(type_, executor) for type_ in types])
        if dtype is not None:
            for kind, type_ in zip(kinds, types, strict=False):
                if isinstance(kind, np.dtype):
                    check_casting(self.__name__, kind, type_, casting)
            terms = [array_of(x, executor=executor) for x in terms]
        taken = [_as(x, type_) for x, type_ in zip(terms, types, strict=False)]
        result = self._compute(*taken)
        results = result if isinstance(result, tuple) else (result,)
        outputs = tuple([_as(x, type_) for x, type_ in zip(results, types[self.nin :], strict=True)])
        if remembered is not None and all(map(is_, (*taken, *outputs), (*terms, *results))):
            self._as_it_is.add(remembered)
        return outputs

    @numpys
    def reduce(
        self,
        array: Any,
        /,
        axis: Any = 0,
        dtype: DTypeLike = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Any:
        """The elements along axes joined by this function. Raises `Error` where that is not computed here."""
        self._check("reduce")
        return fold(f"{self.__name__}.reduce", self.__name__, array, axis, dtype, out, keepdims, initial, where)

    @numpys
    def accumulate(self, array: Any, /, axis: int = 0, dtype: DTypeLike = None, out: Any = None) -> Any:
        """Each element joined with all before it along an axis. Raises `Error` where that is not computed here."""
        self._check("accumulate")
        return running(f"{self.__name__}.accumulate", self.__name__, array, axis, dtype, out)

    @numpys
    def outer(self, A: Any, B: Any, /, **kwargs: Any) -> Any:  # noqa: N803
        """The function of all pairs: the axes of `A`, then those of `B`."""
        self._check("outer")
        first, second = arrays(f"{self.__name__}.outer", (A, B))
        return self(xp.reshape(first, (*first.shape, *(1,) * second.ndim)), second, **kwargs)

    def at(self, a: Any, indices: Any, b: Any, /) -> None:
        """The function of what an index picks and `b`, written in place, with every repeated place counted: `add` and
        `subtract` of arrays of the device. Integers wrap around; floats have the same bits in any order of the addends,
        as of `ocl_runtime.add_at`.

            np.subtract.at(x, [0, 2, 0], [1, 2, 3])         # x[0] -= 1 + 3; x[2] -= 2

        Raises `Error` where that is not computed here, `DTypeError` for floats into integers, for numbers into bools
        and differences of bools, what `ocl_runtime.add_at` raises, and `NoArrayError` for an `a` of the host.
        """
        self._check("at")
        if not isinstance(a, Array):
            raise NoArrayError(
                f"{self.__name__}.at writes into {type(a).__name__}",
                place=calling_line(),
                remedy=f"use numpy.{self.__name__}.at, or give an array of the device",
            )
        addends = _addends(f"{self.__name__}.at", b, a)
        xp.add_at(a, indices, addends if self.__name__ == "add" else xp.negative(addends))

    def reduceat(self, array: Any, /, indices: Any, axis: int = 0, dtype: DTypeLike = None, out: Any = None) -> Any:
        """Raises `Error`: reducing between places is not computed here."""
        del array, indices, axis, dtype, out
        self._check("reduceat")

    def _check(self, method: str) -> None:
        if method not in self.methods:
            raise Error(
                f"{self.__name__}.{method} is not computed on the device",
                place=calling_line(),
                remedy=f"use numpy.{self.__name__}.{method}, which downloads the array",
            )


def _kinds(inputs: tuple[Any, ...]) -> tuple[object, ...] | None:
    """The dtypes of operands and the types of Python's numbers among them, with what the arrays' runtime makes of
    integers; None where there is something else among them, or no array, or arrays of two runtimes."""
    executor: Executor | None = None
    kinds: list[object] = []
    for x in inputs:
        if type(x) is Array:
            if executor is None:
                executor = x._executor
            elif x._executor is not executor:
                return None
            kinds.append(x._cell._node.dtype)
        elif type(x) is float or type(x) is int:
            kinds.append(type(x))
        else:
            return None
    return None if executor is None else (executor.default_real, executor.target.fp64, *kinds)


def _as(x: Any, dtype: np.dtype[Any]) -> Any:
    """An array as a dtype; a number takes that of the array beside it."""
    return xp.astype(x, dtype) if isinstance(x, Array) and x.dtype != dtype else x


_KINDS = "b", "iu", "f"
"""Kinds of dtypes, each of which converts to those behind it."""


def _addends(what: str, b: Any, like: Array) -> Array:
    """What is added to an array, in its dtype: integers wrap around in it before they are negated, which gives what
    wrapping the sum would. What changes the kind in each step depends on the order, and is refused."""
    weak = is_weak(b) and like.dtype.kind == "f"
    addends = array_of(b, like.dtype if weak else None, like._executor)
    from_, to = (next(rank for rank, kinds in enumerate(_KINDS) if x.dtype.kind in kinds) for x in (addends, like))
    if from_ > to or (to == 0 and what == "subtract.at"):
        raise DTypeError(
            f"{what} of {addends.dtype} to {like.dtype}",
            place=calling_line(),
            remedy=f'convert first: b.astype("{like.dtype}")' if from_ > to else "use ^ or logical_xor",
        )
    return xp.astype(addends, like.dtype, copy=False)


def _signature(kind: type[ufunc], nin: int) -> inspect.Signature:
    """That of NumPy's ufuncs of a kind with so many operands."""
    _self, _inputs, out, *rest = inspect.signature(kind.__call__).parameters.values()
    names = ["x"] if nin == 1 else [f"x{number + 1}" for number in range(nin)]
    operands = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    return inspect.Signature([*operands, out.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD), *rest])
