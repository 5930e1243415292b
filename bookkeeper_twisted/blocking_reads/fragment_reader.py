"""Reads a range of entries that one ensemble keeps; tries other replicas if an entry is missing or damaged.

Each entry is verified by its digest.  If every bookie keeps every entry, batch reads are sent to one bookie until it
fails.  As soon as a batch arrives, the next one is requested, before the arrived batch is verified.  If the ledger is
striped, or bookies do not support batch reads, entries are read one by one.  Then the reads of many entries are sent,
each to a bookie that keeps the entry, before the first reply is received.
"""

from collections.abc import Generator, Mapping, Sequence

import attrs

from ..codec.digest import Digester
from ..codec.operations import DEFAULT_MAX_FRAME_SIZE
from ..entries.entry_run import EntryRun
from ..errors import BookKeeperError, NoSuchEntryError, ReadError
from ..ledger.batch_support import BatchAttempt
from ..ledger.entry_batch import verified_prefix
from ..ledger.read_answers import MAX_SINGLE_READS, NO_ENTRY, SingleReads, UsualSize, most_telling, requested_batch
from ..ledger.schedule import Schedule
from . import requests
from .connection import Address
from .pool import OutstandingRequest, SocketPool


@attrs.frozen
class Fragment:
    """A range of consecutive entries of a ledger that one ensemble keeps.

    :ivar bookies: the ensemble, the bookies in the order of their positions.
    """

    ledger_id: int
    first: int
    last: int
    bookies: tuple[Address, ...]
    write_quorum: int


@attrs.frozen
class ReadLimits:
    """The settings of reads from bookies.

    :ivar wire: version of the wire protocol of reads, 2 or 3.
    :ivar batch_bytes: maximum number of bytes of entries that are requested at a time, by one batch read or several
        single reads.
    :ivar max_frame_size: maximum number of bytes of a reply.
    """

    wire: int = 2
    batch_bytes: int = 2 << 20
    max_frame_size: int = DEFAULT_MAX_FRAME_SIZE


def read_failure(ledger_id: int, entry_id: int, errors: Mapping[str, Exception]) -> BookKeeperError:
    """Make the error for an entry that no replica returned; its text contains the answer of each bookie.

    :param errors: the error of each bookie, by bookie id.
    :returns: NoSuchEntryError only if every bookie answered that it does not have the entry.
    """
    answers = "; ".join(f"bookie {bookie_id}: {error}" for bookie_id, error in errors.items())
    if isinstance(most_telling(errors.values()), NO_ENTRY):
        return NoSuchEntryError(ledger_id, entry_id, answers)
    return ReadError(f"entry {entry_id} of ledger {ledger_id} cannot be read: {answers}")


class FragmentReader:
    """The reader of one fragment; it can be used once.

    :param preferred: index, in the write set, of the replica to ask first.  The readers of different parts of a ledger
        use different indexes, to spread the load over the bookies.
    """

    def __init__(
        self, pool: SocketPool, fragment: Fragment, digester: Digester, limits: ReadLimits = ReadLimits(),
        preferred: int = 0,
    ) -> None:  # fmt: skip
        self._pool = pool
        self._fragment = fragment
        self._digester = digester
        self._limits = limits
        self._preferred = preferred
        self._schedule = Schedule(len(fragment.bookies), fragment.write_quorum, 1)
        turn = preferred % len(fragment.bookies)
        order = [*fragment.bookies[turn:], *fragment.bookies[:turn]]
        self._order = sorted(order, key=pool.is_suspect)
        # The outstanding request for the next batch, at most one.  Its key is the address of the bookie and the id of
        # the first entry of the batch.
        self._ahead: dict[tuple[Address, int], OutstandingRequest[EntryRun]] = {}
        self._usual_size = UsualSize()

    def runs(self) -> Generator[EntryRun, None, None]:
        """Yield the verified entries in order, in runs (consecutive entries).

        If the iterator is closed early, the connection of an outstanding request is closed.

        :raises NoSuchEntryError: every replica answered that it does not have an entry.
        :raises ReadError: no replica returned an entry, at least one of them for another reason.
        """
        at, last = self._fragment.first, self._fragment.last
        try:
            while at <= last:
                run = self._window(at) if self._schedule.striped else self._batch(at)
                yield run
                at = run.last + 1
        finally:
            self._abandon()

    # ---- batch reads ---------------------------------------------------------------------------------

    def _batch(self, at: int) -> EntryRun:
        """Read the next entries, from ``at`` on, from the first replica that returns them; prefer it from now on."""
        health, by_id = self._pool.health, {address.bookie_id: address for address in self._order}
        attempt = BatchAttempt(self._pool.batch_support, list(by_id))
        for bookie_id in attempt.capable:
            try:
                run = verified_prefix(self._batch_from(by_id[bookie_id], at), self._digester)
            except BookKeeperError as error:
                attempt.failed(bookie_id, error)
                health.failed(bookie_id, error)
            else:
                health.succeeded(bookie_id)
                self._order.remove(by_id[bookie_id])
                self._order.insert(0, by_id[bookie_id])
                return run
        if not attempt.leaves_open:
            raise read_failure(self._fragment.ledger_id, at, attempt.errors)
        return self._window(at, attempt)

    def _batch_from(self, address: Address, at: int) -> EntryRun:
        """Receive the batch that begins with entry ``at``, then request the next batch from the same bookie."""
        exchange = self._ahead.pop((address, at), None)
        if exchange is None:
            self._abandon()
            exchange = self._begin(address, at)
        run = requested_batch(exchange.reply(), self._fragment.ledger_id, at, self._fragment.last - at + 1)
        self._pool.batch_support.gave_one(address.bookie_id)
        if run.last < self._fragment.last:
            self._ahead[address, run.last + 1] = self._begin(address, run.last + 1)
        return run

    def _begin(self, address: Address, at: int) -> OutstandingRequest[EntryRun]:
        ledger_id, limits, count = self._fragment.ledger_id, self._limits, self._fragment.last - at + 1
        return OutstandingRequest(
            self._pool, address, limits.wire,
            lambda to: requests.send_batch_read(to, ledger_id, at, count, limits.batch_bytes),
            lambda source: requests.receive_batch(source, ledger_id, at, limits.max_frame_size),
        )  # fmt: skip

    def _abandon(self) -> None:
        while self._ahead:
            self._ahead.popitem()[1].abandon()

    # ---- single reads --------------------------------------------------------------------------------

    def _window(self, at: int, attempt: BatchAttempt | None = None) -> EntryRun:
        """Read one or more entries, from ``at`` on, by one read request for each entry.

        :param attempt: the failed batch reads of these entries; None if there were none.
        """
        last = self._fragment.last
        count = self._usual_size.entries_in(self._limits.batch_bytes, min(MAX_SINGLE_READS, last - at + 1))
        reads = SingleReads(self._fragment.ledger_id, range(at, at + count), self._digester)
        for rank in range(self._fragment.write_quorum):
            if missing := reads.missing():
                self._ask_each(missing, rank, reads)
                reads.check()
        if at not in reads.stored:
            raise read_failure(self._fragment.ledger_id, at, reads.errors[at])
        run = reads.run()
        self._usual_size.learn(run.count, run.size)
        if attempt is not None:
            attempt.single_reads_succeeded(reads.gave)
        return run

    def _ask_each(self, entry_ids: Sequence[int], rank: int, reads: SingleReads) -> None:
        """Read each entry from one bookie of its write set: the bookie ``rank`` positions after the preferred one."""
        by_bookie: dict[Address, list[int]] = {}
        for entry_id in entry_ids:
            positions = self._schedule.write_set(entry_id)
            position = positions[(self._preferred + rank) % len(positions)]
            by_bookie.setdefault(self._fragment.bookies[position], []).append(entry_id)
        exchanges = [(address, wanted, self._begin_singles(address, wanted)) for address, wanted in by_bookie.items()]
        for address, wanted, exchange in exchanges:
            try:
                reads.take(address.bookie_id, exchange.reply())
            except BookKeeperError as error:
                self._pool.health.failed(address.bookie_id, error)
                reads.take(address.bookie_id, dict.fromkeys(wanted, error))

    def _begin_singles(
        self, address: Address, wanted: Sequence[int]
    ) -> OutstandingRequest[dict[int, bytes | Exception]]:
        ledger_id, limits = self._fragment.ledger_id, self._limits
        return OutstandingRequest(
            self._pool, address, limits.wire, lambda to: requests.send_reads(to, ledger_id, wanted),
            lambda source: requests.receive_entries(source, ledger_id, wanted, limits.max_frame_size),
        )  # fmt: skip
