"""The arguments of a generated kernel: how its arrays lie, and by which index its text finds their elements.

Arrays over the same indices are arranged together: axes that follow each other in all of them are one. Where that
leaves one axis and no gaps, an element lies at the index itself; else the index is taken apart into coordinates, and
strides lead from there to the element. Which of both it is belongs to the source; sizes, strides and numbers are
arguments.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.accesses import READ
from ocl_ir.layout import Layout, collapse
from ocl_ir.source_line import calling_line
from ocl_ir.types import I32, I64, DType
from ocl_runtime.arrays import Array
from ocl_runtime.codegen.spelling import value_type
from ocl_runtime.errors import ShapeError
from ocl_runtime.programs.raw.numbers import converted
from ocl_runtime.programs.raw.parameters import Parameter
from ocl_runtime.programs.raw.signature import Signature

_MOST_NARROW = 2**31
_SIZE = re.compile(r"\b(\w+)\.size\(\)")


@dataclass(frozen=True, slots=True)
class Element:
    """An element that the text of a kernel calls by a name: its type, the pointer to its array, and its index there."""

    name: str
    type: str
    pointer: str
    index: str


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the arrays of a call lie over a shape without axes that can be left out: for each its strides there, None for
    a raw one, and whether the place is the index. `index` is the integer that counts places and elements."""

    shape: tuple[int, ...]
    strides: Sequence[tuple[int, ...] | None]
    dense: Sequence[bool]
    index: DType

    @property
    def key(self) -> Hashable:
        """What of it the source depends on."""
        return 0 if all(self.dense) else len(self.shape), *self.dense, self.index

    @property
    def coordinates(self) -> list[str]:
        """Statements that take a place `i` apart into coordinates `_c0 …`, if any array needs them."""
        ndim, type_ = len(self.shape), value_type(self.index)
        if all(self.dense) or not ndim:
            return []
        statements = [f"{type_} _rest = i"] if ndim > 1 else []
        for axis in range(ndim - 1, 0, -1):
            statements += [f"const {type_} _c{axis} = _rest % _shape{axis}", f"_rest /= _shape{axis}"]
        return [*statements, f"const {type_} _c0 = {'_rest' if ndim > 1 else 'i'}"]


class Operands:
    """Parameters with arguments: numbers converted, arrays as they are. `texts` are what the user wrote, which may ask
    for the size of a raw array; `modes` say how arrays are used, by the name of the parameter."""

    def __init__(
        self,
        kernel: str,
        params: Sequence[Parameter],
        arguments: Sequence[Any],
        types: Mapping[str, DType],
        texts: Sequence[str],
        modes: Mapping[str, int],
    ) -> None:
        self._kernel = kernel
        self._types, self._modes = types, modes
        self._sized = {name for text in texts for name in _SIZE.findall(text)}
        self.params = [(param, isinstance(argument, Array)) for param, argument in zip(params, arguments, strict=True)]
        self.arrays = [argument for argument in arguments if isinstance(argument, Array)]
        self._numbers = [
            converted(kernel, param.name, types[param.type], argument)
            for param, argument in zip(params, arguments, strict=True)
            if not isinstance(argument, Array)
        ]
        self.key: Hashable = (*sorted((name, dtype.name) for name, dtype in types.items()), *dict(self.params).values())
        """What of it the source depends on."""

    def arranged(self, buffers: Sequence[Buffer], shape: tuple[int, ...], count: int) -> Arrangement:
        """How the arrays lie over a shape with a number of places. Raises `ShapeError` for a raw view with gaps."""
        params = [param for param, is_array in self.params if is_array]
        layouts = [buffer.layout for buffer in buffers]
        for param, layout in zip(params, layouts, strict=True):
            if param.is_raw and not layout.is_dense:
                raise ShapeError(
                    f"kernel {self._kernel} got a view with gaps for {param.name}, which its text indexes",
                    place=calling_line(),
                    remedy=f"give a copy: {param.name}.copy()",
                )
        placed = [layout for param, layout in zip(params, layouts, strict=True) if not param.is_raw]
        merged, moved = collapse(shape, placed)
        steps = iter(moved)
        strides = [None if param.is_raw else next(steps).strides for param in params]
        dense = [own is None or not own or (len(own) == 1 and own[0] == 1) for own in strides]
        return Arrangement(merged, strides, dense, index_type(count, layouts))

    def args(self, buffers: Sequence[Buffer], arrangement: Arrangement) -> list[Any]:
        """The arguments, as `declare` declares them."""
        args: list[Any] = [] if all(arrangement.dense) else [*arrangement.shape]
        views = zip(buffers, arrangement.strides, arrangement.dense, strict=True)
        numbers = iter(self._numbers)
        for param, is_array in self.params:
            if not is_array:
                args.append(next(numbers))
                continue
            buffer, strides, is_dense = next(views)
            args.append(buffer)
            if not is_dense and strides is not None:
                args += strides
            if param.is_raw and param.name in self._sized:
                args.append(buffer.layout.size // (1 if param.struct is None else param.struct.size))
        return args

    def declare(self, signature: Signature, arrangement: Arrangement) -> list[tuple[Parameter, Element]]:
        """Adds the parameters to a signature; gives the elements that the text of the kernel calls by a name."""
        ndim, index = len(arrangement.shape), arrangement.index
        for axis in range(0 if all(arrangement.dense) else ndim):
            signature.number(f"_shape{axis}", index)
        elements: list[tuple[Parameter, Element]] = []
        ways = iter(arrangement.dense)
        for param, is_array in self.params:
            dtype = self._types[param.type]
            if not is_array:
                signature.number(param.name, dtype)
                continue
            is_dense = next(ways)
            pointer = param.name if param.is_raw else f"_{param.name}_data"
            signature.pointer(pointer, dtype, self._modes.get(param.name, READ), param.struct)
            if param.is_raw:
                if param.name in self._sized:
                    signature.number(f"{param.name}_size", index)
                continue
            for axis in range(0 if is_dense else ndim):
                signature.number(f"_{param.name}_stride{axis}", index)
            strided = " + ".join(f"_c{axis} * _{param.name}_stride{axis}" for axis in range(ndim))
            index_text = "i" if is_dense else strided
            elements.append((param, Element(param.name, value_type(dtype), pointer, index_text)))
        return elements


def without_methods(text: str) -> str:
    """The text of a user with `y_size` in place of `y.size()`, which C does not have."""
    return _SIZE.sub(lambda match: f"{match[1]}_size", text)


def typedefs(params: Sequence[Parameter], types: Mapping[str, DType]) -> list[str]:
    """Statements by which the text of a kernel may use the names that stand for types."""
    names = dict.fromkeys(param.type for param in params if param.dtype is None)
    return [f"typedef {value_type(types[name])} {name}" for name in names]


def index_type(count: int, layouts: Sequence[Layout]) -> DType:
    """The integers that count this many places and all elements of some layouts."""
    return I32 if all(number < _MOST_NARROW for number in (count, *[layout.span for layout in layouts])) else I64
