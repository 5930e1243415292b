"""Starts the bookies to be measured as processes on loopback, and samples what they cost."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import attrs

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


@attrs.define
class Target:
    """One running bookie.

    :ivar started: seconds from the start of the process until its port accepted.
    """

    name: str
    process: subprocess.Popen[bytes]
    port: int
    http_port: int = 0
    started: float = 0.0

    def cpu_seconds(self) -> float:
        """User and system seconds of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mib(self) -> float:
        """Resident memory now."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+)", text, re.M)
        return int(found[1]) / 1024 if found else 0.0

    def metrics(self) -> dict[str, float]:
        """The unlabelled sum of every sample of ``/metrics``; empty for a bookie that is not ours."""
        if not self.http_port:
            return {}
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        totals: dict[str, float] = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                name = name.split("{", 1)[0]
                totals[name] = totals.get(name, 0.0) + (float(value) if value != "NaN" else 0.0)
        return totals

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _wait(name: str, process: subprocess.Popen[bytes], port: int, log: Path) -> float:
    begun = time.monotonic()
    while not accepts(port):
        if process.poll() is not None or time.monotonic() - begun > PATIENCE:
            tail = log.read_text(errors="replace")[-2000:]
            process.kill()
            raise RuntimeError(f"{name} did not start:\n{tail}")
        time.sleep(0.01)
    return time.monotonic() - begun


def _spawn(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[1]
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=root)


def start_ours(folder: Path, settings: dict[str, str]) -> Target:
    """A bookie of this package on embedded metadata."""
    folder.mkdir(parents=True)
    port, http_port = free_port(), free_port()
    values = {
        "bookiePort": str(port),
        "allowLoopback": "true",
        "advertisedAddress": "127.0.0.1",
        "metadataServiceUri": f"sqlite:///{folder}/metadata.db",
        "journalDirectories": f"{folder}/journal",
        "ledgerDirectories": f"{folder}/ledgers",
        "httpServerEnabled": "true",
        "httpServerPort": str(http_port),
        **settings,
    }
    conf = folder / "bookie.conf"
    conf.write_text("".join(f"{k}={v}\n" for k, v in values.items()))
    log = folder / "bookie.log"
    process = _spawn([sys.executable, "-m", "twisted", "--log-format", "text", "bookie", "--conf", str(conf)], log)
    return Target("ours", process, port, http_port, _wait("our bookie", process, port, log))


JVM = [
    "-Xmx1g", "-XX:MaxDirectMemorySize=1g", "-XX:+UseG1GC", "-Dio.netty.tryReflectionSetAccessible=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/java.util.zip=ALL-UNNAMED",
    "-Djava.net.preferIPv4Stack=true",
]  # fmt: skip


def _java(jars: Path, main: str, *arguments: str, heap: bool = True) -> list[str]:
    return ["java", *(JVM if heap else [*JVM[2:], "-Xmx256m"]), "-cp", f"{jars}/*", main, *arguments]


@contextlib.contextmanager
def apache(folder: Path, jars: Path) -> Iterator[Target]:
    """An Apache bookie at its defaults, with its own ZooKeeper; both end with the context."""
    folder.mkdir(parents=True)
    zk_port, port = free_port(), free_port()
    (folder / "zk").mkdir()
    (folder / "zoo.cfg").write_text(
        f"tickTime=2000\ndataDir={folder}/zk\nclientPort={zk_port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
    )
    uri = f"zk+hierarchical://127.0.0.1:{zk_port}/ledgers"
    (folder / "bookie.conf").write_text(
        f"metadataServiceUri={uri}\nbookiePort={port}\nallowLoopback=true\nadvertisedAddress=127.0.0.1\n"
        f"journalDirectories={folder}/journal\nledgerDirectories={folder}/ledgers\nhttpServerEnabled=false\n"
        "ledgerStorageClass=org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage\n"
        "dbStorage_writeCacheMaxSizeMb=128\ndbStorage_readAheadCacheMaxSizeMb=128\n"
        "dbStorage_rocksDB_blockCacheSize=268435456\n"
    )
    zookeeper = _spawn(
        _java(jars, "org.apache.zookeeper.server.ZooKeeperServerMain", str(folder / "zoo.cfg"), heap=False),
        folder / "zookeeper.log",
    )
    started: list[subprocess.Popen[bytes]] = [zookeeper]
    try:
        _wait("ZooKeeper", zookeeper, zk_port, folder / "zookeeper.log")
        shell = _java(jars, "org.apache.bookkeeper.bookie.BookieShell", "-conf", str(folder / "bookie.conf"))
        subprocess.run([*shell, "metaformat", "-n", "-f"], check=True, capture_output=True, timeout=60)
        command = _java(jars, "org.apache.bookkeeper.server.Main", "--conf", str(folder / "bookie.conf"))
        bookie = _spawn(command, folder / "bookie.log")
        started.append(bookie)
        yield Target("Apache", bookie, port, 0, _wait("the Apache bookie", bookie, port, folder / "bookie.log"))
    finally:
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def ours(folder: Path, settings: dict[str, str]) -> Iterator[Target]:
    """A bookie of this package that ends with the context."""
    target = start_ours(folder, settings)
    try:
        yield target
    finally:
        target.stop()

