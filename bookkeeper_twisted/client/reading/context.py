"""The context of a client's readers: the objects that all of them share."""

import attrs

from ...ledger.batch_support import BatchSupport
from ...ledger.bookie_health import BookieHealth
from ...ledger.schedule import Schedule
from ..operation import OperationContext
from .read_order import ReadOrder
from .speculation import Patience

_MS = 0.001
_STICKY_BITS = 16
_SUPPORT = attrs.Factory(lambda self: BatchSupport(self.clock.seconds), takes_self=True)


@attrs.frozen(eq=False, slots=False)
class ReadingContext(OperationContext):
    """The objects that all readers of a client share, such as its records of slow bookies.

    :ivar batch_support: the record of bookies that do not support batch reads.
    :ivar poll_support: the record of bookies that do not support waiting batch reads: V3 batch reads that wait at the
        bookie for a higher LAC.
    :ivar health: the record of bookies that failed or were slow a short time ago.
    """

    batch_support: BatchSupport = attrs.field(kw_only=True, default=_SUPPORT)
    poll_support: BatchSupport = attrs.field(kw_only=True, default=_SUPPORT)
    health: BookieHealth = attrs.field(kw_only=True)

    @health.default
    def _health(self) -> BookieHealth:
        return BookieHealth(self.clock.seconds, self.config.bookie_failure_history_expiration_msec * _MS)

    def reads_batches(self, schedule: Schedule) -> bool:
        """Test whether to send batch reads for a ledger with this ``schedule``.

        A batch read returns consecutive entries, but no bookie of a striped ledger has all entries.
        """
        return self.config.batch_read_enabled and not schedule.striped

    def read_order(self, schedule: Schedule) -> ReadOrder:
        """Return a new object that decides in which order a reader asks the bookies that keep an entry.

        :param schedule: computes which bookies of an ensemble keep an entry.
        """
        config, sticky = self.config, None
        if config.sticky_reads_enabled:
            sticky = self.chance.getrandbits(_STICKY_BITS) % schedule.ensemble_size
        return ReadOrder(schedule, self.watcher, self.health, config.reorder_read_sequence_enabled, sticky)

    @property
    def read_patience(self) -> Patience:
        """Return how long a read waits for a bookie before it also asks another bookie."""
        config = self.config
        return Patience(
            config.first_speculative_read_timeout * _MS, config.max_speculative_read_timeout * _MS,
            config.speculative_read_timeout_backoff_multiplier,
        )  # fmt: skip

    @property
    def poll_patience(self) -> Patience:
        """Return how long a long poll waits for a bookie before it also asks another bookie."""
        config = self.config
        return Patience(
            config.first_speculative_read_lac_timeout * _MS, config.max_speculative_read_lac_timeout * _MS,
            config.speculative_read_lac_timeout_backoff_multiplier,
        )  # fmt: skip
