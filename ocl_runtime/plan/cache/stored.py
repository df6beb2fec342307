"""Plans that earlier processes have made, on disk, so that a program that starts again plans nothing.

A file holds the plans for one structure and what may be written over, each beside its guards, and the kernels of all of
them with what they were compiled to. They are pickled: the folder is private, as that of a compiler's cache is
(`ocl_runtime.private_folder`), a digest finds out what is damaged, and only classes of this library are read. What a
plan depends on beside its expression is part of the key: the target, the device and its driver, the versions of Python
and NumPy, and every file of this library.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import threading
from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

import ocl_ir
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.source_line import Line
from ocl_runtime.codegen.disk import Counters, DamagedFileError, ProgramFiles
from ocl_runtime.codegen.templates import templates_folder
from ocl_runtime.plan.cache.slots import named
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.planner import Planning

_FORMAT = 1
"""Raise it when the meaning of a file changes."""
_MOST_OF_A_FILE = 16
_MOST_KERNELS = 4096
_PACKAGES = frozenset({"_operator", "collections", "numpy", "ocl_ir", "ocl_runtime"})
_BUILTINS = frozenset({"frozenset", "max", "min", "set"})
"""What plans are made of."""


class Compiling(Planning, Protocol):
    """Who compiles kernels."""

    def compiled(self, kernel: Kernel) -> object | None:
        """What a kernel was compiled to, if it was: something that can be pickled."""

    def adopt(self, kernel: Kernel, compiled: Any) -> None:
        """The same for a kernel that is to be built next."""


class _Stored(NamedTuple):
    """The content of a file: kernels by digest, and (guards, plan) for each plan; all of these pickled."""

    kernels: dict[bytes, bytes]
    plans: list[tuple[bytes, bytes]]


class StoredPlans:
    """The plans for one executor in a folder. Any thread may use them; nothing goes wrong where there is no folder."""

    def __init__(self, folder: Path | None, most_bytes: int, made_for: str) -> None:
        self.counters = Counters()
        self._files = ProgramFiles(folder / "plans" if folder else None, most_bytes, self.counters)
        self._made_for = made_for
        self._kernels: dict[bytes, Kernel] = {}
        """Those that have been read or written."""
        self._lock = threading.Lock()

    def takes(self) -> bool:
        """Whether plans can be kept, or found."""
        return self._files.takes()

    def find(
        self, structure: Hashable, donation: Hashable, sizes: tuple[int, ...], executor: Compiling
    ) -> Template | None:
        """A plan for a structure, by its key, that serves some sizes; None where there is none."""
        key = self._key(structure, donation)
        stored = self._read(key)
        bound = named(sizes)
        try:
            for guards, plan in stored.plans:
                if _loaded(guards).hold(bound):
                    template: Template = _loaded(plan, lambda digest: self._kernel(digest, stored, executor))
                    template.serve(executor)
                    self._files.touch(key)
                    self.counters.disk_hits += 1
                    return template
        except Exception:  # whatever is wrong with a file, the plan can be made
            self.counters.damaged += 1
        return None

    def keep(self, structure: Hashable, donation: Hashable, template: Template, executor: Compiling) -> None:
        """Keeps a plan whose kernels are built; it may not be possible."""
        key = self._key(structure, donation)
        try:
            kernels: dict[bytes, bytes] = {}
            plan = _pickled(template, lambda kernel: self._digest(kernel, kernels, executor))
            guards = _pickled(template.guards)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            return
        with self._lock:
            stored = self._read(key)
            plans = [(guards, plan), *stored.plans][:_MOST_OF_A_FILE]
            self._files.write(key, pickle.dumps(_Stored({**stored.kernels, **kernels}, plans)))

    def _key(self, structure: Hashable, donation: Hashable) -> bytes:
        return hashlib.sha256(f"{self._made_for} {_library()} {structure!r} {donation!r}".encode()).digest()

    def _read(self, key: bytes) -> _Stored:
        try:
            content = self._files.read(key)
            if isinstance(content, bytes):
                return _Stored(*_loaded(content))
        except DamagedFileError:
            self.counters.damaged += 1
        except Exception:  # it is what was written, but not by this version
            self.counters.damaged += 1
        return _Stored({}, [])

    def _digest(self, kernel: Kernel, kernels: dict[bytes, bytes], executor: Compiling) -> bytes:
        """The digest of a kernel, which is added to others."""
        form = executor.kernels.form_of(kernel)
        content = _pickled((form, kernel, executor.compiled(kernel)))
        digest = hashlib.sha256(content).digest()
        kernels[digest] = content
        self._known(digest, kernel)
        return digest

    def _kernel(self, digest: bytes, stored: _Stored, executor: Compiling) -> Kernel:
        """The kernel of a digest; that of its form, if there is one."""
        known = self._kernels.get(digest)
        if known is None:
            form, made, compiled = _loaded(stored.kernels[digest])
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


class _Pickler(pickle.Pickler):
    """Writes a digest for each kernel, if there is something that gives it, and Python lines as text."""

    def __init__(self, file: io.BytesIO, digest: Callable[[Kernel], bytes] | None) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._digest = digest

    def persistent_id(self, value: object) -> bytes | None:
        """The digest of a kernel; what is none is written as it is."""
        return self._digest(value) if self._digest is not None and type(value) is Kernel else None

    def reducer_override(self, value: object) -> Any:
        """How lines are written: their code cannot be."""
        return (_text, (str(value),)) if type(value) is Line else NotImplemented


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` has written, and nothing that is made of anything else."""

    def __init__(self, content: bytes, kernel: Callable[[bytes], Kernel] | None) -> None:
        super().__init__(io.BytesIO(content))
        self._kernel = kernel

    def persistent_load(self, digest: bytes) -> Kernel:
        """The kernel of a digest."""
        if self._kernel is None:
            raise pickle.UnpicklingError("a kernel where none can be")
        return self._kernel(digest)

    def find_class(self, module: str, name: str) -> Any:
        """A class or function that plans are made of."""
        if module.partition(".")[0] in _PACKAGES or (module == "builtins" and name in _BUILTINS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a plan")


def _text(text: str) -> str:
    return text


def _pickled(value: object, digest: Callable[[Kernel], bytes] | None = None) -> bytes:
    file = io.BytesIO()
    _Pickler(file, digest).dump(value)
    return file.getvalue()


def _loaded(content: bytes, kernel: Callable[[bytes], Kernel] | None = None) -> Any:
    return _Unpickler(content, kernel).load()


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
