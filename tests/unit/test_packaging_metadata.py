"""What the package says of itself: versions, licence, drivers by platform, and the conda recipe beside pyproject."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

from tests.checkout import ROOT

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
