"""System calls of a bookie for 1,000 acknowledged adds, counted by strace, which slows it: nothing is timed."""

import re
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import attrs

from ..shared.loads import Generator, Ledgers, measure
from ..shared.processes import Bookie, family
from ..shared.workloads import Workload
from .targets import SYNCS_PER_1000, WRITES_PER_1000

CALLS = ("socket writes", "fdatasync", "fsync", "file writes")

ADDS = 20_000
_TRACED = "write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2,fsync,fdatasync"
_ATTACH_SECONDS = 2.0
_LINE = re.compile(r"\d+\s+(\w+)\(\d+<([^>]*)>")


@attrs.frozen
class Counts:
    """Calls for 1,000 adds.

    :ivar per_1000: by the names in :data:`CALLS`.
    """

    per_1000: dict[str, float]

    @property
    def met(self) -> bool:
        """Whether the targets were.  A file write may be durable by itself, so all of them count as syncs."""
        syncs = self.per_1000["fdatasync"] + self.per_1000["fsync"] + self.per_1000["file writes"]
        return self.per_1000["socket writes"] <= WRITES_PER_1000 and syncs <= SYNCS_PER_1000


def count(lines: Iterable[str], adds: int) -> Counts:
    """Sorts what strace printed with ``-f -yy``; a call that was interrupted in print counts where it began."""
    calls = dict.fromkeys(CALLS, 0)
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        call, where = found.groups()
        if call in ("fsync", "fdatasync"):
            calls[call] += 1
        elif where.startswith(("TCP", "socket")):
            calls["socket writes"] += 1
        elif where.startswith("/"):
            calls["file writes"] += 1
    return Counts({call: n / adds * 1000 for call, n in calls.items()})


def trace(bookie: Bookie, generator: Generator, ledgers: Ledgers, wire: int, folder: Path) -> Counts:
    """Drives a bookie with adds of 1 KiB, 1,000 in flight.

    :param folder: for the trace.
    :raises FileNotFoundError: strace is not installed.
    """
    out = folder / "strace.out"
    pids = [word for pid in family(bookie.process.pid) for word in ("-p", str(pid))]
    tracer = subprocess.Popen(
        ["strace", "-f", "-yy", "-qq", "-s", "0", "-e", f"trace={_TRACED}", "-e", "signal=none", "-o", str(out), *pids],
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(_ATTACH_SECONDS)
        before = out.stat().st_size
        work = Workload("", "add", 1024, 1000, 0, ADDS, wire=wire)
        measure(generator.add(work, [bookie], wire, ledgers.fresh()), [bookie])
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
    with out.open(errors="replace") as lines:
        lines.seek(before)
        counts = count(lines, ADDS)
    out.unlink()
    return counts
