"""The ways of requests and of background work through a process that is bookies, client and autorecovery at once.

Run as a program with a source tree first in ``PYTHONPATH``; prints one line of JSON: for each way, in the threads of
the reactor and of the lanes, how many Python functions of the package are called, in how many modules, and how often
the next call is in another module or package.
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


async def _main(reactor: Any, directory: Path) -> None:
    from bookkeeper_twisted import BookieConfig, BookKeeper, ClientConfig, make_bookie
    from bookkeeper_twisted.embedding.autorecovery import make_autorecovery

    tracer, rows = Tracer(), dict[str, Row]()
    threading.setprofile(tracer.called)
    sys.setprofile(tracer.called)
    http_port = free_port()
    uri = f"sqlite:///{directory}/metadata.db"
    bookies, configs = list[Any](), list[BookieConfig]()
    for index in range(4):
        home = directory / str(index)
        home.mkdir()
        config = BookieConfig(
            metadata_service_uri=uri, journal_directories=(str(home),), ledger_directories=(str(home),),
            bookie_port=free_port(), advertised_address="127.0.0.1", allow_loopback=True, bookie_id=f"bookie-{index}",
            gc_wait_time=3_600_000, flush_interval=3_600_000, http_server_enabled=not index, http_server_port=http_port,
        )  # fmt: skip
        configs.append(config)
        bookies.append(make_bookie(reactor, config))
        await bookies[-1].start()
    client = await BookKeeper.connect(reactor, uri, ClientConfig())
    ledger = await client.create_ledger(3, 3, 3)
    await ledger.append_many([bytes(100)] * _ENTRIES)
    await ledger.append(b"warm")
    await deferLater(reactor, 0.2, lambda: None)
    with tracer.walk(rows, "append"):
        await ledger.append(bytes(100))
    await ledger.close()
    reader = await client.open_ledger(ledger.ledger_id)
    await reader.read(0, 0)
    with tracer.walk(rows, "read of one entry"):
        await reader.read(5, 5)
    with tracer.walk(rows, "read of 100 entries"):
        await reader.read(0, _ENTRIES - 1)
    with tracer.walk(rows, "open and close of a new ledger"):
        await (await client.create_ledger(3, 3, 2)).close()
    base = f"http://127.0.0.1:{http_port}/api/v1/bookie"
    dead = await client.create_ledger(3, 3, 2)
    await dead.append_many([bytes(100)] * _ENTRIES)
    await dead.close()
    for index, config in enumerate(configs):
        await bookies[index].stop()
        bookies[index] = make_bookie(reactor, config)
        await bookies[index].start()
    reader = await client.open_ledger(ledger.ledger_id)
    with tracer.walk(rows, "read of one entry after a restart"):
        await reader.read(5, 5)
    await client.delete_ledger(dead.ledger_id)
    with tracer.walk(rows, "collection and compaction of one log"):
        await put(reactor, f"{base}/gc")
        await until(reactor, tracer, lambda: collected(reactor, base))
    await bookies[0].stop()
    daemon = make_autorecovery(reactor, BookieConfig(metadata_service_uri=uri, allow_loopback=True), ClientConfig())

    async def repaired() -> bool:
        metadata = (await client.open_ledger(ledger.ledger_id))._view.metadata
        return all("bookie-0" not in segment.bookies for segment in metadata.segments)

    with tracer.walk(rows, "repair of a lost bookie's two ledgers"):
        await daemon.start()
        await until(reactor, tracer, repaired)
    await daemon.stop()
    await client.close()
    for bookie in bookies[1:]:
        await bookie.stop()
    print(json.dumps(rows))


def main() -> None:
    """Runs."""
    with tempfile.TemporaryDirectory() as directory:

        def run(reactor: Any) -> "Deferred[None]":
            return ensureDeferred(_main(reactor, Path(directory)))

        react(run)


if __name__ == "__main__":
    main()
