"""The auditor after an outage of ZooKeeper that has ended the sessions of bookies that run."""

from typing import Any

import attrs
from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.autorecovery.auditing.auditor import Auditor, AuditorElection, AuditorParts
from bookkeeper_twisted.autorecovery.auditing.auditor_metrics import AuditorMetrics
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.metadata.zookeeper.driver import ZooKeeperDriver
from bookkeeper_twisted.model import BookieServiceInfo, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.testing.zookeeper import MemoryConnection

from ...metadata.zookeeper.rig import OPTIONS, ZooKeeperCase
from .auditor_case import NO_CHECKS, FakeBookies, FakeChecker, FakePolicy

_GIVEN = OPTIONS.session_timeout


class StoreOutageTests(ZooKeeperCase):
    """Three bookies, ledgers 0..2 on two of them each, and one process that stands for the office."""

    def setUp(self) -> None:
        """Registers the bookies, and elects an auditor that has been connected for a while."""
        super().setUp()
        self.bookies: dict[str, tuple[ZooKeeperDriver, MemoryConnection]] = {}
        for number in range(3):
            bookie_id = f"b{number}:1"
            driver, _ = self.bookies[bookie_id] = self.opened()
            self.run_(driver.registration.write_cookie(bookie_id, b"", None))
            self.run_(driver.registration.register_bookie(bookie_id, False, BookieServiceInfo()))
        self.cluster, _ = self.opened()
        for ledger_id in range(3):
            names = (f"b{ledger_id}:1", f"b{(ledger_id + 1) % 3}:1")
            metadata = LedgerMetadata(2, 2, 1, (Segment(0, names),))
            closed = attrs.evolve(metadata, state=LedgerState.CLOSED, length=100, last_entry_id=9)
            self.run_(self.cluster.ledgers.create(ledger_id, closed))
        self.driver, self.connection = self.opened()

    def stand(self, **config: Any) -> AuditorElection:
        """The process stands for the office, and is elected."""
        bookies: Any = FakeBookies()
        policy: Any = FakePolicy()
        metrics = AuditorMetrics(Instruments())
        parts = AuditorParts(
            self.clock, lambda: int(self.clock.seconds() * 1000), self.driver, FakeChecker(), bookies, policy,
            Throttles(self.clock), metrics, AutorecoveryConfig(**{**NO_CHECKS, **config}),
        )  # fmt: skip
        election = AuditorElection(self.driver.auditing, "a:1", lambda: Auditor(parts), metrics)
        election.start()
        self.wait(0)
        self.assertTrue(election.in_office)
        return election

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.clock.pump([0.125] * int(seconds * 8) + [0.0] * 10)

    def outage(self, seconds: float = 110.0, is_expired: bool = True) -> None:
        """ZooKeeper is away, which ends the sessions of the bookies; only the process of the auditor is back.

        :param is_expired: whether the session of the auditor ends, too.
        """
        connections = [self.connection, *(connection for _, connection in self.bookies.values())]
        for connection in connections:
            connection.suspend()
        self.wait(seconds)
        for connection in connections[1 - is_expired :]:
            connection.expire()
        self.connection.resume()
        self.wait(0)

    def back(self, *bookie_ids: str) -> None:
        """Bookies register again."""
        for bookie_id in bookie_ids:
            self.bookies[bookie_id][1].resume()
        self.wait(0)

    def marks(self) -> dict[int, tuple[str, ...]]:
        """Marked ledgers, and the bookies in their marks."""

        async def read() -> dict[int, tuple[str, ...]]:
            marks = self.cluster.underreplication
            return {i: (await marks.read_mark(i)).value.replicas async for i in marks.marked_ledgers()}

        return self.run_(read())

    def test_expired_sessions(self) -> None:
        """Bookies that register again within the session timeout after an outage are not taken for lost."""
        self.wait(_GIVEN)
        self.stand()
        with capturedLogs() as events:
            self.outage()
            self.wait(2)
            self.assertEqual(self.marks(), {})
            self.back(*self.bookies)
            self.wait(_GIVEN)
        self.assertEqual(self.marks(), {})
        found = [formatEvent(event) for event in events if "auditing" in event["log_namespace"]]
        self.assertEqual(
            found[0],
            "3 bookies are not registered, such as b0:1: they have 10 s to register, because the connection to the "
            "metadata store is new",
        )
        self.assertFalse([text for text in found if "is lost" in text])

    def test_auditor_keeps_its_session(self) -> None:
        """So it is after an outage that has ended only the sessions of bookies."""
        self.wait(_GIVEN)
        self.stand()
        self.outage(2, is_expired=False)
        self.assertEqual(self.marks(), {})
        self.back(*self.bookies)
        self.wait(_GIVEN)
        self.assertEqual(self.marks(), {})

    def test_lost_in_the_outage(self) -> None:
        """A bookie that does not register within the session timeout is lost, and only this one."""
        self.wait(_GIVEN)
        self.stand()
        self.outage()
        self.back("b1:1", "b2:1")
        self.wait(_GIVEN - 1)
        self.assertEqual(self.marks(), {})
        self.wait(1)
        self.assertEqual(self.marks(), {0: ("b0:1",), 2: ("b0:1",)})

    def test_second_outage(self) -> None:
        """An outage in this time begins it anew."""
        self.wait(_GIVEN)
        self.stand()
        self.outage()
        self.wait(_GIVEN - 1)
        self.outage(5, is_expired=False)
        self.wait(_GIVEN - 1)
        self.back(*self.bookies)
        self.wait(_GIVEN)
        self.assertEqual(self.marks(), {})

    def test_lost_without_outage(self) -> None:
        """Without an outage, a lost bookie is noticed at once."""
        self.wait(_GIVEN)
        self.stand()
        self.bookies["b0:1"][1].expire()
        self.wait(0)
        self.assertEqual(self.marks(), {0: ("b0:1",), 2: ("b0:1",)})

    def test_new_process(self) -> None:
        """A process that has just connected cannot know whether there was an outage: it waits as well."""
        for _, connection in self.bookies.values():
            connection.expire()
        self.stand()
        self.wait(_GIVEN / 2)
        self.assertEqual(self.marks(), {})
        self.back("b0:1", "b2:1")
        self.wait(_GIVEN)
        self.assertEqual(self.marks(), {0: ("b1:1",), 1: ("b1:1",)})

    def test_lines_in_the_outage(self) -> None:
        """An outage in this time is not logged as a new connection, again and again while it lasts."""
        for _, connection in self.bookies.values():
            connection.expire()
        with capturedLogs() as events:
            self.stand()
            self.connection.suspend()
            self.wait(5.25 * _GIVEN)
            self.connection.resume()
            self.wait(_GIVEN / 2)
            self.back(*self.bookies)
            self.wait(_GIVEN)
        self.assertEqual(self.marks(), {})
        texts = [formatEvent(event) for event in events if "auditing" in event["log_namespace"]]
        self.assertEqual(len([text for text in texts if "to register" in text]), 2, texts)

    def test_audit_in_the_outage(self) -> None:
        """An audit that an outage cuts short does not mark for the bookies that have yet to register again."""
        self.wait(_GIVEN)
        self.stand(lost_bookie_recovery_delay=5)
        self.bookies["b0:1"][1].expire()
        self.wait(4.75)
        self.connection.suspend()
        self.wait(1)
        for bookie_id in ("b1:1", "b2:1"):
            self.bookies[bookie_id][1].expire()
        self.connection.resume()
        self.wait(2)
        self.assertEqual(self.marks(), {})
        self.back("b1:1", "b2:1")
        self.wait(_GIVEN)
        self.assertEqual(self.marks(), {0: ("b0:1",), 2: ("b0:1",)})
