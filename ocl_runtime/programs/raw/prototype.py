"""The kernels that OpenCL C declares, and the types of their parameters.

Only prototypes are read, with comments, strings and directives left out; types that `#define`, `typedef` or an option
`-D` names are looked up. What else is there is the compiler's to understand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ocl_ir.source_line import calling_line
from ocl_ir.types import F16, F32, F64, I8, I16, I32, I64, LANES, U8, U16, U32, U64, DType
from ocl_runtime.errors import DTypeError, Error

_NAMES = {
    F32: ("float",),
    F64: ("double",),
    F16: ("half",),
    I8: ("char", "signed char"),
    U8: ("uchar", "unsigned char"),
    I16: ("short", "short int", "signed short"),
    U16: ("ushort", "unsigned short"),
    I32: ("int", "signed", "signed int"),
    U32: ("uint", "unsigned", "unsigned int"),
    I64: ("long", "long int", "signed long"),
    U64: ("ulong", "unsigned long", "unsigned long int"),
}
SCALARS: Mapping[str, DType] = {name: dtype for dtype, names in _NAMES.items() for name in names}
"""Scalar types of OpenCL C by their names."""
C_NAMES: Mapping[DType, str] = {dtype: names[0] for dtype, names in _NAMES.items()}
"""The shortest name of each."""
_VECTOR = re.compile(rf"([a-z]+)({'|'.join(map(str, LANES))})")
_RESTRICT = frozenset({"restrict", "__restrict", "__restrict__"})
_QUALIFIERS = frozenset({"const", "volatile", "__private", "private"}) | _RESTRICT
_SPACES = {space: space.strip("_") for name in ("global", "constant", "local") for space in (name, f"__{name}")}
_IGNORED = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | ^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]*)", re.MULTILINE)
_TYPEDEF = re.compile(r"\btypedef\s+([\w\s]+?)\s+(\w+)\s*;")
_STRUCT = re.compile(r"\btypedef\s+struct\b[^{};]*\{[^{}]*\}[^{};]*?(\w+)\s*;")
_OPTION = re.compile(r"-D\s*(\w+)=(.+)")
_KERNEL = re.compile(r"\b(?:__)?kernel\b")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|\S")
_REQUIRED_GROUP = re.compile(r"reqd_work_group_size\s*\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, from `start` to `end` of the source.

    `type` is that of the number, or of what is pointed to, as it is written; `dtype` and `lanes` are what that is, if
    it is known. `named` says where its name is. `offset` is the name of the next parameter where that is the offset of
    this pointer, in bytes: then both are one argument. `struct` is the name of the struct that is pointed to: bytes,
    unless another type is declared. `is_restrict`: its author promises that what it points to is reached by it alone.
    """

    name: str
    type: str
    dtype: DType | None
    lanes: int
    space: Literal["global", "constant", "local", ""]
    is_const: bool
    start: int
    end: int
    named: tuple[int, int]
    offset: str = ""
    struct: str = ""
    is_restrict: bool = False

    def __str__(self) -> str:
        return f"{self.type} {'*' if self.space else ''}{self.name}"

    @property
    def is_pointer(self) -> bool:
        """Whether it takes an array."""
        return self.space in {"global", "constant"}

    @property
    def is_local(self) -> bool:
        """Whether it takes a number of elements of local memory."""
        return self.space == "local"


@dataclass(frozen=True, slots=True)
class Prototype:
    """A kernel: where its parameters are, and where its body begins, if it is there."""

    name: str
    parameters: tuple[Parameter, ...]
    body: int | None
    group_size: tuple[int, int, int] | None


def code_of(source: str) -> str:
    """The source with blanks in place of comments, strings and directives: every other character is where it was."""
    return _IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def struct_names(code: str) -> list[str]:
    """The structs that a source, without comments, declares as types."""
    return _STRUCT.findall(code)


def prototypes(source: str, name: str, options: Sequence[str] = ()) -> list[Prototype]:
    """All places where a kernel is declared or defined. Raises `Error` where there is none, `DTypeError` for parameters
    that no argument fits."""
    code = code_of(source)
    names = [kernel for kernel, _, _, _ in _heads(code)]
    if name not in names:
        listed = ", ".join(dict.fromkeys(names))
        cuda = "; CUDA's __global__ functions are written as __kernel void" if "__global__" in code else ""
        raise Error(
            f"the source has no kernel {name} whose prototype is written out",
            place=f"{calling_line()}\nkernels that are: {listed or 'none'}",
            remedy=f"write __kernel void {name}(…) without macros for the prototype{cuda}",
        )
    if len(re.findall(rf"\b{name}\s*\(", code)) > names.count(name):
        raise Error(
            f"the source calls kernel {name}, whose prototype gets offsets of arrays",
            place=calling_line(),
            remedy="put what it does into a function, which the kernel and others call",
        )
    aliases = _aliases(source, code, options)
    declared: list[Prototype] = []
    for kernel, head, start, end in _heads(code):
        if kernel == name:
            brace = code.find("{", end)
            between = code[end + 1 : brace] if brace >= 0 else ";"
            body = None if ";" in between else brace + 1
            group = _REQUIRED_GROUP.search(code, head, brace if body is not None else end)
            size = None if group is None else (int(group[1]), int(group[2]), int(group[3]))
            declared.append(Prototype(name, tuple(_parameters(name, code, start, end, aliases)), body, size))
    return declared


def readable_prototypes(source: str, options: Sequence[str] = ()) -> list[Prototype]:
    """Those of all kernels that can be launched whatever the size of local memory."""
    readable: list[Prototype] = []
    for name in dict.fromkeys(name for name, _, _, _ in _heads(code_of(source))):
        with suppress(Error):  # whoever asks for that kernel hears why
            declared = prototypes(source, name, options)
            if not any(parameter.is_local for prototype in declared for parameter in prototype.parameters):
                readable += declared
    return readable


def _heads(code: str) -> Iterator[tuple[str, int, int, int]]:
    """For each kernel its name, where it begins, and where its list of parameters does and ends."""
    for keyword in _KERNEL.finditer(code):
        at = keyword.end()
        while (word := _WORD.search(code, at)) is not None and not code[at : word.start()].strip(" \t\n"):
            at = word.end()
            if word[0] == "__attribute__":
                at = _closing(code, code.find("(", at)) + 1
            elif word[0] not in {"void", "inline", "static"}:
                start = code.find("(", at)
                if start >= 0 and not code[at:start].strip():
                    yield word[0], keyword.start(), start + 1, _closing(code, start)
                break


def _closing(code: str, opening: int) -> int:
    """Where a bracket is closed."""
    depth = 0
    for at in range(max(opening, 0), len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if not depth:
            return at
    return len(code)


def _aliases(source: str, code: str, options: Sequence[str]) -> dict[str, str]:
    """Names of types that are other names."""
    aliases = {match[1]: match[2] for match in _DEFINE.finditer(source)}
    aliases |= {match[2]: match[1] for match in _TYPEDEF.finditer(code)}
    aliases |= {name: f"struct {name}" for name in struct_names(code)}
    return aliases | {match[1]: match[2] for option in options if (match := _OPTION.fullmatch(option.strip()))}


def _parameters(kernel: str, code: str, start: int, end: int, aliases: Mapping[str, str]) -> Iterator[Parameter]:
    spans, depth, begin = list[tuple[int, int]](), 0, start
    for at in range(start, end):
        depth += (code[at] in "([") - (code[at] in ")]")
        if code[at] == "," and not depth:
            spans.append((begin, at))
            begin = at + 1
    spans.append((begin, end))
    if len(spans) == 1 and code[start:end].strip() in {"", "void"}:
        return
    parameters = [_parameter(kernel, code, *span, aliases) for span in spans]
    skip = False
    for parameter, following in zip(parameters, [*parameters[1:], None], strict=True):
        if skip:
            skip = False
            continue
        name = parameter.name.removesuffix("_buffer")
        if parameter.is_pointer and following is not None and _is_offset(following, name):
            skip = True
            yield Parameter(
                name, parameter.type, parameter.dtype, parameter.lanes, parameter.space, parameter.is_const,
                parameter.start, following.end, parameter.named, following.name, parameter.struct,
                parameter.is_restrict,
            )  # fmt: skip
        else:
            yield parameter


def _is_offset(parameter: Parameter, name: str) -> bool:
    return parameter.name == f"{name}_offset" and parameter.dtype is U64 and parameter.lanes == 1


def _parameter(kernel: str, code: str, start: int, end: int, aliases: Mapping[str, str]) -> Parameter:
    text = code[start:end]
    tokens = [(token[0], start + token.start()) for token in _TOKEN.finditer(text)]
    words = [(token, at) for token, at in tokens if token[0].isalpha() or token[0] == "_"]
    stars = sum(token == "*" for token, _ in tokens) + sum(token == "[" for token, _ in tokens)
    if len(words) < 2 or stars > 1 or any(token == "(" for token, _ in tokens):
        raise _unknown(kernel, " ".join(text.split()))
    name, at = words.pop()
    spaces = {_SPACES[word] for word, _ in words if word in _SPACES}
    type_words = [word for word, _ in words if word not in _SPACES and word not in _QUALIFIERS]
    is_const = any(word == "const" for word, _ in words) or spaces == {"constant"}
    if bool(stars) != bool(spaces) or not type_words:
        raise _unknown(kernel, " ".join(text.split()))
    type_ = " ".join(type_words)
    dtype, lanes, struct = _typed(type_, aliases)
    space: Literal["global", "constant", "local", ""] = "global" if spaces else ""
    if spaces & {"constant", "local"}:
        space = "constant" if "constant" in spaces else "local"
    if space not in {"global", "constant"} and struct:
        struct = ""
    is_restrict = any(word in _RESTRICT for word, _ in words)
    named = at, at + len(name)
    return Parameter(
        name, type_, dtype, lanes, space, is_const, start, end, named, struct=struct, is_restrict=is_restrict
    )


def _typed(type_: str, aliases: Mapping[str, str]) -> tuple[DType | None, int, str]:
    """What a name of a type means: the scalar type, and how many lanes of it; the name of a struct."""
    for _ in range(8):  # names of names
        if type_ in SCALARS:
            return SCALARS[type_], 1, ""
        vector = _VECTOR.fullmatch(type_)
        if vector is not None and vector[1] in SCALARS:
            return SCALARS[vector[1]], int(vector[2]), ""
        if type_.startswith("struct "):
            return None, 1, type_.removeprefix("struct ")
        if type_ not in aliases:
            break
        type_ = " ".join(aliases[type_].split())
    return None, 1, ""


def _unknown(kernel: str, text: str) -> DTypeError:
    return DTypeError(
        f"kernel {kernel} has a parameter that no argument fits: {text}",
        place=calling_line(),
        remedy="write parameters out: numbers (float a), vectors (float4 a), __global, __constant or __local pointers",
    )
