"""Plans that earlier processes have made, on disk, so that a program that starts again plans nothing.

A file holds the plans for one structure and what may be written over, each beside its guards, and the kernels of all of
them with what they were compiled to. They are pickled: the folder is private, as that of a compiler's cache is
(`ocl_runtime.private_folder`), a digest finds out what is damaged, and only classes of this library are read. What a
plan depends on beside its expression is part of the key: the target, the device and its driver, what was measured of
variants, the versions of Python and NumPy, and every file of this library.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

import ocl_ir
from ocl_ir.guards import Guards
from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.codegen.disk import ProgramFiles
from ocl_runtime.codegen.templates import MAKO, templates_folder
from ocl_runtime.plan.cache.pickled import loaded, pickled
from ocl_runtime.plan.cache.slots import named
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.planning import Planning

_FORMAT = 4
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


class _Plan(NamedTuple):
    """The sizes that a plan was made for, its guards and itself, both pickled, and the digests of its kernels."""

    sizes: tuple[int, ...]
    guards: bytes
    plan: bytes
    kernels: frozenset[bytes]


class _Guards:
    """The guards of a plan on disk, read once other sizes ask: a program that starts again has those sizes that its
    plans were made for."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    @cached_property
    def _guards(self) -> Guards:
        guards: Guards = loaded(self._content)
        return guards

    def hold(self, bound: Mapping[str, int]) -> bool:
        """Whether the plan serves other sizes, by name."""
        try:
            return self._guards.hold(bound)
        except pickle.UnpicklingError:  # for those, a plan can be made
            return False


class _File(NamedTuple):
    """A file that was read: its plans, their guards, and the kernels of all of them, pickled, by digest."""

    plans: list[_Plan]
    guards: list[_Guards]
    kernels: dict[bytes, bytes]

    def serving(self, sizes: tuple[int, ...]) -> tuple[_Plan, _Guards] | None:
        """The plan that was made for some sizes, else the first one that serves them."""
        guarded = [*zip(self.plans, self.guards, strict=True)]
        made_for = ((plan, guards) for plan, guards in guarded if plan.sizes == sizes)
        bound = named(sizes)
        return next(chain(made_for, ((plan, guards) for plan, guards in guarded if guards.hold(bound))), None)


class StoredPlans:
    """The plans for one executor among the files of its programs. Any thread may use them. `tuned` says what was
    measured by now, which plans follow from, too."""

    def __init__(self, files: ProgramFiles, made_for: str, tuned: Callable[[], str] = str) -> None:
        self.damaged = 0
        """Files that could not be read, or were not what was written."""
        self._files = files
        self._made_for = made_for
        self._tuned = tuned
        self._kernels: dict[bytes, Kernel] = {}
        """Those that have been read or written."""
        self._open: dict[bytes, _File] = {}
        self._lock = threading.RLock()

    def takes(self) -> bool:
        """Whether plans can be kept, or found."""
        return self._files.takes()

    def find(
        self, structure: Hashable, donation: Hashable, sizes: tuple[int, ...], executor: Compiling
    ) -> Template | None:
        """A plan for a structure, by its key, that serves some sizes; None where there is none."""
        try:
            file = self._opened(self._key(structure, donation))
            serving = file.serving(sizes)
            if serving is None:
                return None
            (_, _, plan, _), guards = serving
            template: Template = loaded(plan, lambda digest: self._kernel(digest, file, executor))
        except Exception:  # whatever is wrong with a file, the plan can be made
            self.damaged += 1
            return None
        template.serve(executor, guards)
        return template

    def keep(self, structure: Hashable, donation: Hashable, template: Template, executor: Compiling) -> None:
        """Keeps a plan whose kernels are built, if that is possible."""
        with suppress(Exception):  # something in it belongs to this process, or there is no memory: it is here anyway
            key = self._key(structure, donation)
            written = {id(kernel): self._written(kernel, executor) for kernel in template.distinct}
            plan = pickled(template, lambda kernel: written[id(kernel)][0])
            kernels = dict(written.values())
            made = _Plan(template.made_for, pickled(template.guards), plan, frozenset(kernels))
            with self._lock:
                self._open.pop(key, None)
                plans, known = self._read(key)
                plans = [made, *plans][:_MOST_OF_A_FILE]
                used = frozenset[bytes]().union(*[plan.kernels for plan in plans])
                kernels |= filter(lambda item: item[0] in used, known.items())
                self._files.write(key, pickle.dumps(([tuple(plan) for plan in plans], kernels)))

    def _key(self, structure: Hashable, donation: Hashable) -> bytes:
        return hashlib.sha256(
            f"{self._made_for} {self._tuned()} {_LIBRARY} {structure!r} {donation!r}".encode()
        ).digest()

    def _read(self, key: bytes) -> tuple[list[_Plan], dict[bytes, bytes]]:
        try:
            content = self._files.read(key)
            if isinstance(content, bytes):
                plans, kernels = loaded(content)
                return [_Plan(*plan) for plan in plans], kernels
        except Exception:  # damaged, or what was written is something else
            self.damaged += 1
        return [], {}

    def _opened(self, key: bytes) -> _File:
        """A file as it was when it was opened; a loop finds all its plans in few."""
        with self._lock:
            file = self._open.get(key)
            if file is None:
                plans, kernels = self._read(key)
                file = _File(plans, [_Guards(plan.guards) for plan in plans], kernels)
                self._files.touch(key)
                for _ in range(len(self._open) - _MOST_OPEN + 1):
                    del self._open[next(iter(self._open))]
                self._open[key] = file
        return file

    def _written(self, kernel: Kernel, executor: Compiling) -> tuple[bytes, bytes]:
        """The digest of a kernel with its form and what it was compiled to, and these."""
        content = pickled((executor.kernels.form_of(kernel), kernel, executor.compiled(kernel)), lines=False)
        digest = hashlib.sha256(content).digest()
        self._known(digest, kernel)
        return digest, content

    def _kernel(self, digest: bytes, file: _File, executor: Compiling) -> Kernel:
        """The kernel of a digest; that of its form, if there is one."""
        known = self._kernels.get(digest)
        if known is None:
            form, made, compiled = loaded(file.kernels[digest])
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


def _library() -> str:
    """What tells this very library, Python and NumPy from others: a plan of another one may mean something else."""
    digest = hashlib.sha256(f"{_FORMAT} {sys.version} {np.__version__} {MAKO}".encode())
    for folder in (*map(Path, ocl_ir.__path__), Path(__file__).parents[2], templates_folder()):
        for file in sorted(folder.rglob("*")):
            if file.suffix in {".py", ".mako"}:
                with suppress(OSError):  # a link to nothing, or a file that has just gone
                    status = file.stat()
                    digest.update(f"{file} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()


_LIBRARY = _library()
"""Looked at as the planner is imported: a file that changes later is not what runs."""
