"""What is published: metadata, the README as an index page shows it, floors, release notes."""

import configparser
import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parents[1]


class ReadmeTests(SynchronousTestCase):
    """The README, which package indexes show without the repository around it."""

    def setUp(self) -> None:
        """Reads it."""
        self.text = (ROOT / "README.rst").read_text()

    def test_links(self) -> None:
        """Links and images are absolute, or there are none."""
        targets = re.findall(r"<([^<>\s]+)>`_|^\.\. (?:image|figure|include|literalinclude):: (\S+)", self.text, re.M)
        relative = [one or other for one, other in targets if not (one or other).startswith("https://")]
        self.assertEqual(relative, [])

    def test_directives(self) -> None:
        """It has no directives and roles but those that every reST reader knows."""
        self.assertEqual(set(re.findall(r"^\.\. ([\w-]+)::", self.text, re.M)), {"code-block"})
        self.assertEqual(re.findall(r":[a-z]+:`", self.text), [])


class MetadataTests(SynchronousTestCase):
    """``setup.cfg``."""

    def setUp(self) -> None:
        """Reads it."""
        self.text = (ROOT / "setup.cfg").read_text()
        self.parser = configparser.ConfigParser()
        self.parser.read_string(self.text)

    def test_ceiling(self) -> None:
        """Twisted, whose transports and reactors are extended here, has a ceiling."""
        self.assertIn("Twisted >= 24.7, < 27", self.parser["options"]["install_requires"])

    def test_classifiers(self) -> None:
        """The classifiers name the Pythons that the package takes, and that it is typed."""
        classifiers = self.parser["metadata"]["classifiers"].split("\n")
        for wanted in ("Typing :: Typed", *(f"Programming Language :: Python :: 3.{n}" for n in (11, 12, 13))):
            self.assertIn(wanted, classifiers)
        self.assertEqual(self.parser["options"]["python_requires"], ">=3.11")


class NewsTests(SynchronousTestCase):
    """The fragments of the release notes."""

    def test_names(self) -> None:
        """Every fragment has a kind that the release notes know, and is one sentence or more."""
        kinds = {"feature", "bugfix", "doc", "removal", "misc"}
        for path in (ROOT / "newsfragments").glob("*.rst"):
            if path.name != "template.rst":
                self.assertIn(path.name.split(".")[-2], kinds, path.name)
                self.assertTrue(path.read_text().rstrip().endswith("."), path.name)
