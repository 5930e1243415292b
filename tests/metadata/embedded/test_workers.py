"""Where calls to a store run."""

from threading import Event, get_ident

from twisted.internet import reactor  # noqa: TID251
from twisted.internet.defer import CancelledError, gatherResults
from twisted.internet.interfaces import IReactorCore, IReactorFromThreads
from twisted.trial.unittest import SynchronousTestCase, TestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.embedded.interfaces import IWorker
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker, ThreadWorker


class InlineWorkerTests(SynchronousTestCase):
    """:class:`InlineWorker`."""

    def test_call(self) -> None:
        """Results and failures are there at once."""
        worker = InlineWorker()
        verifyObject(IWorker, worker)
        for call in (worker.call, worker.read):
            self.assertEqual(self.successResultOf(call(divmod, 7, 2)), (3, 1))
            self.failureResultOf(call(divmod, 7, 0), ZeroDivisionError)
        worker.serve_reads()
        worker.stop()


class ThreadWorkerTests(TestCase):
    """:class:`ThreadWorker`."""

    def setUp(self) -> None:
        self.worker = ThreadWorker(IReactorFromThreads(reactor), "test")
        self.stopped = False
        self.addCleanup(self._stop)
        self.seen: list[str] = []
        self.may_go_on = Event()
        self.addCleanup(self.may_go_on.set)

    def _waiting_change(self) -> None:
        """As a change that waits for another process; twice in a row, as results may not have arrived in between."""
        try:
            while not self.may_go_on.wait(0.001):
                self.worker.serve_reads()
                self.worker.serve_reads()
        finally:
            self.seen.append("end")

    def _stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self.worker.stop()

    def test_interface(self) -> None:
        """It provides what it declares."""
        verifyObject(IWorker, self.worker)

    async def test_order(self) -> None:
        """Calls run one after the other, on one thread that is not the reactor's."""
        seen: list[tuple[int, int]] = []
        await gatherResults([self.worker.call(lambda i=i: seen.append((i, get_ident()))) for i in range(50)])
        self.assertEqual([i for i, _ in seen], list(range(50)))
        self.assertEqual(len({thread for _, thread in seen} - {get_ident()}), 1)

    async def test_results(self) -> None:
        """Results and failures arrive on the reactor thread."""
        where: list[int] = []

        def arrived(result: tuple[int, int]) -> tuple[int, int]:
            where.append(get_ident())
            return result

        self.assertEqual(await self.worker.call(divmod, 7, 2).addCallback(arrived), (3, 1))
        self.assertEqual(where, [get_ident()])
        with self.assertRaises(ZeroDivisionError):
            await self.worker.call(divmod, 7, 0)

    async def test_cancelled_before_its_turn(self) -> None:
        """A call that is cancelled while it waits for others is never made; one that has begun goes on unheard."""
        may_go_on, has_begun = Event(), Event()
        seen: list[str] = []

        def first() -> None:
            has_begun.set()
            may_go_on.wait()
            seen.append("first")

        calls = [self.worker.call(first), *(self.worker.call(seen.append, name) for name in ("second", "third"))]
        has_begun.wait()
        for call in calls[:2]:
            call.addErrback(lambda failure: failure.trap(CancelledError))
            call.cancel()
        may_go_on.set()
        await calls[2]
        self.assertEqual(seen, ["first", "third"])

    async def test_reads_in_their_turn(self) -> None:
        """Reads are run in order, each once, and so are the changes between them, if no change waits."""
        calls = [call(self.seen.append, name) for name in "abc" for call in (self.worker.call, self.worker.read)]
        await gatherResults(calls)
        self.assertEqual(self.seen, list("aabbcc"))

    async def test_reads_beside_a_change_that_waits(self) -> None:
        """Reads behind a change that waits get their results, or failures, at once, in order; changes stay behind."""
        changes = [self.worker.call(self._waiting_change), self.worker.call(self.seen.append, "change")]
        reads = [self.worker.read(self.seen.append, f"read {i}") for i in range(3)]
        with self.assertRaises(ZeroDivisionError):
            await self.worker.read(divmod, 7, 0)
        await gatherResults(reads)
        self.assertEqual(self.seen, ["read 0", "read 1", "read 2"])
        self.assertEqual([change.called for change in changes], [False, False])
        self.may_go_on.set()
        await gatherResults([*changes, self.worker.read(self.seen.append, "read 3")])
        self.assertEqual(self.seen, ["read 0", "read 1", "read 2", "end", "change", "read 3"])

    async def test_cancelled_change_that_waits(self) -> None:
        """A change that is cancelled while it waits ends before a later read is run, and the next change is made."""
        change = self.worker.call(self._waiting_change)
        await self.worker.read(self.seen.append, "before")
        change.addErrback(lambda failure: failure.trap(CancelledError))
        change.cancel()
        await self.worker.read(self.seen.append, "after")
        await self.worker.call(self.seen.append, "change")
        self.assertEqual(self.seen, ["before", "end", "after", "change"])

    async def test_read_that_waits(self) -> None:
        """A read that waits itself lets the others wait, in its turn and beside a change."""

        def wait() -> None:
            self.worker.serve_reads()
            self.seen.append("waited")

        async def read_both() -> None:
            self.seen.clear()
            await gatherResults([self.worker.read(wait), self.worker.read(self.seen.append, "read")])
            self.assertEqual(self.seen, ["waited", "read"])

        await read_both()
        change = self.worker.call(self._waiting_change)
        await read_both()
        self.may_go_on.set()
        await change

    async def test_stop_lets_calls_end(self) -> None:
        """What was submitted before the stop has run when it returns."""
        seen: list[int] = []
        done = [self.worker.call(seen.extend, [i]) for i in range(20)]
        self._stop()
        self.assertEqual(seen, list(range(20)))
        await gatherResults(done)

    async def test_call_after_the_stop(self) -> None:
        """A call after the stop fails, whoever stopped the worker: its owner, or the reactor at its end."""
        await self.worker.call(divmod, 7, 2)
        self._stop()
        await self.assertFailure(self.worker.call(divmod, 7, 2), MetadataError)
        worker = ThreadWorker(IReactorFromThreads(reactor), "shut down")
        await worker.call(divmod, 7, 2)
        IReactorCore(reactor).removeSystemEventTrigger(worker._at_shutdown)
        worker._shut_down()
        await self.assertFailure(worker.call(divmod, 7, 2), MetadataError)
        worker.stop()
