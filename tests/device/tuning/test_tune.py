"""Tuning on the device: winners are right, are taken by later evaluations, and do no harm when they fail."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.codegen.disk import ProgramFiles
from ocl_runtime.commands import tune as command
from ocl_runtime.device import Device
from ocl_runtime.errors import BuildError, DTypeError, MixedDevicesError, SettingError
from ocl_runtime.execute import driver
from ocl_runtime.plan.handles import Status
from ocl_runtime.plan.kernels.lowering import PRODUCTS
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.variant import Problem, Variant, variants, version
from ocl_runtime.plan.target import Target
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from ocl_runtime.tuning import trial
from ocl_runtime.tuning.collect import products_of
from ocl_runtime.tuning.contest import WrongError
from ocl_runtime.tuning.products import engine_for_trials
from ocl_runtime.tuning.records import Record
from ocl_runtime.tuning.trial import RESULT, Attempt, Trial

SIMULATED = Target(kind="gpu", compute_units=8, group_size=256, large_group_size=512, vector_bytes=16)
"""A GPU as the planner sees it, on whatever device there is."""


@pytest.fixture
def programs_on_disk() -> None:
    """For tests of plans that another process finds: those without their programs are not taken."""


@pytest.fixture(autouse=True)
def _no_programs_on_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are kept there, but elsewhere no programs, for which PoCL would compile each kernel once more."""
    if "programs_on_disk" not in request.fixturenames:
        monkeypatch.setattr(ProgramFiles, "takes", lambda files: False)


@pytest.fixture(params=["own", "simulated GPU"])
def make(request: pytest.FixtureRequest, device: Device, tmp_path: Path) -> Callable[..., Runtime]:
    """Runtimes that stand for processes of their own, with one cache folder."""

    def made(**settings: Any) -> Runtime:
        runtime = Runtime(device, Settings(**{"cache_folder": tmp_path / "cache", **settings}))
        if request.param != "own":
            vars(runtime.executor)["target"] = SIMULATED
        return runtime

    return made


def matrices(m: int = 40, n: int = 48, k: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(-3, 4, (m, k)).astype("f4"), rng.integers(-3, 4, (k, n)).astype("f4")


def contraction_of(expression: ocl.Array) -> Contraction:
    (found,) = products_of([expression._node], expression._executor)  # type: ignore[arg-type]
    return found


def another(contraction: Contraction, runtime: Runtime) -> Variant:
    """A variant that is not taken without tuning."""
    return variants(contraction, runtime.executor.target)[1]


def remember(runtime: Runtime, expression: ocl.Array) -> Variant:
    """As if another variant had won."""
    contraction = contraction_of(expression)
    won = another(contraction, runtime)
    runtime.executor.choices.keep([Record(PRODUCTS, version(), str(Problem.of(contraction)), str(won), 1.0, 2.0)])
    with runtime.executor.registry.lock:
        runtime.executor.plans.forget()
    return won


def used(runtime: Runtime) -> int:
    return runtime.statistics()["plan"]["tuned"]


# ---------------------------------------------------------------------- what tuning finds


def test_tune_measures_and_later_evaluations_take_the_winner(make: Callable[..., Runtime]) -> None:
    left, right = matrices()
    runtime = make()
    with ocl.use(runtime):
        a, b = ocl.asarray(left), ocl.asarray(right)
        product = a @ b
        report = ocl.tune(product, seconds=0.5, progress=False)
        (tuned,) = report
        assert tuned.winner is not None
        assert tuned.kept
        assert all(outcome.error is None or 0 <= outcome.error <= 1 for outcome in tuned.outcomes)
        assert not any(outcome.verdict.startswith(("wrong", "failed")) for outcome in tuned.outcomes), str(report)
        assert str(tuned.problem) == "f32 in f32 to f32, () 40x48x600, nn"
        assert tuned.winner.name in str(report)
        assert (used(runtime), runtime.statistics()["plan"]["misses"]) == (0, 0), "nothing was computed yet"
        assert ((a @ b).numpy() == left @ right).all()
        assert used(runtime) == 1
    again = make()
    with ocl.use(again):
        assert ((ocl.asarray(left) @ ocl.asarray(right)).numpy() == left @ right).all()
        assert again.executor.choices.records(PRODUCTS) == [(tuned.problem, tuned.winner.name)]


def test_a_function_is_called_and_all_its_products_are_tuned(make: Callable[..., Runtime]) -> None:
    left, right = matrices(20, 20, 30)
    called = []
    with ocl.use(make()) as runtime:
        a, b = ocl.asarray(left), ocl.asarray(right)

        def layers(x: ocl.Array, y: ocl.Array) -> dict[str, Any]:
            called.append(1)
            z = x @ y
            return {"out": ocl.tanh(z) @ z.T, "rest": [x @ y, x @ x.T]}

        report = ocl.tune(layers, a, b, seconds=2.0, progress=False)
        assert called == [1]
        found = [tuned.problem for tuned in report]
        # On CPUs a right matrix by columns is copied first, and the product is that of the copy.
        assert len(found) == len({*found})
        assert len(found) + report.left_out == (2 if runtime.executor.target.kind == "cpu" else 3)
        assert found[0] in {"f32 in f32 to f32, () 20x20x30, nn", "f32 in f32 to f32, () 20x20x30, nt"}


def test_what_has_no_product_has_nothing_to_tune(make: Callable[..., Runtime]) -> None:
    with ocl.use(make()):
        report = ocl.tune(ocl.ones(5) + 1, progress=False)
        assert (len(report), "nothing to tune" in str(report)) == (0, True)
        computed = ocl.ones((4, 4)) @ ocl.ones((4, 4))
        ocl.compute(computed)
        assert len(ocl.tune(computed, progress=False)) == 0


def test_the_time_is_shared_and_what_is_left_out_is_said(
    make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(0, 1000, 2))
    monkeypatch.setattr("ocl_runtime.programs.tuning.perf_counter", lambda: next(ticks))
    with ocl.use(make()):
        a = ocl.ones((20, 20))
        several = [a @ ocl.ones((20, n)) for n in range(20, 28)]
        report = ocl.tune(several, seconds=3, progress=False)
    assert (len(report), report.left_out) == (1, 7)
    assert "no time was left for 7 more" in str(report)


def test_questions_without_sense_are_refused(make: Callable[..., Runtime], device: Device) -> None:
    with ocl.use(make()):
        product = ocl.ones((4, 4)) @ ocl.ones((4, 4))
        with pytest.raises(SettingError, match="0 seconds"):
            ocl.tune(product, seconds=0)
        with pytest.raises(DTypeError, match="no array"):
            ocl.tune(lambda: 3)

        @ocl.capture
        def captured(x: ocl.Array) -> ocl.Array:
            ocl.tune(x @ x)
            return x

        with pytest.raises(ocl.Error, match="captured function tunes"):
            captured(ocl.ones((4, 4)))
        with ocl.use(make()):
            other = ocl.ones((4, 4)) @ ocl.ones((4, 4))
        with pytest.raises(MixedDevicesError, match="2 runtimes"):
            ocl.tune([product, other])
    with ocl.use(make(tune=False)):
        product = ocl.ones((4, 4)) @ ocl.ones((4, 4))
        with pytest.raises(SettingError, match="OCL_RUNTIME_TUNE is off"):
            ocl.tune(product)


# ---------------------------------------------------------------------- trials


def started(expression: ocl.Array, runtime: Runtime) -> Trial:
    executor = runtime.executor
    return Trial(contraction_of(expression), executor.target, engine_for_trials(executor.device, executor.settings))


def test_operands_lie_as_those_that_will_be_multiplied(make: Callable[..., Runtime]) -> None:
    runtime = make()
    with ocl.use(runtime):
        x = ocl.asarray(np.arange(50 * 70, dtype="f4").reshape(50, 70))
        ocl.compute(x)
        view = x[3:43, 2:66]
        expression = view @ view.T if runtime.executor.target.kind == "gpu" else view.T @ view
        contraction, made = contraction_of(expression), started(expression, runtime)
        for leaf, trials in zip(
            (contraction.left, contraction.right), (made.contraction.left, made.contraction.right), strict=True
        ):
            assert trials.layout == leaf.layout
            assert trials.source.dtype is leaf.source.dtype
        left, right = made.contraction.left.source, made.contraction.right.source
        assert left.storage is right.storage, "both are views of one array, here as there"
        assert made.contraction.left.layout.offset == 3 * 70 + 2
        assert [*made.handles] == ["operand 0"]
        assert left.storage.memory is not x._computed().storage.memory
        for variant in variants(contraction, runtime.executor.target)[:6]:
            assert Attempt(made, variant).prepare() <= 1


def test_variants_run_on_forks_and_only_the_winner_leaves_something(make: Callable[..., Runtime]) -> None:
    runtime = make()
    left, right = matrices()
    with ocl.use(runtime):
        made = started(ocl.asarray(left) @ ocl.asarray(right), runtime)
        found = variants(made.contraction, runtime.executor.target)[:4]
        attempts = [Attempt(made, variant) for variant in found]
        for attempt in attempts:
            assert attempt.prepare() <= 1
            assert attempt.run() > 0
        assert [*made.handles] == ["operand 0", "operand 1"], "forks have entries of their own"
        for attempt in attempts[1:]:
            attempt.drop()
        allocations = made.engine.memory.device_pool.counters.created
        assert attempts[0].merge() <= 1
        assert [*made.handles] == ["operand 0", "operand 1", RESULT]
        assert made.engine.memory.device_pool.counters.created == allocations
        with pytest.raises(ocl.Error):
            attempts[0].merge()  # what was merged is not there for a second time
        assert made.handles.get(RESULT, Status.READ_ONLY) is not None


def test_what_writes_nothing_or_not_all_is_wrong(make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = make()
    left, right = matrices()
    whole = trial.variant_launches
    with ocl.use(runtime):
        made = started(ocl.asarray(left) @ ocl.asarray(right), runtime)
        variant = variants(made.contraction, runtime.executor.target)[0]
        assert Attempt(made, variant).prepare() <= 1  # the same memory holds the right result now

        def fewer(*args: Any) -> Any:
            *others, last = whole(*args)
            half = (last.global_size[0] // last.group_size[0] // 2 * last.group_size[0], 1, 1)
            return [*others, type(last)(last.kernel, last.args, half, last.group_size)]

        monkeypatch.setattr(trial, "variant_launches", fewer)
        with pytest.raises(WrongError):
            Attempt(made, variant).prepare()


def test_a_variant_that_is_wrong_or_fails_never_wins(
    make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = make()
    left, right = matrices()
    whole = trial.variant_launches
    with ocl.use(runtime):
        product = ocl.asarray(left) @ ocl.asarray(right)
        first, second, third, *_ = variants(contraction_of(product), runtime.executor.target)

        def spoilt(variant: Variant, contraction: Contraction, elements: Any, *rest: Any) -> Any:
            if variant == second:
                raise BuildError("the compiler has a bad day", source="", log="")
            launches = whole(variant, contraction, elements, *rest)
            if variant == third:
                last = launches[-1]
                launches[-1] = type(last)(last.kernel, last.args, last.group_size, last.group_size)
            return launches

        monkeypatch.setattr(trial, "variant_launches", spoilt)
        (tuned,) = ocl.tune(product, seconds=6, progress=False)
    verdicts = {outcome.name: outcome for outcome in tuned.outcomes}
    assert verdicts[str(second)].verdict == "failed: BuildError: the compiler has a bad day"
    assert verdicts[str(third)].verdict.startswith("wrong: ")
    assert tuned.winner is not None
    assert tuned.winner.name not in {str(second), str(third)}
    assert "bad day" in str(tuned)
    assert first == Variant.parse(tuned.outcomes[0].name)


# ---------------------------------------------------------------------- what becomes of plans


def test_plans_in_memory_do_not_outlive_a_change(make: Callable[..., Runtime]) -> None:
    left, right = matrices()
    runtime = make()
    with ocl.use(runtime):
        a, b = ocl.asarray(left), ocl.asarray(right)
        for _ in range(6):  # so often that a function is written out for the line
            assert ((a @ b).numpy() == left @ right).all()
        before = runtime.statistics()
        remember(runtime, a @ b)
        for _ in range(6):
            assert ((a @ b).numpy() == left @ right).all()
        after = runtime.statistics()
        assert used(runtime) == 1
        assert after["plan"]["misses"] == before["plan"]["misses"] + 1
        assert after["launch"]["compiled"] > before["launch"]["compiled"], "another kernel"


def test_fused_is_unfused_with_a_record_too(make: Callable[..., Runtime]) -> None:
    """Whatever the kernel of the winner can compute of each element, sums are added in its order."""
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((40, 2000), "f4"), rng.standard_normal((2000, 48), "f4")
    with ocl.use(make()) as runtime:
        a, b = ocl.asarray(left), ocl.asarray(right)
        contraction = contraction_of(a @ b)
        found = variants(contraction, runtime.executor.target)
        for won in [*found[1:4], *[made for made in found if made.kind == "blocks"][-2:]]:
            runtime.executor.choices.keep(
                [Record(PRODUCTS, version(), str(Problem.of(contraction)), str(won), 1.0, 2.0)]
            )
            with runtime.executor.registry.lock:
                runtime.executor.plans.forget()
            alone = a @ b
            ocl.compute(alone)
            assert (ocl.exp((a @ b) * 0.01).numpy() == ocl.exp(alone * 0.01).numpy()).all(), won


@pytest.mark.usefixtures("programs_on_disk")
def test_plans_on_disk_do_not_outlive_a_change(make: Callable[..., Runtime]) -> None:
    left, right = matrices()

    def process() -> tuple[Runtime, dict[str, int]]:
        runtime = make()
        with ocl.use(runtime):
            assert ((ocl.asarray(left) @ ocl.asarray(right)).numpy() == left @ right).all()
        return runtime, runtime.statistics()["plan"]

    process()
    runtime, plans = process()
    assert (plans["loaded"], plans["misses"]) == (1, 0)
    with ocl.use(runtime):
        remember(runtime, ocl.asarray(left) @ ocl.asarray(right))
    tuned, plans = process()
    assert (plans["loaded"], plans["misses"], used(tuned)) == (0, 1, 1)
    again, plans = process()
    assert (plans["loaded"], plans["misses"]) == (1, 0), "with the record it is kept, too"
    again.executor.choices.forget()
    forgotten, plans = process()
    assert (plans["loaded"], plans["misses"], used(forgotten)) == (1, 0, 0), "what was there before is found again"


def test_off_ignores_records(make: Callable[..., Runtime]) -> None:
    left, right = matrices()
    with ocl.use(make()) as runtime:
        remember(runtime, ocl.asarray(left) @ ocl.asarray(right))
    with ocl.use(make(tune=False)) as off:
        assert ((ocl.asarray(left) @ ocl.asarray(right)).numpy() == left @ right).all()
        assert (used(off), off.executor.choices.records(PRODUCTS)) == (0, ())


def test_a_plan_for_other_sizes_is_not_that_of_the_record(make: Callable[..., Runtime]) -> None:
    left, right = matrices()
    with ocl.use(make()) as runtime:
        remember(runtime, ocl.asarray(left) @ ocl.asarray(right))
        for rows in (40, 39, 40, 38):
            part = np.ascontiguousarray(left[:rows])
            assert ((ocl.asarray(part) @ ocl.asarray(right)).numpy() == part @ right).all()
        assert used(runtime) == 1


def test_captured_functions_are_captured_again(make: Callable[..., Runtime]) -> None:
    left, right = matrices()
    times = []
    with ocl.use(make()) as runtime:

        @ocl.capture
        def multiplied(x: ocl.Array, y: ocl.Array) -> ocl.Array:
            times.append(1)
            return x @ y

        a, b = ocl.asarray(left), ocl.asarray(right)
        for _ in range(3):
            assert (multiplied(a, b).numpy() == left @ right).all()
        assert (len(times), used(runtime)) == (1, 0)
        remember(runtime, a @ b)
        for _ in range(3):
            assert (multiplied(a, b).numpy() == left @ right).all()
        assert (len(times), used(runtime)) == (2, 1)


# ---------------------------------------------------------------------- winners that fail later


def refusing(runtime: Runtime, monkeypatch: pytest.MonkeyPatch, unwanted: Callable[[Kernel], bool]) -> list[str]:
    """The engine builds none of some kernels; the names of those that were asked for."""
    engine = runtime.executor.engine
    build, asked = engine.executables, list[str]()

    def executables(kernels: Sequence[Kernel], strategy: str | None = None) -> Any:
        for kernel in filter(unwanted, kernels):
            asked.append(kernel.name)
            raise BuildError("the compiler ran out of registers\nsource", source="", log="")
        return build(kernels, strategy)

    monkeypatch.setattr(engine, "executables", executables)
    return asked


def test_a_winner_that_cannot_be_built_falls_back_once(
    make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left, right = matrices()
    with ocl.use(make()) as runtime:
        a, b = ocl.asarray(left), ocl.asarray(right)
        remember(runtime, a @ b)
        choices = runtime.executor.choices
        asked = refusing(runtime, monkeypatch, lambda kernel: id(kernel) in choices._kernels)
        with caplog.at_level(logging.WARNING, "ocl_runtime"):
            for _ in range(3):
                assert ((a @ b).numpy() == left @ right).all()
        assert (len(asked), used(runtime), choices.records(PRODUCTS)) == (1, 1, ())
        (line,) = [line.getMessage() for line in caplog.records if line.name == "ocl_runtime"]
        assert line.endswith("failed and is forgotten: the compiler ran out of registers")
    assert make().executor.choices.records(PRODUCTS) == (), "on disk, too"


@pytest.mark.parametrize("ahead", [False, True])
def test_a_captured_function_falls_back_too(
    make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch, ahead: bool
) -> None:
    left, right = matrices()
    with ocl.use(make()) as runtime:
        a, b = ocl.asarray(left), ocl.asarray(right)
        ocl.compute(a, b)
        remember(runtime, a @ b)
        choices = runtime.executor.choices
        asked = refusing(runtime, monkeypatch, lambda kernel: id(kernel) in choices._kernels)
        multiplied = ocl.capture(lambda x, y: x @ y)
        if ahead:
            multiplied.compile(a, b)
        for _ in range(2):
            assert (multiplied(a, b).numpy() == left @ right).all()
        assert (len(asked), choices.records(PRODUCTS)) == (1, ())


def test_what_fails_without_a_record_is_an_error_as_ever(
    make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = matrices()
    with ocl.use(make()) as runtime:
        a, b = ocl.asarray(left), ocl.asarray(right)
        remember(runtime, a @ b)
        refusing(runtime, monkeypatch, lambda kernel: kernel.name == "contract")
        with pytest.raises(BuildError):
            (a @ b).numpy()
        assert runtime.executor.choices.records(PRODUCTS) == ()


@pytest.mark.usefixtures("programs_on_disk")
def test_a_winner_on_disk_that_cannot_be_built_falls_back(
    make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = matrices()
    with ocl.use(make()) as runtime:
        won = remember(runtime, ocl.asarray(left) @ ocl.asarray(right))
        assert ((ocl.asarray(left) @ ocl.asarray(right)).numpy() == left @ right).all()
    with ocl.use(make()) as runtime:
        a, b = ocl.asarray(left), ocl.asarray(right)
        first, *_ = variants(contraction_of(a @ b), runtime.executor.target)
        assert first != won
        mine = runtime.executor.choices._kernels
        loaded: list[int] = []

        def unwanted(kernel: Kernel) -> bool:
            if kernel.name == "contract" and not loaded:
                loaded.append(id(kernel))
            return id(kernel) in loaded or id(kernel) in mine

        refusing(runtime, monkeypatch, unwanted)
        assert ((a @ b).numpy() == left @ right).all()
        assert runtime.executor.choices.records(PRODUCTS) == ()


def test_a_winner_that_is_refused_at_its_launch_falls_back(
    make: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left, right = matrices()
    with ocl.use(make(cache_folder=None)) as runtime:
        a, b = ocl.asarray(left), ocl.asarray(right)
        ocl.compute(a, b)
        remember(runtime, a @ b)
        of_driver = runtime.executor.engine.driver
        enqueue, refused = of_driver.enqueue, []

        def refuse_first(*args: Any, **kwargs: Any) -> Any:
            if not refused:
                refused.append(1)
                raise driver.Error("out of resources")
            return enqueue(*args, **kwargs)

        monkeypatch.setattr(of_driver, "enqueue", refuse_first)
        with caplog.at_level(logging.WARNING, "ocl_runtime"):
            product = a @ b
            assert (product.numpy() == left @ right).all()
            assert ((a @ b).numpy() == left @ right).all()
        assert refused == [1]
        assert (used(runtime), runtime.executor.choices.records(PRODUCTS)) == (1, ())
        assert sum("is forgotten" in line.getMessage() for line in caplog.records) == 1


# ---------------------------------------------------------------------- the command


def test_the_command_measures_lists_and_forgets(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OCL_RUNTIME_CACHE", str(tmp_path / "cache"))
    assert command.main(["--list"]) == 0
    assert capsys.readouterr().out == "nothing was measured\n"
    assert command.main(["matmul", "33", "34", "35", "--dtype", "f4", "--seconds", "0.3", "--transpose", "left"]) == 0
    out, err = capsys.readouterr()
    assert "f32 in f32 to f32, () 33x34x35, tn" in out
    assert "wins" in out
    assert err == "tuning f32 in f32 to f32, () 33x34x35, tn\n"
    assert command.main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith(f"{device.capabilities.name}, ")
    assert "33x34x35, tn: " in listed
    assert command.main(["--forget"]) == 0
    assert capsys.readouterr().out == "forgot 1 record\n"
    assert command.main(["--list"]) == 0
    assert capsys.readouterr().out == "nothing was measured\n"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "matmul",
        "matmul 3 4",
        "matmul 3 4 0",
        "sort 3",
        "--list --forget",
        "matmul 3 4 5 --seconds -1",
        "matmul 3 4 5 --dtype f3",
        "matmul 3 4 5 --list",
    ],
)
def test_a_wrong_command_line_is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(line.split())
    assert caught.value.code == 2
    assert "ocl-tune: error: " in capsys.readouterr().err


def test_errors_of_the_command_are_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OCL_RUNTIME_CACHE", "off")
    assert command.main(["--list"]) == 1
    assert capsys.readouterr().err.startswith("ocl-tune: nothing is kept on disk")
    monkeypatch.setenv("OCL_RUNTIME_TUNE", "off")
    assert command.main(["matmul", "3", "4", "5"]) == 1
    assert "OCL_RUNTIME_TUNE is off" in capsys.readouterr().err
