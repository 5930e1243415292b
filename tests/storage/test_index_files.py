"""Index files of Apache's interleaved and sorted storage."""

import struct
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.index_files import HEAD_SIZE, index_files, parse_head, states_of
from bookkeeper_twisted.storage.interfaces import IndexBatch, LedgerRow
from bookkeeper_twisted.storage.rebuild import rebuild_index
from bookkeeper_twisted.testing.disk.crash import Facts, enumerate_crashes
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk
from bookkeeper_twisted.testing.disk.sim_index import SimIndex

from .index.java_stores import STORES, java_store

CURRENT = "/ledgers/current"
STORE = "sorted-killed"


def head(key: bytes = b"key", state: int = 0, lac: bytes = b"", version: int = 1, magic: bytes = b"BKLE") -> bytes:
    """The head of an index file."""
    start = magic + struct.pack(">ii", version, len(key)) + key + struct.pack(">i", state)
    return (start + (struct.pack(">i", len(lac)) + lac if version else b"")).ljust(HEAD_SIZE, b"\0")


def expected(name: str) -> list[LedgerRow]:
    """The states in the index files of a store, as its manifest says."""
    files: dict[str, dict[str, Any]] = java_store(name).manifest["indexFiles"]
    rows = (
        LedgerRow(f["ledgerId"], bytes.fromhex(f["masterKey"]), f["fenced"], bytes.fromhex(f["explicitLac"] or ""))
        for f in files.values()
    )
    return sorted(rows, key=lambda row: row.ledger_id)


def java_disk() -> SimDisk:
    """A disk with a store, durable."""
    return java_store(STORE).disk().crash()


def put(disk: SimDisk, name: str, data: bytes) -> None:
    """A file in the first folder of index files."""
    folder = f"{CURRENT}/0/0"
    disk.make_directories(folder)
    disk.open(f"{folder}/{name}", create=True).pwrite(data, 0)


class HeadTests(SynchronousTestCase):
    """Heads of files."""

    def test_parts(self) -> None:
        """Key, fence and explicit LAC are read, in both versions of the head."""
        self.assertEqual(parse_head(7, head(b"abc", 1, b"l" * 20)), LedgerRow(7, b"abc", True, b"l" * 20))
        self.assertEqual(parse_head(7, head(b"", 2)), LedgerRow(7))
        self.assertEqual(parse_head(7, head(b"abc", 1, version=0)), LedgerRow(7, b"abc", True))

    def test_damage(self) -> None:
        """A head that is cut, or that says what cannot be, says nothing."""
        length = struct.Struct(">i")
        for damaged in (
            b"", head()[:-1], head(magic=b"BKLX"), head(version=2), head()[:8] + length.pack(-1) + head()[12:],
            head()[:8] + length.pack(1005) + head()[12:], head(b"", 0)[:16] + length.pack(-1) + head()[20:],
            head(b"", 0)[:16] + length.pack(1005) + head()[20:],
        ):  # fmt: skip
            self.assertIsNone(parse_head(7, damaged))


class StatesTests(SynchronousTestCase):
    """Files of a directory."""

    def test_as_apache(self) -> None:
        """What Apache's bookies wrote is read as the manifests say."""
        seen = 0
        for name in STORES:
            if java_store(name).manifest.get("indexFiles"):
                disk = java_store(name).disk()
                rows = states_of(disk, index_files(disk, CURRENT))
                self.assertEqual(rows, expected(name), name)
                seen += len(rows)
            else:
                self.assertEqual(index_files(java_store(name).disk(), java_store(name).ledger_directories()[0]), [])
        self.assertGreater(seen, 30)

    def test_moved_files(self) -> None:
        """A copy that was being made of a file counts where the file is gone."""
        disk = SimDisk()
        put(disk, "a.idx", head(b"file"))
        put(disk, "a.idx.rloc", head(b"copy"))
        put(disk, "b.idx.rloc", head(b"copy"))
        put(disk, "x.idx", head(b"no id"))
        put(disk, "c.idx", b"")
        expected = [LedgerRow(10, b"file"), LedgerRow(11, b"copy"), LedgerRow(12, fenced=True)]
        self.assertEqual(states_of(disk, index_files(disk, CURRENT)), expected)


class TakeOverTests(SynchronousTestCase):
    """Rebuilds of directories with index files."""

    def _rebuild(self, disk: SimDisk) -> dict[int, LedgerRow]:
        rebuilt = rebuild_index(disk, CURRENT, CURRENT, SimIndex.open)
        return {row.ledger_id: row for row in rebuilt.index.ledgers()}

    def test_states(self) -> None:
        """Keys, fences and explicit LACs are taken over, of a ledger without entries too; then the files go."""
        disk = java_disk()
        states = self._rebuild(disk)
        self.assertEqual(list(states.values()), expected(STORE))
        self.assertTrue(states[777].fenced)
        self.assertEqual(index_files(disk, CURRENT), [])
        disk = disk.crash(())
        self.assertEqual(index_files(disk, CURRENT), [])
        self.assertEqual(self._rebuild(disk), states)

    def test_unknown(self) -> None:
        """A ledger whose file is damaged or lost is fenced, and its key is unknown."""
        disk = java_disk()
        disk.open(f"{CURRENT}/0/1/1.idx").pwrite(b"?", 0)
        disk.unlink(f"{CURRENT}/0/5/5.idx")
        states = self._rebuild(disk)
        for ledger_id in (1, 5):
            self.assertEqual(states[ledger_id], LedgerRow(ledger_id, b"", fenced=True))

    def test_index_of_ours(self) -> None:
        """Where there is a complete index of ours, or a damaged one, the files speak of the past."""
        disk = java_disk()
        (later,) = (row for row in expected(STORE) if row.ledger_id == 5)
        SimIndex.open(disk, CURRENT).commit(IndexBatch(ledgers=[LedgerRow(5, later.master_key, True)], complete=True))
        states = self._rebuild(disk)
        self.assertTrue(states[5].fenced)
        self.assertNotIn(777, states)
        self.assertEqual(index_files(disk, CURRENT), [])

    def test_damaged_index(self) -> None:
        """Where an index of ours is damaged, every ledger is fenced."""
        disk = java_disk()

        def make(fs: Any, path: str, fresh: bool) -> SimIndex:
            if not fresh:
                raise DamageError("the index is damaged")
            return SimIndex.open(fs, path, fresh)

        rebuilt = rebuild_index(disk, CURRENT, CURRENT, make)
        self.assertTrue(all(row.fenced for row in rebuilt.index.ledgers()))

    def test_power_cuts(self) -> None:
        """Cut anywhere, and cut again, the next rebuild knows every ledger."""

        def rebuild(disk: SimDisk, facts: Facts) -> None:
            if not SimIndex.open(disk, CURRENT).complete:
                self._rebuild(disk)
            found = list(SimIndex.open(disk, CURRENT).ledgers())
            if found != expected(STORE):
                raise AssertionError(found)

        report = enumerate_crashes(rebuild, rebuild, seed=1, build=java_disk)
        self.assertEqual(report.violations[:1], [])
        self.assertGreater(report.states, 20)
