"""How much a run of the interpreter did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counters:
    """What a run did, summed over the work-items; groups and barriers count once for a group."""

    groups: int = 0
    barriers: int = 0
    operations: int = 0
    loads: int = 0
    stores: int = 0
    atomics: int = 0
    global_bytes: int = 0
    """Bytes that loads and stores moved from and to global and constant memory."""
