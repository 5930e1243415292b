"""asyncio's door: the reactor on the loop, its end, cancellation."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.aio import BookKeeper, LedgerReader, LedgerWriter
from bookkeeper_twisted.aio.reactor import acquire_reactor, release_reactor, result_of
from bookkeeper_twisted.client.admin import cluster_admin
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    ClientClosedError,
    IllegalOperationError,
    InvalidMetadataUriError,
    NoSuchLedgerMetadataError,
)
from bookkeeper_twisted.testing.cluster import aio_cluster


class ReactorTests(SynchronousTestCase):
    """The reactor of a loop."""

    def test_writer_after_its_client(self) -> None:
        """A writer whose client was closed, the last one of the loop, fails as behind the other doors."""

        async def run() -> None:
            async with aio_cluster(bookies=1) as cluster, await cluster.connect() as bk:
                ledger, adv = await bk.create_ledger(1, 1, 1), await bk.create_ledger_adv(None, 1, 1, 1)
                await bk.close()
                for calling in (ledger.append(b"x"), ledger.append_many([b"x"]), adv.write(0, b"x"), ledger.close()):
                    with self.assertRaises(ClientClosedError):
                        await calling

        asyncio.run(run())

    def test_call_after_the_end(self) -> None:
        """A call that is made after the end of the reactor is run by the loop, unless it is cancelled."""

        async def run() -> list[str]:
            reactor = await acquire_reactor()
            await release_reactor(reactor)
            done: list[str] = []
            called = reactor.callLater(0, done.append, "called")
            reactor.callLater(0, done.append, "cancelled").cancel()
            self.assertTrue(called.active())
            await asyncio.sleep(0.001)
            self.assertFalse(called.active())
            return done

        self.assertEqual(asyncio.run(run()), ["called"])

    def test_shared(self) -> None:
        """Clients of one loop share its reactor, which ends with the last of them; the next one gets another."""

        async def run() -> None:
            first = await acquire_reactor()
            second = await acquire_reactor()
            self.assertIs(first, second)
            await release_reactor(first)
            self.assertTrue(first.running)
            await release_reactor(second)
            self.assertFalse(first.running)
            third = await acquire_reactor()
            self.assertIsNot(third, first)
            await release_reactor(third)

        asyncio.run(run())

    def test_loop_goes_on(self) -> None:
        """The end of a client does not end the loop."""

        async def run() -> int:
            async with await BookKeeper.connect("memory:"):
                pass
            await asyncio.sleep(0)
            return 7

        self.assertEqual(asyncio.run(run()), 7)

    def test_end_of_the_loop(self) -> None:
        """A loop that ends with an open client ends the reactor, its threads included."""
        uri = f"sqlite:///{self.mktemp()}"

        async def initialize(reactor: Any) -> None:
            async with cluster_admin(reactor, uri, ClientConfig(), create=True) as admin:
                await admin.initialize()

        async def run() -> Any:
            reactor = await acquire_reactor()
            await result_of(initialize(reactor))
            await release_reactor(reactor)
            bk = await BookKeeper.connect(uri)
            self.assertGreater(threading.active_count(), before)
            return bk._reactor

        before = threading.active_count()
        reactor = asyncio.run(run())
        self.assertFalse(reactor.running)
        self.assertEqual(threading.active_count(), before)

    def test_calls_after_the_end(self) -> None:
        """What was scheduled, or comes from a thread, after the end of the reactor is not called."""

        async def run() -> list[str]:
            calls: list[str] = []
            reactor = await acquire_reactor()
            reactor.callLater(0, calls.append, "scheduled before")
            await release_reactor(reactor)
            reactor.callFromThread(calls.append, "from a thread")
            for _ in range(5):
                await asyncio.sleep(0.001)
            return calls

        self.assertEqual(asyncio.run(run()), [])

    def test_failed_connect(self) -> None:
        """A connection that cannot be made leaves no reactor."""

        async def run() -> None:
            reactor = await acquire_reactor()
            with self.assertRaises(InvalidMetadataUriError):
                await BookKeeper.connect("nothing://x")
            self.assertEqual(reactor.users, 1)
            await release_reactor(reactor)

        asyncio.run(run())

    def test_timers(self) -> None:
        """Timers of the reactor fire on the loop."""

        async def run() -> list[str]:
            reactor = await acquire_reactor()
            calls: list[str] = []
            fired: Deferred[None] = Deferred()
            reactor.callLater(0.01, fired.callback, None)
            reactor.callLater(0, calls.append, "soon")
            reactor.callFromThread(calls.append, "thread")
            await result_of(fired)
            await release_reactor(reactor)
            return sorted(calls)

        self.assertEqual(asyncio.run(run()), ["soon", "thread"])


class OtherLoopTests(SynchronousTestCase):
    """Objects that are used on another event loop than the one on which they were made."""

    async def refused(self, bk: BookKeeper, ledger: LedgerWriter, reader: LedgerReader) -> None:
        """Calls, iterations and closes are refused; a call that is let through gets no result here."""
        calls: list[Callable[[], Awaitable[object]]] = [
            bk.create_ledger, lambda: anext(bk.list_ledgers()), bk.close, ledger.close, reader.close,
            lambda: ledger.append(b"x"), lambda: reader.read(0, 0), lambda: anext(aiter(reader)),
            lambda: anext(reader.tail_batches()),
        ]  # fmt: skip
        for call in calls:
            with self.assertRaisesRegex(IllegalOperationError, "^<aio .* was made on another event loop, and works on"):
                await asyncio.wait_for(call(), 5)

    def test_refused(self) -> None:
        """Nothing is begun on another loop, while the own loop is open and after its end."""
        clusters = AsyncExitStack()

        async def begin() -> tuple[BookKeeper, LedgerWriter, LedgerReader]:
            bk = await (await clusters.enter_async_context(aio_cluster())).connect()
            ledger = await bk.create_ledger()
            await ledger.append_many([b"a", b"b"])
            return bk, ledger, await bk.open_ledger(ledger.ledger_id, recover=False)

        async def end() -> None:
            self.assertEqual([e.data async for e in reader], [b"a", b"b"][: reader.last_add_confirmed + 1])
            self.assertEqual(await ledger.append(b"c"), 2)
            self.assertEqual((await bk.create_ledger()).ledger_id, 1)
            await clusters.aclose()

        with asyncio.Runner() as own:
            bk, ledger, reader = own.run(begin())
            asyncio.run(self.refused(bk, ledger, reader))
            self.assertEqual(ledger.last_add_pushed, 1)
            own.run(end())
        asyncio.run(self.refused(bk, ledger, reader))

    async def begun(self, clusters: AsyncExitStack) -> tuple[LedgerWriter, dict[str, AsyncGenerator[Any, None]]]:
        """Make a ledger and iterations by name; the first step of each is made on the running loop."""
        bk = await (await clusters.enter_async_context(aio_cluster())).connect()
        ledger = await bk.create_ledger()
        await bk.create_ledger()
        await ledger.append_many([b"a", b"b"])
        await ledger.append(b"c")
        reader = await bk.open_ledger(ledger.ledger_id, recover=False)
        iterations: dict[str, AsyncGenerator[Any, None]] = {
            "ledgers": bk.list_ledgers(), "entries": reader.entries(0, 1), "tail": reader.tail(),
            "batches": reader.batches(0, 1), "tailed": reader.tail_batches(),
        }  # fmt: skip
        for items in iterations.values():
            await anext(items)
        return ledger, iterations

    async def steps_refused(self, iterations: Mapping[str, AsyncGenerator[Any, None]]) -> None:
        """Every use of iterations is refused, and ends none; a step that is let through gets no result here."""
        for items in iterations.values():
            for use in (items.__anext__, partial(items.asend, None), partial(items.athrow, KeyError), items.aclose):
                with self.assertRaisesRegex(IllegalOperationError, "was made on another event loop"):
                    await asyncio.wait_for(use(), 5)

    def test_begun_iterations(self) -> None:
        """An iteration that was begun on its own loop is refused on another, and continues and ends on its own.

        Behind the end of its loop, too, it is refused: a silent end would look as if there were no more entries.
        """
        clusters = AsyncExitStack()

        async def rest(items: AsyncGenerator[Any, None]) -> list[Any]:
            return [item async for item in items]

        async def closed(name: str) -> None:
            await iterations[name].aclose()
            self.assertEqual(await rest(iterations[name]), [])
            with self.assertRaises(KeyError):
                await iterations["ledgers"].athrow(KeyError)

        with asyncio.Runner() as own:
            _, iterations = own.run(self.begun(clusters))
            asyncio.run(self.steps_refused(iterations))
            self.assertEqual([e.data for e in own.run(rest(iterations["entries"]))], [b"b"])
            own.run(closed("tail"))
            own.run(clusters.aclose())
        asyncio.run(self.steps_refused(iterations))

    def test_appender(self) -> None:
        """An appender is made on the own loop alone, neither on another loop nor without one."""
        clusters = AsyncExitStack()
        with asyncio.Runner() as own:
            ledger, _ = own.run(self.begun(clusters))

            async def make() -> object:
                return ledger.appender()

            with self.assertRaisesRegex(IllegalOperationError, "was made on another event loop"):
                asyncio.run(make())
            with self.assertRaisesRegex(IllegalOperationError, "^<aio LedgerWriter .* none runs on this thread$"):
                ledger.appender()
            own.run(make())
            own.run(clusters.aclose())


class ResultTests(SynchronousTestCase):
    """Waiting for what Twisted does."""

    def test_cancel(self) -> None:
        """Cancelling a task cancels the Deferred it waits for, and the task ends as asyncio wants it."""
        causes: list[Any] = []

        async def run() -> None:
            never: Deferred[None] = Deferred()
            never.addErrback(lambda failure: causes.append(failure.type))
            task = asyncio.ensure_future(result_of(never))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(run())
        self.assertEqual(causes, [CancelledError])

    def test_timeout(self) -> None:
        """A timeout of asyncio ends a tail that waits; the reader can be used after it."""

        async def run() -> list[bytes]:
            silent = ClientConfig(explicit_lac_interval=0)  # an entry is confirmed by the next one alone
            async with aio_cluster() as cluster, await cluster.connect(silent) as bk:
                ledger = await bk.create_ledger()
                await ledger.append(b"0")
                await ledger.append(b"1")
                reader = await bk.open_ledger(ledger.ledger_id, recover=False)
                found = []
                with self.assertRaises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        async for entry in reader.tail():
                            found.append(entry.data)
                await ledger.close()
                # An idle writer tells bookies its LAC, perhaps before the timeout, perhaps after it.
                return [*found, *[e.data async for e in reader.tail(len(found))]]

        self.assertEqual(asyncio.run(run()), [b"0", b"1"])

    def test_order(self) -> None:
        """Appends of several tasks get their ids in the order in which the tasks begin."""

        async def run() -> list[int]:
            async with aio_cluster() as cluster, await cluster.connect() as bk, await bk.create_ledger() as ledger:
                async with asyncio.TaskGroup() as tasks:
                    appends = [tasks.create_task(ledger.append(b"%d" % n)) for n in range(20)]
                return [task.result() for task in appends]

        self.assertEqual(asyncio.run(run()), list(range(20)))

    def test_error_in_a_task(self) -> None:
        """An error of one task is raised in it alone."""

        async def run() -> tuple[Any, Any]:
            async with aio_cluster() as cluster, await cluster.connect() as bk:
                return await asyncio.gather(bk.open_ledger(5), bk.create_ledger(), return_exceptions=True)

        error, ledger = asyncio.run(run())
        self.assertIsInstance(error, NoSuchLedgerMetadataError)
        self.assertEqual(ledger.ledger_id, 0)
