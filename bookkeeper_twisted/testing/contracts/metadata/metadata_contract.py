"""The complete test suite for metadata drivers; this module itself has the tests of watches."""

from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import TestCase

from ....errors import MetadataError
from .auditing_suite import AuditingSuite
from .metadata_suites import CLOSED, INFO, OPEN, Connect, LedgerSuite, MetadataSuite, RegistrationSuite
from .underreplication_suite import UnderreplicationSuite


class WatchSuite(MetadataSuite):
    """The tests of watches and of closing a driver."""

    async def test_bookies(self) -> None:
        """The listener of bookies is called with the registered bookies at first, and after a change by any driver."""
        one, two = await self.driver(), await self.driver()
        received: list[Any] = []
        one.registration.watch_bookies(lambda writable, read_only: received.append((writable, read_only)))
        self.assertEqual(await self.news(received), (set(), set()))
        await two.registration.register_bookie("a:1", False, INFO)
        self.assertEqual(await self.news(received), ({"a:1"}, set()))
        await one.registration.register_bookie("b:1", True, INFO)
        self.assertEqual(await self.news(received), ({"a:1"}, {"b:1"}))
        await two.close()
        self.assertEqual(await self.news(received), (set(), {"b:1"}))

    async def test_ledger(self) -> None:
        """The listener of a ledger is called with the metadata at first and after each change; None if deleted."""
        one, two = await self.driver(), await self.driver()
        created = await two.ledgers.create(1, OPEN)
        received: list[Any] = []
        one.ledgers.watch(1, received.append)
        self.assertEqual(await self.news(received), created)
        written = await two.ledgers.write(1, CLOSED, created.version)
        self.assertEqual(await self.news(received), written)
        await one.ledgers.write(1, CLOSED, written.version)
        self.assertEqual((await self.news(received)).version, written.version + 1)
        await two.ledgers.remove(1)
        self.assertIsNone(await self.news(received))

    async def test_watch_of_missing_ledger(self) -> None:
        """The listener of a ledger that does not exist is called with None."""
        received: list[Any] = []
        (await self.driver()).ledgers.watch(1, received.append)
        self.assertIsNone(await self.news(received))

    async def test_ended_watch(self) -> None:
        """The listener of an ended watch is not called any more; the listeners of other watches are called."""
        one, two = await self.driver(), await self.driver()
        ended: list[Any] = []
        received: list[Any] = []
        end = one.registration.watch_bookies(lambda *news: ended.append(news))
        one.registration.watch_bookies(lambda *news: received.append(news))
        await self.news(received)
        end()
        end()
        before = len(ended)
        await two.registration.register_bookie("a:1", False, INFO)
        self.assertEqual(await self.news(received), ({"a:1"}, set()))
        self.assertEqual(len(ended), before)

    async def test_failing_listener(self) -> None:
        """An exception that a listener raises is logged; other listeners are still called."""
        driver = await self.driver()
        received: list[Any] = []
        driver.registration.watch_bookies(lambda *news: 1 // 0)
        driver.registration.watch_bookies(lambda *news: received.append(news))
        await self.news(received)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    async def test_nobody_watches(self) -> None:
        """A driver without a watch does not poll the store."""
        driver = await self.driver()
        received: list[Any] = []
        end = driver.registration.watch_bookies(lambda *news: received.append(news))
        await self.news(received)
        end()
        # The driver completes its calls in order, so after this call all earlier calls have ended.
        await driver.registration.instance_id()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    async def test_close(self) -> None:
        """A closed driver does not poll the store, refuses every call, and may be closed again."""
        driver = await self.driver()
        driver.registration.watch_bookies(lambda *news: None)
        driver.ledgers.watch(1, lambda news: None)
        await driver.close()
        await driver.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        await self.raises(MetadataError, driver.registration.instance_id())
        await self.raises(MetadataError, driver.ledgers.create(1, OPEN))
        await self.raises(MetadataError, driver.open())
        with self.assertRaises(MetadataError):
            driver.registration.watch_bookies(lambda *news: None)

    async def test_before_open(self) -> None:
        """A driver that was not opened refuses calls, and can be closed."""
        driver = self.connect(self.clock)
        await self.raises(MetadataError, driver.registration.writable_bookies())
        await driver.close()

    async def test_data_outlives_drivers(self) -> None:
        """Ledgers and cookies stay in the store when the last driver is closed; registrations of bookies do not."""
        one = await self.driver()
        await one.ledgers.create(1, OPEN)
        await one.registration.write_cookie("a:1", b"c", None)
        await one.registration.register_bookie("a:1", False, INFO)
        await one.close()
        two = await self.driver()
        self.assertEqual((await two.ledgers.read(1)).value, OPEN)
        self.assertEqual(await two.registration.all_bookies(), {"a:1"})
        self.assertEqual(await two.registration.writable_bookies(), set())


def make_metadata_driver_tests(make_store: Callable[[TestCase], Connect]) -> type[TestCase]:
    """Make the test case with all tests for one kind of metadata driver.

    :param make_store: a function that is called with each test: it prepares an empty store, and returns a function that
        makes drivers for it.
    """

    class MetadataDriverTests(AuditingSuite, LedgerSuite, RegistrationSuite, UnderreplicationSuite, WatchSuite):
        pass

    MetadataDriverTests.make_store = staticmethod(make_store)
    return MetadataDriverTests
