"""Bookies in memory, for tests of the client: a test sets their delays and failures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby, pairwise
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from zope.interface import implementer

from ..client.interfaces import IBookieClient
from ..codec.adds import Adds
from ..codec.operations import FENCE
from ..codec.runs import BatchReply, ReadReply
from ..codec.strides import stretches
from ..codec.wires import V2, V3
from ..errors import (
    BookieError,
    BookieHandleNotAvailableError,
    ClientClosedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    Status,
)
from ..model import INVALID_ENTRY_ID
from ..protocol.client.request_errors import entries_text, no_reply
from ..protocol.client.sent_adds import AddsDone
from .memory_bookie import MemoryBookie

T = TypeVar("T")

TIMEOUT = 5.0
"""Seconds after which a request to a silent bookie fails."""


@implementer(IBookieClient)
class MemoryBookies:
    """A bookie client whose bookies exist only in memory; each bookie is created when it is first used.

    A flow, which makes the requests of one ledger handle, is another object of this class.  It has the same bookies,
    and can be closed separately.

    :ivar flows: all flows that were opened.
    :ivar end: the error with which further requests fail; None while requests are accepted.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self.flows: list[MemoryBookies] = []
        self._clock = clock
        self._bookies: dict[str, MemoryBookie] = {}
        self._pending: dict[Deferred[None], None] = {}
        self.end: Exception | None = None

    def __getitem__(self, bookie_id: str) -> MemoryBookie:
        return self._bookies.setdefault(bookie_id, MemoryBookie())

    def __repr__(self) -> str:
        up = [bookie_id for bookie_id, bookie in self._bookies.items() if bookie.up]
        return f"<MemoryBookies, {len(up)} of {len(self._bookies)} up>"

    # ---- IBookieClient -------------------------------------------------------------------------------

    def add(self, bookie_id: str, adds: Adds, done: AddsDone, fresh: bool = False) -> None:
        """Send add requests to a bookie in one write, for entries of a writer or for copies from another bookie.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.add` for parameters and errors.
        """

        def succeeded(errors: list[Exception | None]) -> None:
            for error in errors:
                _name(error, bookie_id)
            for _, group in groupby(range(len(errors)), lambda index: type(errors[index])):
                indexes = list(group)
                done(bookie_id, indexes, errors[indexes[0]])

        frames, bookie = (V3 if adds.deferred_sync else V2).encode_adds(adds, 0)[0], self[bookie_id]
        for start, end in stretches(adds.entry_ids, adds.ledger_ids):
            bookie.requests.append(("add", adds.ledger_ids[start], adds.entry_ids[start], end - start))
        asked = f"adds of {entries_text(adds.ledger_ids[0], adds.entry_ids)}"
        answer = self._after_delay(bookie_id, asked).addCallback(lambda _: bookie.add_all(frames))
        answer.addCallbacks(succeeded, lambda f: done(bookie_id, range(len(adds)), f.value))

    def read(
        self, bookie_id: str, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None
    ) -> "Deferred[ReadReply]":
        """Read one entry of a ledger from a bookie.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.read` for parameters and errors.
        """

        def look() -> ReadReply:
            if flags & FENCE:
                bookie.fence(ledger_id, master_key)
            return ReadReply(Status.EOK, ledger_id, entry_id, None, bookie.get(ledger_id, entry_id))

        bookie = self[bookie_id]
        return self._answer(bookie_id, "read", ledger_id, entry_id, 1, look)

    def read_many(
        self, bookie_id: str, ledger_id: int, entry_ids: Sequence[int], context: Mapping[str, str] | None = None
    ) -> "Deferred[list[ReadReply]]":
        """Read several entries from a bookie by requests that are sent in one write.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.read_many` for parameters and errors.
        """

        def one(entry_id: int) -> ReadReply:
            try:
                error = bookie.fault("read_many", entry_id)
                if error is not None:
                    raise error
                return ReadReply(Status.EOK, ledger_id, entry_id, None, bookie.get(ledger_id, entry_id))
            except BookieError as refused:
                return ReadReply(refused.status, ledger_id, entry_id, None, None)

        bookie = self[bookie_id]
        ids = list(entry_ids)
        return self._answer(
            bookie_id, "read_many", ledger_id, ids[0], len(ids), lambda: [one(e) for e in ids], faults=False
        )

    def read_batch(
        self, bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None, context: Mapping[str, str] | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """Read one or more consecutive entries, beginning with ``first``, from a bookie in one request.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.read_batch` for parameters and errors.
        """

        def look() -> BatchReply:
            if flags & FENCE:
                bookie.fence(ledger_id, master_key)
            run = bookie.forged() if bookie.forged else bookie.batch(ledger_id, first, max_count, max_size)
            lac = None if patience is None else bookie.lac(ledger_id)
            return BatchReply(Status.EOK, ledger_id, first, 0, run, lac)

        bookie = self[bookie_id]
        if patience is None:
            return self._answer(bookie_id, "read_batch", ledger_id, first, max_count, look)
        waited = self._answer(
            bookie_id, "poll_batch", ledger_id, first, max_count,
            lambda: self._news(bookie, ledger_id, first - 1, patience),
        )  # fmt: skip
        answer = cast("Deferred[None]", waited).addCallback(lambda _: look())
        return answer.addErrback(_told_by, bookie_id)

    def read_lac(self, bookie_id: str, ledger_id: int) -> "Deferred[tuple[bytes | None, bytes | None]]":
        """Read the explicit LAC and the last entry of a ledger from one bookie."""

        def look() -> tuple[bytes | None, bytes | None]:
            explicit = bookie.explicit_lacs.get(ledger_id)
            last = bookie.get(ledger_id, INVALID_ENTRY_ID) if bookie.entries.get(ledger_id) else None
            if explicit is None and last is None:
                raise NoSuchEntryError(ledger_id)
            return explicit, last

        bookie = self[bookie_id]
        return self._answer(bookie_id, "read_lac", ledger_id, INVALID_ENTRY_ID, 1, look)

    def long_poll(
        self, bookie_id: str, ledger_id: int, previous_lac: int, patience: float
    ) -> "Deferred[ReadReply]":  # fmt: skip
        """Send a long poll to a bookie, which replies when it knows a LAC above ``previous_lac``.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.long_poll` for parameters and errors.
        """

        def wait() -> Deferred[ReadReply]:
            return self._news(bookie, ledger_id, previous_lac, patience).addCallback(answer)

        def answer(_: None) -> ReadReply:
            lac = bookie.lac(ledger_id)
            entry = bookie.entries.get(ledger_id, {}).get(previous_lac + 1) if lac > previous_lac else None
            return ReadReply(Status.EOK, ledger_id, INVALID_ENTRY_ID, None, entry, lac)

        bookie = self[bookie_id]
        asked = self._answer(bookie_id, "long_poll", ledger_id, previous_lac + 1, 1, wait)
        # The type checker does not know that a Deferred waits for the Deferred that its callback returns.
        return cast("Deferred[ReadReply]", asked)

    def _news(
        self, bookie: MemoryBookie, ledger_id: int, previous_lac: int, patience: float
    ) -> "Deferred[None]":  # fmt: skip
        """Wait until the LAC is above ``previous_lac``, the ledger is fenced, or ``patience`` seconds have passed."""
        if not (bookie.entries.get(ledger_id) or ledger_id in bookie.keys):
            raise NoSuchLedgerError(ledger_id)

        def ready() -> bool:
            return bookie.lac(ledger_id) > previous_lac or ledger_id in bookie.fenced

        def forget(result: Any) -> Any:
            bookie.waiting.pop(news)
            return result

        news: Deferred[None] = self._after(0.0 if ready() else patience)
        bookie.waiting[news] = ready
        return news.addBoth(forget)

    def write_lac(self, bookie_id: str, ledger_id: int, master_key: bytes, lac: int, body: bytes) -> "Deferred[None]":
        """Send an explicit LAC packet to a bookie, which keeps it for readers of the ledger.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.write_lac` for parameters and errors.
        """

        def store() -> None:
            bookie.check_key(ledger_id, master_key)
            bookie.write_lac(ledger_id, body)

        bookie = self[bookie_id]
        return self._answer(bookie_id, "write_lac", ledger_id, INVALID_ENTRY_ID, 1, store)

    def force(self, bookie_id: str, ledger_id: int) -> "Deferred[None]":
        """Succeed after the delay of the bookie: entries in memory need no sync."""
        return self._answer(bookie_id, "force", ledger_id, INVALID_ENTRY_ID, 1, lambda: None)

    def list_entries(self, bookie_id: str, ledger_id: int) -> "Deferred[Sequence[tuple[int, int]]]":
        """List the entries of the ledger ``ledger_id`` that a bookie has."""

        def look() -> Sequence[tuple[int, int]]:
            entries = self[bookie_id].entries.get(ledger_id)
            if entries is None:
                raise NoSuchLedgerError(ledger_id)
            return tuple(_ranges(sorted(entries)))

        return self._answer(bookie_id, "list_entries", ledger_id, INVALID_ENTRY_ID, 1, look)

    def bookie_info(self, bookie_id: str) -> "Deferred[tuple[int, int]]":
        """Return the total and the free bytes of the disks of the bookie ``bookie_id``; both are fixed numbers."""
        return self._answer(bookie_id, "bookie_info", -1, INVALID_ENTRY_ID, 1, lambda: (1 << 40, 1 << 39))

    def open_flow(self) -> IBookieClient:
        """Return a new bookie client for the requests of one ledger handle; it has the same bookies as this object."""
        flow = copy(self)
        flow.flows, flow._pending = [], {}
        self.flows.append(flow)
        return cast(IBookieClient, flow)

    def check_open(self) -> None:
        """Check that requests are accepted.

        :raises bookkeeper_twisted.errors.ClientClosedError: this object was closed or retired.
        """
        if self.end is not None:
            raise self.end

    def retire(self) -> None:
        """Refuse further requests with ClientClosedError; outstanding requests end as usual."""
        if self.end is None:
            self.end = ClientClosedError("the handle was closed")

    def close(self) -> "Deferred[None]":
        """Fail outstanding requests of this object and of its flows, and all later calls, with ClientClosedError."""
        self._end_with(ClientClosedError("closed"))
        return self._after(0.0)

    def _end_with(self, error: Exception) -> None:
        self.end = error
        for flow in list(self.flows):
            flow._end_with(error)
        for waiting in list(self._pending):
            waiting.errback(error)

    # ---- answers -------------------------------------------------------------------------------------

    def _answer(
        self, bookie_id: str, operation: str, ledger_id: int, entry_id: int, count: int, work: Callable[[], T],
        faults: bool = True,
    ) -> "Deferred[T]":  # fmt: skip
        """Call ``work`` after the bookie's delay and return its result.

        :param faults: whether this method applies the faults of the bookie (:class:`~.memory_bookie.Fault`) to the
            whole request; False if ``work`` applies them to single entries.
        """

        def act(_: None) -> T:
            error = self[bookie_id].fault(operation, entry_id) if faults else None
            if error is not None:
                raise error
            return work()

        self[bookie_id].requests.append((operation, ledger_id, entry_id, count))
        asked = f"{operation} of {entries_text(ledger_id, (entry_id,))}"
        return self._after_delay(bookie_id, asked).addCallback(act).addErrback(_told_by, bookie_id)

    def _after_delay(self, bookie_id: str, asked: str) -> "Deferred[None]":
        """Wait for the delay of a bookie's answer; fail if the bookie is down or silent.

        :param asked: what was asked for.
        """
        bookie = self[bookie_id]
        if self.end is not None:
            return self._failing(self.end, 0.0)
        if not bookie.up:
            return self._failing(BookieHandleNotAvailableError(f"no connection to {bookie_id}"), 0.0)
        if bookie.silent:
            return self._failing(no_reply(bookie_id, asked, TIMEOUT), TIMEOUT)
        return self._after(bookie.delay)

    def _failing(self, error: Exception, delay: float) -> "Deferred[Any]":
        def fail(_: None) -> None:
            raise error

        return self._after(delay).addCallback(fail)

    def _after(self, delay: float) -> "Deferred[None]":
        def end(result: T) -> T:
            del self._pending[waiting]
            if call.active():
                call.cancel()
            return result

        waiting: Deferred[None] = Deferred()
        self._pending[waiting] = None
        call = self._clock.callLater(delay, waiting.callback, None)
        return waiting.addBoth(end)


def _name(error: BaseException | None, bookie_id: str) -> None:
    """Put the id of the bookie into the ``error`` with which it has answered."""
    if isinstance(error, BookieError):
        error.bookie_id = bookie_id


def _told_by(failure: Failure, bookie_id: str) -> Failure:
    _name(failure.value, bookie_id)
    return failure


def _ranges(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = ids[0]
    for before, after in pairwise(ids):
        if after != before + 1:
            yield start, before
            start = after
    yield start, ids[-1]
