"""Reading a range of entries that one ensemble keeps, from any replica that has them undamaged; each is verified.

If every bookie keeps every entry, batch reads go to one bookie until it fails; the next batch is requested before the
received one is verified.  If the ledger is striped, or bookies do not support batch reads, entries are read by single
reads: many of them are sent to all bookies, then the replies are received.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress

import attrs

from ..codec.digest import Digester
from ..codec.operations import DEFAULT_MAX_FRAME_SIZE
from ..entries.entry_run import EntryRun
from ..errors import (
    BookieError,
    BookieHandleNotAvailableError,
    BookKeeperError,
    NoSuchEntryError,
    NoSuchLedgerError,
    ReadError,
)
from ..ledger.batch_support import BatchAttempt
from ..ledger.entry_batch import verified_prefix
from ..ledger.read_answers import MAX_SINGLE_READS, SingleReads, UsualSize, most_telling, requested_batch
from ..ledger.schedule import Schedule
from . import requests
from .connection import Address, IBookieConnection
from .pool import SocketPool

_MAX_SINGLE_READS = 2 * MAX_SINGLE_READS
"""Most single reads at a time, twice as many as those of a client: this reader waits for all replies before it sends
the next reads.  With as many as a client, it reads a fifth fewer entries in a second.
"""

_Answers = dict[int, bytes | Exception] | BookKeeperError
"""The answers of one bookie by entry id; an error instead if the bookie did not answer."""


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

    @property
    def count(self) -> int:
        """The number of entries in the range."""
        return self.last - self.first + 1


@attrs.frozen
class ReadLimits:
    """The settings of reads from bookies.

    :ivar wire: version of the wire protocol of reads, 2 or 3.
    :ivar batch_bytes: most bytes of entries that are requested at a time, by one batch read or several single reads.
    :ivar max_frame_size: most bytes of a reply.
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
    if isinstance(most_telling(errors.values()), NoSuchEntryError | NoSuchLedgerError):
        return NoSuchEntryError(ledger_id, entry_id, answers)
    return ReadError(f"entry {entry_id} of ledger {ledger_id} cannot be read: {answers}")


class FragmentReader:
    """The reader of one fragment; it can be used once.

    :param preferred: index, in the write set, of the replica to ask first; if the readers of different parts of a
        ledger use different indexes, the load is spread.
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
        self._connection: IBookieConnection | None = None
        # id of the first entry that the outstanding batch read asks for; None if there is none
        self._asked: int | None = None
        self._usual_size = UsualSize()

    def runs(self) -> Generator[EntryRun, None, None]:
        """Yield the verified entries in order, in runs (consecutive entries).

        If the iterator is closed early, the outstanding request is given up.

        :raises NoSuchEntryError: every replica answered that it does not have an entry.
        :raises ReadError: no replica returned an entry, at least one of them for another reason.
        """
        at, last = self._fragment.first, self._fragment.last
        try:
            while at <= last:
                run = self._window(at) if self._schedule.striped else self._from_current(at) or self._from_any(at)
                yield run
                at = run.last + 1
        finally:
            self._leave()

    # ---- batch reads ---------------------------------------------------------------------------------

    def _from_current(self, at: int) -> EntryRun | None:
        """Read the next entries, from ``at`` on, from the bookie in use; return None if it does not return them."""
        if not self._pool.batch_support.is_expected(self._order[0].bookie_id):
            return None
        try:
            return verified_prefix(self._ahead(at), self._digester)
        except BookieError:
            self._asked = None  # the bookie has answered, though with an error, so its connection can be used again
        except BookKeeperError:
            self._hang_up()
        return None

    def _ahead(self, at: int) -> EntryRun:
        """Receive the batch that begins with entry ``at``, then request the next batch."""
        if self._asked != at:
            self._ask(at)
        assert self._connection is not None
        run = self._received(self._order[0], self._connection, at)
        self._asked = None
        if run.last < self._fragment.last:
            try:
                self._ask(run.last + 1)
            except BookKeeperError:
                # do not raise the error here: if it persists, it occurs again when the next batch is read
                self._hang_up()
        return run

    def _ask(self, at: int) -> None:
        if self._asked is not None:
            self._hang_up()
        if self._connection is None:
            self._connection = self._pool.take(self._order[0], self._limits.wire)
        self._asked = at
        self._send_batch_read(self._connection, at)

    def _from_any(self, at: int) -> EntryRun:
        """Read the next entries, from ``at`` on, from the first replica that returns them; continue with that replica.
        """
        by_id = {address.bookie_id: address for address in self._order}
        attempt = BatchAttempt(self._pool.batch_support, list(by_id))
        for bookie_id in attempt.capable:
            try:
                run = verified_prefix(self._batch_from(by_id[bookie_id], at), self._digester)
            except BookKeeperError as error:
                attempt.failed(bookie_id, error)
                self._pool.health.failed(bookie_id, error)
            else:
                self._pool.health.succeeded(bookie_id)
                self._prefer(by_id[bookie_id])
                return run
        if not attempt.leaves_open:
            raise read_failure(self._fragment.ledger_id, at, attempt.errors)
        return self._window(at, attempt)

    def _batch_from(self, address: Address, at: int) -> EntryRun:
        """Read a batch over a new connection, because an idle connection may be lost although the bookie works."""
        self._leave()
        with self._pool.use(address, self._limits.wire, fresh=True) as connection:
            self._send_batch_read(connection, at)
            return self._received(address, connection, at)

    def _send_batch_read(self, connection: IBookieConnection, at: int) -> None:
        count = self._fragment.last - at + 1
        requests.send_batch_read(connection, self._fragment.ledger_id, at, count, self._limits.batch_bytes)

    def _received(self, address: Address, connection: IBookieConnection, at: int) -> EntryRun:
        run = requests.receive_batch(connection, self._fragment.ledger_id, at, self._limits.max_frame_size)
        self._pool.batch_support.gave_one(address.bookie_id)
        return requested_batch(run, self._fragment.ledger_id, at, self._fragment.last - at + 1)

    # ---- single reads --------------------------------------------------------------------------------

    def _window(self, at: int, attempt: BatchAttempt | None = None) -> EntryRun:
        """Read one or more entries, from ``at`` on, by single reads.

        :param attempt: the attempt to read the entries by batch reads, if there was one.
        """
        last = self._fragment.last
        count = self._usual_size.entries_in(self._limits.batch_bytes, min(_MAX_SINGLE_READS, last - at + 1))
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
        """Send a single read of each entry to one replica: the one with the index ``rank`` in the entry's write set.
        """
        by_bookie: dict[Address, list[int]] = {}
        for entry_id in entry_ids:
            positions = self._schedule.write_set(entry_id)
            position = positions[(self._preferred + rank) % len(positions)]
            by_bookie.setdefault(self._fragment.bookies[position], []).append(entry_id)
        for address, asked, found in self._singles(by_bookie):
            if isinstance(found, BookKeeperError):
                self._pool.health.failed(address.bookie_id, found)
                reads.take(address.bookie_id, dict.fromkeys(asked, found))
            else:
                reads.take(address.bookie_id, found)

    def _singles(self, asked: Mapping[Address, Sequence[int]]) -> Iterator[tuple[Address, Sequence[int], _Answers]]:
        """Send single reads to several bookies, and yield the answers of each."""
        self._leave()
        under_way: list[tuple[Address, Sequence[int], IBookieConnection | None]] = []
        for address, entry_ids in asked.items():
            connection = None
            # if sending fails, _received_singles() sends the reads again over a new connection
            with suppress(BookKeeperError):
                connection = self._pool.take(address, self._limits.wire)
                requests.send_reads(connection, self._fragment.ledger_id, entry_ids)
            under_way.append((address, entry_ids, connection))
        for address, entry_ids, connection in under_way:
            yield address, entry_ids, self._received_singles(address, entry_ids, connection)

    def _received_singles(
        self, address: Address, entry_ids: Sequence[int], connection: IBookieConnection | None
    ) -> _Answers:
        """Receive the replies to single reads; if the bookie has closed the idle connection, send the reads again."""
        ledger_id = self._fragment.ledger_id
        if connection is not None:
            try:
                found = requests.receive_entries(connection, ledger_id, entry_ids, self._limits.max_frame_size)
            except BookieHandleNotAvailableError:
                connection.close()
            except BookKeeperError as error:
                connection.close()
                return error
            else:
                self._pool.give_back(address, connection)
                return found
        try:
            with self._pool.use(address, self._limits.wire, fresh=True) as connection:
                requests.send_reads(connection, ledger_id, entry_ids)
                return requests.receive_entries(connection, ledger_id, entry_ids, self._limits.max_frame_size)
        except BookKeeperError as error:
            return error

    # ---- the connection in use -----------------------------------------------------------------------

    def _prefer(self, address: Address) -> None:
        self._order.remove(address)
        self._order.insert(0, address)

    def _leave(self) -> None:
        """Give the connection back to the pool; if a reply is still outstanding, close the connection instead."""
        if self._asked is not None:
            self._hang_up()
        elif self._connection is not None:
            self._pool.give_back(self._order[0], self._connection)
            self._connection = None

    def _hang_up(self) -> None:
        self._asked = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
