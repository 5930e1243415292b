"""What a Spark application runs on: bookies, and the daemons of Spark."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.spark.reactor import THREAD
from examples.bookie_process import ROOT

from .cluster_case import CONFIG

_SPARK = "org.apache.spark"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_CONNECT = re.compile(r"Spark Connect server started at: \S+?:(\d+)$")


@contextmanager
def three_bookies(directory: Path) -> Iterator[str]:
    """Three bookies in this process; the URI of their metadata."""
    configs = standalone_configs(CONFIG, 3, str(directory))
    bookies = [make_bookie(THREAD.reactor, one) for one in configs]
    for bookie in bookies:
        THREAD.wait(bookie.start)
    try:
        yield configs[0].metadata_service_uri
    finally:
        for bookie in bookies:
            THREAD.wait(bookie.stop)


@contextmanager
def standalone(directory: Path) -> Iterator[str]:
    """A master and two workers with a core each, on two addresses of the loopback device; the URL of the master."""
    master = _Daemon("127.0.0.1", "deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    started = [master]
    try:
        url = master.says(_MASTER)
        for host in ("127.0.0.1", "127.0.0.2"):
            options = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(directory / host), url)
            started.append(_Daemon(host, "deploy.worker.Worker", "--host", host, *options))
            started[-1].drain()
        yield url
    finally:
        for daemon in reversed(started):
            daemon.stop()


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """A server of Spark Connect with two cores; its URL."""
    settings = {
        "spark.master": "local[2]", "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0",
    }  # fmt: skip
    file = directory / "connect.conf"
    file.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    name = f"{_SPARK}.sql.connect.service.SparkConnectServer"
    server = _Daemon(
        "127.0.0.1", "deploy.SparkSubmit", "--properties-file", str(file), "--class", name, "spark-internal",
        memory="600m",
    )  # fmt: skip
    try:
        yield f"sc://127.0.0.1:{server.says(_CONNECT)}"
    finally:
        server.stop()


class _Daemon:
    """A process of Spark's, with the launcher that comes with PySpark."""

    def __init__(self, host: str, name: str, *options: str, memory: str = "256m") -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        command = [str(home / "bin" / "spark-class"), f"{_SPARK}.{name}", *options]
        own = {
            "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": memory, "SPARK_LOCAL_IP": host,
            "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        environment = {**os.environ, **own}
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )

    def says(self, wanted: re.Pattern[str]) -> str:
        """Wait for a line of its log; the first group of the pattern."""
        assert self._process.stderr is not None
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if found := wanted.search(line):
                self.drain()
                return found[1]
        raise RuntimeError("".join(lines[-20:]))

    def drain(self) -> None:
        """Throw away what it says from now on."""
        assert self._process.stderr is not None
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()
