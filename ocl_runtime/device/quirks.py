"""What differs between OpenCL implementations beyond what they say of themselves: one quirk, one row.

A row says whom it concerns, which fields of `Quirks` it sets, and why: in words, with what was measured. Rows are
merged in their order, so a special one stands below the general one it corrects. Code elsewhere asks for a field of
`Quirks` and never for a vendor's name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ocl_ir.subgroups import Subgroups
from ocl_runtime.device.capabilities import MATRICES_OF_SUBGROUPS, Capabilities


@dataclass(frozen=True, kw_only=True)
class Quirks:
    """How to treat one device."""

    vector_bytes: int = 16  # of one wide memory access
    vector_hint: bool = False  # say of a kernel that it is vector code already, lest the compiler makes vectors of them
    ordered_loops: bool = False  # forbid vectors of loops that carry floats: the compiler would change their order
    guarded_loops: bool = False  # put loops that work-items leave at different turns behind a condition that is true
    opaque_complement: bool = False  # the compiler must not see that an integer's bits are turned over
    aligned_halves: bool = False  # vload_half and vstore_half of vectors take memory for aligned to the whole vector
    scalar_halves: bool = False  # vload_half and vstore_half of aligned vectors are an access for each lane
    converted_halves: bool = False  # conversions between float32 and halves are instructions, which rounding is made of
    group_progress: bool = False  # work-groups that have begun go on while others wait for them
    branching_division: bool = False  # exact division and root of float32 vectors branch in each lane
    rereads_arguments: bool = False  # numbers among the arguments are read again where they are used
    slow_inlining: bool = False  # builds take long over kernels that call many functions with long code
    subgroups: Subgroups | None = None  # in which work-items exchange values without local memory
    matrix_instructions: tuple[str, ...] = ()  # by their names in ocl_ir.kernel.matrix_instructions
    matrices_measured: bool = False  # these were measured: where nothing is kept on disk, they are not tried again
    warpgroups: bool = False  # there are matrix instructions of warpgroups, which the stage behind the compiler opens
    tile_bytes: int = 0  # local memory that a group can have for its tile, where that is more than the driver says
    own_math: bool = False  # use the library's branch-free transcendental functions, not the driver's
    simulator: bool = False  # exists for finding errors: never chosen unless named
    preference: int = 0  # among devices of one kind, the higher is chosen
    group_size: int = 256  # default work-group size
    largest_group_size: int = 0  # of a group that keeps a compute unit busy by itself
    streams: int = 0  # where no setting says how many; 0: as many as suit the kind of device
    early_uploads: bool = False  # ordinary host memory is read when a copy is enqueued, before what it waits for
    local_memory_checked: bool = True  # the driver itself refuses a kernel with too much local memory
    allocates_lazily: bool = False  # a buffer too large is noticed when it is touched, and ends the process
    locals_strategy: str = "hybrid"  # how values get variables, where no setting says so
    build_options: tuple[str, ...] = ()  # added to every build
    header_guard: str = ""  # the macro that leaves out the declarations which each build would read, if that is slow
    binary_mark: bytes = b""  # what a binary that the driver can load contains
    program_bytes: int = 3 * 2**17  # of memory that the driver keeps for each program, about: PoCL 0.2 to 0.4 MB


@dataclass(frozen=True)
class Row:
    """One quirk."""

    name: str
    matches: Callable[[Capabilities], bool]
    changes: Mapping[str, Any]
    reason: str


def _row(name: str, matches: Callable[[Capabilities], bool], reason: str, **changes: Any) -> Row:
    return Row(name, matches, MappingProxyType(changes), reason)


def _nvidia(caps: Capabilities) -> bool:
    return caps.platform == "NVIDIA CUDA"


def _pocl_cpu(caps: Capabilities) -> bool:
    return caps.platform == "Portable Computing Language" and caps.kind == "cpu"


def _intel_cpu(caps: Capabilities) -> bool:
    return caps.platform.startswith("Intel(R) OpenCL") and caps.kind == "cpu"


_REQUIRED_SIZE = "cl_intel_required_subgroup_size"


def _amd_gpu(caps: Capabilities, *names: str) -> bool:
    """Whether it is one of AMD's GPUs under AMD's own driver, which calls it "gfx90a:sramecc+:xnack-"."""
    return caps.platform == "AMD Accelerated Parallel Processing" and caps.name.split(":")[0] in names


def _xmx(caps: Capabilities, size: int) -> bool:
    """Whether a device has Intel's matrix instructions, in sub-groups of a size: the least that it has."""
    return MATRICES_OF_SUBGROUPS in caps.extensions and min(caps.subgroup_sizes, default=0) == size


_UNSEEN = (
    "Written from documents, and never run on such a device here: nothing uses an instruction before it has multiplied "
    "known matrices rightly on the very device."
)


def _simulator(caps: Capabilities) -> bool:
    return caps.platform == "Oclgrind"


TABLE = (
    _row(
        "exact division",
        lambda caps: caps.correctly_rounded_divide_sqrt,
        "OpenCL lets float32 division and square root be 2.5 and 3 ULP off; NumPy rounds both correctly, and so does a "
        "device that is asked to with this option. The CPU drivers measured do anyway.",
        build_options=("-cl-fp32-correctly-rounded-divide-sqrt",),
    ),
    _row(
        "CPU: wide vectors, few fat work-items",
        lambda caps: caps.kind == "cpu",
        "Explicit float8 and float16 vectors were worth up to 20 times on PoCL, and reductions on PoCL and on Intel's "
        "runtime were fastest with few work-items that each do much.",
        vector_bytes=64,
        group_size=64,
    ),
    _row(
        "CPU: vector code is named as such",
        lambda caps: caps.kind == "cpu",
        "Intel's compiler makes vectors across work-items even of float16 code; behind a branch for the last elements "
        "a*b + sin(c) took 34.5 ms without vec_type_hint and 2.5 ms with it (2^22 elements, 2 cores).",
        vector_hint=True,
    ),
    _row(
        "PoCL: own transcendental functions",
        _pocl_cpu,
        "The library's scalar sin does not vectorise: 0.27 times NumPy's speed, where Intel's reaches 5 times. On 16 "
        "lanes tan is wrong for small arguments beside a huge one: tan(1e-20) is 0.0115 beside 1e30 (PoCL 3.1). Its "
        "rint, floor, ceil and trunc convert to integers: where the operand is known to be infinite or NaN, what comes "
        "behind is compiled as if it could not be reached. exp of float64 is another number in the last place on one "
        "lane than on several for 10% of arguments, so that what is left of an array had other bits.",
        own_math=True,
    ),
    _row(
        "PoCL: loops that work-items leave at different turns",
        _pocl_cpu,
        "In a kernel with barriers, PoCL takes a loop that is surely entered for one that all work-items turn "
        "together, and runs a loop in it for the whole group: `for (a = item & 1; a < 4; ++a) for (b = 0; b < n; ++b) "
        "x = 31 * x + b` ran three turns of a in every work-item, also in even ones, which have four; a `break` counts "
        "likewise (3.1 and 5.0). Behind a condition that its compiler does not know to be true, it does not.",
        guarded_loops=True,
    ),
    _row(
        "PoCL: vectors of halves claim to be aligned",
        _pocl_cpu,
        "vload_half and vstore_half are compiled as accesses of memory aligned to the whole vector (`store <16 x i16>, "
        "align 32` in 3.1), where OpenCL asks for that of one half. x86's converting instructions take any address, so "
        "it works by luck; where the conversion leaves a loop and the store stays, the process ends. Accesses known to "
        "be aligned stay as they are; others move the bits as integers.",
        aligned_halves=True,
    ),
    _row(
        "PoCL 3.0: at most 8 lanes of float32",
        lambda caps: _pocl_cpu(caps) and "PoCL 3.0" in caps.platform_version,
        "The compiler in PyPI's wheel ends the process on any operation of float16, even a + a; float8 works.",
        vector_bytes=32,
    ),
    _row(
        "PoCL 3.1: a header of 9,700 declarations",
        lambda caps: _pocl_cpu(caps) and "PoCL 3.1" in caps.platform_version,
        "Each build reads the declarations of all functions of OpenCL C twice: a small kernel took 70 ms, and 10 ms "
        "with those alone that it calls (`codegen/declarations.py`). The macro is that by which Clang's opencl-c.h "
        "knows that it has been read.",
        header_guard="_OPENCL_H_",
    ),
    _row(
        "PoCL 5.0: one stream",
        lambda caps: _pocl_cpu(caps) and "PoCL 5.0" in caps.platform_version,
        "The process ends (`pocl_release_dlhandle_cache: Assertion 'found->ref_count > 0' failed`) where a kernel is "
        "launched on a second queue over more work-items than on the first, while it still runs there. In one queue it "
        "does not, nor does 3.1.",
        streams=1,
    ),
    _row(
        "CPU: local memory is not checked",
        lambda caps: caps.kind == "cpu",
        "PoCL and Intel's runtime take a kernel with more local memory than the device says it has, and PoCL ends the "
        "process when it runs; GPUs refuse it themselves (and NVIDIA's rightly takes more than it says).",
        local_memory_checked=False,
    ),
    _row(
        "PoCL: memory is taken when it is touched",
        _pocl_cpu,
        "A buffer larger than the free memory is accepted and ends the process when touched.",
        allocates_lazily=True,
    ),
    _row(
        "PoCL: binaries without a program",
        _pocl_cpu,
        "Where several processes build the same kernel, PoCL 3.1 now and then gives a binary without the program's "
        "bitcode (1 of 2,585 in a cache). Loading it ends the process: Assertion `len > 0' in pocl_binary.c.",
        binary_mark=b"/program.bc",
    ),
    _row(
        "Intel: the faster CPU driver",
        _intel_cpu,
        "Against PoCL 3.1 on the same CPU: transposition 12 against 4.9 times NumPy, sin 5 against 0.27 times, a cold "
        "build 28 against 100 ms.",
        preference=1,
    ),
    _row(
        "Intel CPU: programs are large",
        _intel_cpu,
        "Each program takes 2.5 to 4.3 MB of the process, also the smallest, whose binary has 8 kB; 64 kernels take "
        "133 MB as one program, 278 as 64 (2026.22.10).",
        program_bytes=3 * 2**20,
    ),
    _row(
        "Intel CPU: loops that carry floats stay in order",
        _intel_cpu,
        "The compiler makes vectors of loops that add, subtract or multiply floats, strict as they are, mostly where "
        "they are to be unrolled: 16 sums at once, joined behind the loop (2026.22.10; its build log says so). Fused "
        "and unfused gave other bits by that. No pragma for floats helps. Loops over vectors and fma it leaves alone.",
        ordered_loops=True,
    ),
    _row(
        "Intel's CPU runtime: no complement that the compiler knows",
        _intel_cpu,
        "~min(x, y) and ~max(x, y) of 32 and 64 bits gave min(x, y) and max(x, y), also where they came of a choice or "
        "of min(~x, y), in code without explicit vectors (2026.22.10, AVX-512): the complement was lost. As an "
        "exclusive or with ones that are known at run time only it is right.",
        opaque_complement=True,
    ),
    _row(
        "Intel CPU: sub-groups of a register",
        lambda caps: _intel_cpu(caps) and {"cl_khr_subgroup_shuffle", _REQUIRED_SIZE} <= caps.extensions,
        "Sizes of 4 to 64 build; each sub-group ends where dimension 0 does, (2, 16) has sub-groups of 2 where 4 are "
        "required, and shuffles give the right value wherever the size divides dimension 0 (2026.22.10). A sum and a "
        "scan of each sub-group, over 2048 rows of 768, took 0.7 ms in sub-groups of 4, 8 and 16, and 4.5, 4.8 and 3.0 "
        "through local memory; AVX2 and doubles are like that. Sums in those of 32, which no register holds, took 31 "
        "to 36 ms where local memory took 6.4.",
        subgroups=Subgroups(sizes=(4, 8, 16), spelling="opencl", within_rows=True),
    ),
    _row(
        "NVIDIA: sub-groups are warps",
        _nvidia,
        "OpenCL's functions of sub-groups do not build, PTX does (580.159.04); a warp is 32 work-items with "
        "consecutive linear local ids, and shfl.sync takes all of them, so that the last warp of a group must be "
        "whole. Reductions of groups stay in local memory: in sums of rows shuffles were never more than 1% faster "
        "(H200).",
        subgroups=Subgroups(sizes=(32,), spelling="ptx"),
    ),
    _row(
        "NVIDIA: matrix instructions",
        lambda caps: _nvidia(caps) and caps.compute_capability >= (8, 0),
        "PTX's mma.sync takes halves, bfloat16 and tf32 from compute capability 8.0 on; the program's target is that "
        "of the device. Arrays in local memory that are larger than the 48 KiB that the driver states work up to what "
        "a unit has: 99 KiB for a group from 8.0 on (580.159.04).",
        matrix_instructions=("mma_f16", "mma_bf16", "mma_tf32"),
        matrices_measured=True,
        tile_bytes=99 << 10,
    ),
    _row(
        "NVIDIA: matrix instructions of float64, larger local memory",
        lambda caps: _nvidia(caps) and caps.compute_capability[0] == 9,
        "mma.sync.m16n8k16 of float64 is there from compute capability 9.0 on; a group can have 227 KiB.",
        matrix_instructions=("mma_f16", "mma_bf16", "mma_tf32", "mma_f64"),
        tile_bytes=227 << 10,
    ),
    _row(
        "AMD: matrix instructions of CDNA",
        lambda caps: _amd_gpu(caps, "gfx908"),
        f"MFMA of halves and float32, in waves of 64; the instruction of bfloat16 is another one there. {_UNSEEN}",
        matrix_instructions=("mfma_f16", "mfma_f32"),
    ),
    _row(
        "AMD: matrix instructions of CDNA 2 to 4",
        lambda caps: _amd_gpu(caps, "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"),
        "MFMA of halves, bfloat16, float32 and float64, in waves of 64. CDNA 2 takes halves and bfloat16 that are "
        f"denormal for 0, says MIOpen's documentation. {_UNSEEN}",
        matrix_instructions=("mfma_f16", "mfma_bf16", "mfma_f32", "mfma_f64"),
    ),
    _row(
        "AMD: matrix instructions of RDNA 3",
        lambda caps: _amd_gpu(caps, *(f"gfx{number}" for number in (1100, 1101, 1102, 1103, 1150, 1151, 1152, 1153))),
        f"WMMA of halves and bfloat16, in waves of 32. {_UNSEEN}",
        matrix_instructions=("wmma_f16", "wmma_bf16"),
    ),
    _row(
        "AMD: matrix instructions of RDNA 4",
        lambda caps: _amd_gpu(caps, "gfx1200", "gfx1201"),
        f"WMMA of halves and bfloat16, in waves of 32 that hold operands otherwise than on RDNA 3. {_UNSEEN}",
        matrix_instructions=("wmma_gfx12_f16", "wmma_gfx12_bf16"),
    ),
    _row(
        "Intel: matrix instructions in sub-groups of 8",
        lambda caps: _xmx(caps, 8),
        f"XMX of Xe-HPG, by {MATRICES_OF_SUBGROUPS}. {_UNSEEN}",
        matrix_instructions=("xmx8_f16", "xmx8_bf16"),
    ),
    _row(
        "Intel: matrix instructions in sub-groups of 16",
        lambda caps: _xmx(caps, 16),
        f"XMX of Xe-HPC and Xe 2, by {MATRICES_OF_SUBGROUPS}. {_UNSEEN}",
        matrix_instructions=("xmx16_f16", "xmx16_bf16"),
    ),
    _row(
        "NVIDIA: instructions of warpgroups",
        lambda caps: _nvidia(caps) and caps.compute_capability == (9, 0),
        "wgmma is there for sm_90a only, and OpenCL's compiler builds for sm_90; its binary is PTX in text, in which "
        "the target can be changed (580.159.04).",
        warpgroups=True,
    ),
    _row(
        "NVIDIA: work-groups that have begun go on",
        _nvidia,
        "OpenCL promises nothing of work-groups that wait for each other. Here each keeps its place on its unit until "
        "it ends, and its warps take turns: a chain of 4096 groups, each waiting for the one before, took 1.8 ms "
        "(H200, 580.159.04). Those that are waited for must have begun, so teams take their work in the order in which "
        "they begin, from a counter.",
        group_progress=True,
    ),
    _row(
        "NVIDIA: a group keeps a unit busy",
        lambda caps: _nvidia(caps) and caps.max_work_group_size >= 1024,
        "With 1024 work-items, which have 64 registers each, a unit reads about as fast as with many small groups: "
        "columns of 4096 x 4096 float32 in 128 groups took 26.2 us, in 768 groups 25.4 and a launch of 4.2 that joins "
        "them (H200, 132 units).",
        largest_group_size=1024,
    ),
    _row(
        "NVIDIA: vectors of halves are read one by one",
        _nvidia,
        "vload_half8 and vstore_half8 become eight accesses of a half, also where they could be one: 56% of a copy's "
        "speed for a*b + c, and 98 to 105 with accesses of 16 bytes (H200; H100 97 and 105). Bits that are moved as a "
        "vector of ushorts never leave the registers for the conversion.",
        scalar_halves=True,
    ),
    _row(
        "NVIDIA: conversions of halves are instructions",
        _nvidia,
        "Rounding float32 to halves by the arithmetic of their bits takes a dozen instructions, by converting them to "
        "and back two, with the same results.",
        converted_halves=True,
    ),
    _row(
        "NVIDIA: exact division and root branch in each lane",
        lambda caps: _nvidia(caps) and caps.correctly_rounded_divide_sqrt,
        "The compiler puts a test and a branch to a slow path around each division and root of float32, one lane after "
        "the other. The same arithmetic for all lanes with one test took n-body from 123 to 108 us (8192 bodies) and "
        "Black-Scholes from 388 to 374 us (2^26 options; H100). PTX's rcp.approx.ftz is within 1 ULP, as is what the "
        "compiler's own code begins with.",
        branching_division=True,
    ),
    _row(
        "NVIDIA: arguments are read again",
        _nvidia,
        "Where a choice becomes a few conditional instructions, the compiler reads a number among the arguments there "
        "again, so that 50 Mandelbrot iterations, `where(inside, 2 * a * b + y, b)`, had 50 loads of the 2. With an "
        "exclusive or that is known at run time only, it stays in its register: 302 us, before 326 (2^24, H100).",
        rereads_arguments=True,
    ),
    _row(
        "NVIDIA: many long functions build slowly",
        _nvidia,
        "Every call of sin is inlined with the reduction of huge arguments: a kernel of 50 sines took 668 ms to build. "
        "As calls of one function it took 64 ms, ran 10% longer and gave the same bits (H100, 580.159.04).",
        slow_inlining=True,
    ),
    _row(
        "NVIDIA: ordinary host memory is read at once",
        _nvidia,
        "A small copy to the device takes what lies in a NumPy array as it is enqueued, whatever events it waits for: "
        "4,000 bytes that a command behind a gate was to write were read before it ran (580.159.04). From pinned "
        "memory the copy waits.",
        early_uploads=True,
    ),
    _row(
        "simulator",
        _simulator,
        "Oclgrind interprets each instruction to find errors, about 1000 times slower than PoCL: only for who "
        "asks for it.",
        simulator=True,
        group_size=16,
    ),
)


def rows_for(caps: Capabilities) -> tuple[Row, ...]:
    """The rows that apply to a device, in the order they are merged."""
    return tuple(row for row in TABLE if row.matches(caps))


def quirks_for(caps: Capabilities) -> Quirks:
    """How to treat a device: the defaults, changed by each row that applies. Build options add up."""
    quirks = Quirks()
    for row in rows_for(caps):
        changes = dict(row.changes)
        changes["build_options"] = quirks.build_options + changes.get("build_options", ())
        quirks = dataclasses.replace(quirks, **changes)
    most = min(quirks.group_size, caps.max_work_group_size)
    return dataclasses.replace(quirks, group_size=1 << most.bit_length() - 1)  # kernels count on a power of two
