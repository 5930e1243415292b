"""The states of all known ledgers, in memory.  A checkpoint stores the changed states in the index.

A deleted ledger is removed from memory immediately, and from the index at the next checkpoint.  If it was fenced, the
fence is remembered, so that the bookie still refuses late adds.
"""

from collections.abc import Iterable

import attrs

from .interfaces import LedgerRow

_SPARE_KEYS = 1000


class LedgerStates:
    """The states of all known ledgers: master key, fence and explicit LAC.

    Equal master keys share one object to save memory, because most ledgers of a user have the same key.  As any client
    can send new keys, the keys of deleted ledgers are dropped from time to time.
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
        """Return the state of ``ledger_id``, or None if the bookie does not know this ledger."""
        return self._rows.get(ledger_id)

    def put(self, row: LedgerRow) -> None:
        """Set the state of a ledger to ``row``; if this changes the state, the next :meth:`take_dirty` returns it."""
        if self._rows.get(row.ledger_id) != row:
            self._forgotten.pop(row.ledger_id, None)
            self._rows[row.ledger_id] = self._interned(row)
            self._dirty.add(row.ledger_id)

    def ids(self) -> list[int]:
        """Return the ids of all known ledgers, ascending."""
        return sorted(self._rows)

    def forget(self, ledger_id: int, now: int) -> None:
        """Delete a ledger; the next :meth:`take_deleted` returns it, and the caller then deletes its index rows.

        :param now: the present time, in seconds since the epoch.
        """
        row = self._rows.pop(ledger_id, None)
        if row is None:
            return
        if len(self._keys) > 2 * len(self._rows) + _SPARE_KEYS:
            self._keys = {row.master_key: row.master_key for row in self._rows.values()}
        self._deleted.add(ledger_id)
        self._dirty.discard(ledger_id)
        if row.fenced:
            self._forgotten[ledger_id] = max(now, 1)  # at least 1, because 0 means that the ledger was not deleted
            self._dirty.add(ledger_id)

    def was_fenced(self, ledger_id: int) -> bool:
        """Test whether ``ledger_id`` was deleted after it had been fenced here."""
        return ledger_id in self._forgotten

    def is_deleted(self, ledger_id: int) -> bool:
        """Test whether ``ledger_id`` was deleted, and the index may still have rows of it.

        Any thread may call it.
        """
        return ledger_id in self._deleted or ledger_id in self._deleting

    def undeleted(self) -> int:
        """Return the number of deleted ledgers whose index rows may still exist.  Any thread may call this."""
        return len(self._deleted) + len(self._deleting)

    def undeleted_ids(self) -> frozenset[int]:
        """Return the ids of deleted ledgers whose index rows may still exist."""
        return frozenset(self._deleted | self._deleting)

    def expire(self, before: int) -> int:
        """Forget the fences of ledgers that were deleted before the time ``before``, in seconds since the epoch.

        :returns: the number of these ledgers.
        """
        expired = [ledger_id for ledger_id, at in self._forgotten.items() if at < before]
        for ledger_id in expired:
            del self._forgotten[ledger_id]
            if ledger_id not in self._rows:
                self._dirty.discard(ledger_id)
                self._deleted.add(ledger_id)
        return len(expired)

    def take_deleted(self) -> list[int]:
        """Return the ids of deleted ledgers; a checkpoint deletes their index rows before it stores changed states."""
        taken = sorted(self._deleted)
        self._deleting |= self._deleted
        self._deleted = set()
        return taken

    def take_dirty(self) -> list[LedgerRow]:
        """Return the states that changed since the last call.  If they cannot be stored, call :meth:`not_stored`."""
        dirty, self._dirty = self._dirty, set()
        return [self._stored_form(ledger_id) for ledger_id in sorted(dirty)]

    def _stored_form(self, ledger_id: int) -> LedgerRow:
        row = self._rows.get(ledger_id)
        return row if row is not None else LedgerRow(ledger_id, fenced=True, forgotten_at=self._forgotten[ledger_id])

    def deleted(self, ledger_ids: Iterable[int], succeeded: bool) -> None:
        """Report whether the index rows of deleted ledgers were deleted.

        :param ledger_ids: ids of ledgers that :meth:`take_deleted` has returned.
        :param succeeded: if False, the next call of :meth:`take_deleted` returns these ledgers again.
        """
        self._deleting.difference_update(ledger_ids)
        if not succeeded:
            self._deleted.update(ledger_ids)

    def not_stored(self, rows: Iterable[LedgerRow]) -> None:
        """Report that states could not be stored; the next call of :meth:`take_dirty` returns them again.

        :param rows: the states, as :meth:`take_dirty` has returned them.
        """
        ids = [row.ledger_id for row in rows]
        self._dirty.update(i for i in ids if i in self._rows or i in self._forgotten)
