"""Changes the SQLite table ``ledgers`` of an index, which has the states of ledgers, within the commits of the index.

A damaged ledger id can make a row look like the state of another ledger.  If a commit replaces or deletes such a row,
nothing shows any more that a state, and perhaps a fence, is missing.  So each row is read before it is changed.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from ...errors import DamageError
from ..interfaces import LedgerRow
from .index_file import LEDGER_COLUMNS, Connection, mark_misled, storage_errors
from .row_values import ledger_from, ledger_values

_TOGETHER = 100  # maximum number of ledger states that one query reads
_PUT = f"INSERT OR REPLACE INTO ledgers({LEDGER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"


class StateWriter:
    """Stores and deletes ledger states.

    If a stored state that is replaced or deleted is damaged, the index is marked (:func:`~.index_file.mark_misled`).

    :ivar change: number of states by which the table has grown; negative if it has shrunk.
    """

    def __init__(self, connection: Connection) -> None:
        self.change = 0
        self._connection = connection

    def put(self, rows: Sequence[LedgerRow]) -> None:
        """Store the states ``rows``; they replace the stored states of the same ledgers."""
        ledger_ids = {row.ledger_id for row in rows}
        self.change += len(ledger_ids) - self._count(ledger_ids)
        self._connection.executemany(_PUT, map(ledger_values, rows))

    def delete(self, ledger_ids: Sequence[int]) -> None:
        """Delete the states of deleted ledgers, as far as they are stored.

        :param ledger_ids: ids of these ledgers.
        """
        self._count(ledger_ids)
        for ledger_id in ledger_ids:
            self.change -= self._connection.execute("DELETE FROM ledgers WHERE ledger = ?", (ledger_id,)).rowcount

    def _count(self, ledger_ids: Iterable[int]) -> int:
        """Return how many of the given ledgers have a stored state; if one of these is damaged, mark the index."""
        ids, count = iter(ledger_ids), 0
        while part := [*islice(ids, _TOGETHER)]:
            query = f"SELECT {LEDGER_COLUMNS} FROM ledgers WHERE ledger IN ({', '.join('?' * len(part))})"
            try:
                with storage_errors("index"):
                    found = self._connection.execute(query, part).fetchall()
                    count += len(found)
                    for values in found:
                        ledger_from(values)
            except DamageError:
                mark_misled(self._connection)
        return count
