"""A real ZooKeeper for tests and benchmarks: one server, on loopback, in a folder of its own."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import IO

from twisted.trial.unittest import SkipTest

from .java import java_command

_CONFIG = """tickTime=200
minSessionTimeout=400
maxSessionTimeout=60000
dataDir={folder}/data
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
"""
_OPTIONS = ("-Xmx256m", "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024")
_START_SECONDS = 60.0


class ZooKeeperServer:
    """One server.  It keeps its port and its data over :meth:`stop` and :meth:`start`.

    :ivar port: where it listens, on 127.0.0.1.
    :ivar pid: of the running process, 0 while there is none.
    :param more: lines of its configuration.
    """

    def __init__(self, folder: Path, more: str = "") -> None:
        self._more = more
        self.port = free_port()
        self.pid = 0
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._roots = count(1)

    @property
    def hosts(self) -> str:
        """What a ZooKeeper client connects to."""
        return f"127.0.0.1:{self.port}"

    def uri(self, root: str = "/ledgers", kind: str = "hierarchical") -> str:
        """The metadata service URI of a cluster."""
        return f"zk+{kind}://{self.hosts}{root}"

    def new_root(self) -> str:
        """A root that no other test has; nothing is there yet."""
        return f"/root{next(self._roots)}"

    def start(self) -> None:
        """Starts the server and waits until it runs.

        :raises SkipTest: Java or the jars are missing.
        """
        config = self._folder / "zoo.cfg"
        config.write_text(_CONFIG.format(folder=self._folder, port=self.port) + self._more)
        command = java_command("org.apache.zookeeper.server.ZooKeeperServerMain", str(config), options=_OPTIONS)
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd=self._folder
            )
        self.pid = self._process.pid
        assert self._process.stdout is not None
        if not _line_within(self._process.stdout, self._process.pid):
            self.stop()
            raise AssertionError(f"ZooKeeper does not start: {(self._folder / 'log').read_text()[-1000:]}")

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Ends the server; harmless if there is none."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process, self.pid = None, 0


@lru_cache(maxsize=1)
def shared_zookeeper() -> ZooKeeperServer:
    """The running server of this test run; it ends with the process.

    :raises SkipTest: Java or the jars are missing.
    """
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-twisted-zookeeper-"))
    server = ZooKeeperServer(folder)
    try:
        server.start()
    except SkipTest:
        shutil.rmtree(folder)
        raise
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)
    return server


def _line_within(output: IO[bytes], pid: int) -> bool:
    """Whether a process writes a line before it ends, and before its time is over, which ends it."""
    timer = threading.Timer(_START_SECONDS, os.kill, (pid, signal.SIGKILL))
    timer.daemon = True
    timer.start()
    line = output.readline()
    timer.cancel()
    return bool(line)


def free_port() -> int:
    """A port of 127.0.0.1 that is free at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
