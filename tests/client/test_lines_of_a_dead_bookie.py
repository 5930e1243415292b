"""How many lines a client logs while a bookie of its ensembles is dead."""

from twisted.internet.protocol import Factory, Protocol
from twisted.logger import capturedLogs, formatEvent

from .cluster_case import RealClusterCase

MINUTES = 5
MOST = 3
"""Lines a minute that are few enough to be read."""


class DeadBookieTests(RealClusterCase):
    """Ledgers on all four bookies: no other can take the place of the dead one."""

    def _lines(self) -> list[str]:
        """What is logged in some minutes while five ledgers are written twice a second, and new ones are made."""
        ledgers = [self.do(self.bk.create_ledger(4, 2, 1)) for _ in range(5)]
        for ledger in ledgers:
            self.do(ledger.append(b"x"))
        with capturedLogs() as events:
            self.fail_bookie()
            for second in range(MINUTES * 120):
                for ledger in ledgers:
                    ledger.append(b"x").addErrback(lambda failure: None)
                if second % 20 == 0:
                    self.bk.create_ledger(3, 2, 1).addErrback(lambda failure: None)
                self.clock.advance(0.5)
                self.settle()
        ours = [event for event in events if event["log_namespace"].startswith("bookkeeper_twisted")]
        return [str(formatEvent(event)) for event in ours if event["log_level"].name != "debug"]

    def test_refuses(self) -> None:
        """A bookie that refuses connections makes a bounded number of lines a minute."""

        def refuse() -> None:
            del self.network.listeners["b1", 1]
            self.network.break_connections(("b1", 1))

        self.fail_bookie = refuse
        found = self._lines()
        self.assertTrue(0 < len(found) <= MOST * MINUTES, "\n".join([str(len(found)), *found[:40]]))

    def test_silent(self) -> None:
        """A bookie that takes requests and answers none makes a bounded number of lines a minute."""

        def silence() -> None:
            self.network.listeners["b1", 1] = Factory.forProtocol(Protocol)
            self.network.break_connections(("b1", 1))

        self.fail_bookie = silence
        found = self._lines()
        self.assertTrue(0 < len(found) <= MOST * MINUTES, "\n".join([str(len(found)), *found[:40]]))

    def test_hangs(self) -> None:
        """A bookie whose connections stay open, and that answers no more, makes a bounded number of lines a minute."""

        def hang() -> None:
            rig = self.rigs.pop("b1:1")
            self.patch(rig.engine.bookie, "_has_room", lambda entries: False)

        self.fail_bookie = hang
        found = self._lines()
        self.assertTrue(0 < len(found) <= MOST * MINUTES, "\n".join([str(len(found)), *found[:40]]))
