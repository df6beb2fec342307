"""The class in which two numbers meet: R4 and R5 of the language, row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ocl_ir.language.values.promotion import INDEX, Class, NoCommonType, meet
from ocl_ir.types import BOOL, DTYPES, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType, from_numpy

TYPED = [dtype for dtype in DTYPES.values() if dtype.name != "bf16"]
INT, FLOAT, TRUE = Class("int"), Class("float"), Class("bool")


def typed(dtype: DType) -> Class:
    return Class(dtype=dtype)


@pytest.mark.parametrize("real", [F32, F64], ids=str)
def test_literals(real: DType) -> None:
    for dtype in TYPED:
        assert meet(INT, typed(dtype), real) == (INDEX if dtype is BOOL else typed(dtype))
        assert meet(FLOAT, typed(dtype), real) == typed(dtype if dtype.is_inexact else real)
        assert meet(TRUE, typed(dtype), real) == typed(dtype)
    assert meet(INT, INDEX, real) == meet(TRUE, INDEX, real) == INDEX
    assert meet(FLOAT, INDEX, real) == typed(real)
    assert meet(INT, FLOAT, real) == meet(TRUE, FLOAT, real) == FLOAT
    assert meet(TRUE, INT, real) == INT


def test_index() -> None:
    small = [BOOL, I8, I16, U8, U16, I32]
    assert {meet(INDEX, typed(dtype), F32) for dtype in small} == {INDEX}
    for dtype in (I64, U32, U64, F16, F32, F64):
        assert meet(INDEX, typed(dtype), F32) == typed(dtype)
    assert meet(INDEX, INDEX, F32) == INDEX


def test_typed_numbers_meet_as_numpys_but_for_a_float64_that_nobody_has() -> None:
    for a, b in itertools.product(TYPED, repeat=2):
        numpy = from_numpy(np.result_type(a.numpy, b.numpy))
        if numpy.component is F64 and F64 not in {a.component, b.component}:
            with pytest.raises(NoCommonType):
                meet(typed(a), typed(b), F32)
        else:
            assert meet(typed(a), typed(b), F32) == typed(numpy)


def test_the_order_does_not_matter() -> None:
    classes = [INT, FLOAT, TRUE, INDEX, *(typed(dtype) for dtype in TYPED)]
    for a, b in itertools.product(classes, repeat=2):
        try:
            expected = meet(a, b, F32)
        except NoCommonType:
            with pytest.raises(NoCommonType):
                meet(b, a, F32)
        else:
            assert meet(b, a, F32) == expected
