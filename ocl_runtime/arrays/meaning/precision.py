"""How exactly products of float32 are multiplied, for a block of code in one thread (or task)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias, get_args

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import SettingError

Precision: TypeAlias = Literal["float32", "tf32"]
_PRECISIONS = get_args(Precision)
_chosen: ContextVar[Precision] = ContextVar("ocl_runtime_precision", default="float32")


@contextmanager
def precision(name: Precision) -> Iterator[None]:
    """Products of float32 that are built in a block of code may be multiplied less exactly, and faster.

        with ocl.precision("tf32"):
            y = x @ w

    - "float32", which is the default, multiplies float32 as it is.
    - "tf32" allows to round operands to 10 bits of their mantissa; products are exact then, and sums are float32.
      Where a device has no instructions for that, nothing changes.

    It counts for `@`, `matmul`, `tensordot`, `einsum`, `conv` and `attention` of float32 matrices, in the calling
    thread, and is decided where the product is built, whenever that is computed. Other dtypes, products with vectors
    and what `linalg` multiplies in its algorithms are not touched. It is a decorator, too. Raises `SettingError` for
    another name.
    """
    if name not in _PRECISIONS:
        names = " or ".join(f'"{each}"' for each in _PRECISIONS)
        raise SettingError(f"{name!r} is no precision of products", place=calling_line(), remedy=f"choose {names}")
    before = _chosen.get()
    try:  # and only then: an interrupt may come as `set` returns
        _chosen.set(name)
        yield
    finally:
        _chosen.set(before)


def chosen_precision() -> Precision:
    """What the calling thread has chosen."""
    return _chosen.get()


def in_tf32() -> bool:
    """Whether products that are built now may round float32 operands."""
    return _chosen.get() == "tf32"
