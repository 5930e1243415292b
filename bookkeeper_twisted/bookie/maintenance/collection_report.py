"""The state of a garbage collector; what a garbage collection did, and what prevents compactions, in words."""

from collections.abc import Mapping, Sequence

import attrs

MAJOR, MINOR = "major compaction", "minor compaction"
"""The two kinds of compaction; also the phases in which a garbage collector makes them."""


def obstacles(
    kind: str, threshold: float, interval: float, force_allowed: bool, suspended: bool, disk: str
) -> tuple[str, ...]:
    """Return as texts all reasons why even a garbage collection that an operator requests does not compact.

    :param kind: ``major`` or ``minor``.
    :param threshold, interval: the settings of this kind of compaction; 0 disables it.
    :param force_allowed: whether an operator's request may run a compaction whose interval is 0.
    :param suspended: whether an operator has suspended compactions of this kind.
    :param disk: which disk is too full for a compaction of this kind; empty if none is.
    """
    found = []
    if suspended:
        found.append(f"an operator has suspended {kind} compactions, until they are resumed")
    if disk:
        found.append(f"{disk}; isForceGCAllowWhenNoSpace is false")
    if threshold <= 0:
        found.append(f"{kind}CompactionThreshold is 0")
    elif interval <= 0 and not force_allowed:
        found.append(f"{kind}CompactionInterval is 0; forceAllowCompaction is false")
    return tuple(found)


@attrs.define
class CollectorState:
    """The state of the garbage collector, and counts of its work.

    :ivar phase: ``idle``, ``ledgers``, ``logs``, ``major compaction`` or ``minor compaction``.
    :ivar forced: whether an operator has requested the present garbage collection.
    :ivar majors, minors: number of compactions of each kind so far, without those that were cancelled, or failed
        before they had compacted an entry log.
    :ivar ended_major, ended_minor: for each kind, the time at which the last of these compactions ended, in seconds;
        None before the first one.
    :ivar last_major, last_minor: for each kind, the time from which on the interval to the next one counts: the end of
        the last compaction, also of one that failed or was cancelled; for minor ones, also of a major one.  None before
        the first one.
    :ivar suspended_major, suspended_minor: for each kind, whether an operator has suspended its compactions.
    :ivar cancelled: for each kind whose newest compaction was cancelled, by its phase, the time of that, in seconds.
    :ivar deleted_ledgers: number of ledgers deleted so far.
    :ivar runs, failures: number of garbage collections, and number of failures, so far.
    :ivar last_failure: the text of the last failure.
    """

    phase: str = "idle"
    forced: bool = False
    majors: int = 0
    minors: int = 0
    ended_major: float | None = None
    ended_minor: float | None = None
    last_major: float | None = None
    last_minor: float | None = None
    suspended_major: bool = False
    suspended_minor: bool = False
    cancelled: dict[str, float] = attrs.field(factory=dict)
    deleted_ledgers: int = 0
    runs: int = 0
    failures: int = 0
    last_failure: str = ""


@attrs.frozen
class WorkDone:
    """Counts of the work of a garbage collector, since its start or in one garbage collection.

    :ivar ledgers: number of deleted ledgers.
    :ivar compacted: number of entry logs that were compacted.
    :ivar removed: number of removed entry logs, including those that were compacted.
    :ivar freed: number of freed bytes, less the bytes that compactions have written.
    """

    ledgers: int
    compacted: int
    removed: int
    freed: int

    def since(self, before: "WorkDone") -> "WorkDone":
        """Return what was done since the counts ``before``."""
        return WorkDone(
            self.ledgers - before.ledgers, self.compacted - before.compacted, self.removed - before.removed,
            max(self.freed - before.freed, 0),
        )  # fmt: skip


def report(
    done: WorkDone, compaction: str, cancelled: bool, wanted: Mapping[str, Sequence[str]], failure: str
) -> str:  # fmt: skip
    """Say what one garbage collection did, and why it did not compact.

    :param compaction: ``major compaction``, ``minor compaction``, or empty if there was none.
    :param cancelled: whether the compaction was cancelled.
    :param wanted: the kinds of compaction that were requested, with what prevents each of them now.
    :param failure: text of the last failure; empty if there was none.
    """
    text = (
        f"{done.ledgers:,} ledgers were deleted, {done.compacted:,} entry logs compacted and {done.removed:,} removed, "
        f"{done.freed:,} bytes freed"
    )
    if cancelled:
        why = " and ".join(wanted.get(compaction, ()))
        text += f"; the {compaction} was cancelled" + (f": {why}" if why else "")
    elif compaction and not done.compacted and not failure:
        text += f"; the {compaction} found no entry log below its threshold"
    elif not compaction and not wanted:
        text += "; no compaction was requested"
    for kind, reasons in wanted.items():
        if compaction not in (kind, MAJOR) and reasons:
            text += f"; no {kind}: {' and '.join(reasons)}"
    return text + (f"; a part ended with an error: {failure}" if failure else "")
