"""Random kernels as Python text: typed expressions, nested control flow, loops that carry numbers of several types,
helpers with several returns.

What makes the outcome one and the same everywhere: floats only meet in operations that are exact on every device, so
bits agree; indices stay small; no divisor and no step is 0; loops end by a counter; items store to elements of their
own; and names only hold typed numbers and indices, because a literal in a name is a Python number in plain Python and a
number of the device else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

ITEMS = 32
"""Work-items, and elements of each input."""
TYPES = ["f32", "i32", "u32", "f16", "index", "bool"]
PAIR = ("f32", "index")
"""The types in a name of type `pair`, which holds a tuple."""
DTYPES = {"f32": "float32", "i32": "int32", "u32": "uint32", "f16": "float16"}
OUTPUTS = {**DTYPES, "index": "int32", "bool": "int32"}
SLOTS = 12
"""Elements of its own that a work-item has in each output."""
DEEPEST = 3


@dataclass
class Text:
    """The lines of a function, and the names that have a value where it stands."""

    rng: Random
    lines: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """By name, the type."""
    helpers: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    """By name, the types of parameters and of the result."""
    indent: int = 1
    loops: list[str] = field(default_factory=list)
    """The loops around, innermost last: `for`, `while`, or `unrolled`."""
    result: str | None = None
    """The type that a helper returns."""
    made: int = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def one_of(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def number(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def new_name(self) -> str:
        self.made += 1
        return f"v{self.made}"

    @contextmanager
    def block(self) -> Iterator[dict[str, str]]:
        """A block; gives the names that it leaves."""
        before, left = dict(self.names), dict[str, str]()
        self.indent += 1
        start = len(self.lines)
        yield left
        if len(self.lines) == start:
            self.line("pass")
        self.indent -= 1
        left.update(self.names)
        self.names = before

    # ------------------------------------------------------------------ expressions

    def of_type(self, type_: str) -> list[str]:
        return [name for name, own in self.names.items() if own == type_]

    def expression(self, type_: str, depth: int = 2) -> str:
        known = self.of_type(type_)
        if depth == 0 or self.number(0, 3) == 0:
            return self.one_of(*known) if known else self.leaf(type_)
        suitable = [name for name, (_, result) in self.helpers.items() if result == type_]
        kind = self.one_of("binary", "leaf", "conditional", "call", *["helper"] * bool(suitable))
        inner = depth - 1
        if kind == "leaf":
            return self.leaf(type_)
        if kind == "helper":
            name = self.one_of(*suitable)
            arguments = ", ".join(self.expression(parameter, inner) for parameter in self.helpers[name][0])
            return f"{name}({arguments})"
        if kind == "conditional":
            return f"({self.expression(type_, inner)} if {self.condition(inner)} else {self.expression(type_, inner)})"
        return getattr(self, f"_{kind}")(type_, inner)

    def _binary(self, type_: str, depth: int) -> str:
        a, b = self.expression(type_, depth), self.expression(type_, depth)
        match type_:
            case "f32" | "f16":
                by = self.one_of(f"+ {b}", f"- {b}", f"* {b}", "* 0.5", "+ i", "- 3")
                return f"({a} {by})"
            case "i32":
                sign = self.one_of("+", "-", "*", "//", "%", "&", "|", "^")
                return f"({a} {sign} {self.one_of(*self._seconds(type_, sign, b), '3', '(-7)')})"
            case "u32":
                sign = self.one_of("+", "-", "*", "//", "%", "&", "|", "^", ">>", "<<")
                by = (
                    self.one_of("5", f"({b} % 40)")
                    if sign in {"<<", ">>"}
                    else self.one_of(*self._seconds(type_, sign, b), "9")
                )
                return f"({a} {sign} {by})"
            case "index":
                sign = self.one_of("+", "-", "*", "//", "%", "&")
                by = self.one_of(*self._seconds(type_, sign, b), "3", "(-5)")
                return f"(({a} {sign} {by}) % {self.one_of(50, 33, 7)})"
        sign = self.one_of("and", "or", "==", "!=", "&", "^")
        return f"({a} {sign} {b})"

    def _seconds(self, type_: str, sign: str, operand: str) -> list[str]:
        """What an integer is joined with; divisors are never 0, because checked mode reports that."""
        positive = "(i + 1)" if type_ == "index" else f"{DTYPES[type_]}(i + 1)"
        return [f"({operand} | 1)", positive] if sign in {"//", "%"} else [operand, operand]

    def _call(self, type_: str, depth: int) -> str:
        a, b = self.expression(type_, depth), self.expression(type_, depth)
        if type_ == "bool":
            return f"(not {a})"
        names = ["min({}, {})", "max({}, {})", "where({condition}, {}, {})"]
        names += (
            ["(~{})", "popcount({})"] if type_ == "u32" else ["minimum({}, {})", "maximum({}, {})", "abs({})", "(-{})"]
        )
        if type_ == "index":
            return f"({self.one_of(*names).format(a, b, condition=self.condition(0))} % 45)"
        return str(self.one_of(*names).format(a, b, condition=self.condition(0)))

    def leaf(self, type_: str) -> str:
        if type_ == "bool":
            return self.condition(0)
        if type_ == "index":
            return str(self.one_of("i", f"(zero + {self.number(-3, 9)})", f"int(k_i32[{self.place()}] % 11)"))
        cast = DTYPES[type_]
        literal = self.one_of(0, 1, 2, 3, 7) if type_ != "f32" else self.one_of(0.0, 1.0, -0.5, 2.25, 0.1)
        memory = f"k_{type_}[{self.place()}]"
        index = self.one_of("i", *self.of_type("index"))
        return str(self.one_of(memory, f"{cast}({literal})", memory, f"{cast}({index})"))

    def place(self) -> str:
        index = self.one_of("i", *self.of_type("index"))
        return str(self.one_of("i", f"({index} + {self.number(0, 9)}) % {ITEMS}", "-1", "i - 1 if i > 0 else 0"))

    def condition(self, depth: int) -> str:
        type_ = self.one_of("index", "f32", "i32", "u32", "bool") if depth else self.one_of("index", "i32")
        if type_ == "bool":
            return self.expression("bool", depth)
        a, b = (self.expression(type_, 0) if depth == 0 else self.expression(type_, depth - 1) for _ in range(2))
        sign = self.one_of("<", "<=", ">", ">=", "==", "!=")
        if depth and self.number(0, 4) == 0:
            return f"({a} {sign} {b} {self.one_of('<', '!=')} {self.expression(type_, 0)})"
        if depth and self.number(0, 3) == 0:
            return f"({a} {sign} {b} {self.one_of('and', 'or')} {self.condition(depth - 1)})"
        return f"({a} {sign} {b})"

    # ------------------------------------------------------------------ statements

    def statements(self, count: int, depth: int) -> bool:
        """Makes statements; says whether what follows them is never reached."""
        for _ in range(count):
            kinds = ["new", "change", "change", "augment", "swap", "pair", "function", "own"]
            kinds += ["branch", "branch", "loop", "while"] if depth < DEEPEST else []
            if self.loops and self.loops[-1] != "unrolled":
                kinds.append("leave")
            if self.result is not None and depth and "unrolled" not in self.loops:
                kinds.append("return")
            if getattr(self, f"_{self.one_of(*kinds)}")(depth):
                return True
        return False

    def first(self, type_: str) -> None:
        """Gives a new name a value."""
        name = self.new_name()
        self.line(f"{name} = {self.expression(type_)}")
        self.names[name] = type_

    def _new(self, depth: int) -> None:
        self.first(self.one_of(*TYPES))

    def changeable(self) -> list[str]:
        return [name for name, type_ in self.names.items() if name[0] in "vp" and type_ != "pair"]

    def _change(self, depth: int) -> None:
        names = self.changeable()
        if not names:
            return self._new(depth)
        name = self.one_of(*names)
        self.line(f"{name} = {self.expression(self.names[name])}")
        return None

    def _augment(self, depth: int) -> None:
        names = [name for name in self.changeable() if self.names[name] in {"f32", "i32", "u32", "f16"}]
        if not names:
            return self._new(depth)
        name = self.one_of(*names)
        type_ = self.names[name]
        operand = self.expression(self.one_of(type_, "index") if type_ == "i32" else type_, 1)
        self.line(f"{name} {self.one_of('+', '-', '*')}= {operand}")
        return None

    def _swap(self, depth: int) -> None:
        for type_ in self.rng.sample(TYPES, len(TYPES)):
            names = [name for name in self.changeable() if self.names[name] == type_]
            if len(names) >= 2:
                a, b = self.rng.sample(names, 2)
                self.line(f"{a}, {b} = {b}, {self.expression(type_, 1) if self.number(0, 2) == 0 else a}")
                return None
        return self._new(depth)

    def _pair(self, depth: int) -> None:
        """A tuple: made, changed as a whole, or taken apart."""
        known = self.of_type("pair")
        parts = ", ".join(self.expression(type_, 1) for type_ in PAIR)
        kind = self.one_of("new", "change", "take", "element") if known else "new"
        if kind == "new":
            name = self.new_name()
            self.line(f"{name} = ({parts})")
            self.names[name] = "pair"
        elif kind == "change":
            name = self.one_of(*known)
            first = self.one_of(parts, f"{name}[0], {self.expression('index', 1)}")
            self.line(f"{name} = {first}")
        elif kind == "take":
            names = [self.new_name() for _ in PAIR]
            self.line(f"{', '.join(names)} = {self.one_of(*known)}")
            self.names |= dict(zip(names, PAIR, strict=True))
        else:
            at = self.number(0, 1)
            name = self.new_name()
            self.line(f"{name} = {self.one_of(*known)}[{at}]")
            self.names[name] = PAIR[at]

    def _function(self, depth: int) -> None:
        """A function inside, which sees what names around it are when it is called."""
        type_, name, result = self.one_of("f32", "i32", "index"), f"g{self.made}", self.new_name()
        self.made += 1
        self.line(f"def {name}(a):")
        before = dict(self.names)
        self.names["a"] = type_
        self.line(f"    return {self.expression(type_, 1)}")
        self.names = before
        changed = [each for each in self.changeable() if self.names[each] == type_]
        if changed:
            each = self.one_of(*changed)
            self.line(f"{each} = {self.expression(type_, 1)}")
        self.line(f"{result} = {name}({self.expression(type_, 1)})")
        self.names[result] = type_

    def _own(self, depth: int) -> None:
        """An array of the work-item: filled, changed at an index, and read."""
        type_ = self.one_of("f32", "i32", "u32")
        name, index, result = f"o{self.made}", f"q{self.made}", self.new_name()
        self.line(f"{name} = private_array(4, {DTYPES[type_]})")
        self.line(f"for {index} in range(4):")
        self.names[index] = "index"
        self.line(f"    {name}[{index}] = {self.expression(type_, 1)}")
        del self.names[index]
        self.line(f"{name}[{self.expression('index', 1)} % 4] {self.one_of('=', '+=')} {self.expression(type_, 1)}")
        self.line(f"{result} = {name}[{self.expression('index', 1)} % 4] + {name}[-1]")
        self.names[result] = type_

    def _branch(self, depth: int) -> bool:
        self.line(f"if {self.condition(2)}:")
        with self.block() as then:
            then_ends = self.statements(self.number(1, 3), depth + 1)
        orelse, else_ends = dict(self.names), False
        if self.number(0, 2):
            self.line(self.one_of("else:", f"elif {self.condition(1)}:"))
            is_last = self.lines[-1].strip() == "else:"
            with self.block() as orelse_names:
                ends = self.statements(self.number(1, 3), depth + 1)
            if is_last:
                orelse, else_ends = orelse_names, ends
        sides = [names for names, ends in ((then, then_ends), (orelse, else_ends)) if not ends]
        known = sides[0] if sides else {}
        self.names = {name: type_ for name, type_ in known.items() if all(side.get(name) == type_ for side in sides)}
        return not sides

    def _loop(self, depth: int) -> None:
        index = f"j{self.made}"
        self.made += 1
        indices = [f"{name} % 6" for name in self.of_type("index")]
        small = self.one_of("i % 5", "zero + 4", "int(k_i32[i] % 6)", *indices)
        bounds = self.one_of(
            f"range({small})", f"range(1, {small})", f"range({small}, -1, -1)", "range(3)", f"range(0, {small}, 2)",
            f"range({small}, zero + 5, 1 + i % 3)", f"range({small}, {small}, i % 2 * 3 - 1)", "unrolled(range(3))",
            f"range(uint32({small}))",
        )  # fmt: skip
        self.line(f"for {index} in {bounds}:")
        self.loops.append("unrolled" if "unrolled" in bounds else "for")
        with self.block():
            if "unrolled" not in bounds:
                self.names[index] = "u32" if "uint32" in bounds else "index"
            self.statements(self.number(1, 3), depth + 1)
        self.loops.pop()

    def _while(self, depth: int) -> None:
        count = f"w{self.made}"
        self.made += 1
        self.line(f"{count} = zero")
        most = self.number(1, 5)
        test = f"{count} < {most}"
        self.line(f"while {self.one_of(f'{test} and {self.condition(1)}', test, 'True')}:")
        is_endless = self.lines[-1].strip() == "while True:"
        self.loops.append("while")
        with self.block():
            self.names[count] = "index"
            if is_endless:
                self.line(f"if {count} >= {most}:")
                self.line("    break")
            self.line(f"{count} += 1")
            self.statements(self.number(1, 3), depth + 1)
        self.loops.pop()

    def _leave(self, depth: int) -> bool:
        word = self.one_of("break", "continue")
        if self.number(0, 1):
            self.line(f"if {self.condition(1)}:")
            self.line(f"    {word}")
            return False
        self.line(word)
        return True

    def _return(self, depth: int) -> bool:
        assert self.result is not None
        self.line(f"return {self.returned()}")
        return True

    def returned(self) -> str:
        """What a helper gives: a number of its type, in its type also where it is an index or a literal."""
        assert self.result is not None
        return self.expression(self.result, 1)


@st.composite
def program_texts(draw: Callable[..., Any]) -> str:
    """The text of a module with a kernel `k` and its helpers, of a size that shrinks."""
    rng, size = Random(draw(st.integers(0, 2**32))), draw(st.integers(1, 7))
    parts: list[str] = []
    helpers: dict[str, tuple[list[str], str]] = {}
    inputs = [f"k_{type_}" for type_ in DTYPES]
    outputs = [f"y_{type_}" for type_ in OUTPUTS]
    for number in range(rng.randint(0, 2)):
        types = rng.choices(TYPES, k=rng.randint(1, 3))
        result = rng.choice(TYPES)
        body = Text(rng, helpers=dict(helpers), result=result)
        body.names = {f"p{at}": type_ for at, type_ in enumerate(types)} | {"i": "index", "zero": "index"}
        if not body.statements(rng.randint(1, 4), 0):
            body.line(f"return {body.returned()}")
        extra = ["i", "zero", *inputs]
        parameters = ", ".join([*(f"p{at}" for at in range(len(types))), *extra])
        parts.append("\n".join([f"def h{number}({parameters}):", *body.lines]))
        helpers[f"h{number}"] = types, result
    body = Text(rng, helpers=helpers)
    body.line("i = global_id(0)")
    body.line("zero = i - i")
    body.names = {"i": "index", "zero": "index"}
    for type_ in rng.sample(TYPES, rng.randint(1, len(TYPES))):
        body.first(type_)
    body.statements(size, 0)
    for type_ in OUTPUTS:
        for slot, name in enumerate(body.of_type(type_)[-SLOTS:]):
            value = f"int({name})" if type_ == "bool" else name
            body.line(f"y_{type_}[i * {SLOTS} + {slot}] = {value}")
    parts.append("\n".join([f"def k({', '.join([*inputs, *outputs])}):", *body.lines]))
    text = "\n\n\n".join(parts) + "\n"
    for name in helpers:  # helpers see the arrays and the item's index
        text = _with_arguments(text, name, ["i", "zero", *inputs])
    return text


def _with_arguments(text: str, name: str, extra: list[str]) -> str:
    """The text with more arguments in each call of a helper."""
    out, rest = "", text
    while f"{name}(" in rest:
        before, _, rest = rest.partition(f"{name}(")
        out += before + f"{name}("
        if before.endswith("def "):
            continue
        depth, end = 1, 0
        while depth:
            depth += {"(": 1, ")": -1}.get(rest[end], 0)
            end += 1
        inner = _with_arguments(rest[: end - 1], name, extra)
        out += f"{inner}, {', '.join(extra)})"
        rest = rest[end:]
    return out + rest
