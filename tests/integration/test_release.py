"""``make dist``, as it is run before a release."""

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ..floors import canonical
from ..test_release import UNBILLED, pins, wanted

ROOT = Path(__file__).parents[2]
_NOT_COPIED = (
    ".git", ".venv", ".floors", "_trial_temp*", "*.egg-info", "_build", ".*_cache", "__pycache__", "dist", "build",
)  # fmt: skip


class ReleaseTests(SynchronousTestCase):
    """In a copy of the tree, with an environment of its own."""

    timeout = 900

    def setUp(self) -> None:
        """Copies the tree; asks the package index for something small."""
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", self.mktemp(), "idna"]
        if shutil.which("make") is None or subprocess.run(command, capture_output=True).returncode:
            raise SkipTest("no package index can be reached, or make is not installed")
        self.tree = Path(self.mktemp()).absolute()
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
        self.environ["SOURCE_DATE_EPOCH"] = "1790000000"

    def run_in(self, tree: Path, *command: str, umask: int = 0o022) -> None:
        """Run a command in a copy."""
        done = subprocess.run(command, cwd=tree, env=self.environ, umask=umask, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_dist(self) -> None:
        """The bill names all that the wheel needs, in the pinned versions; whoever builds anew gets the same bytes."""
        self.run_in(self.tree, "make", "dist", f"PYTHON={sys.executable}")
        (written,) = (self.tree / "dist").glob("bookkeeper_twisted-*.cdx.json")
        bill = json.loads(written.read_text())
        self.assertEqual(bill["bomFormat"], "CycloneDX")
        self.assertEqual(bill["metadata"]["component"]["name"], "bookkeeper-twisted")
        found = {canonical(each["name"]): each["version"] for each in bill["components"]}
        self.assertEqual({canonical(each.name) for each in wanted(UNBILLED)} - found.keys(), set())
        self.assertEqual({name: version for name, version in found.items() if version != str(pins()[name])}, {})
        self.assertNotIn(str(self.tree), written.read_text())

        (archive,) = (self.tree / "dist").glob("*.tar.gz")
        again = Path(self.mktemp()).absolute()
        again.mkdir()
        self.run_in(again, "tar", "xf", str(archive), "--strip-components=1", umask=0o077)
        python = str(self.tree / ".venv" / "bin" / "python")
        self.run_in(again, python, ".ci/distribution.py", "dist", umask=0o077)
        for path in (again / "dist").iterdir():
            built = (self.tree / "dist" / path.name).read_bytes()
            self.assertEqual(sha256(path.read_bytes()).digest(), sha256(built).digest(), path.name)
        self.assertEqual(len(list((again / "dist").iterdir())), 2)
