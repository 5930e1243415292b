"""What every administration of a bookie must do.

Test modules import this module, not its class, which a test runner would take for a case of theirs.
"""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...bookie.admin import ADMINISTRATOR, IBookieAdmin, Phase


class BookieAdminContract(SynchronousTestCase):
    """Mixed with nothing; a subclass says how a bookie is made, stopped and filled.

    :ivar admin: of a bookie that serves, is writable, and has one or more ledger directories.
    """

    admin: Any

    def stop_bookie(self) -> None:
        """Stop the bookie in order."""
        raise NotImplementedError

    def fill_disk(self) -> None:
        """Make the bookie read-only for a reason that is not the administrator's."""
        raise NotImplementedError

    def settled(self, deferred: "Deferred[Any]") -> Any:
        """The result of a Deferred, after the work it waits for was done."""
        return self.successResultOf(deferred)

    def test_interface(self) -> None:
        """The provider has every name of the interface."""
        verifyObject(IBookieAdmin, self.admin)
        self.assertTrue(self.admin.bookie_id)

    def test_serving(self) -> None:
        """A bookie that serves is writable, for no reason otherwise."""
        state = self.admin.state()
        self.assertEqual((state.phase, state.read_only, state.reasons), (Phase.SERVING, False, ()))
        self.assertTrue(state.high_priority_writes)

    def test_read_only(self) -> None:
        """An administrator makes a bookie read-only and writable again; doing so twice is doing it once."""
        for _ in range(2):
            self.admin.set_read_only(True)
            state = self.admin.state()
            self.assertEqual((state.read_only, state.reasons), (True, (ADMINISTRATOR,)))
        for _ in range(2):
            self.admin.set_read_only(False)
            self.assertEqual((self.admin.state().read_only, self.admin.state().reasons), (False, ()))

    def test_other_reason(self) -> None:
        """A bookie that is read-only for another reason stays so when the administrator's reason is withdrawn."""
        self.fill_disk()
        self.admin.set_read_only(True)
        self.assertEqual(len(self.admin.state().reasons), 2)
        self.admin.set_read_only(False)
        state = self.admin.state()
        self.assertTrue(state.read_only)
        self.assertEqual(len(state.reasons), 1)
        self.assertNotIn(ADMINISTRATOR, state.reasons)

    def test_disks(self) -> None:
        """Each ledger directory has the size and the free bytes of its disk."""
        usage = self.settled(self.admin.disks())
        self.assertTrue(usage)
        for disk in usage:
            self.assertTrue(disk.directory)
            self.assertTrue(0 <= disk.free <= disk.total, disk)

    def test_configuration(self) -> None:
        """The configuration is text by key."""
        values = self.admin.configuration()
        self.assertIn("bookiePort", values)
        for key, value in values.items():
            self.assertIsInstance(key, str)
            self.assertIsInstance(value, str)

    def test_metrics(self) -> None:
        """Metrics are lines of the text format."""
        text = self.admin.metrics()
        self.assertTrue(text.startswith(b"# TYPE "), text[:80])
        self.assertTrue(text.endswith(b"\n"))

    def test_stopped(self) -> None:
        """A bookie that has stopped says so, and has no disks to be measured."""
        self.stop_bookie()
        self.assertIs(self.admin.state().phase, Phase.STOPPED)
        self.assertEqual(list(self.settled(self.admin.disks())), [])
