"""Chooses the entry logs to compact by Apache's thresholds, and which of them to compact together."""

from collections.abc import Iterable, Sequence

import attrs

MOST_LOGS = 16
"""Most logs that are compacted and deleted together; the more they are, the longer the runs of the new logs."""

MOST_TARGETS = 8
"""Most new logs for one group; old logs are deleted only when all new ones are finished, and take space until then."""


@attrs.frozen
class LogUsage:
    """The size of a sealed entry log, and its live bytes.

    :ivar size: bytes of all its records.
    :ivar live: bytes of its records that index rows refer to.
    """

    log_id: int
    size: int
    live: int

    def share(self, target_size: int = 0) -> float:
        """Return the share of the log's bytes that is live, from 0 to 1.

        :param target_size: if the log is smaller, the share of this size is returned (``useTargetEntryLogSizeForGc``).
        """
        size = max(self.size, target_size)
        return self.live / size if size else 0.0


def candidates(logs: Iterable[LogUsage], threshold: float, target_size: int = 0) -> list[LogUsage]:
    """Return the logs whose live share is below a threshold, the lowest first: it frees most per copied byte.

    A log without live bytes is left out, because it is deleted without compaction.

    :param threshold: a share from 0 to 1.
    :param target_size: see :meth:`LogUsage.share`.
    """
    found = [log for log in logs if log.live and log.share(target_size) < threshold]
    return sorted(found, key=lambda log: (log.share(target_size), log.log_id))


def is_scarce(logs: Sequence[LogUsage], size_limit: int, free: int) -> bool:
    """Test whether fewer ``logs`` are compacted together because too little disk space is free.

    :param size_limit: most bytes of an entry log.
    :param free: free bytes of the disk.
    """
    return free // 2 < min(MOST_TARGETS * size_limit, sum(log.live for log in logs))


def next_group(logs: Sequence[LogUsage], size_limit: int, free: int) -> list[LogUsage]:
    """Return the logs to compact together, from the first on: their copies may take half of the free space.

    The first log may take up to seven eighths of the free space, because part of a log cannot be compacted.  If it
    needs more, it is skipped.

    :param logs: the logs in the order of :func:`candidates`.
    :param size_limit: most bytes of an entry log.
    :param free: free bytes of the disk.
    :returns: the logs; none if no log fits.
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
