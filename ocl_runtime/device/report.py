"""A listing of all devices: which one is chosen, why others are not, and what each can do.

Short, or with everything that is known and the quirks that apply (`verbose`), or as JSON.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TextIO

from ocl_runtime.device.choose import Finding, choose, survey
from ocl_runtime.device.devices import Device
from ocl_runtime.device.quirks import Quirks, rows_for
from ocl_runtime.errors import DeviceError
from ocl_runtime.settings import Settings

Table = Sequence[tuple[str, str]]


def report(
    stream: TextIO | None = None,
    how: Literal["short", "verbose", "json"] = "short",
    instructions: Callable[[Device], Mapping[str, str]] = lambda device: {},
) -> int:
    """Print the listing; 0 if a device can be used, 1 if none can. `instructions` gives why a usable device has each
    matrix instruction not that its row names, nothing where it has it."""
    stream = stream or sys.stdout
    settings = Settings.from_environment()
    findings = survey(settings)
    chosen: Device | None = None
    refusal = ""
    try:
        chosen = choose(settings=settings)
    except DeviceError as error:
        refusal = str(error)
    if how == "json":
        listed = [{**_as_json(finding, chosen), **_matrices(finding, instructions)} for finding in findings]
        print(json.dumps(listed, indent=2), file=stream)
        return 0 if chosen else 1
    show = _show_rich if stream.isatty() and importlib.util.find_spec("rich") else _show_plain
    for finding in findings:
        device = finding.device
        more = [("has", _in_short(device))]
        if how == "verbose":
            found = _matrices(finding, instructions)["matrix_instructions"].items()
            tried = [("matrices", f"{name}: {fault or 'multiplies rightly'}") for name, fault in found]
            more = [*_facts(device), *tried, *_treatment(device)]
        show(stream, str(device), [("use", _use(finding, chosen)), *more])
    # choose() lists every device again in its error; above they stand in full.
    print(f"chosen: {chosen}" if chosen else refusal, file=stream)
    return 0 if chosen else 1


def _use(finding: Finding, chosen: Device | None) -> str:
    if finding.fault is not None:
        return f"cannot be used: {finding.fault}"
    if finding.device == chosen:
        return "chosen"
    if finding.device.quirks.simulator:
        return "works; a simulator, chosen only by its name"
    return "works; another is preferred" if chosen else "works; not asked for"


def _matrices(finding: Finding, instructions: Callable[[Device], Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    return {"matrix_instructions": instructions(finding.device) if finding.fault is None else {}}


def _in_short(device: Device) -> str:
    caps = device.capabilities
    units = f"{caps.compute_units} compute unit{'s' * (caps.compute_units != 1)}, {_size(caps.global_memory)}"
    return ", ".join([units, *(name for name, has in _abilities(device).items() if has)])


def _as_json(finding: Finding, chosen: Device | None) -> dict[str, Any]:
    device = finding.device
    caps = dataclasses.asdict(device.capabilities)
    quirks = dataclasses.asdict(device.quirks)
    return {
        "key": device.key,
        "chosen": device == chosen,
        "usable": finding.fault is None,
        "use": _use(finding, chosen),
        **caps,
        "extensions": sorted(device.capabilities.extensions),
        "quirks": {
            **quirks,
            "binary_mark": device.quirks.binary_mark.decode("latin-1"),
            "matrix_instructions": list(device.quirks.matrix_instructions),
        },
    }


def _abilities(device: Device) -> dict[str, bool]:
    caps = device.capabilities
    return {
        "float16": caps.fp16,
        "float64": caps.fp64,
        "64-bit atomics": caps.int64_atomics,
        "subgroups": caps.subgroups,
        "float32 denormals": caps.denormals,
        "correctly rounded division": caps.correctly_rounded_divide_sqrt,
        "memory shared with the host": caps.unified_memory,
    }


def _facts(device: Device) -> Table:
    caps, can = device.capabilities, _abilities(device)
    return (
        ("vendor", caps.vendor),
        ("OpenCL", f"{_dotted(caps.opencl_version)}, C {_dotted(caps.opencl_c_version)}"),
        ("compute units", f"{caps.compute_units}, work-groups of up to {caps.max_work_group_size}"),
        ("memory", f"{_size(caps.global_memory)}, one buffer {_size(caps.max_allocation)}"),
        ("local memory", f"{_size(caps.local_memory)} a work-group, arguments {_size(caps.max_argument_bytes)}"),
        ("can", ", ".join(name for name, has in can.items() if has) or "nothing beyond the least"),
        ("cannot", ", ".join(name for name, has in can.items() if not has) or "-"),
    )


def _treatment(device: Device) -> Table:
    """The quirks that apply, each with what it changes and why."""
    rows = rows_for(device.capabilities)
    changed = [f"{row.name} ({_changes(row.changes)}): {row.reason}" for row in rows]
    left = {field.name: field.default for field in dataclasses.fields(Quirks)}
    left = {name: value for name, value in left.items() if getattr(device.quirks, name) == value}
    return (*(("quirk", text) for text in changed), ("as usual", _changes(left)))


def _changes(values: Any) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in values.items())


def _value(value: object) -> str:
    return " ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _size(number: int) -> str:
    amount = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.4g} {unit}"


def _show_plain(stream: TextIO, title: str, rows: Table) -> None:
    width = max(len(name) for name, _ in rows)
    print(title, file=stream)
    for name, text in rows:
        print(f"  {name:{width}}  {text}", file=stream)
    print(file=stream)


def _show_rich(stream: TextIO, title: str, rows: Table) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=Text(title, style="bold"), title_justify="left", show_header=False, expand=True)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for name, text in rows:
        table.add_row(Text(name), Text(text))  # Text: a device's name must not be read as markup
    Console(file=stream).print(table)
