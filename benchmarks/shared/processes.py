"""Starts our bookies as processes on loopback, and samples what a bookie of either kind costs."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from bookkeeper_twisted.codec.v2.requests_out import encode_reads

ROOT = Path(__file__).parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0
_PROBE = encode_reads(0, [0])  # an entry that nobody has


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses at the moment."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Whether a bookie answers a request; one that only listens may still close its connections."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as s:
        s.sendall(_PROBE)
        return bool(s.recv(1))
    return False


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    found = [pid]
    for each in found:
        found.extend(children.get(each, ()))
    return found


def cpu_seconds(process: int) -> float:
    """User and system seconds of a process and its descendants so far, by the clock of each; exact to microseconds."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in family(process))  # clock_getcpuclockid(3)


@attrs.define
class Bookie:
    """One running bookie.

    :ivar started: seconds from the start of the process until it served.
    """

    name: str
    process: "subprocess.Popen[bytes]"
    port: int
    http_port: int = 0
    started: float = 0.0

    def cpu_seconds(self) -> float:
        """User and system seconds of the process and its descendants so far."""
        return cpu_seconds(self.process.pid)

    def resident_mib(self) -> float:
        """Resident memory of the process and its descendants now."""
        kib = 0
        for pid in family(self.process.pid):
            found = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
            kib += int(found[1]) if found else 0
        return kib / 1024

    def metrics(self) -> dict[str, float]:
        """The unlabelled sum of every sample of ``/metrics``; empty for a bookie without an HTTP server."""
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
        """Ends it in order; harmless if it has ended."""
        end(self.process)

    def kill(self) -> None:
        """Ends it as a power failure of the process would: with all its descendants, at once."""
        for pid in family(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


def end(process: "subprocess.Popen[bytes]") -> None:
    """SIGTERM, and SIGKILL for one that does not obey; harmless if it has ended."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def launch(
    name: str, command: list[str], folder: Path, port: int, serves: Callable[[], bool], http_port: int = 0,
    tree: Path = ROOT,
) -> Bookie:  # fmt: skip
    """Starts a bookie and waits until it serves.

    :param folder: where it keeps its files, and gets a log.
    :param tree: the source tree whose modules Python finds first.
    :raises RuntimeError: it did not start; the message has the end of its log.
    """
    log = folder / "bookie.log"
    # keep compiled modules, as an installed package has them: else each start would compile hundreds of modules
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.monotonic()
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=tree, env=environment
        )  # fmt: skip
    while not (answers(port) and serves()):
        if process.poll() is not None or time.monotonic() - begun > PATIENCE:
            end(process)
            raise RuntimeError(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.01)
    return Bookie(name, process, port, http_port, time.monotonic() - begun)


def write_properties(path: Path, values: Mapping[str, object]) -> Path:
    """Writes a configuration file, and returns its path."""
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path


def common_settings(folder: Path, port: int) -> dict[str, str]:
    """The settings that every bookie on loopback wants."""
    return {
        "bookiePort": str(port),
        "allowLoopback": "true",
        "advertisedAddress": "127.0.0.1",
        "journalDirectories": f"{folder}/journal",
        "ledgerDirectories": f"{folder}/ledgers",
    }


def python_of(tree: Path) -> str:
    """The Python that runs the code of a source tree: that of its ``.venv``, if it is another tree that has one.

    So two trees of one commit compare two builds of Python.
    """
    python = tree / ".venv" / "bin" / "python"
    return str(python) if tree != ROOT and python.exists() else sys.executable


def start_ours(
    folder: Path, settings: Mapping[str, str], port: int = 0, serves: Callable[[], bool] = lambda: True,
    module: str = "twisted", name: str = "ours", tree: Path = ROOT,
) -> Bookie:  # fmt: skip
    """A bookie of this package, on embedded metadata if the settings do not say otherwise.

    :param folder: made if it is not there; else the bookie finds what it left.
    :param port: 0: any.
    :param serves: whether it does, beyond answering.
    :param module: what is run, with the arguments of ``python -m twisted``.
    :param tree: the source tree it is of.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port, http_port = port or free_port(), free_port()
    values = {
        **common_settings(folder, port),
        "metadataServiceUri": f"sqlite:///{folder}/metadata.db",
        "httpServerEnabled": "true",
        "httpServerPort": str(http_port),
        **settings,
    }
    conf = write_properties(folder / "bookie.conf", values)
    command = [python_of(tree), "-m", module, "--log-format", "text", "bookie", "--conf", str(conf)]
    has_http = values["httpServerEnabled"] == "true"
    return launch(name, command, folder, port, serves, http_port if has_http else 0, tree)
