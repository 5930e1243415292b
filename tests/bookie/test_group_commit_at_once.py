"""Small groups whose write the reactor thread begins, without the journal thread."""

from typing import Any

from bookkeeper_twisted.bookie.group_commit import (
    AT_ONCE_BYTES,
    BY_THREAD,
    HELD,
    LONE,
    LOOP,
    QUEUE,
    SLOW_BEGIN,
    SYNC,
    CommitOptions,
)
from bookkeeper_twisted.errors import StorageFailedError
from bookkeeper_twisted.storage.interfaces import JournalPosition

from .group_commit_case import GroupCommitTestCase


class AtOnceTests(GroupCommitTestCase):
    """A journal that lets its caller make the write."""

    def setUp(self) -> None:
        super().setUp()
        self.journal.begins = True

    def test_small_group(self) -> None:
        """S1, S7: a small group is one write that the reactor thread begins; it is complete when the write ends."""
        self.append(b"a")
        self.executor.run_one()
        self.assertEqual((self.journal.calls, self.events), ([("begun", b"a")], []))
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 0))
        self.executor.deliver()
        self.assertEqual(self.events, [(b"a", None), "flush"])
        self.assertEqual(self.commit.log_mark, JournalPosition(1, 1))
        self.assertEqual((self.commit.queued_bytes, self.commit.blocked_seconds), (0, 0))

    def _freeze(self, seconds: float) -> None:
        """The file system holds up the next call that begins a write, and the reactor with it."""
        write = self.executor.write

        def frozen(*args: Any) -> Any:
            self.patch(self.executor, "write", write)
            self.clock.rightNow += seconds
            return write(*args)

        self.patch(self.executor, "write", frozen)

    def test_frozen(self) -> None:
        """A write whose begin was held up by the file system says so; the journal thread makes the next ones."""
        found: list[dict[str, float]] = []
        self._freeze(32.0)
        self.commit.append(b"a", 1, lambda error: found.append(self.commit.waits()))
        self.end_turn()
        self.executor.drain()
        self.assertEqual(found, [{QUEUE: 0.0, SYNC: 0.0, HELD: 32.0, LOOP: 0.0}])
        self.assertEqual(self.commit.held_seconds, 32.0)
        for records, seconds in ((b"b", 0.0), (b"c", BY_THREAD - 0.01), (b"d", 0.01)):
            self.clock.advance(seconds)
            self.append(records)
            self.end_turn()
            self.executor.drain()
        self.assertEqual(self.journal.calls, [("begun", b"a"), (b"b", True), (b"c", True), ("begun", b"d")])

    def test_quickly_begun(self) -> None:
        """A write whose begin took some milliseconds is no reason to leave the writes to the journal thread."""
        self._freeze(SLOW_BEGIN)
        for records in (b"a", b"b"):
            self.append(records)
            self.end_turn()
            self.executor.drain()
        self.assertEqual(self.journal.calls, [("begun", b"a"), ("begun", b"b")])
        self.assertEqual(self.commit.held_seconds, 0.0)

    def test_turn(self) -> None:
        """What arrives in one turn of the reactor is one group, which is begun at the end of this turn."""
        for records in (b"a", b"b", b"c"):
            self.append(records)
        self.assertEqual(list(self.executor.queued), [])
        self.end_turn()
        self.assertEqual(len(self.executor.queued), 1)
        self.append(b"d")
        self.executor.drain()
        self.assertEqual(self.journal.calls, [("begun", b"abc"), ("begun", b"d")])

    def test_end_of_the_turn(self) -> None:
        """What is too much for one write does not wait for the end of the turn: the journal thread begins beside it."""
        self.append(bytes(AT_ONCE_BYTES // 2))
        self.assertEqual(list(self.executor.queued), [])
        self.append(bytes(AT_ONCE_BYTES // 2 + 1))
        self.assertEqual(len(self.executor.queued), 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(bytes(AT_ONCE_BYTES + 1), True)])

    def _append_alone(self, count: int) -> None:
        for _ in range(count):
            self.append(b"a")
            self.end_turn()
            self.executor.drain()

    def test_lone(self) -> None:
        """Behind many groups of one record each, a record is written at once, until another one arrives beside it."""
        self._append_alone(LONE - 1)
        self.append(b"b")
        self.assertEqual(list(self.executor.queued), [])
        self.end_turn()
        self.executor.drain()
        for _ in range(2):
            self.append(b"c")
            self.assertEqual(len(self.executor.queued), 1)
            self.assertEqual(self.clock.getDelayedCalls(), [])
            self.executor.drain()
        self.append(b"d")
        self.append(b"e")  # it arrives during the write
        self.executor.drain()
        self.append(b"f")
        self.assertEqual(list(self.executor.queued), [])
        self.append(b"g")
        self.end_turn()
        self.executor.drain()
        self.assertEqual(self.journal.calls[LONE:], [("begun", each) for each in (b"c", b"c", b"d", b"e", b"fg")])

    def test_not_alone(self) -> None:
        """Records of one turn that share their groups do not make later records be written at once."""
        for _ in range(2 * LONE):
            self.append(b"a")
            self.assertEqual(list(self.executor.queued), [])
            self.append(b"b")
            self.end_turn()
            self.executor.drain()
        self.assertEqual(self.journal.calls, [("begun", b"ab")] * 2 * LONE)

    def test_lone_with_a_wait(self) -> None:
        """Where the journal is to wait for more records, a lone record waits, too."""
        self.commit._options = CommitOptions(max_wait=0.01)
        for _ in range(LONE + 1):
            self.append(b"a")
            self.assertEqual(list(self.executor.queued), [])
            self.clock.advance(0.01)
            self.executor.drain()

    def test_next_group(self) -> None:
        """What arrives during the write is the next group, begun before the first one is completed, but not earlier."""
        self.append(b"a")
        self.end_turn()
        self.append(b"b")
        self.append(b"c")
        self.assertEqual(self.executor.busy_threads(), ["journal-0"])
        self.executor.run_one()
        self.commit._flush = lambda: self.events.append(self.executor.busy_threads())  # what is begun by then
        self.executor.deliver()
        self.assertEqual(self.events, [(b"a", None), ["journal-0"]])
        self.executor.drain()
        self.assertEqual(self.journal.calls, [("begun", b"a"), ("begun", b"bc")])
        self.assertEqual(self.events[2:], [(b"b", None), (b"c", None), []])

    def test_thread(self) -> None:
        """The journal thread writes what waits for no sync, or has no records; then small groups are begun again."""
        for records, sync, call in (
            (b"b", False, (b"b", False)), (b"", True, "sync"), (b"c", True, ("begun", b"c")),
        ):  # fmt: skip
            self.append(records, sync)
            self.executor.drain()
            self.assertEqual(self.journal.calls[-1], call)
        self.append(b"d")
        self.end_turn()
        self.append(b"e", False)
        self.append(b"f")
        self.executor.drain()
        self.assertEqual(self.journal.calls[-3:], [("begun", b"d"), (b"ef", False), "sync"])
        completed = [event for event in self.events if event != "flush"]
        self.assertEqual(completed[-3:], [(b"d", None), (b"e", None), (b"f", None)])

    def test_size(self) -> None:
        """The journal thread writes what is large; what is just small enough is begun."""
        for size, begins in ((AT_ONCE_BYTES + 1, False), (AT_ONCE_BYTES, True)):
            self.append(bytes(size))
            self.executor.drain()
            self.assertIs(self.journal.calls[-1] == ("begun", bytes(size)), begins)

    def test_journal_declines(self) -> None:
        """The journal thread writes what the journal does not let the reactor thread write."""
        self.journal.begins = False
        self.append(b"a")
        self.executor.drain()
        self.assertEqual((self.journal.calls, self.events), ([(b"a", True)], [(b"a", None), "flush"]))

    def test_executor_declines(self) -> None:
        """The journal thread writes what the system does not begin, and goes on with what arrived meanwhile (S1)."""
        self.patch(self.executor, "write", lambda *arguments: None)
        self.append_in_write(b"b")
        self.append(b"a")
        self.executor.run_one()
        self.assertEqual(self.journal.calls, [(b"a", True), (b"b", True)])
        self.executor.deliver()
        self.assertEqual(self.events, [(b"a", None), "flush", (b"b", None), "flush"])

    def test_order_behind_the_thread(self) -> None:
        """A write is not begun until the last group of the journal thread is completed: it could be completed first."""
        self.append(b"a", False)
        self.executor.run_one()  # the journal thread is idle again, and its result is on the way
        self.append(b"b")
        self.end_turn()
        self.executor.drain()
        self.assertEqual(self.journal.calls, [(b"a", False), (b"b", True)])
        self.append(b"c")
        self.executor.drain()
        self.assertEqual(self.journal.calls[-1], ("begun", b"c"))

    def test_failure(self) -> None:
        """S10: a write that fails is the end: its items, those behind it and later ones fail; nothing follows it."""
        for records in (b"a", b"b"):
            self.append(records)
        self.journal.error = OSError(5, "Input/output error")
        self.executor.run_one()
        self.assertEqual(self.events, [])
        self.journal.error = None
        self.executor.drain()
        self.append(b"c")
        self.executor.drain()
        errors = [type(event[1]) for event in self.events if isinstance(event, tuple)]
        self.assertEqual(errors, [StorageFailedError] * 3)
        self.assertEqual((len(self.failures), self.journal.calls), (1, []))
        self.assertIsInstance(self.journal.error, OSError)
        self.assertEqual((self.commit.log_mark, self.commit.queued_bytes), (JournalPosition(1, 0), 0))

    def test_close(self) -> None:
        """A close ends behind a write that has begun (S1)."""
        self.append(b"a")
        self.end_turn()
        closed = self.commit.close()
        self.assertNoResult(closed)
        self.executor.drain()
        self.successResultOf(closed)
        self.assertEqual(self.journal.calls[0], ("begun", b"a"))
        self.assertEqual(self.events[0], (b"a", None))
