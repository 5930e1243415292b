"""The objects that every operation of a client uses: both readers and writers need them."""

from typing import Self

import attrs
from twisted.internet.interfaces import IReactorTime

from ..config.client import ClientConfig
from ..ledger.placement import Chance
from ..metadata.interfaces import ILedgerManager
from ..placement.bookie_watcher import BookieWatcher
from ..tracing.records import TraceRecords
from .encryption import LedgerEncryption
from .interfaces import IBookieClient


@attrs.frozen(eq=False, slots=False)
class OperationContext:
    """The objects that both readers and writers of a client use; the contexts for reading and for writing extend it.

    :ivar bookies: sends the requests to bookies, for the whole client or for one ledger handle.
    :ivar encryption: encrypts and decrypts entries; None if no key provider is configured.
    :ivar records: chooses the operations to trace, and stores their times until spans are made of them; None if no
        operation is traced.
    """

    clock: IReactorTime
    bookies: IBookieClient
    ledgers: ILedgerManager
    watcher: BookieWatcher
    chance: Chance
    config: ClientConfig
    encryption: LedgerEncryption | None = attrs.field(default=None, kw_only=True)
    records: TraceRecords | None = attrs.field(default=None, kw_only=True)

    def with_flow(self) -> Self:
        """Return a copy of this context for one ledger handle, which gets its own object :attr:`bookies` for requests.

        At its end, the handle must close this object, or retire it: then outstanding requests still end as usual.
        """
        return attrs.evolve(self, bookies=self.bookies.open_flow())
