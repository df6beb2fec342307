from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys

import pytest

from ocl_runtime.commands.devices import main
from ocl_runtime.device import all_devices, choose, report, rows_for
from tests.support.checkout import PYTHONPATH, ROOT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_short_listing() -> None:
    stream = io.StringIO()
    assert report.report(stream) == 0
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4 * len(all_devices()) + 1  # its name, its use, what it has, and an empty line
    assert [line for line in lines if line and not line.startswith(" ")] == [*map(str, all_devices()), lines[-1]]
    assert lines[-1] == f"chosen: {choose()}"


def test_the_listing_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [device["key"] for device in found] == [device.key for device in all_devices()]
    assert [device["key"] for device in found if device["chosen"]] == [choose().key]
    for device, same in zip(found, all_devices(), strict=True):
        assert device["name"] == same.capabilities.name
        assert set(device["extensions"]) == same.capabilities.extensions
        assert device["quirks"]["group_size"] == same.quirks.group_size
        assert device["usable"] or "cannot be used" in device["use"]


def test_every_device_with_its_quirks_and_the_chosen_one() -> None:
    stream = io.StringIO()
    assert report.report(stream, "verbose") == 0
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


def test_the_command_takes_one_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--verbose"]) == 0
    assert "quirk" in capsys.readouterr().out
    assert main([]) == 0
    assert "quirk" not in capsys.readouterr().out
    for wrong in (["--verbose", "--json"], ["--all"], ["gpu"]):
        with pytest.raises(SystemExit, match="2"):
            main(wrong)


def test_a_setting_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OCL_RUNTIME_STREAMS", "many")
    assert main([]) == 1
    assert "ocl-devices: OCL_RUNTIME_STREAMS has a value that makes no sense" in capsys.readouterr().err


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
