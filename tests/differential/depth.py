"""How many random programs are drawn where each of them is built several times."""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def with_builds(examples: int) -> int:
    """Three fifths of the examples in `make test`, where the driver's compiler takes most of the time; all nightly."""
    return examples if NIGHTLY else -(-examples * 3 // 5)
