"""A whole bookie on a simulated disk, what it promises, and the check of those promises after a crash.

Facts, in the order in which they become true:

====================================  =================================================================
``("begun", ledger, entry, bytes)``    an entry was handed to the bookie
``("acked", ledger, entry)``           its add was acknowledged (S1)
``("fencing", ledger)``                a fence was asked for
``("fenced", ledger)``                 the fence was acknowledged (S2)
``("lac", ledger, lac)``               an explicit LAC was acknowledged
``("denied", ledger, entry)``          a fencing read was answered "no such entry" (S4)
====================================  =================================================================
"""

import contextlib
import errno
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from bookkeeper_twisted.bookie.engine import Engine, EngineOptions
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.codec.metadata_formats.cookie import Cookie
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.interfaces import Entries
from bookkeeper_twisted.entries.mixed_runs import MixedRun
from bookkeeper_twisted.errors import BookKeeperError, LedgerFencedError
from bookkeeper_twisted.storage.cookies import DirectoryLocks, must_stamp, read_cookies, stamp
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings
from bookkeeper_twisted.testing.executor import StepExecutor

from ..simulated_disk.crash import Facts
from ..simulated_disk.sim_disk import Operation, SimDisk
from ..simulated_disk.sim_index import SimIndex

KEY = b"k" * 20
JOURNALS = JournalSettings(
    max_size=4096, alignment=512, block=512, max_backups=0, preallocate=2048, fill_step=2048, max_spares=1
)
STORAGE = StorageSettings(log_size_limit=6000, write_cache_bytes=1 << 20, read_cache_bytes=1 << 16)
STORE_COOKIE = "/store/cookie"
ROOMY = attrs.evolve(JOURNALS, preallocate=8192)
"""Journal files with blocks for all their groups, so that the reactor thread begins the writes of nearly all groups."""


def entry(ledger_id: int, entry_id: int, size: int = 40) -> bytes:
    """The bytes of an entry; they tell ledger and entry apart."""
    numbers = (ledger_id, entry_id, entry_id - 1, size)
    head = b"".join(n.to_bytes(8, "big", signed=True) for n in numbers)
    return head + bytes([(ledger_id * 37 + entry_id * 11 + i) & 255 for i in range(size)])


def run(ledger_id: int, first: int, count: int = 1, size: int = 40) -> EntryRun:
    return EntryRun.of_entries(ledger_id, first, [entry(ledger_id, first + i, size) for i in range(count)])


def mixed(*ids: tuple[int, int], size: int = 40) -> MixedRun:
    """Entries of these ledgers with these ids."""
    ledger_ids, entry_ids = zip(*ids, strict=True)
    lacs = [entry_id - 1 for entry_id in entry_ids]
    return MixedRun(ledger_ids, entry_ids, lacs, [entry(ledger_id, i, size) for ledger_id, i in ids])


def ids_of(entries: Entries) -> list[tuple[int, int]]:
    """Ledger and entry ids."""
    return [(run.ledger_id, i) for run in entries.runs() for i in range(run.first, run.last + 1)]


def lac_packet(ledger_id: int, lac: int) -> bytes:
    return ledger_id.to_bytes(8, "big") + lac.to_bytes(8, "big") + b"sum!"


@attrs.frozen
class Parts:
    """What a bookie is made of; plants replace parts by broken ones.

    :ivar expands: ledger directories may have joined since the life before.
    :ivar index_elsewhere: whether indexes are not in the ledger directories.
    """

    open_store: Callable[..., Store] = Store.open
    engine: type[Engine] = Engine
    n_journals: int = 1
    n_ledger_dirs: int = 1
    expands: bool = False
    storage: StorageSettings = STORAGE
    index_elsewhere: bool = False
    journals: JournalSettings = JOURNALS

    @property
    def paths(self) -> StorePaths:
        ledgers = tuple(f"/ledgers{i}" for i in range(self.n_ledger_dirs))
        indexes = tuple(f"/indexes{i}" for i in range(self.n_ledger_dirs)) if self.index_elsewhere else ledgers
        return StorePaths(tuple(f"/journal{i}" for i in range(self.n_journals)), ledgers, indexes)


class Life:
    """One process of the bookie, from the first look at its directories on."""

    def __init__(self, disk: SimDisk, facts: Facts, parts: Parts) -> None:
        self.facts = facts
        clock = Clock()
        self.executor = StepExecutor(clock)
        self.failures: list[Failure] = []
        self._parts = parts
        parts.paths.make(disk)
        self._locks = DirectoryLocks(disk, parts.paths.all())
        check_cookies(disk, parts.paths, parts.expands)
        self.store = parts.open_store(disk, parts.paths, SimIndex.open, 1000, b"salt", parts.journals, parts.storage)
        self.store.recover()
        self.engine = parts.engine(
            self.store.storage, self.store.journals, self.executor, clock, _usage, self.failures.append,
            options=EngineOptions(),
        )  # fmt: skip
        self.bookie = self.engine.bookie

    def drain(self) -> None:
        self.executor.drain()

    def add(self, entries: Entries, recovery: bool = False, deferred: bool = False) -> None:
        """Hands entries to the bookie and remembers the acknowledgements when they come.

        An acknowledgement of a deferred-sync add promises nothing before a :meth:`force`.
        """
        contents = [each for run in entries.runs() for each in run.entries()]
        self.facts += [("begun", *ids, each) for ids, each in zip(ids_of(entries), contents, strict=True)]

        def done(part: Entries, error: Exception | None) -> None:
            if error is None and not deferred:
                self.facts.extend(("acked", *ids) for ids in ids_of(part))

        self.bookie.add(entries, KEY, recovery, deferred, False, done)

    def force(self, ledger_id: int) -> None:
        """Everything of the ledger that was handed over before is durable once this is answered."""
        begun = self._copies("begun", ledger_id)

        def durable(_: None) -> None:
            pending = begun - self._copies("acked", ledger_id)
            self.facts.extend(("acked", ledger_id, entry_id) for entry_id in pending.elements())

        self.bookie.force(ledger_id).addCallbacks(durable, lambda failure: None)

    def _copies(self, kind: str, ledger_id: int) -> "Counter[int]":
        """How often something has become true of each entry of a ledger."""
        return Counter(fact[2] for fact in self.facts if fact[:2] == (kind, ledger_id))

    def fence(self, ledger_id: int, denied: int | None = None) -> None:
        """Fences; with ``denied``, like a fencing read of an entry that is not there."""
        self.facts.append(("fencing", ledger_id))
        fenced = self.bookie.fence(ledger_id, KEY)

        def acknowledged(_: None) -> None:
            self.facts.append(("fenced", ledger_id))
            if denied is not None and self.bookie.cached(ledger_id, denied) is None:
                self.facts.append(("denied", ledger_id, denied))

        fenced.addCallbacks(acknowledged, lambda failure: None)

    def write_lac(self, ledger_id: int, lac: int) -> None:
        written = self.bookie.set_explicit_lac(ledger_id, KEY, lac_packet(ledger_id, lac))
        written.addCallbacks(lambda _: self.facts.append(("lac", ledger_id, lac)), lambda failure: None)

    def checkpoint(self) -> None:
        self.engine.checkpointer.checkpoint()
        self.drain()

    def stop(self) -> None:
        """The orderly end: what was begun is finished, checkpointed, closed."""
        self.drain()
        self.checkpoint()
        self.store.close()
        self._locks.release()


def _usage() -> "Deferred[tuple[int, int]]":
    return succeed((1, 1))


def check_cookies(disk: SimDisk, paths: StorePaths, expands: bool = False) -> None:
    """The check of a start (S6), with a metadata store that is one atomic object."""
    disk.make_directories("/store")
    cookie = Cookie("127.0.0.1:3181", ",".join(paths.journals), paths.ledgers, None, "instance")
    data, stored = cookie.encode(), disk.committed(STORE_COOKIE)

    def known(data: bytes) -> set[str]:
        return {*paths.journals, *Cookie.parse(data).ledger_dirs}

    def verify(found: bytes, where: str) -> None:
        cookie.verify(Cookie.parse(found), expands)

    if must_stamp(read_cookies(disk, paths.all()), data, stored, verify, known, expands):
        stamp(disk, paths.all(), data)
        disk.commit(STORE_COOKIE, data, data)


def found_entry(life: Life, ledger_id: int, entry_id: int) -> bytes | None:
    """What a reader would get."""
    storage = life.store.storage
    got = storage.cached(ledger_id, entry_id) or storage.load(ledger_id, entry_id, 1)
    return got.entry(entry_id) if got is not None else None


def verifier(parts: Parts) -> Callable[[SimDisk, Facts], None]:
    """The recovery of an enumeration: starts on a crash state and checks every promise."""

    def recover(disk: SimDisk, facts: Facts) -> None:
        life = Life(disk, [], parts)
        check_promises(life, facts)

    return recover


def check_promises(life: Life, facts: Facts) -> None:
    """:raises AssertionError: what the bookie holds contradicts the facts."""
    allowed = allowed_copies(facts)
    for kind, ledger_id, *rest in facts:
        row = life.store.storage.ledger(ledger_id)
        if kind == "acked" and found_entry(life, ledger_id, rest[0]) not in allowed[ledger_id, rest[0]]:
            raise AssertionError(f"acknowledged entry {ledger_id}/{rest[0]} is lost or changed")
        if kind == "fenced" and not (row is not None and row.fenced and row.master_key == KEY):
            raise AssertionError(f"the fence of {ledger_id} is lost: {row}")
        if kind == "lac" and (row is None or int.from_bytes(row.explicit_lac[8:16], "big") < rest[0]):
            raise AssertionError(f"the LAC {rest[0]} of {ledger_id} is lost: {row}")
        if kind == "denied":
            _check_denied(life, ledger_id, rest[0])
    check_nothing_foreign(life, allowed)


def _check_denied(life: Life, ledger_id: int, entry_id: int) -> None:
    """An ordinary add of an entry that was denied must never succeed (S3, S4)."""
    outcome: list[Exception | None] = []
    life.bookie.add(run(ledger_id, entry_id), KEY, False, False, False, lambda part, error: outcome.append(error))
    life.drain()
    if not (outcome and isinstance(outcome[0], LedgerFencedError)):
        raise AssertionError(f"an add to the fenced ledger {ledger_id} ended with {outcome}")


Copies = Mapping[tuple[int, int], Sequence[bytes]]


def allowed_copies(facts: Facts) -> Copies:
    """Return what may be found of each entry: its last acknowledged copy, and those begun after it."""
    begun: dict[tuple[int, int], list[bytes]] = {}
    for kind, ledger_id, *rest in facts:
        if kind == "begun":
            begun.setdefault((ledger_id, rest[0]), []).append(rest[1])
    acked = Counter((fact[1], fact[2]) for fact in facts if fact[0] == "acked")
    return {key: copies[max(acked[key] - 1, 0) :] for key, copies in begun.items()}


def check_nothing_foreign(life: Life, allowed: Copies) -> None:
    """Nothing is half there, and nothing is there that was not written, or was replaced (S9)."""
    for ledger_id in sorted({ledger for ledger, _ in allowed}):
        for first, last in life.store.storage.entry_ranges(ledger_id):
            for entry_id in range(first, last + 1):
                if found_entry(life, ledger_id, entry_id) not in allowed.get((ledger_id, entry_id), ()):
                    raise AssertionError(f"entry {ledger_id}/{entry_id} is not what was written")


Script = Callable[[Life], Any]


def workload(script: Script, parts: Parts, lives: Sequence[Script] = ()) -> Callable[[SimDisk, Facts], None]:
    """A script in one process, perhaps followed by others in further ones; each is killed at its end."""

    def work(disk: SimDisk, facts: Facts) -> None:
        for each in (script, *lives):
            each(Life(disk, facts, parts))
            disk.kill()

    return work


EXPECTED_FAILURES = (BookKeeperError, OSError)
"""What a life may end with when the disk fails."""


def after_failure(script: Script, number: int, second: Script) -> Callable[[SimDisk, Facts], None]:
    """A script that an operation ends by failing, and one in the process that is started then."""

    def work(disk: SimDisk, facts: Facts) -> None:
        disk.fail(errno.EIO, at=number)
        with contextlib.suppress(*EXPECTED_FAILURES):
            script(Life(disk, facts, Parts()))
        disk.kill()
        second(Life(disk, facts, Parts()))

    return work


class Killed(BaseException):
    """Ends the process that is at work."""


def kill_before(disk: SimDisk, number: int) -> None:
    """Let the process on a disk get no further than to an operation, of which it does nothing."""

    def stop(operation: Operation) -> None:
        if operation.number >= number:
            raise Killed

    disk.observer = stop


def after_kill(scripts: Sequence[Script], number: int, last: Script) -> Callable[[SimDisk, Facts], None]:
    """Scripts in a process each, one of which is killed just before an operation, and one in the process after that.

    The last one finds what was written before, synced or not.
    """

    def work(disk: SimDisk, facts: Facts) -> None:
        observer = disk.observer
        kill_before(disk, number)
        with contextlib.suppress(Killed, *EXPECTED_FAILURES):
            workload(scripts[0], Parts(), scripts[1:])(disk, facts)
        disk.kill()
        disk.observer = observer
        last(Life(disk, facts, Parts()))

    return work
