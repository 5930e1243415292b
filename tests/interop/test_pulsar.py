"""The metadata drivers of Pulsar and ours on one ZooKeeper, with the same form of the URI."""

from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from benchmarks.shared.java import PULSAR
from benchmarks.shared.zookeeper import shared_zookeeper
from bookkeeper_twisted.metadata.drivers import create_driver
from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.metadata.zookeeper.kazoo_client import KazooZooKeeper
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import OPEN

from .java_client import JavaClient

_OPTIONS = MetadataOptions(session_timeout=2.0)


def _standing(driver: Any, name: str) -> "Deferred[None]":
    """Stand for the office; the result fires when it is won."""
    won: Deferred[None] = Deferred()

    def heard(elected: bool) -> None:
        if elected and not won.called:
            won.callback(None)

    driver.auditing.stand(name, heard)
    return won


class PulsarTests(TestCase):
    """A cluster that Pulsar's driver made."""

    timeout = 300  # the first test may fetch the jars

    async def setUp(self) -> None:  # type: ignore[override]
        server = shared_zookeeper()
        await self._make_chroot(server.uri(), server.new_root())
        self.java = self._java()
        self.assertTrue((await self.java.call("initialize"))["made"])
        self.ours = await self._open(self.uri)

    async def _make_chroot(self, uri: str, chroot: str) -> None:
        """Make the node below which Pulsar's driver sees everything, and what the URI of the cluster is."""
        self.root_uri = uri.replace("/ledgers", f"{chroot}/ledgers")
        hosts = uri.partition("://")[2].partition("/")[0]
        self.uri = f"metadata-store:zk:{hosts}{chroot}"
        zookeeper = KazooZooKeeper(reactor, hosts, _OPTIONS)
        connected: Deferred[None] = Deferred()
        zookeeper.connect(lambda state: None if connected.called else connected.callback(None))
        await connected
        await zookeeper.create(NewNode(chroot))
        await zookeeper.close()

    def _java(self) -> JavaClient:
        java = JavaClient(self.uri, Path(self.mktemp()), "PulsarDriver", PULSAR)
        self.addCleanup(java.stop)
        return java

    async def _open(self, uri: str) -> Any:
        driver = create_driver(reactor, uri, _OPTIONS)
        await driver.open()
        self.addCleanup(lambda: Deferred.fromCoroutine(driver.close()))
        return driver

    async def test_ledgers(self) -> None:
        """Ids are drawn from one place, and each side reads the ledger that the other has created."""
        theirs = (await self.java.call("create", bookie="10.0.0.1:3181"))["ledger"]
        ours = await self.ours.ledgers.generate_id()
        self.assertEqual(ours, theirs + 1)
        await self.ours.ledgers.create(ours, OPEN)
        metadata = (await self.ours.ledgers.read(theirs)).value
        self.assertEqual((metadata.segments[0].bookies, metadata.password), (("10.0.0.1:3181",), b"secret"))
        answer = await self.java.call("read", ledger=ours)
        self.assertEqual(answer, {"bookies": list(OPEN.segments[0].bookies), "password": OPEN.password.decode()})
        self.assertEqual([ledger async for ledger in self.ours.ledgers.ledger_ids()], [theirs, ours])

    async def test_bookies(self) -> None:
        """A bookie of ours is registered beside one of theirs."""
        info = BookieServiceInfo((Endpoint("bookie", "10.0.0.7", 3181, "bookie-rpc"),))
        await self.ours.registration.register_bookie("ours:3181", False, info)
        await self.java.call("register", bookie="theirs:3181")
        self.assertEqual(await self.ours.registration.writable_bookies(), {"ours:3181", "theirs:3181"})
        self.assertEqual((await self.ours.registration.service_info("theirs:3181")).endpoints[0].host, "10.0.0.9")

    async def test_marks(self) -> None:
        """Marks, locks and the switch of autorecovery are shared: what one side has locked the other leaves alone."""
        await self.java.call("mark", ledger=1, bookie="lost:3181")
        await self.ours.underreplication.mark(2, ["lost:3181"])
        self.assertEqual((await self.java.call("marks"))["ledgers"], [1, 2])
        self.assertEqual((await self.ours.underreplication.read_mark(1)).value.replicas, ("lost:3181",))
        await self.ours.underreplication.lock(1, "here")
        self.assertEqual((await self.java.call("poll"))["ledger"], 2)
        self.assertEqual(list(await self.ours.underreplication.locked_ledgers()), [1, 2])
        await self.ours.underreplication.set_enabled(False)
        self.assertFalse((await self.java.call("switch"))["enabled"])

    async def test_one_auditor(self) -> None:
        """Of candidates of both sides one is elected; the other side's follows when it withdraws or is killed."""
        await _standing(self.ours, "ours:3181")
        await self.java.call("stand", bookie="theirs:3181")
        self.assertEqual(await self.java.call("auditor"), {"bookie": "ours:3181", "elected": False})
        await self.ours.auditing.withdraw()
        await self.java.call("elected")
        self.assertEqual(await self.ours.auditing.auditor(), "theirs:3181")
        again = _standing(self.ours, "ours:3181")
        self.assertEqual(await self.ours.auditing.auditor(), "theirs:3181")
        self.assertFalse(again.called)
        self.java.stop()
        await again
        self.assertEqual(await self.ours.auditing.auditor(), "ours:3181")

    async def test_other_form(self) -> None:
        """A candidate of ours with the ``zk:`` form leaves the office to theirs, and has it after them."""
        await self.java.call("stand", bookie="theirs:3181")
        await self.java.call("elected")
        voter = await self._open(self.root_uri)
        won = _standing(voter, "voter:3181")
        self.assertEqual(await voter.auditing.auditor(), "theirs:3181")
        self.assertFalse(won.called)
        self.java.stop()
        await won
