"""A world with bookies and a client, for tests of the nodes."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.entries.entry_run import EntryRun

from . import BookieNode, BookieSettings, ClientNode, IWitness, World


@implementer(IWitness)
class Witness:
    """Remembers what bookies promised."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def stored(self, bookie_id: str, run: EntryRun, recovery: bool, begun_after_fence: bool) -> None:
        self.heard.append(("stored", bookie_id, run.ledger_id, run.first, recovery, begun_after_fence))

    def fenced(self, bookie_id: str, ledger_id: int) -> None:
        self.heard.append(("fenced", bookie_id, ledger_id))

    def unfenced(self, bookie_id: str, ledger_id: int) -> None:
        self.heard.append(("unfenced", bookie_id, ledger_id))

    def forgot(self, bookie_id: str, ledger_ids: Sequence[int]) -> None:
        self.heard += [("forgot", bookie_id, ledger_id) for ledger_id in ledger_ids]

    def old_copy(self, bookie_id: str, ledger_id: int, entry_id: int) -> None:
        self.heard.append(("old_copy", bookie_id, ledger_id, entry_id))

    def read_only(self, bookie_id: str, reason: str) -> None:
        self.heard.append(("read_only", bookie_id, reason))

    def exited(self, bookie_id: str, error: BaseException) -> None:
        self.heard.append(("exited", bookie_id, type(error)))


class WorldCase(SynchronousTestCase):
    """Three bookies that serve, and a client that is connected."""

    def setUp(self) -> None:
        self.world = World(1)
        self.witness = Witness()
        settings = BookieSettings()
        self.bookies = [BookieNode(self.world, f"b{n}", settings, self.witness) for n in range(3)]
        for bookie in self.bookies:
            bookie.start()
        self.pass_time(3)
        self.node = ClientNode(self.world, "c1", ClientConfig(add_entry_timeout_sec=1.0))
        self.client = self.result(self.node.start())

    def pass_time(self, seconds: float) -> None:
        self.world.sim.run_until(self.world.sim.seconds() + seconds)

    def spawn(self, work: Any) -> "Deferred[Any]":
        async def wait() -> Any:
            return await work

        return self.node.spawn(wait())

    def result(self, work: Any) -> Any:
        """What a call gives within ten seconds."""
        running = self.spawn(work)
        self.pass_time(10)
        return self.successResultOf(running)
