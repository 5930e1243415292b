"""Where tests find Java and the jars of Apache BookKeeper and ZooKeeper.

The jars are those in the folder that ``BOOKKEEPER_JARS`` names, or else are fetched once by Maven
(``tests/java/pom.xml``, 110 MB) into a cache folder.  Where Java, or both, are missing, the tests that
want them are skipped with the reason.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from twisted.trial.unittest import SkipTest

_OURS = Path(__file__).parent.parent / "java"
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
_SHORT_LIVED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def java_command(
    main: str, *arguments: str, options: tuple[str, ...] = (), classes: Path | None = None,
    tuning: tuple[str, ...] = _SHORT_LIVED,
) -> list[str]:  # fmt: skip
    """The command line of a Java main class with BookKeeper and ZooKeeper on its class path.

    :param options: for the JVM, after our own.
    :param classes: a folder of classes that comes before the jars.
    :param tuning: collector and compiler; if not given, those for a process that lives for seconds.
    :raises SkipTest: Java or the jars are missing.
    """
    path = f"{jars()}/*" if classes is None else f"{classes}{os.pathsep}{jars()}/*"
    return [_program("java"), *_OPTIONS, *tuning, *options, "-cp", path, main, *arguments]


@lru_cache(maxsize=1)
def jars() -> Path:
    """The folder with the jars.

    :raises SkipTest: there is none, and Maven cannot fetch it.
    """
    given = os.environ.get("BOOKKEEPER_JARS")
    folder = Path(given) if given else _CACHE / "jars"
    if not given and not folder.exists():
        _fetch(folder)
    if not list(folder.glob("zookeeper-[0-9]*.jar")):
        raise SkipTest(f"no jars of ZooKeeper in {folder}")
    return folder


@lru_cache(maxsize=1)
def classes() -> Path:
    """The folder with the programs of ``tests/java``, compiled anew whenever one of them has changed.

    :raises SkipTest: Java, its compiler or the jars are missing.
    """
    sources = sorted(_OURS.glob("*.java"))
    version = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = _CACHE / f"classes-{version}"
    if folder.exists():
        return folder
    command = [_program("javac"), "-cp", f"{jars()}/*"]
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


def _fetch(folder: Path) -> None:
    """Fills the folder, which exists only once it is complete."""
    part = folder.with_name(f"jars.{os.getpid()}")
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
    done = subprocess.run(
        [_program("mvn"), "--batch-mode", "--quiet", "--file", str(_OURS / "pom.xml"), *goal],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        raise SkipTest(f"Maven cannot fetch the jars of BookKeeper: {done.stdout.strip()[-500:]}")
    try:
        part.rename(folder)
    except OSError:  # another run was faster
        shutil.rmtree(part)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SkipTest(f"{name} is not installed")
    return found
