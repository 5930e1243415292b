"""A witness records what a bookie acknowledges."""

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyClass

from bookkeeper_twisted.bookie.interfaces import IBookie

from ...bookie.rig import KEY, entry, mixed, run
from .nodes import Witness
from .witness import WitnessedBookie


class _Bookie:
    """Fences and stores when it is told."""

    def __init__(self) -> None:
        self.fencing: Deferred[None] = Deferred()
        self.adding: list[object] = []

    def add(self, *args: object) -> None:
        self.adding.append(args[-1])

    def fence(self, ledger_id: int, master_key: bytes) -> "Deferred[None]":
        return self.fencing


class WitnessedBookieTests(SynchronousTestCase):
    """:class:`WitnessedBookie`."""

    def setUp(self) -> None:
        self.inner, self.witness = _Bookie(), Witness()
        self.bookie = WitnessedBookie(self.inner, "b1", self.witness, {})  # type: ignore[arg-type]

    def test_interface(self) -> None:
        """It is a bookie."""
        verifyClass(IBookie, WitnessedBookie)

    def test_add(self) -> None:
        """An add is recorded once it succeeded; one that failed is not."""
        done: list[Exception | None] = []
        for error in (None, ValueError()):
            self.bookie.add(run(1, 0), KEY, True, False, False, lambda part, error: done.append(error))
            self.assertEqual(len(done), len(self.inner.adding) - 1)
            self.inner.adding[-1](run(1, 0), error)  # type: ignore[operator]
        self.assertEqual(self.witness.heard, [("stored", "b1", 1, 0, True, False)])
        self.assertEqual(done[0], None)

    def test_fence(self) -> None:
        """A fence is recorded once it is acknowledged, and adds that begin after it as such."""
        fencing = self.bookie.fence(1, KEY)
        self.bookie.add(run(1, 0), KEY, False, False, False, lambda part, error: None)
        self.assertEqual(self.witness.heard, [])
        self.inner.fencing.callback(None)
        self.successResultOf(fencing)
        self.bookie.add(mixed(entry(2, 0), entry(1, 1)), KEY, False, False, False, lambda part, error: None)
        for entries, done in zip((run(1, 0), mixed(entry(2, 0), entry(1, 1))), self.inner.adding, strict=True):
            done(entries, None)  # type: ignore[operator]
        self.assertEqual(
            self.witness.heard,
            [
                ("fenced", "b1", 1),
                ("stored", "b1", 1, 0, False, False),
                ("stored", "b1", 2, 0, False, False),
                ("stored", "b1", 1, 1, False, True),
            ],
        )
