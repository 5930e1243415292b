"""The reads of a check: they are counted, limited in speed, and repeated after temporary errors.

If a bookie is overloaded, does not answer in time or closes the connection, the read is repeated after growing pauses.
The reads do not have the flag for high priority, so a bookie serves requests with this flag first, such as those of
ledger recoveries.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from ...client.reading.context import ReadingContext
from ...codec.runs import BatchReply, ReadReply
from ...entries.entry_run import EntryRun
from ...errors import (
    BadRequestError,
    BookKeeperError,
    ClientClosedError,
)
from ...ledger.batch_support import UNANSWERED
from ...ledger.read_answers import UsualSize, entry_or_error, requested_batch
from ...ledger.replica_scan import Answer, ReplicaBatchRead, ReplicaRead, Scanning
from ...limits.throttle import Throttle
from ..limits import ConcurrencyLimit, piece
from ..metrics import CheckerMetrics
from ..retries import Retries, is_transient
from ..unanswering import UnansweringBookies

T = TypeVar("T")


@attrs.define
class ReadTotals:
    """The numbers of requests, entries and bytes of one check."""

    requests: int = 0
    entries: int = 0
    n_bytes: int = 0


class BookieReads:
    """The reads by which one check of a ledger asks bookies for entries.

    :param context: the client's objects for reads.
    :param batch_bytes: maximum number of bytes per request; a low speed limit may reduce this number.
    :param usual_size: the expected size of an entry, which is updated from each reply.
    :param unanswering: the record of bookies that do not answer; all checks share it.
    """

    def __init__(
        self, context: ReadingContext, ledger_id: int, throttle: Throttle, in_flight: ConcurrencyLimit,
        retries: Retries, batch_bytes: int, usual_size: UsualSize, metrics: CheckerMetrics,
        unanswering: UnansweringBookies,
    ) -> None:  # fmt: skip
        self.totals = ReadTotals()
        self._context = context
        self._ledger_id = ledger_id
        self._throttle = throttle
        self._in_flight = in_flight
        self._retries = retries
        self._batch_bytes = batch_bytes
        self._usual_size = usual_size
        self._metrics = metrics
        self._unanswering = unanswering

    def knows_batches(self, bookie_id: str) -> bool:
        """Test whether the bookie ``bookie_id`` probably supports batch reads."""
        return self._context.config.batch_read_enabled and self._context.batch_support.is_expected(bookie_id)

    async def read_lac(self, bookie_id: str, ledger_id: int) -> tuple[bytes | None, bytes | None]:
        """Read the explicit LAC and the last entry of a ledger; see :meth:`.IBookieClient.read_lac`.

        :raises BookieHandleNotAvailableError: the bookie did not answer recent requests, so no request was sent.
        """
        read = partial(self._context.bookies.read_lac, bookie_id, ledger_id)
        return await self._unanswering.ask(bookie_id, read)

    async def scan(self, bookie_id: str, reads: Scanning) -> None:
        """Send the reads of a generator to a bookie, and send the answers back into the generator.

        ``reads`` yields one read at a time, and receives its answer by ``send()`` before it yields the next one.
        An error of the bookie is not raised, but sent to the generator as the answer.

        :raises ClientClosedError: the client was closed.
        """
        try:
            read = next(reads)
            while True:
                read = reads.send(await self._answer(bookie_id, read))
        except StopIteration:
            return

    async def _answer(self, bookie_id: str, read: ReplicaRead) -> Answer:
        if isinstance(read, ReplicaBatchRead):
            return await self._batch(bookie_id, read)
        answers: dict[int, bytes | Exception] = {}
        count, size = piece(len(read.entry_ids), self._batch_bytes, self._throttle)
        start = 0
        while start < len(read.entry_ids):
            step = self._usual_size.entries_in(size, min(count, self._in_flight.limit or count))
            error = await self._singles(bookie_id, read.entry_ids[start : start + step], answers)
            if error is not None and not answers:
                return error
            if error is not None:
                answers.update((entry_id, error) for entry_id in read.entry_ids[start:] if entry_id not in answers)
                break
            start += step
        return answers

    # ---- batches -------------------------------------------------------------------------------------

    async def _batch(self, bookie_id: str, read: ReplicaBatchRead) -> EntryRun | BookKeeperError:
        for attempt in range(self._retries.attempts):
            if not self._context.batch_support.is_expected(bookie_id):
                return BadRequestError(self._ledger_id, read.first)
            refusal = self._unanswering.refusal(bookie_id)
            if refusal is not None:
                return refusal
            answer = await self._ask_batch(bookie_id, read)
            if not is_transient(answer) or self._retries.is_last(attempt):
                break
            await self._wait(attempt)
        return answer

    async def _ask_batch(self, bookie_id: str, read: ReplicaBatchRead) -> EntryRun | BookKeeperError:
        context, ledger_id, first = self._context, self._ledger_id, read.first
        count, size = piece(read.count, self._batch_bytes, self._throttle)
        expected = self._usual_size.entries_in(size, count)
        try:
            reply = await self._request(
                1, expected, partial(context.bookies.read_batch, bookie_id, ledger_id, first, count, size), _of_batch
            )
            run = requested_batch(reply.entries, ledger_id, first, count)
        except ClientClosedError:
            raise
        except BadRequestError as error:
            context.batch_support.refused(bookie_id)
            return error
        except UNANSWERED as error:
            await self._look_for_refusal(bookie_id, first)
            return error
        except BookKeeperError as error:
            self._unanswering.heard(bookie_id, error)
            return error
        self._unanswering.heard(bookie_id)
        context.batch_support.gave_one(bookie_id)
        return run

    async def _look_for_refusal(self, bookie_id: str, entry_id: int) -> None:
        """Send a single read after an unanswered batch read, and record why the bookie may not have answered.

        If the bookie answers the single read, record that it may not support batch reads.  Otherwise, record an
        unanswered request, because the bookie may not answer any request.
        """
        answers: dict[int, bytes | Exception] = {}
        if await self._ask_singles(bookie_id, (entry_id,), answers) is None:
            self._context.batch_support.unanswered(bookie_id)

    # ---- single reads --------------------------------------------------------------------------------

    async def _singles(
        self, bookie_id: str, wanted: Sequence[int], answers: dict[int, bytes | Exception]
    ) -> BookKeeperError | None:
        """Read the ``wanted`` entries by single reads, with retries, and put the answers into ``answers``.

        Return the error of the last attempt if it got no replies, else None.
        """
        error: BookKeeperError | None = None
        for attempt in range(self._retries.attempts):
            refusal = self._unanswering.refusal(bookie_id)
            if refusal is not None:
                return refusal
            error = await self._ask_singles(bookie_id, wanted, answers)
            wanted = [entry_id for entry_id in wanted if entry_id not in answers or is_transient(answers[entry_id])]
            if not wanted or (error is not None and not is_transient(error)):
                break
            if not self._retries.is_last(attempt):
                await self._wait(attempt)
        return error

    async def _ask_singles(
        self, bookie_id: str, wanted: Sequence[int], answers: dict[int, bytes | Exception]
    ) -> BookKeeperError | None:
        ledger_id = self._ledger_id
        try:
            read = partial(self._context.bookies.read_many, bookie_id, ledger_id, wanted)
            replies = await self._request(len(wanted), len(wanted), read, _of_singles)
        except ClientClosedError:
            raise
        except BookKeeperError as error:
            self._unanswering.heard(bookie_id, error)
            return error
        self._unanswering.heard(bookie_id)
        for entry_id, reply in zip(wanted, replies, strict=True):
            answers[entry_id] = entry_or_error(reply, ledger_id, entry_id, bookie_id)
        return None

    # ---- accounts ------------------------------------------------------------------------------------

    async def _request(
        self, count: int, expected: int, ask: "Callable[[], Deferred[T]]", amount: Callable[[T], tuple[int, int]]
    ) -> T:
        """Wait until the limits allow ``count`` requests, then send them, and count the entries in their replies.

        :param count: number of requests.
        :param expected: number of entries that the requests will probably return.
        :param ask: a function that sends the requests.
        :param amount: a function that returns the number of entries and the number of bytes in a reply.
        """
        found, expected_bytes = (0, 0), expected * self._usual_size.n_bytes
        await self._throttle.acquire(expected_bytes, expected, f"check of ledger {self._ledger_id}")
        try:
            reply = await self._ask(count, ask)
            found = amount(reply)
        finally:
            self._settle(*found, expected, expected_bytes)
        return reply

    async def _ask(self, count: int, ask: "Callable[[], Deferred[T]]") -> T:
        await self._in_flight.enter(count)
        self.totals.requests += count
        self._metrics.requests.value += count
        try:
            return await ask()
        finally:
            self._in_flight.leave(count)

    def _settle(self, entries: int, n_bytes: int, expected: int, expected_bytes: int) -> None:
        self._throttle.correct(n_bytes - expected_bytes, entries - expected)
        self.totals.entries += entries
        self.totals.n_bytes += n_bytes
        self._metrics.entries.value += entries
        self._metrics.n_bytes.value += n_bytes
        if n_bytes:  # a reply without entries says nothing about the usual size of an entry
            self._usual_size.learn(entries, n_bytes)

    async def _wait(self, attempt: int) -> None:
        self._metrics.retries.value += 1
        await deferLater(self._context.clock, self._retries.pause(attempt))


def _of_batch(reply: BatchReply) -> tuple[int, int]:
    return (0, 0) if reply.entries is None else (reply.entries.count, reply.entries.size)


def _of_singles(replies: Sequence[ReadReply]) -> tuple[int, int]:
    return len(replies), sum(len(reply.entry or b"") for reply in replies)
