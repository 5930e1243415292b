"""A ledger's writer and the plain way to write a client: a Deferred and a write for each entry.

Both append 100 bytes at a time, a thousand on their way, to one bookie that confirms everything
(:mod:`..pool.answering`), over a connection of their own.
"""

import gc
import struct
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.interfaces import ITransport
from twisted.internet.protocol import Protocol

from bookkeeper_twisted.client import LedgerWriter
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.codec.v2.layout import IDS_REPLY
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.model import DigestType

from ..pool.pool_loads import answering, client_of

GROUP = 1000
_HEADER = struct.Struct(">qqqq")
_PAYLOAD = bytes(100)
_GROUPS = 20
_STEADY = 200_000
_WARM = 20

Append = Callable[[], Awaitable[object]]


class PlainClient(Protocol):
    """Seals, writes and waits entry by entry; replies come in order."""

    transport: ITransport

    def __init__(self) -> None:
        self._digester = Digester(DigestType.CRC32C, b"")
        self._waiting: deque[tuple[int, Deferred[int]]] = deque()
        self._entries = 0
        self._rest = b""

    def append(self, data: bytes) -> "Deferred[int]":
        """Sends one entry; fires with its id."""
        digester, entry_id = self._digester, self._entries
        self._entries += 1
        waiter: Deferred[int] = Deferred()
        self._waiting.append((entry_id, waiter))
        header = _HEADER.pack(1, entry_id, -1, (entry_id + 1) * len(data))
        entry = EntryRun.of_entries(1, entry_id, (header + digester.digest(header + data) + data,))
        self.transport.write(requests_out.encode_adds(digester.master_key, entry))
        return waiter

    def dataReceived(self, data: bytes) -> None:
        data = self._rest + data
        end = len(data) - len(data) % IDS_REPLY.size
        for _ in range(0, end, IDS_REPLY.size):
            entry_id, waiter = self._waiting.popleft()
            waiter.callback(entry_id)
        self._rest = data[end:]


async def _cpu(append: Append) -> float:
    """CPU seconds of some groups."""
    gc.collect()
    start = time.process_time()
    for _ in range(_GROUPS):
        await append()
    return time.process_time() - start


async def _steady(writer: LedgerWriter) -> tuple[int, int]:
    """Gen-0 collections during many entries, and blocks that are left behind by them."""
    group = [_PAYLOAD] * GROUP
    for _ in range(_WARM):
        await writer.append_many(group)
    gc.collect()
    before, collections = sys.getallocatedblocks(), gc.get_stats()[0]["collections"]
    for _ in range(_STEADY // GROUP):
        await writer.append_many(group)
    collections = gc.get_stats()[0]["collections"] - collections
    gc.collect()  # as before: it empties the interpreter's lists of free objects
    return collections, sys.getallocatedblocks() - before


async def _measure(reactor: Any, bookie_id: str, rounds: int) -> tuple[float, int, int]:
    host, port = bookie_id.split(":")
    plain: PlainClient = await connectProtocol(TCP4ClientEndpoint(reactor, host, int(port)), PlainClient())
    async with client_of(reactor, bookie_id, 2) as client:
        writer = await client.create_ledger(1, 1, 1)
        group = [_PAYLOAD] * GROUP

        def one_by_one() -> "Deferred[int]":
            waiters = [plain.append(data) for data in group]
            return waiters[-1]

        ways: tuple[Append, ...] = (lambda: writer.append_many(group), one_by_one)
        costs = [[await _cpu(way) for way in ways] for _ in range(rounds)]
        ours, theirs = (min(column) for column in zip(*costs, strict=True))
        collections, blocks = await _steady(writer)
        await writer.close()
    plain.transport.loseConnection()
    return ours / theirs, collections, blocks


def writer_rows(rounds: int) -> Iterator[tuple[str, float, float]]:
    """Name, bar from above, figure."""
    reactor: Any = EPollReactor()
    results: list[tuple[float, int, int]] = []

    async def measure(bookie_id: str) -> None:
        try:
            results.append(await _measure(reactor, bookie_id, rounds))
        finally:
            reactor.stop()

    with answering() as bookie_id:
        reactor.callWhenRunning(lambda: Deferred.fromCoroutine(measure(bookie_id)))
        reactor.run(installSignalHandlers=False)
    ((ratio, collections, blocks),) = results
    yield "append_many / a Deferred and a write for each entry", 0.25, ratio
    yield f"append_many: gen-0 collections in {_STEADY} entries", 0, collections
    yield f"append_many: blocks left by {_STEADY} entries", 50, blocks
