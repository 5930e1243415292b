"""Ways to damage a file, and the verdict on a bookie that finds it so."""

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from random import Random

import attrs

from bookkeeper_twisted.errors import BookKeeperError, StorageError
from bookkeeper_twisted.storage.entry_log.scan import LogScan
from bookkeeper_twisted.storage.interfaces import IFile, IFileSystem
from bookkeeper_twisted.storage.journal.reader import JournalReader

from .stored import Bookie, Promises, is_whole

SECTOR = 512
KINDS = {".txn": "journal", ".spare": "spare", ".log": "entry log", ".sqlite": "index", "-wal": "index log"}
"""Kinds of files by the end of their names; every other file is a kind of its own."""

REFUSALS = frozenset({"journal", "index", "index log", "IDENTITY"})
"""Kinds whose damage may keep a bookie from starting; an older log mark may, too, if its journal file is gone."""


@attrs.frozen
class Case:
    """One damaged file.

    :ivar way: ``flip`` (of the bits ``mask`` at ``offset``), ``zero`` (a sector from ``offset`` on), ``cut``, or
        ``older`` (the file is as it was earlier).
    :ivar content: of the file, for ``older``.
    """

    path: str
    way: str
    offset: int
    mask: int = 0
    content: bytes = attrs.field(default=b"", repr=False)

    @property
    def kind(self) -> str:
        """Of the file."""
        name = posixpath.basename(self.path)
        return next((kind for end, kind in KINDS.items() if name.endswith(end)), name)

    def apply(self, fs: IFileSystem) -> tuple[int, int]:
        """Damage the file.

        :returns: first and last byte, exclusive, that may have changed.
        """
        file = fs.open(self.path)
        try:
            size = file.size()
            if self.way == "older":
                file.truncate(0)
                file.pwrite(self.content, 0)
                return 0, max(size, len(self.content))
            if self.way == "cut":
                file.truncate(self.offset)
                return self.offset, size
            if self.way == "zero":
                count = min(SECTOR, size - self.offset)
                file.pwrite(bytes(count), self.offset)
                return self.offset, self.offset + count
            file.pwrite(bytes([file.pread(1, self.offset)[0] ^ self.mask]), self.offset)
            return self.offset, self.offset + 1
        finally:
            file.close()


def cases(sizes: dict[str, int], count: int, rng: Random) -> Iterator[Case]:
    """Damage of files, each kind as often as the others.

    :param sizes: of the files, by path.
    :param count: of all cases.
    """
    by_kind: dict[str, list[str]] = {}
    for path, size in sorted(sizes.items()):
        if size:
            by_kind.setdefault(Case(path, "", 0).kind, []).append(path)
    for number in range(count):
        paths = by_kind[sorted(by_kind)[number % len(by_kind)]]
        path = rng.choices(paths, [sizes[each] for each in paths])[0]
        way = ("flip", "flip", "zero", "cut")[number // len(by_kind) % 4]
        offset = rng.randrange(sizes[path])
        yield Case(path, way, offset // SECTOR * SECTOR if way == "zero" else offset, 1 << rng.randrange(8))


def older_cases(older: dict[str, bytes], newest: dict[str, bytes]) -> list[Case]:
    """Each file that has changed, as it was.

    :param older: contents of the files at some time, by path.
    :param newest: their contents when the bookie was killed.
    """
    return [
        Case(path, "older", 0, content=content)
        for path, content in sorted(older.items())
        if path in newest and newest[path] != content
    ]


@attrs.define
class Places:
    """Where the entries lie that are in entry logs, and where the journal's last group begins.

    :ivar records: path, begin and end of every record, by ledger and entry.
    """

    records: dict[tuple[int, int], list[tuple[str, int, int]]] = attrs.field(factory=dict)
    last_group: tuple[str, int] = ("", 0)

    @classmethod
    def of(cls, fs: IFileSystem, bookie_paths: Sequence[str], journal: str) -> "Places":
        """Look them up.

        :param bookie_paths: the ``current`` of the ledger directories.
        :param journal: that of the journal.
        """
        places = cls()
        for folder in bookie_paths:
            for name in fs.list(folder):
                if name.endswith(".log"):
                    for found in LogScan(fs, folder, int(name[:-4], 16)):
                        where = (f"{folder}/{name}", found.offset, found.offset + found.size)
                        places.records.setdefault((found.ledger_id, found.entry_id), []).append(where)
        name = max((each for each in fs.list(journal) if each.endswith(".txn")), key=lambda each: int(each[:-4], 16))
        file = fs.open(f"{journal}/{name}")
        places.last_group = f"{journal}/{name}", _last_group(file, int(name[:-4], 16))
        file.close()
        return places


def _last_group(file: IFile, file_id: int) -> int:
    reader, last = JournalReader(file, file_id), 0
    for _ in reader.records(0):
        last = reader.at
    return last


@attrs.define
class Tally:
    """What came out of the cases, by kind of file.

    :ivar cases, refused, unreadable: cases; those in which the bookie did not start; those in which some entry was not
        readable.
    :ivar violations: texts.
    """

    cases: dict[str, int] = attrs.field(factory=dict)
    refused: dict[str, int] = attrs.field(factory=dict)
    unreadable: dict[str, int] = attrs.field(factory=dict)
    violations: list[str] = attrs.field(factory=list)

    def count(self, column: dict[str, int], case: Case) -> None:
        """One more of a kind."""
        column[case.kind] = column.get(case.kind, 0) + 1

    def __str__(self) -> str:
        lines = [
            f"{kind:<12} {count:>7,} cases, {self.refused.get(kind, 0):>6,} refused,"
            f" {self.unreadable.get(kind, 0):>6,} with entries that cannot be read"
            for kind, count in sorted(self.cases.items())
        ]
        return "\n".join([*lines, f"{sum(self.cases.values()):,} cases, {len(self.violations)} violations"])


class Verdict:
    """Judges one case.

    :param damaged: bytes of the file that were changed.
    """

    def __init__(self, case: Case, damaged: tuple[int, int], promises: Promises, places: Places, tally: Tally) -> None:
        self._case = case
        self._damaged = damaged
        self._promises = promises
        self._places = places
        self._tally = tally

    def start(self, open_bookie: Callable[[], Bookie]) -> Bookie | None:
        """The started bookie; None if it refused."""
        self._tally.count(self._tally.cases, self._case)
        try:
            return open_bookie()
        except (BookKeeperError, OSError) as error:
            if self._case.kind not in REFUSALS and not (self._case.way == "older" and self._case.kind == "lastMark"):
                self._violated(f"the bookie did not start: {error!r}")
            self._tally.count(self._tally.refused, self._case)
        except Exception as error:  # any other kind would be a crash with a traceback
            self._violated(f"starting raised {error!r}")
        return None

    def check(self, bookie: Bookie) -> None:
        """Everything that was promised is there, or is reported as unreadable; fences hold."""
        lost = [key for key in self._live(()) if self._lost(bookie, key)]
        if lost:
            self._tally.count(self._tally.unreadable, self._case)
        for ledger_id in self._promises.fenced:
            row = bookie.store.storage.ledger(ledger_id)
            held = bookie.store.storage.was_fenced(ledger_id) if row is None else row.fenced
            if not held and not self._in_last_group():
                self._violated(f"the fence of ledger {ledger_id} is lost")
        self._check_scrub(bookie, lost)

    def check_served(self, bookie: Bookie, without: Collection[int]) -> None:
        """Nothing is denied, nothing is served with other bytes.

        :param without: ledgers that were deleted meanwhile.
        """
        for key in self._live(without):
            self._lost(bookie, key)

    def expect_all(self, bookie: Bookie, without: Collection[int]) -> None:
        """Everything is there, whatever could be read before; ends the bookie."""
        for key in self._live(without):
            try:
                run = bookie.read(*key)
            except (StorageError, OSError):
                run = None
            if run is None or run.entry(key[1]) != self._promises.entries[key]:
                self._violated(f"entry {key} is lost for good")
        bookie.close()

    def _live(self, without: Collection[int]) -> Iterator[tuple[int, int]]:
        deleted = self._promises.deleted.union(without)
        return (key for key in self._promises.entries if key[0] not in deleted)

    def _lost(self, bookie: Bookie, key: tuple[int, int]) -> bool:
        """Whether an entry cannot be read; any other answer than itself or an error is a violation."""
        expected = self._promises.entries[key]
        batched = key[1] % 4 == self._case.offset % 4  # a sample, as they take much longer
        try:
            run = bookie.read(*key)
            batch = bookie.read(*key, max_bytes=100_000) if batched else run
        except (StorageError, OSError):
            run = batch = None
            if not self._may_be_damaged(key):
                self._violated(f"entry {key} cannot be read, its record was not touched")
            return True
        if run is None:
            if not self._in_last_group():
                self._violated(f"entry {key} is denied")
            return False
        for found in (run, batch):
            data = found.entry(key[1]) if found is not None else b""
            if data != expected and (is_whole(data) or not self._may_be_damaged(key)):
                self._violated(f"entry {key} is served with other bytes")
        return run.entry(key[1]) != expected

    def _may_be_damaged(self, key: tuple[int, int]) -> bool:
        """Whether the case touched the record of an entry, or the index that says where it is."""
        if self._case.kind in ("index", "index log"):
            return True
        begin, end = self._damaged
        return any(
            path == self._case.path and begin < high and low < end
            for path, low, high in self._places.records.get(key, ())
        )

    def _in_last_group(self) -> bool:
        """Whether the last group of the journal is damaged: nothing proves that it was ever durable."""
        path, offset = self._places.last_group
        return self._case.path == path and self._damaged[1] > offset

    def _check_scrub(self, bookie: Bookie, lost: Sequence[tuple[int, int]]) -> None:
        """A scrub finds what cannot be read."""
        if not lost or self._case.kind != "entry log":
            return
        found = [(each.ledger_id, each.first, each.last) for each in bookie.scrub()]
        for ledger_id, entry_id in lost:
            if not any(ledger == ledger_id and low <= entry_id <= high for ledger, low, high in found):
                self._violated(f"a scrub did not find the damage of {ledger_id}/{entry_id}")

    def _violated(self, text: str) -> None:
        self._tally.violations.append(f"{self._case}: {text}")
