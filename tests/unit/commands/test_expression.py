"""Expressions as typed on a command line: what they mean, and that nothing else is evaluated."""

from __future__ import annotations

import contextlib

import pytest

from ocl_ir.graph.printer import text
from ocl_runtime.commands.expression import Parsed, Planner, parse
from ocl_runtime.errors import DTypeError, Error, NumberRangeError, ShapeError
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target


def parsed(expression: str, *declarations: str) -> Parsed:
    return parse(expression, declarations, Planner(Target()))


def shown(expression: str, *declarations: str) -> str:
    found = parsed(expression, *declarations)
    return text(found.node, found.names).strip()


# ---------------------------------------------------------------------- what it means


@pytest.mark.parametrize(
    ("expression", "declarations", "wanted"),
    [
        ("a*b + sin(c)", ["a:f32[n]", "b:f32[n]", "c:f32[n]"], "y: f32[1000] = add(mul(a, b), sin(c))"),
        ("sum(x*x, axis=1)", ["x:f32[h,w]"], "y: f32[1000] = sum(mul(x, x), axes [1])"),
        ("x[1:, ::-1]", ["x:i8[3, 4]"], "y: i8[2, 4] = a"),
        ("~(a > 0) & (a != 3)", ["a:i16[7]"], "y: bool[7] = and(not(gt(a, 0)), ne(a, 3))"),
        ("where(m, a, -a)", ["m:bool[n]", "a:f64[n]"], "y: f64[1000] = select(m, a, neg(a))"),
        ("astype(a, float16)", ["a:u8[5]"], "y: f16[5] = f16(a)"),
        ("a * b + 1", ["a:bf16[5]", "b:bfloat16[5]"], "y: bf16[5] = add(mul(a, b), 1.0)"),
        ("astype(a, 'int8')", ["a:u8[5]"], "y: i8[5] = i8(a)"),
        ("a + 2**-3 * 3", ["a:f32[2]"], "y: f32[2] = add(a, 0.375)"),
        ("a * pi", ["a:f32[2]"], "y: f32[2] = mul(a, 3.1415927410125732)"),
        ("arange(5) + a", ["a:i64"], "y: i64[5] = add(iota(0, strides [1]), a)"),
        ("a[None] + b[..., 0]", ["a:f32[n]", "b:f32[m, n, 2]"], "y: f32[1001, 1000] = add(a, b)"),
        ("a[b]", ["a:f32[3]", "b:u8"], "y: f32[] = gather(a, [minimum(i32(b), 2)])"),
        ("  a  ", ["a : f32 [ 3 ]"], "a: f32[3] = a"),
        ("a @ b", ["a:f32[n,k]", "b:f32[k,m]"], "y: f32[1000, 1002] = contract(a, b)"),
        ("alpha + alpha1", ["alpha:float32[2]", "alpha1:int32[2]"], "y: f64[2] = add(f64(alpha), f64(alpha1))"),
    ],
)
def test_expressions(expression: str, declarations: list[str], wanted: str) -> None:
    assert shown(expression, *declarations) == wanted


def test_symbols_are_sizes() -> None:
    found = parsed("sum(a, axis=0) + b", "a:f32[n, m]", "b:f32[m]")
    assert found.node.shape == (1001,)
    with pytest.raises(ShapeError, match="do not broadcast"):
        parsed("a + b", "a:f32[n]", "b:f32[m]")


def test_nothing_is_computed() -> None:
    planner = Planner(Target())
    found = parse("a*2", ["a:f32[1000000000, 1000]"], planner)
    assert [launch.kernel.name for launch in plan([found.node], planner, found.names).launches] == ["mul"]
    with pytest.raises(Error, match="gives no array but a tuple"):
        parsed("unstack(a)", "a:f32[3]")
    for value in ("a[a > 0]", "nonzero(a)"):
        with pytest.raises(Error, match="asks for a value while it is only planned"):
            parsed(value, "a:f32[3]")


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("expression", "fact", "pointer"),
    [
        ("a +", "the expression cannot be read: invalid syntax", 3),
        ("a b", "the expression cannot be read: invalid syntax", 0),
        ("", "the expression cannot be read", 0),
        ("a; a", "the expression cannot be read", 1),
        ("a := 1", "the expression cannot be read", 2),
        ("a + a.T", "Attribute is no part of an array expression", 4),
        ("a + (lambda: 1)", "Lambda is no part", 5),
        ("[a, a]", "List is no part", 0),
        ("a + [x for x in a]", "ListComp is no part", 4),
        ("a if a else a", "IfExp is no part", 0),
        ("a and a", "BoolOp is no part", 0),
        ("a + 1 @ 2", "MatMult is no part", 4),
        ("sum(*a)", "Starred is no part", 4),
        ("a + f'{a}'", "JoinedStr is no part", 4),
    ],
)
def test_broken_expressions_point_at_the_place(expression: str, fact: str, pointer: int) -> None:
    with pytest.raises(Error) as caught:
        parsed(expression, "a:f32[n]")
    assert fact in caught.value.fact
    shown_, below = caught.value.place.splitlines()
    assert shown_ == expression
    assert below.strip() == "^"
    assert below.index("^") == pytest.approx(pointer, abs=2 if "cannot be read" in fact else 0)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("expression", "fact"),
    [
        ("a + b", "the expression uses 'b', which is neither declared nor a function"),
        ("sum", "gives no array but a function"),
        ("1 + 1", "gives no array but a int"),
        ("float32", "gives no array but a"),
        ("sin()", "cannot be evaluated: TypeError: sin() missing 1 required"),
        ("sum(a, 3)", "sum along axis 3 of an array with 1 axes"),
        ("1 / 0", "cannot be evaluated: ZeroDivisionError"),
        ("a + 'x'", "cannot be evaluated: TypeError: unsupported operand"),
        ("a < 1j", "less does not take complex64"),
        ("a[5000]", "index 5000 is out of bounds"),
        ("a & 1", "bitwise_and does not take float32"),
        ("a < 0 < 1", "bool of an array of shape"),
        ("a + b'x'", "cannot be evaluated: TypeError: unsupported operand"),
    ],
)
def test_mistakes_are_explained(expression: str, fact: str) -> None:
    with pytest.raises(Error) as caught:
        parsed(expression, "a:f32[n]")
    assert fact in caught.value.fact
    assert caught.value.place
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("declaration", "kind", "fact"),
    [
        ("a", Error, "'a' declares nothing"),
        ("a:", Error, "'a:' declares nothing"),
        ("1a:f32", Error, "declares nothing"),
        ("a:f32[n", Error, "declares nothing"),
        ("a:f32[n];b", Error, "declares nothing"),
        ("a:f33[n]", DTypeError, "'f33' is no dtype"),
        ("a:complex256[n]", DTypeError, "'complex256' is no dtype"),
        ("a:object[n]", DTypeError, "'object' is no dtype"),
        ("a:f32[2n]", ShapeError, "'2n' is no size"),
        ("a:f32[9999999999, 9999999999]", ShapeError, "a would have"),
        ("a:f32[n-1]", Error, "declares nothing"),
        ("a:f32[²]", ShapeError, "'²' is no size"),
        ("a:f32[" + "9" * 5000 + "]", ShapeError, "9…' is no size"),
        ("a:f32[" + ",".join(["9" * 19] * 300) + "]", ShapeError, "a would have too many elements"),
        ("True:f32[n]", Error, "'True' is a word of Python's own"),
        ("lambda:f32[n]", Error, "'lambda' is a word of Python's own"),
    ],
)
def test_broken_declarations(declaration: str, kind: type[Error], fact: str) -> None:
    with pytest.raises(kind) as caught:
        parsed("a + 1", declaration)
    assert fact in caught.value.fact
    assert caught.value.remedy


# ---------------------------------------------------------------------- nothing else is evaluated

INJECTIONS = [
    "__import__('os').system('true')", "__import__('os')", "eval('1')", "exec('1')", "open('/etc/passwd')",
    "().__class__", "a.__class__.__mro__", "getattr(a, '__class__')", "__builtins__", "globals()", "(lambda: 1)()",
    "print(a)",    "sum(a, **{'axis': 0})", "sum(**a)", "a.compute()", "[].append(a)", "{}.get(a)", "compute(a)",
    "use(a)", "current()", "set_default(a)", "Array(a, a)", "breakpoint()", "help()", "sin.__globals__", "type(a)",
    "vars()", "input()",    "_unread(a, a)", "parse(a)", "__loader__", "__name__",
]  # fmt: skip


@pytest.mark.parametrize("expression", INJECTIONS)
def test_injections_are_rejected(expression: str) -> None:
    with pytest.raises(
        Error, match=r"is no part of an array expression|neither declared nor a function|cannot be read"
    ):
        parsed(expression, "a:f32[n]")


@pytest.mark.parametrize("name", ["__import__", "_x", "a b", "a.b", "é", "a-b"])
def test_names_that_cannot_be_declared(name: str) -> None:
    with pytest.raises(Error, match="declares nothing"):
        parsed("1", f"{name}:f32[n]")


def test_a_name_is_declared_once() -> None:
    with pytest.raises(Error, match="a is declared twice") as caught:
        parsed("a", "a:f32[n]", "b:f32[n]", "a:i8[n]")
    assert caught.value.place == "a:i8[n]"
    assert caught.value.remedy


def test_pythons_own_functions_are_not_to_be_declared() -> None:
    with pytest.raises(Error, match="uses 'float'") as caught:
        parsed("float(a)", "a:f32[n]")
    assert "astype" in caught.value.remedy
    assert "declare" not in caught.value.remedy


def test_names_of_functions_may_be_declared() -> None:
    assert shown("sum + sin", "sum:f32[2]", "sin:f32[2]") == "y: f32[2] = add(sum, sin)"


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9**9",
        "a + 10**10000",
        "a + 9**(9*9*9*9)",
        "1 << 10**10",
        "1 << 99999999999",
        "'a' * 10**10",
        "a * ('b' * 9)",
    ],
)
def test_regression_constants_that_would_keep_python_busy(expression: str) -> None:
    with pytest.raises(Error, match="is no part of an array expression"):
        parsed(expression, "a:f32[n]")


@pytest.mark.parametrize(
    "expression",
    ["(" * 300 + "a" + ")" * 300, "-" * 5000 + "a", "+".join(["a"] * 5000), "sin(" * 2000 + "a" + ")" * 2000, "a\0"],
    ids=["parentheses", "signs", "sums", "calls", "zero byte"],
)
def test_regression_expressions_too_deep_for_python(expression: str) -> None:
    """How deep is too deep depends on the version of Python: it is an error of ours, or it works."""
    with contextlib.suppress(Error):
        assert parsed(expression, "a:f32[n]").node.size


@pytest.mark.parametrize("number", ["9" * 3000, "0x" + "f" * 100_000, "1." + "9" * 100_000, "9" * 5000])
def test_huge_numbers_are_refused_before_they_are_read(number: str) -> None:
    with pytest.raises(Error, match=r"has a number or name of [0-9,]+ characters") as caught:
        parsed(f"a + {number} * a", "a:f32[n]")
    shown_, below = caught.value.place.splitlines()
    assert len(shown_) < 250
    assert shown_[below.index("^") :].startswith(number[2:10] if number.startswith("1.") else number[:10])


def test_a_long_expression_is_shown_around_the_fault() -> None:
    expression = "+".join(["a"] * 500) + " + a.T + " + "+".join(["a"] * 500)
    with pytest.raises(Error, match="Attribute is no part") as caught:
        parsed(expression, "a:f32[n]")
    shown_, below = caught.value.place.splitlines()
    assert len(shown_) < 250
    assert shown_[below.index("^") :].startswith("a.T + ")


def test_differences_are_taken_until_nothing_is_left() -> None:
    assert parsed("diff(a, n=10**9)", "a:f32[5]").node.shape == (0,)


def test_numbers_out_of_range() -> None:
    with pytest.raises(NumberRangeError, match="300 is out of range for uint8"):
        parsed("a + 300", "a:u8[n]")
