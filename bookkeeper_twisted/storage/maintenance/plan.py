"""Chooses, by Apache's thresholds, the entry logs to compact, and which of these logs to compact together."""

from collections.abc import Iterable, Sequence

import attrs

MOST_LOGS = 16
"""Maximum number of old logs to compact and delete together.

To compact several logs together saves index rows: consecutive entries of a ledger that are in several of these logs are
adjacent in the new log, and need only one index row there.
"""

MOST_TARGETS = 8
"""Maximum number of new logs that one compaction writes.

The number is limited because the old logs can be deleted, and their disk space freed, only when all new logs are
finished.
"""


@attrs.frozen
class LogUsage:
    """The size of a completed entry log, and the number of its live bytes.

    :ivar size: size in bytes of all records of the log.
    :ivar live: size in bytes of those records of the log to which index rows refer.
    :ivar error: why the log cannot be read; empty if it can be read.  The ``size`` of an unreadable log is unknown; it
        is set to ``live``, as if the whole log were live.
    :ivar live_entries: number of entries of the log to which index rows refer.
    """

    log_id: int
    size: int
    live: int
    error: str = ""
    live_entries: int = 0

    def share(self, target_size: int = 0) -> float:
        """Return the share of the log's bytes that is live, from 0 to 1.

        :param target_size: a log that is smaller than this number of bytes counts as if it had this size
            (``useTargetEntryLogSizeForGc``); 0 to use the real size.
        """
        size = max(self.size, target_size)
        return self.live / size if size else 0.0


def candidates(logs: Iterable[LogUsage], threshold: float, target_size: int = 0) -> list[LogUsage]:
    """Return the logs that should be compacted: those whose live share is below a threshold, the lowest share first.

    The lower the share, the more space a compaction frees for each copied byte.  A log without live bytes is left out,
    because it is deleted without compaction.

    :param threshold: a share from 0 to 1.
    :param target_size: a log that is smaller than this number of bytes counts as if it had this size; 0 to use the real
        size.
    """
    found = [log for log in logs if log.live and log.share(target_size) < threshold]
    return sorted(found, key=lambda log: (log.share(target_size), log.log_id))


def is_scarce(logs: Sequence[LogUsage], size_limit: int, free: int) -> bool:
    """Test whether low disk space limits how many of ``logs`` can be compacted together.

    If it returns False, :data:`MOST_LOGS` and :data:`MOST_TARGETS` are the only limits.

    :param size_limit: maximum number of bytes of an entry log.
    :param free: free bytes of the disk.
    """
    return free // 2 < min(MOST_TARGETS * size_limit, sum(log.live for log in logs))


def next_group(logs: Sequence[LogUsage], size_limit: int, free: int) -> list[LogUsage]:
    """Return the logs to compact together: as many of the first ``logs`` as can be copied to half of the free space.

    The copy of the first log may take up to seven eighths of the free space, because a log can only be compacted
    completely.  Logs that need even more are skipped.

    :param logs: the logs in the order of :func:`candidates`.
    :param size_limit: maximum number of bytes of an entry log.  The copies of the logs must fit into
        :data:`MOST_TARGETS` new logs of this size.
    :param free: free bytes of the disk.
    :returns: the logs; empty if no log fits.
    """
    group: list[LogUsage] = []
    room = min(MOST_TARGETS * size_limit, free // 2)
    for log in logs:
        if not group and log.live > free * 7 // 8:
            continue
        if len(group) == MOST_LOGS or (group and log.live > room):
            break
        group.append(log)
        room -= log.live
    return group
