"""The compare-and-set loop."""

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import (
    MetadataError,
    MetadataOutcomeUnknownError,
    MetadataUnavailableError,
    MetadataVersionError,
    NoSuchLedgerMetadataError,
)
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.update_loop import MAX_DOUBTS, MAX_RACES, update
from bookkeeper_twisted.model import LedgerMetadata, LedgerState
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import OPEN


def _is_open(metadata: LedgerMetadata) -> bool:
    return metadata.state is LedgerState.OPEN


def _recovering(metadata: LedgerMetadata) -> LedgerMetadata:
    return attrs.evolve(metadata, state=LedgerState.IN_RECOVERY)


class Forgetful:
    """A ledger manager that loses answers: of writes that were applied, and of others."""

    def __init__(self, ledgers: Any, losses: list[bool]) -> None:
        self.read = ledgers.read
        self.losses = losses
        self._write = ledgers.write

    async def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        """Writes, or not, and fails as long as there are losses."""
        if not self.losses or self.losses[0]:
            written: Versioned[LedgerMetadata] = await self._write(ledger_id, metadata, version)
        if self.losses:
            self.losses.pop(0)
            raise MetadataError("connection lost")
        return written


class Behind(Forgetful):
    """One that loses the first write, and is then asked at a server that is behind."""

    def __init__(self, ledgers: Any, old: Versioned[LedgerMetadata]) -> None:
        super().__init__(ledgers, [False])
        self.read = self._read_old
        self._old = old
        self._reads = 0

    async def _read_old(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        self._reads += 1
        assert self._reads < 10, "asked again and again"
        return self._old


class Contested(Forgetful):
    """One whose ledger other clients change before each of the first writes."""

    async def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        """Loses the race as long as there are losses."""
        if self.losses:
            self.losses.pop()
            found = await self.read(ledger_id)
            await self._write(ledger_id, attrs.evolve(found.value, ctime=len(self.losses)), found.version)
        written: Versioned[LedgerMetadata] = await self._write(ledger_id, metadata, version)
        return written


class Gone:
    """A ledger manager that does not answer in time."""

    def __init__(self, error: MetadataUnavailableError) -> None:
        self.calls: list[str] = []
        self._error = error

    async def write(self, *_: object) -> Versioned[LedgerMetadata]:
        """Fails with the error."""
        self.calls.append("write")
        raise self._error

    async def read(self, *_: object) -> Versioned[LedgerMetadata]:
        """Fails, too."""
        self.calls.append("read")
        raise MetadataUnavailableError("not read")


class UpdateTests(SynchronousTestCase):
    """:func:`update`."""

    def setUp(self) -> None:
        driver = MemoryStore().driver(Clock())
        self.ledgers = driver.ledgers
        self._result(driver.open())
        self.created = self._result(self.ledgers.create(1, OPEN))

    def _result(self, coroutine):
        return self.successResultOf(Deferred.fromCoroutine(coroutine))

    def _update(
        self, current: Versioned[LedgerMetadata] | None, transform: Callable[[LedgerMetadata], LedgerMetadata]
    ) -> Deferred[Versioned[LedgerMetadata]]:
        return Deferred.fromCoroutine(update(self.ledgers, 1, current, _is_open, transform))

    def test_too_many_lost_races(self) -> None:
        """A store at which every race is lost is given up with the error of the last one."""
        for losses, error in ((MAX_RACES, None), (MAX_RACES + 1, MetadataVersionError)):
            with self.subTest(losses=losses):
                self.setUp()
                contested: Any = Contested(self.ledgers, [True] * losses)
                outcome = Deferred.fromCoroutine(update(contested, 1, self.created, _is_open, _recovering))
                if error is None:
                    self.assertEqual(self.successResultOf(outcome).version, losses + 1)
                else:
                    self.failureResultOf(outcome, error)
                    self.assertEqual(self._result(self.ledgers.read(1)).value.state, LedgerState.OPEN)

    def test_store_is_gone(self) -> None:
        """A store that could not be asked in time is not asked again."""
        gone = Gone(MetadataUnavailableError("gone"))
        outcome = Deferred.fromCoroutine(update(gone, 1, self.created, _is_open, _recovering))  # type: ignore[arg-type]
        self.failureResultOf(outcome, MetadataUnavailableError)
        self.assertEqual(gone.calls, ["write"])

    def test_outcome_stays_unknown(self) -> None:
        """If what is stored cannot be read after a write of unknown outcome, the error is that of the write."""
        error = MetadataOutcomeUnknownError("may have been written")
        gone = Gone(error)
        outcome = Deferred.fromCoroutine(update(gone, 1, self.created, _is_open, _recovering))  # type: ignore[arg-type]
        self.assertIs(self.failureResultOf(outcome).value, error)
        self.assertEqual(gone.calls, ["write", "read"])

    def test_many_lost_races(self) -> None:
        """After many lost races the change is made in the end, on what was stored last."""
        contested = Contested(self.ledgers, [True] * (MAX_DOUBTS * 3))
        changed = self._result(update(contested, 1, self.created, _is_open, _recovering))  # type: ignore[arg-type]
        self.assertEqual(changed, Versioned(attrs.evolve(_recovering(OPEN), ctime=0), MAX_DOUBTS * 3 + 1))

    def test_writes(self) -> None:
        """The changed value is stored and given back with its version, from a known value or none."""
        written = self.successResultOf(self._update(self.created, _recovering))
        self.assertEqual(written, Versioned(_recovering(OPEN), 1))
        self.assertEqual(self._result(self.ledgers.read(1)), written)
        self.assertEqual(self.successResultOf(self._update(None, _recovering)), written)

    def test_nothing_to_do(self) -> None:
        """A value that needs no update is given back as it is, without a write."""
        known = Versioned(_recovering(OPEN), 12)
        self.assertIs(self.successResultOf(self._update(known, _recovering)), known)
        self.assertEqual(self._result(self.ledgers.read(1)), self.created)

    def test_server_behind(self) -> None:
        """A read that gives what was there before the known value says nothing: it does not undo what was known."""
        other = attrs.evolve(OPEN, custom_metadata={"other": b"1"})
        known = self._result(self.ledgers.write(1, other, 0))
        manager: Any = Behind(self.ledgers, self.created)

        def needs_update(metadata: LedgerMetadata) -> bool:
            return metadata == other

        written = self._result(update(manager, 1, known, needs_update, _recovering))
        self.assertEqual(written, Versioned(_recovering(other), 2))
        self.assertEqual(self._result(self.ledgers.read(1)), written)

    def test_lost_race(self) -> None:
        """After a lost race the change is made on the fresh value, so that no other's change is lost."""
        other = attrs.evolve(OPEN, custom_metadata={"other": b"1"})
        self._result(self.ledgers.write(1, other, 0))
        written = self.successResultOf(self._update(self.created, _recovering))
        self.assertEqual(written, Versioned(_recovering(other), 2))

    def test_done_by_another(self) -> None:
        """After a lost race to a client that made the same change, nothing is written."""
        others = self._result(self.ledgers.write(1, _recovering(OPEN), 0))
        self.assertEqual(self.successResultOf(self._update(self.created, _recovering)), others)

    def test_lost_answer(self) -> None:
        """Whether a write was applied whose answer was lost is decided by what is stored."""
        for applied in (True, False):
            with self.subTest(applied=applied):
                self.setUp()
                manager: Any = Forgetful(self.ledgers, [applied])
                written = self._result(update(manager, 1, self.created, _is_open, _recovering))
                self.assertEqual(written, Versioned(_recovering(OPEN), 1))
                self.assertEqual(self._result(self.ledgers.read(1)), written)

    def test_failing_store(self) -> None:
        """A store that answers no write is given up."""
        manager: Any = Forgetful(self.ledgers, [False] * (MAX_DOUBTS + 2))
        changed = Deferred.fromCoroutine(update(manager, 1, self.created, _is_open, _recovering))
        self.failureResultOf(changed, MetadataError)
        self.assertEqual(len(manager.losses), 1)

    def test_giving_up(self) -> None:
        """What the transform raises ends the loop."""

        def refuse(metadata: LedgerMetadata) -> LedgerMetadata:
            raise ZeroDivisionError

        self.failureResultOf(self._update(None, refuse), ZeroDivisionError)

    def test_other_errors(self) -> None:
        """Anything but a lost race reaches the caller."""
        self._result(self.ledgers.remove(1))
        self.failureResultOf(self._update(self.created, _recovering), NoSuchLedgerMetadataError)
        self.failureResultOf(self._update(None, _recovering), MetadataError)
