"""The objects that the ledger writers of a client share, and the objects of one ledger that is open for writing."""

from typing import TYPE_CHECKING

import attrs

from ...codec.digest import Digester
from ...ledger.schedule import Schedule, schedule_of
from ...metadata.interfaces import Versioned
from ...model import LedgerMetadata, WriteFlag
from ..claims.memory_blocks import MemoryPool
from ..claims.threads import Threads, system_threads
from ..interfaces import IBookieClient
from ..logger_context import LoggerContext
from ..operation import OperationContext
from ..traces import CONTEXT_ROOM, AppendTraces
from .appends import ByteBudget
from .batchers import Batchers
from .lac_notices import LacNotices

if TYPE_CHECKING:
    from ...security.entry_cipher import EntryCipher


@attrs.frozen(eq=False, slots=False)
class WritingContext(OperationContext):
    """The objects that a client makes once, and that the writers of all its ledgers use.

    :ivar budget: the limit on the number of bytes that all writers together have in flight.
    :ivar memory_pool: allocates the memory of claim logs.  A claim log is a queue that other threads fill with entries,
        which the reactor's thread sends.
    :ivar batchers: collect the appends of one reactor turn, of one or more ledgers, and send them together.
    :ivar notices: sends explicit LACs for idle writers to bookies.
    :ivar traces: the traces of appends; None if the client has no tracer.
    :ivar threads: the operations on threads and locks that claim logs need.
    """

    budget: ByteBudget = attrs.field(kw_only=True)
    memory_pool: MemoryPool = attrs.field(kw_only=True, factory=MemoryPool)
    notices: LacNotices = attrs.field(kw_only=True)
    traces: AppendTraces | None = attrs.field(kw_only=True)
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
        return Batchers(self.clock, self.bookies, self.budget, self.notices, self.config, self.traces)

    @traces.default
    def _traces(self) -> AppendTraces | None:
        largest = self.config.netty_max_frame_size_bytes - CONTEXT_ROOM
        return None if self.records is None else AppendTraces(self.records, largest)

    @threads.default
    def _threads(self) -> Threads:
        return system_threads(self.clock)


@attrs.frozen(kw_only=True)
class OpenLedger:
    """The values and objects that the writer of one ledger needs; they do not change.

    :ivar context: the objects that all writers of the client share.
    :ivar bookies: sends the requests to bookies for this ledger only.
    :ivar metadata: the metadata with which the ledger was created.
    :ivar write_flags: the write flags; they are sent with each add, and are not stored in the metadata.
    :ivar cipher: encrypts the payloads; None if the ledger is not encrypted.
    :ivar logger_context: names and values that the program wants in log lines about this ledger; None for none.
    """

    context: WritingContext
    digester: Digester
    ledger_id: int
    metadata: Versioned[LedgerMetadata]
    write_flags: WriteFlag = WriteFlag.NONE
    cipher: "EntryCipher | None" = None
    logger_context: LoggerContext | None = None
    bookies: IBookieClient = attrs.field(init=False)
    schedule: Schedule = attrs.field(init=False)

    @bookies.default
    def _bookies(self) -> IBookieClient:
        return self.context.bookies.open_flow()

    @schedule.default
    def _schedule(self) -> Schedule:
        return schedule_of(self.metadata.value)

    @property
    def overhead(self) -> int:
        """Number of bytes by which encryption enlarges each payload; 0 without encryption."""
        return 0 if self.cipher is None else self.cipher.overhead

    @property
    def deferred_sync(self) -> bool:
        """Whether adds are acknowledged before they are durable."""
        return WriteFlag.DEFERRED_SYNC in self.write_flags
