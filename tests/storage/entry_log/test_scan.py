"""Going through whole entry logs, by Java's rules."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.entry_log import scan as entry_log_scan
from bookkeeper_twisted.storage.entry_log.format import new_header
from bookkeeper_twisted.storage.entry_log.scan import LogScan, ledger_sizes
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter

from ...simulated_disk.sim_disk import SimDisk
from ..entries import entry, run
from ..index.java_stores import STORES, java_store


def disk_with(body: bytes, header: bytes = new_header()) -> SimDisk:
    """A disk with one log, ``/0.log``."""
    disk = SimDisk()
    disk.open("/0.log", create=True).pwrite(header + body, 0)
    return disk


def plain_scan(data: bytes) -> tuple[list[tuple[int, int, int, int]], int | None]:
    """The rules as they are written down, one byte at a time."""
    found: list[tuple[int, int, int, int]] = []
    at = 1024
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        if size <= 0:
            at += 1
            continue
        if size < 16 or at + 4 + size > len(data):
            return found, at
        ledger_id = int.from_bytes(data[at + 4 : at + 12], "big", signed=True)
        entry_id = int.from_bytes(data[at + 12 : at + 20], "big", signed=True)
        if ledger_id >= 0 and entry_id >= 0:
            found.append((ledger_id, entry_id, at, 4 + size))
        at += 4 + size
    return found, None


class ScanTests(SynchronousTestCase):
    """Made-up logs."""

    def test_padding(self) -> None:
        """Records stand behind zeros, 0xF0 and other negative sizes, in whatever number."""
        record = run(1, 0, 1).data
        for padding in (b"\0", b"\0" * 3, b"\0" * 5000, b"\xf0" * 4093, b"\xf0" * 3 + b"\0" * 9, b"\x80\xff\x80"):
            scan = LogScan(disk_with(record + padding + record + padding), "/", 0)
            offsets = [record.offset for record in scan]
            self.assertEqual(offsets, [1024, 1024 + len(record) + len(padding)], padding)
            self.assertIsNone(scan.torn_at)

    def test_much_padding(self) -> None:
        """Padding longer than what is read at once."""
        record, zeros = run(1, 0, 1).data, bytes(2 * entry_log_scan.WINDOW + 17)
        (found,) = LogScan(disk_with(zeros + record), "/", 0)
        self.assertEqual(found, (1, 0, 1024 + len(zeros), len(record)))

    def test_torn_tail(self) -> None:
        """A record that runs over the end ends the scan, which tells where."""
        data = run(1, 0, 3).data
        for cut in range(1, 55):
            scan = LogScan(disk_with(data[:-cut]), "/", 0)
            self.assertEqual([r.entry_id for r in scan], [0, 1])
            self.assertEqual(scan.torn_at, 1024 + 2 * 56 if cut < 53 else None)

    def test_short_record(self) -> None:
        """A size too small for an entry is not a record."""
        scan = LogScan(disk_with(run(1, 0, 1).data + (15).to_bytes(4, "big") + bytes(15)), "/", 0)
        self.assertEqual(len([*scan]), 1)
        self.assertEqual(scan.torn_at, 1024 + 56)

    def test_passed_over(self) -> None:
        """Records with negative ids are passed over: maps, filler, the journal's own ids."""
        special = b"".join(len(e).to_bytes(4, "big") + e for e in (entry(-1, 0), entry(5, 7)))
        special = special.replace(entry(5, 7)[8:16], (-4096).to_bytes(8, "big", signed=True), 1)
        self.assertEqual([r.entry_id for r in LogScan(disk_with(special + run(1, 3, 1).data), "/", 0)], [3])

    def test_empty(self) -> None:
        """Files that never came into use: no byte, part of a header, a header that was not durable."""
        for header in (b"", bytes(512), bytes(1024)):
            scan = LogScan(disk_with(b"", header), "/", 0)
            self.assertEqual([*scan], [])
            self.assertFalse(scan.sealed)

    def test_damaged_header(self) -> None:
        """A log with records and no header is damage, not an empty log (S5)."""
        self.assertRaises(DamageError, LogScan, disk_with(run(1, 0, 1).data, bytes(1024)), "/", 0)
        self.assertRaises(DamageError, LogScan, disk_with(b"", b"BKLX".ljust(1024, b"\0")), "/", 0)

    def test_version_0(self) -> None:
        """Logs of version 0 have records and no map."""
        scan = LogScan(disk_with(run(1, 0, 2).data, b"BKLO".ljust(1024, b"\0")), "/", 0)
        self.assertEqual(len([*scan]), 2)
        self.assertIsNone(scan.ledgers_map())

    def test_sizes(self) -> None:
        """Bytes by ledger come from the map, and from a scan where the map is missing or broken."""
        disk = SimDisk()
        log = EntryLogWriter.open(disk, "/", 1 << 20)
        for entries in (run(1, 0, 5), run(2, 0, 3, 100), run(1, 5, 2)):
            log.append(entries)
        log.sync()
        expected = {1: 7 * 56, 2: 3 * 136}
        self.assertEqual(ledger_sizes(disk, "/", 0), expected)
        log.close()
        self.assertEqual(LogScan(disk, "/", 0).ledgers_map(), expected)
        self.assertEqual(ledger_sizes(disk, "/", 0), expected)
        file = disk.open("/0.log")
        file.pwrite(b"\x7f", file.size() - 40)
        self.assertIsNone(LogScan(disk, "/", 0).ledgers_map())
        self.assertEqual(ledger_sizes(disk, "/", 0), expected)

    @given(st.lists(st.one_of(
        st.integers(0, 200).map(lambda n: bytes(n)), st.integers(0, 60).map(lambda n: b"\xf0" * n),
        st.integers(0, 40).map(lambda n: run(1, n, 1, n).data), st.binary(max_size=30),
    )), st.integers(24, 300))  # fmt: skip
    def test_same_as_byte_by_byte(self, parts: list[bytes], window: int) -> None:
        """Jumping over padding finds what going byte by byte finds, however little is read at once."""
        body = b"".join(parts)
        scan = LogScan(disk_with(body), "/", 0, window)
        self.assertEqual(([*scan], scan.torn_at), plain_scan(new_header() + body))


class JavaLogTests(SynchronousTestCase):
    """Every entry log of the stores written by Java bookies."""

    def test_records(self) -> None:
        """Each record is found where the manifest says, with its bytes; so is each ledgers map."""
        logs = 0
        for name in STORES:
            store = java_store(name)
            disk = store.disk()
            for log in store.manifest["entryLogs"]:
                folder = "/" + log["file"].rpartition("/")[0]
                scan = LogScan(disk, folder, log["logId"])
                expected = [r for r in log["records"] if r["ledgerId"] >= 0]
                found = [
                    {
                        "recordOffset": r.offset, "location": r.offset + 4, "size": r.size - 4,
                        "ledgerId": r.ledger_id, "entryId": r.entry_id,
                        "sha256": hashlib.sha256(disk.open(scan.path).pread(r.size - 4, r.offset + 4)).hexdigest(),
                    }
                    for r in scan
                ]  # fmt: skip
                self.assertEqual(found, expected, (name, log["file"]))
                self.assertIsNone(scan.torn_at)
                self.assertEqual(scan.ledgers_map() is not None, log["ledgersMap"] is not None)
                logs += 1
        self.assertGreater(logs, 40)
