"""The stage after the compiler: instructions that it does not know, which it passes on as comments, are opened.

NVIDIA's OpenCL compiler makes PTX for `sm_90`, and refuses what only `sm_90a` has, as `wgmma`. A comment in inline
assembly goes through with its operands in place: `asm volatile("//@wgmma.fence.sync.aligned;")`. The program's binary
is PTX in text; without the mark, and for the other target, the driver builds it.
"""

from __future__ import annotations

import re

MARK = "//@"
"""What stands before an instruction in inline assembly that this stage opens."""
_TARGET = re.compile(rb"^(\.target\s+sm_90)(?=[,\s])", re.MULTILINE)


class NotOpenedError(Exception):
    """The binary is not what this stage knows."""


def opened(binary: bytes) -> bytes:
    """A program's binary whose marked instructions count. Raises `NotOpenedError` where it is no PTX for `sm_90`, or
    nothing in it is marked."""
    mark = MARK.encode()
    if mark not in binary or not _TARGET.search(binary):
        raise NotOpenedError("the binary is no PTX for sm_90 with marked instructions")
    return _TARGET.sub(rb"\1a", binary.replace(mark, b""))
