"""How many times a bookie copies the bytes of an add, from the socket's buffer to the write of its entry log.

``python -m benchmarks copies [--tree DIRECTORY ...]`` prints JSON: by size of the entries and protocol, the bytes that
the bookie copied in user space, divided by the bytes of the payloads.  A library in C (``copies.c``) stands before the
C library's ``memcpy`` and ``memmove`` and counts; it needs a C compiler.  It counts from the first add after the
warm-up to the end of the bookie, so that all entries are in entry logs.  What the kernel copies is not counted.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

from ..shared.loads import Generator, Ledgers, measure
from ..shared.processes import ROOT, start_ours
from ..shared.workloads import Workload

SIZES = (100, 1024, 10_240, 65_536)
IN_FLIGHT = 1000
N_BYTES = 1024 * 1024 * 1024
"""Payload bytes of a figure: what a bookie copies once is lost in rounding."""

MOST_ADDS = 1_000_000
COMPILER = "cc"
_SOURCE = Path(__file__).with_suffix(".c")
_COUNT = struct.Struct("@q")


class Counter:
    """Counts the bytes copied by each process that is started within :meth:`counting`.

    :param folder: for the library and the file with the count.
    :raises OSError: there is no such compiler.
    :raises subprocess.CalledProcessError: it cannot make the library.
    """

    def __init__(self, folder: Path) -> None:
        self._library, self._file = folder.resolve() / "copies.so", folder.resolve() / "copied"
        command = [COMPILER, "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", str(self._library), str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
        self._file.write_bytes(bytes(_COUNT.size))

    def counting(self) -> AbstractContextManager[object]:
        """Have the processes counted that are started within the context."""
        return patch.dict(os.environ, LD_PRELOAD=str(self._library), COPIED_BYTES=str(self._file))

    def n_bytes(self) -> int:
        """Bytes that these processes have copied so far."""
        count: int = _COUNT.unpack(self._file.read_bytes())[0]
        return count


def copies(counter: Counter, tree: Path, size: int, wire: int, n_bytes: int = N_BYTES) -> float:
    """Bytes copied for each byte of payload.

    :param tree: the source tree of the bookie.
    :param size: bytes of an entry's payload.
    :param wire: version of the protocol, 2 or 3.
    :param n_bytes: payload bytes of the figure.
    """
    adds = min(n_bytes // size, MOST_ADDS)
    before: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        with counter.counting():
            bookie = start_ours(Path(name, "bookie"), {"httpServerEnabled": "false"}, tree=tree)
        try:
            work = Workload("", "add", size, IN_FLIGHT, IN_FLIGHT, adds, wire=wire)
            command = Generator().add(work, [bookie], wire, Ledgers().fresh())
            measure(command, [bookie], begun=lambda: before.append(counter.n_bytes()))
        finally:
            bookie.stop()
    return (counter.n_bytes() - before[0]) / (adds * size)


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks copies", description=__doc__)
    parser.add_argument("--tree", type=Path, nargs="+", default=[ROOT], help="source trees of bookies, one or more")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        try:
            counter = Counter(Path(folder))
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"copies cannot be counted: no C compiler makes the library ({error})", file=sys.stderr)
            return 1
        cases = [(size, wire) for size in SIZES for wire in (2, 3)]
        figures = {
            str(tree): {f"{size} B, V{wire}": round(copies(counter, tree, size, wire), 2) for size, wire in cases}
            for tree in options.tree
        }
    print(json.dumps(figures, indent=2))
    return 0
