"""Plans on disk: who starts again plans nothing, and is told nothing wrong."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.host.unbound import Unbound
from ocl_runtime.codegen.disk import Counters, ProgramFiles
from ocl_runtime.device import Device
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.observe.dump import FolderDump
from ocl_runtime.plan.cache import stored
from ocl_runtime.plan.cache.pickled import loaded
from ocl_runtime.plan.cache.stored import StoredPlans
from ocl_runtime.plan.host import prepare
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from tests.support.arrays import counting, python
from tests.support.checkout import ROOT

HOST = (np.arange(1000, dtype="f4") % 17) - 8
SQUARE = HOST[:900].reshape(30, 30)


def elementwise() -> Any:
    x = ocl.asarray(HOST)
    return ocl.where(x > 1, ocl.sin(x) * 2.5, x**2)


def sums() -> Any:
    x = ocl.asarray(SQUARE)
    shifted = x - ocl.max(x, axis=1, keepdims=True)
    return shifted / ocl.sum(shifted * shifted, axis=1, keepdims=True) + ocl.sum(x)


def products() -> Any:
    x = ocl.asarray(SQUARE)
    return (x @ x.T) @ x + 1.0


def scans() -> Any:
    x = ocl.asarray(HOST)
    return ocl.cumulative_sum(x)[::-1] + x[ocl.asarray(np.arange(1000) * 7 % 1000)]


def writes() -> Any:
    u = ocl.asarray(SQUARE) + 0
    for turn in range(5):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] - 2 * u[1:-1, 1:-1]) + float(turn)
        u[0] = u[turn] * 0.5
    u[ocl.asarray(SQUARE) > 7] = 3.0
    return u


def loop() -> Any:
    x = ocl.asarray(HOST)
    for _ in range(400):
        x = 0.5 * (x + ocl.roll(x, 1)) - 0.25
    return x


def small_types() -> Any:
    x = ocl.asarray(np.arange(500, dtype="u1"))
    return ocl.concat([x * 3, x >> 1]).astype(ocl.float32) * 0.5


WORKS = [elementwise, sums, products, scans, writes, loop, small_types]


def runtime(device: Device, folder: Path | None, **settings: Any) -> Runtime:
    """One that stands for a process of its own."""
    return Runtime(device, Settings(cache_folder=folder, **settings))


def counted_run(runtime: Runtime, work: Callable[[], Any]) -> tuple[np.ndarray, Any]:
    with ocl.use(runtime), counting(runtime) as counted:
        values = work().numpy()
    return values, counted


@pytest.mark.sample(2)
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_who_starts_again_plans_and_builds_nothing(device: Device, tmp_path: Path, work: Callable[[], Any]) -> None:
    values, first = counted_run(runtime(device, tmp_path), work)
    again, second = counted_run(runtime(device, tmp_path), work)
    np.testing.assert_array_equal(again, values)
    assert first["plan", "misses"] > 0
    assert first["plan", "loaded"] == 0
    assert second["plan", "loaded"] == first["plan", "misses"]
    assert second["plan", "misses"] == second["kernel", "misses"] == second["program", "built"] == 0
    assert second["launch", "launches"] == first["launch", "launches"]
    assert second["memory", "allocations"] == first["memory", "allocations"]


def spread() -> Any:
    sums = []
    for number in range(3):
        x = ocl.asarray(np.random.default_rng(number).random((300, 4000), dtype="f4"))
        for _ in range(12):
            x = ocl.sin(ocl.exp(x)) * 0.5
        sums.append(ocl.sum(x, axis=1))
    return ocl.stack(sums)


@pytest.mark.parametrize("work", [elementwise, sums, products, scans, spread], ids=lambda work: work.__name__)
def test_who_starts_again_finds_its_sizes_and_their_streams(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]
) -> None:
    """No guard is asked of the sizes that a plan was made for; their streams, and what each step gets, are on disk."""
    arranged: list[Any] = []
    arrange = prepare.run
    monkeypatch.setattr(prepare, "run", lambda *given, **how: arranged.append(given) or arrange(*given, **how))
    values, _ = counted_run(runtime(device, tmp_path, streams=4), work)
    assert bool(arranged) == (work is spread)
    monkeypatch.setattr(prepare, "run", lambda *_, **__: pytest.fail("nothing is arranged"))
    monkeypatch.setattr(prepare, "is_worth_streams", lambda *_: pytest.fail("nothing is estimated"))
    monkeypatch.setattr("ocl_ir.guards.Guards.hold", lambda *_: pytest.fail("no guard is asked"))
    monkeypatch.setattr(Bound, "_touched", lambda *_: pytest.fail("nothing is bound"))
    monkeypatch.setattr(Unbound, "at", lambda *_: pytest.fail("no formula is filled in"))
    again, counted = counted_run(runtime(device, tmp_path, streams=4), work)
    np.testing.assert_array_equal(again, values)
    assert counted["plan", "loaded"] > 0


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_who_starts_again_reads_no_statement(device: Device, tmp_path: Path, work: Callable[[], Any]) -> None:
    first, second = runtime(device, tmp_path), runtime(device, tmp_path)
    counted_run(first, work)
    counted_run(second, work)
    made, found = (
        {kernel.name: kernel for kept in one.executor.plans._kept.values() for kernel in _kernels(kept)}
        for one in (first, second)
    )
    sources = {name: second.executor.compiled(kernel) for name, kernel in found.items()}
    for late in (*found.values(), *sources.values()):
        assert not any(is_there(late, field) for field in late.LATE)
    assert sources.keys() == made.keys()
    for name, source in sources.items():
        original = first.executor.compiled(made[name])
        assert original is not None
        assert source is not None
        assert source.locals.kernel.body == original.locals.kernel.body
        for line in range(0, len(source.text.splitlines()), 9):
            assert source.explain(line) == original.explain(line).split(", asked for")[0]
        assert found[name].params == made[name].params
        assert found[name] == made[name]


def test_who_wants_to_know_more_binds_what_is_on_disk_again(device: Device, tmp_path: Path) -> None:
    """Poisoned scratch memory, or measured times, need more of each step than what was written."""
    values, _ = counted_run(runtime(device, tmp_path), sums)
    for settings in ({"poison": True}, {"profile": True}):
        again, counted = counted_run(runtime(device, tmp_path, **settings), sums)
        np.testing.assert_array_equal(again, values)
        assert counted["plan", "loaded"] > 0
    values, _ = counted_run(runtime(device, tmp_path / "other", poison=True), sums)
    again, counted = counted_run(runtime(device, tmp_path / "other"), sums)
    np.testing.assert_array_equal(again, values)
    assert counted["plan", "loaded"] > 0


def is_there(late: Any, field: str) -> bool:
    try:
        object.__getattribute__(late, field)
    except AttributeError:
        return False
    return True


PROCESS = """
import numpy as np, ocl_runtime as ocl
x = ocl.asarray(np.arange(999, dtype="f4").reshape(27, 37))
for turn in range(3):
    x = (x[::-1] - ocl.mean(x, axis=0)) * 0.5
    x[2:5] = x[1:4] + float(turn)
    x.compute()
print(float(ocl.sum(x)))
of = ocl.current().statistics()
print(of["plan"]["misses"], of["plan"]["loaded"], of["kernel"]["misses"], of["program"]["built"])
"""


def test_another_process_with_another_hash_of_text(tmp_path: Path) -> None:
    results = []
    for seed in ("1", "2", "3"):
        env: dict[str, str | None] = {"OCL_RUNTIME_CACHE": str(tmp_path), "PYTHONHASHSEED": seed}
        done = python("-c", PROCESS, cwd=ROOT, env=env)
        assert done.returncode == 0, done.stderr
        results.append(done.stdout.split())
    (value, *made), *later = results
    assert int(made[0]) > 0
    assert made[1] == "0"
    for again in later:
        assert again == [value, "0", made[0], "0", "0"]


def test_sizes_that_a_plan_does_not_serve_have_another(device: Device, tmp_path: Path) -> None:
    def run(of: Runtime, size: int) -> Any:
        host = np.arange(size, dtype="f4")
        values, counted = counted_run(of, lambda: ocl.asarray(host) * 2.0 + 1.0)
        np.testing.assert_array_equal(values, host * 2 + 1)
        return counted["plan", "misses"], counted["plan", "loaded"]

    one = runtime(device, tmp_path)
    assert [run(one, size) for size in (4096, 8192, 1)] == [(1, 0), (0, 0), (1, 0)]
    two = runtime(device, tmp_path)
    assert [run(two, size) for size in (8192, 1, 4096)] == [(0, 1), (0, 1), (0, 0)]


def files(folder: Path) -> list[Path]:
    """Those of plans and of programs."""
    return sorted((folder / "programs").iterdir())


@pytest.mark.parametrize("damage", ["turned", "cut", "empty", "other"])
def test_a_damaged_file_is_planned_again(device: Device, tmp_path: Path, damage: str) -> None:
    values, _ = counted_run(runtime(device, tmp_path), sums)
    for file in files(tmp_path):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        other = files(tmp_path)[0].read_bytes()[:-3]
        file.write_bytes({"turned": bytes(content), "cut": bytes(content[:-7]), "empty": b"", "other": other}[damage])
    second = runtime(device, tmp_path)
    again, counted = counted_run(second, sums)
    np.testing.assert_array_equal(again, values)
    assert counted["plan", "loaded"] == 0
    assert counted["plan", "misses"] > 0
    assert second.statistics()["plan"]["damaged"] > 0
    _, counted = counted_run(runtime(device, tmp_path), sums)  # which has been written anew
    assert counted["plan", "misses"] == 0


class Planted:
    """What would run as it is read, if it were read."""

    def __reduce__(self) -> Any:
        return sys.setrecursionlimit, (12345,)


def test_what_is_no_part_of_a_plan_is_not_read(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.getrecursionlimit()
    dumps = pickle.dumps
    with monkeypatch.context() as patch:
        patch.setattr(
            pickle, "dumps", lambda stored: dumps(([(*one[:2], dumps(Planted()), one[3]) for one in stored[0]], {}))
        )
        values, _ = counted_run(runtime(device, tmp_path), elementwise)
    second = runtime(device, tmp_path)
    again, counted = counted_run(second, elementwise)
    np.testing.assert_array_equal(again, values)
    assert counted["plan", "misses"] == 1
    assert second.statistics()["plan"]["damaged"] > 0
    assert sys.getrecursionlimit() == before


def test_plans_are_for_the_device_and_the_library_that_made_them(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted_run(runtime(device, tmp_path), sums)
    _, counted = counted_run(runtime(device, tmp_path, streams=3), sums)
    assert counted["plan", "loaded"] == 0
    monkeypatch.setattr(stored, "_LIBRARY", "another version")
    _, counted = counted_run(runtime(device, tmp_path), sums)
    assert counted["plan", "loaded"] == 0


def test_none_where_nothing_is_kept_or_somebody_looks_on(device: Device, tmp_path: Path) -> None:
    assert runtime(device, None).executor.stored_plans is None
    watched = Runtime(device, Settings(cache_folder=tmp_path), FolderDump(tmp_path / "dump"))
    assert watched.executor.stored_plans is None
    counted_run(watched, elementwise)
    (_,) = files(tmp_path)  # the program


def test_a_folder_that_takes_nothing(device: Device, tmp_path: Path) -> None:
    """Within too few bytes nothing is kept, and nothing goes wrong."""
    for _ in range(2):
        values, counted = counted_run(runtime(device, tmp_path, cache_bytes=100), elementwise)
        assert counted["plan", "misses"] == 1
    assert values.shape == (1000,)


def test_several_threads_read_one_plan(device: Device, tmp_path: Path) -> None:
    values, _ = counted_run(runtime(device, tmp_path), products)
    second = runtime(device, tmp_path)

    def work(_: int) -> np.ndarray:
        with ocl.use(second):
            return products().numpy()

    with counting(second) as counted, ThreadPoolExecutor(4) as pool:
        for again in pool.map(work, range(8)):
            np.testing.assert_array_equal(again, values)
    assert counted["plan", "misses"] == 0
    assert counted["plan", "loaded"] <= 2  # donations may differ; not one a thread
    assert counted["program", "built"] == 0


def test_kernels_that_are_here_are_not_read_again(device: Device, tmp_path: Path) -> None:
    """A plan from disk and one that is made here share kernels of the same form."""
    counted_run(runtime(device, tmp_path), lambda: ocl.asarray(HOST) * 2.0 + 1.0)
    second = runtime(device, tmp_path)
    counted_run(second, lambda: ocl.asarray(HOST) * 2.0 + 1.0)
    (stored,) = {id(kernel) for kept in second.executor.plans._kept.values() for kernel in _kernels(kept)}
    _, counted = counted_run(second, lambda: (ocl.asarray(HOST) * 3.0 + 4.0)[5:])
    assert counted["plan", "misses"] == 1
    assert counted["kernel", "misses"] == 0
    assert {id(kernel) for kept in second.executor.plans._kept.values() for kernel in _kernels(kept)} == {stored}


def _kernels(kept: Any) -> list[Any]:
    return [kernel for alike in kept.templates.values() for template in alike for kernel in template.kernels]


def test_a_structure_that_nobody_has_stored(tmp_path: Path, device: Device) -> None:
    plans = StoredPlans(ProgramFiles(tmp_path, 10**6, Counters()), "a device")
    assert plans.find("a structure", (), (3,), runtime(device, None)) is None
    assert plans.damaged == 0


def attack(module: str, name: str) -> bytes:
    """A pickle that calls something with one text."""
    return (
        b"\x80\x04\x8c"
        + bytes([len(module)])
        + module.encode()
        + b"\x8c"
        + bytes([len(name)])
        + name.encode()
        + (b"\x93\x8c\x04true\x85R.")
    )


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("ocl_runtime.private_folder", "os.system"),
        ("ocl_runtime.plan.cache.pickled", "pickle.io.open"),
        ("ocl_runtime.plan.cache.pickled", "loaded"),
        ("ocl_runtime.plan.cache.stored", "Path"),
        ("ocl_runtime.private_folder", "PrivateFolder"),
        ("_operator", "attrgetter"),
        ("numpy", "load"),
        ("numpy", "memmap"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
    ],
)
def test_a_pickle_reaches_nothing_but_classes_of_plans(module: str, name: str) -> None:
    assert pickle.loads(attack("builtins", "len")) == 4
    with pytest.raises(pickle.UnpicklingError, match="no part of a plan"):
        loaded(attack(module, name))


def test_files_that_cannot_be_looked_at_are_no_part_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an editor's links that lead nowhere are."""
    monkeypatch.setattr(stored, "templates_folder", lambda: tmp_path)
    before = stored._library()
    (tmp_path / ".#gone.py").symlink_to(tmp_path / "nowhere.py")
    assert stored._library() == before
    (tmp_path / "new.py").write_text("")
    assert stored._library() != before


def test_a_plan_keeps_each_kernel_once_and_no_line_of_a_program(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[list[int]] = []
    write, keep = StoredPlans._written, StoredPlans.keep

    def noted(plans: StoredPlans, kernel: Any, executor: Any) -> Any:
        written[-1].append(id(kernel))
        return write(plans, kernel, executor)

    def kept(plans: StoredPlans, *given: Any) -> None:
        written.append([])
        keep(plans, *given)

    monkeypatch.setattr(StoredPlans, "_written", noted)
    monkeypatch.setattr(StoredPlans, "keep", kept)
    counted_run(runtime(device, tmp_path), lambda: (ocl.arange(50.0) + ocl.full((50,), 2.0)) @ ocl.ones((50, 3)))
    _, counted = counted_run(runtime(device, tmp_path), loop)
    assert counted["plan", "misses"] > 1
    assert len(written) > 2
    assert all(len(set(kernels)) == len(kernels) > 0 for kernels in written)
    for file in files(tmp_path):
        assert Path(__file__).name.encode() not in file.read_bytes()


def test_a_plan_keeps_no_more_than_one_that_was_read(device: Device, tmp_path: Path) -> None:
    """Neither statements of its program nor formulas: Python's collector looks at each object of them again and again.
    Where nothing is stored, somebody may look at them."""

    def keeps(plan: Any) -> tuple[bool, bool, bool]:
        formulas = plan._details.formulas
        program, guards = formulas.schedule.program, vars(plan.guards)
        return bool(program.body or program.params), bool(formulas.table._number), bool(guards.get("conditions"))

    made, read, shown = runtime(device, tmp_path), runtime(device, tmp_path), runtime(device, None)
    for each in (made, read, shown):
        counted_run(each, writes)
    found = [
        [keeps(plan) for kept in each.executor.plans._kept.values() for one in kept.templates.values() for plan in one]
        for each in (made, read, shown)
    ]
    assert found[0]
    assert found[0] == found[1] == [(False, False, False)] * len(found[0])
    assert all(body and rows for body, rows, _ in found[2])
    assert any(guards for _, _, guards in found[2])


def test_a_file_has_no_kernels_but_those_of_its_plans(device: Device, tmp_path: Path) -> None:
    of = runtime(device, tmp_path)
    plans = of.executor.stored_plans
    assert plans is not None
    with ocl.use(of):
        for number in range(20):
            x = ocl.asarray(HOST[: number + 2])
            work = [ocl.sin, ocl.cos, ocl.exp, ocl.tanh][number % 4](x) + float(number)
            work.compute()
    templates = [one for kept in of.executor.plans._kept.values() for alike in kept.templates.values() for one in alike]
    for turn in range(20):
        plans.keep("one structure", (), templates[turn % 4], of.executor)
    (listed, kernels) = plans._read(plans._key("one structure", ()))
    assert len(listed) == 16
    assert set(kernels) == frozenset().union(*[one.kernels for one in listed])
    plans.keep("another", (), templates[0], of.executor)
    for _ in range(16):
        plans.keep("another", (), templates[1], of.executor)
    assert len(plans._read(plans._key("another", ()))[1]) == 1


def test_a_process_that_finds_its_plans_loads_neither_planner_nor_templates(tmp_path: Path) -> None:
    """Nor the language of kernels, nor what it shares nothing with: the first result comes sooner."""
    ask = "import sys\nprint(*(name in sys.modules for name in ('ocl_runtime.plan.planner', 'ocl_ir.language.library', "
    ask += "'mako.lookup', 'pyopencl.array', 'ocl_runtime.observe.dump')))"
    for planned in (True, False):
        done = python("-c", PROCESS + ask, cwd=ROOT, env={"OCL_RUNTIME_CACHE": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[-5:] == [*[str(planned)] * 3, "False", "False"]
