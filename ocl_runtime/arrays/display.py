"""How an array is shown: with its values, which are computed for that, or with the reason why there are none.

Looking at an array never raises, waits for nothing that may never come, and changes no value: not inside of a captured
function, not after a failure, not while the thread that looks is computing, as a debugger's does.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ocl_ir.bfloat16 import HELD, floats_of
from ocl_ir.graph.build import Buffer
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.exports import Exports
from ocl_runtime.arrays.subscripts import Subscripts
from ocl_runtime.arrays.values import in_memory
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.plan.tracing import tracer

_SHOWN = 64
"""Elements up to which all values are shown."""
_EDGE = 3
"""Elements at each end of an axis that are shown of a larger array."""
_BFLOAT16_DIGITS = 3
"""Digits behind the first that tell all values of bfloat16 apart."""
_PATIENCE = 1.0
"""Seconds to wait for values where PyOpenCL may be at work on what they need."""

Values: TypeAlias = NDArray[Any] | str
"""Values, or the reason why there are none."""


class Display(Subscripts, Exports):
    """An array as text and HTML."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not hasattr(self, "_executor"):  # seen by a debugger while it is made
            return "Array(not made yet)"
        values = self._shown()
        if isinstance(values, str):
            return f"Array({self._about()}, {values})"
        return f"Array({self._text(values, 'Array(')}, {self._about()})"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        """The text for an empty specification; with one, that of the number which an array of one element is. Raises
        `DTypeError` for a specification and several elements."""
        if not spec:
            return str(self)
        if self.size != 1:
            raise DTypeError(
                f"the format {spec!r} for an array of shape {self.shape}",
                place=calling_line(),
                remedy="format its elements: [f'{value:.2f}' for value in x]",
            )
        return format(self._item("a format").item(), spec)

    def _repr_html_(self) -> str:
        values = self._shown()
        text = values if isinstance(values, str) else self._text(values, "")
        return f"<div><pre>{html.escape(text)}</pre><small>{html.escape(self._about())}</small></div>"

    def _about(self) -> str:
        return f"shape={self.shape}, dtype={self.dtype}, device={self.device}"

    def _text(self, values: NDArray[Any], prefix: str) -> str:
        most = _SHOWN if self.size <= _SHOWN else 0
        digits = None
        if values.dtype == HELD:
            values, digits = floats_of(values.view(np.uint16)), _BFLOAT16_DIGITS
        return np.array2string(values, None, digits, separator=", ", prefix=prefix, threshold=most, edgeitems=_EDGE)

    def _shown(self) -> Values:
        """The values, of a large array those at the ends of its axes."""
        executor = self._executor
        if tracer.get() is not None:
            return "no values inside of a captured function"
        if threading.get_ident() in executor.registry.evaluating:
            return "no values while this thread computes"
        if not executor.shows_values and not isinstance(self._node, Buffer):
            return "not computed yet"
        try:
            if executor.is_shared and not self._comes_soon():
                return "no values yet: PyOpenCL has work on memory or a queue that has not ended"
            return self._values() if self.size <= _SHOWN else self._sample()
        except Error as error:
            return f"no values: {error.fact}"
        except Exception as error:  # whatever it is, whoever looks shall see the rest
            return f"no values: {error or type(error).__name__}"

    def _comes_soon(self) -> bool:
        """Whether the values are there before long: who else uses memory or queues may never be done."""
        node, executor = self._computed(), self._executor
        if not node.size:
            return True
        coming = executor.download(node.storage, node.dtype, node.layout.range()[0], 1, calling_line())
        end = time.monotonic() + _PATIENCE
        while not coming.done() and time.monotonic() < end:
            time.sleep(0.001)
        return coming.done()

    def _values(self) -> NDArray[Any]:
        """The values; what the checks of places found is left to who reads them."""
        return self._copied(self._computed())

    def _sample(self) -> NDArray[Any]:
        """A small array with the ends of each axis of a large one, and between them, where it has more, one element
        that nobody looks at. Only the ends are downloaded."""
        self._computed()
        values = np.zeros([min(length, 2 * _EDGE + 1) for length in self.shape], in_memory(self._dtype))
        for parts in product(*map(_ends, self.shape)):
            values[tuple(to for to, _ in parts)] = self[(*(from_ for _, from_ in parts), ...)]._values()
        return values


def _ends(length: int) -> Sequence[tuple[slice, slice]]:
    """Where the ends of an axis go, and where they come from."""
    if length <= 2 * _EDGE + 1:
        return [(slice(None), slice(None))]
    return [(slice(_EDGE), slice(_EDGE)), (slice(-_EDGE, None), slice(-_EDGE, None))]
