"""One listener's watch of one ledger."""

from collections.abc import Awaitable, Callable

from twisted.logger import Logger

from ...errors import NoSuchLedgerMetadataError
from ...model import LedgerMetadata
from ..interfaces import Versioned
from .interfaces import Watch
from .session import Session
from .watch_loop import WatchLoop

Stored = Versioned[LedgerMetadata]


class LedgerWatch:
    """Calls its listener with the value, each newer one, and None once the ledger is gone, which ends the watch.

    :param read: reads the ledger with a watch.
    :param ended: called with this object after the last call of the listener.
    """

    _log = Logger()

    def __init__(
        self, session: Session, ledger_id: int, read: Callable[[int, Watch], Awaitable[Stored]],
        listener: Callable[[Stored | None], None], ended: "Callable[[LedgerWatch], None]",
    ) -> None:  # fmt: skip
        self._ledger_id = ledger_id
        self._read = read
        self._listener: Callable[[Stored | None], None] | None = listener
        self._end = ended
        self._told = -1
        self._loop = WatchLoop(session, f"ledger {ledger_id}", self._look)

    def start(self) -> None:
        """Reads at once."""
        self._loop.start()

    def stop(self) -> None:
        """End the watch: no more calls."""
        self._listener = None
        self._end(self)
        self._loop.stop()

    async def _look(self, watch: Watch) -> bool:
        try:
            stored = await self._read(self._ledger_id, watch)
        except NoSuchLedgerMetadataError:
            self._tell(None)
            self._end(self)
            return False
        if stored.version > self._told:
            self._told = stored.version
            self._tell(stored)
        return True

    def _tell(self, news: Stored | None) -> None:
        if self._listener is None:
            return
        try:
            self._listener(news)
        except Exception:
            self._log.failure("metadata watch: a listener failed")
