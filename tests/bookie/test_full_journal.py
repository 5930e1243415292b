"""Lives drawn by chance on a journal disk without a free byte: restarts while it is full, and with space again."""

from random import Random
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import NO_SPACE

from ..silence import forget_failures
from ..simulated_disk.crash import Facts
from ..simulated_disk.small_disk import SmallDisk
from .crash_life import JOURNALS, Life, Parts, check_promises, run

_JOURNAL = "/journal0"
_MOST_ADDS = 200


@attrs.define
class FullJournal:
    """The life that a seed draws.

    :ivar checkpoints: how often an add is followed by a checkpoint; without any, the journals fill the disk themselves.
    :ivar outcomes: what became of each process on the full disk: ``refused`` its start, or ``stopped`` by an add, or
        ``served`` from files that it used again.
    """

    chance: Random
    disk: SmallDisk
    parts: Parts
    checkpoints: float
    facts: Facts = attrs.Factory(list)
    outcomes: set[str] = attrs.Factory(set)
    entry_id: int = 0

    @classmethod
    def drawn(cls, seed: int) -> "FullJournal":
        """A journal disk of any size, whose files are used again or not."""
        chance = Random(seed)
        journals = attrs.evolve(
            JOURNALS, reuse=chance.random() < 0.7, max_backups=chance.choice((0, 2)), max_spares=chance.choice((0, 2))
        )
        disk = SmallDisk({_JOURNAL: chance.randrange(30_000, 60_000)})
        return cls(chance, disk, Parts(journals=journals), chance.choice((0.0, 0.05)))

    def adds(self, life: Life, most: int) -> None:
        """Add to two ledgers until the journal fails."""
        for _ in range(most):
            count = self.chance.randint(1, 4)
            life.add(run(1 + self.chance.randrange(2), self.entry_id, count, size=self.chance.choice((40, 300))))
            self.entry_id += count
            life.drain()
            if life.failures:
                return
            if self.chance.random() < self.checkpoints:
                life.checkpoint()

    def end(self) -> None:
        """By a kill or by a power cut."""
        odds = self.chance.choice((0.0, 0.5, 1.0))
        kept = [index for index in range(self.disk.pending_count()) if self.chance.random() < odds]
        after: Any = self.disk.crash(kept)
        self.disk.kill()
        self.disk = after

    def _fill_up(self, free: int) -> None:
        """By another file."""
        if self.checkpoints:
            self.disk.fill(_JOURNAL, free)

    def fill(self) -> None:
        """The disk becomes full while clients add."""
        life = Life(self.disk, self.facts, self.parts)
        self.adds(life, self.chance.randrange(30))
        self._fill_up(self.chance.choice((0, 0, 512, 3000)))
        self.adds(life, _MOST_ADDS)
        self.end()

    def start_while_full(self) -> None:
        """A start that has no space says so; one that serves has everything."""
        self._fill_up(0)
        try:
            life = Life(self.disk, self.facts, self.parts)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            self.outcomes.add("refused")
            self.end()
            return
        check_promises(life, self.facts)
        self.adds(life, self.chance.choice((3, _MOST_ADDS)))
        self.outcomes.add("stopped" if life.failures else "served")
        if any(getattr(failure.value, "errno", None) not in NO_SPACE for failure in life.failures):
            raise AssertionError(life.failures)
        self.end()

    def start_with_space(self) -> None:
        """Adds go on, and nothing that was acknowledged is lost.

        :raises AssertionError: it is not so.
        """
        self.disk.foreign[_JOURNAL] = 0
        life = Life(self.disk, self.facts, self.parts)
        check_promises(life, self.facts)
        life.add(run(1, self.entry_id))
        life.drain()
        if self.facts[-1] != ("acked", 1, self.entry_id):
            raise AssertionError(f"the add was not acknowledged: {life.failures}")
        check_promises(life, self.facts)


class FullJournalTests(SynchronousTestCase):
    """A journal disk that another file, or what no checkpoint has flushed, fills to its last byte."""

    def test_lives(self) -> None:
        """Every acknowledged entry outlives restarts while the disk is full, and adds go on with space (S1, S10)."""
        outcomes = set[str]()
        for seed in range(150):
            life = FullJournal.drawn(seed)
            try:
                life.fill()
                for _ in range(life.chance.randint(1, 3)):
                    life.start_while_full()
                life.start_with_space()
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise
            outcomes |= life.outcomes
        forget_failures(self)
        self.assertLessEqual({"stopped", "served"}, outcomes)
