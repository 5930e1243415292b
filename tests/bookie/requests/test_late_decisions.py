"""Decisions that need look-ups: what waits for them, and what becomes of late, failed and outdated ones."""

from typing import Any

from twisted.logger import capturedLogs

from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import MetadataError, Status

from ..rig import add_replies, adds, entry, mixed, reads, run
from .access_case import AccessCase, of_ledgers, only


class LateTests(AccessCase):
    """Decisions that need look-ups."""

    def setUp(self) -> None:
        super().setUp()
        self.fake.is_late = True

    def test_order(self) -> None:
        """Later requests of the connection wait, in order, and the bookie reads no more; other connections go on."""
        other = self.rig.connect()
        self.answers(reads(1, [3]), other)
        self.fake.answer()
        self.assertNotEqual(other.replies(), b"")
        self.assertEqual(self.answers(reads(2, [0]) + reads(1, [1])), b"")
        self.assertTrue(self.peer.held)
        self.assertEqual(self.answers(reads(1, [2])), b"")
        session: Any = self.peer.connection._session
        self.assertTrue(session.busy)
        self.assertNotEqual(self.answers(reads(1, [4]), other), b"")
        self.fake.answer()
        found: list[Any] = ClientDecoder(V2).receive(self.peer.replies())  # type: ignore[assignment]
        self.assertEqual([(each.ledger_id, each.entry_id) for each in found], [(2, 0), (1, 1), (1, 2)])
        self.assertFalse(self.peer.held)
        self.assertFalse(session.busy)

    def test_refused_late(self) -> None:
        """A late refusal is EUA, and is kept."""
        self.fake.change(of_ledgers(1))
        self.answers(reads(2, [0]))
        self.fake.answer()
        for _ in range(2):
            (found,) = ClientDecoder(V2).receive(self.peer.replies() or self.answers(reads(2, [0])))
            self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]
        self.assertEqual(len(self.fake.asked), 1)

    def test_failed(self) -> None:
        """A look-up that fails refuses this time, and is asked for again the next time; a bug is in the log once."""
        with capturedLogs() as events:
            for error in (MetadataError("gone"), ZeroDivisionError(), ZeroDivisionError()):
                self.answers(reads(2, [0]))
                self.fake.answer(error)
                (found,) = ClientDecoder(V2).receive(self.peer.replies())
                self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]
        self.assertEqual(len([event for event in events if "log_failure" in event]), 1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.answers(reads(2, [0]))
        self.fake.answer()
        self.assertNotEqual(self.peer.replies(), b"")
        self.assertEqual(self.n_refused(), {"read": 3})

    def test_broken_authorizer(self) -> None:
        """An authorizer that raises an error, or answers neither yes nor no, refuses."""

        def broken(*question: object) -> Any:
            raise ZeroDivisionError

        self.fake.is_late = False
        for allows in (broken, lambda *question: "yes", lambda *question: None):
            self.fake.change(allows)  # type: ignore[arg-type]
            (found,) = ClientDecoder(V2).receive(self.answers(reads(1, [0])))
            self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]
        self.flushLoggedErrors(ZeroDivisionError)

    def test_many_ledgers(self) -> None:
        """Of a run of many ledgers, few are looked up at a time."""
        entries = [entry(ledger_id, 0) for ledger_id in range(10, 60)]
        self.peer.send(adds(mixed(*entries)))
        rounds = 0
        while self.fake.waiting:
            self.assertLessEqual(len(self.fake.waiting), 16)
            self.fake.answer()
            rounds += 1
        self.rig.drain()
        self.assertEqual((self.peer.replies(), rounds), (add_replies(mixed(*entries), Status.EOK), 4))

    def test_rules_changed_meanwhile(self) -> None:
        """A decision by rules that are no longer in force is made again."""
        self.answers(reads(1, [0]))
        wait, _ = self.fake.waiting.pop()
        self.fake.change(only())
        wait.callback(True)
        self.assertEqual(self.peer.replies(), b"")
        self.fake.answer()
        (found,) = ClientDecoder(V2).receive(self.peer.replies())
        self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]

    def test_rules_changed_by_the_question(self) -> None:
        """An authorizer may take over new rules when it is asked: these decide."""

        def allows(*question: object) -> bool:
            self.fake.change(only())
            return True

        self.fake.is_late = False
        self.fake.change(allows)
        (found,) = ClientDecoder(V2).receive(self.answers(reads(1, [0])))
        self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]

    def test_endless_changes(self) -> None:
        """An authorizer whose rules change with each question does not stop the bookie."""

        def allows(*question: object) -> bool:
            self.fake.change(allows)
            return True

        self.fake.is_late = False
        self.fake.change(allows)
        for _ in range(2):
            self.assertNotEqual(self.answers(reads(1, [0])), b"")

    def test_peer_that_left(self) -> None:
        """The look-ups of a peer that leaves are cancelled, and its requests are not done."""
        self.peer.send(adds(run(1, 5)) + adds(run(2, 5)))
        self.peer.leave()
        self.assertEqual(self.fake.waiting, [])
        self.rig.drain()
        self.assertIsNone(self.rig.bookie.cached(1, 5))

    def test_held_twice(self) -> None:
        """A connection stays paused during a look-up although its other requests go on."""
        self.fake.is_late = False
        self.start(self.fake, requests=RequestLimits(max_adds=1))
        self.answers(adds(run(1, 5)))
        self.fake.is_late = True
        self.peer.send(adds(run(1, 6)) + adds(run(1, 7), key=b"other key".ljust(20)) + reads(2, [0]))
        self.assertTrue(self.peer.held)
        self.rig.drain()
        self.peer.send(reads(1, [0]))
        self.assertTrue(self.peer.held)
        self.fake.answer()
        self.fake.answer()
        self.rig.drain()
        self.assertFalse(self.peer.held)
