"""Replays the journals at the start: stores the records that follow each journal's log mark.

The log mark of a journal is the position up to which all records are in the entry logs and indexes.  A replay is
idempotent, and a crash may interrupt it anywhere: no journal file is deleted or recycled and no log mark moves before
the checkpoint that follows the replay.  When the write cache is full during the replay, a checkpoint writes the cached
entries to disk, but moves no log mark.  If a ledger disk has no space for the entries, all replayed entries stay in
memory.
"""

from collections.abc import Iterable, Sequence

import attrs
from twisted.logger import Logger

from ...entries.entry_run import EntryRun
from ...errors import JournalDamageError, StorageError
from ...storage.interfaces import ILedgerStorage, JournalPosition, LedgerRow
from ...storage.journal.interfaces import IJournal
from ..checkpointer import is_disk_full
from ..records import EXPLICIT_LAC, FENCE, IDS, KEY, lac_of_packet, trailing_bytes

_MAX_RUN_BYTES = 1 << 20


@attrs.define(eq=False)
class ReplayProgress:
    """The progress of the replay at a start.  The flush thread writes it, the reactor thread reads it.

    :ivar journals: number of journals; 0 before the replay begins.
    :ivar journal: number of the journal that is being replayed, from 1 on.
    :ivar n_entries: number of entries that were stored so far.
    :ivar n_bytes: size in bytes of the entries that were read so far, even of deleted ledgers.
    :ivar ended: whether all records were read and stored; a checkpoint of the storage follows.
    """

    journals: int = 0
    journal: int = 0
    n_entries: int = 0
    n_bytes: int = 0
    ended: bool = False

    def __str__(self) -> str:
        if not self.journals:
            return "starting"
        read = f"{self.n_entries:,} entries, {self.n_bytes >> 20:,} MiB"
        if self.ended:
            return f"storing what was replayed: {read}"
        return f"replaying journal {self.journal} of {self.journals}: {read}"


def replay(
    journals: Sequence[IJournal], storage: ILedgerStorage, log_marks: Sequence[JournalPosition],
    progress: ReplayProgress | None = None,
) -> int:  # fmt: skip
    """Store the records of all journals.

    :param journals: the journals, in the order of the configuration.
    :param log_marks: the log mark of each journal, which the last checkpoint wrote.
    :param progress: updated during the replay.
    :returns: the number of replayed entries.
    :raises JournalDamageError: a journal lacks records that were durable.
    """
    progress = progress or ReplayProgress()
    progress.journals = len(journals)
    player = _Player(storage, log_marks, progress)
    for number, (journal, log_mark) in enumerate(zip(journals, log_marks, strict=True), 1):
        progress.journal = number
        player.play(journal.replay(log_mark))
    progress.ended = True
    return progress.n_entries


def checkpoint_now(storage: ILedgerStorage, log_marks: Sequence[JournalPosition]) -> StorageError | None:
    """Run a complete checkpoint, and return when it has ended; no other work may run at the same time.

    :param log_marks: the new log mark of each journal; the storage has every record before this position.
    :returns: None; or if a disk had no space, the error: then the entries stay in memory, and no log mark has moved.
    :raises StorageError: the checkpoint failed for another reason.
    """
    checkpoint = storage.begin_checkpoint(log_marks)
    if checkpoint is None:
        return None
    try:
        for directory in range(len(checkpoint.paths)):
            checkpoint.write(directory)
        checkpoint.persist_log_marks()
    except StorageError as error:
        if not is_disk_full(error):
            raise
        return error
    finally:
        checkpoint.finish()
    return None


class _Player:
    """Stores the journal records of a replay in their order; stores consecutive entries of a ledger by one call."""

    _log = Logger()

    def __init__(
        self, storage: ILedgerStorage, log_marks: Sequence[JournalPosition], progress: ReplayProgress
    ) -> None:
        self._progress = progress
        self._storage = storage
        self._log_marks = log_marks
        self._ledger_id = -1
        self._next = -1
        self._bytes = 0
        self._entries: list[bytes] = []
        self._unknown: set[int] = set()
        self._has_space = True

    def play(self, records: Iterable[bytes]) -> None:
        for body in records:
            if len(body) < IDS.size:
                raise JournalDamageError(f"a journal record of {len(body)} bytes")
            ledger_id, entry_id = IDS.unpack_from(body)
            if entry_id < 0:
                self._end_run()
                self._apply(ledger_id, entry_id, body)
                continue
            if ledger_id != self._ledger_id or entry_id != self._next or self._bytes >= _MAX_RUN_BYTES:
                self._end_run()
                self._ledger_id = ledger_id
            self._entries.append(body)
            self._bytes += len(body)
            self._next = entry_id + 1
        self._end_run()

    def _end_run(self) -> None:
        entries, self._entries = self._entries, []
        if not entries:
            return
        self._progress.n_bytes += self._bytes
        self._bytes = 0
        row = self._storage.ledger(self._ledger_id)
        if row is not None and row.forgotten_at:
            self._storage.put_ledger(attrs.evolve(row, forgotten_at=0))
        if row is None:
            # Skip entries of a ledger for which neither the storage nor the journal has a key.  The ledger was deleted
            # after these entries were written; Apache's bookie assumes the same.
            if self._ledger_id not in self._unknown:
                self._unknown.add(self._ledger_id)
                self._log.warn("skipping entries of unknown ledger {ledger_id}", ledger_id=self._ledger_id)
            return
        if self._has_space and self._storage.is_full():
            self._has_space = checkpoint_now(self._storage, self._log_marks) is None
        self._storage.add(EntryRun.of_entries(self._ledger_id, self._next - len(entries), entries))
        self._progress.n_entries += len(entries)

    def _apply(self, ledger_id: int, kind: int, body: bytes) -> None:
        if self._storage.was_fenced(ledger_id):
            return  # the ledger was deleted: do not restore its state
        row = self._storage.ledger(ledger_id)
        if kind == KEY:
            self._apply_key(ledger_id, row, _bytes_of(body))
        elif kind == FENCE:
            # Replay a fence even if there is no key record, as in some journals of Apache's bookie: a fence must never
            # be lost.
            self._storage.put_ledger(attrs.evolve(row or LedgerRow(ledger_id), fenced=True))
        elif kind == EXPLICIT_LAC:
            self._apply_lac(ledger_id, row, _bytes_of(body))
        else:
            self._log.warn(
                "skipping a record of unknown kind {kind} of ledger {ledger_id}", kind=kind, ledger_id=ledger_id
            )

    def _apply_key(self, ledger_id: int, row: LedgerRow | None, key: bytes) -> None:
        if row is None or not row.master_key:
            self._storage.put_ledger(attrs.evolve(row or LedgerRow(ledger_id), master_key=key))
        elif row.master_key != key:
            self._log.warn("ledger {ledger_id} has another key than its journal; it keeps it", ledger_id=ledger_id)

    def _apply_lac(self, ledger_id: int, row: LedgerRow | None, packet: bytes) -> None:
        if row is None:
            self._log.warn("skipping the explicit LAC of unknown ledger {ledger_id}", ledger_id=ledger_id)
        elif lac_of_packet(packet) >= lac_of_packet(row.explicit_lac):
            self._storage.put_ledger(attrs.evolve(row, explicit_lac=packet))


def _bytes_of(body: bytes) -> bytes:
    found = trailing_bytes(body)
    if found is None:
        raise JournalDamageError("a journal record ends inside its key or LAC packet")
    return found
