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
        self.assertEqual(self.successResultOf(worker.call(divmod, 7, 2)), (3, 1))
        self.failureResultOf(worker.call(divmod, 7, 0), ZeroDivisionError)
        worker.stop()


class ThreadWorkerTests(TestCase):
    """:class:`ThreadWorker`."""

    def setUp(self) -> None:
        self.worker = ThreadWorker(IReactorFromThreads(reactor), "test")
        self.stopped = False
        self.addCleanup(self._stop)

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
