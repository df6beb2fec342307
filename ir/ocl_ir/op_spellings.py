"""Spellings that several rows of the table of operations share; `ocl_ir.ops` says how they are written."""

from __future__ import annotations


def call(name: str, arity: int = 1) -> dict[str, str]:
    """That of a function of OpenCL C."""
    return {"any": f"{name}({_operands(arity)})"}


def complex_call(name: str, arity: int = 1) -> dict[str, str]:
    """The spelling of a function of templates/helpers/complex.cl.mako and its family."""
    return {"complex": f"complex_{name}_{{T}}({_operands(arity)})"}


def _operands(arity: int) -> str:
    return ", ".join(f"{{{number}}}" for number in range(arity))


def wrapping(sign: str) -> dict[str, str]:
    """That of an operator whose integers wrap around, as in NumPy."""
    return {
        "int/vector": f"as_{{T}}(as_{{U}}({{0}}) {sign} as_{{U}}({{1}}))",
        "narrow": f"({{T}})({{0}} {sign} {{1}})" if sign != "*" else "({T})((uint){0} * (uint){1})",
        "int": f"({{T}})(({{U}}){{0}} {sign} ({{U}}){{1}})",
        "any": f"{{0}} {sign} {{1}}",
    }


def bitwise(sign: str, logical: str) -> dict[str, str]:
    """That of an operator on bits, which is `logical` for bools."""
    return {
        "narrow": f"({{T}})({{0}} {sign} {{1}})",
        "vector": f"{{0}} {sign} {{1}}",
        "bool": f"{{0}} {logical} {{1}}",
        "any": f"{{0}} {sign} {{1}}",
    }


MINIMUM = {
    "float/vector": "select({1}, {0}, ({0} < {1}) | isnan({0}))",
    "float": "{0} < {1} || isnan({0}) ? {0} : {1}",
    "any": "min({0}, {1})",
}
