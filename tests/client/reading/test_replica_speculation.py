"""Reading from replicas that take long, that are preferred, that tell of the LAC."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.errors import NoSuchEntryError

from .replica_case import ReplicaCase


class SlowTests(ReplicaCase):
    """Bookies that take long."""

    def setUp(self) -> None:
        """The first bookie of entry 0 hangs."""
        super().setUp()
        self.bookies["b0"].silent = True

    def test_next_is_asked(self) -> None:
        """After a while the next bookie is asked as well; the slow one is asked last from then on."""
        self.known.writable = frozenset(("b0", "b1", "b2"))
        fetched = self.fetch(0)
        self.clock.advance(1.9)
        self.assertEqual(self.asked(), ["b0"])
        self.clock.advance(0.1)
        self.settle()
        self.assertEqual(self.successResultOf(fetched).count, 20)
        self.assertEqual((self.asked(), self.clock.getDelayedCalls()), (["b0", "b1"], []))
        self.assertEqual(self.good(0), range(20))
        self.assertEqual(self.asked(), ["b0", "b1", "b1"])

    def test_slow_success(self) -> None:
        """A bookie that was overtaken may still be the one that answers."""
        self.bookies["b0"].silent, self.bookies["b0"].delay = False, 3.0
        self.bookies["b1"].silent = self.bookies["b2"].silent = True
        fetched = self.fetch(0)
        self.clock.pump([0.1] * 31)
        self.assertEqual(self.successResultOf(fetched).count, 20)


class SlowOneByOneTests(SlowTests):
    """The same entry by entry."""

    batch_enabled = False

    def test_next_is_asked(self) -> None:
        """Entries that are missing after a while are asked of their next replica."""
        fetched = self.fetch(0, 20)
        self.assertNoResult(fetched)
        self.clock.advance(2.0)
        self.settle()
        self.assertEqual(self.successResultOf(fetched).count, 20)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_slow_success(self) -> None:
        """A round that was overtaken may still bring what is missing."""
        self.bookies["b0"].silent, self.bookies["b0"].delay = False, 3.0
        for name in ("b1", "b2"):
            self.bookies[name].fail("read_many", NoSuchEntryError, first=0, last=0)
        fetched = self.fetch(0, 1)
        self.clock.pump([0.1] * 31)
        self.assertEqual(self.successResultOf(fetched).count, 1)


class StickyTests(ReplicaCase):
    """A reader that stays with one bookie."""

    sticky = True

    def test_stays(self) -> None:
        """All reads go to one bookie, until it fails."""
        for first in range(6):
            self.good(first, 1)
        (name,) = set(self.asked())
        self.bookies[name].up = False
        for first in range(6):
            self.good(first, 1)
        self.assertEqual(len(self.asked()), 6 + 1 + 6)
        self.assertEqual(len(set(self.asked())), 2)


class LacTests(ReplicaCase):
    """What replies tell of the LAC."""

    def test_heard(self) -> None:
        """A LAC that comes with a reply is passed on."""
        plain = self.bookies.read_batch

        def told(*args: Any) -> "Deferred[Any]":
            def tell(reply: Any) -> Any:
                reply.max_lac = 17
                return reply

            return plain(*args).addCallback(tell)

        self.patch(self.bookies, "read_batch", told)
        self.good(0)
        self.assertEqual(self.heard, [17])
