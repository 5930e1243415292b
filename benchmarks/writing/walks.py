"""The ways of requests and of background work through a process that is bookies, client and autorecovery at once.

Run as a program with a source tree first in ``PYTHONPATH``; prints one line of JSON: for each way, in the thread of
the reactor and those of the executor, how many Python functions of the package are called, in how many modules, and
how often the next call is in another module or package.
"""

import json
import socket
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import deferLater, react
from twisted.web.client import Agent, FileBodyProducer, readBody

from bookkeeper_twisted import BookieConfig, BookKeeper, ClientConfig, make_bookie
from bookkeeper_twisted.embedding.autorecovery import make_autorecovery

_PACKAGE = "bookkeeper_twisted."
_ENTRIES = 100

Row = dict[str, int]


class Tracer:
    """Records the modules of the package whose functions are called, for each thread."""

    def __init__(self) -> None:
        self.calls: dict[int, list[str]] | None = None

    def called(self, frame: Any, event: str, argument: Any) -> None:
        """The profile function of all threads."""
        if event == "call" and self.calls is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith(_PACKAGE):
                self.calls.setdefault(threading.get_ident(), []).append(module[len(_PACKAGE) :])

    @contextmanager
    def walk(self, rows: dict[str, Row], name: str) -> Iterator[None]:
        """Adds the row of what is called within."""
        self.calls = {}
        try:
            yield
        finally:
            calls, self.calls = self.calls, None
        threads = list(calls.values())
        packages = [[call.rpartition(".")[0] for call in each] for each in threads]
        rows[name] = {
            "calls": sum(map(len, threads)), "files": len({call for each in threads for call in each}),
            "changes of file": sum(map(changes, threads)), "changes of package": sum(map(changes, packages)),
        }  # fmt: skip


def changes(names: list[str]) -> int:
    """How often a name differs from the one before."""
    return sum(one != other for one, other in pairwise(names))


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def put(reactor: Any, url: str, body: bytes = b"") -> None:
    """Sends a request to a bookie over HTTP."""
    answer = await Agent(reactor).request(b"PUT", url.encode(), None, FileBodyProducer(BytesIO(body)))
    await readBody(answer)
    if answer.code != 200:
        raise ValueError(f"{url}: {answer.code}")


async def collected(reactor: Any, base: str) -> bool:
    """Whether no collection is under way."""
    answer = await Agent(reactor).request(b"GET", f"{base}/gc".encode())
    return b'"true"' not in (await readBody(answer)).lower()


async def until(reactor: Any, tracer: Tracer, holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits, and leaves the question out of the walk."""
    while True:
        calls, tracer.calls = tracer.calls, None
        held = await holds()
        tracer.calls = calls
        if held:
            return
        await deferLater(reactor, 0.5, lambda: None)


class Host:
    """Four bookies with one metadata store, and what is traced of them."""

    def __init__(self, reactor: Any, directory: Path) -> None:
        self.reactor = reactor
        self.tracer = Tracer()
        self.rows: dict[str, Row] = {}
        self.uri = f"sqlite:///{directory}/metadata.db"
        self.http_port = free_port()
        self.configs = [self._config(index, directory / str(index)) for index in range(4)]
        self.bookies: list[Any] = []

    def _config(self, index: int, home: Path) -> BookieConfig:
        home.mkdir()
        return BookieConfig(
            metadata_service_uri=self.uri, journal_directories=(str(home),), ledger_directories=(str(home),),
            bookie_port=free_port(), advertised_address="127.0.0.1", allow_loopback=True, bookie_id=f"bookie-{index}",
            gc_wait_time=3_600_000, flush_interval=3_600_000,
            http_server_enabled=not index, http_server_port=self.http_port,
        )  # fmt: skip

    async def start(self) -> None:
        """Starts the bookies, again if they run."""
        for bookie in self.bookies:
            await bookie.stop()
        self.bookies = [make_bookie(self.reactor, config) for config in self.configs]
        for bookie in self.bookies:
            await bookie.start()

    async def requests(self, client: BookKeeper) -> int:
        """Traces requests, and returns the id of a closed ledger."""
        ledger = await client.create_ledger(3, 3, 3)
        await ledger.append_many([bytes(100)] * _ENTRIES)
        await deferLater(self.reactor, 0.2, lambda: None)
        with self.tracer.walk(self.rows, "append"):
            await ledger.append(bytes(100))
        await ledger.close()
        reader = await client.open_ledger(ledger.ledger_id)
        await reader.read(0, 0)
        with self.tracer.walk(self.rows, "read of one entry"):
            await reader.read(5, 5)
        with self.tracer.walk(self.rows, "read of 100 entries"):
            await reader.read(0, _ENTRIES - 1)
        with self.tracer.walk(self.rows, "open and close of a new ledger"):
            await (await client.create_ledger(3, 3, 2)).close()
        return ledger.ledger_id

    async def after_restart(self, client: BookKeeper, ledger_id: int) -> None:
        """Traces a read of what was flushed, and the compaction of a log that is half dead."""
        dead = await client.create_ledger(3, 3, 2)
        await dead.append_many([bytes(100)] * _ENTRIES)
        await dead.close()
        await self.start()
        reader = await client.open_ledger(ledger_id)
        with self.tracer.walk(self.rows, "read of one entry after a restart"):
            await reader.read(5, 5)
        await client.delete_ledger(dead.ledger_id)
        base = f"http://127.0.0.1:{self.http_port}/api/v1/bookie"
        with self.tracer.walk(self.rows, "collection and compaction of one log"):
            await put(self.reactor, f"{base}/gc")
            await until(self.reactor, self.tracer, lambda: collected(self.reactor, base))

    async def repair(self, client: BookKeeper, ledger_id: int) -> None:
        """Traces autorecovery from its start to the end of the repair of a lost bookie's two ledgers."""
        await self.bookies[0].stop()
        config = BookieConfig(metadata_service_uri=self.uri, allow_loopback=True)
        daemon = make_autorecovery(self.reactor, config, ClientConfig())

        async def repaired() -> bool:
            metadata = (await client.open_ledger(ledger_id))._view.metadata
            return all("bookie-0" not in segment.bookies for segment in metadata.segments)

        with self.tracer.walk(self.rows, "repair of a lost bookie's two ledgers"):
            await daemon.start()
            await until(self.reactor, self.tracer, repaired)
        await daemon.stop()


async def _main(reactor: Any, directory: Path) -> None:
    host = Host(reactor, directory)
    threading.setprofile(host.tracer.called)
    sys.setprofile(host.tracer.called)
    await host.start()
    client = await BookKeeper.connect(reactor, host.uri, ClientConfig())
    ledger_id = await host.requests(client)
    await host.after_restart(client, ledger_id)
    await host.repair(client, ledger_id)
    await client.close()
    for bookie in host.bookies[1:]:
        await bookie.stop()
    print(json.dumps(host.rows))


def main() -> None:
    """Runs."""
    with tempfile.TemporaryDirectory() as directory:

        def run(reactor: Any) -> "Deferred[None]":
            return ensureDeferred(_main(reactor, Path(directory)))

        react(run)


if __name__ == "__main__":
    main()
