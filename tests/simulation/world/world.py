"""Everything that the nodes of one simulation share."""

from bookkeeper_twisted.testing.streams import Random, stream

from .clock import Life, SimClock
from .metadata import SimMetadata
from .network import SimNetwork


class World:
    """Time, network and metadata store, all decided by one seed.

    :ivar everywhere: a life that never ends, for what happens to the world itself.
    """

    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        self.sim = SimClock(self.stream("ties"))
        self.network = SimNetwork(self.sim, self.stream("network"))
        self.metadata = SimMetadata(self.stream("metadata"))
        self.everywhere = Life(self.sim, "world")
        self._past: list[object] = []

    def stream(self, *purpose: object) -> Random:
        """A generator of its own for each purpose."""
        return stream(self.seed, *purpose)

    def after(self, delay: float, function: object, *args: object) -> None:
        """Something that happens to the world."""
        self.sim.call_at(self.everywhere, self.sim.seconds() + delay, function, *args)  # type: ignore[arg-type]

    def keep(self, past: object) -> None:
        """Keeps what belonged to a dead life: when its garbage is collected must not matter."""
        self._past.append(past)
