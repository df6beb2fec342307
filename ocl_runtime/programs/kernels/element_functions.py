"""Functions of elements as operations of arrays: maps, reductions and scans, which are fused with what is around them.

    @ocl.elementwise
    def smooth_step(x, low, high):
        t = clamp((x - low) / (high - low), 0, 1)
        return t * t * (3 - 2 * t)

    y = smooth_step(x, 0.0, 1.0).sum()      # one kernel

A function of elements is translated for the dtypes of its operands, and is an operation of the expression graph like
those of the op table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import FunctionType
from typing import Any

from ocl_ir.graph import build as graph
from ocl_ir.kernel.literals import literal
from ocl_ir.language.context import Options
from ocl_ir.language.functions import Defined, applied, define
from ocl_ir.language.parameters import ElementType, ScalarType
from ocl_ir.language.values.table import ElementFunction
from ocl_ir.layout import broadcast_shapes
from ocl_ir.program_ops import DefinedOp
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BF16, DType
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import arrays_of
from ocl_runtime.arrays.axes import axes_of, axis_of
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.plan.executor import Executor
from ocl_runtime.programs.kernels.annotations import ConstantAnnotation
from ocl_runtime.programs.kernels.element_arguments import constants_of, element_arguments, holds_arrays, loaded
from ocl_runtime.programs.kernels.interpreted_functions import (
    interpreted_map,
    interpreted_reduction,
    interpreted_scan,
    on_tuples,
)
from ocl_runtime.programs.kernels.translated import Translated
from ocl_runtime.programs.kernels.tuple_reduction import reduced

Neutral = bool | int | float | tuple[bool | int | float, ...]


_VARIABLE = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class Operation(ElementFunction):
    """A Python function of numbers. On numbers it is that function."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._translated: Translated[Defined] = Translated()

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.__name__}>"

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def _by_position(self) -> Sequence[str]:
        """The parameters that may be given by position, as far as each has a name."""
        kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [name for name, parameter in self._signature.parameters.items() if parameter.kind in kinds]

    def defined(self, types: Mapping[str, ElementType], executor: Executor) -> Defined:
        """The operations that the function is for parameters of some types. Raises what translating raises."""
        options = Options(default_real=executor.default_real, fp64=executor.target.fp64)
        key = tuple(types.items()), options
        known = self._translated.find(key)
        if known is None:
            known = define(self.function, types, options)
            self._translated.keep(key, known)
        return known


class Elementwise(Operation):
    """A function of an element of each operand, which gives an element of each result."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._applied = lru_cache(maxsize=64)(lambda types: applied(function, dict(types)))

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        """The function of arrays, broadcast, as an array or a tuple of them; of numbers alone, the function itself.

        Raises `ShapeError` for shapes that do not broadcast, `DTypeError` for what no array can be made of, `Error` for
        operands that the function does not take.
        """
        if not any(map(holds_arrays, (*operands, *keywords.values()))):
            return self.function(*operands, **keywords)
        line = caller(2)
        arguments = element_arguments(self.__name__, self._bound(operands, keywords), self._constants)
        defined, nodes = self.defined(arguments.types, arguments.executor), arguments.nodes
        shape = broadcast_shapes(*(node.shape for node in nodes))
        spread = [node if node.shape == shape else graph.expand(node, shape) for node in nodes]
        # A tuple for each result: who counts references to an operand counts its users.
        results = tuple(
            Array(graph.typed(op, op.result, tuple(spread), line), arguments.executor) for op in defined.ops
        )
        return results if defined.is_tuple else results[0]

    def interpret(self, *operands: Any, **keywords: Any) -> Any:
        """The same, computed now in the interpreter. Raises what a kernel's `interpret` raises, too."""
        if not any(map(holds_arrays, (*operands, *keywords.values()))):
            return self.function(*operands, **keywords)
        arguments = element_arguments(self.__name__, self._bound(operands, keywords), self._constants)
        defined = self.defined(arguments.types, arguments.executor)
        function = self._applied(tuple(arguments.types.items()))
        arrays = [Array(node, arguments.executor) for node in arguments.nodes]
        dtypes = [op.result.numpy for op in defined.ops]
        results = interpreted_map(function, arrays, dtypes, is_tuple=defined.is_tuple)
        return results if defined.is_tuple else results[0]

    @cached_property
    def _constants(self) -> Mapping[str, ConstantAnnotation]:
        return constants_of(self.function)

    def _bound(self, operands: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The operands by parameter, without those that have their defaults. Raises `Error` for what the function does
        not take, or that leaves one out."""
        names = self._by_position
        if not keywords and len(operands) == len(names) == len(self._signature.parameters):
            return dict(zip(names, operands, strict=True))
        try:
            if any(parameter.kind in _VARIABLE for parameter in self._signature.parameters.values()):
                raise TypeError("* or ** among the parameters of a function of elements")
            return dict(self._signature.bind(*operands, **keywords).arguments)
        except TypeError as error:
            raise Error(
                f"{self.__name__}: {error}", place=calling_line(), remedy=f"call {self.__name__}{self._signature}"
            ) from None


class Reduction(Operation):
    """A function that joins two values to one, over axes of an array. It must be associative and commutative; the
    library chooses the order, which is the same every time."""

    def __init__(self, function: FunctionType, neutral: Neutral, map_: FunctionType | None) -> None:
        super().__init__(function)
        self._neutral = neutral
        self._map = Elementwise(map_) if map_ is not None else None
        self._on_tuples = self if isinstance(neutral, tuple) else on_tuples(self)

    def __call__(
        self, *operands: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, **keywords: Any
    ) -> Any:
        """The elements joined along axes, by default all; of no elements, the neutral one. Where the state is a tuple,
        it starts from several arrays, or from what the map gives, and an array of each part is returned. Other keywords
        are arguments of the map.

        Raises `ShapeError` for axes that do not exist, `DTypeError` where joining changes the dtype, `Error` for
        keywords and operands that nobody takes.
        """
        self._check_keywords(keywords)
        mapped = self._map(*operands, **keywords) if self._map is not None else operands
        if isinstance(self._neutral, tuple):
            arrays = self._parts(mapped)
            return reduced(arrays, self, self._neutral, self._axes(arrays, axis), keepdims=keepdims)
        mapped = self._alone(mapped)
        line, executor = caller(2), mapped._executor
        node = mapped._node_at(line)
        op = self._joining(node.dtype, executor)
        axes = axes_of(self.__name__, axis, mapped.ndim)
        return Array(graph.reduce(op, node, axes, op.result, keepdims=keepdims, where=line), executor)

    def _joining(self, dtype: DType, executor: Executor) -> DefinedOp:
        assert not isinstance(self._neutral, tuple)
        return _joining(self, dtype, self._neutral, executor)

    def interpret(
        self, *operands: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, **keywords: Any
    ) -> Any:
        """The same, computed now in the interpreter, which joins some of the elements in other orders, too, and with
        the neutral value: raises `KernelError` where that makes a difference."""
        self._check_keywords(keywords)
        mapped = self._map.interpret(*operands, **keywords) if self._map is not None else operands
        if isinstance(self._neutral, tuple):
            arrays, neutral = self._parts(mapped), self._neutral
        else:
            arrays, neutral = [self._alone(mapped)], (self._neutral,)
            self._joining(arrays[0]._dtype, arrays[0]._executor)
        axes = self._axes(arrays, axis)
        results = interpreted_reduction(self, self._on_tuples, arrays, neutral, axes, keepdims=keepdims)
        return results if isinstance(self._neutral, tuple) else results[0]

    def _check_keywords(self, keywords: Mapping[str, Any]) -> None:
        if keywords and self._map is None:
            raise Error(
                f"{self.__name__} got {', '.join(keywords)} by name, and joins elements without a map",
                place=calling_line(),
                remedy=f"call {self.__name__}(x, axis=…), or give it a map that takes the argument: "
                "@ocl.reduction(…, map=f)",
            )

    def _alone(self, mapped: Any) -> Array:
        """What is joined, where the state is a number."""
        if isinstance(mapped, tuple):
            if len(mapped) != 1:
                raise Error(
                    f"{self.__name__} joins the elements of one array, and got {len(mapped)} operands",
                    place=calling_line(),
                    remedy=f"call {self.__name__}(x, axis=…); what joins elements of several arrays has a tuple of as "
                    "many neutral values",
                )
            mapped = mapped[0]
        return _array(self, mapped)

    def _parts(self, parts: Any) -> list[Array]:
        """What is joined, where the state is a tuple."""
        assert isinstance(self._neutral, tuple)
        if not isinstance(parts, tuple) or len(parts) != len(self._neutral):
            count = len(parts) if isinstance(parts, tuple) else 1
            raise DTypeError(
                f"{self.__name__} joins tuples of {len(self._neutral)} numbers, and starts from {count}",
                place=calling_line(),
                remedy="give an array for each, or a map that gives as many",
            )
        return [_loaded(x) for x in arrays_of(self.__name__, *parts)]

    def _axes(self, arrays: Sequence[Array], axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
        return axes_of(self.__name__, axis, len(broadcast_shapes(*(x.shape for x in arrays))))


class Scan(Operation):
    """A function that joins two values to one, along an axis: each element becomes all up to it, joined. It must be
    associative."""

    def __init__(self, function: FunctionType, neutral: bool | int | float) -> None:
        super().__init__(function)
        self._neutral = neutral
        self._on_tuples = on_tuples(self)

    def __call__(self, x: Array, axis: int = 0) -> Array:
        """The running join of the elements along an axis. Raises `ShapeError` for an axis that does not exist,
        `DTypeError` for what is no array."""
        line, x = caller(2), _array(self, x)
        op = _joining(self, x._dtype, self._neutral, x._executor)
        number = axis_of(self.__name__, axis, x.ndim)
        return Array(graph.scan(op, x._node_at(line), number, op.result, line), x._executor)

    def interpret(self, x: Array, axis: int = 0) -> Array:
        """The same, computed now in the interpreter, which tests the join as that of a reduction; but elements stay in
        their order, so that it need not be commutative."""
        x = _array(self, x)
        _joining(self, x._dtype, self._neutral, x._executor)
        number = axis_of(self.__name__, axis, x.ndim)
        return interpreted_scan(self, self._on_tuples, x, self._neutral, number)


def _joining(function: Operation, dtype: DType, neutral: bool | int | float, executor: Executor) -> DefinedOp:
    """The operation that joins two values of a dtype."""
    names = function._by_position[:2]
    if len(names) < 2:
        raise Error(
            f"{function.__name__} takes {len(names)} of the two numbers that it joins",
            place=calling_line(),
            remedy="give it two parameters",
        )
    defined = function.defined(dict.fromkeys(names, ScalarType(dtype)), executor)
    op = defined.ops[0]
    literal(neutral, dtype)  # which must fit, also where there is nothing to join
    if defined.is_tuple or op.result is not dtype:
        raise DTypeError(
            f"{function.__name__} joins two numbers of {dtype.public} to {op.result.public}",
            place=calling_line(),
            remedy="give it a result of the same dtype",
        )
    return DefinedOp(f"{op}_{neutral!r}".replace(".", "_").replace("-", "m"), op.definition, op.dtypes, dtype, neutral)


def _array(function: Operation, value: Any) -> Array:
    """An operand of what joins elements. Raises `DTypeError` for anything but an array."""
    if not isinstance(value, Array):
        raise DTypeError(f"{function.__name__} of {value!r:.60}", place=calling_line(), remedy="give it an array")
    return _loaded(value)


def _loaded(x: Array) -> Array:
    return Array(loaded(x._node), x._executor) if x._dtype is BF16 else x


def _checked(function: Any, what: str) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise Error(f"{what} of {function!r}", place=calling_line(), remedy="give a function in Python")
    return function


def elementwise(function: Callable[..., Any]) -> Elementwise:
    """A function of numbers as an operation of arrays, which broadcasts and is fused. Raises `Error` for no function.

    @ocl.elementwise
    def relu(x, slope):
        return x if x > 0 else slope * x

    y = relu(x, 0.1) + 1
    """
    return Elementwise(_checked(function, "elementwise"))


def reduction(neutral: Neutral, map: Callable[..., Any] | None = None) -> Callable[..., Reduction]:  # noqa: A002
    """A decorator: a function that joins two numbers, or two tuples of them, as a reduction of arrays over axes.
    `neutral` changes nothing when it is joined; `map` is applied to the elements first. Raises `Error` for what is no
    function. A reduction of numbers is fused with what is around it, one of tuples is a kernel of its own.

    @ocl.reduction(0)
    def longest(a, b):
        return a if a * a > b * b else b

    longest(x, axis=1)
    """
    mapping = None if map is None else _checked(map, "a map")
    return lambda function: Reduction(_checked(function, "a reduction"), neutral, mapping)


def scan(neutral: bool | int | float) -> Callable[..., Scan]:
    """A decorator: a function that joins two numbers, as a running join along an axis of arrays. Raises `Error` for no
    function.

    @ocl.scan(float("-inf"))
    def running_max(a, b):
        return maximum(a, b)

    running_max(x)
    """
    return lambda function: Scan(_checked(function, "a scan"), neutral)
