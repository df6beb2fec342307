"""The line on the terminal while planning and building take long."""

from __future__ import annotations

import io
import sys
import time

import pytest

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import core, progress
from tests.support.interpreted import InterpretedRuntime


class Terminal(io.StringIO):
    """What standard error is when a person looks on."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error from now on; a fixture would be too early, since pytest puts its own there afterwards."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def wait(terminal: Terminal) -> None:
    """Until something is shown."""
    deadline = time.monotonic() + 30
    while not terminal.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_what_takes_long_is_shown_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress.progress(0.01):
        wait(terminal)
    shown = terminal.getvalue()
    assert "building kernels" in shown
    time.sleep(0.3)
    assert terminal.getvalue() == shown


def test_what_is_quick_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress.progress(0.05):
        pass
    time.sleep(0.15)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("missing", ["terminal", "rich"])
def test_nothing_is_shown_without_a_terminal_or_rich(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal() if missing == "rich" else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    if missing == "rich":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with progress.progress(0.0):
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_errors_come_through_and_end_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)

    def fails() -> None:
        with progress.progress(0.0):
            wait(terminal)
            raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        fails()
    shown = terminal.getvalue()
    assert "building kernels" in shown
    time.sleep(0.3)
    assert terminal.getvalue() == shown


def test_only_what_has_to_be_planned_may_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    began = []
    monkeypatch.setattr(core, "progress", lambda: began.append(True) or progress.progress())  # type: ignore[func-returns-value]
    with xp.use(InterpretedRuntime()):  # type: ignore[arg-type]
        x = xp.asarray([1.0, 2.0])
        for _ in range(3):
            (x * 3 + 1).compute()
    assert began == [True]
