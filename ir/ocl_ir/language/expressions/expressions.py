"""Expressions of Python, each as a value: computed now where everything is known, else as kernel IR."""

from __future__ import annotations

import ast
import dataclasses
import enum
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ocl_ir.bfloat16 import BFloat16
from ocl_ir.errors import DTypeError, IndexingError
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions.f_strings import FStrings
from ocl_ir.language.syntax.liveness import own_names
from ocl_ir.language.values.captures import Capture, may_be_captured
from ocl_ir.language.values.scopes import Scope
from ocl_ir.language.values.swizzles import component_indices
from ocl_ir.language.values.table import Builtin, Namespace
from ocl_ir.language.values.values import (
    AnyTile,
    ArrayView,
    HostNumber,
    LoadedTile,
    Method,
    Number,
    Tile,
    Unassigned,
    Value,
    is_static,
)
from ocl_ir.types import Vector

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "rem",
    ast.Pow: "pow", ast.LShift: "shl", ast.RShift: "shr", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_UNSUPPORTED = {
    ast.ListComp: ("a list comprehension", "write a loop over a local or private array"),
    ast.SetComp: ("a set comprehension", "write a loop"),
    ast.DictComp: ("a dict comprehension", "write a loop"),
    ast.GeneratorExp: ("a generator expression", "write a loop"),
    ast.Dict: ("a dict", "pass numbers or a frozen dataclass"),
    ast.Set: ("a set", "write comparisons"),
    ast.List: ("a list", "write a tuple, or private_array(…) for what is indexed at run time"),
    ast.JoinedStr: ("an f-string outside of print", "write print(f'…'), or give a text without values"),
    ast.Await: ("await", "kernels do not wait"),
    ast.Yield: ("yield", "store into an array"),
    ast.YieldFrom: ("yield from", "store into an array"),
    ast.NamedExpr: ("an assignment inside of an expression", "assign in a statement of its own"),
    ast.Starred: ("a starred expression", "name the elements"),
}


class Expressions(FStrings):
    """Translates expressions."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.scope: Scope
        self._function: ast.FunctionDef | ast.Lambda | None = None
        """The function that is translated now."""
        self.called: Span | None = None
        """The call that the current function was inlined at."""
        self.captures: dict[tuple[int, str], Capture] = {}
        """Values of Python's own scopes, by function and name, and of modules."""
        self._owners: list[object] = []

    def expression(self, node: ast.expr) -> Value:
        """The value of an expression. Raises an error at its span."""
        before = self.span
        self.span = Span.of(node, self.frame, self.called)
        translate: Callable[[Any], Value] | None = getattr(self, f"_{type(node).__name__}", None)
        if translate is None:
            what, remedy = _UNSUPPORTED.get(type(node), (f"{type(node).__name__} of Python", ""))
            raise self.fault(f"{what} has no meaning in a kernel", remedy)
        value = translate(node)
        self.span = before
        return value

    # ------------------------------------------------------------------ names and literals

    def _Constant(self, node: ast.Constant) -> Value:  # noqa: N802
        if isinstance(node.value, complex | bytes):
            raise self.fault(
                f"{node.value!r} has no meaning in a kernel",
                "use two real numbers" if isinstance(node.value, complex) else "use integers",
            )
        return node.value

    def _Name(self, node: ast.Name) -> Value:  # noqa: N802
        version = self.scope.version(node.id)
        is_own = self._function is not None and node.id in own_names(self._function)
        if is_own and node.id not in self.scope.names:
            raise self.fault(
                f"{node.id} has no value here, and is assigned later", f"do that before line {node.lineno}"
            )
        if version is None:
            try:
                return self.scope.outside(node.id)
            except NameError:
                raise self.fault(
                    f"{node.id} is no name that the kernel can see", "define it before, or pass it as an argument"
                ) from None
        if isinstance(version.value, Unassigned):
            raise self.fault(version.value.why, version.value.remedy)
        return version.value

    def captured(self, owner: object, name: str, read: Callable[[], Any]) -> Value:
        """A value of Python's own scopes. Raises `KernelError` for what kernels do not capture."""
        self._owners.append(owner)  # whose id is no other's meanwhile
        key = id(owner), name
        if key not in self.captures:
            value = read()
            if not may_be_captured(value):
                kind = f"{type(value).__module__}.{type(value).__name__}"
                raise self.fault(
                    f"{name} is of type {kind}, from around the kernel, which kernels do not capture",
                    "pass it as an argument",
                )
            self.captures[key] = Capture.of(name, read, value)
        return self.captures[key].value

    def _Tuple(self, node: ast.Tuple) -> Value:  # noqa: N802
        elements: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = self.expression(element.value)
                if not isinstance(inner, tuple):
                    raise self.fault(f"* of {self.described(inner)}", "unpack a tuple")
                elements += inner
            else:
                elements.append(self.expression(element))
        return tuple(elements)

    def _Lambda(self, node: ast.Lambda) -> Value:  # noqa: N802
        return self.local_function(node, "<lambda>")

    def _Slice(self, node: ast.Slice) -> Value:  # noqa: N802
        parts = (None if part is None else self.expression(part) for part in (node.lower, node.upper, node.step))
        return slice(*parts)

    # ------------------------------------------------------------------ operators

    def _BinOp(self, node: ast.BinOp) -> Value:  # noqa: N802
        left, right = self.expression(node.left), self.expression(node.right)
        op = BINARY.get(type(node.op))
        return self.matmul(left, right) if op is None else self.binary(op, left, right)

    def matmul(self, left: Value, right: Value, acc: Value = None) -> Value:
        """`a @ b`, which tiles have."""
        raise self.fault("@ has no meaning for these values", "write a loop, or use tiles: load_tile(…)", DTypeError)

    def tile_attribute(self, value: AnyTile, name: str) -> Value:
        """An attribute of a tile; `ocl_ir.language.builtins.tiles` has it."""
        raise NotImplementedError

    def _UnaryOp(self, node: ast.UnaryOp) -> Value:  # noqa: N802
        if isinstance(node.op, ast.Not):
            return self.negated(self._truth(node.operand))
        value = self.expression(node.operand)
        match node.op:
            case ast.USub():
                return self.static(lambda v: -v, value) if is_static(value) else self.unary("neg", value)
            case ast.Invert():
                return self.static(lambda v: ~v, value) if is_static(value) else self.unary("not", value)
        return self.static(lambda v: +v, value) if is_static(value) else self.number(value)

    # ------------------------------------------------------------------ attributes and subscripts

    def _Attribute(self, node: ast.Attribute) -> Value:  # noqa: N802
        value = self.expression(node.value)
        name = node.attr
        if isinstance(value, ArrayView):
            return self._array_attribute(value, name)
        if isinstance(value, Tile | LoadedTile):
            return self.tile_attribute(value, name)
        if name == "astype" and isinstance(value, Number | HostNumber):
            return Method(value, name)  # a call of it is refused, with the dtype to write
        if isinstance(value, Number):
            return self._number_attribute(value, name)
        if isinstance(value, ModuleType):
            if not hasattr(value, name):
                raise self.fault(
                    f"the module {value.__name__} has no {name}", f"dir({value.__name__}) lists what it has"
                )
            return self.captured(value, name, lambda: getattr(value, name))
        if isinstance(value, tuple) and not hasattr(value, name):
            raise self.fault(f"a tuple has no {name}", "unpack it, or use a NamedTuple")
        frozen = dataclasses.is_dataclass(value) or isinstance(value, tuple | enum.Enum | type | np.dtype | BFloat16)
        if frozen or isinstance(value, Namespace):
            if not hasattr(value, name):
                raise self.fault(f"{self.described(value)} has no {name}", "use what it has")
            return getattr(value, name)
        remedy = "pass what it is as an argument"
        if isinstance(value, str):
            remedy = 'print numbers by an f-string: print(f"{v}")'
        raise self.fault(f"{name} of {self.described(value)} has no meaning in a kernel", remedy)

    def _array_attribute(self, view: ArrayView, name: str) -> Value:
        match name:
            case "shape":
                return tuple(self.size(length) for length in view.shape)
            case "size":
                return self.elements_of(view)
            case "ndim":
                return len(view.shape)
            case "dtype":
                return view.dtype.public
        raise self.fault(
            f"{name} of an array has no meaning in a kernel", "arrays have shape, size, ndim and dtype, and elements"
        )

    def _number_attribute(self, value: Number, name: str) -> Value:
        if name in {"real", "imag"}:
            return self._part(value, name)
        if name == "dtype" and value.kind == "typed":
            return value.dtype.numpy
        if value.lanes > 1:
            if name == "replace":
                return Method(value, name)
            lanes = component_indices(name, value.lanes)
            if lanes is not None:
                return self.lanes_of(value, lanes)
            raise self.fault(
                f"a vector of {value.lanes} lanes has no {name}", "use x, y, z, w, s0 to sf, lo, hi, even or odd"
            )
        raise self.fault(
            f"{name} of {self.described(value)} has no meaning in a kernel",
            "a number has a dtype, real and imag, a vector components",
        )

    def _part(self, value: Number, name: str) -> Value:
        """The real or the imaginary part; of a real number itself and zero, as in Python."""
        if value.dtype.is_complex:
            return Number(self.k.op(name, value.ref), value.dtype.component)
        return value if name == "real" else 0

    def lanes_of(self, value: Number, lanes: Sequence[int]) -> Number:
        """Some lanes of a vector, as a scalar or a vector."""
        picked = [self.k.op("extract", value.ref, lane) for lane in lanes]
        return Number(picked[0] if len(picked) == 1 else self.k.op("vector", *picked), value.dtype)

    def _Subscript(self, node: ast.Subscript) -> Value:  # noqa: N802
        value = self.expression(node.value)
        index = self.expression(node.slice)
        if isinstance(value, ArrayView):
            return self.load(value, index)
        if isinstance(value, Number) and isinstance(value.type, Vector):
            if not isinstance(index, int) or not -value.lanes <= index < value.lanes:
                lane = index if isinstance(index, int) else "known at run time"
                raise self.fault(
                    f"lane {lane} of a vector of {value.lanes} lanes",
                    "lanes have literal numbers; a private_array is indexed at run time",
                    IndexingError,
                )
            return self.lanes_of(value, [index % value.lanes])
        if isinstance(value, tuple):
            return self._of_tuple(value, index)
        if is_static(value) and is_static(index):
            return self.static(lambda v, i: v[i], value, index)
        raise self.fault(f"{self.described(value)} has no elements", "index an array")

    def _of_tuple(self, value: tuple[Value, ...], index: Value) -> Value:
        if isinstance(index, Number):
            raise self.fault(
                "a tuple is indexed at run time", "use a private_array, or a loop over unrolled(…)", IndexingError
            )
        if isinstance(index, int | slice):
            if isinstance(index, int) and not -len(value) <= index < len(value):
                raise self.fault(
                    f"index {index} of a tuple of {len(value)}", f"the last is {len(value) - 1}", IndexingError
                )
            return value[index]
        raise self.fault(f"a tuple with the index {self.described(index)}", "use a literal", IndexingError)

    def _Call(self, node: ast.Call) -> Value:  # noqa: N802
        used, self.is_used = self.is_used, True
        function = self.expression(node.func)
        known = self.builtin_of(function)
        is_printing = known is not None and known.is_printing
        arguments: list[Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                inner = self.expression(argument.value)
                if not isinstance(inner, tuple):
                    raise self.fault(f"* of {self.described(inner)}", "unpack a tuple")
                arguments += inner
            elif isinstance(argument, ast.JoinedStr) and is_printing:
                arguments.append(self.formatted_text(argument))
            else:
                arguments.append(self.expression(argument))
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fault("** in a call", "name the arguments")
            keywords[keyword.arg] = self.expression(keyword.value)
        self.is_used = used or not isinstance(function, Builtin)  # within a helper, values are used
        return self.call(function, arguments, keywords)

    def local_function(self, node: ast.FunctionDef | ast.Lambda, name: str) -> Value:
        """A function inside of the kernel; `ocl_ir.language.statements.assignments` has it."""
        raise NotImplementedError

    def builtin_of(self, function: Value) -> Builtin | None:
        """The builtin that a value is in a kernel; `ocl_ir.language.statements.calls` has it."""
        raise NotImplementedError

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """The result of a call; `ocl_ir.language.statements.calls` has it."""
        raise NotImplementedError
