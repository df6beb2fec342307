"""What matrix instructions mean: products of whole matrices, by the places of elements that vendors' documents name."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from ocl_ir.bfloat16 import bits_of
from ocl_ir.errors import IRError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.matrix_instruction import MatrixInstruction
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS, instruction_for
from ocl_ir.kernel.verify import verify
from ocl_ir.types import BF16, F16, F32, F64, TF32, U16, U32, DType, lanes

NAMES = sorted(INSTRUCTIONS)
Places = Callable[[int, int], tuple[int, int]]
"""Row and column of an element in its matrix, by lane and number of the element among those of the lane."""

PTX = {
    # "Matrix Fragments for mma.m16n8k16 with floating point type" (.f16 and .bf16): groupID and threadID_in_group
    "halves": (
        lambda lane, i: (
            lane // 4 + (0 if 0 <= i < 2 or 4 <= i < 6 else 8),
            lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0),
        ),
        lambda lane, i: (lane % 4 * 2 + (i & 1) + (8 if i >= 2 else 0), lane // 4),
    ),
    # "… mma.m16n8k8": .tf32
    "words": (
        lambda lane, i: (lane // 4 + (0 if i in {0, 2} else 8), lane % 4 + (0 if i in {0, 1} else 4)),
        lambda lane, i: (lane % 4 + (0 if i == 0 else 4), lane // 4),
    ),
    # "… mma.m16n8k16 with .f64 floating point type"
    "doubles": (
        lambda lane, i: (lane // 4 + (8 if i % 2 else 0), (i * 2 - 2 if i % 2 else i * 2) + lane % 4),
        lambda lane, i: (lane % 4 + i * 4, lane // 4),
    ),
    "sums": (lambda lane, i: (lane // 4 + (0 if i < 2 else 8), lane % 4 * 2 + (i & 1)),),
}
CDNA = {
    # amd_matrix_instruction_calculator: A i is lane % 16, k is 4 floor(lane / 16) + 2 GPR_num + floor(GPR_bits / 16)
    "halves": (lambda lane, i: (lane % 16, 4 * (lane // 16) + i), lambda lane, i: (4 * (lane // 16) + i, lane % 16)),
    "words": (lambda lane, i: (lane % 16, lane // 16), lambda lane, i: (lane // 16, lane % 16)),
    # "C or D i: 4 * floor(lane / 16) + (GPR_num % 4), j: lane % 16"
    "sums": (lambda lane, i: (4 * (lane // 16) + i % 4, lane % 16),),
    # v_mfma_f64_16x16x4f64: rows lane / 16 + 4 * (GPR_num / 2)
    "sums of f64": (lambda lane, i: (lane // 16 + 4 * i, lane % 16),),
}
RDNA3 = (
    # "A[i][k] Lane: i and i+16, GPR: floor(k / 2)"; "C or D i: 2 * GPR_num + floor(lane / 16), j: lane % 16"
    lambda lane, i: (lane % 16, i),
    lambda lane, i: (i, lane % 16),
    lambda lane, i: (2 * i + lane // 16, lane % 16),
)
RDNA4 = (
    lambda lane, i: (lane % 16, 8 * (lane // 16) + i),
    lambda lane, i: (8 * (lane // 16) + i, lane % 16),
    lambda lane, i: (8 * (lane // 16) + i, lane % 16),
)
# cl_intel_subgroup_matrix_multiply_accumulate: each work-item contributes 32 (or 16) bits of each row of `a`, one
# column of `b`, packed in `int8`, and receives one column of results.
INTEL = {
    8: (lambda lane, i: (i // 2, 2 * lane + i % 2), lambda lane, i: (i, lane), lambda lane, i: (i, lane)),
    16: (lambda lane, i: (i, lane), lambda lane, i: (i, lane), lambda lane, i: (i, lane)),
}
DOCUMENTED: dict[str, tuple[Places, Places, Places]] = {
    **{f"mma_{dtype}": (*PTX["halves"], *PTX["sums"]) for dtype in ("f16", "bf16")},
    "mma_tf32": (*PTX["words"], *PTX["sums"]),
    "mma_f64": (*PTX["doubles"], *PTX["sums"]),
    **{f"mfma_{dtype}": (*CDNA["halves"], *CDNA["sums"]) for dtype in ("f16", "bf16")},
    "mfma_f32": (*CDNA["words"], *CDNA["sums"]),
    "mfma_f64": (*CDNA["words"], *CDNA["sums of f64"]),
    **{f"wmma_{dtype}": RDNA3 for dtype in ("f16", "bf16")},
    **{f"wmma_gfx12_{dtype}": RDNA4 for dtype in ("f16", "bf16")},
    **{f"xmx{size}_{dtype}": INTEL[size] for size in (8, 16) for dtype in ("f16", "bf16")},
}
SHAPES = {
    "mma_f16": (32, 16, 16, 8), "mma_bf16": (32, 16, 16, 8), "mma_tf32": (32, 16, 8, 8), "mma_f64": (32, 16, 16, 8),
    "mfma_f16": (64, 16, 16, 16), "mfma_bf16": (64, 16, 16, 16), "mfma_f32": (64, 16, 4, 16),
    "mfma_f64": (64, 16, 4, 16), "wmma_f16": (32, 16, 16, 16), "wmma_bf16": (32, 16, 16, 16),
    "wmma_gfx12_f16": (32, 16, 16, 16), "wmma_gfx12_bf16": (32, 16, 16, 16), "xmx8_f16": (8, 8, 16, 8),
    "xmx8_bf16": (8, 8, 16, 8), "xmx16_f16": (16, 8, 16, 16), "xmx16_bf16": (16, 8, 16, 16),
}  # fmt: skip
"""Work-items, rows, places along the inner axis, and columns, by the names of the vendors' instructions."""
REGISTERS = {
    "mma_f16": (U32, 4, 2), "mma_bf16": (U32, 4, 2), "mma_tf32": (U32, 4, 2), "mma_f64": (F64, 8, 4),
    "mfma_f16": (U32, 2, 2), "mfma_bf16": (U32, 2, 2), "mfma_f32": (F32, 1, 1), "mfma_f64": (F64, 1, 1),
    "wmma_f16": (U32, 8, 8), "wmma_bf16": (U32, 8, 8), "wmma_gfx12_f16": (U32, 4, 4), "wmma_gfx12_bf16": (U32, 4, 4),
    "xmx8_f16": (U32, 8, 8), "xmx8_bf16": (U32, 8, 8), "xmx16_f16": (U16, 8, 8), "xmx16_bf16": (U16, 8, 8),
}  # fmt: skip
"""The dtype of the left matrix's registers, and how many a work-item has of it and of the right one."""

EXAMPLES = [
    # name, matrix, lane, number of the element, its row and column: figures and tables of the documents, by hand
    ("mma_f16", "left", 0, 2, (8, 0)), ("mma_f16", "left", 31, 7, (15, 15)), ("mma_f16", "right", 5, 3, (11, 1)),
    ("mma_f64", "left", 6, 1, (9, 2)), ("mma_tf32", "right", 30, 1, (6, 7)), ("mma_f16", "sums", 9, 3, (10, 3)),
    ("mfma_f16", "left", 37, 1, (5, 9)), ("mfma_bf16", "right", 63, 0, (12, 15)), ("mfma_f16", "sums", 17, 3, (7, 1)),
    ("mfma_f32", "left", 18, 0, (2, 1)), ("mfma_f32", "right", 50, 0, (3, 2)), ("mfma_f32", "sums", 63, 0, (12, 15)),
    ("mfma_f64", "left", 33, 0, (1, 2)), ("mfma_f64", "sums", 17, 3, (13, 1)), ("mfma_f64", "sums", 48, 0, (3, 0)),
    ("wmma_f16", "left", 3, 15, (3, 15)), ("wmma_f16", "left", 19, 15, (3, 15)), ("wmma_f16", "sums", 16, 1, (3, 0)),
    ("wmma_bf16", "right", 20, 2, (2, 4)), ("wmma_bf16", "sums", 31, 7, (15, 15)),
    ("wmma_gfx12_f16", "left", 17, 0, (1, 8)), ("wmma_gfx12_f16", "sums", 16, 1, (9, 0)),
    ("xmx8_f16", "left", 3, 9, (4, 7)), ("xmx8_f16", "right", 3, 9, (9, 3)), ("xmx8_bf16", "sums", 7, 2, (2, 7)),
    ("xmx16_f16", "left", 9, 4, (4, 9)), ("xmx16_f16", "right", 9, 4, (4, 9)), ("xmx16_bf16", "sums", 15, 2, (2, 15)),
]  # fmt: skip


def test_all_instructions_are_documented() -> None:
    assert set(DOCUMENTED) == set(SHAPES) == set(REGISTERS) == set(INSTRUCTIONS)


@pytest.mark.parametrize(("name", "matrix", "lane", "number", "place"), EXAMPLES)
def test_elements_lie_where_documents_say(
    name: str, matrix: str, lane: int, number: int, place: tuple[int, int]
) -> None:
    axes = {"left": ("row", "inner"), "right": ("inner", "column"), "sums": ("row", "column")}[matrix]
    layout = getattr(INSTRUCTIONS[name], matrix)
    assert tuple(layout.places(axis)[lane, number] for axis in axes) == place


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_registers(name: str) -> None:
    made, (register, left, right) = INSTRUCTIONS[name], REGISTERS[name]
    assert (made.size, made.rows, made.inner, made.columns) == SHAPES[name]
    assert (made.left.register, made.left.count, made.right.count) == (register, left, right)
    assert made.accumulator is (F64 if made.dtype is F64 else F32)
    assert (made.right.length("inner"), made.left.length("row")) == (made.inner, made.rows)
    assert made.work * made.size == made.rows * made.columns * made.inner


# ---------------------------------------------------------------------- run


def kernel(made: MatrixInstruction) -> Kernel:
    """Each work-item has its registers in memory, one after the other."""
    k = KernelBuilder("instruction")
    left, right = k.pointer("left", made.left.register), k.pointer("right", made.right.register)
    sums, i = k.pointer("sums", made.accumulator), k.global_id(0)
    counts = [lanes(type_) for type_ in made.types]
    values = [k.load(memory, i * count, count=count) for memory, count in zip((left, right, sums), counts, strict=True)]
    k.store(sums, i * counts[2], k.matrix_multiply(made, *values))
    verify(k.build())
    return k.build()


def held(matrices: np.ndarray, places: Places, size: int, count: int) -> np.ndarray:
    """What the work-items of each sub-group hold of its matrix, one after the other."""
    return np.array(
        [matrix[places(lane, number)] for matrix in matrices for lane in range(size) for number in range(count)]
    )


def stored(values: np.ndarray, dtype: DType, register: DType) -> np.ndarray:
    """Elements as registers."""
    if dtype in {F32, F64}:
        return values.astype(dtype.numpy)
    if dtype is TF32:
        return values.astype("f4").view("u4")
    halves = bits_of(values.astype("f4")) if dtype is BF16 else values.astype("f2").view("u2")
    return halves.view(register.numpy)


def multiplied(name: str, left: np.ndarray, right: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The sums of each sub-group, by the interpreter."""
    made, (in_left, in_right, in_sums) = INSTRUCTIONS[name], DOCUMENTED[name]
    groups, count = len(left), made.sums.count
    memory = held(sums, in_sums, made.size, count).astype(made.accumulator.numpy)
    arguments = {"sums": memory}
    for side, matrix, places, layout in (("left", left, in_left, made.left), ("right", right, in_right, made.right)):
        elements = held(matrix, places, made.size, layout.count * layout.pack)
        arguments[side] = stored(elements, made.dtype, layout.register)
    run(kernel(made), arguments, (made.size * groups,), (made.size * groups,))
    out = np.full(sums.shape, 99, made.accumulator.numpy)
    for group, part in enumerate(memory.reshape(groups, made.size, count)):
        for lane, numbers in enumerate(part):
            for number, value in enumerate(numbers):
                out[(group, *in_sums(lane, number))] = value
    return out


def matrices(name: str, groups: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, (_, rows, inner, columns) = np.random.default_rng(3), SHAPES[name]
    shapes = (rows, inner), (inner, columns), (rows, columns)
    left, right, sums = (rng.integers(-9, 10, (groups, *shape)).astype("f8") for shape in shapes)
    return left, right, sums


@pytest.mark.parametrize("name", NAMES)
def test_integers_are_exact(name: str) -> None:
    left, right, sums = matrices(name)
    np.testing.assert_array_equal(multiplied(name, left, right, sums), left @ right + sums)


@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinities_go_where_they_belong(name: str) -> None:
    left, right, sums = matrices(name)
    left[0, 3, 2], left[0, 5, 1], right[1, 3, 6], sums[1, 7, 2] = np.nan, np.inf, -np.inf, np.nan
    right[0, 1, 3] = 0.0  # times infinity
    with np.errstate(invalid="ignore"):
        want = left @ right + sums
    assert np.isnan(want[0, 5, 3])
    np.testing.assert_array_equal(multiplied(name, left, right, sums), want)


@pytest.mark.parametrize("name", ["mma_f16", "mma_bf16", "mma_tf32", "mfma_bf16", "wmma_f16", "xmx16_f16"])
def test_sums_have_more_digits_than_operands(name: str) -> None:
    left, right, sums = matrices(name)
    sums[:] = 2.0**20 + 1
    np.testing.assert_array_equal(multiplied(name, left, right, sums), left @ right + sums)


def test_of_float32_the_upper_bits_are_taken() -> None:
    """Who does not round gets what is nearer to zero."""
    left, right, sums = matrices("mma_tf32")
    left[:], right[:], sums[:] = 0, 1, 0
    left[:, :, 0] = 1 + 2.0**-10 + 2.0**-11 + 2.0**-20
    np.testing.assert_array_equal(multiplied("mma_tf32", left, right, sums), np.full(sums.shape, 1 + 2.0**-10))


@pytest.mark.parametrize(("name", "items"), [("mma_f64", 16), ("mma_f64", 48), ("mfma_f64", 96), ("xmx8_f16", 12)])
def test_a_group_is_whole_subgroups(name: str, items: int) -> None:
    made = INSTRUCTIONS[name]
    dtypes = {"left": made.left.register, "right": made.right.register, "sums": made.accumulator}
    arguments = {side: np.zeros(8 * 128, dtype.numpy) for side, dtype in dtypes.items()}
    fact = f"has {items} work-items, which are no whole sub-groups of {made.size}"
    with pytest.raises(IRError, match=fact):
        run(kernel(made), arguments, (items,), (items,))


@pytest.mark.parametrize("side", ["left", "right"])
def test_who_holds_the_same_elements_has_to_agree(side: str) -> None:
    """RDNA 3 reads operands from both halves of a wave."""
    arguments = {"left": np.zeros(8 * 64, "u4"), "right": np.zeros(8 * 64, "u4"), "sums": np.zeros(8 * 64, "f4")}
    run(kernel(INSTRUCTIONS["wmma_f16"]), arguments, (64,), (64,))
    arguments[side][8 * (32 + 19) + 3] = 1
    with pytest.raises(IRError, match=r"work-item \(51, 0, 0\) .* holds other elements"):
        run(kernel(INSTRUCTIONS["wmma_f16"]), arguments, (64,), (64,))


def test_instructions_are_found_by_dtype_and_stay_themselves() -> None:
    amd = ("mfma_f16", "mfma_f32")
    assert instruction_for(F16, amd) is INSTRUCTIONS["mfma_f16"]
    assert instruction_for(F32, amd) is INSTRUCTIONS["mfma_f32"]
    assert instruction_for(TF32, amd) is None
    assert pickle.loads(pickle.dumps(INSTRUCTIONS["xmx8_f16"])) is INSTRUCTIONS["xmx8_f16"]
