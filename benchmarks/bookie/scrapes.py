"""What scrapes of ``/metrics`` cost the adds of a bookie.

``python -m benchmarks scrapes [--seconds N] [--rounds N] [--tree DIRECTORY]`` prints JSON: for adds one after another
on one connection, alone, beside ten scrapes a second, beside ten viewers of the console, beside six connections that
pipeline scrapes, five of which read no answer, and beside ten headless Chromiums that show the console, if it is
installed: adds a second, milliseconds of the median and of one add in a hundred, and milliseconds of the bookie's
processor for each add.  The browsers need processors of this machine, too, so beside them only the last figure is the
bookie's.
"""

import argparse
import json
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import median, quantiles

from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.entries.entry_run import EntryRun

from ..shared.browser import browser, missing
from ..shared.processes import ROOT, Bookie, start_ours

_SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
_STREAM = b"GET /api/v1/console/stream HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
_VIEWERS = 10
_KEY = b"k" * 20
_BODY = bytes(1000)
_PIPELINE = 5000
_WAYS = ("alone", "watched", "scraped", "flooded", "browsers")
_LENGTH = struct.Struct(">I")


class _Adder:
    """A connection that adds entry after entry to one ledger."""

    def __init__(self, port: int) -> None:
        self._peer = socket.create_connection(("127.0.0.1", port))
        self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._next = 0

    def add_for(self, seconds: float) -> list[float]:
        """The latency of each add in milliseconds."""
        found = []
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            entry = struct.pack(">qqqq", 1, self._next, self._next - 1, 0) + bytes(4) + _BODY
            self._peer.sendall(requests_out.encode_adds(_KEY, EntryRun.of_entries(1, self._next, [entry])))
            (length,) = _LENGTH.unpack(self._take(4))
            self._take(length)
            found.append((time.perf_counter() - began) * 1000)
            self._next += 1
        return found

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self._peer.recv(count - len(data))
        return data


@contextmanager
def _browsers(bookie: Bookie) -> Iterator[None]:
    """Browsers that show the console of a bookie; windows of one browser would share six connections to it."""
    with ExitStack() as stack:
        for _ in range(_VIEWERS):
            driver = browser()
            stack.callback(driver.quit)
            driver.get(f"http://127.0.0.1:{bookie.http_port}/console")
        yield


@contextmanager
def _beside(way: str, bookie: Bookie) -> Iterator[None]:
    """Something that asks the HTTP server meanwhile."""
    ended = threading.Event()

    def scrape() -> None:
        while not ended.wait(0.1):
            bookie.metrics()

    def flood(reads: bool) -> None:
        with socket.create_connection(("127.0.0.1", bookie.http_port)) as peer, suppress(OSError):
            peer.settimeout(0.1)
            with suppress(TimeoutError):
                peer.sendall(_SCRAPE * _PIPELINE)
            while not ended.is_set():
                with suppress(TimeoutError):
                    if reads:
                        peer.recv(1 << 20)
                    else:
                        ended.wait()

    def watch() -> None:
        with socket.create_connection(("127.0.0.1", bookie.http_port)) as peer:
            peer.settimeout(0.1)
            peer.sendall(_STREAM)
            while not ended.is_set():
                with suppress(TimeoutError):
                    peer.recv(1 << 16)

    work = {
        "alone": [], "browsers": [], "watched": [watch] * _VIEWERS, "scraped": [scrape],
        "flooded": [lambda: flood(True), *[lambda: flood(False)] * 5],
    }[way]  # fmt: skip
    threads = [threading.Thread(target=each, daemon=True) for each in work]
    for thread in threads:
        thread.start()
    try:
        with _browsers(bookie) if way == "browsers" else nullcontext():
            yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scrapes", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="of each part of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the source tree of the bookie")
    options = parser.parse_args(arguments)
    ways = _WAYS[:-1] if missing() else _WAYS
    found: dict[str, list[list[float]]] = {way: [] for way in ways}
    spent: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bookie = start_ours(Path(folder, "bookie"), {"httpServerHost": "127.0.0.1"}, tree=options.tree)
        stack.callback(bookie.kill)
        adder = _Adder(bookie.port)
        adder.add_for(2)  # every summary of the bookie has its values
        for _ in range(options.rounds):
            for way in ways:
                with _beside(way, bookie):
                    before = bookie.cpu_seconds()
                    found[way].append(adder.add_for(options.seconds))
                    spent[way].append(1000 * (bookie.cpu_seconds() - before) / len(found[way][-1]))
    figures = {way: _figures(rounds, options.seconds) for way, rounds in found.items()}
    for way, each in spent.items():
        figures[way]["cpu_ms_an_add"] = round(median(each), 4)
    print(json.dumps(figures, indent=2))
    return 0


def _figures(rounds: Sequence[Sequence[float]], seconds: float) -> dict[str, float]:
    """The median of the rounds."""
    return {
        "rate": round(median(len(each) / seconds for each in rounds), 1),
        "p50_ms": round(median(median(each) for each in rounds), 3),
        "p99_ms": round(median(quantiles(each, n=100)[98] for each in rounds), 3),
    }
