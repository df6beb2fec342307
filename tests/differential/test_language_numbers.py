"""The classes of number in every operator: the translator, the device, plain Python and NumPy agree.

A kernel computes `left op right` for operands of two kinds, where a kind is a dtype, an index, a literal, or a Python
float of the call. What plain Python refuses, the translator refuses; the type of each result is looked at with a
builtin of this test. Where NumPy has another type, `departs_from_numpy` names the rule.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import DTypeError
from ocl_ir.language.builtins import mathematics
from ocl_ir.language.plain.names import in_plain
from ocl_ir.language.plain.numbers import Index, Typed
from ocl_ir.language.values.promotion import class_of
from ocl_ir.language.values.table import Builtin
from ocl_ir.ops import OPS
from tests.support.depth import NIGHTLY
from tests.support.three_ways import function_from
from tests.support.ulp import ulps

N = 24
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
DTYPES = ["?", *INTEGERS, *FLOATS]
LITERALS = {"3": 3, "(-2)": -2, "200": 200, "2.5": 2.5, "True": True}
KINDS = [*DTYPES, "index", "float", *LITERALS]
FLOAT_ARGUMENT = 1.7
OPERATORS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "+": ("add", operator.add), "-": ("sub", operator.sub), "*": ("mul", operator.mul), "/": ("div", operator.truediv),
    "//": ("floordiv", operator.floordiv), "%": ("rem", operator.mod), "**": ("pow", operator.pow),
    "<<": ("shl", operator.lshift), ">>": ("shr", operator.rshift), "&": ("and", operator.and_),
    "|": ("or", operator.or_), "^": ("xor", operator.xor), "==": ("eq", operator.eq), "!=": ("ne", operator.ne),
    "<": ("lt", operator.lt), "<=": ("le", operator.le), ">": ("gt", operator.gt), ">=": ("ge", operator.ge),
}  # fmt: skip
REALS = {*FLOATS, "float", "2.5"}
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


def values(kind: str, turn: int) -> list[Any]:
    """What an operand of a kind is for each work-item."""
    if kind in LITERALS:
        return [LITERALS[kind]] * N
    if kind == "float":
        return [FLOAT_ARGUMENT] * N
    if kind == "index":
        return [Index((item * 5 + turn) % N - 9) for item in range(N)]
    return [Typed(number) for number in numbers(kind, turn)]


def numbers(kind: str, turn: int) -> np.ndarray:
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        pool = [0.0, -0.0, 1.0, -1.0, 2.5, -3.75, np.inf, -np.inf, np.nan, 0.1, 7.0, -200.0, 1e-3]
    elif dtype.kind == "b":
        pool = [False, True]
    else:
        info = np.iinfo(dtype)
        pool = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1, 5, *([-1, -7] if info.min else [])]
    with np.errstate(all="ignore"):
        return np.array([pool[(item * 7 + turn * 3) % len(pool)] for item in range(N)]).astype(dtype)


def text_of(kind: str, name: str) -> str:
    if kind in LITERALS:
        return kind
    if kind == "index":
        return f"((i * 5 + {0 if name == 'a' else 2}) % {N} - 9)"
    parameter = f"{name}_{kind}".replace("?", "bool")
    return parameter if kind == "float" else f"{parameter}[i]"


def argument(kind: str, turn: int) -> dict[str, Any]:
    name = f"{'ab'[turn // 2]}_{kind}".replace("?", "bool")
    if kind in LITERALS or kind == "index":
        return {}
    return {name: FLOAT_ARGUMENT} if kind == "float" else {name: numbers(kind, turn)}


class Expected(NamedTuple):
    """What plain Python makes of two operands, for all work-items; None where it refuses them."""

    type: str
    values: np.ndarray


def expected(sign: str, left: str, right: str) -> Expected | None:
    results = []
    for a, b in zip(values(left, 0), values(right, 2), strict=True):
        try:
            results.append(OPERATORS[sign][1](a, b))
        except DTypeError:
            return None
    return as_expected(results)


def as_expected(results: list[Any]) -> Expected:
    if isinstance(results[0], Index):
        return Expected("index", np.array([int(result) for result in results], object))
    return Expected(str(results[0].dtype), np.array([result.value for result in results]))


TYPES: list[str] = []
"""The classes that the translator has given the results, in their order."""


def probe(t: Any, value: Any) -> Any:
    class_ = class_of(value)
    assert class_ is not None
    TYPES.append(
        "index" if class_.is_index else str(class_.dtype.numpy) if class_.dtype else f"literal {class_.literal}"
    )
    return value


PROBE = Builtin("probe", probe)


def kernel_of(statements: list[str], names: list[str]) -> Any:
    body = "".join(f"    {statement}\n" for statement in statements) or "    pass\n"
    return ocl.kernel(function_from(f"def k({', '.join(names)}):\n    i = global_id(0)\n{body}", probe=PROBE))


def assert_as_expected(what: str, got: np.ndarray, result: Expected, bound: float, defined: np.ndarray) -> None:
    if result.type == "index":
        wanted = np.array([(int(value) + 2**31) % 2**32 - 2**31 for value in result.values])
    else:
        wanted = result.values
    differ = got != wanted
    if got.dtype.kind == "f":
        differ = (got.view(f"u{got.itemsize}") != wanted.view(f"u{got.itemsize}")) & ~(np.isnan(got) & np.isnan(wanted))
        with np.errstate(all="ignore"):
            differ &= ulps(got, wanted) > bound if bound else differ
    differ &= defined
    at = np.flatnonzero(differ)
    assert not at.size, f"{what}: item {at[0]} is {got[at[0]]!r} and should be {wanted[at[0]]!r}"


def defined(sign: str, left: str, right: str) -> np.ndarray:
    """Where an operation has a meaning: shifts by what is not negative, powers of integers by the same."""
    if sign not in {"<<", ">>", "**"}:
        return np.ones(N, bool)
    amounts = [float(b.value) if isinstance(b, Typed | Index) else float(b) for b in values(right, 2)]
    is_integral = all(kind not in REALS for kind in (left, right))
    return np.array([amount >= 0 or not is_integral for amount in amounts])


BOUNDS = {"/": {"f2": 1.0, "f4": 2.5}, "**": {"f2": 4.0, "f4": 16.0, "f8": 16.0}}


def run_operators(left: str, rights: Sequence[str], mode: str) -> None:
    arguments = argument(left, 0)
    statements, wanted, counts = [], list[tuple[str, str, str, Expected, int]](), Counter[str]()
    for right, sign in itertools.product(rights, OPERATORS):
        if {left, right} <= {*LITERALS, "float"}:
            continue
        arguments |= argument(right, 2)
        text = f"{text_of(left, 'a')} {sign} {text_of(right, 'b')}"
        result = expected(sign, left, right)
        if result is None:
            refused(text, {**argument(left, 0), **argument(right, 2)})
            continue
        if result.type == "index" and any(not -(2**31) <= value < 2**31 for value in result.values):
            continue  # which no program may do
        row = counts[result.type]
        counts[result.type] += 1
        store = f"out_{result.type}[{row}, i] = probe({text})"
        is_division = mode == "interpret" and sign in {"//", "%"} and {left, right}.isdisjoint(REALS)
        statements.append(f"if {text_of(right, 'b')} != 0: {store}" if is_division else store)
        wanted.append((left, sign, right, result, row))
    outs = {
        f"out_{type_}": ocl.asarray(np.zeros((count, N), "i8" if type_ == "index" else type_))
        for type_, count in counts.items()
    }
    TYPES.clear()
    getattr(kernel_of(statements, [*arguments, *outs]), mode)[N](**on_device(arguments), **outs)
    got = {name: np.asarray(out.numpy()) for name, out in outs.items()}
    for type_, (_, sign, right, result, row) in zip(TYPES, wanted, strict=True):
        what = f"{left} {sign} {right}"
        is_known = type_ == "literal bool"  # what a literal that does not fit is, compared with any number
        assert type_ == result.type or (is_known and sign in COMPARISONS), f"{what} is {type_}, not {result.type}"
        bound = (
            BOUNDS.get(sign, {}).get(result.values.dtype.str[1:], 0.0) if mode != "interpret" or sign == "**" else 0.0
        )
        assert_as_expected(what, got[f"out_{result.type}"][row], result, bound, defined(sign, left, right))


def refused(text: str, arguments: dict[str, Any]) -> None:
    """The translator refuses an expression."""
    kernel = kernel_of([f"v = {text}", "y[i] = v"], [*arguments, "y"])
    with pytest.raises(DTypeError):
        kernel.ir(**on_device(arguments), y=ocl.asarray(np.zeros(N, np.float64)), sizes=N)


def on_device(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: ocl.asarray(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


@pytest.mark.sample(8)
@pytest.mark.parametrize("left", KINDS)
def test_operators(left: str) -> None:
    run_operators(left, [right for right in KINDS if NIGHTLY or is_drawn(left, right)], "interpret")


def is_drawn(left: str, right: str) -> bool:
    """A third of the pairs, in one order or the other; `make nightly` takes all."""
    return (KINDS.index(left) + 2 * KINDS.index(right)) % 3 == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("left", KINDS)
def test_operators_on_the_device(left: str) -> None:
    run_operators(left, KINDS if NIGHTLY else ["f4", "index"], "unchecked")


# ---------------------------------------------------------------------- one operand, casts, builtins

ONE_OPERAND = [
    "-{}",
    "~{}",
    "+{}",
    "not {}",
    "abs({})",
    "bool({})",
    "float({})",
    "sign({})",
    "isnan({})",
    "isfinite({})",
]
REAL = [f"{name}({{}})" for name in mathematics.REAL] + [f"{name}({{}})" for name in ("floor", "ceil", "trunc", "rint")]
BITS = ["popcount({})", "clz({})"]
INTS = ["int({})", "round({})", "math.floor({})", "math.ceil({})", "math.trunc({})"]
CASTS = [f"{np.dtype(dtype)}({{}})".replace("bool", "np.bool_") for dtype in DTYPES]
TWO = [
    f"{name}({{}}, {{}})"
    for name in (
        *("atan2", "hypot", "copysign", "nextafter", "fmod", "minimum", "maximum", "fmin", "fmax", "min", "max"),
        *("cdiv", "c_div", "c_mod"),
    )
]
THREE = ["where({} > 0, {}, {})", "clamp({}, {}, {})", "fma({}, {}, {})", "max({}, {}, {})"]
NOT_EXACT = {name: OPS[name].ulp for name in (*mathematics.REAL, "atan2", "hypot", "fma")}
REFERENCE_ULP = 4.0
"""What NumPy's functions of one number and of many may differ in."""


def run_expressions(templates: Sequence[str], kinds: Sequence[str], mode: str) -> None:
    """Expressions of operands of some kinds, as plain Python and as a kernel."""
    arguments: dict[str, Any] = {}
    statements, wanted, counts = [], list[tuple[str, Expected, int]](), Counter[str]()
    for template in templates:
        operands = [kinds[number % len(kinds)] for number in range(template.count("{}"))]
        turns = [0, 2, 2][: len(operands)]
        texts = [text_of(kind, "ab"[turn // 2]) for kind, turn in zip(operands, turns, strict=True)]
        own = {
            name: value
            for kind, turn in zip(operands, turns, strict=True)
            for name, value in argument(kind, turn).items()
        }
        result = evaluated(template, [values(kind, turn) for kind, turn in zip(operands, turns, strict=True)])
        if result is None:
            refused(template.format(*texts), own)
            continue
        arguments |= own
        row = counts[result.type]
        counts[result.type] += 1
        store = f"out_{result.type}[{row}, i] = probe({template.format(*texts)})"
        condition = unreported(template, texts, operands) if mode == "interpret" else ""
        statements.append(f"if {condition}: {store}" if condition else store)
        comparable = fits(values(operands[0], 0), result, is_reported=bool(condition))
        wanted.append((template.format(*operands), result, row, comparable))
    if not wanted:
        return
    outs = {
        f"out_{type_}": ocl.asarray(np.zeros((count, N), "i8" if type_ == "index" else type_))
        for type_, count in counts.items()
    }
    TYPES.clear()
    getattr(kernel_of(statements, [*arguments, *outs]), mode)[N](**on_device(arguments), **outs)
    for type_, (what, result, row, defined_) in zip(TYPES, wanted, strict=True):
        assert type_.removeprefix("literal ") == result.type, f"{what} is {type_}, not {result.type}"
        bound = NOT_EXACT.get(what.partition("(")[0], {}).get(
            {"f2": "f16", "f4": "f32", "f8": "f64"}.get(result.values.dtype.str[1:], ""), 0.0
        )
        assert_as_expected(
            what, np.asarray(outs[f"out_{result.type}"].numpy())[row], result, bound and bound + REFERENCE_ULP, defined_
        )


def evaluated(template: str, operands: list[list[Any]]) -> Expected | None:
    function = in_plain(function_from(f"def k({', '.join('abc'[: len(operands)])}): return {template.format(*'abc')}"))
    results = []
    for numbers_ in zip(*operands, strict=True):
        try:
            results.append(function(*numbers_))
        except DTypeError:
            return None
        except (OverflowError, ValueError):  # the int of what is not finite
            results.append(Index(0))
    return as_expected([Typed(np.bool_(result)) if isinstance(result, bool) else result for result in results])


def unreported(template: str, texts: Sequence[str], kinds: Sequence[str]) -> str:
    """The condition under which the interpreter reports nothing of an expression; empty where it never does."""
    if template.startswith(("cdiv", "c_div", "c_mod")):  # by 0 they are 0, as what is not stored is
        return f"{texts[1]} != 0"
    if template in INTS and kinds[0] in FLOATS:
        return f"isfinite({texts[0]})"
    return f"-(2**31) <= {texts[0]} < 2**31" if template == "int({})" and kinds[0] in INTEGERS else ""


def fits(operand: Sequence[Any], result: Expected, *, is_reported: bool) -> np.ndarray:
    """Where a number has a place in the integer that it becomes; elsewhere nobody says what that is of a float, and
    for integers it `is_reported` where an index is too short."""
    dtype = np.dtype("i4" if result.type == "index" else result.type)
    is_float = isinstance(operand[0], Typed) and operand[0].dtype.kind == "f"
    if dtype.kind not in "iu" or not (is_float or is_reported):
        return np.ones(N, bool)
    info = np.iinfo(dtype)
    numbers_ = [number.value.item() if isinstance(number, Typed) else int(number) for number in operand]
    return np.array([np.isfinite(number) and info.min <= number <= info.max for number in numbers_])


UNARY_KINDS = [kind for kind in KINDS if kind not in LITERALS and kind != "float"]


@pytest.mark.sample(5)
@pytest.mark.parametrize("kind", UNARY_KINDS)
@pytest.mark.parametrize("mode", ["interpret", "unchecked"])
def test_functions_of_one_number(kind: str, mode: str) -> None:
    run_expressions([*ONE_OPERAND, *REAL, *BITS], [kind], mode)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "kinds",
    [
        ("f4", "f4"),
        ("f2", "2.5"),
        ("i4", "i4"),
        ("u1", "3"),
        ("index", "i4"),
        ("index", "f4"),
        ("u4", "index"),
        ("f8", "float"),
    ],
    ids="-".join,
)
@pytest.mark.parametrize("mode", ["interpret", "unchecked"])
def test_functions_of_several_numbers(kinds: tuple[str, ...], mode: str) -> None:
    run_expressions([*TWO, *THREE], kinds, mode)


@pytest.mark.sample(5)
@pytest.mark.parametrize("kind", UNARY_KINDS)
@pytest.mark.parametrize("mode", ["interpret", "unchecked"])
def test_casts(kind: str, mode: str) -> None:
    run_expressions([*CASTS, *INTS], [kind], mode)


# ---------------------------------------------------------------------- NumPy


def departs_from_numpy(sign: str, left: str, right: str) -> str:
    """The rule by which the type of a result is another than NumPy's; empty where none says so."""
    kinds = [np.dtype(kind).kind if kind in DTYPES else kind for kind in (left, right)]
    floats = {"f", "2.5"}
    if sign in COMPARISONS and not ("f" in kinds and left in DTYPES and right in DTYPES):
        return ""
    if set(kinds) <= {"b", "True"} and sign not in {"&", "|", "^", "/"}:
        return "bools are no numbers: `bool + bool` is an error (R5)"
    if "b" in kinds and set(kinds) & {"3", "(-2)", "200"} and sign != "/":
        return "a bool beside an int is an index (R4)"
    if sign == "/" and not set(kinds) & floats:
        return "a quotient of integers is of the default real (R4)"
    if "2.5" in kinds and "f" not in kinds:
        return "a float literal beside integers is of the default real (R4)"
    if sign == "**" and right == "(-2)":
        return "an integer to a negative power is an error (R12)"
    if left in DTYPES and right in DTYPES and np.result_type(left, right) == np.float64 and "f8" not in {left, right}:
        return "no float64 that no operand has (R5)"
    return ""


def numpy_type(sign: str, left: str, right: str) -> str:
    """The dtype of NumPy's result, or what it raises."""
    a, b = (LITERALS[kind] if kind in LITERALS else np.dtype(kind).type(1) for kind in (left, right))
    try:
        with np.errstate(all="ignore"):
            return str(OPERATORS[sign][1](a, b).dtype)
    except (TypeError, OverflowError, ValueError):
        return "an error"


@pytest.mark.sample(3)
@pytest.mark.parametrize("left", [*DTYPES, *LITERALS])
def test_types_are_numpys_but_for_the_rules_that_say_so(left: str) -> None:
    for right, sign in itertools.product([*DTYPES, *LITERALS], OPERATORS):
        if left in LITERALS and right in LITERALS:
            continue
        result = expected(sign, left, right)
        type_ = "an error" if result is None else result.type
        what = f"{left} {sign} {right} is {type_} here and {numpy_type(sign, left, right)} in NumPy"
        rule = departs_from_numpy(sign, left, right)
        assert rule or type_ == numpy_type(sign, left, right), what
