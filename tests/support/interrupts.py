"""Exceptions where Python can run a signal's handler: as a function of C returns, as one of Python begins, as a loop
goes on. As a function of Python returns it does not.

`interrupt` raises `Interrupt` at one such place in the files of some packages, counted from where a block of code
begins. A second one may follow, in whatever clears up after the first. Python 3.12 and newer tell of such places
themselves (PEP 669); for 3.11 they are read off the byte code.
"""

from __future__ import annotations

import dis
import gc
import inspect
import sys
import threading
from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import ocl_runtime

ROOT = Path(ocl_runtime.__file__).parent


class Interrupt(BaseException):
    """Stands for what a handler raises."""


@cache
def interruptible_offsets(code: CodeType) -> frozenset[int]:
    """The offsets in a function's code that are reached just after a handler could have run. What that raises belongs
    to the instruction before, so not those where a handler of exceptions begins or ends: there, a lock that a `with`
    gives back as it should would stay taken."""
    offsets: set[int] = set()
    before: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if before is not None and handler(code, before.offset) == handler(code, instruction.offset):
            offsets.add(instruction.offset)
        calls = instruction.opname.startswith("CALL") and not instruction.opname.startswith("CALL_INTRINSIC")
        before = instruction if calls or instruction.opname == "RESUME" else None
        if "BACKWARD" in instruction.opname and "NO_INTERRUPT" not in instruction.opname:
            offsets.add(int(instruction.argval))
    return frozenset(offsets)


@cache
def handler(code: CodeType, offset: int) -> int | None:
    """Where exceptions of an instruction are handled."""
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= offset < entry.end), None)


class Injection(ABC):
    """A block of code in which `Interrupt` is raised, and swallowed at its end. `count` places were passed, at most
    `at`; `came` says where the exception was raised."""

    def __init__(self, at: int, again: int | None, folders: tuple[str, ...]) -> None:
        self.at = at
        self.again = again
        self.count = 0
        self.came = ""
        self.unraisable: list[str] = []
        self._folders = folders

    # A generator's context manager would keep the exception in a cycle of Python 3.12's, with all that its frames hold.
    def __enter__(self) -> Injection:
        self._hook, sys.unraisablehook = sys.unraisablehook, self._swallow
        self._collecting = gc.isenabled()
        gc.disable()  # other tests' garbage goes at another time
        self._watch()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self._unwatch()
        sys.unraisablehook = self._hook
        if self._collecting:
            gc.enable()
        return kind is Interrupt

    def _swallow(self, unraisable: Any) -> None:
        self.unraisable.append(f"{unraisable.exc_value!r} in {unraisable.object!r}")

    @abstractmethod
    def _watch(self) -> None: ...

    @abstractmethod
    def _unwatch(self) -> None: ...


class Traced(Injection):
    """By the tracing of instructions."""

    def _watch(self) -> None:
        self._calling: set[FrameType] = set()
        """Those that have called a function of Python, until they go on."""
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def _unwatch(self) -> None:
        sys.settrace(self._before)
        sys.setprofile(None)
        self._calling.clear()

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_back is not None:
            self._calling.add(frame.f_back)
        if not frame.f_code.co_filename.startswith(self._folders):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._local

    def _local(self, frame: FrameType, event: str, arg: object) -> Any:
        if event != "opcode":
            return self._local
        returned = frame in self._calling
        self._calling.discard(frame)
        if frame.f_lasti in interruptible_offsets(frame.f_code) and not returned:
            self.count += 1
            if self.count == self.at:
                self.came = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                if self.again is not None:
                    sys.setprofile(self._profile)
                raise Interrupt(self.came)  # which ends the tracing
        return self._local

    def _profile(self, frame: FrameType, event: str, arg: object) -> None:
        resumes = event == "call" and frame.f_lasti >= 0 and frame.f_code.co_flags & inspect.CO_GENERATOR  # or ends
        if event in {"call", "c_return"} and not resumes and frame.f_code.co_filename.startswith(self._folders):
            assert self.again is not None
            self.again -= 1
            if self.again == 0:
                self.came += f" and {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                raise Interrupt(self.came)  # which ends the profiling


class Monitored(Injection):
    """By the events of `sys.monitoring`, which come from all threads."""

    TOOL = 4

    def _watch(self) -> None:
        self._thread = threading.get_ident()
        monitoring, events = sys.monitoring, sys.monitoring.events
        monitoring.use_tool_id(self.TOOL, "interrupts")
        monitoring.register_callback(self.TOOL, events.PY_START, self._pass)
        monitoring.register_callback(self.TOOL, events.PY_RESUME, self._pass)
        monitoring.register_callback(self.TOOL, events.C_RETURN, self._pass)
        monitoring.register_callback(self.TOOL, events.JUMP, self._jump)
        starts = events.PY_START | events.PY_RESUME
        monitoring.set_events(self.TOOL, starts | events.CALL | events.JUMP)  # returns come with calls

    def _unwatch(self) -> None:
        sys.monitoring.set_events(self.TOOL, 0)
        sys.monitoring.free_tool_id(self.TOOL)

    def _jump(self, code: CodeType, offset: int, destination: int) -> None:
        after = sys.version_info < (3, 13)  # 3.12 looks for signals after the jump, where other handlers may be
        if destination <= offset and not (after and handler(code, offset) != handler(code, destination - 2)):
            self._pass(code, offset)

    def _pass(self, code: CodeType, offset: int, *_: object) -> None:
        if not code.co_filename.startswith(self._folders) or threading.get_ident() != self._thread:
            return
        self.count += 1
        last = self.at if self.again is None else self.at + self.again
        if self.count in {self.at, last}:
            line = next(line for start, end, line in code.co_lines() if start <= offset < end)
            self.came += f"{' and ' * bool(self.came)}{Path(code.co_filename).name}:{line}"
            raise Interrupt(self.came)


def interrupt(at: int, *packages: str, again: int | None = None) -> Injection:
    """Raises `Interrupt` at place number `at` in the files of these packages of ours, and swallows it at the end of the
    block; with `again`, raises another one at so many calls after that."""
    kind = Monitored if sys.version_info >= (3, 12) else Traced
    return kind(at, again, tuple(str(ROOT / package) for package in packages))
