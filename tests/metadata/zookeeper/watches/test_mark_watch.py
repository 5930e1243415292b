"""The watch of all marks: what it reads again, and marks without a sign."""

from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.metadata.zookeeper.watches.mark_watch import REMINDER_SECONDS

from ..rig import ZooKeeperCase

_MARKS = "/ledgers/underreplication/ledgers"


class TreeWatchTests(ZooKeeperCase):
    """:class:`TreeWatch`, beyond the contract."""

    def setUp(self) -> None:
        super().setUp()
        self.calls: list[float] = []
        self.driver, self.connection = self.opened()
        self.marks = self.driver.underreplication
        self.run_(self.marks.mark(1 << 20))
        self.end = self.marks.watch_marks(lambda: self.calls.append(self.clock.seconds()))
        self.clock.advance(1)
        self.calls.clear()

    def test_what_is_read(self) -> None:
        """A lock that comes or goes has the locks read again, and no mark."""
        other, _ = self.opened()
        self.connection.calls.clear()
        self.run_(other.underreplication.lock(5, "host"))
        self.assertEqual(self.connection.calls, ["children"])

    def test_gathering(self) -> None:
        """Many marks are one call."""
        for ledger_id in range(100):
            self.run_(self.marks.mark(ledger_id))
        self.clock.advance(1)
        self.assertEqual(len(self.calls), 1)

    def test_pruned_groups(self) -> None:
        """A mark in groups that had gone is noticed."""
        self.run_(self.marks.remove_mark(1 << 20, 0))
        self.clock.advance(1)
        for _ in range(3):
            self.calls.clear()
            self.run_(self.marks.mark(1 << 20))
            self.clock.advance(1)
            self.assertEqual(len(self.calls), 1)
            self.run_(self.marks.remove_mark(1 << 20, 0))
            self.clock.advance(1)

    def _walk(self) -> list[int]:
        async def walk() -> list[int]:
            return [ledger_id async for ledger_id in self.marks.marked_ledgers()]

        return self.run_(walk())

    def test_mark_after_its_group(self) -> None:
        """A mark is noticed at once that comes after a walk has found its group empty; so is the next one there."""
        group = NewNode(f"{_MARKS}/0000/0000/0010/0001")
        for _ in range(2):
            self.server.create(group, 0)
            self.clock.advance(1)
            self.assertEqual(self._walk(), [1 << 20])
            self.calls.clear()
            self.server.create(NewNode(f"{group.path}/urL0001048577"), 0)
            self.clock.advance(1)
            self.assertEqual(len(self.calls), 1)
            self.assertEqual(self._walk(), [1 << 20, 1048577])
            self.run_(self.marks.remove_mark(1048577, 0))
            self.clock.advance(1)

    def test_empty_group_pruned(self) -> None:
        """A group that was found empty, and is pruned, is no longer watched."""
        group = f"{_MARKS}/0000/0000/0010/0001"
        self.server.create(NewNode(group), 0)
        self._walk()
        self.clock.advance(1)
        self.server.delete(group, -1)
        self.clock.advance(1)
        self.connection.calls.clear()
        self.server.create(NewNode(group), 0)
        self.clock.advance(1)
        self.assertEqual(self.connection.calls, ["children"])

    def test_group_left_behind(self) -> None:
        """A mark made in a group that no walk has found empty gives no sign: a reminder comes all the same."""
        self.server.create(NewNode(f"{_MARKS}/0000/0000/0010/0001"), 0)
        self.clock.advance(1)
        self.calls.clear()
        self.server.create(NewNode(f"{_MARKS}/0000/0000/0010/0001/urL0001048577"), 0)
        self.clock.advance(1)
        self.assertEqual(self.calls, [])
        self.clock.advance(REMINDER_SECONDS)
        self.assertEqual(len(self.calls), 1)

    def test_broken_connection(self) -> None:
        """What came while there was no connection is noticed."""
        other, _ = self.opened()
        self.connection.suspend()
        self.run_(other.underreplication.mark(1 << 40))
        self.assertEqual(self.calls, [])
        self.connection.resume()
        self.clock.pump([0.25] * 8)
        self.assertGreater(len(self.calls), 0)

    def _fail(self) -> None:
        raise ZeroDivisionError

    def test_failing_listener(self) -> None:
        """A listener that raises is logged, and called again."""
        self.marks.watch_marks(self._fail)
        self.clock.pump([0.25] * 4)
        self.assertGreater(len(self.flushLoggedErrors(ZeroDivisionError)), 0)
        self.run_(self.marks.mark(1))
        self.clock.advance(1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
