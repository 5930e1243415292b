"""Peers of the HTTP server that send anything, beside a client of the bookie."""

import signal
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.http.channel import MAX_CONNECTIONS
from examples.bookie_process import BookieProcess

from ..bookie.rig import MIB
from .http_fuzz import Fuzzer
from .peer import Bystander, Peer, descriptors, resident_bytes

_OPTIONS = (
    *("--bookieId=b", "--advertisedAddress=127.0.0.1", "--allowLoopback=true", "--bookiePort=0"),
    *("--dbStorage_writeCacheMaxSizeMb=8", "--dbStorage_readAheadCacheMaxSizeMb=8", "--journalMaxSizeMB=16"),
    *("--journalMaxMemorySizeMb=8", "--httpServerEnabled=true", "--httpServerPort=0"),
)
SEED = 28
CASES = 3500
GROWTH = 96 * MIB


class HttpFuzzTests(TestCase):
    """One bookie process."""

    timeout = 600

    async def test_survives(self) -> None:
        """Whole requests are answered, the client of the bookie is served meanwhile, what is taken has a bound, and
        SIGTERM ends the bookie beside connections that are open and unread."""
        data = str(Path(self.mktemp()).absolute())
        process = BookieProcess.start(reactor, data, *_OPTIONS)
        self.addCleanup(process.end)
        await process.serving
        self.assertIn(b"for this machine alone: httpServerHost=0.0.0.0 opens it", process.output)
        bystander = Bystander(await Peer.connect(reactor, process.port))
        await bystander.is_served()
        before, (sockets, files) = resident_bytes(process), descriptors(process)
        fuzzer = Fuzzer(process.http_port, SEED)
        running: Deferred[Any] = deferToThread(fuzzer.run, CASES)
        most = served = 0
        while not running.called:
            await bystander.is_served()
            served += 1
            most = max(most, descriptors(process)[0])
        await running
        self.addCleanup(fuzzer.close)
        self.assertEqual(fuzzer.wrong, [])
        self.assertGreater(fuzzer.asked, CASES)
        self.assertGreater(served, 20)
        self.assertLessEqual(most - sockets, MAX_CONNECTIONS + 100)  # those evicted in a turn are closed in the next
        self.assertLessEqual(descriptors(process)[1], files + 8)
        self.assertLess(resident_bytes(process) - before, GROWTH)
        await bystander.finds(0, bystander.acked)
        self.assertEqual((await process.get("/heartbeat")).strip(), "OK")
        self.assertEqual(await process.end(signal.SIGTERM), 0, process.output.decode())
        self.assertNotIn("Traceback", process.output.decode())
