"""What failed first: the one fact that every later error of the same origin repeats.

A failed command spoils what it wrote, what its stream was given after it, and what waited for either, up to the moment
at which the failure is noticed. Commands given later are none the worse, unless they read what was spoilt: that raises.
Writing over all of it makes memory good again.
"""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.source_line import Where
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.driver import STATUS_NAMES


def reason(status: int) -> str:
    """The status of a failed event in words."""
    return f"the device reported {STATUS_NAMES.get(status, 'a failure')} ({status})"


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """`what` failed that was asked for at `where`, for this `reason`."""

    what: str
    where: Where
    reason: str

    def __str__(self) -> str:
        return f"{self.what} failed: {self.reason}"

    def error(self) -> LaunchError:
        """A new error that says so."""
        return LaunchError(
            str(self),
            place=f"asked for at {self.where}" if self.where else "",
            remedy="what it should have written, and what was made of that, has no value and must be computed again; "
            "everything else has",
        )
