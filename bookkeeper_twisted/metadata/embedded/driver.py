"""The metadata driver and the cluster administrator over an embedded store."""

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ...errors import MetadataError
from ..interfaces import IClusterAdmin, IMetadataDriver
from .auditing import EmbeddedAuditing
from .interfaces import IMetadataStore, IWorker
from .ledgers import EmbeddedLedgers
from .registration import EmbeddedRegistration
from .session import EmbeddedSession
from .underreplication import EmbeddedUnderreplication


@implementer(IMetadataDriver)
class EmbeddedDriver:
    """The metadata driver on an embedded store: a store in memory, or a SQLite file.

    :param worker: runs the calls to the store; the driver stops the worker.
    :param poll_interval: seconds between two polls of the store for changes of watched values; None if the store
        reports every change itself.
    :param limit: maximum number of seconds that a call to the store may take; None for a store in memory, which never
        waits.
    """

    def __init__(
        self, clock: IReactorTime, uri: str, store: IMetadataStore, worker: IWorker, poll_interval: float | None = None,
        limit: float | None = None,
    ) -> None:  # fmt: skip
        self.uri = uri
        self._session = EmbeddedSession(clock, uri, store, worker, poll_interval, limit)
        self.registration = EmbeddedRegistration(self._session)
        self.ledgers = EmbeddedLedgers(self._session)
        self.underreplication = EmbeddedUnderreplication(self._session)
        self.auditing = EmbeddedAuditing(self._session)

    async def open(self) -> None:
        await self._session.open()

    async def close(self) -> None:
        self.auditing.stop()
        await self._session.close()


@implementer(IClusterAdmin)
class EmbeddedAdmin:
    """The administrator of a cluster in an embedded store (in memory or in SQLite), with its own session.

    :param worker: runs the calls to the store; the administrator stops the worker.
    :param limit: maximum number of seconds that a call to the store may take; None for a store in memory, which never
        waits.
    """

    def __init__(
        self, clock: IReactorTime, uri: str, store: IMetadataStore, worker: IWorker, limit: float | None = None
    ) -> None:
        self.uri = uri
        self._session = EmbeddedSession(clock, uri, store, worker, None, limit)
        self._store = store
        self._made = False

    async def open(self) -> None:
        self._made = await self._session.open()

    async def close(self) -> None:
        await self._session.close()

    async def exists(self) -> bool:
        """Test whether the store existed before this object opened it."""
        return not self._made

    async def instance_id(self) -> str:
        return await self._session.read(self._store.instance_id)

    async def initialize(self) -> bool:
        made, self._made = self._made, False
        return made

    async def format(self) -> None:
        await self._session.write(self._store.format)

    async def nuke(self, instance_id: str | None) -> None:
        """Delete all data of the cluster; the store then contains an empty cluster with a new instance id.

        :param instance_id: the present instance id, as a safeguard against the deletion of another cluster; None to
            delete without this check.
        :raises MetadataError: bookies are registered, or the cluster has another instance id.
        """
        writable, read_only = await self._session.bookies()
        if writable or read_only:
            raise MetadataError(f"bookies are registered: {', '.join(sorted(writable | read_only))}")
        found = await self.instance_id()
        if instance_id not in (None, found):
            raise MetadataError(f"the cluster has the instance id {found}, not {instance_id}")
        await self.format()
        await self._session.write(self._store.clear_settings)
