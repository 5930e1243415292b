"""The recovery of a ledger, which closes the ledger at the last entry that its writer may have acknowledged (S17).

The steps are those of the class below, in this order.  Any client may repeat each step at any time,
and several clients may work concurrently: the ledger stays IN_RECOVERY until a client closes it, and the
second client adopts the entries that the first client stored (S14).  So a recovery that dies, or fails, leaves
nothing to clean up.
"""

from collections.abc import Callable
from typing import TypeVar

import attrs
from twisted.internet.defer import Deferred

from ...codec.digest import Digester
from ...errors import (
    BookKeeperError,
    ClientClosedError,
    DigestMatchError,
    LedgerRecoveryError,
    MetadataUnavailableError,
    RequestTimeoutError,
    UnauthorizedAccessError,
    UnexpectedConditionError,
)
from ...ledger.recovery_rules import RecoveryRules
from ...metadata.interfaces import Versioned
from ...metadata.update_loop import update
from ...model import INVALID_ENTRY_ID, LedgerMetadata, LedgerState
from ..context import ClientContext
from ..interfaces import IBookieClient
from ..reading.lac_coverage import KnownLac, LacCoverage
from ..reading.replica_reads import ReplicaReader
from ..writing.ensemble_change import RememberedEnsembleChange
from .recovery_reads import RecoveryReads
from .write_back import WriteBack

T = TypeVar("T")

_KEPT = (UnauthorizedAccessError, RequestTimeoutError, ClientClosedError, MetadataUnavailableError)
"""Errors that are raised to the caller unchanged."""


class LedgerRecovery:
    """A single recovery of one ledger.

    :param rules: makes the rules of the recovery from the metadata.
    """

    def __init__(
        self, context: ClientContext, ledger_id: int, digester: Digester,
        rules: Callable[[LedgerMetadata], RecoveryRules] = RecoveryRules,
    ) -> None:  # fmt: skip
        self._context = context.with_flow()
        self._ledger_id = ledger_id
        self._digester = digester
        self._rules_for = rules

    async def run(self, known: Versioned[LedgerMetadata]) -> Versioned[LedgerMetadata]:
        """Recover the ledger, once: fence it, find its end, write back entries that only some bookies have, close it.

        :param known: the metadata as last seen.
        :returns: the metadata of the closed ledger, as stored.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: a bookie knows another password.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: too few bookies answered, for lack of time.
        :raises bookkeeper_twisted.errors.MetadataUnavailableError: the metadata store did not answer in time.
        :raises bookkeeper_twisted.errors.LedgerRecoveryError: the recovery failed for another reason, its cause.
        """
        try:
            return await Deferred.fromCoroutine(self._recover(known)).addBoth(self._leave)
        except _KEPT:
            raise
        except BookKeeperError as error:
            raise LedgerRecoveryError(f"ledger {self._ledger_id} was not recovered: {error}") from error

    def _leave(self, outcome: T) -> T:
        self._context.bookies.retire()
        return outcome

    async def _recover(self, known: Versioned[LedgerMetadata]) -> Versioned[LedgerMetadata]:
        stored = await self._announce(known)
        if stored.value.closed:
            return stored
        rules = self._rules_for(stored.value)
        fence = FencingCoverage(self._context.bookies, self._digester, self._ledger_id, rules)
        heard = await fence.read()
        confirmed = rules.confirmed(heard.last_add_confirmed)
        changes = RememberedEnsembleChange(stored.value, self._context.watcher)
        last, length = await self._rescue(rules, confirmed, changes)
        if last == confirmed:  # no entry was written back, so no entry has shown the length of the ledger
            length = await self._length_of(stored.value, confirmed, fence.lengths)
        return await self._close(stored, last, length, changes)

    async def _announce(self, known: Versioned[LedgerMetadata]) -> Versioned[LedgerMetadata]:
        """Store the state IN_RECOVERY, after which the ledger's writer cannot change the ensembles (S15).

        A ledger that is IN_RECOVERY already is recovered as well: the client that began may be dead.
        """

        def is_open(metadata: LedgerMetadata) -> bool:
            return metadata.state is LedgerState.OPEN

        def announced(metadata: LedgerMetadata) -> LedgerMetadata:
            return attrs.evolve(metadata, state=LedgerState.IN_RECOVERY)

        return await update(self._context.ledgers, self._ledger_id, known, is_open, announced)

    async def _rescue(self, rules: RecoveryRules, confirmed: int, changes: RememberedEnsembleChange) -> tuple[int, int]:
        """Read the entries beyond the LAC, and write back every entry that is found.

        :returns: the id of the last entry, and the length in bytes up to it, which is valid if it was written back.
        """
        context, config = self._context, self._context.config
        batch_size = config.netty_max_frame_size_bytes if config.batch_read_enabled else 0
        reads = RecoveryReads(
            context.bookies, self._digester, self._ledger_id, rules, context.batch_support, batch_size,
            config.recovery_read_batch_size,
        )  # fmt: skip
        back = WriteBack(
            context.clock, context.bookies, self._digester, self._ledger_id, rules, changes, confirmed,
            context.batchers, config.max_in_flight_bytes,
        )  # fmt: skip
        try:
            following = confirmed + 1
            while (run := await reads.entries_from(following)) is not None:
                await back.add(run)
                following = run.last + 1
            await back.finish()
        finally:
            back.abandon()
        return back.last_add_confirmed, back.length

    async def _length_of(self, metadata: LedgerMetadata, last: int, lengths: dict[int, int]) -> int:
        """Return the length of the ledger up to an entry, from that entry.

        The length that came with a LAC would be wrong if it includes entries that were never acknowledged.
        """
        if last == INVALID_ENTRY_ID:
            return 0
        if last in lengths:
            return lengths[last]
        run = await ReplicaReader(self._context, self._digester, self._ledger_id, metadata).fetch(last, 1, 0)
        return self._digester.entry(self._ledger_id, last, run.entry(last)).length

    async def _close(
        self, stored: Versioned[LedgerMetadata], last: int, length: int, changes: RememberedEnsembleChange
    ) -> Versioned[LedgerMetadata]:
        """Set the state CLOSED; if another client has closed the ledger before, return the metadata it stored."""

        def is_not_closed(metadata: LedgerMetadata) -> bool:
            if metadata.state is LedgerState.OPEN:
                raise UnexpectedConditionError(f"ledger {self._ledger_id} was reopened while it was recovered")
            return not metadata.closed

        def closed(metadata: LedgerMetadata) -> LedgerMetadata:
            changed = changes.applied_to(metadata)
            return attrs.evolve(changed, state=LedgerState.CLOSED, last_entry_id=last, length=length)

        return await update(self._context.ledgers, self._ledger_id, stored, is_not_closed, closed)


class FencingCoverage(LacCoverage):
    """Fencing reads of the last entry of every bookie, until the bookies without an answer cannot acknowledge adds.

    An answer that does not verify does not count, though its bookie is fenced: its LAC is lost, and another bookie
    of the write set has to report it.

    :ivar lengths: bytes of the ledger up to an entry, by entry id, as bookies reported them.
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
