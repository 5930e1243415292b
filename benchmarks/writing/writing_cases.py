"""The appends that ``python -m benchmarks writing`` measures: a process that does on request what a line asks for.

It runs with the source tree named by ``PYTHONPATH``, this one or an older one: it uses public names and what it
finds.  ``{"case": name, "count": n}`` on the standard input is answered by seconds of time and CPU, and percentiles;
with ``"walk": true`` by the modules of the functions that were called.
"""

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.stdio import StandardIO
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

_reactor: Any = reactor
_PAYLOAD = bytes(100)
_LEDGERS = 1000
_GROUP = 1000
_PACKAGE = "bookkeeper_twisted."
_SENDS = ("send", "sendmsg", "write", "writev")


def _found(*names: str) -> Any:
    """The first of these modules that there is: older trees have them elsewhere."""
    for name in names:
        try:
            return importlib.import_module(f"bookkeeper_twisted.{name}")
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of {names}")


class Appends:
    """A client whose bookies are given, and what it appends."""

    def __init__(self, bookies: list[str]) -> None:
        self._bookies = bookies
        self._writers: dict[str, list[Any]] = {}
        self._client: Any = None

    async def open(self) -> None:
        """Connects, and creates the ledgers."""
        model, config = _found("model"), _found("config.client", "config").ClientConfig()
        driver = _found("metadata.embedded.memory", "metadata.memory").MemoryStore().driver(_reactor)
        await driver.open()
        for bookie_id in self._bookies:
            await driver.registration.register_bookie(bookie_id, False, model.BookieServiceInfo())
        network = _found("client.connections.bookie_client", "client.bookie_client")
        endpoints = _found("client.production").tcp_endpoints(_reactor, config)
        addresses = network.BookieAddresses(driver.registration, endpoints)
        bookies = network.NetworkBookieClient(_reactor, addresses.resolve, config)
        self._client = _found("client").BookKeeper(_reactor, driver, bookies, Random(1), config)
        for name, quorums, count in (("E1", (1, 1, 1), 1), ("E3", (3, 3, 2), 1), ("many", (1, 1, 1), _LEDGERS)):
            self._writers[name] = [await self._client.create_ledger(*quorums) for _ in range(count)]
            for writer in self._writers[name]:
                await writer.append(_PAYLOAD)

    async def lone(self, name: str, count: int) -> list[float]:
        """One append after the other; the seconds of each."""
        (writer,), times, clock = self._writers[name], list[float](), time.perf_counter
        for _ in range(count):
            begun = clock()
            await writer.append(_PAYLOAD)
            times.append(clock() - begun)
        return times

    async def groups(self, name: str, count: int) -> list[float]:
        """``append_many`` of a thousand."""
        (writer,), group = self._writers[name], [_PAYLOAD] * _GROUP
        for _ in range(count // _GROUP):
            await writer.append_many(group)
        return []

    async def ledgers(self, name: str, count: int) -> list[float]:
        """An append to each of a thousand ledgers."""
        writers = self._writers[name]
        for _ in range(count // len(writers)):
            await gatherResults([writer.append(_PAYLOAD) for writer in writers])
        return []

    async def overlapping(self, name: str, count: int) -> list[float]:
        """Appends to one ledger, 32 of them in flight: each is followed by another one."""
        (writer,), left, end = self._writers[name], count, Deferred[None]()
        running = 32

        def again(_: object) -> None:
            nonlocal left, running
            if left:
                left -= 1
                writer.append(_PAYLOAD).addCallback(again)
            else:
                running -= 1
                if not running:
                    end.callback(None)

        for _ in range(running):
            writer.append(_PAYLOAD).addCallback(again)
        await end
        return []

    def _way(self, case: str) -> tuple[Callable[[str, int], Any], str]:
        kind, _, name = case.partition(" ")
        ways: dict[str, Callable[[str, int], Any]] = {
            "lone": self.lone, "append_many": self.groups, "ledgers": self.ledgers, "overlapping": self.overlapping,
        }  # fmt: skip
        return ways[kind], name

    async def answer(self, case: str, count: int, walk: bool = False) -> dict[str, Any]:
        """Does one case."""
        return await (self.walk if walk else self.measure)(case, count)

    async def walk(self, case: str, count: int) -> dict[str, Any]:
        """Does one case under a profiler.

        :returns: by ``calls``, the modules of this package whose functions were called, in order; by ``sent``, how
            many of these came before the first bytes went to a socket; by ``functions``, how many Python functions
            were called at all.
        """
        way, name = self._way(case)
        calls, sent, functions = list[str](), -1, 0

        def called(frame: Any, event: str, argument: Any) -> None:
            nonlocal sent, functions
            if event == "call":
                functions += 1
                module = frame.f_globals.get("__name__", "")
                if module.startswith(_PACKAGE):
                    calls.append(module[len(_PACKAGE) :])
            elif event == "c_call" and sent < 0 and argument.__name__ in _SENDS:
                sent = len(calls)

        for _ in range(3):
            await way(name, count)
        sys.setprofile(called)
        try:
            await way(name, count)
        finally:
            sys.setprofile(None)
        return {"calls": calls, "sent": sent, "functions": functions}

    async def measure(self, case: str, count: int) -> dict[str, float]:
        """Does one case."""
        way, name = self._way(case)
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        times = await way(name, count)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        times.sort()
        p50, p99 = (times[len(times) // 2], times[len(times) * 99 // 100]) if times else (0.0, 0.0)
        return {"wall": wall, "cpu": cpu, "p50": p50, "p99": p99}


class Requests(LineOnlyReceiver):
    """Takes a line for each case, and answers with one."""

    delimiter = b"\n"

    def __init__(self, appends: Appends) -> None:
        self._appends = appends

    def lineReceived(self, line: bytes) -> None:
        """Measures."""
        work = Deferred.fromCoroutine(self._appends.answer(**json.loads(line)))
        work.addCallbacks(self._answer, self._broken)

    def _answer(self, figures: dict[str, Any]) -> None:
        self.sendLine(json.dumps(figures).encode())

    def _broken(self, failure: Failure) -> None:
        failure.printTraceback()
        _reactor.stop()

    def connectionLost(self, reason: object = None) -> None:
        """The end."""
        if _reactor.running:
            _reactor.stop()


def main() -> None:
    """Connects to the bookies named by the arguments and serves until the standard input ends."""

    async def begin() -> None:
        await appends.open()
        requests = Requests(appends)
        StandardIO(requests)
        requests.sendLine(b"ready")

    appends = Appends(sys.argv[1:])
    _reactor.callWhenRunning(lambda: Deferred.fromCoroutine(begin()).addErrback(Failure.printTraceback))
    _reactor.run()


if __name__ == "__main__":
    main()
