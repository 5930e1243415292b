"""A client that writes several ledgers, mostly one entry at a time to each, so that they share batches."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred, DeferredList

from bookkeeper_twisted.client import LedgerWriter
from bookkeeper_twisted.config.client import ClientConfig

from .workload import Writer
from .world import ClientNode

_Failures = list[BaseException]


class ManyLedgersWriter(Writer):
    """Appends to some ledgers at a time, and replaces those that ended; a process that is killed has a successor."""

    name = "m"

    def start(self) -> None:
        """Begins in a process of its own, with ledgers of its own."""
        self._n_ledgers = self.chance.randint(2, 12)
        self._open: dict[LedgerWriter, _Failures] = {}
        super().start()
        self._look_later(self.node)

    def _config(self) -> ClientConfig:
        config = self.cluster.scenario.many_ledgers
        assert config is not None
        return config

    def _look_later(self, node: ClientNode) -> None:
        self.cluster.world.after(self.chance.expovariate(1), self._look, node)

    def _look(self, node: ClientNode) -> None:
        if node is not self.node or not self.cluster.chaos:
            return
        if node.life.alive:
            self._look_later(node)
        else:
            self.start()

    async def act(self) -> None:
        await self._create_missing()
        for _ in range(self.chance.randint(1, 8)):
            if self.cluster.chaos and not any(self._open.values()):
                await self.chance.choice((self._turns, self._turns, self._each))()
        await self._end_some()

    async def _create_missing(self) -> None:
        missing = self._n_ledgers - len(self._open)
        created = [self.node.spawn(self._create()) for _ in range(missing)]
        for creation in created:
            writer = await creation
            if writer is not None:
                self._open[writer] = []

    async def _turns(self) -> None:
        """Some turns with appends to some ledgers each; those before may be on their way."""
        pause = self.chance.choice((0.0005, 0.005, self.cluster.scenario.mean_pause))
        for _ in range(self.chance.randint(1, 4)):
            some = self.chance.sample(list(self._open), self.chance.randint(0, len(self._open)))
            appended = [self._append_to(writer) for writer in some]
            appended += [self._append_to(writer) for writer in some if self.chance.random() < 0.05]
            if self.chance.random() < 0.3:
                await DeferredList(appended)
            await self.pause(pause)

    async def _each(self) -> None:
        """Each ledger has its next append as soon as it has the answer to the one before."""
        await DeferredList([self.node.spawn(self._one_by_one(writer)) for writer in self._open])

    async def _one_by_one(self, writer: LedgerWriter) -> None:
        for _ in range(self.chance.randint(0, 6)):
            if not self._open[writer] or self.chance.random() < 0.3:  # even one that has just ended
                await self._append_to(writer)

    def _append_to(self, writer: LedgerWriter) -> "Deferred[None]":
        ledger_id, last = writer.ledger_id, writer.last_add_pushed
        if (ledger_id, last) in self.history.shared and self.checker.ledger(ledger_id).acked < last:
            self.history.count("append after a shared one")
        several = self.chance.random() < 0.1
        return self._append(writer, self.chance.randint(2, 4) if several else 1, self._open[writer])

    def _give(self, writer: LedgerWriter, payloads: Sequence[bytes]) -> "Deferred[tuple[int, int]]":
        if len(payloads) > 1:
            return writer.append_many(payloads)
        return writer.append(payloads[0]).addCallback(lambda entry_id: (entry_id, entry_id))

    async def _end_some(self) -> None:
        """Closes, or leaves alone, what failed, and now and then another one with an append on its way."""
        chance, ended = self.chance, [writer for writer, failures in self._open.items() if failures]
        if self._open and chance.random() < 0.3:
            writer = chance.choice(list(self._open))
            self._append_to(writer)
            ended.append(writer)
        for writer in dict.fromkeys(ended):
            del self._open[writer]
            if chance.random() < 0.7:
                self.node.spawn(self._close(writer)).addErrback(self._broken)
