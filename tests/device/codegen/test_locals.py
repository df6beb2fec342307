"""Each rule of local allocation (CONTRACT.md, section 1), with what goes wrong without it.

Two judges: the slot machine, which runs a kernel with its values in the slots that they were given and sees when two of
them are in one slot, and the device, which runs the generated source.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings

from ocl_ir.errors import IRError, VerifyError
from ocl_ir.interpret.kernel import run as interpret
from ocl_ir.kernel import locals as strategies
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import (
    Array,
    Atomic,
    Barrier,
    Collective,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Shuffle,
    Value,
    defined,
    walk,
)
from ocl_ir.kernel.ids import next_id
from ocl_ir.kernel.liveness import _Liveness
from ocl_ir.kernel.locals import STRATEGIES, Locals, Slot, allocate, promote
from ocl_ir.kernel.printer import text
from ocl_ir.kernel.verify import verify
from ocl_ir.ops import OPS
from ocl_ir.passes import run as run_passes
from ocl_ir.types import BOOL, F32, I32, U8, U32, Type, Vector
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.device import choose
from ocl_runtime.execute.engine import Engine
from ocl_runtime.settings import Settings
from tests.differential import slot_machine
from tests.differential.programs import ITEMS, Program, programs
from tests.differential.slot_machine import Clobbered
from tests.support.arrays import python
from tests.support.cases import BY_NAME, CASES, Case
from tests.support.checkout import PYTHONPATH, ROOT

TOGETHER = Barrier | Collective | Shuffle | Atomic
ALONE = [case for case in CASES if not any(isinstance(stmt, TOGETHER) for stmt in walk(case.kernel.body))]
"""Cases whose work-items do not wait for each other."""
PHASES = [phase for phase in Phase if phase != Phase.explain]


def arguments(case: Case) -> dict[str, Any]:
    return case.arguments(np.random.default_rng(7))


def source(kernel: Kernel, strategy: str) -> str:
    return compile_kernel(kernel, strategy, Dialect()).source.text


def in_slots(case: Case, strategy: str) -> dict[str, Any]:
    """What the case's arrays hold after the slot machine ran it."""
    args = arguments(case)
    slot_machine.run(allocate(run_passes(case.kernel), strategy), args, case.global_size, case.group_size)
    return args


def on_the_device(kernel: Kernel, given_: dict[str, Any], engine: Engine, items: int, strategy: str) -> dict[str, Any]:
    engine = Engine(engine.device, engine.settings)  # a used one remembers what it compiled before something was broken
    args = {name: (engine.upload(one), 0) if isinstance(one, np.ndarray) else one for name, one in given_.items()}
    engine.submit(engine.executable(kernel, strategy).prepare(args, (items,), (1,)))
    return {
        name: engine.download(args[name][0], one.dtype, one.size).result() if isinstance(one, np.ndarray) else one
        for name, one in given_.items()
    }


def with_liveness(monkeypatch: pytest.MonkeyPatch, kind: type[_Liveness]) -> None:
    monkeypatch.setattr(strategies, "lives", lambda kernel, chosen: kind(kernel, chosen).lives)


# ---------------------------------------------------------------------- 1. bindings


def test_rule_1_assigning_to_a_binding_is_an_error_that_says_how_to_get_a_variable() -> None:
    k = KernelBuilder("demo")
    total = k.let(k.global_id(0) + 1, "total")
    with pytest.raises(IRError) as caught:
        k.assign(total, 5)
    assert caught.value.fact == "total is a binding, and a binding is written once"
    assert "k.variable(total)" in caught.value.remedy
    assert "k.assign" in caught.value.remedy
    assert Path(__file__).name in caught.value.place


def test_rule_1_a_binding_that_is_written_twice_is_refused() -> None:
    k = KernelBuilder("demo")
    y, i = k.pointer("y", U32), k.global_id(0, "i")
    k.store(y, i, k.let(i + 1, "total"))
    kernel = k.build()
    again = next(stmt for stmt in kernel.body if isinstance(stmt, Let) and stmt.result.hint == "total")
    with pytest.raises(VerifyError, match=r"total(_1)? is defined twice"):
        verify(replace(kernel, body=(*kernel.body, again)))


def test_rule_1_a_use_that_the_binding_does_not_dominate_is_refused() -> None:
    k = KernelBuilder("demo")
    y, i = k.pointer("y", U32), k.global_id(0, "i")
    with k.if_(i < 5):
        inner = k.let(i + 1, "inner")
    k.store(y, i, inner)
    with pytest.raises(VerifyError, match="inner is used outside of the block") as caught:
        verify(k.build())
    assert "k.variable" in caught.value.remedy


@pytest.mark.parametrize("strategy", ["hybrid", "ssa"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule_1_a_binding_is_one_constant_in_the_source(case: Case, strategy: str) -> None:
    compilation = compile_kernel(case.kernel, strategy, Dialect())
    locals_, made = compilation.source.locals, compilation.source.text
    for stmt in walk(locals_.kernel.body):
        value = defined(stmt)
        if value is None or isinstance(stmt, Array) or value.id in locals_.inlined:
            continue
        name = re.escape(locals_.names[value.id])
        several = isinstance(stmt, Let) and stmt.op in OPS and OPS[stmt.op].several_statements
        declared = rf"^ *{'' if several else 'const '}\w+ {name}( = .*)?;$"
        assert len(re.findall(declared, made, re.MULTILINE)) == 1, name


# ---------------------------------------------------------------------- 2. variables are copies


def copy_then_change() -> Kernel:
    k = KernelBuilder("copy_then_change")
    x, y, z = (k.pointer(name, F32) for name in "xyz")
    i = k.global_id(0, "i")
    a = k.let(k.load(x, i), "a")
    b = k.variable(a, hint="b")
    k.assign(b, b + 1.0)
    k.store(y, i, a)
    k.store(z, i, b)
    return k.build()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rule_2_a_variable_started_from_a_binding_leaves_it_as_it_was(strategy: str, engine: Engine) -> None:
    x = np.arange(4, dtype=np.float32)
    given_ = {"x": x, "y": np.zeros(4, np.float32), "z": np.zeros(4, np.float32)}
    kernel = copy_then_change()
    got = on_the_device(kernel, given_, engine, 4, strategy)
    slot_machine.run(allocate(run_passes(kernel), strategy), given_, (4,), (1,))
    for one in (got, given_):
        np.testing.assert_array_equal(one["y"], x)
        np.testing.assert_array_equal(one["z"], x + 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rule_2_a_variable_started_from_a_variable_is_another_one(strategy: str) -> None:
    case = BY_NAME["a_variable_is_a_copy"]
    got = in_slots(case, strategy)
    np.testing.assert_array_equal(got["z"], got["y"] + 1)


def test_rule_2_without_the_copy_both_would_change() -> None:
    """What would happen if starting a variable only gave its source another name."""
    locals_ = allocate(run_passes(copy_then_change()), "hybrid")
    b = next(stmt for stmt in locals_.kernel.body if isinstance(stmt, Local))
    slots = {**locals_.slots, b.variable.id: locals_.slots[b.init.id]}  # type: ignore[union-attr]
    args = {"x": np.zeros(1, np.float32), "y": np.zeros(1, np.float32), "z": np.zeros(1, np.float32)}
    with pytest.raises(Clobbered, match="a is read from a, which holds b"):
        slot_machine.run(replace(locals_, slots=slots), args, (1,), (1,))


# ---------------------------------------------------------------------- 3. back edges


class ForgetsBackEdges(_Liveness):
    """Liveness as the original had it: a value is dead after its last textual use."""

    def __init__(self, kernel: Kernel, chosen: Mapping[int, Let | Load]) -> None:
        self.textual: dict[int, int] = {}
        super().__init__(kernel, chosen)
        for id_, life in self.lives.items():
            life.end = max(life.start, self.textual.get(id_, life.start))

    def _use(self, named: Any, at: int) -> None:
        self.textual[named.id] = max(self.textual.get(named.id, 0), at)
        super()._use(named, at)


BACK_EDGES = (
    "live_across_the_back_edge",
    "break_and_continue",
    "mandelbrot",
    "sorting_in_private_memory",
    "nested_scopes",
)


def test_rule_3_what_lives_across_a_back_edge_keeps_its_slot() -> None:
    case = BY_NAME["live_across_the_back_edge"]
    np.testing.assert_array_equal(in_slots(case, "reuse")["y"], case.expected(arguments(case))["y"])


def test_rule_3_the_miscompile_without_back_edges_in_the_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    with_liveness(monkeypatch, ForgetsBackEdges)
    with pytest.raises(Clobbered, match=r"scale is read from \w+, which holds"):
        in_slots(BY_NAME["live_across_the_back_edge"], "reuse")


def test_rule_3_the_miscompile_without_back_edges_on_the_device(
    monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    case = BY_NAME["live_across_the_back_edge"]
    right = case.expected(arguments(case))["y"]
    got = on_the_device(case.kernel, arguments(case), engine, 64, "reuse")["y"]
    np.testing.assert_array_equal(got, right)
    with_liveness(monkeypatch, ForgetsBackEdges)
    got = on_the_device(case.kernel, arguments(case), engine, 64, "reuse")["y"]
    assert (got != right).any()


def variable_across_the_back_edge(kind: str) -> Kernel:
    """`kept` is read at the loop's beginning only, and `late` begins behind that, so that it could take its slot.

    "inner" reads it in a loop inside of the loop in which `late` begins.
    """
    k = KernelBuilder("variable_across_the_back_edge")
    n, x, y = k.scalar("n", U32), k.pointer("x", I32), k.pointer("y", I32)
    i = k.global_id(0, "i")
    kept = k.variable(k.load(x, i), hint="kept")
    with k.if_(i > 1000):
        k.assign(kept, 0)
    total, turn = k.variable(0, I32, "total"), k.variable(0, U32, "turn")

    def begin() -> None:
        k.assign(total, total * 3 + kept)

    def end() -> None:
        late = k.variable(total + 1, hint="late")  # no mere copy, which passes remove
        with k.if_(late > 100):
            k.assign(late, late - 100)
        k.assign(total, late)

    if kind == "for":
        with k.for_(0, n):
            begin()
            end()
    elif kind == "while":
        with k.while_() as loop:
            loop.test(turn < n)
            k.assign(turn, turn + 1)
            begin()
            end()
    elif kind == "nested":
        with k.for_(0, n), k.for_(0, 2):
            begin()
            end()
    else:
        with k.for_(0, n):
            with k.for_(0, 2):
                begin()
            end()
    k.store(y, i, total)
    return k.build()


@pytest.mark.parametrize("kind", ["for", "while", "nested", "inner"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rule_3_holds_for_variables_in_every_kind_of_loop(
    kind: str, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = run_passes(variable_across_the_back_edge(kind))
    args = {"n": 3, "x": np.arange(5, 9, dtype=np.int32), "y": np.zeros(4, np.int32)}
    wanted = {"n": 3, "x": args["x"].copy(), "y": np.zeros(4, np.int32)}
    interpret(kernel, wanted, (4,))
    slot_machine.run(allocate(kernel, strategy), args, (4,), (1,))
    np.testing.assert_array_equal(args["y"], wanted["y"])
    with_liveness(monkeypatch, ForgetsBackEdges)
    if strategy != "ssa":  # it shares no slots, and so has nothing to lose
        with pytest.raises(Clobbered, match="kept is read"):
            slot_machine.run(allocate(kernel, strategy), args, (4,), (1,))


def test_rule_3_the_bounds_of_a_loop_live_until_its_end() -> None:
    """C evaluates them again before every iteration."""
    k = KernelBuilder("bounds")
    x, y, i = k.pointer("x", U32), k.pointer("y", U32), k.global_id(0, "i")
    stop = k.let(k.load(x, i) + 2, "stop")
    total = k.variable(0, U32, "total")
    with k.for_(0, stop) as j:
        first = k.let(total * 5 + j, "first")
        second = k.let(first * first, "second")
        k.assign(total, first ^ second)
    k.store(y, i, total)
    args = {"x": np.arange(3, dtype=np.uint32), "y": np.zeros(3, np.uint32)}
    wanted = {"x": args["x"], "y": np.zeros(3, np.uint32)}
    interpret(k.build(), wanted, (3,))
    slot_machine.run(allocate(k.build(), "reuse"), args, (3,), (1,))
    np.testing.assert_array_equal(args["y"], wanted["y"])


# ---------------------------------------------------------------------- 4. operations of several statements


class WritesAtOnce(_Liveness):
    """Liveness that takes operations of several statements for one statement."""

    def __init__(self, kernel: Kernel, chosen: Mapping[int, Let | Load]) -> None:
        super().__init__(kernel, chosen)
        for stmt in walk(kernel.body):
            if isinstance(stmt, Let) and stmt.op in OPS and OPS[stmt.op].several_statements:
                self.lives[stmt.result.id].start |= 1


def quotients(operation: str) -> Kernel:
    k = KernelBuilder("quotients")
    x, d, y = (k.pointer(name, I32) for name in "xdy")
    i = k.global_id(0, "i")
    a, b = k.let(k.load(x, i) + 0, "a"), k.let(k.load(d, i) ^ 0, "b")
    dividend, divisor = k.let(a * 3, "dividend"), k.let(b - 1, "divisor")
    spoiled = k.op(operation, dividend, divisor, hint="outcome")
    k.store(y, i, spoiled ^ dividend)  # so that the divisor's slot is the one that is free
    return k.build()


def division_arguments() -> dict[str, Any]:
    return {
        "x": np.arange(-8, 8, dtype=np.int32),
        "d": np.array([4, -2, 5, 0] * 4, np.int32),
        "y": np.zeros(16, np.int32),
    }


def run_clobbered(operation: str) -> None:
    """Says whether a device computes something else where the result has the slot of an operand."""
    args = division_arguments()
    right = {"floordiv": np.floor_divide, "rem": np.remainder}[operation](args["x"] * 3, args["d"] - 1)
    right ^= args["x"] * 3
    with pytest.MonkeyPatch.context() as patch:
        with_liveness(patch, WritesAtOnce)
        engine = Engine(choose(), Settings(cache_folder=None))
        got = on_the_device(quotients(operation), args, engine, 16, "reuse")
    print("wrong" if (got["y"] != right).any() else "right")


@pytest.mark.parametrize("operation", ["floordiv", "rem"])
def test_rule_4_the_result_of_several_statements_never_shares_an_operand_s_slot(
    operation: str, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    kernel = quotients(operation)
    given_ = division_arguments()
    right = {"floordiv": np.floor_divide, "rem": np.remainder}[operation](given_["x"] * 3, given_["d"] - 1)
    right ^= given_["x"] * 3
    slot_machine.run(allocate(run_passes(kernel), "reuse"), given_, (16,), (1,))
    np.testing.assert_array_equal(given_["y"], right)
    got = on_the_device(kernel, division_arguments(), engine, 16, "reuse")
    np.testing.assert_array_equal(got["y"], right)

    with_liveness(monkeypatch, WritesAtOnce)
    with pytest.raises(Clobbered, match=r"divisor is read from \w+, which holds outcome"):
        slot_machine.run(allocate(run_passes(kernel), "reuse"), division_arguments(), (16,), (1,))
    # In a process of its own: where a divisor is lost the kernel may divide by 0, which ends that of a CPU's device.
    done = python(
        "-c", f"from tests.device.codegen import test_locals; test_locals.run_clobbered({operation!r})", cwd=ROOT
    )
    assert done.returncode == -signal.SIGFPE or done.stdout.split() == ["wrong"], done.stderr


def test_rule_4_an_operation_of_one_statement_may_take_its_operand_s_slot() -> None:
    k = KernelBuilder("one_statement")
    x, y, i = k.pointer("x", I32), k.pointer("y", I32), k.global_id(0, "i")
    a = k.let(k.load(x, i), "a")
    k.store(y, i, k.let(k.let(a * 3, "b") - 1, "c"))
    assert allocate(k.build(), "reuse").declarations == 2  # i, and one for a, b and c
    assert allocate(k.build(), "hybrid").declarations == 4


# ---------------------------------------------------------------------- 5. pools


def occupants(locals_: Locals) -> list[tuple[Slot, Type, object]]:
    """Each local's slot and type, with the statement that defines it."""
    found: list[tuple[Slot, Type, object]] = []
    for stmt in walk(locals_.kernel.body):
        if isinstance(stmt, Local):
            found.append((locals_.slots[stmt.variable.id], stmt.variable.type, stmt))
            continue
        value = stmt.index if isinstance(stmt, For) else defined(stmt)
        if value is not None and value.id not in locals_.inlined:
            found.append((locals_.slots[value.id], value.type, stmt))
    return found


def broken_pools(locals_: Locals) -> list[str]:
    held = Counter(id(slot) for slot, _, _ in occupants(locals_))
    return [
        f"{slot.name}: {slot.type} holds {type_}"
        for slot, type_, stmt in occupants(locals_)
        if slot.type != type_ or (isinstance(stmt, Array | Atomic | For) and held[id(slot)] > 1)
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule_5_a_slot_holds_one_exact_type_and_arrays_and_atomics_have_their_own(case: Case, strategy: str) -> None:
    assert broken_pools(allocate(run_passes(case.kernel), strategy)) == []


def test_rule_5_is_seen_to_be_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    take = strategies._Pool.take

    def of_any_type(self: Any, type_: Type, name: str, life: Any) -> Slot:
        slot = take(self, U32, name, life)
        slot.type = type_
        return slot

    monkeypatch.setattr(strategies._Pool, "take", of_any_type)
    assert broken_pools(allocate(one_type_after_another(I32, U32), "reuse"))


def one_type_after_another(one: Any, other: Any) -> Kernel:
    """A value of one type is dead when the first of two of the other type begins."""
    k = KernelBuilder("one_type_after_another")
    for place, type_ in enumerate((one, other, other)):
        value = k.variable(k.const(place + 1 if type_ != BOOL else True, type_), hint="value")
        k.store(k.pointer(f"p{place}", getattr(type_, "dtype", type_)), 0, value)
    return k.build()


@pytest.mark.parametrize(
    ("one", "other"), [(I32, U32), (F32, I32), (BOOL, U8), (F32, Vector(F32, 4)), (Vector(F32, 2), Vector(F32, 4))],
    ids=str,
)  # fmt: skip
def test_rule_5_types_of_one_size_or_one_element_do_not_share(one: Any, other: Any) -> None:
    for strategy in ("reuse", "hybrid"):
        assert allocate(one_type_after_another(one, other), strategy).declarations == 2, strategy


def test_rule_5_what_atomics_return_is_not_pooled() -> None:
    k = KernelBuilder("atomics_apart")
    counts, y = k.pointer("counts", U32), k.pointer("y", U32)
    for place in range(3):
        before = k.atomic("add", counts, place, 1, hint="before")
        assert before is not None
        k.store(y, place, k.let(before + 1, "after"))
    locals_ = allocate(k.build(), "reuse")
    atomics = [slot for slot, _, stmt in occupants(locals_) if isinstance(stmt, Atomic)]
    assert len({id(slot) for slot in atomics}) == 3
    assert all(slot.constant and not slot.shared for slot in atomics)
    assert locals_.declarations == 4  # and one for the three sums
    assert source(k.build(), "reuse").count("const uint before") == 3


def test_rule_5_arrays_are_not_pooled() -> None:
    k = KernelBuilder("arrays_apart")
    y = k.pointer("y", F32)
    for place in range(3):
        mine = k.array(F32, 4, space="private", hint="mine")
        k.store(mine, 0, float(place))
        k.store(y, place, k.load(mine, 0))
    assert len(re.findall(r"float mine(_\d)?\[4\];", source(k.build(), "reuse"))) == 3


# ---------------------------------------------------------------------- 6. names


def unrolled() -> Kernel:
    """The same names, once for every turn of a Python loop, beside and inside of each other."""
    k = KernelBuilder("unrolled")
    x, y, i = k.pointer("x", F32), k.pointer("y", F32), k.global_id(0, "i")
    total = k.variable(0.0, F32, "total")
    for _ in range(3):
        value = k.let(k.load(x, i), "value")
        with k.if_(value > 0.0):
            inner = k.let(value * 2.0, "value")
            part = k.variable(inner, hint="part")
            with k.for_(0, 2, hint="value") as j:
                k.assign(part, part + k.convert(j, F32))
            k.assign(total, total + part)
        with k.else_():
            part = k.variable(value, hint="part")
            k.assign(part, part - 1.0)
            k.assign(total, total - part)
    k.store(y, i, total)
    return k.build()


DECLARED = re.compile(r"^ *(?:const )?(?:\w+) (\w+)(?: = .*)?;$|for \(\w+ (\w+) =", re.MULTILINE)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rule_6_no_name_is_declared_twice_in_a_kernel(strategy: str) -> None:
    for kernel in (unrolled(), *(case.kernel for case in CASES)):
        body = source(kernel, strategy).split("__kernel", 1)[1]
        declared = [one or other for one, other in DECLARED.findall(body)]
        assert len(set(declared)) == len(declared), (kernel.name, Counter(declared).most_common(1))
        locals_ = allocate(run_passes(kernel), strategy)
        by_name: dict[str, set[int]] = {}
        for slot in locals_.slots.values():
            by_name.setdefault(slot.name, set()).add(id(slot))
        assert all(len(slots) == 1 for slots in by_name.values())


def test_rule_6_the_text_does_not_depend_on_the_process() -> None:
    program = (
        "import hashlib\nfrom tests.support.cases import CASES\nfrom ocl_ir.kernel.locals import STRATEGIES\n"
        "from ocl_runtime.codegen.compile import compile_kernel\nfrom ocl_runtime.codegen.spelling import Dialect\n"
        "for case in CASES:\n    for strategy in STRATEGIES:\n"
        "        made = compile_kernel(case.kernel, strategy, Dialect()).source.text\n"
        "        print(case, strategy, hashlib.sha256(made.encode()).hexdigest())\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": PYTHONPATH},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == len(CASES) * len(STRATEGIES)


def test_rule_6_names_do_not_depend_on_ids() -> None:
    """Two kernels that differ only in what numbers their values have are one text."""
    kernel = copy_then_change()
    k = KernelBuilder("copy_then_change")
    pointers = [k.pointer(name, F32) for name in "xyz"]
    i = k.global_id(0, "i")
    k.const(1.0, F32) + k.load(pointers[0], i)  # takes ids, and is dead
    a = k.let(k.load(pointers[0], i), "a")
    b = k.variable(a, hint="b")
    k.assign(b, b + 1.0)
    k.store(pointers[1], i, a)
    k.store(pointers[2], i, b)
    assert next_id(k.build()) > next_id(kernel)
    for strategy in STRATEGIES:
        assert source(k.build(), strategy) == source(kernel, strategy)


# ---------------------------------------------------------------------- 7. the same results, and how many declarations


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", ALONE, ids=str)
def test_rule_7_slots_do_not_change_the_result(case: Case, strategy: str) -> None:
    """The device does the same in tests/device/codegen/test_cases.py and tests/differential/test_kernels.py."""
    wanted = arguments(case)
    interpret(case.kernel, wanted, case.global_size, case.group_size)
    got = in_slots(case, strategy)
    for name in wanted:
        np.testing.assert_array_equal(got[name], wanted[name])


@settings(max_examples=max(30, settings().max_examples // 4), phases=PHASES)
@given(program=programs(emphasis="alone"))
def test_rule_7_no_value_is_lost_in_random_programs(program: Program) -> None:
    kernel = run_passes(program.kernel)
    wanted = program.arguments()
    interpret(kernel, wanted, (ITEMS,), (program.group,))
    for strategy in STRATEGIES:
        got = program.arguments()
        slot_machine.run(allocate(kernel, strategy), got, (ITEMS,), (program.group,), items=range(0, ITEMS, 13))
        for name in ("out_u32", "out_i32"):
            np.testing.assert_array_equal(got[name][::13], wanted[name][::13], f"{strategy}\n{text(kernel)}")


DECLARATIONS = {
    #                             reuse, hybrid, ssa
    "saxpy": (1, 1, 1),
    "live_across_the_back_edge": (6, 7, 7),
    "a_variable_is_a_copy": (3, 3, 2),
    "gather_and_scatter": (3, 6, 6),
    "transposition": (6, 9, 9),
    "stencil": (7, 9, 9),
    "nested_scopes": (8, 9, 8),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_rule_7_how_many_declarations_each_strategy_makes(name: str) -> None:
    kernel = run_passes(BY_NAME[name].kernel)
    counts = tuple(allocate(kernel, strategy).declarations for strategy in STRATEGIES)
    assert counts == DECLARATIONS[name]
    assert counts[0] <= counts[1]


def test_rule_7_pooled_variables_are_fewer_declarations() -> None:
    """Four variables, one after the other, each assigned across control flow: one declaration, or one each."""
    k = KernelBuilder("one_after_the_other")
    x, y, i = k.pointer("x", I32), k.pointer("y", I32), k.global_id(0, "i")
    for place in range(4):
        value = k.variable(k.load(x, i * 4 + place), hint="value")
        with k.if_(value < 0):
            k.assign(value, 0)
        k.store(y, i * 4 + place, value)
    counts = {strategy: allocate(run_passes(k.build()), strategy).declarations for strategy in STRATEGIES}
    assert counts["ssa"] - counts["hybrid"] == 3
    assert counts["reuse"] <= counts["hybrid"]
    assert "int i32_0;" in source(k.build(), "hybrid")
    assert source(k.build(), "ssa").count("int value") == 4


def test_rule_7_ssa_makes_bindings_of_variables_that_never_cross_control_flow() -> None:
    straight, crossing = BY_NAME["a_variable_is_a_copy"].kernel, BY_NAME["collatz"].kernel
    assert any(isinstance(stmt, Local) for stmt in walk(straight.body))
    assert not any(isinstance(stmt, Local) for stmt in walk(promote(straight).body))
    assert sum(isinstance(stmt, Local) for stmt in walk(promote(crossing).body)) == 2
    verify(promote(straight))


def test_rule_7_the_strategy_and_its_declarations_can_be_asked_for() -> None:
    for strategy in STRATEGIES:
        locals_ = compile_kernel(BY_NAME["stencil"].kernel, strategy, Dialect()).source.locals
        assert locals_.strategy == strategy
        assert locals_.declarations == len({id(slot) for slot in locals_.slots.values()})


def test_an_unknown_strategy_is_an_error_that_lists_them() -> None:
    with pytest.raises(IRError, match="no strategy 'best'") as caught:
        allocate(BY_NAME["saxpy"].kernel, "best")
    assert caught.value.remedy == "use one of reuse, hybrid, ssa"


def test_a_strategy_has_two_methods() -> None:
    """One for a binding and one for a variable, and everything goes through them."""
    asked: Counter[str] = Counter()

    class Watched(strategies.Hybrid):
        def binding(self, value: Value, name: str, life: Any) -> Slot:
            asked["binding"] += 1
            return super().binding(value, name, life)

        def variable(self, variable: Any, name: str, life: Any) -> Slot:
            asked["variable"] += 1
            return super().variable(variable, name, life)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategies, "STRATEGIES", {"watched": Watched})
        locals_ = allocate(run_passes(BY_NAME["collatz"].kernel), "watched")
    statements = [stmt for _, _, stmt in occupants(locals_)]
    assert asked["variable"] == sum(isinstance(stmt, Local) for stmt in statements)
    assert asked["binding"] == sum(isinstance(stmt, Let | Load) for stmt in statements)
