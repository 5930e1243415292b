"""The tests of metadata drivers about ledgers, bookies and cookies.

Each test has one store, any number of drivers for it, and one :class:`Clock`, by which all drivers poll the store.  The
tests await calls, and advance the clock until a listener is called.  So they work the same for drivers that answer
immediately and for drivers that have a thread.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase
from zope.interface.verify import verifyObject

from ....errors import (
    BookieRegisteredError,
    CookieExistsError,
    CookieNotFoundError,
    IncorrectParameterError,
    LedgerExistsError,
    MetadataError,
    MetadataSerializationError,
    MetadataVersionError,
    NoSuchLedgerMetadataError,
)
from ....metadata.interfaces import ILedgerManager, IMetadataDriver, IRegistration, Versioned
from ....model import BookieServiceInfo, Endpoint, LedgerMetadata, LedgerState, Segment

E = TypeVar("E", bound=BaseException)

Connect = Callable[[Clock], Any]
"""A function that makes a driver, which is not open yet, for the store of a test."""

POLL = 1.0
"""Seconds that tests advance the clock: more than the poll interval of any driver."""

INFO = BookieServiceInfo((Endpoint("bookie", "10.0.0.1", 3181, "bookie-rpc"),), {"rack": "/a"})
OPEN = LedgerMetadata(2, 2, 1, (Segment(0, ("a:1", "b:1")),), password=b"pw", custom_metadata={"app": b"x"})
CLOSED = attrs.evolve(OPEN, state=LedgerState.CLOSED, length=10, last_entry_id=1)


class MetadataSuite(TestCase):
    """The helper methods of all tests for metadata drivers."""

    make_store: Callable[[TestCase], Connect]

    def setUp(self) -> None:
        self.clock = Clock()
        self.connect = type(self).make_store(self)
        self._drivers: list[Any] = []

    async def driver(self) -> Any:
        """Make one more driver for the store, open it and return it."""
        driver = self.connect(self.clock)
        self.addCleanup(lambda: Deferred.fromCoroutine(driver.close()))
        await driver.open()
        self._drivers.append(driver)
        return driver

    async def raises(self, expected: type[E], call: Any) -> E:
        """Await ``call``, check that it raises the exception ``expected``, and return the exception."""
        try:
            result = await call
        except expected as error:
            return error
        raise AssertionError(f"{expected.__name__} was not raised, the result is {result!r}")

    async def news(self, received: list[Any]) -> Any:
        """Advance the clock until a listener has appended a value to ``received``; remove and return this value."""
        for _ in range(100):
            if received:
                return received.pop(0)
            self.clock.advance(POLL)
            for driver in self._drivers:
                # a driver executes calls in order, so after this call all earlier calls have ended
                with suppress(MetadataError):  # raised by a driver that the test has closed
                    await driver.registration.instance_id()
        raise AssertionError("no news")

    async def settle(self) -> None:
        """Advance the clock until all drivers have noticed earlier changes."""
        for _ in range(5):
            self.clock.advance(POLL)
            for driver in self._drivers:
                with suppress(MetadataError):
                    await driver.registration.instance_id()

    async def quiet(self, received: list[Any]) -> None:
        """Advance the clock until listeners add no more values to ``received``, and drop the values in it."""
        await self.settle()
        received.clear()


class LedgerSuite(MetadataSuite):
    """The tests of ledger ids and ledger metadata."""

    async def test_ledger_interface(self) -> None:
        """The driver provides ``IMetadataDriver``, and its attribute ``ledgers`` provides ``ILedgerManager``."""
        driver = await self.driver()
        verifyObject(IMetadataDriver, driver)
        verifyObject(ILedgerManager, driver.ledgers)

    async def test_ids(self) -> None:
        """No two drivers generate the same id, and none generates the id of a ledger created with a chosen id."""
        one, two = await self.driver(), await self.driver()
        await one.ledgers.create(3, OPEN)
        ids = [await driver.ledgers.generate_id() for _ in range(5) for driver in (one, two)]
        self.assertEqual(len(set(ids)), 10)
        self.assertNotIn(3, ids)
        self.assertGreaterEqual(min(ids), 0)

    async def test_ids_are_not_given_twice(self) -> None:
        """The id of a removed ledger is not generated again."""
        driver = await self.driver()
        first = await driver.ledgers.generate_id()
        await driver.ledgers.create(first, OPEN)
        await driver.ledgers.remove(first)
        self.assertGreater(await driver.ledgers.generate_id(), first)

    async def test_create_and_read(self) -> None:
        """Every driver can read the metadata that one driver has created; the format version stays the same."""
        one, two = await self.driver(), await self.driver()
        plain = LedgerMetadata(1, 1, 1, (Segment(0, ("a:1",)),), has_password=False, format_version=1)
        for ledger_id, metadata in enumerate((OPEN, attrs.evolve(CLOSED, format_version=2), plain)):
            self.assertEqual(await one.ledgers.create(ledger_id, metadata), Versioned(metadata, 0))
            self.assertEqual(await two.ledgers.read(ledger_id), Versioned(metadata, 0))

    async def test_create_twice(self) -> None:
        """Two ledgers cannot be created with the same id."""
        one, two = await self.driver(), await self.driver()
        await one.ledgers.create(1, OPEN)
        await self.raises(LedgerExistsError, two.ledgers.create(1, CLOSED))
        self.assertEqual((await two.ledgers.read(1)).value, OPEN)

    async def test_repeated_create(self) -> None:
        """A repeated create with the same token succeeds; with another token or without a token it fails."""
        driver = await self.driver()
        mine = attrs.evolve(OPEN, c_token=77)
        await driver.ledgers.create(1, mine)
        self.assertEqual(await driver.ledgers.create(1, mine), Versioned(mine, 0))
        for token in (78, 0):
            await self.raises(LedgerExistsError, driver.ledgers.create(1, attrs.evolve(OPEN, c_token=token)))

    async def test_write(self) -> None:
        """A write with the stored version replaces the metadata and returns the next version."""
        one, two = await self.driver(), await self.driver()
        created = await one.ledgers.create(1, OPEN)
        written = await two.ledgers.write(1, CLOSED, created.version)
        self.assertEqual(written, Versioned(CLOSED, created.version + 1))
        self.assertEqual(await one.ledgers.read(1), written)

    async def test_lost_race(self) -> None:
        """A write with a version that is not the stored version changes nothing."""
        one, two = await self.driver(), await self.driver()
        created = await one.ledgers.create(1, OPEN)
        written = await one.ledgers.write(1, OPEN, created.version)
        for version in (created.version, written.version + 1, -1):
            await self.raises(MetadataVersionError, two.ledgers.write(1, CLOSED, version))
        self.assertEqual(await two.ledgers.read(1), written)

    async def test_missing_ledger(self) -> None:
        """A ledger that does not exist cannot be read, written or removed."""
        ledgers = (await self.driver()).ledgers
        await self.raises(NoSuchLedgerMetadataError, ledgers.read(1))
        await self.raises(NoSuchLedgerMetadataError, ledgers.write(1, OPEN, 0))
        await self.raises(NoSuchLedgerMetadataError, ledgers.remove(1))
        await self.raises(NoSuchLedgerMetadataError, ledgers.remove(1, 0))

    async def test_remove(self) -> None:
        """A removal succeeds with the stored version or without a version; with another version it fails."""
        one, two = await self.driver(), await self.driver()
        for ledger_id, version in ((1, 0), (2, -1)):
            await one.ledgers.create(ledger_id, OPEN)
            await self.raises(MetadataVersionError, two.ledgers.remove(ledger_id, 1))
            await two.ledgers.remove(ledger_id, version)
            await self.raises(NoSuchLedgerMetadataError, one.ledgers.read(ledger_id))

    async def test_unreadable_metadata(self) -> None:
        """If readers could not decode metadata, the driver refuses to store them."""
        ledgers = (await self.driver()).ledgers
        bad = attrs.evolve(OPEN, segments=())
        await self.raises(MetadataSerializationError, ledgers.create(1, bad))
        await ledgers.create(2, OPEN)
        await self.raises(MetadataSerializationError, ledgers.write(2, bad, 0))
        self.assertEqual([i async for i in ledgers.ledger_ids()], [2])
        self.assertEqual((await ledgers.read(2)).version, 0)

    async def test_id_out_of_range(self) -> None:
        """The greatest ledger id is 2**63 - 1, the least is 0."""
        ledgers = (await self.driver()).ledgers
        for ledger_id in (-1, 1 << 63):
            await self.raises(IncorrectParameterError, ledgers.create(ledger_id, OPEN))
            await self.raises(IncorrectParameterError, ledgers.read(ledger_id))
        await ledgers.create((1 << 63) - 1, OPEN)
        self.assertEqual([i async for i in ledgers.ledger_ids()], [(1 << 63) - 1])

    async def test_listing(self) -> None:
        """A listing of ledger ids between two bounds is ascending and complete, even if it takes many pages.

        Safety rule S8 of ``docs/architecture/durability.rst``: a bookie must not delete a ledger that exists.
        """
        driver = await self.driver()
        ledgers = driver.ledgers
        ids = [(7 * i + 5) % 2048 * 3 for i in range(2048)]
        for ledger_id in ids:
            await ledgers.create(ledger_id, OPEN)
        self.assertEqual([i async for i in ledgers.ledger_ids()], sorted(ids))
        self.assertEqual([i async for i in ledgers.ledger_ids(4, 12)], [6, 9, 12])
        self.assertEqual([i async for i in ledgers.ledger_ids(6, 6)], [6])
        self.assertEqual([i async for i in ledgers.ledger_ids(7, 8)], [])
        self.assertEqual([i async for i in ledgers.ledger_ids(6141)], [6141])
        listing = ledgers.ledger_ids()
        self.assertEqual(await anext(listing), 0)
        await driver.close()
        with self.assertRaises(MetadataError):
            async for _ in listing:
                pass


class RegistrationSuite(MetadataSuite):
    """The tests of registered bookies and of cookies."""

    async def bookies(self, driver: Any) -> tuple[set[str], set[str]]:
        """Return the writable and the read-only bookies that a ``driver`` reads from the store."""
        registration = driver.registration
        return set(await registration.writable_bookies()), set(await registration.read_only_bookies())

    async def test_registration_interface(self) -> None:
        """The driver's attribute ``registration`` provides ``IRegistration``."""
        verifyObject(IRegistration, (await self.driver()).registration)

    async def test_instance_id(self) -> None:
        """All drivers of a store see the same instance id, and it is not empty."""
        one, two = await self.driver(), await self.driver()
        instance_id = await one.registration.instance_id()
        self.assertTrue(instance_id)
        self.assertEqual(await two.registration.instance_id(), instance_id)

    async def test_register(self) -> None:
        """After a bookie has registered, all drivers list the bookie and can read its service info."""
        one, two = await self.driver(), await self.driver()
        await one.registration.register_bookie("a:1", False, INFO)
        await one.registration.register_bookie("b:1", True, BookieServiceInfo())
        self.assertEqual(await self.bookies(two), ({"a:1"}, {"b:1"}))
        self.assertEqual(await two.registration.service_info("a:1"), INFO)

    async def test_change_of_mode(self) -> None:
        """After a bookie registers again, in another mode, only the new mode and its new service info are stored."""
        one, two = await self.driver(), await self.driver()
        for read_only in (False, True, True, False):
            info = attrs.evolve(INFO, properties={"read-only": str(read_only)})
            await one.registration.register_bookie("a:1", read_only, info)
            self.assertEqual(await self.bookies(two), (set(), {"a:1"}) if read_only else ({"a:1"}, set()))
            self.assertEqual(await two.registration.service_info("a:1"), info)

    async def test_unregister(self) -> None:
        """An unregistered bookie is not listed; unregistering an unknown bookie has no effect."""
        one, two = await self.driver(), await self.driver()
        await one.registration.register_bookie("a:1", True, INFO)
        for _ in range(2):
            await one.registration.unregister_bookie("a:1")
            self.assertEqual(await self.bookies(two), (set(), set()))
        await self.raises(MetadataError, two.registration.service_info("a:1"))

    async def test_id_of_another_session(self) -> None:
        """While a session lives, no other session can register or unregister a bookie id that it has registered.

        This is a part of safety rule S6 of ``docs/architecture/durability.rst``: two bookies cannot use one id.
        """
        one, two = await self.driver(), await self.driver()
        await one.registration.register_bookie("a:1", False, INFO)
        for read_only in (False, True):
            await self.raises(BookieRegisteredError, two.registration.register_bookie("a:1", read_only, INFO))
        await two.registration.unregister_bookie("a:1")
        self.assertEqual(await self.bookies(one), ({"a:1"}, set()))

    async def test_end_of_session(self) -> None:
        """When a driver is closed, only its bookies are unregistered, and their ids are free again."""
        one, two = await self.driver(), await self.driver()
        await one.registration.register_bookie("a:1", False, INFO)
        await two.registration.register_bookie("b:1", False, INFO)
        await one.close()
        self.assertEqual(await self.bookies(two), ({"b:1"}, set()))
        await two.registration.register_bookie("a:1", True, INFO)
        self.assertEqual(await self.bookies(two), ({"b:1"}, {"a:1"}))

    async def test_bad_bookie_id(self) -> None:
        """A bookie id that other implementations cannot read is refused."""
        registration = (await self.driver()).registration
        for bookie_id in ("", "a/b", "readonly"):
            await self.raises(IncorrectParameterError, registration.register_bookie(bookie_id, False, INFO))
            await self.raises(IncorrectParameterError, registration.write_cookie(bookie_id, b"", None))

    async def test_cookies(self) -> None:
        """A cookie is created once, and replaced or removed only with its version; bookies with cookies are listed."""
        one, two = (await self.driver()).registration, (await self.driver()).registration
        self.assertEqual(await one.write_cookie("a:1", b"first", None), 0)
        await self.raises(CookieExistsError, two.write_cookie("a:1", b"other", None))
        self.assertEqual(await two.read_cookie("a:1"), Versioned(b"first", 0))
        self.assertEqual(await two.write_cookie("a:1", b"second", 0), 1)
        await self.raises(MetadataVersionError, one.write_cookie("a:1", b"late", 0))
        await self.raises(MetadataVersionError, one.remove_cookie("a:1", 0))
        self.assertEqual(await one.read_cookie("a:1"), Versioned(b"second", 1))
        await one.write_cookie("b:1", b"", None)
        self.assertEqual(await two.all_bookies(), {"a:1", "b:1"})
        await one.remove_cookie("a:1", 1)
        self.assertEqual(await two.all_bookies(), {"b:1"})

    async def test_missing_cookie(self) -> None:
        """A cookie that is not stored cannot be read, replaced or removed."""
        registration = (await self.driver()).registration
        await self.raises(CookieNotFoundError, registration.read_cookie("a:1"))
        await self.raises(CookieNotFoundError, registration.write_cookie("a:1", b"", 0))
        await self.raises(CookieNotFoundError, registration.remove_cookie("a:1", 0))
