"""What every operation of a client works with."""

import attrs
from twisted.internet.interfaces import IReactorTime

from ..config.bookie import ClientConfig
from ..ledger.placement import Chance
from ..ledger.schedule import Schedule
from ..metadata.interfaces import ILedgerManager
from .interfaces import IBookieClient
from .placement.bookie_watcher import BookieWatcher
from .reading.bookie_health import BatchSupport, BookieHealth
from .reading.read_order import ReadOrder
from .reading.speculation import Patience
from .writing.batchers import Batchers
from .writing.budget import ByteBudget
from .writing.log_terms import TermPool
from .writing.threads import Threads, system_threads

_MS = 0.001
_STICKY_BITS = 16


@attrs.frozen(eq=False)
class ClientContext:
    """The parts all handles of one client share.

    :ivar bookies: of the whole client, or the flow of one handle.
    :ivar batch_support: which bookies do not know batch reads.
    :ivar poll_support: bookies that do not know batch reads that wait, which are V3's.
    :ivar health: what was lately seen of bookies.
    :ivar budget: bytes that all writers together may have on their way.
    :ivar terms: memory of their logs.
    :ivar batchers: where what their ledgers append in a turn becomes one batch.
    :ivar threads: the door to threads that append.
    """

    clock: IReactorTime
    bookies: IBookieClient
    ledgers: ILedgerManager
    watcher: BookieWatcher
    chance: Chance
    config: ClientConfig
    batch_support: BatchSupport = attrs.field()
    poll_support: BatchSupport = attrs.field()
    health: BookieHealth = attrs.field()
    budget: ByteBudget = attrs.field()
    terms: TermPool = attrs.field(factory=TermPool)
    batchers: Batchers = attrs.field()
    threads: Threads = attrs.field()

    @batch_support.default
    def _batch_support(self) -> BatchSupport:
        return BatchSupport(self.clock)

    @poll_support.default
    def _poll_support(self) -> BatchSupport:
        return BatchSupport(self.clock)

    @health.default
    def _health(self) -> BookieHealth:
        return BookieHealth(self.clock, self.config.bookie_failure_history_expiration_msec * _MS)

    @budget.default
    def _budget(self) -> ByteBudget:
        return ByteBudget(self.config.max_client_in_flight_bytes)

    @batchers.default
    def _batchers(self) -> Batchers:
        return Batchers(self.clock, self.bookies, self.budget, self.config)

    @threads.default
    def _threads(self) -> Threads:
        return system_threads(self.clock)

    def with_flow(self) -> "ClientContext":
        """The same context for one handle, with a flow of its own; the handle ends the flow."""
        return attrs.evolve(self, bookies=self.bookies.open_flow())

    def read_order(self, schedule: Schedule) -> ReadOrder:
        """The order for a new reader."""
        config, sticky = self.config, None
        if config.sticky_reads_enabled:
            sticky = self.chance.getrandbits(_STICKY_BITS) % schedule.ensemble_size
        return ReadOrder(schedule, self.watcher, self.health, config.reorder_read_sequence_enabled, sticky)

    @property
    def read_patience(self) -> Patience:
        """With reads."""
        config = self.config
        return Patience(
            config.first_speculative_read_timeout * _MS, config.max_speculative_read_timeout * _MS,
            config.speculative_read_timeout_backoff_multiplier,
        )  # fmt: skip

    @property
    def poll_patience(self) -> Patience:
        """With long polls."""
        config = self.config
        return Patience(
            config.first_speculative_read_lac_timeout * _MS, config.max_speculative_read_lac_timeout * _MS,
            config.speculative_read_lac_timeout_backoff_multiplier,
        )  # fmt: skip
