"""Processes that end while commands and transfers run, that start others, and that are forked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ocl_runtime.device import Device
from tests.support.arrays import python

START = """
import gc, os, sys, threading
from dataclasses import replace
import numpy as np
import ocl_runtime as ocl
from ocl_runtime.device import choose
from ocl_runtime.errors import DeviceError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings

device = choose()
# As if it had memory of its own: large transfers are jobs of threads then.
device = replace(device, capabilities=replace(device.capabilities, unified_memory=False))
host = np.arange(2**22, dtype="f4")


def busy(runtime):
    held = [runtime.executor.upload(host, snapshot=False) for _ in range(4)]
    with ocl.use(runtime):
        x = ocl.upload(host)
        y = [ocl.sin(x * n).compute() for n in range(10)]
        coming = [ocl.download(one) for one in y]
    return held, y, coming, [runtime.executor.engine.download(one, host.dtype, host.size) for one in held]


runtime = Runtime(device)
"""
ENDINGS = {
    "everything held": "held = busy(runtime)",
    "everything dropped": "busy(runtime)",
    "the runtime gone": "busy(runtime)\ndel runtime\ngc.collect()",
    "an exception": "held = busy(runtime)\nraise SystemExit(3)",
    "a thread still at it": "threading.Thread(target=busy, args=(runtime,)).start()",
    "an engine without a runtime": "engine = Engine(device, Settings.from_environment())\n"
    "held = [engine.upload(host, snapshot=False) for _ in range(4)]\n"
    "coming = [engine.download(one, host.dtype, host.size) for one in held]",
    "a cycle": "class C: pass\nc = C()\nc.c, c.held = c, busy(runtime)\ndel c",
    "pinned arrays": "a = runtime.executor.engine.pinned((2**22,), host.dtype)\na[:] = host\n"
    "x = runtime.executor.upload(a, snapshot=False)\ny = runtime.executor.engine.download(x, a.dtype, a.size, out=a)",
}


@pytest.fixture
def environment(device: Device, cache_folder: Path) -> dict[str, str | None]:
    return {"OCL_RUNTIME_DEVICE": device.key, "OCL_RUNTIME_CACHE": str(cache_folder)}


@pytest.mark.sample(2)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_ends_cleanly_while_things_run(
    environment: dict[str, str | None], tmp_path: Path, ending: str
) -> None:
    done = python("-c", START + ENDINGS[ending], cwd=tmp_path, env=environment, timeout=60)
    assert done.stderr == ""
    assert done.stdout == ""
    assert done.returncode == (3 if ending == "an exception" else 0)


def test_what_was_begun_is_finished_before_the_end(environment: dict[str, str | None], tmp_path: Path) -> None:
    """A download into a file's memory, of which nobody asked for the result."""
    code = f"""{START}
np.lib.format.open_memmap("out.npy", "w+", host.dtype, host.shape).flush()
out = np.load("out.npy", mmap_mode="r+")
x = runtime.executor.upload(host, snapshot=False)
runtime.executor.engine.download(x, host.dtype, host.size, out=out)
"""
    done = python("-c", code, cwd=tmp_path, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    check = "import numpy as np\nassert (np.load('out.npy') == np.arange(2**22, dtype='f4')).all()"
    done = python("-c", check, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_processes_that_are_spawned_work(environment: dict[str, str | None], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import multiprocessing
import numpy as np
import ocl_runtime as ocl

def work(n):
    return float(ocl.sum(ocl.asarray(np.arange(n, dtype="f4")) * 2))

if __name__ == "__main__":
    x = ocl.upload(np.arange(1000, dtype="f4"))
    y = (x * 2).compute()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, [10, 100]), float(ocl.sum(y)))
""")
    done = python(str(program), cwd=tmp_path, env=environment, timeout=120)
    assert done.stderr == ""
    assert done.stdout == "[90.0, 9900.0] 999000.0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_so_and_ends(environment: dict[str, str | None], tmp_path: Path) -> None:
    """With transfers under way, whose threads the child does not have; the parent goes on."""
    code = f"""{START}
held, arrays, coming, raw = busy(runtime)
child = os.fork()
if not child:
    engine = runtime.executor.engine
    for do in (
        lambda: engine.allocate(1), lambda: engine.upload(host), lambda: engine.pinned((1,), host.dtype),
        lambda: engine.download(held[0], host.dtype, 1), lambda: (arrays[0] + 1).compute(),
    ):
        try:
            do()
        except DeviceError as error:
            assert "before a fork" in error.fact and "spawn" in error.remedy
        else:
            os._exit(4)
    runtime.finish()
    os._exit(0)  # as multiprocessing does: PyOpenCL would wait for the events that it lets go of
status = os.waitpid(child, 0)[1]
assert os.waitstatus_to_exitcode(status) == 0, status
assert all((one.result() == np.sin(host * np.float32(n))).mean() > 0.5 for n, one in enumerate(coming))
assert all((one.result() == host).all() for one in raw)
"""
    done = python("-W", "ignore", "-c", code, cwd=tmp_path, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
