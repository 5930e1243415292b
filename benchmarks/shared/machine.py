"""The machine a figure was measured on."""

import mmap
import os
import platform
import re
import statistics
import tempfile
import time
from pathlib import Path

import attrs

_BLOCK = 4096
_SYNCS = 200
_PIECE = 1 << 20
_PIECES = 256
_STEAL = 8
"""Field of the first line of ``/proc/stat``; those before it and it make up the whole time."""


@attrs.frozen
class Machine:
    """What decides over rates.

    :ivar sync_ms: median of one fdatasync of 4 KiB over blocks that exist.
    :ivar disk_mib: MiB/s of durable writes of 1 MiB past the page cache, over blocks that exist.
    """

    cpu: str
    cores: int
    memory_gib: float
    python: str
    kernel: str
    sync_ms: float
    disk_mib: float

    @classmethod
    def here(cls, folder: Path) -> "Machine":
        """This machine.

        :param folder: on the disk that is measured.
        """
        model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
        return cls(
            model[1] if model else platform.machine(), len(os.sched_getaffinity(0)), memory,
            platform.python_version(), platform.release(), sync_milliseconds(folder), disk_rate(folder),
        )  # fmt: skip


def sync_milliseconds(folder: Path) -> float:
    """Median time of one fdatasync after a write of 4 KiB over blocks that exist."""
    times = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        os.pwrite(file.fileno(), bytes(_BLOCK * _SYNCS), 0)
        os.fsync(file.fileno())
        for i in range(_SYNCS):
            os.pwrite(file.fileno(), bytes([i]) * _BLOCK, i * _BLOCK)
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


def disk_rate(folder: Path, count: int = _PIECES) -> float:
    """MiB/s of ``count`` writes of 1 MiB that are durable one by one, past the page cache, over blocks that exist."""
    with tempfile.NamedTemporaryFile(dir=folder) as file, mmap.mmap(-1, _PIECE) as piece:
        fd = _open_durable(file.name)
        try:
            for _ in range(2):  # the first time makes the blocks
                begun = time.perf_counter()
                for i in range(count):
                    os.pwrite(fd, piece, i * _PIECE)
                seconds = time.perf_counter() - begun
        finally:
            os.close(fd)
    return count * _PIECE / (1 << 20) / seconds


def _open_durable(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_DSYNC | os.O_DIRECT)
    except OSError:  # a file system in memory knows nothing else
        return os.open(path, os.O_WRONLY | os.O_DSYNC)


def load_average() -> float:
    """Processes that ran or waited for a processor or the disk, a mean of the last minute."""
    return os.getloadavg()[0]


class Stolen:
    """Watches how much of the processors' time the host takes, from when it is made."""

    def __init__(self) -> None:
        self._begun = self._now()

    @staticmethod
    def _now() -> tuple[int, int]:
        ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1 : _STEAL + 1]))
        return ticks[-1], sum(ticks)

    def share(self) -> float:
        """Its share until now, 0 to 1."""
        (stolen, whole), (stolen_before, whole_before) = self._now(), self._begun
        return (stolen - stolen_before) / max(whole - whole_before, 1)


def forget_pages(path: str | Path) -> None:
    """Have the kernel write what it holds of a file and forget it: the next reader finds it on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
