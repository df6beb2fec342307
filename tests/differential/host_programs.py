"""Random host programs: allocations, views with gaps, launches, copies, fills, loops over slices, branches, streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program, Value
from ocl_ir.sizes import parts, smaller
from ocl_ir.types import F32
from tests.support.programs import ADD, SCALE

WIDTH = 12
"""Columns of every matrix; `n` has the rows."""


@dataclass
class Made:
    """A program with what it wants."""

    program: Program
    streams: int
    rows: int
    commands: int


@dataclass
class _Maker:
    draw: Callable[[st.SearchStrategy[Any]], Any]
    p: HostBuilder = field(default_factory=lambda: HostBuilder("random"))
    values: list[Value] = field(default_factory=list)
    """Whole matrices with values in them that may be read."""
    writable: list[Value] = field(default_factory=list)
    commands: int = 0

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def pick(self, some: list[Value]) -> Value:
        return some[self.number(0, len(some) - 1)]

    def part(self, value: Value, kind: int, which: int) -> Value:
        """The whole, some rows, a column range or every other column; equal arguments give equal shapes."""
        p, n = self.p, value.shape[0]
        if kind == 1:
            return p.slice(value, 0, which % 2, n - 2)
        if kind == 2:
            return p.slice(value, 1, which, 4)
        if kind == 3:
            return p.slice(value, 1, which % 2, WIDTH // 2, 2)
        return value

    def new(self) -> Value:
        """A matrix of its own with values in it."""
        value = self.p.alloc(F32, (self.n, WIDTH), "t")
        self.p.fill(value, self.number(-3, 3))
        self.commands += 1
        return value

    def command(self) -> None:
        kind, one, two = self.number(0, 5), self.number(0, 3), self.number(0, 7)
        self.commands += 1
        p, target = self.p, self.pick(self.writable)
        if kind == 0:
            p.fill(self.part(target, one, two), self.number(-5, 5))
        elif kind == 1:
            source = self.pick([value for value in self.values if value is not target])
            p.copy(self.part(target, one, two), self.part(source, one, self.number(0, 7)))
        elif kind in {2, 3}:
            sources = [value for value in self.values if value is not target]
            first, second = self.pick(sources), self.pick(sources)
            size = self.n * WIDTH
            if kind == 2:
                p.launch(SCALE, (size, first, target), (size,))
            else:
                p.launch(ADD, (size, first, second, target), (size,))
        elif kind == 4:
            self.tiles(target)
        else:
            fresh = self.new()
            self.values.append(fresh)
            self.writable.append(fresh)

    def tiles(self, target: Value) -> None:
        """A loop over rows of a matrix, each turn on the next stream, with scratch memory and a halo of one row."""
        p, rows, streams = self.p, self.number(1, 4), self.number(1, 8)
        source = self.pick([value for value in self.values if value is not target])
        with p.for_(parts(self.n - 1, rows)) as i, p.stream(i % streams):
            start = i * rows
            length = smaller(rows, self.n - 1 - start)
            t = p.alloc(F32, (length, WIDTH), "tile")
            above, below = (p.slice(source, 0, start + halo, length) for halo in (0, 1))
            p.launch(ADD, (length * WIDTH, above, below, t), (length * WIDTH,))
            p.launch(SCALE, (length * WIDTH, t, p.slice(target, 0, start, length)), (length * WIDTH,))

    def make(self) -> Made:
        p = self.p
        self.n = p.size("n")
        shape = (self.n, WIDTH)
        given = [p.input("x", F32, shape), p.input("z", F32, shape, written=True)]
        out = p.output("y", F32, shape)
        p.fill(out, 0)
        self.values = [*given, out]
        self.writable = [given[1], out]
        streams = self.number(2, 8)
        for _ in range(self.number(3, 25)):
            named = self.number(0, streams)
            if self.number(0, 9) == 0:
                with p.if_(self.n < self.number(3, 9)):
                    p.fill(self.pick(self.writable), 7)
                with p.else_():
                    p.fill(self.pick(self.writable), 8)
            elif named < streams:
                with p.stream(named):
                    self.command()
            else:
                self.command()
        results = list(dict.fromkeys([out, self.pick(self.writable), given[1]]))
        return Made(p.build(*results), streams, self.number(3, 9), self.commands)


@st.composite
def host_programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Made:
    """Programs over 2 to 8 streams."""
    return _Maker(draw).make()
