"""A bookie process under fuzzing: what it acknowledged is there, others are served, nothing is left over (S11)."""

from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from ..fuzz.run import Run

OPERATIONS = 400
SEED = 1


class FuzzTests(TestCase):
    """A short run of ``python -m tests.fuzz``."""

    timeout = 180

    async def test_short_run(self) -> None:
        """Requests at the ends of all ranges, mixed protocols, broken frames and connections that end anywhere."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        outcome = await Run(reactor, folder, OPERATIONS, SEED).run()
        self.assertEqual(outcome.problems, [], f"seed {SEED}: {outcome.figures}")
