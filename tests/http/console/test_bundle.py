"""The debug bundle."""

import json
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import Logger

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.http.console import bundle
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.masking import MASK
from bookkeeper_twisted.metrics import JournalGroup
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from ..http_case import HttpCase


class BundleTests(HttpCase):
    """One archive, without secrets."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1000)
        config = BookieConfig(
            zk_auth="digest:user:sesame", metadata_service_uri="zk://u:sesame@h/l",
            http_server_key_store_password="sesame",
        )  # fmt: skip
        self.admin = FakeBookieAdmin(values=config.shown())
        self.site = make_site(self.admin, self.clock)
        self.site.doStart()
        self.addCleanup(self.site.doStop)

    def members(self) -> dict[str, str]:
        """The members of the bundle, by name."""
        channel, transport = self.site.buildProtocol(None), StringTransport()
        channel.makeConnection(transport)
        channel.dataReceived(b"GET /api/v1/console/bundle HTTP/1.0\r\n\r\n")
        self.clock.pump([0.0] * 60)
        head, _, body = transport.value().partition(b"\r\n\r\n")
        self.assertIn(b"Content-Type: application/zip\r\n", head)
        self.size = len(body)
        with ZipFile(BytesIO(body)) as archive:
            return {name: archive.read(name).decode() for name in archive.namelist()}

    def test_members(self) -> None:
        """It has configuration, versions, threads, metrics, events, log lines, and what the console shows."""
        log = Logger("bookkeeper_twisted.bookie.lifecycle.registration")
        log.info("the bookie is read-only now: {reason}", reason="x")
        self.admin.groups[0].append(JournalGroup(1.0, 1, 1, 0.0, 0.0, 0.0))
        found = self.members()
        parsed: dict[str, Any] = {name: json.loads(text) for name, text in found.items() if name.endswith(".json")}
        self.assertEqual(parsed["configuration.json"]["bookiePort"], "3181")
        self.assertIn("Twisted", parsed["versions.json"])
        self.assertEqual(parsed["process.json"]["uptime"], 0)
        self.assertIn("test_bundle.py", str(parsed["process.json"]["threads"]))
        self.assertEqual(len(parsed["console.json"]["journals"][0]["records"]), 1)
        self.assertIn("bookie_WRITE_BYTES 3", found["metrics.txt"])
        self.assertEqual(parsed["events.json"][0][3], "the bookie is read-only now: x")
        self.assertIn("the bookie is read-only now: x", found["log.jsonl"])

    def test_secrets(self) -> None:
        """Planted secrets are in none of its members; their places show a mask."""
        log = Logger("bookkeeper_twisted.metadata")
        log.warn("cannot reach {uri}", uri="zk://user:sesame@host/l", password="sesame")
        self.admin.other_reasons = ("zk://user:sesame@host/l is gone",)
        found = self.members()
        for name, text in found.items():
            self.assertNotIn("sesame", text, name)
        for name in ("configuration.json", "console.json", "events.json", "log.jsonl"):
            self.assertIn(MASK, found[name], name)

    def test_bounded(self) -> None:
        """Its contents have a bounded size, also if there are many metrics."""
        self.admin.exposition = b"x" * (bundle.MOST_BYTES + 1000)
        found = self.members()
        self.assertLessEqual(sum(map(len, found.values())), bundle.MOST_BYTES)
        self.assertLess(self.size, bundle.MOST_BYTES)
