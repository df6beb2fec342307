"""The only module that touches Mako: finds, compiles and renders the templates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mako

from ocl_ir.errors import IRError

if TYPE_CHECKING:
    from mako.lookup import TemplateLookup
    from mako.template import Template

MAKO: str = mako.__version__
"""The version of Mako, of which sources may depend."""
_HERE = Path(__file__).resolve()
# An installed package carries the templates inside; a checkout has them beside the package.
_FOLDERS = (_HERE.parents[1] / "templates", _HERE.parents[2] / "templates")
HELPERS = {
    "trigonometry": ("fast_sin", "fast_cos", "fast_tan"),
    "exponential": ("fast_exp", "fast_log", "fast_tanh"),
    "rounding": (
        "round_to_half", "convert_to_half", "round_to_bfloat16", "whole_rint", "whole_floor", "whole_ceil",
        "whole_trunc",
    ),
    "integer_power": ("integer_power",),
    "halves": ("any_half", "half_values", "half_bits"),
    "atomics": ("atomic_add", "atomic_sub", "atomic_min", "atomic_max", "reduction_add"),
    "shuffles": ("warp_shuffle",),
    "matrix_instructions": (
        "mma_f16", "mma_bf16", "mma_tf32", "mma_f64", "mfma_f16", "mfma_bf16", "mfma_f32", "mfma_f64", "wmma_f16",
        "wmma_bf16", "wmma_gfx12_f16", "wmma_gfx12_bf16", "xmx8_f16", "xmx8_bf16", "xmx16_f16", "xmx16_bf16",
    ),
    "asynchronous": (
        "copy_async", "commit_copies", "await_copies", "await_products", "begin_products", "end_products", "matrix_at",
        "warpgroup_multiply", "describe_matrix", "describe_tf32", "describe_f64", "describe_windows",
        "describe_windows_tf32", "describe_windows_f64", "init_boxes", "copy_box", "copy_windows", "await_boxes",
        "release_boxes",
    ),
    "specialising": ("open_turn", "await_turn", "pass_turn", "close_turn", "take_registers", "leave_registers"),
    "by_fours": ("pow_by_fours", "fmod_by_fours"),
    "division": ("first_reciprocal", "first_reciprocal_root", "lanes_div", "lanes_sqrt"),
    "random": ("philox", "normal_bits"),
    "random_candidates": ("gamma_bits",),
    "random_counts": ("poisson_small", "poisson_large", "binomial_small", "binomial_large"),
    "complex": (
        "complex_of", "complex_mul", "complex_fma", "complex_div", "complex_conj", "complex_magnitude", "complex_sign",
        "complex_eq", "complex_ne", "complex_select",
    ),
    "complex_functions": (
        "complex_exp", "complex_expm1", "complex_log", "complex_log2", "complex_log10", "complex_log1p", "complex_sqrt",
        "complex_sinh", "complex_cosh", "complex_tanh", "complex_asinh", "complex_acos", "complex_acosh",
        "complex_atanh", "complex_sin", "complex_cos", "complex_tan", "complex_asin", "complex_atan", "complex_pow",
    ),
    "calls": ("called_sin", "called_cos", "called_tan", "called_pow"),
}  # fmt: skip
"""Helper functions, by the file of templates/helpers that makes them."""
_FAMILY = {name: family for family, names in HELPERS.items() for name in names}
"""The file of templates/helpers that makes a helper function, by the function's name."""


def templates_folder() -> Path:
    """Where the templates are."""
    return next(folder for folder in _FOLDERS if folder.is_dir())


@cache
def _lookup() -> TemplateLookup:
    # Mako and the syntax highlighter that it imports take 60 ms, which processes save that find their programs on disk.
    from mako.lookup import TemplateLookup

    return TemplateLookup([str(templates_folder())], strict_undefined=True, filesystem_checks=False)


def render(template: str, **context: Any) -> str:
    """A template's text. Raises `IRError` with Mako's own trace and the names that were given."""
    return _rendered(_lookup().get_template(template), template, (), context)


def render_def(template: str, name: str, *args: Any) -> str:
    """The text of one `<%def>` of a template. Raises `IRError` as `render` does."""
    return _rendered(_lookup().get_template(template).get_def(name), f"{template}, def {name}", args, {})


def render_helper(name: str, types: Any) -> str:
    """A helper function for the types that templates/helpers/constants.cl.mako lists. Raises `IRError` as `render`."""
    return render_def(f"helpers/{_FAMILY[name]}.cl.mako", name, types).strip()


def render_source(source: str, values: Mapping[str, Any]) -> str:
    """The text of a template that a user wrote. Raises `IRError` as `render` does, and where it is no template."""
    from mako.template import Template

    try:
        template = Template(source, strict_undefined=True)
    except Exception as error:
        raise IRError(
            f"the source is no template of Mako's: {error}", remedy="correct it, or leave out values"
        ) from error
    return _rendered(template, "of the source", (), dict(values))


def _rendered(template: Template, described: str, args: tuple[Any, ...], context: dict[str, Any]) -> str:
    try:
        return str(template.render_unicode(*args, **context))
    except Exception as error:
        from mako.exceptions import text_error_template

        raise IRError(
            f"template {described} cannot be rendered: {error}",
            place=f"{text_error_template().render()}\ngiven: {', '.join([*map(repr, args), *sorted(context)])}",
            remedy="the template asks for something that ocl_runtime/codegen does not give",
        ) from error
