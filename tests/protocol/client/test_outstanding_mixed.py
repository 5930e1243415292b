"""Adds of many ledgers that a connection waits for: answers in turn and out of turn, keys that are taken, ends."""

from collections.abc import Sequence

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.client.outstanding import SendingFlow
from bookkeeper_twisted.protocol.client.outstanding_mixed import Key, MixedPart, OutstandingMixed, SentMixed
from bookkeeper_twisted.protocol.client.request_ids import RequestIds

FLOW = SendingFlow(RequestIds(1))

FIRST = [(10, 0), (11, 0), (12, 0), (13, 0)]
SECOND = [(20, 5), (21, 5), (22, 5)]


@attrs.define
class FewAdds:
    """Adds, and any bytes as their frames."""

    ledger_ids: tuple[int, ...]
    entry_ids: tuple[int, ...]
    frames: bytes


def _columns(keys: Sequence[Key]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple([key[0] for key in keys]), tuple([key[1] for key in keys])


def _sent(order: int, keys: Sequence[Key], deadline: float = 5.0, size: int = 1000) -> SentMixed:
    return SentMixed(FLOW, order, deadline, FewAdds(*_columns(keys), bytes(size)), lambda *_: None)


def _places(parts: Sequence[MixedPart]) -> list[tuple[int, list[int]]]:
    """What was answered, or given up: number of the request, places."""
    return [(part.order, list(part.places)) for part in parts]


class MixedCase(SynchronousTestCase):
    """Adds and replies to them, by ledger and entry."""

    def setUp(self) -> None:
        """Nothing was sent."""
        self.mixed = OutstandingMixed()

    def send(self, order: int, keys: Sequence[Key], deadline: float = 5.0) -> SentMixed:
        """Sends adds."""
        sent = _sent(order, keys, deadline)
        self.mixed.insert(sent)
        return sent

    def answer(self, keys: Sequence[Key]) -> list[tuple[int, list[int]]]:
        """What a row of replies answers; all of them answer something."""
        parts, others = self.mixed.answered(*_columns(keys))
        self.assertEqual(list(others), [])
        return _places(parts)

    def taken(self, *keys: Key) -> list[bool]:
        """Whether they are taken, each of them."""
        return [self.mixed.is_any_taken(*_columns([key])) for key in keys]


class AnswerTests(MixedCase):
    """Two were sent: four entries and three."""

    def setUp(self) -> None:
        """Sends them."""
        super().setUp()
        self.first, self.second = self.send(1, FIRST), self.send(2, SECOND)

    def test_in_turn(self) -> None:
        """A row for all of one takes it out."""
        self.assertEqual(self.answer(FIRST), [(1, [0, 1, 2, 3])])
        self.assertEqual(self.answer(SECOND), [(2, [0, 1, 2])])
        self.assertFalse(self.mixed)

    def test_in_parts(self) -> None:
        """A row that ends before takes out what it names, the next one goes on there."""
        self.assertEqual(self.answer(FIRST[:1]), [(1, [0])])
        self.assertEqual(self.answer(FIRST[1:3]), [(1, [1, 2])])
        self.assertEqual((self.first.count, self.first.left), (4, 1))
        self.assertEqual(self.answer(FIRST[3:]), [(1, [3])])
        self.assertEqual(self.first.left, 0)
        self.assertTrue(self.mixed)

    def test_several_in_one_row(self) -> None:
        """A row may end one and begin the next."""
        self.assertEqual(self.answer(FIRST[:2]), [(1, [0, 1])])
        self.assertEqual(self.answer([*FIRST[2:], *SECOND[:1]]), [(1, [2, 3]), (2, [0])])
        self.assertEqual(self.answer(SECOND[1:]), [(2, [1, 2])])
        self.assertFalse(self.mixed)

    def test_later_one_first(self) -> None:
        """What was sent later may be answered first, each in turn."""
        self.assertEqual(self.answer([*SECOND, *FIRST[:2]]), [(2, [0, 1, 2]), (1, [0, 1])])
        self.assertEqual(self.answer(FIRST[2:]), [(1, [2, 3])])
        self.assertFalse(self.mixed)

    def test_out_of_turn(self) -> None:
        """Once a reply came out of turn each of the others is found wherever it is, once."""
        self.assertEqual(self.answer([FIRST[2]]), [(1, [2])])
        self.assertEqual(self.answer([FIRST[1]]), [(1, [1])])
        parts, others = self.mixed.answered(*_columns(FIRST[1:3]))
        self.assertEqual((parts, list(others)), ([], FIRST[1:3]))
        self.assertEqual(self.answer([FIRST[3], SECOND[0], FIRST[0]]), [(1, [3, 0]), (2, [0])])
        self.assertEqual(self.answer(SECOND[1:]), [(2, [1, 2])])
        self.assertFalse(self.mixed)

    def test_other_order(self) -> None:
        """A row that begins in turn and goes on out of turn answers what it names."""
        self.assertEqual(self.answer([FIRST[0], FIRST[2], FIRST[1]]), [(1, [0, 2, 1])])
        self.assertEqual(self.answer(FIRST[3:]), [(1, [3])])

    def test_out_of_turn_after_a_part(self) -> None:
        """What was answered in turn before is not found any more."""
        self.answer(FIRST[:2])
        parts, others = self.mixed.answered(*_columns([FIRST[3], FIRST[1]]))
        self.assertEqual((_places(parts), list(others)), ([(1, [3])], [FIRST[1]]))
        self.assertEqual(self.answer(FIRST[2:3]), [(1, [2])])

    def test_other_entry(self) -> None:
        """A reply is not taken for that to another entry of the ledger."""
        for wrong in (1, 3):
            row = [(ledger_id, 1 if n == wrong else entry_id) for n, (ledger_id, entry_id) in enumerate(FIRST)]
            mixed = OutstandingMixed()
            mixed.insert(_sent(1, FIRST))
            parts, others = mixed.answered(*_columns(row))
            self.assertEqual((_places(parts), list(others)), ([(1, [n for n in range(4) if n != wrong])], [row[wrong]]))

    def test_unknown(self) -> None:
        """Replies to what was not asked, or was answered before, are given back, in their order."""
        row = [(99, 0), FIRST[0], (10, 7), FIRST[0], SECOND[0], (98, 0)]
        parts, others = self.mixed.answered(*_columns(row))
        self.assertEqual(_places(parts), [(1, [0]), (2, [0])])
        self.assertEqual(list(others), [(99, 0), (10, 7), FIRST[0], (98, 0)])

    def test_again(self) -> None:
        """A row that comes twice answers once, also where something else is outstanding."""
        self.answer(FIRST)
        parts, others = self.mixed.answered(*_columns(FIRST))
        self.assertEqual((parts, list(others)), ([], FIRST))
        self.assertEqual(self.answer(SECOND), [(2, [0, 1, 2])])

    def test_whose(self) -> None:
        """A part knows who asked and whom to tell, and how many it is."""
        (part,), _ = self.mixed.answered(*_columns(FIRST[:3]))
        self.assertIs(part.flow, FLOW)
        self.assertIs(part.done, self.first.done)
        self.assertEqual((part.count, part.size), (3, 750))


class TakenTests(MixedCase):
    """Keys whose replies could not be told from others."""

    def test_before_and_after(self) -> None:
        """A key is taken from when it is sent until it is answered; so is what is below it, but not what is above."""
        self.assertEqual(self.taken((10, 3)), [False])
        self.send(1, [(10, 3), (11, 0)])
        self.assertEqual(self.taken((10, 2), (10, 3), (10, 4), (11, 0), (12, 0)), [True, True, False, True, False])
        self.answer([(10, 3)])
        self.assertEqual(self.taken((11, 0)), [True])
        self.answer([(11, 0)])
        self.assertEqual(self.taken((10, 0), (10, 3), (11, 0)), [False] * 3)

    def test_any(self) -> None:
        """One of many that is taken is enough, and each is compared with its own ledger."""
        self.send(1, [(10, 3), (11, 8)])
        self.assertTrue(self.mixed.is_any_taken((9, 10, 12), (0, 3, 0)))
        self.assertFalse(self.mixed.is_any_taken((9, 10, 11), (0, 4, 9)))
        self.assertTrue(self.mixed.is_any_taken((10, 11), (4, 8)))
        self.assertFalse(self.mixed.is_any_taken((9, 12), (3, 8)))

    def test_several_in_order(self) -> None:
        """A ledger with entries in several stays taken when the older one is answered, up to its newest entry."""
        self.send(1, [(10, 3), (11, 0)])
        self.send(2, [(10, 4), (12, 0)])
        self.answer([(10, 3), (11, 0)])
        self.assertEqual(self.taken((10, 4), (10, 5), (11, 0), (12, 0)), [True, False, False, True])
        self.answer([(10, 4), (12, 0)])
        self.assertEqual(self.taken((10, 3), (10, 4), (12, 0)), [False, False, False])

    def test_several_overtaken(self) -> None:
        """Where the newer one is answered first, the older entry of the ledger stays taken."""
        self.send(1, [(10, 3), (11, 0)])
        self.send(2, [(10, 4), (11, 1)])
        self.send(3, [(10, 5), (12, 0)])
        self.answer([(10, 5), (12, 0)])
        self.assertEqual(self.taken((10, 4), (10, 5), (11, 1), (12, 0)), [True, False, True, False])
        self.answer([(10, 4), (11, 1)])
        self.assertEqual(self.taken((10, 3), (10, 4), (11, 0), (11, 1)), [True, False, True, False])
        self.answer([(10, 3), (11, 0)])
        self.assertEqual(self.taken((10, 0), (11, 0)), [False, False])

    def test_overtaken_in_the_middle(self) -> None:
        """One between an older and a newer one leaves the newest entry taken."""
        for order, entry_id in enumerate((3, 4, 5)):
            self.send(order, [(10, entry_id)])
        self.answer([(10, 4)])
        self.assertEqual(self.taken((10, 5), (10, 6)), [True, False])
        self.answer([(10, 5)])
        self.assertEqual(self.taken((10, 3), (10, 4)), [True, False])


class EndTests(MixedCase):
    """Adds that are given up."""

    def setUp(self) -> None:
        """Two were sent, the first of them was answered in part."""
        super().setUp()
        self.first, self.second = self.send(1, FIRST, 5.0), self.send(2, SECOND, 6.0)
        self.answer(FIRST[:1])

    def test_expire(self) -> None:
        """What is overdue is given up once, with what was not answered; the rest goes on."""
        self.assertEqual(self.mixed.expire(4.9), [])
        (part,) = self.mixed.expire(5.0)
        self.assertEqual((part.order, list(part.places), part.count, part.size), (1, [1, 2, 3], 3, 750))
        self.assertIsNotNone(part.done)
        self.assertEqual((self.mixed.expire(5.0), self.mixed.abandoned), ([], 3))
        self.assertTrue(self.mixed)
        self.assertEqual(_places(self.mixed.expire(6.0)), [(2, [0, 1, 2])])
        self.assertEqual((bool(self.mixed), self.mixed.abandoned), (False, 6))

    def test_late_replies(self) -> None:
        """Keys that were given up stay taken until their late replies, which are nobody's."""
        self.mixed.expire(5.0)
        self.assertEqual(self.answer([*FIRST[1:3], SECOND[0]]), [(2, [0])])
        self.assertEqual((self.mixed.abandoned, self.taken(FIRST[3])), (1, [True]))
        self.assertEqual(self.answer(FIRST[3:]), [])
        self.assertEqual((self.mixed.abandoned, self.taken(*FIRST)), (0, [False] * 4))

    def test_late_replies_out_of_turn(self) -> None:
        """Late replies in any order count once each."""
        self.mixed.expire(5.0)
        self.assertEqual(self.answer([FIRST[3]]), [])
        parts, others = self.mixed.answered(*_columns([FIRST[3], FIRST[1]]))
        self.assertEqual((parts, list(others), self.mixed.abandoned), ([], [FIRST[3]], 1))
        self.assertEqual((self.answer([FIRST[2]]), self.mixed.abandoned), ([], 0))
        self.assertEqual(self.taken(*FIRST), [False] * 4)

    def test_expire_out_of_turn(self) -> None:
        """What is left of one that was answered out of turn is given up."""
        self.answer([FIRST[2]])
        (part,) = self.mixed.expire(5.0)
        self.assertEqual((sorted(part.places), part.size, self.mixed.abandoned), ([1, 3], 500, 2))

    def test_leave(self) -> None:
        """A flow that leaves gives up its own; those of others stay, and can be answered."""
        other = SendingFlow(RequestIds(2))
        self.mixed.insert(SentMixed(other, 3, 5.0, FewAdds((30,), (0,), b"bytes"), lambda *_: None))
        self.assertEqual(self.mixed.leave(SendingFlow(RequestIds(3))), [])
        self.assertEqual(_places(self.mixed.leave(FLOW)), [(1, [1, 2, 3]), (2, [0, 1, 2])])
        self.assertEqual((self.mixed.leave(FLOW), self.mixed.abandoned), ([], 6))
        self.assertEqual(self.taken(FIRST[1], SECOND[0], (30, 0)), [True] * 3)
        self.assertTrue(self.mixed)
        self.assertEqual(self.answer([(30, 0)]), [(3, [0])])
        self.assertFalse(self.mixed)

    def test_clear(self) -> None:
        """At the end all that somebody waits for is taken out, once, and no key is taken."""
        self.mixed.expire(5.0)
        self.assertEqual(_places(self.mixed.clear()), [(2, [0, 1, 2])])
        self.assertEqual((self.mixed.clear(), self.mixed.abandoned, bool(self.mixed)), ([], 0, False))
        self.assertEqual(self.taken(FIRST[1], SECOND[0]), [False, False])
        parts, others = self.mixed.answered(*_columns(SECOND))
        self.assertEqual((parts, list(others)), ([], SECOND))


class Model:
    """The same by a dict, one key after the other; every step is compared."""

    def __init__(self, case: SynchronousTestCase) -> None:
        self._case = case
        self._mixed = OutstandingMixed()
        self._next: dict[int, int] = {}  # entry by ledger
        self._waiting: dict[Key, tuple[int, int]] = {}  # order and place
        self._abandoned: set[Key] = set()
        self._sizes: list[int] = []
        self._settled: list[int] = []

    def send(self, ledger_ids: Sequence[int]) -> None:
        """Sends the next entry of each ledger."""
        order = len(self._sizes)
        keys = [(ledger_id, self._next.get(ledger_id, 0)) for ledger_id in ledger_ids]
        self._case.assertFalse(self._mixed.is_any_taken(*_columns(keys)))
        self._sizes.append(100 * len(keys) + 13 * order)
        self._settled.append(0)
        self._mixed.insert(_sent(order, keys, deadline=order, size=self._sizes[order]))
        self._waiting.update({key: (order, place) for place, key in enumerate(keys)})
        self._next.update({ledger_id: entry_id + 1 for ledger_id, entry_id in keys})

    def row(self, skipped: int, count: int) -> None:
        """Some of what is not answered is, in the order sent."""
        self.reply(sorted([*self._waiting, *self._abandoned], key=self._turn)[skipped:][:count])

    def _turn(self, key: Key) -> tuple[int, int]:
        return self._waiting.get(key, (-1, key[0]))

    def reply(self, keys: Sequence[Key]) -> None:
        """Replies come, to anything."""
        parts, others = self._mixed.answered(*_columns(keys))
        answered, unknown = list[tuple[int, int]](), list[Key]()
        for key in keys:
            if key in self._waiting:
                answered.append(self._waiting.pop(key))
            elif key in self._abandoned:
                self._abandoned.remove(key)
            else:
                unknown.append(key)
        self._case.assertEqual(list(others), unknown)
        self._check(parts, answered)

    def expire(self, now: int) -> None:
        """All that was sent up to one is given up."""
        overdue = {key: where for key, where in self._waiting.items() if where[0] <= now}
        parts = self._mixed.expire(now)
        self._abandoned.update(overdue)
        for key in overdue:
            del self._waiting[key]
        self._check(parts, list(overdue.values()))

    def _check(self, parts: Sequence[MixedPart], wanted: Sequence[tuple[int, int]]) -> None:
        assert_equal, mixed = self._case.assertEqual, self._mixed
        assert_equal(sorted((part.order, place) for part in parts for place in part.places), sorted(wanted))
        assert_equal((bool(mixed), mixed.abandoned), (bool(self._waiting), len(self._abandoned)))
        for key in (*self._waiting, *self._abandoned):
            assert_equal((key, mixed.is_any_taken(*_columns([key]))), (key, True))
        assert_equal(mixed.is_any_taken(*_columns(list(self._next.items()))), False)
        for part in parts:
            self._settled[part.order] += part.size
        owing = {order for order, _ in self._waiting.values()}
        for order, size in enumerate(self._sizes):
            assert_equal(self._settled[order] == size, order not in owing)

    def end(self) -> None:
        """Everything is answered; nothing is taken."""
        self.row(0, len(self._waiting) + len(self._abandoned))
        self._case.assertFalse(self._mixed.is_any_taken(list(self._next), [0] * len(self._next)))


STEPS = st.one_of(
    st.tuples(st.just(Model.send), st.tuples(st.lists(st.integers(0, 7), min_size=1, unique=True))),
    st.tuples(st.just(Model.row), st.tuples(st.sampled_from([0, 0, 0, 1, 5]), st.integers(1, 12))),
    st.tuples(
        st.just(Model.reply),
        st.tuples(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=12)),
    ),
    st.tuples(st.just(Model.expire), st.tuples(st.integers(0, 6))),
)


class ModelTests(SynchronousTestCase):
    """Any course of things."""

    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(st.lists(STEPS, max_size=25))
    def test_any_course(self, steps: list[tuple[object, tuple[object, ...]]]) -> None:
        """Whatever is sent, answered in any order and rows, and given up: each add has one end, and bytes add up."""
        model = Model(self)
        for step, arguments in steps:
            step(model, *arguments)  # type: ignore[operator]
        model.end()
