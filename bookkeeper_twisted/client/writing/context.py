"""The collaborators that all writers of one client share."""

import attrs

from ..operation import OperationContext
from .batchers import Batchers
from .budget import ByteBudget
from .log_terms import TermPool
from .threads import Threads, system_threads


@attrs.frozen(eq=False, slots=False)
class WritingContext(OperationContext):
    """An operation's context with the limits and the batches of all writers.

    :ivar budget: bytes that all writers together may have in flight.
    :ivar terms: memory of the logs that threads fill.
    :ivar batchers: make one batch of what writers append in a turn.
    :ivar threads: the door to threads that append.
    """

    budget: ByteBudget = attrs.field(kw_only=True)
    terms: TermPool = attrs.field(kw_only=True, factory=TermPool)
    batchers: Batchers = attrs.field(kw_only=True)
    threads: Threads = attrs.field(kw_only=True)

    @budget.default
    def _budget(self) -> ByteBudget:
        return ByteBudget(self.config.max_client_in_flight_bytes)

    @batchers.default
    def _batchers(self) -> Batchers:
        return Batchers(self.clock, self.bookies, self.budget, self.config)

    @threads.default
    def _threads(self) -> Threads:
        return system_threads(self.clock)
