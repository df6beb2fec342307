"""Calls: helpers are inlined where they are called, builtins emit kernel IR, dtypes convert.

A helper is any plain Python function, lambda, nested function, `functools.partial` or method of a frozen dataclass. It
has a scope of its own; numbers come by value, arrays by reference. Each call is translated anew, with the types that
its arguments have there.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NoReturn

from ocl_ir.errors import DTypeError
from ocl_ir.language.errors import Frame
from ocl_ir.language.expressions.expressions import BINARY
from ocl_ir.language.expressions.reports import StepSite
from ocl_ir.language.statements.statements import Statements
from ocl_ir.language.syntax.liveness import read
from ocl_ir.language.syntax.returns import RESULT, with_one_result
from ocl_ir.language.syntax.source import source_of
from ocl_ir.language.values import python_functions
from ocl_ir.language.values.captures import python_name
from ocl_ir.language.values.loops import Range
from ocl_ir.language.values.scopes import Scope, Version
from ocl_ir.language.values.swizzles import component_indices
from ocl_ir.language.values.table import Builtin, ElementFunction
from ocl_ir.language.values.values import LocalFunction, Method, Number, Value, dtype_name, is_static, remedy_for_text
from ocl_ir.types import DType, from_numpy, is_dtype

_DEEPEST = 64
"""Helpers that call one another."""
_PURE = frozenset({callable, chr, divmod, hasattr, isinstance, issubclass, ord, sum})
"""Python's own functions that may be called with values that are known."""


def _is_pure(function: Value) -> bool:
    """Whether a function of C's depends on its arguments alone: what it gives now is what it always gives."""
    return isinstance(function, BuiltinFunctionType) and (function in _PURE or function.__module__ == "math")


class Calls(Statements):
    """Translates calls."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._calling: list[object] = []
        """The helpers that are being inlined, outermost first."""

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """The result of a call."""
        known = self.builtin_of(function)
        if known is not None:
            return self._builtin(known, arguments, keywords)
        if isinstance(function, LocalFunction):
            scope = self._local_scope(function)
            return self._inlined(
                function.node,
                function.name,
                function.node,
                scope,
                arguments,
                keywords,
                function.frame,
                function.signature,
            )
        if isinstance(function, Method):
            return self._method(function, arguments, keywords)
        if isinstance(function, functools.partial):
            return self.call(function.func, [*function.args, *arguments], {**function.keywords, **keywords})
        if isinstance(function, MethodType):
            return self.call(function.__func__, [function.__self__, *arguments], keywords)
        if isinstance(function, ElementFunction):
            return self.inlined(function.function, arguments, keywords)
        if isinstance(function, FunctionType):
            return self._helper(function, arguments, keywords)
        dtype = self._as_dtype(function)
        if dtype is not None:
            if len(arguments) != 1 or keywords:
                raise self.fault(f"{self.described(function)} of {len(arguments)} values", "convert one value")
            return self.cast(arguments[0], dtype)
        if isinstance(function, type):
            return self._constructed(function, arguments, keywords)
        if function is breakpoint:
            raise self.fault("breakpoint() on a device", "launch it in plain Python: k.interpret[…](…)")
        if _is_pure(function) and is_static((*arguments, *keywords.values())):
            return self.static(function, *arguments, **keywords)
        if hasattr(function, "__wrapped__"):
            raise self.fault(f"{function.__name__} is decorated", "call the function without its decorator")
        raise self.fault(
            f"{self.described(function)} has no meaning in a kernel",
            "use what ocl_runtime.language has, or write a function in Python",
        )

    # ------------------------------------------------------------------ builtins and types

    def builtin_of(self, function: Value) -> Builtin | None:
        """The builtin that a value is, or that a function of Python's is in a kernel."""
        return function if isinstance(function, Builtin) else python_functions.builtin(function)

    def _builtin(self, function: Builtin, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        try:
            bound = function.signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise self.fault(
                f"{function.name}({', '.join(function.signature.parameters)}): {error}",
                "give the arguments that it takes",
            ) from None
        span = self.span
        value = function.emit(self, *bound.args, **bound.kwargs)
        self.span = span
        return value

    def _as_dtype(self, value: Value) -> DType | None:
        if isinstance(value, DType):
            return value
        if is_dtype(value):
            try:
                return from_numpy(value)
            except DTypeError as error:
                raise self.fault(error.fact, error.remedy, DTypeError) from None
        return None

    def dtype_of(self, value: Value) -> DType:
        """The dtype that a value of Python's names."""
        if value is float:
            return self.options.default_real
        dtype = from_numpy("?") if value is bool else self._as_dtype(value)
        if dtype is None:
            raise self.fault(
                f"{self.described(value)} is no dtype", "use float32, int32, uint8, bool or another", DTypeError
            )
        return dtype

    def _constructed(self, type_: type, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """A named tuple or a frozen dataclass with values of the kernel in it."""
        params = getattr(type_, "__dataclass_params__", None)
        if (params is not None and params.frozen) or (issubclass(type_, tuple) and hasattr(type_, "_fields")):
            return self.static(lambda: type_(*arguments, **keywords))
        if type_ is tuple and len(arguments) == 1 and isinstance(arguments[0], tuple):
            return arguments[0]
        remedy = "use tuples, NamedTuples or frozen dataclasses"
        if type_ is str and len(arguments) == 1:
            remedy = remedy_for_text(arguments[0], self.span.text.removeprefix("str(").removesuffix(")"))
        raise self.fault(f"{type_.__name__}(…) has no meaning in a kernel", remedy)

    def _method(self, method: Method, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        if method.name == "astype":
            self._refuse_astype(method.value, arguments)
        vector = method.value
        if arguments or not keywords:
            raise self.fault("replace takes components by name", "write v.replace(x=…)")
        lanes = [self.k.op("extract", vector.ref, lane) for lane in range(vector.lanes)]
        for name, value in keywords.items():
            indices = component_indices(name, vector.lanes)
            if indices is None or len(indices) != 1:
                raise self.fault(
                    f"a vector of {vector.lanes} lanes has no component {name}", "use x, y, z, w or s0 to sf"
                )
            lanes[indices[0]] = self.converted(value, vector.dtype)
        return Number(self.k.op("vector", *lanes), vector.dtype)

    def _refuse_astype(self, value: Value, arguments: list[Value]) -> NoReturn:
        dtype = self._as_dtype(arguments[0]) if len(arguments) == 1 else None
        function = "float32" if dtype is None else dtype_name(dtype)
        if isinstance(value, Number) and value.lanes > 1:
            function += f"x{value.lanes}"
        text, _, _ = self.span.text.rpartition(".astype")
        raise self.fault(
            f"astype of {self.described(value)} has no meaning in a kernel", f"convert it: {function}({text or 'v'})"
        )

    # ------------------------------------------------------------------ helpers

    def _helper(self, function: FunctionType, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        node = source_of(function).node
        if hasattr(function, "__wrapped__") or (isinstance(node, ast.FunctionDef) and node.decorator_list):
            raise self.fault(f"{function.__name__} is decorated", "call the function without its decorator")
        return self.inlined(function, arguments, keywords)

    def inlined(
        self, function: FunctionType, arguments: list[Value], keywords: dict[str, Value], *, is_outermost: bool = False
    ) -> Value:
        """The value of a function's body, translated here; the outermost one is called by nobody."""
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise self.fault(
                f"{function.__name__} is a generator or a coroutine", "write a function that returns a value"
            )
        source, scope = source_of(function), Scope({}, None, self.names_of(function))
        return self._inlined(
            source.node,
            function.__name__,
            function.__code__,
            scope,
            arguments,
            keywords,
            source.frame,
            inspect.signature(function, follow_wrapped=False),
            is_outermost=is_outermost,
        )

    def names_of(self, function: FunctionType) -> Any:
        """How a function's scopes in Python are asked for a name."""

        def outside(name: str) -> Value:
            read = python_name(function, name)
            if read is None:
                raise NameError(name)
            return self.captured(function, name, read)

        return outside

    def _local_scope(self, function: LocalFunction) -> Scope:
        return Scope({}, function.scope, None)

    def _inlined(
        self,
        node: ast.FunctionDef | ast.Lambda,
        name: str,
        identity: object,
        scope: Scope,
        arguments: list[Value],
        keywords: dict[str, Value],
        frame: Frame,
        signature: inspect.Signature,
        *,
        is_outermost: bool = False,
    ) -> Value:
        if identity in self._calling:
            names = [getattr(other, "co_name", getattr(other, "name", "lambda")) for other in self._calling]
            chain = " → ".join([*names[self._calling.index(identity) :], name])
            raise self.fault(f"{name} calls itself ({chain})", "write a loop")
        if len(self._calling) >= _DEEPEST:
            raise self.fault(f"more than {_DEEPEST} helpers call one another", "write fewer levels")
        call = self.span
        bound = self._bound(name, arguments, keywords, signature)
        before = self.scope, self.frame, self.called, self._function, self._loops
        self._calling.append(identity)
        self.scope, self._loops = scope, []
        self.frame, self.called = frame, None if is_outermost else call
        for parameter, value in bound.items():
            scope.names[parameter] = Version(self.snapshot(value), call)
        if isinstance(node, ast.Lambda):
            self._function = node
            result = self.expression(node.body)
        else:
            self._function = with_one_result(node)
            self.statements(self._function.body)
            result = scope.names[RESULT].value
        self._calling.pop()
        self.scope, self.frame, self.called, self._function, self._loops = before
        self.span = call
        return result

    def _bound(
        self,
        name: str,
        arguments: list[Value],
        keywords: dict[str, Value],
        signature: inspect.Signature,
    ) -> dict[str, Value]:
        """The arguments by parameter."""
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise self.fault(f"{name}: {error}", "give the arguments that it takes") from None
        bound.apply_defaults()
        return dict(bound.arguments)

    def in_python(self, function: LocalFunction) -> Callable[..., Any]:
        """A lambda of the kernel as a function in Python, which sees what is outside of the kernel."""
        if not isinstance(function.node, ast.Lambda):
            raise self.fault(f"{function.name} is translated", "give a lambda, or a function from outside")
        parameters = {arg.arg for arg in function.node.args.args}
        names = {name: self.scope.outside(name) for name in read(function.node.body) - parameters}
        code = compile(ast.Expression(function.node), self.frame.file, "eval")
        made: Callable[..., Any] = eval(code, names)  # the program's own text
        return made

    # ------------------------------------------------------------------ asked by the rooms below

    def operator_name(self, operator_: ast.operator) -> str:
        """The name of an operator's operation."""
        name = BINARY.get(type(operator_))
        if name is None:
            raise self.fault("@ has no meaning for these values", "write a loop, or dot(…) of tiles")
        return name

    def loop_bounds(self, counted: Range) -> Any:
        """The operands of a counted loop, and how its index becomes the number that the program counts: None where it
        is that number. The bounds are taken once."""
        start, stop, step = counted.start, counted.stop, counted.step
        if isinstance(step, int) and step == 0:
            raise self.fault("range with a step of 0", "use another step")
        if counted.dtype is not None:
            refs = [self.k.fixed(self.converted(bound, counted.dtype)) for bound in (start, stop, step)]
            return (*refs, None)
        if isinstance(step, int) or (step.low is not None and step.low > 0):
            return (*[self.k.fixed(self.index(bound)) for bound in (start, stop, step)], None)
        first, last, by = (
            self.snapshot(Number(self.index(bound), self.index_type, "index")) for bound in (start, stop, step)
        )
        zero = self._constant(0, self.index_type)
        if self.options.checked:
            self.report_where(self.k.op("eq", by.ref, zero), StepSite(self.span))
        up = self.k.op("gt", by.ref, zero)
        down = self.k.op("lt", by.ref, zero)
        distance = self.k.op("select", up, self.k.op("sub", last.ref, first.ref), self.k.op("sub", first.ref, last.ref))
        width = self.k.op("maximum", self.k.op("abs", by.ref), self._constant(1, self.index_type))
        rounded = self.k.op("sub", self.k.op("add", distance, width), self._constant(1, self.index_type))
        turns = self.k.op("floordiv", rounded, width)
        count = self.k.op("select", self.k.op("or", up, down), self.k.op("maximum", turns, zero), zero)
        counts = lambda turn: self.binary("add", first, self.binary("mul", turn, by))  # noqa: E731
        return self.k.fixed(zero), self.k.fixed(count), self.k.fixed(self._constant(1, self.index_type)), counts
