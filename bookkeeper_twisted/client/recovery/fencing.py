"""The first step of a recovery: fence the last ensemble and read the highest LAC its bookies have (S17)."""

from ...codec.digest import Digester
from ...errors import DigestMatchError
from ...ledger.recovery_rules import RecoveryRules
from ...model import INVALID_ENTRY_ID
from ..interfaces import IBookieClient
from ..reading.lac_coverage import KnownLac, LacCoverage


class FencingCoverage(LacCoverage):
    """Reads the last entry of every bookie with a fence, until the bookies without an answer cannot acknowledge.

    An answer that does not verify does not count, though its bookie is fenced: the LAC that it has is lost,
    and another bookie of its write set has to give it.

    :ivar lengths: length of the ledger by entry, as far as bookies reported it.
    """

    def __init__(self, bookies: IBookieClient, digester: Digester, ledger_id: int, rules: RecoveryRules) -> None:
        super().__init__(bookies, digester, ledger_id, rules.metadata, rules.is_covered)
        self.lengths: dict[int, int] = {}
        self._flags = rules.fence_flags()

    async def _answer_of(self, bookie_id: str) -> KnownLac:
        reply = await self._bookies.read(
            bookie_id, self._ledger_id, INVALID_ENTRY_ID, self._flags, self._digester.master_key
        )  # fmt: skip
        if reply.entry is None:
            raise DigestMatchError(self._ledger_id, INVALID_ENTRY_ID, "nothing came with the reply")
        known = self._told_by(reply.entry)
        self.lengths[known.entry_id] = known.length
        return known
