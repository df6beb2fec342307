from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from ocl_runtime.codegen import binaries, driver
from ocl_runtime.codegen.declarations import declared
from ocl_runtime.device import Device, choose
from ocl_runtime.errors import BuildError
from tests.support.fakes import device as fake

GOOD = "__kernel void first(__global int *a) { a[0] = 1; }\n__kernel void second(__global int *a) { a[0] = 2; }\n"
BAD = """// a comment
__kernel void broken(__global int *a)
{
    a[0] = 1;
    a[1] = nowhere;
    a[2] = 3;
    a[3] = 4;
    a[4] = 5;
    a[5] = 6;
}
"""


@pytest.fixture(scope="module")
def device() -> Device:
    return choose()


@pytest.fixture(scope="module")
def context(device: Device) -> cl.Context:
    return cl.Context([device.cl])


def test_source_to_program_to_kernels(context: cl.Context, device: Device) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = driver.build(context, device, GOOD)
        assert program.built_from == "source"
        assert program.kernel("first").function_name == "first"
        # A kernel is never shared, nor warned about when asked for twice.
        assert program.kernel("first") is not program.kernel("first")
        assert program.kernel("second").num_args == 1


def test_binary_to_program(context: cl.Context, device: Device) -> None:
    binary = driver.build(context, device, GOOD).binary
    assert binary
    program = driver.load(context, device, GOOD, binary)
    assert program.built_from == "binary"
    assert program.kernel("second").num_args == 1


def test_other_threads_run_while_a_binary_is_asked_for(
    context: cl.Context, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyOpenCL's own question stops them all, for as long as the driver compiles."""
    program = driver.build(context, device, GOOD)
    expected = program.binary
    assert expected is not None
    asked: list[Any] = []
    get_info = cl.Program.get_info
    monkeypatch.setattr(cl.Program, "get_info", lambda self, what: asked.append(what) or get_info(self, what))
    binary = program.binary
    assert binary is not None
    assert len(binary) == len(expected)
    assert not asked
    monkeypatch.setattr(driver, "can_ask", lambda library: False)  # as on Windows
    other = program.binary
    assert asked
    for one in (binary, other):
        assert one is not None
        assert driver.load(context, device, GOOD, one).kernel("first").num_args == 1


def test_a_driver_that_refuses_its_binary(context: cl.Context, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    program = driver.build(context, device, GOOD)
    monkeypatch.setattr(binaries, "_function", lambda library: lambda *given: -5)
    assert program.binary is None


def test_a_library_without_opencl() -> None:
    assert not binaries.can_ask(__file__)
    assert not binaries.can_ask(str(Path(__file__).with_name("nothing.so")))


@pytest.mark.parametrize("junk", [b"", b"junk" * 100])
def test_a_binary_of_nobodys_is_refused(context: cl.Context, device: Device, junk: bytes) -> None:
    with pytest.raises(driver.RefusedBinaryError):
        driver.load(context, device, GOOD, junk)


def test_a_binary_that_is_not_whole_is_neither_kept_nor_loaded(context: cl.Context, device: Device) -> None:
    """Loading one may end the process."""
    whole = driver.build(context, device, GOOD)
    assert whole.binary
    demanding = replace(device, quirks=replace(device.quirks, binary_mark=b"no binary has this"))
    assert driver.build(context, demanding, GOOD).binary is None
    with pytest.raises(driver.RefusedBinaryError, match="not whole"):
        driver.load(context, demanding, GOOD, whole.binary)


def test_a_failure_shows_the_lines_around_it(context: cl.Context, device: Device) -> None:
    with pytest.raises(BuildError) as caught:
        driver.build(context, device, BAD, explain=lambda line: f"statement of line {line}, user.py:7")
    error = caught.value
    assert error.source == BAD
    assert "nowhere" in error.log
    assert ">    5 |     a[1] = nowhere;" in error.place
    assert "     2 | __kernel void broken" in error.place
    assert "     8 |     a[4] = 5;" in error.place
    assert "a comment" not in error.place
    assert "a[5]" not in error.place
    assert "statement of line 5, user.py:7" in error.place
    assert "-cl-std=CL1.2" in error.place
    assert error.remedy


def test_an_option_the_compiler_does_not_know_is_a_build_error(context: cl.Context, device: Device) -> None:
    with pytest.raises(BuildError) as caught:
        driver.build(context, device, GOOD, ["-cl-no-such-option"])
    assert "-cl-no-such-option" in caught.value.place


def test_a_kernel_that_is_not_there(context: cl.Context, device: Device) -> None:
    with pytest.raises(BuildError, match="no kernel 'third'"):
        driver.build(context, device, GOOD).kernel("third")


def test_what_a_compiler_says_of_a_good_program_is_no_warning(context: cl.Context, device: Device) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = driver.build(context, device, "#warning careful\n" + GOOD)
    assert isinstance(program.log, str)


@pytest.mark.parametrize(
    "log",
    [
        "<kernel>:5:12: error: use of undeclared identifier 'nowhere'\n    a[1] = nowhere;\n           ^\n",
        "input.cl:5:12: error: use of undeclared identifier 'nowhere'\n    a[1] = nowhere;\n",
        "Compilation started\n1:5:12: error: use of undeclared identifier 'nowhere'\nCompilation failed",
        "error: /home/x/pocl/tempfile_T7.cl:5:12: use of undeclared identifier 'nowhere'\nDevice failed to build",
        "error: /x/tempfile_T7.cl:5:12 <Spelling=/x/tempfile_T7.cl:5:30>: use of undeclared identifier 'nowhere'",
        "/tmp/comgr-1/input/CompileSource:5:12: error: use of undeclared identifier 'nowhere'\n1 error generated.",
        "<program source>:5:12: fatal error: use of undeclared identifier 'nowhere'",
        "C:\\Temp\\kernel.cl:5:12: error: use of undeclared identifier 'nowhere'",
    ],
)
def test_the_compilers_ways_to_name_a_line(log: str) -> None:
    assert driver._faults(log, "\n" * 10) == [(5, "use of undeclared identifier 'nowhere'")]


def test_lines_of_other_files_and_warnings_are_no_places() -> None:
    assert (
        driver._faults("header.h:900:1: error: bad\n<kernel>:3:1: warning: odd\nerror: unknown argument", "\n" * 10)
        == []
    )


def test_a_function_that_only_the_linker_misses_is_found_by_its_calls() -> None:
    source = "int f(int x)\n{\n    return missing(x) + missings;\n}\n"
    log = "ptxas fatal   : Unresolved extern function 'missing'"
    assert driver._faults(log, source) == [(3, "Unresolved extern function 'missing'")]


def test_only_the_first_faults_are_shown(context: cl.Context, device: Device) -> None:
    source = "__kernel void k()\n{\n" + "".join(f"    missing_{i};\n" for i in range(6)) + "}\n"
    with pytest.raises(BuildError) as caught:
        driver.build(context, device, source)
    assert "and 3 more" in caught.value.place


def test_options() -> None:
    device = fake()
    exact = "-cl-fp32-correctly-rounded-divide-sqrt"
    assert driver.full_options(device) == ("-cl-std=CL1.2", exact)
    assert driver.full_options(device, ["-cl-std=CL3.0", "-DN=4"]) == (exact, "-cl-std=CL3.0", "-DN=4")


def test_where_an_interrupt_would_end_the_process_kernels_are_made_in_another_thread(
    device: Device, context: cl.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyOpenCL before 2026 asks Python for the arguments of a kernel in a constructor that may not throw."""
    threads = []

    def making(program: cl.Program, name: str) -> cl.Kernel:
        threads.append(threading.get_ident())
        return made(program, name)

    made = cl.Kernel
    monkeypatch.setattr(driver, "_ENDED_BY_INTERRUPTS", True)
    monkeypatch.setattr(driver.cl, "Kernel", making)
    program = driver.build(context, device, "__kernel void k(__global int *a) { a[0] = 1; }")
    assert program.kernel("k").num_args == 1
    with pytest.raises(BuildError, match="no kernel 'other'"):
        program.kernel("other")
    assert threads
    assert threading.get_ident() not in threads


def test_declarations_of_our_own_are_tried_first_and_seen_by_nobody(
    context: cl.Context, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that needs what they lack is built with the compiler's, and so is one with a fault, for its message."""
    tried: list[str] = []
    monkeypatch.setattr(driver, "declared", lambda source: tried.append(source) or declared(source))
    guarded = replace(device, quirks=replace(device.quirks, header_guard="NO_HEADER"))
    known = "__kernel void k(__global float *a) {\n#ifndef NO_HEADER\n#error\n#endif\n    a[0] = 1;\n}"
    driver.build(context, guarded, known)
    assert tried == [known]
    lacking = "#ifdef NO_HEADER\n#error\n#endif\n" + GOOD
    driver.build(context, guarded, lacking)
    assert tried == [known, lacking]
    with pytest.raises(BuildError) as caught:
        driver.build(context, guarded, BAD)
    assert caught.value.source == BAD
    assert ">    5 |     a[1] = nowhere;" in caught.value.place
    assert "NO_HEADER" not in caught.value.place
    driver.build(context, replace(device, quirks=replace(device.quirks, header_guard="")), GOOD)
    assert tried == [known, lacking, BAD]
