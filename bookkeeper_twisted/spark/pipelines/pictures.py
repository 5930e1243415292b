"""Draws the results of pipelines as HTML pages with bar charts (SVG) and tables; the pages need no scripts."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any

import attrs

from ...ledger.replica_scan import DAMAGED, LENGTH, MISSING, OK, UNREACHABLE

COLOURS = {OK: "#2e7d32", MISSING: "#ef6c00", DAMAGED: "#c62828", UNREACHABLE: "#757575", LENGTH: "#6a1b9a"}
_OTHER = ("#1565c0", "#00838f", "#9e9d24", "#ad1457", "#4e342e")

_WIDTH, _BAR, _GAP, _LEFT, _RIGHT = 720, 22, 8, 180, 300

_SEEN = 4.0
"""Minimum width of a part of a bar in pixels, so that one damaged entry among a million is visible."""


@attrs.frozen
class Bar:
    """One bar of a chart, made of parts in different colours.

    :ivar parts: name and length of each part; parts with the same name have the same colour.
    :ivar note: text that is printed at the end of the bar.
    """

    label: str
    parts: Sequence[tuple[str, float]]
    note: str = ""

    @property
    def length(self) -> float:
        """Return the sum of the lengths of all parts."""
        return sum(value for _, value in self.parts)


def replica_bars(totals: Iterable[Any]) -> list[Bar]:
    """Make a bar for each bookie, with a part for each state of its entries; the state ``ok`` comes last.

    :param totals: rows that :func:`~.verify.summary` returns.
    """
    by_bookie: dict[str, list[tuple[str, int]]] = {}
    for row in sorted(totals, key=lambda row: (row.bookie_id, row.status == OK, row.status)):
        by_bookie.setdefault(row.bookie_id, []).append((row.status, row.entries))
    return [
        Bar(bookie_id, parts, ", ".join(f"{entries:,} {status}" for status, entries in parts))
        for bookie_id, parts in by_bookie.items()
    ]


def space_bars(ledgers: Iterable[Any], names: Mapping[int, str] = MappingProxyType({})) -> list[Bar]:
    """Make a bar for each ledger; the bar's length is the total size of the ledger's entries in entry logs.

    :param ledgers: rows that :func:`~.space.by_ledger` returns.
    :param names: labels of ledgers by id; others are labelled with their id.
    """
    return [
        Bar(names.get(row.ledger_id, f"ledger {row.ledger_id}"), [("bytes", row.bytes)], human(row.bytes))
        for row in ledgers
    ]


def chart(title: str, bars: Sequence[Bar]) -> str:
    """Draw a bar chart as HTML: the ``title`` as heading, then an SVG.

    If the parts of the bars have different names, the chart has a legend.

    :param bars: the bars from top to bottom; the longest fills the width.
    """
    longest = max((bar.length for bar in bars), default=0) or 1
    names = list(dict.fromkeys(name for bar in bars for name, _ in bar.parts))
    colours = {name: COLOURS.get(name, _OTHER[i % len(_OTHER)]) for i, name in enumerate(names)}
    height = (len(bars) + 1) * (_BAR + _GAP)
    lines = [f"<h2>{escape(title)}</h2>", f'<svg width="{_LEFT + _WIDTH + _RIGHT}" height="{height}" font-size="13">']
    for i, name in enumerate(names if len(names) > 1 else ()):
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
        width = max(_WIDTH * value / longest, _SEEN if value else 0.0)
        lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colours[name]}">'
                     f"<title>{escape(name)}: {value:,.0f}</title></rect>")  # fmt: skip
        x += width
    lines.append(f'<text x="{x + 6:.1f}" y="{y + 16}">{escape(bar.note)}</text>')
    return lines


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Draw a table as HTML, below a heading.

    :param title: plain text.
    :param columns: names of the columns, plain text.
    :param rows: rows, each with a value per column.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = ["<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>" for row in rows]
    return "\n".join([f"<h2>{escape(title)}</h2>", f"<table><tr>{head}</tr>", *lines, "</table>"])


def findings(rows: Iterable[Any]) -> str:
    """Draw a table of damaged ranges of entries as HTML; return an empty string if there are none.

    :param rows: rows that :func:`~.verify.damages` returns.
    """
    columns = ("ledger", "first entry", "last entry", "entries", "bookie", "state", "why")
    bad = [(row.ledger_id, row.first, row.last, row.entries, row.bookie_id, row.status, row.detail) for row in rows]
    return table("What is wrong", columns, bad) if bad else ""


def page(title: str, charts: Sequence[str]) -> str:
    """Make a whole HTML page from charts and tables.

    :param title: plain text.
    :param charts: HTML that :func:`chart` and :func:`table` returned, from top to bottom.
    """
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
    style = (
        "<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;font-size:13px}"
        "th,td{padding:3px 10px;text-align:left;border-bottom:1px solid #ddd}</style>"
    )
    return "\n".join([head, style, f"<h1>{escape(title)}</h1>", *charts, "</html>", ""])


def human(n_bytes: float) -> str:
    """Format a number of bytes in the largest unit in which it is at least 1, for example ``1.5 MiB``.

    :param n_bytes: number of bytes.
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"
