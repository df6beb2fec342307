from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from ocl_runtime.device import drivers
from tests.support.fakes import python

LIST = """
import json, os, tempfile
from pathlib import Path
from ocl_runtime.device import drivers
names = [platform.name for platform in drivers.platforms()]
print(json.dumps({
    "names": names,
    "identity": drivers.identity(),
    "vendors": os.environ.get("OCL_ICD_VENDORS"),
    "litter": [str(path) for path in Path(tempfile.gettempdir()).iterdir()],
    "intel": drivers._intel_library(),
}))
"""


@pytest.fixture
def icd_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only list of drivers the system has."""
    folder = tmp_path / "vendors"
    folder.mkdir()
    monkeypatch.setattr(drivers, "SYSTEM_FOLDERS", (folder,))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "environment"))
    monkeypatch.setattr(drivers, "_intel_library", lambda: None)
    monkeypatch.setattr(drivers, "_nvidia_library", lambda: None)
    return folder


def test_intels_runtime_is_found_and_nothing_is_left_behind(tmp_path: Path) -> None:
    first, second = (json.loads(python(LIST, TMPDIR=str(tmp_path))) for _ in range(2))
    assert ("Intel(R) OpenCL" in first["names"]) == bool(first["intel"])
    assert first["vendors"] is None
    assert first["litter"] == []
    assert first["identity"] == second["identity"] != ""


def test_what_the_user_set_is_respected(tmp_path: Path) -> None:
    found = json.loads(python(LIST, OCL_ICD_VENDORS=str(tmp_path)))
    assert found["vendors"] == str(tmp_path)
    # PyOpenCL's loader always adds the drivers of its own wheel, and only these.
    assert "Intel(R) OpenCL" not in found["names"]
    assert found["names"] == json.loads(python(LIST, OPENCL_VENDOR_PATH=str(tmp_path)))["names"]


def test_a_program_that_queried_first_keeps_its_platforms(tmp_path: Path) -> None:
    before = """
import contextlib, os, pyopencl
os.environ["OCL_ICD_VENDORS"] = os.environ["EMPTY"]
with contextlib.suppress(pyopencl.LogicError):  # none at all, where PyOpenCL's wheel has no drivers inside
    pyopencl.get_platforms()
del os.environ["OCL_ICD_VENDORS"]
"""
    found = json.loads(python(before + LIST, EMPTY=str(tmp_path)))
    assert found["names"] == json.loads(python(LIST, OCL_ICD_VENDORS=str(tmp_path)))["names"]


def test_a_broken_driver_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "0-garbage.icd").write_bytes(b"\xff\xfe\0 /// \n")
    (tmp_path / "1-empty.icd").write_text("")
    library = tmp_path / "libnot-a-library.so"
    library.write_text("not ELF")
    (tmp_path / "2-text.icd").write_text(str(library))
    (tmp_path / "3-folder.icd").mkdir()
    (tmp_path / "4-libc.icd").write_text("libc.so.6")
    patch = """
import os
from pathlib import Path
from ocl_runtime.device import drivers
drivers.SYSTEM_FOLDERS = (Path(os.environ["BROKEN"]), *drivers.SYSTEM_FOLDERS)
"""
    with_broken = json.loads(python(patch + LIST, BROKEN=str(tmp_path)))["names"]
    assert sorted(with_broken) == sorted(json.loads(python(LIST))["names"])


def test_an_icd_that_names_nothing_is_left_out(icd_folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "libreal.so"
    library.touch()
    (icd_folder / "a.icd").write_text(f"{library}\n")
    (icd_folder / "b.icd").write_text("/placeholder/lib/libintelocl.so")
    (icd_folder / "c.icd").write_text("libbare.so.1")
    (icd_folder / "d.txt").write_text("libignored.so")
    assert drivers.library_names() == [str(library), "libbare.so.1"]


def test_a_driver_no_icd_names_is_added(icd_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "_nvidia_library", lambda: "/mounted/libnvidia-opencl.so.1")
    (icd_folder / "nvidia.icd").write_text("libnvidia-opencl.so.1")
    assert drivers.library_names() == ["/mounted/libnvidia-opencl.so.1"]


def test_a_driver_is_not_loaded_from_two_places(
    icd_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "libintelocl.so"
    system.touch()
    (icd_folder / "intel.icd").write_text(str(system))
    monkeypatch.setattr(drivers, "_intel_library", lambda: "/environment/lib/libintelocl.so")
    assert drivers.library_names() == [str(system)]


@pytest.fixture(autouse=True)
def _no_libraries_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCL_ICD_FILENAMES", raising=False)


def test_a_library_that_an_icd_names_in_full_is_not_taken_again(
    monkeypatch: pytest.MonkeyPatch, icd_folder: Path
) -> None:
    (icd_folder / "pocl.icd").write_text("libpocl.so.2.12.0")
    monkeypatch.setenv("OCL_ICD_FILENAMES", "libpocl.so.2:libother.so")
    names = drivers.library_names()
    assert "libpocl.so.2" not in names
    assert {"libpocl.so.2.12.0", "libother.so"} <= set(names)


def test_libraries_that_another_loader_would_take_are_taken_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_FILENAMES", os.pathsep.join(["libone.so.1", "/drivers/libtwo.so"]))
    assert {"libone.so.1", "/drivers/libtwo.so"} <= set(drivers.library_names())


def test_nvidias_library_is_found_in_a_folder_the_linker_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "NVIDIA_LIBRARIES", ("libnvidia-opencl-of-a-test.so.1",))
    monkeypatch.setattr(drivers, "NVIDIA_FOLDERS", (tmp_path / "absent", tmp_path))
    assert drivers._nvidia_library() is None
    (tmp_path / drivers.NVIDIA_LIBRARIES[0]).touch()
    assert drivers._nvidia_library() == str(tmp_path / drivers.NVIDIA_LIBRARIES[0])


class Winreg:
    """Of the module: a key of the registry with values, or none at all."""

    HKEY_LOCAL_MACHINE = "HKLM"

    def __init__(self, *names: str) -> None:
        self.names = names

    @contextmanager
    def OpenKey(self, root: str, path: str) -> Iterator[str]:  # noqa: N802
        if not self.names:
            raise FileNotFoundError(path)
        yield f"{root} {path}"

    def QueryInfoKey(self, key: str) -> tuple[int, int, int]:  # noqa: N802
        assert key == r"HKLM SOFTWARE\Khronos\OpenCL\Vendors"
        return 0, len(self.names), 0

    def EnumValue(self, key: str, number: int) -> tuple[str, int, int]:  # noqa: N802
        return self.names[number], 0, 4


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As on Windows, with Intel's runtime from PyPI and no driver in the registry: the folder with its library."""
    folder = tmp_path / "environment" / "Library" / "bin"
    folder.mkdir(parents=True)
    (folder / "intelocl64.dll").touch()
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("sys.prefix", str(tmp_path / "environment"))
    monkeypatch.setitem(sys.modules, "winreg", Winreg())
    monkeypatch.setenv("PATH", "before")
    for variable in ("OCL_ICD_FILENAMES", "OCL_ICD_VENDORS"):  # of whoever tests with some drivers alone
        monkeypatch.delenv(variable, raising=False)
    return folder


def test_windows_is_told_of_intels_runtime_for_one_query(windows: Path) -> None:
    with drivers._all_drivers_visible():
        assert os.environ["OCL_ICD_FILENAMES"] == str(windows / "intelocl64.dll")
        assert os.environ["PATH"] == f"{windows}{os.pathsep}before"
    assert "OCL_ICD_FILENAMES" not in os.environ
    assert os.environ["PATH"] == "before"


@pytest.mark.parametrize("variable", ["OCL_ICD_FILENAMES", "OCL_ICD_VENDORS"])
def test_windows_is_told_nothing_that_the_user_said(
    windows: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "theirs")
    before = dict(os.environ)
    with drivers._all_drivers_visible():
        assert dict(os.environ) == before


def test_windows_is_told_nothing_that_its_registry_has(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "winreg", Winreg("nvopencl64.dll"))
    assert drivers.windows_variables()
    monkeypatch.setitem(sys.modules, "winreg", Winreg("nvopencl64.dll", r"C:\Intel\bin\intelocl64.dll"))
    assert drivers.windows_variables() == {}
    monkeypatch.setitem(sys.modules, "winreg", Winreg())
    (windows / "intelocl64.dll").unlink()
    assert drivers.windows_variables() == {}


def test_macs_are_told_nothing(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    before = dict(os.environ)
    with drivers._all_drivers_visible():
        assert dict(os.environ) == before


def test_without_a_place_for_temporary_files_the_loaders_own_list_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with drivers._all_drivers_visible():
        pass
