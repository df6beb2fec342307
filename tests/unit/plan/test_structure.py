"""Expressions without memory, sizes and scalars: which share a key, and what of them others hold."""

from __future__ import annotations

import cProfile
import random
from collections.abc import Hashable, Sequence
from typing import cast

import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Elementwise, Movement, Node, Reduce, Scalar, Step
from ocl_ir.graph.forward import forward, operands
from ocl_ir.layout import Layout
from ocl_ir.types import F32
from ocl_runtime.plan import structure
from ocl_runtime.plan.cache import written
from ocl_runtime.plan.donation import DonationIndices, Holders
from ocl_runtime.plan.structure import Structure


class Memory:
    """A storage."""

    def __init__(self, nbytes: int = 1 << 20) -> None:
        self.nbytes = nbytes


def leaf(*shape: int, memory: Memory | None = None, offset: int = 0) -> Node:
    return graph.buffer(memory or Memory(), F32, Layout.contiguous(shape, offset))


def times(x: Node, value: float) -> Node:
    return graph.elementwise("mul", x, graph.scalar(value, F32, x.shape))


def key(*roots: Node) -> Hashable:
    return Structure(roots).key


def test_memory_sizes_and_scalars_are_no_part_of_a_key() -> None:
    def expression(rows: int, columns: int, value: float) -> Node:
        x, y = leaf(rows, columns), leaf(columns, rows)
        return graph.elementwise("add", times(x, value), graph.permute(y, (1, 0)))

    assert key(expression(4, 5, 2.0)) == key(expression(600, 70, 3.0))
    assert key(expression(4, 5, 2.0)) != key(expression(4, 4, 2.0))
    assert key(expression(4, 5, 2.0)) != key(expression(4, 1, 2.0))
    found = Structure([expression(600, 70, 3.0)])
    assert (found.sizes, found.scalars, len(found.storages)) == ((600, 70, 0, 0), [3.0], 2)


def test_where_leaves_begin_is_no_part_of_a_key() -> None:
    """Not even whether two begin at the same place, or at 0."""

    def expression(first: int, second: int) -> Node:
        return graph.elementwise("add", leaf(8, offset=first), leaf(8, offset=second))

    assert len({key(expression(*offsets)) for offsets in ((0, 0), (3, 3), (3, 0), (8, 5), (1, 8))}) == 1
    found = Structure([expression(8, 5)])
    assert found.sizes == (8, 8, 5)
    assert found.first_offset == 1


def test_what_is_shared_is_a_part_of_a_key() -> None:
    x, y = leaf(8), leaf(8)
    once, again, other = times(x, 2.0), times(x, 2.0), times(y, 2.0)

    def both(left: Node, right: Node) -> Node:
        return graph.elementwise("add", left, right)

    keys = [key(both(once, once)), key(both(once, again)), key(both(once, other))]
    assert len(set(keys)) == 3
    assert key(both(other, other)) == keys[0]
    assert key(both(again, once)) == keys[1]
    assert key(both(other, again)) == keys[2]


def test_roots_are_told_apart_by_their_order() -> None:
    x = leaf(8)
    inner = graph.elementwise("exp", x)
    outer = graph.elementwise("sin", inner)
    assert len({key(inner), key(outer), key(inner, outer), key(outer, inner)}) == 4
    assert Structure([inner, outer]).roots == (0, 1)
    assert Structure([outer, inner]).roots == (0, 1)


def told(roots: Sequence[Node]) -> Hashable:
    """The plain way to say what a key says: each node with the numbers of its operands, memory and sizes, but for
    offsets."""
    places: dict[Node, int] = {}
    numbered: dict[object, int] = {}

    def number(given: int | tuple[int, ...]) -> Hashable:
        if isinstance(given, tuple):
            return tuple(map(number, given))
        return given if given in (0, 1) else ("size", numbered.setdefault(("size", given), len(numbered)))

    def part(node: Node) -> Hashable:
        args = tuple(places[arg] for arg in node.args)
        if isinstance(node, Buffer):
            storage = numbered.setdefault(id(node.storage), len(numbered))
            layout = node.layout
            return "buffer", storage, number(layout.shape), number(layout.strides)
        if isinstance(node, Scalar):
            return "scalar", number(node.shape)
        if isinstance(node, Movement):
            return node.step.kind, number(node.shape), args
        assert isinstance(node, Elementwise | Reduce)
        return node.op, args, node.axes if isinstance(node, Reduce) else ()

    parts = []
    for node in graph.walk(*roots):
        parts.append(part(node))
        places[node] = len(places)
    return tuple(parts), tuple(places[root] for root in roots)


def anything(rng: random.Random) -> list[Node]:
    """A few operations over few leaves, so that expressions are often alike."""
    sizes = rng.choice(((4,), (5,), (4, 4), (4, 5), (7, 1)))
    memory = [Memory(), Memory()]
    nodes = [leaf(*sizes, memory=rng.choice(memory), offset=rng.choice((0, 0, 6))) for _ in range(2)]
    for _ in range(rng.randint(1, 3)):
        one, other = rng.choice(nodes), rng.choice(nodes)
        kind = rng.randint(0, 3)
        if kind == 0:
            nodes.append(graph.elementwise(rng.choice(("add", "mul")), one, other))
        elif kind == 1:
            nodes.append(times(one, rng.random()))
        elif kind == 2:
            nodes.append(graph.elementwise("exp", one))
        else:
            nodes.append(graph.expand(graph.reduce("sum", one, (0,), F32, keepdims=True), one.shape))
    return [rng.choice(nodes[2:]) for _ in range(rng.randint(1, 2))]


def test_keys_are_equal_where_expressions_are_alike_and_nowhere_else() -> None:
    rng = random.Random(0)
    plain: dict[Hashable, Hashable] = {}
    keys: dict[Hashable, Hashable] = {}
    for _ in range(4000):
        roots = anything(rng)
        said, found = told(roots), key(*roots)
        assert plain.setdefault(said, found) == found
        assert keys.setdefault(found, said) == said
    assert 100 < len(keys) < 3000


def test_expressions_are_built_again() -> None:
    x, y = leaf(4, 5), leaf(4)
    total = graph.expand(graph.reduce("sum", x, (0,), F32, keepdims=True), (4, 5))
    root = graph.elementwise("add", total, graph.elementwise("exp", x))
    assigned = graph.assign(root, Layout((4,), (5,), 1), y)
    found = Structure([assigned, total])
    nodes = found.again(found.storages, found.sizes, found.scalars)
    again = Structure([nodes[root] for root in found.roots])
    assert (again.key, again.sizes) == (found.key, found.sizes)
    assert list(map(id, again.storages)) == list(map(id, found.storages))
    other = found.again([Memory(), Memory()], (6, 7, *found.sizes[2:]), [])
    assert other[0].shape == (6, 7)
    assert [type(node) for node in other] == [type(node) for node in found.nodes]


def test_operands_that_are_where_they_were_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[Node] = []
    monkeypatch.setattr(structure, "operands", lambda node: followed.append(node) or operands(node))
    below = graph.elementwise("exp", leaf(4, 5))
    view = graph.move(graph.permute(below, (1, 0)), Step("reshape", (20,)), (20,))
    root = graph.elementwise("sin", graph.elementwise("add", view, times(view, 2.0)))
    before = key(root)
    assert not followed
    forward(below, cast("Buffer", leaf(4, 5)))
    assert key(root) != before
    assert followed, "what it is made of is in memory now"
    followed.clear()
    assert key(root) != before
    assert not followed, "and its users refer to that"


# ---------------------------------------------------------------------- what others hold


def test_what_others_hold_is_needed_and_the_rest_is_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """And following it through the expression is done once for each way in which nodes are held."""
    asked = []
    needs = Holders._needs
    monkeypatch.setattr(Holders, "_needs", lambda *args: asked.append(args[1]) or needs(*args))

    def expression() -> tuple[Structure, Node]:
        inner = times(leaf(64, memory=Memory(256)), 2.0)
        return Structure([graph.elementwise("exp", inner)]), inner

    structure, inner = expression()  # exp, mul, leaf, 2.0
    holders = Holders(structure)
    assert holders.donation(structure) == DonationIndices((), (1, 2), True), "who holds the product needs its operand"
    del inner
    assert holders.donation(structure) == DonationIndices((0,), ())
    assert len(asked) == 2
    for _ in range(3):
        structure, inner = expression()
        assert holders.donation(structure) == DonationIndices((), (1, 2), True)
        del inner
        assert holders.donation(structure) == DonationIndices((0,), ())
    assert len(asked) == 2


def test_memory_that_others_hold_or_use_or_that_is_too_large_is_not_spare() -> None:
    def expression(nbytes: int) -> Structure:
        return Structure([graph.elementwise("exp", leaf(64, memory=Memory(nbytes)))])

    structure = expression(256)
    holders = Holders(structure)
    assert holders.donation(structure).storages == (0,)
    held = structure.storages[0]
    assert holders.donation(structure).storages == ()
    held.guests = 1
    del held
    assert holders.donation(structure).storages == (), "another library uses it"
    assert holders.donation(expression(512)).storages == (0,)
    assert holders.donation(expression(513)).storages == (), "most of it would be kept for nothing"


def test_ways_in_which_nodes_are_held_are_forgotten() -> None:
    root = leaf(8)
    for _ in range(7):
        root = graph.elementwise("add", root, leaf(8))
    structure = Structure([root])
    del root
    holders = Holders(structure)
    places = [place for place, node in enumerate(structure.nodes) if isinstance(node, Buffer)]
    found = set()
    for number in range(256):
        held = [structure.nodes[place] for bit, place in enumerate(places) if number >> bit & 1]
        found.add(holders.donation(structure))
        del held
    assert len(found) == 256
    assert len(holders._known) <= 64


def test_references_are_counted_alike_under_a_profiler() -> None:
    """cProfile's, which is written in C, cannot be set again, and goes on. (From Python 3.12 on it is none that
    `sys.getprofile` gives.)"""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        count = written._own_references()
        leaf(8)
    finally:
        profiler.disable()
    assert count == written._own_references()
    assert leaf.__code__ in [entry.code for entry in profiler.getstats()]
