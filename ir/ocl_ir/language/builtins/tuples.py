"""Python's functions of tuples, whose length is known: `len`, `enumerate`, `zip`, `any` and `all`."""

from __future__ import annotations

from functools import reduce

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.language.plain import builtins, functions
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import ArrayView, HostNumber, Number, Value, is_static
from ocl_ir.types import BOOL


def enumerate_(t: Calls, values: Value, start: Value = 0) -> Value:
    """Python's `enumerate` of a tuple."""
    if not isinstance(values, tuple) or not is_static(start):
        raise t.fault(f"enumerate({t.described(values)})", "give a tuple; elements of an array are read by index")
    return tuple(enumerate(values, start))


def zip_(t: Calls, *values: Value) -> Value:
    """Python's `zip` of tuples."""
    for value in values:
        if not isinstance(value, tuple):
            raise t.fault(f"zip of {t.described(value)}", "give tuples; elements of arrays are read by index")
    return tuple(zip(*values, strict=False))


def len_(t: Calls, value: Value) -> Value:
    """The length of a tuple, of a text, or of the first axis of an array."""
    if isinstance(value, ArrayView):
        if not value.shape:
            raise t.fault("len of an element", "use an array with an axis", ShapeError)
        return t.size(value.shape[0])
    if isinstance(value, Number | HostNumber):
        raise t.fault(f"len of {t.described(value)}", "give an array or a tuple", DTypeError)
    return t.static(len, value)


def _question(name: str, op: str, *, decides: bool) -> Builtin:
    """`any` or `all`, where one condition that is what `decides` is the result."""

    def emit(t: Calls, conditions: Value) -> Value:
        if isinstance(conditions, Number) and conditions.lanes > 1:
            conditions = tuple(t.lanes_of(conditions, [lane]) for lane in range(conditions.lanes))
        if not isinstance(conditions, tuple):
            raise t.fault(
                f"{name} of {t.described(conditions)}",
                f"give a tuple of conditions: {name}((a > 0, b > 0)); group.{name}(…) asks the work-items of a group",
                DTypeError,
            )
        tested = [t.condition(condition) for condition in conditions]
        refs = [condition for condition in tested if not isinstance(condition, bool)]
        if any(condition is decides for condition in tested):
            return decides
        return Number(reduce(lambda a, b: t.k.op(op, a, b), refs), BOOL) if refs else not decides

    emit.__doc__ = f"""Python's `{name}` of a tuple of conditions, each of which is evaluated, or of a vector."""
    return Builtin(name, emit, functions.question_of_tuple(name))


PYTHON = {
    "len": Builtin("len", len_, builtins.length),
    "enumerate": Builtin("enumerate", enumerate_, enumerate),
    "zip": Builtin("zip", zip_, zip),
    "any": _question("any", "or", decides=True),
    "all": _question("all", "and", decides=False),
}
"""What they are in a kernel."""
