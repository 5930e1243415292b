"""The documentation as a site: its pages, its references, its pictures; ``tests.integration.test_site`` builds it."""

import re
import tempfile
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.cli.shell_command import FORCE, PROGRESS
from docs import shell_reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LARGEST = 100 << 10
"""Bytes of a picture."""


class PagesTests(SynchronousTestCase):
    """The pages, and the order in which they are listed."""

    def test_listed(self) -> None:
        """Every page is in the contents once."""
        listed = re.findall(r"(?m)^   ([\w/]+)$", (DOCS / "index.rst").read_text())
        pages = {path.stem for path in DOCS.glob("*.rst")} - {"index"}
        self.assertEqual(sorted(listed), sorted([*pages, "architecture/index"]))

    def test_parts(self) -> None:
        """A reader begins at the top; what is looked up comes after what is read."""
        captions = re.findall(r":caption: (.+)", (DOCS / "index.rst").read_text())
        self.assertEqual(
            captions,
            ["Start", "Applications", "Operation", "Beside Apache and Pulsar", "References", "How it is built"],
        )

    def test_pictures(self) -> None:
        """Each picture of the console is on a page, is small, has a text, and is one that a test takes."""
        shown: dict[Path, str] = {}
        for page in DOCS.glob("*.rst"):
            found = re.findall(r"\.\. figure:: (_static/console/\S+)\n   :alt: (.+)", page.read_text())
            shown |= {DOCS / name: text for name, text in found}
        self.assertEqual(set(shown), set((DOCS / "_static" / "console").iterdir()))
        taken = (ROOT / "tests/integration/test_console.py").read_text()
        for path, text in shown.items():
            self.assertLess(path.stat().st_size, LARGEST, path)
            self.assertGreater(len(text), 20)
            self.assertIn(f'picture("{path.stem}")', taken)


class VerbsTests(SynchronousTestCase):
    """The reference of the verbs of the shell."""

    def setUp(self) -> None:
        """Write it."""
        path = Path(tempfile.mkdtemp(dir=Path.cwd())) / "verbs.inc"
        shell_reference.write_reference(path)
        self.parts = {part.partition("``")[0]: part for part in re.split(r"(?m)^``(?=[\w-]+``\n-+$)", path.read_text())}

    def test_complete(self) -> None:
        """It has every verb with what it does, and every option and operand with its help."""
        self.assertEqual({name for name in self.parts if name.strip()}, set(COMMANDS))
        for name, command in COMMANDS.items():
            part = self.parts[name]
            self.assertIn(command.help.replace("*", "\\*"), part)
            for argument in command.arguments:
                if argument not in (FORCE, PROGRESS):
                    self.assertIn(argument.help[1:], part, f"{name} {argument.names}")

    def test_marks(self) -> None:
        """Verbs that ask, show progress or print JSON say so."""
        self.assertIn("*asks*", self.parts["deleteledger"])
        self.assertIn("*shows rows, also as JSON, shows progress*", self.parts["listledgers"])
        self.assertNotIn("*asks", self.parts["lastmark"])
