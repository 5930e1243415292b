"""What benchmarks of Spark have in common: bookies in a process, a session, the memory of its processes."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_BOOKIES = """
import sys, threading
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.blocking.reactor_thread import ReactorThread

thread = ReactorThread()
config = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=16)
configs = standalone_configs(config, 3, sys.argv[1])
bookies = [make_bookie(thread.reactor, one) for one in configs]
for bookie in bookies:
    thread.wait(bookie.start)
print(configs[0].metadata_service_uri, flush=True)
sys.stdin.read()
for bookie in bookies:
    thread.wait(bookie.stop)
"""

_RESET_PEAK = "5"
"""What the kernel takes for the order to forget the peak of a process."""


@contextmanager
def three_bookies() -> Iterator[tuple[str, Path]]:
    """Three bookies in a process of their own: the URI of their metadata, and a directory that goes with them."""
    with tempfile.TemporaryDirectory(prefix="spark-") as directory:
        command = [sys.executable, "-c", _BOOKIES, directory]
        bookies = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert bookies.stdin is not None and bookies.stdout is not None
        try:
            yield bookies.stdout.readline().strip(), Path(directory)
        finally:
            bookies.stdin.close()
            bookies.wait(60)


def session(master: str) -> Any:
    """A Spark session on this machine.

    :param master: ``local[N]``, or ``local-cluster[EXECUTORS,CORES,MIB]`` with processes of their own.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR",
                "spark.python.unix.domain.socket.enabled": "true", "spark.driver.memory": "1g",
                "spark.executor.memory": "1g"}  # fmt: skip
    builder = SparkSession.builder.master(master).appName("benchmark")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def spark_processes() -> dict[str, list[int]]:
    """The processes of the session that this process started: ``driver``, ``JVM``, ``workers``."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended meanwhile
    family = [pid for pid, parent in parents.items() if parent == os.getpid() and _name(pid) == "java"]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
    machines = [pid for pid in family if _name(pid) == "java"]
    return {"driver": [os.getpid()], "JVM": machines, "workers": [pid for pid in family if pid not in machines]}


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def forget_peaks() -> None:
    """Let :func:`peaks` count from now on."""
    for pids in spark_processes().values():
        for pid in pids:
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)


def peaks() -> dict[str, int]:
    """The most memory in MiB that a process of each kind had resident at a time."""
    return {kind: max(map(_peak, pids), default=0) for kind, pids in spark_processes().items()}


def _peak(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return max((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")), default=0)
