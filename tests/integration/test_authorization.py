"""Bookies with rules, and clients with certificates, on threads, sockets and files."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import attrs
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.authorization.rules_authorizer import READ_AGAIN
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs
from bookkeeper_twisted.errors import BookKeeperError, ConfigError, UnauthorizedAccessError

from ..security.certificates import Folder, authority, issued
from .test_tls import HOST, tls_keys

RULES = """\
allow role:writers write,read,fence,write_lac,force,info
allow spiffe://cluster/reader read custom:application=pulsar
deny cn:audit read ledgers=0
allow cn:audit read
"""


class ClusterTests(TestCase):
    """Three bookies that require certificates, a writer, a reader of some ledgers, and an auditor."""

    def setUp(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="rules-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.rules, self.audit = Path(self.directory, "rules"), Path(self.directory, "audit.log")
        self.rules.write_text(RULES)
        self.services: list[Any] = []

    async def start(self, **more: Any) -> str:
        """Start the bookies; return the URI of their metadata."""
        folder = Folder(Path(self.directory, "b"))
        folder.put_pair(issued("a bookie", authority(), (HOST,)), authority())
        plain = BookieConfig(
            bookie_port=0, listening_interface=HOST, journal_pre_alloc_size_mb=1, authorizer_class="rules",
            authorization_rules=str(self.rules), audit_log_file=str(self.audit),
            **tls_keys(folder, tls_required=True), **more,
        )  # fmt: skip
        configs = standalone_configs(plain, 3, self.directory)
        for config in configs:
            service: Any = make_bookie(reactor, attrs.evolve(config, auto_recovery_daemon_enabled=False))
            self.addCleanup(service.stop)
            await service.start()
            self.services.append(service)
        return configs[0].metadata_service_uri

    async def connect(self, uri: str, name: str, wire: str = "auto", **more: Any) -> BookKeeper:
        """Connect a client with a certificate."""
        folder = Folder(Path(self.directory, name + wire))
        folder.put_pair(issued(name, authority(), **more), authority())
        client = await BookKeeper.connect(reactor, uri, ClientConfig(wire_protocol=wire, **tls_keys(folder)))
        self.addCleanup(client.close)
        return client

    async def refused(self, work: "Deferred[Any]") -> None:
        """See that some work fails because it is not allowed."""
        with self.assertRaises(BookKeeperError) as refused:
            await work
        texts = f"{refused.exception!r} {refused.exception} {refused.exception.__cause__!r}"
        self.assertRegex(texts, f"unauthorized access|{UnauthorizedAccessError.__name__}")

    async def test_roles(self) -> None:
        """Each does what it may and no more, in both protocols; new rules hold on open connections."""
        uri = await self.start()
        writer_client = await self.connect(uri, "a writer", units=["0:writers"])
        other = await writer_client.create_ledger(3, 2, 2)
        writer = await writer_client.create_ledger(3, 2, 2, custom_metadata={"application": b"pulsar"})
        for each in (other, writer):
            await each.append_many([b"%d" % i for i in range(20)])
            await each.close()
        for wire in ("v2", "v3"):
            reader = await self.connect(uri, "a reader", wire, uris=["spiffe://cluster/reader"])
            opened = await reader.open_ledger(writer.ledger_id)
            self.assertEqual(len(await opened.read(0, 19)), 20)
            await self.refused((await reader.open_ledger(other.ledger_id)).read(0, 19))
            stranger = await self.connect(uri, "a stranger", wire)
            await self.refused((await stranger.open_ledger(writer.ledger_id)).read(0, 0))
            refused_writer = await stranger.create_ledger(3, 2, 2)
            await self.refused(refused_writer.append(b"entry"))
        lines = [json.loads(line) for line in self.audit.read_text().splitlines()]
        self.assertEqual({line["result"] for line in lines}, {"refused"})
        self.assertIn("CN=a stranger", {line["principal"] for line in lines})
        self.rules.write_text("allow * read\n")
        await deferLater(reactor, READ_AGAIN + 1)  # type: ignore[arg-type]
        self.assertEqual(len(await (await reader.open_ledger(other.ledger_id)).read(0, 19)), 20)
        late = await writer_client.create_ledger(3, 2, 2)
        await self.refused(late.append(b"entry"))

    async def test_recovery(self) -> None:
        """Who may fence recovers a ledger, and that is in the audit log; who may only read cannot."""
        uri = await self.start()
        client = await self.connect(uri, "a writer", units=["0:writers"])
        abandoned = await client.create_ledger(3, 2, 2)
        await abandoned.append(b"entry")
        auditor = await self.connect(uri, "audit")
        await self.refused(auditor.open_ledger(abandoned.ledger_id))
        successor = await self.connect(uri, "another", units=["0:writers"])
        reader = await successor.open_ledger(abandoned.ledger_id)
        self.assertEqual([each.data for each in await reader.read(0, 0)], [b"entry"])
        for service in self.services:
            await service.stop()
        found = {
            (line["principal"], line["action"], line["ledger"], line["result"])
            for line in map(json.loads, self.audit.read_text().splitlines())
        }
        self.assertIn(("CN=another,OU=0:writers", "fence", abandoned.ledger_id, "allowed"), found)
        self.assertIn(("CN=audit", "fence", abandoned.ledger_id, "refused"), found)

    async def test_mistakes(self) -> None:
        """Bookies whose rules or audit log cannot be used do not start."""
        self.rules.write_text("permit everybody\n")
        with self.assertRaises(ConfigError) as refused:
            await self.start()
        self.assertIn("line 1: 'permit'", str(refused.exception))
        self.rules.write_text(RULES)
        self.audit.mkdir()
        with self.assertRaises(ConfigError) as refused:
            await self.start()
        self.assertIn("auditLogFile", str(refused.exception))
