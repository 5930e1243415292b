"""Find Java, and the jars of Apache BookKeeper and ZooKeeper, or of Pulsar's metadata drivers.

The jars are those in the folder that ``BOOKKEEPER_JARS``, or ``PULSAR_JARS``, names, or else are fetched once by Maven
(``tests/java/pom.xml`` and ``tests/java/pulsar/pom.xml``, 110 MB each) into a cache folder.  Where Java, or both, are
missing, the tests that want them are skipped with the reason.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import attrs
from twisted.trial.unittest import SkipTest

_OURS = Path(__file__).parents[2] / "tests" / "java"
_CACHE = Path.home() / ".cache" / "bookkeeper-twisted"
_OPTIONS = (
    "-Dio.netty.tryReflectionSetAccessible=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.util.zip=ALL-UNNAMED",
    "-Djava.net.preferIPv4Stack=true",
    f"-Dlog4j.configurationFile={_OURS / 'log4j2.xml'}",
)


@attrs.frozen
class Jars:
    """The jars of one project, and our programs on top of them.

    :ivar sources: the folder of the programs and of ``pom.xml``.
    :ivar variable: of the environment, with a folder of jars.
    :ivar name: of the folders in the cache.
    """

    sources: Path
    variable: str
    name: str


BOOKKEEPER = Jars(_OURS, "BOOKKEEPER_JARS", "")
PULSAR = Jars(_OURS / "pulsar", "PULSAR_JARS", "pulsar-")
_SHORT_LIVED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def java_command(
    main: str, *arguments: str, options: tuple[str, ...] = (), classes: Path | None = None,
    tuning: tuple[str, ...] = _SHORT_LIVED, kit: Jars = BOOKKEEPER,
) -> list[str]:  # fmt: skip
    """The command line of a Java main class with BookKeeper and ZooKeeper, or Pulsar's drivers, on its class path.

    :param options: for the JVM, after our own.
    :param classes: a folder of classes that comes before the jars.
    :param tuning: collector and compiler; if not given, those for a process that lives for seconds.
    :raises SkipTest: Java or the jars are missing.
    """
    path = f"{jars(kit)}/*" if classes is None else f"{classes}{os.pathsep}{jars(kit)}/*"
    return [_program("java"), *_OPTIONS, *tuning, *options, "-cp", path, main, *arguments]


@lru_cache
def jars(kit: Jars = BOOKKEEPER) -> Path:
    """The folder with the jars.

    :raises SkipTest: there is none, and Maven cannot fetch it.
    """
    given = os.environ.get(kit.variable)
    folder = Path(given) if given else _CACHE / f"{kit.name}jars"
    if not given and not folder.exists():
        _fetch(folder, kit)
    if not list(folder.glob("zookeeper-[0-9]*.jar")):
        raise SkipTest(f"no jars of ZooKeeper in {folder}")
    return folder


@lru_cache
def classes(kit: Jars = BOOKKEEPER) -> Path:
    """The folder with the programs of ``tests/java``, or one below it, compiled anew whenever one of them has changed.

    :raises SkipTest: Java, its compiler or the jars are missing.
    """
    sources = sorted(kit.sources.glob("*.java"))
    version = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = _CACHE / f"{kit.name}classes-{version}"
    if folder.exists():
        return folder
    command = [_program("javac"), "-cp", f"{jars(kit)}/*"]
    _CACHE.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix="classes.", dir=_CACHE))
    try:
        subprocess.run([*command, "-d", str(part), *map(str, sources)], check=True)
        part.rename(folder)
    except OSError:  # another run was faster
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _fetch(folder: Path, kit: Jars) -> None:
    """Fills the folder, which exists only once it is complete."""
    part = folder.with_name(f"jars.{os.getpid()}")
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
    done = subprocess.run(
        [_program("mvn"), "--batch-mode", "--quiet", "--file", str(kit.sources / "pom.xml"), *goal],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        raise SkipTest(f"Maven cannot fetch the jars for {kit.sources}: {done.stdout.strip()[-500:]}")
    try:
        part.rename(folder)
    except OSError:  # another run was faster
        shutil.rmtree(part)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SkipTest(f"{name} is not installed")
    return found
