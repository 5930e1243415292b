"""A client as a service."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client import BookKeeper, BookKeeperService
from bookkeeper_twisted.errors import ClientClosedError, MetadataError
from bookkeeper_twisted.testing import MemoryCluster


class ServiceTests(SynchronousTestCase):
    """A service on a clock; connecting fails as often as told."""

    def setUp(self) -> None:
        """Makes the service."""
        self.clock = Clock()
        self.cluster = MemoryCluster(self.clock)
        self.errors: list[Exception] = []
        self.service = BookKeeperService(self.clock, "memory:", connect=self.connect, pause_after=lambda n: 10.0 * n)

    def connect(self) -> "Deferred[BookKeeper]":
        """A connection, or the next of the errors."""
        if self.errors:
            raise self.errors.pop(0)
        return self.cluster.connect()

    def turn(self) -> None:
        """What needs no time happens."""
        self.clock.pump([0] * 10)

    def client(self) -> BookKeeper:
        """The client, which is connected."""
        client: BookKeeper = self.successResultOf(self.service.when_connected())
        return client

    def test_life(self) -> None:
        """It connects when it starts and closes the client when it stops."""
        self.service.startService()
        waiting = self.service.when_connected()
        self.turn()
        client: Any = self.successResultOf(waiting)
        self.assertIs(self.client(), client)
        stopping = self.service.stopService()
        self.turn()
        self.successResultOf(stopping)
        self.failureResultOf(client.create_ledger(), ClientClosedError)
        self.failureResultOf(self.service.when_connected(), ClientClosedError)

    def test_again(self) -> None:
        """While the metadata store cannot be reached it tries again, after growing pauses."""
        self.errors = [MetadataError("away"), MetadataError("still away")]
        self.service.startService()
        waiting = self.service.when_connected()
        self.turn()
        self.clock.advance(10)
        self.turn()
        self.clock.advance(19)
        self.turn()
        self.assertNoResult(waiting)
        self.clock.advance(1)
        self.turn()
        self.assertIsInstance(self.successResultOf(waiting), BookKeeper)

    def test_stopped_while_connecting(self) -> None:
        """A stop ends the attempts, and waits for a client fail."""
        self.errors = [MetadataError("away")]
        self.service.startService()
        waiting, dropped = self.service.when_connected(), self.service.when_connected()
        dropped.addErrback(lambda _: None).cancel()
        self.successResultOf(self.service.stopService())
        self.failureResultOf(waiting, ClientClosedError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_hopeless(self) -> None:
        """An error that another attempt would not mend is passed on."""
        self.errors = [ValueError("no such policy")]
        self.service.startService()
        self.failureResultOf(self.service.when_connected(), ValueError)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_restart(self) -> None:
        """It can be started again."""
        for _ in range(2):
            self.service.startService()
            self.turn()
            self.client()
            stopping = self.service.stopService()
            self.turn()
            self.successResultOf(stopping)
