"""A kernel translated for types: once for each, as long as what it has read of Python's own scopes is the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ocl_ir.kernel.grammar import Param
from ocl_ir.language.context import Host, Options, Pointer, Scalar, Source, Status
from ocl_ir.language.parameters import ArgumentType
from ocl_ir.language.translate import Translation, translate
from ocl_ir.language.values.host_numbers import evaluate
from ocl_ir.language.values.values import Deferred
from ocl_ir.types import BOOL, DType, element
from ocl_runtime.programs.kernels.translated import Translated

_MANY = 32
"""Variants of a kernel after which it is said which argument varies."""
_MANY_VALUES = 8
"""Values of what a kernel reads from around it after which it is said which of them varies."""
_HUGE = 1e38
"""Floats below this have a place in float32."""
_LOG = logging.getLogger("ocl_runtime")


class Variants:
    """The variants of one kernel. Any thread may ask for one."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._translated: Translated[Translation] = Translated()
        self._has_said = False

    def variant(self, types: Mapping[str, ArgumentType], options: Options) -> Translation:
        """The translation for some types. Raises what `translate` raises."""
        key = (tuple(types.items()), options)
        known = self._translated.find(key)
        if known is not None:
            return known
        made = translate(self._function, types, options)
        self._translated.keep(key, made)
        if not self._has_said:
            self._say_what_varies(self._translated.kept(key))
        return made

    def all(self) -> list[Translation]:
        """Those that have been translated so far."""
        return self._translated.all()

    def _say_what_varies(self, same_types: Sequence[Translation]) -> None:
        """Once, where there are many variants: which argument varies, or what the kernel reads from around it."""
        name = self._function.__name__
        if len(same_types) > _MANY_VALUES:
            newest, before = ({capture.name: capture for capture in made.captures} for made in same_types[:2])
            others = [
                which for which, capture in newest.items() if which in before and before[which].value != capture.value
            ]
            what = ", ".join(others) or "what it reads from around it"
            _LOG.warning("kernel %s is translated again and again, since %s varies: pass it as an argument", name, what)
            self._has_said = True
        elif len(self._translated) > _MANY:
            columns = zip(*[key[0] for key in self._translated.keys()], strict=True)  # noqa: SIM118, no dict
            varying = [column[0][0] for column in columns if len({type_ for _, type_ in column}) > 1]
            what = ", ".join(varying) or "the size of its groups"
            _LOG.warning("kernel %s has more than %d variants: %s varies", name, _MANY, what)
            self._has_said = True


def numbers_of(
    translation: Translation,
    numbers: Mapping[tuple[object, ...], Any],
    layouts: Callable[[tuple[object, ...]], Any],
    items: Sequence[int],
    pointer: Callable[[tuple[object, ...]], Any],
    status: Any = None,
) -> list[Any]:
    """What a launch passes for each parameter of a variant; `layouts` and `pointer` give those of the array at a
    path."""
    passed: list[Any] = []
    for source, param in zip(translation.sources, translation.kernel.params, strict=True):
        match source:
            case Pointer(path=path):
                passed.append(pointer(path))
            case Scalar() | Host():
                passed.append(number_of(source, param, numbers))
            case Status():
                passed.append(status)
            case Deferred(what="items", axis=axis):
                passed.append(items[axis] if axis < len(items) else 1)
            case Deferred(what=what, path=path, axis=axis):
                layout = layouts(path)
                passed.append(layout.shape[axis] if what == "shape" else layout.strides[axis])
    return passed


def number_of(source: Source, param: Param, numbers: Mapping[tuple[object, ...], Any]) -> Any:
    """What a launch passes for a number that the call gives, or that the host computes of such."""
    if isinstance(source, Host):
        value = _as_dtype(evaluate(source.number, lambda path: float(numbers[path])), source.dtype)
    else:
        assert isinstance(source, Scalar)
        value = numbers[source.path]
    return _as_dtype(value, element(param.value.type))


def _as_dtype(value: Any, dtype: DType) -> Any:
    if type(value) is int or (type(value) is float and dtype.bits > 16 and -_HUGE < value < _HUGE):
        return value  # which the launch converts
    if type(value) is dtype.numpy.type and dtype is not BOOL:
        return value
    with np.errstate(over="ignore", invalid="ignore"):
        return np.uint8(bool(value)) if dtype is BOOL else dtype.numpy.type(value)
