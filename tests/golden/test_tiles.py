"""Generated OpenCL C of products of tiles, compared with files that a person can read.

python -m pytest tests/golden --update-golden      writes them anew: look at the diff before you commit it
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ocl_ir.language.context import Options
from ocl_ir.language.parameters import ArrayType, Constant
from ocl_ir.language.translate import translate
from ocl_ir.types import F16, F32
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.language import dot, float32, group_id, load_tile, store_tile, tile
from tests.golden.test_sources import golden

FOLDER = Path(__file__).parent / "tiles"
OPTIONS = Options(group_size=(32, 1, 1), whole=True)
MATRICES = replace(OPTIONS, matrix_instructions=("mma_f16",))
UNITS, HALVES = ArrayType(F32, 2, in_units=True), ArrayType(F16, 2, in_units=True)
CASES: dict[str, tuple[Options, ArrayType, int]] = {
    "product": (OPTIONS, UNITS, 8),
    "product_of_odd_rows": (OPTIONS, replace(UNITS, in_units=False), 8),
    "product_by_matrix_instructions": (MATRICES, HALVES, 32),
}


def product(a: Any, b: Any, c: Any, inner: Any) -> None:
    """Of tiles of 16 by 16."""
    i, j = group_id(1) * 16, group_id(0) * 16
    acc = tile((16, 16), float32)
    for k in range(0, a.shape[1], inner):
        acc = dot(acc, load_tile(a, (i, k), (16, inner)), load_tile(b, (k, j), (inner, 16)), matrix=True)
    store_tile(c, (i, j), acc)


@pytest.mark.parametrize("name", CASES)
def test_source(name: str, update_golden: bool) -> None:
    options, array, inner = CASES[name]
    arguments = {"a": array, "b": array, "c": replace(array, dtype=F32), "inner": Constant(inner)}
    kernel = replace(translate(product, arguments, options).kernel, note="product of tiles")
    text = compile_kernel(kernel, "hybrid", Dialect()).source.text
    golden(FOLDER / f"{name}.cl", text, update_golden)


def test_no_orphans() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.cl" for name in CASES}
