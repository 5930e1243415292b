"""``twistd autorecovery``, and autorecovery in the process of bookies, as real processes."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from examples.bookie_process import ROOT, BookieProcess

_reactor: Any = reactor
_HTTP = ("--httpServerEnabled=true", "--httpServerHost=127.0.0.1", "--httpServerPort=0")
_LOCAL = ("--advertisedAddress=127.0.0.1", "--allowLoopback=true")
_TWISTD = "from twisted.scripts.twistd import run; run()"
_READY = re.compile(rb"ready: autorecovery of (\S+), HTTP on port (\d+)")


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
