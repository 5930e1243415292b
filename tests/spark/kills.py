"""``python -m tests.spark.kills [--kills N]``: a streaming query whose driver is killed again and again.

Four bookies run as processes, a writer appends and rolls ledgers, a query copies them with the sink.  The driver of
the query, Python and JVM, is ended by SIGKILL in the middle of micro-batches and started again; one bookie is killed
meanwhile and stays away.  Then the record of the last commit is removed from the checkpoint and the query is started
once more.  Each time every entry has to be in the published ledgers exactly once.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.spark.driver.cluster import connected
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink.manifest import PublishedLedgers
from examples.bookie_process import ROOT

from .streaming_query import APPLICATION, MANIFEST

_TWISTD = "from twisted.scripts.twistd import run; run()"
_OPTIONS = (
    "--bookiePort=0", "--listeningInterface=127.0.0.1", "--advertisedAddress=127.0.0.1", "--allowLoopback=true",
    "--journalPreAllocSizeMB=1", "--minUsableSizeForEntryLogCreation=0",
)  # fmt: skip
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}

LEDGER_ENTRIES, APPENDED_AT_ONCE, PAUSE = 5000, 50, 0.1


class Bookies:
    """Four bookies as processes, with one SQLite metadata file."""

    def __init__(self, directory: Path) -> None:
        self.uri = f"sqlite:///{directory}/metadata.db"
        self._processes = [self._launch(directory, number) for number in range(4)]

    def _launch(self, directory: Path, number: int) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "bookie", f"--data={directory}/b{number}"]
        command += [f"--bookieId=b{number}", f"--metadataServiceUri={self.uri}", *_OPTIONS]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_ENVIRONMENT, cwd=ROOT
        )
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "ready: bookie" in line:
                threading.Thread(target=process.stdout.read, daemon=True).start()
                return process
        raise RuntimeError("".join(lines))

    def kill(self, number: int) -> None:
        """End one without warning."""
        self._processes[number].kill()
        self._processes[number].wait()

    def stop(self) -> None:
        """End all."""
        for number in range(len(self._processes)):
            self.kill(number)


class Writer(threading.Thread):
    """Appends numbers, to one ledger after the other, until it is stopped.

    :ivar written: how many were acknowledged: all below this number.
    """

    def __init__(self, client: BookKeeper) -> None:
        super().__init__(daemon=True)
        self._client = client
        self._stopped = threading.Event()
        self.written = 0
        self.ledgers = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Write."""
        try:
            while not self._stopped.is_set():
                self._ledger()
        except BaseException as error:
            self.failure = error
            raise

    def _ledger(self) -> None:
        with self._client.create_ledger(3, 3, 2, custom_metadata={"application": APPLICATION.encode()}) as ledger:
            self.ledgers += 1
            for _ in range(0, LEDGER_ENTRIES, APPENDED_AT_ONCE):
                numbers = range(self.written, self.written + APPENDED_AT_ONCE)
                ledger.append_many([b"entry %d" % number for number in numbers])
                self.written = numbers.stop
                if self._stopped.wait(PAUSE):
                    return

    def stop(self) -> None:
        """Close the ledger and end."""
        self._stopped.set()
        self.join()
        if self.failure is not None:
            raise self.failure


class Query:
    """One life of the driver, in a process group of its own."""

    def __init__(self, uri: str, checkpoint: Path, *flags: str) -> None:
        command = [sys.executable, "-m", "tests.spark.streaming_query", uri, str(checkpoint), *flags]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_ENVIRONMENT, cwd=ROOT,
            start_new_session=True,
        )  # fmt: skip
        self._errors: list[str] = []
        assert self._process.stderr is not None
        threading.Thread(target=self._errors.extend, args=(self._process.stderr,), daemon=True).start()

    def kill_after(self, batches: int) -> str:
        """Wait for some micro-batches, and end the driver in the middle of the next one."""
        assert self._process.stdout is not None
        seen = []
        for line in self._process.stdout:
            if line.startswith("batch "):
                seen.append(line.strip())
                if len(seen) == batches:
                    break
        else:
            raise RuntimeError("the query ended: " + "".join(self._errors[-30:]))
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        return seen[-1]

    def stop(self) -> None:
        """End the driver if it still runs."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait(self) -> None:
        """Wait for the end of a query that goes to the end."""
        assert self._process.stdout is not None
        self._process.stdout.read()
        if self._process.wait():
            raise RuntimeError("the query failed: " + "".join(self._errors[-30:]))


def difference(uri: str, client: BookKeeper, written: int) -> list[str]:
    """What is wrong with the published ledgers; the entries are read without Spark."""
    with connected(uri, ClientConfig()) as cluster:
        ledger_ids = PublishedLedgers(cluster, MANIFEST).ids()
    found: Counter[bytes] = Counter()
    for ledger_id in ledger_ids:
        with client.open_ledger(ledger_id) as reader:
            for batch in reader.batches():
                found.update(batch.payloads)
    wanted = {b"entry %d" % number for number in range(written)}
    lost, strange = len(wanted - found.keys()), len(found.keys() - wanted)
    twice = sum(count > 1 for count in found.values())
    parts = {"lost": lost, "more than once": twice, "never written": strange}
    return [f"{count} entries {what}" for what, count in parts.items() if count]


def forget_last_commit(checkpoint: Path) -> str:
    """Remove the record of the last commit, as a crash between the commit of the sink and that record leaves it."""
    last = max((path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()), key=lambda p: int(p.name))
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    last.unlink()
    return last.name


def run(directory: Path, kills: int) -> list[str]:
    """The whole story; returns what went wrong."""
    bookies = Bookies(directory)
    problems: list[str] = []
    queries: list[Query] = []

    def query(*flags: str) -> Query:
        queries.append(Query(bookies.uri, directory / "checkpoint", *flags))
        return queries[-1]

    def step(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    began = time.monotonic()
    try:
        with BookKeeper.connect(bookies.uri, thread=THREAD) as client:
            writer = Writer(client)
            writer.start()
            for turn in range(kills):
                seen = query().kill_after(1 + turn % 3)
                step(f"driver killed after {seen}; {writer.written:,} entries written")
                if turn == kills // 2:
                    bookies.kill(3)
                    step("bookie b3 killed")
            writer.stop()
            step(f"the writer ended: {writer.written:,} entries in {writer.ledgers} ledgers")
            for name in ("the query went to the end", "and once more without its last commit"):
                query("--to-the-end").wait()
                wrong = difference(bookies.uri, client, writer.written)
                step(f"{name}: {'; '.join(wrong) or 'every entry exactly once'}")
                problems += wrong
                step(f"removed the record of commit {forget_last_commit(directory / 'checkpoint')}")
    finally:
        for one in queries:
            one.stop()
        bookies.stop()
    return problems


def main(arguments: list[str]) -> int:
    """Run what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.kills")
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="kills-") as directory:
        problems = run(Path(directory), options.kills)
    print(f"{options.kills} kills, {len(problems)} problems", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
