"""A bookie with an authorizer, for tests of what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authorization.access import AccessControl
from bookkeeper_twisted.authorization.audit_file import AuditFile
from bookkeeper_twisted.authorization.interfaces import Permission
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import AuthorizationMetrics
from bookkeeper_twisted.testing.authorization import FakeAuthorizer

from ..rig import Peer, Rig, run

P = Permission


def of_ledgers(*ledgers: int | None) -> Callable[..., bool]:
    """The rule that allows everything with some ledgers."""
    return lambda principal, action, ledger_id: ledger_id in ledgers


def only(*actions: Permission) -> Callable[..., bool]:
    """The rule that allows some actions with every ledger."""
    return lambda principal, action, ledger_id: action in actions


class AccessCase(SynchronousTestCase):
    """A bookie with entries 0..4 of ledgers 1 and 2, and an authorizer."""

    def setUp(self) -> None:
        self.fake = FakeAuthorizer()
        self.audit = Path(self.mktemp())
        self.start(self.fake)

    def start(self, authorizer: Any, **options: Any) -> None:
        """Start a bookie."""
        instruments = Instruments()
        metrics = AuthorizationMetrics(instruments, [action.value for action in P])
        self.refused = metrics.refused
        rig = Rig()
        self.access = AccessControl(authorizer, metrics, rig.clock, AuditFile(str(self.audit)))
        options = {"access": self.access, **options}
        self.rig = Rig(options=EngineOptions(**options))
        self.access._clock = self.rig.clock
        self.rig.engine.start(1e9)
        for ledger_id in (1, 2):
            self.rig.add(run(ledger_id, 0, 5, lac=3))
        self.rig.drain()
        self.peer = self.rig.connect()

    def answers(self, data: bytes, peer: Peer | None = None) -> bytes:
        """What comes back."""
        peer = peer or self.peer
        peer.send(data)
        self.rig.drain()
        return peer.replies()

    def lines(self) -> list[tuple[str, Any, str, int]]:
        """The lines of the audit log: action, ledger, result and count."""
        self.rig.drain()
        found = map(json.loads, self.audit.read_text().splitlines())
        return [(line["action"], line["ledger"], line["result"], line.get("count", 1)) for line in found]

    def n_refused(self) -> dict[str, float]:
        return {action: counter.value for action, counter in self.refused.items() if counter.value}
