"""Golden sources through compilers for devices that are not here: an AMD GPU, and SPIR-V for everybody else.

Runs with `make offline`, which needs clang and llvm-spirv; without `--offline` the module is not collected.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ALL = sorted(path for name in ("sources", "planned") for path in (Path(__file__).parent / name).glob("*.cl"))
OF_A_DRIVER = ("opencl", "ptx")
"""Ends of the names of sources that only some drivers take, because of Intel's attribute or NVIDIA's instructions."""
SOURCES = [path for path in ALL if not path.stem.endswith(tuple(f".{end}" for end in OF_A_DRIVER))]
PTX = [path for path in ALL if path.stem.endswith(".ptx")]
INSTRUCTIONS = {
    "box": "cp.async.bulk.tensor.2d",
    "description": "st.global.u32",
    "exchange": "shfl.sync.idx.b32",
    "float_atomics": "red.global.add.f32",
    "matrix_product": "mma.sync.aligned",
    "product_in_tf32": "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32",
    "quotients": "rcp.approx.ftz.f32",
    "warpgroup_product": "//@wgmma.fence",
}
"""What each of NVIDIA's sources says in PTX: a new one fails until it has a row."""
CLANG = ["clang", "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-Wall", "-Werror"]


def compiled(command: list[str], source: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{source.name}\n{done.stderr}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_compiles_for_an_amd_gpu(source: Path, tmp_path: Path) -> None:
    target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx906", "-nogpulib", "-S", "-o", str(tmp_path / "kernel.s")]
    # Without AMD's library, fma of vectors is a call that may synchronise, and clang unrolls no loop around such calls.
    target += ["-Wno-pass-failed"]
    compiled([*CLANG, *target, str(source)], source)
    assert ".amdhsa_kernel" in (tmp_path / "kernel.s").read_text()


@pytest.mark.parametrize("source", PTX, ids=lambda path: path.stem)
def test_compiles_for_an_nvidia_gpu(source: Path, tmp_path: Path) -> None:
    # Of the standard's C, asm is no word; NVIDIA's compiler takes it.
    target = [
        "-target",
        "nvptx64-nvidia-nvcl",
        "-Xclang",
        "-target-cpu",
        "-Xclang",
        "sm_70",
        "-Xclang",
        "-target-feature",
        "-Xclang",
        "+ptx63",
        "-Wno-unused-variable",  # a description says where the matrix lies of which boxes are copied
    ]
    compiled([*CLANG, "-Dasm=__asm__", *target, "-S", "-o", str(tmp_path / "kernel.ptx"), str(source)], source)
    assert INSTRUCTIONS[source.stem.removesuffix(".ptx")] in (tmp_path / "kernel.ptx").read_text()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_compiles_to_spirv(source: Path, tmp_path: Path) -> None:
    bitcode = tmp_path / "kernel.bc"
    # Unoptimised, because the translator of LLVM 14 knows no freeze instruction and no odd integer widths.
    target = ["-target", "spir64", "-O0", "-emit-llvm", "-c", "-o", str(bitcode)]
    compiled([*CLANG, *target, str(source)], source)
    translator = shutil.which("llvm-spirv") or "llvm-spirv-14"
    compiled([translator, "-o", str(tmp_path / "kernel.spv"), str(bitcode)], source)
    assert (tmp_path / "kernel.spv").read_bytes()[:4] == b"\x03\x02\x23\x07"  # SPIR-V's magic number
