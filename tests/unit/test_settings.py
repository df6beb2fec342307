from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import pytest

from ocl_runtime.errors import SettingError, SettingWarning
from ocl_runtime.settings import Settings, default_cache_folder
from tests.support.checkout import ROOT


def test_defaults() -> None:
    settings = Settings.from_environment({})
    assert settings.device is None
    assert settings.cache_folder == default_cache_folder({})
    assert settings.cache_bytes == 256 * 2**20
    assert settings.dump_folder is None
    assert settings.locals_strategy is None
    assert settings.default_real == "f32"


def test_every_row_has_a_variable_a_parser_and_a_line_of_documentation() -> None:
    rows = dataclasses.fields(Settings)
    assert len({row.metadata["variable"] for row in rows}) == len(rows)
    assert all(row.metadata["variable"].startswith("OCL_RUNTIME_") and row.metadata["doc"] for row in rows)


def test_values_are_parsed(tmp_path: Path) -> None:
    settings = Settings.from_environment(
        {
            "OCL_RUNTIME_DEVICE": " pocl 3.1 ",
            "OCL_RUNTIME_CACHE": str(tmp_path),
            "OCL_RUNTIME_CACHE_BYTES": "2G",
            "OCL_RUNTIME_DUMP": "~/dump",
            "OCL_RUNTIME_LOCALS": "ssa",
            "OCL_RUNTIME_DEFAULT_REAL": "f64",
        }
    )
    assert settings == Settings(
        device="pocl 3.1",
        cache_folder=tmp_path,
        cache_bytes=2 * 2**30,
        dump_folder=Path.home() / "dump",
        locals_strategy="ssa",
        default_real="f64",
    )


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("512", 512), ("4k", 4096), ("1M", 2**20), ("3 GB", 3 * 2**30), ("1MiB", 2**20)]
)
def test_bytes(text: str, number: int) -> None:
    assert Settings.from_environment({"OCL_RUNTIME_CACHE_BYTES": text}).cache_bytes == number


def test_misspelt_variables_are_warned_of() -> None:
    environ = {"OCL_RUNTIME_STREAM": "2", "OCL_RUNTIME_DEVCE": "cpu", "OCL_RUNTIME_XYZZY": "", "OCL_RUNTIME_LOG": "off"}
    with pytest.warns(SettingWarning) as caught:
        assert Settings.from_environment(environ) == Settings.from_environment({})
    assert [str(warning.message) for warning in caught] == [
        "no setting is called OCL_RUNTIME_DEVCE (perhaps OCL_RUNTIME_DEVICE), OCL_RUNTIME_STREAM (perhaps "
        "OCL_RUNTIME_STREAMS), OCL_RUNTIME_XYZZY: the README lists all of them"
    ]


def test_variables_of_settings_are_not_warned_of() -> None:
    values = {"OCL_RUNTIME_DEVICE": "cpu", "OCL_RUNTIME_STREAMS": "3"}
    everything = {row.metadata["variable"]: "" for row in dataclasses.fields(Settings)} | values
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Settings.from_environment({**everything, "OCLGRIND": "1", "PATH": ""}).streams == 3


def test_the_readme_lists_all_variables() -> None:
    readme = (ROOT / "README.md").read_text()
    for row in dataclasses.fields(Settings):
        assert f"| `{row.metadata['variable']}` |" in readme, row.metadata["variable"]


def test_an_empty_variable_counts_as_unset() -> None:
    empty = {"OCL_RUNTIME_DEVICE": "  ", "OCL_RUNTIME_LOCALS": ""}
    assert Settings.from_environment(empty) == Settings.from_environment({})


def test_the_cache_can_be_off() -> None:
    assert Settings.from_environment({"OCL_RUNTIME_CACHE": "OFF"}).cache_folder is None


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert default_cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/ocl-runtime")
    assert default_cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "ocl-runtime"


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert default_cache_folder({}) is None


def test_memory_settings() -> None:
    found = Settings.from_environment(
        {"OCL_RUNTIME_MEMORY": "4G", "OCL_RUNTIME_PAGE": "0", "OCL_RUNTIME_ALIGN": "4K", "OCL_RUNTIME_LADDER": "16",
         "OCL_RUNTIME_KEPT": "0", "OCL_RUNTIME_STAGING_BYTES": "1M", "OCL_RUNTIME_PINNED_BYTES": "1G"}
    )  # fmt: skip
    assert (found.memory_limit, found.page_bytes, found.align_bytes) == (2**32, 0, 4096)
    assert (found.ladder, found.kept_bytes, found.staging_bytes, found.pinned_bytes) == (16, 0, 2**20, 2**30)


@pytest.mark.parametrize(
    ("variable", "text", "remedy"),
    [
        ("OCL_RUNTIME_ALIGN", "300", "a power of two, 64 or more"),
        ("OCL_RUNTIME_ALIGN", "32", "a power of two, 64 or more"),
        ("OCL_RUNTIME_LADDER", "-1", "a whole number: 8"),
        ("OCL_RUNTIME_CACHE_BYTES", "much", "256M"),
        ("OCL_RUNTIME_CACHE_BYTES", "-1", "256M"),
        ("OCL_RUNTIME_LOCALS", "SSA!", "reuse, hybrid, ssa"),
        ("OCL_RUNTIME_DEFAULT_REAL", "f16", "f32, f64"),
        ("OCL_RUNTIME_DUMP", "~no-such-user/x", "home"),
    ],
)
def test_a_value_without_sense_names_fact_place_and_remedy(variable: str, text: str, remedy: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.from_environment({variable: text})
    assert repr(text) in caught.value.fact
    assert variable in caught.value.place
    assert remedy in caught.value.remedy
