"""Host programs in a dump: shown by ocl-dump, and written with their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.schedule import Schedule
from ocl_ir.types import F32
from ocl_runtime.execute.engine import Engine
from ocl_runtime.observe.dump import FolderDump
from ocl_runtime.observe.stages import PROGRAM_NAMES
from ocl_runtime.plan.host.prepare import PIPELINE, Outcome
from tests.support.arrays import python
from tests.support.checkout import ROOT

CAPTURED = """
import numpy as np
import ocl_runtime as ocl

@ocl.capture
def step(x):
    with ocl.stream(1):
        y = (x - 1).compute()
    return y * y

for _ in range(2):
    print(step(ocl.asarray(np.arange(4, dtype="f4"))).numpy().tolist())
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(CAPTURED)
    return path


def run(*arguments: str, cwd: Path, cache: Path) -> Any:
    env: dict[str, str | None] = {"OCL_RUNTIME_CACHE": str(cache), "OCL_RUNTIME_DUMP": None}
    return python(str(ROOT / "tools" / "kernel_dump.py"), *arguments, cwd=cwd, env=env)


def titles(text: str) -> list[str]:
    return [line.strip("─ ") for line in text.splitlines() if line.startswith("── ")]


def test_a_host_program_is_shown_once_before_its_kernels(program: Path, tmp_path: Path, cache_folder: Path) -> None:
    stages = [part for stage in (*PROGRAM_NAMES, "graph", "source") for part in ("--stage", stage)]
    done = run(str(program), *stages, cwd=tmp_path, cache=cache_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("[1.0, 0.0, 1.0, 4.0]\n[1.0, 0.0, 1.0, 4.0]\n")
    assert titles(done.stdout) == [
        "step: program", "step: passes", "step: schedule", "step: streams", "step: streams", "step: memory",
        "sub: graph", "sub: source", "mul: graph", "mul: source"
    ]  # fmt: skip
    for shown in (
        "\nprogram step(",
        "\n  launch sub(",
        "\nstep with n0_0 = 4: 2 nodes on ",
        "stream 1: sub: reads ",
        "in 003_step\n",
    ):
        assert shown in done.stdout
    assert "<svg" not in done.stdout
    assert "\ndigraph " in done.stdout
    for picture in ("streams.svg", "memory.svg"):
        assert f"\na picture: --out FOLDER writes {picture}\n" in done.stdout


def test_a_folder_has_the_pictures_of_a_program(program: Path, tmp_path: Path, cache_folder: Path) -> None:
    out = tmp_path / "out"
    done = run(str(program), "--out", str(out), cwd=tmp_path, cache=cache_folder)
    assert done.stdout.endswith(f"2 kernels and 1 programs in {out}\n")
    assert sorted(path.name for path in out.iterdir()) == ["001_plan", "002_plan", "003_step", "004_sub", "005_mul"]
    names = ["memory.svg", "passes.txt", "program.txt", "schedule.txt", "streams.dot", "streams.svg"]
    assert sorted(path.name for path in (out / "003_step").iterdir()) == names
    for name in ("streams.svg", "memory.svg"):
        assert ElementTree.parse(out / "003_step" / name).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert [file.name for file in (out / "004_sub").glob("*graph*")] == ["00_graph.txt"]
    some = run(str(program), "--out", "some", "--stage", "streams", cwd=tmp_path, cache=cache_folder)
    assert some.returncode == 0
    kept = sorted(str(path.relative_to(tmp_path / "some")) for path in (tmp_path / "some").rglob("*.*"))
    assert kept == [str(Path("003_step") / name) for name in ("streams.dot", "streams.svg")]


def test_a_running_program_writes_the_same_pictures(program: Path, tmp_path: Path, cache_folder: Path) -> None:
    assert run(str(program), "--out", "by_command", cwd=tmp_path, cache=cache_folder).returncode == 0
    env: dict[str, str | None] = {
        "OCL_RUNTIME_CACHE": str(cache_folder),
        "OCL_RUNTIME_DUMP": str(tmp_path / "by_variable"),
    }
    assert python(str(program), cwd=tmp_path, env=env).returncode == 0
    for name in ("program.txt", "schedule.txt", "streams.dot", "streams.svg", "memory.svg"):
        one, other = ((tmp_path / by / "003_step" / name).read_text() for by in ("by_command", "by_variable"))
        assert one == other


def test_kernels_compiled_later_are_not_said_to_be_the_programs(
    program: Path, tmp_path: Path, cache_folder: Path
) -> None:
    program.write_text(CAPTURED + 'print((ocl.asarray(np.ones(3, dtype="f4")) * 7).numpy())\n')
    done = run(str(program), "--out", "out", cwd=tmp_path, cache=cache_folder)
    assert (done.returncode, done.stderr) == (0, "")
    graphs = {path.parent.name: path.read_text() for path in (tmp_path / "out").rglob("*_graph.txt")}
    last = graphs.pop(max(graphs))
    assert "mul(a, 7.0)" in last
    assert set(graphs.values()) == {"program step, in 003_step\n"}


class Seen(FolderDump):
    """A recorder that also remembers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.programs: list[Schedule] = []

    def prepared(self, schedule: Schedule, stages: Sequence[tuple[str, Outcome]]) -> None:
        self.programs.append(schedule)
        super().prepared(schedule, stages)


def test_a_program_is_dumped_once_for_each_choice_of_sizes(engine: Engine, tmp_path: Path) -> None:
    p = HostBuilder("copied")
    n = p.size("n")
    x, between = p.input("x", F32, (n,)), p.alloc(F32, (n,))
    program = p.build(p.copy(p.alloc(F32, (n,)), p.copy(between, x)))
    seen = Seen(tmp_path)
    runtime = ocl.Runtime(engine.device, engine.settings, seen)
    copied = ocl.prepare(program, runtime)
    with ocl.use(runtime):
        for length in (4, 4, 8, 4):
            found = copied(ocl.asarray(np.arange(length, dtype="f4")))
            assert isinstance(found, ocl.Array)
            assert found.numpy().tolist() == list(range(length))
    assert [dict(schedule.bound) for schedule in seen.programs] == [{"n": 4}, {"n": 8}]
    assert seen.programs[1].memory == copied.prepared({"n": 8})[1]
    assert seen.programs[1].offsets
    assert all(node.stream is not None for node in seen.programs[1].nodes)
    passes = sorted(tmp_path.glob("*_copied/passes.txt"))[0].read_text().splitlines()
    assert [line[:-1] for line in passes if line.endswith(":")] == ["bound", *(one.name for one in PIPELINE)]
    texts = [path.read_text() for path in sorted(tmp_path.glob("*_copied/schedule.txt"))]
    assert [text.splitlines()[0].partition(":")[0] for text in texts] == ["copied with n = 4", "copied with n = 8"]


def normalised(x: ocl.Array) -> ocl.Array:
    y = x / ocl.sum(x, axis=1, keepdims=True)
    return y / ocl.sum(y * y)


def test_an_evaluation_of_several_kernels_is_dumped_once_for_each_choice_of_sizes(
    engine: Engine, tmp_path: Path
) -> None:
    seen = Seen(tmp_path)
    with ocl.use(ocl.Runtime(engine.device, engine.settings, seen)):
        for length in (8, 8, 24):
            x = np.arange(1, 8 * length + 1, dtype="f4").reshape(8, length)
            expected = x / x.sum(axis=1, keepdims=True)
            expected /= (expected * expected).sum()
            np.testing.assert_allclose(normalised(ocl.asarray(x)).numpy(), expected, rtol=1e-4)
            (ocl.asarray(x) * 2).compute()  # one kernel is no program to look at
    assert len(seen.programs) == 2
    for schedule in seen.programs:
        assert len(schedule.nodes) > 1
        memory = schedule.memory
        assert memory is not None
        assert memory.arena >= memory.live > 0
        assert {node.what.partition(": ")[0] for node in schedule.nodes} == {"normalised"}
        assert all("test_dump_programs.py:" in str(node.command.where) for node in schedule.nodes)
    folders = sorted(tmp_path.glob("*_evaluation"))
    assert [path.name for path in sorted(folders[0].iterdir())] == [
        "memory.svg", "passes.txt", "program.txt", "schedule.txt", "streams.dot", "streams.svg",
    ]  # fmt: skip
    assert "normalised: " in (folders[0] / "streams.svg").read_text()
    for folder in folders:  # the last pass that ran is what the schedule shows
        shown = (folder / "passes.txt").read_text()
        assert shown.startswith("bound:\n")
        assert "stream None: normalised: " in shown
    plans = [path.parent.name for path in sorted(tmp_path.glob("*_plan/groups.txt"))]
    assert plans[0] == "001_plan"
    assert f"{Path(__file__).name}:" in (tmp_path / plans[0] / "groups.txt").read_text()
    assert "  joins " in (tmp_path / plans[0] / "bundles.txt").read_text()


def test_who_looks_on_changes_nothing_of_what_is_captured(engine: Engine, tmp_path: Path) -> None:
    captured: list[int] = []
    for recorder in (None, FolderDump(tmp_path)):

        @ocl.capture
        def scaled(x: ocl.Array, factor: float) -> ocl.Array:
            captured[-1] += 1
            return ocl.cumulative_sum(x * factor) - x[0]

        captured.append(0)
        with ocl.use(ocl.Runtime(engine.device, engine.settings, recorder)):
            for length, factor in ((40, 0.5), (40, 0.25), (56, 0.75), (72, 0.125)):
                host = np.arange(length, dtype="f4")
                found = scaled(ocl.asarray(host), factor).numpy()
                np.testing.assert_allclose(found, (host * factor).cumsum(), rtol=1e-5)
    assert captured[0] == captured[1] < 4  # for the first float alone, for all others, and on GPUs for rows of a size
    passes = sorted(tmp_path.glob("*_scaled/passes.txt"))[-1].read_text()
    assert [line[:-1] for line in passes.splitlines() if line.endswith(":")][:2] == ["bound", "in_place"]
