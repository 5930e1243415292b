"""A cluster of our bookies and Apache's on one ZooKeeper, with a Java client beside it; shared by the tests.

All processes are started once, on loopback, in one temporary folder, and end with the test run.
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from urllib.request import urlopen

from benchmarks.shared.java import java_command
from benchmarks.shared.zookeeper import free_port, shared_zookeeper

from .java_client import JavaClient

COUNT = 3
"""Bookies of each side."""

_ROOT = Path(__file__).resolve().parent.parent.parent
_OURS = (sys.executable, "-c", "from twisted.scripts.twistd import run; run()", "-n", "--pidfile=")
_BATCH_READS = re.compile(r'^bookkeeper_server_BATCH_READ_ENTRY_REQUEST_count\{success="true"\} (\d+)$', re.MULTILINE)
APACHE_OPTIONS = ("-Xmx256m", "-XX:MaxDirectMemorySize=256m")
APACHE_VALUES = {
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": 16,
    "dbStorage_readAheadCacheMaxSizeMb": 16,
    "dbStorage_rocksDB_blockCacheSize": 1 << 23,
    "journalMaxSizeMB": 16,
    "journalPreAllocSizeMB": 1,
    "journalMaxGroupWaitMSec": 0,
    "logSizeLimit": 1 << 26,
    "numAddWorkerThreads": 1,
    "numReadWorkerThreads": 1,
    "serverNumIOThreads": 1,
    "listeningInterface": "lo",
    "httpServerEnabled": "false",
}


class Cluster:
    """See the module.

    :ivar uri: of the metadata.
    :ivar java: the Java client.
    :ivar ours: ids of our bookies.
    :ivar apache: ids of Apache's.
    :ivar conf: the configuration of our first bookie, in a file for Apache's tools.
    :param values: more of the configuration of all bookies and tools.
    :param java_properties: of all processes of Java.
    :param count: bookies of each side.
    :param host: the name or address of this machine that bookies register.
    """

    def __init__(
        self, uri: str, folder: Path, values: Mapping[str, object] = MappingProxyType({}),
        java_properties: Mapping[str, object] = MappingProxyType({}), count: int = COUNT, host: str = "127.0.0.1",
    ) -> None:  # fmt: skip
        self.uri = uri
        self.ours: list[str] = []
        self.apache: list[str] = []
        self.conf = folder / "tools.conf"
        self.java = JavaClient(uri, folder / "client.log", values={**values, **java_properties})
        self._folder = folder
        self._values = values
        self._java_properties = java_properties
        self._count = count
        self._host = host
        self._http_ports: list[int] = []
        self._commands: dict[str, list[str]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Makes an empty cluster and starts the bookies."""
        assert self.java.call_now("initialize")["made"]
        for _ in range(self._count):
            self._start_apache()
        for _ in range(self._count):
            port = free_port()
            self._start_ours(port, f"{self._host}:{port}")
        self.conf.write_text(properties(self._common(int(self.ours[0].rpartition(":")[2]))))
        self.java.call_now("await", client="reader", wire=3, count=2 * self._count)

    def stop(self) -> None:
        """Ends everything that was started; harmless if it was not."""
        self.java.stop()
        for bookie_id in list(self._processes):
            self.kill(bookie_id)

    def kill(self, bookie_id: str) -> None:
        """Ends a bookie without warning; harmless if it does not run."""
        process = self._processes.pop(bookie_id, None)
        if process is not None:
            process.kill()
            process.wait()

    def killed(self) -> set[str]:
        """Ids of the bookies that do not run."""
        return {bookie_id for bookie_id, process in self._processes.items() if process.poll() is not None} | {
            bookie_id for bookie_id in self._commands if bookie_id not in self._processes
        }

    def empty(self, bookie_id: str) -> None:
        """Removes what a bookie that was killed keeps, as if its disks were new."""
        port = bookie_id.rpartition(":")[2]
        for name in (f"journal-{port}", f"ledgers-{port}"):
            shutil.rmtree(self._folder / name)

    def restart(self, bookie_id: str) -> None:
        """Starts a bookie again that was killed; its directories are as they were."""
        if bookie_id not in self._processes:
            self._spawn(bookie_id, self._commands[bookie_id])

    def start_autorecovery(self, side: str, values: Mapping[str, object] = MappingProxyType({})) -> str:
        """Start an auditor and a replication worker in a process of their own; return the name to :meth:`kill` it by.

        :param side: whose it is: ``ours``, else Apache's.
        :param values: more of its configuration.
        """
        port = free_port()
        conf = self._folder / f"recovery-{port}.conf"
        conf.write_text(properties({**self._common(port), **values}))
        if side == "ours":
            command = [*_OURS, "autorecovery", "--conf", str(conf)]
        else:
            command = self._java("org.apache.bookkeeper.replication.AutoRecoveryMain", conf)
        name = f"recovery:{port}"
        self._spawn(name, command)
        return name

    def batch_reads(self) -> int:
        """How many batch reads our bookies have answered; blocks."""
        total = 0
        for port in self._http_ports:
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                found = _BATCH_READS.search(answer.read().decode())
            assert found is not None
            total += int(found[1])
        return total

    def log(self) -> str:
        """What the processes said of their troubles, for a report."""
        return "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in sorted(self._folder.glob("*.log")))

    def start_ours(self, port: int, bookie_id: str, **values: object) -> None:
        """Starts another bookie of ours.

        :param values: more of its configuration.
        """
        self._start_ours(port, bookie_id, {"bookieId": bookie_id, **values})
        count = len(self.ours) + len(self.apache)
        self.java.call_now("await", client="reader", wire=3, count=count)

    def _start_ours(self, port: int, bookie_id: str, values: Mapping[str, object] = MappingProxyType({})) -> None:
        self.ours.append(bookie_id)
        self._http_ports.append(free_port())
        options = {
            **self._common(port),
            "listeningInterface": "127.0.0.1",
            "httpServerEnabled": "true",
            "httpServerHost": "127.0.0.1",
            "httpServerPort": self._http_ports[-1],
            "journalMaxSizeMB": 16,
            "journalPreAllocSizeMB": 1,
            **values,
        }
        self._spawn(self.ours[-1], [*_OURS, "bookie", *(f"--{key}={value}" for key, value in options.items())])

    def _start_apache(self) -> None:
        port = free_port()
        self.apache.append(f"{self._host}:{port}")
        conf = self._folder / f"apache-{port}.conf"
        conf.write_text(properties({**self._common(port), **APACHE_VALUES}))
        self._spawn(self.apache[-1], self._java("org.apache.bookkeeper.server.Main", conf))

    def _java(self, main: str, conf: Path) -> list[str]:
        # a bookie that is killed leaves its native libraries where it unpacked them
        given = {"java.io.tmpdir": self._folder, **self._java_properties}
        options = (*APACHE_OPTIONS, *(f"-D{key}={value}" for key, value in given.items()))
        return java_command(main, "--conf", str(conf), options=options)

    def _common(self, port: int) -> dict[str, object]:
        return {
            "metadataServiceUri": self.uri,
            "bookiePort": port,
            "advertisedAddress": self._host,
            "allowLoopback": "true",
            "journalDirectories": self._folder / f"journal-{port}",
            "ledgerDirectories": self._folder / f"ledgers-{port}",
            **self._values,
        }

    def _spawn(self, bookie_id: str, command: list[str]) -> None:
        self._commands[bookie_id] = command
        more = os.environ.get("PYTHONPATH")
        environ = {**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{more}" if more else str(_ROOT)}
        kind, _, port = bookie_id.rpartition(":")
        side = "ours" if bookie_id in self.ours else "apache" if bookie_id in self.apache else kind
        with open(self._folder / f"{side}-{port}.log", "ab") as log:
            self._processes[bookie_id] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=_ROOT, env=environ
            )


def properties(values: Mapping[str, object]) -> str:
    """The text of a configuration file."""
    return "".join(f"{key}={value}\n" for key, value in values.items())


@lru_cache(maxsize=1)
def shared_cluster() -> Cluster:
    """The running cluster of this test run.

    :raises SkipTest: Java or the jars are missing.
    """
    return running_cluster({})


def running_cluster(
    values: Mapping[str, object], java_properties: Mapping[str, object] = MappingProxyType({}), count: int = COUNT,
    host: str = "127.0.0.1",
) -> Cluster:  # fmt: skip
    """A cluster that runs until the end of the test run.

    :param values: more of the configuration of all bookies and tools.
    :param java_properties: of all processes of Java.
    :param count: bookies of each side.
    :param host: the name or address of this machine that bookies register.
    :raises SkipTest: Java or the jars are missing.
    """
    zookeeper = shared_zookeeper()
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-twisted-interop-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    cluster = Cluster(zookeeper.uri(zookeeper.new_root()), folder, values, java_properties, count, host)
    atexit.register(cluster.stop)
    try:
        cluster.start()
    except Exception as error:
        raise AssertionError(f"the cluster does not start: {error}\n{cluster.log()}") from error
    return cluster
