"""Folders and files on disk that only this user can read or write, for everything the library remembers.

Invariants: what is read was written by this user, and nobody else could have changed it; a reader sees a whole file or
none (atomic rename), whatever other processes do; and a disk that is full, read-only or somebody else's costs one
warning and never an error.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import warnings
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# A link is not followed, and a pipe that somebody put there is not waited for. Windows has neither flag.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class CacheWarning(UserWarning):
    """The disk cache cannot be used as asked; the work goes on without it."""


class PrivateFolder:
    """A folder of mode 0700 owned by this user, or nothing at all.

    Every method treats an unusable folder as an empty one that takes nothing. A folder that no longer takes files (disk
    full, file system read-only) is still read.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._usable: bool | None = None if path else False
        self._writable = True

    def takes(self) -> bool:
        """Whether `write` may keep something."""
        return self._open() is not None and self._writable

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None."""
        path = self._open()
        if path is None:
            return None
        try:
            return _content(path / name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._usable = False
            self._warn(f"cannot use the cache folder {self._path}: {error}; working without it")
            return None

    def write(self, name: str, content: bytes) -> bool:
        """Put a whole file in place atomically; False if that cannot be done."""
        path = self._open()
        if path is None or not self._writable:
            return False
        temporary = path / f".{name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                temporary.replace(path / name)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            self._writable = False
            self._warn(f"cannot use the cache folder {self._path}: {error}; working without it")
            return False
        return True

    def touch(self, name: str) -> None:
        """Mark a file as used just now."""
        if (path := self._open()) is not None:
            with contextlib.suppress(OSError):  # evicted meanwhile, or read-only: its age is only a hint
                os.utime(path / name)

    def remove(self, name: str) -> None:
        """Forget a file if it is there."""
        if (path := self._open()) is not None:
            with contextlib.suppress(OSError):  # a read-only file system: reading goes on
                (path / name).unlink(missing_ok=True)

    def files(self) -> list[tuple[float, int, str]]:
        """(time of last use, bytes, name) of every file, least recently used first; leftovers of killed writers too."""
        path = self._open()
        entries = []
        if path is not None:
            # Asked at every write: with a path object for each file it would take most of the time of one.
            with contextlib.suppress(OSError), os.scandir(path) as found:
                for file in found:
                    with contextlib.suppress(FileNotFoundError):  # another process evicted it
                        status = file.stat(follow_symlinks=False)
                        entries.append((status.st_mtime, status.st_size, file.name))
        return sorted(entries)

    def _open(self) -> Path | None:
        """The folder, made and checked at its first use: a process that never needs it leaves no trace."""
        if self._usable is None and self._path is not None:
            self._usable = True
            try:
                self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
                if hasattr(os, "getuid"):  # on Windows the profile folder is private already
                    self._check(self._path)
            except OSError as error:
                self._usable = False
                self._warn(f"cannot use the cache folder {self._path}: {error}; working without it")
        return self._path if self._usable else None

    def _check(self, path: Path) -> None:
        # Both the name and what it leads to: a symbolic link somebody else planted is refused too.
        if {path.lstat().st_uid, path.stat().st_uid} != {os.getuid()}:
            raise PermissionError(f"{path} belongs to another user")
        mode = path.stat().st_mode
        if mode & _WRITABLE_BY_OTHERS:
            aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.not-used")
            path.rename(aside)
            path.mkdir(mode=0o700)
            self._warn(f"others could write into the cache folder {path}: what was in it is in {aside} and is not used")
        elif mode & 0o077:
            path.chmod(0o700)

    def _warn(self, fact: str) -> None:
        warnings.warn(f"{fact}. Name another with OCL_RUNTIME_CACHE, or set it to off", CacheWarning, stacklevel=2)


def _content(path: Path) -> bytes | None:
    """What a file holds that is this user's own and nobody else can write; None of anything else."""
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        if path.is_symlink():
            return None
        raise
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and _own(status):
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()
    finally:
        os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):  # no file can take its place
        shutil.rmtree(path, ignore_errors=True)
    return None


def _own(status: os.stat_result) -> bool:
    """Whether a file is this user's and nobody else can write it."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & _WRITABLE_BY_OTHERS
