"""Kernel objects without the Python that PyOpenCL writes for each of them.

For a kernel object PyOpenCL writes two functions that set its arguments, one when it is made and one when it hears of
their types: it looks both up in a database on disk and compiles them, which takes 50 times as long as the driver takes
to make the object. All that they do is to call two methods of the object, which one function does as well for all
kernels with the same types. So PyOpenCL, when it asks its module `invoker` for an object that is made here, is given
functions that are there already; for everybody else's objects it does what it always does.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

_WRITES = "generate_enqueue_and_set_args"
"""The function of PyOpenCL's module."""
_PACKED = frozenset("bBhHiIlLfd")
"""NumPy's characters of the numbers that PyOpenCL packs by itself."""

Types: TypeAlias = "Sequence[type[np.generic] | None]"
"""Those of a kernel's arguments; None for memory."""


class _Making(threading.local):
    """Whether the next functions that PyOpenCL asks for in a thread are those of an object of ours."""

    is_ours = False


_MAKING = _Making()
_LOCK = threading.Lock()


def prepare() -> None:
    """Has PyOpenCL ask here first, from now on."""
    with _LOCK:
        invoker = importlib.import_module("pyopencl.invoker")
        written = getattr(invoker, _WRITES, None)
        if written is None or hasattr(written, "__wrapped__"):
            return

        @wraps(written)
        def asked(*args: Any, **named: Any) -> Any:
            if not _MAKING.is_ours:
                return written(*args, **named)
            _MAKING.is_ours = False
            return _enqueue, _set_in_order

        setattr(invoker, _WRITES, asked)


def new_kernel(program: cl.Program, name: str) -> cl.Kernel:
    """A kernel object. Raises `pyopencl.Error` where the driver makes none."""
    _MAKING.is_ours = True
    try:
        return cl.Kernel(program, name)
    finally:
        _MAKING.is_ours = False


def set_types(kernel: cl.Kernel, types: Types) -> None:
    """`set_args` then takes Python's numbers, 50 times as fast as without."""
    setter = _setter(tuple(types))
    if setter is None or not hasattr(kernel, "_set_enqueue_and_set_args"):
        kernel.set_arg_types(types)
    else:
        kernel._set_enqueue_and_set_args(_enqueue, setter)


@lru_cache(maxsize=1024)
def _setter(types: tuple[type[np.generic] | None, ...]) -> Callable[..., None] | None:
    """Sets arguments of these types; None where there is one that PyOpenCL does not pack by itself."""
    chars = [None if type_ is None else np.dtype(type_).char for type_ in types]
    if not chars or not _PACKED.issuperset(char for char in chars if char is not None):
        return None
    # The arguments are followed by what does not change, which is found from the end.
    fixed = (*range(len(chars)), *[b"" if char is None else char.encode() for char in chars])
    count = len(chars)
    pointers = [index for index, char in enumerate(chars) if char is None]
    numbers = [index for index, char in enumerate(chars) if char is not None]
    of_pointers = [(index - 2 * count, index) for index in pointers]
    of_numbers = [(index - 2 * count, index - count, index) for index in numbers]
    pick_pointers, pick_numbers = (
        itemgetter(*chain.from_iterable(picked)) if picked else None for picked in (of_pointers, of_numbers)
    )

    def set_args(kernel: Any, *args: Any) -> None:
        values = args + fixed
        if pick_pointers is not None:
            kernel._set_arg_multi(pick_pointers(values))
        if pick_numbers is not None:
            kernel._set_arg_buf_pack_multi(pick_numbers(values))

    return set_args


def _set_in_order(kernel: Any, *args: Any) -> None:
    """As PyOpenCL's function for a kernel whose types it does not know."""
    kernel._set_arg_multi(tuple(chain.from_iterable(enumerate(args))))


def _enqueue(kernel: Any, queue: Any, global_size: Any, local_size: Any, *args: Any, **how: Any) -> Any:
    """As PyOpenCL's function for a call of a kernel."""
    kernel.set_args(*args)
    return cl.enqueue_nd_range_kernel(queue, kernel, global_size, local_size, **how)
