"""Prototypes of OpenCL C are read, and get an offset beside each pointer, on the same lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.types import F32, I32, U8, U16, U64
from ocl_runtime.errors import Error
from ocl_runtime.programs.raw.prototype import Parameter, code_of, prototypes
from ocl_runtime.programs.raw.rewriting import rewritten


def parameters(text: str, name: str = "f", options: tuple[str, ...] = ()) -> tuple[Parameter, ...]:
    return prototypes(text, name, options)[0].parameters


def once(source: str, **local: int) -> str:
    return rewritten(source, prototypes(source, "f"), local)


def test_pointers_become_buffers_and_offsets() -> None:
    assert once("__kernel void f(__global float *x, float a)\n{\n    x[0] = a;\n}") == (
        "__kernel void f(__global float *x_buffer, const ulong x_offset, float a)\n"
        "{ __global float *x = (__global void *)((__global char *)x_buffer + x_offset);\n    x[0] = a;\n}"
    )
    assert once("kernel void f(constant float4 *restrict x, global int y[]) {}") == (
        "kernel void f(constant float4 *restrict x_buffer, const ulong x_offset, global int *y_buffer, "
        "const ulong y_offset) { constant float4 *restrict x = (__constant void *)((__constant char *)x_buffer + "
        "x_offset); global int *y = (__global void *)((__global char *)y_buffer + y_offset);}"
    )


def test_vectors_become_their_lanes_and_local_memory_is_declared_in_the_body() -> None:
    assert once("__kernel void f(const float2 a, __local int *t) {}", t=8) == (
        "__kernel void f( const float a_0, const float a_1) { const float2 a = (float2)(a_0, a_1); __local int t[8];}"
    )
    assert once("__kernel void f(__local int *t) {}", t=8) == "__kernel void f() { __local int t[8];}"
    assert once("__kernel void f(volatile local int *t, int n) {}", t=8) == (
        "__kernel void f( int n) { volatile local int t[8];}"
    )


def test_names_that_are_taken_are_not_taken_again() -> None:
    assert "x_buffer_, const ulong x_offset" in once("__kernel void f(__global int *x) { int x_buffer = 1; }")


@pytest.mark.parametrize(
    ("declared", "dtype", "lanes", "space", "is_const"),
    [
        ("__global const float *restrict p", F32, 1, "global", True),
        ("float const global * const restrict p", F32, 1, "global", True),
        ("const __constant unsigned char *p", U8, 1, "constant", True),
        ("volatile global unsigned int* p", None, 1, "global", False),
        ("unsigned short p", U16, 1, "", False),
        ("const int4 p", I32, 4, "", True),
        ("__global float8\n*\np", F32, 8, "global", False),
        ("__local REAL *p", F32, 1, "local", False),
        ("size p", U64, 1, "", False),
        ("__global OPTION *p", I32, 2, "global", False),
        ("__global struct thing *p", None, 1, "global", False),
    ],
)
def test_types_of_parameters(declared: str, dtype: object, lanes: int, space: str, is_const: bool) -> None:
    source = f"#define REAL float\ntypedef ulong size;\n__kernel void f(int n, {declared}) {{}}"
    _, parameter = parameters(source, options=("-DOPTION=int2",))
    if "unsigned int" not in declared:
        assert parameter.dtype is dtype
    assert (parameter.name, parameter.lanes, parameter.space, parameter.is_const) == ("p", lanes, space, is_const)


def test_what_is_no_code_is_no_prototype() -> None:
    source = """
    // __kernel void f(__global double *wrong) {}
    /* __kernel void f(int wrong) {} */
    #define g __kernel void f(int wrong)
    constant char *text = "__kernel void f(int wrong)";
    int kernels(int f) { return f; }
    __kernel __attribute__((vec_type_hint(float))) __attribute__((reqd_work_group_size(8, 4, 1)))
    void f(/* first */ int a, // second,
           __global int *b /* , */);
    __kernel void other(void) {}
    __kernel void f(int a, __global int *b) __attribute__((nothing)) { b[0] = a; }
    """
    declared, defined = prototypes(source, "f")
    assert [parameter.name for parameter in declared.parameters] == ["a", "b"]
    assert (declared.body, declared.group_size) == (None, (8, 4, 1))
    assert defined.body is not None
    assert source[defined.body : defined.body + 6] == " b[0] "
    assert prototypes(source, "other")[0].parameters == ()
    result = rewritten(source, [declared, defined], {})
    assert result.count("b_buffer") == 3
    assert result.count("\n") == source.count("\n")


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(Error, match="kernels that are: g, h"):
        prototypes("__kernel void g() {} kernel void h(int n) {}", "f")


PARAMETERS = st.lists(
    st.sampled_from(["int {}", "__global float *{}", "const float4 {}", "__local int *{}", "__constant\nint\n*{}"]),
    max_size=6,
)


@given(
    forms=PARAMETERS, spaces=st.sampled_from([" ", "\n", " /* , */ ", "// )\n"]), body=st.sampled_from(["", "\n;\n"])
)
def test_all_lines_stay_where_they_are(forms: list[str], spaces: str, body: str) -> None:
    listed = f",{spaces}".join(form.format(f"p{number}") for number, form in enumerate(forms))
    source = f"int before;\n__kernel void f({spaces}{listed}{spaces})\n{{{body}}}\nint after;"
    local = {f"p{number}": 4 for number, form in enumerate(forms) if "local" in form}
    result = rewritten(source, prototypes(source, "f"), local)
    assert result.count("\n") == source.count("\n")
    assert result.splitlines()[-1] == "int after;"
    names = [name for parameter in parameters(result) for name in (parameter.name, parameter.offset) if name]
    kinds = "".join({"i": "n", "c": "nnnn", "_": ""}.get(form[0], "") for form in forms)
    pointers = sum("*" in form and "local" not in form for form in forms)
    assert len(names) == len(kinds) + 2 * pointers
    assert code_of(result).count("(") == code_of(result).count(")")
