"""What planning is handed of measurements: which variant won, for each problem of an algorithm.

It reads the records of its device at the first question. Those of another version of the kernels are not there for it.
Whoever changes the records makes another generation; plans of an earlier one are to be forgotten.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.tuning.records import Place, Record, Records

_LOGGER = logging.getLogger("ocl_runtime")
_MOST_KERNELS = 4096


class Choices:
    """The records that count for one executor, by algorithm. `versions` say of which version the kernels of each are.
    Any thread may use it."""

    def __init__(self, records: Records, place: Place, versions: Mapping[str, Callable[[], str]]) -> None:
        self.place = place
        self.generation = 0
        """Another number once anything has changed."""
        self.used_records = 0
        """How often a plan that was made has taken a measured variant."""
        self._files = records
        self._versions = versions
        self._known: dict[str, dict[str, Record]] | None = None
        self._digest: str | None = None
        self._kernels: dict[int, tuple[Kernel, Record]] = {}
        self._lock = threading.RLock()

    def records(self, algorithm: str) -> Sequence[tuple[str, str]]:
        """The problems of an algorithm that were measured, each with the variant that won, as text."""
        known = self._read().get(algorithm)
        return [(problem, record.variant) for problem, record in known.items()] if known else ()

    def asked(self, algorithm: str, problem: object) -> None:
        """Nobody listens; `collect` does."""

    def used(self, algorithm: str, problem: str, kernels: Sequence[Kernel]) -> None:
        """A plan launches these because of a record."""
        record = self._read().get(algorithm, {}).get(problem)
        if record is not None:
            with self._lock:
                self.used_records += 1
                if len(self._kernels) >= _MOST_KERNELS:
                    self._kernels.clear()
                for kernel in kernels:
                    self._kernels[id(kernel)] = kernel, record  # which keeps its id from being given again

    def failed(self, kernels: Sequence[Kernel], error: Exception) -> bool:
        """Some of these could not be built or launched: forgets the records that they are launched for, and says
        whether there were any."""
        with self._lock:
            gone = self._blamed(kernels)
            if not gone:
                return False
            for record in gone:
                _LOGGER.warning(
                    "%s for %s, which was measured as the fastest, failed and is forgotten: %s",
                    record.variant,
                    record.problem,
                    str(error).partition("\n")[0],
                )
            self.forget(gone)
        return True

    def _blamed(self, kernels: Sequence[Kernel]) -> list[Record]:
        """The records that some kernels are launched for, once more."""
        blamed = [self._kernels.pop(id(kernel))[1] for kernel in kernels if id(kernel) in self._kernels]
        return list(dict.fromkeys(blamed))

    def digest(self) -> str:
        """What tells these records from others; nothing where there are none."""
        digest = self._digest
        if digest is None:
            known = self._read()
            lines = sorted(f"{record.key} {record.variant}" for of in known.values() for record in of.values())
            digest = self._digest = hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else ""
        return digest

    # ------------------------------------------------------------------ changes

    def keep(self, made: Sequence[Record]) -> bool:
        """Takes new records, also on disk; False where they are only here, for as long as the process lives."""
        with self._lock:
            known = self._read()
            for record in made:
                known = known | {record.algorithm: known.get(record.algorithm, {}) | {record.problem: record}}
            self._become(known)
            return self._files.keep(self.place, made)

    def forget(self, gone: Sequence[Record] | None = None) -> None:
        """Forgets some records, or all of this device, also on disk."""
        with self._lock:
            every = [record for of in self._read().values() for record in of.values()]
            gone = every if gone is None else gone
            self._files.drop(self.place, gone)
            self._become(self._by_algorithm(_without(gone, every)))

    def version(self, algorithm: str) -> str:
        """Of the kernels of an algorithm."""
        return self._versions[algorithm]()

    def _become(self, known: dict[str, dict[str, Record]]) -> None:
        self._known, self._digest = known, None
        self.generation += 1

    def _read(self) -> dict[str, dict[str, Record]]:
        known = self._known
        if known is None:
            with self._lock:
                if self._known is None:
                    self._known = self._by_algorithm(self._files.read(self.place))
                known = self._known
        return known

    def _by_algorithm(self, records: Sequence[Record]) -> dict[str, dict[str, Record]]:
        """Records of the kernels that there are now, by algorithm and problem."""
        known: dict[str, dict[str, Record]] = {}
        for record in records:
            version = self._versions.get(record.algorithm)
            if version is not None and record.version == version():
                known.setdefault(record.algorithm, {})[record.problem] = record
        return known


def _without(gone: Sequence[Record], records: Sequence[Record]) -> list[Record]:
    keys = {record.key for record in gone}
    return [record for record in records if record.key not in keys]
