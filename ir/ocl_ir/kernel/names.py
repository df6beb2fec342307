"""One name for each value and variable, the same in the text of the IR and in the generated source.

Names come from hints where there are any, else from what made the value, and are unique in the whole kernel, so that
nested and unrolled scopes cannot collide. They depend on nothing but the kernel: cache keys hash the text that they
stand in.
"""

from __future__ import annotations

import re

from ocl_ir.kernel.grammar import (
    Array,
    Atomic,
    Collective,
    For,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Shuffle,
    Value,
    defined,
    walk,
)
from ocl_ir.ops import OPS
from ocl_ir.program_ops import InlineC
from ocl_ir.types import Pointer

_KEYWORDS = """
auto bool break case char const constant continue default do double else enum extern false float for generic global
goto half if image1d_t image1d_array_t image1d_buffer_t image2d_t image2d_array_t image3d_t inline int intptr_t kernel
local long main pipe private ptrdiff_t quad read_only read_write register restrict return sampler_t short signed
size_t sizeof static struct switch true typedef uchar uint uintptr_t ulong union unsigned ushort void volatile while
write_only event_t complex imaginary
"""
_FUNCTIONS = """
barrier mem_fence select clamp clz degrees fract frexp ldexp lgamma logb ilogb mad mad24 mad_hi mad_sat maxmag minmag
mix modf mul24 mul_hi nan normalize pown powr radians remainder remquo rint rootn rotate round rsqrt shuffle sign
smoothstep step tgamma sincos sinpi cospi tanpi upsample vec_step printf prefetch dot cross distance length all any
isequal hadd rhadd fabs fdim fma fmax fmin fmod min max abs abs_diff isnormal isordered signbit bitselect popcount pow
hypot
"""
_TYPES = [
    f"{name}{count}"
    for name in ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double"]
    for count in (2, 3, 4, 8, 16)
]
_MACROS = "AT AT_CONSTANT COMPLEMENT LOAD STORE LOAD_LOCAL STORE_LOCAL INFINITY NAN MAXFLOAT HUGE_VAL M_PI NULL"

_CALLED = [name for name, op in OPS.items() if any(text.startswith(f"{name}(") for text in op.spelling.values())]
_TAKEN = frozenset([*_KEYWORDS.split(), *_FUNCTIONS.split(), *_CALLED, *_TYPES, *_MACROS.split()])
KEYWORDS = frozenset([*_KEYWORDS.split(), *_TYPES, *_MACROS.split()])
"""Words that nothing else can be called in OpenCL C 1.2, not even a field of a struct."""
_SCALAR = "(?:u?(?:char|short|int|long)|half|float|double)"
_FAMILIES = re.compile(
    rf"(?:convert|as)_{_SCALAR}\d*(?:_\w+)?|get_(?:global|local|group|num|work)_\w+|v(?:load|store)a?(?:\d+|_half\w*)"
    r"|atom(?:ic)?_\w+|(?:get_)?sub_group_\w+|warp_shuffle_\w+|(?:fast|integer_power|round_to|whole|philox|normal_bits|gamma_bits|(?:poisson|binomial)_(?:small|large)|pow_by_fours|fmod_by_fours)_\w+"
    r"|matrix_at|(?:mma|mfma|wmma|wmma_gfx12|xmx8|xmx16)_(?:b?f16|t?f32|f64)|intel_\w+|warpgroup_\w+|(?:begin|end)_products|await_(?:copies|products)_\d+|(?:open|await|pass|close)_turn_\d+|(?:take|leave)_registers_\d+"
    r"|copy_async|commit_copies|describe_(?:matrix|windows|(?:windows_)?(?:tf32|f64))|(?:init|await|release)_boxes|copy_(?:box|windows)"
    r"|(?:CL|CLK|M|FP|FLT|DBL|HALF|U?CHAR|SCHAR|U?SHRT|U?INT|U?LONG)_[A-Z0-9_]+|cl_\w+"
)
"""Functions that generated code calls, and macros, of which there are too many to list."""
RESERVED = _TAKEN | frozenset(OPS)
"""Words that mean something in OpenCL C 1.2 and that a program may therefore not use for a variable."""

_RESULTS = {
    "add": "sum",
    "sub": "difference",
    "mul": "product",
    "div": "quotient",
    "floordiv": "quotient",
    "udiv": "quotient",
    "sdiv": "quotient",
    "rem": "remainder_",
    "urem": "rest",
    "srem": "rest",
    "neg": "negated",
    "eq": "is_equal",
    "ne": "differs",
    "lt": "is_less",
    "le": "is_at_most",
    "gt": "is_greater",
    "ge": "is_at_least",
    "minimum": "smaller",
    "maximum": "larger",
    "select": "chosen",
    "nearest": "place",
    "float_order": "order",
    "join_halves": "key",
    "mul_high": "high",
    "philox": "word",
    "normal_bits": "normal",
    "gamma_bits": "gamma",
    "poisson_small": "count",
    "poisson_large": "count",
    "binomial_small": "count",
    "binomial_large": "count",
    "splat": "repeated",
    "vector": "joined",
    "extract": "lane",
    "copy": "kept",
    "convert": "converted",
    "bitcast": "bits",
    "lo": "low_half",
    "hi": "high_half",
    "not": "inverted",
    "global_id": "i",
    "local_id": "item",
    "group_id": "group",
    "global_size": "items",
    "local_size": "group_items",
    "num_groups": "groups",
}


def entry_name(kernel: Kernel) -> str:
    """The name of the kernel's function in generated source.

    A kernel that is called like a function of OpenCL C (`sin`) compiles, but PoCL does not find it or ends the process.
    """
    return function_name(kernel.name)


def function_name(name: str) -> str:
    """A name that a function of a program may have."""
    return f"{name}_kernel" if name in _TAKEN or _FAMILIES.fullmatch(name) else name


def names(kernel: Kernel) -> dict[int, str]:
    """The name of every value and variable, by id."""
    named: dict[int, str] = {}
    taken = set(RESERVED) | {kernel.name, entry_name(kernel)}
    numbers: dict[tuple[str, tuple[str, ...]], int] = {}

    def name(id_: int, wish: str, also: tuple[str, ...] = ()) -> None:
        """Gives a name that is free, together with what is made from it by adding one of `also`."""
        if _FAMILIES.fullmatch(wish):
            wish = f"{wish}_value"
        number = numbers.get((wish, also), 0)  # all below are taken
        unique = f"{wish}_{number}" if number else wish
        while not taken.isdisjoint(unique + end for end in ("", *also)):
            number += 1
            unique = f"{wish}_{number}"
        taken.update(unique + end for end in ("", *also))
        named[id_], numbers[wish, also] = unique, number

    for param in kernel.params:
        # The generated source passes a global pointer as a buffer and an offset.
        also = ("_buffer", "_offset") if isinstance(param.value.type, Pointer) else ("_argument",)
        name(param.value.id, _clean(param.value.hint) or "p", also)
    for stmt in walk(kernel.body):
        value = defined(stmt)
        if value is not None:
            name(value.id, _clean(value.hint) or _described(stmt, value, named))
        elif isinstance(stmt, Local):
            name(stmt.variable.id, _clean(stmt.variable.hint) or "v")
        elif isinstance(stmt, For):
            name(stmt.index.id, _clean(stmt.index.hint) or "j")
    return named


def _clean(hint: str) -> str:
    hint = hint.removeprefix("~")
    return hint if hint.isidentifier() and hint.isascii() and not hint.startswith("__") else ""


def _described(stmt: object, value: Value, named: dict[int, str]) -> str:
    match stmt:
        case Let():
            return _RESULTS.get(stmt.op, "value" if isinstance(stmt.op, InlineC) else f"{stmt.op}_value")
        case Load():
            return f"{named.get(stmt.pointer.id, 'loaded')}_value"
        case Atomic():
            return f"{named.get(stmt.pointer.id, 'atomic')}_before"
        case Collective():
            return f"{'subgroup' if stmt.size else 'group'}_{stmt.op}"
        case Shuffle():
            return "shuffled"
        case MatrixMultiply():
            return "sums"
        case Array():
            return "tile" if getattr(value.type, "space", "") == "local" else "items"
    raise AssertionError(stmt)
