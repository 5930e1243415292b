"""The administration of a bookie in this process."""

import errno
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.bookie.admin import ADMINISTRATOR, Phase
from bookkeeper_twisted.errors import MASK, BookieRegisteredError
from bookkeeper_twisted.testing.contracts import admin_contract
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk

from .test_service import StepTestCase


class BookieAdminTests(StepTestCase, admin_contract.BookieAdminContract):
    """The contract on a bookie, and what only a bookie can show."""

    def setUp(self) -> None:
        super().setUp()
        self.service, self.executor = self.start(zk_auth="digest:me:secret")
        self.admin = self.service.admin

    def stop_bookie(self) -> None:
        self.stop(self.service, self.executor)

    def fill_disk(self) -> None:
        self.service._set_read_only("a disk is full", True)

    def settled(self, deferred: "Deferred[Any]") -> Any:
        self.executor.drain()
        return self.successResultOf(deferred)

    def test_starting(self) -> None:
        """A bookie that starts says so, and a read-only setting is kept until there is a mode to change."""
        self.stop_bookie()
        service, executor = self.world.service()
        starting = service.start()
        self.assertEqual((service.admin.state().phase, service.admin.bookie_id), (Phase.STARTING, ""))
        disks: Deferred[Any] = service.admin.disks()
        self.assertEqual(self.successResultOf(disks), ())
        service.admin.set_read_only(True)
        self.settle(executor)
        self.successResultOf(starting)
        self.assertEqual(service.admin.state().reasons, (ADMINISTRATOR,))
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))

    def test_stopping(self) -> None:
        """A bookie that stops says so until it has stopped."""
        peer = self.connect()
        stopping = self.service.stop()
        self.assertIs(self.admin.state().phase, Phase.STOPPING)
        peer.leave()
        self.settle(self.executor)
        self.successResultOf(stopping)
        self.assertIs(self.admin.state().phase, Phase.STOPPED)

    def test_did_not_start(self) -> None:
        """A bookie that could not start has failed, for the reason that its start gives."""
        self.world.disk, self.world.store.cookies = SimDisk(), {}
        service, executor = self.world.service()
        starting = service.start()
        self.settle(executor)
        error = self.failureResultOf(starting, BookieRegisteredError)
        state = service.admin.state()
        self.assertEqual((state.phase, state.reasons), (Phase.FAILED, (error.getErrorMessage(),)))
        self.successResultOf(service.stop())
        self.assertIs(service.admin.state().phase, Phase.FAILED)

    def test_failed(self) -> None:
        """S10: a bookie whose journal failed has failed, for that reason, and its stop does not hide it."""
        self.world.disk.fail(errno.EIO, when=lambda op: op.name == "sync" and op.path.startswith("/j/"))
        assert self.service.engine is not None
        self.service.engine.bookie.fence(1, b"k").addErrback(lambda _: None)
        self.settle(self.executor)
        state = self.admin.state()
        self.assertIs(state.phase, Phase.FAILED)
        self.assertIn("EIO: '/j/current", state.reasons[0])
        self.flushLoggedErrors(OSError)

    def test_secrets(self) -> None:
        """Credentials are masked; one that is not set is shown as empty."""
        self.assertEqual(self.admin.configuration()["zkAuth"], MASK)
        self.assertEqual(self.admin.configuration()["bookiePort"], "3181")
        self.stop_bookie()
        service, _ = self.world.service()
        self.assertEqual(service.admin.configuration()["zkAuth"], "")
