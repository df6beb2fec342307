"""Reductions made of expressions, with the arguments of CuPy or those of PyOpenCL.

norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
y = norm(x, axis=1)

dot = ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "const float *x, const float *y")
z = dot(x, y)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ocl_ir.source_line import calling_line
from ocl_ir.types import U8, from_numpy
from ocl_runtime.arrays import Array
from ocl_runtime.errors import DTypeError
from ocl_runtime.programs.raw.folding import Reduction, Text
from ocl_runtime.programs.raw.indexed import declared_arguments, without_context
from ocl_runtime.programs.raw.parameters import Parameter, check_indexed, parameters, structs_by_name
from ocl_runtime.programs.struct_array import StructArray
from ocl_runtime.programs.structs import Struct


class ReductionKernel:
    """A reduction from expressions in OpenCL C.

    As CuPy has it: `in_params`, `out_params`, an expression of the ins for each index, one that joins `a` and `b`, a
    statement that makes the outs of the total `a`, the neutral element, a name. The call takes the ins, `axis`,
    `keepdims` and `out`, and gives a new array.

        ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")(x, axis=1)

    As PyOpenCL has it: the dtype of the result, the neutral element, the expression that joins `a` and `b`, the
    expression for each index `i`, and the arguments in C. A context may stand in front. The call takes the arguments
    and gives an array of shape ().

        ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "const float *x, const float *y")(x, y)

    `structs` are structured dtypes with a name in C (`ocl.tools.get_or_register_dtype`), which stand for types of
    parameters and of `reduce_type`; so does the dtype of PyOpenCL's kind. Results of such a type are a `StructArray`.

        ReductionKernel("T x", "int32 at", "(pair){x, i}", "a.value <= b.value ? a : b", "at = a.index",
                        "(pair){INFINITY, -1}", reduce_type="pair", structs=[pair])(x)

    Where there is nothing to reduce, the result is made of the neutral element. Totals are folded in an order that
    depends on sizes only. Raises `Error` for declarations that cannot be read; a call raises `DTypeError`, `ShapeError`
    or `NumberRangeError` for arguments that do not fit, and `BuildError`.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        arguments = without_context(arguments)
        is_indexed = "dtype_out" in named or (bool(arguments) and not isinstance(arguments[0], str))
        self._reduction = _indexed(*arguments, **named) if is_indexed else _broadcasting(*arguments, **named)

    def __repr__(self) -> str:
        return f"<ReductionKernel {self._reduction.name}>"

    def __call__(
        self,
        *args: Any,
        axis: Any = None,
        keepdims: bool = False,
        out: Array | StructArray | None = None,
        **named: Any,
    ) -> Any:
        """The reduction of arrays, along some axes or all."""
        return self._reduction(args, named, axis, keepdims, out)


def _broadcasting(
    in_params: str,
    out_params: str,
    map_expr: str,
    reduce_expr: str,
    post_map_expr: str,
    identity: Any,
    name: str = "reduce_kernel",
    *,
    reduce_type: str | None = None,
    preamble: str = "",
    structs: Sequence[Any] = (),
    options: Sequence[str] = (),
) -> Reduction:
    known = structs_by_name(structs)
    ins, outs = parameters(name, in_params, known), parameters(name, out_params, known)
    check_indexed(name, ins)
    total = outs[0].type if reduce_type is None else reduce_type
    text = Text(map_expr, reduce_expr, post_map_expr.strip().removesuffix(";"), str(identity), preamble)
    return Reduction(name, ins, outs, total, text, known, options)


def _indexed(
    dtype_out: Any,
    neutral: Any,
    reduce_expr: str,
    map_expr: str | None = None,
    arguments: str = "",
    name: str = "reduce_kernel",
    options: Sequence[str] = (),
    preamble: str = "",
    structs: Sequence[Any] = (),
) -> Reduction:
    struct = None if np.dtype(dtype_out).names is None else Struct.of(dtype_out)
    known = structs_by_name([*structs, *([] if struct is None else [dtype_out])])
    dtype = from_numpy(dtype_out) if struct is None else U8
    ins = declared_arguments(name, arguments, preamble, known)
    pointers = [param for param in ins if param.is_raw]
    if not pointers:
        raise DTypeError(
            f"kernel {name} is declared without an array to reduce: {arguments!r}",
            place=calling_line(),
            remedy='declare one: arguments="const float *x"',
        )
    out = Parameter(dtype.name if struct is None else struct.name, "_result", False, dtype, struct)
    text = Text(map_expr or f"{pointers[0].name}[i]", reduce_expr, "_result = a", str(neutral), preamble)
    return Reduction(name, ins, [out], out.type, text, known, options)
