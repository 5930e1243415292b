"""Bookies are told of the LAC of an idle writer."""

from bookkeeper_twisted.client.writing.lac_notices import MOST_LOOKS, MOST_SENT
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieIOError

from .writer_case import LEDGER, WriterTestCase


class LacNoticeTests(WriterTestCase):
    """After a second."""

    quorums = (4, 3, 2)
    config = ClientConfig(explicit_lac_interval=1000)

    def _told(self, ledger_id: int = LEDGER) -> dict[str, int]:
        """What each bookie was told."""
        packets = {name: self.bookies[name].explicit_lacs.get(ledger_id) for name in self.names}
        return {name: self.digester.verify_lac(ledger_id, packet) for name, packet in packets.items() if packet}

    def _pass(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.advance(1.0)
            self.settle()

    def test_idle(self) -> None:
        """All bookies of the newest entries learn what no entry carried, once, after one interval and within two."""
        self.writer.append_many([b"x"] * 2)
        self.settle()
        self._pass(1)
        self.assertEqual(self._told(), {})
        self._pass(1)
        self.assertEqual(self._told(), dict.fromkeys(self.names, 1))
        asked = len(self.bookies["b1"].requests)
        self._pass(3)
        self.assertEqual(len(self.bookies["b1"].requests), asked)

    def test_timer(self) -> None:
        """There is no timer once they know, and there is one again after the next entry."""
        self.settle()
        idle = len(self.clock.getDelayedCalls())
        for n in range(2):
            self.writer.append(b"x")
            self.settle()
            self.assertEqual(len(self.clock.getDelayedCalls()), idle + 1)
            self._pass(3)
            self.assertEqual(len(self.clock.getDelayedCalls()), idle)
            self.assertEqual(set(self._told().values()), {n})

    def test_busy(self) -> None:
        """While entries carry the LAC along, nothing is written."""
        for _ in range(6):
            self.writer.append(b"x")
            self.settle()
            self._pass(1)
        self.assertEqual(self._told(), {})
        self._pass(1)
        self.assertEqual(set(self._told().values()), {5})

    def test_in_flight(self) -> None:
        """A writer that waits for bookies is not idle, however long they take."""
        for name in self.names:
            self.bookies[name].delay = 5.0
        self.writer.append(b"x")
        self._pass(4)
        self.assertEqual(self._told(), {})
        for name in self.names:
            self.bookies[name].delay = 0.0
        self._pass(3)
        self.assertEqual(set(self._told().values()), {0})

    def test_too_few(self) -> None:
        """A notice that a write set may have missed is repeated after a pause, which grows."""
        faults = [self.bookies[name].fail("write_lac", BookieIOError, times=3) for name in ("b0", "b1")]
        self.writer.append(b"x")
        self.settle()
        self._pass(2)
        self.assertEqual(self._told(), {"b2": 0, "b3": 0})
        self._pass(4)
        self.assertEqual([fault.times for fault in faults], [0, 0])
        self._pass(3)
        self.assertEqual(self._told(), {"b2": 0, "b3": 0})
        self._pass(1)
        self.assertEqual(self._told(), dict.fromkeys(self.names, 0))
        self.assertEqual(len([one for one in self.bookies["b0"].requests if one[0] == "write_lac"]), 4)

    def test_one_is_missing(self) -> None:
        """One that as many bookies have taken as have the entries is not repeated."""
        self.bookies["b0"].fail("write_lac", BookieIOError, times=1)
        self.writer.append(b"x")
        self.settle()
        self._pass(9)
        self.assertEqual(self._told(), {"b1": 0, "b2": 0, "b3": 0})

    def test_close(self) -> None:
        """A closed writer is silent."""
        self.writer.append(b"x")
        self.settle()
        self.writer.close()
        self._pass(3)
        self.assertEqual(self._told(), {})
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_client_closed(self) -> None:
        """So is one whose client was closed."""
        self.writer.append(b"x")
        self.settle()
        self.bookies.close()
        self._pass(2)
        asked = len(self.bookies["b0"].requests)
        self._pass(5)
        self.assertEqual((self._told(), len(self.bookies["b0"].requests)), ({}, asked))

    def test_stopped(self) -> None:
        """Nothing is sent, and no timer is left, once a client has stopped its notices."""
        self.writer.append(b"x")
        self.settle()
        notices = self.writer._ledger.context.notices
        notices.stop()
        self.writer.append(b"x")
        self._pass(3)
        self.assertEqual((self._told(), self.clock.getDelayedCalls()), ({}, []))


class ManyWritersTests(WriterTestCase):
    """Many writers of one client fall idle at once."""

    quorums = (1, 1, 1)
    config = ClientConfig(explicit_lac_interval=1000)

    def test_bounded(self) -> None:
        """A look sends a bounded number of notices, and all are sent in the end."""
        context = self.writer._ledger.context
        for n in range(MOST_LOOKS + MOST_SENT):
            metadata = self.do(self.driver.ledgers.create(100 + n, self.stored()))
            writer = type(self.writer)(
                type(self.writer._ledger)(
                    context=context, digester=self.digester, ledger_id=100 + n, metadata=metadata
                )
            )
            writer.append(b"x")
        self.settle()
        told = self.bookies["b0"].explicit_lacs
        looks = 0
        while len(told) < MOST_LOOKS + MOST_SENT:
            before = len(told)
            self.clock.advance(1.0)
            self.settle()
            looks += 1
            self.assertLessEqual(len(told) - before, MOST_SENT)
            self.assertLess(looks, 100)
        self.assertEqual(looks, 1 + (MOST_LOOKS + MOST_SENT) // MOST_SENT)


class OffTests(WriterTestCase):
    """An interval of 0."""

    config = ClientConfig(explicit_lac_interval=0)

    def test_off(self) -> None:
        """Nothing is ever written."""
        self.writer.append(b"x")
        self.settle()
        self.clock.advance(1e6)
        self.assertEqual({operation for operation, *_ in self.bookies["b0"].requests}, {"add"})
