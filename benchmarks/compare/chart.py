"""``results.svg``: the ratios as bars on a logarithmic scale, readable on light and dark paper."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from .comparison import Row
from .targets import FIGURES, HIGHER_IS_BETTER

_LEFT, _PLOT, _RIGHT = 300.0, 520.0, 130.0
_TOP, _PITCH, _BAR, _BOTTOM = 58.0, 22.0, 12.0, 34.0
_WIDTH = _LEFT + _PLOT + _RIGHT
_LEAST, _MOST = 0.1, 10.0
_MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.small { font-size: 11px; fill: #57606a; }
.grid { stroke: #d0d7de; stroke-width: 1; }
.one { stroke: #24292f; stroke-width: 1.5; }
.met { fill: #2da44e; }
.missed { fill: #cf222e; }
.range { stroke: #57606a; stroke-width: 1; }
.target { stroke: #24292f; stroke-width: 2.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #9da7b3; }
  .grid { stroke: #30363d; }
  .one, .target { stroke: #e6edf3; }
  .met { fill: #3fb950; }
  .missed { fill: #f85149; }
  .range { stroke: #9da7b3; }
}
"""


def better(ratio: float, figure: str) -> float:
    """How many times better ours is: a ratio of costs is turned over, so that to the right is always better."""
    return ratio if figure in HIGHER_IS_BETTER else 1 / ratio


class _Scale:
    """From a ratio to a place on the paper; wide enough for all that is drawn."""

    def __init__(self, values: Sequence[float]) -> None:
        self.low = min(_LEAST, *values)
        self.high = max(_MOST, *values)

    def x(self, value: float) -> float:
        """Where a ratio is."""
        span = math.log(self.high / self.low)
        return _LEFT + _PLOT * math.log(value / self.low) / span


def svg(rows: Sequence[Row]) -> str:
    """The whole picture; rows that are not beside Apache's bookie are left out."""
    rows = [row for row in rows if row.target.beside_apache]
    drawn = [
        better(value, row.target.figure) for row in rows for value in (row.low, row.high, row.ratio, row.target.bound)
    ]
    scale = _Scale([*drawn, 1.0])
    height = _TOP + _PITCH * len(rows) + _BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" '
        'aria-label="Ratios of our bookie to Apache\'s, by workload">',
        f"<style>{_STYLE}</style>",
        '<text x="8" y="20">How many times better than Apache\'s bookie (right of 1: ours is better)</text>',
        '<text x="8" y="37" class="small">bar: median, thin line: all rounds, tick: target; '
        "costs and times are turned over</text>",
        *_grid(scale, height),
    ]
    for at, row in enumerate(rows):
        lines.extend(_bar(row, scale, _TOP + _PITCH * at))
    return "\n".join([*lines, "</svg>", ""])


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _grid(scale: _Scale, height: float) -> Iterator[str]:
    bottom = height - _BOTTOM + 4
    for mark in _MARKS:
        if scale.low <= mark <= scale.high:
            x = scale.x(mark)
            yield _line("one" if mark == 1 else "grid", x, _TOP - 8, x, bottom)
            yield f'<text class="small" x="{x:.1f}" y="{bottom + 15:.1f}" text-anchor="middle">{mark:g}</text>'


def _bar(row: Row, scale: _Scale, top: float) -> Iterator[str]:
    figure, middle = row.target.figure, top + _BAR / 2
    value = better(row.ratio, figure)
    start, end = sorted((scale.x(1), scale.x(value)))
    low, high = (scale.x(better(each, figure)) for each in (row.low, row.high))
    target = scale.x(better(row.target.bound, figure))
    label = escape(f"{row.target.workload}, {FIGURES[figure]}")
    kind = "met" if row.met else "missed"
    yield f'<text x="{_LEFT - 10:.0f}" y="{middle + 4:.1f}" text-anchor="end">{label}</text>'
    yield f'<rect class="{kind}" x="{start:.1f}" y="{top:.1f}" width="{end - start:.1f}" height="{_BAR:.0f}" rx="2"/>'
    yield _line("range", low, middle, high, middle)
    yield _line("target", target, top - 3, target, top + _BAR + 3)
    note = f"{value:.2f} ({'target' if row.met else 'missed:'} {better(row.target.bound, figure):.2g})"
    yield f'<text class="small" x="{_LEFT + _PLOT + 10:.0f}" y="{middle + 4:.1f}">{note}</text>'
