"""The tests of metadata drivers about the election of the auditor and the values that auditors store."""

from typing import Any

from zope.interface.verify import verifyObject

from ....errors import IncorrectParameterError, MetadataError
from ....metadata.interfaces import IAuditing
from ....model import AuditorCheck
from .metadata_suites import MetadataSuite


class AuditingSuite(MetadataSuite):
    """The tests of the auditor's election, of the delay after the loss of a bookie, and of stored times.

    The stored times are those of the auditor's last checks.
    """

    async def test_auditing_interface(self) -> None:
        """The driver's attribute ``auditing`` provides ``IAuditing``."""
        verifyObject(IAuditing, (await self.driver()).auditing)

    async def test_no_auditor(self) -> None:
        """Before an election there is no auditor."""
        self.assertIsNone(await (await self.driver()).auditing.auditor())

    async def test_election(self) -> None:
        """The first candidate is elected; the second one is elected when the session of the first has ended."""
        one, two = await self.driver(), await self.driver()
        first: list[bool] = []
        second: list[bool] = []
        one.auditing.stand("a:1", first.append)
        self.assertTrue(await self.news(first))
        two.auditing.stand("b:1", second.append)
        await self.settle()
        self.assertEqual((first, second), ([], []))
        self.assertEqual(await two.auditing.auditor(), "a:1")
        await one.close()
        self.assertEqual(first, [False])
        self.assertTrue(await self.news(second))
        self.assertEqual(await two.auditing.auditor(), "b:1")

    async def test_same_name(self) -> None:
        """If two candidates have the same name, for example two processes on one host, only one is elected."""
        one, two = await self.driver(), await self.driver()
        first: list[bool] = []
        second: list[bool] = []
        one.auditing.stand("a:1", first.append)
        self.assertTrue(await self.news(first))
        two.auditing.stand("a:1", second.append)
        await self.settle()
        self.assertEqual((first, second), ([], []))
        await one.auditing.withdraw()
        self.assertTrue(await self.news(second))

    async def test_withdrawal(self) -> None:
        """When an auditor withdraws, the next candidate is elected; the withdrawn one may become a candidate again.
        """
        one, two = await self.driver(), await self.driver()
        first: list[bool] = []
        second: list[bool] = []
        await one.auditing.withdraw()
        one.auditing.stand("a:1", first.append)
        self.assertTrue(await self.news(first))
        two.auditing.stand("b:1", second.append)
        await self.settle()
        await one.auditing.withdraw()
        self.assertTrue(await self.news(second))
        one.auditing.stand("a:1", first.append)
        await self.settle()
        self.assertEqual((first, await one.auditing.auditor()), ([], "b:1"))
        await two.auditing.withdraw()
        self.assertTrue(await self.news(first))
        await one.auditing.withdraw()
        self.assertIsNone(await two.auditing.auditor())

    async def test_one_candidate_per_driver(self) -> None:
        """A driver accepts only one candidate, and only with a valid bookie id."""
        driver = await self.driver()
        driver.auditing.stand("a:1", lambda elected: None)
        with self.assertRaises(MetadataError):
            driver.auditing.stand("b:1", lambda elected: None)
        with self.assertRaises(IncorrectParameterError):
            (await self.driver()).auditing.stand("a/b", lambda elected: None)

    async def test_candidates_of_closed_drivers(self) -> None:
        """A closed driver accepts no candidate, and has no calls scheduled on the clock."""
        driver = await self.driver()
        driver.auditing.stand("a:1", lambda elected: None)
        await self.settle()
        await driver.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        with self.assertRaises(MetadataError):
            driver.auditing.stand("a:1", lambda elected: None)

    async def test_failing_listener(self) -> None:
        """If the listener of a candidate raises an exception, it is logged and the candidate is elected."""
        driver = await self.driver()
        elected: list[Any] = []

        def fail(news: bool) -> None:
            elected.append(news)
            raise ZeroDivisionError

        driver.auditing.stand("a:1", fail)
        self.assertTrue(await self.news(elected))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(await driver.auditing.auditor(), "a:1")
        await driver.auditing.withdraw()

    async def test_delay(self) -> None:
        """The recovery delay of lost bookies is the same for all drivers, and stays after the writer was closed."""
        one, two = await self.driver(), await self.driver()
        self.assertIsNone(await one.auditing.lost_bookie_delay())
        for seconds in (30, 0, 0):
            await one.auditing.set_lost_bookie_delay(seconds)
            self.assertEqual(await two.auditing.lost_bookie_delay(), seconds)
        await one.close()
        self.assertEqual(await two.auditing.lost_bookie_delay(), 0)

    async def test_watch_of_the_delay(self) -> None:
        """A listener for the recovery delay of lost bookies is called with the present value, and after each write.

        It is called even if the written value is equal to the old one.
        """
        one, two = await self.driver(), await self.driver()
        received: list[Any] = []
        end = one.auditing.watch_lost_bookie_delay(received.append)
        self.assertIsNone(await self.news(received))
        for driver, seconds in ((two, 30), (two, 30), (one, 0), (one, 0)):
            await driver.auditing.set_lost_bookie_delay(seconds)
            self.assertEqual(await self.news(received), seconds)
        await two.ledgers.generate_id()
        await self.settle()
        end()
        await two.auditing.set_lost_bookie_delay(1)
        await self.settle()
        self.assertEqual(received, [])

    async def test_check_times(self) -> None:
        """The time of each periodic check is stored separately and can be removed."""
        one, two = await self.driver(), await self.driver()
        for number, check in enumerate(AuditorCheck, 1793410644666):
            self.assertIsNone(await one.auditing.check_time(check))
            await one.auditing.set_check_time(check, number)
        self.assertEqual(
            [await two.auditing.check_time(check) for check in AuditorCheck],
            [1793410644666, 1793410644667, 1793410644668],
        )
        await two.auditing.set_check_time(AuditorCheck.REPLICAS, 5)
        await two.auditing.set_check_time(AuditorCheck.PLACEMENT, None)
        await two.auditing.set_check_time(AuditorCheck.PLACEMENT, None)
        self.assertEqual([await one.auditing.check_time(check) for check in AuditorCheck], [1793410644666, None, 5])
