"""Adds of many ledgers on a client's connection, among other requests, V2."""

from collections.abc import Callable, Sequence
from typing import Any

from bookkeeper_twisted.codec.adds import Adds
from bookkeeper_twisted.codec.operations import V2Op
from bookkeeper_twisted.codec.runs import AddRun
from bookkeeper_twisted.codec.v2 import layout, replies_out, requests_out
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    ClientClosedError,
    LedgerFencedError,
    RequestTimeoutError,
    Status,
)
from bookkeeper_twisted.protocol.client.request_ids import RequestIds
from bookkeeper_twisted.testing.sealing import sealed

from ..connected import DIGESTER, LEDGER, Answers, ConnectedTestCase, run_of

MixedAnswers = list[tuple[list[int], Exception | None]]

KEYS = [(LEDGER, 5), (20, 0), (21, 0), (22, 7)]


Key = tuple[int, int]


def _adds(keys: Sequence[Key]) -> Adds:
    runs = [sealed(DIGESTER, ledger_id, entry_id, entry_id - 1, 0, [b"data"]) for ledger_id, entry_id in keys]
    frames = [requests_out.encode_adds(DIGESTER.master_key, run) for run in runs]
    bounds = range(0, len(frames) * len(frames[0]) + 1, len(frames[0]))
    return Adds(tuple([key[0] for key in keys]), tuple([key[1] for key in keys]), b"".join(frames), bounds)


def _replies(keys: Sequence[Key], status: Status = Status.EOK) -> bytes:
    columns = [key[0] for key in keys], [key[1] for key in keys]
    return replies_out.mixed_replies(layout.VERSION, V2Op.ADD, status, *columns)


class MixedCase(ConnectedTestCase):
    """A connection over which mixed adds are sent."""

    def mix(self, keys: Sequence[Key], then: Callable[[], object] = lambda: None) -> MixedAnswers:
        """Sends mixed adds.

        :param then: called with each answer.
        """
        answers: MixedAnswers = []

        def done(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            self.assertEqual(bookie_id, "bookie:1")
            answers.append((list(indexes), error))
            then()

        self.assertTrue(self.connection.add(self.ids, _adds(keys), done))
        return answers

    def can_add(self, adds: Adds) -> bool:
        """Whether replies to adds could be told from others."""
        return not self.connection.in_flight.are_in_use(adds, False)

    def reply(self, keys: Sequence[Key], status: Status = Status.EOK) -> None:
        """The bookie answers adds."""
        self.connection.dataReceived(_replies(keys, status))

    def assert_nothing_is_left(self) -> None:
        """No request waits, and no byte is unacknowledged."""
        self.assertFalse(self.connection.expects_more)
        self.assertEqual(self.traffic.unacknowledged, 0)


class GatheredTests(MixedCase):
    """Adds that are sent by the callbacks of replies."""

    def test_one_write(self) -> None:
        """What callbacks add while replies are taken leaves in one write, behind the last reply."""
        ready, keys = self.connection, KEYS[1:]
        again: list[int] = []

        def done(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            if len(again) < len(keys):
                again.append(len(again))
                ready.add(self.ids, _adds([keys[again[-1]]]), done)

        for key in keys:
            self.assertTrue(ready.add(self.ids, _adds([key]), done))
        self.transport.clear()
        writes: list[bytes] = []
        self.patch(self.transport, "write", writes.append)
        self.reply(keys)
        self.assertEqual([len(data) for data in writes], [len(_adds(keys).frames)])
        self.assertEqual(again, [0, 1, 2])
        self.reply(keys)
        self.assert_nothing_is_left()

    def test_at_once(self) -> None:
        """Behind that an add is written within the call."""
        self.mix(KEYS)
        self.reply(KEYS)
        self.transport.clear()
        self.mix(KEYS)
        self.assertEqual(self.transport.value(), _adds(KEYS).frames)


class EncodingTests(MixedCase):
    """Adds that several bookies are sent."""

    def test_once(self) -> None:
        """Without numbers they are encoded once, and each connection sends the same bytes."""
        adds = _adds(KEYS)
        self.assertTrue(self.connection.add(self.ids, adds, lambda *_: None, fresh=True))
        ((wire, encoded),) = adds.encodings.items()
        sent = self.transport.value()
        self.transport.clear()
        self.assertTrue(self.connection.add(self.ids, adds, lambda *_: None, fresh=True))
        self.assertIs(adds.encodings[wire], encoded)
        self.assertEqual((self.transport.value(), encoded), (sent, (sent, _replies(KEYS))))


class AnswerTests(MixedCase):
    """What a bookie answers."""

    def test_sent(self) -> None:
        """Each is one write, made at once, and their replies complete them together."""
        plain = self.add(run_of(0, 5))
        mixed = self.mix(KEYS)
        self.assertEqual((self.transport.writes, self.blocks), (2, [5, 4]))
        asked = self.asked()
        self.assertEqual(sum(run.entries.count for run in asked), 9)
        for run in asked:
            assert isinstance(run, AddRun)
            self.connection.dataReceived(run.replies(Status.EOK))
        self.assertEqual(sum(n for _, n, _ in plain), 5)
        self.assertEqual(sorted(index for indexes, _ in mixed for index in indexes), [0, 1, 2, 3])
        self.assert_nothing_is_left()

    def test_together(self) -> None:
        """A row of replies is one answer."""
        mixed = self.mix(KEYS)
        self.reply(KEYS)
        self.assertEqual(mixed, [([0, 1, 2, 3], None)])
        self.assert_nothing_is_left()

    def test_in_pieces(self) -> None:
        """Replies that come byte by byte complete each of them once, in order."""
        mixed = self.mix(KEYS)
        for byte in _replies(KEYS):
            self.connection.dataReceived(bytes((byte,)))
        self.assertEqual(mixed, [([index], None) for index in range(4)])
        self.assert_nothing_is_left()

    def test_error(self) -> None:
        """A status becomes the exception of each that it was given to; the others succeed."""
        mixed = self.mix(KEYS)
        self.connection.dataReceived(_replies(KEYS[:1]) + _replies(KEYS[1:3], Status.EFENCED) + _replies(KEYS[3:]))
        self.assertEqual([indexes for indexes, _ in mixed], [[0], [1], [2], [3]])
        self.assertEqual((mixed[0][1], mixed[3][1]), (None, None))
        for (_, error), key in zip(mixed[1:3], KEYS[1:3], strict=True):
            assert isinstance(error, LedgerFencedError)
            self.assertEqual((error.ledger_id, error.entry_id), key)
        self.assert_nothing_is_left()

    def test_one_run_of_both(self) -> None:
        """A run of replies to a ledger may answer a mixed add and plain ones after it."""
        mixed, plain = self.mix(KEYS), self.add(run_of(6, 5))
        self.connection.dataReceived(replies_out.ids_replies(layout.VERSION, V2Op.ADD, Status.EOK, LEDGER, 5, 6))
        self.assertEqual((mixed, plain), ([([0], None)], [(6, 5, None)]))
        self.reply(KEYS[1:])
        self.assertEqual(sorted(index for indexes, _ in mixed for index in indexes), [0, 1, 2, 3])
        self.assert_nothing_is_left()

    def test_one_run_of_several(self) -> None:
        """A run of replies to a ledger may answer mixed adds that were sent one after the other."""
        first, second = self.mix([(20, 0), (LEDGER, 5)]), self.mix([(LEDGER, 6), (20, 1)])
        self.connection.dataReceived(replies_out.ids_replies(layout.VERSION, V2Op.ADD, Status.EOK, LEDGER, 5, 2))
        self.assertEqual((first, second), ([([1], None)], [([0], None)]))
        self.connection.dataReceived(replies_out.ids_replies(layout.VERSION, V2Op.ADD, Status.EOK, 20, 0, 2))
        self.assertEqual((first[1:], second[1:]), ([([0], None)], [([1], None)]))
        self.assert_nothing_is_left()

    def test_one_row_of_both(self) -> None:
        """A row of replies to many ledgers may answer plain adds too, some of them of the same ledger."""
        plain, mixed = self.add(run_of(3, 2)), self.mix(KEYS)
        self.reply([(LEDGER, 4), *KEYS[:3], (99, 0)])
        self.assertEqual((mixed, plain), ([([0, 1, 2], None)], [(4, 1, None)]))
        self.reply([(LEDGER, 3), KEYS[3]])
        self.assertEqual((mixed[1:], plain[1:]), ([([3], None)], [(3, 1, None)]))
        self.assert_nothing_is_left()

    def test_row_for_plain_adds(self) -> None:
        """A row of replies to many ledgers answers plain adds where no mixed ones were sent."""
        plain = self.add(run_of(3, 1))
        self.reply([(20, 0), (LEDGER, 3), (21, 0)])
        self.assertEqual(plain, [(3, 1, None)])
        self.assert_nothing_is_left()

    def test_overtaken(self) -> None:
        """A mixed add is answered by its own reply, alone, also after a later one of its ledger was answered."""
        first, second = self.mix(KEYS), self.mix([(LEDGER, 6)])
        self.reply([(LEDGER, 6)], Status.EIO)
        self.assertEqual((first, [indexes for indexes, _ in second]), ([], [[0]]))
        self.reply(KEYS[:1])
        self.assertEqual(first, [([0], None)])
        self.reply(KEYS[1:])
        self.assert_nothing_is_left()

    def test_twice(self) -> None:
        """Replies that come again, alone or in a row, are dropped."""
        mixed = self.mix(KEYS)
        for _ in range(2):
            self.reply(KEYS[:3])
            self.reply(KEYS[:1], Status.EIO)
        self.assertEqual(mixed, [([0, 1, 2], None)])

    def test_failing_callback(self) -> None:
        """A completion that raises is logged, and the others that were answered with it are told."""

        def broken() -> None:
            raise ValueError("broken")

        self.mix(KEYS, then=broken)
        others, plain = self.mix([(23, 0), (24, 0)]), self.add(run_of(6, 1))
        self.reply([*KEYS, (23, 0), (24, 0), (LEDGER, 6)])
        self.assertEqual((others, plain), ([([0, 1], None)], [(6, 1, None)]))
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.assert_nothing_is_left()


class KeysInUseTests(MixedCase):
    """Adds that cannot be sent now."""

    def test_in_use(self) -> None:
        """Neither a mixed nor a plain add is sent while one with its key is outstanding; nothing is sent then."""
        self.mix(KEYS)
        self.add(run_of(6, 2))
        self.asked()
        self.assertFalse(self.can_add(_adds([(30, 0), (22, 7)])))
        self.assertFalse(self.can_add(_adds([(30, 0), (LEDGER, 7)])))
        self.assertTrue(self.can_add(_adds([(30, 0), (22, 8), (LEDGER, 8)])))
        answers: Answers = []
        self.assertFalse(self.connection.add(self.ids, self.adds(run_of(5, 1)), lambda _, *a: answers.append(a)))
        self.assertEqual((self.asked(), answers), ([], []))

    def test_in_use_after_time_out(self) -> None:
        """A key that timed out is in use until its late reply has come, which is dropped."""
        mixed = self.mix(KEYS)
        self.reply(KEYS[1:2])
        self.clock.pump([0.5] * 7)
        self.assertEqual(len(mixed), 1)
        self.clock.pump([0.5] * 3)
        ((indexes, error),) = mixed[1:]
        self.assertEqual(sorted(indexes), [0, 2, 3])
        self.assertIsInstance(error, RequestTimeoutError)
        self.assertRegex(str(error), "^bookie bookie:1 gave no reply in 4 s to adds of 3 entries of 3 ledgers$")
        self.assertFalse(self.transport.disconnecting)
        self.assert_nothing_is_left()
        self.assertFalse(self.can_add(_adds(KEYS[:1])))
        self.reply(KEYS[:1])
        self.reply(KEYS[2:], Status.EIO)
        self.assertEqual((len(mixed), self.connection.in_flight.orphans), (2, 0))
        self.assertTrue(self.can_add(_adds(KEYS)))

    def test_flow_id_of_another(self) -> None:
        """Of a flow whose id another one has, nothing is sent."""
        self.mix(KEYS)
        self.asked()
        other = RequestIds(self.ids.flow_id)
        self.assertRaises(ValueError, self.connection.add, other, _adds([(30, 0)]), lambda *_: None)
        self.assertEqual(self.asked(), [])

    def test_after_the_end(self) -> None:
        """A connection that has ended fails them at once."""
        self.lose()
        ((indexes, error),) = self.mix(KEYS)
        self.assertEqual(indexes, [0, 1, 2, 3])
        self.assertIsInstance(error, BookieHandleNotAvailableError)


class EndTests(MixedCase):
    """Connections and flows that end."""

    def test_lost(self) -> None:
        """A lost connection fails them once, in the order asked, after its owner was told."""
        order: list[Any] = []
        self.connection.read(self.ids, LEDGER, [0]).addErrback(lambda _: order.append("read"))
        mixed = self.mix(KEYS, then=lambda: order.append(len(self.lost)))
        done = lambda *_: order.append("add")  # noqa: E731
        self.connection.add(self.ids, self.adds(run_of(6, 1)), done)
        later = self.mix([(30, 0), (31, 0)], then=lambda: order.append("later"))
        self.reply(KEYS[:1])
        order.clear()
        self.lose()
        self.assertEqual(order, ["read", 1, "add", "later"])
        self.assertEqual([indexes for indexes, _ in (*mixed, *later)], [[0], [1, 2, 3], [0, 1]])
        for _, error in (*mixed[1:], *later):
            self.assertIsInstance(error, BookieHandleNotAvailableError)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assert_nothing_is_left()

    def test_close_in_a_callback(self) -> None:
        """Replies that were received with those whose callback closes are not delivered, not even of the same row."""
        error = ClientClosedError()
        mixed = self.mix(KEYS, then=lambda: self.connection.close(error))
        later, plain = self.mix([(30, 0), (31, 0)]), self.add(run_of(6, 1))
        self.connection.dataReceived(_replies([*KEYS[:3], (LEDGER, 6)]) + _replies([(30, 0)], Status.EFENCED))
        self.assertEqual(mixed, [([0, 1, 2], None), ([3], error)])
        self.assertEqual((later, plain), ([([0, 1], error)], [(6, 1, error)]))
        self.assertTrue(self.transport.aborting)
        self.assert_nothing_is_left()

    def test_close_by_a_plain_add(self) -> None:
        """Where a row of replies answers several requests, and a callback closes, what is left fails."""
        error, mixed = ClientClosedError(), self.mix(KEYS)
        self.connection.add(self.ids, self.adds(run_of(6, 1)), lambda *_: self.connection.close(error))
        self.reply([(LEDGER, 5), (LEDGER, 6)])
        self.assertEqual(mixed, [([0], None), ([1, 2, 3], error)])
        self.assert_nothing_is_left()

    def test_leave(self) -> None:
        """A flow that leaves fails its own requests; those of others go on, and late replies are dropped."""
        mine, ids = self.mix(KEYS), self.ids
        self.ids = RequestIds(self.flow_ids.allocate())
        others = self.mix([(30, 0), (31, 0)])
        error = ClientClosedError()
        self.connection.abandon(ids, error)
        self.assertEqual((mine, others), ([([0, 1, 2, 3], error)], []))
        self.reply([*KEYS, (30, 0), (31, 0)])
        self.assertEqual((mine[1:], others), ([], [([0, 1], None)]))
        self.assert_nothing_is_left()

    def test_quiet(self) -> None:
        """A flow that is to leave is told when the last of its mixed adds was completed."""
        told: list[int] = []
        mixed = self.mix(KEYS)
        self.assertTrue(self.connection.in_flight.waits(self.ids, lambda: told.append(len(mixed))))
        self.reply(KEYS[:3])
        self.assertEqual(told, [])
        self.reply(KEYS[3:])
        self.assertEqual(told, [2])
        self.assertFalse(self.connection.in_flight.waits(self.ids, lambda: None))


class V3Tests(MixedCase):
    """Version 3, where replies carry numbers."""

    wire = 3

    def test_encodings(self) -> None:
        """Adds that are sent again, here or elsewhere, get other numbers: their encoding is not kept."""
        adds = _adds(KEYS)
        for _ in range(2):
            self.assertTrue(self.connection.add(self.ids, adds, lambda *_: None))
        sent = self.transport.value()
        half = len(sent) // 2
        self.assertNotEqual(sent[:half], sent[half:])

    def test_many_ledgers(self) -> None:
        """Adds of many ledgers are sent together, answered one by one, and settled once."""
        mixed = self.mix(KEYS)
        asked = self.asked()
        self.assertEqual(self.transport.writes, 1)
        for run in reversed(asked):
            assert isinstance(run, AddRun)
            self.connection.dataReceived(run.replies(Status.EOK))
        self.assertEqual(sorted(index for indexes, _ in mixed for index in indexes), [0, 1, 2, 3])
        self.assert_nothing_is_left()
        self.assertEqual(self.connection.in_flight.orphans, 0)
