"""Running results made of expressions, as PyOpenCL has them.

    ScanKernel(np.int32, "a + b")(x)                                  # running sums, in place
    ScanKernel(np.int32, "a > b ? a : b", arguments="const int *x, int *y",
               input_expr="x[i]", output_statement="y[i] = item")(x, y)

Three kernels: each work-item scans neighbours, and each group the totals of its own; one work-item runs over the totals
of the groups, of which there are few; then the statement is run for each item. So it may write where the input lies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import DType, from_numpy
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import compute_together, executor_of
from ocl_runtime.arrays.functions.transfers import allocated
from ocl_runtime.codegen.spelling import value_type
from ocl_runtime.codegen.templates import render
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.programs.launching import Call, launch_over
from ocl_runtime.programs.raw.indexed import declared_arguments, without_context
from ocl_runtime.programs.raw.numbers import converted
from ocl_runtime.programs.raw.operands import index_type
from ocl_runtime.programs.raw.order import compact, in_order
from ocl_runtime.programs.raw.parameters import arguments_of, bound_types, checked_name
from ocl_runtime.programs.raw.prototype import C_NAMES
from ocl_runtime.programs.raw.signature import Signature

_GROUP = 64
_MOST_CHUNKS = 1024
_MOST_ITEMS = 2**22


class ScanKernel:
    """A scan: the running results of an expression that joins `a`, all items before, and `b`, the next one.

    With a dtype, `scan_expr` and perhaps `neutral` alone it is called with an array, which it writes over, or with one
    to read and one to write, and gives that. With `exclusive`, each item is that before its own, the first one
    `neutral`.

    With `arguments` in C, an `input_expr` of `i` and an `output_statement`, it is called with these arguments, and runs
    the statement for each `i` below `N`, where `item`, `prev_item` and `last_item` are results. A context may stand in
    front.

        ScanKernel(np.int32, "a + b", "0", arguments="const int *x, int *y, int *count", input_expr="x[i] > 0",
                   output_statement="if (item > prev_item) y[item - 1] = x[i]; if (i == N - 1) *count = item")(x, y, n)

    Raises `Error` for declarations that cannot be read; a call raises `DTypeError`, `ShapeError` or `NumberRangeError`
    for arguments that do not fit, and `BuildError`.
    """

    def __init__(
        self,
        *positional: Any,
        neutral: Any = None,
        arguments: str = "",
        input_expr: str = "",
        output_statement: str = "",
        exclusive: bool = False,
        name: str = "scan",
        preamble: str = "",
        options: Sequence[str] = (),
        **named: Any,
    ) -> None:
        declared = dict(zip(("dtype", "scan_expr", "neutral"), without_context(positional), strict=False)) | named
        neutral = declared.get("neutral", neutral)
        if not {"dtype", "scan_expr"} <= set(declared) <= {"dtype", "scan_expr", "neutral"}:
            raise Error(
                f"kernel {name} is declared with {', '.join(declared) or 'nothing'}",
                place=calling_line(),
                remedy='give a dtype and the expression that joins items: ScanKernel(np.int32, "a + b")',
            )
        self.name = name = checked_name(name)
        self._dtype = from_numpy(declared["dtype"])
        self._is_plain = not arguments
        uses_previous = exclusive or re.search(r"\bprev_item\b", output_statement)
        if uses_previous and neutral is None:
            raise Error(
                f"kernel {name} asks for the item before the first one",
                place=calling_line(),
                remedy='say what that is: neutral="0"',
            )
        if self._is_plain:
            type_ = C_NAMES[self._dtype]
            arguments, input_expr = f"const {type_} *_in, {type_} *_out", "_in[i]"
            output_statement = f"_out[i] = {'prev_item' if exclusive else 'item'}"
        self._params = declared_arguments(name, arguments, preamble)
        self._constant = [bool(re.search(r"\bconst\b", part)) for part in arguments.split(",")]
        if not any(param.is_raw for param in self._params):
            raise Error(
                f"kernel {name} is declared without an array: {arguments}",
                place=calling_line(),
                remedy="an argument with a * is an array: int *x",
            )
        self._text = {
            "scan_expr": declared["scan_expr"],
            "input_expr": input_expr,
            "output_statement": output_statement.strip().removesuffix(";"),
            "neutral": "0" if neutral is None else str(neutral),
            "preamble": preamble,
        }
        self._options = options
        self._variants: dict[tuple[str, DType], SourceKernel] = {}

    def __repr__(self) -> str:
        return f"<ScanKernel {self.name}>"

    def __call__(self, *args: Any, size: int | None = None, **named: Any) -> Array | None:
        """Launches the scan over the elements of the first array, or over as many as `size` says."""
        if self._is_plain and len(args) == 1 and not named:
            args = (*args, *args)
        arguments = arguments_of(self.name, self._params, args, named, len(self._params))
        types = bound_types(self.name, self._params, arguments, self._dtype)
        compute_together([x for x in arguments if isinstance(x, Array)])
        is_same = self._is_plain and arguments[0] is arguments[1]
        arrays = [
            compact(x) if is_constant and not is_same else in_order(x, is_written=True)
            for param, x, is_constant in zip(self._params, arguments, self._constant, strict=True)
            if param.is_raw
        ]
        numbers = [
            converted(self.name, param.name, types[param.type], argument)
            for param, argument in zip(self._params, arguments, strict=True)
            if not param.is_raw
        ]
        if self._is_plain and arrays[0].shape != arrays[1].shape:
            raise ShapeError(
                f"kernel {self.name} got shape {arrays[0].shape} to read and {arrays[1].shape} to write",
                place=calling_line(),
                remedy="give arrays of equal shapes",
            )
        count = arrays[0].size if size is None else size
        if count:
            self._launch(arrays, numbers, count)
        return arrays[1] if self._is_plain else None

    def _launch(self, arrays: Sequence[Array], numbers: Sequence[Any], count: int) -> None:
        executor = executor_of(self.name, arrays)
        each = -(-count // (_GROUP * _MOST_CHUNKS))
        chunk = each * _GROUP
        chunks = -(-count // chunk)
        index = index_type(count, ())
        items = allocated(self._dtype, Layout.contiguous((count,)), executor)
        totals = allocated(self._dtype, Layout.contiguous((chunks,)), executor)
        launch_over([*arrays, items, totals], self._call("chunks", index, (count, each), numbers, chunks * _GROUP))
        launch_over([totals], self._call("totals", index, (chunks,), (), 1))
        last = -(-min(count, _MOST_ITEMS) // _GROUP) * _GROUP
        launch_over([*arrays, items, totals], self._call("output", index, (count, chunk), numbers, last))

    def _call(
        self, stage: str, index: DType, counts: Sequence[int], numbers: Sequence[Any], global_size: int
    ) -> Callable[[Sequence[Buffer]], Call]:
        kernel = self._variants.get((stage, index))
        if kernel is None:
            kernel = self._variants[stage, index] = self._kernel(stage, index)

        def call(buffers: Sequence[Buffer]) -> Call:
            args: list[Any] = [*counts]
            if stage != "totals":
                views, values = iter(buffers), iter(numbers)
                for param in self._params:
                    args.append(self._dense(next(views), param.name) if param.is_raw else next(values))
                args += views
            else:
                args += buffers
            return Call(kernel, args, (global_size,), (min(global_size, _GROUP),))

        return call

    def _dense(self, buffer: Buffer, name: str) -> Buffer:
        if not buffer.layout.is_dense:
            raise ShapeError(
                f"kernel {self.name} got a view with gaps for {name}",
                place=calling_line(),
                remedy="give a copy: x.copy()",
            )
        return buffer

    def _kernel(self, stage: str, index: DType) -> SourceKernel:
        signature = Signature()
        signature.number("N", index)
        if stage != "totals":
            signature.number("_each" if stage == "chunks" else "_chunk_size", index)
            for param, is_constant in zip(self._params, self._constant, strict=True):
                if param.dtype is None:
                    raise DTypeError(f"kernel {self.name} does not know the type of {param.name}")
                if param.is_raw:
                    mode = READ if is_constant or stage == "chunks" else READ | WRITE
                    signature.pointer(param.name, param.dtype, mode)
                else:
                    signature.number(param.name, param.dtype)
            signature.pointer("_items", self._dtype, READ | WRITE if stage == "chunks" else READ)
        signature.pointer("_chunks", self._dtype, READ if stage == "output" else READ | WRITE)
        source = render(
            "raw_scan.cl.mako",
            stage=stage,
            name=self.name,
            extensions=signature.extensions,
            item=value_type(self._dtype),
            group=_GROUP,
            params=signature.declarations,
            pointers=signature.pointers,
            index=value_type(index),
            **self._text,
        )
        return signature.kernel(self.name, source, self._options, (_GROUP, 1, 1) if stage == "chunks" else None)
