"""The test suite for providers of ``IClusterAdmin``, which create and remove clusters."""

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase
from zope.interface.verify import verifyObject

from ....errors import CookieNotFoundError, MetadataError
from ....metadata.interfaces import IClusterAdmin
from .metadata_suites import INFO, OPEN


@attrs.frozen
class EmptyStore:
    """An empty metadata store for one test.

    :ivar driver: a function that makes a metadata driver for the store.
    :ivar admin: a function that makes a cluster administrator for the store.
    """

    driver: Callable[[Clock], Any]
    admin: Callable[[Clock], Any]


class ClusterAdminSuite(TestCase):
    """The tests that each cluster administrator passes; each test has an empty store of its own."""

    make_store: Callable[[TestCase], EmptyStore]

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = type(self).make_store(self)

    async def opened(self, make: Callable[[Clock], Any]) -> Any:
        """Call ``make`` to make a driver or an administrator, and open it; it is closed at the end of the test."""
        made = make(self.clock)
        self.addCleanup(lambda: Deferred.fromCoroutine(made.close()))
        await made.open()
        return made

    async def cluster(self) -> Any:
        """Create a cluster and return its administrator."""
        admin = await self.opened(self.store.admin)
        self.assertTrue(await admin.initialize())
        return admin

    async def refused(self, call: Any) -> None:
        """Check that ``call`` raises MetadataError."""
        try:
            await call
        except MetadataError:
            return
        raise AssertionError("not refused")

    async def test_interface(self) -> None:
        """The administrator provides ``IClusterAdmin``, and may be closed twice."""
        admin = await self.opened(self.store.admin)
        verifyObject(IClusterAdmin, admin)
        await admin.close()

    async def test_initialize(self) -> None:
        """Only the first call creates the cluster; drivers can be opened after it."""
        one = await self.opened(self.store.admin)
        self.assertFalse(await one.exists())
        self.assertTrue(await one.initialize())
        self.assertTrue(await one.exists())
        two = await self.opened(self.store.admin)
        self.assertTrue(await two.exists())
        self.assertFalse(await two.initialize())
        driver = await self.opened(self.store.driver)
        self.assertEqual(await driver.registration.instance_id(), await one.instance_id())
        self.assertEqual(await two.instance_id(), await one.instance_id())

    async def test_format(self) -> None:
        """Formatting removes ledgers and cookies, changes the instance id, restarts ids, and keeps registrations."""
        admin = await self.cluster()
        before = await admin.instance_id()
        driver = await self.opened(self.store.driver)
        await driver.ledgers.create(await driver.ledgers.generate_id(), OPEN)
        await driver.ledgers.create(1 << 40, OPEN)
        await driver.registration.write_cookie("a:1", b"c", None)
        await driver.registration.register_bookie("a:1", False, INFO)
        await admin.format()
        self.assertNotEqual(await admin.instance_id(), before)
        self.assertEqual(await driver.registration.instance_id(), await admin.instance_id())
        self.assertEqual([i async for i in driver.ledgers.ledger_ids()], [])
        self.assertEqual(await driver.ledgers.generate_id(), 0)
        self.assertEqual(await driver.registration.writable_bookies(), {"a:1"})
        try:
            await driver.registration.read_cookie("a:1")
        except CookieNotFoundError:
            return
        raise AssertionError("the cookie is still there")

    async def test_format_of_nothing(self) -> None:
        """Formatting creates the cluster if it does not exist."""
        admin = await self.opened(self.store.admin)
        await admin.format()
        driver = await self.opened(self.store.driver)
        self.assertEqual(await driver.registration.instance_id(), await admin.instance_id())

    async def test_nuke(self) -> None:
        """After the removal of a cluster, a new cluster in its place is empty."""
        admin = await self.cluster()
        instance_id = await admin.instance_id()
        driver = await self.opened(self.store.driver)
        await driver.ledgers.create(await driver.ledgers.generate_id(), OPEN)
        await driver.ledgers.create(1 << 40, OPEN)
        await driver.registration.write_cookie("a:1", b"c", None)
        await driver.close()
        await admin.nuke(instance_id)
        await admin.initialize()
        self.assertNotEqual(await admin.instance_id(), instance_id)
        driver = await self.opened(self.store.driver)
        self.assertEqual([i async for i in driver.ledgers.ledger_ids()], [])
        self.assertEqual(await driver.registration.all_bookies(), set())

    async def test_nuke_refused(self) -> None:
        """A cluster is not removed if it has registered bookies, or if its instance id is not the given one."""
        admin = await self.cluster()
        instance_id = await admin.instance_id()
        driver = await self.opened(self.store.driver)
        await driver.ledgers.create(1, OPEN)
        await self.refused(admin.nuke("another"))
        for read_only in (False, True):
            await driver.registration.register_bookie("a:1", read_only, INFO)
            await self.refused(admin.nuke(instance_id))
            await self.refused(admin.nuke(None))
        self.assertEqual((await driver.ledgers.read(1)).value, OPEN)
        await driver.registration.unregister_bookie("a:1")
        await admin.nuke(None)


def make_cluster_admin_tests(make_store: Callable[[TestCase], EmptyStore]) -> type[TestCase]:
    """Make the test case with all tests of this suite for one kind of metadata store.

    :param make_store: a function that is called with each test and returns an empty store.
    """

    class ClusterAdminTests(ClusterAdminSuite):
        pass

    ClusterAdminTests.make_store = staticmethod(make_store)
    return ClusterAdminTests
