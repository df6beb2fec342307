from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Elementwise, Movement, Node, Scalar
from ocl_ir.graph.printer import letter, text
from ocl_ir.graph.substitute import substitute
from ocl_ir.indices import Span, parse_index
from ocl_ir.layout import Layout
from ocl_ir.types import BOOL, F16, F32, F64, I32, I64, U8, U32, U64, DType
from tests.support.graphs import is_same


class Memory:
    pass


def buffer(*shape: int, dtype: DType = F32) -> Buffer:
    return graph.buffer(Memory(), dtype, Layout.contiguous(shape))


def test_equal_expressions_are_one_node_once_they_are_planned_together() -> None:
    a, b = buffer(4), buffer(4)

    def build(op: str = "mul") -> Node:
        product = graph.elementwise(op, graph.elementwise("sin", a), graph.index(b, (Span(3, -1, 4),)))
        return graph.reduce("sum", graph.index(product, (Span(0, 1, 3),)), (0,), F32)

    one, other = build(), build()
    assert one is not other
    both = graph.elementwise("add", one, other)
    (merged,) = substitute([both], {})
    assert merged.args == (one, one)
    assert both.args == (one, other), "which others may hold, stays as it is"
    assert not is_same(build("mul"), build("div"))
    assert not is_same(graph.elementwise("add", a, b), graph.elementwise("add", b, a))


def test_what_a_node_is_tells_it_from_all_others() -> None:
    a, b, c = buffer(4, 4), buffer(4, 4), buffer(4, 4)
    places = graph.iota(U32, Layout.contiguous((4, 4)))
    row, column = (graph.undefined(U32, (4, 4)) for _ in range(2))
    kept = graph.undefined(BOOL, (4, 4))

    def nodes() -> list[Node]:
        product, whole = graph.contract(a, b), graph.convert(a, I32)
        return [
            graph.elementwise("sin", a), graph.elementwise("cos", a), graph.elementwise("sin", b),
            graph.elementwise("mul", a, b), graph.elementwise("mul", a, c), graph.elementwise("add", a, b),
            graph.convert(a, F64), whole, graph.convert(whole, F64),
            graph.reduce("sum", a, (0,), F32), graph.reduce("sum", a, (1,), F32), graph.reduce("max", a, (0,), F32),
            graph.reduce("sum", a, (0,), F32, keepdims=True), graph.reduce("sum", a, (0,), F64),
            graph.scan("sum", a, 0, F32), graph.scan("prod", a, 0, F32), graph.scan("sum", a, 1, F32),
            graph.sort("values", a), graph.sort("places", a), graph.sort("values", a, descending=True),
            product, graph.contract(b, a),
            graph.gather(a, (row, column)), graph.gather(a, (column, row)), graph.gather(a, (row, places)),
            graph.scatter("set", a, b, kept, (row, column)), graph.scatter("max", a, b, kept, (row, column)),
            graph.assign(a, Layout((2, 4), (4, 1)), graph.index(b, parse_index((4, 4), np.s_[:2]))),
            graph.assign(a, Layout((2, 4), (4, 1), 8), graph.index(b, parse_index((4, 4), np.s_[:2]))),
            graph.assign(a, Layout((2, 4), (8, 1)), graph.index(b, parse_index((4, 4), np.s_[:2]))),
            graph.permute(product, (1, 0)), graph.reshape(product, (16,)),
            graph.index(product, parse_index((4, 4), np.s_[1:])), graph.index(product, parse_index((4, 4), np.s_[:3])),
            a, graph.undefined(F32, (4, 4)),
        ]  # fmt: skip

    first = nodes()
    merged = substitute(first, {})
    assert merged == first, "all differ"
    again = substitute([*first, *nodes()], {})[len(first) :]
    assert again[:-1] == first[:-1]
    assert again[-1] is not first[-1], "elements of any value are those of no other"


def test_leaves_are_never_shared() -> None:
    memory, layout = Memory(), Layout((4, 6), (1, 4), 3)
    made = graph.buffer(memory, F32, layout, "here")
    assert (made.layout, made.dtype, made.where, made.flat) == (layout, F32, "here", False)
    assert graph.buffer(memory, F32, layout) is not made
    assert graph.scalar(1.0, F32) is not graph.scalar(1.0, F32)


def test_views_of_the_same_elements_are_one_however_they_are_made() -> None:
    a, rows = buffer(4, 6), Span(1, 1, 3)
    turned = graph.permute(a, (1, 0))
    assert graph.permute(turned, (1, 0)) is a
    part = graph.index(a, (rows, Span(0, 1, 6)))
    assert graph.permute(graph.index(turned, (Span(0, 1, 6), rows)), (1, 0)) is part
    assert graph.index(a, (Span(0, 1, 4), Span(1, 1, 5))) is not part


def test_nothing_keeps_a_dead_node_alive() -> None:
    memory = Memory()
    watched = weakref.ref(memory)
    node = graph.elementwise("sin", graph.buffer(memory, F32, Layout.contiguous((4,))))
    del memory
    assert watched() is not None
    del node
    gc.collect()
    assert watched() is None


def test_views_that_are_gone_are_forgotten() -> None:
    a = buffer(4000)
    for start in range(3000):
        graph.index(a, (Span(start, 1, 5),))
    assert len(a.views) < 130


def test_no_operand_is_referred_to_but_by_its_users() -> None:
    """Who counts references, to find out what nobody else needs, would find it."""
    a = buffer(4, 6)
    before = sys.getrefcount(a)
    made = [graph.elementwise("add", a, a), graph.reduce("sum", a, (0,), F32), graph.convert(a, F64)]
    made.append(graph.assign(a, Layout((6,), (1,)), graph.iota(F32, Layout.contiguous((6,)))))
    assert sys.getrefcount(a) == before + 5
    del made


def test_a_node_knows_the_line_that_asked_for_it_and_holds_nothing_that_ran_there() -> None:
    memory = Memory()

    def build() -> tuple[Node, int]:
        held = Memory()
        watched.append(weakref.ref(held))
        line = sys._getframe().f_lineno + 1
        return graph.elementwise("sin", graph.buffer(memory, F32, Layout.contiguous((4,)))), line

    watched: list[weakref.ref[Memory]] = []
    node, line = build()
    assert node.where == f"{__file__}:{line}"
    assert watched[0]() is None
    space: dict[str, object] = {"graph": graph, "a": buffer(4)}
    exec(compile("\n" * 4000 + "node = graph.elementwise('cos', a)", "far.py", "exec"), space)
    assert space["node"].where == "far.py:4001"  # type: ignore[attr-defined]


def test_deep_expressions_are_built_printed_and_dropped() -> None:
    a = buffer(4)
    node: Node = a
    for _ in range(50_000):
        node = graph.elementwise("add", node, a)
    assert sum(1 for _ in graph.walk(node)) == 50_001
    assert text(node).startswith("t0: f32[4] = add(add(")
    del node


def test_movements_of_leaves_become_layouts() -> None:
    a = buffer(4, 6)
    moved = graph.reshape(graph.permute(graph.index(a, (Span(3, -1, 4), Span(0, 1, 6))), (0, 1)), (2, 2, 6))
    assert isinstance(moved, Buffer)
    assert moved.storage is a.storage
    assert moved.layout == Layout((2, 2, 6), (-12, -6, 1), 18)
    assert isinstance(graph.expand(graph.scalar(1, I32), (3, 3)), Scalar)
    assert isinstance(graph.reshape(graph.permute(a, (1, 0)), (24,)), Movement)
    assert graph.index(a, (Span(0, 1, 4), Span(0, 1, 6))) is a
    assert graph.expand(a, (4, 6)) is a
    assert graph.reshape(a, (4, 6)) is a


def test_operands_must_fit() -> None:
    with pytest.raises(ShapeError, match=r"add of shapes \(4,\), \(5,\)"):
        graph.elementwise("add", buffer(4), buffer(5))
    with pytest.raises(DTypeError, match="differ in type"):
        graph.elementwise("add", buffer(4), buffer(4, dtype=I32))
    with pytest.raises(ShapeError, match="do not fit in shape"):
        graph.reshape(buffer(4), (5,))


@pytest.mark.parametrize(
    ("op", "given", "accumulator"),
    [
        ("sum", F16, F32), ("sum", F32, F32), ("sum", F64, F64), ("sum", I32, I64), ("prod", U8, U64),
        ("sum", BOOL, I64), ("min", F16, F32), ("max", U8, U8), ("max", BOOL, U8),
    ],
)  # fmt: skip
def test_accumulators(op: graph.ReduceOp, given: DType, accumulator: DType) -> None:
    assert graph.accumulator(op, given) == accumulator


def test_reductions_of_nothing() -> None:
    zero, one = (graph.reduce(op, buffer(0, 3), (0,), F32) for op in ("sum", "prod"))
    assert isinstance(zero, Scalar)
    assert isinstance(one, Scalar)
    assert (zero.value, one.value, one.shape) == (0.0, 1.0, (3,))
    with pytest.raises(ShapeError, match="max of no elements"):
        graph.reduce("max", buffer(0, 3), (0,), F32)


def test_reductions_keep_dimensions() -> None:
    a = buffer(2, 3, 4)
    assert graph.reduce("sum", a, (0, 2), F32).shape == (3,)
    assert graph.reduce("sum", a, (0, 2), F32, keepdims=True).shape == (1, 3, 1)


def test_text() -> None:
    a, b, c = buffer(4), buffer(4), buffer(4)
    node = graph.elementwise("add", graph.elementwise("mul", a, b), graph.elementwise("sin", c))
    assert text(node) == "y: f32[4] = add(mul(a, b), sin(c))\n"
    assert text(node, {a: "left", node: "out"}) == "out: f32[4] = add(mul(left, a), sin(b))\n"


def test_text_names_what_is_used_twice() -> None:
    a = buffer(4, 6)
    root = graph.elementwise("sqrt", a)
    total = graph.reduce("sum", graph.elementwise("mul", root, root), (1,), F32, keepdims=True)
    node = graph.index(
        graph.convert(graph.elementwise("div", root, graph.expand(total, (4, 6))), I32), (2, None, Span(5, -1, 6))
    )
    assert text(node) == (
        "t0: f32[4, 6] = sqrt(a)\n"
        "y: i32[1, 6] = index(i32(div(t0, expand(sum(mul(t0, t0), axes [1], keepdims), [4, 6]))), "
        "[2, new, 5 step -1 length 6])\n"
    )


def test_text_of_leaves_without_memory() -> None:
    places = graph.iota(I32, Layout((3,), (2,), 1))
    assert (
        text(graph.elementwise("add", places, graph.scalar(5, I32, (3,))))
        == "y: i32[3] = add(iota(1, strides [2]), 5)\n"
    )


def test_letters_are_distinct() -> None:
    names = [letter(number) for number in range(100)]
    assert len(set(names)) == 100
    assert not {"i", "j", "n", "s", "y"} & set(names)


def test_text_of_computed_places_and_scans() -> None:
    x, index = buffer(4, 3), graph.iota(U32, Layout((5,), (1,)))
    row = graph.gather(x, (index, index))
    total = graph.scan("sum", row, 0, F32)
    assert text(graph.sort("places", index, descending=True), {index: "i"}) == "y: i64[5] = argsort(i, descending)\n"
    kept = graph.scalar(True, BOOL, (5,))
    written = graph.scatter("set", graph.undefined(F32, (9,)), total, kept, (index,))
    assert text(written, {total: "t", index: "i"}) == ("y: f32[9] = scatter_set(undefined, [i], t, where True)\n")
    assert text(total, {index: "i"}) == "y: f32[5] = cumulative_sum(gather(a, [i, i]), axis 0)\n"


def test_gathers_of_one_value_are_that_value() -> None:
    index = graph.iota(U32, Layout((5,), (1,)))
    found = graph.gather(graph.scalar(3.0, F32, (4,)), (index,))
    assert isinstance(found, graph.Scalar)
    assert found.shape == (5,)
    with pytest.raises(ShapeError, match="taken from an array without any"):
        graph.gather(buffer(0), (index,))


def test_operations_keep_the_order_in_memory_of_transposed_operands() -> None:
    """As NumPy's do: what follows reads neighbours."""
    a, b, row = buffer(3, 4), buffer(3, 4), buffer(3)
    turned = graph.elementwise("add", graph.permute(a, (1, 0)), graph.permute(b, (1, 0)))
    assert is_same(turned, graph.permute(graph.elementwise("add", a, b), (1, 0)))
    scaled = graph.elementwise("mul", turned, graph.scalar(2.0, F32, (4, 3)))
    assert isinstance(scaled, Movement)
    assert isinstance(scaled.arg, Elementwise)
    assert is_same(scaled.arg.args[0], graph.elementwise("add", a, b))
    spread = graph.elementwise("sub", scaled, graph.expand(row, (4, 3)))
    assert isinstance(spread, Movement)
    assert spread.shape == (4, 3)
    converted = graph.permute(graph.convert(graph.elementwise("add", a, b), F64), (1, 0))
    assert is_same(graph.convert(turned, F64), converted)
    three = buffer(2, 3, 4)
    rolled = graph.elementwise("neg", graph.permute(three, (2, 0, 1)))
    assert is_same(rolled, graph.permute(graph.elementwise("neg", three), (2, 0, 1)))
    # Of two orders none is better, and nothing is turned.
    square = buffer(4, 4)
    assert isinstance(graph.elementwise("add", square, graph.permute(square, (1, 0))), Elementwise)
    assert isinstance(graph.elementwise("neg", graph.index(three, parse_index((2, 3, 4), np.s_[:, 1:]))), Elementwise)


def test_permutations_of_permutations_are_one() -> None:
    node = graph.elementwise("neg", buffer(2, 3, 4))
    rolled = graph.permute(node, (2, 0, 1))
    assert graph.permute(rolled, (1, 2, 0)) is node
    assert is_same(graph.permute(rolled, (2, 0, 1)), graph.permute(node, (1, 2, 0)))
