"""``python -m benchmarks following``: how soon an append reaches a reader that follows, and what that costs appends.

Three bookies in a process of their own, ledgers of 3, 3, 2, the client as it is configured by default.  At each door
of the client in turn one ledger is written and followed: an append, nothing for 60 to 100 ms, another one, so that no
entry tells of the one before.  Counted is the time from the call of ``append`` until ``tail`` gives the entry.  Then
appends of 100 bytes, 100 in flight, with ``explicitLacInterval`` as it is by default and with 0, in turn: the ratios
are the medians of those of the rounds.  On a busy machine look at the CPU.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from statistics import median, quantiles
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from bookkeeper_twisted import aio, blocking, client
from bookkeeper_twisted.blocking.reactor_thread import ReactorThread
from bookkeeper_twisted.config.client import ClientConfig

_QUORUMS = 3, 3, 2
_IN_FLIGHT = 100
_LONGEST_MS = 50.0
_MOST_COST = 0.01
_TWISTD = "from twisted.scripts.twistd import run; run()"


@contextmanager
def bookies() -> Iterator[str]:
    """Run three bookies; gives the URI of their metadata."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "bookie", "--standalone", "3", "--data", data]
        command += ["--autoRecoveryDaemonEnabled=false", "--httpServerEnabled=false"]
        environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
        assert process.stdout is not None
        try:
            while not re.search("ready: ", process.stdout.readline()):
                if process.poll() is not None:
                    raise SystemExit("the bookies do not start")
            yield f"sqlite:///{data}/metadata.db"
        finally:
            process.terminate()
            process.communicate()


def _pauses(count: int) -> list[float]:
    """Seconds without an append, which let the last one stand alone."""
    chance = Random(1)
    return [chance.uniform(0.06, 0.1) for _ in range(count)]


def plain(uri: str, count: int) -> list[float]:
    """Seconds from each append to its entry, at the door of plain calls."""
    called, seen = list[float](), list[float]()
    with blocking.BookKeeper.connect(uri) as bk:
        ledger = bk.create_ledger(*_QUORUMS)
        reader = bk.open_ledger(ledger.ledger_id, recover=False)

        def follow() -> None:
            for _ in reader.tail():
                seen.append(time.perf_counter())

        thread = threading.Thread(target=follow)
        thread.start()
        for pause in _pauses(count):
            called.append(time.perf_counter())
            ledger.append(b"entry")
            time.sleep(pause)
        ledger.close()
        thread.join()
    return [end - begin for begin, end in zip(called, seen, strict=True)]


def tasks(uri: str, count: int) -> list[float]:
    """Seconds from each append to its entry, at the door of asyncio."""

    async def run() -> list[float]:
        called, seen = list[float](), list[float]()
        async with await aio.BookKeeper.connect(uri) as bk:
            ledger = await bk.create_ledger(*_QUORUMS)
            reader = await bk.open_ledger(ledger.ledger_id, recover=False)

            async def follow() -> None:
                async for _ in reader.tail():
                    seen.append(time.perf_counter())

            following = asyncio.ensure_future(follow())
            for pause in _pauses(count):
                called.append(time.perf_counter())
                await ledger.append(b"entry")
                await asyncio.sleep(pause)
            await ledger.close()
            await following
        return [end - begin for begin, end in zip(called, seen, strict=True)]

    return asyncio.run(run())


def _on_reactor(work: Any) -> Any:
    """Run a coroutine, made of the reactor by ``work``, on the reactor of a thread."""
    thread, ended, results = ReactorThread(), threading.Event(), list[Any]()

    def begin() -> None:
        Deferred.fromCoroutine(work(thread.reactor)).addBoth(results.append).addBoth(lambda _: ended.set())

    thread.reactor.callFromThread(begin)
    ended.wait()
    return results[0]


def deferreds(uri: str, count: int) -> list[float]:
    """Seconds from each append to its entry, at the door of Twisted."""

    async def run(reactor: Any) -> list[float]:
        called, seen = list[float](), list[float]()
        bk = await client.BookKeeper.connect(reactor, uri)
        ledger = await bk.create_ledger(*_QUORUMS)
        reader = await bk.open_ledger(ledger.ledger_id, recover=False)

        async def follow() -> None:
            async for _ in reader.tail():
                seen.append(time.perf_counter())

        following = Deferred.fromCoroutine(follow())
        for pause in _pauses(count):
            called.append(time.perf_counter())
            await ledger.append(b"entry")
            await deferLater(reactor, pause)
        await ledger.close()
        await following
        await bk.close()
        return [end - begin for begin, end in zip(called, seen, strict=True)]

    found: list[float] = _on_reactor(run)
    return found


def costs(uri: str, rounds: int, count: int) -> list[list[tuple[float, float]]]:
    """Seconds, and seconds of CPU of the client, of an append, 100 in flight: with notices, and without, in turn."""

    async def side(config: ClientConfig) -> tuple[Any, Any]:
        bk = await aio.BookKeeper.connect(uri, config)
        return bk, await bk.create_ledger(*_QUORUMS)

    async def block(ledger: Any) -> tuple[float, float]:
        payload, began, busy = bytes(100), time.perf_counter(), time.process_time()
        for _ in range(count):
            await asyncio.gather(*(ledger.append(payload) for _ in range(_IN_FLIGHT)))
        n_appends = count * _IN_FLIGHT
        return (time.perf_counter() - began) / n_appends, (time.process_time() - busy) / n_appends

    async def run() -> list[list[tuple[float, float]]]:
        sides = [await side(ClientConfig()), await side(ClientConfig(explicit_lac_interval=0))]
        found: list[list[tuple[float, float]]] = [[], []]
        for number in range(rounds + 1):
            for which in (0, 1) if number % 2 else (1, 0):
                taken = await block(sides[which][1])
                await asyncio.sleep(0.1)  # what is idle says so before the other one is measured
                if number:  # the first round warms up
                    found[which].append(taken)
        for bk, ledger in sides:
            await ledger.close()
            await bk.close()
        return found

    return asyncio.run(run())


def main(arguments: Sequence[str]) -> int:
    """Print both tables; the status says whether half of the entries came within 50 ms, at a cost of 1 % at most."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks following", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="appends at each door (200)")
    parser.add_argument("--rounds", type=int, default=40, help="rounds with and without notices (40)")
    parser.add_argument("--hundreds", type=int, default=50, help="hundreds of appends of a round (50)")
    options = parser.parse_args(arguments)
    late = False
    with bookies() as uri:
        for name, door in (("blocking", plain), ("aio", tasks), ("Twisted", deferreds)):
            delays = [1000 * delay for delay in door(uri, options.count)]
            *_, p99 = quantiles(delays, n=100)
            late = late or median(delays) > _LONGEST_MS
            print(f"{name:8}  p50 {median(delays):5.1f} ms  p99 {p99:5.1f} ms  most {max(delays):5.1f} ms", flush=True)
        told, untold = costs(uri, options.rounds, options.hundreds)
    ratios = []
    for i, what in enumerate(("time", "CPU of the client")):
        ratios.append(median(one[i] / other[i] for one, other in zip(told, untold, strict=True)))
        medians = (1e6 * median(taken[i] for taken in side) for side in (told, untold))
        print("{}, us an append: {:.2f} with notices, {:.2f} without, ratio {:.3f}".format(what, *medians, ratios[-1]))
    return int(late or min(ratios) > 1 + _MOST_COST)
