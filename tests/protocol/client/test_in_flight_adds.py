"""Adds in the account of a connection: answers in turn and out of turn, keys that are in use, ends."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.adds import Adds, frames_and_replies
from bookkeeper_twisted.codec.runs import AddReplies
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.client.in_flight import InFlight, SentRequest
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.protocol.client.sent_adds import AddsPart, Answered, SentAdds

FIRST = [(10, 0), (11, 0), (12, 0), (13, 0)]
SECOND = [(20, 5), (21, 5), (22, 5)]


Key = tuple[int, int]


def few_adds(ledger_ids: Sequence[int], entry_ids: Sequence[int], size: int = 1000) -> Adds:
    """Adds, and any bytes as their frames."""
    return Adds(ledger_ids, entry_ids, bytes(size), ())


def _columns(keys: Sequence[Key]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple([key[0] for key in keys]), tuple([key[1] for key in keys])


def _adds(*keys: Key) -> Adds:
    return few_adds(*_columns(keys))


def confirmed(flight: InFlight, data: bytes) -> tuple[list[Answered], int]:
    """What received bytes confirm, and how many of them were replies as foretold."""
    parts, at, end = list[Answered](), -1, 0
    while at < end:
        at = end
        part, end = flight.confirmed(data, at)
        if part is not None:
            parts.append(part)
    return parts, end


def _indexes(parts: Sequence[SentRequest]) -> list[tuple[int, list[int]]]:
    """What was answered, or given up: number of the request, indexes."""
    return [(part.order, list(part.indexes)) for part in parts if isinstance(part, SentAdds | AddsPart)]


class AddsCase(SynchronousTestCase):
    """Adds and replies to them, by ledger and entry."""

    def setUp(self) -> None:
        """Nothing was sent."""
        self.begin()

    def begin(self, numbered: bool = False) -> None:
        """Nothing was sent, on a new connection."""
        flow_ids = FlowIds()
        self.ids, self.other = RequestIds(flow_ids.allocate()), RequestIds(flow_ids.allocate())
        self.outstanding = InFlight(numbered, flow_ids)

    def send(
        self, keys: Sequence[Key], deadline: float = 5.0, size: int = 1000, number: int | None = None,
        fresh: bool = False,
    ) -> SentAdds:  # fmt: skip
        """Send adds.

        :param number: V3: of the first one.
        """
        adds, numbers = _adds(*keys), None if number is None else range(number, number + len(keys))
        replies = frames_and_replies(adds)[1] if numbers is None else b""
        added = self.outstanding.add(self.ids, adds, size, replies, numbers, deadline, lambda *_: None, fresh)
        self.assertTrue(added)
        return self.outstanding._adds[-1]

    def answer(self, keys: Sequence[Key]) -> list[tuple[int, list[int]]]:
        """What a row of replies answers."""
        return _indexes(list(self.outstanding.answered_adds(keys)))

    def in_use(self, *keys: Key) -> list[bool]:
        """Whether they are in use, each of them."""
        return [self.outstanding.are_in_use(_adds(key), False) for key in keys]


class AnswerTests(AddsCase):
    """Two were sent: four entries and three."""

    def setUp(self) -> None:
        """Sends them."""
        super().setUp()
        self.first, self.second = self.send(FIRST), self.send(SECOND)

    def test_in_turn(self) -> None:
        """A row for all of one takes it out."""
        self.assertEqual(self.answer(FIRST), [(1, [0, 1, 2, 3])])
        self.assertEqual(self.answer(SECOND), [(2, [0, 1, 2])])
        self.assertFalse(self.outstanding)

    def test_in_parts(self) -> None:
        """A row that ends before takes out what it names, the next one goes on there."""
        self.assertEqual(self.answer(FIRST[:1]), [(1, [0])])
        self.assertEqual(self.answer(FIRST[1:3]), [(1, [1, 2])])
        self.assertEqual((self.first.count, self.first.left), (4, 1))
        self.assertEqual(self.answer(FIRST[3:]), [(1, [3])])
        self.assertEqual(self.first.left, 0)
        self.assertTrue(self.outstanding)

    def test_several_in_one_row(self) -> None:
        """A row may end one and begin the next."""
        self.assertEqual(self.answer(FIRST[:2]), [(1, [0, 1])])
        self.assertEqual(self.answer([*FIRST[2:], *SECOND[:1]]), [(1, [2, 3]), (2, [0])])
        self.assertEqual(self.answer(SECOND[1:]), [(2, [1, 2])])
        self.assertFalse(self.outstanding)

    def test_later_one_first(self) -> None:
        """What was sent later may be answered first, each in turn."""
        self.assertEqual(self.answer([*SECOND, *FIRST[:2]]), [(1, [0, 1]), (2, [0, 1, 2])])
        self.assertEqual(self.answer(FIRST[2:]), [(1, [2, 3])])
        self.assertFalse(self.outstanding)

    def test_out_of_turn(self) -> None:
        """Once a reply came out of turn each of the others is found wherever it is, once."""
        self.assertEqual(self.answer([FIRST[2]]), [(1, [2])])
        self.assertEqual(self.answer([FIRST[1]]), [(1, [1])])
        parts = list(self.outstanding.answered_adds(FIRST[1:3]))
        self.assertEqual(parts, [])
        self.assertEqual(self.answer([FIRST[3], SECOND[0], FIRST[0]]), [(1, [3, 0]), (2, [0])])
        self.assertEqual(self.answer(SECOND[1:]), [(2, [1, 2])])
        self.assertFalse(self.outstanding)

    def test_other_order(self) -> None:
        """A row that begins in turn and goes on out of turn answers what it names."""
        self.assertEqual(self.answer([FIRST[0], FIRST[2], FIRST[1]]), [(1, [0, 2, 1])])
        self.assertEqual(self.answer(FIRST[3:]), [(1, [3])])

    def test_out_of_turn_after_a_part(self) -> None:
        """What was answered in turn before is not found any more."""
        self.answer(FIRST[:2])
        parts = list(self.outstanding.answered_adds([FIRST[3], FIRST[1]]))
        self.assertEqual(_indexes(parts), [(1, [3])])
        self.assertEqual(self.answer(FIRST[2:3]), [(1, [2])])

    def test_other_entry(self) -> None:
        """A reply is not taken for that to another entry of the ledger."""
        for wrong in (1, 3):
            row = [(ledger_id, 1 if n == wrong else entry_id) for n, (ledger_id, entry_id) in enumerate(FIRST)]
            self.begin()
            self.send(FIRST)
            self.assertEqual(self.answer(row), [(1, [n for n in range(4) if n != wrong])])

    def test_unknown(self) -> None:
        """Replies to what was not asked, or was answered before, are ignored."""
        row = [(99, 0), FIRST[0], (10, 7), FIRST[0], SECOND[0], (98, 0)]
        parts = list(self.outstanding.answered_adds(row))
        self.assertEqual(_indexes(parts), [(1, [0]), (2, [0])])

    def test_again(self) -> None:
        """A row that comes twice answers once, also where something else is outstanding."""
        self.answer(FIRST)
        parts = list(self.outstanding.answered_adds(FIRST))
        self.assertEqual(parts, [])
        self.assertEqual(self.answer(SECOND), [(2, [0, 1, 2])])

    def test_whose(self) -> None:
        """A part knows who asked and whom to tell, and how many it is."""
        (part,) = self.outstanding.answered_adds(FIRST[:3])
        self.assertIs(part.flow.ids, self.ids)
        self.assertIs(part.done, self.first.done)
        self.assertEqual((part.count, part.size), (3, 750))


class KeysInUseTests(AddsCase):
    """Keys whose replies could not be told from others."""

    def test_before_and_after(self) -> None:
        """A key is in use from when it is sent until it is answered."""
        self.assertEqual(self.in_use((10, 3)), [False])
        self.send([(10, 3), (11, 0)])
        self.assertEqual(self.in_use((10, 2), (10, 3), (10, 4), (11, 0), (12, 0)), [False, True, False, True, False])
        self.answer([(10, 3)])
        self.assertEqual(self.in_use((10, 3), (11, 0)), [False, True])
        self.answer([(11, 0)])
        self.assertEqual(self.in_use((10, 0), (10, 3), (11, 0)), [False] * 3)

    def test_any(self) -> None:
        """One of many that is in use is enough, and each is compared with its own ledger."""
        self.send([(10, 3), (11, 8)])
        self.assertTrue(self.outstanding.are_in_use(_adds((9, 0), (10, 3), (12, 0)), False))
        self.assertFalse(self.outstanding.are_in_use(_adds((9, 0), (10, 8), (11, 3)), False))

    def test_out_of_turn(self) -> None:
        """What was answered out of turn is free, what was sent with it is not."""
        self.send([(10, 3), (11, 0), (12, 0)])
        self.answer([(11, 0)])
        self.assertEqual(self.in_use((10, 3), (11, 0), (12, 0)), [True, False, True])

    def test_fresh(self) -> None:
        """An entry that is sent for the first time meets only what was sent again."""
        self.send([(10, 3)], fresh=True)
        self.assertFalse(self.outstanding.are_in_use(_adds((10, 3)), True))
        self.assertTrue(self.outstanding.are_in_use(_adds((10, 3)), False))
        self.send([(11, 0)])
        self.assertTrue(self.outstanding.are_in_use(_adds((11, 0)), True))
        self.answer([(11, 0)])
        self.assertFalse(self.outstanding.are_in_use(_adds((11, 0)), True))

    def test_fresh_in_turn(self) -> None:
        """What was sent again and is confirmed by bytes is forgotten, too."""
        sent = self.send([(10, 3)])
        self.assertEqual(confirmed(self.outstanding, sent.replies), ([sent], 28))
        self.assertFalse(self.outstanding.are_in_use(_adds((10, 3)), True))


class ConfirmedTests(AddsCase):
    """The bytes of V2 replies are compared with those that are expected next."""

    def setUp(self) -> None:
        """Four entries and three."""
        super().setUp()
        self.data = self.send(FIRST).replies + self.send(SECOND).replies

    def confirm(self, data: bytes) -> tuple[list[tuple[int, list[int]]], int]:
        """What bytes confirm, and how many they were."""
        parts, size = confirmed(self.outstanding, data)
        return _indexes(parts), size

    def test_all(self) -> None:
        """Everything at once."""
        self.assertEqual(self.confirm(self.data), ([(1, [0, 1, 2, 3]), (2, [0, 1, 2])], len(self.data)))
        self.assertFalse(self.outstanding)

    def test_cut_anywhere(self) -> None:
        """Wherever the bytes are cut, whole replies count, and a part of one is left."""
        for cut in range(len(self.data) + 1):
            self.setUp()
            before, size = self.confirm(self.data[:cut])
            self.assertEqual(size, cut // 28 * 28)
            after, rest = self.confirm(self.data[size:])
            self.assertEqual(size + rest, len(self.data))
            indexes = [(order, index) for order, some in before + after for index in some]
            self.assertEqual(indexes, [(1, n) for n in range(4)] + [(2, n) for n in range(3)])
            self.assertFalse(self.outstanding)

    def test_others(self) -> None:
        """Bytes of any other reply end it: another entry, an error, what was confirmed before."""
        for other in (self.data[28:56], self.data[:11] + b"\x01" + self.data[12:28], bytes(28), self.data[:27]):
            self.assertEqual(self.confirm(other), ([], 0))
        self.assertEqual(self.confirm(self.data[:56] + bytes(28)), ([], 0))
        self.assertEqual(self.answer(FIRST[:2]), [(1, [0, 1])])
        self.assertEqual(self.confirm(self.data[:56]), ([], 0))
        self.assertEqual(self.confirm(self.data[56:112])[0], [(1, [2, 3])])

    def test_again_after_a_part(self) -> None:
        """A reply that comes once more does not confirm the next entry."""
        self.assertEqual(self.confirm(self.data[:28]), ([(1, [0])], 28))
        self.assertEqual(self.confirm(self.data[:28]), ([], 0))

    def test_later_one_first(self) -> None:
        """What was sent later may be confirmed first."""
        self.assertEqual(self.confirm(self.data[112:])[0], [(2, [0, 1, 2])])
        self.assertEqual(self.confirm(self.data[:112])[0], [(1, [0, 1, 2, 3])])

    def test_given_up(self) -> None:
        """What was given up is released by its late reply, which is dropped."""
        self.outstanding.expire(5.0)
        self.assertEqual((self.confirm(self.data), self.outstanding.abandoned), (([], len(self.data)), 0))


class NumberTests(AddsCase):
    """V3: keys are numbers."""

    def setUp(self) -> None:
        """Three runs of ten: numbers 0, 10, 20."""
        self.begin(numbered=True)
        for first in (0, 10, 20):
            self.send([(7, first + n) for n in range(10)], number=first, fresh=True)

    def numbers(self, numbers: Sequence[int]) -> list[tuple[int, list[int]]]:
        """What replies with these numbers answer."""
        return _indexes(list(self.outstanding.answered_adds(list(numbers))))

    def test_across_runs(self) -> None:
        """Replies may cover several runs, the last one in part."""
        self.assertEqual(self.numbers(range(25)), [(1, [*range(10)]), (2, [*range(10)]), (3, [*range(5)])])
        self.assertEqual([self.outstanding.is_pending(n, 1) for n in (24, 25, 29, 30)], [False, True, True, False])

    def test_out_of_order(self) -> None:
        """A reply that overtakes others takes out what it answers, once."""
        self.assertEqual(self.numbers((14, 15)), [(2, [4, 5])])
        self.assertEqual(self.numbers((14, 40)), [])
        self.assertEqual([self.outstanding.is_pending(n, 1) for n in (13, 14, 16)], [True, False, True])

    def test_given_up(self) -> None:
        """What has numbers of its own is forgotten once it is given up."""
        self.assertEqual([part.order for part in self.outstanding.expire(5.0)], [1, 2, 3])
        self.assertEqual(
            (self.outstanding.is_pending(0, 30), self.outstanding.abandoned, self.numbers(range(30))), (False, 0, [])
        )


class NamedTests(AddsCase):
    """V3: the entries that replies name are those that were sent under their numbers."""

    def mistaken(self, numbers: Sequence[int], wrong: Sequence[int], ledger: bool = False) -> list[bool]:
        """Whether the groups of answered adds are mistaken: three runs of forty, and then one of four hundred.

        :param wrong: the indexes of the replies that name another entry.
        :param ledger: whether it is one of another ledger.
        """
        self.begin(numbered=True)
        for first, count in ((0, 40), (40, 40), (80, 40), (120, 400)):
            self.send([(7, first + n) for n in range(count)], number=first, fresh=True)
        replies = AddReplies(Status.EOK, [7] * len(numbers), numbers, numbers)
        for index in wrong:
            ids = replies.ledger_ids if ledger else replies.entry_ids
            ids[index] += 1
        return [part.is_mistaken for part in self.outstanding.answered_adds(list(numbers), replies)]

    def test_right(self) -> None:
        """In their order, in any other order, and one alone."""
        self.assertEqual(self.mistaken(range(520), ()), [False] * 4)
        self.assertEqual(self.mistaken([*range(60, 80), *range(60), 81, 700], ()), [False] * 3)
        self.assertEqual(self.mistaken([2], ()), [False])

    def test_wrong(self) -> None:
        """Of many replies in their order the first and the last are compared, of others all."""
        for ledger in (False, True):
            for index, expected in ((0, 0), (17, 0), (39, 0), (79, 1), (120, 3), (519, 3)):
                found = self.mistaken(range(520), [index], ledger)
                self.assertEqual(found, [at == expected for at in range(4)], index)
            self.assertEqual(self.mistaken([60, 59, *range(10), 61], [1], ledger), [False, True])
            self.assertEqual(self.mistaken([60, 59, *range(10), 61], [5], ledger), [True, False])
            self.assertEqual(self.mistaken([0], [0], ledger), [True])


class EndTests(AddsCase):
    """Adds that are given up."""

    def setUp(self) -> None:
        """Two were sent, the first of them was answered in part."""
        super().setUp()
        self.first, self.second = self.send(FIRST, 5.0), self.send(SECOND, 6.0)
        self.answer(FIRST[:1])

    def test_expire(self) -> None:
        """What is overdue is given up once, with what was not answered; the rest goes on."""
        self.assertEqual(self.outstanding.expire(4.9), [])
        (part,) = self.outstanding.expire(5.0)
        assert isinstance(part, AddsPart)
        self.assertEqual((part.order, list(part.indexes), part.count, part.size), (1, [1, 2, 3], 3, 750))
        self.assertIsNotNone(part.done)
        self.assertEqual((self.outstanding.expire(5.0), self.outstanding.abandoned), ([], 3))
        self.assertTrue(self.outstanding)
        self.assertEqual(_indexes(self.outstanding.expire(6.0)), [(2, [0, 1, 2])])
        self.assertEqual((bool(self.outstanding), self.outstanding.abandoned), (False, 6))

    def test_late_replies(self) -> None:
        """Keys that were given up stay in use until their late replies, which are dropped."""
        self.outstanding.expire(5.0)
        self.assertEqual(self.answer([*FIRST[1:3], SECOND[0]]), [(2, [0])])
        self.assertEqual((self.outstanding.abandoned, self.in_use(FIRST[3])), (1, [True]))
        self.assertEqual(self.answer(FIRST[3:]), [])
        self.assertEqual((self.outstanding.abandoned, self.in_use(*FIRST)), (0, [False] * 4))

    def test_late_replies_out_of_turn(self) -> None:
        """Late replies in any order count once each."""
        self.outstanding.expire(5.0)
        self.assertEqual(self.answer([FIRST[3]]), [])
        parts = list(self.outstanding.answered_adds([FIRST[3], FIRST[1]]))
        self.assertEqual((parts, self.outstanding.abandoned), ([], 1))
        self.assertEqual((self.answer([FIRST[2]]), self.outstanding.abandoned), ([], 0))
        self.assertEqual(self.in_use(*FIRST), [False] * 4)

    def test_expire_out_of_turn(self) -> None:
        """What is left of one that was answered out of turn is given up."""
        self.answer([FIRST[2]])
        (part,) = self.outstanding.expire(5.0)
        assert isinstance(part, AddsPart)
        self.assertEqual((sorted(part.indexes), part.size, self.outstanding.abandoned), ([1, 3], 500, 2))

    def test_leave(self) -> None:
        """A flow that leaves gives up its own; those of others stay, and can be answered."""
        mine, self.ids = self.ids, self.other
        self.send([(30, 0)], size=5, fresh=True)
        self.assertEqual(list(self.outstanding.abandon(RequestIds(3))), [])
        self.assertEqual(_indexes(self.outstanding.abandon(mine)), [(1, [1, 2, 3]), (2, [0, 1, 2])])
        self.assertEqual((list(self.outstanding.abandon(mine)), self.outstanding.abandoned), ([], 6))
        self.assertEqual(self.in_use(FIRST[1], SECOND[0], (30, 0)), [True] * 3)
        self.assertTrue(self.outstanding)
        self.assertEqual(self.answer([(30, 0)]), [(3, [0])])
        self.assertFalse(self.outstanding)

    def test_clear(self) -> None:
        """At the end all requests that wait are taken out, once, and no key is in use."""
        self.outstanding.expire(5.0)
        self.assertEqual(_indexes(self.outstanding.clear()), [(2, [0, 1, 2])])
        self.assertEqual((self.outstanding.clear(), self.outstanding.abandoned, bool(self.outstanding)), ([], 0, False))
        self.assertEqual(self.in_use(FIRST[1], SECOND[0]), [False, False])
        parts = list(self.outstanding.answered_adds(SECOND))
        self.assertEqual(parts, [])


class Model:
    """The same by a dict, one key after the other; every step is compared."""

    def __init__(self, case: AddsCase) -> None:
        self._case = case
        case.begin()
        self._outstanding = case.outstanding
        self._next: dict[int, int] = {}  # entry by ledger
        self._waiting: dict[Key, tuple[int, int]] = {}  # order and index
        self._abandoned: set[Key] = set()
        self._sizes: list[int] = []
        self._released: list[int] = []

    def send(self, ledger_ids: Sequence[int]) -> None:
        """Sends the next entry of each ledger."""
        order = len(self._sizes) + 1
        keys = [(ledger_id, self._next.get(ledger_id, 0)) for ledger_id in ledger_ids]
        self._case.assertFalse(self._outstanding.are_in_use(_adds(*keys), False))
        self._sizes.append(100 * len(keys) + 13 * order)
        self._released.append(0)
        self._case.send(keys, deadline=order, size=self._sizes[-1])
        self._waiting.update({key: (order, index) for index, key in enumerate(keys)})
        self._next.update({ledger_id: entry_id + 1 for ledger_id, entry_id in keys})

    def row(self, skipped: int, count: int) -> None:
        """Some of what is not answered is, in the order sent."""
        self.reply(sorted([*self._waiting, *self._abandoned], key=self._turn)[skipped:][:count])

    def _turn(self, key: Key) -> tuple[int, int]:
        return self._waiting.get(key, (-1, key[0]))

    def reply(self, keys: Sequence[Key]) -> None:
        """Replies come, to anything."""
        parts = list(self._outstanding.answered_adds(keys))
        answered = list[tuple[int, int]]()
        for key in keys:
            if key in self._waiting:
                answered.append(self._waiting.pop(key))
            else:
                self._abandoned.discard(key)
        self._check(parts, answered)

    def expire(self, now: int) -> None:
        """All that was sent up to one is given up."""
        overdue = {key: where for key, where in self._waiting.items() if where[0] <= now}
        parts = self._outstanding.expire(now)
        self._abandoned.update(overdue)
        for key in overdue:
            del self._waiting[key]
        self._check(parts, list(overdue.values()))

    def _check(self, parts: Sequence[SentRequest], wanted: Sequence[tuple[int, int]]) -> None:
        assert_equal, outstanding = self._case.assertEqual, self._outstanding
        assert_equal(sorted((order, index) for order, indexes in _indexes(parts) for index in indexes), sorted(wanted))
        assert_equal((bool(outstanding), outstanding.abandoned), (bool(self._waiting), len(self._abandoned)))
        for key in (*self._waiting, *self._abandoned):
            assert_equal((key, outstanding.are_in_use(_adds(key), False)), (key, True))
        assert_equal(bool(self._next) and outstanding.are_in_use(_adds(*self._next.items()), False), False)
        for part in parts:
            self._released[part.order - 1] += part.size
        owing = {order for order, _ in self._waiting.values()}
        for number, size in enumerate(self._sizes):
            assert_equal(self._released[number] == size, number + 1 not in owing)
        assert_equal(outstanding.unacknowledged, sum(self._sizes) - sum(self._released))

    def end(self) -> None:
        """Everything is answered; nothing is in use."""
        self.row(0, len(self._waiting) + len(self._abandoned))
        self._case.assertFalse(
            self._next and self._outstanding.are_in_use(few_adds(list(self._next), [0] * len(self._next)), False)
        )


STEPS = st.one_of(
    st.tuples(st.just(Model.send), st.tuples(st.lists(st.integers(0, 7), min_size=1, unique=True))),
    st.tuples(st.just(Model.row), st.tuples(st.sampled_from([0, 0, 0, 1, 5]), st.integers(1, 12))),
    st.tuples(
        st.just(Model.reply),
        st.tuples(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=12)),
    ),
    st.tuples(st.just(Model.expire), st.tuples(st.integers(0, 6))),
)


class ModelTests(AddsCase):
    """Any course of things."""

    @settings(max_examples=200)
    @given(st.lists(STEPS, max_size=25))
    def test_any_course(self, steps: list[tuple[object, tuple[object, ...]]]) -> None:
        """Whatever is sent, answered in any order and rows, and given up: each add has one end, and bytes add up."""
        model = Model(self)
        for step, arguments in steps:
            step(model, *arguments)  # type: ignore[operator]
        model.end()
