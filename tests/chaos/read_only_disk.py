"""``python -m tests.chaos.read_only_disk``: a ledger disk that the kernel makes read-only, as after an error of it.

Everything acknowledged has to be read, by clients, by the scrub and by a collection, and nothing may be called damage.
Mounts an ext4 of 64 MiB, which takes the right to do so.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from bookkeeper_twisted.blocking import BookKeeper

from .full_disk import Bookie, NoMountError, payload, small_disk, wait_until

_BATCH, _BATCHES, _LEDGERS, _PAYLOAD = 25, 20, 4, 10_000
_PASSWORD = b"full"
_SETTINGS = {"diskUsageThreshold": 0.95, "diskUsageWarnThreshold": 0.9, "diskUsageLwmThreshold": 0.9}


def run() -> tuple[int, int, str]:
    """Write, let the kernel make the disk read-only, then read, scrub and collect.

    :returns: the entries that were acknowledged, those that cannot be read, and the log of the bookie.
    :raises NoMountError: there is no disk.
    """
    with tempfile.TemporaryDirectory() as name, small_disk(Path(name) / "disk", "ext4") as disk:
        bookie = Bookie(Path(name), disk, _SETTINGS)
        try:
            with BookKeeper.connect(bookie.uri) as client:
                ledgers = [_write(client) for _ in range(_LEDGERS)]
                wait_until(bookie.has_settled, "the bookie has written its entries")
                # What the kernel does with errors=remount-ro: files that are open for writing do not prevent it.
                subprocess.run(["mount", "-o", "remount,abort", str(disk)], check=True, capture_output=True)
                wait_until(bookie.is_read_only, "the bookie is read-only")
                bookie.collect_garbage()
                bookie.answer("scrub", "PUT")
                wait_until(lambda: bookie.answer("scrub")["passes"] > 0, "the scrub has ended")
                lost = sum(_lost(client, each) for each in ledgers)
                return _LEDGERS * _BATCHES * _BATCH, lost, bookie.log
        finally:
            bookie.end()


def _write(client: BookKeeper) -> int:
    with client.create_ledger(1, 1, 1, password=_PASSWORD) as writer:
        for first in range(0, _BATCH * _BATCHES, _BATCH):
            writer.append_many([payload(writer.ledger_id, first + i, _PAYLOAD) for i in range(_BATCH)])
        return int(writer.ledger_id)


def _lost(client: BookKeeper, ledger_id: int) -> int:
    with client.open_ledger(ledger_id, password=_PASSWORD) as reader:
        found = {entry.entry_id: bytes(entry.data) for entry in reader.read(0, reader.last_add_confirmed)}
    return sum(found.get(each) != payload(ledger_id, each, _PAYLOAD) for each in range(_BATCH * _BATCHES))


def main() -> int:
    """Run and print.

    :returns: the exit status: 1 if something was not as it has to be.
    """
    try:
        acknowledged, lost, log = run()
    except NoMountError as error:
        print(f"skipped: no disk of 64 MiB can be mounted here: {error}")
        return 0
    damage = [line for line in log.splitlines() if "DAMAGE" in line]
    print("\n".join([*damage, f"{acknowledged:,} entries acknowledged, {lost} lost, {len(damage)} lines of damage"]))
    return 1 if lost or damage else 0


if __name__ == "__main__":
    sys.exit(main())
