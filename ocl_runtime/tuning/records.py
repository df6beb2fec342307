"""What was measured, on disk: one file for each device with its driver.

A file is JSON with a digest of what it says, in a folder that only this user can write; nothing in it is executed. It
appears whole or not at all. What is damaged, or of another format, counts as nothing measured, and the next measurement
replaces it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ocl_runtime.private_folder import PrivateFolder

_FORMAT = 1
_SUFFIX = ".json"
FOLDER = "tuning"
"""Below the cache folder."""


@dataclass(frozen=True, slots=True)
class Record:
    """The `variant` of an algorithm, with this `version` of its kernels, that was the fastest for a problem: `seconds`
    on the device's clock, and those of what is taken where nothing was measured."""

    algorithm: str
    version: str
    problem: str
    variant: str
    seconds: float
    unmeasured: float

    @property
    def key(self) -> tuple[str, str, str]:
        """What a newer record of the same replaces."""
        return self.algorithm, self.version, self.problem


@dataclass(frozen=True, slots=True)
class Place:
    """For what was measured: a device, by its name and platform, and the version of its driver."""

    device: str
    driver: str

    @property
    def file(self) -> str:
        """The name of the file."""
        return hashlib.sha256(f"{self.device}\0{self.driver}".encode()).hexdigest()[:32] + _SUFFIX


class Records:
    """The records of all devices in a cache folder; without one, nothing is kept."""

    def __init__(self, cache_folder: Path | None) -> None:
        self._path = None if cache_folder is None else cache_folder / FOLDER
        self._folder = PrivateFolder(self._path)

    def read(self, place: Place) -> list[Record]:
        """Those for a device."""
        content = self._folder.read(place.file) if self._is_there() else None
        said = None if content is None else _read(content)
        return said[1] if said is not None and said[0] == place else []

    def keep(self, place: Place, made: Sequence[Record]) -> bool:
        """Adds records, in place of older ones of the same; False where that cannot be done."""
        known = {record.key: record for record in (*self.read(place), *made)}
        return self._write(place, list(known.values()))

    def drop(self, place: Place, gone: Sequence[Record]) -> bool:
        """Removes records; False where that cannot be done."""
        keys = {record.key for record in gone}
        return self._write(place, [record for record in self.read(place) if record.key not in keys])

    def all(self) -> Iterator[tuple[Place, list[Record]]]:
        """The devices with records, and these."""
        for _, _, name in self._folder.files() if self._is_there() else ():
            content = self._folder.read(name) if name.endswith(_SUFFIX) else None
            said = None if content is None else _read(content)
            if said is not None:
                yield said

    def clear(self) -> None:
        """Removes all files."""
        for _, _, name in self._folder.files() if self._is_there() else ():
            self._folder.remove(name)

    def _is_there(self) -> bool:
        """Whether anything was ever kept: who never tunes makes no folder, and hears of none that cannot be made."""
        return self._path is not None and self._path.is_dir()

    def _write(self, place: Place, records: Sequence[Record]) -> bool:
        if not records:
            if self._is_there():
                self._folder.remove(place.file)
            return True
        said = {"format": _FORMAT, **asdict(place), "records": [asdict(record) for record in records]}
        return self._folder.write(place.file, json.dumps(said | {"digest": _digest(said)}, indent=1).encode())


def _digest(said: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _read(content: bytes) -> tuple[Place, list[Record]] | None:
    """What a file says; None where it is damaged, or says something else."""
    try:
        said = json.loads(content)
        digest = said.pop("digest")
        if said["format"] != _FORMAT or digest != _digest(said):
            return None
        place = Place(said["device"], said["driver"])
        records = [Record(**record) for record in said["records"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return (place, records) if all(map(_is_one, records)) else None


def _is_one(record: Record) -> bool:
    """Whether the fields are of their types: a digest shows what disks do to a file, not that it was written right."""
    texts = (record.algorithm, record.version, record.problem, record.variant)
    numbers = (record.seconds, record.unmeasured)
    return all(isinstance(text, str) for text in texts) and all(isinstance(number, float) for number in numbers)
