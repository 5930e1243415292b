"""The suite every metadata driver passes: marks of under-replication and replication locks."""

from typing import Any

from zope.interface.verify import verifyObject

from ...errors import IncorrectParameterError, LedgerLockedError, MetadataVersionError, NotUnderreplicatedError
from ...metadata.interfaces import IUnderreplication, Versioned
from ...model import UnderreplicatedLedger
from .metadata_suites import MetadataSuite


async def _marked(driver: Any) -> list[int]:
    return [ledger_id async for ledger_id in driver.underreplication.marked_ledgers()]


class UnderreplicationSuite(MetadataSuite):
    """Marks and locks."""

    async def test_underreplication_interface(self) -> None:
        """The under-replication side provides what it declares."""
        verifyObject(IUnderreplication, (await self.driver()).underreplication)

    async def test_mark(self) -> None:
        """A mark is read by every driver."""
        one, two = await self.driver(), await self.driver()
        await one.underreplication.mark(5, ["a:1", "b:1"], 1234)
        self.assertEqual(
            await two.underreplication.read_mark(5), Versioned(UnderreplicatedLedger(("a:1", "b:1"), 1234), 0)
        )

    async def test_not_marked(self) -> None:
        """A ledger without a mark has none to read or to remove."""
        marks = (await self.driver()).underreplication
        await self.raises(NotUnderreplicatedError, marks.read_mark(5))
        await self.raises(NotUnderreplicatedError, marks.remove_mark(5, 0))

    async def test_mark_again(self) -> None:
        """Further replicas join a mark, in order and once; a mark that names them all stays as it is."""
        marks = (await self.driver()).underreplication
        await marks.mark(5, ["a:1"], 1)
        await marks.mark(5, ["a:1"], 2)
        self.assertEqual(await marks.read_mark(5), Versioned(UnderreplicatedLedger(("a:1",), 1), 0))
        await marks.mark(5, ["b:1", "a:1", "b:1"], 3)
        self.assertEqual(await marks.read_mark(5), Versioned(UnderreplicatedLedger(("a:1", "b:1"), 3), 1))

    async def test_mark_without_replicas(self) -> None:
        """It need not be known which bookies lack entries."""
        marks = (await self.driver()).underreplication
        await marks.mark(5)
        self.assertEqual((await marks.read_mark(5)).value, UnderreplicatedLedger())

    async def test_remove_mark(self) -> None:
        """A mark is removed at its version only, so that one made meanwhile stays."""
        one, two = await self.driver(), await self.driver()
        await one.underreplication.mark(5, ["a:1"])
        before = await one.underreplication.read_mark(5)
        await two.underreplication.mark(5, ["b:1"])
        await self.raises(MetadataVersionError, one.underreplication.remove_mark(5, before.version))
        await one.underreplication.remove_mark(5, (await one.underreplication.read_mark(5)).version)
        self.assertEqual(await _marked(two), [])
        await two.underreplication.mark(5, ["c:1"])
        self.assertEqual((await one.underreplication.read_mark(5)).value.replicas, ("c:1",))

    async def test_marked_ledgers(self) -> None:
        """All marked ledgers are listed in ascending order."""
        driver = await self.driver()
        self.assertEqual(await _marked(driver), [])
        ids = [0, 3, 1 << 16, (1 << 16) + 1, 1 << 40, (1 << 63) - 1]
        for ledger_id in reversed(ids):
            await driver.underreplication.mark(ledger_id, ["a:1"])
        self.assertEqual(await _marked(driver), ids)

    async def test_lock(self) -> None:
        """A lock excludes other drivers and other callers of the same one, until it is released."""
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
        """Releasing a lock that is not held is harmless."""
        locks = (await self.driver()).underreplication
        await locks.unlock(5)
        await locks.lock(5, "host")
        await locks.unlock(5)
        await locks.unlock(5)

    async def test_locks_end_with_their_driver(self) -> None:
        """A driver that is closed holds no lock any more."""
        one, two = await self.driver(), await self.driver()
        await one.underreplication.lock(5, "host")
        await one.close()
        await two.underreplication.lock(5, "other")

    async def test_wrong_ids(self) -> None:
        """Numbers that are no ledger ids are refused."""
        marks = (await self.driver()).underreplication
        for ledger_id in (-1, 1 << 63):
            await self.raises(IncorrectParameterError, marks.mark(ledger_id, ["a:1"]))
            await self.raises(IncorrectParameterError, marks.lock(ledger_id, "host"))

    async def test_marks_outlive_drivers(self) -> None:
        """Marks stay when the last driver closes."""
        one = await self.driver()
        await one.underreplication.mark(5, ["a:1"])
        await one.close()
        self.assertEqual(await _marked(await self.driver()), [5])
