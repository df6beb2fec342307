"""Everything about a run as JSON, and an earlier run read back."""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ocl_runtime.commands.bench.ceilings import Ceilings
from ocl_runtime.commands.bench.measure import OURS, Result
from ocl_runtime.commands.bench.peers.base import Peer
from ocl_runtime.commands.bench.samples import Clock, Sample, Summary
from ocl_runtime.device import Device
from ocl_runtime.errors import InputFileError

FORMAT = 1
_PACKAGES = ("ocl-runtime", "numpy", "pyopencl")


@dataclass(frozen=True)
class Run:
    """A run of the command: where, with what, and what came out."""

    device: Mapping[str, Any]
    date: str
    versions: Mapping[str, str]
    peers: Mapping[str, Mapping[str, str]]
    """Of each peer that works here: what it is (`about`) and how it is timed (`clock`)."""
    left_out: Mapping[str, str]
    """Why other peers are not there."""
    results: Sequence[Result]


def described(device: Device) -> dict[str, Any]:
    """What a reader of figures has to know of a device."""
    caps = device.capabilities
    return {
        "name": caps.name,
        "vendor": caps.vendor,
        "platform": f"{caps.platform} {caps.platform_version}",
        "driver": caps.driver_version,
        "kind": caps.kind,
        "compute units": caps.compute_units,
        "memory": caps.global_memory,
        "host": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Of Python, this library, and what it needs."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "of a checkout"
    return found


def run(device: Device, peers: Sequence[Peer], left_out: Mapping[str, str], results: Sequence[Result]) -> Run:
    """A run that ends now."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    about = {peer.name: {"about": peer.about, "clock": peer.clock} for peer in peers}
    return Run(described(device), now, versions(), about, left_out, results)


def as_json(made: Run, ceilings: Ceilings | None = None) -> str:
    """All of a run, with the samples, for programs to read."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "date": made.date,
        "device": made.device,
        "versions": made.versions,
        "peers": made.peers,
        "peers_left_out": made.left_out,
    }
    if ceilings is not None:
        bandwidths = [
            {"kind": kind, "bytes": size, "bytes_per_second": rate}
            for (kind, size), rate in sorted(ceilings.bandwidths.items())
        ]
        found["ceilings"] = {"bandwidths": bandwidths, "operations_per_second": ceilings.rates}
    return json.dumps({**found, "cases": [_case(result) for result in made.results]}, indent=1) + "\n"


def _case(result: Result) -> dict[str, Any]:
    return {
        "key": result.key,
        "title": result.title,
        "dtype": result.dtype,
        "size": result.size,
        "shapes": result.shapes,
        "bytes": result.moved,
        "operations": result.operations,
        "input_sets": result.sets,
        "verified": result.verified,
        "wrong": result.wrong,
        "ceiling": dataclasses.asdict(result.ceiling) if result.ceiling else None,
        "ceiling_samples": [dataclasses.asdict(sample) for sample in result.ceiling_samples],
        "of_ceiling": result.of_ceiling,
        "of_best_peer": result.of_best,
        "left_out": result.left_out,
        "timings": {
            name: {
                "clock": timing.clock,
                **dataclasses.asdict(timing.summary),
                "samples": [dataclasses.asdict(sample) for sample in timing.samples],
            }
            for name, timing in result.timings.items()
        },
    }


Key = tuple[str, str, int]
"""A case's name, dtype and size."""


@dataclass(frozen=True)
class Compared:
    """What of a case is compared with another run: this library's time, and that of the copy or the reading that was
    timed by turns with it, where there was one."""

    time: Summary
    beside: Summary | None

    @classmethod
    def of(cls, result: Result) -> Compared | None:
        """Of a case, if it was measured."""
        if result.ours is None:
            return None
        clock: Clock = "wall" if result.ours.clock == "wall" else "device"
        return cls(result.ours.summary, _summary(result.ceiling_samples, clock))


@dataclass(frozen=True)
class Earlier:
    """What of an earlier run is compared, by case, and where it was measured."""

    device: str
    date: str
    cases: Mapping[Key, Compared]


def read(path: Path) -> Earlier:
    """An earlier run. Raises `InputFileError` for what this command did not write."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError(f"its format is {found['format']}, this command reads {FORMAT}")
        return Earlier(str(found["device"]["name"]), str(found["date"]), _cases(found["cases"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(
            f"{path} cannot be read as an earlier run: {error}",
            place=str(path.absolute()),
            remedy="name a file that ocl-bench --json has written",
        ) from error


def _cases(found: Sequence[Mapping[str, Any]]) -> dict[Key, Compared]:
    return {(case["key"], case["dtype"], case["size"]): _compared(case) for case in found if OURS in case["timings"]}


def _compared(case: Mapping[str, Any]) -> Compared:
    ours = case["timings"][OURS]
    time = _summary([Sample(**sample) for sample in ours["samples"]], ours["clock"])
    if time is None:
        raise ValueError(f"{case['key']} has no samples")
    clock: Clock = "wall" if ours["clock"] == "wall" else "device"
    return Compared(time, _summary([Sample(**sample) for sample in case["ceiling_samples"]], clock))


def _summary(samples: Sequence[Sample], clock: Clock) -> Summary | None:
    return Summary.of([sample.on(clock) for sample in samples]) if samples else None
