"""What is published: metadata, the README as an index page shows it, floors, release notes."""

import configparser
import importlib.util
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from .first_hour.documents import blocks, commands

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
        """Links are absolute, or there are none; an index shows the text of the picture, which is in the repository."""
        targets = re.findall(r"<([^<>\s]+)>`_|^\.\. (?:image|figure|include|literalinclude):: (\S+)", self.text, re.M)
        relative = [one or other for one, other in targets if not (one or other).startswith("https://")]
        self.assertEqual(relative, ["benchmarks/results.svg"])
        self.assertTrue((ROOT / relative[0]).exists())
        self.assertIn(f".. image:: {relative[0]}\n   :alt: ", self.text)

    def test_directives(self) -> None:
        """It has no directives and roles but those that every reST reader knows."""
        self.assertEqual(set(re.findall(r"^\.\. ([\w-]+)::", self.text, re.M)), {"code-block", "image"})
        self.assertEqual(re.findall(r":[a-z]+:`", self.text), [])

    def test_begins(self) -> None:
        """Its first commands work from a checkout; what is not published is installed from the wheel, by one line."""
        shown = [command.text for block in blocks(self.text) if block.language == "console"
                 for command in commands(block.text)]  # fmt: skip
        self.assertEqual(shown[:3], ["make run", "make test", "make dist"])
        installs = [text for text in shown if text.startswith("pip install") and "[" not in text]
        self.assertEqual(installs, ["pip install dist/*.whl"])

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

    def test_console(self) -> None:
        """The files of the console's page are in the wheel: the pattern names all of them."""
        data = self.parser["options.package_data"]
        folder, _, pattern = data["bookkeeper_twisted.http.console"].strip().partition("/")
        page = files("bookkeeper_twisted.http.console") / folder
        self.assertEqual((pattern, (page / "index.html").is_file()), ("*", True))

    def test_addresses(self) -> None:
        """No address is given while there is none of this project, and no author who is nobody."""
        metadata = self.parser["metadata"]
        self.assertEqual([key for key in ("url", "project_urls", "author", "download_url") if key in metadata], [])

    def test_classifiers(self) -> None:
        """The classifiers name the Pythons that the package takes, and that it is typed."""
        classifiers = self.parser["metadata"]["classifiers"].split("\n")
        for wanted in ("Typing :: Typed", *(f"Programming Language :: Python :: 3.{n}" for n in (11, 12, 13))):
            self.assertIn(wanted, classifiers)
        self.assertEqual(self.parser["options"]["python_requires"], ">=3.11")


class MakeTests(SynchronousTestCase):
    """What ``make`` says and installs."""

    def _planned(self, target: str) -> str:
        """The commands that a target would run in a new checkout."""
        if shutil.which("make") is None:
            raise SkipTest("make is not installed")
        command = ["make", "--dry-run", f"VENV={self.mktemp()}", target]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    def test_run(self) -> None:
        """A run installs what it needs, and not what a developer needs; it says so before."""
        planned = self._planned("run")
        self.assertIn("'.[tools]'", planned)
        self.assertNotIn("[dev]", planned)
        self.assertLess(planned.index('echo "set-up, once'), planned.index("pip install"))

    def test_speaks(self) -> None:
        """Steps that take long say what they do, and where the result is."""
        planned = self._planned("docs")
        self.assertIn('echo "building the guide', planned)
        self.assertIn('echo "built: docs/_build/html/index.html', planned)

    def _logged(self, code: str) -> tuple[subprocess.CompletedProcess[str], str]:
        log = Path(self.mktemp())
        command = [sys.executable, str(ROOT / ".ci" / "logged.py"), str(log), "step", sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True), log.read_text()

    def test_logged(self) -> None:
        """Of a long output the lines that say how far it is are printed, and all of it is in a file."""
        done, log = self._logged("print('step 1'); print('noise'); print('step 2' + 'x' * 200)")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(), ["  step 1", "  step 2" + "x" * 94 + "..."])
        self.assertIn("noise\n", log)

    def test_logged_failure(self) -> None:
        """A failure is shown with the last lines and the name of the file, and has its status."""
        done, _ = self._logged("print('why'); raise SystemExit(3)")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^why\nfailed; all output is in \S+\n$")


UNITS = ("bookie.service", "autorecovery.service")


class UnitTests(SynchronousTestCase):
    """The units of ``contrib``; ``python -m tests.first_hour`` starts a bookie by one."""

    def exposure(self, path: Path) -> float:
        """What systemd says of how much a service is exposed, from 0 to 10."""
        if shutil.which("systemd-analyze") is None:
            raise SkipTest("systemd-analyze is not installed")
        done = subprocess.run(["systemd-analyze", "--no-pager", "security", "--offline=true", str(path)],
                              capture_output=True, text=True)  # fmt: skip
        found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
        if found is None:
            raise SkipTest(f"systemd-analyze cannot look at files: {done.stderr.strip()}")
        return float(found[1])

    def test_hardened(self) -> None:
        """Their services can reach little of a machine; one without these lines is noticed."""
        for name in UNITS:
            unit = ROOT / "contrib" / name
            self.assertLessEqual(self.exposure(unit), 2.0)
            path = Path(self.mktemp())
            path.mkdir()
            weak = path / name
            weak.write_text(re.sub(r"(?m)^(Protect|Private|Restrict|SystemCall)\w+=.*\n", "", unit.read_text()))
            self.assertGreater(self.exposure(weak), 2.0)

    def test_notify(self) -> None:
        """systemd waits for the message that they are ready, and restarts one that gives no sign of life."""
        for name in UNITS:
            lines = (ROOT / "contrib" / name).read_text().splitlines()
            for wanted in ("Type=notify", "WatchdogSec=60", "ExecReload=/bin/kill -HUP $MAINPID", "Restart=on-failure"):
                self.assertIn(wanted, lines, name)
            (command,) = [line for line in lines if line.startswith("ExecStart=")]
            self.assertIn("/twistd -n ", command)  # in the foreground: messages of its first process alone count

    def test_verified(self) -> None:
        """systemd knows each line of theirs."""
        if shutil.which("systemd-analyze") is None:
            raise SkipTest("systemd-analyze is not installed")
        for name in UNITS:
            text = (ROOT / "contrib" / name).read_text()
            path = Path(self.mktemp())
            path.mkdir()
            (path / name).write_text(text.replace("/opt/bookkeeper/venv/bin/twistd", sys.executable))
            done = subprocess.run(["systemd-analyze", "verify", str(path / name)], capture_output=True, text=True)
            self.assertEqual((done.stdout, done.stderr), ("", ""))


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
