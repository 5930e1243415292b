"""Memory comes back to the pool unless it might still be used."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.terms import TermPool


class TermPoolTests(SynchronousTestCase):
    """The pool of a client."""

    def test_reuse(self) -> None:
        """Memory that was given back serves again, at other positions."""
        pool = TermPool(100)
        term = pool.take(0, 10)
        pool.give(term)
        again = pool.take(500, 100)
        self.assertIs(again.buffer, term.buffer)
        self.assertEqual((again.base, again.end, len(again.buffer), pool.made), (500, 600, 100, 1))

    def test_prepared(self) -> None:
        """Memory can be made beforehand."""
        pool = TermPool(100, prepared=3)
        for base in (0, 100, 200):
            pool.take(base, 1)
        self.assertEqual(pool.made, 3)

    def test_small(self) -> None:
        """Who needs little gets little, and both sizes serve again."""
        pool = TermPool()
        for _ in range(3):
            terms = [pool.take(0, room) for room in (1, pool.small, pool.small + 1)]
            self.assertEqual([len(term.buffer) for term in terms], [pool.small, pool.small, pool.size])
            for term in terms:
                pool.give(term)
        self.assertEqual(pool.made, 3)

    def test_odd_size(self) -> None:
        """A frame larger than a term gets memory of its own size, which is not kept."""
        pool = TermPool(100)
        large = pool.take(0, 101)
        self.assertEqual(len(large.buffer), 101)
        pool.give(large)
        self.assertEqual(len(pool.take(0, 1).buffer), 100)

    def test_bound(self) -> None:
        """No more memory than was asked for lies unused."""
        pool = TermPool(100, kept=1)
        terms = [pool.take(0, 1), pool.take(100, 1)]
        for term in terms:
            pool.give(term)
        pool.take(0, 1)
        pool.take(0, 1)
        self.assertEqual(pool.made, 3)

    def test_live_slice(self) -> None:
        """Memory with a slice still held never serves again, and the term cannot be sliced any more."""
        pool = TermPool(100)
        term = pool.take(0, 1)
        piece = term.view[:10]
        pool.give(term)
        self.assertIsNot(pool.take(0, 1).buffer, term.buffer)
        self.assertEqual(bytes(piece), bytes(10))
        with self.assertRaises(ValueError):
            term.view[:10]

    def test_tainted(self) -> None:
        """Memory some thread may still write to never serves again."""
        pool = TermPool(100)
        term = pool.take(0, 1)
        term.tainted = True
        pool.give(term)
        self.assertIsNot(pool.take(0, 1).buffer, term.buffer)

    def test_holes(self) -> None:
        """Holes are reported in any order and read in order."""
        term = TermPool(100).take(0, 1)
        term.aborted.extend([(40, 50), (10, 20)])
        term.sort_holes()
        term.aborted.append((30, 35))
        term.sort_holes()
        self.assertEqual(term.holes, [(10, 20), (30, 35), (40, 50)])
