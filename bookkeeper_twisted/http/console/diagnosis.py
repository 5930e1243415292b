"""Interprets what is known: finds the main cause of slow requests, estimates what a compaction will free, and when a
disk will be full, and tells what limits a repair and what speaks against the loss of one more bookie.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import attrs

from ...autorecovery.replication.lock_reasons import by_kind, reason_of
from ...bookie.admin import DirectoryUsage, EntryLogSpace
from ...bookie.group_commit import HELD, LOOP, QUEUE, SYNC
from ...bookie.lifecycle.disk_monitor import FEW_INODES
from ...bookie.requests.loop_watch import STOPPED, LoopDelay
from ...bookie.requests.slow_requests import (
    CHECKPOINT,
    DISK,
    JOURNAL,
    ROOM,
    ROOM_ON_DISK,
    THREAD,
    TURN,
    PresentWait,
    SlowRequest,
)
from ...metrics import JournalGroup
from ...protocol.server.connected_peers import PeerDelay
from .bookie_answers import ClusterBookie
from .marked_ledgers import DETAILS_SECONDS

WINDOW = 600.0
"""Slow requests, and writes of the journal, that ended more than this number of seconds ago are ignored."""

_DAY = 86400.0
_HOUR = 3600.0
_FEW_HOURS = 4 * _HOUR
_LITTLE = 0.05
"""The free share of a journal's disk from which on the console warns."""

_STALLED = 1.0
"""Seconds without a read of waiting replies from which on a client counts as slow."""

_LASTING = 1.0
"""Seconds from which on a present wait is the main cause, whatever the slow requests before it waited for."""

_FAR = 0.1
"""Seconds of a round trip from which on a client counts as far away; delayed confirmations alone take 0.04 s."""

_SOON = 0.0001
"""The least number of days until a disk is full that is not full yet."""

NEWEST = 20
"""Number of ledger ids, up to the greatest, whose ledgers tell the ensemble size of new ledgers."""

UNSIZED = "what a new ledger needs is not known yet: reading the newest ledgers takes long"
"""What is said of the size of new ledgers before it is known."""

USUAL_ENSEMBLE = 3
"""The ensemble size of new ledgers while there are none from which it could be told."""

SILENT = "registered, but does not answer"
"""What is said of a bookie that is registered, but does not answer this process."""

_OWN_CONSOLE = (
    "only their process's console knows: a bookie's, or, registered nowhere, one at autorecovery's httpServerPort"
)
_NO_RACKS = "; racks, which may be enforced, are not known to this process"
_GIB = 1 << 30

_UNRECORDED = "slowRequestThresholdMs is 0, so no request is recorded as slow"

_CAUSES: Mapping[str, str] = {
    DISK: "disk", SYNC: "disk", HELD: "disk", JOURNAL: "disk", ROOM_ON_DISK: "disk", CHECKPOINT: "disk",
    QUEUE: "queue", ROOM: "queue", THREAD: "queue", TURN: "network", LOOP: "processor", STOPPED: "system",
}  # fmt: skip


@attrs.frozen
class Bottleneck:
    """The main cause of slow requests, or of a present wait.

    :ivar cause: ``disk``, ``queue``, ``network``, ``processor``, ``system`` (the process did not run), or ``none``.
    :ivar text: the cause as a text for an operator.
    :ivar seconds: maps each resource or step to the seconds in which slow requests waited that waited longest for it;
        seconds in which several requests waited count once.
    :ivar queue_ms, write_ms, sync_ms: mean times for which a group of journal entries waited in the queue, was written,
        and was synced; None if there were no groups.
    """

    cause: str
    text: str
    seconds: Mapping[str, float]
    queue_ms: float | None
    write_ms: float | None
    sync_ms: float | None


def bottleneck(
    groups: Iterable[JournalGroup], slow: Iterable[SlowRequest], now: float, threshold: str,
    peer: PeerDelay | None = None, waits: Iterable[PresentWait] = (), delays: Iterable[LoopDelay] = (),
) -> Bottleneck:  # fmt: skip
    """Find the main cause of the slow requests of the last ten minutes: the one that took most of their time.

    Something that has lasted for a second or more at present comes first: the requests that wait for it are not among
    the slow requests before it has ended.

    :param groups: the newest groups of journal entries; a journal writes and syncs the entries of a group together.
    :param slow: the newest slow requests.
    :param now: the time in seconds since the epoch.
    :param threshold: the value of ``slowRequestThresholdMs``.  If it is 0 or empty, no slow requests are recorded.  The
        cause is then derived from the mean times of the journal groups.
    :param peer: the client that delays its replies most at present; if no request is slow, it, or the network to it,
        may be the cause.
    :param waits: what requests wait for at present.
    :param delays: times in which the event loop was held up.  Requests that arrived meanwhile are not among the slow
        ones, so the longest delay is the cause if there are no slow requests.
    """
    newest = [group for group in groups if now - group.ended <= WINDOW]
    waited: dict[str, list[tuple[float, float]]] = {}
    for request in slow:
        if now - request.ended <= WINDOW:
            waited.setdefault(request.waited_for, []).append((request.ended - request.millis / 1000, request.ended))
    seconds = {name: _covered(times) for name, times in waited.items()}
    queue, write = _mean([group.waited for group in newest]), _mean([group.written for group in newest])
    sync = _mean([group.synced for group in newest if group.synced is not None])
    is_recorded, network = threshold not in ("", "0"), _network(peer)
    is_unread = peer is not None and peer.stalled >= _STALLED
    recorded = _recorded(threshold) if is_recorded else _UNRECORDED
    present, held_up = _present(waits), [delay for delay in delays if now - delay.end <= WINDOW]
    if present is not None:
        cause = _CAUSES[present.waited_for]
        text = f"the {cause}: {_described(present)}"
    elif seconds:
        cause, waited_for = _longest(seconds)
        text = f"the {cause}: slow requests waited longest for {waited_for}"
    elif network and (not held_up or is_unread):
        before = f"{_of_longest(held_up)[1]}; " if held_up else ""
        cause, text = "network", f"the network: {network}; in this bookie: {before}{recorded}"
    elif held_up:
        cause, text = _of_longest(held_up)
        text += f"; besides, {recorded}"
    elif not is_recorded:
        cause, text = _of_journal(queue, (write or 0.0) + (sync or 0.0))
    else:
        cause, text = "none", f"nothing in this bookie: {recorded}, and no client is far away or does not read"
    return Bottleneck(cause, text, seconds, queue, write, sync)


def _of_journal(queue: float | None, on_disk: float) -> tuple[str, str]:
    """Return the cause by the mean times of the journal groups, if no request is recorded as slow."""
    if queue is None:
        return "none", _UNRECORDED
    cause, what = ("queue", "the queue") if queue > on_disk else ("disk", "the disk")
    return cause, f"{_UNRECORDED}; of an add, most is {what} of the journal"


def _present(waits: Iterable[PresentWait]) -> PresentWait | None:
    """Return the longest of the present ``waits``; None if none has lasted for a second.

    One for a queue is returned only if there is no other: the queue may be full because of the other.
    """
    lasting = [wait for wait in waits if wait.seconds >= _LASTING]
    return max(lasting, key=lambda wait: (_CAUSES[wait.waited_for] != "queue", wait.seconds), default=None)


def _described(wait: PresentWait) -> str:
    name, seconds = wait.waited_for, f"{wait.seconds:.0f} s"
    where = f": it waits for {wait.where}" if wait.where else ""
    if name in (ROOM, ROOM_ON_DISK):
        return f"adds have waited for {seconds} for {name}{where}"
    if name == THREAD:
        return f"reads have waited for {seconds} for {name}"
    return f"{name} {'have' if name == SYNC else 'has'} lasted for {seconds}{where}"


def _recorded(threshold: str) -> str:
    return f"no request took {threshold} ms in the last ten minutes"


def _of_longest(delays: Iterable[LoopDelay]) -> tuple[str, str]:
    """Return the cause of the longest of some delays of the event loop, and a text that says when it was."""
    delay = max(delays, key=lambda each: each.end - each.start)
    at, seconds = datetime.fromtimestamp(delay.end, UTC), delay.end - delay.start
    cause = _CAUSES[delay.cause]
    return cause, f"the {cause}: until {at:%H:%M:%S} UTC, for {seconds:.1f} s, clients waited for {delay.cause}"


def _network(peer: PeerDelay | None) -> str:
    """Return how the network, or the client itself, delays the replies to ``peer``; an empty text if it does not."""
    if peer is None:
        return ""
    if peer.stalled >= _STALLED:
        return f"{peer.peer} has read nothing of the replies that wait for {peer.stalled:.0f} s"
    if peer.round_trip is not None and peer.round_trip >= _FAR:
        return f"a round trip to {peer.peer} takes {peer.round_trip * 1000:.0f} ms"
    return ""


def _longest(seconds: Mapping[str, float]) -> tuple[str, str]:
    """Return the cause (``disk``, for example) with the most seconds, and its resource or step with the most seconds.

    The seconds of a cause are the sum over the resources and steps that belong to the cause.

    :param seconds: maps each resource or step to the seconds in which slow requests waited for it.
    """
    by_cause: dict[str, float] = {}
    for waited_for, spent in seconds.items():
        by_cause[_CAUSES[waited_for]] = by_cause.get(_CAUSES[waited_for], 0.0) + spent
    cause = max(by_cause, key=by_cause.__getitem__)
    return cause, max((each for each in seconds if _CAUSES[each] == cause), key=seconds.__getitem__)


def _covered(times: Iterable[tuple[float, float]]) -> float:
    """Return the number of seconds that are within at least one of ``times``, which are pairs of start and end."""
    covered, until = 0.0, -math.inf
    for start, end in sorted(times):
        covered += max(end - max(start, until), 0.0)
        until = max(until, end)
    return covered


def _mean(values: Sequence[float]) -> float | None:
    return round(1000 * sum(values) / len(values), 3) if values else None


@attrs.frozen
class CompactionGain:
    """The estimated result of a compaction, major or minor, if it has the disk space and the time for all its logs.

    :ivar logs: number of entry logs that would be compacted.
    :ivar freed: number of bytes of disk space that would be freed.
    :ivar copied: total size in bytes of live entries that would be copied.
    """

    logs: int
    freed: int
    copied: int


def compaction_gain(chosen: Sequence[EntryLogSpace]) -> CompactionGain:
    """Estimate the result of a compaction of the ``chosen`` entry logs."""
    live = sum(log.live for log in chosen)
    return CompactionGain(len(chosen), sum(log.n_bytes for log in chosen) - live, live)


def disk_warning(disk: DirectoryUsage) -> str:
    """Return a warning if a ``disk`` has few or no inodes left; an empty text if it has enough."""
    if disk.free_inodes is None or disk.free_inodes >= FEW_INODES:
        return ""
    return f"{disk.free_inodes} inodes left: without inodes, no file can be made, whatever bytes are free"


def journal_warning(disk: DirectoryUsage) -> str:
    """Return a warning if the ``disk`` of a journal has little space left; empty if it has enough or is not known."""
    if disk.reason or disk.free > disk.total * _LITTLE:
        return ""
    return f"{disk.free:,} bytes are left for the journal: once it needs more than what is allocated, the bookie ends"


@attrs.frozen
class FullForecast:
    """The time at which a disk will be full, by the growth of the last days or of the last hour: the earlier of both.

    :ivar days: number of days; 0 if the disk is full; None if no growth is known, or none is positive.
    :ivar text: over which time the growth was measured, and what the other growth says; empty if the disk is full or no
        growth is known.
    """

    days: float | None
    text: str


def full_forecast(disk: DirectoryUsage, threshold: float) -> FullForecast:
    """Estimate when a ``disk`` is full.

    :param threshold: share of used space at which a disk counts as full, from 0 to 1.
    """
    left = disk.free - (1 - threshold) * disk.total
    if left <= 0:
        return FullForecast(0.0, "")
    known = [
        (_days(left, growth), f"the last {_words(span)}")
        for growth, span in ((disk.recent, _HOUR), (disk.growth, disk.span)) if growth is not None
    ]  # fmt: skip
    if not known:
        return FullForecast(None, "")
    if len(known) == 2 and disk.span <= (_HOUR if known[0][0] is not None else _FEW_HOURS):
        del known[1]  # both were measured over the same time, or the last hour is much of it and shows no growth
    (days, window), *others = sorted(known, key=lambda each: math.inf if each[0] is None else each[0])
    texts = [f"by the growth of {window}"]
    texts += [f"by that of {other}: {'not filling' if later is None else f'{later:.1f} days'}"
              for later, other in others]  # fmt: skip
    return FullForecast(days, "; ".join(texts))


def _days(left: float, growth: float) -> float | None:
    """Return the days until ``left`` bytes are used at a ``growth`` in bytes per second; None if that is never."""
    return max(round(left / growth / _DAY, 4), _SOON) if growth > 0 else None  # 0 would mean that it is full already


def _words(seconds: float) -> str:
    if seconds < 1.5 * _HOUR:
        return "hour"
    return f"{seconds / _HOUR:.0f} hours" if seconds < 2 * _DAY else f"{seconds / _DAY:.0f} days"


@attrs.frozen
class RiskReason:
    """A fact that tells whether the cluster can lose one more bookie without losing entries.

    :ivar safe: False if the cluster cannot lose a bookie because of this fact, None if this is not known, else True.
    :ivar text: the fact, for an operator.
    """

    safe: bool | None
    text: str


def risks(
    rows: Sequence[ClusterBookie], marked: bool, enabled: bool, auditor: str | None, ensemble: int = USUAL_ENSEMBLE,
    unneeded: Collection[str] = (), unread: str = "", unplaceable: str = "",
    has_racks: bool = True, is_idle: bool = False, is_sized: bool = True,
) -> list[RiskReason]:  # fmt: skip
    """Return facts that tell whether the cluster can lose one more bookie without losing entries.

    The facts depend on bookies, underreplicated marks and autorecovery; the ledgers themselves are not examined.

    :param rows: the bookies of the cluster.  One that does not answer does not count as one that would be left.
    :param marked: whether any ledger has an underreplicated mark.
    :param enabled: whether autorecovery is switched on.
    :param auditor: the bookie id of the auditor; None if none is elected.
    :param ensemble: number of writable bookies that a new ledger needs.
    :param unneeded: ids of bookies that are unavailable, or do not answer, and that no ledger needs.
    :param unread: why ``marked``, ``enabled`` and ``auditor`` are not known; empty if they are.
    :param unplaceable: after the loss of which bookie no ensemble could be chosen, although enough are left, and why;
        empty if one could be chosen.
    :param has_racks: whether this process knows the racks of bookies, which a placement policy may enforce.
    :param is_idle: whether no replication worker has locked a ledger, although ledgers are marked.
    :param is_sized: whether ``ensemble`` is known; False if the newest ledgers are not read yet, or no longer new.
    """
    writable = [row for row in rows if row.state == "writable" and not row.why]
    silent = [row.id for row in rows if row.state == "writable" and row.why]
    lost = ", ".join([row.id for row in rows if row.state == "unavailable" and row.id not in unneeded])
    hung = ", ".join([f"{row.id} ({row.why})" for row in rows if row.why and row.id not in unneeded])
    needs = f"a new ledger needs {ensemble}, by the newest {NEWEST} ledgers" if is_sized else UNSIZED
    gone = [f"{what}: {which}" for what, which in (("unavailable", lost), (SILENT, hung)) if which]
    there = "all bookies that ledgers need are there" if unneeded else "all bookies are there"
    known = [(row.total, row.free) for row in writable if row.total is not None and row.free is not None]
    unknown = len(writable) + len(silent) - len(known)
    uncounted = f"; {unknown} of {unknown + len(known)} writable bookies not counted: free space unknown"
    fullest = max((total - free for total, free in known), default=0)
    others = sum(free for _, free in known) - max((free for _, free in known), default=0)
    return [
        RiskReason(not gone, "; ".join(gone) if gone else there),
        *_of_autorecovery(marked, enabled, auditor, unread, is_idle),
        RiskReason(
            len(writable) > ensemble and not unplaceable if is_sized else None,
            f"{max(len(writable) - 1, 0)} writable bookies would be left; {needs}"
            + (f"; {unplaceable}" if unplaceable and is_sized else "")
            + ("" if has_racks else _NO_RACKS)
            + (f"; not counted, as there is no answer: {', '.join(silent)}" if silent else ""),
        ),
        RiskReason(
            others > fullest,
            f"{others / _GIB:.1f} GiB are free elsewhere for the {fullest / _GIB:.1f} GiB of the fullest bookie"
            + uncounted * bool(unknown),
        ),
    ]  # fmt: skip


def _of_autorecovery(
    marked: bool, enabled: bool, auditor: str | None, unread: str, is_idle: bool
) -> list[RiskReason]:  # fmt: skip
    if unread:
        return [RiskReason(None, f"marks, switch and auditor cannot be read: {unread}")]
    # Workers are registered nowhere: nobody can tell whether there is one before ledgers are marked.
    work = "no ledger is marked for repair; whether a replication worker runs shows only when one is"
    if marked:
        idle = "; no replication worker is at work: nothing is repaired at present"
        work = f"ledgers lack replicas already{idle if is_idle else ''}"
    return [
        RiskReason(not marked, work),
        RiskReason(enabled, "autorecovery is enabled" if enabled else "autorecovery is disabled: nothing is repaired"),
        RiskReason(
            auditor is not None,
            "no auditor is elected: a loss would not be noticed" if auditor is None else f"the auditor is {auditor}",
        ),
    ]


def repair_limit(
    count: int, locks: Mapping[int, str] | None, enabled: bool, alone: str, writable: int, waiting: str,
    elsewhere: Collection[str] = (), is_more: bool = False,
) -> str:  # fmt: skip
    """Return a text that says what limits the speed of the repair of underreplicated ledgers.

    :param count: number of ledgers with an underreplicated mark.
    :param locks: the text in each replication lock, by ledger id; None if the locks could not be read in time.
    :param enabled: whether autorecovery is switched on.
    :param alone: why ledgers that lack replicas may have no mark; empty if no reason is known.
    :param writable: number of writable bookies.
    :param waiting: the speed limit for which replication waits in this process; empty if there is none.
    :param elsewhere: hosts of other processes that are repairing ledgers, whose speed limits are unknown here.
    :param is_more: whether there may be more marks than ``count``.
    """
    at_least = "at least " if is_more else ""
    if not enabled:
        further, which = ("further ", "others") if count else ("", "any")
        unknown = f"no {further}ledger is marked, so whether {which} lack replicas is not known"
        return f"autorecovery is disabled: enable it; until then {unknown}"
    if not count:
        return f"no ledger is marked, but some may lack replicas: {alone}" if alone else "nothing has to be repaired"
    obstacles = [f"the speed limit {waiting}"] if waiting else []
    if locks is None:
        return "; and ".join([*obstacles, f"what the workers say could not be read within {DETAILS_SECONDS:g} s"])
    count = max(count, len(locks))  # of marks that are listed slowly, more may be locked than were found
    reasons = {ledger_id: reason for ledger_id, text in locks.items() if (reason := reason_of(text))}
    if reasons:
        example, alike = by_kind(reasons)[0]
        share = "" if len(alike) == len(reasons) else f", {len(alike)} of them"
        obstacles.append(f"{len(reasons)} of {len(locks)} locked ledgers wait{share}: {example}")
    if obstacles and elsewhere:
        waiting_for_one = f", and {at_least}{count - len(locks)} wait for a free worker" if count > len(locks) else ""
        obstacles.append(
            f"{len(locks) - len(reasons)} are being repaired{waiting_for_one}: whether a speed limit slows those on "
            f"{', '.join(elsewhere)}, {_OWN_CONSOLE}"
        )
    if obstacles:
        return "; and ".join(obstacles)
    if not locks:
        return "no replication worker is at work: does a process run autorecovery?" + (f"; {alone}" if alone else "")
    share = f"{len(locks)} of {at_least}{count}"
    known = f"the workers: {share} ledgers are being repaired, onto {writable} writable bookies"
    if not elsewhere:
        return known
    return f"{known}; whether a speed limit slows those on {', '.join(elsewhere)}, {_OWN_CONSOLE}"
