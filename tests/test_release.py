"""What a release is made of: pinned versions, reproducible distributions, a bill of materials, an audit."""

import configparser
import gzip
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Collection, Iterator
from email.parser import Parser
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from .floors import CONSTRAINTS, ROOT, UNPINNED_EXTRAS, all_extras, canonical, pinned

CI = ROOT / ".ci"
UNBILLED = {"dev", "docs", "release", "spark", *UNPINNED_EXTRAS}
"""The extras that no bill of materials covers."""


def pins() -> dict[str, Version]:
    """The versions of the constraints file, in its order."""
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    return {name: Version(version) for name, version in (line.split("==") for line in lines)}


def wanted(without: Collection[str] = ()) -> Iterator[Requirement]:
    """Everything that ``setup.cfg`` names: what is needed, then what extras need, but for some of them."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    extras = [block for name, block in parser["options.extras_require"].items() if name not in without]
    for block in (parser["options"]["install_requires"], *extras):
        yield from map(Requirement, filter(None, block.splitlines()))


class ConstraintsTests(SynchronousTestCase):
    """``constraints.txt``."""

    def test_agrees(self) -> None:
        """Each requirement of ``setup.cfg`` has a version there, above its floor and below its ceiling."""
        found = pins()
        for requirement in wanted(UNPINNED_EXTRAS):
            version = found[canonical(requirement.name)]
            self.assertTrue(requirement.specifier.contains(version), f"{requirement}: {version}")

    def test_whole(self) -> None:
        """So has what these need in turn, as far as it is installed here."""
        found = pins()
        for name in found:
            try:
                needed = map(Requirement, requires(name) or ())
            except PackageNotFoundError:
                continue
            for each in needed:
                if each.marker is None or each.marker.evaluate({"extra": ""}):
                    self.assertIn(canonical(each.name), {*found, "pip"}, f"{name} needs it")

    def test_names(self) -> None:
        """It has names with versions, in order, and no address of an index."""
        names = list(pins())
        self.assertEqual(names, sorted(map(canonical, names)))
        self.assertNotIn("//", CONSTRAINTS.read_text())

    def test_pinned(self) -> None:
        """It is what pip would install, without the package itself and pip."""
        installs = [("Zope.Interface", "8.7"), ("attrs", "26.1.0"), ("pip", "26.3"), ("bookkeeper-twisted", "0.1.0")]
        report = {"install": [{"metadata": {"name": name, "version": version}} for name, version in installs]}
        comment, *lines = pinned(report).splitlines()
        self.assertTrue(comment.startswith("# "))
        self.assertEqual(lines, ["attrs==26.1.0", "zope-interface==8.7"])

    def test_used(self) -> None:
        """Whatever the Makefile installs or builds has these versions, and is installed anew when they change."""
        if shutil.which("make") is None:
            raise SkipTest("make is not installed")
        for target in ("test", "docs", "dist"):
            command = ["make", "--dry-run", f"VENV={self.mktemp()}", target]
            planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
            lines = [line for line in planned.replace("\\\n", "").splitlines() if "pip install" in line]
            self.assertTrue(lines)
            for line in lines:
                self.assertIn("PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt ", line)
        self.assertRegex((ROOT / "Makefile").read_text(), r"(?m)^\$\(RUNNABLE\):.* constraints\.txt$")


class _ScriptCase(SynchronousTestCase):
    """Scripts of ``.ci``."""

    def script(self, name: str) -> dict[str, Any]:
        """Run a script, but for its main function; return its names."""
        self.patch(sys, "path", [str(CI), *sys.path])
        return runpy.run_path(str(CI / name))


class DistributionTests(_ScriptCase):
    """``.ci/distribution.py``; ``tests.integration.test_release`` builds."""

    def _archive(self, names: list[str], **fields: Any) -> Path:
        path = Path(self.mktemp())
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.size = len(name)
                for field, value in fields.items():
                    setattr(entry, field, value)
                archive.addfile(entry, io.BytesIO(name.encode()))
        return path

    def test_repacked(self) -> None:
        """Archives of the same files are the same bytes, and keep what is in them."""
        repack = self.script("distribution.py")["repack"]
        long = "a" * 90 + "/" + "b" * 90
        one = self._archive(["run", long], mtime=5, mode=0o777, uname="one", uid=7)
        two = self._archive([long, "run"], mtime=99.5, mode=0o700, gname="two")
        for path in (one, two):
            repack(path, 1000)
        self.assertEqual(one.read_bytes(), two.read_bytes())
        with gzip.open(one) as packed:
            packed.read()
            self.assertEqual(packed.mtime, 1000)
        with tarfile.open(one) as archive:
            self.assertEqual([(each.name, each.mtime, each.mode, each.uid) for each in archive],
                             [(long, 1000, 0o755, 0), ("run", 1000, 0o755, 0)])  # fmt: skip
            file = archive.extractfile("run")
            assert file is not None
            self.assertEqual(file.read(), b"run")

    def test_permissions(self) -> None:
        """A file that nobody runs is readable by all, and written by its owner."""
        path = self._archive(["read"], mode=0o600)
        self.script("distribution.py")["repack"](path, 1)
        with tarfile.open(path) as archive:
            self.assertEqual(archive.getmember("read").mode, 0o644)

    def test_epoch(self) -> None:
        """The time is the one that is given."""
        self.patch(os, "environ", {"SOURCE_DATE_EPOCH": "1234"})
        self.assertEqual(self.script("distribution.py")["epoch"](), 1234)


_METADATA = """\
Metadata-Version: 2.4
Name: bookkeeper-twisted
Version: 1.2
License-Expression: Apache-2.0
Requires-Dist: Twisted<27,>=24.7
Requires-Dist: zope.interface>=6.2
Provides-Extra: tls
Requires-Dist: Twisted[tls]>=24.7; extra == "tls"
Requires-Dist: cryptography>=45; extra == "tls"
Provides-Extra: dev
Requires-Dist: ruff; extra == "dev"

The description.
"""


class BillTests(_ScriptCase):
    """``.ci/bill.py``; ``tests.integration.test_release`` makes a bill."""

    def setUp(self) -> None:
        """Reads the script and some metadata."""
        self.names = self.script("bill.py")
        self.metadata = Parser().parsestr(_METADATA)

    def test_extras(self) -> None:
        """It covers all extras but those of developers, PySpark, and what the system compiles."""
        self.assertEqual({*self.names["EXTRAS"]}, {*all_extras((ROOT / "setup.cfg").read_text())} - UNBILLED)

    def test_root(self) -> None:
        """The package depends on all that it requires, for these extras as well."""
        project = tomllib.loads(self.names["root"](self.metadata))["project"]
        self.assertEqual((project["name"], project["version"], project["license"]),
                         ("bookkeeper-twisted", "1.2", "Apache-2.0"))  # fmt: skip
        self.assertEqual(project["dependencies"], self.names["requirements"](self.metadata))
        expected = ["Twisted<27,>=24.7", "zope.interface>=6.2", "Twisted[tls]>=24.7", "cryptography>=45"]
        self.assertEqual(project["dependencies"], expected)

    def test_missing(self) -> None:
        """A bill that does not name a requirement, or does not say that the package depends on it, is noticed."""
        wanted = self.names["requirements"](self.metadata)
        names = ("twisted", "zope-interface", "cryptography", "attrs")
        bill = {
            "metadata": {"component": {"bom-ref": "root"}},
            "components": [{"bom-ref": f"{name}==1", "name": name} for name in names],
            "dependencies": [{"ref": "root", "dependsOn": [f"{name}==1" for name in names[:3]]}],
        }
        missing = self.names["missing"]
        self.assertEqual(missing(bill, wanted), [])
        self.assertEqual(missing(bill, ["attrs>=1", "kazoo"]), ["attrs>=1", "kazoo"])


class AuditTests(_ScriptCase):
    """``.ci/audit.py``, with a program in the place of pip-audit."""

    def audit(self, code: str) -> subprocess.CompletedProcess[str]:
        """Have it run some Python."""
        command = [sys.executable, str(CI / "audit.py"), sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True)

    def told(self, *libraries: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Have it read a report."""
        return self.audit(f"print({json.dumps(json.dumps({'dependencies': libraries}))})")

    def test_vulnerable(self) -> None:
        """A known vulnerability is a line with its id and the version that has none, and fails."""
        vulnerability = {"id": "PYSEC-2026-1", "fix_versions": ["2.1", "3.0"]}
        done = self.told({"name": "one", "version": "2.0", "vulns": [vulnerability]},
                         {"name": "two", "version": "1.0", "vulns": []})  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines(), ["one 2.0: PYSEC-2026-1, mended in 2.1, 3.0",
                                                    "2 of 2 versions looked up, 1 known vulnerabilities"])

    def test_none(self) -> None:
        """Without one it passes, and says how many versions were looked up."""
        done = self.told({"name": "one", "version": "2.0", "vulns": []}, {"name": "two", "skip_reason": "not found"})
        self.assertEqual((done.returncode, done.stdout), (0, "1 of 2 versions looked up, no known vulnerabilities\n"))

    def test_no_network(self) -> None:
        """Without a network, or with an index that has no advisories, one line says that it is skipped."""
        unreached = self.audit("import sys; sys.exit('Traceback\\nrequests.exceptions.ConnectionError: refused')")
        for done in (unreached, self.told({"name": "one", "skip_reason": "not found"})):
            self.assertEqual((done.returncode, done.stdout.count("\n"), done.stderr), (0, 1, ""))
            self.assertTrue(done.stdout.startswith("audit skipped: "))

    def test_broken(self) -> None:
        """A tool that fails for another reason is not skipped."""
        done = self.audit("import sys; sys.exit('No module named pip_audit')")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No module named pip_audit", done.stderr)
