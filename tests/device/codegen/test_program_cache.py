from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from ocl_runtime.codegen import cache, driver
from ocl_runtime.codegen.cache import CacheWarning, Counters, ProgramCache
from ocl_runtime.codegen.combine import Part
from ocl_runtime.codegen.disk import FORMAT, HEADER, DamagedFileError, PartOf, ProgramFiles
from ocl_runtime.device import Device, choose
from ocl_runtime.errors import BuildError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.settings import Settings
from tests.support.checkout import ROOT
from tests.support.fakes import python

pytestmark = pytest.mark.usefixtures("compiled")

SOURCE = "__kernel void answer(__global int *a) { a[get_global_id(0)] = 42; }\n"


@pytest.fixture(scope="module")
def device() -> Device:
    return choose()


@pytest.fixture(scope="module")
def context(device: Device) -> cl.Context:
    return cl.Context([device.cl])


class Shop:
    """Makes caches of one device: each a stand-in for a process of its own."""

    def __init__(self, context: cl.Context, device: Device, folder: Path) -> None:
        self.context = context
        self.device = device
        self.folder = folder

    def cache(self, folder: Path | None = None, **options: Any) -> ProgramCache:
        return ProgramCache(self.context, self.device, folder or self.folder, **options)

    def entries(self) -> list[Path]:
        return sorted((self.folder / "programs").glob("*.bin"))


@pytest.fixture
def shop(context: cl.Context, device: Device, tmp_path: Path) -> Shop:
    return Shop(context, device, tmp_path / "cache")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CacheWarning)
        yield


def numbered(number: int) -> str:
    return SOURCE.replace("42", str(number))


def test_memory_then_disk(shop: Shop) -> None:
    first = shop.cache()
    program = first.program(SOURCE)
    assert first.program(SOURCE) is program
    assert first.counters == Counters(memory_hits=1, built=1)
    second = shop.cache()
    assert second.program(SOURCE).built_from == "binary"
    assert second.counters == Counters(disk_hits=1)


def test_a_cached_program_computes(shop: Shop, context: cl.Context) -> None:
    shop.cache().program(SOURCE)
    assert answers(context, shop.cache().program(SOURCE)) == 42


def test_everything_a_binary_depends_on_is_in_the_key(shop: Shop, device: Device) -> None:
    caps = device.capabilities
    others = [replace(device, capabilities=replace(caps, **{name: "other"}))
              for name in ("name", "platform", "platform_version", "driver_version")]  # fmt: skip
    others.append(replace(device, quirks=replace(device.quirks, build_options=("-DX",))))
    keys = {shop.cache()._key(SOURCE, options) for options in ((), ("-DA=1",), ("-DA=1", "-DB"), ("-DA=1 -DB",))}
    keys |= {ProgramCache(shop.context, other, None)._key(SOURCE, ()) for other in others}
    keys.add(shop.cache()._key(SOURCE + " ", ()))
    assert len(keys) == 4 + len(others) + 1


def test_options_reach_the_compiler(shop: Shop) -> None:
    source = "__kernel void k(__global int *a) { a[0] = VALUE; }"
    assert shop.cache().program(source, ["-DVALUE=3"]).kernel("k").num_args == 1


def test_private(shop: Shop) -> None:
    shop.cache().program(SOURCE)
    assert (shop.folder / "programs").stat().st_mode & 0o777 == 0o700
    assert [entry.stat().st_mode & 0o777 for entry in shop.entries()] == [0o600]
    (shop.folder / "programs").chmod(0o755)
    shop.cache().program(SOURCE)
    assert (shop.folder / "programs").stat().st_mode & 0o777 == 0o700


def _flip_last(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(_flip_last, id="one bit"),
        pytest.param(lambda content: content[:-10], id="truncated"),
        pytest.param(lambda content: content[: HEADER.size - 1], id="half a header"),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda content: content + b"more", id="too long"),
        pytest.param(lambda content: b"X" + content[1:], id="another magic"),
        pytest.param(lambda content: content[:8] + b"\xff" + content[9:], id="another format"),
        pytest.param(lambda content: content[:12] + b"\0" * 32 + content[44:], id="another key"),
        pytest.param(lambda _: os.urandom(1000), id="noise"),
    ],
)
def test_a_damaged_entry_is_rebuilt_and_replaced(shop: Shop, damage: Any) -> None:
    shop.cache().program(SOURCE)
    (entry,) = shop.entries()
    entry.write_bytes(damage(entry.read_bytes()))
    again = shop.cache()
    assert again.program(SOURCE).built_from == "source"
    assert again.counters == Counters(built=1, damaged=1)
    third = shop.cache()
    third.program(SOURCE)
    assert third.counters == Counters(disk_hits=1)


def test_no_binary_is_asked_for_where_none_is_kept(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(driver.Program, "binary", property(asked.append))
    engine = Engine(device, Settings(cache_folder=None))
    engine.programs.program(SOURCE)
    assert engine.programs.counters.built == 1
    assert asked == []


def test_a_binary_the_driver_refuses_is_rebuilt(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver.Program, "binary", b"whole, but no binary of this driver's")
    shop.cache().program(SOURCE)
    again = shop.cache()
    assert again.program(SOURCE).built_from == "source"
    assert again.counters == Counters(built=1, damaged=1)


def test_a_driver_without_binaries(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver.Program, "binary", None)
    shop.cache().program(SOURCE)
    assert shop.entries() == []


def test_off(context: cl.Context, device: Device) -> None:
    cache = ProgramCache(context, device, None)
    cache.program(SOURCE)
    cache.program(SOURCE)
    assert cache.counters == Counters(memory_hits=1, built=1)


def test_a_failed_build_is_not_remembered(shop: Shop) -> None:
    cache = shop.cache()
    for _ in range(2):
        with pytest.raises(BuildError):
            cache.program("__kernel void k() { nowhere; }")
    assert cache.counters == Counters()
    assert shop.entries() == []


def test_memory_is_bounded(shop: Shop) -> None:
    cache = shop.cache(memory_entries=2)
    for number in (1, 2, 1, 3, 1, 2):  # 1 is always in use, so 2 goes
        cache.program(numbered(number))
    assert cache.counters == Counters(memory_hits=2, disk_hits=1, built=3, dropped=2)


def test_memory_is_bounded_by_bytes(shop: Shop) -> None:
    size = shop.cache().program(numbered(1)).nbytes
    cache = shop.cache(memory_bytes=2 * size + size // 2)
    for number in (1, 2, 1, 3, 1, 2):
        cache.program(numbered(number))
    assert (cache.counters.memory_hits, cache.counters.dropped) == (2, 2)
    tiny = shop.cache(memory_bytes=1)  # what is used now is there even so
    assert tiny.program(numbered(1)) is tiny.program(numbered(1))


class User:
    """Somebody who holds a program."""

    def __init__(self) -> None:
        self.held = True
        self.used = 0.0

    def let_go(self) -> None:
        self.held = False


def test_who_holds_a_dropped_program_lets_it_go(shop: Shop) -> None:
    cache = shop.cache(memory_entries=1)
    users = [User() for _ in range(3)]
    for number, user in enumerate(users):
        cache.program(numbered(number // 2), user=user)  # two hold the first
    assert [user.held for user in users] == [False, False, True]


def test_a_program_whose_user_needed_it_last_stays(shop: Shop) -> None:
    cache = shop.cache(memory_entries=2)
    users = [User() for _ in range(3)]
    for number, user in enumerate(users[:2]):
        cache.program(numbered(number), user=user)
    users[0].used = time.monotonic()
    cache.program(numbered(2), user=users[2])
    assert [user.held for user in users] == [True, False, True]


def test_the_least_recently_used_entries_leave_a_full_disk(shop: Shop) -> None:
    cache = shop.cache()
    cache.program(numbered(100))
    (oldest,) = shop.entries()
    cache.program(numbered(101))
    (second,) = set(shop.entries()) - {oldest}
    os.utime(oldest, (1, 1))
    os.utime(second, (2, 2))
    shop.cache().program(numbered(100))  # a hit makes it the youngest
    size = oldest.stat().st_size
    small = shop.cache(disk_bytes=int(2.5 * size))
    small.program(numbered(102))
    assert small.counters == Counters(built=1, evicted=1)
    assert oldest in shop.entries()
    assert second not in shop.entries()
    # An entry that would not fit at all is not even written.
    shop.cache(disk_bytes=size // 2).program(numbered(103))
    assert len(shop.entries()) == 2


def test_leftovers_of_killed_writers_are_removed(shop: Shop) -> None:
    shop.cache().program(SOURCE)
    stale, fresh = (shop.folder / "programs" / f".{name}.tmp" for name in ("stale", "fresh"))
    stale.touch()
    fresh.touch()
    os.utime(stale, (1, 1))
    shop.cache().program(numbered(1))
    assert not stale.exists()
    assert fresh.exists()


def works_without_a_disk(shop: Shop, folder: Path | None = None) -> None:
    """One warning for two programs, both built."""
    cache = shop.cache(folder)
    with pytest.warns(CacheWarning, match="OCL_RUNTIME_CACHE") as caught:
        _ = [cache.program(numbered(number)) for number in (1, 2)]
    assert len(caught) == 1
    assert cache.counters == Counters(built=2)


def test_somebody_elses_folder_is_not_used(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.cache().program(SOURCE)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    works_without_a_disk(shop)
    monkeypatch.undo()
    assert len(shop.entries()) == 1


def test_a_folder_that_cannot_be_made(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    works_without_a_disk(shop, tmp_path / "file" / "cache")


def test_a_full_disk(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.cache().program(SOURCE)

    class FullDisk:
        def __init__(self, descriptor: int, _mode: str) -> None:
            os.close(descriptor)

        def __enter__(self) -> FullDisk:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def write(self, _: bytes) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda descriptor, mode, **more: (
        FullDisk(descriptor, mode) if mode == "wb" else real(descriptor, mode, **more)
    ))  # fmt: skip
    works_without_a_disk(shop)
    assert [file.name for file in (shop.folder / "programs").iterdir()] == [entry.name for entry in shop.entries()]
    # What was stored before is still read.
    cache = shop.cache()
    cache.program(SOURCE)
    assert cache.counters == Counters(disk_hits=1)


def test_a_read_only_file_system(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.cache().program(SOURCE)
    real = os.open

    def read_only(path: Any, flags: int, *rest: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *rest)

    def no_utime(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(os, "utime", no_utime)
    works_without_a_disk(shop)
    cache = shop.cache()
    cache.program(SOURCE)
    assert cache.counters == Counters(disk_hits=1)


def test_an_entry_that_is_a_folder_is_replaced(shop: Shop) -> None:
    shop.cache().program(numbered(1))
    (entry,) = shop.entries()
    entry.unlink()
    (entry / "inside").mkdir(parents=True)
    again = shop.cache()
    again.program(numbered(1))
    assert again.counters.built == 1
    assert entry.is_file()
    third = shop.cache()
    third.program(numbered(1))
    assert (third.counters.built, third.counters.disk_hits) == (0, 1)


def test_an_entry_that_cannot_be_read(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.cache().program(numbered(1))

    def broken(*_: object, **__: object) -> Any:
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr(os, "fdopen", broken)
    works_without_a_disk(shop)


def _linked(entry: Path, aside: Path) -> None:
    entry.rename(aside)
    entry.symlink_to(aside)


def _piped(entry: Path, _: Path) -> None:
    entry.unlink()
    os.mkfifo(entry, 0o600)


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(_linked, id="a link to the very file"),
        pytest.param(lambda entry, _: entry.chmod(0o620), id="writable by its group"),
        pytest.param(lambda entry, _: entry.chmod(0o602), id="writable by all"),
        pytest.param(_piped, id="a pipe"),
    ],
)
@pytest.mark.timeout(60)
def test_what_others_could_have_made_is_not_loaded(shop: Shop, tmp_path: Path, planted: Any) -> None:
    """A binary is native code. It is built again, and takes the place of what was there."""
    shop.cache().program(SOURCE)
    (entry,) = shop.entries()
    planted(entry, tmp_path / "aside")
    again = shop.cache()
    assert again.program(SOURCE).built_from == "source"
    assert again.counters == Counters(built=1)
    assert entry.is_file()
    assert not entry.is_symlink()
    third = shop.cache()
    third.program(SOURCE)
    assert third.counters == Counters(disk_hits=1)


def test_a_file_of_another_user_is_not_loaded(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.cache().program(SOURCE)
    real = os.fstat

    def of_another(descriptor: int) -> os.stat_result:
        return os.stat_result([12345 if place == 4 else one for place, one in enumerate(real(descriptor))])

    monkeypatch.setattr(os, "fstat", of_another)
    again = shop.cache()
    again.program(SOURCE)
    assert again.counters == Counters(built=1)


@pytest.mark.parametrize("mode", [0o770, 0o722])
def test_a_folder_that_others_could_write_into_starts_empty(shop: Shop, mode: int) -> None:
    shop.cache().program(SOURCE)
    programs = shop.folder / "programs"
    programs.chmod(mode)
    again = shop.cache()
    with pytest.warns(CacheWarning, match="others could write into the cache folder") as caught:
        _ = [again.program(source) for source in (SOURCE, numbered(1))]
    assert len(caught) == 1
    assert again.counters == Counters(built=2)
    assert programs.stat().st_mode & 0o777 == 0o700
    (aside,) = shop.folder.glob("programs.*.not-used")
    assert str(aside) in str(caught[0].message)
    assert len(list(aside.iterdir())) == 1, "nothing is lost"
    third = shop.cache()
    third.program(SOURCE)
    assert third.counters == Counters(disk_hits=1)


def test_threads_that_want_the_same_program_build_it_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_build(*arguments: Any) -> driver.Program:
        time.sleep(0.1)
        return driver.build(*arguments)

    monkeypatch.setattr(cache, "build", slow_build)
    shared = shop.cache()
    start = threading.Barrier(8)

    def work(number: int) -> driver.Program:
        start.wait()
        return shared.program(numbered(number % 2))

    with ThreadPoolExecutor(8) as pool:
        programs = list(pool.map(work, range(8)))
    assert len({id(program) for program in programs}) == 2
    assert shared.counters == Counters(memory_hits=6, built=2)


def test_threads_that_wait_for_a_failing_build_all_hear_of_it(shop: Shop) -> None:
    shared = shop.cache()
    start = threading.Barrier(4)

    def work(_: int) -> bool:
        start.wait()
        with pytest.raises(BuildError):
            shared.program("__kernel void k() { nowhere; }")
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


# ---------------------------------------------------------------------- programs that are built together


def part(number: int, name: str = "answer") -> Part:
    return Part(numbered(number).replace("answer", name), (name,))


def answers(context: cl.Context, program: driver.Program, name: str = "answer") -> int:
    """What a kernel like `SOURCE` writes."""
    queue = cl.CommandQueue(context)
    result = np.zeros(1, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, result.nbytes)
    kernel = program.kernel(name)
    kernel.set_args(buffer)
    cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)
    cl.enqueue_copy(queue, result, buffer)
    return int(result[0])


def test_what_is_wanted_together_is_one_program(shop: Shop, context: cl.Context) -> None:
    """Kernels of one name too; each is asked for by its own source, here and in the next process."""
    parts = [part(1), part(2), part(3, "other"), part(1)]
    first = shop.cache()
    first.build_together(parts)
    assert first.counters == Counters(built=1)
    assert [answers(context, first.program(one.text), one.functions[0]) for one in parts] == [1, 2, 3, 1]
    assert first.counters == Counters(built=1, memory_hits=1)  # the first of who asks is who it was built for
    second = shop.cache()
    assert answers(context, second.program(numbered(2))) == 2  # alone
    second.build_together([part(3, "other"), part(1), part(4), part(5)])
    assert second.counters == Counters(built=1, disk_hits=3)
    assert [answers(context, second.program(numbered(one))) for one in (1, 4, 5)] == [1, 4, 5]
    assert len({second.program(numbered(one)).whole for one in (1, 2)}) == 1, "loaded once"


def test_functions_of_one_name_do_not_meet(shop: Shop, context: cl.Context) -> None:
    def calling(number: int) -> Part:
        text = f"int help(int a) {{ return a + {number}; }}\n" + numbered(42).replace("42", "help(0)")
        return Part(text, ("help", "answer"))

    taken = Part(numbered(7).replace("answer", "help_1"), ("help_1",))
    parts = [calling(1), calling(2), taken, calling(3)]
    together = shop.cache()
    together.build_together(parts)
    found = [answers(context, together.program(one.text), one.functions[-1]) for one in parts]
    assert (found, together.counters.built) == ([1, 2, 7, 3], 1)


def test_what_fails_among_others_is_told_alone(shop: Shop, context: cl.Context) -> None:
    wrong = Part("__kernel void wrong() {\n    nowhere;\n}", ("wrong",))
    together = shop.cache()
    together.build_together([part(1), wrong, part(2)])
    assert [answers(context, together.program(numbered(one))) for one in (1, 2)] == [1, 2]
    with pytest.raises(BuildError, match="line 2") as caught:
        together.program(wrong.text)
    assert caught.value.source == wrong.text
    assert together.counters.built == 2


def test_one_that_is_missing_is_built_by_who_asks(shop: Shop) -> None:
    alone = shop.cache()
    alone.build_together([part(1)])
    assert alone.counters == Counters()
    assert alone.program(numbered(1)).whole is None


def test_parts_leave_memory_together(shop: Shop) -> None:
    class Holder:
        gone = 0
        used = 0.0

        def let_go(self) -> None:
            self.gone += 1

    holders = [Holder(), Holder()]
    small = shop.cache(memory_entries=1)
    small.build_together([part(1), part(2)])
    for number, holder in enumerate(holders, start=1):
        small.program(numbered(number), user=holder)
    assert small.counters.dropped == 0, "they are one program"
    small.program(numbered(3))
    assert (small.counters.dropped, [one.gone for one in holders]) == (2, [1, 1])
    assert len(small._wholes) == 0


def test_a_whole_counts_as_many_bytes_as_it_has_kernels(shop: Shop, device: Device) -> None:
    bound = 4 * device.quirks.program_bytes + 2**12
    small = shop.cache(memory_bytes=bound)
    small.build_together([part(1), part(2), part(3)])
    for number in (1, 2, 3, 4):
        small.program(numbered(number))
    assert small.counters.dropped == 0
    small.program(numbered(5))
    assert small.counters.dropped == 3
    again = shop.cache(memory_bytes=bound)  # loaded, it is as large
    for number in (1, 4, 5):
        again.program(numbered(number))
    assert (again.counters.disk_hits, again.counters.dropped) == (3, 1)


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b""), lambda path: path.write_bytes(
    _flip_last(path.read_bytes()))], ids=["evicted", "empty", "flipped"])  # fmt: skip
def test_parts_of_a_lost_whole_are_built_again(shop: Shop, damage: Any, context: cl.Context) -> None:
    shop.cache().build_together([part(1), part(2)])
    damage(max(shop.entries(), key=lambda entry: entry.stat().st_size))
    again = shop.cache()
    assert answers(context, again.program(numbered(1))) == 1
    assert (again.counters.built, again.counters.disk_hits) == (1, 0)
    third = shop.cache()
    assert third.program(numbered(1)).whole is None
    assert third.counters == Counters(disk_hits=1)


@pytest.mark.parametrize("payload", [b"{", b"[]", b'{"a": 1}', b"\xff"])
def test_a_part_that_was_written_wrongly_is_damaged(tmp_path: Path, payload: bytes) -> None:
    files = ProgramFiles(tmp_path, 2**20, Counters())
    key, whole = bytes(32), b"w" * 32
    files.write(key, PartOf(whole, {"f": "g"}))
    assert files.read(key) == PartOf(whole, {"f": "g"})
    (path,) = tmp_path.iterdir()
    wrong = whole + payload
    header = HEADER.pack(path.read_bytes()[:8], FORMAT, key, len(wrong), hashlib.sha256(wrong).digest())
    path.write_bytes(header + wrong)
    with pytest.raises(DamagedFileError):
        files.read(key)


def test_threads_load_a_whole_once(shop: Shop, monkeypatch: pytest.MonkeyPatch, context: cl.Context) -> None:
    shop.cache().build_together([part(number) for number in range(8)])
    loads: list[bytes] = []

    def slow_load(*arguments: Any) -> driver.Program:
        loads.append(arguments[3])
        time.sleep(0.05)
        return driver.load(*arguments)

    monkeypatch.setattr(cache, "load", slow_load)
    again = shop.cache()
    with ThreadPoolExecutor(8) as pool:
        programs = list(pool.map(lambda number: again.program(numbered(number)), range(8)))
    assert len(loads) == 1
    assert again.counters == Counters(disk_hits=8)
    assert [answers(context, program) for program in programs] == list(range(8))


def test_what_was_interrupted_is_built_together_by_who_asks_next(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> driver.Program:
        raise KeyboardInterrupt

    together = shop.cache()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "build", interrupted)
        with pytest.raises(KeyboardInterrupt):
            together.build_together([part(1), part(2)])
    assert not together._programs
    together.build_together([part(1), part(2)])
    assert together.counters.built == 1


def test_threads_that_want_some_of_the_same_programs_build_each_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, context: cl.Context
) -> None:
    built: list[str] = []

    def slow_build(*arguments: Any) -> driver.Program:
        built.append(arguments[2])
        time.sleep(0.05)
        return driver.build(*arguments)

    monkeypatch.setattr(cache, "build", slow_build)
    shared = shop.cache()
    start = threading.Barrier(8)

    def work(number: int) -> list[int]:
        numbers = [number % 4, number % 4 + 1, 7]
        start.wait()
        shared.build_together([part(one) for one in numbers])
        return [answers(context, shared.program(numbered(one))) for one in numbers]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert found == [[number % 4, number % 4 + 1, 7] for number in range(8)]
    assert all(sum(f"= {number};" in text for text in built) == 1 for number in (0, 1, 2, 3, 4, 7))


# ---------------------------------------------------------------------- processes


USE = """
import sys
from pathlib import Path
import pyopencl as cl
from ocl_runtime.codegen.cache import ProgramCache
from ocl_runtime.device import choose
device = choose()
context = cl.Context([device.cl])
source = "__kernel void answer(__global int *a) {{ a[get_global_id(0)] = {}; }}"
folder, rounds, disk_bytes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
built = 0
for number in range(rounds):
    cache = ProgramCache(context, device, folder, disk_bytes=disk_bytes)
    program = cache.program(source.format(number % 5))
    assert program.kernel("answer").num_args == 1
    assert cache.counters.damaged == 0, "half a file was seen"
    built += cache.counters.built
print(built)
"""


def test_a_second_process_builds_nothing(tmp_path: Path) -> None:
    arguments = (str(tmp_path), "3", str(2**30))
    assert [python(USE, *arguments), python(USE, *arguments)] == ["3\n", "0\n"]


def test_processes_that_write_read_and_evict_at_once(shop: Shop, tmp_path: Path) -> None:
    shop.cache().program(SOURCE)
    size = shop.entries()[0].stat().st_size
    command = [sys.executable, "-W", "error", "-c", USE, str(shop.folder), "40", str(3 * size + size // 2)]
    processes = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
    assert 1 <= len(shop.entries()) <= 3 + len(processes)
    assert all(file.suffix == ".bin" for file in (shop.folder / "programs").iterdir())
