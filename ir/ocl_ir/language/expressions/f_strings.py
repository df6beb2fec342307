"""F-strings, which `print` takes: what is known is a part of the text, numbers of the device are printed by printf."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.formats import conversion_of
from ocl_ir.language.errors import Frame, Span
from ocl_ir.language.expressions.conditions import Conditions
from ocl_ir.language.plain.printing import formatted
from ocl_ir.language.values.values import FormattedNumber, FormattedText, HostNumber, Number, is_static
from ocl_ir.types import U32, U64, element

_CONVERSIONS: Mapping[int, Callable[[object], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}


class FStrings(Conditions):
    """Translates f-strings. Errors point at the whole of one: inside, Python 3.11 has no columns."""

    frame: Frame
    called: Span | None

    def formatted_text(self, node: ast.JoinedStr) -> FormattedText:
        """The texts and the numbers of an f-string. Raises `KernelError` or `DTypeError` for what printf has not."""
        before, self.span = self.span, Span.of(node, self.frame, self.called)
        parts: list[str | FormattedNumber] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                before_it = parts[-1] if parts and isinstance(parts[-1], str) else ""
                parts.append(self._formatted(part, shows_its_text=_ends_in_its_text(before_it, self.span.text)))
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
        self.span = before
        return FormattedText(tuple(parts))

    def _formatted(self, node: ast.FormattedValue, *, shows_its_text: bool) -> str | FormattedNumber:
        value = self.expression(node.value)
        specification = self._specification(node.format_spec)
        if isinstance(value, np.generic) and node.conversion not in _CONVERSIONS:
            return str(self.static(formatted, value, specification))
        if is_static(value):
            shown = _CONVERSIONS[node.conversion](value) if node.conversion in _CONVERSIONS else value
            return str(self.static(format, shown, specification))
        text = ast.unparse(node.value)
        letter = "d" if isinstance(value, HostNumber) and value.is_bool else "g"
        if node.conversion in _CONVERSIONS:
            field = f"{{{text}:{letter}}}" if isinstance(value, HostNumber) else f"{{{text}}}"
            raise self.fault(
                f"{'=' if shows_its_text else f'!{chr(node.conversion)}'} of a number that is known only at run time",
                f"write {text}={field}" if shows_its_text else f"write {field}",
            )
        if isinstance(value, HostNumber) and not specification:
            raise self.fault(
                f"{self.described(value)} in an f-string without a format, of which Python prints all digits",
                f"give it a format: {{{text}:{letter}}}",
            )
        return self._with_specification(self.number(value), specification, text)

    def _specification(self, node: ast.expr | None) -> str:
        """What stands behind the colon; names in it must be known."""
        if node is None:
            return ""
        assert isinstance(node, ast.JoinedStr)
        text = self.formatted_text(node)
        for part in text.parts:
            if isinstance(part, FormattedNumber):
                raise self.fault("a format that is known only at run time", "use a constant, or a literal")
        return "".join(map(str, text.parts))

    def _with_specification(self, number: Number, specification: str, text: str) -> FormattedNumber:
        if specification.endswith(("x", "X")) and number.kind == "index" and number.low is not None and number.low >= 0:
            unsigned = U64 if self.options.wide else U32
            number = Number(self.k.convert(number.ref, unsigned), unsigned)
        try:
            conversion_of(specification, element(number.type))
        except ValueError as error:
            raise self.fault(str(error), self._remedy(number, specification, text), DTypeError) from None
        return FormattedNumber(number, specification)

    def _remedy(self, number: Number, specification: str, text: str) -> str:
        if specification.endswith(("x", "X")) and number.dtype.is_integer:
            return f"convert it: {{uint32({text}):{specification}}}"
        if specification.endswith("d") and number.dtype.is_float:
            return f"convert it: {{int({text}):{specification}}}"
        if specification[-1:] in set("eEfgG") and not number.dtype.is_float:
            return f"convert it: {{float32({text}):{specification}}}"
        return "use a width, and d, x, e, f or g, as in :5d or :.3f"


def _ends_in_its_text(before: str, source: str) -> bool:
    """Whether what is before a value is its own text, as `{v=}` has it, which the syntax tree does not tell from
    `v={v!r}`."""
    return before.rstrip().endswith("=") and any("{" + before[start:] in source for start in range(len(before)))
