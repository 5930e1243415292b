"""The metadata, the LAC and the length that a reader knows of a ledger, which may still grow."""

from collections.abc import Callable

from ...errors import LedgerClosedError, NoSuchLedgerMetadataError
from ...metadata.interfaces import ILedgerManager, Versioned
from ...model import LedgerMetadata

HANDLE_CLOSED = "close() was called"


class LedgerView:
    """The metadata, the LAC and the length of a ledger that one reader knows.

    The LAC never decreases.  Answers of bookies raise it.  If the metadata have a new ensemble, the LAC is at least the
    entry before the ensemble's first entry, because a writer changes the ensemble only at the first entry that is not
    acknowledged.  When the ledger is closed, the LAC is its last entry.

    :ivar metadata: the newest known metadata.
    :ivar last_add_confirmed: the LAC, -1 if none.
    :ivar handle_closed: whether the reader was closed; the ledger may still be open.
    :ivar length: total size of all payloads in bytes; in an unclosed ledger, up to the last reported entry.
    """

    def __init__(self, ledger_id: int, stored: Versioned[LedgerMetadata]) -> None:
        self.ledger_id = ledger_id
        self.last_add_confirmed = -1
        self.length = 0
        self._version = stored.version
        self._deleted = False
        self.handle_closed = False
        self._stop_watching: Callable[[], object] = lambda: None
        self._listeners: dict[Callable[[], None], None] = {}
        self._adopt(stored.value)

    def _adopt(self, metadata: LedgerMetadata) -> None:
        self.metadata = metadata
        if metadata.closed:
            self.last_add_confirmed, self.length = metadata.last_entry_id, metadata.length
        else:
            self.confirmed(metadata.segments[-1].first_entry_id - 1)

    # ---- the end -------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether the ledger is closed."""
        return self.metadata.closed

    @property
    def ended(self) -> bool:
        """Whether no more entries can come, because the ledger is closed or deleted, or the reader is closed."""
        return self.closed or self._deleted or self.handle_closed

    def confirmed(self, last_add_confirmed: int, length: int = 0) -> None:
        """Raise the known LAC to ``last_add_confirmed``, which a bookie has reported; ignore it if it is lower.

        :param length: the ledger length in the header of the entry that contained this LAC; 0 if the LAC did not come
            from an entry.
        """
        if not self.closed:
            self.length = max(self.length, length)
            if last_add_confirmed > self.last_add_confirmed:
                self.last_add_confirmed = last_add_confirmed
                self._tell()

    def check(self) -> None:
        """Check that the reader is open.

        :raises bookkeeper_twisted.errors.LedgerClosedError: the reader was closed.
        """
        if self.handle_closed:
            raise LedgerClosedError(f"the reader of ledger {self.ledger_id} is closed: {HANDLE_CLOSED}")

    def check_growing(self) -> None:
        """Check that the reader is open and the ledger was not deleted, so that more entries may come.

        :raises bookkeeper_twisted.errors.LedgerClosedError: the reader was closed.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger was deleted.
        """
        self.check()
        if self._deleted:
            raise NoSuchLedgerMetadataError(f"ledger {self.ledger_id} was deleted")

    # ---- news ----------------------------------------------------------------------------------------

    def follow(self, ledgers: ILedgerManager) -> None:
        """Watch the stored metadata until the ledger is closed or deleted, or the reader is closed.

        :param ledgers: the metadata store.
        """
        if not self.closed:
            self._stop_watching = ledgers.watch(self.ledger_id, self.stored)

    def stored(self, news: Versioned[LedgerMetadata] | None) -> None:
        """Replace the known metadata by newer metadata from the metadata store, and call the listeners.

        :param news: the stored metadata, which are ignored if they are not newer; None if the ledger was deleted.
        """
        if news is None:
            self._deleted = True
        elif news.version <= self._version:
            return
        else:
            self._version = news.version
            self._adopt(news.value)
        if self._deleted or self.closed:
            self._end_watch()
        self._tell()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` whenever the LAC or the metadata change, or the ledger is deleted, or the reader is closed.

        :returns: a function that ends the calls.
        """
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()

    def close(self) -> None:
        """End the watch on the metadata and all waits, because the reader is closed."""
        self.handle_closed = True
        self._end_watch()
        self._tell()

    def _end_watch(self) -> None:
        stop, self._stop_watching = self._stop_watching, lambda: None
        stop()
