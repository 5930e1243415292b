"""How a stored ledger becomes a reader."""

from typing import Any

import attrs
from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.bookkeeper import open_reader
from bookkeeper_twisted.errors import (
    LedgerRecoveryError,
    NoSuchLedgerMetadataError,
    ReadError,
    RequestTimeoutError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.model import LedgerMetadata, LedgerState

from .recovery.recovery_case import LEDGER, RecoveryTestCase


class OpeningTests(RecoveryTestCase):
    """A ledger of five entries whose writer is gone."""

    def setUp(self) -> None:
        """Stores the entries."""
        super().setUp()
        self.leave_range(0, 4)

    def open(self, recover: bool = True, password: bytes | None = b"", **rules: Any) -> "Deferred[Any]":
        """Opens; with all the time it takes."""
        work = open_reader(self.context, LEDGER, password, recover, **rules)
        return self.finished(Deferred.fromCoroutine(work))

    def test_recover(self) -> None:
        """A ledger that is not closed is recovered, and read to its end."""
        reader = self.successResultOf(self.open())
        self.assertEqual((reader.last_add_confirmed, reader.length, reader.is_closed), (4, 50, True))
        self.assertEqual(len(self.do(reader.read(0, 4))), 5)

    def test_no_recovery(self) -> None:
        """Left alone, it is read up to its LAC, and followed; closing the handle ends this."""
        reader = self.successResultOf(self.open(recover=False))
        self.assertEqual((reader.last_add_confirmed, reader.is_closed), (3, False))
        self.assertIs(self.stored().state, LedgerState.OPEN)
        self.assertFalse(any(self.bookies[name].fenced for name in self.names))
        self.recover()
        self.settle()
        self.assertEqual((reader.last_add_confirmed, reader.length, reader.is_closed), (4, 50, True))
        self.do(reader.close())

    def test_closed(self) -> None:
        """A closed ledger is opened without asking a bookie."""
        self.recover()
        for name in self.names:
            self.bookies[name].requests.clear()
        for recover in (True, False):
            self.assertEqual(self.successResultOf(self.open(recover)).last_add_confirmed, 4)
        self.assertEqual([self.bookies[name].requests for name in self.names], [[], [], []])

    def test_errors(self) -> None:
        """What fails is told: time-outs as such, else by what was tried."""
        for name in self.names:
            self.bookies[name].up = False
        self.failureResultOf(self.open(), LedgerRecoveryError)
        self.failureResultOf(self.open(recover=False), ReadError)
        for name in self.names:
            self.bookies[name].up, self.bookies[name].silent = True, True
        self.failureResultOf(self.open(), RequestTimeoutError)
        self.failureResultOf(self.open(recover=False), RequestTimeoutError)

    def test_password(self) -> None:
        """The password must be the stored one; administrators need none; a ledger without one takes any."""
        self.failureResultOf(self.open(password=b"wrong"), UnauthorizedAccessError)
        self.assertEqual(self.successResultOf(self.open(password=None)).last_add_confirmed, 4)

    def test_no_password_stored(self) -> None:
        """Metadata of the first version has no password to compare with."""
        stored = self.do(self.driver.ledgers.read(LEDGER))
        bare = attrs.evolve(
            stored.value, ack_quorum_size=3, has_password=False, format_version=1, state=LedgerState.CLOSED
        )
        self.do(self.driver.ledgers.write(LEDGER, bare, stored.version))
        self.assertEqual(self.successResultOf(self.open(password=b"anything")).last_add_confirmed, -1)

    def test_missing(self) -> None:
        """There must be a ledger."""
        self.do(self.driver.ledgers.remove(LEDGER))
        self.failureResultOf(self.open(), NoSuchLedgerMetadataError)

    def test_rules(self) -> None:
        """Recoveries decide by the rules they are given."""
        used: list[LedgerMetadata] = []

        class Watched(RecoveryRules):
            def __init__(self, metadata: LedgerMetadata) -> None:
                super().__init__(metadata)
                used.append(metadata)

        self.successResultOf(self.open(rules=Watched))
        self.assertEqual([metadata.state for metadata in used], [LedgerState.IN_RECOVERY])
