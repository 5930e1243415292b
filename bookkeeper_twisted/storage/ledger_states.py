"""The states of all known ledgers in memory, and the changes that the index does not have yet.

A ledger that is deleted is forgotten at once here, and by the index with the next checkpoint.  If it was fenced, a
row remains that refuses late adds as before (S3).
"""

from collections.abc import Iterable

import attrs

from .interfaces import LedgerRow

_SPARE_KEYS = 1000


class LedgerStates:
    """A map from ledgers to their master key, fence and explicit LAC.

    All ledgers share one dictionary, and equal master keys are one object (most ledgers of a user have the same).  Keys
    of deleted ledgers are dropped once they outnumber those in use: any peer can send new ones.
    """

    __slots__ = ("_rows", "_keys", "_dirty", "_deleted", "_deleting", "_forgotten")

    def __init__(self, stored: Iterable[LedgerRow] = ()) -> None:
        self._rows: dict[int, LedgerRow] = {}
        self._keys: dict[bytes, bytes] = {}
        self._dirty: set[int] = set()
        self._deleted: set[int] = set()
        self._deleting: set[int] = set()
        self._forgotten: dict[int, int] = {}
        for row in stored:
            if row.is_gone:
                self._forgotten[row.ledger_id] = row.forgotten_at
            else:
                self._rows[row.ledger_id] = self._interned(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, ledger_id: int) -> bool:
        return ledger_id in self._rows

    def _interned(self, row: LedgerRow) -> LedgerRow:
        key = self._keys.setdefault(row.master_key, row.master_key)
        return row if key is row.master_key else attrs.evolve(row, master_key=key)

    def get(self, ledger_id: int) -> LedgerRow | None:
        """Return the state of ``ledger_id``, or None if the ledger is unknown."""
        return self._rows.get(ledger_id)

    def put(self, row: LedgerRow) -> None:
        """Set the state of a ledger to ``row``; a changed state is dirty until :meth:`take_dirty`."""
        if self._rows.get(row.ledger_id) != row:
            self._forgotten.pop(row.ledger_id, None)
            self._rows[row.ledger_id] = self._interned(row)
            self._dirty.add(row.ledger_id)

    def ids(self) -> list[int]:
        """Return the ids of all known ledgers, ascending."""
        return sorted(self._rows)

    def forget(self, ledger_id: int, now: int) -> None:
        """Delete a ledger; the next :meth:`take_deleted` returns it, so that the caller deletes its stored rows.

        :param now: seconds since the epoch.
        """
        row = self._rows.pop(ledger_id, None)
        if row is None:
            return
        if len(self._keys) > 2 * len(self._rows) + _SPARE_KEYS:
            self._keys = {row.master_key: row.master_key for row in self._rows.values()}
        self._deleted.add(ledger_id)
        self._dirty.discard(ledger_id)
        if row.fenced:
            self._forgotten[ledger_id] = max(now, 1)  # at least 1, because 0 stands for a ledger that is not forgotten
            self._dirty.add(ledger_id)

    def was_fenced(self, ledger_id: int) -> bool:
        """Test whether ``ledger_id`` was fenced here before it was deleted."""
        return ledger_id in self._forgotten

    def is_deleted(self, ledger_id: int) -> bool:
        """Test whether the index may still have rows of the deleted ledger ``ledger_id``.  Any thread."""
        return ledger_id in self._deleted or ledger_id in self._deleting

    def undeleted(self) -> int:
        """Return the number of deleted ledgers that the index may still hold.  Any thread."""
        return len(self._deleted) + len(self._deleting)

    def expire(self, before: int) -> int:
        """Drop the states of ledgers that were forgotten ``before`` a time, in seconds since the epoch.

        :returns: the number of dropped rows.
        """
        expired = [ledger_id for ledger_id, at in self._forgotten.items() if at < before]
        for ledger_id in expired:
            del self._forgotten[ledger_id]
            if ledger_id not in self._rows:
                self._dirty.discard(ledger_id)
                self._deleted.add(ledger_id)
        return len(expired)

    def take_deleted(self) -> list[int]:
        """Return the ledgers whose stored rows must be deleted before the states of :meth:`take_dirty` are stored."""
        taken = sorted(self._deleted)
        self._deleting |= self._deleted
        self._deleted = set()
        return taken

    def take_dirty(self) -> list[LedgerRow]:
        """Return the states to be stored, and count them as stored."""
        dirty, self._dirty = self._dirty, set()
        return [self._stored_form(ledger_id) for ledger_id in sorted(dirty)]

    def _stored_form(self, ledger_id: int) -> LedgerRow:
        row = self._rows.get(ledger_id)
        return row if row is not None else LedgerRow(ledger_id, fenced=True, forgotten_at=self._forgotten[ledger_id])

    def deleted(self, ledger_ids: Iterable[int], succeeded: bool) -> None:
        """Report whether the ledgers of :meth:`take_deleted` were deleted.

        :param ledger_ids: all that it returned.
        :param succeeded: if False, the next call returns them again.
        """
        self._deleting.difference_update(ledger_ids)
        if not succeeded:
            self._deleted.update(ledger_ids)

    def not_stored(self, rows: Iterable[LedgerRow]) -> None:
        """Report that the ``rows`` of :meth:`take_dirty` were not stored; the next call returns their ledgers again."""
        ids = [row.ledger_id for row in rows]
        self._dirty.update(i for i in ids if i in self._rows or i in self._forgotten)
