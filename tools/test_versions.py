#!/usr/bin/env python3
"""Run the tests in an environment of other versions: `lowest` or `newest`. Exit code 1 if a test fails.

`lowest` has the lowest version of each dependency that pyproject.toml allows, on the lowest Python that is here;
`newest` the newest of everything, on the newest Python that is here. Where that is the Python that `make test` runs on,
it says so and does nothing. Further arguments go to pytest: `tools/test_versions.py lowest -n 2 tests/unit`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_RUN = ("ruff", "mypy", "import-linter")
"""Of the extra [test], what looks at the source only."""


def pythons() -> dict[int, str]:
    """The CPythons that are here and new enough, by the minor version of 3: those on the path, and pyenv's."""
    commands = {sys.version_info.minor: sys.executable}
    for command in _candidates():
        done = subprocess.run([command, "-c", _VERSION], capture_output=True, text=True, check=False)
        if done.returncode == 0:  # pyenv has commands for versions that are not chosen
            commands.setdefault(int(done.stdout), command)
    return {minor: command for minor, command in commands.items() if minor >= _least_python()}


_VERSION = "import sys, venv; print(sys.version_info.minor if sys.implementation.name == 'cpython' else 0)"


def _candidates() -> Iterator[str]:
    for minor in range(_least_python(), 30):
        if command := shutil.which(f"python3.{minor}"):
            yield command
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(root.glob("versions/3.*/bin/python3")))


def _project() -> dict[str, object]:
    project: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _least_python() -> int:
    return int(re.fullmatch(r">=3\.(\d+)", str(_project()["requires-python"]))[1])  # type: ignore[index]


def lowest() -> list[str]:
    """The lowest version of each dependency that tests need, as pip takes them."""
    project = _project()
    extras: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    dependencies: list[str] = project["dependencies"]  # type: ignore[assignment]
    wanted = [*dependencies, *extras["tools"], *extras["test"]]
    return [
        requirement.replace(">=", "==") for requirement in wanted if re.split(r"[><=;]", requirement)[0] not in NOT_RUN
    ]


def tested(name: str, python: str, requirements: Sequence[str], arguments: Sequence[str]) -> int:
    """Makes the environment anew and runs the tests in it: pytest's exit code."""
    folder = ROOT / "build" / name
    inside = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def run(*command: str | Path) -> int:
        return subprocess.run(list(map(str, command)), cwd=ROOT, check=False).returncode

    pip = (inside, "-m", "pip", "install", "--quiet")
    steps = ((python, "-m", "venv", "--clear", folder), (*pip, "--upgrade", "pip"), (*pip, *requirements))
    for step in steps:
        if run(*step):
            print(f"{name}: could not be set up: {' '.join(map(str, step))}", flush=True)
            return 1
    if run(inside, "-m", "ocl_runtime") and run(*pip, "--editable", ".[cpu]"):  # no driver, and none from PyPI
        return 1
    print(f"{name}: {python}, {', '.join(requirements)}", flush=True)
    return run(inside, "-m", "pytest", "-p", "no:cacheprovider", *arguments)


def main(arguments: Sequence[str]) -> int:
    """Runs the tests with the versions that the first argument names."""
    if not arguments or arguments[0] not in {"lowest", "newest"}:
        print(__doc__)
        return 2
    name, *rest = arguments
    here = pythons()
    if name == "lowest":
        return tested(name, here[min(here)], ["--editable", ".", *lowest()], rest)
    if max(here) == sys.version_info.minor:
        print(f"newest: left out, because no Python newer than 3.{max(here)}, which `make test` runs on, is here")
        return 0
    return tested(name, here[max(here)], ["--editable", ".[tools,test]"], rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
