"""``python -m tests.chaos.full_disk [--cycles N]``: a ledger disk of 64 MiB is filled again and again.

In turn by the bookie and by another file.  Each time the bookie has to become read-only, to go on with reads and with
recovery, and to become writable again without a restart; nothing acknowledged may be lost.  Mounts a tmpfs, which takes
the right to do so.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.errors import BookKeeperError, NotEnoughBookiesError

ROOT = Path(__file__).resolve().parents[2]
DISK_BYTES = 64 << 20
SECONDS_TO_READ_ONLY = 10.0
PATIENCE = 60.0
_PAYLOAD = 20_000
_BATCH = 25
_PASSWORD = b"full"
_READY = re.compile(r"ready: bookie .*? on port (\d+), HTTP on port (\d+)")
_CACHED = re.compile(r"^bookie_write_cache_count(?:{.*})? (\S+)$", re.MULTILINE)
_SETTINGS = {
    "bookiePort": 0, "httpServerEnabled": "true", "httpServerPort": 0, "advertisedAddress": "127.0.0.1",
    "listeningInterface": "127.0.0.1", "allowLoopback": "true", "journalMaxSizeMB": 4, "journalPreAllocSizeMB": 1,
    "journalMaxBackups": 0, "flushInterval": 500, "logSizeLimit": 4 << 20, "diskCheckInterval": 1000,
    "diskUsageThreshold": 0.6, "diskUsageWarnThreshold": 0.55, "diskUsageLwmThreshold": 0.5,
    "minUsableSizeForHighPriorityWrites": 2 << 20, "minUsableSizeForEntryLogCreation": 0,
}  # fmt: skip


class NoMountError(Exception):
    """A file system cannot be mounted here; the text says why."""


@contextlib.contextmanager
def small_disk(path: Path, kind: str = "tmpfs") -> Iterator[Path]:
    """A disk of 64 MiB.

    :param kind: ``tmpfs``, or a file system in a file, as its ``mkfs`` makes it.
    :raises NoMountError: it cannot be mounted.
    """
    path.mkdir()
    commands = [["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(path)]]
    if kind != "tmpfs":
        image = path.with_suffix(".image")
        with image.open("wb") as file:
            file.truncate(DISK_BYTES)
        commands = [[f"mkfs.{kind}", "-q", str(image)], ["mount", "-o", "loop", str(image), str(path)]]
    try:
        for command in commands:
            subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoMountError(str(getattr(error, "stderr", "") or error).strip()) from error
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


class Bookie:
    """A bookie process whose ledgers are on the small disk.

    :ivar uri: of its metadata.
    :param more: settings in the place of the usual ones.
    """

    def __init__(self, folder: Path, disk: Path, more: Mapping[str, object] = MappingProxyType({})) -> None:
        values = {
            **_SETTINGS, "metadataServiceUri": f"sqlite:///{folder}/metadata.db", "bookieId": "b",
            "journalDirectories": folder / "journal", "ledgerDirectories": disk / "ledgers", **more,
        }  # fmt: skip
        self.uri = str(values["metadataServiceUri"])
        conf = folder / "bookie.conf"
        conf.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        self._log = folder / "bookie.log"
        command = [sys.executable, "-m", "twisted", "--log-format", "text", "bookie", "--conf", str(conf)]
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT)
        self._http = 0
        wait_until(self._is_ready, "the bookie serves")

    def _is_ready(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"the bookie ended:\n{self._log.read_text()[-2000:]}")
        found = _READY.search(self._log.read_text())
        if found:
            self._http = int(found[2])
        return found is not None

    def is_read_only(self) -> bool:
        """What it says of itself."""
        return bool(self.answer("state")["readOnly"])

    def has_settled(self) -> bool:
        """Whether it has written all entries to the disk, or is read-only."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._http}/metrics", timeout=20) as answer:
            found = _CACHED.findall(answer.read().decode())
        return (bool(found) and not any(map(float, found))) or self.is_read_only()

    def collect_garbage(self) -> None:
        """Force a run of the garbage collector."""
        self.answer("gc", "PUT")

    def answer(self, page: str, method: str = "GET") -> dict[str, Any]:
        """Return the JSON object that a ``page`` below ``/api/v1/bookie`` answers."""
        request = urllib.request.Request(f"http://127.0.0.1:{self._http}/api/v1/bookie/{page}", method=method)
        request.data = b"{}" if method == "PUT" else None
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return dict(json.loads(text)) if text.startswith(b"{") else {}

    @property
    def log(self) -> str:
        """Its log so far."""
        return self._log.read_text()

    def kill(self) -> None:
        """End it by a signal that it cannot catch."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def end(self) -> int:
        """Ask it to end; returns its exit status."""
        self._process.terminate()
        return self._process.wait(PATIENCE)


def wait_until(is_true: Callable[[], bool], what: str, repeat: Callable[[], object] = lambda: None) -> float:
    """Look until something is true.

    :param repeat: called before each look.
    :returns: seconds it took.
    :raises TimeoutError: it never was.
    """
    begun = time.monotonic()
    while not is_true():
        if time.monotonic() - begun > PATIENCE:
            raise TimeoutError(f"{what}: not within {PATIENCE:.0f} s")
        repeat()
        time.sleep(0.5)
    return time.monotonic() - begun


@attrs.define
class Outcome:
    """What came out.

    :ivar slowest: seconds until the bookie was read-only, the longest time of all cycles.
    :ivar acknowledged: entries in all cycles; ``lost``: of these, without those of ledgers that were deleted.
    """

    cycles: int = 0
    slowest: float = 0.0
    slowest_back: float = 0.0
    acknowledged: int = 0
    recovered: int = 0
    lost: int = 0

    def __str__(self) -> str:
        return (
            f"{self.cycles} cycles: read-only after {self.slowest:.1f} s at most, writable again after"
            f" {self.slowest_back:.1f} s at most; {self.recovered} ledgers recovered while full;"
            f" {self.acknowledged:,} entries acknowledged, {self.lost} lost"
        )


class Run:
    """Some cycles with one bookie.

    :ivar ledgers: acknowledged entries of each ledger that was not deleted.
    """

    def __init__(self, bookie: Bookie, client: BookKeeper, disk: Path) -> None:
        self.outcome = Outcome()
        self.ledgers: dict[int, int] = {}
        self._bookie = bookie
        self._client = client
        self._disk = disk

    def cycle(self, by_us: bool) -> None:
        """Fill the disk, look, make room, look again."""
        abandoned = self._write(8)  # stays open, as if its writer had died: recovery has to add here
        filler = self._disk / "filler"
        begun = time.monotonic()
        if by_us:
            while not self._bookie.is_read_only():
                with contextlib.suppress(NotEnoughBookiesError):  # it is read-only by now
                    self._write(8)
                # Otherwise a fast disk takes all that the write cache accepts between two looks at the free space.
                wait_until(self._bookie.has_settled, "the bookie has written its entries")
                begun = time.monotonic() if self._free() > DISK_BYTES * 0.4 else begun
        else:
            with filler.open("wb") as file:
                file.write(bytes(max(self._free() - (12 << 20), 0)))
            begun = time.monotonic()
        wait_until(self._bookie.is_read_only, "the bookie is read-only")
        self.outcome.slowest = max(self.outcome.slowest, time.monotonic() - begun)
        self._check([abandoned])  # opening it recovers it
        self.outcome.recovered += 1
        self._check(list(self.ledgers)[:3])
        filler.unlink(missing_ok=True)
        for ledger_id in list(self.ledgers)[:-1]:
            self._client.delete_ledger(ledger_id)
            del self.ledgers[ledger_id]
        collect = self._bookie.collect_garbage
        back = wait_until(lambda: not self._bookie.is_read_only(), "the bookie is writable", collect)
        self.outcome.slowest_back = max(self.outcome.slowest_back, back)
        wait_until(self._can_write, "the client takes the bookie again")
        self.outcome.cycles += 1

    def _can_write(self) -> bool:
        try:
            return self.ledgers[self._write(2)] > 0
        except NotEnoughBookiesError:  # the client has not seen its registration yet
            return False

    def _free(self) -> int:
        found = os.statvfs(self._disk)
        return found.f_bavail * found.f_frsize

    def _write(self, batches: int) -> int:
        """A new ledger with entries, as many as are taken; it is left open.

        :returns: its id.
        """
        writer = self._client.create_ledger(1, 1, 1, password=_PASSWORD)
        self.ledgers[writer.ledger_id] = 0
        for number in range(batches):
            payloads = [payload(writer.ledger_id, number * _BATCH + i) for i in range(_BATCH)]
            try:
                writer.append_many(payloads, timeout=PATIENCE)
            except BookKeeperError:
                break
            self.ledgers[writer.ledger_id] += _BATCH
            self.outcome.acknowledged += _BATCH
        return int(writer.ledger_id)

    def _check(self, ledger_ids: Sequence[int]) -> None:
        for ledger_id in ledger_ids:
            with self._client.open_ledger(ledger_id, password=_PASSWORD) as reader:
                for first in range(0, self.ledgers[ledger_id], _BATCH):
                    for entry in reader.read(first, first + _BATCH - 1):
                        self.outcome.lost += entry.data != payload(ledger_id, entry.entry_id)

    def check_all(self) -> None:
        """Read everything that was acknowledged."""
        self._check(list(self.ledgers))


def payload(ledger_id: int, entry_id: int, size: int = _PAYLOAD) -> bytes:
    """What an entry holds, in so many bytes."""
    return f"{ledger_id}/{entry_id} ".encode().ljust(size, b"%d" % (entry_id % 10))


def run(cycles: int) -> Outcome:
    """Fill the disk so often.

    :raises NoMountError: there is no disk.
    """
    with tempfile.TemporaryDirectory() as name, small_disk(Path(name) / "disk") as disk:
        bookie = Bookie(Path(name), disk)
        try:
            with BookKeeper.connect(bookie.uri) as client:
                running = Run(bookie, client, disk)
                for number in range(cycles):
                    running.cycle(by_us=number % 2 == 0)
                running.check_all()
        finally:
            bookie.end()
    return running.outcome


def main(arguments: Sequence[str]) -> int:
    """Run and print.

    :returns: the exit status: 1 if something was not as it has to be.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.full_disk")
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--patient", action="store_true", help="do not judge how long it takes, on a busy host")
    options = parser.parse_args(arguments)
    try:
        outcome = run(options.cycles)
    except NoMountError as error:
        print(f"skipped: no disk of 64 MiB can be mounted here: {error}")
        return 0
    print(outcome)
    late = outcome.slowest > SECONDS_TO_READ_ONLY and not options.patient
    return 1 if outcome.lost or late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
