"""Asks bookies for the LAC of a ledger.

:meth:`LacReads.read` ends when enough bookies have answered.  :meth:`LacReads.read_any` ends when one bookie knows a
higher LAC.  :meth:`LacReads.wait` lets bookies wait for a higher LAC, until a time limit.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred

from ...codec.digest import Digester
from ...codec.operations import MAX_COUNT
from ...entries.entry_run import EntryRun
from ...errors import (
    BadRequestError,
    BookKeeperError,
    NoSuchEntryError,
)
from ...ledger.entry_batch import EntryBatch
from ...ledger.lac_answers import lac_failure
from ...ledger.read_answers import NO_ENTRY, failed_request, verified_batch
from ...model import INVALID_ENTRY_ID, Entry
from .context import ReadingContext
from .lac_coverage import LacCoverage
from .ledger_view import LedgerView
from .read_order import ReadOrder
from .speculation import Speculation


@attrs.frozen
class Confirmed:
    """The result of waiting until an entry is confirmed, and reading it.

    :ivar last_add_confirmed: the LAC that the reader knows at the end of the wait.
    :ivar entry: the requested entry; None if it was not confirmed in time.
    """

    last_add_confirmed: int
    entry: Entry | None = None


@attrs.frozen
class _News:
    """A bookie's answer that ends the wait for an entry, because the bookie knows a higher LAC.

    :ivar entries: confirmed entries, the first of which is the requested entry; None if the bookie sent none.
    """

    entries: EntryRun | None = None


@attrs.define
class _Poll:
    """The state of one wait until an entry is confirmed, and the answers of bookies so far.

    :ivar first: the id of the requested entry.
    :ivar max_size: maximum number of bytes of a batch read.
    :ivar deadline: the end of the wait, in seconds of the clock.
    :ivar empty: number of bookies that answered without a higher LAC.
    :ivar errors: the errors of the bookies that failed, by bookie id.
    """

    first: int
    max_size: int
    deadline: float
    empty: int = 0
    errors: dict[str, Exception] = attrs.field(factory=dict)


class LacReads:
    """Asks bookies for the LAC of one ledger, for one reader.

    Each answer is recorded in the :class:`.LedgerView` of the reader, which stores the highest LAC.  So the LAC of a
    reader never decreases.
    """

    def __init__(self, context: ReadingContext, digester: Digester, view: LedgerView, order: ReadOrder) -> None:
        self._clock = context.clock
        self._bookies = context.bookies
        self._patience = context.poll_patience
        self._support = context.poll_support
        self._batching = context.reads_batches(order.schedule)
        self._digester = digester
        self._view = view
        self._order = order

    @property
    def _ensemble(self) -> Sequence[str]:
        return self._view.metadata.segments[-1].bookies

    async def read(self) -> int:
        """Ask bookies for the LAC until enough have answered; return the LAC.

        Enough means that the result is at least the id of the last entry that was acknowledged before the call.

        :raises BookKeeperError: too few bookies answered, or a bookie refused the password.
        """
        view, asked = self._view, None
        # Ask again if the ensemble has changed meanwhile: the newest entries may be on other bookies.
        while not view.closed and asked != view.metadata.segments[-1]:
            metadata = view.metadata
            known = await LacCoverage(self._bookies.read_lac, self._digester, view.ledger_id, metadata).read()
            view.confirmed(known.last_add_confirmed, known.length)
            asked = metadata.segments[-1]
        return view.last_add_confirmed

    # ---- the first higher LAC ------------------------------------------------------------------------

    async def read_any(self) -> int:
        """Ask all bookies for the LAC, until one answers with a higher LAC than this reader knows; return the LAC.

        :raises bookkeeper_twisted.errors.BookKeeperError: no bookie answered; :func:`.lac_failure` chooses the error.
        """
        view, errors, ensemble = self._view, dict[str, Exception](), self._ensemble
        if view.closed:
            return view.last_add_confirmed
        asked = [partial(self._news_of, bookie_id, view.last_add_confirmed, errors) for bookie_id in ensemble]
        await Speculation(self._clock, asked, self._patience, len(asked)).run()
        if len(errors) == len(ensemble):
            raise lac_failure(errors, view.ledger_id)
        return view.last_add_confirmed

    async def _news_of(self, bookie_id: str, before: int, errors: dict[str, Exception]) -> bool | None:
        ledger_id = self._view.ledger_id
        try:
            reply = await self._bookies.read(bookie_id, ledger_id, INVALID_ENTRY_ID)
            last = self._digester.entry(ledger_id, None, reply.entry or b"")
        except NO_ENTRY:
            return None  # the bookie has answered, but it knows no higher LAC than this reader
        except BookKeeperError as error:
            errors[bookie_id] = error
            return None
        self._view.confirmed(last.last_add_confirmed, last.length)
        return True if last.last_add_confirmed > before else None

    # ---- waits for confirmed entries -----------------------------------------------------------------

    async def wait(self, entry_id: int, timeout: float) -> Confirmed:
        """Wait until an entry is confirmed, and read it; stop if the ledger is closed or the time is up.

        :param entry_id: id of the entry, above the LAC that the reader knows.
        :param timeout: maximum number of seconds to wait.
        :returns: the LAC, and the entry if it was confirmed.
        :raises BookKeeperError: no bookie answered; NoSuchEntryError or NoSuchLedgerError if no bookie has an entry of
            the ledger.
        :raises bookkeeper_twisted.errors.LedgerClosedError: the handle was closed during the wait.
        """
        run = await self._wait(_Poll(entry_id, 0, self._clock.seconds() + timeout), self._entry_from)
        entry = None if run is None else EntryBatch(run, self._digester).entry(entry_id)
        return Confirmed(self._view.last_add_confirmed, entry)

    async def wait_for_batch(self, first: int, timeout: float, max_size: int) -> EntryBatch | None:
        """Wait until the entry ``first`` is confirmed; return this entry and perhaps later confirmed entries.

        A batch read that waits at the bookie returns all these entries in one round trip.  If the bookie has no batch
        reads or the ledger is striped, only one entry is returned.

        :param first: id of the first entry.
        :param timeout: maximum number of seconds to wait.
        :param max_size: maximum number of bytes of a reply.  It should be small, because a reply may also contain
            unconfirmed entries, which are dropped.
        :returns: None if the entry was not confirmed in time, or the ledger ended before it.
        """
        ask = self._batch_from if self._batching else self._entry_from
        run = await self._wait(_Poll(first, max_size, self._clock.seconds() + timeout), ask)
        return None if run is None else EntryBatch(run, self._digester)

    async def _wait(self, poll: _Poll, ask: "_Ask") -> EntryRun | None:
        view = self._view
        known = view.metadata
        polling = Deferred.fromCoroutine(self._poll(poll, ask))

        def news() -> None:
            if view.metadata is not known or view.ended:  # the ensemble has changed, or no more entries can come
                polling.cancel()

        forget = view.listen(news)
        try:
            return (await polling).entries
        except CancelledError:
            if view.metadata is known and not view.ended:
                raise  # this method did not cancel the poll, so the wait was cancelled from outside
            view.check()
            return None
        finally:
            forget()

    async def _poll(self, poll: _Poll, ask: "_Ask") -> _News:
        """Ask the bookies of the newest ensemble to wait for an entry, until one of them knows a higher LAC.

        The bookies are asked one after the other.  The next bookie is asked when a bookie has failed, knows no higher
        LAC, or has not answered for some time.

        :returns: the confirmed entries; or no entries if the wait must end for another reason, for example because the
            time is up.
        :raises BookKeeperError: every bookie failed.
        """
        # Ask first the bookies that will store the entry after the wanted one.  They are usually the first to know that
        # the wanted entry is confirmed, because the header of the next entry contains the LAC.
        bookies = self._order.everybody(self._ensemble, poll.first + 1)
        asked = [partial(self._poll_one, bookie_id, poll, ask) for bookie_id in bookies]
        success = await Speculation(self._clock, asked, self._patience).run()
        if success is not None:
            return success.result
        if not poll.empty:
            raise failed_request(poll.errors, self._view.ledger_id, poll.first)
        return _News()

    async def _poll_one(self, bookie_id: str, poll: _Poll, ask: "_Ask") -> _News | None:
        view = self._view
        try:
            run, max_lac = await ask(bookie_id, poll)
        except BookKeeperError as error:
            self._order.failed(bookie_id, self._ensemble, error)
            poll.errors[bookie_id] = error
            return None
        self._order.succeeded(bookie_id)
        before = view.last_add_confirmed
        view.confirmed(INVALID_ENTRY_ID if max_lac is None else max_lac)
        confirmed = view.last_add_confirmed - poll.first + 1
        if run is not None and confirmed > 0:
            return _News(run.slice(poll.first, min(run.count, confirmed)))
        if view.last_add_confirmed > before:
            return _News()
        poll.empty += 1
        return self._enough(poll)

    def _time_left(self, poll: _Poll) -> float:
        return max(0.0, poll.deadline - self._clock.seconds())

    async def _entry_from(self, bookie_id: str, poll: _Poll) -> "_PollAnswer":
        """Ask a bookie to wait until the requested entry is confirmed; return the entry or None, and the bookie's LAC.
        """
        ledger_id = self._view.ledger_id
        reply = await self._bookies.long_poll(bookie_id, ledger_id, poll.first - 1, self._time_left(poll))
        if reply.entry is None:
            return None, reply.max_lac
        run = EntryRun.of_entries(ledger_id, poll.first, (reply.entry,))
        self._digester.verify(run)
        return run, reply.max_lac

    async def _batch_from(self, bookie_id: str, poll: _Poll) -> "_PollAnswer":
        """Send a bookie a batch read that waits for a higher LAC; if it does not support this, send a long poll."""
        ledger_id = self._view.ledger_id
        if not self._support.is_expected(bookie_id):
            return await self._entry_from(bookie_id, poll)
        try:
            reply = await self._bookies.read_batch(
                bookie_id, ledger_id, poll.first, MAX_COUNT, poll.max_size, patience=self._time_left(poll)
            )
        except BadRequestError:
            self._support.refused(bookie_id)
            return await self._entry_from(bookie_id, poll)
        except NoSuchEntryError:
            return None, None  # the bookie waited until the time was up, or has only later entries
        return verified_batch(reply.entries, ledger_id, poll.first, MAX_COUNT, self._digester), reply.max_lac

    def _enough(self, poll: _Poll) -> _News | None:
        """Decide whether to end the wait for an entry, after a bookie has answered that it knows no higher LAC.

        The wait ends when the time is up.  It also ends when at least one bookie of every possible ack quorum has
        answered that it knows no higher LAC.

        :returns: a result without entries to end the wait; None to continue with the other bookies.
        """
        metadata = self._view.metadata
        needed = metadata.ensemble_size - metadata.ack_quorum_size + 1
        if poll.empty >= needed or self._clock.seconds() >= poll.deadline:
            return _News()
        return None


_PollAnswer = tuple[EntryRun | None, int | None]
"""A bookie's answer: verified entries from the requested entry on (None if it sent none), and its LAC if it has one."""

_Ask = Callable[[str, _Poll], Coroutine[Deferred[Any], Any, _PollAnswer]]
"""A function that asks the bookie with the given id to wait until an entry is confirmed, and returns the answer.

The :class:`_Poll` says which entry, and how long to wait.
"""
