"""ocl-bench on the device: every case is right, by this library and by hand, and the command measures and compares."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.commands.bench import command, peers
from ocl_runtime.commands.bench.case import DTYPES, Case
from ocl_runtime.commands.bench.cases import CASES, elementwise
from ocl_runtime.commands.bench.ceilings import Ceilings
from ocl_runtime.commands.bench.command import main
from ocl_runtime.commands.bench.data import Data
from ocl_runtime.commands.bench.measure import Result, Session
from ocl_runtime.commands.bench.opencl import OpenCL
from ocl_runtime.commands.bench.peers.base import LeftOut, Value
from ocl_runtime.commands.bench.peers.by_hand import _RECIPES, ByHand
from ocl_runtime.commands.bench.peers.ours import Computed, Ours
from ocl_runtime.commands.bench.samples import Sample
from ocl_runtime.commands.bench.verify import Reference
from ocl_runtime.device import Device
from ocl_runtime.errors import Error
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.depth import NIGHTLY

CASE = {case.key: case for case in CASES}


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, dataclasses.replace(engine.settings, profile=True))


@pytest.mark.sample(14)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_every_case_is_numpys_and_is_computed_in_each_round(runtime: Runtime, case: Case) -> None:
    sizes = [(case.dtypes[0], 2**10), (case.dtypes[0], 3001)]
    sizes += [(dtype, 2**10) for dtype in case.dtypes[1:] if NIGHTLY]  # PoCL takes a second to build each
    for dtype, size in sizes:
        if not runtime.device.capabilities.computes(dtype) and dtype != "f16":
            continue
        inputs = case.inputs(Data(), size, DTYPES[dtype])
        try:
            prepared = Ours(OpenCL(runtime)).prepare(case, [inputs])
        except LeftOut as reason:
            pytest.skip(str(reason))
        Reference(case, inputs).check(prepared.results(0))
        sample = prepared.time(0)
        assert sample.device is not None
        assert sample.span is not None
        assert 0 < sample.device <= sample.span
        both = prepared._timed(0, occupied=False)  # on both clocks in one run: of two, one may be beside other work
        assert both.device is not None
        assert both.span is not None
        assert 0 < both.device <= both.span <= both.wall
        if not case.writes:
            Reference(case, inputs).check(prepared.results(0))


@pytest.mark.parametrize("key", _RECIPES)
def test_what_is_written_by_hand_is_right(runtime: Runtime, key: str) -> None:
    case, size = CASE[key], 2**16
    sets = [case.inputs(Data(seed), size, DTYPES[case.dtypes[0]]) for seed in range(2)]
    prepared = ByHand(OpenCL(runtime)).prepare(case, sets)
    for turn in range(3):
        Reference(case, sets[turn % 2]).check(prepared.results(turn))
        assert prepared.time(turn).device is not None


def test_a_gpu_is_busy_when_its_clock_is_read(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured begins when copies have ended, on the queues of the runtime, too."""
    opencl = OpenCL(runtime)
    monkeypatch.setattr(opencl, "kind", "gpu")
    case, began = CASE["negative"], list[Any]()
    inputs = [case.inputs(Data(0), 2**12, DTYPES["f32"])]
    enqueue = opencl.enqueue

    def noted(launch: Any) -> Any:
        began.append((launch, enqueue(launch)))
        return began[-1][1]

    monkeypatch.setattr(opencl, "enqueue", noted)
    streams = runtime.executor.engine.streams
    for prepared in (Ours(opencl).prepare(case, inputs), ByHand(opencl).prepare(case, inputs)):
        prepared.time(0)
        began.clear()
        streams.profile.clear()
        sample = prepared.time(1)
        copies = [event for launch, event in began if launch is opencl._filler]
        starts = [event.profile.start for launch, event in began if launch is not opencl._filler][1:]  # the host's run
        starts += [timed.start for timed in streams.profile]
        assert len(copies) == opencl._fillings >= 1
        assert starts
        assert min(starts) >= copies[-1].profile.end
        assert sample.device is not None


def test_nothing_is_timed_that_is_not_computed(runtime: Runtime) -> None:
    x = np.ones(1024, np.float32)
    view = dataclasses.replace(CASE["negative"], expression=lambda _, x: x[::2])
    with pytest.raises(Error, match="nothing was computed"):
        Ours(OpenCL(runtime)).prepare(view, [(x,)]).time(0)


def test_ceilings_are_those_of_the_size_and_the_work(runtime: Runtime) -> None:
    ceilings = Ceilings(OpenCL(runtime), "wall", rounds=2)
    read, copy = ceilings.bandwidth("read", 2**20 + 100), ceilings.bandwidth("copy", 2**20)
    assert (copy.nbytes, read.nbytes) == (2**20, 2**20)
    assert ceilings.bandwidth("copy", 2**20 + 100) is copy
    assert (
        ceilings.bandwidth("copy", 2**24).nbytes == 2**24
    )  # in new buffers, which the others take parts of from now on
    assert ceilings.bandwidth("copy", 2**20) is not copy
    samples = [Sample(1e-3), Sample(2e-3), Sample(9.0)]
    found = ceilings.of(copy, samples, 2**21, 0.0, "f32")
    assert (found.kind, found.rate, found.seconds) == ("copy", 2**20 / 2e-3, pytest.approx(4e-3))
    assert ceilings.of(copy, samples, 2**20, 1e15, "f32").kind == "arithmetic"
    assert ceilings.of(copy, samples, 2**20, 1e15, "i32").kind == "copy"
    assert ceilings.rates["float"] > 1e8
    for bandwidth in (copy, read):
        assert bandwidth.time(3).wall > 0


def test_what_the_device_has_no_memory_for_is_left_out(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Ours(OpenCL(runtime))
    session = Session(ours, (), Ceilings(OpenCL(runtime), "wall"), Data(), 1, 0.1)
    small = dataclasses.replace(runtime.device.capabilities, global_memory=2**16)
    monkeypatch.setattr(Session, "_capabilities", property(lambda _: small))
    found = session.measure(CASE["a*b+c"], 2**12, "f32")
    assert found.left_out["ocl"].startswith("needs ")
    assert found.ours is None
    assert not found.wrong


def test_peers_that_are_not_there_are_named(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    found, left_out = peers.make(peers.NAMES, OpenCL(runtime))
    assert [peer.name for peer in found] == ["opencl", "numpy"]
    assert set(left_out) == set(peers.NAMES) - {"opencl", "numpy"}
    assert left_out["torch"] == "not installed"


def measured(*arguments: str) -> int:
    return main([*arguments, "--sizes", "2^12", "--rounds", "3", "--peers", "opencl,numpy"])


def test_the_command_measures_writes_and_compares(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCL_RUNTIME_CACHE", "off")
    monkeypatch.setenv("OCL_RUNTIME_DEVICE", device.key)
    new, plot, roofline = (tmp_path / name for name in ("new.json", "plot.svg", "roofline.svg"))
    cases = ("--cases", "a*b+c", "sum-last", "build-chain")
    assert measured(*cases, "--json", str(new), "--plot", str(plot), "--roofline", str(roofline)) == 0
    out, err = capsys.readouterr()
    assert device.capabilities.name in out
    assert "a*b + c" in out
    assert "[3/3]" in err
    found = json.loads(new.read_text(encoding="utf-8"))
    assert {case["key"] for case in found["cases"]} == {"a*b+c", "sum-last", "build-chain"}
    by_key = {case["key"]: case for case in found["cases"]}
    assert set(by_key["a*b+c"]["timings"]) == {"ocl", "opencl", "numpy"}
    assert all("<svg" in path.read_text(encoding="utf-8") for path in (plot, roofline))

    for case in found["cases"]:
        for sample in case["timings"]["ocl"]["samples"]:
            sample |= {clock: 1e-12 for clock, value in sample.items() if value}
    monkeypatch.setattr(Computed, "time", lambda _, turn: Sample(1e-3, 1e-3, 1e-3))  # whatever else the machine does
    old = tmp_path / "old.json"
    old.write_text(json.dumps(found), encoding="utf-8")
    assert measured("--cases", "sum-last", "--compare", str(old)) == 1
    assert "1 of 1 cases are slower" in capsys.readouterr().out

    for case in found["cases"]:
        for sample in case["timings"]["ocl"]["samples"]:
            sample |= {clock: 1e3 for clock, value in sample.items() if value}
    old.write_text(json.dumps(found), encoding="utf-8")
    assert measured("--cases", "sum-last", "--compare", str(old)) == 0
    assert "0 of 1 cases are slower" in capsys.readouterr().out


def test_a_wrong_result_ends_in_1_and_is_not_timed(
    device: Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice_for_arrays(_: Any, x: Any) -> Any:
        return x * 2 if isinstance(x, ocl.Array) else x * 1

    wrong = dataclasses.replace(elementwise.CASES[0], expression=twice_for_arrays)
    monkeypatch.setattr(command, "GROUPS", {"elementwise": (wrong,)})
    monkeypatch.setenv("OCL_RUNTIME_DEVICE", device.key)
    assert measured() == 1
    out = capsys.readouterr().out
    assert "-x, f32, 2^12: wrong: " in out
    assert "GB/s" not in out


def test_dtypes_that_no_case_has_are_refused(
    device: Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCL_RUNTIME_DEVICE", device.key)
    assert measured("--cases", "stencil-9", "--dtypes", "i8") == 1
    assert "none of the cases has one of these dtypes" in capsys.readouterr().err


def test_a_file_that_is_no_run_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured("--compare", str(tmp_path / "absent.json")) == 1
    out, err = capsys.readouterr()
    assert err.startswith("ocl-bench: ")
    assert out == ""


@pytest.mark.parametrize("option", ["--json", "--plot", "--roofline"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.json"
    assert measured("--json", str(new), option, str(tmp_path / "absent" / "file")) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"ocl-bench: {tmp_path / 'absent' / 'file'} cannot be written")
    assert out == ""
    assert not new.exists()


def test_pictures_come_after_the_comparison(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OCL_RUNTIME_DEVICE", device.key)
    old, plot = tmp_path / "old.json", tmp_path / "plots" / "plot.svg"
    assert measured("--cases", "sum-last", "--json", str(old)) == 0
    plot.parent.mkdir()
    measure = Session.measure

    def vanishing(self: Session, case: Case, size: int, dtype: str) -> Result:
        plot.parent.rmdir()
        return measure(self, case, size, dtype)

    monkeypatch.setattr(Session, "measure", vanishing)
    assert measured("--cases", "sum-last", "--compare", str(old), "--plot", str(plot)) == 1
    out, err = capsys.readouterr()
    assert "of 1 cases are slower" in out
    assert f"{plot} cannot be written" in err


def test_what_was_measured_is_written_though_the_next_case_ends_the_run(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measure = Session.measure

    def interrupted(self: Session, case: Case, size: int, dtype: str) -> Result:
        if case.key == "sum-first":
            raise KeyboardInterrupt
        return measure(self, case, size, dtype)

    monkeypatch.setattr(Session, "measure", interrupted)
    monkeypatch.setenv("OCL_RUNTIME_DEVICE", device.key)
    path = tmp_path / "new.json"
    assert measured("--cases", "sum-last", "sum-first", "sum-all", "--json", str(path)) == 130
    assert [case["key"] for case in json.loads(path.read_text(encoding="utf-8"))["cases"]] == ["sum-last"]
    assert "sum, last axis" in capsys.readouterr().out


class Broken:
    """A peer that does not compute, or computes something else, or fails later."""

    about = clock = ""

    def __init__(self, name: str) -> None:
        self.name = name
        self.timed = 0

    def prepare(self, case: Case, sets: list[Any]) -> Broken:
        if self.name == "absent":
            raise LeftOut("not written")
        return self

    def results(self, turn: int) -> tuple[Value, ...]:
        return (Value.of(np.zeros(2**12, np.float32)),)

    def time(self, turn: int) -> Sample:
        self.timed += 1
        if self.name == "failing" and self.timed > 2:
            raise RuntimeError("out of memory")
        return Sample(1e-3)


def test_peers_that_fail_are_named_and_the_case_is_measured(runtime: Runtime) -> None:
    others = [Broken("absent"), Broken("wrong"), Broken("failing")]
    session = Session(Ours(OpenCL(runtime)), others, Ceilings(OpenCL(runtime), "device"), Data(), 4, 1.0)
    zero = dataclasses.replace(CASE["negative"], expression=lambda _, x: x * 0)
    found = session.measure(zero, 2**12, "f32")
    assert set(found.timings) == {"ocl", "wrong"}
    assert found.left_out == {"absent": "not written", "failing": "RuntimeError: out of memory"}
    found = session.measure(CASE["negative"], 2**12, "f32")
    assert set(found.timings) == {"ocl"}
    assert found.left_out["wrong"].startswith("wrong: 40")
    assert len(found.timings["ocl"].samples) == 4
    assert found.of_ceiling is not None
