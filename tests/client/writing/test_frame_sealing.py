"""The next frames are found, cut at frame boundaries, sealed, and give the same bytes ever after."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from .log_case import DIGESTER, LEDGER, OVERHEAD, Sender, exclusive_log, payloads, shape


class FrameTests(SynchronousTestCase):
    """Frames of one log."""

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.sampled_from([0, 1, 1, 1, 9, 200]), min_size=1, max_size=60), st.integers(1, 2000))
    def test_any_sizes(self, sizes: list[int], limit: int) -> None:
        """Whatever the sizes and the limit, what is sent are the payloads in order."""
        expected = [bytes([i]) * n for i, n in enumerate(sizes)]
        log = exclusive_log(1 << 16)
        for payload in expected:
            log.offer(payload)
        sender = Sender(log)
        sender.send(limit)
        self.assertEqual(sender.payloads(), expected)

    def test_limit(self) -> None:
        """A limit is kept, but one frame is always given, and never a part of one."""
        for sizes in ([36] * 5, [36, 35, 36, 37, 36]):
            log = exclusive_log()
            for size in sizes:
                log.offer(bytes(size))
            counts = [frames.count for limit in (250, 1, 99) if (frames := log.take(limit))]
            self.assertEqual(counts, [2, 1, 1])

    def test_count(self) -> None:
        """Frames are counted whatever their sizes, also where those of the first alone would fill the same bytes."""
        for sizes in ([7] * 50, [0, 36, 136, 36], [36, 36, 136], [3]):
            log = exclusive_log(1 << 16)
            for size in sizes:
                log.offer(bytes(size))
            frames = log.take(1 << 20)
            assert frames is not None
            self.assertEqual((frames.count, frames.end), (len(sizes), log.tail))
            self.assertEqual(frames.stride, 7 + OVERHEAD if len(sizes) == 50 else 3 + OVERHEAD if sizes == [3] else 0)

    def test_part(self) -> None:
        """Frames of some of the entries, as a new bookie needs them."""
        for sizes in ([5] * 8, [5, 6, 7, 8, 9, 10]):
            log = exclusive_log()
            for i, size in enumerate(sizes):
                log.offer(bytes([i]) * size)
            frames = log.take(1 << 20)
            assert frames is not None
            length = frames.seal(shape(), DIGESTER, LEDGER, 10, 9, 0)
            self.assertEqual(length, sum(sizes))
            part = frames.data(12, 3)
            self.assertEqual(payloads(part, 12), [bytes([i]) * sizes[i] for i in (2, 3, 4)])
            self.assertEqual(frames.position(2), sum(sizes[:2]) + 2 * OVERHEAD)

    def test_again(self) -> None:
        """What is sent again are the same bytes."""
        log = exclusive_log()
        log.offer(b"payload")
        sender = Sender(log)
        sender.send()
        self.assertEqual(b"".join(map(bytes, log.slices(0, 100))), sender.sent)
