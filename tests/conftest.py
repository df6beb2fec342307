"""Fixtures that tests of all kinds share.

The device is what `ocl_runtime` chooses; the environment variable OCL_RUNTIME_DEVICE names another one. Nothing is
kept in the user's cache: tests of the cache, and those that start other processes, have folders of this test session.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

# Every process would start threads for NumPy's products of matrices, which wait by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from ocl_runtime.codegen import cache, driver
from ocl_runtime.device import Device, choose
from ocl_runtime.execute.engine import Engine
from ocl_runtime.settings import Settings
from tests.support.depth import NIGHTLY

# Building a program takes longer on its first run than Hypothesis allows an example; how many programs there are is for
# `make nightly` to raise.
settings.register_profile(
    "test", deadline=None, max_examples=16, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("nightly", deadline=None, max_examples=500, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


def pytest_configure(config: pytest.Config) -> None:
    """Where Python is told to keep no bytecode, every process that a test starts would compile all modules again, which
    is a third of what it does: they share a folder of this test session, and the checkout stays as it is."""
    gc.disable()  # until all tests are collected: whatever that makes stays
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="ocl-runtime-bytecode-")
        config.add_cleanup(folder.cleanup)
        os.environ["PYTHONPYCACHEPREFIX"] = folder.name


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")
    parser.addoption("--smoke", action="store_true", help="test other libraries with arrays of the device")
    parser.addoption("--offline", action="store_true", help="compile the golden sources with clang for other targets")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def device() -> Device:
    return choose()


@pytest.fixture(scope="session")
def engine(device: Device) -> Engine:
    """An engine that keeps no binaries: PoCL compiles each kernel once more to give one, for any group size."""
    return Engine(device, Settings(cache_folder=None))


@pytest.fixture(scope="session", autouse=True)
def known_programs() -> Iterator[None]:
    """Many tests have a runtime of their own, without a cache on disk: what one has built the others load, which takes
    a thirtieth. Not with PoCL, which compiles a program again to give its binary, and remembers by itself what it
    built. `compiled` is for tests of the compiler and of the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "build", _built_once())
        yield


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded that another test has built."""
    monkeypatch.setattr(cache, "build", driver.build)


def _built_once() -> Callable[..., driver.Program]:
    known: dict[tuple[object, ...], tuple[bytes, str]] = {}

    def build(
        context: driver.Context,
        device: Device,
        source: str,
        options: Sequence[str] = (),
        explain: driver.Explain | None = None,
    ) -> driver.Program:
        if device.capabilities.platform == "Portable Computing Language":
            return driver.build(context, device, source, options, explain)
        key = (str(device), source, driver.full_options(device, options))
        if key in known:
            binary, log = known[key]
            return replace(driver.load(context, device, source, binary, options), built_from="source", log=log)
        program = driver.build(context, device, source, options, explain)
        if (binary := program.binary) is not None:
            known[key] = binary, program.log
        return program

    return build


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For other processes, each of which would probe the device and build its programs again; the workers of
    pytest-xdist share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@pytest.fixture
def repository() -> Path:
    return Path(__file__).resolve().parent.parent


def pytest_collection_finish() -> None:
    """All modules and thousands of tests are there to stay: no `gc.collect` of a test need look at them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a module leaves behind, as plans and kernels of the session's runtime, stays, too: it grew to millions of
    objects, at which each `gc.collect` looked for a third of a second."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test that is marked `sample(n)`, one case of n is run where it was not asked for by its name: the driver's
    compiler takes most of the time of those. Which ones follows from their names, so it is the same ones everywhere."""
    if NIGHTLY or any("::" in argument for argument in config.args):
        return
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        marker = item.get_closest_marker("sample")
        if marker is not None:
            cases.setdefault((item.nodeid.partition("[")[0], *marker.args), []).append(item)
    left_out: set[pytest.Item] = set()
    for (_, n), of_test in cases.items():
        of_test.sort(key=lambda item: crc32(item.nodeid.encode()))
        left_out.update(of_test[-(-len(of_test) // n) :])
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # Other compilers than the device's own, and other libraries, are no part of `make test`; see `make offline` and
    # `make smoke`.
    options = {"test_offline.py": "--offline", "smoke": "--smoke"}
    option = options.get(collection_path.name)
    return True if option is not None and not config.getoption(option) else None
