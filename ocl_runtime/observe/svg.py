"""Pictures as text: SVG that any browser shows, with a title for whatever the mouse points at.

A label is written only where it fits. Colours are for a light page, or for a dark one where the reader's browser asks
for that. Names come from users: whatever is in them, the picture stays well-formed.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

_CHARACTER, _HEAD = 6.7, 8.0
"""Pixels of a character of a label, and of one of a headline."""
_STYLE = """\
svg { background: #fff; }
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #222; dominant-baseline: middle; }
text.head { font-size: 13px; font-weight: bold; }
.lane { fill: #f4f4f6; }
.box { stroke: #555; stroke-width: 0.5; }
.grid { stroke: #ccc; stroke-width: 0.5; }
.wait { fill: none; stroke: #555; stroke-width: 1.2; opacity: 0.7; }
.memory { stroke-dasharray: 4 3; }
.bound { stroke: #b00; stroke-width: 1; stroke-dasharray: 6 3; }
.peak { stroke: #b00; stroke-width: 1; }
.busy { fill: #7a7; stroke: none; }
g:hover .box, path.wait:hover { stroke: #000; stroke-width: 2; opacity: 1; }
@media (prefers-color-scheme: dark) {
svg { background: #1b1b1f; }
text { fill: #ddd; }
g > .box + text { fill: #222; }
.lane { fill: #2a2a30; }
.grid { stroke: #555; }
.wait { stroke: #bbb; }
.bound, .peak { stroke: #f66; }
g:hover .box, path.wait:hover { stroke: #fff; }
}"""
_KEY, _ROW = 12.0, 18.0
"""Pixels of a square of a legend, and of a row of them."""
_LONGEST, _MOST_KEYS = 40, 60
"""Characters of a name in a legend, and names in it."""


def clean(text: str) -> str:
    """Text without the characters that XML does not have."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def escape(text: str) -> str:
    """Text as it stands in XML, between tags and in attributes."""
    return html.escape(clean(text))


def colour(number: int) -> str:
    """One of many light colours, as far from its neighbours as can be."""
    return f"hsl({number * 137 % 360}, 60%, {78 - number // 8 % 3 * 9}%)"


def fitting(width: float, *labels: str) -> str:
    """The first label that fits into so many pixels; of the last one perhaps only its beginning; else nothing."""
    room = int(width / _CHARACTER)
    for label in labels:
        if len(label) <= room:
            return label
    return f"{labels[-1][: room - 1]}…" if labels and room > 5 else ""


def headline(text: str) -> float:
    """The pixels that a headline needs."""
    return 20 + len(text) * _HEAD


@dataclass(frozen=True)
class Legend:
    """What colours mean: squares with names, from left to right in rows, as (x, row, fill, name)."""

    keys: tuple[tuple[float, int, str, str], ...]

    @classmethod
    def of(cls, names: Sequence[tuple[str, str]], width: float) -> Legend:
        """Of (fill, name), in rows of so many pixels. Of very many it has the first ones only."""
        left = [] if len(names) <= _MOST_KEYS else [("", f"and {len(names) - _MOST_KEYS} more")]
        keys: list[tuple[float, int, str, str]] = []
        x, row = 0.0, 0
        for fill, name in [*names[:_MOST_KEYS], *left]:
            shown = fitting(_LONGEST * _CHARACTER, name)
            wide = _KEY + 6 + (len(shown) + 2) * _CHARACTER
            if x and x + wide > width:
                x, row = 0.0, row + 1
            keys.append((x, row, fill, shown))
            x += wide
        return cls(tuple(keys))

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        return (self.keys[-1][1] + 1) * _ROW + 6 if self.keys else 0.0


def steps(most: int, count: int) -> range:
    """Round numbers (1, 2 or 5, and zeros) from 0 to `most`, about `count` of them."""
    size = 1
    while most > size * count:
        size = size * 5 // 2 if str(size)[0] == "2" else size * 2
    return range(0, most + 1, size)


class Drawing:
    """An SVG in the making. Positions are pixels from the upper left corner."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height = width, height
        self._lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_number(width)}" height="{_number(height)}" '
            f'viewBox="0 0 {_number(width)} {_number(height)}">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_STYLE}\n</style>",
        ]

    def __str__(self) -> str:
        return "\n".join([*self._lines, "</svg>", ""])

    @contextmanager
    def group(self, kind: str, name: str, title: str = "") -> Iterator[None]:
        """Shapes of the block belong together, under a `name` of their own, and share a title."""
        self._lines.append(f'<g class="{escape(kind)}" id="{escape(name)}">{_title(title)}')
        yield
        self._lines.append("</g>")

    def rect(
        self, kind: str, at: tuple[float, float], size: tuple[float, float], fill: str = "", title: str = ""
    ) -> None:
        """A rectangle, by its upper left corner and its width and height."""
        attributes = " ".join(
            f'{name}="{_number(value)}"'
            for name, value in zip(("x", "y", "width", "height"), (*at, *size), strict=True)
        )
        style = f' fill="{escape(fill)}"' if fill else ""
        self._lines.append(f'<rect class="{escape(kind)}" {attributes}{style}>{_title(title)}</rect>')

    def line(self, kind: str, start: tuple[float, float], end: tuple[float, float], title: str = "") -> None:
        """A straight line."""
        (x1, y1), (x2, y2) = start, end
        attributes = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
        self._lines.append(f'<line class="{escape(kind)}" {attributes}>{_title(title)}</line>')

    def arrow(self, kind: str, name: str, points: Sequence[tuple[float, float]], title: str = "") -> None:
        """A curve through points, level at each of them, from left to right, with an arrow at its end."""
        path = [f"M {_number(points[0][0])} {_number(points[0][1])}"]
        for (x1, y1), (x2, y2) in pairwise(points):
            middle = _number((x1 + x2) / 2)
            path.append(f"C {middle} {_number(y1)}, {middle} {_number(y2)}, {_number(x2)} {_number(y2)}")
        x, y = points[-1]
        back = _number(x - 5)
        path.append(f"M {back} {_number(y - 3)} L {_number(x)} {_number(y)} L {back} {_number(y + 3)}")
        self._lines.append(
            f'<path class="{escape(kind)}" id="{escape(name)}" d="{" ".join(path)}">{_title(title)}</path>'
        )

    def text(self, at: tuple[float, float], content: str, kind: str = "", anchor: str = "start") -> None:
        """A line of text, whose `anchor` (start, middle, end) is at a place."""
        if content:
            x, y = at
            style = f' class="{escape(kind)}"' if kind else ""
            attributes = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"'
            self._lines.append(f"<text{style} {attributes}>{escape(content)}</text>")

    def legend(self, at: tuple[float, float], legend: Legend) -> None:
        """A legend, from its upper left corner on."""
        for x, row, fill, name in legend.keys:
            left, middle = at[0] + x, at[1] + 6 + (row + 0.5) * _ROW
            if fill:
                self.rect("box key", (left, middle - _KEY / 2), (_KEY, _KEY), fill)
            self.text((left + _KEY + 6, middle), name)


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
