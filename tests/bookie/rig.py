"""A whole bookie without threads, network and disk: the real parts on a simulated disk."""

import errno
from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from bookkeeper_twisted.bookie.engine import Engine, EngineOptions
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.codec.runs import AddRun, BatchRead
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.interfaces import Entries
from bookkeeper_twisted.entries.mixed_runs import MixedRun, RunSequence
from bookkeeper_twisted.protocol.server.connection import ServerConnection
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings
from bookkeeper_twisted.testing.executor import StepExecutor

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import SimIndex

KEY = b"k" * 20
MIB = 1 << 20


def entry(ledger_id: int, entry_id: int, data: bytes = b"payload", lac: int = -1) -> bytes:
    """Bytes of an entry: header, then data in the place of digest and payload."""
    numbers = (ledger_id, entry_id, lac, len(data))
    return b"".join(n.to_bytes(8, "big", signed=True) for n in numbers) + data


def run(ledger_id: int, first: int, count: int = 1, data: bytes = b"payload", lac: int = -1) -> EntryRun:
    """A run of entries of one size."""
    return EntryRun.of_entries(ledger_id, first, [entry(ledger_id, first + i, data, lac) for i in range(count)])


def mixed(*entries: bytes) -> MixedRun:
    """A mixed run of these entries."""
    ledger_ids, entry_ids, lacs = [
        [int.from_bytes(each[at : at + 8], "big", signed=True) for each in entries] for at in (0, 8, 16)
    ]
    return MixedRun(ledger_ids, entry_ids, lacs, entries)


def in_runs(*entries: bytes) -> RunSequence:
    """A run of each ledger that these entries are of."""
    by_ledger = dict[bytes, list[bytes]]()
    for each in entries:
        by_ledger.setdefault(each[:8], []).append(each)
    return RunSequence([
        EntryRun.of_entries(int.from_bytes(ledger_id, "big"), int.from_bytes(found[0][8:16], "big"), found)
        for ledger_id, found in by_ledger.items()
    ])  # fmt: skip


class Peer:
    """A client at the end of a connection without a network."""

    def __init__(self, connection: ServerConnection | None) -> None:
        assert connection is not None, "it takes no connections"
        self.connection = connection
        self.transport = CountingTransport()
        connection.makeConnection(self.transport)

    def send(self, data: bytes) -> None:
        self.connection.dataReceived(data)

    def leave(self) -> None:
        """The connection is lost."""
        self.connection.connectionLost(Failure(ConnectionDone()))

    @property
    def held(self) -> bool:
        """Whether the bookie does not read from the connection."""
        return self.transport.producerState == "paused"

    @property
    def ended(self) -> bool:
        """Whether the bookie closes the connection."""
        return self.transport.disconnecting or self.transport.aborted

    def replies(self) -> bytes:
        """What was written since the last call."""
        data: bytes = self.transport.value()
        self.transport.clear()
        return data


class CountingTransport(StringTransport):
    """Counts its writes."""

    protocol: Any
    writes = 0
    aborted = False

    def write(self, data: bytes) -> None:
        self.writes += 1
        super().write(data)

    def abortConnection(self) -> None:
        self.aborted = True
        super().abortConnection()


class Rig:
    """One bookie; :meth:`drain` lets its threads do what they have to do."""

    def __init__(
        self, disk: SimDisk | None = None, journals: int = 1, ledger_dirs: int = 1,
        options: EngineOptions | None = None, storage: StorageSettings | None = None, index_dirs: str = "/ledger",
    ) -> None:  # fmt: skip
        self.disk = disk or SimDisk()
        self.clock = Clock()
        self.executor = StepExecutor(self.clock)
        self.failures: list[Failure] = []
        self.checkpointed: list[str] = []
        paths = StorePaths(
            tuple(f"/journal{i}" for i in range(journals)),
            tuple(f"/ledger{i}" for i in range(ledger_dirs)),
            tuple(f"{index_dirs}{i}" for i in range(ledger_dirs)),
        )
        paths.make(self.disk)
        self.store = Store.open(
            self.disk, paths, SimIndex.open, 1, b"salt", JournalSettings(max_size=MIB, preallocate=MIB // 4),
            storage or StorageSettings(write_cache_bytes=4 * MIB, read_cache_bytes=MIB),
        )  # fmt: skip
        self.store.recover()
        self.storage = self.store.storage
        self.engine = Engine(
            self.storage, self.store.journals, self.executor, self.clock, self._usage, self.failures.append,
            self.checkpointed.append, options,
        )  # fmt: skip
        self.bookie = self.engine.bookie

    def _usage(self) -> "Deferred[tuple[int, int]]":
        return succeed((1000, 400))

    def connect(self) -> Peer:
        return Peer(self.engine.factory.buildProtocol(None))

    def drain(self) -> None:
        self.executor.drain()

    def add(
        self, entries: Entries, key: bytes = KEY, recovery: bool = False, deferred: bool = False,
        high_priority: bool = False,
    ) -> list[Exception | None]:  # fmt: skip
        """Adds entries.

        :returns: a list that gets the completions.
        """
        done: list[Exception | None] = []
        self.bookie.add(entries, key, recovery, deferred, high_priority, lambda part, error: done.append(error))
        return done

    def fail(self, name: str, directory: str, times: int = 1) -> None:
        """The next operations of a name below a directory fail with an I/O error."""
        self.disk.fail(errno.EIO, when=lambda op: op.name == name and op.path.startswith(directory), times=times)

    def restart(self, crash: bool = True) -> "Rig":
        """The bookie that starts on what a power cut (or a kill) left of this one."""
        if crash:
            return Rig(self.disk.crash())
        self.disk.kill()
        return Rig(self.disk)


def adds(entries: Entries, key: bytes = KEY, flags: int = 0) -> bytes:
    """V2 frames of adds."""
    return b"".join([requests_out.encode_adds(key, each, flags) for each in entries.runs()])


def add_replies(entries: Entries, status: object) -> bytes:
    """The frames that answer them."""
    return AddRun(V2, 2, 0, False, KEY, entries).replies(status)  # type: ignore[arg-type]


def reads(ledger_id: int, entry_ids: Sequence[int]) -> bytes:
    """V2 frames of plain reads."""
    return requests_out.encode_reads(ledger_id, entry_ids)


def batch(ledger_id: int, first: int, count: int, size: int, request_id: int = 7) -> bytes:
    """A V2 frame of a batch read."""
    return requests_out.encode_batch_read(BatchRead(V2, 2, 0, ledger_id, first, request_id, count, size))
