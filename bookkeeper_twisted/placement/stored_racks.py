"""Racks that are read and watched in the metadata store, where Pulsar's tools keep them."""

from collections.abc import Mapping, Sequence

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ..errors import MetadataError
from .racks import IRackResolver

PATIENCE = 10.0
"""Seconds for the first reading of the racks."""


@implementer(IRackResolver)
class StoredRacks:
    """The racks that a store said last; a bookie is found by its id, and by the host in the id.

    :param clock: for the time that the first reading may take.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self.version = 0
        self._clock = clock
        self._table: Mapping[str, str] | None = None
        self._waiting: list[Deferred[None]] = []

    def changed(self, racks: Mapping[str, str]) -> None:
        """Take the ``racks`` of bookies, by their ids, in the place of all that were known."""
        self._table = {**{bookie_id.rpartition(":")[0]: rack for bookie_id, rack in racks.items()}, **racks}
        self.version += 1
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.called:
                waiter.callback(None)

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        """See :meth:`.IRackResolver.racks`.

        :raises MetadataError: the store has not said anything yet.
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
