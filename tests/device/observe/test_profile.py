"""What a runtime says of the time that its commands took: a table, and a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import InputFileError, SettingError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.streams.completion import Timed
from ocl_runtime.observe.profile import Profile, Row
from ocl_runtime.runtime import Runtime

N = 1 << 16
MIB = 1 << 20


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, profile=True))
    with ocl.use(runtime):
        yield runtime


def test_a_table_of_what_ran(runtime: Runtime) -> None:
    x, y = ocl.asarray(np.ones(N, "f4")), ocl.asarray(np.ones((256, 512), "f4"))
    kept = []
    for _ in range(3):
        kept.append((x * 2 + 1).compute())
    kept.append((y[:, ::2] - 1).compute())  # reads every second element
    runtime.finish()
    function = "test_a_table_of_what_ran"
    rows = {row.what.removeprefix(f"{function}: kernel "): row for row in runtime.profile().rows}
    fused, strided = rows["mul_add"], rows["sub"]
    assert (fused.calls, fused.nbytes) == (3, 3 * 2 * 4 * N)
    assert (strided.calls, strided.nbytes) == (1, 2 * 4 * N)
    assert fused.time > 0
    assert fused.bandwidth == fused.nbytes / fused.time
    assert "test_profile.py:" in fused.where
    text = str(runtime.profile())
    assert text == repr(runtime.profile())
    head, *lines, last = text.splitlines()
    assert head.split() == ["command", "calls", "ms", "share", "µs", "each", "GB/s", "line"]
    assert any(re.search(r"mul_add +3 +[0-9.]+ +[0-9]+% +[0-9.]+ +[0-9.]+  .*test_profile.py:[0-9]+", line)
               for line in lines)  # fmt: skip
    assert last.split()[:2] == ["all", str(len(runtime.profile()))]


def test_the_nodes_of_a_replay_are_rows_with_their_bytes(runtime: Runtime) -> None:
    captured = ocl.capture(lambda x: ocl.cumulative_sum(x * 2, axis=1) - 1)
    x = ocl.asarray(np.ones((64, 256), "f4"))
    results = [captured(x) for _ in range(2)]
    runtime.finish()
    assert len(results) == 2
    kernels = [row for row in runtime.profile().rows if row.nbytes and row.calls == 2]
    assert len(kernels) == 2
    assert all(row.nbytes == 2 * 2 * 4 * 64 * 256 for row in kernels)


def test_the_most_time_comes_first() -> None:
    timed = [
        Timed("a", "f.py:1", 0, 0, 10, 40),
        Timed("b", "f.py:2", 0, 10, 90, 80),
        Timed("a", "f.py:1", 1, 20, 50, 40),
    ]
    assert Profile(timed).rows == [Row("b", "f.py:2", 1, 80, 80), Row("a", "f.py:1", 2, 40, 80)]
    assert [row.bandwidth for row in Profile(timed).rows] == [1.0, 2.0]
    assert str(Profile()).splitlines()[-1].split() == ["all", "0", "0.000"]


def test_a_console_and_a_notebook_show_the_table(runtime: Runtime) -> None:
    class Printer:
        def __init__(self) -> None:
            self.said: list[str] = []

        def text(self, what: str) -> None:
            self.said.append(what)

    shown: list[tuple[Any, str]] = [
        (runtime.profile(), str(runtime.profile())),
        (ocl.explain(ocl.ones(3) + 1), str(ocl.explain(ocl.ones(3) + 1)).rstrip("\n")),
    ]
    for value, text in shown:
        printer = Printer()
        value._repr_pretty_(printer, cycle=False)
        assert printer.said == [text] == [repr(value)]
    assert "1 kernel, " in repr(ocl.explain(ocl.ones(3) + 1))


def test_a_timeline_is_written(runtime: Runtime, tmp_path: Path) -> None:
    x = (ocl.asarray(np.ones(N, "f4")) * 2).compute()
    runtime.timeline(tmp_path / "timeline.html")
    page = (tmp_path / "timeline.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "mul" in page
    assert x.shape == (N,)
    runtime.timeline(str(tmp_path / "again.html"))
    with pytest.raises(InputFileError, match="the timeline cannot be written") as caught:
        runtime.timeline(tmp_path / "absent" / "timeline.html")
    assert str(tmp_path / "absent") in caught.value.place


def test_nothing_is_measured_unless_it_is_asked_for(device: Device, engine: Engine, tmp_path: Path) -> None:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        (ocl.ones(10) + 1).compute()
    runtime.finish()
    assert runtime.profile() == []
    assert "OCL_RUNTIME_PROFILE=on" in str(runtime.profile())
    with pytest.raises(SettingError, match="there is no timeline") as caught:
        runtime.timeline(tmp_path / "timeline.html")
    assert "OCL_RUNTIME_PROFILE=on" in caught.value.remedy
    assert "test_profile.py:" in caught.value.place
