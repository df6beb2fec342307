"""What streams and memory do, for who asks for it: `Settings.log` is "off", "basic" or "full".

Lines go to the logger "ocl_runtime" of Python's logging, which shows them on stderr unless the program has configured
it. Nothing is formatted that nobody reads.
"""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("ocl_runtime")
_LEVELS = ("off", "basic", "full")


class Log:
    """`basic`: waits between streams, waits of the host, failures, memory from and to the driver. `full`: every command
    with what it touches, every block of memory."""

    def __init__(self, level: str = "off") -> None:
        self.level = _LEVELS.index(level)
        if self.level and not _LOGGER.hasHandlers():
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            _LOGGER.addHandler(handler)
        if self.level and _LOGGER.level == logging.NOTSET:
            _LOGGER.setLevel(logging.DEBUG)

    def basic(self, message: str, *args: object) -> None:
        """A line of level "basic"."""
        if self.level >= 1:
            _LOGGER.info(message, *args)

    def full(self, message: str, *args: object) -> None:
        """A line of level "full"."""
        if self.level >= 2:
            _LOGGER.debug(message, *args)
