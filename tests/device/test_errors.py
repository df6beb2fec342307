"""Bad input on the device: each an error of our own with fact, place and remedy, or for the cache one warning."""

from __future__ import annotations

import errno
import inspect
import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import AtomicOp, Kernel
from ocl_ir.ops import OPS
from ocl_ir.types import BOOL, F32, F64, I32, I64, U32, DType, Vector
from ocl_runtime.codegen import cache, expressions
from ocl_runtime.device import Device, all_devices
from ocl_runtime.errors import (
    BuildError,
    DeviceError,
    DTypeError,
    Error,
    InputFileError,
    LaunchError,
    MixedDevicesError,
    NumberRangeError,
    OutOfMemoryError,
    ShapeError,
    UnknownDeviceError,
    VerifyError,
)
from ocl_runtime.execute import driver
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory import storage
from ocl_runtime.private_folder import CacheWarning
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from tests.support.arrays import assert_same

HOST = np.arange(1000, dtype="f4")


@pytest.fixture(autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    with ocl.use(Runtime(device, engine.settings)) as made:
        yield made


def assert_clear(error: Error, *, place: str | None = None, remedy: str) -> None:
    assert error.fact
    assert place is None or place in error.place, error.place
    assert remedy in error.remedy
    assert str(error).startswith(error.fact)


def line() -> int:
    """The line of this file that calls."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


# ---------------------------------------------------------------------- arrays


def test_bad_operands_say_where_and_what_to_do() -> None:
    x = ocl.asarray(HOST)
    cases: list[tuple[Callable[[], Any], type[Error], str]] = [
        (lambda: x + ocl.zeros(3), ShapeError, "reshape an operand"),
        (lambda: x & 1, DTypeError, "astype"),
        (lambda: ocl.sum(x, axis=1), ShapeError, "-1 to 0"),
        (lambda: x[1000], ShapeError, ""),
        (lambda: ocl.asarray(np.zeros(3, "M8[s]")), DTypeError, "float64"),
        (lambda: ocl.asarray(np.zeros(3, "u1")) + 256, NumberRangeError, "wider dtype"),
        (lambda: ocl.astype(x, "f4", device="elsewhere"), MixedDevicesError, "with use(runtime)"),
    ]
    for bad, kind, remedy in cases:
        with pytest.raises(kind) as caught:
            bad()
        assert_clear(caught.value, place="test_errors.py:", remedy=remedy)
    assert_same(x.numpy(), HOST)


@pytest.mark.parametrize("size", [float("nan"), float("inf"), -1, 2.5, 2**62, "3", None], ids=repr)
def test_sizes_that_are_none(size: Any) -> None:
    for make in (ocl.zeros, lambda size: ocl.full((2, size), 1.5), lambda size: ocl.broadcast_to(ocl.ones(1), (size,))):
        with pytest.raises((ShapeError, OutOfMemoryError)):
            make(size).compute()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_ranges_that_never_end(bad: float) -> None:
    for make in (lambda: ocl.arange(0, bad), lambda: ocl.arange(bad), lambda: ocl.arange(0, 1, bad / bad)):
        with pytest.raises(ShapeError, match="never ends") as caught:
            make()
        assert_clear(caught.value, place="test_errors.py:", remedy="finite numbers")


def test_an_unknown_device_lists_those_there_are(engine: Engine) -> None:
    with pytest.raises(UnknownDeviceError, match="no device is like 'quantum'") as caught:
        Runtime("quantum", engine.settings)
    assert_clear(caught.value, remedy="OCL_RUNTIME_DEVICE")
    for one in all_devices():
        assert str(one) in caught.value.place


# ---------------------------------------------------------------------- memory


def test_more_than_one_allocation_may_have(runtime: Runtime) -> None:
    most = runtime.device.capabilities.max_allocation
    x = ocl.asarray(HOST)
    pending = x * 2 + 1
    too_large = ocl.broadcast_to(x[:1], (most // 4 + 1,)) + 1
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match="are more than one allocation on") as caught:
            too_large.compute()
        assert isinstance(caught.value, MemoryError)
        assert_clear(caught.value, place=f"largest allocation: {most:,} bytes", remedy="parts of the data")
    assert_same(x.numpy(), HOST)
    assert_same(pending.numpy(), HOST * 2 + 1)
    # Nothing stops it from being reduced, which takes no memory.
    assert (too_large[: 2**20] + pending[0]).numpy()[-1] == 2


def test_a_driver_without_room(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept unused goes first; then the error comes, and what is alive still reads right."""
    x = ocl.asarray(HOST)
    opencl = runtime.executor.engine.opencl
    calls: list[int] = []
    real = opencl.buffer

    def refuse(nbytes: int) -> Any:
        calls.append(nbytes)
        if refusing:
            raise driver.Error("buffer", -4, "no memory")
        return real(nbytes)

    monkeypatch.setattr(opencl, "buffer", refuse)
    refusing = True
    huge = 2 * runtime.executor.engine.memory.device_pool.sizes.page
    with pytest.raises(OutOfMemoryError, match=f"has no room for {huge:,} bytes: .* it said: ") as caught:
        runtime.executor.allocate(huge, "here")
    assert len(calls) > 1
    assert_clear(caught.value, place="bytes in use by", remedy="drop arrays")
    assert_same(x.numpy(), HOST)
    refusing = False
    assert runtime.executor.allocate(huge, "here").nbytes == huge


@pytest.mark.parametrize("nbytes", [0, -4, float("nan"), float("inf"), 2.5])
def test_memory_of_no_size(engine: Engine, nbytes: Any) -> None:
    with pytest.raises(ShapeError, match=re.escape(f"memory of {nbytes!r} bytes")) as caught:
        engine.allocate(nbytes)
    assert_clear(caught.value, remedy="at least 1")


@pytest.mark.parametrize(("count", "offset"), [(101, 0), (1, 100), (-1, 0), (10, -1), (2**70, 0)])
def test_elements_that_are_not_there_cannot_be_read(engine: Engine, count: int, offset: int) -> None:
    memory = engine.upload(np.ones(100, "f4"))
    with pytest.raises(ShapeError, match="of a storage that has 100") as caught:
        engine.download(memory, np.dtype("f4"), count, offset).result()
    assert_clear(caught.value, place="float32", remedy="elements that are there")


# ---------------------------------------------------------------------- launches


def saxpy(name: str = "saxpy", **more: Any) -> Kernel:
    k = KernelBuilder(name, **more)
    n, a, twice = k.scalar("n", U32), k.scalar("a", F32), k.scalar("twice", BOOL)
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0, "i")
    with k.if_(i < n):
        product = k.let(a * k.load(x, i))
        k.store(y, i, k.op("select", twice, product + product, product) + k.load(y, i))
    return k.build()


class Bench:
    """A kernel with good arguments, to be spoiled one by one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.kernel = saxpy()
        self.x, self.y = (engine.upload(HOST) for _ in range(2))

    def args(self, **changes: Any) -> dict[str, Any]:
        return {"n": 1000, "a": 0.5, "twice": True, "x": (self.x, 0), "y": (self.y, 0), **changes}

    def launch(self, global_size: Any = (1000,), group_size: Any = (10,), **changes: Any) -> None:
        self.engine.launch(self.kernel, self.args(**changes), global_size, group_size)

    def works(self) -> None:
        self.y = self.engine.upload(HOST)
        self.launch()
        assert_same(self.engine.download(self.y, np.dtype("f4"), 1000).result(), HOST + HOST)


@pytest.fixture
def bench(engine: Engine) -> Bench:
    return Bench(engine)


def test_good_arguments(bench: Bench) -> None:
    bench.works()
    for changes in (
        {"n": np.uint32(1000)},
        {"n": np.uint8(200)},
        {"a": 1},
        {"a": np.float32(0.5)},
        {"twice": np.True_},
    ):
        bench.launch(**changes)
    bench.engine.launch(bench.kernel, list(bench.args().values()), (1000,))
    bench.launch(x=(bench.x, np.int64(3)), n=997)


@pytest.mark.parametrize(
    ("changes", "kind", "fact"),
    [
        ({"n": 2.0}, DTypeError, "got 2.0 for 'n', which is no u32"),
        ({"n": float("nan")}, DTypeError, "got nan for 'n', which is no u32"),
        ({"n": np.float32(3)}, DTypeError, "for 'n', which is no u32"),
        ({"n": np.int64(3)}, DTypeError, "for 'n', which is no u32"),
        ({"n": "3"}, DTypeError, "got '3' for 'n', which is no u32"),
        ({"n": None}, DTypeError, "got None for 'n'"),
        ({"n": -1}, NumberRangeError, "got -1 for 'n', which is out of range for u32"),
        ({"n": 2**40}, NumberRangeError, "out of range for u32"),
        ({"a": 10**400}, NumberRangeError, "out of range for f32"),
        ({"a": np.float64(0.1)}, DTypeError, "for 'a', which is no f32"),
        ({"twice": 5}, DTypeError, "got 5 for 'twice', which is no bool"),
        ({"x": 5}, DTypeError, "got 5 for 'x', which takes a storage and an offset"),
        ({"x": (HOST, 0)}, DTypeError, "for 'x', which takes a storage and an offset"),
        ({"z": 5}, DTypeError, "got other arguments than it has: z"),
    ],
)
def test_arguments_that_do_not_fit(bench: Bench, changes: dict[str, Any], kind: type[Error], fact: str) -> None:
    with pytest.raises(kind) as caught:
        bench.launch(**changes)
    assert_clear(caught.value, remedy="")
    assert fact in caught.value.fact
    assert "kernel saxpy" in caught.value.fact
    if kind is DTypeError:
        assert caught.value.remedy == "it takes n: u32, a: f32, twice: bool, x: global f32*, y: global f32*"
    bench.works()


def test_memory_that_does_not_fit(bench: Bench, device: Device) -> None:
    with pytest.raises(DTypeError, match="got a storage for 'n', which takes a number"):
        bench.launch(n=(bench.x, 0))
    with pytest.raises(DTypeError, match="got 2 arguments"):
        bench.engine.launch(bench.kernel, [1, 2], (1,), (1,))
    for offset in (-1, 1001, 2.0, float("nan"), 2**70):
        with pytest.raises(ShapeError, match=re.escape(f"got the offset {offset!r} for 'x'")) as caught:
            bench.launch(x=(bench.x, offset))
        assert_clear(caught.value, place="1000 elements of f32", remedy="from the start of the storage")
    foreign = Engine(device, Settings(cache_folder=None)).upload(HOST)
    with pytest.raises(MixedDevicesError, match="kernel saxpy got memory of another runtime for 'x'") as mixed:
        bench.launch(x=(foreign, 0))
    assert_clear(mixed.value, place=str(device), remedy="on the runtime that launches")
    bench.works()


def test_regression_memory_shorter_than_the_kernel_was_promised(engine: Engine, bench: Bench) -> None:
    k = KernelBuilder("promise")
    n = k.scalar("n", U32)
    y = k.pointer("y", F32, length=n)
    i = k.global_id(0, "i")
    with k.if_(i < n):
        k.store(y, i, 1.0)
    kernel = k.build()
    engine.launch(kernel, {"n": 1000, "y": (bench.y, 0)}, (1000,))
    for offset, n_given in ((0, 1001), (1, 1000), (0, 10**6)):
        with pytest.raises(ShapeError, match=f"may touch {n_given} elements from there") as caught:
            engine.launch(kernel, {"n": n_given, "y": (bench.y, offset)}, (1000,))
        assert_clear(caught.value, place="1000 elements of f32", remedy="from the start of the storage")
    bench.works()


def test_regression_an_offset_that_breaks_the_alignment(engine: Engine, bench: Bench) -> None:
    k = KernelBuilder("aligned")
    y = k.pointer("y", F32, align=16)
    k.store(y, k.global_id(0) * 4, k.const(1.0, Vector(F32, 4)), align=16)
    kernel = k.build()
    engine.launch(kernel, {"y": (bench.y, 4)}, (1,), (1,))
    with pytest.raises(ShapeError, match="got the offset 1 for 'y', aligned to 16 bytes") as caught:
        engine.launch(kernel, {"y": (bench.y, 1)}, (1,), (1,))
    assert_clear(caught.value, place="4 bytes", remedy="aligned offset")
    bench.works()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_regression_after_a_fork_the_runtime_says_so_and_does_not_hang() -> None:
    x = ocl.asarray(HOST)
    (x + 1).numpy()
    child = os.fork()
    if not child:
        try:
            (x + 2).numpy()
        except DeviceError as error:
            os._exit(0 if "before a fork" in error.fact and "spawn" in error.remedy else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert_same((x + 2).numpy(), HOST + 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_regression_a_warm_evaluation_after_a_fork_takes_no_lock() -> None:
    x = ocl.asarray(HOST)

    def evaluate() -> None:  # at one line
        (x * 2 + 1).compute()

    for _ in range(20):
        evaluate()
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with x._executor.engine.streams.lock:  # type: ignore[attr-defined]
            held.set()
            go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)  # else the test would wait for ever, too
        try:
            evaluate()
        except DeviceError as error:
            os._exit(0 if "before a fork" in error.fact else 2)
        os._exit(1)
    go.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_regression_memory_that_the_driver_would_not_really_have(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = replace(device, quirks=replace(device.quirks, allocates_lazily=True))
    small = Engine(lazy, engine.settings)
    monkeypatch.setattr(storage, "_free_host_memory", lambda: 4096)
    assert small.allocate(4096).nbytes == 4096
    with pytest.raises(OutOfMemoryError, match=r"has no room for 4,097 bytes: .*less free memory"):
        small.allocate(4097)


def test_regression_threads_that_want_one_kernel_compile_it_once(device: Device, engine: Engine) -> None:
    fresh, kernel = Engine(device, engine.settings), saxpy()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh.executable(kernel), range(8)))
    assert len({id(one) for one in found}) == 1
    assert fresh.counters.compiled == 1


def test_a_kernel_is_built_while_another_one_is(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, slow, quick = Engine(device, replace(engine.settings, cache_folder=None)), saxpy(), saxpy("quick")
    began, go_on = threading.Event(), threading.Event()
    real = cache.build

    def build(context: Any, device: Device, source: str, *more: Any) -> Any:
        if "quick" not in source:
            began.set()
            assert go_on.wait(60)
        return real(context, device, source, *more)

    monkeypatch.setattr(cache, "build", build)
    with ThreadPoolExecutor(3) as pool:
        several = [pool.submit(fresh.executable, slow) for _ in range(2)]
        try:
            assert began.wait(60)
            assert pool.submit(fresh.executable, quick).result(60).kernel.name == "quick"
            assert not any(one.done() for one in several)
        finally:
            go_on.set()
        assert several[0].result(60) is several[1].result(60)
    assert (fresh.counters.compiled, fresh.programs.counters.built) == (2, 2)


def test_a_kernel_that_did_not_build_is_compiled_by_who_asks_next(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, kernel = Engine(device, replace(engine.settings, cache_folder=None)), saxpy()

    def fails(*arguments: Any) -> Any:
        raise BuildError("no room", source="", log="")

    with monkeypatch.context() as patch:
        patch.setattr(cache, "build", fails)
        for _ in range(2):
            with pytest.raises(BuildError):
                fresh.executable(kernel)
    assert fresh.counters.compiled == 0
    fresh.executable(kernel)
    assert fresh.counters.compiled == 1


def test_the_strategy_comes_from_the_kernel_the_settings_or_the_device(device: Device, engine: Engine) -> None:
    reusing = replace(device, quirks=replace(device.quirks, locals_strategy="reuse"))
    kernel = saxpy()

    def used(engine: Engine, strategy: str | None = None) -> str:
        return engine.executable(kernel, strategy).compilation.source.locals.strategy

    assert used(Engine(device, replace(engine.settings, locals_strategy=None))) == "hybrid"
    assert used(Engine(reusing, replace(engine.settings, locals_strategy=None))) == "reuse"
    by_setting = Engine(reusing, replace(engine.settings, locals_strategy="ssa"))
    assert used(by_setting) == "ssa"
    assert used(by_setting, "hybrid") == "hybrid"
    assert by_setting.executable(kernel, "hybrid") is by_setting.executable(kernel, "hybrid")


@pytest.mark.parametrize(
    ("global_size", "group_size"),
    [
        ((), ()), ((0,), (1,)), ((10,), (0,)), ((10,), (-1,)), ((-10,), (1,)), ((10, 10), (10,)), ((1,) * 4, (1,) * 4),
        ((float("nan"),), (1,)), ((float("inf"),), (1,)), ((2.5,), (1,)), ((10,), (float("nan"),)), ((2**70,), (1,)),
    ],
)  # fmt: skip
def test_index_spaces_that_do_not_exist(bench: Bench, global_size: Any, group_size: Any) -> None:
    with pytest.raises(
        ShapeError, match=re.escape(f"global size {global_size} with group size {group_size}")
    ) as caught:
        bench.launch(global_size, group_size)
    assert_clear(caught.value, place="kernel saxpy", remedy="1 to 3 sizes")
    bench.works()


def test_a_group_is_no_better_for_one_that_was_alike(bench: Bench) -> None:
    """What it is compared with has been found to fit before."""
    bench.launch((10,), (5,))
    for group in ((5.0,), ([5],)):
        with pytest.raises(ShapeError, match="with group size"):
            bench.launch((10,), group)
    bench.launch((np.int64(10),), (np.int32(5),))
    bench.works()


def test_groups_that_are_too_large(bench: Bench, device: Device) -> None:
    caps = device.capabilities
    for size in (
        (caps.max_work_group_size * 2,),
        (1, caps.max_work_group_size * 2),
        (1, 1, caps.max_work_item_sizes[2] + 1),
    ):
        with pytest.raises(ShapeError, match="is too large for kernel saxpy on") as caught:
            bench.launch(size, size)
        assert_clear(caught.value, place=str(caps.max_work_item_sizes), remedy="smaller group size")
    bench.works()


def test_the_driver_refuses_a_launch(bench: Bench) -> None:
    kernel = saxpy(group_size=(16, 1, 1))
    with pytest.raises(LaunchError, match="kernel saxpy could not be launched on") as caught:
        bench.engine.launch(kernel, bench.args(), (64,), (32,))
    assert_clear(caught.value, place="group size (32,)\nkernel saxpy(n: u32", remedy="ocl-dump")
    bench.works()


@pytest.mark.parametrize("made_by", ["barrier", "collective"])
def test_a_kernel_with_a_barrier_is_not_padded(bench: Bench, made_by: str) -> None:
    """The work-items of the padding would have to come to the barrier, too."""
    k = KernelBuilder("together", group_size=(16, 2, 1))
    if made_by == "barrier":
        k.barrier()
    else:
        k.collective("sum", k.const(1, U32))
    kernel = k.build()
    bench.engine.launch(kernel, {}, (32, 4), (16, 2))
    with pytest.raises(ShapeError, match="40 is not a multiple of the group size 16, and the kernel") as caught:
        bench.engine.launch(kernel, {}, (40, 4), (16, 2))
    assert_clear(caught.value, place="kernel together", remedy="launch 48 and test the index")
    with pytest.raises(ShapeError, match="3 is not a multiple of the group size 2"):
        bench.engine.launch(kernel, {}, (16, 3), (16, 2))
    bench.works()


def test_more_local_memory_than_there_is(engine: Engine, device: Device, bench: Bench) -> None:
    k = KernelBuilder("hoarder")
    y = k.pointer("y", F32)
    tile = k.array(F32, 1 << 24, space="local", hint="tile")
    item = k.item("local_id")
    k.store(tile, item, k.load(y, item))
    k.barrier()
    k.store(y, item, k.load(tile, item) + 1)
    with pytest.raises((LaunchError, BuildError)) as caught:
        engine.launch(k.build(), {"y": (bench.y, 0)}, (64,), (64,))
    assert "hoarder" in str(caught.value)
    bench.works()


def test_a_dtype_that_the_device_does_not_have(bench: Bench, device: Device) -> None:
    without = replace(device, capabilities=replace(device.capabilities, fp64=False))
    engine = Engine(without, bench.engine.settings)
    k = KernelBuilder("wide")
    y = k.pointer("y", F32)
    k.store(y, k.global_id(0), k.convert(k.convert(k.load(y, k.global_id(0)), F64) * 2.0, F32))
    with pytest.raises(DTypeError, match="cannot compute with f64") as caught:
        engine.launch(k.build(), {"y": (engine.upload(HOST), 0)}, (10,), (1,))
    assert_clear(caught.value, place="kernel wide", remedy="float32")


@pytest.mark.parametrize(
    ("op", "extension", "dtype"),
    [("add", "cl_khr_int64_base_atomics", F64), ("max", "cl_khr_int64_base_atomics", F64),
     ("add", "cl_khr_int64_base_atomics", I64), ("max", "cl_khr_int64_extended_atomics", I64)],
)  # fmt: skip
def test_atomics_that_the_device_does_not_have(
    bench: Bench, device: Device, op: AtomicOp, extension: str, dtype: DType
) -> None:
    capabilities = replace(device.capabilities, extensions=device.capabilities.extensions - {extension})
    engine = Engine(replace(device, capabilities=capabilities), bench.engine.settings)
    k = KernelBuilder("wide")
    k.atomic(op, k.pointer("y", dtype), 0, 3, used=False)
    with pytest.raises(DTypeError, match="has no atomics of 64 bits") as caught:
        engine.executable(k.build())
    assert_clear(caught.value, place=f"kernel wide needs {extension}", remedy="use int32, uint32 or float32")


def test_a_number_below_what_a_parameter_promises(bench: Bench) -> None:
    k = KernelBuilder("promise")
    k.store(k.pointer("y", F32), 0, k.convert(k.scalar("n", I32, low=0), F32))
    kernel = k.build()
    bench.engine.launch(kernel, {"y": (bench.y, 0), "n": 0}, (1,), (1,))
    with pytest.raises(NumberRangeError, match="got -1 for 'n', which is promised never to be below 0") as caught:
        bench.engine.launch(kernel, {"y": (bench.y, 0), "n": -1}, (1,), (1,))
    assert_clear(caught.value, remedy="pass what was promised")


def test_a_kernel_that_is_not_well_formed(bench: Bench) -> None:
    broken = replace(bench.kernel, params=(*bench.kernel.params, bench.kernel.params[0]))
    with pytest.raises(VerifyError, match="two parameters have the name n") as caught:
        bench.engine.launch(broken, [], (1,), (1,))
    assert_clear(caught.value, remedy="own name")


# ---------------------------------------------------------------------- builds


@pytest.fixture
def misspell(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Makes the op table spell an operation as something that no compiler knows."""

    def change(op: str, spelling: str) -> None:
        row = replace(OPS[op], spelling=MappingProxyType({"any": spelling}), constant_shift=MappingProxyType({}))
        monkeypatch.setattr(expressions, "OPS", MappingProxyType({**expressions.OPS, op: row}))

    return change


def assert_build_error(error: BuildError, shown: str, statement: str, asked: int) -> None:
    """Source around the line with `>`, the IR statement, the Python line."""
    assert_clear(error, remedy="fault of ocl-runtime")
    assert "OpenCL C did not build on" in error.fact
    assert re.search(rf"^>\s+\d+ \| .*{shown}", error.place, re.MULTILINE), error.place
    assert len(re.findall(r"^ {2,}\d+ \| ", error.place, re.MULTILINE)) >= 3
    assert re.search(rf"from the statement `{statement}`", error.place), error.place
    assert f"asked for at {__file__}:{asked}" in error.place
    assert "__kernel" in error.source
    assert error.log
    assert "-cl-std=CL1.2" in error.place


def test_a_build_error_of_an_expression(misspell: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    x = ocl.asarray(HOST)
    expression = ocl.log1p(x * 2) + 1
    for attempt in range(2):  # a failure is not remembered; NVIDIA's driver tells where only the first time
        misspell("log1p", f"no_such_function{attempt}({{0}})")
        asked = line() + 2
        with pytest.raises(BuildError) as caught:
            expression.compute()
        assert_build_error(caught.value, r"no_such_function\d\(", r"store\d* y\[.*", asked)
    monkeypatch.undo()
    np.testing.assert_allclose(expression.numpy(), np.log1p(HOST * 2) + 1, rtol=1e-6)


def test_a_build_error_of_a_kernel(bench: Bench, misspell: Callable[[str, str], None]) -> None:
    k = KernelBuilder("broken")
    y = k.pointer("y", I32)
    i = k.global_id(0, "i")
    asked = line() + 1
    power = k.op("ipow", k.load(y, i), 3)
    k.store(y, i, power)
    misspell("ipow", "helper_that_is_not_there({0}, {1})")
    with pytest.raises(BuildError) as caught:
        bench.engine.launch(k.build(), {"y": (bench.engine.upload(np.arange(10, dtype="i4")), 0)}, (10,), (1,))
    assert_build_error(caught.value, "helper_that_is_not_there", r"store y\[i\] = .*", asked + 1)
    bench.works()


# ---------------------------------------------------------------------- the cache folder


def warned_once(settings: Settings, device: Device) -> Runtime:
    """One warning for several programs, and right values."""
    runtime = Runtime(device, settings)
    with ocl.use(runtime), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = ocl.asarray(HOST)
        assert_same((x * 5 - 3).numpy(), HOST * 5 - 3)
        assert float(ocl.max(ocl.abs(x))) == 999
        assert_same(ocl.floor(x / 2).numpy(), np.floor(HOST / 2))
    assert [one.category for one in caught if one.category is CacheWarning] == [CacheWarning]
    message = str(next(one.message for one in caught if one.category is CacheWarning))
    assert str(settings.cache_folder) in message
    assert "working without it" in message
    assert "OCL_RUNTIME_CACHE" in message
    return runtime


def test_a_cache_folder_that_cannot_be_made(device: Device, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    runtime = warned_once(Settings(cache_folder=tmp_path / "file" / "cache"), device)
    assert runtime.statistics()["program"]["built"] >= 3
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_cache_folder_of_somebody_else(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "getuid"):
        return  # Windows keeps profile folders private by itself
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    warned_once(Settings(cache_folder=tmp_path), device)
    assert not list(tmp_path.rglob("*.bin"))


def test_a_full_disk_under_the_cache(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fdopen

    class FullDisk:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> FullDisk:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, content: bytes) -> None:
            self.file.write(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fdopen(descriptor: int, mode: str = "r", *rest: Any, **more: Any) -> Any:
        file = real(descriptor, mode, *rest, **more)
        return FullDisk(file) if mode == "wb" else file

    monkeypatch.setattr(os, "fdopen", fdopen)
    warned_once(Settings(cache_folder=tmp_path), device)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []  # no half-written file


# ---------------------------------------------------------------------- the dump folder


def test_a_dump_folder_that_cannot_be_written(device: Device, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputFileError, match="the dump folder cannot be written") as caught:
        Runtime(device, replace(engine.settings, dump_folder=tmp_path / "file" / "dump"))
    assert isinstance(caught.value, OSError)
    assert_clear(caught.value, place=str(tmp_path / "file" / "dump"), remedy="OCL_RUNTIME_DUMP")


@pytest.mark.parametrize(("file", "whole"), [("source.cl", ["003_plan"]), ("bundles.txt", [])])
def test_a_full_disk_under_the_dump(
    device: Device, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, whole: list[str]
) -> None:
    runtime = Runtime(device, replace(engine.settings, dump_folder=tmp_path / "dump"))
    with ocl.use(runtime):
        x = ocl.asarray(HOST)
        first = (x * 7).compute()
        real = Path.write_text

        def full(path: Path, text: str, **more: Any) -> int:
            if path.name.endswith(file):
                real(path, text[: len(text) // 2], **more)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(path, text, **more)

        monkeypatch.setattr(Path, "write_text", full)
        with pytest.raises(InputFileError, match="No space left on device") as caught:
            (x - 7).compute()
        assert_clear(caught.value, place=str(tmp_path / "dump"), remedy="has room")
        assert sorted(path.name for path in (tmp_path / "dump").iterdir()) == ["001_plan", "002_mul", *whole]
        monkeypatch.undo()
        assert_same((x - 7).numpy(), HOST - 7)
        assert_same(first.numpy(), HOST * 7)


def test_regression_two_runtimes_dump_into_one_folder(device: Device, engine: Engine, tmp_path: Path) -> None:
    """Both began with number 001 and the second one failed."""
    made = [Runtime(device, replace(engine.settings, dump_folder=tmp_path / "dump")) for _ in range(2)]
    for runtime in made:
        with ocl.use(runtime):
            (ocl.asarray(HOST) * 7).compute()
    assert sorted(path.name for path in (tmp_path / "dump").iterdir()) == ["001_plan", "002_mul", "003_plan", "004_mul"]


def test_regression_kernels_named_like_functions_of_opencl(bench: Bench) -> None:
    """PoCL found no kernel called `sin`, and ended the process for one called `erf`."""
    for name in ("sin", "erf", "max", "while", "float4", "barrier"):
        k = KernelBuilder(name)
        y = k.pointer("y", F32)
        i = k.global_id(0)
        k.store(y, i, k.load(y, i) + 1)
        bench.engine.launch(k.build(), {"y": (bench.y, 0)}, (1000,), (10,))
    assert_same(bench.engine.download(bench.y, np.dtype("f4"), 1000).result(), HOST + 6)
