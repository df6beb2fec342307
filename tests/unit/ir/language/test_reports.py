"""What checked mode tests: what may be wrong, and nothing that is known to be right."""

from __future__ import annotations

from typing import Any

import pytest

from ocl_ir.kernel.verify import verify
from ocl_ir.language.context import Options
from ocl_ir.language.expressions.reports import ConversionSite, DivisionSite, StepSite, StoreSite
from ocl_ir.language.parameters import ArrayType, FloatType, IndexType
from ocl_ir.language.translate import translate
from ocl_ir.types import from_numpy
from tests.support.three_ways import function_from

ARRAYS = {name: ArrayType(from_numpy(name), 1) for name in ("i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8")}


def sites(statement: str, **options: Any) -> list[type]:
    """The sites of a kernel of one statement, but for those of accesses."""
    parameters = {f"{name}_": type_ for name, type_ in ARRAYS.items()} | {"n": IndexType(), "a": FloatType()}
    function = function_from(f"def k({', '.join(parameters)}):\n    i = global_id(0)\n    {statement}\n")
    translation = translate(function, parameters, Options(group_size=(8, 1, 1), checked=True, **options))
    verify(translation.kernel)
    return [type(site) for site in translation.sites if not hasattr(site, "array") or isinstance(site, StoreSite)]


@pytest.mark.parametrize(
    "statement",
    [
        "v = i // 3", "v = i % -3", "v = u4_[i] // 7", "v = i % local_size(0)", "v = i // num_groups(0)",
        "v = cdiv(n, 256)", "v = i % max(n, 1)", "v = f4_[i] // f4_[i + 1]", "v = i // f4_[i]", "v = n % a",
        "for j in range(0, n, 2): v = j", "for j in range(n, 0, -1): v = j", "for j in range(0, n, max(n, 1)): v = j",
        "v = int(i4_[i])", "v = int(u1_[i])", "v = int(i)", "v = round(i8_[i])", "v = int(f4_[i] > 0)",
        "i4_[i] = i", "i8_[i] = n", "f4_[i] = n", "u4_[i] = i", "u8_[i] = i % 9", "i1_[i] = i4_[i]", "u1_[i] = 255",
    ],
)  # fmt: skip
def test_what_is_right_has_no_test(statement: str) -> None:
    assert sites(statement) == []


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("v = i // n", [DivisionSite]), ("v = u4_[i] % u4_[i + 1]", [DivisionSite]),
        ("v = 3 // i4_[i]", [DivisionSite]),
        ("v = cdiv(n, i)", [DivisionSite]), ("v = c_div(n, n)", [DivisionSite]), ("v = c_mod(n, n)", [DivisionSite]),
        ("v = divmod(n, n)", [DivisionSite] * 2), ("v = i // 0", [DivisionSite]),
        ("for j in range(0, 9, n): v = j", [StepSite]), ("for j in range(0, 9, i): v = j", [StepSite]),
        ("v = int(f2_[i])", [ConversionSite]), ("v = int(a)", [ConversionSite]), ("v = int(u4_[i])", [ConversionSite]),
        ("v = int(i8_[i])", [ConversionSite]), ("v = math.floor(f8_[i])", [ConversionSite]),
        ("i1_[i] = i", [StoreSite]), ("u4_[i] = n", [StoreSite]), ("u8_[i] = i - 1", [StoreSite]),
        ("atomic_min(u4_, i, n)", [StoreSite]),
    ],
)  # fmt: skip
def test_what_may_be_wrong_has_a_test(statement: str, wanted: list[type]) -> None:
    assert sites(statement) == wanted


def test_wide_indices_hold_more_and_fit_less() -> None:
    assert sites("v = int(u4_[i])", wide=True) == []
    assert sites("v = int(i8_[i])", wide=True) == []
    assert sites("v = int(u8_[i])", wide=True) == [ConversionSite]
    assert sites("i4_[i] = n", wide=True) == [StoreSite]
    assert sites("u4_[i] = i", wide=True) == [StoreSite]


def test_unchecked_kernels_have_no_tests() -> None:
    function = function_from("def k(x, n):\n    x[n // n] = int(x[0])\n")
    translation = translate(function, {"x": ARRAYS["f4"], "n": IndexType()}, Options(group_size=(8, 1, 1)))
    assert translation.sites == ()
