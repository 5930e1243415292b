"""Producer threads and the reactor's own appends against a writer whose bookies fail, and what must come out of it."""

import random
import threading

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError

from ...bounds import until
from ..claims.log_stress import Producers
from .writer_case import LEDGER, WriterTestCase

_OWN = b"appended on the reactor's thread"
_LONGEST_FAULT = 40


class WriterStress(WriterTestCase):
    """To be made by :meth:`of`; which bookie fails when follows from the seed, which thread runs when does not."""

    spares = 6
    config = ClientConfig(max_in_flight_bytes=1 << 14, netty_max_frame_size_bytes=1 << 12)

    def runTest(self) -> None:
        """Is no test itself."""

    @classmethod
    def of(cls, seed: int, threads: int, offers: int) -> bool:
        """Whether bookies were replaced meanwhile.

        :raises AssertionError: something was lost, torn, doubled or out of order, or has a wrong id.
        """
        stress = cls()
        stress.setUp()
        stress._stress(random.Random(seed), threads, offers)
        return stress.stored().segments[-1].bookies != stress.names

    def _stress(self, chance: random.Random, threads: int, offers: int) -> None:
        appender = self.writer.appender()
        assert self.writer._appends is not None
        producers, looks = Producers(chance, threads, offers), threading.Semaphore(0)
        producers.start(self.writer._appends.log, looks.release)
        told: list[int] = []
        self.bookies["b0"].fail("add", BookieHandleNotAvailableError, times=1)
        for _ in until(lambda: not producers.alive, 20_000):
            looks.acquire(timeout=0.001)
            if chance.random() < 0.3:
                self.writer.append(_OWN).addCallback(told.append)
            if chance.random() < 0.1:
                bookie = self.bookies[chance.choice(self.stored().segments[-1].bookies)]
                bookie.fail("add", BookieHandleNotAvailableError, times=chance.randrange(1, _LONGEST_FAULT))
            self.settle()
        flushed, closed = appender.flush(), self.writer.close()
        self.settle()
        for _ in until(lambda: closed.called, 100):
            self.clock.advance(1.0)  # the claim of the dead
            self.settle()
        self.successResultOf(closed)
        assert flushed.done() and flushed.exception() is None
        self._check(producers, told)

    def _check(self, producers: Producers, told: list[int]) -> None:
        metadata = self.stored()
        assert metadata.last_entry_id is not None
        payloads = []
        for entry_id in range(metadata.last_entry_id + 1):
            holders = [self.bookies[name].entries[LEDGER] for name in metadata.ensemble_at(entry_id)]
            copies = {held[entry_id] for held in holders if entry_id in held}
            (stored,) = copies  # all replicas are the same bytes
            assert sum(entry_id in held for held in holders) >= 2
            payloads.append(self.digester.entry(LEDGER, entry_id, stored).data)
        assert [i for i, payload in enumerate(payloads) if payload == _OWN] == told
        producers.check([payload for payload in payloads if payload != _OWN])
        assert metadata.length == sum(map(len, payloads))
