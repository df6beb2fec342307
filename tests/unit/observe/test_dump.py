"""ocl-dump: what it shows, what it writes, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from ocl_runtime.codegen.driver import Program
from ocl_runtime.commands import dump
from ocl_runtime.observe import stages
from ocl_runtime.observe.dump import FolderDump
from ocl_runtime.observe.stages import NAMES, PLAN_NAMES, PROGRAM_NAMES
from tests.support import fakes
from tests.support.arrays import python
from tests.support.checkout import PYTHONPATH, ROOT

TOOL = str(ROOT / "tools" / "kernel_dump.py")
EXAMPLE = ["a*b + sin(c)", "a:f32[n]", "b:f32[n]", "c:f32[n]"]
ESCAPE = "\x1b["


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, cache: str) -> None:
    monkeypatch.setenv("OCL_RUNTIME_CACHE", cache)
    for name in ("DUMP", "LOCALS", "DEFAULT_REAL"):
        monkeypatch.delenv(f"OCL_RUNTIME_{name}", raising=False)


def run(*arguments: str, cwd: Path) -> Any:
    """The command as a user runs it."""
    return python(TOOL, *arguments, cwd=cwd)


def titles(text: str) -> list[str]:
    return [line.strip("─ ") for line in text.splitlines() if line.startswith("── ")]


# ---------------------------------------------------------------------- expressions


def test_every_stage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert dump.main(EXAMPLE) == 0
    out, err = capsys.readouterr()
    assert err == ""
    plan = [f"plan: {stage}" for stage in PLAN_NAMES]
    assert titles(out) == [*plan, *(f"mul_sin_add: {stage}" for stage in NAMES)]
    for shown in (
        "group y: elementwise, over [1000]",
        "bundle 1: kernel mul_sin_add, over [1000]",
        "y: f32[1000] = add(mul(a, b), sin(c))",
        "kernel mul_sin_add(n: u32, a: global f32*",
        "no change by ",
        "strategy hybrid: ",
        "__kernel",
        "FP_CONTRACT OFF",
    ):
        assert shown in out
    assert NAMES[0] == "graph"
    assert {"built", "vectorize", "locals", "source", "log", "binary"} < set(NAMES)


@pytest.mark.parametrize("stages", [["source"], ["graph", "locals"], ["log", "binary", "built"], list(NAMES)])
def test_only_the_stages_asked_for(stages: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    options = [part for stage in stages for part in ("--stage", stage)]
    assert dump.main([*EXAMPLE, *options]) == 0
    shown = titles(capsys.readouterr().out)
    assert shown == [f"mul_sin_add: {stage}" for stage in NAMES if stage in stages]


def test_strategies_differ_in_their_locals(capsys: pytest.CaptureFixture[str]) -> None:
    found, counts = {}, {}
    for strategy in ("reuse", "hybrid", "ssa"):
        assert dump.main([*EXAMPLE, "--strategy", strategy, "--stage", "locals", "--stage", "source"]) == 0
        found[strategy] = capsys.readouterr().out
        counts[strategy] = int(found[strategy].partition(f"strategy {strategy}: ")[2].split()[0])
    assert counts["reuse"] <= counts["hybrid"] <= counts["ssa"]
    assert "holds" in found["reuse"]
    assert "holds" not in found["ssa"]
    assert len(set(found.values())) == 3


def test_the_strategy_may_come_from_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCL_RUNTIME_LOCALS", "ssa")
    assert dump.main([*EXAMPLE, "--stage", "locals"]) == 0
    assert "strategy ssa: " in capsys.readouterr().out


def test_a_reduction_shows_each_of_its_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert dump.main(["sum(x*x)", "x:f32[10000000]", "--stage", "source"]) == 0
    assert titles(capsys.readouterr().out) == ["mul_sum: source", "sum: source"]


def test_an_expression_that_only_looks(capsys: pytest.CaptureFixture[str]) -> None:
    assert dump.main(["x[1:]", "x:f32[9]"]) == 0
    nothing = "nothing to compute: the expression only looks at memory that is there\n"
    out = capsys.readouterr().out
    assert out.startswith(f"y: f32[8] = a\n\n{nothing}")
    assert "group a: a view, no kernel" in out
    assert "bundle 1: no kernel" in out
    assert dump.main(["x[1:]", "x:f32[9]", "--stage", "source"]) == 0
    assert capsys.readouterr().out == nothing


def test_a_product_of_matrices(capsys: pytest.CaptureFixture[str]) -> None:
    assert dump.main(["a @ b", "a:f32[20, 30]", "b:f32[30, 25]", "--stage", "graph", "--stage", "source"]) == 0
    out = capsys.readouterr().out
    assert titles(out) == ["contract: graph", "contract: source"]
    assert " contract(const uint " in out


def test_the_same_text_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    # What a driver logs, and its binary, may depend on whether it had the program in a cache of its own.
    stages = [part for name in NAMES if name not in {"log", "binary"} for part in ("--stage", name)]
    for _ in range(2):
        assert dump.main(["max(where(x > y, x, y*2), axis=0)", "x:f32[h,w]", "y:i8[w]", *stages]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


# ---------------------------------------------------------------------- folders


def test_out_keeps_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kernels" / "here"
    assert dump.main([*EXAMPLE, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"1 kernels in {out}\n"
    (out / "002_mul_sin_add" / "mine.txt").write_text("notes")
    (out / "my own").mkdir()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert len(before) == len(PLAN_NAMES) + len(NAMES) + 1
    assert dump.main(["a - b", "a:i8[n]", "b:i8[n]", "--out", str(out), "--stage", "source", "--stage", "log"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["001_plan", "002_mul_sin_add", "004_sub", "my own"]
    written = sorted(path.name for path in (out / "004_sub").iterdir())
    assert [name[3:] for name in written] == ["source.cl", "log.txt"]
    assert {path: path.read_bytes() for path in before} == before


def test_more_than_a_thousand_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("1000_b", "999_a", "10000_c_d", "my own", ".e.0.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "03_source.cl").write_text("…")
    dump._show(dump._dumped(tmp_path), ["source"], None)
    assert titles(capsys.readouterr().out) == ["a: source", "b: source", "c_d: source"]


def test_long_names_are_cut(tmp_path: Path) -> None:
    """A user names programs and captured functions as they like; file systems take 255 bytes, or 143."""
    written = FolderDump(tmp_path)._write("n" * 1000, {"program.txt": "text"})
    assert written.name == f"001_{'n' * 120}"
    assert (written / "program.txt").read_text() == "text"


def test_files_are_in_the_order_of_the_stages(tmp_path: Path) -> None:
    assert dump.main([*EXAMPLE, "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in (tmp_path / "001_plan").iterdir()) == ["bundles.txt", "groups.txt"]
    files = sorted((tmp_path / "002_mul_sin_add").iterdir())
    assert [path.stem.partition("_")[2] for path in files] == list(NAMES)
    assert {path.suffix for path in files} == {".txt", ".ir", ".cl"}


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a +", "a:f32[n]"], "the expression cannot be read"),
        (["a + b", "a:f32[n]"], "uses 'b', which is neither declared nor a function"),
        (["__import__('os')", "a:f32[n]"], "uses '__import__'"),
        (["a", "a:f32[n"], "declares nothing"),
        (["a + 1", "a:f16x[n]"], "is no dtype"),
        ([*EXAMPLE, "--device", "abacus"], "no device is like 'abacus'"),
        (["there_is_none.py"], "there is no file there_is_none.py"),
        ([*EXAMPLE, "--out", "file/inside"], "the dump folder cannot be written"),
    ],
)
def test_errors_are_messages(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert dump.main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ocl-dump: ")
    assert message in err
    assert "remedy: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["--help-me"], [*EXAMPLE, "--stage", "all"], [*EXAMPLE, "--strategy", "none"], [*EXAMPLE, "--out"],
        [*EXAMPLE, "--unknown"], [*EXAMPLE, "--stage"],
    ],
)  # fmt: skip
def test_a_wrong_command_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        dump.main(arguments)
    assert ended.value.code == 2
    assert "usage: ocl-dump" in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        dump.main(["--help"])
    assert ended.value.code == 0
    assert 'ocl-dump "a*b + sin(c)"' in capsys.readouterr().out


# ---------------------------------------------------------------------- programs

PROGRAM = """
import sys
import numpy as np
import ocl_runtime as ocl
import helper
print("arguments", sys.argv[1:], __name__, helper.there)
x = ocl.asarray(np.arange(5, dtype="f4"))
print((x * 2).numpy().tolist())
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("there = True\n")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_program_with_arguments_of_its_own(program: Path, tmp_path: Path) -> None:
    done = run(str(program), "one", "--stage", "source", "--", "two", "--stage", "-x", cwd=tmp_path / "..")
    assert done.returncode == 0, done.stderr
    assert "arguments ['one', 'two', '--stage', '-x'] __main__ True" in done.stdout
    assert "[0.0, 2.0, 4.0, 6.0, 8.0]" in done.stdout
    assert titles(done.stdout) == ["mul: source"]
    assert ESCAPE not in done.stdout


def test_a_program_with_out_and_strategy(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "kernels"
    done = run(str(program), "--out", str(out), "--strategy", "ssa", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"1 kernels in {out}\n")
    plan, folder = sorted(out.iterdir())
    assert f"  y: f32[5] = mul(a, 2.0)    {program}:8\n" in (plan / "groups.txt").read_text()
    assert "strategy ssa" in next(folder.glob("*_locals.txt")).read_text()
    assert "y: f32[5] = mul(a, 2.0)" in next(folder.glob("*_graph.txt")).read_text()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("ending", "code", "message"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(0)", 0, ""),
        ("sys.exit(5)", 5, ""),
        ("sys.exit('out of luck')", 1, "out of luck"),
        ("raise ValueError('broken')", 1, "ValueError: broken"),
        ("x[9]", 1, "index 9 is out of bounds"),
    ],
)
def test_how_a_program_ends(program: Path, tmp_path: Path, ending: str, code: int, message: str) -> None:
    program.write_text(PROGRAM + ending + "\n")
    done = run(str(program), "--stage", "graph", cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
    if not message:
        assert done.stderr == ""
    assert titles(done.stdout) == ["mul: graph"]
    if "sys.exit" not in ending:
        assert done.stderr.startswith("Traceback (most recent call last):\n")
        assert f'File "{program}", line' in done.stderr.splitlines()[1]
        assert "commands/dump.py" not in done.stderr
        assert "runpy" not in done.stderr


def test_a_program_that_raises_leaves_only_the_stages_asked_for(program: Path, tmp_path: Path) -> None:
    program.write_text(PROGRAM + "1 / 0\n")
    done = run(str(program), "--out", "kernels", "--stage", "source", cwd=tmp_path)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout.endswith("1 kernels in kernels\n")
    assert [path.suffix for path in (tmp_path / "kernels" / "002_mul").iterdir()] == [".cl"]


def test_a_program_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("a = (\n")
    done = run("broken.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    (tmp_path / "folder.py").mkdir()
    done = run("folder.py", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "ocl-dump: there is no file folder.py")


# ---------------------------------------------------------------------- terminals and pipes


def test_the_tool_is_the_command(tmp_path: Path) -> None:
    done = run(*EXAMPLE, "--stage", "source", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert titles(done.stdout) == ["mul_sin_add: source"]
    assert ESCAPE not in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert run("a +", cwd=tmp_path).returncode == 1
    assert run(cwd=tmp_path).returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals and no shell pipes on Windows")
def test_colour_on_a_terminal_only(tmp_path: Path) -> None:
    import pty

    main, end = pty.openpty()
    command = [sys.executable, TOOL, *EXAMPLE, "--stage", "source"]
    env = {**os.environ, "PYTHONPATH": PYTHONPATH, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=end, stderr=subprocess.PIPE, cwd=tmp_path, env=env)
    os.close(end)
    shown = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        shown += part
    assert process.wait(60) == 0
    os.close(main)
    assert ESCAPE.encode() in shown
    assert b"mul_sin_add" in shown


def test_an_expression_of_one_kernel_has_no_stage_of_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    for stage in ("schedule", "streams"):
        assert dump.main([*EXAMPLE, "--stage", stage]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert f"an expression of 1 kernel has no stage '{stage}'" in err


@pytest.mark.parametrize("expression", ["cumulative_sum(x / sum(x))", "cumulative_sum(exp(x)) @ cumulative_sum(x * 2)"])
def test_an_expression_of_several_kernels_is_a_program(expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ("groups", "bundles", *PROGRAM_NAMES)
    assert dump.main([expression, "x:f32[1000]", *(part for name in wanted for part in ("--stage", name))]) == 0
    out = capsys.readouterr().out
    expected = [stage for stage in PROGRAM_NAMES for _ in range(1 + (stage == "streams"))]  # which has two files
    assert titles(out) == ["plan: groups", "plan: bundles", *(f"evaluation: {stage}" for stage in expected)]
    passes = out.partition("evaluation: passes ")[2].partition("evaluation: schedule ")[0].splitlines()
    names = [line[:-1] for line in passes if line[:1].strip() and line.endswith(":")]
    assert names == ["bound", "launches", "in_place", "share_memory", "packed", "streams", "memory", "waits"]
    assert "  not run: an evaluation is nothing but launches" in passes


@pytest.mark.skipif(os.name == "nt", reason="no shell pipes on Windows")
def test_a_list_of_devices_that_nobody_reads_to_its_end_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m ocl_runtime --json | head -1; echo ended ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=False, cwd=tmp_path, timeout=100,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "ended 0"


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals and no shell pipes on Windows")
def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    for expression in (EXAMPLE, ["+".join(f"sin(a*{n})" for n in range(100)), "a:f32[n]"]):
        quoted = " ".join(f"'{part}'" for part in [sys.executable, TOOL, *expression])
        done = subprocess.run(
            f"{quoted} | head -1; echo ended ${{PIPESTATUS[0]}}",
            shell=True, executable="/bin/bash", capture_output=True, text=True, check=False, cwd=tmp_path, timeout=100,
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
        )  # fmt: skip
        assert done.stderr == ""
        assert done.stdout.splitlines()[-1] == "ended 0"


def test_a_running_program_writes_the_same(program: Path, tmp_path: Path) -> None:
    by_command, by_variable = tmp_path / "command", tmp_path / "variable"
    # So that its kernel is in the cache for both, whichever tests ran here before.
    assert run(str(program), "--out", str(tmp_path / "before"), cwd=tmp_path).returncode == 0
    assert run(str(program), "--out", str(by_command), cwd=tmp_path).returncode == 0
    done = python(str(program), cwd=tmp_path, env={"OCL_RUNTIME_DUMP": str(by_variable)})
    assert (done.returncode, done.stderr) == (0, "")
    one, other = (
        {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.*")}
        for folder in (by_command, by_variable)
    )
    assert one == other
    assert len(one) == len(PLAN_NAMES) + len(NAMES)
    assert textwrap.dedent(PROGRAM).count("x * 2") == 1


def test_a_log_that_several_kernels_share_says_so() -> None:
    whole = Program(fakes.device(), "", "source", "9:1: warning: unused", Any)
    assert stages._log_text(whole) == "9:1: warning: unused\n"
    assert stages._log_text(whole.part("", {})).startswith("of all kernels that were built with this one")
    silent = Program(fakes.device(), "", "source", "", Any)
    assert stages._log_text(silent.part("", {})) == "the compiler said nothing\n"
