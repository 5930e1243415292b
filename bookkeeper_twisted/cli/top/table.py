"""Sorts the table of ``top``, and formats it so that it fits the terminal."""

from collections.abc import Mapping, Sequence

from .load import COLUMNS, BookieLoad, Column, line_of, title_line

_SORT_BY_ID = "bookie"
SORTS = (_SORT_BY_ID, *(column.key for column in COLUMNS))
"""The values of option ``-sort``, each of which stands for an order of the table."""

KEYS: Mapping[str, str] = {
    "b": "bookie", "a": "adds", "r": "reads", "i": "in", "o": "out", "p": "p99", "u": "queue", "d": "disk",
    "c": "connections",
}  # fmt: skip
"""Maps a key on the keyboard to the order that the key chooses, one of :data:`SORTS`."""

HELP = "q quit  order: b id  a adds  r reads  i in  o out  p p99  u queue  d disk  c connections"
_ID_WIDTH = 21  # characters of the longest common bookie id, "255.255.255.255:65535"
_COLOURS = {"down": "31", "readOnly": "33"}


def ordered(loads: Sequence[BookieLoad], sort: str) -> list[BookieLoad]:
    """Sort the bookies by id, or by a figure in descending order; bookies whose figure is unknown come last.

    :param sort: the order, one of :data:`SORTS`.
    """
    found = sorted(loads, key=lambda load: load.bookie_id)
    for column in COLUMNS:
        if column.key == sort:
            found.sort(key=lambda load: _descending(column.figure(load)))
    return found


def _descending(figure: float | None) -> float:
    return 1.0 if figure is None else -figure


def table_lines(loads: Sequence[BookieLoad], width: int, height: int, colour: bool) -> list[str]:
    """Return the title line and the lines of the bookies, limited to the size of the terminal.

    :param loads: the sorted bookies.
    :param width: maximum number of characters in a line.  The last columns are left out if the bookie ids would not
        fit; longer lines are cut.
    :param height: maximum number of lines.  If not all bookies fit, the last line gives the number of hidden bookies.
    :param colour: whether lines of bookies that are not writable have a colour.
    """
    columns = _fitting(width, max((len(load.bookie_id) for load in loads), default=0))
    shown = loads if len(loads) < height else loads[: max(height - 2, 0)]
    lines = [title_line(columns)[:width]]
    for load in shown:
        text = line_of(load, columns)[:width]
        code = _COLOURS.get(load.state) if colour else None
        lines.append(f"\x1b[{code}m{text}\x1b[0m" if code else text)
    if len(shown) < len(loads):
        lines.append(f"and {len(loads) - len(shown)} more"[:width])
    return lines[: max(height, 0)]


def _fitting(width: int, id_width: int) -> Sequence[Column]:
    columns: Sequence[Column] = COLUMNS
    while columns and len(title_line(columns)) - len("BOOKIE") + min(id_width, _ID_WIDTH) > width:
        columns = columns[:-1]
    return columns
