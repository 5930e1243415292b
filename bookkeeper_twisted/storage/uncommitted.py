"""Entries that are durable in entry logs, but whose rows the index has refused, for example because its disk failed.

The next flush commits these rows before it writes anything, and then writes only the entries that were added later.  If
it wrote the same entries again, each retry would take space on the disk of the entry logs, until that is full.

The entries also stay in the write cache until their rows are committed, so that reads find them there.  No log mark
moves before that, so the journals have them, too.
"""

from collections.abc import Set as AbstractSet

from .cache.write_cache import WriteCache
from .interfaces import IndexBatch, LedgerRow
from .mixed_rows import MixedRows

NOT_TAKEN = "the index takes no changes, so no entry log is compacted and no space is freed before it does"


class UncommittedEntries:
    """Entries that a flush has written to entry logs, but whose index rows it could not commit.

    :ivar count: number of these entries.
    :ivar log_ids: ids of the entry logs that have them.  These logs must not be deleted, although no committed index
        row refers to them.
    :ivar later: the entries that were added after these, except those in ``taken``.
    :ivar taken: those of the later entries that the flush in progress writes; None before the first such flush.
    """

    def __init__(self, batch: IndexBatch, count: int) -> None:
        self.count = count
        self.log_ids = frozenset({row.log_id for row in batch.runs} | {rows.log_id for rows in batch.mixed})
        self.later = WriteCache()
        self.taken: WriteCache | None = None
        self._runs = batch.runs
        self._mixed = batch.mixed
        self._forgotten: set[int] = set()

    # -- reactor thread --

    def forget(self, ledger_id: int) -> None:
        """Drop the deleted ledger ``ledger_id``: commit no more rows of it, and write none of its later entries.

        Entries of the ledger that are added after this call are new ones, and are kept.
        """
        self._forgotten.add(ledger_id)
        self.later.discard_ledger(ledger_id)
        if self.taken is not None:
            self.taken.discard_ledger(ledger_id)

    def swap(self) -> None:
        """Begin a flush: it writes the entries that are in ``later`` at present."""
        self.taken, self.later = self.later, WriteCache()

    def not_written(self, active: WriteCache, forgotten: AbstractSet[int]) -> None:
        """End a failed flush: all later entries are those of the next flush.

        :param active: the entries that were added during this flush.
        :param forgotten: ids of the ledgers that were deleted during this flush.
        """
        if self.taken is None:  # this flush has written the entries
            self.later = active
            self._forgotten |= forgotten
        else:
            self.taken.absorb(self.later)
            self.later, self.taken = self.taken, WriteCache()

    # -- flush thread --

    def batch(self, ledgers: list[LedgerRow], deleted: list[int]) -> IndexBatch:
        """Return the change of the index that commits the rows, without those of ledgers deleted since.

        :param ledgers: ledger states to commit with the rows.
        :param deleted: ids of ledgers whose stored index rows are deleted with the same commit.
        """
        gone = self._forgotten
        runs = [row for row in self._runs if row.ledger_id not in gone] if gone else self._runs
        mixed = [_without(rows, gone) for rows in self._mixed] if gone else self._mixed
        return IndexBatch(runs, [rows for rows in mixed if rows], ledgers, deleted)


def _without(rows: MixedRows, ledger_ids: AbstractSet[int]) -> MixedRows:
    return rows.but([ledger_id in ledger_ids for ledger_id in rows.ledger_ids])
