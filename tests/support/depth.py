"""How many random programs are drawn in `make test`, where there are more in `make nightly`."""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def with_builds(examples: int) -> int:
    """For programs that are built several times each: three tenths of the examples in `make test`, where the driver's
    compiler takes most of the time; all nightly."""
    return examples if NIGHTLY else -(-examples * 3 // 10)
