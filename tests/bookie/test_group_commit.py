"""Group commit: one write, one sync, one flush for everything that waited."""

from collections.abc import Sequence

from twisted.logger import capturedLogs, formatEvent
from zope.interface.verify import verifyObject

from bookkeeper_twisted.bookie.group_commit import BUSY_SECONDS, CommitOptions
from bookkeeper_twisted.errors import StorageFailedError
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.interfaces import IJournal

from .group_commit_case import GroupCommitTestCase


class GroupTests(GroupCommitTestCase):
    """Groups."""

    def test_interface(self) -> None:
        """The journal of these tests is one."""
        verifyObject(IJournal, self.journal)

    def test_one_group(self) -> None:
        """What was queued together is one write with one sync, completed in order, and flushed once."""
        for records in (b"a", b"b", b"c"):
            self.append(records)
        self.assertEqual(self.events, [])
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"abc", True)])
        self.assertEqual(self.events, [(b"a", None), (b"b", None), (b"c", None), "flush"])

    def test_blocked(self) -> None:
        """How long the present write lasts is known, and begins anew with each group and each wait for a turn."""
        self.clock.advance(100)
        self.assertEqual(self.commit.blocked_seconds, 0)
        self.append(b"a")
        self.assertEqual(self.commit.blocked_seconds, 0)
        self.clock.advance(2)
        self.assertEqual(self.commit.blocked_seconds, 2)
        write, seen = self.journal.write_group, []

        def slow(records: Sequence[bytes], sync: bool = True) -> JournalPosition:
            self.clock.advance(3)
            seen.append(self.commit.blocked_seconds)
            if len(seen) == 1:
                self.append(b"b")
            return write(records, sync)

        self.journal.write_group = slow  # type: ignore[method-assign]
        self.executor.drain()
        self.assertEqual((seen, self.commit.blocked_seconds), ([3, 3], 0))

    def test_blocked_after_a_failure(self) -> None:
        """A journal that has failed writes nothing any more."""
        self.journal.error = OSError(5, "Input/output error")
        self.append(b"a")
        self.executor.drain()
        self.clock.advance(5)
        self.assertEqual(self.commit.blocked_seconds, 0)

    def test_nothing_is_acknowledged_before_the_sync(self) -> None:
        """S1: a completion comes from the journal thread's result, never from the queueing."""
        self.append(b"a")
        self.assertEqual(self.events, [])
        self.executor.run_one()
        self.assertEqual(self.events, [])
        self.executor.deliver()
        self.assertEqual(self.events, [(b"a", None), "flush"])

    def test_next_group_does_not_wait_for_the_reactor(self) -> None:
        """What arrives during a sync is the next group, written before the reactor has seen the first."""
        self.append(b"a")
        self.append_in_write(b"b")
        self.executor.run_one()
        self.assertEqual(self.journal.calls, [(b"a", True), (b"b", True)])
        self.executor.deliver()
        self.assertEqual(self.events, [(b"a", None), "flush", (b"b", None), "flush"])
        self.assertEqual(self.executor.busy_threads(), [])

    def test_starts_again(self) -> None:
        """After the queue ran empty the next item starts the journal thread again."""
        self.append(b"a")
        self.executor.drain()
        self.append(b"b")
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"a", True), (b"b", True)])

    def test_one_drain_at_a_time(self) -> None:
        """However much is queued, the journal thread has one piece of work."""
        for _ in range(10):
            self.append(b"a")
        self.assertEqual(self.executor.busy_threads(), ["journal-0"])

    def test_force(self) -> None:
        """Empty records that want a sync sync what is written, and write nothing."""
        self.append(b"")
        self.executor.drain()
        self.assertEqual(self.journal.calls, ["sync"])
        self.assertEqual(self.events, [(b"", None), "flush"])

    def test_log_mark(self) -> None:
        """S7: the log mark follows completed and synced groups only."""
        self.append(b"abc")
        self.executor.run_one()
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 0))
        self.executor.deliver()
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 3))
        self.append(b"d", sync=False)
        self.executor.drain()
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 3))

    def test_busy(self) -> None:
        """A journal is busy from an append on, until nothing was appended for a while."""
        self.assertFalse(self.commit.is_busy)
        self.append(b"a")
        self.executor.drain()
        self.clock.advance(BUSY_SECONDS / 2)
        self.append(b"b")
        self.clock.advance(BUSY_SECONDS * 0.75)
        self.assertTrue(self.commit.is_busy)
        self.clock.advance(BUSY_SECONDS / 2)
        self.assertFalse(self.commit.is_busy)

    def test_queued_bytes(self) -> None:
        """S11: bytes count from the queueing to the completion, and a full queue says so."""
        self.commit = self.make(CommitOptions(max_queued_bytes=4))
        self.append(b"abc")
        self.assertFalse(self.commit.is_full)
        self.append(b"d")
        self.assertTrue(self.commit.is_full)
        self.executor.drain()
        self.assertEqual((self.commit.queued_bytes, self.commit.is_full), (0, False))

    def test_queued_items(self) -> None:
        """S11: so do many small items."""
        self.commit = self.make(CommitOptions(max_queued_items=2))
        self.append(b"")
        self.append(b"")
        self.assertTrue(self.commit.is_full)

    def test_a_completion_that_raises(self) -> None:
        """One completion that fails does not take the others, or the flush, with it."""
        self.commit.append(b"a", 1, lambda error: self.fail("a bug"))
        self.append(b"b")
        self.executor.drain()
        self.assertEqual(self.events, [(b"b", None), "flush"])
        self.assertEqual(len(self.flushLoggedErrors(self.failureException)), 1)

    def test_tend(self) -> None:
        """Old files are released and the next one is made ready, step by step, beside the groups."""
        self.journal.unprepared = 3
        self.commit.release_files(JournalPosition(1, 5))
        self.executor.drain()
        self.assertEqual(self.journal.released, [JournalPosition(1, 5)])
        self.assertEqual(self.journal.unprepared, 0)

    def test_make_ready(self) -> None:
        """The next file alone is made ready: what is in the others may not be anywhere else."""
        self.journal.unprepared = 3
        self.commit.make_ready()
        self.executor.drain()
        self.assertEqual((self.journal.released, self.journal.unprepared), ([], 0))

    def test_nothing_is_left(self) -> None:
        """A journal thread that is asked to begin when it has taken everything completes nothing, and goes on."""
        self.commit._submit()
        self.executor.drain()
        self.assertEqual(self.flushLoggedErrors(), [])
        self.append(b"a")
        self.executor.drain()
        self.assertEqual(self.journal.calls[-1:], [(b"a", True)])

    def test_close(self) -> None:
        """What is queued is durable before a close ends, and what comes later fails and is not written (S1)."""
        self.append(b"a", sync=False)
        closed = self.commit.close()
        failed: list[Exception | None] = []
        self.commit.append(b"b", 1, failed.append)
        self.assertEqual([type(error) for error in failed], [StorageFailedError])
        self.assertIn("stopping", str(failed[0]))
        self.executor.drain()
        self.successResultOf(closed)
        self.assertEqual(self.journal.calls, [(b"a", False), "sync"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_finish(self) -> None:
        """A finish waits until all that is queued is durable."""
        self.append(b"a", sync=False)
        finished = self.commit.finish()
        self.assertNoResult(finished)
        self.executor.drain()
        self.successResultOf(finished)
        self.assertEqual(self.journal.calls, [(b"a", False), "sync"])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class DeferredSyncTests(GroupCommitTestCase):
    """Items that do not wait for the sync."""

    def test_alone(self) -> None:
        """A group without adds to be synced is not synced, until the interval has passed."""
        self.append(b"a", sync=False)
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"a", False)])
        self.assertEqual(self.events, [(b"a", None), "flush"])
        self.clock.advance(1)
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"a", False), "sync"])
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 1))

    def test_a_sync_in_between(self) -> None:
        """A group that is synced anyway makes the timer needless."""
        self.append(b"a", sync=False)
        self.executor.drain()
        self.append(b"b")
        self.executor.drain()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_mixed(self) -> None:
        """In a mixed group they are complete behind the write, the others and the log mark behind the sync (S7)."""
        self.append(b"a")
        self.append(b"b", sync=False)
        sync = self.journal.sync

        def syncing() -> JournalPosition:
            self.executor.deliver()
            self.events.append("syncing")
            self.assertEqual(self.commit.log_mark, JournalPosition(1, 0))
            return sync()

        self.journal.sync = syncing  # type: ignore[method-assign]
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"ab", False), "sync"])
        self.assertEqual(self.events, [(b"b", None), "flush", "syncing", (b"a", None), "flush"])
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 2))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_mixed_is_written_first(self) -> None:
        """In a mixed group nothing is acknowledged before the write has returned, not even what waits for no sync."""
        self.append(b"a")
        self.append(b"b", sync=False)
        write = self.journal.write_group

        def writing(records: Sequence[bytes], sync: bool = True) -> JournalPosition:
            self.executor.deliver()
            self.assertEqual(self.events, [])
            return write(records, sync)

        self.journal.write_group = writing  # type: ignore[method-assign]
        self.executor.drain()
        self.assertEqual(self.events, [(b"b", None), "flush", (b"a", None), "flush"])

    def test_mixed_write_fails(self) -> None:
        """A mixed group that cannot be written acknowledges nothing."""
        self.journal.error = OSError(5, "Input/output error")
        self.append(b"a")
        self.append(b"b", sync=False)
        self.executor.drain()
        errors = [type(event[1]) for event in self.events if isinstance(event, tuple)]
        self.assertEqual(errors, [StorageFailedError] * 2)


class UnsyncedTests(GroupCommitTestCase):
    """``journalSyncData`` is false."""

    options = CommitOptions(sync_data=False, sync_interval=0.5)

    def test_acknowledged_after_the_write(self) -> None:
        """Everything is complete after the write, and synced when the interval has passed."""
        self.append(b"a")
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"a", False)])
        self.assertEqual(self.events, [(b"a", None), "flush"])
        self.clock.advance(0.5)
        self.executor.drain()
        self.assertEqual(self.journal.calls[-1], "sync")


class MaxWaitTests(GroupCommitTestCase):
    """``journalMaxGroupWaitMSec`` is set."""

    options = CommitOptions(max_wait=0.002, enough_bytes=10)

    def test_waits_for_company(self) -> None:
        """An idle journal waits, and takes what came meanwhile."""
        self.append(b"a")
        self.assertEqual(self.executor.busy_threads(), [])
        self.append(b"b")
        self.clock.advance(0.002)
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"ab", True)])

    def test_enough(self) -> None:
        """Enough bytes end the wait."""
        self.append(b"a")
        self.append(b"b" * 9)
        self.assertEqual(self.executor.busy_threads(), ["journal-0"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop(self) -> None:
        """A stop ends the wait; what was queued is written."""
        self.append(b"a")
        self.commit.stop()
        self.executor.drain()
        self.assertEqual(self.events, [(b"a", None), "flush"])


class FailureTests(GroupCommitTestCase):
    """S10: the first failure is the end."""

    def setUp(self) -> None:
        super().setUp()
        self.journal.error = OSError(5, "Input/output error")

    def _errors(self) -> list[type[object] | None]:
        return [type(event[1]) for event in self.events if isinstance(event, tuple)]

    def test_everything_queued_fails(self) -> None:
        """The group, what was queued behind it and what comes later fail; the failure is reported once."""
        with capturedLogs() as events:
            self.append(b"a")
            self.executor.run_one()
            self.append(b"b")
            self.executor.deliver()
            self.append(b"c")
            self.executor.drain()
        self.assertEqual(self._errors(), [StorageFailedError] * 3)
        self.assertEqual([failure.type for failure in self.failures], [OSError])
        (event,) = events  # without a traceback
        self.assertNotIn("log_failure", event)
        self.assertEqual(event["log_level"].name, "critical")
        self.assertRegex(formatEvent(event), r"has failed: \[Errno 5\] .*; nothing more is acknowledged$")

    def test_any_error_of_the_thread(self) -> None:
        """Whatever a journal raises fails its group and ends it, also what no disk does."""
        self.journal.error = ValueError("not of the disk")
        self.append(b"a")
        self.append(b"b")
        self.executor.drain()
        self.assertEqual(self._errors(), [StorageFailedError] * 2)
        self.assertEqual([failure.type for failure in self.failures], [ValueError])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)  # with its traceback

    def test_never_written_again(self) -> None:
        """After a failure the journal is not touched, even if it would work again."""
        self.append(b"a")
        self.executor.drain()
        self.journal.error = None
        self.append(b"b")
        self.executor.drain()
        self.assertEqual(self.journal.calls, [])

    def _fail_once(self, name: str, arriving: bytes) -> None:
        """The next call of a method of the journal fails, and records arrive meanwhile; later calls would succeed."""
        self.journal.error = None
        method = getattr(self.journal, name)

        def fail(*arguments: object, **named: object) -> JournalPosition:
            setattr(self.journal, name, method)
            self.append(arriving)
            raise OSError(5, "Input/output error")

        setattr(self.journal, name, fail)

    def test_nothing_is_written_before_the_failure_is_known(self) -> None:
        """S10: between the failure in the journal thread and its report nothing is written, whenever it was queued."""
        for name, sync in (("write_group", True), ("write_group", False), ("sync", True)):
            with self.subTest(name, sync=sync):
                self.setUp()
                self._fail_once(name, b"during")
                if name == "sync":
                    self.append(b"deferred", sync=False)
                self.append(b"a", sync)
                self.executor.run_one()
                written = list(self.journal.calls)
                self.append(b"after")
                self.assertEqual(self.executor.busy_threads(), [])
                with capturedLogs() as events:
                    self.executor.drain()
                self.assertEqual(self.journal.calls, written)
                refused = [event[0] for event in self.events if isinstance(event, tuple) and event[1] is not None]
                self.assertEqual(refused, [b"a", b"during", b"after"])
                self.assertEqual([event["log_level"].name for event in events], ["critical"])

    def test_failed_sync(self) -> None:
        """A sync that fails behind a good write acknowledges nothing."""
        self.journal.error = None

        def failing(records: Sequence[bytes], sync: bool = True) -> JournalPosition:
            raise OSError(5, "Input/output error")

        self.journal.write_group = failing  # type: ignore[method-assign]
        self.append(b"a")
        self.executor.drain()
        self.assertEqual(self._errors(), [StorageFailedError])
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 0))

    def test_failed_release(self) -> None:
        """Files that cannot be released end it as well."""
        self.commit.release_files(JournalPosition(1, 1))
        self.executor.drain()
        self.assertEqual(len(self.failures), 1)

    def test_executor_stopped(self) -> None:
        """An item that the journal thread does not take any more fails."""
        self.executor.stop()
        self.append(b"a")
        self.end_turn()
        self.assertEqual(self._errors(), [StorageFailedError])
        self.flushLoggedErrors(StorageFailedError)
