"""Other libraries, from PyPI, over arrays of the device; run by `make nightly`, which installs the extra `smoke`."""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # read when SciPy is imported
os.environ.setdefault("MPLBACKEND", "Agg")
