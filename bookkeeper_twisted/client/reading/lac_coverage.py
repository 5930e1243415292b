"""Reading the last add confirmed (LAC) of an unclosed ledger from its bookies."""

from collections.abc import Awaitable, Callable, Collection

from twisted.internet.defer import Deferred, DeferredList

from ...codec.digest import Digester
from ...errors import BookKeeperError, UnauthorizedAccessError
from ...ledger.lac_answers import LacAnswers, LastConfirmed, lac_failure, verified_lac
from ...ledger.schedule import schedule_of
from ...model import LedgerMetadata

ReadLac = Callable[[str, int], Awaitable[tuple[bytes | None, bytes | None]]]
"""A function that reads the explicit LAC and the last entry of a ledger from one bookie (IBookieClient.read_lac)."""


class LacCoverage:
    """Asks all bookies of the last ensemble for the LAC, until enough have answered.

    Enough means: the bookies that have not answered are too few for an ack quorum (:class:`.LacAnswers`).

    :param read_lac: a function that sends the requests.
    :param is_covered: a function that tests whether the bookies at given positions of the ensemble are enough; None for
        the rule above.
    """

    def __init__(
        self, read_lac: ReadLac, digester: Digester, ledger_id: int, metadata: LedgerMetadata,
        is_covered: Callable[[Collection[int]], bool] | None = None,
    ) -> None:  # fmt: skip
        self._read_lac = read_lac
        self._digester = digester
        self._ledger_id = ledger_id
        self._ensemble = metadata.segments[-1].bookies
        self._answers = LacAnswers(ledger_id, self._ensemble, is_covered or schedule_of(metadata).is_covered)
        self._covered: Deferred[None] = Deferred()

    async def read(self) -> LastConfirmed:
        """Ask the bookies of the last ensemble until enough have answered, then cancel the other requests.

        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: a bookie refused the password.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: too few bookies answered; the last failure was a
            time-out.
        :raises bookkeeper_twisted.errors.ReadError: too few bookies answered; the last failure was another error.
        """
        asked = [Deferred.fromCoroutine(self._ask(bookie_id)) for bookie_id in self._ensemble]
        everybody = DeferredList(asked, fireOnOneErrback=True, consumeErrors=True)
        everybody.addCallbacks(lambda _: self._finish(), lambda failure: self._finish(failure.value.subFailure.value))
        try:
            await self._covered
        finally:
            for answer in asked:
                answer.cancel()  # the other answers are not needed any more
        return self._answers.known

    async def _ask(self, bookie_id: str) -> None:
        try:
            known = await self._answer_of(bookie_id)
        except UnauthorizedAccessError:
            raise
        except BookKeeperError as error:
            self._answers.failed(bookie_id, error)
        else:
            self._answers.heard(bookie_id, known)
        if self._answers.suffice:
            self._finish()

    async def _answer_of(self, bookie_id: str) -> LastConfirmed:
        """Ask one bookie for its explicit LAC and its last entry, and verify both."""
        packet, last_entry = await self._read_lac(bookie_id, self._ledger_id)
        return verified_lac(self._digester, self._ledger_id, packet, last_entry)

    def _finish(self, error: Exception | None = None) -> None:
        if self._covered.called:
            return
        if error is None and not self._answers.suffice:
            error = lac_failure(self._answers.errors, self._ledger_id)
        if error is None:
            self._covered.callback(None)
        else:
            self._covered.errback(error)
