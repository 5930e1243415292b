"""Reads beyond the last add confirmed, by which a recovery finds the entries to keep and the end of the ledger.

To decide whether an entry stays in the ledger, all bookies of its write set are asked for it, and their answers are
votes (:class:`~bookkeeper_twisted.ledger.recovery_rules.EntryVote`).  The bookie that returned the entry then gets
batch reads for the next entries, which is faster.  If a batch read returns no entry, the ledger may still have more
entries, so the next entry is decided by votes.  A bookie that does not answer a batch read gets no further batch read
in this recovery, so it costs only one time-out.  While no bookie answers batch reads, votes are taken on several
entries at the same time.
"""

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ...codec.digest import Digester
from ...codec.operations import MAX_COUNT
from ...codec.runs import BatchReply
from ...entries.entry_run import EntryRun
from ...errors import BadRequestError, BookKeeperError
from ...ledger.batch_support import UNANSWERED, BatchSupport
from ...ledger.read_answers import failed_request, verified_batch
from ...ledger.recovery_rules import EntryVote, RecoveryRules, Verdict
from ...model import MAX_ENTRY_ID
from ..interfaces import IBookieClient


class RecoveryReads:
    """The reads of a recovery, which find the entries beyond the LAC on the last ensemble, and fence the ledger.

    :param batch_size: maximum number of bytes of a batch read; 0 for single reads only.
    :param max_votes: maximum number of entries that are read at the same time, each from all bookies of its write set,
        while no bookie answers batch reads.
    """

    def __init__(
        self, bookies: IBookieClient, digester: Digester, ledger_id: int, rules: RecoveryRules, support: BatchSupport,
        batch_size: int, max_votes: int,
    ) -> None:  # fmt: skip
        self._bookies = bookies
        self._digester = digester
        self._ledger_id = ledger_id
        self._rules = rules
        self._ensemble = rules.metadata.segments[-1].bookies
        self._support = support
        self._batch_size = batch_size
        self._max_votes = max_votes
        self._window = 1
        self._source: str | None = None
        self._unanswered: set[str] = set()  # bookies that did not answer a batch read
        # Bookies in _unanswered that have not returned an entry since.  One that then returns an entry to a single read
        # works, so probably it does not support batch reads.
        self._doubted: set[str] = set()
        self._end: int | None = None

    async def entries_from(self, first: int) -> EntryRun | None:
        """Read one or more entries from ``first`` upwards; return None if the ledger ends before ``first``.

        A ledger also ends after the entry with the highest id that the wire protocols can express.

        :raises BookKeeperError: too few bookies answered to decide whether the entry was acknowledged.
        """
        if first == self._end or first > MAX_ENTRY_ID:
            return None
        run = await self._by_batch(first)
        return run if run is not None else await self._by_votes(first)

    # ---- batches -------------------------------------------------------------------------------------

    async def _by_batch(self, first: int) -> EntryRun | None:
        """Read a batch of entries, from ``first`` on, from the bookie that returned the previous entry.

        Return None if this bookie returns no entry.  The ledger may have more entries nevertheless, so the caller must
        ask all bookies of the write set.
        """
        source = self._source
        if source is None or not self._gives_batches(source):
            return None
        try:
            reply = await self._read_batch(source, first)
            self._support.gave_one(source)
            return verified_batch(reply.entries, self._ledger_id, first, MAX_COUNT, self._digester)
        except BadRequestError:
            self._support.refused(source)
        except UNANSWERED:
            # send this bookie no more batch reads, because each of them may cost a time-out
            self._unanswered.add(source)
            self._doubted.add(source)
        except BookKeeperError:
            pass  # the caller then reads the next entry from all bookies of its write set
        return None

    def _gives_batches(self, bookie_id: str) -> bool:
        return bool(self._batch_size) and bookie_id not in self._unanswered and self._support.is_expected(bookie_id)

    def _read_batch(self, bookie_id: str, first: int) -> "Deferred[BatchReply]":
        return self._bookies.read_batch(
            bookie_id, self._ledger_id, first, MAX_COUNT, self._batch_size, self._rules.read_flags(),
            self._digester.master_key,
        )  # fmt: skip

    # ---- votes ---------------------------------------------------------------------------------------

    async def _by_votes(self, first: int) -> EntryRun | None:
        """Read the next entries from all bookies of their write sets; decide by the answers which entries to keep.

        :param first: id of the first of these entries.
        :returns: the entries to keep; None if the ledger ends before ``first``.
        """
        ids = range(first, min(first + self._window, MAX_ENTRY_ID + 1))
        votes = [Deferred.fromCoroutine(self._vote(entry_id)) for entry_id in ids]
        stored: list[bytes] = []
        try:
            for vote in votes:
                entry = await vote
                if entry is None:
                    self._end = first + len(stored)
                    break
                stored.append(entry)
        except BookKeeperError:
            if not stored:
                raise
        finally:
            # cancel the reads of entries after the end of the ledger or after an error: their results are not needed
            for vote in votes:
                vote.addErrback(lambda _: None)
                vote.cancel()
        if len(stored) == self._window and self._source is not None and not self._gives_batches(self._source):
            self._window = min(2 * self._window, self._max_votes)
        return EntryRun.of_entries(self._ledger_id, first, stored) if stored else None

    async def _vote(self, entry_id: int) -> bytes | None:
        """Ask all bookies of the write set for an entry; return it as stored, or None if it was never acknowledged."""
        poll = _EntryPoll(self._rules)
        bookies = [self._ensemble[position] for position in self._rules.schedule.write_set(entry_id)]
        asked = [Deferred.fromCoroutine(self._ask(bookie_id, entry_id, poll)) for bookie_id in bookies]
        for answer in asked:
            answer.addErrback(poll.crashed)
        try:
            await poll.decided
        finally:
            for answer in asked:
                answer.cancel()
        if poll.vote.verdict is Verdict.UNDECIDABLE:
            raise failed_request(poll.errors, self._ledger_id, entry_id)
        self._source = poll.source
        if poll.source in self._doubted:
            self._doubted.remove(poll.source)
            self._support.unanswered(poll.source)
        return poll.entry

    async def _ask(self, bookie_id: str, entry_id: int, poll: "_EntryPoll") -> None:
        flags, key = self._rules.read_flags(), self._digester.master_key
        try:
            reply = await self._bookies.read(bookie_id, self._ledger_id, entry_id, flags, key)
            stored = reply.entry or b""
            self._digester.entry(self._ledger_id, entry_id, stored)
        except BookKeeperError as error:
            poll.failed(bookie_id, error)
        else:
            poll.found(bookie_id, stored)


class _EntryPoll:
    """The reads of one entry from all bookies of its write set; each answer is a vote on whether to keep the entry.

    :ivar decided: a Deferred that fires as soon as the votes decide whether to keep the entry.
    :ivar entry: the stored entry, None if no bookie returned it.
    :ivar source: the id of the bookie that returned the entry.
    :ivar errors: the error of each bookie that did not return the entry, by bookie id.
    """

    def __init__(self, rules: RecoveryRules) -> None:
        self.vote = EntryVote(rules)
        self.decided: Deferred[None] = Deferred()
        self.entry: bytes | None = None
        self.source: str | None = None
        self.errors: dict[str, Exception] = {}

    def found(self, bookie_id: str, entry: bytes) -> None:
        if not self.decided.called:
            self.entry, self.source = entry, bookie_id
        self.vote.found()
        self._tell()

    def failed(self, bookie_id: str, error: Exception) -> None:
        self.errors[bookie_id] = error
        self.vote.failed(error)
        self._tell()

    def crashed(self, failure: Failure) -> None:
        # Once it is decided whether to keep the entry, its other reads are cancelled; ignore their CancelledError.
        if not self.decided.called:
            self.decided.errback(failure)

    def _tell(self) -> None:
        if self.vote.verdict is not Verdict.OPEN and not self.decided.called:
            self.decided.callback(None)
