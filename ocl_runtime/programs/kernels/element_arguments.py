"""The arguments of a function of elements: arrays and numbers, of which each element has its own, and what is known.

Tuples and frozen dataclasses have arguments inside, as those of kernels do; functions, dtypes, texts, None and what is
annotated with `Constant` are known while the function is translated.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.nodes import AnyNode
from ocl_ir.guards import NUMBERS, Number
from ocl_ir.language.parameters import Constant, ElementType, IndexType, Parts, ScalarType
from ocl_ir.language.values.captures import may_be_captured
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, BOOL, F32, I32, I64
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.meaning.semantics import Operand
from ocl_runtime.arrays.operands import operands_of
from ocl_runtime.errors import DTypeError
from ocl_runtime.plan.executor import Executor
from ocl_runtime.programs.kernels.annotations import ConstantAnnotation, constant_value, undefined
from ocl_runtime.programs.kernels.arguments import parts_of


def loaded(node: Node) -> Node:
    """What a function sees of elements: bfloat16 is a dtype of memory only, whose values are float32."""
    return graph.convert(node, F32) if node.dtype is BF16 else node


class ElementArguments(NamedTuple):
    """The operands as nodes, in the order in which they are in the types of the parameters."""

    nodes: list[Node]
    types: Mapping[str, ElementType]
    executor: Executor


def constants_of(function: FunctionType) -> dict[str, ConstantAnnotation]:
    """The parameters that are annotated with `Constant`. Other annotations are for readers and type checkers."""
    constants: dict[str, ConstantAnnotation] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str) and "Constant" in annotation:
            try:
                annotation = eval(annotation, function.__globals__)  # the program's own text
            except NameError as error:
                raise undefined(function, error) from None
        if isinstance(annotation, ConstantAnnotation):
            constants[name] = annotation
    return constants


def holds_arrays(value: Any) -> bool:
    """Whether an argument is an array, or has one inside."""
    if isinstance(value, (Array, np.ndarray)):
        return True
    inside = None if isinstance(value, _OPERANDS) else parts_of(value)
    return inside is not None and any(map(holds_arrays, inside.values()))


def element_arguments(
    name: str, values: Mapping[str, Any], constants: Mapping[str, ConstantAnnotation]
) -> ElementArguments:
    """The arguments of a call by parameter. Raises `DTypeError` for what no array can be made of."""
    leaves: list[Any] = []
    skeletons = {
        parameter: _skeleton(name, parameter, value, constants.get(parameter), leaves)
        for parameter, value in values.items()
    }
    nodes, types, executor = _operands(name, leaves)
    rest = iter(types)
    return ElementArguments(nodes, {name: _filled(skeleton, rest) for name, skeleton in skeletons.items()}, executor)


_OPERANDS = (Array, np.ndarray, np.generic, *NUMBERS)
_OPERAND = object()
"""Stands for the type of an operand until that is known."""


def _skeleton(function: str, parameter: str, value: Any, constant: ConstantAnnotation | None, leaves: list[Any]) -> Any:
    if constant is not None:
        return Constant(constant_value(function, parameter, value, constant))
    if isinstance(value, _OPERANDS):
        leaves.append(value)
        return _OPERAND
    inside = parts_of(value)
    if inside is not None:
        parts = tuple(_skeleton(function, parameter, part, None, leaves) for part in inside.values())
        return Parts(type(value), tuple(inside), parts)
    if may_be_captured(value):
        return Constant(value)
    leaves.append(value)
    return _OPERAND


def _filled(skeleton: Any, types: Iterator[ElementType]) -> ElementType:
    if skeleton is _OPERAND:
        return next(types)
    if isinstance(skeleton, Parts):
        return Parts(skeleton.type, skeleton.names, tuple(_filled(part, types) for part in skeleton.parts))
    known: ElementType = skeleton
    return known


def _computed_with(what: str, operand: Operand) -> Node | Number:
    """An operand as kernels in Python compute with it. Raises `DTypeError` for a complex number that stands alone."""
    if isinstance(operand, complex):
        raise DTypeError(
            f"{what} is called with the complex number {operand}",
            place=calling_line(),
            remedy="pass its parts, and write complex(re, im)",
        )
    return loaded(operand) if isinstance(operand, AnyNode) else operand


def _operands(what: str, values: list[Any]) -> tuple[list[Node], list[ElementType], Executor]:
    """Operands as nodes and types; a Python float has the dtype of the floats beside it, a Python int is an index.
    Elements of bfloat16 are float32, as kernels load them."""
    given, executor = operands_of(what, values)
    operands = [_computed_with(what, operand) for operand in given]
    dtypes = [operand.dtype for operand in operands if not isinstance(operand, bool | int | float)]
    floats = [dtype for dtype in dtypes if dtype.is_float]
    real = max(floats, key=lambda dtype: dtype.bits) if floats else executor.default_real
    nodes, types = list[Node](), list[ElementType]()
    for operand in operands:
        if isinstance(operand, bool | float):
            dtype = BOOL if isinstance(operand, bool) else real
            nodes.append(graph.scalar(operand, dtype))
            types.append(ScalarType(dtype))
        elif isinstance(operand, int):
            nodes.append(graph.scalar(operand, I32 if -(2**31) <= operand < 2**31 else I64))
            types.append(IndexType() if nodes[-1].dtype is I32 else ScalarType(I64))
        else:
            nodes.append(cast("Node", operand))
            types.append(ScalarType(operand.dtype))
    return nodes, types, executor
