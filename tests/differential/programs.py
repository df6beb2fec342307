"""Random kernels that are correct by construction, for the interpreter, the passes and the device to agree on.

`programs` draws a whole kernel through `KernelBuilder`, statement by statement, with everything that kernel IR has.
The rules that make it correct, and its outcome one and the same everywhere:

- Only operations that are exact on every device feed control flow and other operations. Inexact ones go straight to an
  output of their own and are compared within their bound.
- Memory: inputs are only read; an item stores only to its own elements; what items share is changed by atomics of one
  commutative kind for each array, or exchanged through local memory between two barriers.
- Barriers stand where the whole group passes: `_Flow.whole` follows that. Items return early only in the tail of the
  kernel, behind which no barrier comes.
- Float to integer conversions are bounded first, divisors of `udiv` and `urem` are odd, loops end by a counter.

Nearly everything that is computed comes into `check`, a running checksum, bit for bit: a block mixes in, at its end,
what nobody in it used. So that a failing program shrinks well, the simplest choice is always the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from hypothesis import strategies as st

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import AtomicOp, CollectiveOp, Kernel, Variable
from ocl_ir.kernel.operands import Ref
from ocl_ir.kernel.printer import text
from ocl_ir.types import (
    BF16,
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    LANES,
    U8,
    U16,
    U32,
    U64,
    DType,
    Pointer,
    ValueType,
    Vector,
    element,
    lanes,
    with_lanes,
)

T = TypeVar("T")

ITEMS = 32
WIDE = 16
"""Elements of its own that a work-item has in the arrays for vectors."""
SLOTS = 4
"""Elements of its own that a work-item has in memory that it reads and writes."""
MOST_TURNS = 48
"""How often one statement may run in one work-item."""

INTEGERS = (I32, U32, I8, U8, I16, U16, I64, U64)
UNSIGNED = {bits: DTYPES[f"u{bits}"] for bits in (8, 16, 32, 64)}

OF_INTEGERS = "add sub mul floordiv rem floordiv minimum maximum and or xor shl shr neg abs sign not popcount clz ipow"
OF_UNSIGNED = "udiv urem"
OF_FLOATS = "add sub mul floordiv rem minimum maximum floor ceil trunc rint neg abs sign fmod"
OF_BOOLS = "and or xor not"
COMPARISONS = ["lt", "eq", "le", "gt", "ge", "ne"]
QUESTIONS = ["isnan", "isinf", "isfinite"]
UNARY = frozenset(["neg", "abs", "sign", "not", "popcount", "clz", "floor", "ceil", "trunc", "rint"])
ATOMICS: tuple[AtomicOp, ...] = ("add", "sub", "min", "max", "and", "or", "xor")
OF_GROUPS: dict[str, tuple[CollectiveOp, ...]] = {
    "bool": ("any", "all", "broadcast"),
    "integer": ("sum", "prod", "min", "max", "scan", "exclusive_scan", "broadcast"),
    "float": ("sum", "min", "max", "scan", "exclusive_scan", "broadcast"),
}
HINTS = ("", "", "", "a", "value", "if", "sum", "float4", "check", "in_i32_buffer", "rem")
# Operation, its bound in ULP of float32, how to bring its operand into a range where results are ordinary.
INEXACT = (("sqrt", 3.0), ("div", 2.5), ("sin", 4.0), ("exp", 3.0), ("log", 3.0), ("rsqrt", 2.0), ("tanh", 5.0))


EMPHASES = {
    "": (),
    "locals": ("let", "variable", "assign", "swap", "counted", "while_"),
    "vectors": ("let", "assign", "store_wide", "vectorized", "private"),
    "groups": ("exchange", "collective", "count", "atomic", "memory", "counted"),
    "alone": ("let", "variable", "assign", "swap", "counted", "while_"),
}
"""Kinds of statements that come more often. In programs of "alone", no work-item waits for another one."""


@dataclass(frozen=True)
class Program:
    """A kernel, how to launch it, and which outputs are compared within a bound."""

    kernel: Kernel
    group: int
    bounds: dict[str, float]
    """Most ULP between two correct implementations, by the output's name."""
    seed: int

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"the program of seed {self.seed} in groups of {self.group}\n{text(self.kernel)}")

    def arguments(self) -> dict[str, Any]:
        """New arguments, the same every time."""
        rng = np.random.default_rng(self.seed)
        return {
            param.value.hint: self._argument(param.value.hint, param.value.type, rng) for param in self.kernel.params
        }

    def _argument(self, name: str, type_: Any, rng: np.random.Generator) -> Any:
        if not isinstance(type_, Pointer):
            return type_.numpy.type(3 + self.seed % 3)
        if name.startswith("shared_"):
            return rng.integers(0, 100, 4).astype(type_.dtype.numpy)
        count = ITEMS * (WIDE if name[0] == "v" else SLOTS if name.startswith(("mem_", "near_")) else 1)
        if name.startswith(("out_", "vout_", "near_")):
            return np.zeros(count, type_.dtype.numpy)
        return values(type_.dtype, count, rng)


def values(dtype: DType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Small numbers mostly, and a few that are special."""
    if dtype == BOOL:
        return rng.random(count) < 0.5
    if dtype == BF16:
        return (values(F32, count, rng).view(np.uint32) >> 16).astype(np.uint16)
    if dtype.is_float:
        small = rng.integers(-40, 40, count) * 0.25
        odd = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-3, 1e4, -12345.678], count)
        with np.errstate(all="ignore"):
            return np.where(rng.random(count) < 0.15, odd, small).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    small = rng.integers(max(limits.min, -9), 10, count).astype(dtype.numpy)
    any_ = rng.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)
    return np.where(rng.random(count) < 0.3, any_, small)


LITERALS: dict[str, tuple[Any, ...]] = {
    "bool": (True, False),
    "int": (1, 0, 2, -1, 3, -3, 7, 8, 100, -128, 127),
    "uint": (1, 0, 2, 3, 7, 8, 31, 100, 255),
    "float": (1.0, 0.0, 0.5, -2.0, 3.25, 1e-3, 1000.0, float("inf")),
}


@dataclass
class _Name:
    """Something that a statement may use."""

    ref: Ref
    used: bool = False

    @property
    def is_variable(self) -> bool:
        return isinstance(self.ref.operand, Variable)


@dataclass
class _Flow:
    """Where the builder stands."""

    turns: int = 1
    """How often this place can run in one work-item."""
    depth: int = 0
    whole: bool = True
    """Whether the whole group comes here, or nobody."""
    in_loop: bool = False
    exits: str = "any"
    """Which conditions may end the innermost loop: "any", or "uniform" where barriers stand in it."""
    bindings_only: bool = False
    """Whether nothing here may read a variable, so that a loop can become vector code."""


@dataclass
class _Maker:
    draw: Callable[[st.SearchStrategy[Any]], Any]
    floats: tuple[DType, ...]
    atomics64: bool
    barriers_in_branches: bool = True
    emphasis: str = ""
    flow: _Flow = field(default_factory=_Flow)

    def program(self) -> Program:
        self.group = self.pick((8, 16))
        self.k = k = KernelBuilder("random_program", group_size=(self.group, 1, 1))
        more = self.draw(st.lists(st.sampled_from((BOOL, *INTEGERS[2:], *self.floats)), max_size=3, unique=True))
        self.dtypes: tuple[DType, ...] = (I32, F32, *more)
        fewest, most = (1, 3) if self.emphasis == "vectors" else (0, 1)
        widths = st.lists(st.sampled_from(LANES), min_size=fewest, max_size=most, unique=True)
        self.widths: tuple[int, ...] = tuple(self.draw(widths))
        self.pointers: dict[str, Ref] = {}
        self.privates: list[list[Ref]] = [[]]
        self.scopes: list[list[_Name]] = [[]]
        self.bounds: dict[str, float] = {}
        self.near: int = 0
        self.tail = False
        self.barriers = self.emphasis == "groups" or (self.emphasis != "alone" and self.chance())
        self.flow.whole = self.barriers

        n = k.scalar("n", U32)
        self.i, self.item = k.global_id(0, "i"), k.item("local_id", hint="item")
        self.uniform: list[Ref] = [n]
        self.add(n)
        self.add(self.i)
        # Signed, and never negative: of these come plain sums and divisions.
        self.add(k.scalar("m", I32, low=0))
        self.add(k.item("local_id", 0, "place", I32))
        self.tiles = [k.array(dtype, self.group, hint="tile") for dtype in self.some((I32, F32, U8), 2)]
        self.counts = k.array(U32, 4, hint="counts") if self.chance() else None
        self.check = k.variable(1, U32, "check")
        for dtype in self.dtypes:
            self.add(k.variable(self.input(dtype), hint=f"v_{dtype}"))
        self.block(self.number(3, 8))
        self.tail = True
        if self.chance():
            self.block(self.number(1, 3))
        for dtype in self.dtypes:
            k.store(self.pointer("out", dtype), self.i, self.operand(dtype))
        self.finish_scope()
        k.store(self.pointer("out", U32), self.i, self.check)
        return Program(k.build(), self.group, self.bounds, self.number(0, 1000))

    # ------------------------------------------------------------------ choices

    def pick(self, options: tuple[T, ...] | list[T]) -> T:
        return cast("T", self.draw(st.sampled_from(options)))

    def some(self, options: tuple[T, ...], most: int) -> list[T]:
        return cast("list[T]", self.draw(st.lists(st.sampled_from(options), max_size=most)))

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def chance(self) -> bool:
        return bool(self.draw(st.booleans()))

    def type_(self) -> ValueType:
        return with_lanes(self.pick(self.dtypes), self.pick((1, 1, *self.widths)))

    # ------------------------------------------------------------------ names

    def add(self, ref: Ref) -> Ref:
        self.scopes[-1].append(_Name(ref))
        return ref

    def names(self, type_: ValueType) -> list[_Name]:
        return [name for name in self.all_names() if name.ref.type == type_]

    def all_names(self) -> list[_Name]:
        """What may be used here, the newest first."""
        found = [name for scope in reversed(self.scopes) for name in reversed(scope)]
        return [name for name in found if not (self.flow.bindings_only and name.is_variable)]

    def use(self, name: _Name) -> Ref:
        name.used = True
        return name.ref

    def pointer(self, prefix: str, dtype: DType) -> Ref:
        """A parameter, declared when it is first wanted."""
        name = f"{prefix}_{dtype}"
        if name not in self.pointers:
            inputs = prefix in {"in", "vin"}
            space = "constant" if prefix == "in" and self.chance() else "global"
            align = self.pick((0, dtype.size * 4, dtype.size * WIDE)) if prefix in {"vin", "vout"} else 0
            self.pointers[name] = self.k.pointer(
                name, dtype, space=space, align=align, restrict=inputs and self.chance()
            )
        return self.pointers[name]

    @contextmanager
    def inside(self, **flow: Any) -> Iterator[None]:
        before = self.flow
        self.flow = _Flow(**{**vars(before), "depth": before.depth + 1, **flow})
        self.scopes.append([])
        self.privates.append([])
        yield
        self.scopes.pop()
        self.privates.pop()
        self.flow = before

    def finish_scope(self) -> None:
        """Mixes what the block made and nobody used into the checksum."""
        for name in self.scopes[-1]:
            if not name.used or name.is_variable:
                self.mix(name.ref)

    def mix(self, ref: Ref) -> None:
        k, type_ = self.k, ref.type
        assert not isinstance(type_, Pointer)
        dtype = element(type_)
        bits = ref
        if dtype.is_float:
            unsigned = with_lanes(UNSIGNED[dtype.bits], lanes(type_))
            bits = k.op("select", k.op("isnan", ref), k.const(7, unsigned), k.bitcast(ref, UNSIGNED[dtype.bits]))
        if dtype.bits == 64:
            bits = bits ^ (bits >> 32)
        number = k.convert(bits, U32)
        if lanes(type_) == 3:
            number = k.op("extract", number, 0) * 3 + k.op("extract", number, 1) * 5 + k.op("extract", number, 2)
        while isinstance(number.type, Vector):
            number = k.op("lo", number) * 17 ^ k.op("hi", number)
        k.assign(self.check, self.check * 31 + number)

    # ------------------------------------------------------------------ expressions

    def operand(self, type_: ValueType) -> Ref:
        """Something of this type that exists, a literal, or what another type's value is converted to."""
        known = self.names(type_)
        literals = LITERALS[element(type_).kind]
        choice = self.number(0, len(known) + 1)
        if choice < len(known):
            return self.use(known[choice])
        if choice == len(known) or isinstance(type_, Vector):
            return self.k.const(self.pick(literals), type_)
        return self.converted(type_)

    def converted(self, type_: DType) -> Ref:
        scalars = [name for name in self.all_names() if isinstance(name.ref.type, DType)]
        return self.convert(self.use(self.pick(scalars)), type_)

    def convert(self, ref: Ref, dtype: DType) -> Ref:
        """Converted, after it was brought into the range that all types have."""
        if element(ref.type).is_float and not dtype.is_float and dtype != BOOL:
            k, low = self.k, 0.0 if dtype.kind == "uint" else -100.0
            bounded = k.op("maximum", k.op("minimum", ref, 100.0), low)
            zero = k.const(0.0, cast("ValueType", ref.type))
            # Floored, and without -0.0: Intel's compiler makes (float)(int)x a truncation, which keeps a zero's sign.
            ref = k.op("floor", k.op("select", k.op("isnan", ref), zero, bounded) + 0.0)
        return self.k.convert(ref, dtype)

    def number_below(self, count: int) -> Ref:
        """An index: any u32 value, masked."""
        return self.operand(U32) & (count - 1)

    def condition(self) -> Ref:
        return self.made(BOOL, 1)

    def made(self, type_: ValueType, size: int | None = None) -> Ref:
        """A new value, of one to three operations."""
        size = self.number(1, 3) if size is None else size
        dtype, count = element(type_), lanes(type_)
        sources: list[Callable[[], Ref]] = [lambda: self.operation(type_, size)] * 3
        sources.append(lambda: self.k.op("select", self.operand(with_lanes(BOOL, count)), *self.operands(type_, 2)))
        if count == 1:
            sources.append(lambda: self.k.let(self.operand(dtype)))
            sources.append(lambda: self.input(dtype))
            sources.append(lambda: self.convert(self.operand(self.pick((*self.dtypes, U32))), dtype))
            sources.append(lambda: self.lane(dtype))
        else:
            sources.append(lambda: self.joined(dtype, count))
            sources.append(lambda: self.wide_input(dtype, count))
            sources.append(lambda: self.convert(self.operand(with_lanes(self.pick(self.dtypes), count)), dtype))
            if count in {2, 4, 8}:
                wider = Vector(dtype, count * 2)
                sources.append(lambda: self.k.op(self.pick(("lo", "hi")), self.operand(wider)))
        return self.pick(sources)()

    def operands(self, type_: ValueType, count: int) -> list[Ref]:
        return [self.operand(type_) for _ in range(count)]

    def operation(self, type_: ValueType, size: int) -> Ref:
        k, dtype, count = self.k, element(type_), lanes(type_)
        if dtype == BOOL:
            kinds = ["compare", *OF_BOOLS.split()]
            if any(one.is_float for one in self.dtypes):
                kinds.append("question")
            kind = self.pick(kinds)
            if kind == "compare":
                # Numbers are compared, and bools for equality.
                given = self.pick((*self.dtypes, U32))
                of = ("eq", "ne") if given == BOOL else COMPARISONS
                return k.op(self.pick(of), *self.operands(with_lanes(given, count), 2))
            if kind == "question":
                given = self.pick([one for one in self.dtypes if one.is_float])
                return k.op(self.pick(QUESTIONS), self.operand(with_lanes(given, count)))
            op = kind
        elif dtype.is_float:
            # Intel's CPU runtime loses a float's negative at a barrier (2026.2: all work-items get the last one's), so
            # kernels with barriers have none: neither by name nor as -0.0 - x.
            op = self.pick([one for one in OF_FLOATS.split() if one != "neg" or not self.barriers])
        else:
            op = self.pick((OF_INTEGERS + (f" {OF_UNSIGNED}" if dtype.kind == "uint" else "")).split())
        first = self.made(type_, size - 1) if size > 1 else self.operand(type_)
        if op in UNARY:
            return k.op(op, first)
        second = self.operand(type_)
        if op in {"udiv", "urem"}:
            second = second | 1
        if op == "ipow":
            second = second & 7
        return k.op(op, first, second) if self.chance() or op in {"udiv", "urem", "ipow"} else k.op(op, second, first)

    def input(self, dtype: DType) -> Ref:
        at = self.i if self.chance() else self.number_below(ITEMS)
        if dtype == F32 and self.chance():
            narrow = self.pick((F16, BF16))
            return self.k.load_as(self.pointer("in", narrow), at, F32)
        return self.k.load(self.pointer("in", dtype), at)

    def wide_input(self, dtype: DType, count: int) -> Ref:
        pointer = self.pointer("vin", dtype)
        offset, align = self.place(pointer, count)
        return self.k.load(pointer, self.i * WIDE + offset, count=count, align=align)

    def place(self, pointer: Ref, count: int) -> tuple[int, int]:
        """An offset into an item's own elements, and the alignment that `pointer[i * WIDE + offset]` has."""
        offset = self.pick((0, *(at for at in (1, 2, 4, 8) if at + count <= WIDE)))
        type_ = pointer.type
        assert isinstance(type_, Pointer)
        known = min(type_.align, type_.dtype.size * ((offset & -offset) or WIDE))
        return offset, known if self.chance() else 0

    def joined(self, dtype: DType, count: int) -> Ref:
        if self.chance():
            return self.k.splat(self.operand(dtype), count)
        one, other = self.operands(dtype, 2)
        return self.k.op("vector", *([one, other] * count)[:count])

    def lane(self, dtype: DType) -> Ref:
        if not self.widths:
            return self.operation(dtype, 1)
        count = self.pick(self.widths)
        return self.k.op("extract", self.operand(Vector(dtype, count)), self.number(0, count - 1))

    # ------------------------------------------------------------------ statements

    def block(self, most: int) -> None:
        for _ in range(most):
            self.pick(self.kinds())()

    def kinds(self) -> list[Callable[[], None]]:
        flow = self.flow
        kinds: list[Callable[[], None]] = [self.let, self.assign, self.overtaken, self.variable]
        if flow.depth < 3:
            kinds += [self.branch, self.branch, self.branch]
            if flow.turns * 2 <= MOST_TURNS:
                kinds += [self.counted, self.counted, self.while_]
        kinds += [self.assign, self.swap, self.memory, self.memory, self.store_wide, self.vectorized, self.private]
        kinds += [self.storage, self.near_output, self.atomic]
        # A loop in which barriers stand may only be left by the whole group.
        if flow.in_loop and (flow.exits == "any" or flow.whole):
            kinds.append(self.leave)
        if flow.whole and not self.tail:
            kinds += [self.exchange, self.collective]
            if self.counts is not None:
                kinds.append(self.count)
        if self.tail:
            kinds.append(self.return_)
        return kinds + [kind for kind in kinds if kind.__name__ in EMPHASES[self.emphasis]] * 2

    def let(self) -> None:
        hint = self.pick(HINTS)
        value = self.made(self.type_())
        self.add(self.k.let(value, hint) if hint else value)

    def variable(self) -> None:
        type_ = self.type_()
        self.add(self.k.variable(self.operand(type_) if self.chance() else self.made(type_), hint=self.pick(HINTS)))

    def variables(self) -> list[_Name]:
        return [name for scope in reversed(self.scopes) for name in scope if name.is_variable]

    def assign(self) -> None:
        variable = self.pick(self.variables()).ref
        self.k.assign(variable, self.made(cast("ValueType", variable.type)))

    def swap(self) -> None:
        """Two variables of one type change places."""
        one = self.pick(self.variables()).ref
        other = self.pick([name for name in self.variables() if name.ref.type == one.type]).ref
        kept = self.k.let(one, self.pick(HINTS))
        self.k.assign(one, other)
        self.k.assign(other, kept)

    def overtaken(self) -> None:
        """A variable changes after a value was made of it, and before that is used."""
        variable = self.pick(self.variables()).ref
        dtype = element(cast("ValueType", variable.type))
        value = ~variable if dtype == BOOL else variable * 0.5 if dtype.is_float else -variable
        self.k.assign(variable, self.made(cast("ValueType", variable.type)))
        self.add(value)

    def memory(self) -> None:
        """An item's own elements, read and written."""
        dtype = self.pick(self.dtypes)
        pointer = self.pointer("mem", dtype)
        at = self.i * SLOTS + self.number_below(SLOTS)
        if self.chance():
            self.add(self.k.load(pointer, at, hint=self.pick(HINTS)))
        self.k.store(pointer, at if self.chance() else self.i * SLOTS + self.number_below(SLOTS), self.made(dtype))
        if self.chance():
            self.add(self.k.load(pointer, at))

    def store_wide(self) -> None:
        dtype, count = self.pick(self.dtypes), self.pick((1, *self.widths))
        pointer = self.pointer("vout", dtype)
        offset, align = self.place(pointer, count)
        self.k.store(pointer, self.i * WIDE + offset, self.made(with_lanes(dtype, count)), align=align)

    def storage(self) -> None:
        """Float32 rounded to a narrower type by storing it."""
        narrow = self.pick((F16, BF16))
        count = self.pick((1, *self.widths))
        self.k.store(self.pointer("vout", narrow), self.i * WIDE, self.made(with_lanes(F32, count), 1))

    def near_output(self) -> None:
        """An inexact operation; nothing else depends on it."""
        op, bound = self.pick(INEXACT)
        k, x = self.k, self.operand(F32)
        if op in {"sin", "exp", "tanh"}:
            given = [k.op("maximum", k.op("minimum", x, 20.0), -20.0)]
        else:
            given = [k.op("abs", x) + 1.0]
        if op == "div":
            given = [self.operand(F32), *given]
        name = f"near_{self.near}"
        self.near += 1
        self.bounds[name] = bound
        k.store(k.pointer(name, F32), self.i * SLOTS + self.number(0, SLOTS - 1), k.op(op, *given))

    def atomic(self) -> None:
        """A change of what all items share: no result, because that depends on who comes first."""
        wide = (U64, I64, *(dtype for dtype in self.floats if dtype == F64)) if self.atomics64 else ()
        dtype = self.pick((U32, I32, F32, *wide))
        op = self.pick(("min", "max") if dtype.is_float else ATOMICS)  # sums of floats depend on the order
        pointer, value = self.pointer(f"shared_{op}", dtype), self.operand(dtype)
        # Which of 0.0 and -0.0 stays depends on the order, too.
        self.k.atomic(op, pointer, self.number_below(4), value + 0.0 if dtype.is_float else value, used=False)

    def private(self) -> None:
        """An array of this item alone: declared and filled, or read and written."""
        k = self.k
        known = [array for scope in self.privates for array in scope]
        if not known or self.chance():
            dtype = self.pick(self.dtypes)
            array = k.array(dtype, 4, space="private", align=self.pick((0, dtype.size * 4)), hint="mine")
            fill = self.operand(dtype)
            with k.for_(0, 4, unroll=self.pick((0, 4))) as j:
                k.store(array, j, fill)
            self.privates[-1].append(array)
        else:
            array = self.pick(known)
        dtype = cast("Pointer", array.type).dtype
        k.store(array, self.number_below(4), self.made(dtype))
        wide = [count for count in (2, 4) if count in self.widths]
        if wide and self.chance():
            self.add(k.load(array, 0, count=self.pick(wide)))
        else:
            self.add(k.load(array, self.number_below(4), hint=self.pick(HINTS)))

    def vectorized(self) -> None:
        """A loop over independent elements, of which the pass makes vector code where it can."""
        k, dtype, to = self.k, self.pick(self.dtypes), self.pick(self.dtypes)
        count, start = self.pick((4, 2, 8, 3, 5)), self.pick((0, 1))
        source, target = self.pointer("vin", dtype), self.pointer("vout", to)
        base = k.let(self.i * WIDE, self.pick(("base", "")))
        bindings = self.pick((True, True, False))
        stride = self.pick((1, 2, -1) if (start + count - 1) * 2 < WIDE else (1, -1))
        with k.for_(start, start + count, hint="lane", vectorize=True) as lane, self.inside(bindings_only=bindings):
            step = lane * stride if stride > 0 else k.const(WIDE - 1, U32) - lane
            self.add(k.load(source, base + step))
            self.add(k.convert(lane, self.pick((U32, F32))))
            if self.chance():
                self.add(k.load(source, base + (k.load(self.pointer("vin", U32), base + lane) & (WIDE - 1))))
            value = self.operation(to, 2) if to != dtype else self.operation(to, self.number(1, 3))
            k.store(target, base + (step if self.chance() else lane), self.convert(value, to))

    def exchange(self) -> None:
        """Through local memory, from one item to another."""
        k = self.k
        if not self.tiles:
            k.barrier(global_=self.chance())
            return
        tile = self.pick(self.tiles)
        dtype = cast("Pointer", tile.type).dtype
        k.store(tile, self.item, self.made(dtype))
        k.barrier()
        other = (self.item + self.number(1, self.group - 1)) & (self.group - 1)
        self.add(k.load(tile, other, hint=self.pick(HINTS)))
        if self.chance():
            self.add(k.uniform(k.load(tile, self.number(0, self.group - 1)), self.pick(HINTS)))
        k.barrier()

    def collective(self) -> None:
        dtype = self.pick([dtype for dtype in (*self.dtypes, U32) if dtype == BOOL or dtype.bits >= 32])
        op = self.pick(OF_GROUPS["float" if dtype.is_float else "bool" if dtype == BOOL else "integer"])
        lane = self.number(0, self.group - 1) if op == "broadcast" else None
        self.add(self.k.collective(op, self.made(dtype), lane, self.pick(HINTS)))

    def count(self) -> None:
        """Atomics in local memory."""
        k = self.k
        assert self.counts is not None
        with k.if_(self.item < 4):
            k.store(self.counts, self.item, 0)
        k.barrier()
        k.atomic("add", self.counts, self.number_below(4), self.operand(U32), used=False)
        k.barrier()
        self.add(k.load(self.counts, self.number_below(4)))
        k.barrier()

    # ------------------------------------------------------------------ control flow

    def uniform_condition(self) -> Ref:
        return self.k.op(self.pick(COMPARISONS), self.pick(self.uniform), self.number(0, 5))

    def branch(self) -> None:
        k = self.k
        kind = self.pick(("any", "uniform", "known"))
        if kind == "any":
            condition = self.condition()
        elif kind == "uniform":
            joins = self.flow.whole and not self.tail and self.chance()
            condition = k.collective("any", self.condition()) if joins else self.uniform_condition()
        else:
            condition = k.const(self.chance(), BOOL)
        # What is known is no branch any more when the device sees it.
        whole = self.flow.whole and (kind == "known" or (kind == "uniform" and self.barriers_in_branches))
        with k.if_(condition), self.inside(whole=whole):
            self.block(self.number(1, 3))
            self.finish_scope()
        if self.chance():
            with k.else_(), self.inside(whole=whole):
                self.block(self.number(1, 3))
                self.finish_scope()

    def counted(self) -> None:
        k = self.k
        whole = self.flow.whole and self.chance()
        most = min(4, MOST_TURNS // self.flow.turns)
        turns = self.number(2, most)
        unroll = self.pick((0, 0, 2, 4))
        shape = self.pick(("up", "parameter", "steps", "stride", "down", "items"))
        dtype = I32 if shape == "down" else self.pick((U32, I32))
        start, stop, step = {
            "up": (0, turns, 1),
            "parameter": (k.convert(self.uniform[0], dtype) - 3, turns, 1),
            "steps": (1, 1 + 3 * turns, 3),
            "stride": (0, 3 * turns, k.convert(self.uniform[0], dtype)),
            "down": (turns * 2, -1, -2),
            "items": (k.convert(self.item & 1, dtype), turns, 1),
        }[shape]
        whole = whole and shape != "items"
        flow = {"turns": self.flow.turns * (turns + 1), "whole": whole, "in_loop": True,
                "exits": "uniform" if whole else "any"}  # fmt: skip
        with k.for_(start, stop, step, dtype=dtype, hint=self.pick(("j", "round")), unroll=unroll) as j:
            known = len(self.uniform)
            with self.inside(**flow):
                self.add(j)
                if whole and dtype == U32:
                    self.uniform.append(j)
                self.block(self.number(1, 4))
                self.finish_scope()
            del self.uniform[known:]

    def while_(self) -> None:
        k = self.k
        whole = self.flow.whole and self.chance()
        turns = self.number(2, min(4, MOST_TURNS // self.flow.turns))
        counter = k.variable(0, U32, "turn")
        flow = {"turns": self.flow.turns * turns, "whole": whole, "in_loop": True,
                "exits": "uniform" if whole else "any"}  # fmt: skip
        with k.while_() as loop, self.inside(**flow):
            more = self.number(0, 2)
            header = self.flow
            self.flow = _Flow(**{**vars(header), "in_loop": False, "whole": False, "depth": 9})
            for _ in range(more):
                self.let()
            if not whole and self.pick((False, False, True)):
                with k.if_(self.condition()):
                    k.break_()
            self.flow = header
            condition = counter < turns
            loop.test(condition if whole or self.chance() else condition & self.condition())
            k.assign(counter, counter + 1)
            self.block(self.number(1, 4))
            self.finish_scope()

    def leave(self) -> None:
        """Out of the innermost loop, or on to its next iteration."""
        k = self.k
        condition = self.uniform_condition() if self.flow.exits == "uniform" else self.condition()
        with k.if_(condition), self.inside():
            if self.chance():
                self.let()
                self.finish_scope()
            if self.chance():
                k.break_()
            else:
                k.continue_()

    def return_(self) -> None:
        k = self.k
        with k.if_(self.condition()):
            k.store(self.pointer("out", U32), self.i, self.check)
            k.return_()


@st.composite
def programs(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    floats: tuple[DType, ...] = (),
    atomics64: bool = False,
    barriers_in_branches: bool = True,
    emphasis: str = "",
) -> Program:
    """Kernels with float32 and some of the integers, with these floats beside it, and more of one of `EMPHASES`."""
    return _Maker(draw, floats, atomics64, barriers_in_branches, emphasis).program()


def dtypes_of(capabilities: Any) -> dict[str, Any]:
    """What `programs` may use on a device."""
    floats = tuple(dtype for dtype in (F64, F16) if capabilities.computes(dtype.name))
    # PoCL 3.1 gives a loop whose turns differ between work-items the turns of another one's where it stands between a
    # barrier in an if and a barrier behind that.
    pocl = capabilities.platform == "Portable Computing Language"
    return {"floats": floats, "atomics64": capabilities.int64_atomics, "barriers_in_branches": not pocl}
