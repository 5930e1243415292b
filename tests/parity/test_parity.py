"""The comparison with Apache's lists: nothing is missing without a reason, and the tables tell the truth."""

import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from docs import parity_reference

from . import ours, reasons
from .tables import Table, apache, make_table, sources

ROOT = Path(__file__).parents[2]


class ProgramTests(SynchronousTestCase):
    """``python -m tests.parity``."""

    timeout = 120

    def test_complete(self) -> None:
        """All that is missing has a reason, every reason is needed, and each verb is on the page about the shell."""
        command = [sys.executable, "-m", "tests.parity", "--brief"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        totals = done.stdout.strip().splitlines()
        for title in ("verbs: Apache's 48, ours 48,", "operations: Apache's 37, ours 37,", "metrics:", "keys:"):
            self.assertTrue(any(line.startswith(title) for line in totals), title)


class TableTests(SynchronousTestCase):
    """One table."""

    def _table(self, *names: str, here: tuple[str, ...] = (), **reasons: str) -> Table:
        tests = {"a.test_a": "'verb'", "b.test_b": "other"}
        return make_table("t", names, dict.fromkeys(here, "yes"), reasons, lambda name: {name: rf"'{name}'"}, tests)

    def test_rows(self) -> None:
        """A name is here, with the tests that mention it, or missing, with the reason."""
        table = self._table("verb", "gone", here=("verb", "extra"), gone="no need")
        self.assertEqual(list(table.lines()), ["verb | yes | a.test_a", "gone | - (no need) | -"])
        self.assertEqual((table.broken, table.untested, table.extra), ([], [], ["extra"]))
        self.assertEqual(
            table.totals(), "t: Apache's 2, ours 1, explained 1, unexplained 0, untested 0, ours alone 1"
        )

    def test_broken(self) -> None:
        """A missing name without a reason is reported, and so is a reason that nothing needs."""
        table = self._table("verb", "gone", here=("verb",), verb="no need")
        self.assertEqual(
            table.broken, ["t: gone is missing and nothing says why", "t: the reason for verb explains nothing"]
        )
        self.assertIn("gone | - (NO REASON) | -", list(table.lines()))

    def test_untested(self) -> None:
        """What is here and in no test is listed."""
        self.assertEqual(self._table("quiet", here=("quiet",)).untested, ["quiet"])


class ListTests(SynchronousTestCase):
    """What the tables are made of."""

    def test_apache(self) -> None:
        """Apache's lists have no name twice and no comment in it."""
        for name, least in (("verbs", 48), ("operations", 37), ("metrics", 300), ("keys", 300)):
            names = apache(name)
            self.assertEqual(len(names), len(set(names)))
            self.assertGreaterEqual(len(names), least)
            self.assertFalse([each for each in names if "#" in each])

    def test_ours(self) -> None:
        """Ours are those of the program; the page about the shell explains each verb."""
        self.assertIn("throttles", ours.verbs())
        self.assertEqual(ours.verbs()["ledger"], "differs")
        self.assertIn("GET /api/v1/bookie/state", ours.operations())
        self.assertEqual(ours.keys()["bookiePort"], "bookie")
        self.assertEqual(ours.keys()["zkTimeout"], "bookie, client")
        self.assertLessEqual(set(apache("verbs")), ours.documented_verbs())

    def test_reasons(self) -> None:
        """A reason is a part of a sentence."""
        for text in {*reasons.METRICS.values(), *reasons.DASHBOARDS.values(), *reasons.KEYS.values()}:
            self.assertFalse(text.endswith(".") or not text.strip(), text)

    def test_documentation(self) -> None:
        """The page of the documentation has every pattern with its reason."""
        path = Path(self.mktemp()) / "parity.inc"
        parity_reference.write_reference(path)
        text = path.read_text()
        for pattern in [*reasons.METRICS, *reasons.DASHBOARDS, *reasons.KEYS]:
            self.assertIn(f"``{pattern}``", text)

    def test_sources(self) -> None:
        """Test modules are searched, the lists themselves are not."""
        found = sources()
        self.assertIn("http.test_site", found)
        self.assertFalse([name for name in found if name.startswith(("parity", "vectors"))])
