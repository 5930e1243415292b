"""``twistd autorecovery``, and autorecovery in the process of bookies, as real processes."""

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from examples.bookie_process import ROOT, BookieProcess

_reactor: Any = reactor
_HTTP = ("--httpServerEnabled=true", "--httpServerHost=127.0.0.1", "--httpServerPort=0")
_LOCAL = ("--advertisedAddress=127.0.0.1", "--allowLoopback=true")
_TWISTD = "from twisted.scripts.twistd import run; run()"
_READY = re.compile(rb"ready: autorecovery of (\S+), HTTP on port (\d+)")
_LIMITERS = ["checker-metadata", "checker-read", "replication-metadata", "replication-read", "replication-write"]
_PATH = "/api/v1/bookie/throttles"


class AutorecoveryProcess(BookieProcess):
    """One life of a process of autorecovery.

    :ivar name: under which it stands for the office of the auditor.
    """

    name = ""

    @classmethod
    def start_on(cls, uri: str, *options: str) -> "AutorecoveryProcess":
        """Starts it on the metadata store of a URI."""
        process = cls()
        command = [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "autorecovery", f"--metadataServiceUri={uri}"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        _reactor.spawnProcess(
            process, sys.executable, [*command, *_LOCAL, *_HTTP, *options], env=environ, path=str(ROOT)
        )
        return process

    def outReceived(self, data: bytes) -> None:
        self.output += data
        found = _READY.search(self.output)
        if found and not self.serving.called:
            self.name, self.http_port = found[1].decode(), int(found[2])
            self.serving.callback(self)

    errReceived = outReceived


class TwistdAutorecoveryTests(TestCase):
    """Its start, its HTTP server, its end."""

    timeout = 60

    async def test_life(self) -> None:
        """It stands under the id of a bookie of this machine, answers over HTTP, and ends with status 0."""
        data = str(Path(self.mktemp()).absolute())
        bookie = BookieProcess.start(_reactor, data, *_LOCAL, "--bookiePort=0", "--bookieId=b", *_HTTP)
        self.addCleanup(bookie.end)
        await bookie.serving
        uri = f"sqlite:///{data}/ledgers/metadata.db"
        process = AutorecoveryProcess.start_on(uri, "--bookiePort=3281")
        self.addCleanup(process.end)
        await process.serving
        self.assertEqual(process.name, "127.0.0.1:3281")
        self.assertEqual((await process.get("/heartbeat")).strip(), "OK")
        metrics = await process.metrics()
        for name in ("auditor_in_office", "replication_worker_ledgers", "throttle_limit_bytes", "process_open_fds"):
            self.assertIn(name, metrics)
        self.assertEqual(await process.end(signal.SIGTERM), 0, process.output.decode())
        self.assertNotIn("Traceback", process.output.decode())

    async def test_daemon(self) -> None:
        """In the process of a bookie its client is exported with the bookie, and it ends with that."""
        data = str(Path(self.mktemp()).absolute())
        options = (*_LOCAL, "--bookiePort=0", "--bookieId=b", "--autoRecoveryDaemonEnabled=true", *_HTTP)
        bookie = BookieProcess.start(_reactor, data, *options)
        self.addCleanup(bookie.end)
        await bookie.serving
        metrics = await bookie.metrics()
        for name in ("bookie_SERVER_STATUS", "bookkeeper_client_requests_per_write_count"):
            self.assertIn(name, metrics)
        self.assertEqual(await bookie.end(signal.SIGTERM), 0, bookie.output.decode())
        self.assertNotIn("Traceback", bookie.output.decode())

    async def test_no_cluster(self) -> None:
        """Where there is no cluster it ends with status 1 and says so in one line."""
        process = AutorecoveryProcess.start_on(f"sqlite:///{Path(self.mktemp()).absolute()}/metadata.db")
        process.serving.addErrback(lambda failure: None)
        self.addCleanup(process.end)
        self.assertEqual(await process.ended(), 1)
        self.assertIn("autorecovery does not start", process.output.decode())
        self.assertNotIn("Traceback", process.output.decode())


class LiveLimitsTests(TestCase):
    """Speed limits that change while processes run, and the choice of services."""

    timeout = 60

    def setUp(self) -> None:
        self.data = str(Path(self.mktemp()).absolute())

    async def change(self, process: BookieProcess, body: object) -> Any:
        """The answer to a PUT of speed limits."""
        url = f"http://127.0.0.1:{process.http_port}{_PATH}"
        request = Request(url, json.dumps(body).encode(), method="PUT")
        return json.loads(await deferToThread(lambda: urlopen(request, timeout=10).read()))

    async def bookie(self, *options: str) -> BookieProcess:
        """A bookie that serves."""
        process = BookieProcess.start(_reactor, self.data, *_LOCAL, "--bookiePort=0", "--bookieId=b", *options)
        self.addCleanup(process.end)
        await process.serving
        return process

    async def assertChanges(self, process: BookieProcess, others: list[str]) -> None:
        """Limits and the latency bound of autorecovery are shown, changed, and shown again."""
        found = json.loads(await process.get(_PATH))
        self.assertEqual(list(found["limiters"]), sorted(_LIMITERS + others))
        self.assertEqual(found["limiters"]["replication-read"]["bytesPerSecond"], 1000000)
        body = {
            "limiters": {"replication-read": {"bytesPerSecond": 70}}, "replicationAdaptive": {"latencyBoundMs": 25},
        }  # fmt: skip
        await self.change(process, body)
        found = json.loads(await process.get(_PATH))
        self.assertEqual(found["limiters"]["replication-read"]["bytesPerSecondInForce"], 70)
        self.assertEqual(found["replicationAdaptive"]["latencyBoundMs"], 25)
        self.assertIn('throttle_limit_bytes{throttle="replication-read"} 70', await process.get("/metrics"))

    async def test_in_the_process_of_a_bookie(self) -> None:
        """The bookie's HTTP server has the limits of both."""
        process = await self.bookie(*_HTTP, "--autoRecoveryDaemonEnabled=true", "--replicationRateByBytes=1000000")
        await self.assertChanges(process, ["compaction-read", "compaction-write", "gc-metadata", "scan", "scrub"])
        self.assertEqual(await process.end(signal.SIGTERM), 0)

    async def test_alone(self) -> None:
        """A worker in its own process serves its limits, metrics and the paths on autorecovery, without an auditor."""
        await self.bookie()
        uri = f"sqlite:///{self.data}/ledgers/metadata.db"
        options = ("--autoRecoveryServices=worker", "--replicationRateByBytes=1000000")
        process = AutorecoveryProcess.start_on(uri, *options)
        self.addCleanup(process.end)
        await process.serving
        await self.assertChanges(process, [])
        self.assertEqual((await process.get("/heartbeat")).strip(), "OK")
        self.assertEqual(json.loads(await process.get("/api/v1/autorecovery/status")), {"enabled": True})
        self.assertEqual((await process.metrics())["auditor_in_office"], 0)
        self.assertEqual(await process.end(signal.SIGTERM), 0)
        self.assertNotIn("Traceback", process.output.decode())

    async def test_unknown_service(self) -> None:
        """A word that names no service ends the process with one line."""
        process = AutorecoveryProcess.start_on("memory:", "--autoRecoveryServices=janitor")
        process.serving.addErrback(lambda failure: None)
        self.addCleanup(process.end)
        self.assertEqual(await process.ended(), 1)
        self.assertIn("expected one or more of auditor, worker", process.output.decode())
        self.assertNotIn("Traceback", process.output.decode())
