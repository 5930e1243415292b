"""The removal of marks, beside Apache's auditor, which makes no new version of a mark that names its bookies."""

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import NotUnderreplicatedError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import IUnderreplication, Versioned
from bookkeeper_twisted.metadata.mark_removal import narrow_mark, remove_mark
from bookkeeper_twisted.model import BookieServiceInfo, UnderreplicatedLedger

LEDGER = 5


async def mark_as_apache(marks: IUnderreplication, *replicas: str) -> None:
    """Mark the ledger as Apache's auditor does."""
    try:
        known = (await marks.read_mark(LEDGER)).value.replicas
    except NotUnderreplicatedError:
        known = ()
    if not known or not set(replicas).issubset(known):
        await marks.mark(LEDGER, replicas, 2)


class RemovalTests(SynchronousTestCase):
    """:func:`remove_mark`, with bookies ``a`` and ``b`` registered."""

    def setUp(self) -> None:
        """Two drivers: of the worker, and of the auditor."""
        store = MemoryStore()
        self.driver, self.auditor = (store.driver(Clock()) for _ in range(2))
        for driver in (self.driver, self.auditor):
            self.do(driver.open())
        self.marks: Any = self.driver.underreplication
        for bookie_id, read_only in (("a", False), ("b", True)):
            self.do(self.auditor.registration.register_bookie(bookie_id, read_only, BookieServiceInfo()))

    def do(self, work: Coroutine[Deferred[Any], Any, Any]) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def marked(self, *replicas: str) -> Versioned[UnderreplicatedLedger]:
        """The ledger is marked; its mark."""
        self.do(self.marks.mark(LEDGER, replicas, 1))
        mark: Versioned[UnderreplicatedLedger] = self.do(self.marks.read_mark(LEDGER))
        return mark

    def remove(self, mark: Versioned[UnderreplicatedLedger], *bookies: str) -> bool:
        """Remove the mark of the ledger on some bookies."""
        registration: Any = self.driver.registration
        removed: bool = self.do(remove_mark(self.marks, registration, LEDGER, mark, bookies))
        return removed

    def assert_mark(self, *replicas: str) -> None:
        """The ledger is marked for some bookies."""
        self.assertEqual(self.do(self.marks.read_mark(LEDGER)).value.replicas, replicas)

    def assert_none(self) -> None:
        """It is not marked."""
        self.failureResultOf(Deferred.fromCoroutine(self.marks.read_mark(LEDGER)), NotUnderreplicatedError)

    def lose(self, bookie_id: str) -> None:
        """A bookie is lost, and Apache's auditor marks the ledger."""
        self.do(self.auditor.registration.unregister_bookie(bookie_id))
        self.do(mark_as_apache(self.auditor.underreplication, bookie_id))

    def before(self, name: str, happens: Callable[[], None]) -> None:
        """Something happens between two requests about marks: before the first one of some name."""
        wanted = getattr(self.marks, name)

        async def late(*arguments: Any) -> Any:
            self.marks.__dict__.pop(name)
            happens()
            return await wanted(*arguments)

        self.patch(self.marks, name, late)

    def test_replaced(self) -> None:
        """A bookie that has left the ledger does not hold up the removal, and the mark is not written for it."""
        mark = self.marked("lost")
        self.patch(self.marks, "replace_mark", None)
        self.assertTrue(self.remove(mark, "a", "b"))
        self.assert_none()

    def test_staying(self) -> None:
        """So it is for a bookie that is there, writable or read-only."""
        self.assertTrue(self.remove(self.marked("a", "b"), "a", "b"))
        self.assert_none()

    def test_no_mark(self) -> None:
        """A mark that is gone, and one that was made again, are left alone."""
        for replicas in ((), ("a",)):
            mark = self.marked(*replicas)
            self.marked(*replicas)
            self.assertFalse(self.remove(mark, "a"))
            self.assert_mark(*replicas)
            self.do(self.marks.remove_mark(LEDGER, mark.version + 1))
            self.assertTrue(self.remove(mark, "a"))
            self.assert_none()

    def test_lost_before(self) -> None:
        """A bookie that was lost again after it had been looked at stays marked, though the mark's version did not
        change."""
        mark = self.marked("a", "b")
        self.lose("a")
        self.assertEqual(self.do(self.marks.read_mark(LEDGER)), mark)
        self.assertFalse(self.remove(mark, "a", "b"))
        self.assert_mark("a")

    def test_lost_late(self) -> None:
        """So does one that is lost at the last moment."""
        mark = self.marked("a", "b")
        self.before("remove_mark", lambda: self.lose("a"))
        self.assertFalse(self.remove(mark, "a", "b"))
        self.assert_mark("a")

    def garbled(self) -> Versioned[UnderreplicatedLedger]:
        """The ledger has a mark that cannot be decoded; the mark."""
        self.marks._store.write_mark(LEDGER, b"\xff", self.marked("a").version)
        mark: Versioned[UnderreplicatedLedger] = self.do(self.marks.read_mark(LEDGER))
        return mark

    def test_undecodable(self) -> None:
        """A mark that cannot be decoded is removed if all bookies of the ledger are there; the others stay marked."""
        mark = self.garbled()
        self.do(self.auditor.registration.unregister_bookie("a"))
        self.assertFalse(self.remove(mark, "a", "b"))
        self.assert_mark("a")
        mark = self.garbled()
        self.do(self.auditor.registration.register_bookie("a", False, BookieServiceInfo()))
        self.assertTrue(self.remove(mark, "a", "b"))
        self.assert_none()

    def narrow(self, mark: Versioned[UnderreplicatedLedger], *lacking: str) -> None:
        """Remove from the mark of the ledger on ``a``, ``b`` and ``c`` all names but those of some bookies."""
        registration: Any = self.driver.registration
        self.do(narrow_mark(self.marks, registration, LEDGER, mark, ("a", "b", "c"), lacking))

    def test_narrowed(self) -> None:
        """Names of bookies that lack nothing are removed, and the time of the mark stays."""
        self.do(self.auditor.registration.register_bookie("c", False, BookieServiceInfo()))
        self.narrow(self.marked("c", "a", "b"), "c")
        self.assertEqual(self.do(self.marks.read_mark(LEDGER)), Versioned(UnderreplicatedLedger(("c",), 1), 1))
        self.narrow(self.do(self.marks.read_mark(LEDGER)), "c", "b")
        self.assertEqual(self.do(self.marks.read_mark(LEDGER)).version, 1)
        self.narrow(self.do(self.marks.read_mark(LEDGER)), "b", "a")
        self.assert_mark("a", "b")

    def test_undecodable_narrowed(self) -> None:
        """A mark that cannot be decoded gets the names of the bookies that lack entries, or are not registered."""
        for lacking, expected in ((("c",), ("c",)), (("b",), ("b", "c")), (("a", "b", "c"), ("a", "b", "c"))):
            self.narrow(self.garbled(), *lacking)
            self.assert_mark(*expected)
        mark = self.garbled()
        self.narrow(mark)
        self.assertEqual(self.do(self.marks.read_mark(LEDGER)), mark)

    def test_not_narrowed(self) -> None:
        """A mark without names stays, and so does one that was made again, or if no bookie is known to lack entries."""
        for named, lacking, is_newer in (((), ("a",), False), (("a", "c"), ("c",), True), (("a", "c"), (), False)):
            mark = self.marked(*named)
            if is_newer:
                self.marked("a")
            self.narrow(mark, *lacking)
            self.assert_mark(*named)

    def test_narrowed_and_gone(self) -> None:
        """A mark that is removed meanwhile stays away."""
        mark = self.marked("a", "c")
        self.do(self.marks.remove_mark(LEDGER, mark.version))
        self.narrow(mark, "c")
        self.assert_none()

    def test_narrowed_too_late(self) -> None:
        """A bookie that is lost again after the check stays named, though the mark's version did not change."""
        mark = self.marked("a", "c")
        self.lose("a")
        self.assertEqual(self.do(self.marks.read_mark(LEDGER)), mark)
        self.narrow(mark, "c")
        self.assert_mark("c", "a")

    def test_never_without_a_mark(self) -> None:
        """A removal that ends before the bookies are known to be there leaves a mark, of the same time."""
        mark = self.marked("a")
        registration: Any = self.driver.registration
        self.patch(registration, "read_only_bookies", lambda: Deferred())
        work = Deferred.fromCoroutine(remove_mark(self.marks, registration, LEDGER, mark, ("a",)))
        work.addErrback(lambda _: None)
        work.cancel()
        self.assertEqual(self.do(self.marks.read_mark(LEDGER)).value, UnderreplicatedLedger((), 1))
