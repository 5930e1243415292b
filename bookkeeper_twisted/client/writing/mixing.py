"""Which appends join a mixed run, and the way that mixed runs take."""

from weakref import WeakValueDictionary, finalize

from ...codec.digest import Digester
from ...config.bookie import ClientConfig
from ..interfaces import IBookieClient
from .budget import ByteBudget
from .frame_shape import largest_payload
from .mixed_run import MAX_BYTES, MixedRun
from .turn_end import TurnEnd


class Mixing:
    """The mixed runs of those writers of a client that have digest type and password in common.

    :ivar digester: of all of them.
    :ivar largest: bytes of the largest payload for which an entry may be part of a mixed run.
    :ivar bookies: the flow that the runs are sent over.
    :ivar turn_end: when they are sent.
    :ivar open_run: what appends of this turn join; None if the next one is to :meth:`begin` a run.
    """

    __slots__ = ("digester", "bookies", "largest", "turn_end", "open_run", "_budget", "__weakref__")

    def __init__(
        self, digester: Digester, bookies: IBookieClient, turn_end: TurnEnd, budget: ByteBudget, max_frame_size: int
    ) -> None:
        self.digester = digester
        self.largest = min(MAX_BYTES, largest_payload(max_frame_size, digester.size))
        self.bookies = bookies
        self.turn_end = turn_end
        self._budget = budget
        self.open_run: MixedRun | None = None

    def begin(self) -> MixedRun:
        """Opens a run that is sent at the end of the turn."""
        self.open_run = run = MixedRun(self)
        self.turn_end.call(run.send)
        return run

    def ended(self, run: MixedRun) -> None:
        """Nothing joins a run any more."""
        if self.open_run is run:
            self.open_run = None

    def in_flight(self, size: int) -> None:
        """So many bytes more are on their way, or fewer."""
        self._budget.changed(size)


class Mixings:
    """Those of a client."""

    def __init__(self, bookies: IBookieClient, turn_end: TurnEnd, budget: ByteBudget, config: ClientConfig) -> None:
        self._bookies = bookies
        self._turn_end = turn_end
        self._budget = budget
        self._off = not config.max_connections_per_bookie
        self._max_frame_size = config.netty_max_frame_size_bytes
        self._by_digest: WeakValueDictionary[object, Mixing] = WeakValueDictionary()

    def of(self, digester: Digester) -> Mixing | None:
        """Where the appends of a writer that has the digester may be mixed with those of others; None where each
        ledger has sockets of its own."""
        if self._off:
            return None
        key = (digester.digest_type, digester.master_key)
        found = self._by_digest.get(key)
        if found is None:
            flow = self._bookies.open_flow()
            found = Mixing(digester, flow, self._turn_end, self._budget, self._max_frame_size)
            finalize(found, flow.retire).atexit = False  # sockets that no writer needs are free to go
            self._by_digest[key] = found
        return found
