"""Bookies on simulated machines: killed, cut from power, paused, started again."""

import errno

from twisted.internet.defer import gatherResults

from bookkeeper_twisted.bookie.engine import FAILED, NO_SPACE
from bookkeeper_twisted.errors import StorageFailedError

from .nodes import WorldCase


class BookieNodeTests(WorldCase):
    """:class:`BookieNode`."""

    def append_and_lose(self, power: bool) -> list[bytes]:
        """What a ledger on all three gives back after all of them were killed and started again."""
        writer = self.result(self.client.create_ledger(3, 3, 3))
        written = [b"entry %d" % number for number in range(40)]
        self.result(gatherResults([writer.append(data) for data in written]))
        self.result(writer.close())
        for bookie in self.bookies:
            bookie.kill(power)
            self.assertFalse(bookie.running)
        self.pass_time(5)
        for bookie in self.bookies:
            bookie.start()
        self.pass_time(20)
        reader = self.result(self.client.open_ledger(writer.ledger_id))
        return [entry.data for entry in self.result(reader.read(0, 39))]

    def append(self) -> None:
        """One entry to all three, whatever the outcome."""
        writer = self.result(self.client.create_ledger(3, 3, 2))
        writer.append(b"data").addErrback(lambda _: None)
        self.pass_time(20)

    def test_killed(self) -> None:
        """What was acknowledged is there after a kill (S1)."""
        self.assertEqual(self.append_and_lose(False), [b"entry %d" % number for number in range(40)])
        self.assertEqual([bookie.starts for bookie in self.bookies], [2, 2, 2])

    def test_power_cut(self) -> None:
        """What was acknowledged is there after a power cut (S1)."""
        self.assertEqual(self.append_and_lose(True), [b"entry %d" % number for number in range(40)])

    def test_power_cut_within_work(self) -> None:
        """The power can go between two operations of one piece of work."""
        bookie = self.bookies[0]
        before = len(bookie.disk.operations)
        disk = bookie.disk
        bookie.cut_power_at(3)
        self.append()
        self.assertFalse(bookie.running)
        self.assertEqual(len(disk.operations), before + 2)
        bookie.start()
        self.pass_time(10)
        self.assertTrue(bookie.serving)

    def test_pause(self) -> None:
        """A bookie that is paused answers behind the pause."""
        writer = self.result(self.client.create_ledger(3, 3, 2))
        for bookie in self.bookies[:2]:
            bookie.pause()
        appending = writer.append(b"data")
        self.pass_time(0.5)
        self.assertNoResult(appending)
        for bookie in self.bookies[:2]:
            bookie.resume()
        self.pass_time(0.4)
        self.assertEqual(self.successResultOf(appending), 0)

    def test_dead_journal(self) -> None:
        """A bookie whose journal fails exits, and is started again (S10)."""
        bookie = self.bookies[0]
        bookie.disk.fail(errno.EIO, when=lambda op: op.name == "sync" and op.path.startswith("/journal"))
        self.append()
        exits = [heard for heard in self.witness.heard if heard[0] == "exited"]
        self.assertEqual({exit[1] for exit in exits}, {bookie.bookie_id})
        self.assertGreater(bookie.starts, 1)
        self.assertTrue(bookie.serving)
        self.flushLoggedErrors(OSError, StorageFailedError)

    def test_failing_disk(self) -> None:
        """A bookie whose ledger disk fails is read-only until a checkpoint succeeds, for recovery adds as well; one
        whose disk is full takes these."""
        for error, reason, high_priority in (
            (errno.EIO, f"{FAILED}: /ledgers0: EIO (errno 5)", False), (errno.ENOSPC, f"{NO_SPACE}: /ledgers0", True),
        ):  # fmt: skip
            bookie = self.bookies[0]
            assert bookie.process is not None and bookie.process.engine is not None
            mode = bookie.process.engine.bookie.mode
            bookie.disk.fail(error, when=lambda op: op.name == "pwrite" and "/ledgers" in op.path, times=1 << 30)
            self.append()
            self.pass_time(5)
            self.assertEqual((mode.read_only, mode.high_priority), (True, high_priority))
            self.assertIn(reason, {heard[2] for heard in self.witness.heard if heard[0] == "read_only"})
            bookie.disk.heal()
            self.pass_time(10)
            self.assertEqual((mode.read_only, mode.high_priority), (False, True))

    def test_full_disk(self) -> None:
        """A bookie whose ledger disk is full is read-only, in its next life too, until there is space."""
        bookie = self.bookies[0]
        self.append()

        def fill() -> None:
            names = "pwrite", "create"
            bookie.disk.fail(
                errno.ENOSPC, when=lambda op: op.name in names and op.path.startswith("/ledgers"), times=1 << 30
            )

        def is_read_only() -> bool:
            assert bookie.process is not None and bookie.process.engine is not None
            return bookie.process.engine.bookie.mode.read_only

        fill()
        self.append()
        self.assertTrue(is_read_only())
        bookie.kill(power=False)
        self.pass_time(5)
        fill()
        bookie.start()
        self.pass_time(10)
        self.assertTrue(bookie.serving and is_read_only())
        bookie.disk.heal()
        self.pass_time(10)
        self.assertFalse(is_read_only())
        reasons = {heard[2] for heard in self.witness.heard if heard[0] == "read_only"}
        self.assertEqual(reasons, {f"{NO_SPACE}: /ledgers0"})

    def test_registration_of_the_dead(self) -> None:
        """The metadata store forgets a dead bookie after its session's time-out, and knows the next one."""
        bookie = self.bookies[0]
        bookie.kill(power=False)
        self.pass_time(5)
        self.assertNotIn(bookie.bookie_id, self.world.metadata.store.bookies)
        bookie.start()
        self.pass_time(5)
        self.assertIn(bookie.bookie_id, self.world.metadata.store.bookies)
