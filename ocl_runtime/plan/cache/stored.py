"""Plans that earlier processes have made, on disk, so that a program that starts again plans nothing.

A file holds the plans for one structure and what may be written over, each beside its guards, and the kernels of all of
them with what they were compiled to. They are pickled: the folder is private, as that of a compiler's cache is
(`ocl_runtime.private_folder`), a digest finds out what is damaged, and only classes of this library are read. What a
plan depends on beside its expression is part of the key: the target, the device and its driver, the versions of Python
and NumPy, and every file of this library.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

import ocl_ir
from ocl_ir.guards import Guards
from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.codegen.disk import Counters, DamagedFileError, ProgramFiles
from ocl_runtime.codegen.templates import templates_folder
from ocl_runtime.plan.cache.pickled import loaded, pickled
from ocl_runtime.plan.cache.slots import named
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.planner import Planning

_FORMAT = 1
"""Raise it when the meaning of a file changes."""
_MOST_OF_A_FILE = 16
_MOST_KERNELS = 4096
_MOST_OPEN = 16


class Compiling(Planning, Protocol):
    """Who compiles kernels."""

    def compiled(self, kernel: Kernel) -> object | None:
        """What a kernel was compiled to, if it was: something that can be pickled."""

    def adopt(self, kernel: Kernel, compiled: Any) -> None:
        """The same for a kernel that is to be built next."""


class _Stored(NamedTuple):
    """The content of a file: kernels by digest, and for each plan its guards and itself; all of these pickled."""

    kernels: dict[bytes, bytes]
    guards: list[bytes]
    plans: list[bytes]


class _Open(NamedTuple):
    """A file that was read, with its guards."""

    stored: _Stored
    guards: list[Guards]


class StoredPlans:
    """The plans for one executor among the files of its programs. Any thread may use them."""

    def __init__(self, files: ProgramFiles, made_for: str) -> None:
        self.counters = Counters()
        """Of plans: what was found, and what was damaged."""
        self._files = files
        self._made_for = made_for
        self._kernels: dict[bytes, Kernel] = {}
        """Those that have been read or written."""
        self._open: dict[bytes, _Open] = {}
        self._lock = threading.RLock()

    def takes(self) -> bool:
        """Whether plans can be kept, or found."""
        return self._files.takes()

    def find(
        self, structure: Hashable, donation: Hashable, sizes: tuple[int, ...], executor: Compiling
    ) -> Template | None:
        """A plan for a structure, by its key, that serves some sizes; None where there is none."""
        key, bound = self._key(structure, donation), named(sizes)
        try:
            stored, listed = self._opened(key)
            plan = next((plan for guards, plan in zip(listed, stored.plans, strict=True) if guards.hold(bound)), None)
            if plan is None:
                return None
            template: Template = loaded(plan, lambda digest: self._kernel(digest, stored, executor))
        except Exception:  # whatever is wrong with a file, the plan can be made
            self.counters.damaged += 1
            return None
        template.serve(executor)
        self.counters.disk_hits += 1
        return template

    def keep(self, structure: Hashable, donation: Hashable, template: Template, executor: Compiling) -> None:
        """Keeps a plan whose kernels are built; it may not be possible."""
        key = self._key(structure, donation)
        try:
            written = {id(kernel): self._written(kernel, executor) for kernel in template.kernels}
            kernels = dict(written.values())
            plan = pickled(template, lambda kernel: written[id(kernel)][0])
            guards = pickled(template.guards)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            return  # something in it belongs to this process
        with self._lock:
            self._open.pop(key, None)
            stored = self._read(key)
            first = slice(_MOST_OF_A_FILE)
            more = [guards, *stored.guards][first], [plan, *stored.plans][first]
            self._files.write(key, pickle.dumps(_Stored({**stored.kernels, **kernels}, *more)))

    def _key(self, structure: Hashable, donation: Hashable) -> bytes:
        return hashlib.sha256(f"{self._made_for} {_library()} {structure!r} {donation!r}".encode()).digest()

    def _read(self, key: bytes) -> _Stored:
        try:
            content = self._files.read(key)
            if isinstance(content, bytes):
                return _Stored(*loaded(content))
        except DamagedFileError:
            self.counters.damaged += 1
        except Exception:  # it is what was written, but not by this version
            self.counters.damaged += 1
        return _Stored({}, [], [])

    def _opened(self, key: bytes) -> _Open:
        """A file as it was when it was opened; a loop finds all its plans in few."""
        with self._lock:
            found = self._open.get(key)
            if found is None:
                stored = self._read(key)
                found = _Open(stored, [loaded(guards) for guards in stored.guards])
                self._files.touch(key)
                while len(self._open) >= _MOST_OPEN:
                    del self._open[next(iter(self._open))]
                self._open[key] = found
        return found

    def _written(self, kernel: Kernel, executor: Compiling) -> tuple[bytes, bytes]:
        """A kernel with its form and what it was compiled to, and the digest of that."""
        content = pickled((executor.kernels.form_of(kernel), kernel, executor.compiled(kernel)))
        digest = hashlib.sha256(content).digest()
        self._known(digest, kernel)
        return digest, content

    def _kernel(self, digest: bytes, stored: _Stored, executor: Compiling) -> Kernel:
        """The kernel of a digest; that of its form, if there is one."""
        known = self._kernels.get(digest)
        if known is None:
            form, made, compiled = loaded(stored.kernels[digest])
            known = made if form is None else executor.kernels.adopt(form, made)
            if known is made and compiled is not None:
                executor.adopt(known, compiled)
            self._known(digest, known)
        return known

    def _known(self, digest: bytes, kernel: Kernel) -> None:
        with self._lock:
            if len(self._kernels) >= _MOST_KERNELS:
                self._kernels.clear()
            self._kernels[digest] = kernel


@lru_cache(maxsize=1)
def _library() -> str:
    """What tells this very library, Python and NumPy from others: a plan of another one may mean something else."""
    digest = hashlib.sha256(f"{_FORMAT} {sys.version} {np.__version__}".encode())
    for folder in (*map(Path, ocl_ir.__path__), Path(__file__).parents[2], templates_folder()):
        for file in sorted(folder.rglob("*")):
            if file.suffix in {".py", ".mako"}:
                status = file.stat()
                digest.update(f"{file} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()
