"""Two operands given the shape that both broadcast to."""

from __future__ import annotations

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node, Step
from ocl_ir.indices import Shape
from ocl_ir.layout import broadcast_shapes
from ocl_ir.source_line import Where
from ocl_runtime.arrays.meaning.basic_index import is_plain
from ocl_runtime.plan.tracing import tracer


def broadcast(left: Node, right: Node, where: Where) -> tuple[Node, Node]:
    """Both as views of one shape. Raises `ShapeError` where they have none in common."""
    shape, other = left.shape, right.shape
    if shape == other:
        return left, right
    step, other_step = _STEPS[shape, other] if tracer.get() is None else _steps(shape, other)
    if step is not None:
        left = graph.stepped(left, step, where)
    return left, right if other_step is None else graph.stepped(right, other_step, where)


def _steps(shape: Shape, other: Shape) -> tuple[Step | None, Step | None]:
    """The steps that give two shapes the one that both broadcast to; None for what has it."""
    common = broadcast_shapes(shape, other)
    step = Step("expand", common)
    return None if shape == common else step, None if other == common else step


class _Steps(dict[tuple[Shape, Shape], tuple["Step | None", "Step | None"]]):
    """Those of plain sizes: a table would ask about others within a captured function, and is not to keep those that
    have left one."""

    def __missing__(self, key: tuple[Shape, Shape]) -> tuple[Step | None, Step | None]:
        steps = _steps(*key)
        if is_plain((*key[0], *key[1])):
            if len(self) >= _MOST_STEPS:
                self.clear()
            self[key] = steps
        return steps


_MOST_STEPS = 1024
_STEPS = _Steps()
