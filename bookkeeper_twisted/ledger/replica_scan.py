"""A scan of the entries of which one bookie should have a replica, without I/O.

The methods of :class:`ReplicaScan` are generators.  They yield reads: batch reads, or single reads of some entries.
The caller asks the bookie, and sends the answer into the generator.  The scan verifies every entry, and compares the
ledger length in an entry with the ledger length in the entry before it.  It records findings: ranges of entries in the
same state.  An entry has one of five states:

- *ok*;
- *missing*: the bookie answers that it does not have the entry;
- *damaged*: the digest of the entry is wrong, or the bookie cannot read its disk;
- *unreachable*: nothing is known, because the bookie cannot be reached, does not answer in time, is overloaded, or
  refuses the reader;
- *length*: the digest is right, but the ledger length in the entry contradicts the entry before it.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice, pairwise

import attrs

from ..codec.digest import Digester
from ..entries.entry_run import EntryRun
from ..errors import (
    BadRequestError,
    BookieIOError,
    BookKeeperError,
    DataUnknownError,
    DigestMatchError,
    NoSuchLedgerError,
    UnexpectedConditionError,
)
from .entry_batch import LENGTH_AT, integers
from .read_answers import MAX_SINGLE_READS, NO_ENTRY
from .schedule import Schedule

OK, MISSING, DAMAGED, UNREACHABLE, LENGTH = "ok", "missing", "damaged", "unreachable", "length"


@attrs.frozen
class Finding:
    """A range of entries of one replica that are all in the same state, for example *ok* or *missing*.

    :ivar entries: number of entries in the range that the replica should have; in a striped ledger, fewer than the
        range has.
    :ivar n_bytes: number of bytes that were read.
    :ivar detail: text of the error, for entries that are not ok.
    """

    first: int
    last: int
    status: str
    entries: int = 0
    n_bytes: int = 0
    detail: str = ""


@attrs.frozen
class ReplicaBatchRead:
    """A batch read to send: it asks for a number of consecutive entries in one reply."""

    first: int
    count: int


@attrs.frozen
class ReplicaSingleReads:
    """Single reads to send: one request for each of the entries ``entry_ids``."""

    entry_ids: Sequence[int]


ReplicaRead = ReplicaBatchRead | ReplicaSingleReads

Answer = EntryRun | Mapping[int, bytes | Exception] | BookKeeperError
"""The answer of a bookie to a read: a run to a :class:`ReplicaBatchRead`, bytes or errors by entry id to
:class:`ReplicaSingleReads`, or an error."""

Scanning = Generator[ReplicaRead, Answer, None]


def state_of(error: Exception) -> str:
    """Return the state of an entry for which a bookie answered ``error``.

    If the bookie answers that it may have lost entries (``DataUnknownError``), the entry counts as *missing*.  If the
    bookie refuses the request, the answer says nothing about the entry, so the state is *unreachable*.
    """
    if isinstance(error, (*NO_ENTRY, DataUnknownError)):
        return MISSING
    return DAMAGED if isinstance(error, BookieIOError | DigestMatchError) else UNREACHABLE


def _says_all(error: Exception) -> bool:
    """Test whether the error in the answer to a batch read applies to all requested entries."""
    if isinstance(error, BadRequestError):  # the bookie does not support batch reads
        return False
    return isinstance(error, NoSuchLedgerError) or state_of(error) == UNREACHABLE


class ReplicaScan:
    """A scan of the entries that one position of an ensemble keeps.

    :ivar findings: the findings so far (ranges of entries in the same state), in the order of the scan; adjacent
        findings of one state are joined.
    :ivar batching: whether to send batch reads; set to False when the bookie refuses one.
    """

    def __init__(
        self, ledger_id: int, schedule: Schedule, position: int, digester: Digester, batching: bool = True
    ) -> None:
        self.findings: list[Finding] = []
        # In a striped ledger, a bookie lacks entries between its own, and a batch read would end at each gap.
        self.batching = batching and not schedule.striped
        self._ledger_id = ledger_id
        self._schedule = schedule
        self._position = position
        self._digester = digester
        self._length: int | None = None  # the ledger length after the previous entry, in bytes; None if it is unknown

    def whole(self, first: int, last: int) -> Scanning:
        """Scan every entry from ``first`` to ``last``, inclusive, that the scanned bookie should have.

        :returns: a generator that yields reads for the bookie; send the answer to each into the generator.
            After its end, :attr:`findings` is complete.
        """
        at, self._length = first, None
        while at <= last and self.batching:
            answer = yield ReplicaBatchRead(at, last - at + 1)
            if isinstance(answer, EntryRun):
                self._batch(answer)
            elif isinstance(answer, Exception) and _says_all(answer):
                self._note(self._rest(at, last, answer))
                return
            else:  # the error does not say which entry it concerns: read the entries one by one
                self.batching = not isinstance(answer, BadRequestError)
                self._length = None
                if not (yield from self._each(range(at, min(last, at + MAX_SINGLE_READS - 1) + 1), last)):
                    return
            at = self.findings[-1].last + 1
        kept = chain.from_iterable(
            range(start, start + count) for start, count in self._schedule.stretches(self._position, at, last)
        ) if at <= last else iter(())  # fmt: skip
        while wanted := list(islice(kept, MAX_SINGLE_READS)):
            if not (yield from self._each(wanted, last)):
                return

    def some(self, entry_ids: Sequence[int]) -> Scanning:
        """Scan the entries ``entry_ids`` by single reads.

        :param entry_ids: ascending ids of entries that the bookie at this position keeps.
        :returns: a generator that yields reads for the bookie; send the answer to each into the generator.
        """
        for start in range(0, len(entry_ids), MAX_SINGLE_READS):
            wanted = entry_ids[start : start + MAX_SINGLE_READS]
            if not (yield from self._each(wanted, entry_ids[-1])):
                return

    def _each(self, wanted: Sequence[int], last: int) -> Generator[ReplicaRead, Answer, bool]:
        """Read entries by single reads, and record the state of each entry.

        :returns: False if the scan ends, because an error applies to all later entries, too.
        """
        answer = yield ReplicaSingleReads(wanted)
        if isinstance(answer, EntryRun):
            answer = UnexpectedConditionError(f"a batch of ledger {self._ledger_id} where entries were asked for")
        if isinstance(answer, BookKeeperError):
            self._note(self._rest(wanted[0], last, answer))
            return False
        for entry_id in wanted:
            found = answer[entry_id]
            if isinstance(found, NoSuchLedgerError):
                self._note(self._rest(entry_id, last, found))
                return False
            self._note(self._single(entry_id, found))
        return True

    def _rest(self, first: int, last: int, error: Exception) -> Finding:
        """Return one finding for all entries from ``first`` to ``last``, because the ``error`` applies to all of them.
        """
        count = self._schedule.count(self._position, first, last)
        return Finding(first, last, state_of(error), count, detail=str(error))

    def _single(self, entry_id: int, found: bytes | Exception) -> Finding:
        if isinstance(found, bytes):
            try:
                self._digester.entry(self._ledger_id, entry_id, found)
            except DigestMatchError as error:
                found = error
            else:
                return Finding(entry_id, entry_id, OK, 1, len(found))
        return Finding(entry_id, entry_id, state_of(found), 1, 0, str(found))

    def _batch(self, run: EntryRun) -> None:
        try:
            self._digester.verify(run)
        except DigestMatchError as error:
            if error.entry_id > run.first:
                # Record only the entries before the damaged one.  The next batch read starts at the damaged entry.
                self._sound(run.slice(run.first, error.entry_id - run.first))
                return
            self._length = None
            self._note(Finding(run.first, run.first, DAMAGED, 1, 0, str(error)))
        else:
            self._sound(run)

    def _sound(self, run: EntryRun) -> None:
        """Record entries whose digests are right: as *ok*, or as *length* if the ledger length in an entry is wrong.

        The right ledger length is the length in the entry before, plus the size of the entry's payload.
        """
        while True:
            lengths = integers(run, LENGTH_AT).tolist()
            head = self._digester.payload_at
            sizes = [b - a - head for a, b in pairwise(run.record_offsets())]
            before = lengths[0] - sizes[0] if self._length is None else self._length
            expected = list(accumulate(sizes, initial=before))[1:]
            self._length = lengths[-1]
            if lengths == expected:
                self._note(Finding(run.first, run.last, OK, run.count, run.size))
                return
            at = next(i for i, (found, wanted) in enumerate(zip(lengths, expected, strict=True)) if found != wanted)
            if at:
                self._note(Finding(run.first, run.first + at - 1, OK, at, 0))
            entry_id = run.first + at
            detail = f"entry {entry_id}: length {lengths[at]}, not {expected[at]}"
            self._note(Finding(entry_id, entry_id, LENGTH, 1, sizes[at], detail))
            if at + 1 == run.count:
                return
            self._length = None  # unknown: either this entry or the entry before it may contain a wrong ledger length
            run = run.slice(entry_id + 1, run.count - at - 1)

    def _note(self, one: Finding) -> None:
        found = self.findings
        if found and self._continues(found[-1], one):
            before = found[-1]
            found[-1] = attrs.evolve(
                before, last=one.last, entries=before.entries + one.entries, n_bytes=before.n_bytes + one.n_bytes
            )
        else:
            found.append(one)

    def _continues(self, before: Finding, one: Finding) -> bool:
        """Test whether two findings can be joined: their state is the same, and the scan skips no entry between them.
        """
        if before.status != one.status:
            return False
        return self._schedule.ends(self._position, before.last + 1, one.first - 1) is None


def lost_ranges(findings: Sequence[Finding], state: str) -> Iterator[tuple[int, int]]:
    """Yield (first id, last id) of each range of entries that a scan has found in the given ``state``.

    :param state: one of the five states, for example :data:`MISSING`.
    """
    for one in findings:
        if one.status == state:
            yield one.first, one.last
