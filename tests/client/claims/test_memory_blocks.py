"""Memory comes back to the pool unless it might still be used."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.memory_blocks import MemoryPool


class MemoryPoolTests(SynchronousTestCase):
    """The pool of a client."""

    def test_reuse(self) -> None:
        """Released memory is reused, at other positions."""
        pool = MemoryPool(100)
        block = pool.acquire(0, 10)
        pool.release(block)
        again = pool.acquire(500, 100)
        self.assertIs(again.buffer, block.buffer)
        self.assertEqual((again.base, again.end, len(again.buffer), pool.made), (500, 600, 100, 1))

    def test_prepared(self) -> None:
        """Memory can be made beforehand."""
        pool = MemoryPool(100, prepared=3)
        for base in (0, 100, 200):
            pool.acquire(base, 1)
        self.assertEqual(pool.made, 3)

    def test_small(self) -> None:
        """Who needs little gets little, and both sizes serve again."""
        pool = MemoryPool()
        for _ in range(3):
            blocks = [pool.acquire(0, room) for room in (1, pool.small, pool.small + 1)]
            self.assertEqual([len(block.buffer) for block in blocks], [pool.small, pool.small, pool.size])
            for block in blocks:
                pool.release(block)
        self.assertEqual(pool.made, 3)

    def test_odd_size(self) -> None:
        """A frame larger than a block gets memory of its own size, which is not kept."""
        pool = MemoryPool(100)
        large = pool.acquire(0, 101)
        self.assertEqual(len(large.buffer), 101)
        pool.release(large)
        self.assertEqual(len(pool.acquire(0, 1).buffer), 100)

    def test_bound(self) -> None:
        """No more memory than was asked for lies unused."""
        pool = MemoryPool(100, kept=1)
        blocks = [pool.acquire(0, 1), pool.acquire(100, 1)]
        for block in blocks:
            pool.release(block)
        pool.acquire(0, 1)
        pool.acquire(0, 1)
        self.assertEqual(pool.made, 3)

    def test_live_slice(self) -> None:
        """Memory with a slice still held never serves again, and the block cannot be sliced any more."""
        pool = MemoryPool(100)
        block = pool.acquire(0, 1)
        piece = block.view[:10]
        pool.release(block)
        self.assertIsNot(pool.acquire(0, 1).buffer, block.buffer)
        self.assertEqual(bytes(piece), bytes(10))
        with self.assertRaises(ValueError):
            block.view[:10]

    def test_tainted(self) -> None:
        """Memory some thread may still write to never serves again."""
        pool = MemoryPool(100)
        block = pool.acquire(0, 1)
        block.tainted = True
        pool.release(block)
        self.assertIsNot(pool.acquire(0, 1).buffer, block.buffer)

    def test_holes(self) -> None:
        """Holes are reported in any order and read in order."""
        block = MemoryPool(100).acquire(0, 1)
        block.aborted.extend([(40, 50), (10, 20)])
        block.sort_holes()
        block.aborted.append((30, 35))
        block.sort_holes()
        self.assertEqual(block.holes, [(10, 20), (30, 35), (40, 50)])
