"""Built programs, remembered in memory and on disk, so that nothing is compiled twice.

Strategy: a program's key is a digest of everything its binary depends on: source, options, device, driver and
platform version, and the format of our files. In memory, those used last, within bounds of number and bytes: who holds
a dropped one lets it go and asks again when it is needed. On disk, see `disk`. The cache is only ever a short cut: a
file that is damaged, cut off, or refused by the driver is built again from source and replaced.

Invariant: of threads that want the same program, one builds it and the others wait.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from weakref import WeakSet, WeakValueDictionary

from ocl_runtime.codegen.combine import Part, combine
from ocl_runtime.codegen.disk import FORMAT, Counters, DamagedFileError, PartOf, ProgramFiles
from ocl_runtime.codegen.driver import Context, Explain, Program, RefusedBinaryError, build, full_options, load
from ocl_runtime.device import Device
from ocl_runtime.errors import BuildError
from ocl_runtime.private_folder import CacheWarning

__all__ = ["CacheWarning", "Counters", "ProgramCache"]

MOST_TOGETHER = 64  # kernels of one program, so that none takes a driver minutes


class User(Protocol):
    """Who holds a program."""

    @property
    def used(self) -> float:
        """When it last needed it, by `time.monotonic`."""

    def let_go(self) -> None:
        """Stop holding it; it is to be asked for when it is needed again."""


@dataclass
class _Entry:
    """A program once it is built, and who holds it; the lock is held while somebody builds it, alone or with others."""

    program: Program | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    asked_for: bool = False
    users: WeakSet[User] = field(default_factory=WeakSet)
    used: float = field(default_factory=time.monotonic)

    def last_used(self) -> float:
        """When somebody asked for it, or needed it."""
        return max([self.used, *[user.used for user in self.users]])


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
        self.files = ProgramFiles(cache_folder / "programs" if cache_folder else None, disk_bytes, self.counters)
        """On disk; others may keep there what belongs to programs."""
        self._memory_bytes = memory_bytes
        self._memory_entries = memory_entries
        self._programs: dict[bytes, _Entry] = {}
        self._wholes: WeakValueDictionary[bytes, Program] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._wholes_lock = threading.Lock()  # held while one is loaded

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
            if entry.program is None:
                entry.program = self._made(key, source, options, explain)
            program = entry.program
        with self._lock:
            self._programs[key] = entry
            self.counters.memory_hits += entry.asked_for
            first, entry.asked_for = not entry.asked_for, True
        entry.used = time.monotonic()
        if first:
            self._drop()
        return program

    def build_together(self, parts: Sequence[Part]) -> None:
        """Makes programs of sources that will be asked for, as one where none of them is in memory or on disk.

        What does not build is left to who asks for it, and hears then what its fault is.
        """
        lock = threading.Lock()
        with self._lock:
            new = self._new_entries(parts, lock)
        with lock:
            try:
                self._build_new(new)
            except BaseException:
                self._forget_unbuilt(new)
                raise

    def _new_entries(self, parts: Sequence[Part], lock: threading.Lock) -> dict[bytes, tuple[Part, _Entry]]:
        keyed = {self._key(part.text, ()): part for part in parts}
        new = {key: (part, _Entry(lock=lock)) for key, part in keyed.items() if key not in self._programs}
        self._programs.update({key: entry for key, (_, entry) in new.items()})
        return new

    def _forget_unbuilt(self, new: Mapping[bytes, tuple[Part, _Entry]]) -> None:
        """Whoever asks for them next builds them, together if it wants several."""
        unbuilt = {key: entry for key, (_, entry) in new.items() if entry.program is None}
        with self._lock:
            for key, entry in unbuilt.items():
                self._forget(key, entry)

    def _forget(self, key: bytes, entry: _Entry) -> None:
        if self._programs.get(key) is entry:
            del self._programs[key]

    def _build_new(self, new: Mapping[bytes, tuple[Part, _Entry]]) -> None:
        for key, (part, entry) in new.items():
            entry.program = entry.program or self._from_disk(key, part.text, ())
        missing = [(key, part, entry) for key, (part, entry) in new.items() if entry.program is None]
        for first in range(0, len(missing), MOST_TOGETHER):
            together = missing[first : first + MOST_TOGETHER]
            if len(together) > 1:
                with suppress(BuildError):
                    self._build_as_one(together)

    def _build_as_one(self, together: Sequence[tuple[bytes, Part, _Entry]]) -> None:
        text, renamed = combine([part for _, part, _ in together])
        key = self._key(text, ())
        whole = self._wholes[key] = self._build(text, (), None)
        kept = self._keep(key, whole)
        for (part_key, part, entry), names in zip(together, renamed, strict=True):
            entry.program = whole.part(part.text, names)
            if kept:
                self.files.write(part_key, PartOf(key, names))

    def _made(self, key: bytes, source: str, options: Sequence[str], explain: Explain | None) -> Program:
        try:
            program = self._from_disk(key, source, options)
            if program is None:
                program = self._build(source, options, explain)
                self._keep(key, program)
            return program
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
        """Keys of programs, all parts of a whole together."""
        held: dict[Program, list[bytes]] = {}
        used: dict[Program, float] = {}
        for key, entry in self._programs.items():
            if (program := entry.program) is not None:
                whole = program.whole or program
                held.setdefault(whole, []).append(key)
                used[whole] = max(used.get(whole, 0.0), entry.last_used())
        wholes = sorted(held, key=used.__getitem__, reverse=True)
        totals = itertools.accumulate(whole.nbytes for whole in wholes)
        within = sum(nbytes <= self._memory_bytes for nbytes in totals)
        return [key for whole in wholes[max(1, min(within, self._memory_entries)) :] for key in held[whole]]

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

    def _build(self, source: str, options: Sequence[str], explain: Explain | None) -> Program:
        program = build(self._context, self._device, source, options, explain)
        with self._lock:
            self.counters.built += 1
        return program

    def _keep(self, key: bytes, program: Program) -> bool:
        """Whether a program that was built is on disk now."""
        # PoCL compiles each kernel once more, for any group size, to give a binary.
        binary = program.binary if self.files.takes() else None
        return binary is not None and self.files.write(key, binary)

    def _from_disk(self, key: bytes, source: str, options: Sequence[str]) -> Program | None:
        try:
            written = self.files.read(key)
            if written is None:
                return None
            if isinstance(written, bytes):
                program = load(self._context, self._device, source, written, options)
            elif (whole := self._whole(written.whole)) is not None:
                program = whole.part(source, written.renamed)
            else:
                return None
        except (DamagedFileError, RefusedBinaryError):
            with self._lock:
                self.counters.damaged += 1
            return None
        with self._lock:
            self.counters.disk_hits += 1
        self.files.touch(key)
        if isinstance(written, PartOf):
            self.files.touch(written.whole)  # later than all parts: it is to leave the disk last
        return program

    def _whole(self, key: bytes) -> Program | None:
        """What others are parts of: loaded once, and None where it has left the disk."""
        with self._wholes_lock:
            whole = self._wholes.get(key)
            if whole is None and isinstance(binary := self.files.read(key), bytes):
                whole = self._wholes[key] = load(self._context, self._device, "", binary)
            return whole
