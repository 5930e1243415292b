"""Bookies as processes whose compaction is controlled over HTTP: ours, and Apache's with the same data."""

import contextlib
import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from bookkeeper_twisted.blocking import BookKeeper

from ..compare.stage import OURS
from ..shared.apache import ZooKeeper, start_apache
from ..shared.generator import PASSWORD
from ..shared.loads import Figures, Generator, measure
from ..shared.machine import forget_pages
from ..shared.processes import Bookie, free_port, start_ours
from .raw_copy import raw_rate

LEDGERS = 1000
SIZE = 1024
"""Ledgers that are written in turns, an entry a turn, and bytes of a payload."""

LOG_SIZE = 64 << 20
_UNLIMITED = str(2**31 - 1)  # for Apache's bookie, which wants a limit
_POLL = 0.02
_SELDOM = 0.5  # so that answers cost the bookie nothing while its compaction is measured
_LOGS = "ledgers/current"


def settings(limit: int) -> dict[str, str]:
    """What both bookies are told of their compactions: only forced ones, and half-empty logs are due.

    Both have the same memory for entries that are not in an entry log yet: it makes the runs of a ledger as long.

    :param limit: bytes a second that a compaction writes; 0: no limit.
    """
    return {
        "dbStorage_writeCacheMaxSizeMb": "128",
        "logSizeLimit": str(LOG_SIZE),
        "gcWaitTime": "86400000",
        "minorCompactionInterval": "0",
        "majorCompactionInterval": "0",
        "majorCompactionThreshold": "0.8",
        "forceAllowCompaction": "true",
        "isThrottleByBytes": "true",
        "compactionRateByBytes": str(limit),
    }


@attrs.frozen
class Compaction:
    """One compaction of the whole bookie, with nothing else at work.

    :ivar seconds: from its begin until the old logs are gone.
    :ivar live_bytes: that it had to copy: half of the logs that are gone.
    :ivar raw_rate: bytes a second of a raw copy of the same bytes right before; 0: not known, of Apache's bookie.
    """

    seconds: float
    live_bytes: int
    raw_rate: float = 0.0

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self.live_bytes / self.seconds


class CompactedBookie:
    """A bookie of either kind, ledgers in it, and its garbage collection.

    :ivar name: ``ours``, or a configuration of Apache's bookie.
    :param uri: of its cluster.
    """

    def __init__(self, name: str, bookie: Bookie, uri: str, folder: Path) -> None:
        self.name = name
        self._bookie = bookie
        self._folder = folder
        self._client = BookKeeper.connect(uri)
        self._next_id = 1000
        self._generator = Generator()

    @classmethod
    def start(
        cls, name: str, folder: Path, zookeeper: ZooKeeper | None, values: Mapping[str, str]
    ) -> "CompactedBookie":
        """Start one in a cluster of its own.

        :param zookeeper: where both kinds keep metadata; None for ours alone, on embedded metadata.
        """
        folder.mkdir(parents=True)
        port, values = free_port(), {**values, "httpServerEnabled": "true"}
        if zookeeper is None:
            return cls(name, start_ours(folder, values, port), f"sqlite:///{folder}/metadata.db", folder)
        root = zookeeper.new_cluster(folder)
        uri = zookeeper.server.uri(root)
        values |= {"metadataServiceUri": uri, "zkTimeout": "10000"}
        serves = zookeeper.registered(root, port)
        if name == OURS:
            return cls(name, start_ours(folder, values, port, serves), uri, folder)
        if values["compactionRateByBytes"] == "0":
            values["compactionRateByBytes"] = _UNLIMITED
        return cls(name, start_apache(name, folder, values, port, serves), uri, folder)

    def close(self) -> None:
        """End it."""
        self._client.close()
        self._bookie.stop()

    # -- ledgers --

    def new_ledgers(self, count: int) -> range:
        """Ledgers with consecutive ids that exist in the metadata store: others would be collected."""
        made = range(self._next_id, self._next_id + count)
        self._next_id = made.stop
        for ledger_id in made:
            self._client.create_ledger_adv(ledger_id, 1, 1, 1, PASSWORD)
        return made

    def delete(self, ledger_ids: range) -> None:
        """Remove their metadata: the next collection forgets them."""
        for ledger_id in ledger_ids:
            self._client.delete_ledger(ledger_id)

    def add(self, ledgers: range, count: int, begun: Callable[[], None] = lambda: None) -> Figures:
        """Adds with 1,000 in flight.

        :param begun: called when the load begins.
        :returns: ``rate``, ``p50_ms`` and ``p99_ms``.
        """
        command = self._generator.command("add", [self._bookie], 2, ledgers, size=SIZE, count=count, inflight=1000)
        found = measure(command, [], begun=begun)
        return {key: found[key] for key in ("rate", "p50_ms", "p99_ms")}

    def fill(self, n_bytes: int) -> range:
        """Ledgers written in turns, half of which do not exist any more.

        :returns: those that do.
        """
        ledgers = self.new_ledgers(LEDGERS)
        self.add(ledgers, n_bytes // SIZE)
        self.delete(ledgers[::2])
        self.collect()  # their entries are garbage from now on
        return ledgers[1::2]

    def read(self, ledger_id: int, entries: int) -> None:
        """Read a ledger from its first entry on, in batches of a hundred; a missing entry fails."""
        ledger = range(ledger_id, ledger_id + 1)
        options = {"size": SIZE, "count": entries // 100, "inflight": 1, "batch": 100, "entries": entries}
        measure(self._generator.command("batch", [self._bookie], 2, ledger, **options), [])

    # -- garbage collection --

    def _ask(self, path: str, body: Mapping[str, bool] | None = None) -> Any:
        url = f"http://127.0.0.1:{self._bookie.http_port}/api/v1/bookie/{path}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, method="GET" if body is None else "PUT")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def force(self, major: bool = True) -> None:
        """Begin a collection, with a major compaction or none."""
        self._ask("gc", {"forceMajor": major, "forceMinor": False})

    @property
    def compacting(self) -> bool:
        """Whether a major compaction is at work."""
        return bool(self._details()["majorCompacting"])

    @property
    def copied(self) -> float:
        """Bytes that compactions have copied so far; only ours says."""
        return self._bookie.metrics().get("bookie_compacted_bytes", 0.0) if self.name == OURS else 0.0

    def _details(self) -> Any:
        (directory,) = self._ask("gc_details")
        return directory

    def collect(self, major: bool = False) -> None:
        """A whole collection."""
        self.force(major)
        self.until_collected()

    def until_collected(self, poll: float = _POLL) -> None:
        """Wait until none is at work, asking every ``poll`` seconds."""
        while self._ask("gc")["is_in_force_gc"] == "true":
            time.sleep(poll)

    def cancel(self) -> None:
        """End the compaction at work.  Apache's does not begin another log: ``majorCompactionMaxTimeMillis``."""
        if self.name == OURS:
            self._ask("gc/cancel_compaction", {})
        self.until_collected()

    def compact(self) -> Compaction:
        """Compact everything, from the disk: what is compacted is old."""
        raw = raw_rate(self._folder / _LOGS) if self.name == OURS else 0.0
        os.sync()
        before, ended = self._logs(), self._details()["majorCompactionCounter"]
        for name in before:
            forget_pages(self._folder / _LOGS / name)
        self.force()
        begun = time.time()
        while not ((now := self._details())["majorCompacting"] or now["majorCompactionCounter"] > ended):
            time.sleep(_POLL)
            begun = time.time()
        self.until_collected(_SELDOM)
        seconds = (self._folder / _LOGS).stat().st_mtime - begun  # the last thing that is done there is a removal
        after = self._logs()
        return Compaction(seconds, sum(size for name, size in before.items() if name not in after) // 2, raw)

    def _logs(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in (self._folder / _LOGS).glob("*.log")}


@contextlib.contextmanager
def bookies(
    names: list[str], folder: Path, zookeeper: ZooKeeper | None, values: Mapping[str, str]
) -> Iterator[list[CompactedBookie]]:
    """Some bookies with the same settings."""
    with contextlib.ExitStack() as stack:
        found = []
        for name in names:
            found.append(CompactedBookie.start(name, folder / name, zookeeper, values))
            stack.callback(found[-1].close)
        yield found
