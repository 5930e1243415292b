"""The machine a figure was measured on."""

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


@attrs.frozen
class Machine:
    """What decides over rates.

    :ivar sync_ms: median of one fdatasync of 4 KiB over blocks that exist.
    """

    cpu: str
    cores: int
    memory_gib: float
    python: str
    kernel: str
    sync_ms: float

    @classmethod
    def here(cls, folder: Path) -> "Machine":
        """This machine.

        :param folder: on the disk that is measured.
        """
        model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
        return cls(
            model[1] if model else platform.machine(), len(os.sched_getaffinity(0)), memory,
            platform.python_version(), platform.release(), sync_milliseconds(folder),
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
