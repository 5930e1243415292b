"""A rack resolver for the racks that Pulsar's tools write to the metadata store."""

from collections.abc import Mapping, Sequence

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ..errors import MetadataError
from .racks import IRackResolver

PATIENCE = 10.0
"""Maximum number of seconds that a caller waits until the racks have been read for the first time."""


@implementer(IRackResolver)
class StoredRacks:
    """A rack resolver that returns the racks in the metadata store.

    They are stored by bookie id.  A rack is found by the whole id, or by the host in the id.

    :param clock: measures the time limit of callers that wait until the racks have been read for the first time.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self.version = 0
        self._clock = clock
        self._table: Mapping[str, str] | None = None
        self._waiting: list[Deferred[None]] = []

    def changed(self, racks: Mapping[str, str]) -> None:
        """Replace all known racks by ``racks`` (by bookie id), because the racks in the metadata store have changed."""
        self._table = {**{bookie_id.rpartition(":")[0]: rack for bookie_id, rack in racks.items()}, **racks}
        self.version += 1
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.called:
                waiter.callback(None)

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        """Return the racks of ``hosts`` that the metadata store has, by host.

        :raises MetadataError: the racks were not read within :data:`PATIENCE` seconds.
        """
        if self._table is None:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            try:
                await waiter.addTimeout(PATIENCE, self._clock)
            except TimeoutError:
                raise MetadataError(f"the racks in the metadata store were not read within {PATIENCE:g} s") from None
        table = self._table or {}
        return {host: table[host] for host in hosts if host in table}
