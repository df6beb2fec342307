"""How deep tests go: in `make nightly` all cases of a test and many more random programs than in `make test`."""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def with_builds(examples: int) -> int:
    """For programs that are built several times each: a fifth of the examples in `make test`, where the driver's
    compiler takes most of the time; all nightly."""
    return examples if NIGHTLY else -(-examples // 5)
