"""The suite of behaviour through each door, and that no door lacks what another has."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from datetime import timedelta
from functools import partial
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.internet.defer import TimeoutError as DeferredTimeoutError
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import aio, blocking, client
from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.testing.cluster import MemoryCluster, aio_cluster, blocking_cluster

from .contract import SECONDS, ContractSuite
from .suite import CALLS, Awaitable

Body = Callable[[Any], Coroutine[Any, Any, None]]
Call = Callable[..., Any]

BOOKIES = 4
TURN = 0.01
TURNS = 10_000
SOON = 0.01
"""Seconds that are not enough."""


class DeferredDoorTests(ContractSuite, SynchronousTestCase):
    """Twisted's door, on a clock."""

    def drive(self, body: Body) -> None:
        """See :meth:`DoorSuite.drive`."""
        self.clock = clock = Clock()
        running = Deferred.fromCoroutine(body(MemoryCluster(clock, BOOKIES)))
        ended: list[Any] = []
        running.addBoth(ended.append)
        for _ in range(TURNS):
            if ended:
                break
            clock.advance(TURN)
        self.assertEqual(ended, [None])

    def connect(self, **arguments: Any) -> Any:
        """See :meth:`ContractSuite.connect`."""
        return client.BookKeeper.connect(self.clock, **arguments)

    def _begin(self, call: Call, arguments: Mapping[str, Any]) -> "Deferred[Any]":
        begun = call(**arguments)
        return begun if isinstance(begun, Deferred) else ensureDeferred(anext(begun))

    async def expire(self, call: Call, arguments: Mapping[str, Any]) -> None:
        """See :meth:`ContractSuite.expire`."""
        with self.assertRaises(DeferredTimeoutError):
            await self._begin(call, arguments).addTimeout(SOON, self.clock)

    async def cancel(self, call: Call, arguments: Mapping[str, Any]) -> None:
        """See :meth:`ContractSuite.cancel`."""
        begun = self._begin(call, arguments)
        begun.cancel()
        with self.assertRaises(CancelledError):
            await begun


class AioDoorTests(ContractSuite, SynchronousTestCase):
    """asyncio's door, on a loop of its own."""

    def drive(self, body: Body) -> None:
        """See :meth:`DoorSuite.drive`."""

        async def run() -> None:
            async with aio_cluster(BOOKIES) as cluster:
                await body(cluster)

        asyncio.run(run())

    def connect(self, **arguments: Any) -> Any:
        """See :meth:`ContractSuite.connect`."""
        return aio.BookKeeper.connect(**arguments)

    async def _first(self, call: Call, arguments: Mapping[str, Any]) -> Any:
        begun = call(**arguments)
        if inspect.iscoroutine(begun):
            return await begun
        async with aclosing(begun):
            return await anext(begun)

    async def expire(self, call: Call, arguments: Mapping[str, Any]) -> None:
        """See :meth:`ContractSuite.expire`."""
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(SOON):
                await self._first(call, arguments)

    async def cancel(self, call: Call, arguments: Mapping[str, Any]) -> None:
        """See :meth:`ContractSuite.cancel`."""
        begun = asyncio.ensure_future(self._first(call, arguments))
        await asyncio.sleep(0)
        begun.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await begun


class BlockingDoorTests(ContractSuite, SynchronousTestCase):
    """The blocking door."""

    def drive(self, body: Body) -> None:
        """See :meth:`DoorSuite.drive`."""
        with blocking_cluster(BOOKIES) as cluster:
            running = body(Awaitable(cluster))
            with self.assertRaises(StopIteration):
                running.send(None)

    def connect(self, **arguments: Any) -> Any:
        """See :meth:`ContractSuite.connect`."""
        return Awaitable(blocking.BookKeeper).connect(**arguments)

    async def expire(self, call: Call, arguments: Mapping[str, Any]) -> None:
        """See :meth:`ContractSuite.expire`."""
        await self._end(call, SOON, arguments)

    async def cancel(self, call: Call, arguments: Mapping[str, Any]) -> None:
        """See :meth:`ContractSuite.cancel`: no time at all, as Ctrl-C is for the whole process."""
        await self._end(call, 0, arguments)

    async def _end(self, call: Call, timeout: float, arguments: Mapping[str, Any]) -> None:
        if "timeout" in arguments:
            return  # the time of the wait itself
        begun = call(**arguments, timeout=timeout)
        with self.assertRaises(TimeoutError):
            await (anext(aiter(begun)) if CALLS.get(call.__name__) == "iteration" else begun)

    def test_timeouts(self) -> None:
        """Every call refuses a timeout that is none, when it is made."""
        with blocking_cluster(BOOKIES) as cluster, cluster.connect() as bk, bk.create_ledger() as ledger:
            reader = bk.open_ledger(ledger.ledger_id, recover=False)
            for call in (
                bk.create_ledger, bk.list_ledgers, ledger.force, ledger.close, reader.read_last_add_confirmed,
                reader.batches, reader.entries, reader.tail, partial(blocking.BookKeeper.connect, "memory:"),
            ):  # fmt: skip
                for wrong in (*SECONDS, timedelta(1)):
                    error = self.assertRaises(IncorrectParameterError, call, timeout=wrong)
                    self.assertIn("timeout: ", str(error))
