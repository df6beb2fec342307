"""What work-items print: texts and numbers, and f-strings of them."""

from __future__ import annotations

from ocl_ir.kernel.operands import Ref
from ocl_ir.language.plain import printing
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import FormattedNumber, FormattedText, Value


def print_(t: Calls, *values: Value, sep: Value = " ") -> None:
    """Prints a line with texts and numbers from each work-item that comes here, in any order of work-items."""
    texts: list[str] = []
    refs: list[Ref] = []
    for value in values:
        text = ""
        for part in value.parts if isinstance(value, FormattedText) else (value,):
            if part is None or isinstance(part, str | int | float):
                text += _escaped(printing.text_of(part))
                continue
            formatted = part if isinstance(part, FormattedNumber) else FormattedNumber(t.number(part), "")
            number, field = formatted.number, f"{{:{formatted.specification}}}" if formatted.specification else "{}"
            lanes = [number] if number.lanes == 1 else [t.lanes_of(number, [lane]) for lane in range(number.lanes)]
            text += field if number.lanes == 1 else f"({', '.join([field] * number.lanes)})"
            refs += [lane.ref for lane in lanes]
        texts.append(text)
    t.k.print_(_escaped(str(sep)).join(texts), *refs)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


PYTHON = {"print": Builtin("print", print_, printing.print_, is_printing=True)}
"""What Python's own `print` is in a kernel."""
