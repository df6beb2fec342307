"""What a peer is: something that computes the same, prepared for inputs, and run and timed once a round."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case
from ocl_runtime.commands.bench.samples import Sample


class LeftOut(Exception):
    """A peer or a case that cannot be measured here, and why."""


@dataclass(frozen=True)
class Value:
    """A result where it was computed, of which rows are fetched: `rows` gives those from one up to another."""

    shape: tuple[int, ...]
    nbytes: int
    rows: Callable[[int, int], np.ndarray]

    @classmethod
    def of(cls, x: Any, fetched: Callable[[Any], np.ndarray] = np.asarray) -> Value:
        """An array of a library, and how that makes NumPy's arrays. An array without axes is a row."""
        shape = tuple(map(int, x.shape))
        return cls(shape, int(x.nbytes), lambda start, end: fetched(x[start:end]) if shape else fetched(x))


class Timed(Protocol):
    """What takes part in the rounds."""

    def time(self, turn: int) -> Sample:
        """Computes with one of the sets of inputs, and says how long that took."""


class Prepared(Timed, Protocol):
    """An expression over several sets of inputs, which lie where they are computed."""

    def results(self, turn: int) -> tuple[Value, ...]:
        """Computes with one of the sets, and gives the results."""


class Peer(Protocol):
    """A library, or code by hand."""

    name: str
    about: str
    """Its version, and what it runs on."""
    clock: str
    """How it is timed, for a person to read."""

    def prepare(self, case: Case, sets: list[Arrays]) -> Prepared:
        """Brings inputs to where they are computed. Raises `LeftOut` for what it does not do."""


class Names:
    """The names that expressions of cases use, of a module; more of them, or others, by keywords."""

    def __init__(self, *modules: Any, **names: Any) -> None:
        self._modules = modules
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        for module in self._modules:
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(name)


def library(name: str) -> Any:
    """A module that need not be there. Raises `LeftOut` where it is not, or does not work."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise LeftOut("not installed") from None
    except Exception as error:  # noqa: BLE001  # whatever goes wrong in it is a reason to go without
        raise LeftOut(f"cannot be imported: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    """What an error says, in short."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:150]}" if text else type(error).__name__
