"""What is remembered, by device, driver, kernels and problem; and that nothing else is believed."""

from __future__ import annotations

import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.tuning.choices import Choices
from ocl_runtime.tuning.records import FOLDER, Place, Record, Records

HERE = Place("a device, a platform", "1.2")
THERE = Place("a device, a platform", "1.3")


def record(problem: str = "p", variant: str = "v", version: str = "k1", algorithm: str = "products") -> Record:
    return Record(algorithm, version, problem, variant, 0.5, 1.0)


def choices(folder: Path | None, place: Place = HERE, version: str = "k1") -> Choices:
    return Choices(Records(folder), place, {"products": lambda: version})


def kernel(name: str) -> Kernel:
    return KernelBuilder(name).build()


def test_records_are_there_for_the_next_process(tmp_path: Path) -> None:
    assert choices(tmp_path).keep([record("p", "v"), record("q", "w")])
    assert choices(tmp_path).records("products") == [("p", "v"), ("q", "w")]
    assert choices(tmp_path).records("sorts") == ()


def test_a_newer_record_replaces_the_older(tmp_path: Path) -> None:
    choices(tmp_path).keep([record("p", "v")])
    choices(tmp_path).keep([record("p", "w")])
    assert choices(tmp_path).records("products") == [("p", "w")]


def test_another_driver_and_other_kernels_know_nothing(tmp_path: Path) -> None:
    choices(tmp_path).keep([record()])
    assert choices(tmp_path, THERE).records("products") == ()
    assert choices(tmp_path, version="k2").records("products") == ()
    assert choices(tmp_path).records("products") == [("p", "v")]


def test_other_kernels_keep_records_of_their_own(tmp_path: Path) -> None:
    choices(tmp_path).keep([record(variant="old")])
    choices(tmp_path, version="k2").keep([record(variant="new", version="k2")])
    assert choices(tmp_path).records("products") == [("p", "old")]
    assert choices(tmp_path, version="k2").records("products") == [("p", "new")]


def test_without_a_folder_they_live_as_long_as_the_process() -> None:
    known = choices(None)
    assert not known.keep([record()])
    assert known.records("products") == [("p", "v")]
    assert choices(None).records("products") == ()


def test_who_never_tunes_makes_no_folder(tmp_path: Path) -> None:
    known = choices(tmp_path / "cache")
    assert (known.records("products"), known.digest(), [*Records(tmp_path / "cache").all()]) == ((), "", [])
    Records(tmp_path / "cache").clear()
    known.forget()
    assert not (tmp_path / "cache").exists()


def test_only_the_user_can_read_and_write(tmp_path: Path) -> None:
    choices(tmp_path).keep([record()])
    (file,) = (tmp_path / FOLDER).iterdir()
    assert stat.S_IMODE((tmp_path / FOLDER).stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def changed(file: Path, **fields: Any) -> None:
    said = json.loads(file.read_bytes())
    file.write_text(json.dumps(said | fields))


@pytest.mark.parametrize(
    "damage", ["cut", "empty", "not json", "a list", "a word", "other", "format", "place", "extra"]
)
def test_what_is_damaged_counts_as_nothing(tmp_path: Path, damage: str) -> None:
    choices(tmp_path).keep([record()])
    (file,) = (tmp_path / FOLDER).iterdir()
    content = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(content[:-9])
        case "empty":
            file.write_bytes(b"")
        case "not json":
            file.write_bytes(b"\xff\xfe")
        case "a list":
            file.write_bytes(b"[1, 2]")
        case "a word":
            file.write_bytes(b'"word"')
        case "other":
            file.write_bytes(content.replace(b'"variant": "v"', b'"variant": "w"'))
        case "format":
            changed(file, format=2)
        case "place":
            changed(file, device="another")
        case "extra":
            changed(file, records=[{"algorithm": 3}])
    assert choices(tmp_path).records("products") == ()
    assert list(Records(tmp_path).all()) == []
    choices(tmp_path).keep([record("p", "again")])
    assert choices(tmp_path).records("products") == [("p", "again")]


def test_a_file_of_another_place_is_not_that_of_this_one(tmp_path: Path) -> None:
    choices(tmp_path, THERE).keep([record()])
    (file,) = (tmp_path / FOLDER).iterdir()
    file.rename(file.with_name(HERE.file))
    assert choices(tmp_path).records("products") == ()


def test_all_of_them_can_be_listed_and_forgotten(tmp_path: Path) -> None:
    choices(tmp_path).keep([record()])
    choices(tmp_path, THERE).keep([record("q")])
    records = Records(tmp_path)
    assert {place: [made.problem for made in of] for place, of in records.all()} == {HERE: ["p"], THERE: ["q"]}
    records.clear()
    assert list(records.all()) == []
    assert choices(tmp_path).records("products") == ()


def test_the_digest_tells_records_apart(tmp_path: Path) -> None:
    known = choices(tmp_path)
    assert known.digest() == "", "without records, plans are those that there were before"
    known.keep([record("p", "v")])
    first = known.digest()
    assert first
    assert choices(tmp_path).digest() == first
    known.keep([record("p", "w")])
    assert known.digest() not in {"", first}
    known.forget()
    assert known.digest() == ""
    assert choices(tmp_path).digest() == ""


def test_generations_tell_that_something_changed(tmp_path: Path) -> None:
    known = choices(tmp_path)
    seen = [known.generation]
    known.keep([record()])
    seen.append(known.generation)
    known.forget()
    seen.append(known.generation)
    assert len({*seen}) == 3


def test_a_winner_that_fails_is_forgotten_once_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    known, of_record, other = choices(tmp_path), kernel("tuned"), kernel("other")
    known.keep([record("p", "v"), record("q", "w")])
    known.used("products", "p", [of_record, kernel("join")])
    assert not known.failed([other], RuntimeError("no"))
    with caplog.at_level(logging.WARNING, "ocl_runtime"):
        assert known.failed([other, of_record], RuntimeError("no registers\nmore"))
    assert [line.getMessage() for line in caplog.records] == [
        "v for p, which was measured as the fastest, failed and is forgotten: no registers"
    ]
    assert known.records("products") == [("q", "w")]
    assert choices(tmp_path).records("products") == [("q", "w")]
    assert not known.failed([of_record], RuntimeError("again")), "the formula's own failure is nobody's fault"
