"""Reading the last add confirmed (LAC) of an unclosed ledger from its bookies."""

from collections.abc import Callable, Collection

import attrs
from twisted.internet.defer import Deferred, DeferredList

from ...codec.digest import Digester
from ...errors import (
    BookKeeperError,
    ClientClosedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    ReadError,
    RequestTimeoutError,
    UnauthorizedAccessError,
)
from ...ledger.schedule import Schedule
from ...model import INVALID_ENTRY_ID, LedgerMetadata
from ..interfaces import IBookieClient


@attrs.frozen
class KnownLac:
    """The last add confirmed (LAC) that bookies reported, and the entry that contained it.

    :ivar last_add_confirmed: the highest LAC reported, -1 if none.
    :ivar length: bytes of the ledger up to and including the entry that contained the LAC, 0 if none did.
    :ivar entry_id: the id of that entry, -1 if none.
    """

    last_add_confirmed: int = INVALID_ENTRY_ID
    length: int = 0
    entry_id: int = INVALID_ENTRY_ID


class LacCoverage:
    """Requests for the LAC to all bookies of the last ensemble, until enough have answered.

    An answer counts once it is verified; "no such entry" and "no such ledger" are answers, too.

    :param is_covered: a function that tests whether the bookies at given positions of the ensemble are enough; None for
        the rule of the ledger's schedule.
    """

    def __init__(
        self, bookies: IBookieClient, digester: Digester, ledger_id: int, metadata: LedgerMetadata,
        is_covered: Callable[[Collection[int]], bool] | None = None,
    ) -> None:  # fmt: skip
        self._bookies = bookies
        self._digester = digester
        self._ledger_id = ledger_id
        self._ensemble = metadata.segments[-1].bookies
        schedule = Schedule(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
        self._is_covered = is_covered or schedule.is_covered
        self._heard: set[int] = set()
        self._best = KnownLac()
        self._last_error: Exception | None = None
        self._covered: Deferred[None] = Deferred()

    async def read(self) -> KnownLac:
        """Ask the bookies of the last ensemble until enough have answered, then cancel the other requests.

        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: a bookie refused the password.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: too few bookies answered, because one did not answer in
            time.
        :raises bookkeeper_twisted.errors.ReadError: too few bookies answered, for another reason.
        """
        asked = [Deferred.fromCoroutine(self._ask(p, bookie_id)) for p, bookie_id in enumerate(self._ensemble)]
        everybody = DeferredList(asked, fireOnOneErrback=True, consumeErrors=True)
        everybody.addCallbacks(lambda _: self._finish(), lambda failure: self._finish(failure.value.subFailure.value))
        try:
            await self._covered
        finally:
            for answer in asked:
                answer.cancel()  # enough bookies have answered, so the missing answers are not needed
        return self._best

    async def _ask(self, position: int, bookie_id: str) -> None:
        try:
            known = await self._answer_of(bookie_id)
        except UnauthorizedAccessError:
            raise
        except (NoSuchEntryError, NoSuchLedgerError):
            known = KnownLac()
        except BookKeeperError as error:
            self._last_error = error
            return
        if known.last_add_confirmed > self._best.last_add_confirmed:
            self._best = known
        self._heard.add(position)
        if self._is_covered(self._heard):
            self._finish()

    async def _answer_of(self, bookie_id: str) -> KnownLac:
        """Ask one bookie for its explicit LAC and its last entry, and verify both."""
        lac_packet, last_entry = await self._bookies.read_lac(bookie_id, self._ledger_id)
        known = self._told_by(last_entry) if last_entry else KnownLac()
        if lac_packet:
            explicit = self._digester.verify_lac(self._ledger_id, lac_packet)
            if explicit > known.last_add_confirmed:
                known = KnownLac(explicit, known.length, known.entry_id)
        return known

    def _told_by(self, last_entry: bytes) -> KnownLac:
        entry = self._digester.entry(self._ledger_id, None, last_entry)
        return KnownLac(entry.last_add_confirmed, entry.length, entry.entry_id)

    def _finish(self, error: Exception | None = None) -> None:
        if self._covered.called:
            return
        if error is not None:
            self._covered.errback(error)
        elif self._is_covered(self._heard):
            self._covered.callback(None)
        elif isinstance(self._last_error, RequestTimeoutError | ClientClosedError):
            self._covered.errback(self._last_error)
        else:
            self._covered.errback(
                ReadError(f"too few bookies know the last add of ledger {self._ledger_id}: {self._last_error}")
            )
