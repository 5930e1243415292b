"""Streams: decided by seed and purpose, and by nothing else."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.streams import stream


class StreamTests(SynchronousTestCase):
    """:func:`stream`."""

    def test_repeatable(self) -> None:
        """The same seed and purpose give the same draws, in every process."""
        self.assertEqual(stream(1, "network").getrandbits(32), 754104702)

    def test_apart(self) -> None:
        """Another seed, and another purpose, give others."""
        draws = {stream(*name).random() for name in ((1, "a"), (2, "a"), (1, "b"), (1, "a", "b"))}
        self.assertEqual(len(draws), 4)
