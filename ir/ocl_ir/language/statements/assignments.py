"""Assignments: each begins a version of a name, of any type; elements are stored.

What a variable of kernel IR holds is copied when it gets another name, or goes into a tuple: it may change.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ocl_ir.kernel.grammar import Variable
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions.expressions import Expressions
from ocl_ir.language.syntax.products import product_added
from ocl_ir.language.values.scopes import Version
from ocl_ir.language.values.values import ArrayView, HostNumber, LocalFunction, Number, Tile, Value
from ocl_ir.types import BOOL, DType, Vector

_MODULAR = frozenset({"add", "sub", "mul", "and", "or", "xor"})
"""Operators whose lower bits depend on the lower bits of the operands alone."""


class Assignments(Expressions):
    """Translates statements without blocks."""

    def _Pass_stmt(self, stmt: ast.Pass) -> None:  # noqa: N802
        pass

    def _Expr_stmt(self, stmt: ast.Expr) -> None:  # noqa: N802
        if not (
            isinstance(stmt.value, ast.Constant) and (stmt.value.value is Ellipsis or isinstance(stmt.value.value, str))
        ):
            self.is_used = not isinstance(stmt.value, ast.Call)
            self.expression(stmt.value)
            self.is_used = True

    def _FunctionDef_stmt(self, stmt: ast.FunctionDef) -> None:  # noqa: N802
        if stmt.decorator_list:
            raise self.fault("a decorated function inside of a kernel", "define it outside, or without the decorator")
        self._bind(stmt.name, self.local_function(stmt, stmt.name))

    def local_function(self, node: ast.FunctionDef | ast.Lambda, name: str) -> LocalFunction:
        """A function inside of the kernel, whose defaults are computed here."""
        args, kinds = node.args, inspect.Parameter
        if args.vararg or args.kwarg:
            raise self.fault("* or ** among the parameters of a function inside of a kernel", "name them")
        positional = [*args.posonlyargs, *args.args]
        defaults = [*[None] * (len(positional) - len(args.defaults)), *args.defaults, *args.kw_defaults]
        parameters = [
            inspect.Parameter(
                arg.arg,
                kinds.KEYWORD_ONLY if arg in args.kwonlyargs else kinds.POSITIONAL_OR_KEYWORD,
                default=kinds.empty if default is None else self.snapshot(self.expression(default)),
            )
            for arg, default in zip((*positional, *args.kwonlyargs), defaults, strict=True)
        ]
        return LocalFunction(node, self.scope, self.frame, name, inspect.Signature(parameters))

    def _Assign_stmt(self, stmt: ast.Assign) -> None:  # noqa: N802
        first = stmt.targets[0]
        self.target_name = first.id if isinstance(first, ast.Name) else ""
        value = self.expression(stmt.value)
        self.target_name = ""
        for target in stmt.targets:
            self._assign(target, value)

    def _AnnAssign_stmt(self, stmt: ast.AnnAssign) -> None:  # noqa: N802
        if stmt.value is None:
            raise self.fault("an annotation without a value", "give the name a value")
        annotation, value = self.expression(stmt.annotation), self.expression(stmt.value)
        if annotation is Any:
            self._assign(stmt.target, value)
            return
        dtype = self.dtype_of(annotation)
        self._assign(stmt.target, Number(self.converted(value, dtype), dtype))

    def _AugAssign_stmt(self, stmt: ast.AugAssign) -> None:  # noqa: N802
        target = stmt.target
        if isinstance(target, ast.Subscript):
            view, index = self.expression(target.value), self.snapshot(self.expression(target.slice))
            if not isinstance(view, ArrayView):
                self._refuse_element(view)
            self.span = Span.of(stmt, self.frame, self.called)
            value = self._augmented(stmt, self.load(view, index))
            self.store(view, index, value)
            return
        if not isinstance(target, ast.Name):
            self._assign(target, None)
        load = ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target)  # type: ignore[union-attr]
        self._assign(target, self._augmented(stmt, self.expression(load), keeps_dtype=True))

    def _augmented(self, stmt: ast.AugAssign, before: Value, *, keeps_dtype: bool = False) -> Value:
        """What comes of the operator. `keeps_dtype`: a typed integer and an index are one of the integer's dtype, as
        NumPy's integers and Python's ints are; an element is converted where it is stored, and may be reported."""
        product = product_added(stmt)
        if isinstance(before, Tile) and product is not None:
            return self.matmul(self.expression(product.left), self.expression(product.right), before)
        right = self.expression(stmt.value)
        op = self.operator_name(stmt.op)
        self.span = Span.of(stmt, self.frame, self.called)
        if not keeps_dtype or not isinstance(before, Number) or before.kind != "typed" or before.dtype is BOOL:
            return self.binary(op, before, right)
        if op in _MODULAR and _is_index(right):
            right = Number(self.converted(right, before.dtype), before.dtype)
        value = self.binary(op, before, right)
        return Number(self.converted(value, before.dtype), before.dtype) if _is_index(value) else value

    def _assign(self, target: ast.expr, value: Value) -> None:
        self.span = Span.of(target, self.frame, self.called)
        match target:
            case ast.Name(id=name):
                self._bind(name, value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                self._unpack(elements, value)
            case ast.Subscript():
                view = self.expression(target.value)
                index = self.expression(target.slice)
                if not isinstance(view, ArrayView):
                    self._refuse_element(view)
                self.store(view, index, value)
            case ast.Attribute(attr=name):
                self._refuse_attribute(target.value, name)
            case _:
                raise self.fault(f"an assignment to {type(target).__name__}", "assign a name or an element")

    def _refuse_attribute(self, node: ast.expr, name: str) -> NoReturn:
        value = self.expression(node)
        text = Span.of(node, self.frame).text
        if isinstance(value, Number) and value.lanes > 1:
            raise self.fault("a vector is a value", f"write {text} = {text}.replace({name}=…)")
        if isinstance(value, Number | HostNumber | bool | int | float | np.generic):
            raise self.fault(
                f"{name} of {text} is assigned, and {text} is {self.described(value)}, which has nothing to assign",
                "give the value a name of its own",
            )
        raise self.fault(f"{name} of {self.described(value)} is assigned", "assign a name or an element")

    def _refuse_element(self, value: Value) -> None:
        if isinstance(value, Number) and value.lanes > 1:
            raise self.fault("a vector is a value", "write v = v.replace(x=…)")
        raise self.fault(
            f"an element of {self.described(value)} is assigned", "arrays have elements that can be written"
        )

    def _unpack(self, targets: Sequence[ast.expr], value: Value) -> None:
        if isinstance(value, Number) and isinstance(value.type, Vector):
            value = tuple(self.lanes_of(value, [lane]) for lane in range(value.lanes))
        if not isinstance(value, tuple):
            raise self.fault(f"{self.described(value)} cannot be unpacked", "give a tuple")
        starred = next((at for at, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        if len(value) < len(targets) - 1 or (starred is None and len(value) != len(targets)):
            least = "" if starred is None else "at least "
            names = len(targets) - (starred is not None)
            raise self.fault(f"{len(value)} value{'s' * (len(value) != 1)} for {least}{names} names", "give as many")
        held = self.snapshot(value)
        if starred is not None:
            behind = len(held) - (len(targets) - starred - 1)
            held = (*held[:starred], tuple(held[starred:behind]), *held[behind:])
        for target, element in zip(targets, held, strict=True):
            self._assign(target.value if isinstance(target, ast.Starred) else target, element)

    def _bind(self, name: str, value: Value) -> None:
        """Begins a version. What a variable holds now is copied: it may change."""
        self.scope.names[name] = Version(self._named(self.snapshot(value), name), self.span)

    def snapshot(self, value: Value) -> Value:
        """A value that stays: what a variable holds now."""
        if isinstance(value, tuple):
            elements = tuple(map(self.snapshot, value))
            if all(a is b for a, b in zip(elements, value, strict=True)):
                return value
            return type(value)(*elements) if hasattr(value, "_fields") else elements
        if isinstance(value, Number) and isinstance(value.ref.operand, Variable):
            return Number(self.k.let(value.ref), value.dtype, value.kind, value.low)
        if isinstance(value, ArrayView):
            offset, shape = self.snapshot(value.offset), self.snapshot(value.shape)
            if offset is not value.offset or shape is not value.shape:
                return replace(value, offset=offset, shape=shape)
        return value

    def _named(self, value: Value, name: str) -> Value:
        """The value under a name: a binding that has none takes it."""
        if isinstance(value, HostNumber) and not value.name:
            return replace(value, name=name)
        if not isinstance(value, Number) or not name.isidentifier():
            return value
        ref = self.k.named(value.ref, name)
        return value if ref is value.ref else replace(value, ref=ref)

    def dtype_of(self, value: Value) -> DType:
        """The dtype that a value of Python's names; `ocl_ir.language.statements.calls` has it."""
        raise NotImplementedError

    def operator_name(self, operator_: ast.operator) -> str:
        """The name of an operator's operation; `ocl_ir.language.statements.calls` has it."""
        raise NotImplementedError


def _is_index(value: Value) -> bool:
    return isinstance(value, Number) and value.kind == "index"
