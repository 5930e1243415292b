"""The recovery of a ledger: closes it after the last entry that its writer may have acknowledged.

Several clients may recover the same ledger concurrently, and each client may repeat each step.  The ledger stays
IN_RECOVERY until a client closes it.  A second client does not drop the entries that the first client has written
back.  So a recovery that fails leaves nothing to clean up.
"""

from collections.abc import Callable

import attrs

from ...codec.digest import Digester
from ...errors import (
    BookKeeperError,
    ClientClosedError,
    LedgerRecoveryError,
    MetadataUnavailableError,
    RequestTimeoutError,
    UnauthorizedAccessError,
    UnexpectedConditionError,
)
from ...ledger.lac_answers import LastConfirmed
from ...ledger.recovery_rules import RecoveryRules
from ...metadata.interfaces import Versioned
from ...metadata.update_loop import update
from ...model import INVALID_ENTRY_ID, LedgerMetadata, LedgerState
from ..context import ClientContext
from ..interfaces import IBookieClient
from ..logger_context import LedgerLogger, LoggerContext
from ..reading.lac_coverage import LacCoverage
from ..reading.replica_reads import ReplicaReader
from ..writing.ensemble_change import RememberedEnsembleChange
from .recovery_reads import RecoveryReads
from .write_back import WriteBack

_KEPT = (UnauthorizedAccessError, RequestTimeoutError, ClientClosedError, MetadataUnavailableError)
"""Errors of a recovery that are raised unchanged; any other error becomes the cause of a LedgerRecoveryError."""


class LedgerRecovery:
    """The recovery of one ledger by this client; :meth:`run` may be called once.

    :param context: the context of the client, with its requests to bookies and its metadata store.
    :param digester: computes and verifies the digests of the ledger's entries; it also has the ledger's master key.
    :param rules: a function that makes the decision rules of the recovery from the ledger's metadata.
    :param logger_context: names and values that the program wants in log lines about this ledger; None for none.
    """

    _log = LedgerLogger()

    def __init__(
        self, context: ClientContext, ledger_id: int, digester: Digester,
        rules: Callable[[LedgerMetadata], RecoveryRules] = RecoveryRules, logger_context: LoggerContext | None = None,
    ) -> None:  # fmt: skip
        self._context = context.with_flow()
        self._ledger_id = ledger_id
        self._digester = digester
        self._rules_for = rules
        self._logger_context = logger_context

    async def run(self, known: Versioned[LedgerMetadata]) -> Versioned[LedgerMetadata]:
        """Recover the ledger: fence it, find its end, write back the entries beyond the LAC, and close it.

        :param known: the newest metadata that the caller knows.
        :returns: the metadata of the closed ledger, as stored.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: a bookie has another password for this ledger.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: too few bookies answered in time.
        :raises bookkeeper_twisted.errors.MetadataUnavailableError: the metadata store did not answer in time.
        :raises bookkeeper_twisted.errors.LedgerRecoveryError: the recovery failed for another reason, which is the
            cause of this error.
        """
        try:
            return await self._recover(known)
        except BookKeeperError as error:
            self._log.debug("ledger {ledger_id} was not recovered: {error}", ledger_id=self._ledger_id, error=error)
            if isinstance(error, _KEPT):
                raise
            raise LedgerRecoveryError(f"ledger {self._ledger_id} was not recovered: {error}") from error
        finally:
            self._context.bookies.retire()

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
        if last == confirmed:  # no entry was written back, so the length of the ledger is not known yet
            length = await self._length_of(stored.value, confirmed, fence.lengths)
        closed = await self._close(stored, last, length, changes)
        self._log.debug("ledger {ledger_id} is recovered, up to entry {last}", ledger_id=self._ledger_id, last=last)
        return closed

    async def _announce(self, known: Versioned[LedgerMetadata]) -> Versioned[LedgerMetadata]:
        """Store the state IN_RECOVERY, so that the ledger's writer cannot change ensembles any more.

        If the ledger is IN_RECOVERY already, this recovery continues nevertheless, because the client that stored this
        state may be dead.
        """

        def is_open(metadata: LedgerMetadata) -> bool:
            return metadata.state is LedgerState.OPEN

        def announced(metadata: LedgerMetadata) -> LedgerMetadata:
            return attrs.evolve(metadata, state=LedgerState.IN_RECOVERY)

        return await update(self._context.ledgers, self._ledger_id, known, is_open, announced)

    async def _rescue(self, rules: RecoveryRules, confirmed: int, changes: RememberedEnsembleChange) -> tuple[int, int]:
        """Read the entries after the LAC, and write back every entry that stays in the ledger.

        :returns: the id of the last entry of the ledger, and the ledger length in bytes.  The length is valid only if
            an entry was written back.
        """
        context, config = self._context, self._context.config
        batch_size = config.netty_max_frame_size_bytes if context.reads_batches(rules.schedule) else 0
        reads = RecoveryReads(
            context.bookies, self._digester, self._ledger_id, rules, context.batch_support, batch_size,
            config.recovery_read_batch_size,
        )  # fmt: skip
        back = WriteBack(
            context.clock, context.bookies, self._digester, self._ledger_id, rules, changes, confirmed,
            context.batchers, config.max_in_flight_bytes, self._logger_context,
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
        """Return the length of the ledger in bytes up to the entry ``last``, from the header of this entry.

        If no fencing read has returned this entry, read it.  The length in a later entry's header cannot be used,
        because it also counts later payloads.
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
        """Store the state CLOSED; if another client has closed the ledger already, return the stored metadata."""

        def is_not_closed(metadata: LedgerMetadata) -> bool:
            if metadata.state is LedgerState.OPEN:
                raise UnexpectedConditionError(f"ledger {self._ledger_id} was reopened while it was recovered")
            return not metadata.closed

        def closed(metadata: LedgerMetadata) -> LedgerMetadata:
            changed = changes.applied_to(metadata)
            return attrs.evolve(changed, state=LedgerState.CLOSED, last_entry_id=last, length=length)

        return await update(self._context.ledgers, self._ledger_id, stored, is_not_closed, closed)


class FencingCoverage(LacCoverage):
    """The fencing reads of a recovery, which go to all bookies of the last ensemble.

    A fenced bookie refuses the adds of the writer.  The reads end when the bookies that have not answered are too few
    for an ack quorum: from then on, no add of the writer can succeed.

    An answer whose entry fails verification does not count, although its bookie has fenced the ledger, because the LAC
    in the entry may be wrong.

    :ivar lengths: for each entry that a bookie reported, the ledger length in bytes up to and including this entry.
    """

    def __init__(self, bookies: IBookieClient, digester: Digester, ledger_id: int, rules: RecoveryRules) -> None:
        super().__init__(bookies.read_lac, digester, ledger_id, rules.metadata, rules.is_covered)
        self._bookies = bookies
        self.lengths: dict[int, int] = {}
        self._flags = rules.fence_flags()

    async def _answer_of(self, bookie_id: str) -> LastConfirmed:
        reply = await self._bookies.read(
            bookie_id, self._ledger_id, INVALID_ENTRY_ID, self._flags, self._digester.master_key
        )  # fmt: skip
        last = self._digester.entry(self._ledger_id, None, reply.entry or b"")
        self.lengths[last.entry_id] = last.length
        return LastConfirmed(last.last_add_confirmed, last.entry_id, last.length)
