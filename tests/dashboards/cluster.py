"""Three bookies with autorecovery on the real world, under a load that reaches every part of them."""

import os
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import LogEvent, globalLogPublisher
from twisted.python.failure import Failure

from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.embedding.autorecovery import make_daemon

from .selectors import Sample, samples

_ENTRY = bytes(1000)
_LOG = 60_000
"""Bytes of an entry log: a ledger of a hundred entries fills more than one."""


class _Page(Protocol):
    """The answer to a request."""

    def __init__(self) -> None:
        self.received = b""
        self.ended: Deferred[bytes] = Deferred()

    def connectionMade(self) -> None:
        assert self.transport is not None
        self.transport.write(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.ended.callback(self.received)


@attrs.define
class LoadedCluster:
    """The cluster; its first bookie has autorecovery in its process.

    :ivar bookies: those that serve.
    """

    _reactor: Any
    directory: Path
    bookies: list[BookieService] = attrs.field(factory=list)
    _exits: AsyncExitStack = attrs.field(factory=AsyncExitStack)
    _client: Any = None

    async def start(self) -> None:
        """Starts all bookies, and a client."""
        self._exits.callback(shutil.rmtree, self.directory)
        plain = BookieConfig(
            bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1, log_size_limit=_LOG,
            http_server_port=0, min_usable_size_for_entry_log_creation=_LOG,
        )  # fmt: skip
        for config in standalone_configs(plain, 3, str(self.directory)):
            bookie = make_bookie(self._reactor, attrs.evolve(config, http_server_enabled=True))
            await bookie.start()
            self.bookies.append(bookie)
            self._exits.push_async_callback(bookie.stop)
        first, uri = self.bookies[0], config.metadata_service_uri
        daemon = make_daemon(
            self._reactor, first.config, ClientConfig(), lambda: first.bookie_id, first.instruments,
            first.admin.limit_replication,
        )  # fmt: skip
        await daemon.start()
        self._exits.push_async_callback(daemon.stop)
        self._client = await BookKeeper.connect(self._reactor, uri, ClientConfig(batch_read_enabled=False))
        self._exits.push_async_callback(self._client.close)

    async def stop(self) -> None:
        """Stops all."""
        await self._exits.aclose()

    async def load(self) -> None:
        """Writes, reads, deletes, collects and compacts; then one bookie is lost, and its replicas are copied."""
        kept, dropped = (await self._write(6))[::3], await self._write(2)
        await self._checkpoint()
        await self._read(kept)
        async for ledger_id in self._client.list_ledgers():
            if ledger_id not in kept or ledger_id in dropped:
                await self._client.delete_ledger(ledger_id)
        for bookie in self.bookies:
            assert bookie.maintenance is not None
            await bookie.maintenance.collector.force(major=False)  # a forced major compaction replaces the minor one
            await bookie.maintenance.collector.force()
        await self._lose(kept[0])
        await self._read(kept)

    async def _write(self, count: int) -> list[int]:
        """Writes some ledgers at once, so that their entries share entry logs; returns their ids."""
        writers = [await self._client.create_ledger(2, 2, 2) for _ in range(count)]
        for _ in range(10):
            await gatherResults([writer.append_many([_ENTRY] * 10) for writer in writers])
        for writer in writers:
            await writer.close()
        return [writer.ledger_id for writer in writers]

    async def _checkpoint(self) -> None:
        """Writes everything to entry logs, and takes these out of the page cache: reads have to wait for the disk."""
        for bookie in self.bookies:
            assert bookie.engine is not None
            await bookie.engine.checkpointer.checkpoint_all()
        for path in self.directory.rglob("*.log"):
            with path.open("rb") as log:
                os.posix_fadvise(log.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    async def _read(self, ledger_ids: Sequence[int]) -> None:
        for ledger_id in ledger_ids:
            async with await self._client.open_ledger(ledger_id) as reader:
                await reader.read(0, reader.last_add_confirmed)

    async def _lose(self, ledger_id: int) -> None:
        """Stops a bookie that has a ledger, and waits until others have all of this and the auditor has said so."""
        metadata = await self._client.ledger_metadata(ledger_id)
        lost = next(bookie for bookie in self.bookies[1:] if bookie.bookie_id in metadata.bookies)
        self.bookies.remove(lost)
        copied, audited = Deferred[None](), Deferred[None]()

        def changed(stored: Any) -> None:
            if lost.bookie_id not in stored.value.bookies and not copied.called:
                copied.callback(None)

        def logged(event: LogEvent) -> None:
            if event.get("of_each") and not audited.called:
                audited.callback(None)

        globalLogPublisher.addObserver(logged)  # type: ignore[arg-type]
        end = self._client.metadata.ledgers.watch(ledger_id, changed)
        await lost.stop()
        await gatherResults([copied, audited])
        end()
        globalLogPublisher.removeObserver(logged)  # type: ignore[arg-type]

    async def scrape(self) -> dict[str, list[Sample]]:
        """What ``/metrics`` of each bookie that serves has, by the id of the bookie."""
        found = {}
        for bookie in self.bookies:
            endpoint = TCP4ClientEndpoint(self._reactor, "127.0.0.1", bookie.http_port)
            page: _Page = await connectProtocol(endpoint, _Page())
            head, _, body = (await page.ended).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.0 200 "):
                raise AssertionError(head.decode())
            found[bookie.bookie_id] = samples(body.decode())
        return found
