"""Index files of Apache's interleaved and sorted storage."""

import struct
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.apache.index_files import (
    HEAD_SIZE,
    files_of_ledgers,
    index_files,
    locations_of,
    parse_head,
    states_of,
)
from bookkeeper_twisted.storage.interfaces import LedgerRow

from ...simulated_disk.sim_disk import SimDisk
from ..index.java_stores import STORES, java_store

CURRENT = "/ledgers/current"


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

    def test_locations(self) -> None:
        """The places of entries are those of the manifests."""
        seen = 0
        for name in STORES:
            manifest = java_store(name).manifest
            if not manifest.get("indexFiles"):
                continue
            disk = java_store(name).disk()
            for ledger_id, path in files_of_ledgers(index_files(disk, CURRENT)).items():
                found = [(entry, location >> 32, location & 0xFFFFFFFF)
                         for _, entry, location in locations_of(disk, ledger_id, path)]  # fmt: skip
                held = manifest["current"].get(str(ledger_id), [])
                self.assertTrue({(e["entryId"], e["logId"], e["offset"]) for e in held} <= set(found))
                seen += len(found)
        self.assertGreater(seen, 100)

    def test_partial_location(self) -> None:
        """Bytes at the end of a file that are no whole location are passed over."""
        disk = SimDisk()
        put(disk, "a.idx", head() + bytes(8) + (7).to_bytes(8, "big") + b"\1\2\3")
        self.assertEqual([*locations_of(disk, 10, f"{CURRENT}/0/0/a.idx")], [(10, 1, 7)])
