"""What the package says of itself: versions, licence, drivers by platform, and the conda recipe beside pyproject."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

from tests.support.checkout import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = (ROOT / "tools" / "conda" / "recipe.yaml").read_text()


def listed(key: str) -> list[str]:
    """The items of a list in the recipe."""
    found = re.search(rf"^( *){key}:\n((?:\1  +- .*\n)+)", RECIPE, re.MULTILINE)
    assert found, key
    return [line.strip().removeprefix("- ") for line in found[2].splitlines()]


def test_the_conda_recipe_agrees() -> None:
    python = f"python {PROJECT['requires-python']}"
    wanted = {python, *(dependency.replace(">=", " >=") for dependency in PROJECT["dependencies"])}
    assert set(listed("run")) == wanted
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert set(listed("host")) == {python, "pip", *(dependency.replace(">=", " >=") for dependency in build)}
    assert listed("entry_points") == [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    for key, value in {"version": f'"{PROJECT["version"]}"', "name": PROJECT["name"], "summary": PROJECT["description"],
                       "license": PROJECT["license"], "license_file": "LICENSE"}.items():  # fmt: skip
        assert re.search(rf"^ +{key}: {re.escape(value)}$", RECIPE, re.MULTILINE), key


def test_the_licence() -> None:
    assert (PROJECT["license"], PROJECT["license-files"]) == ("MIT", ["LICENSE"])
    text = (ROOT / "LICENSE").read_text()
    assert text.startswith("MIT License\n")
    assert PROJECT["authors"][0]["name"] in text


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tools/test_versions.py."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("test_versions")


def test_the_lowest_versions_are_those_of_pyproject(versions: ModuleType) -> None:
    pinned = [Requirement(one) for one in versions.lowest()]
    declared = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["tools"]]
    declared += PROJECT["optional-dependencies"]["test"]
    wanted = {(one.name, str(one.specifier)) for one in map(Requirement, declared) if one.name not in versions.NOT_RUN}
    assert {(one.name, str(one.specifier).replace("==", ">=")) for one in pinned} == wanted
    assert all(str(one.specifier).startswith("==") for one in pinned if str(one.specifier))


def test_pythons_that_are_here(versions: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = versions.pythons()
    assert here[sys.version_info.minor] == sys.executable
    assert min(here) >= 11
    fake = tmp_path / "versions" / "3.19.0" / "bin"
    fake.mkdir(parents=True)
    (fake / "python3").write_text("#!/bin/sh\necho 19\n")
    (fake / "python3").chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert versions.pythons()[19] == str(fake / "python3")


def test_the_newest_is_left_out_with_a_reason(
    versions: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(versions, "pythons", lambda: {sys.version_info.minor: sys.executable})
    assert versions.main(["newest"]) == 0
    assert "newest: left out, because no Python newer than" in capsys.readouterr().out
    assert versions.main(["oldest"]) == 2


@pytest.mark.parametrize(
    ("platform", "machine", "has"),
    [
        ("linux", "x86_64", True),
        ("win32", "AMD64", True),
        ("linux", "aarch64", False),
        ("win32", "ARM64", False),
        ("darwin", "x86_64", False),
        ("darwin", "arm64", False),
    ],
)
def test_a_driver_for_the_cpu_is_asked_for_where_there_is_one(platform: str, machine: str, has: bool) -> None:
    environment = {"sys_platform": platform, "platform_machine": machine}
    for dependency in PROJECT["optional-dependencies"]["cpu"]:
        marker = Requirement(dependency).marker
        assert isinstance(marker, Marker)
        assert marker.evaluate(environment) == has
