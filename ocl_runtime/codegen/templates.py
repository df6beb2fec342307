"""The only module that touches Mako: finds, compiles and renders the templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mako.exceptions import text_error_template
from mako.lookup import TemplateLookup

from ir.errors import IRError

_HERE = Path(__file__).resolve()
# An installed package carries the templates inside; a checkout has them beside the package.
_FOLDERS = (_HERE.parents[1] / "templates", _HERE.parents[2] / "templates")


@cache
def _lookup() -> TemplateLookup:
    folder = next(folder for folder in _FOLDERS if folder.is_dir())
    return TemplateLookup([str(folder)], strict_undefined=True, filesystem_checks=False)


def render(template: str, **context: Any) -> str:
    """The template's text. Raises `IRError` with Mako's own trace and the names that were given."""
    try:
        return str(_lookup().get_template(template).render_unicode(**context))
    except Exception as error:
        raise IRError(
            f"template {template} cannot be rendered: {error}",
            place=f"{text_error_template().render()}\ngiven: {', '.join(sorted(context))}",
            remedy="the template asks for something that ocl_runtime/codegen does not give",
        ) from error
