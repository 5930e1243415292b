"""The state of every ledger a bookie knows, in memory, and which of it the index does not hold yet."""

from collections.abc import Iterable

import attrs

from .interfaces import LedgerRow


class LedgerStates:
    """Master key, fence and explicit LAC by ledger.

    One dictionary for all; equal master keys are one object (most ledgers of a user share theirs).
    """

    __slots__ = ("_rows", "_keys", "_dirty")

    def __init__(self, stored: Iterable[LedgerRow] = ()) -> None:
        self._rows: dict[int, LedgerRow] = {}
        self._keys: dict[bytes, bytes] = {}
        self._dirty: set[int] = set()
        for row in stored:
            self._rows[row.ledger_id] = self._interned(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, ledger_id: int) -> bool:
        return ledger_id in self._rows

    def _interned(self, row: LedgerRow) -> LedgerRow:
        key = self._keys.setdefault(row.master_key, row.master_key)
        return row if key is row.master_key else attrs.evolve(row, master_key=key)

    def get(self, ledger_id: int) -> LedgerRow | None:
        """The state of a ledger, None if it is unknown."""
        return self._rows.get(ledger_id)

    def put(self, row: LedgerRow) -> None:
        """Sets the state of a ledger; dirty until :meth:`take_dirty`, unless nothing changed."""
        if self._rows.get(row.ledger_id) != row:
            self._rows[row.ledger_id] = self._interned(row)
            self._dirty.add(row.ledger_id)

    def take_dirty(self) -> list[LedgerRow]:
        """The states to be stored, which count as stored from now on."""
        dirty, self._dirty = self._dirty, set()
        return [self._rows[ledger_id] for ledger_id in sorted(dirty)]

    def not_stored(self, rows: Iterable[LedgerRow]) -> None:
        """What :meth:`take_dirty` gave was not stored after all."""
        self._dirty.update(row.ledger_id for row in rows)
