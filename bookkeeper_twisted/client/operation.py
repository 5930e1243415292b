"""The objects that every operation of a client uses, whether it reads or writes."""

from typing import Self

import attrs
from twisted.internet.interfaces import IReactorTime

from ..config.client import ClientConfig
from ..ledger.placement import Chance
from ..metadata.interfaces import ILedgerManager
from ..placement.bookie_watcher import BookieWatcher
from .encryption import LedgerEncryption
from .interfaces import IBookieClient


@attrs.frozen(eq=False, slots=False)
class OperationContext:
    """The objects that reading and writing share.

    :ivar bookies: makes the requests to bookies, for the whole client or for one ledger handle.
    :ivar encryption: the keys of encrypted ledgers; None if the client has none.
    """

    clock: IReactorTime
    bookies: IBookieClient
    ledgers: ILedgerManager
    watcher: BookieWatcher
    chance: Chance
    config: ClientConfig
    encryption: LedgerEncryption | None = attrs.field(default=None, kw_only=True)

    def with_flow(self) -> Self:
        """Return a copy of this context whose ``bookies`` serve one handle, which must close or retire them."""
        return attrs.evolve(self, bookies=self.bookies.open_flow())
