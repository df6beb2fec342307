"""The text of kernel IR, and the names in it and in the generated source."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel, Let, Store, Value, walk
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.kernel.names import entry_name, names
from ocl_ir.kernel.printer import lines, neighbourhood, statement_text, text
from ocl_ir.ops import OPS
from ocl_ir.passes import run as run_passes
from ocl_ir.types import BOOL, F16, F32, I32, U8, U32
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.execute.engine import Engine
from tests.support.cases import BY_NAME, CASES

IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def source(kernel: Kernel, strategy: str = "hybrid") -> str:
    return compile_kernel(kernel, strategy, Dialect()).source.text


# ---------------------------------------------------------------------- text


def test_every_kind_of_statement_has_its_line() -> None:
    k = KernelBuilder("demo", group_size=(4, 1, 1))
    n = k.scalar("n", U32)
    x = k.pointer("x", F32, align=16, restrict=True, length=n)
    c, h, y = k.pointer("c", F32, space="constant"), k.pointer("h", F16), k.pointer("y", U32)
    i = k.global_id(0, "i")
    tile = k.array(U32, 4, hint="tile")
    k.store(tile, i & 3, i)
    k.barrier()
    k.barrier(local=False, global_=True)
    v = k.variable(k.load(c, i), hint="v")
    wide = k.load(x, i * 4, count=4, align=16, hint="wide")
    k.store(x, i * 4 + 1, wide * 2.0)
    k.store(h, i, k.load_as(h, i, F32))
    with k.for_(5, -1, -2, dtype=I32, hint="down", unroll=2), k.if_(v > 0.0):
        k.continue_()
    with k.for_(0, 4, vectorize=True) as lane:
        k.store(y, i * 4 + lane, lane)
    with k.while_() as loop:
        loop.test(k.op("not", v < 1.0))
        k.assign(v, 0.5)
        k.break_()
    k.atomic("compare_exchange", y, 0, 1, 2, hint="before")
    k.atomic("max", y, 0, 7, used=False)
    k.atomic("load", y, 0, hint="now")
    with k.if_(k.const(True, BOOL)):
        k.return_()
    with k.else_():
        k.store(y, 0, k.convert(k.let(v, "kept"), U32))
    assert text(k.build()) == (
        "kernel demo(n: u32, x: global f32* align 16[n] restrict, c: constant f32*, h: global f16*, y: global u32*) "
        "group 4x1x1\n"
        "  let i: u32 = global_id 0:u32\n"
        "  array tile: local u32*[4]\n"
        "  let and_value: u32 = and i, 3:u32\n"
        "  store tile[and_value] = i\n"
        "  barrier local\n"
        "  barrier global\n"
        "  let c_value: f32 = load c[i]\n"
        "  var v: f32 = c_value\n"
        "  let product: u32 = mul i, 4:u32\n"
        "  let wide: f32x4 = load4 x[product]\n"
        "  let product_1: u32 = mul i, 4:u32\n"
        "  let sum: u32 = add product_1, 1:u32\n"
        "  let product_2: f32x4 = mul wide, 2.0:f32x4\n"
        "  store4u x[sum] = product_2\n"
        "  let h_value: f32 = load h[i]\n"
        "  store h[i] = h_value\n"
        "  for down: i32 in 5:i32..-1:i32 step -2:i32 unroll 2:\n"
        "    let is_greater: bool = gt v, 0.0:f32\n"
        "    if is_greater:\n"
        "      continue\n"
        "  for j: u32 in 0:u32..4:u32 step 1:u32 vectorize:\n"
        "    let product_3: u32 = mul i, 4:u32\n"
        "    let sum_1: u32 = add product_3, j\n"
        "    store y[sum_1] = j\n"
        "  while:\n"
        "    let is_less: bool = lt v, 1.0:f32\n"
        "    let inverted: bool = not is_less\n"
        "  holds inverted:\n"
        "    v = 0.5:f32\n"
        "    break\n"
        "  let before: u32 = atomic compare_exchange y[0:u32], 1:u32, 2:u32\n"
        "  atomic max y[0:u32], 7:u32\n"
        "  let now: u32 = atomic load y[0:u32]\n"
        "  if true:bool:\n"
        "    return\n"
        "  else:\n"
        "    let kept: f32 = copy v\n"
        "    let converted: u32 = convert kept\n"
        "    store y[0:u32] = converted\n"
    )


def test_lines_know_their_statements() -> None:
    kernel = BY_NAME["collatz"].kernel
    assert [line.stmt for line in lines(kernel) if line.stmt is not None] == list(walk(kernel.body))
    store = next(stmt for stmt in walk(kernel.body) if isinstance(stmt, Store))
    assert statement_text(kernel, store) == "store y[i] = steps"
    assert statement_text(kernel, replace(store)) == ""  # told by identity


def test_a_neighbourhood_marks_one_line_and_names_the_python_line() -> None:
    kernel = BY_NAME["collatz"].kernel
    store = next(stmt for stmt in walk(kernel.body) if isinstance(stmt, Store))
    shown = neighbourhood(kernel, store, radius=1).splitlines()
    assert [line.startswith("-->") for line in shown] == [False, True, False]
    assert re.search(r"asked for at .*tests.support.cases\.py:\d+$", shown[-1])


def test_values_that_do_not_exist_have_a_text_too() -> None:
    """A broken kernel must be printable, for the error that says so."""
    kernel = Kernel("broken", (), (Let(Value(1, U32), "copy", (Value(99, U32),)),))
    assert "copy ?99" in text(kernel)


# ---------------------------------------------------------------------- names

RESERVED_WORDS = """
auto break case char const constant continue default do double else enum extern false float for global goto half if
int kernel local long private register restrict return short signed sizeof static struct switch true typedef uchar
uint ulong union unsigned ushort void volatile while inline image2d_t sampler_t event_t size_t ptrdiff_t float4 int2
uchar16 half8 double3 bool get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups
barrier convert_int convert_float4 convert_uchar16 as_int as_float4 as_uint vload4 vstore4 vload_half vstore_half_rte
vload_half4 atomic_add atomic_max atomic_cmpxchg atom_add select min max abs fabs fmod floor ceil sqrt sin cos exp log
pow isnan isinf signbit popcount clz any all mad fma hypot copysign nextafter round rint trunc LOAD STORE LOAD_LOCAL
STORE_LOCAL INFINITY NAN CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE M_PI M_PI_F FLT_MAX INT_MAX integer_power_int
round_to_half convert_to_half round_to_bfloat16 fast_sin fast_cos fast_exp fast_log fast_tanh x_buffer x_offset y_buffer
demo i div rem result
""".split()  # noqa: SIM905


def kernel_with_names(hint: str, name: str = "demo") -> Kernel:
    """A binding, a variable, an array, a loop and a nested binding of one name, and every kind of generated call."""
    k = KernelBuilder(name)
    x, y, h = k.pointer("x", F32), k.pointer("y", F32), k.pointer("h", F16)
    i = k.global_id(0, "i")
    a = k.let(k.load(x, i) + 1.0, hint)
    v = k.variable(a, hint=hint)
    mine = k.array(F32, 4, space="private", hint=hint)
    with k.for_(0, 4, hint=hint) as j:
        k.store(mine, j, v)
        with k.if_(a > 1.0):
            inner = k.let(k.op("round_f16", k.op("sin", v)) + k.op("minimum", a, v), hint)
            k.assign(v, inner * 0.5 + k.convert(k.op("ipow", k.convert(j, I32), 2), F32))
    wide = k.let(k.load(x, i * 4, count=4) + 1.0, hint)
    k.store(h, i * 4, wide)
    lanes = k.let(k.op("select", wide > 0.0, wide, -wide), hint)
    k.store(y, i * 4, lanes // 2.0)
    k.store(y, i, v + k.load(mine, 2) + k.convert(k.op("isnan", a), F32))
    return k.build()


@pytest.mark.sample(2)
@pytest.mark.parametrize("initial", sorted({word[0] for word in RESERVED_WORDS}))
def test_no_name_breaks_the_generated_source(initial: str, engine: Engine) -> None:
    """What users may call a value, whatever it means in OpenCL C or in our templates.

    The kernels of all words with one initial are one program, whose build says which line of which is at fault.
    """
    words = [word for word in RESERVED_WORDS if word.startswith(initial)]
    kernels = [kernel_with_names(word, "demo" if word == "demo" else f"demo_{word}") for word in words]
    sources = [compile_kernel(kernel, "hybrid", engine._dialect).source.text for kernel in kernels]
    parts = [source.partition("__kernel") for source in sources]
    heads = {head for head, _, _ in parts}
    assert len(heads) == 1, "pragmas, macros and helper functions depend on no name"
    program = engine.programs.program(heads.pop() + "\n".join(mark + body for _, mark, body in parts))
    for kernel in kernels:
        program.kernel(entry_name(kernel))


@pytest.mark.parametrize("other", ["a_offset", "a_buffer"])
@pytest.mark.parametrize("first", [True, False])
def test_regression_names_beside_what_a_pointer_is_passed_as(other: str, first: bool, engine: Engine) -> None:
    """A pointer `a` is passed as a_buffer and a_offset, which another parameter may be called as well."""
    k = KernelBuilder("demo")
    makers = {"a": lambda: k.pointer("a", U32), other: lambda: k.scalar(other, U32)}
    made = {name: makers[name]() for name in ([other, "a"] if first else ["a", other])}
    k.store(made["a"], 0, made[other])
    given = engine.upload(np.zeros(1, np.uint32))
    args = {"a": (given, 0), other: 7}
    engine.submit(engine.executable(k.build(), "hybrid").prepare(args, (1,), (1,)))
    assert engine.download(given, np.dtype(np.uint32), 1).result()[0] == 7


@pytest.mark.parametrize(
    "name",
    [
        "generic",
        "image2d_array_t",
        "cl_khr_fp64",
        "cl_khr_fp16",
        "float4",
        "sin",
        "kernel",
        "main",
        "barrier",
        "get_global_id",
        "LOAD",
        "n",
        "select",
    ],
)
def test_no_name_of_a_parameter_or_kernel_breaks_the_generated_source(name: str, engine: Engine) -> None:
    for kernel_name, parameter in ((name, "p"), ("demo", name)):
        k = KernelBuilder(kernel_name)
        p = k.pointer(parameter, U32)
        k.store(p, k.global_id(0), k.op("minimum", k.global_id(0), 7))
        given = engine.upload(np.zeros(4, np.uint32))
        engine.submit(engine.executable(k.build(), "hybrid").prepare({parameter: (given, 0)}, (4,), (1,)))
        np.testing.assert_array_equal(engine.download(given, np.dtype(np.uint32), 4).result(), range(4))


@pytest.mark.parametrize("hint", ["two words", "größe", "a-b", "x;}", "*/ evil", "1st", "__hidden", "a\nb", '"', "\\"])
def test_a_hint_that_is_no_identifier_never_reaches_the_source(hint: str) -> None:
    made = source(kernel_with_names(hint))
    assert hint not in made or hint in {'"', "\\"}
    assert all(IDENTIFIER.match(name) for name in names(kernel_with_names(hint)).values())


def test_a_note_cannot_end_its_comment() -> None:
    k = KernelBuilder("demo", note="*/ __kernel void evil() {} /*")
    k.store(k.pointer("y", U32), 0, 1)
    made = source(k.build())
    assert made.count("*/") == 1
    assert made.count("/*") == 1
    assert "* / __kernel void evil() {} / *" in made.splitlines()[0]


@pytest.mark.parametrize(
    "note", ["a\nb", "ends in a backslash \\", "${1 + 1}", "## no comment", "% if True:", "<%def name='x'>"]
)
def test_a_note_is_not_a_template(note: str) -> None:
    k = KernelBuilder("demo", note=note)
    k.store(k.pointer("y", U32), 0, 1)
    made = source(k.build())
    assert " ".join(note.splitlines()) in made.splitlines()[0]
    assert made.index("*/") < made.index("#pragma")


def test_names_are_unique_whatever_the_scopes() -> None:
    for kernel in [case.kernel for case in CASES] + [kernel_with_names(hint) for hint in ("a", "", "sum", "x_buffer")]:
        given = names(kernel)
        assert len(set(given.values())) == len(given)
        assert not set(given.values()) & {"float4", "if", kernel.name}


def test_names_come_from_hints_and_from_what_made_the_value() -> None:
    k = KernelBuilder("demo")
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0)
    k.store(y, i, k.let(k.load(x, i) + 1.0, "total") * 2.0)
    assert list(names(k.build()).values()) == ["x", "y", "i", "x_value", "sum", "total", "product"]


def test_a_taken_name_gets_a_number() -> None:
    k = KernelBuilder("demo")
    y = k.pointer("y", U8)
    for _ in range(3):
        k.store(y, 0, k.let(k.load(y, 0), "sum"))
    given = list(names(k.build()).values())
    assert [name for name in given if name.startswith("sum")] == ["sum", "sum_1", "sum_2"]


def test_every_operation_has_a_printable_name() -> None:
    for op in OPS:
        assert IDENTIFIER.match(op), op


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_text_and_the_source_use_the_same_names(strategy: str) -> None:
    """So that a reader finds a value of the IR in the source; slots that several share have names of their own."""
    kernel = BY_NAME["mandelbrot"].kernel
    made, ir_text = source(kernel, strategy), text(run_passes(kernel))
    for name in ("px", "py", "re0", "im0"):
        assert re.search(rf"\b{name}\b", ir_text)
        if strategy != "reuse":
            assert re.search(rf"const \w+ {name} =", made)


@pytest.mark.parametrize("make", [lambda: BY_NAME["stencil"].kernel, lambda: kernel_with_names("a")])
def test_printing_twice_gives_the_same(make: Callable[[], Kernel]) -> None:
    assert text(make()) == text(make())
    assert source(make()) == source(make())
