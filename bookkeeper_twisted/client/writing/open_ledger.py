"""A ledger that is being written, and what its writer needs of the world."""

import attrs

from ...codec.digest import Digester
from ...ledger.schedule import Schedule, schedule_of
from ...metadata.interfaces import Versioned
from ...model import LedgerMetadata, WriteFlag
from ..interfaces import IBookieClient
from .context import WritingContext


@attrs.frozen(kw_only=True)
class OpenLedger:
    """The state of one ledger that is open for writing.

    :ivar context: of the client that created it.
    :ivar bookies: the flow it is written over.
    :ivar metadata: as it was created.
    :ivar write_flags: how it is written; they are not stored.
    """

    context: WritingContext
    digester: Digester
    ledger_id: int
    metadata: Versioned[LedgerMetadata]
    write_flags: WriteFlag = WriteFlag.NONE
    bookies: IBookieClient = attrs.field(init=False)
    schedule: Schedule = attrs.field(init=False)

    @bookies.default
    def _bookies(self) -> IBookieClient:
        return self.context.bookies.open_flow()

    @schedule.default
    def _schedule(self) -> Schedule:
        value = self.metadata.value
        return schedule_of(value.ensemble_size, value.write_quorum_size, value.ack_quorum_size)

    @property
    def deferred_sync(self) -> bool:
        """Whether adds are acknowledged before they are durable."""
        return WriteFlag.DEFERRED_SYNC in self.write_flags
