"""The objects that all writers of one client share, and the objects of one ledger that is being written."""

import attrs

from ...codec.digest import Digester
from ...ledger.schedule import Schedule, schedule_of
from ...metadata.interfaces import Versioned
from ...model import LedgerMetadata, WriteFlag
from ..claims.terms import TermPool
from ..claims.threads import Threads, system_threads
from ..interfaces import IBookieClient
from ..operation import OperationContext
from .appends import ByteBudget
from .batchers import Batchers
from .lac_notices import LacNotices


@attrs.frozen(eq=False, slots=False)
class WritingContext(OperationContext):
    """An operation's context with the limits and the batches of all writers.

    :ivar budget: the bytes that all writers together may have in flight.
    :ivar terms: the memory of the logs that threads fill.
    :ivar batchers: the batchers that gather the appends of a turn.
    :ivar notices: the notices that tell bookies the last add confirmed of idle writers.
    :ivar threads: the door to threads that append.
    """

    budget: ByteBudget = attrs.field(kw_only=True)
    terms: TermPool = attrs.field(kw_only=True, factory=TermPool)
    notices: LacNotices = attrs.field(kw_only=True)
    batchers: Batchers = attrs.field(kw_only=True)
    threads: Threads = attrs.field(kw_only=True)

    @budget.default
    def _budget(self) -> ByteBudget:
        return ByteBudget(self.config.max_client_in_flight_bytes)

    @notices.default
    def _notices(self) -> LacNotices:
        return LacNotices(self.clock, self.config.explicit_lac_interval / 1000)

    @batchers.default
    def _batchers(self) -> Batchers:
        return Batchers(self.clock, self.bookies, self.budget, self.notices, self.config)

    @threads.default
    def _threads(self) -> Threads:
        return system_threads(self.clock)


@attrs.frozen(kw_only=True)
class OpenLedger:
    """The state of one ledger that is open for writing.

    :ivar context: the context of the client that created the ledger.
    :ivar bookies: the flow over which the ledger is written.
    :ivar metadata: the metadata with which the ledger was created.
    :ivar write_flags: the flags of the adds to the ledger, which are not stored.
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
