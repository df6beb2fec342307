"""Who wins, with candidates and a clock that are written down here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ocl_runtime.tuning.contest import Outcome, WrongError, contest


class Clock:
    """It stands still unless somebody works."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Runner:
    """A candidate whose runs take the seconds that a function says, and preparing some more."""

    def __init__(
        self,
        name: str,
        seconds: float | Callable[[int], float],
        clock: Clock,
        *,
        error: float = 0.1,
        building: float = 0.01,
        prepares: Exception | None = None,
        runs: Exception | None = None,
    ) -> None:
        self.name, self.error, self.building = name, error, building
        self.seconds = seconds if callable(seconds) else lambda number: seconds
        self.clock, self.prepares, self.runs = clock, prepares, runs
        self.count = self.prepared = 0

    def prepare(self) -> float:
        self.prepared += 1
        self.clock.now += self.building
        if self.prepares is not None:
            raise self.prepares
        return self.error

    def run(self) -> float:
        if self.runs is not None:
            raise self.runs
        taken = self.seconds(self.count)
        self.count += 1
        self.clock.now += taken
        return taken


def by_name(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    return {outcome.name: outcome for outcome in outcomes}


def winner(outcomes: Sequence[Outcome]) -> str:
    (won,) = (outcome.name for outcome in outcomes if outcome.is_winner)
    return won


def test_the_fastest_wins() -> None:
    clock = Clock()
    found = contest([Runner("first", 0.010, clock), Runner("b", 0.008, clock), Runner("c", 0.009, clock)], 5, clock)
    assert winner(found) == "b"
    assert [outcome.verdict for outcome in found] == ["slower", "wins", "slower"]
    assert [outcome.seconds for outcome in found] == [0.010, 0.008, 0.009]


def test_one_slow_run_does_not_lose() -> None:
    clock = Clock()
    hiccup = Runner("b", lambda number: 0.5 if number == 2 else 0.008, clock)
    assert winner(contest([Runner("first", 0.010, clock), hiccup], 5, clock)) == "b"


def test_what_is_as_good_within_the_noise_changes_nothing() -> None:
    clock = Clock()
    found = contest([Runner("first", 0.0100, clock), Runner("b", 0.0099, clock)], 5, clock)
    assert winner(found) == "first"
    assert found[0].verdict == "wins, as without tuning"


def test_what_is_wrong_never_wins() -> None:
    clock = Clock()
    wrong = Runner("b", 0.001, clock, prepares=WrongError("7 of 9 elements are wrong"))
    found = contest([Runner("first", 0.010, clock), wrong], 5, clock)
    assert winner(found) == "first"
    assert by_name(found)["b"].verdict == "wrong: 7 of 9 elements are wrong"
    assert wrong.count == 0, "nobody waits for what is wrong"


def test_what_fails_to_build_or_to_run_never_wins() -> None:
    clock = Clock()
    unbuilt = Runner("b", 0.001, clock, prepares=RuntimeError("no such instruction\nand more"))
    refused = Runner("c", 0.001, clock, runs=RuntimeError("out of resources"))
    found = contest([Runner("first", 0.010, clock), unbuilt, refused], 5, clock)
    assert winner(found) == "first"
    assert by_name(found)["b"].verdict == "failed: RuntimeError: no such instruction"
    assert by_name(found)["c"].verdict == "failed: RuntimeError: out of resources"


def test_what_fails_after_some_runs_never_wins() -> None:
    clock = Clock()

    def sometimes(number: int) -> float:
        if number == 4:
            raise RuntimeError("lost")
        return 0.001

    found = contest([Runner("first", 0.0012, clock), Runner("b", sometimes, clock)], 5, clock)
    assert winner(found) == "first"
    assert by_name(found)["b"].verdict == "failed: RuntimeError: lost"


def test_without_a_right_one_nobody_wins() -> None:
    clock = Clock()
    wrong = [Runner(name, 0.001, clock, prepares=WrongError("NaN")) for name in "ab"]
    found = contest(wrong, 5, clock)
    assert not any(outcome.is_winner for outcome in found)
    assert [outcome.verdict for outcome in found] == ["wrong: NaN", "wrong: NaN"]


def test_where_the_first_is_wrong_another_wins() -> None:
    clock = Clock()
    found = contest([Runner("first", 0.001, clock, prepares=WrongError("NaN")), Runner("b", 0.01, clock)], 5, clock)
    assert winner(found) == "b"
    assert found[1].verdict == "wins"


@pytest.mark.parametrize("seconds", [0.5, 2.0, 20.0])
def test_the_seconds_are_kept(seconds: float) -> None:
    clock = Clock()
    runners = [Runner(f"v{number}", 0.05 + number / 1e4, clock, building=0.03) for number in range(12)]
    contest(runners, seconds, clock)
    # A candidate that is being built, and a run that has begun, may end; each that is right runs once.
    assert clock.now - 100 <= seconds + 0.03 + 12 * 0.06
    if seconds == 20.0:
        assert all(runner.count >= 20 for runner in runners), "the time is used"


def test_what_there_is_no_time_for_is_not_tried() -> None:
    clock = Clock()
    runners = [Runner(f"v{number}", 0.01, clock, building=1.0) for number in range(10)]
    found = contest(runners, 4, clock)
    assert [runner.prepared for runner in runners] == [1] * 3 + [0] * 7
    assert {outcome.verdict for outcome in found[3:]} == {"not tried: no time left"}
    assert winner(found) == "v0"


def test_runs_that_take_longer_than_the_seconds_are_done_once() -> None:
    clock = Clock()
    found = contest([Runner("first", 10.0, clock), Runner("b", 1.0, clock)], 1, clock)
    assert [outcome.samples for outcome in found] == [[10.0], [1.0]]
    assert winner(found) == "b"


def test_who_is_far_behind_is_dropped_early() -> None:
    clock = Clock()
    slow, very_slow = Runner("slow", 0.02, clock), Runner("very slow", 0.1, clock)
    fast = Runner("first", 0.01, clock)
    found = by_name(contest([fast, slow, very_slow], 2, clock))
    assert (slow.count, very_slow.count) == (2, 1)
    assert found["slow"].verdict == "dropped after 2 runs"
    assert found["very slow"].verdict == "dropped after 1 run"
    assert fast.count > 10


def test_runs_are_interleaved() -> None:
    clock = Clock()
    order: list[str] = []

    def noted(name: str) -> Runner:
        return Runner(name, lambda number: order.append(name) or 0.01, clock)

    contest([noted("a"), noted("b"), noted("c")], 3, clock)
    warm = order.index("b") - 1  # the last run that brings the device to speed counts
    assert warm > 1
    assert set(order[:warm]) == {"a"}, "one of them brings the device to speed"
    assert "".join(order[warm : warm + 9]) == "abcabcabc"


def test_a_device_that_grows_slower_slows_all_alike() -> None:
    clock = Clock()

    def heated(base: float) -> Callable[[int], float]:
        return lambda number: base * (1 + number / 20)

    assert winner(contest([Runner("first", heated(0.01), clock), Runner("b", heated(0.009), clock)], 5, clock)) == "b"


def test_an_interrupt_is_no_verdict() -> None:
    clock = Clock()
    with pytest.raises(KeyboardInterrupt):
        contest([Runner("first", 0.01, clock, runs=KeyboardInterrupt())], 1, clock)  # type: ignore[arg-type]


def test_progress_is_told() -> None:
    clock = Clock()
    told: list[tuple[float, str]] = []
    contest(
        [Runner("first", 0.1, clock), Runner("b", 0.1, clock)], 2, clock, lambda part, text: told.append((part, text))
    )
    assert told[0] == (0.0, "trying first")
    assert [part for part, _ in told] == sorted(part for part, _ in told)
    assert told[-1][1].startswith("round ")
