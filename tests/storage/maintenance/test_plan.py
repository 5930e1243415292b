"""Which logs are compacted."""

from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.maintenance.plan import (
    MOST_LOGS,
    MOST_TARGETS,
    LogUsage,
    candidates,
    is_scarce,
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

    def _groups(self, lives: Sequence[int], size_limit: int, free: int) -> list[list[int]]:
        """The groups that would follow each other if each gave its space back at once."""
        logs, found = [LogUsage(i, 100, live) for i, live in enumerate(lives)], []
        while group := next_group(logs, size_limit, free):
            found.append([log.log_id for log in group])
            logs = [log for log in logs if log not in group]
        return found

    def test_room(self) -> None:
        """A group takes half of the free space, a log alone up to seven eighths; one that takes more is left out."""
        self.assertEqual(self._groups((40, 60, 1, 176, 175, 10), 100, 200), [[0, 1], [2], [4], [5]])
        self.assertEqual(self._groups((1, 2), 100, 0), [])
        self.assertEqual(next_group([], 100, 200), [])

    def test_targets(self) -> None:
        """A group fills some new logs, however much is free."""
        self.assertEqual(len(self._groups([100] * MOST_TARGETS * 2, 100, 10**9)), 2)

    def test_number(self) -> None:
        """A group has a limit of logs."""
        logs = [LogUsage(i, 100, 1) for i in range(MOST_LOGS + 1)]
        self.assertEqual(next_group(logs, 100, 10**9), logs[:MOST_LOGS])

    def test_scarce(self) -> None:
        """Space is scarce where the next group could be larger."""
        logs = [LogUsage(0, 100, 60), LogUsage(1, 100, 60)]
        self.assertEqual([is_scarce(logs, 100, free) for free in (239, 240)], [True, False])
        self.assertEqual([is_scarce(logs * 20, 100, 200 * MOST_TARGETS - less) for less in (1, 0)], [True, False])
