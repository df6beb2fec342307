"""Functions of elements that arrays have as operations, and kernels in Python as helpers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from types import FunctionType
from typing import Any

from ocl_ir.graph import build as graph
from ocl_ir.graph.nodes import AnyNode
from ocl_ir.language.context import Options
from ocl_ir.language.functions import define
from ocl_ir.language.parameters import ElementType, ScalarType
from ocl_ir.language.values.table import ElementFunction
from ocl_ir.program_ops import DefinedOp
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, F64, DType
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.meaning.dtypes import promote, require
from ocl_runtime.arrays.meaning.semantics import as_node, cast, common_shape
from ocl_runtime.arrays.operands import operands_of
from ocl_runtime.errors import DTypeError, Error


class SpecialFunction(ElementFunction):
    """A function of real numbers, element by element: of arrays an expression, in a kernel its text."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self.__signature__ = signature(function)
        self.names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._defined = lru_cache(maxsize=4)(self._define)

    def __repr__(self) -> str:
        return f"<special function {self.__name__}>"

    def __call__(self, *operands: Any) -> Array:
        """The function of operands, which are broadcast and promoted; integers count as the default real dtype, and
        float16 and bfloat16 are computed as float32.

        Raises `ShapeError` for shapes that do not broadcast, `DTypeError` for complex numbers and what no array is made
        of, `Error` for another number of operands.
        """
        if len(operands) != len(self.names):
            raise Error(
                f"{self.__name__} of {len(operands)} operands",
                place=calling_line(),
                remedy=f"call {self.__name__}({', '.join(self.names)})",
            )
        terms, executor = operands_of(self.__name__, operands)
        kinds = tuple(term.dtype if isinstance(term, AnyNode) else type(term) for term in terms)
        dtype = promote(kinds, executor.default_real)
        if dtype.is_complex:
            raise DTypeError(
                f"{self.__name__} of complex numbers",
                place=calling_line(),
                remedy="give real ones: real(x), imag(x) or abs(x)",
            )
        dtype = require(dtype if dtype.is_float else executor.default_real, executor.target)
        computed = F64 if dtype == F64 else F32
        shape = common_shape(terms)
        nodes = tuple(cast(as_node(term, dtype, shape), computed) for term in terms)
        return Array(cast(graph.typed(self._defined(computed), computed, nodes), dtype), executor)

    def _define(self, dtype: DType) -> DefinedOp:
        types: dict[str, ElementType] = dict.fromkeys(self.names, ScalarType(dtype))
        return define(self.function, types, Options(default_real=dtype)).ops[0]


def special(function: Callable[..., Any]) -> SpecialFunction:
    """A function in the kernel language as one of arrays."""
    assert isinstance(function, FunctionType)
    return SpecialFunction(function)
