from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ocl_runtime.device import Device, all_devices, choose, devices, probe, survey
from ocl_runtime.errors import DeviceError, NoDeviceError, UnknownDeviceError
from ocl_runtime.settings import Settings
from tests.support.fakes import INTEL_CPU, INTEL_GPU, NVIDIA, OCLGRIND, device, python

SETTINGS = Settings(cache_folder=None)
POCL_5 = device()
POCL_3 = device(name="pthread-other", driver_version="3.0-rc2")
INTEL = device(**INTEL_CPU)
IGPU = device(**INTEL_GPU)
H200 = device(**NVIDIA)
GRIND = device(**OCLGRIND)
EVERYTHING = (GRIND, POCL_3, INTEL, IGPU, POCL_5, H200)


class Machine:
    """The devices `choose` sees, and which of them it probed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.faults: dict[str, str] = {}
        self.probed: list[Device] = []
        self._monkeypatch = monkeypatch
        self.has(*EVERYTHING)
        monkeypatch.setattr(probe, "fault", self._fault)

    def has(self, *present: Device) -> None:
        ordered = tuple(sorted(present, key=devices._preference))
        # The package's function `choose` hides the module of that name.
        self._monkeypatch.setattr(sys.modules["ocl_runtime.device.choose"], "all_devices", lambda: ordered)

    def _fault(self, device: Device, cache_folder: Path | None) -> str | None:
        assert cache_folder is None
        self.probed.append(device)
        return self.faults.get(device.key)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_order_of_preference() -> None:
    accelerator = device(name="FPGA", platform="Other", kind="accelerator")
    small = device(**{**NVIDIA, "name": "T4", "compute_units": 40})
    ordered = sorted((*EVERYTHING, accelerator, small), key=devices._preference)
    assert ordered == [H200, small, IGPU, accelerator, INTEL, POCL_5, POCL_3, GRIND]


def test_the_best_is_chosen_and_nothing_else_probed(machine: Machine) -> None:
    assert choose(settings=SETTINGS) == H200
    assert machine.probed == [H200]


def test_an_unusable_one_is_passed_over(machine: Machine) -> None:
    machine.faults = {H200.key: "held by another process", IGPU.key: "no compiler"}
    assert choose(settings=SETTINGS) == INTEL
    assert machine.probed == [H200, IGPU, INTEL]


@pytest.mark.parametrize(
    ("want", "expected"),
    [
        ("gpu", H200),
        ("GPU", H200),
        ("cpu", INTEL),
        ("nvidia", H200),
        ("h200", H200),
        ("NVIDIA CUDA", H200),
        ("intel gpu", IGPU),
        ("intel", IGPU),
        ("intel cpu", INTEL),
        ("pocl", POCL_5),
        ("pocl 3.0", POCL_3),
        ("portable computing", POCL_5),
        ("oclgrind", GRIND),
        ("oclgrind cpu", GRIND),
        (POCL_3.key, POCL_3),
    ],
)
def test_words(machine: Machine, want: str, expected: Device) -> None:
    assert choose(want, SETTINGS) == expected


def test_the_setting_counts_when_nothing_is_asked(machine: Machine) -> None:
    assert choose(settings=Settings(cache_folder=None, device="pocl")) == POCL_5
    assert choose("gpu", Settings(cache_folder=None, device="pocl")) == H200


def test_the_environment_is_the_default(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_RUNTIME_DEVICE", "oclgrind")
    monkeypatch.setenv("OCL_RUNTIME_CACHE", "off")
    assert choose() == GRIND


@pytest.mark.parametrize("want", ["cpu", "21.10", ""])
def test_a_simulator_needs_its_name(machine: Machine, want: str) -> None:
    machine.has(GRIND)
    with pytest.raises(UnknownDeviceError):
        choose(want, SETTINGS)


def test_an_unknown_name_lists_what_is_there(machine: Machine) -> None:
    machine.faults = {POCL_3.key: "it cannot build a trivial kernel"}
    with pytest.raises(UnknownDeviceError) as caught:
        choose("radeon", SETTINGS)
    assert "'radeon'" in caught.value.fact
    assert all(entry.capabilities.name in caught.value.place for entry in EVERYTHING)
    assert "driver 3.0-rc2): it cannot build a trivial kernel" in caught.value.place
    assert "OCL_RUNTIME_DEVICE" in caught.value.remedy


def test_an_unusable_one_that_was_asked_for_is_an_error_with_its_reason(machine: Machine) -> None:
    machine.faults = {H200.key: "held by another process"}
    with pytest.raises(DeviceError, match="held by another process"):
        choose("nvidia", SETTINGS)
    assert choose("gpu", SETTINGS) == IGPU


def test_only_unusable_devices_and_simulators_are_no_devices(machine: Machine) -> None:
    machine.has(POCL_3, GRIND)
    machine.faults = {POCL_3.key: "it computes wrong numbers"}
    with pytest.raises(NoDeviceError) as caught:
        choose(settings=SETTINGS)
    assert "it computes wrong numbers" in caught.value.place
    assert "chosen only by its name" in caught.value.place
    assert machine.probed == [POCL_3]


def test_a_survey_probes_all(machine: Machine) -> None:
    machine.faults = {POCL_3.key: "broken"}
    findings = survey(SETTINGS)
    assert [finding.device for finding in findings] == machine.probed
    assert {finding.device.key: finding.fault for finding in findings if finding.fault} == machine.faults


def test_no_device_at_all_says_what_to_install(tmp_path: Path) -> None:
    # Without PYOPENCL_HOME the loader does not find the drivers inside PyOpenCL's wheel either.
    text = python(
        """
import os, sys
import pyopencl
os.environ["PYOPENCL_HOME"] = os.environ["OCL_ICD_VENDORS"]
from ocl_runtime.device import all_devices, choose
from ocl_runtime.errors import NoDeviceError
assert all_devices() == ()
for want in (None, "gpu"):
    try:
        choose(want)
    except NoDeviceError as error:
        print(error)
""",
        OCL_ICD_VENDORS=str(tmp_path),
        OCL_RUNTIME_CACHE="off",
    )
    assert text.count('pip install "ocl-runtime[cpu]"') == 2
    assert text.count("apt install pocl-opencl-icd") == 2
    assert "there is no usable OpenCL device" in text
    assert "none like 'gpu'" in text


def test_the_real_devices() -> None:
    chosen = choose()
    assert chosen in all_devices()
    assert choose(chosen.key) == chosen
    assert len({entry.key for entry in all_devices()}) == len(all_devices())
    caps = chosen.capabilities
    assert caps.compute_units >= 1
    assert caps.opencl_c_version >= (1, 1)
    assert caps.name
    assert chosen.quirks.group_size <= caps.max_work_group_size
