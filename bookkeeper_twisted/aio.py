"""BookKeeper for asyncio: coroutines, asynchronous iteration and contexts on the loop that runs.

::

    from bookkeeper_twisted.aio import BookKeeper

    async with await BookKeeper.connect("sqlite:////var/lib/bookie/ledgers/metadata.db") as bk:
        async with await bk.create_ledger(1, 1, 1) as ledger:
            await ledger.append(b"hello")
        reader = await bk.open_ledger(ledger.ledger_id)
        async for entry in reader.entries():
            print(entry.data)

Theory of operation.  The client runs on a Twisted reactor that the loop itself runs (:mod:`.aio_reactor`): no thread,
one turn of the loop for an answer.  Errors are the client's.  Cancelling a coroutine, and a timeout of asyncio
around it, cancel the operation; an append that was cancelled may be written all the same.  Objects belong to the loop
that made them.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from . import client
from .aio_reactor import LoopReactor, acquire_reactor, release_reactor, result_of
from .client.steps import take
from .config.client import ClientConfig
from .ledger.entry_batch import EntryBatch
from .model import DigestType, Entry, LedgerMetadata, WriteFlag
from .placement.interfaces import IPlacementPolicy

WriterT = TypeVar("WriterT", bound=client.LedgerWriter | client.AdvLedgerWriter)

_LISTED_AT_ONCE = 1000


class BookKeeper:
    """A client of one cluster; see :class:`bookkeeper_twisted.client.BookKeeper`."""

    def __init__(self, inner: client.BookKeeper, reactor: LoopReactor | None = None) -> None:
        """
        :param inner: a client on a reactor that the running loop runs; closed with this object.
        :param reactor: released when this client is closed.
        """
        self._inner = inner
        self._reactor = reactor

    @classmethod
    async def connect(
        cls, uri: str, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None,
        metrics: client.ClientMetrics | None = None,
    ) -> Self:  # fmt: skip
        """Connect to the cluster of a metadata service URI.

        See :meth:`bookkeeper_twisted.client.BookKeeper.connect`.
        """
        reactor = await acquire_reactor()
        try:
            inner = await result_of(client.BookKeeper.connect(reactor, uri, config, placement, metrics))
        except BaseException:
            await release_reactor(reactor)
            raise
        return cls(inner, reactor)

    async def create_ledger(
        self, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2, password: bytes = b"",
        digest_type: DigestType | str = DigestType.CRC32C, custom_metadata: Mapping[str, bytes] | None = None,
        write_flags: WriteFlag = WriteFlag.NONE,
    ) -> "LedgerWriter":  # fmt: skip
        """Create a ledger; return its only writer.  See :meth:`bookkeeper_twisted.client.BookKeeper.create_ledger`."""
        created = self._inner.create_ledger(
            ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags
        )
        return LedgerWriter(await result_of(created))

    async def create_ledger_adv(
        self, ledger_id: int | None = None, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2,
        password: bytes = b"", digest_type: DigestType | str = DigestType.CRC32C,
        custom_metadata: Mapping[str, bytes] | None = None, write_flags: WriteFlag = WriteFlag.NONE,
    ) -> "AdvLedgerWriter":  # fmt: skip
        """Create a ledger whose entries the caller numbers.

        See :meth:`bookkeeper_twisted.client.BookKeeper.create_ledger_adv`.
        """
        created = self._inner.create_ledger_adv(
            ledger_id, ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags
        )
        return AdvLedgerWriter(await result_of(created))

    async def open_ledger(
        self, ledger_id: int, password: bytes | None = b"", recover: bool = True
    ) -> "LedgerReader":  # fmt: skip
        """Open a ledger for reading.  See :meth:`bookkeeper_twisted.client.BookKeeper.open_ledger`."""
        return LedgerReader(await result_of(self._inner.open_ledger(ledger_id, password, recover)))

    async def delete_ledger(self, ledger_id: int) -> None:
        """Remove a ledger.  See :meth:`bookkeeper_twisted.client.BookKeeper.delete_ledger`."""
        await result_of(self._inner.delete_ledger(ledger_id))

    async def list_ledgers(self) -> AsyncIterator[int]:
        """Iterate over the ids of all ledgers in ascending order."""
        ids = self._inner.list_ledgers()
        while part := await result_of(take(ids, _LISTED_AT_ONCE)):
            for ledger_id in part:
                yield ledger_id

    async def ledger_metadata(self, ledger_id: int) -> LedgerMetadata:
        """Read what is stored of a ledger.  See :meth:`bookkeeper_twisted.client.BookKeeper.ledger_metadata`."""
        return await result_of(self._inner.ledger_metadata(ledger_id))

    async def close(self) -> None:
        """Close all connections.  Ledgers are not closed: that is for their writers."""
        try:
            await result_of(self._inner.close())
        finally:
            reactor, self._reactor = self._reactor, None
            if reactor is not None:
                await release_reactor(reactor)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<aio {self._inner!r}>"


class _Writer(Generic[WriterT]):
    """The base class of both kinds of writers."""

    def __init__(self, inner: WriterT) -> None:
        self._inner = inner
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

    async def force(self) -> None:
        """Sync every entry that is acknowledged; needed with deferred sync only."""
        await result_of(self._inner.force())

    async def close(self) -> None:
        """Close the ledger after its last confirmed entry; appends made before are completed first."""
        await result_of(self._inner.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; an error of the body is not hidden by one of the close."""
        await result_of(self._inner.__aexit__(kind, error, trace))

    def __repr__(self) -> str:
        return f"<aio {self._inner!r}>"


class LedgerWriter(_Writer[client.LedgerWriter]):
    """Appends to one ledger; see :class:`bookkeeper_twisted.client.LedgerWriter`.

    Entries get their ids in the order in which the coroutines of ``append`` begin to run.
    """

    async def append(self, data: bytes) -> int:
        """Append one entry; return its id once it is durable.

        See :meth:`bookkeeper_twisted.client.LedgerWriter.append`.
        """
        return await result_of(self._inner.append(data))

    async def append_many(self, payloads: Sequence[bytes]) -> tuple[int, int]:
        """Append entries; return first and last id once all are durable.  Much faster than one by one.

        See :meth:`bookkeeper_twisted.client.LedgerWriter.append_many`.
        """
        return await result_of(self._inner.append_many(payloads))

    def appender(
        self, when_full: client.WhenFull = client.WhenFull.BLOCK, patience: float | None = None
    ) -> client.ThreadAppender:
        """Make what any thread may append with; its flushes are for ``asyncio.wrap_future`` or for threads.

        See :meth:`bookkeeper_twisted.client.LedgerWriter.appender`.
        """
        return self._inner.appender(when_full, patience)


class AdvLedgerWriter(_Writer[client.AdvLedgerWriter]):
    """Writes entries under ids that the caller gives; see :class:`bookkeeper_twisted.client.AdvLedgerWriter`."""

    async def write(self, entry_id: int, data: bytes) -> int:
        """Write one entry; return its id once it and everything before it is durable.

        See :meth:`bookkeeper_twisted.client.AdvLedgerWriter.write`.
        """
        return await result_of(self._inner.write(entry_id, data))


class LedgerReader:
    """Reads one ledger; see :class:`bookkeeper_twisted.client.LedgerReader`."""

    def __init__(self, inner: client.LedgerReader) -> None:
        self._inner = inner
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

    async def read(self, first: int, last: int) -> list[Entry]:
        """Read the entries ``first .. last``.  See :meth:`bookkeeper_twisted.client.LedgerReader.read`."""
        return await result_of(self._inner.read(first, last))

    async def read_entry(self, entry_id: int) -> Entry:
        """Read one entry.  See :meth:`bookkeeper_twisted.client.LedgerReader.read_entry`."""
        return await result_of(self._inner.read_entry(entry_id))

    async def read_unconfirmed(self, first: int, last: int) -> list[Entry]:
        """Read entries that were perhaps never acknowledged, and that a recovery may drop.

        See :meth:`bookkeeper_twisted.client.LedgerReader.read_unconfirmed`.
        """
        return await result_of(self._inner.read_unconfirmed(first, last))

    async def read_batch(self, start: int, max_count: int = 0, max_size: int = 0) -> EntryBatch:
        """Read consecutive entries from ``start`` on, at least one, maybe fewer than asked for.

        See :meth:`bookkeeper_twisted.client.LedgerReader.read_batch`.
        """
        return await result_of(self._inner.read_batch(start, max_count, max_size))

    def batches(self, start: int = 0, end: int | None = None) -> AsyncGenerator[EntryBatch, None]:
        """Iterate over batches of the entries ``start .. end`` (default: the LAC), read ahead.

        See :meth:`bookkeeper_twisted.client.LedgerReader.batches`.
        """
        return _iterate(self._inner.batches(start, end))

    async def entries(self, start: int = 0, end: int | None = None) -> AsyncGenerator[Entry, None]:
        """Iterate over the entries ``start .. end``, read as :meth:`batches`.

        See :meth:`bookkeeper_twisted.client.LedgerReader.entries`.
        """
        async with aclosing(self.batches(start, end)) as batches:
            async for batch in batches:
                for entry in batch:
                    yield entry

    def tail(self, start: int = 0) -> AsyncGenerator[Entry, None]:
        """Iterate over the entries from ``start`` on, each as soon as it is confirmed, until the ledger is closed.

        Open the ledger with ``recover=False`` for this: a recovery ends its writer.

        See :meth:`bookkeeper_twisted.client.LedgerReader.tail`.
        """
        return _iterate(self._inner.tail(start))

    def tail_batches(self, start: int = 0) -> AsyncGenerator[EntryBatch, None]:
        """Iterate over the entries as :meth:`tail`, in the batches in which they arrive.

        See :meth:`bookkeeper_twisted.client.LedgerReader.tail_batches`.
        """
        return _iterate(self._inner.tail_batches(start))

    async def read_last_add_confirmed(self) -> int:
        """Ask the bookies how far the ledger came, until no write set can know more."""
        return await result_of(self._inner.read_last_add_confirmed())

    async def try_read_last_add_confirmed(self) -> int:
        """Ask the bookies how far the ledger came; believe the first that knows more than this handle."""
        return await result_of(self._inner.try_read_last_add_confirmed())

    async def read_last_add_confirmed_and_entry(self, entry_id: int, timeout: float) -> client.Confirmed:
        """Wait until an entry is confirmed, ``timeout`` seconds at most; return it with the LAC.

        See :meth:`bookkeeper_twisted.client.LedgerReader.read_last_add_confirmed_and_entry`.
        """
        return await result_of(self._inner.read_last_add_confirmed_and_entry(entry_id, timeout))

    async def close(self) -> None:
        """End the handle; the ledger is not touched."""
        await result_of(self._inner.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<aio {self._inner!r}>"


async def _iterate(items: Any) -> AsyncGenerator[Any, None]:
    """Iterate in asyncio over what is to be iterated over in Twisted; leaving the loop ends both."""
    try:
        while part := await result_of(take(items, 1)):
            yield part[0]
    finally:
        await result_of(items.aclose())
