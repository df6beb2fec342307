"""Where the checkout is, and the search path of Python processes that tests start from it."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHONPATH = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "ir"), os.environ.get("PYTHONPATH", "")]))
