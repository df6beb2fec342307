"""Everything a user can set from the environment: one field, one row.

Each field of `Settings` carries its environment variable, how its text is parsed, and one line of documentation.
Nothing else in the library reads a variable of its own. A `Settings` is frozen and belongs to one runtime, so two
runtimes of a process may differ.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ocl_runtime.errors import SettingError, SettingWarning

_PREFIX = "OCL_RUNTIME_"
_MOST_STREAMS = 64
_LEAST_ALIGNMENT = 64
_SWITCH = {"on": True, "off": False, "1": True, "0": False}
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def default_cache_folder(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where the platform keeps a user's caches; None for a user without a home."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ocl-runtime" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ocl-runtime"
    # The XDG rule: a relative path is invalid and ignored.
    xdg = environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if Path(xdg).is_absolute() else home / ".cache") / "ocl-runtime"


def _folder(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _folder_or_off(text: str) -> Path | None:
    return None if text.lower() == "off" else _folder(text)


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    if not match:
        raise ValueError("expected a whole number of bytes, with K, M or G if you like: 256M")
    return int(match[1]) * _UNITS[match[2].upper()]


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("expected a whole number: 8")
    return int(text)


def _power_of_two(text: str) -> int:
    number = _bytes(text)
    if number < _LEAST_ALIGNMENT or number & (number - 1):
        raise ValueError(f"expected a power of two, {_LEAST_ALIGNMENT} or more: 256")
    return number


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_STREAMS:
        raise ValueError(f"expected a whole number from 1 to {_MOST_STREAMS}")
    return int(text)


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError(f"expected one of {', '.join(_SWITCH)}")
    return _SWITCH[text.lower()]


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text

    return parse


def _row(variable: str, parse: Callable[[str], Any], doc: str) -> dict[str, Any]:
    return {"variable": variable, "parse": parse, "doc": doc}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one runtime."""

    device: str | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_DEVICE", str, "words of the device to use: gpu, cpu, pocl 3.1, nvidia, …"),
    )
    cache_folder: Path | None = field(
        default_factory=default_cache_folder,
        metadata=_row(
            "OCL_RUNTIME_CACHE", _folder_or_off, "folder of built programs, plans and verdicts on devices; or off"
        ),
    )
    cache_bytes: int = field(
        default=256 * 2**20,
        metadata=_row("OCL_RUNTIME_CACHE_BYTES", _bytes, "most bytes of built programs and plans on disk: 256M"),
    )
    program_bytes: int = field(
        default=512 * 2**20,
        metadata=_row("OCL_RUNTIME_PROGRAM_BYTES", _bytes, "most bytes of built programs in memory, about: 512M"),
    )
    tune: bool = field(
        default=True,
        metadata=_row("OCL_RUNTIME_TUNE", _switch, "off: what ocl-tune and ocl.tune have measured is ignored"),
    )
    dump_folder: Path | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_DUMP", _folder, "folder for every stage of every plan, kernel and host program"),
    )
    locals_strategy: str | None = field(
        default=None,
        metadata=_row(
            "OCL_RUNTIME_LOCALS",
            _one_of("reuse", "hybrid", "ssa"),
            "how values get variables, if not as the device likes",
        ),
    )
    default_real: str = field(
        default="f32",
        metadata=_row("OCL_RUNTIME_DEFAULT_REAL", _one_of("f32", "f64"), "dtype of reals where none is asked for"),
    )
    check: bool = field(
        default=False,
        metadata=_row(
            "OCL_RUNTIME_CHECK",
            _switch,
            "on: index arrays are checked on the device; functions are not captured",
        ),
    )
    numpy_calls: str = field(
        default="warn",
        metadata=_row(
            "OCL_RUNTIME_NUMPY",
            _one_of("warn", "quiet", "error"),
            "NumPy's functions that have to download arrays: warn, be quiet, or an error",
        ),
    )
    repr: str = field(
        default="values",
        metadata=_row(
            "OCL_RUNTIME_REPR", _one_of("values", "lazy"), "lazy: print(x) does not compute what is not computed yet"
        ),
    )

    streams: int | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_STREAMS", _count, "streams that stream(k) chooses among: 8 on GPUs, 4 elsewhere"),
    )
    memory_limit: int | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_MEMORY", _bytes, "most bytes of device memory to take, if not all: 4G"),
    )
    page_bytes: int | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_PAGE", _bytes, "bytes of the pages that small allocations share; 0 shares none"),
    )
    align_bytes: int | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_ALIGN", _power_of_two, "divides the address of every allocation: 256, or more"),
    )
    ladder: int = field(
        default=8,
        metadata=_row(
            "OCL_RUNTIME_LADDER", _whole, "sizes of large allocations between 4M and 8M, and so on: 8; 0: all"
        ),
    )
    kept_bytes: int | None = field(
        default=None,
        metadata=_row(
            "OCL_RUNTIME_KEPT", _bytes, "free bytes of device memory to keep: half on GPUs, an eighth elsewhere"
        ),
    )
    pinned_bytes: int | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_PINNED_BYTES", _bytes, "most bytes of pinned host arrays, if not all: 4G"),
    )
    staging_bytes: int = field(
        default=128 * 2**20,
        metadata=_row("OCL_RUNTIME_STAGING_BYTES", _bytes, "bytes of pinned memory that transfers pass through: 128M"),
    )
    poison: bool = field(
        default=False,
        metadata=_row(
            "OCL_RUNTIME_POISON", _switch, "on: memory that is given back is overwritten, to find late reads"
        ),
    )
    profile: bool = field(
        default=False,
        metadata=_row("OCL_RUNTIME_PROFILE", _switch, "on: the device measures when each command runs"),
    )
    log: str = field(
        default="off",
        metadata=_row("OCL_RUNTIME_LOG", _one_of("off", "basic", "full"), "what streams and memory do, on stderr"),
    )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """The settings that `environ` (the process's own if None) asks for; an empty variable counts as unset.

        Raises `SettingError` for values that make no sense. A variable of our prefix that is no setting is warned of.
        """
        environ = os.environ if environ is None else environ
        _warn_of_unknown(environ, [row.metadata["variable"] for row in dataclasses.fields(cls)])
        values: dict[str, Any] = {"cache_folder": default_cache_folder(environ)}
        for row in dataclasses.fields(cls):
            variable = row.metadata["variable"]
            text = environ.get(variable, "").strip()
            if not text:
                continue
            try:
                values[row.name] = row.metadata["parse"](text)
            # expanduser raises RuntimeError for a user that does not exist.
            except (ValueError, RuntimeError) as error:
                raise SettingError(
                    f"{variable} has a value that makes no sense: {text!r}",
                    place=f"the environment variable {variable}: {row.metadata['doc']}",
                    remedy=str(error),
                ) from error
        return cls(**values)


def _warn_of_unknown(environ: Mapping[str, str], known: list[str]) -> None:
    """One warning for all variables that are misspelt, each with the setting that is spelt most like it."""
    unknown = sorted(name for name in environ if name.startswith(_PREFIX) and name not in known)
    if not unknown:
        return
    words = [name.removeprefix(_PREFIX) for name in known]
    nearest = [difflib.get_close_matches(name.removeprefix(_PREFIX), words, 1) for name in unknown]
    said = ", ".join(
        f"{name} (perhaps {_PREFIX}{near[0]})" if near else name for name, near in zip(unknown, nearest, strict=True)
    )
    # From here, so that Python shows it once in a process, whoever asks for settings.
    warnings.warn(f"no setting is called {said}: the README lists all of them", SettingWarning, stacklevel=1)
