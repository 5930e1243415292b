"""Iterations taken in steps."""

from collections.abc import AsyncIterator

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.steps import take


class TakeTests(SynchronousTestCase):
    """An iteration over five numbers."""

    def test_parts(self) -> None:
        """Each step takes up to as many as wanted, the last one what is left, and then there is nothing."""

        async def numbers() -> AsyncIterator[int]:
            for n in range(5):
                yield n

        items = numbers()
        parts = [self.successResultOf(Deferred.fromCoroutine(take(items, 2))) for _ in range(4)]
        self.assertEqual(parts, [[0, 1], [2, 3], [4], []])
