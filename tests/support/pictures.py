"""What tests of pictures have in common: the shapes of an SVG, by their groups, and names that could break it."""

from __future__ import annotations

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "a<b>&\"'\\\n\x00\x1b\udc80é]]>--\N{RIGHT-TO-LEFT OVERRIDE}"
Rect = tuple[float, float, float, float]


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def groups(svg: str, kind: str) -> dict[str, ElementTree.Element]:
    elements = [element for element in parsed(svg).iter(f"{SVG}g") if element.get("class") == kind]
    by_id = {str(element.get("id")): element for element in elements}
    assert len(by_id) == len(elements), "two groups have one id"
    return by_id


def rect(group: ElementTree.Element) -> Rect:
    """Left, top, right, bottom."""
    shape = group.find(f"{SVG}rect")
    assert shape is not None
    x, y, width, height = (float(shape.get(name, "nan")) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def title(element: ElementTree.Element) -> str:
    return element.findtext(f"{SVG}title") or ""
