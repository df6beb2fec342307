"""Built programs on disk: one file per key in a private folder, within a bound of bytes.

A file is a header that says what follows and its digest, then the payload: the driver's binary, or, for a program that
is part of a larger one, the key of the whole and the other names of its functions. Nothing of it is executed by Python.
Plans lie here, too, by keys of their own; `ocl_runtime.plan.cache.stored` says what these are.

Invariants: a file appears whole or not at all, and any of them may vanish at any time, so processes share the folder
without locks; what is damaged or cut off is told from what is not there, and is never returned.
"""

from __future__ import annotations

import hashlib
import json
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ocl_runtime.private_folder import PrivateFolder

FORMAT = 2  # raise it when the header or the meaning of the key changes
_BINARY = b"OCLRPROG"
_PART = b"OCLRPART"
# magic, format, key, length of the payload, SHA-256 of the payload
HEADER = struct.Struct("<8sI32sQ32s")
_SUFFIX = ".bin"
_STALE = 3600.0  # seconds after which an unfinished file belongs to a writer that was killed
_KEY = hashlib.sha256().digest_size


@dataclass
class Counters:
    """What a cache did since it was made. An entry that the driver refused counts as damaged."""

    memory_hits: int = 0
    disk_hits: int = 0
    built: int = 0
    damaged: int = 0
    evicted: int = 0
    """Files that left a full disk."""
    dropped: int = 0
    """Programs that left full memory."""


class DamagedFileError(Exception):
    """There is a file, and it is not what was written."""


@dataclass(frozen=True)
class PartOf:
    """A program that is part of another one: the key of the whole, and the names its functions have there."""

    whole: bytes
    renamed: Mapping[str, str]


class ProgramFiles:
    """The files of built programs. Any thread may use them."""

    def __init__(self, folder: Path | None, most_bytes: int, counters: Counters) -> None:
        self._folder = PrivateFolder(folder)
        self._most_bytes = most_bytes
        self._counters = counters
        self._lock = threading.Lock()
        self._bytes: int | None = None  # as far as this process knows; None until it has looked

    def takes(self) -> bool:
        """Whether `write` may keep something."""
        return self._folder.takes()

    def read(self, key: bytes) -> bytes | PartOf | None:
        """The binary of a program, or what it is part of; None where there is no file. Raises DamagedFileError."""
        content = self._folder.read(_name(key))
        if content is None:
            return None
        if len(content) < HEADER.size:
            raise DamagedFileError("cut off")
        magic, version, written_key, length, digest = HEADER.unpack_from(content)
        payload = content[HEADER.size :]
        if (version, written_key, length, digest) != (FORMAT, key, len(payload), hashlib.sha256(payload).digest()):
            raise DamagedFileError("not what its header says")
        if magic not in {_BINARY, _PART}:
            raise DamagedFileError("of no known kind")
        return _part(payload) if magic == _PART else payload

    def write(self, key: bytes, entry: bytes | PartOf) -> bool:
        """Keep a program; False if that cannot be done."""
        magic, payload = (_PART, _payload(entry)) if isinstance(entry, PartOf) else (_BINARY, entry)
        content = HEADER.pack(magic, FORMAT, key, len(payload), hashlib.sha256(payload).digest()) + payload
        if len(content) > self._most_bytes or not self._folder.write(_name(key), content):
            return False
        with self._lock:
            # A full listing only when it is needed: other processes' files are unknown between two of them.
            if self._bytes is not None and self._bytes + len(content) <= self._most_bytes:
                self._bytes += len(content)
            else:
                self._bytes = self._evict()
        return True

    def touch(self, key: bytes) -> None:
        """Mark a program as used just now."""
        self._folder.touch(_name(key))

    def _evict(self) -> int:
        """Removes what was used least recently until the rest fits, and leftovers; the bytes that stay."""
        now = time.time()
        entries = []
        for used, size, name in self._folder.files():
            if name.endswith(_SUFFIX):
                entries.append((size, name))
            elif now - used > _STALE:
                self._folder.remove(name)
        total = sum(size for size, _ in entries)
        for size, name in entries:
            if total <= self._most_bytes:
                break
            self._folder.remove(name)
            total -= size
            self._counters.evicted += 1
        return total


def _name(key: bytes) -> str:
    return key.hex() + _SUFFIX


def _payload(part: PartOf) -> bytes:
    return part.whole + json.dumps(dict(part.renamed)).encode()


def _part(payload: bytes) -> PartOf:
    """Raises DamagedFileError: a digest shows what disks do to a file, not that it was written rightly."""
    try:
        renamed = json.loads(payload[_KEY:])
    except ValueError as error:
        raise DamagedFileError(str(error)) from error
    if not isinstance(renamed, dict) or not all(isinstance(name, str) for name in renamed.values()):
        raise DamagedFileError("names of functions are no mapping")
    return PartOf(payload[:_KEY], renamed)
