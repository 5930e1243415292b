"""The page of promises: what it names exists, and the tests that it names are about the rules that it names."""

import re
from collections.abc import Iterator
from pathlib import Path

import attrs
from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parents[1]
PARTIES = ("client", "bookie", "cluster", "operator")
_MODULE = re.compile(r"``(tests\.[\w.]+)``")
_RULE = re.compile(r"\bS\d+\b")


@attrs.frozen
class _Row:
    """A row with four cells."""

    promise: str
    party: str
    written: str
    tested: str


def _path(module: str) -> Path | None:
    """The file, or the folder, of a module; None if there is none."""
    base = ROOT / module.replace(".", "/")
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None)


class PromisesTests(SynchronousTestCase):
    """``docs/promises.rst``."""

    def setUp(self) -> None:
        """Read the page, and the rules."""
        self.text = (ROOT / "docs/promises.rst").read_text()
        self.rules = (ROOT / "docs/architecture/durability.rst").read_text()

    def rows(self) -> Iterator[_Row]:
        """The rows of the tables of what is promised by the software."""
        for row in re.split(r"\n   \* - ", self.text.partition("What the operator promises")[0]):
            cells = [" ".join(cell.split()) for cell in re.split(r"\n     - ", row.partition("\n\n")[0])]
            if len(cells) == 4 and cells != ["promise", "by whom", "written in", "tested in"]:
                yield _Row(*cells)

    def test_parties(self) -> None:
        """Each promise is made by somebody, and is written down."""
        rows = list(self.rows())
        self.assertGreater(len(rows), 20)
        for row in rows:
            parties = [each.split(" (")[0] for each in row.party.split(", ")]
            self.assertEqual([each for each in parties if each not in PARTIES], [], row.promise)
            self.assertNotEqual(row.written, "", row.promise)

    def test_modules(self) -> None:
        """Every test module that the page names is there, and each row names one."""
        self.assertEqual([name for name in _MODULE.findall(self.text) if _path(name) is None], [])
        self.assertEqual([row.promise for row in self.rows() if not _MODULE.findall(row.tested)], [])

    def test_rules(self) -> None:
        """Every rule that a row names is one, and is named by a test of this row."""
        for row in self.rows():
            paths = [path for name in _MODULE.findall(row.tested) if (path := _path(name)) is not None]
            tests = set(_RULE.findall(" ".join(path.read_text() for path in paths)))
            self.assertEqual(set(_RULE.findall(row.written)) - tests, set(), row.promise)
            self.assertEqual(set(_RULE.findall(row.written)) - set(_RULE.findall(self.rules)), set(), row.promise)

    def test_complete(self) -> None:
        """No rule is missing."""
        named = set(_RULE.findall(" ".join(row.written for row in self.rows())))
        self.assertEqual(set(_RULE.findall(self.rules)) - named, set())
