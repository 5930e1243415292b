"""The session of one driver on an embedded store, which all parts of the driver share."""

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...codec.metadata_formats import decode_ledger_metadata
from ...errors import (
    CodecError,
    MetadataError,
    MetadataOutcomeUnknownError,
    MetadataSerializationError,
    MetadataUnavailableError,
    NoSuchLedgerMetadataError,
)
from ...model import LedgerMetadata
from ..interfaces import Versioned
from ..listeners import Listeners
from ..watches import Bookies, StoredLedger, Watches
from .interfaces import IMetadataStore, IWorker

T = TypeVar("T")


class EmbeddedSession:
    """The session of one driver: its worker calls the store, with a time limit, and its watches report changes.

    :ivar clock: the clock for polls of the store and for time limits.
    :param poll_interval: seconds between two polls of the store for changes of watched values; None if the store
        reports every change itself.
    :param limit: maximum number of seconds that a call may take, including the wait for earlier calls; None for a store
        that never waits.
    """

    def __init__(
        self, clock: IReactorTime, uri: str, store: IMetadataStore, worker: IWorker, poll_interval: float | None,
        limit: float | None = None,
    ) -> None:  # fmt: skip
        self.uri = uri
        self.store = store
        self.clock = clock
        self.watches = Watches(clock, poll_interval, self._revision, self.bookies, self.ledger_or_none)
        self._worker = worker
        self._limit = limit
        self._state = "not open"
        self._expiry = Listeners("the end of a session")

    async def open(self) -> bool:
        """Begin the session; this can be called only once.

        :returns: True if the store did not exist and this call created it.
        """
        if self._state != "not open":
            raise MetadataError(f"{self.uri} is {self._state}")
        self._state = "open"
        return await self._change(self.store.open, self.watches.wake, self._expiry.call)

    async def close(self) -> None:
        """Wait for the calls in progress, then end the session; do nothing if the session is closed."""
        if self._state == "closed":
            return
        self._state = "closed"
        self.watches.stop()
        try:
            await self._worker.call(self.store.close)
        finally:
            self._worker.stop()

    def on_expiry(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call the ``listener`` each time the store has ended the session, before any call uses the next session.

        :returns: a function that removes the listener.
        """
        return self._expiry.add(listener)

    async def read(self, method: Callable[..., T], *args: object) -> T:
        """Call a ``method`` of the store that changes nothing on the worker, with ``args``.

        :raises MetadataUnavailableError: the store did not answer in time.
        :raises MetadataError: the session is not open.
        """
        self._check_open()
        return await self._answer(self._worker.read(method, *args), MetadataUnavailableError, method, args)

    async def _change(self, method: Callable[..., T], *args: object) -> T:
        return await self._answer(self._worker.call(method, *args), MetadataOutcomeUnknownError, method, args)

    async def _answer(
        self, called: "Deferred[T]", late: type[MetadataError], method: Callable[..., T], args: tuple[object, ...]
    ) -> T:
        """Wait for the result of a call, and add what was ``called`` to the text of an error.

        :param late: the type of the error if the store does not answer in time.
        """
        asked = " ".join(
            [method.__name__.replace("_", " "), *[str(each) for each in args[:1] if type(each) in (int, str)]]
        )

        def too_late(result: object, seconds: float) -> Any:
            raise late(f"{self.uri}: the store has not answered within {seconds:g} s")

        if self._limit is not None:
            called.addTimeout(self._limit, self.clock, too_late)
        try:
            return await called
        except MetadataOutcomeUnknownError as error:
            raise MetadataOutcomeUnknownError(f"{error}; {asked!r} may have been done, or not") from None
        except MetadataUnavailableError as error:
            raise MetadataUnavailableError(f"{error}; {asked!r} was not done") from error

    def _check_open(self) -> None:
        if self._state != "open":
            raise MetadataError(f"{self.uri} is {self._state}")

    async def write(self, method: Callable[..., T], *args: object) -> T:
        """Run ``method``, which changes the store, on the worker; then schedule a new read of all watched values.

        :raises MetadataUnavailableError: another process kept the store locked for too long.
        :raises MetadataOutcomeUnknownError: the store did not answer in time; the change may have been made or not.
        :raises MetadataError: the session is not open.
        """
        self._check_open()
        result = await self._change(method, *args)
        self.watches.wake()
        return result

    async def bookies(self) -> Bookies:
        """Return the ids of the writable and of the read-only bookies that live sessions have registered."""
        return await self.read(self.store.bookies)

    async def ledger(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        """Return the metadata of the ledger ``ledger_id``.

        :raises NoSuchLedgerMetadataError: the ledger does not exist.
        """
        stored = await self.read(self.store.read_ledger, ledger_id)
        try:
            return Versioned(decode_ledger_metadata(stored.value), stored.version)
        except CodecError as error:
            raise MetadataSerializationError(f"{self.uri}: ledger {ledger_id}: {error}") from error

    async def _revision(self) -> object:
        return await self.read(self.store.revision)

    async def ledger_or_none(self, ledger_id: int) -> StoredLedger:
        """Return the metadata of the ledger ``ledger_id``, None if it does not exist."""
        try:
            return await self.ledger(ledger_id)
        except NoSuchLedgerMetadataError:
            return None
