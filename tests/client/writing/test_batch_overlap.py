"""Entries that leave a mixed run, or are not taken into it, although no bookie failed."""

from twisted.internet.defer import CancelledError

from bookkeeper_twisted.config.client import ClientConfig

from .batch_case import BatchCase, HeldCase


class AnotherAppendTests(HeldCase):
    """A writer appends again while its entry is on its way with others."""

    quorums = (3, 3, 3)

    def _check(self, before: int) -> None:
        """After the answers of some bookies, the entry needs just the others."""
        waiters = self.sent()
        for name in self.names[:before]:
            self.bookies.answer(name)
        again = self.writers[1].append(b"yz")
        many = self.writers[1].append_many([b"1", b"2"])
        self.turn()
        for name in self.names:
            self.assertEqual(self.asked(name)[1:], [[(2, n) for n in (1, 2, 3)]])
        for name in self.names[before:]:
            self.assertEqual(self.fired(waiters), [])
            self.bookies.requests(name)[0].answer()
        self.assertEqual(self.results(waiters), [0, 0, 0])
        self.assertFalse(again.called)
        self.finish()
        self.assertEqual((self.successResultOf(again), self.successResultOf(many)), (1, (2, 3)))
        self.assertEqual([self.header("b2", 2, n)[:2] for n in range(4)], [(-1, 1), (-1, 3), (-1, 4), (-1, 5)])
        self.assert_quiet()

    def test_no_answer(self) -> None:
        """No bookie had answered."""
        self._check(0)

    def test_one_answer(self) -> None:
        """One had."""
        self._check(1)

    def test_two_answers(self) -> None:
        """Two of three had."""
        self._check(2)

    def test_answers_for_others(self) -> None:
        """What bookies answered for the entries of others does not count."""
        waiters = self.sent()
        self.bookies.answer("b0", 1)
        self.bookies.answer("b1", 1, 2)
        self.bookies.answer("b2", 3)
        self.writers[1].append(b"y")
        self.turn()
        self.bookies.requests("b2")[0].answer()
        self.assertEqual(self.fired(waiters), [1])
        self.bookies.requests("b0")[0].answer()
        self.assertEqual(self.fired(waiters), [1, 2])
        self.finish()
        self.assertEqual(self.results(waiters), [0, 0, 0])

    def test_order(self) -> None:
        """The later entry does not complete before the one that was mixed (S13)."""
        waiters = self.sent()
        again = self.writers[0].append(b"y")
        self.turn()
        for name in self.names:
            self.bookies.requests(name)[1].answer()
        self.assertFalse(again.called)
        self.assertFalse(waiters[0].called)
        for name in self.names:
            self.bookies.requests(name)[0].answer()
        self.assertEqual(self.results([*waiters, again]), [0, 0, 0, 1])

    def test_order_of_many(self) -> None:
        """Nor do later entries that are a batch of their own; they complete with the one they wait for."""
        waiters = self.sent()
        again = self.writers[0].append_many([b"y", b"z"])
        self.turn()
        for name in self.names:
            self.bookies.requests(name)[1].answer()
        self.assertFalse(again.called)
        for name in self.names:
            self.bookies.requests(name)[0].answer()
        self.assertEqual(self.results([waiters[0], again]), [0, (1, 2)])

    def test_cancelled(self) -> None:
        """Also if the first one was cancelled."""
        waiters = self.sent()
        waiters[1].cancel()
        self.failureResultOf(waiters[1], CancelledError)
        again = self.writers[1].append(b"y")
        self.finish()
        self.assertEqual(self.successResultOf(again), 1)

    def test_appender(self) -> None:
        """What threads offer follows the entry that was mixed."""
        waiters = self.sent()
        self.bookies.answer("b1")
        appender = self.writers[2].appender()
        appender.offer(b"yz")
        self.finish()
        self.assertEqual(self.results(waiters), [0, 0, 0])
        self.assertEqual(self.writers[2].last_add_confirmed, 1)
        self.assertEqual(self.header("b1", 3, 1), (0, 3, b"yz"))


class WaitingTests(BatchCase):
    """A writer whose entries wait for room."""

    config = ClientConfig(max_in_flight_bytes=1000)

    def test_append_in_callback(self) -> None:
        """What a callback appends comes after them, though nothing is on its way just then (S13)."""
        order: list[int] = []
        writer = self.writers[1]

        def more(_: int) -> None:
            writer.append(b"y").addCallback(order.append)
            self.writers[2].append(b"y")

        writer.append(b"x" * 64).addCallback(more)
        for _ in range(15):
            writer.append(b"x" * 64).addCallback(order.append)
        self.hold()
        self.turn()
        sent = sum(len(keys) for keys in self.asked("b0"))
        self.assertLess(sent, 15)
        for request in reversed(self.bookies.sent):
            request.answer()
        self.assertEqual(order, list(range(1, sent)))
        self.turn()
        self.assertEqual([key for keys in self.asked("b0") for key in keys if key[0] == 2], [(2, n) for n in range(16)])
        self.bookies.held.clear()
        for name in self.names:
            self.bookies.answer(name)
        self.settle()
        self.assertEqual((order, writer.last_add_confirmed), (list(range(1, 17)), 16))
        self.assertEqual(self.header("b0", 2, 16), (15, 16 * 64 + 1, b"y"))
