"""A real file through a real bookie: written, the bookie killed without warning, restarted, read back, compared.

``python examples/roundtrip.py [FILE]``, or ``make run FILE=path``.  Without a file, the Python sources of the
standard library are taken.  Ends with status 0 only if every byte came back.
"""

import argparse
import hashlib
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from bookie_process import BookieProcess
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import react

from bookkeeper_twisted import BookKeeper, LedgerWriter
from bookkeeper_twisted.errors import BookKeeperError

ENTRY_SIZE = 1024
BATCH = 256  # entries of one append_many
IN_FLIGHT = 16  # batches not yet acknowledged
DEFAULT_SIZE = 32 << 20
PASSWORD = b"roundtrip"
BOOKIE = (
    *("--bookieId=roundtrip", "--bookiePort=0", "--advertisedAddress=127.0.0.1", "--allowLoopback=true"),
    *("--httpServerEnabled=true", "--httpServerHost=127.0.0.1", "--httpServerPort=0"),
)


class Mismatch(Exception):
    """The round trip did not give what it has to."""


EXPECTED = (BookKeeperError, Mismatch, OSError, RuntimeError)
INTERRUPTED = 130  # the exit status of a shell command that was interrupted


class Stopwatch:
    """Adds up the seconds spent inside of it."""

    seconds = 0.0

    def __enter__(self) -> None:
        self._started = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.monotonic() - self._started


def content(path: str | None) -> bytes:
    """The file, or a few tens of MB of text that every machine has."""
    if path is not None:
        return Path(path).read_bytes()
    text = bytearray()
    for source in cycle(sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py"))):
        text += source.read_bytes()
        if len(text) >= DEFAULT_SIZE:
            return bytes(text[:DEFAULT_SIZE])
    raise FileNotFoundError("the standard library has no sources here; name a file: make run FILE=path")


@contextmanager
def progress(label: str, total: int) -> Iterator[Any]:
    """A bar on a terminal, a line otherwise; calls with the number of entries just done."""
    if not sys.stderr.isatty():
        print(f"{label} {total:,} entries", flush=True)
        yield lambda count: None
        return
    from tqdm import tqdm  # only here: a program without a terminal does not need it

    with tqdm(total=total, desc=label, unit=" entries", leave=False) as bar:
        yield bar.update


async def write(ledger: LedgerWriter, entries: list[bytes], done: Any) -> None:
    """Appends all entries, with a bounded number of batches in flight."""
    in_flight: list[Deferred[tuple[int, int]]] = []
    for start in range(0, len(entries), BATCH):
        if len(in_flight) == IN_FLIGHT:
            first, last = await in_flight.pop(0)
            done(last - first + 1)
        in_flight.append(ledger.append_many(entries[start : start + BATCH]))
    for batch in in_flight:
        first, last = await batch
        done(last - first + 1)


async def read(client: BookKeeper, ledger_id: int, done: Any) -> tuple[int, str]:
    """Reads the ledger with batch reads; returns the number of entries and the digest of their bytes."""
    digest = hashlib.sha256()
    count = 0
    reader = await client.open_ledger(ledger_id, password=PASSWORD)
    async for batch in reader.batches():
        digest.update(b"".join(batch.payloads))
        count += len(batch.payloads)
        done(len(batch.payloads))
    return count, digest.hexdigest()


async def roundtrip(reactor: Any, data: bytes, directory: str, start: Callable[[], BookieProcess]) -> None:
    """The whole course."""
    entries = [data[i : i + ENTRY_SIZE] for i in range(0, len(data), ENTRY_SIZE)]
    bookie = await start().serving
    async with await BookKeeper.connect(reactor, f"sqlite:///{directory}/ledgers/metadata.db") as client:
        ledger = await client.create_ledger(1, 1, 1, password=PASSWORD)
        clock = Stopwatch()
        with progress("writing", len(entries)) as done:
            with clock:
                await write(ledger, entries[:-BATCH], done)
            metrics = await bookie.metrics()
            with clock:
                await write(ledger, entries[-BATCH:], done)
        # Without warning: what the bookie has not yet moved to an entry log is in its journal alone.
        await bookie.end(signal.SIGKILL)
        print("killed the bookie at the last acknowledgement (SIGKILL), restarting it", flush=True)
        bookie = await start().serving
        await ledger.close()
        reading = Stopwatch()
        with progress("reading", len(entries)) as done, reading:
            count, digest = await read(client, ledger.ledger_id, done)
    status = await bookie.end(signal.SIGTERM)
    table(len(entries), len(data), clock.seconds, reading.seconds, metrics)
    compare(entries, data, count, digest)
    if status:
        raise Mismatch(f"the bookie ended with status {status}")


def table(n_entries: int, n_bytes: int, written: float, was_read: float, metrics: dict[str, float]) -> None:
    """Prints what was measured; the metrics are those before the last batch."""
    writes = metrics["bookie_connection_writes"]
    rows = [
        ("entries", f"{n_entries:,}"),
        ("bytes", f"{n_bytes:,}"),
        ("adds/s", f"{n_entries / written:,.0f}"),
        ("reads/s", f"{n_entries / was_read:,.0f}"),
        ("journal syncs", f"{metrics['bookie_journal_JOURNAL_SYNC_count']:,.0f}"),
        ("replies per write", f"{metrics['bookie_connection_replies'] / max(writes, 1):,.1f}"),
    ]
    for name, value in rows:
        print(f"  {name:<18}{value:>14}")


def compare(entries: list[bytes], data: bytes, count: int, digest: str) -> None:
    """:raises Mismatch: not every entry came back, or not every byte."""
    expected = hashlib.sha256(data).hexdigest()
    if count != len(entries):
        raise Mismatch(f"{len(entries)} entries were written and {count} came back")
    if digest != expected:
        raise Mismatch(f"SHA-256 differs: written {expected}, read {digest}")
    print(f"every byte came back: SHA-256 {digest}")


async def main(reactor: Any, data: bytes) -> None:
    """Runs it, and leaves nothing behind, however it ends."""
    directory = tempfile.mkdtemp(prefix="bookie-")
    bookies: list[BookieProcess] = []

    def start() -> BookieProcess:
        bookies.append(BookieProcess.start(reactor, directory, *BOOKIE))
        return bookies[-1]

    try:
        await roundtrip(reactor, data, directory, start)
    finally:
        for bookie in bookies:
            if bookie.status is None:
                await bookie.end()
        shutil.rmtree(directory)


def run(data: bytes) -> int:
    """The round trip in a reactor of its own; returns the exit status."""
    status = INTERRUPTED

    async def checked(reactor: Any) -> None:
        nonlocal status
        try:
            await main(reactor, data)
        except EXPECTED as error:
            # An interrupt reaches the bookie as well, so its end is no news then.
            if reactor.running:
                print(f"FAILED: {error}", file=sys.stderr)
                status = 1
        else:
            status = 0

    def interruptible(reactor: Any) -> "Deferred[None]":
        going = Deferred.fromCoroutine(checked(reactor))
        ended: Deferred[None] = Deferred()
        going.addErrback(lambda failure: failure.trap(CancelledError)).addBoth(ended.callback)

        def interrupted() -> "Deferred[None]":
            going.cancel()
            return ended

        # The reactor waits for what a trigger returns, so an interrupt ends as tidily as a failure.
        reactor.addSystemEventTrigger("before", "shutdown", interrupted)
        return going

    try:
        react(interruptible)
    except SystemExit as end:
        return status or int(end.code or 0)
    return status


def command(arguments: list[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Write a file to a bookie, kill it, restart it, read the file back.")
    parser.add_argument("file", nargs="?", help="default: the Python sources of the standard library")
    path = parser.parse_args(arguments).file
    try:
        data = content(path)
        if not data:
            raise Mismatch("the file is empty, there is nothing to write")
    except EXPECTED as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return run(data)


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
