"""S1 and S12-S18 on real processes: bookies are killed and paused under load, and nothing acknowledged is lost."""

from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from ..chaos.recovery import MIN_BOOKIES, RecoveryRun
from ..chaos.run import run

SECONDS = 25
ROUNDS = 6


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

    async def test_autorecovery(self) -> None:
        """Bookies are lost for good and autorecovery is killed again and again: at the end every replica is there."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        outcome = await RecoveryRun(reactor, folder, MIN_BOOKIES, ROUNDS, seed=1).run()
        self.assertEqual(outcome.problems, (), outcome.figures)
