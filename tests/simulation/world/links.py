"""What happens to bytes between two nodes, in each direction by itself."""

from collections.abc import Callable

import attrs

from bookkeeper_twisted.testing.streams import Random

from .clock import Life, SimClock

_USUAL = 0.0005
_LEAST = 0.0001
_SYN_RETRY = 1.0


@attrs.define(eq=False)
class Link:
    """One direction between two nodes.

    :ivar scale: factor of all delays.
    :ivar silent: nothing arrives; what was sent arrives once this ends.
    :ivar refuses: connections are refused.
    :ivar ignores: connections are accepted by the machine, and the process does not read them until this ends.
    """

    scale: float = 1.0
    silent: bool = False
    refuses: bool = False
    ignores: bool = False
    _waiting: list[Callable[[], None]] = attrs.field(factory=list)
    _ignored: list[Callable[[], None]] = attrs.field(factory=list)

    def when_heard(self, call: Callable[[], None]) -> None:
        """Calls once the silence has ended."""
        self._waiting.append(call)

    def when_minded(self, call: Callable[[], None]) -> None:
        """Calls once connections are looked at again."""
        self._ignored.append(call)

    def heal(self) -> None:
        """Everything is as it should be."""
        self.scale, self.refuses, self.silent, self.ignores = 1.0, False, False, False
        calls, self._waiting, self._ignored = [*self._waiting, *self._ignored], [], []
        for call in calls:
            call()


class Links:
    """The links of all pairs of nodes, made when first asked for."""

    def __init__(self, sim: SimClock, chance: Random) -> None:
        self.sim = sim
        self.chance = chance
        self._links: dict[tuple[str, str], Link] = {}

    def between(self, source: str, target: str) -> Link:
        """The link in one direction."""
        link = self._links.get((source, target))
        if link is None:
            link = self._links[source, target] = Link()
        return link

    def delay(self, link: Link) -> float:
        """How long something takes that is sent now."""
        return (_LEAST + self.chance.expovariate(1 / _USUAL)) * link.scale

    def heal(self) -> None:
        """Ends all faults."""
        for link in self._links.values():
            link.heal()

    def carry(self, source: str, target: str, life: Life, arrive: Callable[[], None]) -> None:
        """Something small goes from node to node, again and again until it is through."""
        link = self.between(source, target)

        def attempt() -> None:
            if link.silent:
                self.sim.call_at(life, self.sim.seconds() + _SYN_RETRY, attempt)
            else:
                arrive()

        self.sim.call_at(life, self.sim.seconds() + self.delay(link), attempt)
