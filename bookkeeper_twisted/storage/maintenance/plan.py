"""Chooses the entry logs that are worth compacting, by Apache's thresholds, and which of them together."""

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
        """The live share.

        :param target_size: a smaller log counts as if it had this size (``useTargetEntryLogSizeForGc``).
        """
        size = max(self.size, target_size)
        return self.live / size if size else 0.0


def candidates(logs: Iterable[LogUsage], threshold: float, target_size: int = 0) -> list[LogUsage]:
    """Return the logs with a live share below a threshold, first the ones that win the most space for a copied byte.

    A log without live bytes is not copied: it is removed.

    :param threshold: from 0 to 1.
    :param target_size: as of :meth:`LogUsage.share`.
    """
    found = [log for log in logs if log.live and log.share(target_size) < threshold]
    return sorted(found, key=lambda log: (log.share(target_size), log.log_id))


def group_bytes(size_limit: int, free: int) -> int:
    """Live bytes that are compacted together.

    :param size_limit: of a log.
    :param free: bytes of the disk, half of which the copies may take while the old logs are still there.
    """
    return max(size_limit, min(MOST_TARGETS * size_limit, free // 2))


def next_group(logs: Sequence[LogUsage], most_bytes: int) -> list[LogUsage]:
    """Return the first logs, as long as their live bytes together are not more than ``most_bytes``; one at least.

    :param logs: at least one, in the order of :func:`candidates`.
    """
    group: list[LogUsage] = []
    room = most_bytes
    for log in logs[:MOST_LOGS]:
        if group and log.live > room:
            break
        group.append(log)
        room -= log.live
    return group
