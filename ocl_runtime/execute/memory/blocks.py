"""Pages and their blocks, and the free blocks by size.

A page is one buffer. A *cut* page is divided into blocks, in order, each free or handed out. Free neighbours are joined
not as they come back but when a size is asked for that is not there, since most often the same sizes are asked for
again. Every other page is one block. A block carries the history of its bytes (`hazards.Ranges`) along when it is cut,
joined and handed out again, so its next owner's commands come after all that its last owners gave to streams.

A change of a page's blocks is made in statements that call nothing: no signal's exception can come in between. All
else follows from the blocks and from who holds them, and is found out anew after one came.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from weakref import ref

from ocl_ir.source_line import Where
from ocl_runtime.execute.driver import Buffer, Bytes
from ocl_runtime.execute.streams.command import Stream
from ocl_runtime.execute.streams.hazards import Cell, Ranges

_LOOKS = 8
"""Free blocks of one size that are looked at for one that is ready."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Page:
    """One buffer; `host` are its bytes where the host can reach them. `used` of its blocks are handed out."""

    buffer: Buffer
    nbytes: int
    host: Bytes | None
    cut: bool
    used: int = 0
    first: Block = field(init=False)

    def __post_init__(self) -> None:
        self.first = Block(self, Ranges(self.buffer, 0, self.nbytes))

    def __repr__(self) -> str:
        return f"<page of {self.nbytes} bytes, {'cut' if self.cut else 'whole'}, {self.used} blocks in use>"

    def blocks(self) -> Iterator[Block]:
        """Its blocks, in order."""
        block: Block | None = self.first
        while block is not None:
            yield block
            block = block.next


class Owner(ref[object]):
    """Who holds a `block`. Its callback is to be a function of C: as the owner goes, no Python runs that a signal could
    interrupt."""

    __slots__ = ("block",)
    block: Block


class Block:
    """A part of a page, from byte `low` to `high`. `wanted` bytes were asked for, at `where`; 0 while it is free."""

    __slots__ = ("high", "joined", "low", "next", "owner", "page", "previous", "ranges", "wanted", "where")

    def __init__(self, page: Page, ranges: Ranges) -> None:
        self.page = page
        self.ranges = ranges
        self.low = ranges.low
        self.high = ranges.high
        self.previous: Block | None = None
        self.next: Block | None = None
        self.wanted = 0
        self.where: Where = ""
        self.owner: Owner | None = None
        self.joined = False

    def __repr__(self) -> str:
        return f"<bytes {self.low}…{self.high} of a page of {self.page.nbytes}, {self.wanted} in use>"

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.high - self.low

    @property
    def held(self) -> bool:
        """Whether somebody holds it."""
        return self.owner is not None and self.owner() is not None

    def ready(self, stream: Stream | None) -> bool:
        """Whether all that was done to it has happened before the stream's next command; None: before now.

        What a failed command still does cannot be waited for on a device, so that is never ready.
        """
        ranges = self.ranges
        for cell in (*ranges.cells, Cell(0, 0, (), ranges.wide)) if ranges.wide else ranges.cells:
            for command, _ in (*cell.writes, *cell.reads.values()) if cell.reads else cell.writes:
                if command.event is None:
                    continue
                if command.error is not None or stream is None:
                    return False
                if command.stream is not stream and stream.known.get(command.stream, 0) < command.position:
                    return False
        return True

    def orderly(self) -> bool:
        """Whether a stream can be made to wait, on the device, for all that was done to it."""
        return all(command.error is None for command in self.ranges.commands())

    def idle(self) -> bool:
        """Whether no command uses it any more."""
        return self.ready(None)


class FreeBlocks:
    """The free blocks of a pool. `nbytes` of them there are; `empty` are the pages all of whose blocks are free, those
    first that have been so for longest."""

    def __init__(self) -> None:
        self.nbytes = 0
        self.empty: dict[Page, None] = {}
        self._whole: dict[int, list[Block]] = {}
        """Blocks that are a page, by size."""
        self._parts: dict[int, list[Block]] = {}
        """Parts of cut pages by size, as they came back."""
        self._joined: list[tuple[int, int, Block]] = []
        """Parts as (size, id, block), sorted, joined with all their neighbours that were free."""

    @classmethod
    def of(cls, pages: Iterable[Page]) -> FreeBlocks:
        """What nobody holds of these pages."""
        free = cls()
        for page in pages:
            blocks = list(page.blocks())
            page.used = len(blocks)
            for block in blocks:
                block.joined = False
                if not block.held:
                    block.owner, block.wanted = None, 0
                    free.add(block)
        return free

    def add(self, block: Block) -> None:
        """A block that came back."""
        page, size = block.page, block.high - block.low
        page.used -= 1
        if not page.used:
            self.empty[page] = None
        self.nbytes += size
        sized = self._parts if page.cut else self._whole
        blocks = sized.get(size)
        if blocks is None:
            sized[size] = [block]
        else:
            blocks.append(block)

    def add_page(self, page: Page) -> None:
        """A new page."""
        page.used = 1
        self.add(page.first)
        self.join()

    def _taken(self, block: Block) -> Block:
        page = block.page
        if page.used:
            page.used += 1
        else:
            page.used = 1
            del self.empty[page]
        self.nbytes -= block.high - block.low
        return block

    def exactly(self, size: int, stream: Stream | None, *, cut: bool) -> Block | None:
        """Takes a block of just this size that is ready for a stream, if there is one at hand."""
        blocks = (self._parts if cut else self._whole).get(size)
        if not blocks:
            return None
        if blocks[-1].ready(stream):
            return self._taken(blocks.pop())
        for back in range(2, min(len(blocks), _LOOKS) + 1):
            if blocks[-back].ready(stream):
                return self._taken(blocks.pop(-back))
        return None

    def pages(self, size: int, most: int) -> Iterator[Block]:
        """Those that are a page from a size up to `most`, the smallest first."""
        for nbytes in sorted(nbytes for nbytes in self._whole if size <= nbytes <= most):
            yield from self._whole[nbytes]

    def parts(self, size: int) -> Iterator[Block]:
        """Those of cut pages that have at least a size, the smallest first; then with what came back last joined."""
        for _ in range(1 + bool(self._parts)):
            for index in range(bisect_left(self._joined, (size,)), len(self._joined)):
                yield self._joined[index][2]
            self.join()

    def take(self, block: Block, size: int) -> Block:
        """Takes one of these; what a part has beyond the size stays free."""
        if not block.page.cut:
            self._pop(block)
            return self._taken(block)
        self._unshelve(block)
        if block.size > size:
            self._shelve(_cut(block, size))
        return self._taken(block)

    def idle(self, looks: int | None = None) -> list[Page]:
        """Those of the empty pages that no command uses any more, the longest empty first; of so many looked at."""
        pages = list(islice(self.empty, looks))
        if any(page.cut for page in pages):
            self.join()
        return [page for page in pages if page.first.idle()]

    def remove(self, page: Page) -> None:
        """An empty page goes."""
        if page.cut:
            self.join()
            self._unshelve(page.first)
        else:
            self._pop(page.first)
        del self.empty[page]
        self.nbytes -= page.nbytes

    def _pop(self, block: Block) -> None:
        blocks = self._whole[block.size]
        blocks.remove(block)
        if not blocks:
            del self._whole[block.size]

    def join(self) -> None:
        """Joins free neighbours."""
        if not self._parts:
            return
        blocks = [block for sized in self._parts.values() for block in sized]
        self._parts = {}
        for block in blocks:
            self._shelve(block)
        for block in blocks:
            if block.joined:
                self._join_around(block)

    def _join_around(self, block: Block) -> None:
        while block.previous is not None and block.previous.joined:
            block = block.previous
        following = block.next
        if following is None or not following.joined:
            return
        self._unshelve(block)
        while following is not None and following.joined:
            self._unshelve(following)
            following = _join(block, following)
        self._shelve(block)

    def _shelve(self, block: Block) -> None:
        block.joined = True
        insort(self._joined, (block.size, id(block), block))

    def _unshelve(self, block: Block) -> None:
        block.joined = False
        del self._joined[bisect_left(self._joined, (block.size, id(block)))]


def _cut(block: Block, size: int) -> Block:
    """Makes a block smaller; the rest of it."""
    following = block.next
    first, second = block.ranges.split(block.low + size)
    rest = Block(block.page, second)
    rest.previous, rest.next = block, following
    # From here on nothing is called.
    block.ranges, block.high = first, first.high
    block.next = rest
    if following is not None:
        following.previous = rest
    return rest


def _join(block: Block, next_: Block) -> Block | None:
    """Makes a block larger by the next one; the one after that."""
    following = next_.next
    both = block.ranges.joined(next_.ranges)
    # From here on nothing is called.
    block.ranges, block.high = both, both.high
    block.next = following
    if following is not None:
        following.previous = block
    return following
