"""The steps of the first hour."""

import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
from twisted.trial.unittest import SkipTest

from benchmarks.shared.zookeeper import shared_zookeeper

from ..config.shipped_files import BOOKKEEPER, PULSAR, as_file
from .documents import blocks
from .image import Image
from .reader import Reader, Unexpected, free_port
from .refusals import REFUSALS, Refusal

ROOT = Path(__file__).parents[2]
_NOT_COPIED = (
    ".git", ".venv", ".floors", "_trial_temp*", "*.egg-info", "_build", ".*_cache", "__pycache__", "dist", "build",
)  # fmt: skip
_BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
_LOCAL = "--listeningInterface=127.0.0.1 --advertisedAddress=127.0.0.1 --allowLoopback=true"

MODULES = (
    "tests.codec", "tests.config", "tests.doors.test_doors", "tests.embedding", "tests.test_errors",
    "tests.test_metrics", "tests.test_model", "tests.test_packaging", "tests.test_public_names",
)  # fmt: skip
"""Tests of the source distribution that are run with the wheel: one of each way in.  The wheel's modules have the bytes
of the tree, which all tests are run against."""

_TEST_LIBRARIES = "'bookkeeper-twisted[zookeeper,tools]' hypothesis docutils towncrier"

_UNPUBLISHED = {".gitignore"}
"""What the repository has and the source distribution does not."""

_PACKAGES = ("bookkeeper_twisted", "bookkeeper_twisted.egg-info", "twisted", "pyspark_bookkeeper.py")
"""What the wheel brings."""


_ALL_TESTS = "   $ make test\n"
"""The command of the README that is not typed: one of the tests is this one."""


_CLUSTER = "\nIn a cluster the metadata"
"""Begins the part of the README that needs a ZooKeeper."""


class Skipped(Exception):
    """A step cannot be done here; the text says why."""


@attrs.frozen
class Place:
    """Where everything happens.

    :ivar work: the directory of the reader.
    :ivar dist: the distributions.
    """

    base: Path
    reader: Reader

    @property
    def dist(self) -> Path:
        return self.base / "dist"

    @property
    def work(self) -> Path:
        return self.reader.directory


Step = Callable[[Place], str]
"""Does something, returns a few words on it; raises what is wrong."""


def source_distribution(place: Place) -> str:
    """Build from a copy of the tree, so that nothing of a checkout is needed or changed."""
    tree = place.base / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    _build("build_sdist", tree, place.dist)
    (sdist,) = place.dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        # Python before 3.11.4 has no filters; the archive is our own
        filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(place.base / "source", **filters)
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := _tracked() - names - _UNPUBLISHED:
        raise Unexpected(f"without {sorted(missing)}")
    return f"{len(names)} files, {sdist.stat().st_size >> 10} KiB"


def _tracked() -> set[str]:
    """The files of the repository; none where this is no checkout."""
    if not (ROOT / ".git").exists():
        return set()
    return set(subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines())


def wheel(place: Place) -> str:
    """Build from the source distribution."""
    _build("build_wheel", _unpacked(place), place.dist)
    (found,) = place.dist.glob("*.whl")
    with zipfile.ZipFile(found) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    wanted = [path for path in (ROOT / "bookkeeper_twisted").rglob("*") if _is_packed(path)]
    wanted.append(ROOT / "twisted" / "plugins" / "bookkeeper_twisted_bookie.py")
    names = {str(path.relative_to(ROOT)): path for path in wanted}
    if wrong := [name for name, path in names.items() if packed.get(name) != path.read_bytes()]:
        raise Unexpected(f"without, or with other bytes: {sorted(wrong)}")
    return f"{len(names)} files as they are in the tree, {found.stat().st_size >> 10} KiB"


def _is_packed(path: Path) -> bool:
    return path.is_file() and path.suffix != ".pyc"


def _build(what: str, tree: Path, dist: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _BUILD, what, str(dist)], cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise Unexpected(done.stdout + done.stderr)


def _unpacked(place: Place) -> Path:
    (found,) = (place.base / "source").iterdir()
    return found


def install(place: Place) -> str:
    """Follow the page on installing, with the wheel that is built already in the place of that of ``make dist``."""
    (place.work / "dist").symlink_to(place.dist)
    count = place.reader.follow((ROOT / "docs" / "install.rst").read_text().replace("   $ make dist\n", ""))
    where = place.reader.run("python -c 'import bookkeeper_twisted; print(bookkeeper_twisted.__file__)'")
    if str(place.work) not in where:
        raise Unexpected(f"not what was built: {where}")
    return f"{count} commands"


def quickstart(place: Place) -> str:
    """Follow the quickstart: three styles, the shell, SIGKILL and rerun, a cluster in one process."""
    return f"{place.reader.follow((ROOT / 'docs' / 'quickstart.rst').read_text())} commands"


def readme(place: Place) -> str:
    """Type the commands of the README in a copy of the source, then run its programs, up to those of a cluster."""
    source = shutil.copytree(_unpacked(place), place.base / "readme")
    text, reader = (ROOT / "README.rst").read_text(), Reader(source, place.reader.environ)
    shown = blocks(text.partition(_CLUSTER)[0].replace(_ALL_TESTS, ""))
    typed = programs = 0
    try:
        for block in shown:
            typed += reader.do(block)
            if block.language == "python":
                programs += 1
                (reader.directory / "readme.py").write_text(block.text)
                if "0 b'" not in (printed := reader.run("python readme.py")):
                    raise Unexpected(printed)
    finally:
        reader.leave()
    if typed < 6 or programs < 3:
        raise Unexpected(f"{typed} commands and {programs} programs are too few: is the README another one?")
    return f"{typed} commands, {programs} programs"


def testing(place: Place) -> str:
    """Follow the page on testing an application."""
    return f"{place.reader.follow((ROOT / 'docs' / 'testing.rst').read_text())} commands"


def process_1(place: Place) -> str:
    """Run a bookie as the first process of a PID namespace, kill it, run it again in the same directory."""
    inside = "unshare --fork --kill-child --pid --mount-proc"
    if subprocess.run([*inside.split(), "true"], capture_output=True).returncode:
        raise Skipped("no PID namespaces here")
    options = f"bookie --data container {_LOCAL} --bookieId=c --bookiePort={free_port()}"
    for pidfile in ("--pidfile=", "--pidfile= "):
        server = place.reader.serve(f"{inside} twistd -n {pidfile} {options}")
        server.end(signal.SIGKILL)
    place.reader.servers.clear()
    return "killed and started again"


def dockerfile(place: Place) -> str:
    """Do what ``contrib/Dockerfile`` says, and run what it makes as process 1: killed, and started again."""
    image = Image(place.base / "image", _unpacked(place), place.reader.environ)
    try:
        if not image.possible():
            raise Skipped("this process may not mount a root of its own")
        if wrong := image.build((ROOT / "contrib" / "Dockerfile").read_text()):
            raise Unexpected(wrong)
        http = free_port()
        settings = {"BK_bookieId": "i", "BK_advertisedAddress": "127.0.0.1", "BK_allowLoopback": "true"}
        for life in range(2):
            settings |= {"BK_httpServerPort": str(http), "BK_bookiePort": "0"}
            server = place.reader.serve(image.run_command(**settings))
            if "Unable to" in server.output:
                raise Unexpected(server.output)
            place.reader.run(f"curl --silent --fail http://127.0.0.1:{http}/api/v1/bookie/is_ready | grep OK")
            place.reader.run(f"{image.health_command(**settings)} | grep OK")
            server.end(signal.SIGKILL if not life else signal.SIGTERM)
        place.reader.servers.clear()
        kept = Path(image.read(image.volume), "ledgers", "metadata.db")
        if not kept.exists() or not kept.stat().st_uid:
            raise Unexpected(f"the volume {image.volume} is not that of the user {image.user}")
    finally:
        image.remove()
    return "built, killed and started again"


def unit(place: Place) -> str:
    """Start a bookie as ``contrib/bookie.service`` does, with the directories of this hour."""
    text = (ROOT / "contrib" / "bookie.service").read_text()
    names = {
        "/opt/bookkeeper/venv": "venv", "/etc/bookkeeper/bk_server.conf": "service.conf",
        "/var/lib/bookkeeper": "service",
    }  # fmt: skip
    for name, ours in names.items():
        text = text.replace(name, f"{place.work}/{ours}")
    path = place.work / "bookie.service"
    path.write_text(text)
    keys = "advertisedAddress=127.0.0.1\nallowLoopback=true\nbookiePort=0\nbookieId=s\n"
    (place.work / "service.conf").write_text(keys)
    (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    place.reader.serve(command)
    place.reader.leave()
    if shutil.which("systemd-analyze") is None:
        return "starts; no systemd-analyze here"
    # What verify does not know is worth a line and no status.
    if complaints := place.reader.run(f"systemd-analyze verify {path} 2>&1"):
        raise Unexpected(complaints)
    return "starts; verified"


def hangup(place: Place) -> str:
    """Send SIGHUP to a bookie, which goes on."""
    server = place.reader.serve(f"twistd -n --pidfile= bookie --data hangup {_LOCAL} --bookieId=h --bookiePort=0")
    server.send(signal.SIGHUP)
    uri = "sqlite:///hangup/ledgers/metadata.db"
    place.reader.run(f"BK_metadataServiceUri={uri} bookkeeper-twisted shell simpletest -e 1 -w 1 -a 1 -n 10")
    place.reader.leave()
    return "still serves"


def java_files(place: Place) -> str:
    """Start with the files that Java's BookKeeper and Pulsar ship, metadata and addresses apart."""
    lines = []
    for name, facts in (("bookkeeper", BOOKKEEPER), ("pulsar", PULSAR)):
        (place.work / f"{name}.conf").write_text(as_file(facts))
        keys = f"--metadataServiceUri=sqlite:///{place.work}/{name}.db --data {name} --bookiePort=0 --bookieId={name}"
        keys += " --prometheusStatsHttpPort=0 --prometheusStatsHttpAddress=127.0.0.1"  # both files have port 8000
        place.reader.serve(f"twistd -n --pidfile= bookie --conf {name}.conf {keys} {_LOCAL}")
        lines.append(f"{name} {len(facts)} keys")
    place.reader.leave()
    return ", ".join(lines)


def refusals(place: Place) -> str:
    """Start what cannot work: one line that says why, status 1, and nothing left behind."""
    possible = [refusal for refusal in REFUSALS if _is_possible(refusal)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda refusal: _refused(place, refusal), possible))
    wrong = [text for text in found if text]
    if wrong:
        raise Unexpected("\n".join(wrong))
    left_out = [f"not possible here: {refusal.name}" for refusal in REFUSALS if refusal not in possible]
    return "; ".join([f"{len(found)} refusals", *left_out])


def _is_possible(refusal: Refusal) -> bool:
    return not subprocess.run(["bash", "-c", refusal.needs], capture_output=True).returncode


def zookeeper(place: Place) -> str:
    """Start on a ZooKeeper without a cluster: refused, naming the verb that makes one; then as the README says."""
    try:
        server = shared_zookeeper()
    except SkipTest as reason:
        raise Skipped(str(reason)) from None
    keys = f"metadataServiceUri={server.uri()}\njournalDirectory=zk/journal\nledgerDirectories=zk/ledgers\n"
    keys += "bookieId=z\nbookiePort=0\n" + _LOCAL.replace("--", "").replace(" ", "\n")
    (place.work / "bk_server.conf").write_text(keys)
    command = "twistd -n --pidfile= bookie --conf bk_server.conf"
    if wrong := _refused(place, Refusal("no cluster", f"cd {place.work} && {command}", "initnewcluster", locked=True)):
        raise Unexpected(wrong)
    (block,) = blocks((ROOT / "README.rst").read_text().partition(_CLUSTER)[2])
    place.reader.do(block)
    place.reader.run("bookkeeper-twisted shell -conf bk_server.conf simpletest -e 1 -w 1 -a 1 -n 10")
    place.reader.leave()
    return "refused, made, served"


def _refused(place: Place, refusal: Refusal) -> str:
    directory = place.base / "refusals" / refusal.name.replace(" ", "-")
    directory.mkdir(parents=True)
    for name, text in refusal.files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    before = sorted(directory.rglob("*"))
    done = subprocess.run(
        ["bash", "-c", refusal.command], cwd=directory, env=place.reader.environ, text=True, timeout=60,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != refusal.status or refusal.says not in done.stdout:
        return f"{refusal.name}: status {done.returncode} of {refusal.command}\n{done.stdout}"
    if "Traceback" in done.stdout:
        return f"{refusal.name}: a traceback\n{done.stdout}"
    left = sorted(set(directory.rglob("*")) - set(before))
    if refusal.locked:
        left = [path for path in left if path.is_file() and path.name != "LOCK"]
    return f"{refusal.name}: left behind {left}" if left else ""


_BETWEEN_REPORTS = "=" * 79 + "\n"
_FAILED = ("[FAIL]", "[ERROR]")
"""How trial's report of a test begins, unless it passed or was skipped."""


def tests_of_the_distribution(place: Place) -> str:
    """Run tests that came with the source distribution against the wheel."""
    place.reader.run(f"pip install --quiet --disable-pip-version-check {_TEST_LIBRARIES}")
    apart = place.base / "apart"
    apart.mkdir()
    for path in _unpacked(place).iterdir():
        if path.name not in _PACKAGES:
            (apart / path.name).symlink_to(path)
    done = subprocess.run(
        ["python", "-W", "error", "-m", "tests", *MODULES], cwd=apart, env=place.reader.environ, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    last = (done.stdout.splitlines() or [""])[-1]
    if done.returncode:
        failures = [each for each in done.stdout.split(_BETWEEN_REPORTS) if each.startswith(_FAILED)]
        raise Unexpected("".join([*failures, last]))
    return last


STEPS: Mapping[str, Step] = {
    "source distribution": source_distribution,
    "wheel from it": wheel,
    "docs/install": install,
    "docs/quickstart, three styles": quickstart,
    "README": readme,
    "docs/testing": testing,
    "process 1, SIGKILL, rerun": process_1,
    "contrib/Dockerfile": dockerfile,
    "contrib/bookie.service": unit,
    "SIGHUP": hangup,
    "Java's shipped files": java_files,
    "refusals": refusals,
    "ZooKeeper without a cluster": zookeeper,
    "its tests with the wheel": tests_of_the_distribution,
}
