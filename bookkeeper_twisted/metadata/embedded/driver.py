"""The driver over an embedded store."""

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ..interfaces import IMetadataDriver, IMetadataStore, IWorker
from .ledgers import EmbeddedLedgers
from .registration import EmbeddedRegistration
from .session import EmbeddedSession


@implementer(IMetadataDriver)
class EmbeddedDriver:
    """A connection to an embedded store.

    :param worker: belongs to this driver, which stops it.
    :param poll_interval: seconds between reads of a store that does not report changes.
    """

    def __init__(
        self, clock: IReactorTime, uri: str, store: IMetadataStore, worker: IWorker, poll_interval: float | None = None
    ) -> None:
        self.uri = uri
        self._session = EmbeddedSession(clock, uri, store, worker, poll_interval)
        self.registration = EmbeddedRegistration(self._session)
        self.ledgers = EmbeddedLedgers(self._session)

    async def open(self) -> None:
        await self._session.open()

    async def close(self) -> None:
        await self._session.close()
