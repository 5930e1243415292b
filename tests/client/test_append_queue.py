"""Payloads leave the queue in order, in runs of bounded size."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.append_queue import MAX_RUN_ENTRIES, AppendQueue


class AppendQueueTests(SynchronousTestCase):
    """The queue of a writer."""

    def test_all_at_once(self) -> None:
        """What fits is taken together."""
        queue = AppendQueue(0)
        queue.push([b"a", b"bb"], 3)
        queue.push([b"ccc"], 3)
        self.assertEqual((len(queue), queue.size), (3, 6))
        self.assertEqual(queue.take(100), [b"a", b"bb", b"ccc"])
        self.assertEqual((len(queue), queue.size), (0, 0))

    def test_by_size(self) -> None:
        """A run holds no more bytes than there is room for, but one entry at least."""
        queue = AppendQueue(0)
        queue.push([b"x" * 10] * 5, 50)
        self.assertEqual(len(queue.take(29)), 2)
        self.assertEqual(len(queue.take(1)), 1)
        self.assertEqual(len(queue.take(20)), 2)

    def test_by_count(self) -> None:
        """A run has a greatest number of entries."""
        queue = AppendQueue(0)
        queue.push([b"x"] * (MAX_RUN_ENTRIES + 3), MAX_RUN_ENTRIES + 3)
        self.assertEqual(len(queue.take(1 << 30)), MAX_RUN_ENTRIES)
        self.assertEqual(len(queue.take(1 << 30)), 3)

    def test_empty_payloads(self) -> None:
        """Empty entries are entries, and cost what a record costs."""
        queue = AppendQueue(40)
        queue.push([b"", b"", b"x"], 1)
        self.assertEqual(queue.size, 121)
        self.assertEqual(queue.take(80), [b"", b""])
        self.assertEqual(queue.take(40), [b"x"])
        self.assertEqual(queue.size, 0)

    def test_clear(self) -> None:
        """A cleared queue is empty."""
        queue = AppendQueue(0)
        queue.push([b"a"] * 9, 9)
        queue.take(3)
        queue.clear()
        self.assertEqual((len(queue), queue.size), (0, 0))

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(st.lists(st.one_of(st.lists(st.binary(max_size=9), min_size=1, max_size=9), st.integers(0, 30))))
    def test_order(self, steps: list[list[bytes] | int]) -> None:
        """Whatever is pushed and taken when: nothing is lost, doubled or overtaken."""
        queue, pushed, taken = AppendQueue(0), [], []
        for step in steps:
            if isinstance(step, list):
                queue.push(step, sum(map(len, step)))
                pushed += step
            elif queue:
                run = queue.take(step)
                self.assertTrue(len(run) == 1 or sum(map(len, run)) <= step)
                taken += run
            self.assertEqual(len(queue), len(pushed) - len(taken))
            self.assertEqual(queue.size, sum(map(len, pushed)) - sum(map(len, taken)))
        self.assertEqual(taken, pushed[: len(taken)])
