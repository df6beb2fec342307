"""The wheel: what is in it, and that it works from where it is installed, far from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ocl_runtime.device import Device
from tests.support.checkout import ROOT


def called(*command: str, cwd: Path, **environ: str) -> Any:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_RUNTIME_", "PYTHONPATH"))}
    return subprocess.run(
        command, cwd=cwd, env={**env, **environ}, capture_output=True, text=True, timeout=200, check=False
    )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("wheel")
    done = called(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (built,) = into.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", str(target)]
    done = called(*pip, str(wheel), cwd=target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def from_there(installed: Path, device: Device, tmp_path: Path) -> Any:
    """Runs a command with the installed package and nothing of the checkout."""
    environ = {
        "PYTHONPATH": str(installed),
        "OCL_RUNTIME_DEVICE": device.key,
        "OCL_RUNTIME_CACHE": str(tmp_path / "cache"),
    }
    return lambda *command: called(sys.executable, *command, cwd=tmp_path, **environ)


def test_the_wheel_holds_everything_that_runs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, package in ((ROOT / "ir", "ocl_ir"), (ROOT, "ocl_runtime")):
        sources = {str(path.relative_to(folder)) for path in (folder / package).rglob("*.py")}
        assert sources
        assert {name.replace("\\", "/") for name in sources} <= names
    templates = {path.name for path in (ROOT / "templates").iterdir() if path.is_file()}
    assert {
        name.removeprefix("ocl_runtime/templates/") for name in names if name.startswith("ocl_runtime/templates/")
    } >= templates
    assert any(name.endswith(".mako") for name in templates)
    assert "ocl_runtime/commands/bench/kernels.cl" in names
    assert "ocl_runtime/py.typed" in names
    (entry_points,) = (name for name in names if name.endswith(".dist-info/entry_points.txt"))
    scripts = zipfile.ZipFile(wheel).read(entry_points).decode()
    assert re.findall(r"^(\S+) = ", scripts, re.M) == ["ocl-bench", "ocl-devices", "ocl-dump", "ocl-tune"]
    assert any(name.endswith(".dist-info/METADATA") for name in names)


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {re.sub(r"^ocl_runtime-[^-]+\.(data|dist-info)$", r"\1", top) for top in tops} == {
        "ocl_ir",
        "ocl_runtime",
        "dist-info",
    }
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".bin"))] == []


def test_what_it_needs_and_says_of_itself(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    required = {
        re.match(r"[\w-]+", line)[0]
        for line in re.findall(r"^Requires-Dist: (.*)$", metadata, re.M)
        if "extra" not in line
    }  # type: ignore[index]
    assert required == {"pyopencl", "numpy", "mako"}
    assert "Name: ocl-runtime" in metadata
    assert "License-Expression: MIT" in metadata
    (licence,) = (name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
    assert archive.read(licence).decode() == (ROOT / "LICENSE").read_text()
    assert "Requires-Python: >=3.11" in metadata


def test_computing_works_with_the_packaged_templates(from_there: Any, installed: Path) -> None:
    code = (
        "import numpy as np, ocl_runtime as ocl, ocl_runtime.codegen.templates as t, ocl_ir\n"
        "print(ocl.__file__, ocl_ir.__file__, *t._lookup().directories, sep='\\n')\n"
        "x = ocl.asarray(np.arange(1000, dtype='f4'))\n"
        "print(float(ocl.sum(ocl.where(x > 500, x // 3, ocl.sin(x) * 0))))\n"
    )
    done = from_there("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    *places, value = done.stdout.splitlines()
    assert len(places) == 3
    assert all(Path(place).is_relative_to(installed) for place in places), places
    assert Path(places[2]) == installed / "ocl_runtime" / "templates"
    assert float(value) == sum(number // 3 for number in range(501, 1000))


def test_the_scripts_work(from_there: Any, installed: Path, device: Device) -> None:
    scripts = installed / "bin"
    for name in ("ocl-bench", "ocl-dump", "ocl-devices", "ocl-tune"):
        assert os.access(scripts / name, os.X_OK)
    done = from_there(str(scripts / "ocl-dump"), "a + 1", "a:f32[n]", "--stage", "source")
    assert (done.returncode, done.stderr) == (0, "")
    assert "__kernel" in done.stdout
    done = from_there(str(scripts / "ocl-bench"), "--list")
    assert (done.returncode, done.stderr) == (0, "")
    done = from_there(str(scripts / "ocl-devices"))
    assert done.returncode == 0
    assert device.capabilities.name in done.stdout

    def devices(text: str) -> list[str]:  # what is below them, as the free memory, may change
        return [line for line in text.splitlines() if not line.startswith(" ")]

    assert devices(from_there("-m", "ocl_runtime").stdout) == devices(done.stdout)
