"""Declarations of those functions of OpenCL C that a source calls, for compilers that would read all of them.

PoCL's compiler reads a header of 9,700 declarations for each program, which takes 60 ms of the 70 ms that it takes to
build a small one; the functions that a kernel calls have some dozens. A source is built with its own few in front, and
the header is left out by the macro that guards it against being read twice (`Quirks.header_guard`). What is declared is
what OpenCL C 1.2 declares, section 6.12 of its specification: all overloads of a name or none, since the compiler
chooses among them by the types of the arguments. A source that calls others, as those for images, has the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
_SIGNED = _INTEGERS[::2]
_FLOATS = ("float", "double")
_NUMBERS = (*_INTEGERS, *_FLOATS)
_LANES = ("", "2", "3", "4", "8", "16")
_VECTORS = _LANES[1:]
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "float": 32, "double": 64}
_SPACES = ("__global", "__local", "__private")

# Signatures: T is the type; t its scalar, J and U its signed and unsigned integers of the same width, R what a
# comparison of it gives: vectors give integers of the width of their elements, scalars int.
_OF_FLOATS = {
    "T(T)": """acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erf erfc exp exp10 exp2
        expm1 fabs floor lgamma log log10 log1p log2 logb rint round rsqrt sign sin sinh sinpi sqrt tan tanh tanpi
        tgamma trunc degrees radians""",
    "T(T, T)": """atan2 atan2pi copysign fdim fmax fmin fmod hypot max maxmag min minmag nextafter pow powr
        remainder""",
    "T(T, T, T)": "bitselect clamp fma mad mix",
    "T(T, T, J)": "select",
    "T(T, T, U)": "select",
    "R(T)": "isfinite isinf isnan isnormal signbit",
    "R(T, T)": """isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered
        isunordered""",
}
_OF_INTEGERS = {
    "T(T)": "clz popcount",
    "U(T)": "abs",
    "U(T, T)": "abs_diff",
    "T(T, T)": "add_sat hadd max min mul_hi rhadd rotate sub_sat",
    "T(T, T, T)": "bitselect clamp mad_hi mad_sat",
    "T(T, T, J)": "select",
    "T(T, T, U)": "select",
}
_OF_SIGNED = {"int(T)": "all any"}
_OF_FLOAT_VECTORS = {"T(T, t)": "fmax fmin max min", "T(T, t, t)": "clamp", "T(T, T, t)": "mix"}
_OF_INTEGER_VECTORS = {"T(T, t)": "max min", "T(T, t, t)": "clamp"}
_FAMILIES = (
    (_OF_FLOATS, _FLOATS, _LANES),
    (_OF_INTEGERS, _INTEGERS, _LANES),
    (_OF_SIGNED, _SIGNED, _LANES),
    (_OF_FLOAT_VECTORS, _FLOATS, _VECTORS),
    (_OF_INTEGER_VECTORS, _INTEGERS, _VECTORS),
)
_ALONE = {
    **dict.fromkeys(
        (f"get_{of}" for of in ("global_id", "global_offset", "global_size", "group_id", "local_id", "local_size")),
        "CONSTANT size_t {}(uint);",
    ),
    "get_num_groups": "CONSTANT size_t {}(uint);",
    "get_work_dim": "CONSTANT uint {}(void);",
    "barrier": "CONVERGENT void {}(cl_mem_fence_flags);",
    **dict.fromkeys(("mem_fence", "read_mem_fence", "write_mem_fence"), "OVERLOADED void {}(cl_mem_fence_flags);"),
}
_ATOMIC = re.compile(r"atom(?P<of_32_bits>ic)?_(?P<operation>add|sub|xchg|min|max|and|or|xor|inc|dec|cmpxchg)")
_OPERANDS = {"inc": 0, "dec": 0, "cmpxchg": 2}  # others have one
_CONVERSION = re.compile(
    rf"convert_(?P<type>{'|'.join(_NUMBERS)})(?P<lanes>2|3|4|8|16)?(?P<saturated>_sat)?(?:_rt[ezpn])?"
)
_ACCESS = re.compile(r"v(?P<kind>load|store)(?P<lanes>2|3|4|8|16)")
_ACCESS_OF_HALVES = re.compile(
    r"v(?P<kind>load|store)(?P<aligned>a?)_half(?P<lanes>2|3|4|8|16)?(?P<rounding>_rt[ezpn])?"
)
_OTHERS = re.compile(
    r"""native_\w+|half_(?:cos|divide|exp|exp2|exp10|log|log2|log10|powr|recip|rsqrt|sin|sqrt|tan)|(?:read|write|get)_image\w*|async_work_group_\w+|wait_group_events|prefetch|printf|cross|dot|
    distance|length|normalize|fast_(?:distance|length|normalize)|fract|frexp|modf|sincos|remquo|lgamma_r|ilogb|ldexp|pown|rootn|nan|mad24|mul24|
    shuffle2?|smoothstep|step|upsample""",
    re.VERBOSE,
)
_CALLED = re.compile(r"\b([a-z][a-z0-9_]+)\s*\(")
_ATTRIBUTES = {
    "OVERLOADED": "overloadable",
    "CONSTANT": "overloadable, const",
    "PURE": "overloadable, pure",
    "CONVERGENT": "overloadable, convergent",
}


def declared(source: str) -> str | None:
    """The source behind declarations of the functions that it calls; lines count as before.

    None where it calls a function of OpenCL C that is not declared here.
    """
    names = dict.fromkeys(_CALLED.findall(source))
    if any(_OTHERS.fullmatch(name) for name in names):
        return None
    texts = [text for name in names if (text := _declarations(name))]
    attributes = [f"#define {name} __attribute__(({of}))" for name, of in _ATTRIBUTES.items()]
    return "\n".join([*attributes, *texts, *(f"#undef {name}" for name in _ATTRIBUTES), "#line 1", source])


@lru_cache(maxsize=1024)
def _declarations(name: str) -> str:
    """All overloads of a function of OpenCL C; nothing where the name is none that is known here."""
    if name in _ALONE:
        return _ALONE[name].format(name)
    rows = (_conversions, _atomics, _accesses, _accesses_of_halves, _functions)
    return "\n".join(next((lines for of in rows if (lines := list(of(name)))), []))


def _functions(name: str) -> Iterator[str]:
    for signatures, scalars, lanes in _FAMILIES:
        for signature, names in signatures.items():
            if name in names.split():
                yield from (_signature(signature, name, scalar, n) for scalar in scalars for n in lanes)


def _signature(signature: str, name: str, scalar: str, lanes: str) -> str:
    signed = {8: "char", 16: "short", 32: "int", 64: "long"}[_BITS[scalar.removeprefix("u")]]
    types = {
        "T": scalar + lanes,
        "t": scalar,
        "J": signed + lanes,
        "U": f"u{signed}{lanes}",
        "R": signed + lanes if lanes else "int",
    }
    result, _, arguments = re.sub(r"\b[TtJUR]\b", lambda match: types[match[0]], signature).partition("(")
    return f"CONSTANT {result} {name}({arguments};"


def _conversions(name: str) -> Iterator[str]:
    match = _CONVERSION.fullmatch(name)
    if match is None or (match["saturated"] and match["type"] in _FLOATS):
        return
    lanes = match["lanes"] or ""
    yield from (f"CONSTANT {match['type']}{lanes} {name}({scalar}{lanes});" for scalar in _NUMBERS)


def _atomics(name: str) -> Iterator[str]:
    match = _ATOMIC.fullmatch(name)
    if match is None:
        return
    types = ["int", "uint"] if match["of_32_bits"] else ["int", "uint", "long", "ulong"]
    if name == "atomic_xchg":
        types.append("float")
    for scalar in types:
        operands = f", {scalar}" * _OPERANDS.get(match["operation"], 1)
        for space in _SPACES[:2]:
            yield f"OVERLOADED {scalar} {name}(volatile {space} {scalar} *{operands});"


def _accesses(name: str) -> Iterator[str]:
    match = _ACCESS.fullmatch(name)
    if match is None:
        return
    for scalar in _NUMBERS:
        yield from _access(name, match["kind"], scalar + match["lanes"], scalar)


def _accesses_of_halves(name: str) -> Iterator[str]:
    match = _ACCESS_OF_HALVES.fullmatch(name)
    if match is None or (match["kind"] == "load" and match["rounding"]) or (match["aligned"] and not match["lanes"]):
        return
    for scalar in ("float",) if match["kind"] == "load" else _FLOATS:
        yield from _access(name, match["kind"], scalar + (match["lanes"] or ""), "half")


def _access(name: str, kind: str, value: str, element: str) -> Iterator[str]:
    if kind == "store":
        yield from (f"OVERLOADED void {name}({value}, size_t, {space} {element} *);" for space in _SPACES)
    else:
        for space in ("__constant", *_SPACES):
            yield f"PURE {value} {name}(size_t, const {space} {element} *);"
