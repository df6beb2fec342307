"""Arguments of launches as plans have them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.layout import Layout
from ocl_ir.types import F32, U32
from ocl_runtime.plan.launch import Address, with_addresses


@pytest.mark.parametrize("offset", [0, 1, 5, 7])
def test_a_pointer_at_an_offset_may_touch_all_of_its_storage(offset: int) -> None:
    k = KernelBuilder("store")
    n, y = k.scalar("n", U32), k.pointer("y", F32)
    k.store(y, n, 1.0)
    storage, layout = SimpleNamespace(nbytes=32), Layout((2,), (-3,), 6)
    number, address = with_addresses(k.build(), [3, (storage, offset)])
    assert number == 3
    assert address.touched.offset == offset
    assert address.touched.range() == (0, 8)
    assert with_addresses(k.build(), [3, (storage, layout)])[1] == Address(storage, layout)  # type: ignore[arg-type]
