"""Which entry logs are worth compacting, by Apache's thresholds."""

from collections.abc import Iterable, Sequence

import attrs

MOST_LOGS = 16
"""Logs that are compacted together: the more there are, the longer the runs they become."""


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
    """The logs with a live share below a threshold, first the ones that win the most space for a copied byte.

    A log without live bytes is not copied: it is removed.
    """
    found = [log for log in logs if log.live and log.share(target_size) < threshold]
    return sorted(found, key=lambda log: (log.share(target_size), log.log_id))


def groups(logs: Sequence[LogUsage], size_limit: int) -> list[list[LogUsage]]:
    """Logs in their order, put together as long as what is live in them fits one new log.

    A single small log alone in its group gains nothing from being copied if all of it is live; it still may be one.
    """
    result: list[list[LogUsage]] = []
    room = 0
    for log in logs:
        if not result or log.live > room or len(result[-1]) >= MOST_LOGS:
            result.append([])
            room = size_limit
        result[-1].append(log)
        room -= log.live
    return result
