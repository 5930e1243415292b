"""The collaborators of every operation of a client, whether it reads or writes."""

from typing import Self

import attrs
from twisted.internet.interfaces import IReactorTime

from ..config.client import ClientConfig
from ..ledger.placement import Chance
from ..metadata.interfaces import ILedgerManager
from ..placement.bookie_watcher import BookieWatcher
from .interfaces import IBookieClient


@attrs.frozen(eq=False, slots=False)
class OperationContext:
    """The objects that reading and writing share.

    :ivar bookies: the flow of the whole client, or the flow of one handle.
    """

    clock: IReactorTime
    bookies: IBookieClient
    ledgers: ILedgerManager
    watcher: BookieWatcher
    chance: Chance
    config: ClientConfig

    def with_flow(self) -> Self:
        """Return a copy of this context with a new flow for one handle; the handle must end the flow."""
        return attrs.evolve(self, bookies=self.bookies.open_flow())
