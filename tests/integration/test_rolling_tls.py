"""A live cluster is moved from clear text to TLS with certificates of both sides, bookie by bookie."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import attrs
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper, LedgerWriter
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs

from ..security.certificates import Folder, authority, issued
from .test_tls import HOST, tls_keys


class _Load:
    """Appends to one ledger, twenty at a time, until it is stopped.

    :ivar acknowledged: ids so far.
    """

    def __init__(self, writer: LedgerWriter) -> None:
        self.writer = writer
        self.acknowledged: list[int] = []
        self._stopped = False
        self._running = Deferred.fromCoroutine(self._run())

    async def _run(self) -> None:
        while not self._stopped:
            first, last = await self.writer.append_many([bytes(100)] * 20)
            self.acknowledged += range(first, last + 1)

    async def grows(self) -> None:
        """Waits until later appends were acknowledged."""
        goal = len(self.acknowledged) + 200
        while len(self.acknowledged) < goal:
            await self.writer.append(b"one more")
            self.acknowledged.append(-1)
        self.acknowledged = [each for each in self.acknowledged if each >= 0]

    async def stop(self) -> int:
        """Ends the appends, and closes the ledger; returns its last id."""
        self._stopped = True
        await self._running
        await self.writer.close()
        return self.writer.last_add_confirmed


class RollingChangeTests(TestCase):
    """Three bookies, of which one is restarted at a time."""

    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        directory = tempfile.mkdtemp(prefix="rolling-")
        self.addCleanup(shutil.rmtree, directory)
        self.bookies, self.clients = Folder(Path(directory, "b")), Folder(Path(directory, "c"))
        self.bookies.put_pair(issued("a bookie", authority(), (HOST,)), authority())
        self.clients.put_pair(issued("a client", authority()), authority())
        plain = BookieConfig(bookie_port=0, listening_interface=HOST, journal_pre_alloc_size_mb=1)
        configs = standalone_configs(plain, 3, directory)
        self.uri = configs[0].metadata_service_uri
        self.configs: list[BookieConfig] = []
        self.services: list[Any] = []
        self.addCleanup(self.stop)
        for config in configs:
            self.configs.append(attrs.evolve(config, auto_recovery_daemon_enabled=False))
            self.services.append(await self.started(self.configs[-1]))

    async def started(self, config: BookieConfig) -> Any:
        service = make_bookie(reactor, config)
        await service.start()
        return service

    async def stop(self) -> None:
        for service in self.services:
            await service.stop()

    async def restart(self, index: int, **keys: Any) -> None:
        await self.services[index].stop()
        self.configs[index] = attrs.evolve(self.configs[index], **keys)
        self.services[index] = await self.started(self.configs[index])

    async def load(self, **keys: Any) -> tuple[BookKeeper, _Load]:
        config = ClientConfig(delay_ensemble_change=True, wait_for_bookies_sec=30.0, **keys)
        client = await BookKeeper.connect(reactor, self.uri, config)
        self.addCleanup(client.close)
        return client, _Load(await client.create_ledger(3, 3, 2))

    async def test_to_mutual_tls(self) -> None:
        """No append fails, and everything that was acknowledged is read back over TLS."""
        clear, before = await self.load()
        for index in range(3):
            await self.restart(index, **tls_keys(self.bookies, tls_client_authentication=False))
            await before.grows()
        secured, after = await self.load(**tls_keys(self.clients))
        await after.grows()
        ledgers = {before.writer.ledger_id: await before.stop()}
        await clear.close()
        for index in range(3):
            await self.restart(index, **tls_keys(self.bookies, tls_required=True))
            await after.grows()
        ledgers[after.writer.ledger_id] = await after.stop()
        for load in (before, after):
            last = ledgers[load.writer.ledger_id]
            self.assertLessEqual(max(load.acknowledged), last)
            reader = await secured.open_ledger(load.writer.ledger_id)
            self.assertEqual(len(await reader.read(0, last)), last + 1)
        principals = {peer.principal.name for service in self.services for peer in service.engine.factory.peers}
        self.assertEqual(principals, {"CN=a client"})
