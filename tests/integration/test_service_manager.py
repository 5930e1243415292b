"""``twistd bookie`` and ``twistd autorecovery`` under a service manager, which is the test."""

import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import DatagramProtocol, ProcessProtocol
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from examples.bookie_process import ROOT, BookieProcess

_reactor: Any = reactor
_LOCAL = ("--advertisedAddress=127.0.0.1", "--allowLoopback=true", "--bookieId=b")


class _Manager(DatagramProtocol):
    """Collects what a process reports.

    :ivar messages: what was reported, without the signs of life.
    :ivar pings: number of signs of life.
    """

    def __init__(self) -> None:
        self.messages: list[list[str]] = []
        self.pings = 0
        self._waiting: list[tuple[str, Deferred[None]]] = []

    def datagramReceived(self, datagram: bytes, addr: Any) -> None:
        lines = datagram.decode().split("\n")
        if "WATCHDOG=1" in lines:
            lines.remove("WATCHDOG=1")
            self.pings += 1
        if lines:
            self.messages.append(lines)
        for line, waiter in self._waiting[:]:
            if line in datagram.decode():
                self._waiting.remove((line, waiter))
                waiter.callback(None)

    def next(self, line: str) -> "Deferred[None]":
        """Wait for a message that has a line with this text, from now on."""
        waiter: Deferred[None] = Deferred()
        self._waiting.append((line, waiter))
        return waiter

    def without_progress(self) -> list[list[str]]:
        """The messages but those of a start or a stop that takes long."""
        progress = ("starting", "storing", "EXTEND", ": stopping")
        return [lines for lines in self.messages if not any(word in line for word in progress for line in lines)]


class _Autorecovery(ProcessProtocol):
    """``twistd autorecovery``.

    :ivar ended: fires with its status when it has ended.
    """

    def __init__(self) -> None:
        self.ended: Deferred[int] = Deferred()

    def processEnded(self, reason: Failure) -> None:
        ended: Any = reason.value
        self.ended.callback(ended.exitCode if ended.signal is None else -ended.signal)

    def end(self, transport: Any) -> "Deferred[int]":
        """Kill it, unless it has ended."""
        if not self.ended.called:
            transport.signalProcess(signal.SIGKILL)
        return self.ended


def _set_read_only(port: int) -> None:
    body = b'{"readOnly": true}'
    urlopen(Request(f"http://127.0.0.1:{port}/api/v1/bookie/state/readonly", body, method="PUT"), timeout=10).close()


class ServiceManagerTests(TestCase):
    """Messages in their order."""

    timeout = 120

    def setUp(self) -> None:
        self.data = Path(self.mktemp()).absolute()
        self.manager = _Manager()
        name = f"bookkeeper-{os.getpid()}"
        port = _reactor.listenUNIXDatagram(f"\0{name}", self.manager)
        self.addCleanup(port.stopListening)
        self.patch(os, "environ", {**os.environ, "NOTIFY_SOCKET": f"@{name}", "WATCHDOG_USEC": "400000"})

    def start(self, *options: str) -> BookieProcess:
        process = BookieProcess.start(_reactor, str(self.data), *_LOCAL, *options)
        process.serving.addErrback(lambda failure: None)
        self.addCleanup(process.end)
        return process

    async def test_bookie(self) -> None:
        """A bookie is ready when a client can use it; SIGHUP, a change of its mode and its stop are reported."""
        ready = self.manager.next("READY=1")
        process = self.start("--bookiePort=0", "--httpServerEnabled=true", "--httpServerPort=0")
        await ready
        client = await BookKeeper.connect(_reactor, f"sqlite:///{self.data}/ledgers/metadata.db")
        async with client, await client.create_ledger(1, 1, 1) as ledger:
            await ledger.append(b"x")
        await process.serving
        await self.manager.next("WATCHDOG=1")
        reloaded = self.manager.next("READY=1")
        process.transport.signalProcess(signal.SIGHUP)
        await reloaded
        changed = self.manager.next("STATUS=bookie b: read-only")
        await deferToThread(_set_read_only, process.http_port)
        await changed
        self.assertEqual(await process.end(signal.SIGTERM), 0, process.output)
        (reload,) = [lines for lines in self.manager.messages if "RELOADING=1" in lines]
        self.assertRegex(reload.pop(), r"^MONOTONIC_USEC=\d+$")
        self.assertEqual(
            self.manager.without_progress(),
            [
                ["READY=1", "STATUS=bookie b: serving"], ["RELOADING=1"], ["READY=1"],
                ["STATUS=bookie b: read-only: an administrator has set it read-only"],
                ["STOPPING=1", "STATUS=stopping"],
            ],
        )  # fmt: skip

    async def test_refused(self) -> None:
        """A bookie that cannot start says why, and never that it is ready."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            process = self.start(f"--bookiePort={other.getsockname()[1]}")
            self.assertEqual(await process.ended(), 1)
        last = self.manager.messages[-1]
        self.assertEqual(last[0], "STOPPING=1")
        self.assertRegex(last[1], r"^STATUS=the bookie does not start: .*Address already in use")
        self.assertFalse(any("READY=1" in lines for lines in self.manager.messages))

    async def test_autorecovery(self) -> None:
        """Autorecovery reports as a bookie does."""
        process = self.start("--bookiePort=0")
        await process.serving
        await process.end(signal.SIGTERM)
        self.manager.messages.clear()
        code = "from twisted.scripts.twistd import run; run()"
        uri = f"--metadataServiceUri=sqlite:///{self.data}/ledgers/metadata.db"
        command = [sys.executable, "-c", code, "-n", "--pidfile=", "autorecovery", uri, *_LOCAL]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        daemon, ready = _Autorecovery(), self.manager.next("READY=1")
        transport = _reactor.spawnProcess(daemon, sys.executable, command, env=environ, path=str(ROOT))
        self.addCleanup(daemon.end, transport)
        await ready
        transport.signalProcess(signal.SIGTERM)
        self.assertEqual(await daemon.ended, 0)
        first, last = self.manager.without_progress()[0], self.manager.without_progress()[-1]
        self.assertEqual(first[0], "READY=1")
        self.assertRegex(first[1], r"^STATUS=autorecovery of b: (auditor, )?0 ledgers in repair$")
        self.assertEqual(last, ["STOPPING=1", "STATUS=stopping"])
