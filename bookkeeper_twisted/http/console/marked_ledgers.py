"""Reads the details of underreplicated ledgers, as far as they can be read in a bounded time."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...autorecovery.interfaces import repaired_ledger
from ...autorecovery.replication.lock_reasons import reason_of, without_past
from ...client.admin import BookKeeperAdmin
from ...client.steps import for_each
from ...errors import MetadataError, MetadataUnavailableError, NotUnderreplicatedError
from ...limits.adaptive import RunningJob
from ...metadata.interfaces import MOST_STRAYS, IMetadataDriver, IUnderreplication
from ...metadata.undecoded import UndecodedLedgers, undecoded_text
from ...model import MAX_LEDGER_ID, LedgerMetadata, UnderreplicatedLedger
from .replicas import live_replicas, may_be_unwritten

DETAILS_SECONDS = 2.0
"""Seconds within which the details of underreplicated ledgers are read; those that are not read then are unknown."""

LISTING_SECONDS = 0.5
"""Seconds within which the marks are listed before the details of their ledgers are read; more marks are left out.

Few marks are listed for up to :data:`DETAILS_SECONDS`, and their details are read for less time.  This and twice
:data:`DETAILS_SECONDS` are less than :data:`~.feed.LATE`.
"""

UNREAD = f"not known, as the locks could not be read within {DETAILS_SECONDS:g} s"
"""The text for a replication lock if the locks could not be read in time."""

_AT_ONCE = 20
_NAMED = 3
_STATES = {"grace": "left to its writer", "waiting": "waits", "impossible": "cannot be repaired"}


class MarkedLedgers:
    """The details of underreplicated ledgers; if reading is cancelled, those that were read before.

    :param admin: the client of the cluster.
    :param registered: ids of the registered bookies.
    :param now: the present time, in seconds since the epoch.
    :param jobs: the repairs of this process.
    :param before: why the last known attempts to repair ledgers did not succeed, by ledger id.
    :param silent: ids of registered bookies that do not answer; their replicas do not count.
    :ivar locks: the text in each replication lock, by ledger id, without times that are past; None before it is read.
    :ivar looked_at: number of ledgers whose live replicas are known, or whose metadata cannot be decoded.
    :ivar unavailable: ids of ledgers with entries that no bookie that answers has, or a worker says so.
    :ivar doubtful: ids of further ledgers with entries of which only bookies have replicas that the marks name.
    :ivar unwritten: ids of further ledgers that are not closed and whose last bookies are gone: they may be empty.
    :ivar named: ids of all bookies that the marks of these ledgers name.
    """

    def __init__(
        self, admin: BookKeeperAdmin, registered: frozenset[str], now: float, jobs: Sequence[RunningJob] = (),
        before: Mapping[int, str] | None = None, silent: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self._admin = admin
        self._registered = registered
        self._answering = registered - silent
        self._now = now
        self._jobs = jobs
        self._before = before or {}
        self._rows: dict[int, dict[str, object]] = {}
        self.locks: dict[int, str] | None = None
        self.looked_at = 0
        self.unavailable: list[int] = []
        self.doubtful: list[int] = []
        self.unwritten: list[int] = []
        self.named: set[str] = set()
        self._reasons: dict[int, str] = {}
        self._undecoded = UndecodedLedgers(self._reasons.__setitem__)

    @property
    def unjudged(self) -> str:
        """A text about the ledgers whose metadata cannot be decoded; empty if there are none."""
        ids = self._undecoded.ids
        return undecoded_text(ids, "cannot be judged") if ids else ""

    @property
    def strays(self) -> str:
        """A text about what is stored among the marks and is none; empty if there is nothing."""
        strays = sorted(self._admin.client.metadata.underreplication.strays)
        if not strays:
            return ""
        which = "node among the marks is none" if len(strays) == 1 else "nodes among the marks are none"
        return f"{'at least ' if len(strays) >= MOST_STRAYS else ''}{len(strays)} {which}, such as {strays[0]}"

    async def read_locks(self) -> None:
        """Read the replication locks; do this before :meth:`read`."""
        locks = await self._admin.client.metadata.underreplication.locked_ledgers()
        self.locks = present_locks(locks, self._jobs, self._now)

    async def read(self, ledger_ids: Sequence[int], most: int) -> None:
        """Read the details of ledgers in the given order.

        :param ledger_ids: ids of underreplicated ledgers.
        :param most: maximum number of ledgers of which rows are made; of the others, live replicas are counted alone.
        """
        await for_each(ledger_ids[:most], self._read_row, _AT_ONCE)
        await for_each(ledger_ids[most:], self._read_replicas, _AT_ONCE)

    def sorted_rows(self) -> list[dict[str, object]]:
        """Return the rows that were read, by ascending ledger id."""
        return [self._rows[ledger_id] for ledger_id in sorted(self._rows)]

    async def _read_replicas(
        self, ledger_id: int
    ) -> tuple[LedgerMetadata | None, UnderreplicatedLedger, int | None] | None:
        """Return the metadata of a ledger, its mark, and how many replicas are left; None if they cannot be read.

        The first and the last are None if the metadata cannot be decoded.
        """
        driver = self._admin.client.metadata
        try:
            metadata = await self._undecoded.read(driver.ledgers, ledger_id)
            mark = (await driver.underreplication.read_mark(ledger_id)).value
        except NotUnderreplicatedError:
            self._undecoded.ids.discard(ledger_id)
            self.looked_at += 1  # the ledger was deleted or repaired meanwhile
            return None
        except MetadataError:
            return None
        self.looked_at += 1
        self.named.update(mark.replicas)
        if metadata is None:
            return (None, mark, None) if ledger_id in self._undecoded.ids else None
        is_lost = says_lost((self.locks or {}).get(ledger_id)) or says_lost(self._before.get(ledger_id))
        replicas = 0 if is_lost else live_replicas(metadata, self._answering - doubted(mark, metadata))
        if is_lost or live_replicas(metadata, self._answering) == 0:
            is_known = is_lost or not may_be_unwritten(metadata, self._answering)
            (self.unavailable if is_known else self.unwritten).append(ledger_id)
        elif replicas == 0:
            self.doubtful.append(ledger_id)
        return metadata, mark, replicas

    async def _read_row(self, ledger_id: int) -> None:
        known = await self._read_replicas(ledger_id)
        if known is None:
            return
        metadata, mark, replicas = known
        lock = UNREAD if self.locks is None else self.locks.get(ledger_id)
        reason = mark_reason(mark, lock, self._registered, self._before.get(ledger_id, ""))
        if metadata is None:
            reason = f"its metadata cannot be decoded, so it cannot be repaired: {self._reasons[ledger_id]}; {reason}"
        self._rows[ledger_id] = {
            "id": ledger_id, "missing": list(mark.replicas), "since": None if mark.ctime is None else mark.ctime / 1000,
            "lock": lock, "replicas": replicas, "state": "UNKNOWN" if metadata is None else metadata.state.name,
            "reason": reason,
        }  # fmt: skip


def present_locks(locks: Mapping[int, str], jobs: Sequence[RunningJob], now: float) -> dict[int, str]:
    """Return the text of each replication lock without a time that is past, and with what this process knows itself.

    A worker has a reason before it is written into the lock, and the lock may be listed before it is taken.

    :param locks: the text in each replication lock, by ledger id.
    :param jobs: the repairs of this process.
    :param now: the present time, in seconds since the epoch.
    """
    texts = {ledger_id: without_past(text, now) for ledger_id, text in locks.items()}
    for job in jobs:
        ledger_id = repaired_ledger(job)
        holder = texts.setdefault(ledger_id, "this process")
        if job.reason and not reason_of(holder):
            texts[ledger_id] = f"{holder}: {_STATES.get(job.state, job.state)}: {job.reason}"
    return texts


def doubted(mark: UnderreplicatedLedger, metadata: LedgerMetadata) -> frozenset[str]:
    """Return the bookies of a ledger whose replicas do not count as left: those that its mark names.

    A mark that cannot be decoded may name any of them.  One that names none, as that of a check of placement, does not
    say that any lacks entries.

    :param mark: the underreplicated mark of the ledger.
    :param metadata: metadata of the ledger.
    """
    return metadata.bookies if mark.problem else frozenset(mark.replicas)


def says_lost(lock: str | None) -> bool:
    """Test whether a worker has found that no registered bookie has an undamaged replica of an entry.

    :param lock: the text in the replication lock of the ledger; None if no worker has locked the ledger.
    """
    return lock is not None and "no bookie has ledger " in lock


async def list_marks(
    marks: IUnderreplication, seconds: Callable[[], float], patience: float = DETAILS_SECONDS, enough: int = 0
) -> tuple[list[int], bool]:  # fmt: skip
    """List underreplicated marks for some seconds, but at least until the first one is found.

    :param seconds: returns the time in seconds.
    :param patience: the seconds after which the listing ends if it has found enough marks; else it ends after
        :data:`DETAILS_SECONDS`.
    :param enough: this number of marks.
    :returns: the ids of the ledgers in ascending order, and whether there may be marks of ledgers with greater ids.
    """
    began, found = seconds(), list[int]()
    listing: Any = marks.marked_ledgers()
    try:
        async for ledger_id in listing:
            found.append(ledger_id)
            if seconds() - began >= (patience if len(found) >= enough else DETAILS_SECONDS):
                return found, True
    finally:
        await listing.aclose()
    return found, False


def of_marked(texts: Mapping[int, str], marked: Sequence[int], is_more: bool) -> dict[int, str]:
    """Return the ``texts`` of ledgers with a mark, by ledger id.

    :param marked: ids of ledgers with a mark, in ascending order.
    :param is_more: whether ledgers with greater ids may have a mark, too.
    """
    among, last = set(marked), marked[-1] if is_more else MAX_LEDGER_ID
    return {ledger_id: text for ledger_id, text in texts.items() if ledger_id in among or ledger_id > last}


@attrs.frozen
class AutorecoveryFacts:
    """The facts about autorecovery that one reading of the cluster has found.

    :ivar marked: number of underreplicated marks.
    :ivar is_more: whether there may be more marks.
    :ivar enabled: whether autorecovery is switched on.
    :ivar auditor: the bookie id of the auditor; None if none is elected.
    :ivar unread: why the other attributes are not known, although the store can be reached; empty if they are known.
    """

    marked: int = 0
    is_more: bool = False
    enabled: bool = False
    auditor: str | None = None
    unread: str = ""

    @classmethod
    async def read(cls, driver: IMetadataDriver, seconds: Callable[[], float]) -> "AutorecoveryFacts":
        """Read these facts from the metadata store.

        :param driver: the metadata driver, which is open.
        :param seconds: returns the time in seconds.
        :raises MetadataUnavailableError: the store cannot be reached.
        """
        try:
            marks, is_more = await list_marks(driver.underreplication, seconds)
            enabled, auditor = await driver.underreplication.is_enabled(), await driver.auditing.auditor()
        except MetadataUnavailableError:
            raise
        except MetadataError as error:
            return cls(unread=str(error) or type(error).__name__)
        return cls(len(marks), is_more, enabled, auditor)

    def as_json(self, unnamed: Sequence[str], undecoded: Collection[int] = ()) -> Mapping[str, object]:
        """Return the members of a JSON object that show these facts; those that are not known are left out.

        :param unnamed: ids of bookies that are gone, that ledgers need, and that no mark names.
        :param undecoded: ids of ledgers whose metadata cannot be decoded.
        """
        if self.unread:
            return {"unread": self.unread}
        alone = marks_alone(self.enabled, self.auditor, unnamed, undecoded)
        known = {"marked": self.marked, "moreMarked": self.is_more, "marksAlone": alone, "auditor": self.auditor}
        return {**known, "unread": ""}


async def within(clock: IReactorTime, seconds: float, work: Coroutine[Deferred[Any], Any, None]) -> None:
    """Run ``work``, and cancel it if it has not ended after ``seconds``.

    :param clock: the reactor.
    """
    await Deferred.fromCoroutine(work).addTimeout(seconds, clock, lambda *_: None)


def mark_reason(
    mark: UnderreplicatedLedger, lock: str | None, registered: frozenset[str], before: str = ""
) -> str:  # fmt: skip
    """Return a text that says why a ledger is underreplicated, and why it is not repaired yet.

    :param mark: the underreplicated mark of the ledger.
    :param lock: the text in the replication lock of the ledger; None if no worker has locked the ledger.
    :param registered: ids of the registered bookies.
    :param before: why the last known attempt to repair it did not succeed; empty if there is none.
    """
    gone = [bookie_id for bookie_id in mark.replicas if bookie_id not in registered]
    lacking = [bookie_id for bookie_id in mark.replicas if bookie_id in registered]
    parts = []
    if gone:
        parts.append(f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} not registered")
    if lacking:
        were = "was" if len(lacking) == 1 else "were"
        parts.append(f"{', '.join(lacking)} {were} damaged or away, or lacked entries, when the ledger was marked")
    if mark.problem:
        parts.append(f"its mark cannot be decoded, so the bookies in it are not known: {mark.problem}")
    elif not mark.replicas:
        parts.append("a check found too few replicas")
    parts.append("no worker is at it at present" if lock is None else f"worker: {lock}")
    if lock is None and before:
        parts.append(f"the last attempt: {before}")
    return "; ".join(parts)


def marks_alone(
    enabled: bool, auditor: str | None, unnamed: Sequence[str] = (), undecoded: Collection[int] = ()
) -> str:  # fmt: skip
    """Return why ledgers that lack replicas may have no mark at present; empty if no reason is known.

    :param enabled: whether autorecovery is switched on.
    :param auditor: the bookie id of the auditor; None if none is elected.
    :param unnamed: ids of unavailable bookies that ledgers may need and that no mark names.
    :param undecoded: ids of ledgers whose metadata cannot be decoded, so that audits leave them out.
    """
    if not enabled:
        return "autorecovery is DISABLED, so the auditor marks no ledger"
    if auditor is None:
        return "NO AUDITOR is elected that marks ledgers"
    if not unnamed:
        return ""
    lost = ", ".join(unnamed[:_NAMED]) + (", ..." if len(unnamed) > _NAMED else "")
    text = (
        f"no mark names {lost}, unavailable: all is repaired, or not audited yet, or the audits fail, or have left out "
        "ledgers, which they read again later (auditor's log)"
    )
    if undecoded:
        verb = "is" if len(undecoded) == 1 else "are"
        text += f"; {undecoded_text(undecoded, f'{verb} left out of audits and read again')}"
    return text


def unmarked_reason(
    replicas: int, write_quorum: int, enabled: bool, auditor: str | None, silent: Collection[str] = (), stored: int = 0
) -> Mapping[str, str]:  # fmt: skip
    """Return, as JSON, what it means that a ledger has no mark: a ``level``, ``good`` or ``bad``, and a ``text``.

    :param replicas: the lowest number of live replicas of its entries.
    :param write_quorum: the number of replicas that it should have.
    :param enabled: whether autorecovery is switched on.
    :param auditor: the bookie id of the auditor; None if none is elected.
    :param silent: ids of its bookies that are registered but do not answer; their replicas are not live.
    :param stored: the lowest number of replicas with those of the ``silent`` bookies.
    """
    if replicas >= write_quorum:
        return {"level": "good", "text": "It is not marked as under-replicated."}
    why = "no auditor is elected that would mark it" if auditor is None else "the auditor has not marked it yet"
    if not enabled:
        why = "autorecovery is disabled, so the auditor does not mark it"
    parts = [f"It lacks replicas, {replicas} of {write_quorum} are left"]
    if silent:
        parts.append(f"{', '.join(sorted(silent))} {'does' if len(silent) == 1 else 'do'} not answer")
    parts.append(why if stored < write_quorum else "no ledger is marked for that")
    return {"level": "bad", "text": "; ".join(parts) + "."}
