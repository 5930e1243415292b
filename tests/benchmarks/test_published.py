"""The figures of the README, and the results that they are made from."""

from pathlib import Path
from xml.etree import ElementTree

import attrs
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.chart import svg
from benchmarks.compare.comparison import rows
from benchmarks.compare.published import BENCHMARKS, README, Published, all_kept, figures_of, table, with_figures
from benchmarks.compare.results import markdown
from benchmarks.shared.machine import Machine

from .made_up import FACTS, RUNS

_PAGES = {"AMD EPYC": "results.md", "Intel Xeon": "results_2026_11_22.md"}
"""The pages that were written with the results of each host."""


class CommittedTests(SynchronousTestCase):
    """What ``python -m benchmarks figures`` makes of the results in the repository is what the repository has."""

    maxDiff = None

    def setUp(self) -> None:
        """Read the results."""
        self.found = all_kept(BENCHMARKS / "results")

    def test_table(self) -> None:
        """The table of the README is that of the results."""
        self.assertEqual(figures_of(README.read_text()), table(self.found))

    def test_picture(self) -> None:
        """The picture is that of the newest host, and the README shows it."""
        self.assertEqual((BENCHMARKS / "results.svg").read_text(), svg(self.found[0].rows))
        self.assertIn(".. image:: benchmarks/results.svg\n", README.read_text())

    def test_pages(self) -> None:
        """The page of each host has every row of its results, and names the same host and the same commands."""
        self.assertEqual([each.host for each in self.found], list(_PAGES))
        for each in self.found:
            page = (BENCHMARKS / _PAGES[each.host]).read_text()
            shown = [line for line in markdown(each.rows, {}, {}, [FACTS]).splitlines() if line.startswith("| ")]
            self.assertEqual([line for line in shown if line not in page], [])
            self.assertEqual([c["command"] for c in each.commands if f"`{c['command']}`, {c['date']}" not in page], [])
            self.assertIn(each.machine, page)

    def test_no_other_figures(self) -> None:
        """No sentence of the README has a figure of a comparison: those are in the table."""
        prose = with_figures(README.read_text(), "")
        self.assertNotRegex(prose, r"\d (?:ms|MiB|times|entries/s)|\d\.\d+ s\b")


class KeptTests(SynchronousTestCase):
    """Results as a file."""

    def test_kept(self) -> None:
        """A file gives back what was kept; a figure without a target is left out."""
        folder = Path(self.mktemp())
        results = Published.of([FACTS, attrs.evolve(FACTS, date="2026-01-02T10:00")], rows(RUNS))
        path = results.keep(folder)
        self.assertEqual((path.name, results.date), ("a.json", "2026-01-02"))
        self.assertEqual(all_kept(folder), [results])
        path.write_text(path.read_text().replace('"cpu"', '"gone"'))
        self.assertEqual([row.target.figure for row in Published.kept(path).rows].count("cpu"), 0)

    def test_hosts(self) -> None:
        """Marks and numbers of a processor are no part of the name of a host."""
        machine = FACTS.machine
        for cpu, host in (
            ("Intel(R) Xeon(R) Processor @ 2.90GHz", "Intel Xeon"), ("AMD EPYC", "AMD EPYC"),
            ("AMD EPYC 9654 96-Core Processor", "AMD EPYC"),
        ):  # fmt: skip
            facts = attrs.evolve(FACTS, machine=Machine(cpu, *attrs.astuple(machine)[1:]))
            self.assertEqual(Published.of([facts], []).host, host)

    def test_table(self) -> None:
        """A row has a cell for each host; what a host has not measured is said."""
        first = Published("A", "", {}, [{"command": "", "date": "2026-02-01"}], rows(RUNS))
        other = attrs.evolve(first, host="B", rows=[])
        lines = table([first, other]).splitlines()
        self.assertRegex(lines[1], r"^ours : Apache's \(ratio\) +A, 2026-02-01 +B, 2026-02-01$")
        self.assertRegex(lines[4], r"^adds of 1 KiB, 1,000 in flight: entries/s +300 : 100 \(3.00\) +not measured$")

    def test_other_servers(self) -> None:
        """A server of bare calls stands nowhere as Apache's bookie."""
        lone = {name: [{"p50_ms": ms}] for name, ms in (("ours", 6.0), ("tuned", 5.0), ("raw", 1.0))}
        found = rows({"add-1K-1-v2": lone})
        self.assertEqual([row.target.against for row in found], ["tuned", "raw"])
        made = table([Published("A", "", {}, [{"command": "", "date": "2026-02-01"}], found)])
        self.assertIn("6 : 5 (1.20)", made)
        self.assertEqual(svg(found), svg(found[:1]))

    def test_place(self) -> None:
        """The figures are replaced, and nothing else; a README without a place for them is an error."""
        readme = "a\n.. begin of the figures\n\nold\n\n.. end of the figures\nb\n"
        self.assertEqual(with_figures(readme, "new\n"), readme.replace("old\n", "new\n"))
        self.assertEqual(figures_of(readme), "old\n")
        self.assertRaises(ValueError, with_figures, "a\n", "new\n")

    def test_picture_of_kept(self) -> None:
        """Kept rows can be drawn."""
        path = Published.of([FACTS], rows(RUNS)).keep(Path(self.mktemp()))
        self.assertTrue(list(ElementTree.fromstring(svg(Published.kept(path).rows))))
