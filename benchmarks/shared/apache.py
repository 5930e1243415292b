"""Apache's bookie and the ZooKeeper that both sides register with.

Jars come from the folder that is named, or through Maven as the tests of interoperation have them; so do the
ZooKeeper server and the Java programs.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
from kazoo.client import KazooClient
from twisted.trial.unittest import SkipTest

from .java import classes, jars, java_command
from .processes import ROOT, Bookie, common_settings, free_port, launch, write_properties
from .zookeeper import ZooKeeperServer, shared_zookeeper

FULL_COMPILER = ("-XX:+UseG1GC",)
_BOOKIE = ("-Xmx1g", "-XX:MaxDirectMemorySize=1g")
_CLIENT = ("-Xmx1g",)

NO_COLLECTION = {"gcWaitTime": "86400000", "minorCompactionInterval": "0", "majorCompactionInterval": "0"}
"""Settings of any bookie that is measured: ledgers that are only ids to a generator would be collected as deleted."""

_DEFAULTS = {
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": "128",
    "dbStorage_readAheadCacheMaxSizeMb": "128",
    # A tenth of the direct memory, the default, does not hold the filters of its index.
    "dbStorage_rocksDB_blockCacheSize": str(256 << 20),
    **NO_COLLECTION,
}

CONFIGURATIONS: dict[str, dict[str, str]] = {
    "java": {},
    "tuned": {
        "journalMaxGroupWaitMSec": "1",
        "journalFlushWhenQueueEmpty": "true",
        "numAddWorkerThreads": "0",
        "numReadWorkerThreads": "0",
    },
    "sorted": {"ledgerStorageClass": "org.apache.bookkeeper.bookie.SortedLedgerStorage"},
}
"""Apache's bookie by the name of its configuration: the defaults, the best for few requests in flight, and the
best for random reads."""


class NoApacheError(Exception):
    """Apache's side cannot be had; the message says what is missing."""


def java_client_command(uri: str, mode: str, **options: object) -> list[str]:
    """The command line of ``tests/java/Measure.java``."""
    words = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
    return java_command("Measure", uri, mode, *words, options=_CLIENT, classes=classes(), tuning=FULL_COMPILER)


def version() -> str:
    """Of Apache's jars."""
    (jar,) = jars().glob("*bookkeeper-server-[0-9]*.jar")
    return jar.stem.rpartition("-")[2]


@attrs.frozen
class ZooKeeper:
    """The ZooKeeper both sides use, and what is registered there."""

    server: ZooKeeperServer
    _client: Any

    @classmethod
    def start(cls, folder: Path | None) -> "ZooKeeper":
        """Starts it; it ends with this process.

        :param folder: of Apache's jars; None: through Maven.
        :raises NoApacheError: Java or the jars are missing.
        """
        if folder is not None:
            os.environ["BOOKKEEPER_JARS"] = str(folder.resolve())
        try:
            server = shared_zookeeper()
            classes()
        except SkipTest as missing:
            raise NoApacheError(str(missing)) from None
        client = KazooClient(server.hosts)
        client.start()
        return cls(server, client)

    def close(self) -> None:
        """Ends our session."""
        self._client.stop()
        self._client.close()

    def new_cluster(self, folder: Path) -> str:
        """Makes the metadata of an empty cluster.

        :param folder: for a configuration file.
        :returns: its root.
        """
        root = self.server.new_root()
        conf = write_properties(folder / "cluster.conf", {"metadataServiceUri": self.server.uri(root)})
        command = [sys.executable, "-m", "bookkeeper_twisted", "shell", "-conf", str(conf), "initnewcluster"]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        return root

    def registered(self, root: str, port: int) -> Callable[[], bool]:
        """A test whether a bookie is registered."""
        return lambda: self._client.exists(f"{root}/available/127.0.0.1:{port}") is not None

    def forget(self, root: str, port: int) -> None:
        """Removes the registration a killed bookie left, as ZooKeeper does when its session ends."""
        self._client.delete(f"{root}/available/127.0.0.1:{port}")


def start_apache(name: str, folder: Path, settings: Mapping[str, str], port: int, serves: Callable[[], bool]) -> Bookie:
    """Apache's bookie in one of its :data:`CONFIGURATIONS`.

    :param folder: made if it is not there; else the bookie finds what it left.
    :param settings: for our bookie and Apache's alike.
    """
    folder.mkdir(parents=True, exist_ok=True)
    values = {**common_settings(folder, port), **_DEFAULTS, **CONFIGURATIONS[name], **settings}
    http_port = free_port() if settings.get("httpServerEnabled") == "true" else 0
    if http_port:
        values |= {"httpServerPort": str(http_port), "httpServerClass": "PlainHttpServer"}
    conf = write_properties(folder / "bookie.conf", values)
    options = (*_BOOKIE, f"-Djava.io.tmpdir={folder}")  # a killed one leaves the native libraries it unpacked
    command = java_command(
        "org.apache.bookkeeper.server.Main", "--conf", str(conf), options=options, classes=classes(),
        tuning=FULL_COMPILER,
    )  # fmt: skip
    return launch(name, command, folder, port, serves, http_port)
