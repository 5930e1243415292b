"""The order in which bookies are asked."""

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.read_order import ReadOrder
from bookkeeper_twisted.errors import BookieIOError, NoSuchEntryError
from bookkeeper_twisted.ledger.bookie_health import BookieHealth
from bookkeeper_twisted.ledger.schedule import Schedule

from .reading_case import Known

ENSEMBLE = ("b0", "b1", "b2", "b3", "b4")


class ReadOrderTests(SynchronousTestCase):
    """Five bookies with everything."""

    def setUp(self) -> None:
        """All are there and well."""
        self.clock = Clock()
        self.health = BookieHealth(self.clock.seconds, 60.0)
        self.known: Any = Known(frozenset(ENSEMBLE))

    def order(
        self, quorums: tuple[int, int, int] = (5, 5, 2), reorder: bool = True, sticky: int | None = None
    ) -> ReadOrder:
        """Of a new reader."""
        return ReadOrder(Schedule(*quorums), self.known, self.health, reorder, sticky)

    def test_write_set(self) -> None:
        """Without news it is the order of the write set."""
        self.assertEqual(self.order().of(ENSEMBLE, 7), ["b2", "b3", "b4", "b0", "b1"])
        self.assertEqual(self.order((5, 3, 2)).of(ENSEMBLE, 3), ["b3", "b4", "b0"])

    def test_everybody(self) -> None:
        """The whole ensemble is asked from the same start, striped or not."""
        self.assertEqual(self.order((5, 3, 2)).everybody(ENSEMBLE, 8), ["b3", "b4", "b0", "b1", "b2"])

    def test_ranks(self) -> None:
        """Healthy ones, those that failed (the longest ago first), read-only ones, slow ones, strangers."""
        self.known.writable = frozenset(("b0", "b1", "b3"))
        self.known.read_only = frozenset(("b4",))
        self.health.failed("b3", BookieIOError())
        self.clock.advance(1)
        self.health.failed("b0", BookieIOError())
        order = self.order()
        self.assertEqual(order.of(ENSEMBLE, 0), ["b1", "b3", "b0", "b4", "b2"])
        order.overtaken("b1")
        self.assertEqual(order.of(ENSEMBLE, 0), ["b3", "b0", "b4", "b1", "b2"])
        order.succeeded("b0")
        self.assertEqual(order.of(ENSEMBLE, 0), ["b0", "b3", "b4", "b1", "b2"])

    def test_forgotten(self) -> None:
        """After a while all are equal again."""
        order = self.order()
        order.failed("b0", ENSEMBLE, BookieIOError())
        order.overtaken("b1")
        self.assertEqual(order.of(ENSEMBLE, 0), ["b2", "b3", "b4", "b0", "b1"])
        self.clock.advance(60)
        self.assertEqual(order.of(ENSEMBLE, 0), list(ENSEMBLE))

    def test_not_reordered(self) -> None:
        """The configuration can turn it off."""
        order = self.order(reorder=False)
        order.failed("b0", ENSEMBLE, BookieIOError())
        self.assertEqual(order.of(ENSEMBLE, 0), list(ENSEMBLE))

    def test_sticky(self) -> None:
        """A sticky reader begins with one bookie for all entries, until that fails."""
        order = self.order(sticky=1, reorder=False)
        for entry_id in range(5):
            self.assertEqual(order.of(ENSEMBLE, entry_id), ["b1", "b2", "b3", "b4", "b0"])
        order.failed("b3", ENSEMBLE, BookieIOError())
        order.failed("b1", ENSEMBLE, NoSuchEntryError())
        self.assertEqual(order.of(ENSEMBLE, 0)[0], "b1")
        order.failed("b1", ENSEMBLE, BookieIOError())
        self.assertEqual(order.of(ENSEMBLE, 0)[0], "b2")

    def test_sticky_and_striped(self) -> None:
        """Where bookies lack entries no reader is sticky."""
        self.assertEqual(self.order((5, 3, 2), sticky=1).of(ENSEMBLE, 3), ["b3", "b4", "b0"])
