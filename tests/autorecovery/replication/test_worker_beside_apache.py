"""A replication worker beside Apache's auditor."""

from collections.abc import Collection
from typing import Any

from bookkeeper_twisted.autorecovery.replication.repair import LedgerRepair

from .worker_case import WorkerCase


class AuditorOfApacheTests(WorkerCase):
    """Nobody changes a mark that names what was lost already."""

    def test_lost_again(self) -> None:
        """A bookie that came back, was found whole and is lost before the mark goes, is replaced."""
        ledger_id = self.write(self.payloads(20))
        bookie_id = self.metadata(ledger_id).segments[0].bookies[0]
        self.mark(ledger_id, bookie_id)
        seen, losses = LedgerRepair.attempt, [bookie_id]

        async def attempt(repair: LedgerRepair, number: int, replicas: Collection[str]) -> Any:
            found = await seen(repair, number, replicas)
            while losses:
                self.bookies[losses[0]].up = False
                await self.cluster.registration.unregister_bookie(losses.pop())
            return found

        self.patch(LedgerRepair, "attempt", attempt)
        self.worker()
        self.pass_time(10)
        self.assertEqual((self.marked(), losses), ([], []))
        self.assertNotIn(bookie_id, self.metadata(ledger_id).segments[0].bookies)
        self.assert_complete(ledger_id, self.payloads(20))
