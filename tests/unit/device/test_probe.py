from __future__ import annotations

from pathlib import Path

import pytest

from ocl_runtime.device import Device, choose, probe, trial
from tests.support.fakes import device


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_known", set())


@pytest.fixture(scope="module")
def chosen() -> Device:
    return choose()


def test_a_working_device_works(chosen: Device) -> None:
    assert probe.run(chosen) is None


def test_the_verdict_is_remembered(chosen: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe.fault(chosen, tmp_path) is None
    monkeypatch.setattr(probe, "_probe_in_child", lambda _: "probed again")
    assert probe.fault(chosen, tmp_path) is None  # in memory
    probe._known.clear()
    assert probe.fault(chosen, tmp_path) is None  # on disk
    probe._known.clear()
    monkeypatch.setattr(probe, "identity", lambda: "another driver")
    assert probe.fault(chosen, tmp_path) == "probed again"


def test_a_bad_verdict_is_not_remembered(chosen: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = iter(["broken", None])
    monkeypatch.setattr(probe, "_probe_in_child", lambda _: next(verdicts))
    assert probe.fault(chosen, tmp_path) == "broken"
    assert probe.fault(chosen, tmp_path) is None


def test_a_damaged_verdict_counts_for_nothing(chosen: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe.fault(chosen, tmp_path) is None
    for file in (tmp_path / "devices").iterdir():
        file.write_bytes(b"")
    probe._known.clear()
    monkeypatch.setattr(probe, "_probe_in_child", lambda _: "probed again")
    assert probe.fault(chosen, tmp_path) == "probed again"


@pytest.mark.parametrize(
    ("child", "reason"),
    [
        ("import os, sys; print('assertion failed', file=sys.stderr); sys.stderr.flush(); os.abort()", "SIGABRT"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import time; time.sleep(60)", "did not finish"),
    ],
)
def test_a_driver_that_crashes_or_hangs_harms_nobody(
    chosen: Device, monkeypatch: pytest.MonkeyPatch, child: str, reason: str
) -> None:
    monkeypatch.setattr(trial, "CHILD", child)
    monkeypatch.setattr(trial, "TIME_LIMIT", 1.0)
    assert reason in (probe.fault(chosen, None) or "")


def test_a_driver_may_print(chosen: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "CHILD", "print('Welcome to OpenCL')" + trial.CHILD)
    assert probe.fault(chosen, None) is None


def test_a_device_the_child_does_not_see_is_probed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "run", lambda _: "probed here")
    assert probe.fault(device(), None) == "probed here"


def test_without_an_interpreter_to_start_it_is_probed_here(chosen: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "")
    assert probe.fault(chosen, None) is None
    probe._known.clear()
    monkeypatch.setattr("sys.executable", "/no/such/python")
    assert probe.fault(chosen, None) is None


def test_wrong_numbers(chosen: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SOURCE", probe.SOURCE.replace("* 2 + 1", "* 2"))
    assert "wrong numbers" in (probe.run(chosen) or "")


def test_a_compiler_that_fails(chosen: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SOURCE", "__kernel void probe() { nope; }")
    reason = probe.run(chosen) or ""
    assert reason.startswith("it cannot build a trivial kernel")
    assert "nope" in reason


def test_a_kernel_that_cannot_run(chosen: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SOURCE", "__kernel void other() { }")
    assert (probe.run(chosen) or "").startswith("it cannot run a trivial kernel")


def test_a_device_without_a_compiler() -> None:
    assert probe.run(device(has_compiler=False)) == "the driver has no compiler"
