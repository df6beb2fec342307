from __future__ import annotations

import dataclasses

import pytest

from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_runtime.device import all_devices, quirks_for, rows_for
from ocl_runtime.device.capabilities import sizes_of
from ocl_runtime.device.quirks import TABLE, Quirks
from tests.support.fakes import INTEL_CPU, INTEL_GPU, NVIDIA, OCLGRIND, capabilities


def test_nvidia() -> None:
    quirks = quirks_for(capabilities(**NVIDIA))
    assert quirks.vector_bytes == 16
    assert quirks.group_size == 256
    assert quirks.local_memory_checked


def test_pocl() -> None:
    quirks = quirks_for(capabilities())
    assert quirks.own_math
    assert not quirks.local_memory_checked
    assert quirks.allocates_lazily
    assert (quirks.vector_bytes, quirks.group_size) == (64, 64)
    assert quirks.build_options == ("-cl-fp32-correctly-rounded-divide-sqrt",)


def test_pocls_wheel_gets_narrower_vectors() -> None:
    assert quirks_for(capabilities(platform_version="OpenCL 3.0 PoCL 3.0-rc2  Linux")).vector_bytes == 32


def test_pocl_5_0_gets_one_stream() -> None:
    assert quirks_for(capabilities(platform_version="OpenCL 3.0 PoCL 5.0+debian  Linux")).streams == 1
    assert quirks_for(capabilities(platform_version="OpenCL 3.0 PoCL 3.1+debian  Linux")).streams == 0


def test_a_gpu_under_pocl_is_no_cpu() -> None:
    quirks = quirks_for(capabilities(kind="gpu"))
    assert not quirks.own_math
    assert quirks.vector_bytes == 16


def test_intel_cpu_is_preferred_and_its_gpu_takes_no_part_in_that() -> None:
    assert quirks_for(capabilities(**INTEL_CPU)).preference > quirks_for(capabilities()).preference
    assert quirks_for(capabilities(**INTEL_GPU)).preference == 0


def test_only_intel_s_cpu_compiler_must_be_told_to_keep_loops_in_order() -> None:
    assert quirks_for(capabilities(**INTEL_CPU)).ordered_loops
    assert not any(quirks_for(capabilities(**other)).ordered_loops for other in ({}, INTEL_GPU, NVIDIA, OCLGRIND))


def test_only_pocl_s_cpu_compiler_needs_loops_behind_conditions() -> None:
    assert quirks_for(capabilities()).guarded_loops
    others = (INTEL_CPU, INTEL_GPU, NVIDIA, OCLGRIND, {"kind": "gpu"})
    assert not any(quirks_for(capabilities(**other)).guarded_loops for other in others)


def test_only_pocl_s_cpu_compiler_takes_vectors_of_halves_for_aligned() -> None:
    assert quirks_for(capabilities()).aligned_halves
    others = (INTEL_CPU, INTEL_GPU, NVIDIA, OCLGRIND, {"kind": "gpu"})
    assert not any(quirks_for(capabilities(**other)).aligned_halves for other in others)


def test_only_intel_s_cpu_compiler_must_not_know_a_complement() -> None:
    assert quirks_for(capabilities(**INTEL_CPU)).opaque_complement
    others = ({}, INTEL_GPU, NVIDIA, OCLGRIND, {"kind": "gpu"})
    assert not any(quirks_for(capabilities(**other)).opaque_complement for other in others)


AMD = {"platform": "AMD Accelerated Parallel Processing", "kind": "gpu"}
XMX = {"kind": "gpu", "extensions": frozenset({"cl_intel_subgroup_matrix_multiply_accumulate"})}


@pytest.mark.parametrize(
    ("facts", "instructions"),
    [
        ({**NVIDIA, "compute_capability": (7, 5)}, set()),
        ({**NVIDIA, "compute_capability": (8, 0)}, {"mma_f16", "mma_bf16", "mma_tf32"}),
        ({**NVIDIA, "compute_capability": (9, 0)}, {"mma_f16", "mma_bf16", "mma_tf32", "mma_f64"}),
        ({**AMD, "name": "gfx906:sramecc+:xnack-"}, set()),
        ({**AMD, "name": "gfx908:sramecc+:xnack-"}, {"mfma_f16", "mfma_f32"}),
        ({**AMD, "name": "gfx90a:sramecc+:xnack-"}, {"mfma_f16", "mfma_bf16", "mfma_f32", "mfma_f64"}),
        ({**AMD, "name": "gfx942:sramecc+:xnack-"}, {"mfma_f16", "mfma_bf16", "mfma_f32", "mfma_f64"}),
        ({**AMD, "name": "gfx1100"}, {"wmma_f16", "wmma_bf16"}),
        ({**AMD, "name": "gfx1201"}, {"wmma_gfx12_f16", "wmma_gfx12_bf16"}),
        ({**AMD, "name": "gfx1100", "platform": "rusticl"}, set()),
        ({**INTEL_GPU, **XMX, "subgroup_sizes": (8, 16, 32)}, {"xmx8_f16", "xmx8_bf16"}),
        ({**INTEL_GPU, **XMX, "subgroup_sizes": (16, 32)}, {"xmx16_f16", "xmx16_bf16"}),
        ({**INTEL_GPU, **XMX}, set()),
        ({**INTEL_GPU, "subgroup_sizes": (16, 32)}, set()),
        ({}, set()),
    ],
)
def test_matrix_instructions_by_device(facts: dict[str, object], instructions: set[str]) -> None:
    assert set(quirks_for(capabilities(**facts)).matrix_instructions) == instructions
    assert instructions <= set(INSTRUCTIONS)
    measured = facts.get("platform") == NVIDIA["platform"]
    assert quirks_for(capabilities(**facts)).matrices_measured == (measured and bool(instructions))


def test_sizes_are_asked_of_the_driver() -> None:
    device = all_devices()[0]
    max_work_item_sizes, unknown = 0x1005, 0x7FFF
    assert sizes_of(device.cl, max_work_item_sizes) == device.capabilities.max_work_item_sizes
    assert sizes_of(device.cl, unknown) == ()


def test_subgroups_are_used_where_they_were_measured() -> None:
    can = frozenset({"cl_khr_subgroup_shuffle", "cl_intel_required_subgroup_size"})
    intel = quirks_for(capabilities(**INTEL_CPU, extensions=can)).subgroups
    assert intel is not None
    assert [intel.exchange(size, (64, 1, 1)) for size in (2, 4, 8, 16, 32)] == [False, True, True, True, False]
    assert not intel.exchange(16, (8, 8, 1))
    for extension in can:
        assert quirks_for(capabilities(**INTEL_CPU, extensions=can - {extension})).subgroups is None
    assert quirks_for(capabilities(**INTEL_GPU, extensions=can)).subgroups is None
    assert quirks_for(capabilities(extensions=can)).subgroups is None
    nvidia = quirks_for(capabilities(**NVIDIA)).subgroups
    assert nvidia is not None
    assert nvidia.exchange(32, (8, 8, 1))
    assert not nvidia.exchange(32, (8, 6, 1))


def test_simulator() -> None:
    assert quirks_for(capabilities(**OCLGRIND)).simulator


def test_an_unknown_device_gets_the_defaults() -> None:
    caps = capabilities(platform="Something New", kind="gpu", correctly_rounded_divide_sqrt=False)
    assert rows_for(caps) == ()
    assert quirks_for(caps) == Quirks()


def test_the_group_size_fits_the_device() -> None:
    assert quirks_for(capabilities(max_work_group_size=8)).group_size == 8
    assert quirks_for(capabilities(max_work_group_size=12)).group_size == 8, "a power of two"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_changes_known_fields_and_says_why(row: object) -> None:
    assert row.changes  # type: ignore[attr-defined]
    assert set(row.changes) <= {field.name for field in dataclasses.fields(Quirks)}  # type: ignore[attr-defined]
    assert len(row.reason.split()) > 10  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "can"), [("f16", False), ("f64", True), ("f32", True), ("i32", True), ("bf16", True)])
def test_dtypes_a_device_computes_with(name: str, can: bool) -> None:
    assert capabilities().computes(name) is can


def test_only_pocl_3_1_has_its_header_left_out() -> None:
    assert quirks_for(capabilities(platform_version="OpenCL 3.0 PoCL 3.1+debian  Linux")).header_guard == "_OPENCL_H_"
    assert not quirks_for(capabilities(platform_version="OpenCL 3.0 PoCL 5.0+debian  Linux")).header_guard
    assert not any(quirks_for(capabilities(**other)).header_guard for other in (INTEL_CPU, INTEL_GPU, NVIDIA, OCLGRIND))
