"""Golden sources through compilers for devices that are not here: GPUs of AMD and Intel, and SPIR-V for everybody else.

Runs with `make offline`, which needs clang and llvm-spirv; without `--offline` the module is not collected. What needs
a newer clang, or Intel's ocloc, is skipped where that is not found, and named in the summary.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ALL = sorted(path for name in ("sources", "planned") for path in (Path(__file__).parent / name).glob("*.cl"))
OF_A_DRIVER = ("opencl", "ptx")
"""Ends of the names of sources that only some drivers take, because of Intel's attribute or NVIDIA's instructions."""
SOURCES = [path for path in ALL if not path.stem.endswith(tuple(f".{end}" for end in OF_A_DRIVER))]
MATRICES = sorted((Path(__file__).parent / "matrix_instructions").glob("*.cl"))
PTX = [
    *(path for path in ALL if path.stem.endswith(".ptx")),
    *(path for path in MATRICES if path.stem.removeprefix("product_by_").startswith("mma_")),
]
INSTRUCTIONS = {
    "box": "cp.async.bulk.tensor.2d",
    "windows": "cp.async.bulk.tensor.4d.shared::cluster.global.im2col",
    "description": "st.global.u32",
    "windows_description": "st.global.u32",
    "exchange": "shfl.sync.idx.b32",
    "float_atomics": "red.global.add.f32",
    "matrix_product": "mma.sync.aligned",
    "product_in_tf32": "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32",
    "quotients": "rcp.approx.ftz.f32",
    "specialised": "//@setmaxnreg.inc",
    "attention": "//@setmaxnreg.dec",
    "warpgroup_product": "//@wgmma.fence",
}
"""What each of NVIDIA's sources says in PTX: a new one fails until it has a row."""
AMD = {
    "mfma_f16": ("v_mfma_f32_16x16x16_?f16", {"gfx90a": 14, "gfx942": 17}),
    "mfma_bf16": ("v_mfma_f32_16x16x16_?bf16", {"gfx90a": 14, "gfx942": 17}),
    "mfma_f32": ("v_mfma_f32_16x16x4_?f32", {"gfx90a": 14, "gfx942": 17}),
    "mfma_f64": ("v_mfma_f64_16x16x4_?f64", {"gfx90a": 14, "gfx942": 17}),
    "wmma_f16": ("v_wmma_f32_16x16x16_f16", {"gfx1100": 16}),
    "wmma_bf16": ("v_wmma_f32_16x16x16_bf16", {"gfx1100": 16}),
    "wmma_gfx12_f16": ("v_wmma_f32_16x16x16_f16", {"gfx1201": 19}),
    "wmma_gfx12_bf16": ("v_wmma_f32_16x16x16_bf16", {"gfx1201": 19}),
}
"""By the name of a matrix instruction, what it is in assembly, and on which GPUs, with the least clang for each."""
INTEL = {
    "xmx8_f16": ("dg2", r"dpas\.8x8 \(8\|M0\).*:hf"),
    "xmx8_bf16": ("dg2", r"dpas\.8x8 \(8\|M0\).*:bf"),
    "xmx16_f16": ("pvc", r"dpas\.8x8 \(16\|M0\).*:hf"),
    "xmx16_bf16": ("pvc", r"dpas\.8x8 \(16\|M0\).*:bf"),
}
"""The GPU, as ocloc calls it, and what the instruction is in its assembly."""
PROTOTYPES = "".join(
    f"float8 __attribute__((overloadable)) intel_sub_group_{dtype}_{dtype}_matrix_mad_k16({left}8, int8, float8);\n"
    for dtype in ("f16", "bf16")
    for left in ("int", "short")
)
"""As Khronos's text of the extension has them. The header of Debian's ocloc does not."""
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
    wanted = "mma.sync.aligned" if source in MATRICES else INSTRUCTIONS[source.stem.removesuffix(".ptx")]
    assert wanted in (tmp_path / "kernel.ptx").read_text()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_compiles_to_spirv(source: Path, tmp_path: Path) -> None:
    to_spirv(source, tmp_path)


def to_spirv(source: Path, tmp_path: Path) -> None:
    bitcode = tmp_path / "kernel.bc"
    # Unoptimised, because the translator of LLVM 14 knows no freeze instruction and no odd integer widths.
    target = ["-target", "spir64", "-O0", "-emit-llvm", "-c", "-o", str(bitcode)]
    compiled([*CLANG, *target, str(source)], source)
    translator = shutil.which("llvm-spirv") or "llvm-spirv-14"
    compiled([translator, "-o", str(tmp_path / "kernel.spv"), str(bitcode)], source)
    assert (tmp_path / "kernel.spv").read_bytes()[:4] == b"\x03\x02\x23\x07"  # SPIR-V's magic number


# ---------------------------------------------------------------------- matrix instructions


def instruction_of(source: Path) -> str:
    """The name of the matrix instruction of a golden source."""
    return source.stem.removeprefix("product_by_")


@cache
def clangs() -> dict[int, str]:
    """The compilers that are here, by version."""
    found = {version: name for version in range(14, 31) if shutil.which(name := f"clang-{version}")}
    said = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=False).stdout
    plain = re.search(r"clang version (\d+)", said)
    return {**found, **({int(plain[1]): "clang"} if plain else {})}


@pytest.mark.parametrize(
    ("source", "gpu"),
    [
        pytest.param(source, gpu, id=f"{source.stem}-{gpu}")
        for source in MATRICES
        for gpu in AMD.get(instruction_of(source), ("", {}))[1]
    ],
)
def test_amds_matrix_instructions(source: Path, gpu: str, tmp_path: Path) -> None:
    instruction, gpus = AMD[instruction_of(source)]
    version = min((version for version in clangs() if version >= gpus[gpu]), default=None)
    if version is None:
        pytest.skip(f"{gpu} needs clang {gpus[gpu]}, and the newest here is {max(clangs())}")
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-O2", "-Wno-pass-failed"]
    assembly = tmp_path / "kernel.s"
    compiled([clangs()[version], *CLANG[1:], *target, "-S", "-o", str(assembly), str(source)], source)
    found = re.findall(rf"^\s*({instruction}\S*)", assembly.read_text(), re.MULTILINE)
    assert len(found) >= source.read_text().count(f" {instruction_of(source)}(") - 1, "each call is an instruction"
    lanes = 64 if instruction_of(source).startswith("mfma") else 32
    assert f".wavefront_size: {lanes}" in re.sub(" +", " ", assembly.read_text())


@pytest.mark.parametrize(
    "source", [each for each in MATRICES if instruction_of(each) in INTEL], ids=lambda path: path.stem
)
def test_intels_matrix_instructions(source: Path, tmp_path: Path) -> None:
    ocloc = shutil.which("ocloc")
    if ocloc is None:
        pytest.skip("Intel's offline compiler ocloc is not here")
    gpu, instruction = INTEL[instruction_of(source)]
    declared = tmp_path / "kernel.cl"
    declared.write_text(PROTOTYPES + source.read_text())
    compiled([ocloc, "compile", "-file", str(declared), "-device", gpu, "-out_dir", str(tmp_path)], source)
    (binary,) = tmp_path.glob("*.bin")
    compiled([ocloc, "disasm", "-file", str(binary), "-device", gpu, "-dump", str(tmp_path / "dump")], source)
    assembly = "".join(path.read_text(errors="replace") for path in (tmp_path / "dump").glob("*.asm"))
    found = re.findall(instruction, assembly)
    assert len(found) >= source.read_text().count(f" {instruction_of(source)}(") - 1, "each call is an instruction"


@pytest.mark.parametrize(
    "source", [each for each in MATRICES if instruction_of(each) in INTEL], ids=lambda path: path.stem
)
def test_intels_matrix_instructions_to_spirv(source: Path, tmp_path: Path) -> None:
    declared = tmp_path / "kernel.cl"
    declared.write_text(PROTOTYPES + source.read_text())
    to_spirv(declared, tmp_path)


def test_each_instruction_is_compiled_for_its_gpu() -> None:
    others = {instruction_of(path) for path in MATRICES} - set(AMD) - set(INTEL)
    assert all(name.startswith("mma_") for name in others), "of PTX, which `test_compiles_for_an_nvidia_gpu` has"
