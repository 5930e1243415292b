"""BookKeeper for scripts and notebooks: plain calls that wait, plain iteration, no reactor to run.

::

    from bookkeeper_twisted.blocking import BookKeeper

    with BookKeeper.connect("sqlite:////var/lib/bookie/ledgers/metadata.db") as bk:
        with bk.create_ledger(1, 1, 1) as ledger:
            ledger.append(b"hello")
        for entry in bk.open_ledger(ledger.ledger_id):
            print(entry.data)

Theory of operation.  The first connection starts one daemon thread with a reactor of its own, which all
connections of the process share; a reactor of the application, Twisted's or asyncio's, is not touched.  A
call hands its work to that thread and waits.  Errors are those of the client, raised in the caller.
Ctrl-C while a call waits cancels it: an append that was cancelled may be written all the same.  Objects may
be used from several threads; the appends of one thread keep their order.
"""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.epollreactor import EPollReactor
from twisted.python.failure import Failure

from . import client
from .config.bookie import ClientConfig
from .ledger.entry_batch import EntryBatch
from .model import DigestType, Entry, LedgerMetadata

T = TypeVar("T")

_LISTED_AT_ONCE = 1000


class ReactorThread:
    """A reactor in a daemon thread, started by the first who needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reactor: Any = None

    @property
    def reactor(self) -> Any:
        """The reactor, running."""
        with self._lock:
            if self._reactor is None:
                self._reactor = EPollReactor()
                run = threading.Thread(target=self._reactor.run, args=(False,), name="bookkeeper", daemon=True)
                run.start()
            return self._reactor

    def wait(self, work: Callable[[], Awaitable[T]]) -> T:
        """Runs ``work`` on the reactor's thread and waits for what it gives."""
        reactor = self.reactor
        outcome: Future[T] = Future()
        running: list[Deferred[T]] = []

        async def run() -> T:
            return await work()

        def begin() -> None:
            running.append(Deferred.fromCoroutine(run()))
            running[0].addCallbacks(outcome.set_result, failed)

        def failed(failure: Failure) -> None:
            outcome.set_exception(failure.value)

        reactor.callFromThread(begin)
        try:
            return outcome.result()
        except KeyboardInterrupt:
            # queued after begin, so there is something to cancel
            reactor.callFromThread(lambda: running[0].cancel())
            raise


_thread = ReactorThread()


class BookKeeper:
    """A connection to a cluster; see :class:`bookkeeper_twisted.client.BookKeeper`."""

    def __init__(self, inner: client.BookKeeper, thread: ReactorThread) -> None:
        """Use :meth:`connect`."""
        self._inner = inner
        self._thread = thread

    @classmethod
    def connect(cls, uri: str, config: ClientConfig | None = None, thread: ReactorThread = _thread) -> "BookKeeper":
        """Connects to the cluster of a metadata service URI."""
        return cls(thread.wait(lambda: client.BookKeeper.connect(thread.reactor, uri, config)), thread)

    def create_ledger(
        self, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2, password: bytes = b"",
        digest_type: DigestType = DigestType.CRC32C, custom_metadata: Mapping[str, bytes] | None = None,
    ) -> "LedgerWriter":  # fmt: skip
        """A new ledger and its only writer."""
        create = self._inner.create_ledger
        inner = self._thread.wait(
            lambda: create(ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata)
        )
        return LedgerWriter(inner, self._thread)

    def open_ledger(self, ledger_id: int, password: bytes = b"", recover: bool = True) -> "LedgerReader":
        """A reader; a ledger that is not closed is recovered, unless that is not wanted."""
        inner = self._thread.wait(lambda: self._inner.open_ledger(ledger_id, password, recover))
        return LedgerReader(inner, self._thread)

    def delete_ledger(self, ledger_id: int) -> None:
        """Removes a ledger."""
        self._thread.wait(lambda: self._inner.delete_ledger(ledger_id))

    def list_ledgers(self) -> Iterator[int]:
        """The ids of all ledgers in ascending order."""
        ids = self._inner.list_ledgers()
        while part := self._thread.wait(lambda: _taken(ids, _LISTED_AT_ONCE)):
            yield from part

    def ledger_metadata(self, ledger_id: int) -> LedgerMetadata:
        """What is stored of a ledger."""
        return self._thread.wait(lambda: self._inner.ledger_metadata(ledger_id)).value

    def close(self) -> None:
        """Closes all connections."""
        self._thread.wait(self._inner.close)

    def __enter__(self) -> "BookKeeper":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LedgerWriter:
    """Appends to one ledger; see :class:`bookkeeper_twisted.client.LedgerWriter`."""

    def __init__(self, inner: client.LedgerWriter, thread: ReactorThread) -> None:
        self._inner = inner
        self._thread = thread
        self.ledger_id = inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The highest id up to which every append is acknowledged, -1 if none."""
        return self._inner.last_add_confirmed

    def append(self, data: bytes) -> int:
        """Appends one entry; returns its id once it is durable."""
        return self._thread.wait(lambda: self._inner.append(data))

    def append_many(self, payloads: Sequence[bytes]) -> tuple[int, int]:
        """Appends entries; returns first and last id once all are durable.  Much faster than one by one."""
        return self._thread.wait(lambda: self._inner.append_many(payloads))

    def appender(
        self, when_full: client.WhenFull = client.WhenFull.BLOCK, patience: float | None = None
    ) -> client.ThreadAppender:
        """What any thread appends with, without waiting for each entry: what was offered is durable once a flush is."""

        async def made() -> client.ThreadAppender:
            return self._inner.appender(when_full, patience)

        return self._thread.wait(made)

    def close(self) -> None:
        """Closes the ledger."""
        self._thread.wait(self._inner.close)

    def __enter__(self) -> "LedgerWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Closes; an error of the body is not hidden by one of the close."""
        if kind is None:
            self.close()
        else:
            self._thread.wait(lambda: self._inner.close().addErrback(lambda failure: None))


class LedgerReader:
    """Reads one ledger; iterating gives all its entries.

    See :class:`bookkeeper_twisted.client.LedgerReader`.
    """

    def __init__(self, inner: client.LedgerReader, thread: ReactorThread) -> None:
        self._inner = inner
        self._thread = thread
        self.ledger_id = inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The highest id that can be read, -1 if none."""
        return self._inner.last_add_confirmed

    @property
    def length(self) -> int:
        """Bytes of all payloads."""
        return self._inner.length

    def read(self, first: int, last: int) -> list[Entry]:
        """The entries ``first .. last``."""
        return self._thread.wait(lambda: self._inner.read(first, last))

    def read_entry(self, entry_id: int) -> Entry:
        """One entry."""
        return self._thread.wait(lambda: self._inner.read_entry(entry_id))

    def batches(self, start: int = 0, end: int | None = None) -> Iterator[EntryBatch]:
        """Batches of the entries ``start .. end`` (default: the LAC), read ahead; one wait for each."""
        batches = self._inner.batches(start, end)
        while part := self._thread.wait(lambda: _taken(batches, 1)):
            yield from part

    def entries(self, start: int = 0, end: int | None = None) -> Iterator[Entry]:
        """The entries ``start .. end``, one by one, read as :meth:`batches`."""
        for batch in self.batches(start, end):
            yield from batch

    def __iter__(self) -> Iterator[Entry]:
        return self.entries()

    def close(self) -> None:
        """Ends the handle."""
        self._thread.wait(self._inner.close)

    def __enter__(self) -> "LedgerReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _taken(items: AsyncIterator[T], count: int) -> list[T]:
    """Up to ``count`` more of an iteration; none at its end."""
    found: list[T] = []
    while len(found) < count:
        try:
            found.append(await anext(items))
        except StopAsyncIteration:
            break
    return found
