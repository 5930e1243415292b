"""Look-ups in one state of the table of runs."""

from bisect import bisect_left
from collections.abc import Sequence

from ..interfaces import IndexRow
from .index_file import Connection
from .row_values import row_from

MAX_ID = 2**63 - 1

RUN_COLUMNS = "ledger, first, last, log, offset, sizes, checksums, crc"
NEXT = f"SELECT {RUN_COLUMNS} FROM runs WHERE ledger = ? AND first > ?"
NEXT_LEDGERS = f"SELECT {RUN_COLUMNS} FROM runs WHERE ledger > ?"
IN_ORDER = " ORDER BY ledger, first LIMIT ?"
_UP_TO = f"SELECT {RUN_COLUMNS} FROM runs WHERE (ledger, first) <= (?, ?) ORDER BY ledger DESC, first DESC LIMIT 1"
_FROM_ON = f"SELECT {RUN_COLUMNS} FROM runs WHERE (ledger, first) >= (?, ?)"


def floor(connection: Connection, ledger_id: int, entry_id: int) -> IndexRow | None:
    """Find the last row of a ledger that begins at or before an entry.

    :returns: None if the verified row at this place belongs to a ledger before it, or if there is none.
    """
    values = connection.execute(_UP_TO, (ledger_id, entry_id)).fetchone()
    row = row_from(values) if values is not None else None
    return row if row is not None and row.ledger_id == ledger_id else None


def check_next(connection: Connection, ledger_id: int, entry_id: int) -> IndexRow | None:
    """Verify and return the row after a key; :func:`floor` has verified the row before.

    The search is for the lowest key after it: SQLite would find an equal one, and skip rows beside it
    that are not greater.

    :raises DamageError: the row is damaged: it is unknown what is missing at this place (S5).
    """
    if entry_id < MAX_ID:
        found = connection.execute(f"{_FROM_ON}{IN_ORDER}", (ledger_id, entry_id + 1, 1))
    else:
        found = connection.execute(f"{NEXT_LEDGERS}{IN_ORDER}", (ledger_id, 1))
    values = found.fetchone()
    return row_from(values) if values is not None else None


def check_place(connection: Connection, ledger_id: int, entry_id: int) -> None:
    """Verify the rows before and after ``entry_id`` of ``ledger_id``.

    :param connection: which sees one state of the index.
    """
    floor(connection, ledger_id, entry_id)
    check_next(connection, ledger_id, entry_id)


def last_entry(connection: Connection, ledger_id: int) -> int:
    """Return the highest entry id of ``ledger_id``, or -1.

    :param connection: which sees one state of the index.
    """
    return last_entries(connection, (ledger_id,)).get(ledger_id, -1)


def last_entries(connection: Connection, ledger_ids: Sequence[int]) -> dict[int, int]:
    """Return the highest entry id of each given ledger that has rows.

    The two rows beside the place of an absent ledger stand for all ledgers between them, so that many new ledgers
    take one look-up.

    :param connection: which sees one state of the index.
    :param ledger_ids: ascending.
    """
    found: dict[int, int] = {}
    index = 0
    while index < len(ledger_ids):
        ledger_id = ledger_ids[index]
        row = floor(connection, ledger_id, MAX_ID)
        behind = check_next(connection, ledger_id, MAX_ID)
        if row is not None:
            found[ledger_id] = row.last
        if behind is None:
            break
        index = bisect_left(ledger_ids, behind.ledger_id, index + 1)
    return found
