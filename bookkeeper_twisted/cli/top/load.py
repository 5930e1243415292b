"""The load of a bookie between two samples of its metrics, and the columns that show it."""

from collections.abc import Callable, Iterable, Sequence

import attrs

from ..shell_rows import Formats, ShellRow
from .figures import MetricsSample

_MEGABYTE = 1_000_000


@attrs.frozen
class BookieLoad(ShellRow):
    """The state and the load of a bookie; None for a figure that is not known.

    :ivar state: ``writable``, ``readOnly`` or ``down``.
    :ivar add_p99_ms: latency of adds that 99 % do not exceed, in ms.
    :ivar journal_queue: number of adds that wait in the queues of the journals; adds of consecutive entries that
        arrive together count as one.
    :ivar disk_use: use of the fullest ledger disk, in percent.
    :ivar note: why the bookie is read-only, or why figures are missing; otherwise empty.
    """

    bookie_id: str
    state: str
    adds_per_second: float | None = None
    reads_per_second: float | None = None
    bytes_in_per_second: float | None = None
    bytes_out_per_second: float | None = None
    add_p99_ms: float | None = None
    journal_queue: float | None = None
    disk_use: float | None = None
    connections: float | None = None
    note: str = ""

    def text(self, formats: Formats) -> Iterable[str]:
        yield line_of(self, COLUMNS)


@attrs.frozen
class Column:
    """A column of the table: one figure.

    :ivar key: the value of option ``-sort`` that sorts the table by this column.
    :ivar figure: returns the figure of this column from the load of a bookie.
    :ivar digits: number of digits after the decimal point.
    """

    title: str
    key: str
    figure: Callable[[BookieLoad], float | None]
    digits: int = 0

    @property
    def width(self) -> int:
        """The minimum width of a cell, in characters."""
        return max(len(self.title), 7)


COLUMNS = (
    Column("ADDS/S", "adds", lambda load: load.adds_per_second),
    Column("READS/S", "reads", lambda load: load.reads_per_second),
    Column("MB/S IN", "in", lambda load: _megabytes(load.bytes_in_per_second), 2),
    Column("MB/S OUT", "out", lambda load: _megabytes(load.bytes_out_per_second), 2),
    Column("P99 MS", "p99", lambda load: load.add_p99_ms, 2),
    Column("QUEUE", "queue", lambda load: load.journal_queue),
    Column("DISK %", "disk", lambda load: load.disk_use, 1),
    Column("CONNS", "connections", lambda load: load.connections),
)
"""The columns, the most important first; on a narrow terminal the last columns are left out."""


def _megabytes(n_bytes: float | None) -> float | None:
    return None if n_bytes is None else n_bytes / _MEGABYTE


def line_of(load: BookieLoad, columns: Sequence[Column]) -> str:
    """Return the line of a bookie in the table: its state, the figures of ``columns``, its id and its note.

    :param load: the state, the figures, the id and the note.
    :param columns: the columns to show.
    """
    cells = [f"{load.state:8}"]
    for column in columns:
        figure = column.figure(load)
        cells.append(f"{'-' if figure is None else f'{figure:.{column.digits}f}':>{column.width}}")
    cells.append(load.bookie_id)
    return "  ".join(cells) + (f"  {load.note}" if load.note else "")


def title_line(columns: Sequence[Column]) -> str:
    """Return the first line of the table, with the titles of ``columns``."""
    return "  ".join([f"{'STATE':8}", *(f"{column.title:>{column.width}}" for column in columns), "BOOKIE"])


def load_of(
    bookie_id: str, state: str, before: MetricsSample | None, now: MetricsSample | None, note: str
) -> BookieLoad:
    """Compute the load of a bookie from two samples.

    :param state: ``writable``, ``readOnly`` or ``down``.
    :param before: the previous sample; None if there is none, so that the rates are unknown.
    :param now: the new sample; None if the bookie has returned no metrics.
    :param note: why the bookie is read-only, or why there is no new sample; otherwise empty.
    """
    if now is None:
        return BookieLoad(bookie_id, state, note=note)
    return BookieLoad(
        bookie_id, state,
        _rate(before, now, "adds"), _rate(before, now, "reads"),
        _rate(before, now, "bytes_in"), _rate(before, now, "bytes_out"),
        now.add_p99_ms, now.journal_queue, now.disk_use, now.connections, note,
    )  # fmt: skip


def _rate(before: MetricsSample | None, now: MetricsSample, name: str) -> float | None:
    if before is None or now.at <= before.at:
        return None
    old, new = getattr(before, name), getattr(now, name)
    if old is None or new is None or new < old:  # a smaller counter means that the bookie was restarted
        return None
    return float(new - old) / (now.at - before.at)
