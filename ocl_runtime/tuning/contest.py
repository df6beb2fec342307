"""Which of some candidates is the fastest, found out within some seconds.

Each candidate is prepared first: built, run once, and its result checked; one that fails or is wrong can never win.
Those that are left run in rounds, one after the other, so that a device which grows slower or is used by others slows
all of them alike. Who is far behind is dropped. The one with the least median wins, unless the first candidate, which
is taken where nothing is measured, is as good within the noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol

FAR_BEHIND = 1.3
"""Times the median of the fastest: whose best run is slower is dropped."""
_FAR_AT_ONCE = 3.0
"""The same for the very first run, which may be slow for other reasons."""
WORTH_IT = 0.97
"""Of the median of the first candidate: below it another one wins."""
_WARM = 0.1
"""Of the seconds, to bring the device to speed."""
_BUILDING = 0.6
"""Of the seconds, after which no more candidates are prepared."""
_LEAST_ROUNDS, _MOST_ROUNDS = 3, 100


class WrongError(Exception):
    """A result is not what it should be; the text says how."""


class Candidate(Protocol):
    """What may win."""

    @property
    def name(self) -> str:
        """What it is called in the report."""

    def prepare(self) -> float:
        """Builds it, runs it once and checks the result: how far that is off, 1 at most. Raises `WrongError` for more,
        and whatever building and running raise."""

    def run(self) -> float:
        """Runs it; the seconds that it took the device."""


@dataclass
class Outcome:
    """What came of a candidate: the seconds of each run, how far its result is off, and a word or two on it."""

    name: str
    samples: list[float] = field(default_factory=list)
    error: float | None = None
    verdict: str = ""
    is_winner: bool = False

    @property
    def seconds(self) -> float | None:
        """The median; None where it never ran."""
        return median(self.samples) if self.samples else None


Progress = Callable[[float, str], None]
"""Is told which part of the seconds has gone, and what is being done."""


def contest(
    candidates: Sequence[Candidate],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress = lambda part, text: None,
) -> list[Outcome]:
    """What came of each candidate, in their order: one of them is the winner, unless none is right.

    A run that has begun is not interrupted, so it takes longer than some seconds where a single run does. Raises what
    interrupts it; a candidate's own exceptions become its verdict.
    """
    began = clock()
    outcomes = [Outcome(candidate.name) for candidate in candidates]

    def gone() -> float:
        return clock() - began

    ready: list[tuple[Candidate, Outcome]] = []
    for candidate, outcome in zip(candidates, outcomes, strict=True):
        if ready and gone() > _BUILDING * seconds:
            outcome.verdict = "not tried: no time left"
            continue
        progress(gone() / seconds, f"trying {candidate.name}")
        if _prepared(candidate, outcome):
            ready.append((candidate, outcome))
    if ready:
        _warm(ready[0], _WARM * seconds, gone)
        _rounds(ready, outcomes[0], seconds, gone, progress)
        _decide(outcomes)
    return outcomes


def _prepared(candidate: Candidate, outcome: Outcome) -> bool:
    try:
        outcome.error = candidate.prepare()
    except WrongError as error:
        outcome.verdict = f"wrong: {error}"
    except Exception as error:  # whatever it is, the others can do without it
        outcome.verdict = f"failed: {_line(error)}"
    return not outcome.verdict


def _warm(first: tuple[Candidate, Outcome], seconds: float, gone: Callable[[], float]) -> None:
    """Runs one that is right for a while, so that the device has its full clock before anything counts: of these runs
    only the last."""
    until = gone() + seconds
    while gone() < until and _ran(*first):
        pass
    del first[1].samples[:-1]


def _rounds(
    ready: Sequence[tuple[Candidate, Outcome]],
    unmeasured: Outcome,
    seconds: float,
    gone: Callable[[], float],
    progress: Progress,
) -> None:
    left = [pair for pair in ready if not pair[1].verdict]
    for number in range(_MOST_ROUNDS):
        # Each gets one run at least; a comparison of two is as long as there is time.
        if number and (gone() > seconds or (len(left) == 1 and number >= _LEAST_ROUNDS)):
            return
        for candidate, outcome in left:
            progress(gone() / seconds, f"round {number + 1}, {len(left)} left")
            if number and gone() > seconds:
                return
            if number or not outcome.samples:
                _ran(candidate, outcome)
        left = [pair for pair in left if not pair[1].verdict]
        _drop_slow([outcome for _, outcome in left], unmeasured)
        left = [pair for pair in left if not pair[1].verdict]


def _ran(candidate: Candidate, outcome: Outcome) -> bool:
    try:
        outcome.samples.append(candidate.run())
    except Exception as error:  # as above
        outcome.verdict = f"failed: {_line(error)}"
    return not outcome.verdict


def _drop_slow(running: Sequence[Outcome], unmeasured: Outcome) -> None:
    """Says of those that are far behind that they are; not of the first candidate, with which others are compared."""
    if not running:
        return
    best = min(outcome.seconds or 0.0 for outcome in running)
    for outcome in running:
        far = FAR_BEHIND if len(outcome.samples) > 1 else _FAR_AT_ONCE
        if outcome is not unmeasured and min(outcome.samples) > far * best:
            runs = len(outcome.samples)
            outcome.verdict = f"dropped after {runs} run{'s' if runs > 1 else ''}"


def _decide(outcomes: Sequence[Outcome]) -> None:
    right = [outcome for outcome in outcomes if not outcome.verdict and outcome.samples]
    if not right:
        return
    winner = min(right, key=lambda outcome: outcome.seconds or 0.0)
    first = outcomes[0]
    if first in right and winner is not first and (winner.seconds or 0.0) > WORTH_IT * (first.seconds or 0.0):
        winner = first
    for outcome in right:
        outcome.verdict = "slower"
    winner.is_winner = True
    winner.verdict = "wins, as without tuning" if winner is first else "wins"


def _line(error: Exception) -> str:
    """The first line of an error, and what it is."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
