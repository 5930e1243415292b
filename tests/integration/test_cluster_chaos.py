"""S1 and S12-S18 on real processes: bookies are killed and paused under load, and nothing acknowledged is lost."""

from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from ..chaos.run import run

SECONDS = 25


class ClusterChaosTests(TestCase):
    """Short runs of ``make chaos``."""

    timeout = 180

    async def _survives(self, bookies: int) -> None:
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        outcome = await run(reactor, folder, bookies, SECONDS, seed=1)
        self.assertEqual(outcome.problems, (), outcome.figures)

    async def test_three_bookies(self) -> None:
        """There is no spare bookie: writers go on with two of three, or with a new ledger."""
        await self._survives(3)

    async def test_five_bookies(self) -> None:
        """Bookies that fail are replaced."""
        await self._survives(5)
