"""Bookies as processes on one machine, with one SQLite metadata file."""

import signal
from pathlib import Path
from typing import Any

from twisted.internet.defer import gatherResults

from examples.bookie_process import BookieProcess

_OPTIONS = (
    *("--bookiePort=0", "--advertisedAddress=127.0.0.1", "--allowLoopback=true"),
    # Small files and frequent checkpoints, so that faults fall into rotations, flushes and log marks as well.
    *("--journalMaxSizeMB=4", "--journalPreAllocSizeMB=1", "--flushInterval=500"),
    *("--logSizeLimit=16777216", "--minUsableSizeForEntryLogCreation=0"),
)


class ProcessCluster:
    """Bookies ``b0 .. b(n-1)``, each in a folder and a process of its own.

    :ivar uri: of the metadata.
    """

    def __init__(self, reactor: Any, folder: Path, size: int) -> None:
        self.uri = f"sqlite:///{folder}/metadata.db"
        self.names = [f"b{number}" for number in range(size)]
        self._reactor = reactor
        self._folder = folder
        self._processes: dict[str, BookieProcess] = {}

    async def start(self) -> None:
        """Starts all of them; returns when they take requests."""
        await gatherResults([self._launch(name).serving for name in self.names], consumeErrors=True)

    def _launch(self, name: str) -> BookieProcess:
        options = (f"--bookieId={name}", f"--metadataServiceUri={self.uri}", *_OPTIONS)
        process = BookieProcess.start(self._reactor, str(self._folder / name), *options)
        self._processes[name] = process
        return process

    async def restart(self, name: str) -> None:
        """Starts one that has ended; returns when it takes requests."""
        await self._launch(name).serving

    async def add(self, name: str) -> None:
        """Starts one more, which is empty; returns when it takes requests."""
        self.names.append(name)
        await self._launch(name).serving

    async def kill(self, name: str) -> None:
        """Ends one without warning."""
        await self._processes[name].end(signal.SIGKILL)

    def pause(self, name: str) -> None:
        """One does nothing any more, and does not say so: its sockets stay open."""
        self._processes[name].transport.signalProcess(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """One goes on where it was paused."""
        self._processes[name].transport.signalProcess(signal.SIGCONT)

    async def stop(self) -> None:
        """Ends all, however they are."""
        for process in self._processes.values():
            await process.end(signal.SIGKILL)

    async def shut_down(self) -> list[int]:
        """Asks all to end; returns their exit statuses."""
        return [await process.end(signal.SIGTERM) for process in self._processes.values()]
