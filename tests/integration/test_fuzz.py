"""A bookie process under fuzzing: what it acknowledged is there, others are served, nothing is left over (S11)."""

from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from ..fuzz.run import Run
from ..protocol.tls_ends import missing

OPERATIONS = 1100
SECURED = 6000
SEED = 1


class FuzzTests(TestCase):
    """A short run of ``python -m tests.fuzz``."""

    timeout = 600

    async def test_short_run(self) -> None:
        """Requests at the ends of all ranges, mixed protocols, broken frames and connections that end anywhere."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        outcome = await Run(reactor, folder, OPERATIONS, SEED).run()
        self.assertEqual(outcome.problems, [], f"seed {SEED}: {outcome.figures}")


class SecuredFuzzTests(TestCase):
    """A short run of ``python -m tests.fuzz --secured``."""

    timeout = 600
    skip = missing()

    async def test_short_run(self) -> None:
        """Bytes in clear, damaged handshakes and tokens, and floods of KeyUpdates, of peers that get nothing."""
        from ..fuzz.secured import SecuredRun

        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        outcome = await SecuredRun(reactor, folder, SECURED, SEED).run()
        self.assertEqual(outcome.problems, [], f"seed {SEED}: {outcome.figures}")
        self.assertGreater(outcome.figures["not let in, behind, within TLS"], 0)
