"""What launches of OpenCL C by hand are told: memory that is promised to be apart, who asked for what does not build,
and PyOpenCL's way to call a kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.errors import BuildError, ShapeError

ADD = """
__kernel void add(__global const float *{0} x, __global float *{1} y)
{{
    y[get_global_id(0)] += x[get_global_id(0)];
}}
"""
WRONG = ADD.format("", "").replace("+= x", "+= nowhere")


def add(of_x: str = "", of_y: str = "", arguments: str = "in x, inout y") -> ocl.RawKernel:
    return ocl.RawKernel(ADD.format(of_x, of_y), "add", arguments)


@pytest.mark.parametrize(
    ("of_x", "of_y", "promised"),
    [
        ("restrict", "", "x is declared restrict"),
        ("", "__restrict", "y is declared restrict"),
        ("__restrict__", "restrict", "y and x are declared restrict"),
    ],
)
def test_the_same_view_where_one_is_restrict(of_x: str, of_y: str, promised: str) -> None:
    x = ocl.ones(8)
    fact = rf"y is written and is the same memory as x, and {promised}(.|\n)*x\.copy\(\)"
    with pytest.raises(ShapeError, match=fact):
        add(of_x, of_y)[8](x, x)
    with pytest.raises(ShapeError, match=fact):
        add(of_x, of_y, "")[8](x[:], x)
    add(of_x, of_y)[8](x.copy(), x)
    assert x.tolist() == [2] * 8
    add()[8](x, x)
    assert x.tolist() == [4] * 8


def test_restrict_of_a_declaration_counts() -> None:
    declared = "__kernel void add(__global const float *restrict x, __global float *y);" + ADD.format("", "")
    x = ocl.ones(8)
    with pytest.raises(ShapeError, match="x is declared restrict"):
        ocl.RawKernel(declared, "add")[8](x, x)


def test_what_is_only_read_may_be_restrict_and_the_same() -> None:
    source = """__kernel void sum(__global const float *restrict a, __global const float *restrict b, __global float *c)
    { c[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)]; }"""
    a, c = ocl.ones(8), ocl.zeros(8)
    ocl.RawKernel(source, "sum")[8](a, a, c)
    assert c.tolist() == [2] * 8


def test_copies_are_set_apart_in_a_captured_function() -> None:
    kernel = add("restrict")

    @ocl.capture
    def added(x: Any, y: Any) -> Any:
        kernel[8](x, y)
        return y * 1

    x = ocl.ones(8)
    assert added(x, x.copy()).tolist() == [2] * 8
    with pytest.raises(ShapeError, match="x is declared restrict"):
        added(x, x)


# ---------------------------------------------------------------------- who asked for what does not build


def line() -> int:
    """The line that calls this."""
    return sys._getframe(1).f_lineno


def raw() -> tuple[Callable[[], Any], int]:
    kernel, made = ocl.RawKernel(WRONG, "add"), line()
    return lambda: kernel[8](ocl.ones(8), ocl.ones(8)), made


def of_a_module() -> tuple[Callable[[], Any], int]:
    kernel, made = ocl.RawModule(WRONG).kernel("add"), line()
    return lambda: kernel[8](ocl.ones(8), ocl.ones(8)), made


def with_local_memory() -> tuple[Callable[[], Any], int]:
    source = "__kernel void f(__global float *x, __local float *t) { x[0] = nowhere; }"
    kernel, made = ocl.RawKernel(source, "f"), line()
    return lambda: kernel[8](ocl.ones(8), 4), made


def captured() -> tuple[Callable[[], Any], int]:
    kernel, made = ocl.RawKernel(WRONG, "add"), line()

    @ocl.capture
    def added(x: Any, y: Any) -> Any:
        kernel[8](x, y)
        return y * 1

    return lambda: added(ocl.ones(8), ocl.ones(8)).compute(), made


def indexed() -> tuple[Callable[[], Any], int]:
    kernel, made = ocl.ElementwiseKernel("float *x", "x[i] = nowhere", "f"), line()
    return lambda: kernel(ocl.ones(8)), made


@pytest.mark.parametrize("make", [raw, of_a_module, with_local_memory, captured, indexed])
def test_a_build_error_names_the_line_that_made_the_kernel(make: Callable[[], tuple[Callable[[], Any], int]]) -> None:
    launch, made = make()
    with pytest.raises(BuildError) as caught:
        launch()
    assert f"asked for at {__file__}:{made}" in caught.value.place
    assert "nowhere" in caught.value.place


@pytest.mark.parametrize(
    "call",
    [
        lambda: ocl.ElementwiseKernel("T x", "T y", "y = nowhere", "f")(ocl.ones(8)).compute(),
        lambda: ocl.ReductionKernel("T x", "T y", "nowhere", "a + b", "y = a", "0", "f")(ocl.ones(8)).compute(),
        lambda: ocl.ScanKernel(np.float32, "a + nowhere")(ocl.ones(8)),
    ],
    ids=["elementwise", "reduction", "scan"],
)
def test_a_build_error_names_the_line_that_called_the_kernel(call: Callable[[], Any]) -> None:
    with pytest.raises(BuildError) as caught:
        call()
    assert f"asked for at {__file__}:{call.__code__.co_firstlineno}" in caught.value.place


# ---------------------------------------------------------------------- PyOpenCL's way to call


class Queue:
    """A queue of PyOpenCL, as far as its type tells."""


Queue.__module__ = "pyopencl"


@pytest.mark.parametrize("queue", [None, Queue()], ids=["None", "a queue"])
def test_the_call_of_pyopencl_is_told_how_to_launch(queue: Any) -> None:
    kernel, x, y = add(), ocl.ones(8), ocl.ones(8)
    with pytest.raises(ShapeError, match=r"a queue and a global size(.|\n)*write add\[8\]\(…\)"):
        kernel(queue, (8,), None, x, y)
    with pytest.raises(ShapeError, match=r"write add\[4, 2, \(2, 2\)\]\(…\)"):
        kernel(queue, (4, 2), (2, 2), x, y)


@pytest.mark.parametrize("arguments", [(), (8,), ((8,), (1,), 1), ((8,), (1,), (), 1)], ids=str)
def test_what_is_no_launch(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ShapeError, match=r"without saying over how many(.|\n)*write add\[n\]\(…\)"):
        add()(*arguments)
    with pytest.raises(ShapeError, match="without saying over how many"):
        add()(x=ocl.ones(8), y=ocl.ones(8))
