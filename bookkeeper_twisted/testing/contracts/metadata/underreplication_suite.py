"""The tests of metadata drivers about underreplicated marks and replication locks."""

from typing import Any

from zope.interface.verify import verifyObject

from ....errors import IncorrectParameterError, LedgerLockedError, MetadataVersionError, NotUnderreplicatedError
from ....metadata.interfaces import IUnderreplication, Versioned
from ....model import UnderreplicatedLedger
from .metadata_suites import MetadataSuite


async def _marked(driver: Any) -> list[int]:
    return [ledger_id async for ledger_id in driver.underreplication.marked_ledgers()]


class UnderreplicationSuite(MetadataSuite):
    """The tests of underreplicated marks, replication locks and the switch of autorecovery."""

    async def test_underreplication_interface(self) -> None:
        """The driver's attribute ``underreplication`` provides ``IUnderreplication``."""
        verifyObject(IUnderreplication, (await self.driver()).underreplication)

    async def test_mark(self) -> None:
        """Every driver can read an underreplicated mark that one driver has made."""
        one, two = await self.driver(), await self.driver()
        await one.underreplication.mark(5, ["a:1", "b:1"], 1234)
        self.assertEqual(
            await two.underreplication.read_mark(5), Versioned(UnderreplicatedLedger(("a:1", "b:1"), 1234), 0)
        )

    async def test_not_marked(self) -> None:
        """Reading or removing the underreplicated mark of an unmarked ledger fails."""
        marks = (await self.driver()).underreplication
        await self.raises(NotUnderreplicatedError, marks.read_mark(5))
        await self.raises(NotUnderreplicatedError, marks.remove_mark(5, 0))

    async def test_mark_again(self) -> None:
        """Marking a ledger again adds missing replicas to its mark and changes its version, but not its time."""
        marks = (await self.driver()).underreplication
        await marks.mark(5, ["a:1"], 1)
        await marks.mark(5, ["a:1"], 2)
        self.assertEqual(await marks.read_mark(5), Versioned(UnderreplicatedLedger(("a:1",), 1), 1))
        await marks.mark(5, ["b:1", "a:1", "b:1"], 3)
        self.assertEqual(await marks.read_mark(5), Versioned(UnderreplicatedLedger(("a:1", "b:1"), 1), 2))

    async def test_mark_without_replicas(self) -> None:
        """An underreplicated mark need not say which bookies lack entries."""
        marks = (await self.driver()).underreplication
        await marks.mark(5)
        self.assertEqual((await marks.read_mark(5)).value, UnderreplicatedLedger())

    async def test_remove_mark(self) -> None:
        """An underreplicated mark is removed only if its version is the given one, so that a newer mark stays."""
        one, two = await self.driver(), await self.driver()
        await one.underreplication.mark(5, ["a:1"])
        before = await one.underreplication.read_mark(5)
        await two.underreplication.mark(5, ["b:1"])
        await self.raises(MetadataVersionError, one.underreplication.remove_mark(5, before.version))
        await one.underreplication.remove_mark(5, (await one.underreplication.read_mark(5)).version)
        self.assertEqual(await _marked(two), [])
        await two.underreplication.mark(5, ["c:1"])
        self.assertEqual((await one.underreplication.read_mark(5)).value.replicas, ("c:1",))

    async def test_replace_mark(self) -> None:
        """An underreplicated mark is replaced only if its version is the given one.

        If the ledger is marked again after that, the bookies are added to the replaced mark, whose time stays.
        """
        one, two = await self.driver(), await self.driver()
        nameless = UnderreplicatedLedger((), 1)
        await self.raises(NotUnderreplicatedError, one.underreplication.replace_mark(5, nameless, 0))
        await one.underreplication.mark(5, ["a:1"], 1)
        self.assertEqual(await one.underreplication.replace_mark(5, nameless, 0), Versioned(nameless, 1))
        await self.raises(MetadataVersionError, two.underreplication.replace_mark(5, nameless, 0))
        await two.underreplication.mark(5, ["b:1"], 2)
        self.assertEqual(await one.underreplication.read_mark(5), Versioned(UnderreplicatedLedger(("b:1",), 1), 2))

    async def test_marked_ledgers(self) -> None:
        """All marked ledgers are listed in ascending order."""
        driver = await self.driver()
        self.assertEqual(await _marked(driver), [])
        ids = [0, 3, 1 << 16, (1 << 16) + 1, 1 << 40, (1 << 63) - 1]
        for ledger_id in reversed(ids):
            await driver.underreplication.mark(ledger_id, ["a:1"])
        self.assertEqual(await _marked(driver), ids)

    async def test_marked_ledgers_in_another_order(self) -> None:
        """A replication worker can list all marked ledgers in an order of its own."""
        driver = await self.driver()
        ids = {0, 1, 2, 3, 1 << 16, 1 << 40, (1 << 63) - 1}
        for ledger_id in ids:
            await driver.underreplication.mark(ledger_id, ["a:1"])
        listed = [i async for i in driver.underreplication.marked_ledgers(lambda page: page.reverse())]
        self.assertEqual(sorted(listed), sorted(ids))
        self.assertNotEqual(listed, sorted(ids))

    async def test_watch_marks(self) -> None:
        """The listener is called at the beginning, and after an underreplicated mark or a lock is created or deleted.
        """
        one, two = await self.driver(), await self.driver()
        await one.underreplication.lock(7, "host")
        calls: list[Any] = []
        one.underreplication.watch_marks(lambda: calls.append(True))
        await self.news(calls)
        for change in (
            lambda: two.underreplication.mark(5, ["a:1"]),
            lambda: one.underreplication.mark(1 << 40, ["a:1"]),
            lambda: one.underreplication.unlock(7),
            lambda: one.underreplication.remove_mark(5, 0),
            lambda: two.underreplication.mark(6, ["a:1"]),
        ):
            await self.quiet(calls)
            await change()
            await self.news(calls)

    async def test_watch_locks_of_dead_sessions(self) -> None:
        """The listener of underreplicated marks is called after the end of a session that held a lock."""
        one, two = await self.driver(), await self.driver()
        await two.underreplication.lock(5, "host")
        calls: list[Any] = []
        one.underreplication.watch_marks(lambda: calls.append(True))
        await self.quiet(calls)
        await two.close()
        await self.news(calls)
        self.assertEqual(await one.underreplication.locked_ledgers(), {})

    async def test_ended_watch_of_marks(self) -> None:
        """After the end of a watch of underreplicated marks, a driver has no calls scheduled on the clock."""
        driver = await self.driver()
        calls: list[Any] = []
        end = driver.underreplication.watch_marks(lambda: calls.append(True))
        await self.quiet(calls)
        end()
        end()
        await driver.underreplication.mark(5)
        await self.settle()
        self.assertEqual((calls, self.clock.getDelayedCalls()), ([], []))

    async def test_locked_ledgers(self) -> None:
        """A listing of replication locks contains the host names of the workers that hold them."""
        one, two = await self.driver(), await self.driver()
        self.assertEqual(await one.underreplication.locked_ledgers(), {})
        await two.underreplication.lock(1 << 40, "two")
        await one.underreplication.lock(5, "one")
        self.assertEqual(list((await one.underreplication.locked_ledgers()).items()), [(5, "one"), (1 << 40, "two")])
        await two.close()
        self.assertEqual(await one.underreplication.locked_ledgers(), {5: "one"})

    async def test_described_lock(self) -> None:
        """The holder of a replication lock can replace the description that is stored with the lock.

        A long description is cut.  The listeners of underreplicated marks are not called.
        """
        one, two = await self.driver(), await self.driver()
        await one.underreplication.lock(5, "one")
        calls: list[Any] = []
        two.underreplication.watch_marks(lambda: calls.append(True))
        await self.quiet(calls)
        for text, stored in (
            ("one: waits", "one: waits"), ("one:\tno bookie\nhas it", "one: no bookie has it"),
            ("x" * 501, "x" * 497 + "..."), ("x" * 500, "x" * 500), ('one: "\N{SNOWMAN}\\"', 'one: "\N{SNOWMAN}\\"'),
            ("one", "one"),
        ):  # fmt: skip
            await one.underreplication.describe_lock(5, text)
            self.assertEqual(await two.underreplication.locked_ledgers(), {5: stored})
        await self.settle()
        self.assertEqual(calls, [])
        await self.raises(LedgerLockedError, two.underreplication.lock(5, "two"))

    async def test_lock_that_is_not_described(self) -> None:
        """To set the description of a lock has no effect if the driver does not hold the lock.

        Another driver may hold it, or the driver has released it, or nobody has locked the ledger.
        """
        one, two = await self.driver(), await self.driver()
        await one.underreplication.describe_lock(5, "nothing")
        self.assertEqual(await one.underreplication.locked_ledgers(), {})
        await one.underreplication.lock(5, "one")
        await two.underreplication.describe_lock(5, "two")
        self.assertEqual(await one.underreplication.locked_ledgers(), {5: "one"})
        await one.underreplication.unlock(5)
        await two.underreplication.lock(5, "two")
        await one.underreplication.describe_lock(5, "one")
        self.assertEqual(await one.underreplication.locked_ledgers(), {5: "two"})

    async def test_lock(self) -> None:
        """While a ledger is locked, neither another driver nor another call of the same driver can lock it."""
        one, two = await self.driver(), await self.driver()
        await one.underreplication.lock(5, "host")
        await self.raises(LedgerLockedError, one.underreplication.lock(5, "host"))
        await self.raises(LedgerLockedError, two.underreplication.lock(5, "other"))
        await two.underreplication.lock(6, "other")
        await two.underreplication.unlock(5)
        await self.raises(LedgerLockedError, two.underreplication.lock(5, "other"))
        await one.underreplication.unlock(5)
        await two.underreplication.lock(5, "other")

    async def test_unlock_twice(self) -> None:
        """The release of a replication lock that nobody holds has no effect."""
        locks = (await self.driver()).underreplication
        await locks.unlock(5)
        await locks.lock(5, "host")
        await locks.unlock(5)
        await locks.unlock(5)

    async def test_locks_end_with_their_driver(self) -> None:
        """When a driver is closed, its locks are released."""
        one, two = await self.driver(), await self.driver()
        await one.underreplication.lock(5, "host")
        await one.close()
        await two.underreplication.lock(5, "other")

    async def test_wrong_ids(self) -> None:
        """Underreplicated marks and replication locks with invalid ledger ids are refused."""
        marks = (await self.driver()).underreplication
        for ledger_id in (-1, 1 << 63):
            for work in (
                marks.mark(ledger_id, ["a:1"]), marks.read_mark(ledger_id), marks.remove_mark(ledger_id, 0),
                marks.replace_mark(ledger_id, UnderreplicatedLedger(), 0), marks.lock(ledger_id, "host"),
                marks.describe_lock(ledger_id, "text"), marks.unlock(ledger_id),
            ):  # fmt: skip
                await self.raises(IncorrectParameterError, work)

    async def test_marks_outlive_drivers(self) -> None:
        """Underreplicated marks stay in the store when the last driver is closed."""
        one = await self.driver()
        await one.underreplication.mark(5, ["a:1"])
        await one.close()
        self.assertEqual(await _marked(await self.driver()), [5])

    async def test_switch(self) -> None:
        """Autorecovery is on until a driver switches it off for all drivers; it stays off when the driver is closed."""
        one, two = await self.driver(), await self.driver()
        self.assertTrue(await one.underreplication.is_enabled())
        self.assertFalse(await one.underreplication.set_enabled(True))
        self.assertTrue(await one.underreplication.set_enabled(False))
        self.assertFalse(await two.underreplication.set_enabled(False))
        self.assertFalse(await two.underreplication.is_enabled())
        await one.close()
        self.assertTrue(await two.underreplication.set_enabled(True))
        self.assertTrue(await two.underreplication.is_enabled())

    async def test_watch_of_the_switch(self) -> None:
        """A listener is called with the present state of autorecovery (enabled or not), and after each change."""
        one, two = await self.driver(), await self.driver()
        received: list[Any] = []
        one.underreplication.watch_enabled(received.append)
        self.assertIs(await self.news(received), True)
        await two.underreplication.set_enabled(False)
        self.assertIs(await self.news(received), False)
        await one.underreplication.set_enabled(True)
        self.assertIs(await self.news(received), True)
