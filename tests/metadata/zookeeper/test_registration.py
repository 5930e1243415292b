"""Registrations: waits, renewals, losses."""

from typing import Any

from twisted.logger import capturedLogs, formatEvent, globalLogPublisher
from twisted.python.failure import Failure

from bookkeeper_twisted.errors import BookieRegisteredError, MetadataSerializationError, NotInitializedError
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import INFO

from .rig import OPTIONS, ZooKeeperCase


class RegistrationTests(ZooKeeperCase):
    """:class:`ZooKeeperRegistration`, beyond the contract."""

    def setUp(self) -> None:
        super().setUp()
        self.driver, self.connection = self.opened()
        self.lost: list[Failure] = []
        self.driver.registration.on_registration_lost(self.lost.append)

    def register(self, read_only: bool = False, driver: Any = None) -> None:
        self.run_((driver or self.driver).registration.register_bookie("a:1", read_only, INFO))

    def owner(self, path: str = "available/a:1") -> int:
        return self.server.find(f"/ledgers/{path}").owner

    def test_waits_for_a_former_session(self) -> None:
        """The node of a former life is waited for, and its end is noticed at once."""
        self.server.create(NewNode("/ledgers/available/a:1", ephemeral=True), 99)
        running = self.start(self.driver.registration.register_bookie("a:1", False, INFO))
        self.clock.advance(OPTIONS.session_timeout - 1)
        self.assertNoResult(running)
        self.server.end_session(99)
        self.successResultOf(running)
        self.assertEqual(self.owner(), self.connection.session_id)

    def test_says_that_it_waits(self) -> None:
        """The log says once, at the beginning, that a former registration is waited for, and how long."""
        logged: list[Any] = []
        globalLogPublisher.addObserver(logged.append)  # type: ignore[arg-type]
        self.addCleanup(globalLogPublisher.removeObserver, logged.append)  # type: ignore[arg-type]
        self.server.create(NewNode("/ledgers/available/a:1", ephemeral=True), 99)
        self.start(self.driver.registration.register_bookie("a:1", False, INFO))
        self.clock.advance(1)
        lines = [formatEvent(event) for event in logged]
        wait = f"({OPTIONS.session_timeout:.0f} s at most)"
        self.assertEqual(
            [line for line in lines if "former" in line],
            [f"bookie a:1: waiting for the former registration {wait}"],
        )
        self.server.end_session(99)

    def test_says_that_it_is_unregistered(self) -> None:
        """The end of the session is a warning that names the bookie, which is not registered for a while."""
        self.register()
        with capturedLogs() as events:
            self.connection.expire()
        (event,) = events
        self.assertEqual(event["log_level"].name, "warn")
        said = "bookie a:1 is not registered until the next session, so that clients do not use it, and its locks and"
        self.assertIn(said, str(formatEvent(event)))

    def test_says_that_several_are_unregistered(self) -> None:
        """The warning names all bookies of the process."""
        self.register()
        self.successResultOf(self.start(self.driver.registration.register_bookie("b:1", False, INFO)))
        with capturedLogs() as events:
            self.connection.expire()
        said = "bookie a:1 and bookie b:1 are not registered until the next session, so that clients do not use them"
        self.assertIn(said, str(formatEvent(events[0])))

    def test_waits_in_the_other_mode(self) -> None:
        """A former life that was read-only is waited for as well (S6)."""
        self.server.create(NewNode("/ledgers/available/readonly/a:1", ephemeral=True), 99)
        running = self.start(self.driver.registration.register_bookie("a:1", False, INFO))
        self.clock.advance(OPTIONS.session_timeout - 1)
        self.assertNotIn("available/a:1", self.store.paths())
        self.server.end_session(99)
        self.successResultOf(running)

    def test_occupied(self) -> None:
        """A session that keeps the id longer than a dead one would is alive; its node stays (S6)."""
        for path in ("/ledgers/available/a:1", "/ledgers/available/readonly/a:1"):
            self.server.create(NewNode(path, ephemeral=True), 99)
            self.fails(BookieRegisteredError, self.driver.registration.register_bookie("a:1", False, INFO))
            self.assertEqual(self.server.find(path).owner, 99)
            self.server.delete(path, -1)

    def test_order_of_transitions(self) -> None:
        """The new node is there before the old one goes, both ways."""
        for read_only in (False, True, False):
            del self.connection.calls[:]
            self.register(read_only)
            calls = [call for call in self.connection.calls if call in ("create", "delete")]
            self.assertEqual([call for call in calls if call == "delete"], calls[-1:] if "delete" in calls else [])
        self.assertEqual(calls, ["create", "delete"])

    def test_renewed_in_its_mode(self) -> None:
        """In a new session the bookie is registered again as it was last."""
        self.register()
        self.register(read_only=True)
        self.connection.expire()
        self.assertEqual(self.run_(self.opened()[0].registration.read_only_bookies()), set())
        self.connection.resume()
        self.assertEqual(self.owner("available/readonly/a:1"), self.connection.session_id)
        self.assertNotIn("available/a:1", self.store.paths())
        self.assertEqual(self.lost, [])

    def test_not_renewed(self) -> None:
        """What was withdrawn stays withdrawn."""
        self.register()
        self.run_(self.driver.registration.unregister_bookie("a:1"))
        self.connection.expire()
        self.connection.resume()
        self.assertNotIn("available/a:1", self.store.paths())

    def test_renewal_goes_on(self) -> None:
        """A connection that breaks again during the renewal, for long, delays it."""
        self.register()
        self.connection.expire()
        for after in range(8):
            self.connection.lose(False, after=after)
        self.connection.resume()
        for _ in range(400):
            self.clock.advance(0.125)
        self.assertEqual(self.owner(), self.connection.session_id)
        self.assertEqual(self.lost, [])

    def test_lost(self) -> None:
        """A bookie whose id another has by then is told once, and is not registered again."""
        self.register()
        self.connection.expire()
        other, _ = self.opened()
        self.register(driver=other)
        self.connection.resume()
        for _ in range(100):
            self.clock.advance(0.125)
        self.assertEqual([failure.type for failure in self.lost], [BookieRegisteredError])
        self.connection.expire()
        self.connection.resume()
        for _ in range(100):
            self.clock.advance(0.125)
        self.assertEqual(len(self.lost), 1)

    def test_closed_during_renewal(self) -> None:
        """A driver that is closed while it renews leaves nothing behind."""
        self.register()
        self.server.create(NewNode("/ledgers/available/readonly/a:1", ephemeral=True), 99)
        self.connection.expire()
        self.connection.resume()
        self.run_(self.driver.close())
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.lost, [])

    def test_no_cluster(self) -> None:
        """Without a cluster no bookie is registered."""
        del self.server.find("/ledgers").children["available"]
        self.fails(NotInitializedError, self.driver.registration.writable_bookies())
        for read_only in (False, True):
            call = self.driver.registration.register_bookie("a:1", read_only, INFO)
            if not read_only:
                self.fails(NotInitializedError, call)
            else:
                self.run_(call)  # the parent of read-only bookies is made where it is missing, with its own

    def test_garbage(self) -> None:
        """What is no service info is an error that names the bookie; empty is an old bookie's."""
        self.server.create(NewNode("/ledgers/available/a:1", b"\xff\xff"), 0)
        self.server.create(NewNode("/ledgers/available/b:2"), 0)
        text = self.fails(MetadataSerializationError, self.driver.registration.service_info("a:1"))
        self.assertIn("a:1", text)
        self.assertEqual(self.run_(self.driver.registration.service_info("b:2")).endpoints[0].port, 2)

    def test_instance_id(self) -> None:
        """An old cluster has none; what is not text is an error; no cluster is another."""
        self.server.set("/ledgers/INSTANCEID", b"\xff", -1)
        self.fails(MetadataSerializationError, self.driver.registration.instance_id())
        self.server.delete("/ledgers/INSTANCEID", -1)
        self.assertEqual(self.run_(self.driver.registration.instance_id()), "")
        del self.server.top.children["ledgers"]
        self.fails(NotInitializedError, self.driver.registration.instance_id())
        self.fails(NotInitializedError, self.driver.registration.all_bookies())
