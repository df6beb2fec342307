"""How a pool cuts and keeps memory, and what it did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PoolSizes:
    """How a pool cuts and keeps memory, in bytes.

    `unit` divides every address and size. Requests up to `small` share pages of `page`; others get a page of their own
    of up to `largest`, in `ladder` sizes between two powers of two (0: of just their size). At most `limit` are taken
    from the driver; up to `idle` of it may be free and not ready before a stream is made to wait for memory, and up to
    `kept` may stay free for later.
    """

    unit: int
    page: int
    small: int
    ladder: int
    largest: int
    limit: int
    idle: int
    kept: int

    def of_block(self, nbytes: int) -> tuple[int, int, bool]:
        """The bytes of a block for a request: at least, and at most, by the ladder; and whether it shares a page."""
        size = -(-nbytes // self.unit) * self.unit
        if size <= self.small:
            return size, size, True
        step = max(self.unit, (1 << (size.bit_length() - 1)) // self.ladder) if self.ladder else self.unit
        return size, max(size, min(-(-size // step) * step, self.largest)), False


@dataclass
class PoolCounters:
    """`allocations` were made, all but `created` of them in pages that were there; `released` pages went back to the
    driver. `freed` allocations have ended, `live` have not. The host waited for memory `waits` times. Bytes: `in_use`
    as asked for, `padding` beside them, `reserved` from the driver, with the peaks of use and reserve."""

    allocations: int = 0
    created: int = 0
    released: int = 0
    freed: int = 0
    live: int = 0
    waits: int = 0
    in_use: int = 0
    padding: int = 0
    reserved: int = 0
    peak_in_use: int = 0
    peak_reserved: int = 0
