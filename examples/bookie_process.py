"""A bookie in a process of its own, started through ``twistd bookie``."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProcessTransport
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure

ROOT = Path(__file__).resolve().parent.parent
_SERVES = re.compile(rb"ready: bookie .*? on port (\d+)(?:, HTTP on port (\d+))?")
_LOCAL = "--listeningInterface=127.0.0.1"
_TWISTD = "from twisted.scripts.twistd import run; run()"


class BookieProcess(ProcessProtocol):
    """One life of a bookie.

    :ivar serving: fires with the process when it takes requests; fails if it ends before.
    :ivar port: where it listens, once it serves.
    :ivar http_port: 0 if it has no HTTP server.
    :ivar output: what it has printed so far.
    :ivar status: its exit status, negative for a signal; None while it lives.
    """

    transport: IProcessTransport

    def __init__(self) -> None:
        self.serving: Deferred[BookieProcess] = Deferred()
        self.port = self.http_port = 0
        self.output = b""
        self.status: int | None = None
        self._waiting: list[Deferred[None]] = []

    @classmethod
    def start(cls, reactor: Any, data: str, *options: str, path: str = "") -> "BookieProcess":
        """Starts a bookie that keeps everything below ``data`` and listens on this machine only.

        :param path: a folder with plugins of one's own; empty: none.
        """
        process = cls()
        command = [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "bookie", "--data", data, _LOCAL, *options]
        found_in = os.pathsep.join([path, str(ROOT)] if path else [str(ROOT)])
        environ = {**os.environ, "PYTHONPATH": found_in, "PYTHONUNBUFFERED": "1"}
        reactor.spawnProcess(process, sys.executable, command, env=environ, path=str(ROOT))
        return process

    async def end(self, number: int = signal.SIGKILL) -> int:
        """Sends a signal, unless it has ended, and waits for the end; returns its exit status."""
        if self.status is None:
            self.transport.signalProcess(number)
        return await self.ended()

    async def ended(self) -> int:
        """Waits for the end; returns the exit status."""
        if self.status is None:
            self._waiting.append(Deferred())
            await self._waiting[-1]
        assert self.status is not None
        return self.status

    async def get(self, path: str) -> str:
        """The body its HTTP server answers with."""
        url = f"http://127.0.0.1:{self.http_port}{path}"
        return await deferToThread(lambda: urlopen(url, timeout=10).read().decode())

    async def metrics(self) -> dict[str, float]:
        """The samples of ``/metrics``, labels left out of the names and their values added up."""
        samples: dict[str, float] = {}
        for line in (await self.get("/metrics")).splitlines():
            if line and not line.startswith("#"):
                name, value = re.split(r"(?:\{.*\})? ", line, maxsplit=1)
                samples[name] = samples.get(name, 0) + float(value.split()[0])
        return samples

    # -- called by the reactor --

    def outReceived(self, data: bytes) -> None:
        self.output += data
        found = _SERVES.search(self.output)
        if found and not self.serving.called:
            self.port, self.http_port = (int(port or 0) for port in found.groups())
            self.serving.callback(self)

    errReceived = outReceived

    def processEnded(self, reason: Failure) -> None:
        ended: Any = reason.value
        self.status = ended.exitCode if ended.signal is None else -ended.signal
        if not self.serving.called:
            self.serving.errback(RuntimeError(f"the bookie ended with status {self.status}: {self.output.decode()}"))
        for waiting in self._waiting:
            waiting.callback(None)
