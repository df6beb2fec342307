"""The table that a person reads."""

from __future__ import annotations

import io

from ocl_runtime.tuning.bar import bar
from ocl_runtime.tuning.contest import Outcome
from ocl_runtime.tuning.report import Report, Tuned


def outcomes() -> list[Outcome]:
    return [
        Outcome("blocks 4x2 parts 1", [2e-3, 2e-3], 0.25, "slower"),
        Outcome("tiles 2x2x4x2 parts 1", [1e-3, 1.5e-3, 1e-3], 0.031, "wins", is_winner=True),
        Outcome("blocks 8x2 parts 1", [], None, "failed: BuildError: no"),
        Outcome("blocks 8x1 parts 1", [4e-5], 0.5, "dropped after 1 run"),
    ]


def test_the_winner_comes_first_and_what_never_ran_last() -> None:
    report = Report("a device", [Tuned("a problem", 2e6, outcomes(), True)])
    assert str(report) == repr(report)
    assert str(report).splitlines() == [
        "a device",
        "",
        "a problem: 2.00 times as fast as without tuning",
        "variant                  median  GFLOP/s  runs  error  verdict",
        "tiles 2x2x4x2 parts 1  1.000 ms      2.0     3   0.03  wins",
        "blocks 8x1 parts 1      40.0 µs     50.0     1   0.50  dropped after 1 run",
        "blocks 4x2 parts 1     2.000 ms      1.0     2   0.25  slower",
        "blocks 8x2 parts 1                                     failed: BuildError: no",
    ]


def test_what_is_not_kept_and_not_right_is_said() -> None:
    assert "kept for this process only" in str(Tuned("p", 1.0, outcomes(), False))
    none = Tuned("p", 1.0, outcomes()[2:3], False)
    assert str(none).startswith("p: no variant is right\n")
    assert (none.winner, none.gain) == (None, 1.0)
    assert "no time was left for 2 more" in str(Report("a device", [none], left_out=2))
    assert "nothing to tune" in str(Report("a device"))


def test_without_a_terminal_each_problem_is_a_line() -> None:
    stream = io.StringIO()
    with bar(stream) as show:
        show(0.0, "one: trying a")
        show(0.2, "one: trying b")
        show(0.5, "two: trying a")
    assert stream.getvalue() == "tuning one\ntuning two\n"
