"""Asking bookies how far a ledger came: by coverage, by the first that knows more, by waiting for news."""

from collections.abc import Sequence
from functools import partial

import attrs
from twisted.internet.defer import CancelledError, Deferred

from ..codec.digest import Digester
from ..errors import BookKeeperError, DigestMatchError, LedgerRecoveryError, NoSuchEntryError, NoSuchLedgerError
from ..model import INVALID_ENTRY_ID, Entry
from .context import ClientContext
from .lac_coverage import LacCoverage
from .ledger_view import LedgerView
from .read_order import ReadOrder
from .replica_reads import most_telling
from .speculation import Speculation


@attrs.frozen
class Confirmed:
    """:ivar last_add_confirmed: as known now.
    :ivar entry: the one that was waited for, if it came.
    """

    last_add_confirmed: int
    entry: Entry | None = None


@attrs.define
class _Poll:
    """What bookies answered to one long poll.

    :ivar empty: how many had no news.
    """

    deadline: float
    empty: int = 0
    errors: list[Exception] = attrs.field(factory=list)


class LacReads:
    """Questions about one ledger; every answer is told to the view, which keeps the highest (S13)."""

    def __init__(self, context: ClientContext, digester: Digester, view: LedgerView, order: ReadOrder) -> None:
        self._clock = context.clock
        self._bookies = context.bookies
        self._patience = context.poll_patience
        self._digester = digester
        self._view = view
        self._order = order

    @property
    def _ensemble(self) -> Sequence[str]:
        return self._view.metadata.segments[-1].bookies

    async def read(self) -> int:
        """The LAC, of answers that cover every write set: all that was acknowledged and told of before.

        :raises BookKeeperError: as :meth:`~.lac_coverage.LacCoverage.read`.
        """
        view = self._view
        if not view.closed:
            known = await LacCoverage(self._bookies, self._digester, view.ledger_id, view.metadata).read()
            view.confirmed(known.last_add_confirmed, known.length)
        return view.last_add_confirmed

    # ---- any that knows more -------------------------------------------------------------------------

    async def read_any(self) -> int:
        """The LAC, of the first bookie that knows a higher one than this handle.

        :raises bookkeeper_twisted.errors.LedgerRecoveryError: nobody answered.
        """
        view, errors, ensemble = self._view, list[Exception](), self._ensemble
        if view.closed:
            return view.last_add_confirmed
        asked = [partial(self._news_of, bookie_id, view.last_add_confirmed, errors) for bookie_id in ensemble]
        await Speculation(self._clock, asked, self._patience, len(asked)).run()
        if len(errors) == len(ensemble):
            raise LedgerRecoveryError(f"no bookie of ledger {view.ledger_id} answered: {most_telling(errors)}")
        return view.last_add_confirmed

    async def _news_of(self, bookie_id: str, before: int, errors: list[Exception]) -> bool | None:
        ledger_id = self._view.ledger_id
        try:
            reply = await self._bookies.read(bookie_id, ledger_id, INVALID_ENTRY_ID)
            if reply.entry is None:
                raise DigestMatchError(ledger_id, INVALID_ENTRY_ID, "nothing came with the reply")
            last = self._digester.entry(ledger_id, None, reply.entry)
        except (NoSuchEntryError, NoSuchLedgerError):
            return None  # an answer, if no news
        except BookKeeperError as error:
            errors.append(error)
            return None
        self._view.confirmed(last.last_add_confirmed, last.length)
        return True if last.last_add_confirmed > before else None

    # ---- news when they come -------------------------------------------------------------------------

    async def wait(self, entry_id: int, timeout: float) -> Confirmed:
        """Waits until an entry beyond the LAC is confirmed, the ledger is closed, or time is up.

        :param timeout: seconds.
        :raises BookKeeperError: no bookie could be asked; NoSuchEntryError or NoSuchLedgerError if all of
            them have nothing of the ledger.
        :raises bookkeeper_twisted.errors.LedgerClosedError: the handle was closed meanwhile.
        """
        view = self._view
        known = view.metadata
        polling = Deferred.fromCoroutine(self._poll(entry_id, timeout))

        def news() -> None:
            if view.metadata is not known or view.ended:  # other bookies, or an end
                polling.cancel()

        forget = view.listen(news)
        try:
            return await polling
        except CancelledError:
            if view.metadata is known and not view.ended:
                raise  # it was not us
            view.check()
            return Confirmed(view.last_add_confirmed)
        finally:
            forget()

    async def _poll(self, entry_id: int, timeout: float) -> Confirmed:
        """Asks the bookies one after the other; one that is slow to say anything has company soon."""
        poll = _Poll(self._clock.seconds() + timeout)
        # the LAC travels with later entries, so the bookies of the next entry hear of it first
        bookies = self._order.everybody(self._ensemble, entry_id + 1)
        asked = [partial(self._poll_one, bookie_id, entry_id, poll) for bookie_id in bookies]
        success = await Speculation(self._clock, asked, self._patience).run()
        if success is not None:
            return success.result
        if not poll.empty:
            raise most_telling(poll.errors)
        return Confirmed(self._view.last_add_confirmed)

    async def _poll_one(self, bookie_id: str, entry_id: int, poll: _Poll) -> Confirmed | None:
        view = self._view
        try:
            reply = await self._bookies.long_poll(
                bookie_id, view.ledger_id, entry_id - 1, max(0.0, poll.deadline - self._clock.seconds())
            )
            entry = None if reply.entry is None else self._digester.entry(view.ledger_id, entry_id, reply.entry)
        except BookKeeperError as error:
            self._order.failed(bookie_id, self._ensemble, error)
            poll.errors.append(error)
            return None
        self._order.succeeded(bookie_id)
        before = view.last_add_confirmed
        view.confirmed(INVALID_ENTRY_ID if reply.max_lac is None else reply.max_lac)
        if entry is not None and entry_id <= view.last_add_confirmed:
            return Confirmed(view.last_add_confirmed, entry)
        if view.last_add_confirmed > before:
            return Confirmed(view.last_add_confirmed)
        poll.empty += 1
        return self._enough(poll)

    def _enough(self, poll: _Poll) -> Confirmed | None:
        """Whether more answers without news are not worth waiting for."""
        metadata = self._view.metadata
        needed = metadata.ensemble_size - metadata.ack_quorum_size + 1
        if poll.empty >= needed or self._clock.seconds() >= poll.deadline:
            return Confirmed(self._view.last_add_confirmed)
        return None
