"""Checking one replica of a range of entries, over blocking reads.

Every entry that the bookie should have is read and verified: ids, digest, and that the length of the ledger in its
header goes up by its payload.  Four kinds of findings are distinguished: *missing* (the bookie says that it does not
have the entry), *damaged* (what it gives is not what was written, or it cannot read its disk), *unreachable* (nothing
can be said), *length* (the entry is whole, but its length contradicts the entry before it).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice, pairwise

import attrs

from ...codec.digest import Digester
from ...errors import BookieError, BookKeeperError, DigestMatchError, NoSuchEntryError, NoSuchLedgerError
from ...ledger.entry_batch import LENGTH_AT, integers
from ...ledger.schedule import Schedule
from ...model import EntryRun
from ...wire import Address, ConnectionPool, requests

OK, MISSING, DAMAGED, UNREACHABLE, LENGTH = "ok", "missing", "damaged", "unreachable", "length"

_BATCH_BYTES = 1 << 20
_SINGLES = 512

Spend = Callable[[int, int], None]
"""Takes entries and bytes that were read; returns when more may be read."""


@attrs.frozen
class Finding:
    """Consecutive entries of a replica in one state.

    :ivar n_bytes: that were read.
    :ivar detail: the error, of entries that are not ok.
    """

    first: int
    last: int
    status: str
    entries: int = 0
    n_bytes: int = 0
    detail: str = ""


class ReplicaCheck:
    """Checks what one position of an ensemble keeps.

    :param wire: protocol of reads.
    """

    def __init__(
        self, pool: ConnectionPool, address: Address, ledger_id: int, schedule: Schedule, position: int,
        digester: Digester, spend: Spend, wire: int = 2,
    ) -> None:  # fmt: skip
        self._pool = pool
        self._address = address
        self._ledger_id = ledger_id
        self._schedule = schedule
        self._position = position
        self._digester = digester
        self._spend = spend
        self._wire = wire
        self._length: int | None = None  # of the ledger after the entry before

    def findings(self, first: int, last: int) -> list[Finding]:
        """What is found in a range; findings that continue each other are one."""
        found: list[Finding] = []
        for one in self._all(first, last):
            if found and _continues(found[-1], one, self._schedule.striped):
                before = found[-1]
                found[-1] = attrs.evolve(
                    before, last=one.last, entries=before.entries + one.entries, n_bytes=before.n_bytes + one.n_bytes
                )
            else:
                found.append(one)
        return found

    def _all(self, first: int, last: int) -> Iterator[Finding]:
        if self._schedule.striped:
            yield from self._striped(first, last)
            return
        at = first
        while at <= last:
            try:
                found = list(self._some(at, last))
            except NoSuchLedgerError as error:
                found = [Finding(at, last, MISSING, detail=str(error))]
            except BookKeeperError as error:
                found = [Finding(at, last, UNREACHABLE, detail=str(error))]
            yield from found
            at = found[-1].last + 1

    def _striped(self, first: int, last: int) -> Iterator[Finding]:
        """Entries with gaps between them, each read by itself, many at a time."""
        expected = chain.from_iterable(
            range(start, start + count) for start, count in self._schedule.stretches(self._position, first, last)
        )
        while wanted := list(islice(expected, _SINGLES)):
            try:
                yield from list(self._singles(wanted))
            except NoSuchLedgerError as error:
                yield Finding(wanted[0], last, MISSING, detail=str(error))
                return
            except BookKeeperError as error:
                yield Finding(wanted[0], last, UNREACHABLE, detail=str(error))
                return

    def _some(self, at: int, last: int) -> Iterator[Finding]:
        """The state of some entries from one on."""
        try:
            run = self._batch(at, last)
        except NoSuchLedgerError:
            raise
        except (BookieError, DigestMatchError):
            self._length = None
            yield from self._singles(range(at, min(last, at + _SINGLES - 1) + 1))
            return
        self._spend(run.count, run.size)
        try:
            self._digester.verify(run)
        except DigestMatchError as error:
            if error.entry_id > run.first:
                yield from self._sound(run.slice(run.first, error.entry_id - run.first))
            self._length = None
            yield Finding(error.entry_id, error.entry_id, DAMAGED, 1, 0, str(error))
            return
        yield from self._sound(run)

    def _batch(self, at: int, last: int) -> EntryRun:
        for fresh in (False, True):
            try:
                with self._pool.use(self._address, self._wire, fresh) as connection:
                    requests.send_batch_read(connection, self._ledger_id, at, last - at + 1, _BATCH_BYTES)
                    run = requests.receive_batch(connection, self._ledger_id, at)
                    return run.slice(at, min(run.count, last - at + 1))
            except BookieError:
                raise
            except BookKeeperError as error:  # an idle connection may have been closed by the bookie
                failure = error
        raise failure

    def _singles(self, wanted: Sequence[int]) -> Iterator[Finding]:
        """Entry by entry: where a batch stopped at its first one, and in striped ledgers."""
        answers = self._answers(wanted)
        n_bytes = sum(len(answer) for answer in answers.values() if isinstance(answer, bytes))
        self._spend(len(wanted), n_bytes)
        for entry_id in wanted:
            answer = answers[entry_id]
            if isinstance(answer, NoSuchLedgerError):
                raise answer
            if isinstance(answer, bytes):
                yield self._single(entry_id, answer)
            else:
                status = MISSING if isinstance(answer, NoSuchEntryError) else DAMAGED
                yield Finding(entry_id, entry_id, status, 1, 0, str(answer))

    def _answers(self, wanted: Sequence[int]) -> dict[int, bytes | Exception]:
        for fresh in (False, True):  # an idle connection may have been closed by the bookie
            try:
                with self._pool.use(self._address, self._wire, fresh) as connection:
                    requests.send_reads(connection, self._ledger_id, wanted)
                    return requests.receive_entries(connection, self._ledger_id, wanted)
            except BookKeeperError as error:
                failure = error
        raise failure

    def _single(self, entry_id: int, stored: bytes) -> Finding:
        try:
            self._digester.entry(self._ledger_id, entry_id, stored)
        except DigestMatchError as error:
            return Finding(entry_id, entry_id, DAMAGED, 1, 0, str(error))
        return Finding(entry_id, entry_id, OK, 1, len(stored))

    def _sound(self, run: EntryRun) -> Iterator[Finding]:
        """Entries whose ids and digests are right; their lengths may not be."""
        lengths = integers(run, LENGTH_AT).tolist()
        head = self._digester.payload_at
        sizes = [b - a - head for a, b in pairwise(run.record_offsets())]
        before = lengths[0] - sizes[0] if self._length is None else self._length
        expected = list(accumulate(sizes, initial=before))[1:]
        self._length = lengths[-1]
        if lengths == expected:
            yield Finding(run.first, run.last, OK, run.count, run.size)
            return
        at = next(i for i, (found, wanted) in enumerate(zip(lengths, expected, strict=True)) if found != wanted)
        if at:
            yield Finding(run.first, run.first + at - 1, OK, at, 0)
        entry_id = run.first + at
        detail = f"entry {entry_id}: length {lengths[at]}, not {expected[at]}"
        yield Finding(entry_id, entry_id, LENGTH, 1, sizes[at], detail)
        if at + 1 < run.count:
            self._length = None  # which of the two is wrong is not known
            yield from self._sound(run.slice(entry_id + 1, run.count - at - 1))


def _continues(before: Finding, one: Finding, striped: bool) -> bool:
    """Whether a finding goes on with the one before it; in striped ledgers the ids have gaps."""
    return before.status == one.status and (one.first == before.last + 1 or (striped and one.status == OK))
