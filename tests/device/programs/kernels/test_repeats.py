"""Calls of a kernel that come again are bound to memory; what they compute is what they would compute otherwise."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.language.context import Options
from ocl_ir.language.parameters import ArgumentType
from ocl_ir.language.translate import Translation
from ocl_runtime.language import Constant, float32, global_id
from ocl_runtime.programs.kernels.variants import Variants

BOUND = 3
"""The calls until one is bound."""
STEP = 1.0


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the kernel each time a call looks for its variant, which bound calls do not."""
    names: list[str] = []
    variant = Variants.variant

    def counted(self: Variants, types: Mapping[str, ArgumentType], options: Options) -> Translation:
        names.append(self._function.__name__)
        return variant(self, types, options)

    monkeypatch.setattr(Variants, "variant", counted)
    return names


def new_kernel() -> Any:
    """A kernel that no other test has called."""

    @ocl.kernel
    def add(a, x, y):
        i = global_id(0)
        if i < x.size:
            y[i] = y[i] + a * x[i]

    return add


def xy(count: int = 100) -> tuple[ocl.Array, ocl.Array]:
    return ocl.asarray(np.arange(count, dtype=np.float32)), ocl.zeros(count, dtype=np.float32)


def test_calls_that_come_again_look_for_no_variant(looked_up: list[str]) -> None:
    add, (x, y) = new_kernel(), xy()
    for number in range(20):
        add[x.size](np.float32(number), x, y)
        if number == BOUND:
            looked_up.clear()
    assert looked_up == []
    assert (y.numpy() == np.arange(100) * sum(range(20))).all()


@pytest.mark.parametrize(
    "numbers",
    [
        [1, 2, 3, 4, 5, -6, 7],
        [1.5, float("nan"), 0.0, -0.0, 2.5, float("inf"), 1e39],
        [True, False, True, True, False, True, False],
        [np.int8(value) for value in (1, 2, 3, 4, 5, -6, 7)],
        [np.float64(value) for value in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1e300)],
    ],
)
def test_numbers_may_differ(numbers: list[Any], looked_up: list[str]) -> None:
    @ocl.kernel
    def put(a, y):
        y[global_id(0)] = float32(a)

    y = ocl.zeros(4)
    with np.errstate(over="ignore"):
        for call, number in enumerate(numbers):
            put[4](number, y)
            assert np.array_equal(y.numpy(), np.full(4, number, np.float32), equal_nan=True)
            assert (np.signbit(y.numpy()) == np.signbit(np.float32(number))).all()
            if call == BOUND:
                looked_up.clear()
    assert looked_up == []


def test_what_the_host_computes_of_numbers_follows_them(looked_up: list[str]) -> None:
    @ocl.kernel
    def put(a, b, y):
        y[global_id(0)] = 1 / (a - b)

    y = ocl.zeros(4)
    for call in range(8):
        put[4](float(call + 2), 1.0, y)
        assert (y.numpy() == np.float32(1 / (call + 1))).all()
        if call == BOUND:
            looked_up.clear()
    assert looked_up == []


def test_a_large_int_counts_in_64_bits_after_small_ones() -> None:
    @ocl.kernel
    def put(a, y):
        y[global_id(0)] = a

    y = ocl.zeros(4, dtype=np.int64)
    for number in (1, 2, 3, 4, 5, 2**40, 6):
        put[4](number, y)
        assert (y.numpy() == number).all()


def test_other_types_of_numbers_are_other_calls() -> None:
    @ocl.kernel
    def half(a, y):
        y[global_id(0)] = a / 2

    y = ocl.zeros(4, dtype=np.float64) if ocl.current().device.capabilities.fp64 else ocl.zeros(4)
    for number in (1, 1.0, np.float32(1), np.int8(1)) * 6:
        half[4](number, y)
        assert (y.numpy() == 0.5).all()


def test_sizes_that_are_equal_and_no_sizes_are_refused_all_the_same() -> None:
    add, (x, y) = new_kernel(), xy()
    for _ in range(6):
        add[1](1.0, x, y)
    for wrong in (True, 1.0):
        with pytest.raises(ocl.Error):
            add[wrong](1.0, x, y)


def test_constants_tell_calls_apart() -> None:
    @ocl.kernel
    def put(y, function, power: Constant[int]):
        y[global_id(0)] = function(global_id(0)) + power

    def twice(i: Any) -> Any:
        return i * 2

    def thrice(i: Any) -> Any:
        return i * 3

    y = ocl.zeros(4, dtype=np.int32)
    for _ in range(6):
        for function, factor in ((twice, 2), (thrice, 3)):
            for power in (5, 7):
                put[4](y, function, power)
                assert (y.numpy() == np.arange(4) * factor + power).all()


def test_what_the_kernel_reads_from_around_it_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    @ocl.kernel
    def put(y):
        y[global_id(0)] = STEP

    y = ocl.zeros(4)
    for _ in range(6):
        put[4](y)
    monkeypatch.setitem(globals(), "STEP", 2.0)
    put[4](y)
    assert (y.numpy() == 2).all()


def test_expressions_and_copies_keep_what_they_had_and_views_see_what_is_written() -> None:
    add, (x, y) = new_kernel(), xy()
    view = y[10:]
    for call in range(12):
        expression, copy = y + 1, y.copy()
        add[x.size](1.0, x, y)
        assert (expression.numpy() == np.arange(100) * call + 1).all()
        assert (copy.numpy() == np.arange(100) * call).all()
        assert (view.numpy() == np.arange(10, 100) * (call + 1)).all()


def test_arrays_that_are_written_between_calls() -> None:
    add, (x, y) = new_kernel(), xy()
    for call in range(12):
        y[...] = call
        add[x.size](1.0, x, y)
        x += 1
        assert (y.numpy() == np.arange(100) + call + call).all()


def test_two_arrays_in_turn_are_two_calls(looked_up: list[str]) -> None:
    @ocl.kernel
    def shifted(x, y):
        i = global_id(0)
        if 0 < i < x.size:
            y[i] = x[i - 1] + 1

    x, y = ocl.zeros(64), ocl.zeros(64)
    for call in range(20):
        shifted[64](x, y)
        x, y = y, x
        if call == 2 * BOUND + 1:
            looked_up.clear()
    assert looked_up == []
    assert (x.numpy() == np.minimum(np.arange(64), 20)).all()


def test_views_of_the_same_elements_are_the_same_call(looked_up: list[str]) -> None:
    add, (x, y) = new_kernel(), xy()
    for call in range(12):
        add[98](1.0, x[1:-1], y[2:])
        add[49](1.0, x[::2][1:], y[1::2][1:])
        if call == BOUND:
            looked_up.clear()
    expected = np.zeros(100)
    expected[2:] += np.arange(1, 99) * 12
    expected[3::2] += np.arange(2, 100, 2) * 12
    assert (y.numpy() == expected).all()
    assert looked_up == []


def test_an_element_is_refused_after_views_of_it() -> None:
    @ocl.kernel
    def fill(y):
        y[()] = 1

    y = ocl.zeros((2, 3))
    for _ in range(6):
        fill[1](y[1:2, 1:2][0, 0:1][:1].reshape(()))
    with pytest.raises(ocl.Error):
        fill[1](y[1, 1])


def test_no_array_is_kept_alive() -> None:
    add, (x, y) = new_kernel(), xy()
    for _ in range(6):
        add[x.size](1.0, x, y)
    cell, array = weakref.ref(y._cell), weakref.ref(y)
    ocl.current().finish()
    del y
    gc.collect()
    assert array() is None
    assert cell() is None
    assert not add.repeats._known


def test_captured_functions_and_checks_see_calls_that_are_bound_elsewhere() -> None:
    add, (x, y) = new_kernel(), xy()
    for _ in range(6):
        add[x.size](1.0, x, y)

    @ocl.capture
    def step(x: ocl.Array) -> ocl.Array:
        out = ocl.zeros(100)
        add[100](1.0, x, out)
        return out

    assert (step(x).numpy() == np.arange(100)).all()

    @ocl.kernel
    def outside(y, i):
        y[i] = 1

    for _ in range(6):
        outside[1](y, 0)
    with pytest.raises(ocl.Error, match="100"):
        outside.checked[1](y, 100)


def test_results_that_are_left_out_are_new_each_time() -> None:
    @ocl.kernel(over="x")
    def doubled(x, y=ocl.new_like("x")):  # noqa: B008
        y[global_id(0)] = x[global_id(0)] * 2

    x = ocl.asarray(np.arange(8, dtype=np.float32))
    results = [doubled(x) for _ in range(6)]
    assert len({id(result._cell) for result in results}) == 6
    assert all((result.numpy() == np.arange(8) * 2).all() for result in results)


def test_threads_call_the_same_kernel_over_the_same_arrays() -> None:
    add, (x, y) = new_kernel(), xy()

    def call() -> None:
        for _ in range(50):
            add[x.size](1.0, x, y)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (y.numpy() == np.arange(100) * 200).all()


def test_a_call_goes_on_while_another_thread_finds_it_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    class Value:
        """Equal to its like; while it is compared, another thread does something."""

        meanwhile = staticmethod(lambda: None)

        def __call__(self) -> None: ...

        def __eq__(self, other: object) -> bool:
            Value.meanwhile()
            return isinstance(other, Value)

        __hash__ = None  # type: ignore[assignment]

    @ocl.kernel
    def fill(y, a):
        if STEP is not None:
            y[global_id(0)] = a

    y = ocl.zeros(4, dtype=np.float32)
    monkeypatch.setitem(globals(), "STEP", Value())
    for number in range(BOUND):
        fill[4](y, float(number))
    monkeypatch.setitem(globals(), "STEP", Value())
    copies: list[ocl.Array] = []

    def meanwhile() -> None:
        Value.meanwhile = staticmethod(lambda: None)
        copies.append(y.copy())  # so that what is bound may not write
        thread = threading.Thread(target=lambda: fill[4](y, 20.0))
        thread.start()
        thread.join()

    Value.meanwhile = staticmethod(meanwhile)
    fill[4](y, 30.0)
    assert [x.numpy()[0] for x in (*copies, y)] == [BOUND - 1, 30]


def test_more_calls_than_are_remembered() -> None:
    add = new_kernel()
    pairs = [xy(10 + number) for number in range(70)]
    for _ in range(6):
        for x, y in pairs:
            add[x.size](1.0, x, y)
    for x, y in pairs:
        assert (y.numpy() == np.arange(x.size) * 6).all()
    assert len(add.repeats._known) == 64


def test_a_bound_call_outlives_calls_that_do_not_come_again(looked_up: list[str]) -> None:
    add, (x, y) = new_kernel(), xy()
    for _ in range(BOUND + 1):
        add[x.size](1.0, x, y)
    others = [xy(4) for _ in range(100)]
    for other, result in others:
        add[4](1.0, other, result)
    looked_up.clear()
    add[x.size](1.0, x, y)
    assert looked_up == []


def test_snapshots_now_and_then_do_not_end_binding(looked_up: list[str]) -> None:
    add, (x, y) = new_kernel(), xy()
    frames = []
    for _ in range(6):
        for _ in range(20):
            add[x.size](1.0, x, y)
        frames.append(y.copy())
    assert [frame.numpy()[1] for frame in frames] == [20, 40, 60, 80, 100, 120]
    assert len(looked_up) < 6 * 6


def test_arrays_that_are_written_each_time_are_bound_no_more(looked_up: list[str]) -> None:
    add, (x, y) = new_kernel(), xy()
    kept = []
    for _ in range(30):
        kept.append(y.copy())
        add[x.size](1.0, x, y)
    assert (y.numpy() == np.arange(100) * 30).all()
    assert len(looked_up) < 2 * 30 + 3 * 3  # each launch looks twice, and each binding once more


def test_arguments_by_name_and_in_tuples(looked_up: list[str]) -> None:
    @ocl.kernel
    def add(x, y, factors, extra=()):
        i = global_id(0)
        a, (b, c) = factors
        for array in extra:
            y[i] += array[i]
        y[i] += x[i] * a + b * c

    x, y = xy()
    for call in range(12):
        add[100](x, factors=(call, (2.0, np.float32(3))), extra=(x, x), y=y)
        if call == BOUND:
            looked_up.clear()
    assert looked_up == []
    assert (y.numpy() == np.arange(100) * (sum(range(12)) + 24) + 72).all()


def test_defaults_of_a_function_that_are_replaced_are_seen() -> None:
    @ocl.kernel
    def put(y, function):
        y[global_id(0)] = function(global_id(0))

    def plus(i: Any, *, by: int = 1) -> Any:
        return i + by

    y = ocl.zeros(4)
    for _ in range(6):
        put[4](y, plus)
    plus.__kwdefaults__ = {"by": 2}
    put[4](y, plus)
    assert (y.numpy() == np.arange(4) + 2).all()
