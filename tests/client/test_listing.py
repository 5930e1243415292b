"""The list of all ledgers."""

from collections.abc import AsyncIterator
from typing import Any

from twisted.internet.defer import Deferred

from .cluster_case import ClusterCase


class _ManyLedgers:
    """A manager of ledgers that answers at once."""

    async def ledger_ids(self) -> AsyncIterator[int]:
        """Give a few thousand ids."""
        for ledger_id in range(3000):
            yield ledger_id


class ListingTests(ClusterCase):
    """A client asks for every id."""

    def test_turns(self) -> None:
        """A long list takes many turns of the reactor, and is complete."""
        self.bk._ledgers = _ManyLedgers()  # type: ignore[assignment]
        later, turns = self.clock.callLater, list[float]()

        def counted(delay: float, *args: Any) -> Any:
            turns.append(delay)
            return later(delay, *args)

        self.patch(self.clock, "callLater", counted)
        listing = Deferred.fromCoroutine(self.listed())
        self.assertNoResult(listing)
        self.settle()
        self.assertEqual(self.successResultOf(listing), list(range(3000)))
        self.assertGreater(len(turns), 4)
        self.assertEqual(set(turns), {0})
