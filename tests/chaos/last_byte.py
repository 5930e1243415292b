"""``python -m tests.chaos.last_byte``: a ledger disk of 64 MiB is filled to the last byte, then ledgers are deleted.

Clients fill it, between two looks at the disk, until the bookie is read-only; another file takes what is left; then all
ledgers but two of 21 are deleted.  The bookie has to become writable again, without a restart and within a minute,
whether the ledgers were written in turns or in order, with the index and the metadata on the same disk or on another
one, on a tmpfs or on an ext4 that keeps a twentieth of its blocks for root, and nothing acknowledged may be lost.
Mounts these, which takes the right to do so.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.errors import BookKeeperError

from .full_disk import PATIENCE, Bookie, NoMountError, payload, small_disk, wait_until

_LEDGERS = 21
_KEPT = 2
_BATCH = 25
_PAYLOAD = 20_000
_PASSWORD = b"full"
_OF_LEDGERS = list(product((False, True), repeat=3))
"""Whether ledgers were written in turns, whether the index is elsewhere, whether the bookie is killed when full."""

_EXT4 = ("ext4", False)
_KINDS = [
    *((*each, "tmpfs", False) for each in _OF_LEDGERS), *((*each, "tmpfs", True) for each in _OF_LEDGERS),
    (False, False, False, *_EXT4), (True, False, False, *_EXT4), (True, False, True, *_EXT4),
]  # fmt: skip
"""These, the file system, and whether the metadata is on the same disk."""

_SETTINGS = {
    "gcWaitTime": 2000, "minorCompactionInterval": 3, "majorCompactionInterval": 5, "isForceGCAllowWhenNoSpace": "true",
    "diskCheckInterval": 5000, "diskUsageThreshold": 0.95, "diskUsageWarnThreshold": 0.9, "diskUsageLwmThreshold": 0.9,
}  # fmt: skip


def free_bytes(disk: Path) -> int:
    """Return the bytes that are free on a disk, for root at least."""
    found = os.statvfs(disk)
    return found.f_bfree * found.f_frsize


class Filled:
    """A bookie on a full disk.

    :ivar ledgers: acknowledged entries of each ledger.
    """

    def __init__(self, bookie: Bookie, client: BookKeeper, disk: Path, in_turns: bool) -> None:
        self.ledgers: dict[int, int] = {}
        self._client = client
        writers = [client.create_ledger(1, 1, 1, password=_PASSWORD) for _ in range(_LEDGERS)]
        turns = range(1000) if in_turns else [0]
        each = 1 if in_turns else (62 << 20) // _LEDGERS // _PAYLOAD // _BATCH + 1
        try:
            for _ in turns:
                for writer in writers:
                    for _ in range(each):
                        self._append(writer)
        except BookKeeperError:
            pass  # it is read-only
        wait_until(bookie.is_read_only, "the bookie is read-only")
        try:
            with (disk / "filler").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            pass  # there is no space

    def _append(self, writer: "object") -> None:
        ledger_id = writer.ledger_id  # type: ignore[attr-defined]
        first = self.ledgers.setdefault(ledger_id, 0)
        payloads = [payload(ledger_id, first + i, _PAYLOAD) for i in range(_BATCH)]
        writer.append_many(payloads, timeout=PATIENCE)  # type: ignore[attr-defined]
        self.ledgers[ledger_id] = first + _BATCH

    def delete(self, bookie: Bookie) -> float:
        """Delete all ledgers but the last two that have entries.

        :param bookie: the process that has them now.
        :returns: seconds until the bookie is writable again.
        """
        for ledger_id in list(self.ledgers)[:-_KEPT]:
            self._client.delete_ledger(ledger_id)
            del self.ledgers[ledger_id]
        return wait_until(lambda: not bookie.is_read_only(), "the bookie is writable")

    def lost(self) -> int:
        """Read everything that was acknowledged and not deleted.

        :returns: the entries that are not there.
        """
        lost = 0
        for ledger_id, count in self.ledgers.items():
            with self._client.open_ledger(ledger_id, password=_PASSWORD) as reader:
                for first in range(0, count, _BATCH):
                    found = {entry.entry_id: bytes(entry.data) for entry in reader.read(first, first + _BATCH - 1)}
                    lost += sum(found.get(i) != payload(ledger_id, i, _PAYLOAD) for i in range(first, first + _BATCH))
        return lost


def run(
    in_turns: bool, index_elsewhere: bool, restart: bool, kind: str, metadata_inside: bool
) -> tuple[int, float, int]:  # fmt: skip
    """Fill a disk of some ``kind`` and delete.

    :returns: bytes that were free, seconds to writable, entries lost.
    :raises NoMountError: there is no disk.
    """
    with tempfile.TemporaryDirectory() as name, small_disk(Path(name) / "disk", kind) as disk:
        more: dict[str, object] = dict(_SETTINGS)
        if index_elsewhere:
            more["indexDirectories"] = Path(name) / "indexes"
        if metadata_inside:
            more["metadataServiceUri"] = f"sqlite:///{disk}/ledgers/metadata.db"
        bookie = Bookie(Path(name), disk, more)
        try:
            with BookKeeper.connect(bookie.uri) as client:
                filled = Filled(bookie, client, disk, in_turns)
                free = free_bytes(disk)
                if restart:
                    bookie.kill()
                    bookie = Bookie(Path(name), disk, more)
                seconds = filled.delete(bookie)
                return free, seconds, filled.lost()
        finally:
            bookie.end()


def main(arguments: Sequence[str]) -> int:
    """Run and print.

    :returns: the exit status: 1 if something was not as it has to be.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.last_byte")
    parser.add_argument("--kinds", type=int, nargs="*", default=range(len(_KINDS)), help="of 0 to 18; all by default")
    all_lost = 0
    for number in parser.parse_args(arguments).kinds:
        in_turns, index_elsewhere, restart, kind, metadata_inside = _KINDS[number]
        try:
            free, seconds, lost = run(*_KINDS[number])
        except NoMountError as error:
            print(f"skipped: no disk of 64 MiB can be mounted here: {error}")
            return 0
        all_lost += lost
        written = "in turns" if in_turns else "in order"
        index = "another disk" if index_elsewhere else "the same disk"
        index += ", metadata, too" if metadata_inside else ""
        killed = ", killed and started when full" if restart else ""
        found = f"{free:,} bytes free, writable after {seconds:.1f} s, {lost} lost"
        print(f"{kind}, ledgers {written}, index on {index}{killed}: {found}", flush=True)
    return 1 if all_lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
