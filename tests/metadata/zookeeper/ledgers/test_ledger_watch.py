"""Watches of one ledger."""

from typing import Any

from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.zookeeper.interfaces import Watch
from bookkeeper_twisted.metadata.zookeeper.ledgers.ledgers import LedgerWatch
from bookkeeper_twisted.model import LedgerMetadata
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import CLOSED, OPEN

from ..rig import ZooKeeperCase


class LedgerWatchTests(ZooKeeperCase):
    """:class:`LedgerWatch`."""

    def setUp(self) -> None:
        super().setUp()
        self.driver, self.connection = self.opened()
        self.other, _ = self.opened()
        self.run_(self.other.ledgers.create(1, OPEN))
        self.told: list[Any] = []

    def test_break(self) -> None:
        """A change during a break is told after it; what was told is not told again."""
        self.driver.ledgers.watch(1, self.told.append)
        self.connection.suspend()
        self.connection.resume()
        self.clock.advance(0.2)
        self.assertEqual(self.told, [Versioned(OPEN, 0)])
        self.connection.suspend()
        self.run_(self.other.ledgers.write(1, CLOSED, 0))
        self.connection.resume()
        self.clock.advance(0.2)
        self.assertEqual(self.told[1:], [Versioned(CLOSED, 1)])

    def test_deletion_during_expiry(self) -> None:
        """A ledger that is gone when a new session begins is told as gone."""
        self.driver.ledgers.watch(1, self.told.append)
        self.connection.expire()
        self.run_(self.other.ledgers.remove(1))
        self.connection.resume()
        self.clock.advance(0.2)
        self.assertEqual(self.told[1:], [None])

    def test_ended(self) -> None:
        """An ended watch tells nothing, and can be ended again."""
        end = self.driver.ledgers.watch(1, self.told.append)
        end()
        end()
        self.run_(self.other.ledgers.write(1, CLOSED, 0))
        self.assertEqual(len(self.told), 1)

    def test_older_value(self) -> None:
        """The value of a server that lags behind the one before is not told after the newer one."""
        session = self.store.session(self.clock)
        self.run_(session.open())
        versions = iter((1, 0, 1, 2))
        watches: list[Watch] = []

        async def read(ledger_id: int, watch: Watch) -> Versioned[LedgerMetadata]:
            watches.append(watch)
            return Versioned(OPEN, next(versions))

        watch = LedgerWatch(session, 1, read, self.told.append, lambda ended: None)
        watch.start()
        for _ in range(3):
            watches[-1](True)
        watch.stop()
        self.assertEqual([stored.version for stored in self.told], [1, 2])

    def test_unreadable(self) -> None:
        """What cannot be read is not told; what follows it is."""
        self.driver.ledgers.watch(1, self.told.append)
        self.server.set("/ledgers/00/0000/L0001", b"garbage", -1)
        self.clock.advance(0.2)
        self.run_(self.other.ledgers.remove(1))
        for _ in range(4):
            self.clock.advance(0.2)
        self.assertEqual(self.told[1:], [None])
