"""``python -m tests.chaos.read_only_disk``: a disk that the kernel makes read-only, as after an error of it.

Of ledgers, of the journal, or of the index.  Nothing is written meanwhile, so the bookie has to notice it by itself,
and to say which directory it is; no request may end it.  Everything acknowledged has to be read, by clients, by the
scrub and by a collection, and nothing may be called damage; the same, and writable, after a repair and a restart.
Mounts an ext4 of 64 MiB, which takes the right to do so.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.errors import BookKeeperError

from .full_disk import Bookie, NoMountError, payload, small_disk, wait_until

_BATCH, _BATCHES, _LEDGERS, _PAYLOAD = 25, 20, 4, 10_000
_PASSWORD = b"full"
_SETTINGS = {"diskUsageThreshold": 0.95, "diskUsageWarnThreshold": 0.9, "diskUsageLwmThreshold": 0.9}
_KEYS = {"ledgers": "ledgerDirectories", "journal": "journalDirectories", "index": "indexDirectories"}
_REASONS = {
    "ledgers": "the ledger directory {} cannot be used", "index": "the index directory {} cannot be used",
    "journal": "the journal directory {} takes no writes: once its file system is repaired, restart the bookie",
}  # fmt: skip


def run(kind: str) -> tuple[int, int, str]:
    """Write, let the kernel make the disk read-only, then read, scrub and collect; repair it, start again, and read.

    :param kind: what the disk has: ``ledgers``, ``journal`` or ``index``.
    :returns: the entries that were acknowledged, those that cannot be read, and the log of the bookie.
    :raises NoMountError: there is no disk.
    """
    with tempfile.TemporaryDirectory() as name, small_disk(Path(name) / "disk", "ext4") as disk:
        settings = {**_SETTINGS, "ledgerDirectories": Path(name) / "ledgers", _KEYS[kind]: disk / kind}
        bookie = Bookie(Path(name), disk, settings)
        try:
            with BookKeeper.connect(bookie.uri) as client:
                ledgers = [_write(client) for _ in range(_LEDGERS)]
                abandoned = client.create_ledger(1, 1, 1, password=_PASSWORD)  # whose recovery fences it, and adds
                abandoned.append(b"entry")
                wait_until(bookie.has_settled, "the bookie has written its entries")
                # What the kernel does with errors=remount-ro: files that are open for writing do not prevent it.
                subprocess.run(["mount", "-o", "remount,abort", str(disk)], check=True, capture_output=True)
                wait_until(bookie.is_read_only, "the bookie is read-only")
                reasons = bookie.answer("state")["reasons"]
                if _REASONS[kind].format(disk / kind) not in reasons:
                    raise AssertionError(f"the reasons do not name the directory: {reasons}")
                for refused in (lambda: abandoned.append(b"more"), lambda: _recover(client, abandoned.ledger_id)):
                    with contextlib.suppress(BookKeeperError):
                        refused()
                bookie.collect_garbage()
                bookie.answer("scrub", "PUT")
                wait_until(lambda: bookie.answer("scrub")["passes"] > 0, "the scrub has ended")
                lost = sum(_lost(client, each) for each in ledgers)
            log, status = bookie.log, bookie.end()
            if status:
                raise AssertionError(f"the bookie ended with {status}:\n{log[-2000:]}")
            _repair(disk)
            bookie = Bookie(Path(name), disk, settings)
            with BookKeeper.connect(bookie.uri) as client:
                lost += sum(_lost(client, each) for each in ledgers)
                _recover(client, abandoned.ledger_id)
                _write(client)
            return _LEDGERS * _BATCHES * _BATCH, lost, log + bookie.log
        finally:
            bookie.end()


def _repair(disk: Path) -> None:
    image = str(disk.with_suffix(".image"))
    for command in (["umount", str(disk)], ["e2fsck", "-fy", image], ["mount", "-o", "loop", image, str(disk)]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode > 1:  # e2fsck: 1 says that it has repaired something
            raise NoMountError(done.stderr.strip())


def _recover(client: BookKeeper, ledger_id: int) -> None:
    client.open_ledger(ledger_id, password=_PASSWORD).close()


def _write(client: BookKeeper) -> int:
    with client.create_ledger(1, 1, 1, password=_PASSWORD) as writer:
        for first in range(0, _BATCH * _BATCHES, _BATCH):
            writer.append_many([payload(writer.ledger_id, first + i, _PAYLOAD) for i in range(_BATCH)])
        return int(writer.ledger_id)


def _lost(client: BookKeeper, ledger_id: int) -> int:
    with client.open_ledger(ledger_id, password=_PASSWORD) as reader:
        found = {entry.entry_id: bytes(entry.data) for entry in reader.read(0, reader.last_add_confirmed)}
    return sum(found.get(each) != payload(ledger_id, each, _PAYLOAD) for each in range(_BATCH * _BATCHES))


def main(arguments: Sequence[str]) -> int:
    """Run and print.

    :returns: the exit status: 1 if something was not as it has to be.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.read_only_disk")
    parser.add_argument("--kinds", nargs="+", choices=list(_KEYS), default=list(_KEYS))
    wrong = False
    for kind in parser.parse_args(arguments).kinds:
        try:
            acknowledged, lost, log = run(kind)
        except NoMountError as error:
            print(f"skipped: no disk of 64 MiB can be mounted here: {error}")
            return 0
        damage = [line for line in log.splitlines() if "DAMAGE" in line or "Traceback" in line]
        said = f"{kind}: {acknowledged:,} entries acknowledged, {lost} lost, {len(damage)} lines of damage"
        print("\n".join([*damage, said]))
        wrong = wrong or bool(lost or damage)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
