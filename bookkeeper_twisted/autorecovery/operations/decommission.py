"""Decommission: waits until no ledger needs a bookie that was shut down and will not return.

A decommission only triggers an audit, and waits: the auditor marks the ledgers of the bookie, and replication workers
copy their entries.  While the metadata store cannot be reached, the decommission waits for it, and then for the
election of an auditor, as the votes may have ended with the outage.

A ledger needs the bookie if one of its ensembles has the bookie at a position that stores an entry, or if a writer may
still send entries to the bookie.  The decommission also waits until no underreplicated mark names the bookie.  It does
not wait for ledgers whose metadata cannot be decoded, but names them: they may need the bookie.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from ...client.steps import for_each
from ...errors import IllegalOperationError, MetadataUnavailableError, NoAuditorError
from ...ledger.fragments import fragments_of
from ...metadata.interfaces import IMetadataDriver, IStoreConnection
from ...metadata.registered import registered_bookies
from ...metadata.undecoded import UndecodedLedgers, undecoded_text
from ...model import INVALID_ENTRY_ID, LedgerMetadata, check_bookie_id
from ..replication.lock_reasons import blocker_of, reason_of
from .admin import AutorecoveryAdmin

_AT_ONCE = 50
_FIRST_WAIT, _WAIT_A_LEDGER, _LONGEST_WAIT = 1.0, 0.01, 60.0
_WAIT_FOR_STORE = 5.0

T = TypeVar("T")

OPEN = "not closed: a writer may have it open"
MARKED = "marked, and waiting for a worker"
UNATTENDED = f"{MARKED}; none is at work at present"
UNMARKED = "not marked yet"
UNREAD_MARK = "its mark cannot be decoded"
SWITCHED_OFF = "not repaired while autorecovery is switched off"
GONE = "cannot be repaired: no registered bookie has a replica of some of its entries"


@attrs.frozen
class Remaining:
    """The ledgers that a decommission still waits for.

    :ivar blockers: why each ledger still needs the bookie, by ledger id.
    :ivar found: the largest number of remaining ledgers since the decommission began.
    :ivar unreachable: why the metadata store could not be reached, so that the other attributes are those of the last
        check that succeeded, or empty; an empty text if it was reached.
    :ivar undecoded: ids of ledgers whose metadata cannot be decoded, so that they may need the bookie or not.
    :ivar read_at: when the check began that found these ledgers, in seconds of the clock; None before the first.
    """

    blockers: Mapping[int, str]
    found: int
    unreachable: str = ""
    undecoded: tuple[int, ...] = ()
    read_at: float | None = attrs.field(default=None, eq=False)


async def when_reachable(
    clock: IReactorTime, attempt: Callable[[], Awaitable[T]], report: Callable[[Remaining], object]
) -> T:  # fmt: skip
    """Return the result of ``attempt``; while the metadata store cannot be reached, repeat the attempt, for any time.

    :param report: called with the reason after each attempt that did not reach the store.
    """
    while True:
        try:
            return await attempt()
        except MetadataUnavailableError as error:
            report(Remaining({}, 0, str(error)))
        await deferLater(clock, _WAIT_FOR_STORE)


def unjudged(ledger_ids: Collection[int], format_id: Callable[[int], str] = str) -> str:
    """Return a text that says that ledgers may need a bookie or not, as their metadata cannot be decoded.

    :param ledger_ids: ids of these ledgers, at least one.
    :param format_id: formats the id of a ledger.
    """
    return undecoded_text(ledger_ids, "may need the bookie", format_id)


def needs(ledger_id: int, metadata: LedgerMetadata, bookie_id: str) -> bool:
    """Test whether a ledger has entries on a bookie, or has a writer that may still send entries to this bookie.

    :param metadata: metadata of the ledger ``ledger_id``.
    :param bookie_id: id of the bookie.
    """
    if not metadata.closed and bookie_id in metadata.segments[-1].bookies:
        return True
    for fragment in fragments_of(ledger_id, metadata, INVALID_ENTRY_ID):
        for position, name in enumerate(fragment.ensemble):
            if name == bookie_id and fragment.ends(position) is not None:
                return True
    return False


def is_gone(ledger_id: int, metadata: LedgerMetadata, registered: frozenset[str]) -> bool:
    """Test whether a ledger has entries of which no registered bookie has a replica.

    :param metadata: metadata of the ledger ``ledger_id``; of one that is not closed, the last ensemble is left out.
    :param registered: ids of the registered bookies.
    """
    for fragment in fragments_of(ledger_id, metadata, INVALID_ENTRY_ID):
        present = [name in registered for name in fragment.ensemble]
        for entry_id in range(fragment.first, fragment.last + 1)[: len(present)]:
            if not any(present[position] for position in fragment.schedule.write_set(entry_id)):
                return True
    return False


class Decommission:
    """The decommission of one bookie: it waits until no ledger needs the bookie any more.

    :ivar bookie_id: id of the bookie, which was shut down.
    :param patience: the wait ends if the number of remaining ledgers has not fallen for this number of seconds,
        in which the metadata store could be read.
    """

    def __init__(self, clock: IReactorTime, driver: IMetadataDriver, bookie_id: str, patience: float = 600.0) -> None:
        self._clock = clock
        self.bookie_id = check_bookie_id(bookie_id)
        self._patience = patience
        self._admin = AutorecoveryAdmin(driver)
        self._ledgers = driver.ledgers
        self._registration = driver.registration
        self._connection = IStoreConnection(driver, None)
        self._needing: set[int] = set()
        self._gone: set[int] = set()
        self._undecoded = UndecodedLedgers()
        self._registered = frozenset[str]()
        self._is_listed = False

    async def run(self, report: Callable[[Remaining], object] = lambda remaining: None) -> Remaining:
        """Trigger an audit, and wait until no ledger needs the bookie.

        While the metadata store cannot be reached, this waits for it, for any time; cancelling ends the wait.

        :param report: called with the remaining ledgers after each check of the metadata, failed ones included.
        :returns: the remaining ledgers.  There are none, unless there was no progress for ``patience`` seconds, but
            there may be ledgers whose metadata cannot be decoded.
        :raises IllegalOperationError: the bookie is running, or has come back; autorecovery is disabled, or no auditor
            is elected.
        :raises bookkeeper_twisted.errors.MetadataError: the audit could not be triggered, or the metadata store failed.
        """
        await when_reachable(self._clock, self.check, report)
        since, least, remaining = self._clock.seconds(), -1, Remaining({}, 0)
        while True:
            remaining = await self._remaining(remaining)
            report(remaining)
            count, pause = len(remaining.blockers), _WAIT_FOR_STORE
            if remaining.unreachable:
                least = -1  # workers could not make progress either: the patience begins anew after the next check
            else:
                if least < 0 or count < least:
                    since, least = self._clock.seconds(), count
                if not count or self._clock.seconds() - since >= self._patience:
                    return remaining
                pause = min(_FIRST_WAIT + _WAIT_A_LEDGER * count, _LONGEST_WAIT)
            await deferLater(self._clock, pause)

    async def _remaining(self, before: Remaining) -> Remaining:
        """Read which ledgers still need the bookie: at first from all ledgers, later from those that did.

        :param before: the result of the last call.
        """
        began = self._clock.seconds()
        try:
            self._gone.clear()
            self._registered = await registered_bookies(self._registration)
            ledger_ids = sorted(self._needing | self._undecoded.ids) if self._is_listed else self._ledgers.ledger_ids()
            await for_each(ledger_ids, self._look, _AT_ONCE)
            self._is_listed = True
            await self._check_gone("has come back: it may get entries again")
            blockers = await self._blockers()
        except MetadataUnavailableError as error:
            return attrs.evolve(before, unreachable=str(error))
        undecoded = tuple(sorted(self._undecoded.ids))
        return Remaining(blockers, max(before.found, len(blockers)), undecoded=undecoded, read_at=began)

    async def check(self) -> None:
        """Check that the ledgers of the bookie can be copied, and trigger the audit.

        An outage of the metadata store may have removed the votes for the auditor.  So after each connection to the
        store, candidates get the time to vote again (``zkTimeout``).

        :raises IllegalOperationError: the bookie is running, autorecovery is disabled, or no auditor is elected.
        :raises MetadataUnavailableError: the store cannot be reached, or could not until so recently that no auditor
            may be elected yet; then the text says this.
        """
        await self._check_gone("is running: stop it first")
        try:
            await self._admin.trigger_audit()
        except NoAuditorError as error:
            left = 0.0 if self._connection is None else self._connection.unsettled()
            if left <= 0:
                raise
            text = f"it is there, but no auditor is elected yet: candidates have {left:.0f} s left to vote"
            raise MetadataUnavailableError(text) from error

    async def _check_gone(self, problem: str) -> None:
        """Check that the bookie is not registered.

        :raises IllegalOperationError: it is; the error has the text ``problem``.
        """
        if self.bookie_id in await registered_bookies(self._registration):
            raise IllegalOperationError(f"bookie {self.bookie_id} {problem}")

    async def has_trace(self) -> bool:
        """Test whether the bookie has a cookie; one that has none was decommissioned before, or never existed."""
        return self.bookie_id in await self._registration.all_bookies()

    async def _look(self, ledger_id: int) -> None:
        """Read the metadata of a ledger, and record whether the ledger still needs the bookie."""
        metadata = await self._undecoded.read(self._ledgers, ledger_id)
        if metadata is not None and needs(ledger_id, metadata, self.bookie_id):
            self._needing.add(ledger_id)
            if is_gone(ledger_id, metadata, self._registered):
                self._gone.add(ledger_id)
        else:
            self._needing.discard(ledger_id)

    async def _blockers(self) -> dict[int, str]:
        """Return, by ledger id, why each ledger still needs the bookie.

        An underreplicated mark that names the bookie is a reason, too.  One that cannot be decoded may name any bookie:
        it is a mark of a ledger that needs the bookie, but no reason of its own.
        """
        marked, unread = set[int](), set[int]()
        async for ledger_id, mark in self._admin.underreplicated():
            if mark.problem:
                unread.add(ledger_id)
            elif self.bookie_id in mark.replicas:
                marked.add(ledger_id)
        recovering, is_on = await self._admin.recovering(), await self._admin.is_enabled()
        reasons, unattended = {}, MARKED if recovering else UNATTENDED
        for ledger_id in sorted((self._needing | marked) - self._undecoded.ids):
            if ledger_id in self._gone and not reason_of(recovering.get(ledger_id, "")):
                reasons[ledger_id] = GONE
            elif ledger_id in recovering:
                reasons[ledger_id] = blocker_of(recovering[ledger_id])
            elif ledger_id in marked or ledger_id in unread:
                waits = unattended if is_on else SWITCHED_OFF
                reasons[ledger_id] = f"{waits}; {UNREAD_MARK}" if ledger_id in unread else waits
            elif await self._is_open(ledger_id):
                reasons[ledger_id] = OPEN
            else:
                reasons[ledger_id] = UNMARKED if is_on else SWITCHED_OFF
        return reasons

    async def _is_open(self, ledger_id: int) -> bool:
        metadata = await self._undecoded.read(self._ledgers, ledger_id)
        return metadata is not None and not metadata.closed
