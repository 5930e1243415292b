"""Pages with bar charts of what pipelines found; plain HTML and SVG, to be looked at without anything else."""

from collections.abc import Sequence
from html import escape

import attrs

COLOURS = {"ok": "#2e7d32", "missing": "#ef6c00", "damaged": "#c62828", "unreachable": "#757575", "length": "#6a1b9a"}
_OTHER = ("#1565c0", "#00838f", "#9e9d24", "#ad1457", "#4e342e")

_WIDTH, _BAR, _GAP, _LEFT = 720, 22, 8, 180


@attrs.frozen
class Bar:
    """One bar, from parts of different colours.

    :ivar parts: names, in the colours of the legend, and their lengths.
    :ivar note: printed at its end.
    """

    label: str
    parts: Sequence[tuple[str, float]]
    note: str = ""

    @property
    def length(self) -> float:
        """Of all parts."""
        return sum(value for _, value in self.parts)


def chart(title: str, bars: Sequence[Bar]) -> str:
    """Draw a bar chart as HTML: a heading, the ``title``, and an SVG.

    :param bars: from top to bottom; the longest fills the width.
    """
    longest = max((bar.length for bar in bars), default=0) or 1
    names = list(dict.fromkeys(name for bar in bars for name, _ in bar.parts))
    colours = {name: COLOURS.get(name, _OTHER[i % len(_OTHER)]) for i, name in enumerate(names)}
    height = (len(bars) + 1) * (_BAR + _GAP)
    lines = [f"<h2>{escape(title)}</h2>", f'<svg width="{_LEFT + _WIDTH + 200}" height="{height}" font-size="13">']
    for i, name in enumerate(names):
        x = _LEFT + 140 * i
        lines.append(f'<rect x="{x}" y="2" width="12" height="12" fill="{colours[name]}"/>')
        lines.append(f'<text x="{x + 18}" y="13">{escape(name)}</text>')
    for row, bar in enumerate(bars, 1):
        lines += _bar(bar, row * (_BAR + _GAP), longest, colours)
    return "\n".join([*lines, "</svg>"])


def _bar(bar: Bar, y: int, longest: float, colours: dict[str, str]) -> list[str]:
    lines = [f'<text x="{_LEFT - 8}" y="{y + 16}" text-anchor="end">{escape(bar.label)}</text>']
    x = float(_LEFT)
    for name, value in bar.parts:
        width = _WIDTH * value / longest
        if value:
            width = max(width, 1.5)  # one damaged entry among a million is seen, too
        lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colours[name]}">'
                     f"<title>{escape(name)}: {value:,.0f}</title></rect>")  # fmt: skip
        x += width
    lines.append(f'<text x="{x + 6:.1f}" y="{y + 16}">{escape(bar.note)}</text>')
    return lines


def page(title: str, charts: Sequence[str]) -> str:
    """Make an HTML page.

    :param title: plain text.
    :param charts: HTML, as :func:`chart` gives it.
    """
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
    style = "<style>body{font-family:sans-serif;margin:2em;max-width:1100px}</style>"
    return "\n".join([head, style, f"<h1>{escape(title)}</h1>", *charts, "</html>", ""])


def human(n_bytes: float) -> str:
    """Format a number of bytes, ``n_bytes``, in the largest unit of which there is one: ``1.5 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"
