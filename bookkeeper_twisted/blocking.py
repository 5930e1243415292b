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
call runs its work in that thread and waits.  Errors are the client's, raised in the caller.  Every call takes a
``timeout`` in seconds; once it is over the call is cancelled and raises ``TimeoutError``, and Ctrl-C cancels
it too.  An append that was cancelled may be written all the same.  Objects may be used from several threads; the
appends of one thread keep their order.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

from . import client
from .client.steps import take
from .config.client import ClientConfig
from .ledger.entry_batch import EntryBatch
from .model import DigestType, Entry, LedgerMetadata, WriteFlag
from .placement.interfaces import IPlacementPolicy
from .reactor_thread import ReactorThread

__all__ = ["AdvLedgerWriter", "BookKeeper", "LedgerReader", "LedgerWriter", "ReactorThread"]

WriterT = TypeVar("WriterT", bound=client.LedgerWriter | client.AdvLedgerWriter)

_LISTED_AT_ONCE = 1000

_thread = ReactorThread()


class BookKeeper:
    """A client of one cluster; see :class:`bookkeeper_twisted.client.BookKeeper`."""

    def __init__(self, inner: client.BookKeeper, thread: ReactorThread) -> None:
        """:param inner: a client on the reactor of ``thread``; closed with this object."""
        self._inner = inner
        self._wait = thread.wait
        self._thread = thread

    @classmethod
    def connect(
        cls, uri: str, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None,
        metrics: client.ClientMetrics | None = None, *, thread: ReactorThread = _thread, timeout: float | None = None,
    ) -> Self:  # fmt: skip
        """Connect to the cluster of a metadata service URI.

        See :meth:`bookkeeper_twisted.client.BookKeeper.connect`.
        """
        connect = client.BookKeeper.connect
        return cls(thread.wait(lambda: connect(thread.reactor, uri, config, placement, metrics), timeout), thread)

    def create_ledger(
        self, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2, password: bytes = b"",
        digest_type: DigestType | str = DigestType.CRC32C, custom_metadata: Mapping[str, bytes] | None = None,
        write_flags: WriteFlag = WriteFlag.NONE, *, timeout: float | None = None,
    ) -> "LedgerWriter":  # fmt: skip
        """Create a ledger; return its only writer.  See :meth:`bookkeeper_twisted.client.BookKeeper.create_ledger`."""
        create = self._inner.create_ledger
        parts = (ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags)
        return LedgerWriter(self._wait(lambda: create(*parts), timeout), self._thread)

    def create_ledger_adv(
        self, ledger_id: int | None = None, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2,
        password: bytes = b"", digest_type: DigestType | str = DigestType.CRC32C,
        custom_metadata: Mapping[str, bytes] | None = None, write_flags: WriteFlag = WriteFlag.NONE,
        *, timeout: float | None = None,
    ) -> "AdvLedgerWriter":  # fmt: skip
        """Create a ledger whose entries the caller numbers.

        See :meth:`bookkeeper_twisted.client.BookKeeper.create_ledger_adv`.
        """
        create = self._inner.create_ledger_adv
        parts = (ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags)
        return AdvLedgerWriter(self._wait(lambda: create(ledger_id, *parts), timeout), self._thread)

    def open_ledger(
        self, ledger_id: int, password: bytes | None = b"", recover: bool = True, *, timeout: float | None = None
    ) -> "LedgerReader":
        """Open a ledger for reading.  See :meth:`bookkeeper_twisted.client.BookKeeper.open_ledger`."""
        opened = self._wait(lambda: self._inner.open_ledger(ledger_id, password, recover), timeout)
        return LedgerReader(opened, self._thread)

    def delete_ledger(self, ledger_id: int, *, timeout: float | None = None) -> None:
        """Remove a ledger.  See :meth:`bookkeeper_twisted.client.BookKeeper.delete_ledger`."""
        self._wait(lambda: self._inner.delete_ledger(ledger_id), timeout)

    def list_ledgers(self, *, timeout: float | None = None) -> Iterator[int]:
        """Iterate over the ids of all ledgers in ascending order.

        :param timeout: of each call to the metadata store.
        """
        ids = self._inner.list_ledgers()
        while part := self._wait(lambda: take(ids, _LISTED_AT_ONCE), timeout):
            yield from part

    def ledger_metadata(self, ledger_id: int, *, timeout: float | None = None) -> LedgerMetadata:
        """Read what is stored of a ledger.  See :meth:`bookkeeper_twisted.client.BookKeeper.ledger_metadata`."""
        return self._wait(lambda: self._inner.ledger_metadata(ledger_id), timeout)

    def close(self, *, timeout: float | None = None) -> None:
        """Close all connections.  Ledgers are not closed: that is for their writers.

        See :meth:`bookkeeper_twisted.client.BookKeeper.close`.
        """
        self._wait(self._inner.close, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


class _Writer(Generic[WriterT]):
    """The base class of both kinds of writers."""

    def __init__(self, inner: WriterT, thread: ReactorThread) -> None:
        self._inner = inner
        self._wait = thread.wait
        self.ledger_id = inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The highest id up to which every entry is acknowledged and synced, -1 if none."""
        return self._inner.last_add_confirmed

    @property
    def last_add_pushed(self) -> int:
        """The last id given out, -1 if none."""
        return self._inner.last_add_pushed

    @property
    def length(self) -> int:
        """Bytes of all payloads up to :attr:`last_add_pushed`."""
        return self._inner.length

    @property
    def metadata(self) -> LedgerMetadata:
        """The metadata as last seen by this writer."""
        return self._inner.metadata

    def force(self, *, timeout: float | None = None) -> None:
        """Sync every entry that is acknowledged; needed with deferred sync only."""
        self._wait(self._inner.force, timeout)

    def close(self, *, timeout: float | None = None) -> None:
        """Close the ledger after its last confirmed entry; appends made before are completed first."""
        self._wait(self._inner.close, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close; an error of the body is not hidden by one of the close."""
        if kind is None:
            self.close()
        else:
            self._wait(lambda: self._inner.close().addErrback(lambda failure: None))

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


class LedgerWriter(_Writer[client.LedgerWriter]):
    """Appends to one ledger; see :class:`bookkeeper_twisted.client.LedgerWriter`."""

    def append(self, data: bytes, *, timeout: float | None = None) -> int:
        """Append one entry; return its id once it is durable.

        See :meth:`bookkeeper_twisted.client.LedgerWriter.append`.
        """
        return self._wait(lambda: self._inner.append(data), timeout)

    def append_many(self, payloads: Sequence[bytes], *, timeout: float | None = None) -> tuple[int, int]:
        """Append entries; return first and last id once all are durable.  Much faster than one by one.

        See :meth:`bookkeeper_twisted.client.LedgerWriter.append_many`.
        """
        return self._wait(lambda: self._inner.append_many(payloads), timeout)

    def appender(
        self, when_full: client.WhenFull = client.WhenFull.BLOCK, patience: float | None = None
    ) -> client.ThreadAppender:
        """Make what any thread appends with and no wait for each entry; offers are durable once a flush is.

        See :meth:`bookkeeper_twisted.client.LedgerWriter.appender`.
        """

        async def made() -> client.ThreadAppender:
            return self._inner.appender(when_full, patience)

        return self._wait(made)


class AdvLedgerWriter(_Writer[client.AdvLedgerWriter]):
    """Writes entries under ids that the caller gives; see :class:`bookkeeper_twisted.client.AdvLedgerWriter`."""

    def write(self, entry_id: int, data: bytes, *, timeout: float | None = None) -> int:
        """Write one entry; return its id once it and everything before it is durable.

        Without a timeout an id behind a gap waits until another thread fills the gap.

        See :meth:`bookkeeper_twisted.client.AdvLedgerWriter.write`.
        """
        return self._wait(lambda: self._inner.write(entry_id, data), timeout)


class LedgerReader:
    """Reads one ledger; iterating gives all its entries.

    See :class:`bookkeeper_twisted.client.LedgerReader`.  The timeout of an iteration is that of each of its steps.
    """

    def __init__(self, inner: client.LedgerReader, thread: ReactorThread) -> None:
        self._inner = inner
        self._thread = thread
        self._wait = thread.wait
        self.ledger_id = inner.ledger_id

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata seen."""
        return self._inner.metadata

    @property
    def last_add_confirmed(self) -> int:
        """The highest id that can be read, -1 if none."""
        return self._inner.last_add_confirmed

    @property
    def length(self) -> int:
        """Bytes of all payloads."""
        return self._inner.length

    @property
    def is_closed(self) -> bool:
        """Whether the *ledger* is closed, so that nothing will ever be added to it."""
        return self._inner.is_closed

    def read(self, first: int, last: int, *, timeout: float | None = None) -> list[Entry]:
        """Read the entries ``first .. last``.  See :meth:`bookkeeper_twisted.client.LedgerReader.read`."""
        return self._wait(lambda: self._inner.read(first, last), timeout)

    def read_entry(self, entry_id: int, *, timeout: float | None = None) -> Entry:
        """Read one entry.  See :meth:`bookkeeper_twisted.client.LedgerReader.read_entry`."""
        return self._wait(lambda: self._inner.read_entry(entry_id), timeout)

    def read_unconfirmed(self, first: int, last: int, *, timeout: float | None = None) -> list[Entry]:
        """Read entries that were perhaps never acknowledged, and that a recovery may drop.

        See :meth:`bookkeeper_twisted.client.LedgerReader.read_unconfirmed`.
        """
        return self._wait(lambda: self._inner.read_unconfirmed(first, last), timeout)

    def read_batch(
        self, start: int, max_count: int = 0, max_size: int = 0, *, timeout: float | None = None
    ) -> EntryBatch:
        """Read consecutive entries from ``start`` on, at least one, maybe fewer than asked for.

        See :meth:`bookkeeper_twisted.client.LedgerReader.read_batch`.
        """
        return self._wait(lambda: self._inner.read_batch(start, max_count, max_size), timeout)

    def batches(self, start: int = 0, end: int | None = None, *, timeout: float | None = None) -> Iterator[EntryBatch]:
        """Iterate over batches of the entries ``start .. end`` (default: the LAC), read ahead; one wait for each.

        See :meth:`bookkeeper_twisted.client.LedgerReader.batches`.
        """
        return self._iterate(self._inner.batches(start, end), timeout)

    def entries(self, start: int = 0, end: int | None = None, *, timeout: float | None = None) -> Iterator[Entry]:
        """Iterate over the entries ``start .. end``, one by one, read as :meth:`batches`.

        See :meth:`bookkeeper_twisted.client.LedgerReader.entries`.
        """
        for batch in self.batches(start, end, timeout=timeout):
            yield from batch

    def __iter__(self) -> Iterator[Entry]:
        return self.entries()

    def tail(self, start: int = 0, *, timeout: float | None = None) -> Iterator[Entry]:
        """Iterate over the entries from ``start`` on, each as soon as it is confirmed, until the ledger is closed.

        Open the ledger with ``recover=False`` for this: a recovery ends its writer.  There is one wait for each batch
        that arrives.

        See :meth:`bookkeeper_twisted.client.LedgerReader.tail`.
        """
        return _each(self.tail_batches(start, timeout=timeout))

    def tail_batches(self, start: int = 0, *, timeout: float | None = None) -> Iterator[EntryBatch]:
        """Iterate over the entries as :meth:`tail`, in the batches in which they arrive.

        See :meth:`bookkeeper_twisted.client.LedgerReader.tail_batches`.
        """
        return self._iterate(self._inner.tail_batches(start), timeout)

    def _iterate(self, items: Any, timeout: float | None) -> Iterator[Any]:
        try:
            while part := self._wait(lambda: take(items, 1), timeout):
                yield from part
        finally:
            self._thread.begin(items.aclose)  # not waited for: this may be garbage collected on any thread

    def read_last_add_confirmed(self, *, timeout: float | None = None) -> int:
        """Ask the bookies how far the ledger came, until no write set can know more.

        See :meth:`bookkeeper_twisted.client.LedgerReader.read_last_add_confirmed`.
        """
        return self._wait(self._inner.read_last_add_confirmed, timeout)

    def try_read_last_add_confirmed(self, *, timeout: float | None = None) -> int:
        """Ask the bookies how far the ledger came; believe the first that knows more than this handle.

        See :meth:`bookkeeper_twisted.client.LedgerReader.try_read_last_add_confirmed`.
        """
        return self._wait(self._inner.try_read_last_add_confirmed, timeout)

    def read_last_add_confirmed_and_entry(self, entry_id: int, timeout: float) -> client.Confirmed:
        """Wait until an entry is confirmed, ``timeout`` seconds at most; return it with the LAC.

        See :meth:`bookkeeper_twisted.client.LedgerReader.read_last_add_confirmed_and_entry`.
        """
        return self._wait(lambda: self._inner.read_last_add_confirmed_and_entry(entry_id, timeout))

    def close(self, *, timeout: float | None = None) -> None:
        """End the handle; the ledger is not touched.  See :meth:`bookkeeper_twisted.client.LedgerReader.close`."""
        self._wait(self._inner.close, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


def _each(batches: Iterator[EntryBatch]) -> Iterator[Entry]:
    for batch in batches:
        yield from batch
