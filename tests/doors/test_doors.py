"""The suite of behaviour through each door, and that no door lacks what another has."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import aio, blocking, client
from bookkeeper_twisted.testing.cluster import MemoryCluster, aio_cluster, blocking_cluster

from .suite import Awaitable, DoorSuite

Body = Callable[[Any], Coroutine[Any, Any, None]]

BOOKIES = 4
TURN = 0.01
TURNS = 10_000


class DeferredDoorTests(DoorSuite, SynchronousTestCase):
    """Twisted's door, on a clock."""

    def drive(self, body: Body) -> None:
        """See :meth:`DoorSuite.drive`."""
        clock = Clock()
        running = Deferred.fromCoroutine(body(MemoryCluster(clock, BOOKIES)))
        ended: list[Any] = []
        running.addBoth(ended.append)
        for _ in range(TURNS):
            if ended:
                break
            clock.advance(TURN)
        self.assertEqual(ended, [None])


class AioDoorTests(DoorSuite, SynchronousTestCase):
    """asyncio's door, on a loop of its own."""

    def drive(self, body: Body) -> None:
        """See :meth:`DoorSuite.drive`."""

        async def run() -> None:
            async with aio_cluster(BOOKIES) as cluster:
                await body(cluster)

        asyncio.run(run())


class BlockingDoorTests(DoorSuite, SynchronousTestCase):
    """The blocking door."""

    def drive(self, body: Body) -> None:
        """See :meth:`DoorSuite.drive`."""
        with blocking_cluster(BOOKIES) as cluster:
            running = body(Awaitable(cluster))
            with self.assertRaises(StopIteration):
                running.send(None)


class ParityTests(SynchronousTestCase):
    """The public names of the doors."""

    KINDS = ("BookKeeper", "LedgerWriter", "AdvLedgerWriter", "LedgerReader")

    def _public(self, kind: type) -> dict[str, list[str]]:
        """Names of what an object can do, and of the parameters of each."""
        found = {}
        for name in {n for n in dir(kind) if n[0] != "_"}:
            value = getattr(kind, name)
            if callable(value) and not isinstance(value, type):
                parameters = [p for p in inspect.signature(value).parameters if p != "self"]
                found[name] = parameters
        return found

    def test_asyncio(self) -> None:
        """Whatever Twisted's door can do, asyncio's can, with the same parameters."""
        for kind in self.KINDS:
            ours = self._public(getattr(aio, kind))
            for name, parameters in self._public(getattr(client, kind)).items():
                self.assertEqual(ours.get(name), [p for p in parameters if p != "reactor"], f"{kind}.{name}")

    def test_blocking(self) -> None:
        """Whatever asyncio's door can do, the blocking one can, and every call that waits takes a timeout."""
        for kind in self.KINDS:
            ours = self._public(getattr(blocking, kind))
            for name, parameters in self._public(getattr(aio, kind)).items():
                more = [] if name == "appender" or "timeout" in parameters else ["timeout"]
                found = [p for p in ours.get(name, ()) if p != "thread"]
                self.assertEqual(found, parameters + more, f"{kind}.{name}")

    def test_nothing_internal(self) -> None:
        """Public objects have nothing that is not for applications."""
        names = {kind: set(self._public(getattr(client, kind))) for kind in self.KINDS}
        shared = {"close", "force"}
        self.assertEqual(names["LedgerWriter"], shared | {"append", "append_many", "appender"})
        self.assertEqual(names["AdvLedgerWriter"], shared | {"write"})
        whole = {"close", "connect", "create_ledger", "create_ledger_adv", "open_ledger", "delete_ledger"}
        self.assertEqual(names["BookKeeper"], whole | {"list_ledgers", "ledger_metadata"})
        for name in names["LedgerReader"] - {"close"}:
            self.assertRegex(name, "read|entries|batches|tail")

    def test_properties(self) -> None:
        """The attributes of handles are the same."""
        for kind in self.KINDS:
            named = [
                {n for n, v in inspect.getmembers(getattr(door, kind)) if isinstance(v, property) and n[0] != "_"}
                for door in (aio, blocking)
            ]
            self.assertEqual(named[0], named[1], kind)
