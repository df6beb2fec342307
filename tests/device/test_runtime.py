"""Runtimes: settings, several at once, counters, other processes, and the end of a process."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.arrays import current_runtime
from ocl_runtime.device import Device, all_devices
from ocl_runtime.device.probe import fault
from ocl_runtime.errors import MixedDevicesError, SettingError, UnknownDeviceError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from tests.support.arrays import assert_same, counting, python

MEMORY = {
    "allocations", "created", "released", "freed", "live", "waits", "in_use", "padding", "reserved", "peak_in_use",
    "peak_reserved",
}  # fmt: skip
STATISTICS = {
    "launch": {"launches", "compiled"},
    "program": {"memory_hits", "disk_hits", "built", "damaged", "dropped", "evicted"},
    "kernel": {"hits", "misses", "evictions", "kernels"},
    "plan": {"hits", "misses", "loaded", "damaged", "evictions", "plans", "nbytes", "tuned"},
    "stream": {"waits", "waits_elided", "flushes", "host_waits", "failures"},
    "memory": MEMORY,
    "pinned": MEMORY,
    "staging": MEMORY,
}


@pytest.fixture
def make(device: Device, engine: Engine) -> Callable[..., Runtime]:
    """Runtimes over the programs of this test session, with other settings."""
    return lambda **settings: Runtime(device, replace(engine.settings, **settings))


# ---------------------------------------------------------------------- settings


def test_a_runtime_has_a_device_and_settings(device: Device, engine: Engine) -> None:
    runtime = Runtime(device, engine.settings)
    assert runtime.device is device
    assert runtime.settings is engine.settings
    assert str(device) in repr(runtime)
    with ocl.use(runtime):
        assert ocl.current() is runtime
        assert ocl.zeros(3).device is device


def test_words_choose_the_device(device: Device, engine: Engine) -> None:
    assert Runtime(device.key, engine.settings).device == device
    assert Runtime(settings=replace(engine.settings, device=device.key)).device == device
    with pytest.raises(UnknownDeviceError, match="no device is like 'abacus'"):
        Runtime("abacus", engine.settings)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, device: Device, tmp_path: Path) -> None:
    for name, value in {
        "DEVICE": device.key,
        "CACHE": str(tmp_path / "cache"),
        "LOCALS": "ssa",
        "DEFAULT_REAL": "f32",
        "DUMP": str(tmp_path / "dump"),
    }.items():
        monkeypatch.setenv(f"OCL_RUNTIME_{name}", value)
    runtime = Runtime()
    assert runtime.device == device
    assert runtime.settings.locals_strategy == "ssa"
    with ocl.use(runtime):
        assert float(ocl.sum(ocl.ones(5) * 2)) == 10
    assert list((tmp_path / "cache" / "programs").glob("*.bin"))
    (locals_text,) = (path.read_text() for path in (tmp_path / "dump").glob("*/*_locals.txt"))
    assert locals_text.startswith("strategy ssa")
    monkeypatch.setenv("OCL_RUNTIME_LOCALS", "many")
    with pytest.raises(SettingError, match="OCL_RUNTIME_LOCALS has a value that makes no sense: 'many'"):
        Runtime()


@pytest.mark.parametrize("strategy", ["reuse", "hybrid", "ssa"])
def test_every_strategy_computes_the_same(make: Callable[..., Runtime], strategy: str) -> None:
    host = np.arange(1001, dtype="f4")
    with ocl.use(make(locals_strategy=strategy)):
        x = ocl.asarray(host)
        assert_same(
            (ocl.where(x > 5, x * x - 1, x / 3) + x).numpy(), np.where(host > 5, host * host - 1, host / 3) + host
        )


def test_the_default_real(make: Callable[..., Runtime]) -> None:
    runtime = make(default_real="f64")
    if not runtime.executor.target.fp64:
        with ocl.use(runtime), pytest.raises(ocl.Error, match="no float64"):
            ocl.zeros(3)
        return
    with ocl.use(runtime):
        assert ocl.asarray([0.1]).numpy() == np.array([0.1])
        assert float(ocl.mean(ocl.arange(11)) / 3) == 5 / 3


# ---------------------------------------------------------------------- several runtimes


def test_two_runtimes_at_once(make: Callable[..., Runtime]) -> None:
    first, second = make(), make()
    with ocl.use(first):
        x = ocl.asarray(np.arange(1000, dtype="f4"))
        with ocl.use(second):
            y = ocl.asarray(np.arange(1000, dtype="f4")) + 1
        lazy = x * 2
    with counting(first) as one, counting(second) as other:
        assert float(ocl.sum(y)) == 500_500  # an array knows its runtime, whichever is in use
    assert (one["launch", "launches"], other["launch", "launches"] > 0) == (0, True)
    assert float(ocl.max(lazy)) == 1998


def test_arrays_of_two_runtimes_do_not_mix(make: Callable[..., Runtime]) -> None:
    first, second = make(), make()
    with ocl.use(first):
        x = ocl.ones(3)
    with ocl.use(second):
        y = ocl.ones(3)
    for what, mix in [
        ("add", lambda: x + y),
        ("where", lambda: ocl.where(x > 0, x, y)),
        ("compute", lambda: ocl.compute(x, y)),
    ]:
        with pytest.raises(MixedDevicesError, match=f"{what} of arrays of different runtimes") as caught:
            mix()
        assert "test_runtime.py:" in caught.value.place
        assert "asarray(x)" in caught.value.remedy
    with ocl.use(first):
        moved = ocl.asarray(y.numpy())
    assert_same((x + moved).numpy(), np.full(3, 2, "f4"))


def test_runtimes_of_every_device_at_once(engine: Engine) -> None:
    """Real drivers beside each other in one process give what each gives alone."""
    usable = [one for one in all_devices() if not one.quirks.simulator and fault(one, None) is None]
    host = np.arange(100, dtype="f4")
    results = []
    for one in usable:
        with ocl.use(Runtime(one, engine.settings)):
            results.append(ocl.asarray(host) * 3 + 1)
    for result in reversed(results):
        assert_same(result.numpy(), host * 3 + 1)
    assert [result.device.key for result in results] == [one.key for one in usable]


@pytest.fixture
def own_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runtimes by words and the default one are this test's own."""
    monkeypatch.setattr(current_runtime, "_default", current_runtime._Default())
    current_runtime.make_runtimes(Runtime)


@pytest.mark.usefixtures("own_default")
def test_words_choose_the_runtime_in_use(device: Device) -> None:
    with ocl.use(device.key) as first:
        x = ocl.asarray([1, 2])
        assert isinstance(first, Runtime)
        assert first.device == device
    with ocl.use(device.key):
        assert (x + ocl.asarray([3, 4])).numpy().tolist() == [4, 6]  # of one runtime
    ocl.set_default(device.key)
    assert ocl.current() is first
    other = Runtime(device)
    ocl.set_default(other)
    assert ocl.current() is other
    made = []
    ocl.set_default(lambda: made.append(other) or other)
    assert not made
    assert ocl.current() is ocl.current() is other
    assert len(made) == 1


@pytest.mark.usefixtures("own_default")
@pytest.mark.parametrize("given", [0, 1.5, np.float32(1), b"cpu", ["cpu"], SimpleNamespace(executor=object())])
def test_what_is_no_runtime_is_refused_at_once(given: object) -> None:
    choices: list[Any] = [Runtime, ocl.use, ocl.set_default]
    for choose_by in choices:
        with pytest.raises(UnknownDeviceError) as caught:
            choose_by(given)  # also before any `with`
        assert repr(given) in caught.value.fact
        assert "ocl-devices" in caught.value.remedy
        assert "test_runtime.py:" in caught.value.place
    with pytest.raises(UnknownDeviceError):
        ocl.use(Runtime)  # type: ignore[arg-type]


@pytest.mark.usefixtures("own_default")
def test_words_that_no_device_fits_are_refused_at_once() -> None:
    before = ocl.current()
    for choose_by in (ocl.use, ocl.set_default):
        with pytest.raises(UnknownDeviceError, match="no device is like 'nonesuch'"):
            choose_by("nonesuch")
    assert ocl.current() is before


# ---------------------------------------------------------------------- counters


def test_statistics_count(make: Callable[..., Runtime]) -> None:
    runtime = make(cache_folder=None)
    assert {group: set(counters) for group, counters in runtime.statistics().items()} == STATISTICS
    assert not any(value for counters in runtime.statistics().values() for value in counters.values())
    with ocl.use(runtime):
        x = ocl.asarray(np.arange(1000, dtype="f4"))
        (x + 1).compute()
        (x + 2).compute()
        ocl.compute(x * 2, x * 3)
    found = runtime.statistics()
    assert found["launch"] == {"launches": 3, "compiled": 2}
    assert found["program"] == {"memory_hits": 0, "disk_hits": 0, "built": 2, "damaged": 0, "evicted": 0, "dropped": 0}
    assert found["kernel"] == {"hits": 0, "misses": 2, "evictions": 0, "kernels": 2}
    assert found["plan"].pop("nbytes") > 0
    assert found["plan"] == {"hits": 1, "misses": 2, "loaded": 0, "damaged": 0, "evictions": 0, "plans": 2, "tuned": 0}
    memory = found["memory"]
    assert (memory["allocations"], memory["created"]) == (5, 1)
    assert json.loads(json.dumps(found)) == found


def test_kept_memory_is_bounded(make: Callable[..., Runtime], device: Device) -> None:
    runtime = make()
    most = device.capabilities.global_memory // 2
    with ocl.use(runtime):
        for size in range(1, 40):
            ocl.asarray(np.zeros(size * 10_000, "f4"))
    runtime.finish()
    runtime.executor.engine.memory.device_pool.trim()
    assert runtime.statistics()["memory"]["reserved"] == 0
    assert 0 < runtime.executor.engine.memory.device_pool.sizes.kept <= most


# ---------------------------------------------------------------------- other processes

PROGRAM = """
import json
import numpy as np
import ocl_runtime as ocl
x = ocl.asarray(np.arange(10_000, dtype="f4"))
print(float(ocl.sum(ocl.where(x > 3, x * 2, -x) + 1)), (ocl.sqrt(x) - x)[5].numpy().tobytes().hex())
print(json.dumps(ocl.current().statistics()))
"""


def environment(device: Device, cache: Path | str, **more: str) -> dict[str, str | None]:
    settings = {"DEVICE": device.key, "CACHE": str(cache), "DUMP": None, "LOCALS": None, "DEFAULT_REAL": None} | more
    return {f"OCL_RUNTIME_{name}": value for name, value in settings.items()}


def started(device: Device, cache: Path | str, cwd: Path) -> tuple[str, dict[str, Any]]:
    done = python("-c", PROGRAM, cwd=cwd, env=environment(device, cache))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    values, statistics = done.stdout.splitlines()
    return values, json.loads(statistics)


def test_a_second_start_compiles_nothing(device: Device, tmp_path: Path) -> None:
    values, first = started(device, tmp_path / "cache", tmp_path)
    assert first["program"]["built"] >= 2
    again, second = started(device, tmp_path / "cache", tmp_path)
    assert again == values
    assert second["program"]["built"] == 0
    assert second["program"]["disk_hits"] == first["program"]["built"]
    assert second["launch"] == first["launch"]
    assert {path.name for path in tmp_path.iterdir()} == {"cache"}


def test_without_a_cache_everything_works_and_nothing_is_written(device: Device, tmp_path: Path) -> None:
    values, first = started(device, "off", tmp_path)
    again, second = started(device, "off", tmp_path)
    assert (values, first["program"]["built"]) == (again, second["program"]["built"])
    assert first["program"]["disk_hits"] == 0
    assert list(tmp_path.iterdir()) == []


def test_processes_share_a_cold_cache(device: Device, tmp_path: Path) -> None:
    """Three at once: whole files only, and the same values."""
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: started(device, tmp_path / "cache", tmp_path), range(3)))
    assert len({values for values, _ in found}) == 1
    assert not [path.name for path in (tmp_path / "cache").rglob("*.tmp")]
    assert started(device, tmp_path / "cache", tmp_path)[1]["program"]["built"] == 0


MANY = "[ocl.sin(x * n).compute() for n in range(20)]"
ENDINGS = {
    "commands pending": f"y = {MANY}",
    "commands pending, arrays gone": "ocl.sum(ocl.exp(ocl.sin(x))).compute()\ndel x",
    "nothing computed": "y = x + 1",
    "an exception": "ocl.sin(x).compute()\nraise SystemExit(3)",
    "in a thread": f"import threading\nthreading.Thread(target=lambda: {MANY}).start()",
    "in a daemon thread": f"import threading\nthreading.Thread(target=lambda: {MANY}, daemon=True).start()",
    "reading in a daemon thread": "import threading\n"
    "threading.Thread(target=lambda: [ocl.sin(x * n).numpy() for n in range(20)], daemon=True).start()",
    "two runtimes": f"r = ocl.Runtime()\nwith ocl.use(r):\n    z = ocl.sin(ocl.ones(2**20)).compute()\ny = {MANY}",
    "a cycle with an array": "class C: pass\nc = C()\nc.c, c.x = c, ocl.sin(x).compute()\ndel c",
    "a runtime that goes": "r = ocl.Runtime()\nwith ocl.use(r):\n    ocl.sin(ocl.ones(2**20)).compute()\ndel r",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("ending", ENDINGS)
def test_processes_end_cleanly(device: Device, cache_folder: Path, tmp_path: Path, ending: str) -> None:
    code = f"import numpy as np\nimport ocl_runtime as ocl\nx = ocl.asarray(np.ones(2**20, 'f4'))\n{ENDINGS[ending]}\n"
    done = python("-c", code, cwd=tmp_path, env=environment(device, cache_folder))
    assert done.stderr == ""
    assert done.returncode == (3 if ending == "an exception" else 0)


def test_a_running_program_dumps_its_kernels(device: Device, tmp_path: Path) -> None:
    env = environment(device, tmp_path / "cache", DUMP=str(tmp_path / "dump" / "here"))
    for start in range(2):
        done = python("-c", PROGRAM, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        folders = sorted(path.name for path in (tmp_path / "dump" / "here").iterdir())
        assert len(folders) % (start + 1) == 0  # the second start goes on after the first one's numbers
        assert [name[:3] for name in folders] == [f"{number:03}" for number in range(1, len(folders) + 1)]
    folder = next((tmp_path / "dump" / "here").glob("*_gt_*"))
    files = sorted(path.name for path in folder.iterdir())
    assert files[0] == "00_graph.txt"
    assert files[-1].endswith("_binary.txt")
    assert "__kernel" in next(folder.glob("*_source.cl")).read_text()
    assert re.search(r"y: f32\[\] = sum\(", (folder / "00_graph.txt").read_text())


def test_arrays_are_pickled_by_value(make: Callable[..., Runtime]) -> None:
    one, other = make(), make()
    with ocl.use(one):
        x = ocl.asarray(np.arange(6, dtype="f4").reshape(2, 3)).T * 2
        written = pickle.dumps([x, x[1], ocl.zeros((0, 2))])
    with ocl.use(other):
        again, row, empty = pickle.loads(written)
        assert again._executor is other.executor
        assert_same(again.numpy(), x.numpy())
        assert_same(row.numpy(), x.numpy()[1])
        assert empty.shape == (0, 2)


@pytest.mark.usefixtures("own_default")
def test_an_executor_stands_for_its_runtime(make: Callable[..., Runtime]) -> None:
    one = make()
    with ocl.use(one.executor) as shown:
        assert shown is ocl.current() is one
        x = ocl.ones(3)
    ocl.set_default(one.executor)
    assert ocl.current() is one
    ocl.set_default(make)
    executor = x._executor
    del one, shown
    with ocl.use(executor) as again:  # who has only arrays gets another one
        assert isinstance(again, Runtime)
        assert again.executor is executor
        assert again.statistics()["plan"]["plans"] == 0
        assert ocl.current() is again


def test_a_device_may_have_fewer_streams_unless_settings_say_more(device: Device) -> None:
    few = replace(device, quirks=replace(device.quirks, streams=1))
    assert Runtime(few, Settings(cache_folder=None)).executor.engine.streams.count == 1
    assert Runtime(few, Settings(cache_folder=None, streams=3)).executor.engine.streams.count == 3
