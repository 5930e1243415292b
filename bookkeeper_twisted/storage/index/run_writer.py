"""Changes the SQLite table ``runs`` of an index, within the commits of the index.

A damaged key can mislead an insertion or a deletion in the same way as a search.  So each insertion is verified: the
row before and the row after each inserted row must be intact.  For most rows of a flush, a cheaper proof is enough.
The writer remembers the CRC of the last row of each ledger.  If a row with this CRC is directly before a new row with
higher entry ids of the ledger, then the new row is where it belongs: no other row belongs between these two.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter

from ...errors import DamageError
from ..interfaces import IndexRow
from .index_file import Connection, is_misled, mark_misled, storage_errors
from .row_values import Values, row_from, values_of
from .rows import without
from .stored_runs import RUN_COLUMNS, StoredRuns

_PAGE = 1000
_TOGETHER = 50  # maximum number of rows of one statement: each costs 0.5 us and releases the interpreter lock
_KNOWN_ENDS = 1 << 16  # maximum number of ledgers whose last row is remembered, in up to 8 MiB

_key = itemgetter(slice(2))

_DELETE = "DELETE FROM runs WHERE ledger = ? AND first = ? AND crc = ?"
_BEFORE = f"SELECT {RUN_COLUMNS} FROM runs WHERE (ledger, first) < (?, ?) ORDER BY ledger DESC, first DESC LIMIT 1"
_FROM_ON = f"SELECT {RUN_COLUMNS} FROM runs WHERE (ledger, first) >= (?, ?) ORDER BY ledger, first"
_OF_LEDGER = f"SELECT {RUN_COLUMNS} FROM runs WHERE ledger = ? AND first > ? ORDER BY first LIMIT ?"
_TWO_CRCS = (
    "SELECT (SELECT sum(crc) FROM (SELECT crc FROM runs WHERE (ledger, first) <= (column1, column2)"
    " ORDER BY ledger DESC, first DESC LIMIT 2)) FROM (VALUES "
)


@lru_cache(_TOGETHER)
def _insert_of(count: int) -> str:
    row = "(?, ?, ?, ?, ?, ?, ?, ?)"
    return f"INSERT INTO runs({RUN_COLUMNS}) VALUES {', '.join([row] * count)}"


@lru_cache(_TOGETHER)
def _two_crcs_of(count: int) -> str:
    """Return a query for the sum of two CRCs for each of ``count`` keys: of the row with the key and the row before."""
    return f"{_TWO_CRCS}{', '.join(['(?, ?)'] * count)})"


def _intact_key(values: Values) -> tuple[int, int, int] | None:
    """Return ledger, first entry and CRC of a row; None if the row is damaged."""
    try:
        row_from(values)
    except DamageError:
        return None
    return values[0], values[1], values[7]


class RunWriter(StoredRuns):
    """Inserts and deletes index rows in the SQLite table ``runs``.

    :ivar change: number of rows by which the table has grown since :meth:`begin`; negative if it has shrunk.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.change = 0
        self._misled = False  # whether an earlier commit has marked the index
        self._ends: dict[int, int] = {}  # by ledger: the CRC of its last row in the table

    def begin(self) -> None:
        """Begin a commit, whose transaction has begun."""
        self.change = 0
        self._misled = is_misled(self._connection)

    def forget(self) -> None:
        """Forget the last rows of all ledgers, for example because a transaction was rolled back."""
        self._ends.clear()

    def append(self, rows: Sequence[IndexRow]) -> None:
        """Insert new index rows behind all rows of their ledgers.

        If a row beside an inserted row is damaged, the rows are inserted all the same, and the index is marked by
        :func:`~.index_file.mark_misled`.

        :param rows: the rows, ascending for each ledger; their entry ids are higher than all in the index.
        """
        inserted = list(values_of(rows))
        self.change += len(inserted)
        ends = self._ends
        if len(ends) > _KNOWN_ENDS:
            ends.clear()
        unproven: list[Values] = []
        for at in range(0, len(inserted), _TOGETHER):
            part = inserted[at : at + _TOGETHER]
            self._connection.execute(_insert_of(len(part)), [*chain.from_iterable(part)])
            sums: list[int] = []
            for ledger_id, _, _, _, _, _, _, crc in part:
                sums.append(ends.get(ledger_id, 0) + crc)
                ends[ledger_id] = crc
            keys = [*chain.from_iterable(map(_key, part))]
            found = self._connection.execute(_two_crcs_of(len(part)), keys).fetchall()
            if found != [*zip(sums)]:
                unproven += [values for values, each, (sum_,) in zip(part, sums, found, strict=True) if sum_ != each]
        try:
            self._verify_places(sorted(unproven))
        except DamageError:
            mark_misled(self._connection)

    def insert(self, rows: Sequence[IndexRow]) -> None:
        """Insert index rows of entries that no row of the table has.

        :raises DamageError: a row beside an inserted row is damaged.
        """
        inserted = list(values_of(rows))
        self.change += len(inserted)
        self._connection.executemany(_insert_of(1), inserted)
        for row in rows:
            self._ends.pop(row.ledger_id, None)
        self._verify_places(sorted(inserted))

    def overlapped(self, ledger_id: int, first: int, last: int) -> list[IndexRow]:
        """Return the index rows of ``ledger_id`` that contain any of the entries ``first`` to ``last``, sorted.

        A new row is to replace them.  If a damaged row has misled an earlier commit, this search may miss some of them,
        and their older copies of the entries would stay valid.

        :raises DamageError: a row next to the entries is damaged, or an earlier commit has marked the index.
        """
        if self._misled:
            raise DamageError(f"older index rows of ledger {ledger_id} may not be found")
        return super().overlapped(ledger_id, first, last)

    def make_room(self, row: IndexRow, stored: Sequence[IndexRow]) -> None:
        """Trim, split or remove stored index rows, because a new row contains entries of them.

        :param row: the new row.
        :param stored: the stored rows that have entries in common with the new row.
        :raises DamageError: a stored row is not found by its key, because a stored key is damaged; or a row beside a
            remaining part is damaged.
        """
        if stored:
            keys = [(values[0], values[1], values[7]) for values in values_of(stored)]
            if self._connection.executemany(_DELETE, keys).rowcount != len(keys):
                raise DamageError(f"index rows of ledger {row.ledger_id} are damaged")
            self.change -= len(keys)
            self.insert([part for old in stored for part in without(old, row.first, row.last)])

    def delete(self, ledger_id: int) -> None:
        """Delete the index rows of a deleted ledger, except damaged rows.

        A damaged row may be a row of another ledger; if it were deleted, no search would notice that it is missing.
        For the same reason, a row is not found by its key alone, which a damaged row may have, too.

        :param ledger_id: id of the deleted ledger.
        """
        self._ends.pop(ledger_id, None)
        after, is_full = -1, True
        while is_full:
            with storage_errors("index"):
                page = self._connection.execute(_OF_LEDGER, (ledger_id, after, _PAGE)).fetchall()
            keys = [key for key in map(_intact_key, page) if key is not None and key[0] == ledger_id and key[1] > after]
            self.change -= self._connection.executemany(_DELETE, keys).rowcount if keys else 0
            is_full = len(page) == _PAGE and bool(keys)
            after = keys[-1][1] if keys else after

    def _verify_places(self, inserted: Sequence[Values]) -> None:
        """Verify the rows before and after the inserted rows; of adjacent inserted rows, only the outer neighbours.

        :param inserted: the values of the inserted rows, sorted.
        :raises DamageError: a neighbour is damaged, or an inserted row is not found.
        """
        with storage_errors("index"):
            index = 0
            while index < len(inserted):
                begin = index
                before = self._connection.execute(_BEFORE, inserted[index][:2]).fetchone()
                if before is not None:
                    row_from(before)
                # read one stretch of the table from the row before on, which no damaged key between them can mislead
                stretch = self._connection.execute(_FROM_ON, (before or inserted[index])[:2])
                if before is not None and stretch.fetchone() != before:
                    raise DamageError("index rows are not in order")
                for values in stretch:
                    if index == len(inserted) or values != inserted[index]:
                        row_from(values)
                        break
                    index += 1
                stretch.close()
                if index == begin:
                    raise DamageError("index rows are not in order")
