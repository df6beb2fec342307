"""The verifier of host programs: every rule of aliases, scopes, sizes and commands, with the chain and the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ocl_ir.errors import IRError, ShapeError, VerifyError
from ocl_ir.host.builder import HostBuilder, contiguous
from ocl_ir.host.grammar import (
    Alloc,
    Block,
    Copy,
    Fill,
    For,
    Free,
    If,
    Launch,
    Parameter,
    Program,
    Stmt,
    SymbolicLayout,
    Value,
    View,
    walk,
)
from ocl_ir.host.printer import text
from ocl_ir.host.verify import CHECKS, verify
from ocl_ir.sizes import Size, Symbol, parts, smaller
from ocl_ir.types import BOOL, F32, I32, U8, U32
from tests.support.programs import ADD, SCALE, WIDE

N = Symbol("n")


def value(number: int, hint: str, dtype: object = F32) -> Value:
    return Value(number, dtype, contiguous((N,)), hint)  # type: ignore[arg-type]


X, Y, T, U, V = (value(number, hint) for number, hint in enumerate("xytuv"))


def program(*body: Stmt, results: tuple[Value, ...] = (), donated: bool = False) -> Program:
    """Over an input x and an output y, which is written at the start."""
    params = (Parameter(X, donated=donated), Parameter(Y, output=True))
    return Program("p", (N,), params, (Fill(Y, 0), *body), results)


def fails(rule: str, fact: str, *body: Stmt, results: tuple[Value, ...] = (), shows: str = "") -> None:
    with pytest.raises(VerifyError) as caught:
        verify(program(*body, results=results))
    assert caught.value.rule == rule
    assert fact in caught.value.fact
    assert shows in caught.value.place
    assert caught.value.remedy


def test_every_check_has_a_test() -> None:
    source = Path(__file__).read_text()
    for check in CHECKS:
        assert f'"{check.__name__}"' in source, check.__name__


# ---------------------------------------------------------------------- aliases (CONTRACT §6.1)


def test_an_input_is_no_alias() -> None:
    fails(
        "aliases_are_views_of_something_else",
        "a parameter is declared to be an alias of another value: x -> y",
        View(X, Y),
        shows="> ",
    )


def test_no_value_is_an_alias_of_itself() -> None:
    fails("aliases_are_views_of_something_else", "a value is an alias of itself: u -> u", View(U, U))


def test_aliases_do_not_go_round() -> None:
    fails("aliases_are_views_of_something_else", "aliases go round in a circle", View(T, U), View(U, V), View(V, T))


def test_a_value_has_one_alias() -> None:
    fails(
        "aliases_are_views_of_something_else", "a value has a second alias: u -> x, and u -> y", View(U, X), View(U, Y)
    )


def test_an_allocation_is_no_alias() -> None:
    fails(
        "aliases_are_views_of_something_else", "an allocation is declared to be an alias as well", Alloc(T), View(T, X)
    )


def test_chains_and_many_views_of_one_root_are_fine() -> None:
    verify(program(View(T, X), View(U, T), View(V, X), Launch(ADD, (N, U, V, Y), (N,), ()), results=(Y,)))


def test_an_output_does_not_write_into_an_input_through_any_chain() -> None:
    chain = (View(T, X), View(U, T))
    fails("inputs_are_not_written", "an input that is not donated is written: u -> t -> x", *chain, Fill(U, 0))
    fails("inputs_are_not_written", "u -> t -> x", *chain, Copy(U, Y))
    fails("inputs_are_not_written", "u -> t -> x", *chain, Launch(SCALE, (N, Y, U), (N,), ()))
    verify(program(*chain, Fill(U, 0), donated=True))


def test_a_result_is_no_input_that_the_caller_keeps() -> None:
    fails(
        "results_are_the_callers",
        "a result is an alias of an input that is not donated: t -> x",
        View(T, X),
        results=(T,),
    )
    verify(program(View(T, X), results=(T,), donated=True))


def test_the_dtype_of_a_view_fits() -> None:
    fails("dtypes_of_views_fit", "a view of f32 as u8", View(value(3, "b", U8), X))
    fails("dtypes_of_views_fit", "a view of f32 as bool", View(value(3, "b", BOOL), X))
    verify(program(View(value(3, "b", U32), X)))
    verify(program(Alloc(value(3, "b", U8)), View(value(4, "f", F32), value(3, "b", U8))))


def test_the_whole_chain_of_a_dtype_is_shown() -> None:
    fails("dtypes_of_views_fit", "a view of u32 as u8: b -> u -> x", View(value(3, "u", U32), X),
          View(value(4, "b", U8), value(3, "u", U32)))  # fmt: skip


# ---------------------------------------------------------------------- outputs (CONTRACT §6.3)


def test_an_output_is_written() -> None:
    for host in (False, True):
        for body in ((), (View(T, Y),), (Alloc(T), Fill(T, 0))):
            with pytest.raises(VerifyError, match="the output y is written nowhere") as caught:
                verify(Program("p", (N,), (Parameter(Y, output=True, host=host),), body))
            assert caught.value.rule == "outputs_are_written"
    verify(Program("p", (N,), (Parameter(Y, output=True),), (View(T, Y), View(U, T), If(N, (Fill(U, 0),)))))


# ---------------------------------------------------------------------- numbers that are known (CONTRACT §6.1)


def built(make: Callable[[HostBuilder, Value], object], fact: str = "", rule: str = "views_lie_inside") -> None:
    """Builds a program over x, six floats, and checks what is wrong with it, if anything."""
    p = HostBuilder("p")
    make(p, p.input("x", F32, (6,), written=True))
    if not fact:
        p.build()
        return
    with pytest.raises(VerifyError) as caught:
        p.build()
    assert (caught.value.rule, caught.value.fact) == (rule, f"{fact} [{rule}]")
    assert "> " in caught.value.place
    assert "test_verify_host.py:" in caught.value.place


@pytest.mark.parametrize(
    ("start", "length", "step", "fact"),
    [
        (-1, 2, 1, "is a view of elements -1 to 1 of its memory, which has 6"),
        (0, 7, 1, "is a view of elements 0 to 7 of its memory, which has 6"),
        (1, 3, 3, "is a view of elements 1 to 8 of its memory, which has 6"),
        (0, 4, -1, "is a view of elements -3 to 1 of its memory, which has 6"),
        (2, -1, 1, "has the shape (-1,)"),
    ],
)
def test_known_views_lie_inside(start: int, length: int, step: int, fact: str) -> None:
    built(lambda p, x: p.slice(x, 0, start, length, step), f"x_1 {fact}: x_1 -> x")


def test_the_whole_chain_of_a_range_is_shown() -> None:
    fact = "is a view of elements 4 to 7 of its memory, which has 6: x_2 -> x_1 -> x"
    built(lambda p, x: p.slice(p.slice(x, 0, 3, 3), 0, 1, 3), f"x_2 {fact}")
    built(lambda p, x: p.slice(p.slice(x, 0, 3, 3), 0, 1, 2))


def test_views_of_memory_of_any_size_do_not_begin_before_it() -> None:
    fact = "is a view of elements -4 to 0 of its memory"
    built(lambda p, x: p.slice(p.alloc(F32, (p.size("n"),), "t"), 0, -4, 4), f"t_1 {fact}: t_1 -> t")


def test_the_first_and_the_last_turn_of_known_loops_are_looked_at() -> None:
    def sliced(step: int, condition: Callable[[Size, Symbol], Size] | None = None) -> Callable[..., object]:
        def make(p: HostBuilder, x: Value) -> None:
            n = p.size("n")
            with p.for_(3) as i:
                if condition is None:
                    p.slice(x, 0, i * step, 2)
                else:
                    with p.if_(condition(i, n)):
                        p.slice(x, 0, i * step, 2)

        return make

    built(sliced(2))
    built(sliced(3), "x_1 is a view of elements 6 to 8 of its memory, which has 6: x_1 -> x")
    built(sliced(3, lambda i, n: i < 2))  # the turn that would not fit does not come there
    built(sliced(3, lambda i, n: i < n))  # perhaps
    built(sliced(3, lambda i, n: i > 1), "x_1 is a view of elements 6 to 8 of its memory, which has 6: x_1 -> x")


def test_branches_that_no_turn_takes_and_loops_without_turns_show_nothing() -> None:
    def make(p: HostBuilder, x: Value) -> None:
        with p.for_(2, 2) as i:
            p.slice(x, 0, 9, 2)
        with p.for_(2) as i:
            with p.if_(i < 2):
                p.fill(x, 0)
            with p.else_():
                p.slice(x, 0, 9, 2)
            with p.if_(8 // i):  # what divides by 0 is for a call to say
                p.slice(x, 0, i, 1)

    built(make)


def test_known_pointers_are_aligned_and_long_enough() -> None:
    def wide(start: int) -> Callable[..., object]:
        return lambda p, x: p.launch(WIDE, (p.slice(x, 0, start, 2), p.alloc(F32, (8,))), (1,))

    fact = "begins at byte 8, and wide wants it aligned to 16"
    built(wide(4))
    built(wide(2), f"x_1 {fact}: x_1 -> x", "pointers_fit")

    def scale(length: Size, start: int) -> Callable[..., object]:
        return lambda p, x: p.launch(SCALE, (length, p.slice(x, 0, start, 3), p.alloc(F32, (8,))), (1,))

    built(scale(3, 3))
    built(scale(4, 3), "x_1 has 3 elements, of which scale may touch 4: x_1 -> x", "pointers_fit")
    built(lambda p, x: p.launch(SCALE, (7, x, p.alloc(F32, (8,))), (1,)),
          "x has 6 elements, of which scale may touch 7", "pointers_fit")  # fmt: skip


# ---------------------------------------------------------------------- scopes and sizes


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        ((Fill(T, 0), Alloc(T)), "t is used before it is defined"),
        ((If(N, (Alloc(T),)), Fill(T, 0)), "t is used before it is defined, or out of its block"),
        ((For(Symbol("i"), 0, N, 1, (Alloc(T),)), Fill(T, 0)), "t is used before it is defined, or out of its block"),
        ((Alloc(T), Free(T), Fill(T, 0)), "t is used after it was freed"),
        ((Alloc(T), View(U, T), Free(T), Fill(U, 0)), "u is used after it was freed"),
        ((Alloc(T), Free(T), Free(T)), "t is used after it was freed"),
    ],
)
def test_uses_are_in_scope(body: tuple[Stmt, ...], fact: str) -> None:
    fails("uses_are_in_scope", fact, *body)


def test_results_are_in_scope() -> None:
    fails("uses_are_in_scope", "the result t is not defined at the end", If(N, (Alloc(T),)), results=(T,))
    fails("uses_are_in_scope", "the result t was freed", Alloc(T), Free(T), results=(T,))


def test_values_are_defined_once() -> None:
    fails("values_are_defined_once", "t is defined twice", Alloc(T), Alloc(T))
    with pytest.raises(VerifyError, match="two parameters are value 0"):
        verify(Program("p", (N,), (Parameter(X), Parameter(X)), ()))


@pytest.mark.parametrize("freed", [X, Y, U])
def test_only_allocations_are_freed(freed: Value) -> None:
    fails("only_allocations_are_freed", f"{freed.hint} is freed, which no alloc", View(U, Y), Free(freed))


def test_what_is_around_a_loop_is_not_freed_in_it() -> None:
    fails("only_allocations_are_freed", "t is freed", Alloc(T), For(Symbol("i"), 0, 2, 1, (Free(T),)))


def test_sizes_are_bound() -> None:
    m, i = Symbol("m"), Symbol("i")
    fails("sizes_are_bound", "the size m is not bound here", Alloc(Value(2, F32, contiguous((m,)), "t")))
    fails("sizes_are_bound", "the size i is not bound", For(i, 0, N, 1, ()), Fill(Y, 0, stream=i))
    fails("sizes_are_bound", "the size m is not bound", Launch(SCALE, (m, X, Y), (N,), ()))
    with pytest.raises(VerifyError, match="the size m of x is not declared"):
        verify(Program("p", (), (Parameter(Value(0, F32, contiguous((m,)), "x")),), ()))
    verify(program(For(i, 0, N, 1, (Fill(Y, 0, stream=i % 4),))))


# ---------------------------------------------------------------------- commands


@pytest.mark.parametrize(
    ("args", "fact"),
    [
        ((N, X), "scale got 2 arguments"),
        ((X, X, Y), "scale got f32 memory for n"),
        ((1.5, X, Y), "scale got 1.5 for n"),
        ((N, 3, Y), "scale got 3 for a"),
        ((N, X, value(5, "i", I32)), "scale got i32 memory for b"),
    ],
)
def test_arguments_fit(args: tuple[object, ...], fact: str) -> None:
    integers = Alloc(value(5, "i", I32))
    fails("arguments_fit", fact, integers, Launch(SCALE, args, (N,), ()))  # type: ignore[arg-type]


def test_fills_fit() -> None:
    for dtype, number in ((U8, 300), (U8, -1), (I32, 1.5), (I32, float("nan")), (BOOL, 2), (F32, "a")):
        filled = value(2, "t", dtype)
        fails("fills_fit", "a fill of", Alloc(filled), Fill(filled, number))  # type: ignore[arg-type]
    verify(program(Fill(Y, float("inf")), Fill(Y, 3), Alloc(value(2, "t", BOOL)), Fill(value(2, "t", BOOL), True)))


def test_copies_match() -> None:
    other = Value(2, F32, contiguous((N, 2)), "t")
    fails("copies_match", "a copy of f32 with 1 axes to f32 with 2 axes", Alloc(other), Copy(other, X))
    fails("copies_match", "a copy of f32", Alloc(value(2, "t", I32)), Copy(value(2, "t", I32), X))


def test_host_memory_is_only_copied() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    image, out = p.host_input("image", F32, (n,)), p.host_output("out", F32, (n,))
    x = p.alloc(F32, (n,), "x")
    p.copy(x, p.slice(image, 0, 0, n))
    p.copy(out, x)
    assert "image: f32[n] host input, out: f32[n] host output" in text(p.build(x))
    for rule, fact, make in [
        (
            "host_memory_is_only_copied",
            "memory of the host is used: image",
            lambda: p.launch(SCALE, (n, image, x), (n,)),
        ),
        ("host_memory_is_only_copied", "memory of the host is used: out", lambda: p.fill(out, 1)),
        ("host_memory_is_only_copied", "memory of the host is used: out", lambda: p.copy(out, image)),
        ("inputs_are_not_written", "an input that is not donated is written: image", lambda: p.copy(image, x)),
    ]:
        make()
        with pytest.raises(VerifyError) as caught:
            p.build(x)
        assert (caught.value.rule, fact in caught.value.fact) == (rule, True)
        p._stack[0].pop()
    with pytest.raises(VerifyError, match="a result is memory of the host: out"):
        p.build(out)


def test_an_error_shows_the_neighbourhood_and_the_line() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    x = p.input("x", F32, (n,))
    for number in range(30):
        p.alloc(F32, (n,), f"t{number}")
    p.fill(x, 0)
    with pytest.raises(VerifyError) as caught:
        p.build()
    lines = caught.value.place.splitlines()
    assert lines[10].startswith(">   fill x with 0")
    assert len(lines) == 13  # ten before, itself, the return, the line
    assert "asked for at" in lines[-1]
    assert "test_verify_host.py:" in lines[-1]


# ---------------------------------------------------------------------- the builder and the text


def smooth() -> HostBuilder:
    p = HostBuilder("smooth")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    t = p.alloc(F32, (n,), "t")
    p.launch(SCALE, (n, x, t), (n,), (64,))
    with p.for_(parts(n, 4096)) as i:
        start = i * 4096
        length = smaller(4096, n - start)
        with p.stream(i % 4):
            p.launch(SCALE, (length, p.slice(t, 0, start, length), p.slice(y, 0, start, length)), (length,))
    with p.if_(n < 10):
        p.fill(y, 0.5)
    with p.else_():
        p.copy(p.slice(y, 0, 0, 5), p.slice(t, 0, 0, 5, 2))
    p.free(t)
    return p


def test_the_text_is_deterministic() -> None:
    expected = """\
program smooth(n; x: f32[n] input, y: f32[n] output)
  t = alloc f32[n]
  launch scale(n, x, t) over (n) groups (64)
  for i.0 in 0..(n + 4095)//4096:
    t_1 = view t as f32[min(4096, n - i.0*4096)] strides (1) offset i.0*4096
    y_1 = view y as f32[min(4096, n - i.0*4096)] strides (1) offset i.0*4096
    launch scale(min(4096, n - i.0*4096), t_1, y_1) over (min(4096, n - i.0*4096)) on stream i.0%4
  if n < 10:
    fill y with 0.5
  else:
    y_2 = view y as f32[5] strides (1) offset 0
    t_2 = view t as f32[5] strides (2) offset 0
    copy y_2 <- t_2
  free t
  return"""
    assert text(smooth().build()) == expected
    assert text(smooth().build()) == text(smooth().build())


@pytest.mark.parametrize(
    ("make", "error", "fact"),
    [
        (lambda p: p.size("n"), IRError, "the size 'n' is declared twice"),
        (lambda p: p.size("not a name"), IRError, "cannot be the name of a size"),
        (lambda p: p.input("1x", F32, (1,)), IRError, "cannot be the name of a parameter"),
        (lambda p: p.slice(p.alloc(F32, (2, 3)), 2, 0, 1), ShapeError, "axis 2 of a value, which has 2 axes"),
        (lambda p: p.reshape(p.slice(p.alloc(F32, (2, 3)), 1, 0, 1), (2,)), ShapeError, "which is not contiguous"),
        (lambda p: p.alloc(F32, ("n",)), IRError, "'n' is no size"),
    ],
)
def test_what_cannot_be_built(make: Callable[[HostBuilder], object], error: type[Exception], fact: str) -> None:
    p = HostBuilder("p")
    p.size("n")
    with pytest.raises(error, match=fact):
        make(p)


def test_else_needs_an_if() -> None:
    p = HostBuilder("p")
    with pytest.raises(IRError, match="else_ without an if_"), p.else_():
        pass


def test_a_size_has_no_truth_value() -> None:
    with pytest.raises(IRError, match="whether n < 4 holds is not known"):
        bool(N < 4)


def test_reshapes_keep_the_memory() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    x = p.input("x", F32, (n, 6))
    seen = p.reshape(p.slice(x, 0, 2, n - 2), (6, n - 2))
    assert seen.layout == SymbolicLayout((6, n - 2), (n - 2, 1), 12)
    assert replace(seen, hint="").dtype == F32


def test_a_program_is_listed_once_for_all_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Block] = []

    def noted(block: Block) -> Iterator[Stmt]:
        walked.append(block)
        return walk(block)

    monkeypatch.setattr("ocl_ir.host.aliases.walk", noted)
    verify(program(View(T, X), View(U, T), Fill(Y, 0), results=(Y,)))
    assert len(walked) == 1
