"""A rolling restart under load, and a scale-down, by the commands of the chart."""

from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail, gatherResults
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import free_port
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookKeeperError

from ..deployment.chart import NAME, the
from ..deployment.kubelet import Pod, run_job

_reactor: Any = reactor
QUORUMS = ((3, 3, 2), (2, 2, 2))


class _Writer:
    """Appends to one ledger until it is told to end.

    :ivar written: the entries that were acknowledged.
    """

    def __init__(self, client: BookKeeper, quorums: tuple[int, int, int]) -> None:
        self._client = client
        self._quorums = quorums
        self._ends = False
        self._failure: Failure | None = None
        self.written = 0
        self.ledger_id = -1
        self._enough: tuple[int, Deferred[None]] | None = None

    async def write(self) -> None:
        """Write, and close the ledger; the first append that fails is an error, which :meth:`more` has as well."""
        try:
            await self._write()
        except BookKeeperError:
            self._failure = Failure()
            if self._enough is not None:
                self._enough[1].errback(self._failure)
            raise

    async def _write(self) -> None:
        async with await self._client.create_ledger(*self._quorums) as ledger:
            self.ledger_id = ledger.ledger_id
            while not self._ends:
                await ledger.append(b"entry %d" % self.written)
                self.written += 1
                if self._enough is not None and self.written >= self._enough[0]:
                    waiter, self._enough = self._enough[1], None
                    waiter.callback(None)

    def more(self, count: int) -> "Deferred[None]":
        """Wait until so many further entries are written."""
        if self._failure is not None:
            return fail(self._failure)
        waiter: Deferred[None] = Deferred()
        self._enough = self.written + count, waiter
        return waiter

    def end(self) -> None:
        """Write no further entry."""
        self._ends = True

    async def lost(self) -> list[int]:
        """Read everything back; return the entries that are not as they were written."""
        reader = await self._client.open_ledger(self.ledger_id)
        if not self.written:
            return []
        entries = await reader.read(0, self.written - 1)
        return [entry.entry_id for entry in entries if entry.data != b"entry %d" % entry.entry_id]


class RollingTests(TestCase):
    """Three bookies as the StatefulSet has them, on this machine."""

    timeout = 240

    def setUp(self) -> None:
        self.place = Path(self.mktemp()).absolute()
        self.place.mkdir()
        self.shared = {
            "metadataServiceUri": f"sqlite:///{self.place}/metadata.db", "allowLoopback": "true",
            "advertisedAddress": "127.0.0.1", "listeningInterface": "127.0.0.1",
            "prometheusStatsHttpAddress": "127.0.0.1",
        }  # fmt: skip

    def pod(self, workload: Any, name: str) -> Pod:
        """A pod that is killed at the end of the test."""
        place = self.place / name
        place.mkdir()
        own = {
            "bookiePort": str(free_port()), "httpServerPort": str(free_port()),
            "prometheusStatsHttpPort": str(free_port()), "journalDirectories": f"{place}/journal",
            "ledgerDirectories": f"{place}/ledgers",
        }  # fmt: skip
        pod = Pod(workload, name, {**self.shared, **own}, place / "log")
        self.addCleanup(pod.kill)
        return pod

    async def test_rolling_restart(self) -> None:
        """No append fails while one bookie after the other is drained, stopped and started; then one leaves."""
        initialized = await deferToThread(run_job, the("Job", "initialize"), self.shared)
        self.assertEqual(initialized.returncode, 0, initialized)
        bookies = [self.pod(the("StatefulSet"), f"{NAME}-{number}") for number in range(3)]
        for pod in bookies:
            pod.start()
        for pod in bookies:
            self.assertEqual(await deferToThread(pod.until_ready), "OK\n")
        # No time passes here between two bookies, so a writer may not have taken the first one back: it waits then.
        config = ClientConfig(wait_for_bookies_sec=60)
        client = await BookKeeper.connect(_reactor, self.shared["metadataServiceUri"], config)
        self.addCleanup(client.close)
        writers = [_Writer(client, quorums) for quorums in QUORUMS]
        writing = gatherResults([Deferred.fromCoroutine(writer.write()) for writer in writers], consumeErrors=True)
        for pod in reversed(bookies):  # as the controller of a StatefulSet does
            await gatherResults([writer.more(20) for writer in writers])
            self.assertEqual(await deferToThread(pod.stop), 0, pod.log)
            self.assertIn("the bookie is set read-only by", pod.log.read_text())
            await gatherResults([writer.more(20) for writer in writers])
            pod.start()
            await deferToThread(pod.until_ready)
            self.assertNoResult(writing)
        for writer in writers:
            writer.end()
        await writing
        self.assertEqual([await writer.lost() for writer in writers], [[], []])
        await self.scale_down(client, bookies, writers)

    async def scale_down(self, client: BookKeeper, bookies: list[Pod], writers: list[_Writer]) -> None:
        """Let the last bookie leave, as an upgrade with two replicas does; then everything is on the others."""
        await client.delete_ledger(writers[0].ledger_id)  # two bookies cannot keep an ensemble of three
        daemon = self.pod(the("Deployment"), "autorecovery")
        daemon.start()
        await deferToThread(daemon.until_ready)
        check, decommission = the("Job", "check-scale-down"), the("Job", "decommission")
        done = await deferToThread(run_job, check, self.shared, REPLICAS="2")
        self.assertEqual((done.returncode, done.stdout), (0, f"bookie {NAME}-2 may leave\n"), done.stderr)
        self.assertEqual(await deferToThread(bookies[2].stop), 0)
        done = await deferToThread(run_job, decommission, self.shared, REPLICAS="2", PATIENCE="60")
        self.assertEqual(done.returncode, 0, done)
        done = await deferToThread(run_job, check, self.shared, REPLICAS="2")
        self.assertEqual((done.returncode, done.stdout), (0, "no bookie leaves\n"))
        self.assertEqual(await deferToThread(daemon.stop), 0)
        self.assertEqual(await writers[1].lost(), [])
