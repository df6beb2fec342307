"""Built programs, remembered in memory and on disk, so that nothing is compiled twice.

Strategy: a program's key is a digest of everything its binary depends on: source, options, device, driver and
platform version, and the format of our files. In memory, those used last, within bounds of number and bytes: who holds
a dropped one lets it go and asks again when it is needed. On disk, one file per key in a private
folder: a header that says what follows and its digest, then the driver's binary. The cache is only ever a short cut:
an entry that is damaged, cut off, or refused by the driver is built again from source and replaced. Nothing of it is
executed by Python.

Invariants: of threads that want the same program, one builds it and the others wait; processes share the folder
without locks, since a file appears whole or not at all and any of them may vanish at any time.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from ocl_runtime.codegen.driver import Context, Explain, Program, RefusedBinaryError, build, full_options, load
from ocl_runtime.device import Device
from ocl_runtime.private_folder import CacheWarning, PrivateFolder

__all__ = ["CacheWarning", "Counters", "ProgramCache"]

FORMAT = 1  # raise it when the header or the meaning of the key changes
MAGIC = b"OCLRPROG"
# magic, format, key, length of the payload, SHA-256 of the payload
HEADER = struct.Struct("<8sI32sQ32s")
SUFFIX = ".bin"
STALE = 3600.0  # seconds after which an unfinished file belongs to a writer that was killed


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


class User(Protocol):
    """Who holds a program."""

    def let_go(self) -> None:
        """Stop holding it; it is to be asked for when it is needed again."""


@dataclass
class _Entry:
    """A program once it is built, and who holds it; the lock is held while somebody builds it."""

    program: Program | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: WeakSet[User] = field(default_factory=WeakSet)


class ProgramCache:
    """The programs of one device in one context. Any thread may use it."""

    def __init__(
        self,
        context: Context,
        device: Device,
        cache_folder: Path | None,
        *,
        disk_bytes: int = 256 * 2**20,
        memory_bytes: int = 512 * 2**20,
        memory_entries: int = 1024,
    ) -> None:
        self.counters = Counters()
        self._context = context
        self._device = device
        self._folder = PrivateFolder(cache_folder / "programs" if cache_folder else None)
        self._disk_bytes = disk_bytes
        self._memory_bytes = memory_bytes
        self._memory_entries = memory_entries
        self._programs: dict[bytes, _Entry] = {}
        self._lock = threading.Lock()
        self._bytes_on_disk: int | None = None  # as far as this process knows; None until it has looked

    def program(
        self, source: str, options: Sequence[str] = (), explain: Explain | None = None, user: User | None = None
    ) -> Program:
        """The program of `source` built with `options`: from memory, from disk, or built now. `user` will hold it."""
        key = self._key(source, options)
        with self._lock:
            entry = self._programs.setdefault(key, _Entry())
            if user is not None:
                entry.users.add(user)
        with entry.lock:  # which an interrupt gives back
            ours = entry.program is None
            if entry.program is None:
                entry.program = self._made(key, source, options, explain)
            program = entry.program
        with self._lock:
            self._programs[key] = entry
            self.counters.memory_hits += not ours
        program.used = time.monotonic()
        if ours:
            self._drop()
        return program

    def _made(self, key: bytes, source: str, options: Sequence[str], explain: Explain | None) -> Program:
        try:
            return self._from_disk(key, source, options) or self._build(key, source, options, explain)
        except BaseException:
            # A failure is not remembered: whoever asks next tries again.
            with self._lock:
                self._programs.pop(key, None)
            raise

    def _drop(self) -> None:
        """Forgets what was used least recently, until the rest is within bounds; the newest stays in any case."""
        with self._lock:
            for key in self._beyond_bounds():
                for user in self._programs.pop(key).users:
                    user.let_go()
                self.counters.dropped += 1

    def _beyond_bounds(self) -> list[bytes]:
        held = [(one.program, key) for key, one in self._programs.items() if one.program is not None]
        held.sort(key=lambda item: item[0].used, reverse=True)
        totals = itertools.accumulate(program.nbytes for program, _ in held)
        within = sum(nbytes <= self._memory_bytes for nbytes in totals)
        return [key for _, key in held[max(1, min(within, self._memory_entries)) :]]

    def _key(self, source: str, options: Sequence[str]) -> bytes:
        caps = self._device.capabilities
        digest = hashlib.sha256()
        for part in (
            str(FORMAT),
            source,
            "\0".join(full_options(self._device, options)),
            caps.name,
            caps.platform,
            caps.platform_version,
            caps.driver_version,
        ):
            encoded = part.encode()
            digest.update(len(encoded).to_bytes(8, "little"))
            digest.update(encoded)
        return digest.digest()

    def _build(self, key: bytes, source: str, options: Sequence[str], explain: Explain | None) -> Program:
        program = build(self._context, self._device, source, options, explain)
        with self._lock:
            self.counters.built += 1
        # PoCL compiles each kernel once more, for any group size, to give a binary.
        if self._folder.takes() and (binary := program.binary) is not None:
            self._store(key, binary)
        return program

    def _from_disk(self, key: bytes, source: str, options: Sequence[str]) -> Program | None:
        name = key.hex() + SUFFIX
        content = self._folder.read(name)
        if content is None:
            return None
        binary = _unpack(key, content)
        if binary is not None:
            try:
                program = load(self._context, self._device, source, binary, options)
            except RefusedBinaryError:
                pass
            else:
                self._folder.touch(name)
                with self._lock:
                    self.counters.disk_hits += 1
                return program
        with self._lock:
            self.counters.damaged += 1
        return None

    def _store(self, key: bytes, binary: bytes) -> None:
        content = HEADER.pack(MAGIC, FORMAT, key, len(binary), hashlib.sha256(binary).digest()) + binary
        if len(content) > self._disk_bytes or not self._folder.write(key.hex() + SUFFIX, content):
            return
        with self._lock:
            # A full listing only when it is needed: other processes' files are unknown between two of them.
            if self._bytes_on_disk is not None and self._bytes_on_disk + len(content) <= self._disk_bytes:
                self._bytes_on_disk += len(content)
            else:
                self._evict()

    def _evict(self) -> None:
        """Look at the folder, and remove what was used least recently until it fits."""
        now = time.time()
        entries = []
        for used, size, name in self._folder.files():
            if name.endswith(SUFFIX):
                entries.append((size, name))
            elif now - used > STALE:
                self._folder.remove(name)
        total = sum(size for size, _ in entries)
        for size, name in entries:
            if total <= self._disk_bytes:
                break
            self._folder.remove(name)
            total -= size
            self.counters.evicted += 1
        self._bytes_on_disk = total


def _unpack(key: bytes, content: bytes) -> bytes | None:
    """The binary in a file, if every word of its header is true."""
    if len(content) < HEADER.size:
        return None
    magic, version, written_key, length, digest = HEADER.unpack_from(content)
    binary = content[HEADER.size :]
    whole = (magic, version, written_key, length) == (MAGIC, FORMAT, key, len(binary))
    return binary if whole and hashlib.sha256(binary).digest() == digest else None
