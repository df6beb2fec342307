"""Which matrix instructions a device may use: those by which it was seen to multiply rightly, once."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run as interpret
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_runtime.codegen import matrix_check, matrix_trial
from ocl_runtime.codegen.matrix_check import usable_instructions, verdicts
from ocl_runtime.codegen.matrix_trial import check_kernel, known_arguments
from ocl_runtime.device import Device, all_devices, choose
from ocl_runtime.device import report as listing
from ocl_runtime.device.trial import ChildError, TrialError
from ocl_runtime.plan.target import Target
from tests.support.fakes import device as fake

NAMES = ("mfma_f16", "wmma_bf16")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_check, "_known", {})


def having(names: tuple[str, ...], **facts: Any) -> Device:
    made = fake(**facts)
    return replace(made, quirks=replace(made.quirks, matrix_instructions=names))


def emulated(change: Callable[[np.ndarray], None] = lambda sums: None) -> Callable[..., None]:
    """A device that computes what the interpreter does, but for a change."""

    def launch(device: Device, source: str, name: str, passed: list[Any], items: int, group: int, options: str) -> None:
        arrays = dict(zip(("left", "right", "sums"), passed[::2], strict=True))
        interpret(check_kernel(INSTRUCTIONS[name.removeprefix("check_")]), arrays, (items,), (group,))
        change(arrays["sums"])

    return launch


@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_a_device_that_multiplies_rightly_has_an_instruction(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_trial, "launch", emulated())
    assert matrix_trial.run(having((name,))) == {name: ""}


def turned(sums: np.ndarray) -> None:
    """As if rows and columns were confused."""
    sums[:] = sums[::-1].copy()


def one_off(sums: np.ndarray) -> None:
    sums[-1] += 1


@pytest.mark.parametrize("change", [turned, one_off])
def test_one_that_multiplies_wrongly_has_not(
    change: Callable[[np.ndarray], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_trial, "launch", emulated(change))
    assert all("multiplies wrongly" in fault for fault in matrix_trial.run(having(NAMES)).values())


def test_sums_that_stay_as_they_were_are_no_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_trial, "launch", lambda *passed: None)
    assert set(matrix_trial.run(having(NAMES)).values()) == {"stores no sums"}


def test_small_groups_have_no_whole_subgroups() -> None:
    assert matrix_trial.run(having(("mfma_f16",), max_work_group_size=64)) == {"mfma_f16": "needs groups of 128"}


def test_a_compiler_that_does_not_know_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of the CPU that is here: nothing else is harmed."""
    chosen = choose()
    given = replace(chosen, quirks=replace(chosen.quirks, matrix_instructions=("mfma_f32",)))
    (fault,) = matrix_trial.run(given).values()
    assert fault.startswith("does not build: ")


def test_every_element_counts() -> None:
    """No row or column of what is multiplied is like another one, so that a wrong place shows."""
    for instruction in INSTRUCTIONS.values():
        arguments = known_arguments(instruction)
        before = arguments["sums"].copy()
        items = 2 * instruction.size
        interpret(check_kernel(instruction), arguments, (items,), (items,))
        assert len(np.unique(arguments["sums"].reshape(items, -1), axis=0)) == items
        assert (arguments["sums"] != before).mean() > 0.9


# ---------------------------------------------------------------------- what is remembered


def test_a_device_without_a_row_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_check, "in_child", lambda *asked: pytest.fail("nothing is to be tried"))
    monkeypatch.setattr(matrix_check, "identity", lambda: pytest.fail("nothing is to be read"))
    assert usable_instructions(having(()), None) == ()


def test_what_was_measured_is_tried_only_where_that_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = having(NAMES)
    measured = replace(made, quirks=replace(made.quirks, matrices_measured=True))
    monkeypatch.setattr(matrix_check, "in_child", lambda *asked: dict.fromkeys(NAMES, "multiplies wrongly"))
    assert usable_instructions(measured, None) == NAMES
    assert usable_instructions(measured, tmp_path) == ()
    assert usable_instructions(made, None) == ()


def test_verdicts_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(device: Device, function: object) -> dict[str, str]:
        asked.append(device)
        return {"mfma_f16": "", "wmma_bf16": "does not build: unknown"}

    monkeypatch.setattr(matrix_check, "in_child", answer)
    assert usable_instructions(having(NAMES), tmp_path) == ("mfma_f16",)
    assert usable_instructions(having(NAMES), tmp_path) == ("mfma_f16",)
    matrix_check._known.clear()  # as in another process
    assert verdicts(having(NAMES), tmp_path)["wmma_bf16"] == "does not build: unknown"
    assert len(asked) == 1
    for name, other in (("identity", "another driver"), ("_sources", "other sources")):
        matrix_check._known.clear()
        monkeypatch.setattr(matrix_check, name, lambda other=other: other)
        verdicts(having(NAMES), tmp_path)
    assert len(asked) == 3
    for file in (tmp_path / "devices").iterdir():
        file.write_bytes(b"{")
    matrix_check._known.clear()
    verdicts(having(NAMES), tmp_path)
    assert len(asked) == 4


def test_a_driver_that_ends_the_process_does_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(device: Device, function: object) -> dict[str, str]:
        raise ChildError("the process ended")

    monkeypatch.setattr(matrix_check, "in_child", ended)
    assert usable_instructions(having(NAMES), tmp_path) == ()
    matrix_check._known.clear()
    monkeypatch.setattr(matrix_check, "in_child", lambda *asked: pytest.fail("it is known"))
    assert set(verdicts(having(NAMES), tmp_path).values()) == {"the process ended"}


def test_what_could_not_be_launched_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*passed: object) -> None:
        raise TrialError("out of resources", built=True)

    monkeypatch.setattr(matrix_trial, "launch", refused)
    monkeypatch.setattr(matrix_check, "in_child", lambda device, function: matrix_trial.run(device))
    assert usable_instructions(having(NAMES), tmp_path) == ()
    assert all(fault.startswith("was not tried") for fault in verdicts(having(NAMES), tmp_path).values())
    matrix_check._known.clear()
    monkeypatch.setattr(matrix_check, "in_child", lambda device, function: dict.fromkeys(NAMES, ""))
    assert usable_instructions(having(NAMES), tmp_path) == NAMES


def test_a_trial_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Which finds the device by its key, and its row: here there is none, and nothing may be used."""
    chosen = choose()
    given = replace(chosen, quirks=replace(chosen.quirks, matrix_instructions=("mfma_f32",)))
    expected = "no row names it" if "mfma_f32" not in chosen.quirks.matrix_instructions else ""
    assert expected in verdicts(given, None)["mfma_f32"]


def test_the_listing_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = all_devices()[0]
    found = {"mma_f16": "", "mma_f64": "does not build: unknown"}
    for how, parts in (
        ("verbose", ("mma_f16: multiplies rightly", "mma_f64: does not build: unknown")),
        ("json", ('"mma_f16": ""', '"mma_f64": "does not build: unknown"')),
    ):
        stream = io.StringIO()
        listing.report(stream, how, lambda device: found if device == chosen else {})  # type: ignore[arg-type]
        assert all(part in stream.getvalue() for part in parts)


def test_every_process_has_them_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans on disk are found by the text of a target."""
    monkeypatch.setattr(matrix_check, "in_child", lambda device, function: dict.fromkeys(reversed(NAMES), ""))
    assert usable_instructions(having(NAMES[::-1]), None) == NAMES
    assert "frozenset" not in str(Target(matrix_instructions=NAMES))
