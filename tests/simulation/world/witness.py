"""A bookie with a witness that records what it acknowledged and fenced, beside what it does.

It can also be made to give damaged entries, as a bookie with bad memory would.
"""

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred
from zope.interface import Interface, implementer

from bookkeeper_twisted.bookie.interfaces import AddDone, IBookie, ReadTimes
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.interfaces import Entries

from .copies import StoredCopies


class IWitness(Interface):
    """Records the acknowledgements of bookies."""

    def stored(bookie_id: str, run: EntryRun, recovery: bool, begun_after_fence: bool) -> None:
        """A bookie acknowledged a run.

        :param begun_after_fence: whether it was asked to after it had acknowledged a fence of the ledger.
        """

    def fenced(bookie_id: str, ledger_id: int) -> None:
        """A bookie acknowledged a fence."""

    def unfenced(bookie_id: str, ledger_id: int) -> None:
        """A bookie has started and does not know of a fence it had acknowledged."""

    def forgot(bookie_id: str, ledger_ids: Sequence[int]) -> None:
        """A bookie has deleted ledgers."""

    def old_copy(bookie_id: str, ledger_id: int, entry_id: int) -> None:
        """A bookie has read a copy of an entry although it had acknowledged a newer one."""

    def read_only(bookie_id: str, reason: str) -> None:
        """A bookie takes no ordinary adds any more, as it cannot write its entry logs."""

    def exited(bookie_id: str, error: BaseException) -> None:
        """A bookie did not start, or ended because of its disk."""


@implementer(IBookie)
class WitnessedBookie:
    """Passes everything on."""

    def __init__(
        self, inner: IBookie, bookie_id: str, witness: IWitness, fenced: dict[int, None],
        damages: Callable[[], bool] = lambda: False, copies: StoredCopies | None = None,
    ) -> None:  # fmt: skip
        """
        :param copies: that this bookie was ever given, in any of its lives.
        :param fenced: the ledgers whose fence this bookie ever acknowledged, in any of its lives.
        :param damages: whether the entry that is read now is to be damaged.
        """
        self._damages = damages
        self._inner = inner
        self._bookie_id = bookie_id
        self._witness = witness
        self._fenced = fenced
        self._copies = StoredCopies() if copies is None else copies

    def add(
        self, entries: Entries, master_key: bytes, recovery: bool, deferred_sync: bool, high_priority: bool,
        done: AddDone,
    ) -> None:  # fmt: skip
        fenced = self._fenced.keys() & {run.ledger_id for run in entries.runs()}

        def stored(part: Entries, error: Exception | None) -> None:
            if error is None:
                for run in part.runs():
                    if not deferred_sync:
                        self._copies.acknowledged(run)
                    self._witness.stored(self._bookie_id, run, recovery, run.ledger_id in fenced)
            done(part, error)

        for run in entries.runs():
            self._copies.adding(run)
        self._inner.add(entries, master_key, recovery, deferred_sync, high_priority, stored)

    def fence(self, ledger_id: int, master_key: bytes) -> "Deferred[None]":
        def fenced(result: None) -> None:
            self._fenced[ledger_id] = None
            self._witness.fenced(self._bookie_id, ledger_id)

        return self._inner.fence(ledger_id, master_key).addCallback(fenced)

    def _read(self, run: EntryRun | None, first: int, began: int) -> None:
        """Looks at entries of a run from one on, whose read began at some time."""
        if run is not None:
            for entry_id in range(first, run.last + 1):
                self._read_entry(run.ledger_id, entry_id, run.entry(entry_id), began)

    def _read_entry(self, ledger_id: int, entry_id: int, data: bytes, began: int) -> None:
        if self._copies.is_old(ledger_id, entry_id, data, began):
            self._witness.old_copy(self._bookie_id, ledger_id, entry_id)

    def cached(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        run = self._inner.cached(ledger_id, entry_id, max_count)
        self._read(run, entry_id, self._copies.begin())
        return _damaged(run, entry_id) if run is not None and self._damages() else run

    def resident(self, ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        run = self._inner.resident(ledger_id, entry_id, max_count, max_bytes)
        self._read(run, entry_id, self._copies.begin())
        return _damaged(run, entry_id) if run is not None and self._damages() else run

    def scattered(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int
    ) -> Sequence[bytes | None]:  # fmt: skip
        entries = self._inner.scattered(ledger_ids, entry_ids, max_bytes)
        began = self._copies.begin()
        for ledger_id, entry_id, entry in zip(ledger_ids, entry_ids, entries, strict=False):
            if entry is not None:
                self._read_entry(ledger_id, entry_id, entry, began)
        return [bytes([*e[:-1], e[-1] ^ 1]) if e is not None and self._damages() else e for e in entries]

    def load(
        self, wanted: Sequence[tuple[int, int, int]], times: ReadTimes | None = None
    ) -> "Deferred[list[EntryRun | Exception]]":  # fmt: skip
        began = self._copies.begin()

        def look(runs: list[EntryRun | Exception]) -> list[EntryRun | Exception]:
            for (_, entry_id, _), run in zip(wanted, runs, strict=True):
                self._read(run if isinstance(run, EntryRun) else None, entry_id, began)
            return list(map(self._perhaps_damaged, wanted, runs))

        return self._inner.load(wanted, times).addCallback(look)

    def _perhaps_damaged(self, wanted: tuple[int, int, int], run: EntryRun | Exception) -> EntryRun | Exception:
        return _damaged(run, wanted[1]) if isinstance(run, EntryRun) and self._damages() else run

    def last_entry(self, ledger_id: int) -> "Deferred[int]":
        return self._inner.last_entry(ledger_id)

    def known_last(self, ledger_id: int) -> int:
        return self._inner.known_last(ledger_id)

    def last_add_confirmed(self, ledger_id: int) -> int:
        return self._inner.last_add_confirmed(ledger_id)

    def set_explicit_lac(self, ledger_id: int, master_key: bytes, body: bytes) -> "Deferred[None]":
        return self._inner.set_explicit_lac(ledger_id, master_key, body)

    def explicit_lac(self, ledger_id: int) -> bytes:
        return self._inner.explicit_lac(ledger_id)

    def wait_lac(self, ledger_id: int, previous_lac: int, timeout: float) -> "Deferred[float | None]":
        return self._inner.wait_lac(ledger_id, previous_lac, timeout)

    def force(self, ledger_id: int) -> "Deferred[None]":
        return self._inner.force(ledger_id)

    def entry_ranges(self, ledger_id: int) -> "Deferred[list[tuple[int, int]]]":
        return self._inner.entry_ranges(ledger_id)


def _damaged(run: EntryRun, entry_id: int) -> EntryRun:
    """The run with another last byte of one entry."""
    data = bytearray(run.data)
    data[run.bounds(entry_id, 1)[1] - 1] ^= 1
    return EntryRun(run.ledger_id, run.first, run.count, bytes(data), run.stride, run.offsets)
