from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys

import pytest

from ocl_runtime.device import all_devices, choose, report, rows_for
from tests.checkout import PYTHONPATH, ROOT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_every_device_with_its_quirks_and_the_chosen_one() -> None:
    stream = io.StringIO()
    assert report.report(stream) == 0
    text = stream.getvalue()
    for device in all_devices():
        assert str(device) in text
        assert all(row.name in text and row.reason in text for row in rows_for(device.capabilities))
    assert text.endswith(f"chosen: {choose()}\n")


def test_on_a_terminal_it_is_a_table_if_rich_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    has_rich = importlib.util.find_spec("rich") is not None
    stream = Terminal()
    assert report.report(stream) == 0
    assert ("┃" in stream.getvalue() or "│" in stream.getvalue()) == has_rich
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    stream = Terminal()
    assert report.report(stream) == 0
    assert "│" not in stream.getvalue()


def test_without_a_usable_device_the_exit_code_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_RUNTIME_DEVICE", "no such device")
    stream = io.StringIO()
    assert report.report(stream) == 1
    assert "no device is like 'no such device'" in stream.getvalue()


def test_the_commands() -> None:
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH}  # as if installed
    listings = [
        subprocess.run([sys.executable, *how], cwd=ROOT, env=environ, capture_output=True, text=True, check=True).stdout
        for how in (["-m", "ocl_runtime"], ["tools/devices.py"])
    ]
    assert listings[0] == listings[1]
    assert "chosen: " in listings[0]


@pytest.mark.parametrize(("number", "text"), [(512, "512 B"), (49152, "48 KiB"), (2**31, "2 GiB"), (2**43, "8192 GiB")])
def test_sizes(number: int, text: str) -> None:
    assert report._size(number) == text
