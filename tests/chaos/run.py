"""One run: cluster, load, faults, then the comparison."""

from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookKeeperError

from .cluster import ProcessCluster
from .faults import Faults
from .history import History
from .writer import Shape, Writer

ADD_TIMEOUT = 3.0
MAX_GAP = ADD_TIMEOUT + 2.0

CLIENTS = (
    ClientConfig(
        add_entry_timeout_sec=ADD_TIMEOUT, read_entry_timeout_sec=ADD_TIMEOUT, wire_protocol="auto",
        delay_ensemble_change=True,
    ),
    ClientConfig(add_entry_timeout_sec=ADD_TIMEOUT, read_entry_timeout_sec=ADD_TIMEOUT, wire_protocol="v3"),
)  # fmt: skip
"""The writers of the one go on with two of three bookies; those of the other need a spare one, or a new ledger."""


@attrs.frozen
class Outcome:
    """What came of a run.

    :ivar problems: one sentence each; none is wanted.
    :ivar figures: names and numbers for people.
    """

    problems: tuple[str, ...]
    figures: dict[str, str]


def shapes(bookies: int) -> list[Shape]:
    """With three bookies nobody can be replaced, and two of three suffice; with more there are spares."""
    if bookies <= 3:
        return [Shape(3, 3, 2)] * 4
    return [Shape(3, 3, 2), Shape(3, 2, 2), Shape(4, 3, 2), Shape(3, 3, 3)]


async def run(reactor: Any, folder: Path, bookies: int, seconds: float, seed: int) -> Outcome:
    """Runs it in an empty folder, and leaves no process behind."""
    cluster = ProcessCluster(reactor, folder, bookies)
    try:
        await cluster.start()
        history = History()
        faults = Faults(reactor, cluster, Random(seed), ADD_TIMEOUT)
        await _load(reactor, cluster, history, faults, seconds)
        problems, entries = await _verify(reactor, cluster, history)
        statuses = await cluster.shut_down()
    finally:
        await cluster.stop()
    if any(statuses):
        problems.append(f"bookies ended with the statuses {statuses}")
    if history.longest_gap > MAX_GAP:
        problems.append(f"a writer waited {history.longest_gap:.2f} s for an acknowledgement, more than {MAX_GAP} s")
    if not all(faults.counts.values()) or not history.acked:
        problems.append(f"too short a run to show anything: {faults.counts}, {history.acked} entries")
    return Outcome(tuple(problems), _figures(history, faults, entries))


async def _load(reactor: Any, cluster: ProcessCluster, history: History, faults: Faults, seconds: float) -> None:
    """Writers and faults for a while; the clients are closed with their ledgers open."""
    clients = []
    try:
        for config in CLIENTS:
            clients.append(await BookKeeper.connect(reactor, cluster.uri, config))
        until = reactor.seconds() + seconds
        work = [faults.run(until)]
        for number, shape in enumerate(shapes(len(cluster.names))):
            writer = Writer(reactor, clients[number % len(clients)], shape, f"w{number}", history)
            work.append(writer.run(until))
        await gatherResults([Deferred.fromCoroutine(task) for task in work], consumeErrors=True)
    finally:
        for client in clients:
            await client.close()


async def _verify(reactor: Any, cluster: ProcessCluster, history: History) -> tuple[list[str], int]:
    """Opens every ledger with recovery and reads it whole; returns what is wrong, and how many entries it saw."""
    problems, entries = [], 0
    async with await BookKeeper.connect(reactor, cluster.uri) as client:
        for ledger_id in history.ledgers:
            try:
                found = await _read(client, ledger_id)
            except BookKeeperError as error:
                problems.append(f"ledger {ledger_id} cannot be read: {error}")
                continue
            entries += len(found)
            problems.extend(history.compare(ledger_id, found))
    return problems, entries


async def _read(client: BookKeeper, ledger_id: int) -> list[bytes]:
    """The digests of all payloads."""
    reader = await client.open_ledger(ledger_id, password=b"chaos")
    found: list[bytes] = []
    async for batch in reader.batches():
        found.extend([sha256(payload).digest() for payload in batch.payloads])
    return found


def _figures(history: History, faults: Faults, entries: int) -> dict[str, str]:
    return {
        **{kind: str(count) for kind, count in faults.counts.items()},
        "ledgers": str(len(history.ledgers)),
        "entries acknowledged": f"{history.acked:,}",
        "entries read back": f"{entries:,}",
        "longest gap": f"{history.longest_gap:.2f} s (limit {MAX_GAP:.2f} s)",
    }
