"""What is published: metadata, the README as an index page shows it, floors, release notes."""

import configparser
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

ROOT = Path(__file__).parents[1]


def complaints(text: str) -> str:
    """What docutils says of reST text that stands alone, as an index or a reader of a tarball renders it."""
    if importlib.util.find_spec("docutils") is None:
        raise SkipTest("docutils is not installed (extra dev)")
    options = ("--report=1", "--no-raw", "--no-file-insertion", "--syntax-highlight=none")
    command = [sys.executable, "-m", "docutils", *options, "-", "/dev/null"]
    return subprocess.run(command, input=text, capture_output=True, text=True).stderr


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

    def test_renders(self) -> None:
        """It renders without a complaint."""
        self.assertEqual(complaints(self.text), "")

    def test_complaints(self) -> None:
        """The check finds what an index would refuse."""
        self.assertIn('Unknown directive type "unknown"', complaints(".. unknown:: x\n"))


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

    def test_draft(self) -> None:
        """The release notes of all fragments are made: each has its place, and all of it renders."""
        if importlib.util.find_spec("towncrier") is None:
            raise SkipTest("towncrier is not installed (extra dev)")
        command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.8.7"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = done.stdout[done.stdout.index("9.8.7 (") :]
        for path in (ROOT / "newsfragments").glob("*.rst"):
            if path.name != "template.rst" and ".misc." not in path.name:
                self.assertIn(path.read_text().split("\n")[0], notes, path.name)
        published = (ROOT / "NEWS.rst").read_text()
        self.assertIn(".. towncrier release notes start\n", published)
        self.assertEqual(complaints(f"{published}\n{notes}"), "")
