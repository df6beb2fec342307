"""Everything a user can set from the environment: one field, one row.

Each field of `Settings` carries its environment variable, how its text is parsed, and one line of documentation.
Nothing else in the library reads a variable of its own. A `Settings` is frozen and belongs to one runtime, so two
runtimes of a process may differ.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ocl_runtime.errors import SettingError

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
        metadata=_row("OCL_RUNTIME_CACHE", _folder_or_off, "folder of built programs and verdicts on devices; or off"),
    )
    cache_bytes: int = field(
        default=256 * 2**20,
        metadata=_row("OCL_RUNTIME_CACHE_BYTES", _bytes, "most bytes of built programs on disk: 256M"),
    )
    dump_folder: Path | None = field(
        default=None,
        metadata=_row("OCL_RUNTIME_DUMP", _folder, "folder for every stage of every kernel, as text"),
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

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """The settings that `environ` (the process's own if None) asks for; an empty variable counts as unset."""
        environ = os.environ if environ is None else environ
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
