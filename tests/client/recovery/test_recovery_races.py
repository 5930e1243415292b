"""Recoveries against each other and against a living writer, in orders that chance decides (S12-S15, S17)."""

from random import Random
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, LedgerRecoveryError
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo, DigestType
from bookkeeper_twisted.testing.bookies import MemoryBookies

QUORUMS = ((3, 3, 2), (3, 2, 2), (2, 2, 1), (4, 2, 2), (4, 3, 2), (5, 3, 2), (3, 3, 3))


class UnevenBookies(MemoryBookies):
    """Every request takes a time of its own, so that anything overtakes anything; some are lost.

    :ivar loss: the part of the requests that fail.
    """

    def __init__(self, clock: Clock, chance: Random, loss: float) -> None:
        super().__init__(clock)
        self.loss = loss
        self._root = self  # flows are copies
        self._chance = chance

    def _after(self, delay: float) -> "Deferred[None]":
        def lose(_: None) -> None:
            if self._chance.random() < self._root.loss:
                raise BookieHandleNotAvailableError("lost")

        return super()._after(delay + self._chance.random()).addCallback(lose)


@attrs.define
class Race:
    """What one run is about."""

    seed: int
    quorums: tuple[int, int, int]
    n_entries: int
    n_recoveries: int
    n_down: int
    batches: bool
    loss: float = 0.0


RACES = st.builds(
    Race, st.integers(0, 1 << 32), st.sampled_from(QUORUMS), st.integers(0, 12), st.integers(1, 5), st.integers(0, 1),
    st.booleans(), st.sampled_from((0.0, 0.0, 0.2)),
)  # fmt: skip


class _Run:
    """A writer, several recoveries, and a clock."""

    def __init__(self, case: SynchronousTestCase, race: Race, rules: type[RecoveryRules] = RecoveryRules) -> None:
        self.case, self.race, self.rules = case, race, rules
        self.chance = Random(race.seed)
        self.clock = Clock()
        self.store = MemoryStore()
        self.bookies = UnevenBookies(self.clock, self.chance, race.loss)
        self.acked: list[int] = []
        self.cluster: Any = self.store.driver(self.clock)
        self.do(self.cluster.open())
        for i in range(race.quorums[0] + 2):
            self.do(self.cluster.registration.register_bookie(f"b{i}", False, BookieServiceInfo()))

    def client(self) -> BookKeeper:
        """Another client of the cluster."""
        driver = self.store.driver(self.clock)
        self.do(driver.open())
        config = ClientConfig(batch_read_enabled=self.race.batches, explicit_lac_interval=0)
        client = BookKeeper(self.clock, driver, self.bookies, Random(self.race.seed), config)
        client._recovery_rules = self.rules
        return client

    def do(self, work: Any) -> Any:
        """The result of a Deferred or coroutine."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        for _ in range(1000):
            if deferred.called:
                break
            self.clock.advance(0.1)
        return self.case.successResultOf(deferred)

    def pass_time(self, seconds: float) -> None:
        """Lets things happen in small steps."""
        for _ in range(int(seconds * 10)):
            self.clock.advance(0.1)

    def write(self) -> int:
        """A ledger whose writer goes on appending; its id."""
        writer = self.do(self.client().create_ledger(*self.race.quorums, b"", DigestType.CRC32C))

        def append() -> None:
            writer.append(b"%09d|" % (writer.last_add_pushed + 1)).addCallbacks(self.acked.append, lambda _: None)

        at = 0.0
        for _ in range(self.race.n_entries):
            at += self.chance.random()
            self.clock.callLater(at, append)
        return int(writer.ledger_id)

    def recover(self, ledger_id: int) -> "list[Deferred[Any]]":
        """Recoveries by different clients, begun at different times."""
        started = []
        for _ in range(self.race.n_recoveries):
            self.pass_time(self.chance.random() * 4)
            started.append(self.client().open_ledger(ledger_id))
            started[-1].addErrback(lambda failure: failure.value)
        self.pass_time(60)
        return started


class RaceTests(SynchronousTestCase):
    """Every run ends with one truth."""

    def run_race(self, race: Race, rules: type[RecoveryRules] = RecoveryRules) -> None:
        """One run, and what must hold after it."""
        run = _Run(self, race, rules)
        ledger_id = run.write()
        stored = run.do(run.cluster.ledgers.read(ledger_id)).value
        run.pass_time(run.chance.random() * 6)
        for name in run.chance.sample(stored.segments[-1].bookies, race.n_down if stored.ack_quorum_size > 1 else 0):
            run.bookies[name].up = False
        outcomes = [self.successResultOf(one) for one in run.recover(ledger_id)]
        run.bookies.loss = 0.0
        readers = [outcome for outcome in outcomes if not isinstance(outcome, LedgerRecoveryError)]
        self.assertTrue(race.loss or len(readers) == race.n_recoveries, f"{race}: {outcomes}")
        readers.append(run.do(run.client().open_ledger(ledger_id)))
        ends = {(reader.last_add_confirmed, reader.length) for reader in readers}
        self.assertEqual(len(ends), 1, race)
        closed = run.do(run.cluster.ledgers.read(ledger_id)).value
        last = closed.last_entry_id
        self.assertEqual(ends, {(last, (last + 1) * 10)}, race)
        self.assertLessEqual(max(run.acked, default=-1), last, race)
        if last >= 0:
            entries = run.do(readers[0].read(0, last))
            self.assertEqual([e.data for e in entries], [b"%09d|" % n for n in range(last + 1)], race)

    @given(RACES)
    def test_races(self, race: Race) -> None:
        """All recoveries end at one entry, nothing acknowledged is beyond it, all of it can be read."""
        self.run_race(race)

    @given(RACES)
    def test_dying_recoveries(self, race: Race) -> None:
        """Recoveries that die at any moment do not keep the last one from ending well."""
        run = _Run(self, race)
        ledger_id = run.write()
        for _ in range(race.n_recoveries):
            run.pass_time(run.chance.random() * 3)
            dying = run.client().open_ledger(ledger_id)
            dying.addErrback(lambda _: None)
            run.pass_time(run.chance.random() * 3)
            dying.cancel()
        run.pass_time(20)
        run.bookies.loss = 0.0
        reader = run.do(run.client().open_ledger(ledger_id))
        self.assertLessEqual(max(run.acked, default=-1), reader.last_add_confirmed, race)
        self.assertEqual(reader.length, (reader.last_add_confirmed + 1) * 10)
        run.pass_time(20)
        self.assertLessEqual(max(run.acked, default=-1), reader.last_add_confirmed, race)

    # ---- planted bugs --------------------------------------------------------------------------------

    def noticed(self, rules: type[RecoveryRules]) -> bool:
        """Whether one of some hundred runs goes wrong with weaker rules."""
        chance = Random(1)
        for seed in range(400):
            quorums = chance.choice(((3, 3, 2), (4, 2, 2), (4, 3, 2), (5, 3, 2)))
            try:
                self.run_race(Race(seed, quorums, 8, 2, 1, bool(seed % 2), chance.choice((0.0, 0.2))), rules)
            except self.failureException:
                return True
        return False

    def test_good_rules(self) -> None:
        """The rules as they are go through the runs that the planted bugs do not."""
        self.assertFalse(self.noticed(RecoveryRules))

    def test_first_error(self) -> None:
        """A recovery that takes errors for negatives is noticed."""

        class FirstError(RecoveryRules):
            def is_negative(self, error: Exception) -> bool:
                return True

        self.assertTrue(self.noticed(FirstError))

    def test_one_negative(self) -> None:
        """A recovery that stops at one negative is noticed."""

        class OneNegative(RecoveryRules):
            def was_never_acknowledged(self, negatives: int) -> bool:
                return negatives > 0

        self.assertTrue(self.noticed(OneNegative))

    def test_no_fence(self) -> None:
        """A recovery that fences first, but not with every read, is noticed."""

        class NoFence(RecoveryRules):
            def read_flags(self) -> int:
                return 0

        self.assertTrue(self.noticed(NoFence))

    def test_start(self) -> None:
        """A recovery that begins after the first entry of the newest ensemble is noticed."""

        class AfterTheStart(RecoveryRules):
            def confirmed(self, heard_lac: int) -> int:
                return max(heard_lac, self.metadata.segments[-1].first_entry_id)

        self.assertTrue(self.noticed(AfterTheStart))
