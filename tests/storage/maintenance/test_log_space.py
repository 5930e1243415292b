"""Entry logs as space."""

import errno
from collections.abc import Sequence

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.index.rows import row_bytes
from bookkeeper_twisted.storage.interfaces import IndexBatch
from bookkeeper_twisted.storage.maintenance.log_space import LogSpace
from bookkeeper_twisted.storage.maintenance.plan import LogUsage

from ..entries import row, run
from ..ledger_storages import checkpoint
from .test_copying import CopyCase


class LogSpaceTests(CopyCase):
    """Listing, measuring, removal."""

    def setUp(self) -> None:
        super().setUp()
        self.log_of(run(1, 0, 10), run(2, 0, 5))
        self.log_of(run(1, 0, 4, salt=1))
        self.space = LogSpace(self.disk, self.directory)

    def test_sealed(self) -> None:
        """The log that is written to is not listed."""
        self.storage.add(run(3, 0, 5))
        checkpoint(self.storage)
        self.assertEqual(self.space.sealed_logs(), [0, 1])
        self.directory.log.close()
        self.assertEqual(self.space.sealed_logs(), [0, 1, 2])

    def test_usage(self) -> None:
        """Live is what rows refer to: not what was written again, nor what was deleted."""
        usage = self.space.usage([0, 1])
        self.assertEqual([log.live for log in usage], [11 * 56, 4 * 56])
        self.assertGreaterEqual(usage[0].size, 15 * 56)
        self.assertLess(usage[0].size, 15 * 56 + 4096)
        self.storage.forget([1], 1)
        checkpoint(self.storage)
        self.assertEqual([log.live for log in self.space.usage([0, 1])], [5 * 56, 0])

    def test_bytes_of(self) -> None:
        """The bytes of some ledgers in each log are those that die with the ledgers; also of many rows of one."""
        self.assertEqual(self.space.bytes_of([1]), {0: 6 * 56, 1: 4 * 56})
        self.assertEqual(self.space.bytes_of([0, 2, 7]), {0: 5 * 56})
        self.assertEqual(self.space.bytes_of([]), {})
        self.directory.index.commit(IndexBatch(runs=[row(7, 2 * n, 2 * n, log_id=n % 2) for n in range(200)]))
        self.assertEqual(self.space.bytes_of([7]), {log_id: 100 * row_bytes(row(7, 0, 0)) for log_id in (0, 1)})

    def test_missing(self) -> None:
        """A log that rows refer to and that is not there is found, with its live entries; one without any is not."""
        self.assertEqual(self.space.missing(), {})
        for log_id in (0, 1):
            self.disk.unlink(f"/l0/{log_id}.log")
        self.assertEqual(self.space.missing(), {"/l0/0.log": 11, "/l0/1.log": 4})
        self.storage.forget([1], 1)
        checkpoint(self.storage)
        self.assertEqual(self.space.missing(), {"/l0/0.log": 5})

    def test_damaged_header(self) -> None:
        """A log with a damaged header is measured by its length."""
        self.disk.open("/l0/1.log").pwrite(b"X", 0)
        (log,) = self.space.usage([1])
        self.assertIsInstance(log, LogUsage)
        self.assertGreaterEqual(log.size, 4 * 56)

    def test_unreadable(self) -> None:
        """A log that cannot be read is said to be so, counts as live as a whole, and does not hide the others."""
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread" and op.path.endswith("/0.log"))
        broken, good = self.space.usage([0, 1])
        self.assertEqual((broken.size, broken.live, broken.share()), (11 * 56, 11 * 56, 1))
        self.assertIn("0.log", broken.error)
        self.assertEqual((good.live, good.error), (4 * 56, ""))

    def test_remove(self) -> None:
        """A log is gone with its open files, and so durably."""
        self.storage.forget([1], 1)
        checkpoint(self.storage)
        checks = self.space.checks([1])
        while checks.step() is not None:
            pass
        self.assertGreater(self.space.remove(1), 1024)
        self.space.sync()
        self.assertFalse(self.disk.crash(()).exists("/l0/1.log"))

    def test_still_needed(self) -> None:
        """A log to which a row refers is not removed (S8)."""
        self._fails_check([1, 0], "still lies there")

    def test_scanned(self) -> None:
        """A log without a ledgers map is scanned for its ledgers."""
        self.disk.open("/l0/0.log").pwrite(bytes(12), 8)
        self._fails_check([0], "entry")

    def _fails_check(self, log_ids: Sequence[int], text: str, steps: int = 9) -> None:
        checks = self.space.checks(log_ids)
        error = self.assertRaises(DamageError, lambda: [checks.step() for _ in range(steps)])
        self.assertIn(text, str(error))

    def test_many_ledgers(self) -> None:
        """Every ledger of a log is looked up, wherever its rows lie among those of others."""
        ledgers = range(10, 150)
        self.log_of(*[run(ledger_id, 0, 2) for ledger_id in ledgers])
        self.log_of(*[run(ledger_id, 0, 2, salt=1) for ledger_id in ledgers])
        self.log_of(*[run(ledger_id, 2, 2) for ledger_id in ledgers])
        checks = self.space.checks([2])
        steps = list(iter(checks.step, None))
        self.assertEqual(sum(rows for _, rows in steps), 2 * len(ledgers))
        for missing in (ledgers[0], ledgers[70], ledgers[-1]):
            self.directory.index.commit(IndexBatch(runs=[row(missing, 9, 9, log_id=2)]))
            self._fails_check([2], f"entry 9 of ledger {missing} still lies there", steps=99)
            self.directory.index.commit(IndexBatch(runs=[row(missing, 9, 9, log_id=4)]))

    def test_left_over(self) -> None:
        """Files of compactions that were cut off go, ours and Apache's; others stay."""
        for name in ("7.log.compacting", "8.log.1.compacted", "x.log.compacting", "note.compacting"):
            self.disk.open(f"/l0/{name}", create=True)
        self.assertEqual(self.space.remove_left_over(), 2)
        left = self.disk.crash(()).list("/l0")
        self.assertNotIn("7.log.compacting", left)
        self.assertIn("0.log", left)

    def test_row_of_no_log(self) -> None:
        """Bytes are counted for logs that are listed only."""
        self.directory.index.commit(IndexBatch(runs=[row(9, 0, 9, log_id=77)]))
        self.assertEqual([log.log_id for log in self.space.usage([0, 1])], [0, 1])
