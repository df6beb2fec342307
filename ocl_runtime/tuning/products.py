"""The contest of the variants of one product: measured, checked, and written down."""

from __future__ import annotations

from dataclasses import replace

from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.kernels.lowering import PRODUCTS
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.variant import Problem, variants
from ocl_runtime.plan.target import Target
from ocl_runtime.settings import Settings
from ocl_runtime.tuning.contest import Outcome, Progress, WrongError, contest
from ocl_runtime.tuning.records import Record
from ocl_runtime.tuning.trial import Attempt, Trial


def engine_for_trials(device: Device, settings: Settings) -> Engine:
    """An engine beside that of the runtime, which measures its commands and has memory of its own."""
    return Engine(device, replace(settings, profile=True, poison=False, streams=1))


def tuned(
    contraction: Contraction,
    target: Target,
    engine: Engine,
    seconds: float,
    version: str,
    progress: Progress = lambda part, text: None,
) -> tuple[list[Outcome], float, Record | None]:
    """What came of each variant of a product whose sizes are plain integers, how many operations it is, and what is to
    be remembered; None where no variant is right. Raises `OutOfMemoryError` where operands have no room."""
    trial = Trial(contraction, target, engine)
    attempts = [Attempt(trial, variant) for variant in variants(contraction, target)]
    outcomes = contest(attempts, seconds, progress=progress)
    _confirm(attempts, outcomes)
    for attempt in attempts:
        attempt.drop()
    winner = next((outcome for outcome in outcomes if outcome.is_winner), None)
    if winner is None or winner.seconds is None:
        return outcomes, trial.operations, None
    unmeasured = outcomes[0].seconds or winner.seconds
    problem = str(Problem.of(contraction))
    record = Record(PRODUCTS, version, problem, winner.name, winner.seconds, unmeasured)
    return outcomes, trial.operations, record


def _confirm(attempts: list[Attempt], outcomes: list[Outcome]) -> None:
    """The winner's result, after all its runs, is merged back and checked; one that is wrong by then has not won, and
    nobody has."""
    for attempt, outcome in zip(attempts, outcomes, strict=True):
        if outcome.is_winner:
            try:
                attempt.merge()
            except WrongError as error:
                outcome.is_winner, outcome.verdict = False, f"wrong in its last run: {error}"
