"""A server with the console of a bookie in a made cluster, most of which never was.

``python -m benchmarks.console.made BOOKIES LEDGERS`` prints the port on loopback, and serves until its input ends.
Each second, something has changed: a bookie has gone or come back, journal groups were written, a request was slow,
and now and then the free space of all bookies is another.
"""

import random
import sys
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTCP
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.stdio import StandardIO
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_twisted.bookie.requests.slow_requests import DISK, SlowRequest
from bookkeeper_twisted.client.admin import BookKeeperAdmin, DiskSpace
from bookkeeper_twisted.errors import BookKeeperError
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.metrics import JournalGroup
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.cluster import MemoryCluster

_TIB = 1 << 40
_GROUPS = 50
_log = Logger(namespace="bookkeeper_twisted.bookie.maintenance.made")


class _Admin(BookKeeperAdmin):
    """A client whose bookies have disks that fill and empty."""

    chance = random.Random(1)

    async def disk_space_of(self, bookie_id: str) -> DiskSpace | BookKeeperError:
        return DiskSpace(_TIB, self.chance.randrange(_TIB))


class MadeCluster:
    """The cluster, its client, and the bookie whose console is served.

    :param bookies: number of bookies.
    """

    def __init__(self, clock: Any, bookies: int) -> None:
        self.admin = FakeBookieAdmin()
        self.shared = SharedClient(lambda: self.cluster.connect().addCallback(_Admin))
        self.cluster = MemoryCluster(clock, bookies)
        self._clock = clock
        self._names = [f"bookie-{number}" for number in range(bookies)]
        self._chance = random.Random(2)
        self._gone = ""

    async def fill(self, ledgers: int) -> None:
        """Make metadata of ledgers; some of them are marked as underreplicated."""
        metadata = (await self.shared()).client.metadata
        for ledger_id in range(ledgers):
            ensemble = tuple(self._chance.sample(self._names, 3))
            found = LedgerMetadata(
                3, 3, 2, (Segment(0, ensemble),), LedgerState.CLOSED, 1 << 20, 999, ctime=1_700_000_000_000,
                custom_metadata={"application": b"pulsar", "pulsar/managed-ledger": b"t/n/persistent/%d" % ledger_id},
            )  # fmt: skip
            await metadata.ledgers.create(ledger_id, found)
            if ledger_id % 200 == 0:
                await metadata.underreplication.mark(ledger_id, [ensemble[0]])

    async def change(self) -> None:
        """Let a second pass in the cluster."""
        gone, self._gone = self._gone, self._chance.choice(self._names)
        await self.cluster.stop_bookie(self._gone)
        if gone:
            await self.cluster.start_bookie(gone)
        now = self._clock.seconds()
        for _ in range(_GROUPS):
            self.admin.groups[0].append(JournalGroup(now, 100, 100_000, 0.0001, 0.0001, self._chance.random() / 500))
        slow = SlowRequest(now, "ADD_ENTRY", "10.0.0.7:50123", 7, self._chance.randrange(10**6), 1, 700.0, DISK)
        self.admin.slow.append(slow)
        _log.info("a compaction of {log} ended", log=self._chance.randrange(10**6))


class _Input(Protocol):
    """The end of the input ends the process."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        reactor.stop()  # type: ignore[attr-defined]


async def _serve(bookies: int, ledgers: int) -> None:
    made = MadeCluster(reactor, bookies)
    await made.fill(ledgers)
    changing = LoopingCall(lambda: Deferred.fromCoroutine(made.change()))
    changing.start(1.0).addErrback(_failed)
    tcp: Any = IReactorTCP(reactor)
    port = tcp.listenTCP(0, make_site(made.admin, reactor, made.shared), interface="127.0.0.1")
    print(port.getHost().port, flush=True)
    StandardIO(_Input())


def _failed(failure: Failure) -> None:
    failure.printTraceback(sys.stderr)
    reactor.stop()  # type: ignore[attr-defined]


if __name__ == "__main__":
    Deferred.fromCoroutine(_serve(int(sys.argv[1]), int(sys.argv[2]))).addErrback(_failed)
    reactor.run()  # type: ignore[attr-defined]
