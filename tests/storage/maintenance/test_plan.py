"""Which logs are compacted."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.maintenance.plan import (
    MOST_LOGS,
    MOST_TARGETS,
    LogUsage,
    candidates,
    group_bytes,
    next_group,
)


class CandidateTests(SynchronousTestCase):
    """By their live share."""

    def test_threshold(self) -> None:
        """A log with a live share below the threshold is taken, the emptiest first; an empty one is not copied."""
        logs = [LogUsage(0, 100, 80), LogUsage(1, 100, 79), LogUsage(2, 100, 0), LogUsage(3, 1000, 100)]
        self.assertEqual([log.log_id for log in candidates(logs, 0.8)], [3, 1])

    def test_target_size(self) -> None:
        """With a target size, a small log counts as a big one that is mostly empty."""
        small = LogUsage(0, 100, 100)
        self.assertEqual(candidates([small], 0.8), [])
        self.assertEqual(candidates([small], 0.8, target_size=1000), [small])

    def test_no_records(self) -> None:
        """A log without any record has no share."""
        self.assertEqual(LogUsage(0, 0, 0).share(), 0)


class GroupTests(SynchronousTestCase):
    """Logs that are compacted together."""

    def test_room(self) -> None:
        """A group has a limit of live bytes; what does not fit alone is alone."""
        logs = [LogUsage(i, 100, live) for i, live in enumerate((40, 60, 1, 200, 10))]
        found = [[log.log_id for log in next_group(logs[first:], 100)] for first in range(5)]
        self.assertEqual(found, [[0, 1], [1, 2], [2], [3], [4]])
        self.assertEqual(next_group([], 100), [])

    def test_number(self) -> None:
        """A group has a limit of logs."""
        logs = [LogUsage(i, 100, 1) for i in range(MOST_LOGS + 1)]
        self.assertEqual(next_group(logs, 10**9), logs[:MOST_LOGS])

    def test_bytes(self) -> None:
        """A group fills some new logs, fewer where the disk has no space for both the copies and the old logs."""
        self.assertEqual(group_bytes(100, 10**9), 100 * MOST_TARGETS)
        self.assertEqual(group_bytes(100, 500), 250)
        self.assertEqual(group_bytes(100, 0), 100)
