"""Who a bookie is, and whether its directories agree."""

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.identity import (
    CookieCheck,
    advertised_host,
    bookie_id,
    expected_cookie,
    listening_address,
    service_info,
)
from bookkeeper_twisted.bookie.lifecycle.settings import store_paths
from bookkeeper_twisted.codec.metadata_formats.cookie import Cookie
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import ConfigError, IncorrectParameterError, InvalidCookieError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore

from ...simulated_disk.sim_disk import SimDisk


def config(**more: Any) -> BookieConfig:
    return BookieConfig(**{"journal_directories": ("/j",), "ledger_directories": ("/a", "/b"), **more})


class NameTests(SynchronousTestCase):
    """Addresses and ids."""

    def test_id(self) -> None:
        """The configured id, else the advertised address, else the local one, with the port."""
        self.assertEqual(bookie_id(config(bookie_id="me"), "host", 1), "me")
        self.assertEqual(bookie_id(config(advertised_address="pub"), "host", 1), "pub:1")
        self.assertEqual(bookie_id(config(listening_interface="10.0.0.1"), "host", 1), "10.0.0.1:1")
        self.assertEqual(bookie_id(config(), "host", 1), "host:1")
        self.assertRaises(IncorrectParameterError, bookie_id, config(advertised_address="a b"), "host", 1)

    def test_loopback(self) -> None:
        """An address that others would look for on themselves needs a word of allowance."""
        for host in ("127.0.0.1", "localhost", "::1"):
            self.assertRaises(ConfigError, advertised_host, config(), host)
            self.assertEqual(advertised_host(config(allow_loopback=True), host), host)
            for named in ({"advertised_address": host}, {"advertised_address": host, "bookie_id": "me"}):
                self.assertRaises(ConfigError, bookie_id, config(**named), "x", 1)

    def test_interface(self) -> None:
        """What to bind is an address."""
        self.assertEqual(
            [listening_address(config(listening_interface=a)) for a in ("", "::1", "1.2.3.4")], ["", "::1", "1.2.3.4"]
        )
        self.assertRaises(ConfigError, listening_address, config(listening_interface="eth0"))

    def test_service_info(self) -> None:
        """Clients find the bookie's endpoint, and the HTTP server's if there is one."""
        info = service_info(config(advertised_address="pub"), "host", 3181, None)
        self.assertEqual([(e.protocol, e.host, e.port) for e in info.endpoints], [("bookie-rpc", "pub", 3181)])
        info = service_info(config(), "host", 3181, 8080)
        self.assertEqual([(e.protocol, e.port) for e in info.endpoints], [("bookie-rpc", 3181), ("http", 8080)])

    def test_expected_cookie(self) -> None:
        """The cookie names id, cluster and directories; index directories only where they are others."""
        cookie = expected_cookie(config(), "me", "cluster")
        self.assertEqual(cookie, Cookie("me", "/j", ("/a", "/b"), None, "cluster"))
        indexed = expected_cookie(config(index_directories=("/x", "/y")), "me", "cluster")
        self.assertEqual(indexed.index_dirs, ("/x", "/y"))


class CookieCheckTests(SynchronousTestCase):
    """S6: starts that are allowed, and those that are not."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        store = MemoryStore()
        driver = store.driver(Clock())
        self.now(driver.open())
        self.addCleanup(lambda: self.now(driver.close()))
        self.registration = driver.registration
        self.config = config()

    def now(self, coroutine: Any) -> Any:
        return self.successResultOf(Deferred.fromCoroutine(coroutine))

    def start(self, instance_id: str = "cluster", own_id: str = "me", **more: Any) -> "Deferred[None]":
        """A start with some other configuration."""
        changed = attrs.evolve(self.config, **more)
        paths = store_paths(changed)
        paths.make(self.disk)
        check = CookieCheck(
            self.disk, paths, expected_cookie(changed, own_id, instance_id), changed.allow_storage_expansion
        )

        def in_thread(work: Callable[..., Any], *args: Any) -> "Deferred[Any]":
            return succeed(work(*args))

        async def run() -> None:
            if await check.must_stamp(self.registration, in_thread):
                await check.stamp(self.registration, in_thread)

        return Deferred.fromCoroutine(run())

    def started(self, **more: Any) -> None:
        self.successResultOf(self.start(**more))

    def refused(self, words: str, **more: Any) -> None:
        failure = self.failureResultOf(self.start(**more), InvalidCookieError)
        self.assertIn(words, failure.getErrorMessage())

    def write(self, path: str, data: bytes) -> None:
        if self.disk.exists(path):
            self.disk.unlink(path)
        file = self.disk.open(path, create=True)
        file.pwrite(data, 0)
        file.close()

    def test_new_bookie(self) -> None:
        """A new bookie stamps its directories and the store with the same bytes, and starts again on them."""
        self.started()
        stored = self.now(self.registration.read_cookie("me")).value
        for directory in ("/j", "/a", "/b"):
            file = self.disk.open(f"{directory}/current/IDENTITY")
            self.assertEqual(file.pread(1000, 0), stored)
            file.close()
        self.started()

    def test_missing_in_one(self) -> None:
        """A directory without its cookie has lost its data, and is named."""
        self.started()
        self.disk.unlink("/b/current/IDENTITY")
        self.refused("/b")

    def test_missing_in_all(self) -> None:
        """Empty directories under a known identity are data loss, never a fresh start."""
        self.started()
        for directory in ("/j", "/a", "/b"):
            self.disk.unlink(f"{directory}/current/IDENTITY")
        self.refused("/j")

    def test_missing_in_the_store(self) -> None:
        """Directories with data whose identity is not registered belong elsewhere."""
        self.started()
        self.write("/a/current/0.log", b"data")
        self.now(self.registration.remove_cookie("me", self.now(self.registration.read_cookie("me")).version))
        self.refused("metadata store")

    def test_other_cluster(self) -> None:
        """Another instance id is another cluster."""
        self.started()
        self.refused("instance id", instance_id="other")
        self.refused("metadataServiceUri has to name the cluster", instance_id="other")

    def test_other_bookie(self) -> None:
        """Directories of another bookie are not served; the refusal names keys, verbs and the page that help."""
        self.started()
        self.refused(
            "bookie id 'me', expected 'other': bookieId=me starts the bookie that is stored here; where its address or "
            "host name has changed for good, the shell's updatecookie -bookieId hostname|ip gives it the new id, and "
            "updateBookieInLedger puts that into the metadata of its ledgers (docs/running.rst, Identity)",
            own_id="other",
        )
        self.refused("bookie id", own_id="other")

    def test_other_directories(self) -> None:
        """Directories that moved, or changed places, are refused."""
        self.started()
        self.refused("ledger directories", ledger_directories=("/b", "/a"), index_directories=("/b", "/a"))
        self.refused("allowStorageExpansion=true", ledger_directories=("/b", "/a"), index_directories=("/b", "/a"))

    def test_corrupt(self) -> None:
        """A cookie that cannot be read is named."""
        self.started()
        self.write("/a/current/IDENTITY", b"junk")
        self.refused("/a/current/IDENTITY")

    def test_expansion(self) -> None:
        """A new empty directory joins if that is allowed."""
        self.started()
        more = ("/a", "/b", "/c")
        self.refused("ledger directories", ledger_directories=more, index_directories=more)
        self.started(ledger_directories=more, index_directories=more, allow_storage_expansion=True)
        self.started(ledger_directories=more, index_directories=more)
