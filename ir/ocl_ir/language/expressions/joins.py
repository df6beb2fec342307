"""Where versions of a name meet: the one type that all of them must have.

Literals take the type of the others; alone, an int is an index and a float the default real. Nothing widens: what
differs is an error that shows both lines. A tuple meets element by element. What is known while the kernel is
translated, and is the same on all paths, stays known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.grammar import Variable
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions.arithmetic import Arithmetic
from ocl_ir.language.syntax.returns import RESULT
from ocl_ir.language.values.promotion import Class, class_of
from ocl_ir.language.values.scopes import Version
from ocl_ir.language.values.values import (
    POISON,
    ArrayView,
    Number,
    NumberClass,
    Tile,
    Unassigned,
    Value,
    dtype_name,
    is_static,
    remedy_for_arrays,
    text_beside,
)
from ocl_ir.types import BOOL, DType

Weak: TypeAlias = "bool | Literal['any', 'first']"


@dataclass(frozen=True, slots=True)
class Join:
    """What a name is where its versions meet: a value that all of them are, parts of a tuple, or a number of one type,
    which needs a variable."""

    name: str
    value: Value = None
    parts: tuple[Join, ...] | None = None
    tile: Tile | None = None
    """A tile like the one that it is made of parts."""
    named: Callable[..., Value] | None = None
    """The type of a named tuple that it is made of parts."""
    dtype: DType | None = None
    kind: NumberClass = "typed"
    lanes: int = 1
    low: int | None = None
    variable: Variable | None = None

    @property
    def is_number(self) -> bool:
        """Whether it is a number that differs from path to path."""
        return self.dtype is not None

    @property
    def is_open(self) -> bool:
        """Whether it has a number whose type is not known yet."""
        return any(part.is_open for part in self.parts) if self.parts is not None else self.kind == "weak"

    @property
    def number_dtype(self) -> DType:
        """The dtype of a number."""
        assert self.dtype is not None
        return self.dtype

    def same_type(self, other: Join) -> bool:
        """Whether a loop that was translated with the other one has this one, too."""
        if self.parts is not None and other.parts is not None and len(self.parts) == len(other.parts):
            return all(a.same_type(b) for a, b in zip(self.parts, other.parts, strict=True))
        if self.is_number != other.is_number or (self.parts is None) != (other.parts is None):
            return False
        if self.is_number:
            types = (self.dtype, self.kind, self.lanes), (other.dtype, other.kind, other.lanes)
            return types[0] == types[1] and self.low == other.low
        return _same(self.value, other.value)

    def accepts(self, value: Value) -> bool:
        """Whether a value can be what the variable is assigned: else this attempt at a loop is not the last one."""
        if value is POISON or isinstance(value, Unassigned):
            return False
        if self.parts is not None:
            elements = elements_of(value)
            return len(elements) == len(self.parts) and all(
                part.accepts(element) for part, element in zip(self.parts, elements, strict=True)
            )
        class_ = class_of(value)
        if not self.is_number or class_ is None:
            return False
        if self.kind == "index":
            return class_.is_index or class_.literal in {"int", "bool"}
        if class_.literal is not None:
            return class_.literal != "float" or self.number_dtype.is_float
        return class_.dtype is self.dtype or (self.kind == "weak" and class_.is_index)


def joined(t: Arithmetic, name: str, versions: Sequence[Version], span: Span, *, weak: Weak = False) -> Join:
    """The join of versions; with `weak`, a literal is a number whose type is not known yet. Raises `DTypeError`.

    `any` is so where one of the versions is such a number, `first` where the first one is.
    """
    missing = next((version for version in versions if isinstance(version.value, Unassigned)), None)
    if missing is not None:
        return Join(name, missing.value)
    assigned = [version for version in versions if version.value is not POISON]
    if not assigned:
        return Join(name, POISON)
    everywhere, versions = len(assigned) == len(versions), assigned
    first = versions[0].value
    if isinstance(first, tuple | Tile):
        return _tuples(t, name, versions, span, weak=weak, everywhere=everywhere)
    same = all(_same(version.value, first) for version in versions[1:])
    if same and (is_static(first) or everywhere) and not (weak is True and class_of(first) is not None):
        return Join(name, first)
    other = next((version for version in versions if class_of(version.value) is None), None)
    if other is not None:
        if class_of(versions[0].value) is None:
            other = next(version for version in versions[1:] if not _same(version.value, versions[0].value))
        _refuse_to_join(t, name, versions[0], other, span)
    return _numbers(t, name, versions, span, weak=weak)


def _refuse_to_join(t: Arithmetic, name: str, first: Version, second: Version, span: Span) -> NoReturn:
    if isinstance(first.value, ArrayView) and isinstance(second.value, ArrayView):
        _refuse_arrays(t, name, [(first, first.value), (second, second.value)], span)
    if name == RESULT:
        first, second = sorted((first, second), key=lambda version: version.value is None)
        where = (
            "nothing at its end" if second.value is None else f"{t.described(second.value)} in line {second.span.line}"
        )
        raise t.fault(
            f"{span.frame.function} returns {t.described(first.value)} in line {first.span.line} and {where}",
            "return a number of one type, or a tuple of as many, on each path",
            DTypeError,
        )
    raise t.fault(
        f"{name} is {t.described(first.value)} from line {first.span.line} and {t.described(second.value)} from line "
        f"{second.span.line}, and both reach line {span.line}",
        "use two names, or choose between elements",
        DTypeError,
    )


def _refuse_arrays(t: Arithmetic, name: str, versions: Sequence[tuple[Version, ArrayView]], span: Span) -> NoReturn:
    (first, left), (second, right) = sorted(versions, key=lambda version: version[0].span.line)
    texts = text_beside(left, right), text_beside(right, left)
    lines = first.span.line, second.span.line
    fact = f"{name} is {texts[0]} from line {lines[0]} and {texts[1]} from line {lines[1]}"
    if name == RESULT:
        fact = f"{span.frame.function} returns {texts[0]} in line {lines[0]} and {texts[1]} in line {lines[1]}"
    else:
        fact += f", and both reach line {span.line}"
    raise t.fault(fact, remedy_for_arrays(left, right), DTypeError)


def _tuples(t: Arithmetic, name: str, versions: Sequence[Version], span: Span, *, weak: Weak, everywhere: bool) -> Join:
    first = versions[0].value
    kinds = {(type(version.value), getattr(version.value, "shape", None)) for version in versions}
    lengths = {len(elements_of(version.value)) for version in versions}
    if len(lengths) > 1 or (isinstance(first, Tile) and len(kinds) > 1):
        lines = " and ".join(str(version.span.line) for version in versions[:2])
        raise t.fault(f"{name} is not the same tuple from lines {lines}", "give both as many elements", DTypeError)
    columns = zip(*(elements_of(version.value) for version in versions), strict=True)
    elsewhere = [] if everywhere else [Version(POISON, span)]
    parts = tuple(
        joined(
            t,
            name,
            [*(Version(value, version.span) for value, version in zip(column, versions, strict=True)), *elsewhere],
            span,
            weak=weak,
        )
        for column in columns
    )
    if all(part.parts is None and not part.is_number for part in parts):
        return Join(name, versions[0].value)
    named = type(first) if len(kinds) == 1 and hasattr(first, "_fields") else None
    return Join(name, parts=parts, tile=first if isinstance(first, Tile) else None, named=named)


def elements_of(value: Value) -> tuple[Value, ...]:
    """The elements of a tuple, or of what a work-item has of a tile."""
    return value.elements if isinstance(value, Tile) else value if isinstance(value, tuple) else ()


def _numbers(t: Arithmetic, name: str, versions: Sequence[Version], span: Span, *, weak: Weak) -> Join:
    classes = [class_of(version.value) for version in versions]
    strong = next((at for at, class_ in enumerate(classes) if class_ is not None and class_.literal is None), None)
    lows = [_low(version.value) for version in versions]
    low = None if None in lows else min(low for low in lows if low is not None)
    if strong is None:
        stays = weak is True or any(map(_is_weak, {"any": versions, "first": versions[:1]}.get(str(weak), ())))
        return _of_literals(t, name, [class_ for class_ in classes if class_ is not None], low, weak=stays)
    for at, class_ in enumerate(classes):
        assert class_ is not None
        fits = class_ == classes[strong] if class_.literal is None else _literal_fits(class_, classes[strong])
        if not fits:
            _differ(t, name, versions[strong], versions[at], span)
    chosen = versions[strong].value
    lanes = max(version.value.lanes if isinstance(version.value, Number) else 1 for version in versions)
    if classes[strong].is_index:  # type: ignore[union-attr]
        return Join(name, dtype=t.index_type, kind="index", low=low)
    dtype = chosen.dtype if isinstance(chosen, Number) else classes[strong].dtype  # type: ignore[union-attr]
    return Join(name, dtype=dtype, lanes=lanes)


def _of_literals(t: Arithmetic, name: str, classes: Sequence[Class], low: int | None, *, weak: bool) -> Join:
    kinds = {class_.literal for class_ in classes}
    if kinds == {"bool"}:
        return Join(name, dtype=BOOL)
    if "float" in kinds:
        return Join(name, dtype=t.options.default_real, kind="weak" if weak else "typed")
    return Join(name, dtype=t.index_type, kind="weak" if weak else "index", low=None if weak else low)


def _is_weak(version: Version) -> bool:
    return isinstance(version.value, Number) and version.value.kind == "weak"


def _literal_fits(literal: Class, other: Class | None) -> bool:
    assert other is not None
    if literal.literal == "float":
        return other.dtype is not None and other.dtype.is_float
    return (other.dtype is BOOL) == (literal.literal == "bool")


def _low(value: Value) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value.low if isinstance(value, Number) else None


def _differ(t: Arithmetic, name: str, left: Version, right: Version, span: Span) -> None:
    first, second = sorted((left, right), key=lambda version: version.span.line)
    numbers = [(v, v.value) for v in (first, second) if isinstance(v.value, Number)]
    wanted = next((number for _, number in numbers if number.dtype.is_float), None)
    if wanted is None and not any(version.value.__class__ is float for version in (first, second)):
        wanted = next((number for _, number in numbers if number.kind == "typed"), None)
    dtype = dtype_name(wanted.dtype) if wanted is not None else "float32"
    converted = next(
        (version for version, number in numbers if number is not wanted and not number.dtype.is_float), first
    )
    written = f"return {dtype}(…)" if name == "return" else f"{name} = {dtype}(…)"
    texts = [f"{t.described(version.value)} from line {version.span.line}" for version in (first, second)]
    raise t.fault(
        f"{name} is {texts[0]} and {texts[1]}, and both reach line {span.line}",
        f"convert at line {converted.span.line}: {written}",
        DTypeError,
        second.span,
    )


def _same(a: Value, b: Value) -> bool:
    if a is b:
        return True
    if isinstance(a, Number) and isinstance(b, Number):
        return a.ref.operand == b.ref.operand and a.dtype is b.dtype and a.kind == b.kind
    if type(a) is not type(b) or not (is_static(a) and is_static(b)):
        return False
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)
