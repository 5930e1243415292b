"""Chooses the entry logs to compact by Apache's thresholds, and groups them for common runs."""

from collections.abc import Iterable, Sequence

import attrs

MOST_LOGS = 16
"""Logs that are compacted together, and removed: the more there are, the longer the runs they become."""

MOST_TARGETS = 8
"""New logs that a group may fill: its old logs go when the last of them is finished, so they take space for so long."""


@attrs.frozen
class LogUsage:
    """The space of one sealed entry log.

    :ivar size: bytes of all its records.
    :ivar live: bytes of the records that index rows refer to.
    """

    log_id: int
    size: int
    live: int

    def share(self, target_size: int = 0) -> float:
        """Return the live share of a log's bytes, between 0 and 1.

        :param target_size: a smaller log counts as if it had this size (``useTargetEntryLogSizeForGc``).
        """
        size = max(self.size, target_size)
        return self.live / size if size else 0.0


def candidates(logs: Iterable[LogUsage], threshold: float, target_size: int = 0) -> list[LogUsage]:
    """Return the logs with a live share below a threshold, the lowest share first: it frees most per copied byte.

    A log without live bytes is not copied: it is removed.

    :param threshold: from 0 to 1.
    :param target_size: as of :meth:`LogUsage.share`.
    """
    found = [log for log in logs if log.live and log.share(target_size) < threshold]
    return sorted(found, key=lambda log: (log.share(target_size), log.log_id))


def is_scarce(logs: Sequence[LogUsage], size_limit: int, free: int) -> bool:
    """Test whether the lack of free space makes a group of ``logs`` smaller than it could be.

    :param size_limit: of a log.
    :param free: bytes of free space on the disk.
    """
    return free // 2 < min(MOST_TARGETS * size_limit, sum(log.live for log in logs))


def next_group(logs: Sequence[LogUsage], size_limit: int, free: int) -> list[LogUsage]:
    """Return the first logs to compact together, as many as need at most half of the free space for their copies.

    One log may take seven eighths of it, as less than a whole log frees nothing.  A log that takes more is skipped.

    :param logs: in the order of :func:`candidates`.
    :param size_limit: of a log.
    :param free: bytes of free space on the disk.
    :returns: an empty list if no log fits.
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
