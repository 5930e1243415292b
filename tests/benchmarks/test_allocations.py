"""What is counted of an offer."""

import shutil
import sys
from contextlib import redirect_stdout
from io import StringIO

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from benchmarks.buffers import buffer_paths as paths
from benchmarks.buffers.allocations import Hook, allocation_rows, bytes_held, calls_of_an_offer

_PAYLOADS = [bytes(25)] * 2000


def _nothing(payload: bytes) -> None:
    pass


def _one_object(payload: bytes) -> None:
    object()


class CallsTests(SynchronousTestCase):
    """With a C compiler."""

    def setUp(self) -> None:
        if shutil.which("cc") is None:
            raise SkipTest("there is no C compiler")
        if sys.implementation.name != "cpython":
            raise SkipTest("the hook is for CPython's allocators")
        self.hook = Hook()

    def test_nothing(self) -> None:
        """An offer that makes nothing has no calls: those of the loop do not count."""
        self.assertEqual(calls_of_an_offer(self.hook, _nothing, _PAYLOADS[:10]), 0)

    def test_every_call(self) -> None:
        """What is freed at once counts, be it allocated, allocated and cleared, or grown."""

        def cleared(payload: bytes) -> None:
            bytes(300)

        def grown(payload: bytes) -> None:
            items: list[bytes] = []  # comes from the lists that are free
            items.append(payload)

        for offer in (_one_object, cleared, grown):
            self.assertEqual(calls_of_an_offer(self.hook, offer, _PAYLOADS), 1)

    def test_one_more(self) -> None:
        """A log whose offers make one object more has one call more, in either kind."""
        for offer, drain in (paths.shared(),):

            def more(payload: bytes, offer: paths.Offer = offer) -> None:
                object()
                offer(payload)

            for each in (offer, more):
                calls_of_an_offer(self.hook, each, _PAYLOADS)
                drain()
            plain = calls_of_an_offer(self.hook, offer, _PAYLOADS)
            drain()
            self.assertEqual(calls_of_an_offer(self.hook, more, _PAYLOADS), plain + 1)

    def test_failure(self) -> None:
        """Nothing is counted after an offer that raised."""
        self.assertRaises(ZeroDivisionError, self.hook.count, lambda: 1 // 0)
        self.assertEqual(calls_of_an_offer(self.hook, _one_object, _PAYLOADS), 1)


class HeldTests(SynchronousTestCase):
    """Pending messages."""

    def test_kept(self) -> None:
        """What is kept of every message is counted with its size, what is dropped again is not."""
        kept: list[bytes] = []
        offered = iter(range(2 * len(_PAYLOADS)))
        kept.extend([b""] * 2 * len(_PAYLOADS))

        def keep(payload: bytes) -> None:
            kept[next(offered)] = payload + b"0123456789"

        size = sys.getsizeof(_PAYLOADS[0] + b"0123456789")
        # Rounded: the interpreter, or a thread of an earlier test, frees a few bytes of its own meanwhile.
        self.assertEqual(round(bytes_held(keep, _PAYLOADS) / len(_PAYLOADS)), size)
        self.assertLess(bytes_held(_one_object, _PAYLOADS), len(_PAYLOADS))


class RowsTests(SynchronousTestCase):
    """The lines of the table."""

    def _names(self, compiler: str) -> tuple[list[str], str]:
        with redirect_stdout(StringIO()) as printed:
            payloads = {"25 B": _PAYLOADS[:1000], "variable": [bytes(size) for size in range(10, 41)]}
            rows = [name for name, _, _ in allocation_rows(payloads, compiler)]
        return rows, printed.getvalue()

    def test_no_compiler(self) -> None:
        """Without a compiler there are no figures of calls, and one line says so."""
        names, printed = self._names("no-such-compiler")
        self.assertEqual([name for name in names if "calls" in name], [])
        self.assertEqual(len(names), 1)
        self.assertIn("left out", printed)
        self.assertEqual(printed.count("\n"), 1)

    def test_compiler_fails(self) -> None:
        """It is the same with a compiler that makes nothing."""
        names, printed = self._names("false")
        self.assertEqual(len(names), 1)
        self.assertIn("left out", printed)
