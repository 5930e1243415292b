"""Apache BookKeeper's shell, each command in a process of its own."""

import subprocess
from pathlib import Path

import attrs

from benchmarks.shared.java import java_command

_LOG = Path(__file__).parent.parent / "java" / "log4j2-shell.xml"
_OPTIONS = ("-Xmx256m", "-XX:MaxDirectMemorySize=256m", f"-Dlog4j.configurationFile={_LOG}")
_SECONDS = 60


@attrs.frozen
class Said:
    """What a command did.

    :ivar output: of stdout.
    :ivar errors: of stderr.
    """

    status: int
    output: str
    errors: str


def run_shell(conf: Path, *arguments: object) -> Said:
    """Runs a command to its end.

    :param conf: the configuration file of the bookie it is for.
    :raises SkipTest: Java or the jars are missing.
    """
    words = ["-conf", str(conf), *map(str, arguments)]
    command = java_command("org.apache.bookkeeper.bookie.BookieShell", *words, options=_OPTIONS)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS)
    return Said(done.returncode, done.stdout, done.stderr)
