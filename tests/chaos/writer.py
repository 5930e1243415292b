"""A writer that never gives up: it appends, and takes a new ledger when one ends or is long enough."""

import contextlib
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import attrs
from twisted.internet.defer import Deferred, DeferredList, gatherResults
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from bookkeeper_twisted.client import BookKeeper, LedgerWriter
from bookkeeper_twisted.errors import BookKeeperError, NotEnoughBookiesError

from .history import History, LedgerRecord, Rhythm

BATCH = 20
MAX_UNACKED = 2000
INTERVAL = 0.02
"""Seconds between two batches of one writer."""

LONG_ENOUGH = 5000
"""Entries after which a writer looks for a new ledger."""


@attrs.frozen
class Shape:
    """Ensemble size, write quorum and ack quorum of ledgers."""

    ensemble_size: int
    write_quorum: int
    ack_quorum: int


class Writer:
    """One writer of many ledgers, one after the other."""

    def __init__(self, clock: Any, client: BookKeeper, shape: Shape, name: str, history: History) -> None:
        self._clock = clock
        self._client = client
        self._shape = shape
        self._name = name
        self._history = history
        self._sent = 0
        self._rhythm = Rhythm(clock.seconds())
        history.rhythms.append(self._rhythm)

    async def run(self, until: float) -> None:
        """Goes on until a time of the clock.  The last ledger stays open, as if the writer had died."""
        ledger = None
        while self._clock.seconds() < until:
            if ledger is None:
                ledger = await self._create()
            if ledger is None:
                await deferLater(self._clock, INTERVAL)
            else:
                ledger = await self._fill(ledger, self._history.ledgers[ledger.ledger_id], until)
        self._rhythm.beat(self._clock.seconds())

    async def _create(self) -> LedgerWriter | None:
        """A new ledger, None while there are too few bookies."""
        try:
            ledger = await self._client.create_ledger(**attrs.asdict(self._shape), password=b"chaos")
        except NotEnoughBookiesError:
            return None
        self._history.ledgers[ledger.ledger_id] = LedgerRecord()
        return ledger

    async def _fill(self, ledger: LedgerWriter, record: LedgerRecord, until: float) -> LedgerWriter | None:
        """Appends; returns the ledger to go on with, None if this one ended and there is no other yet."""
        waiting: list[Deferred[None]] = []
        alive = True

        def failed(failure: Failure) -> None:
            nonlocal alive
            failure.trap(BookKeeperError)
            alive = False

        successor = None
        while alive and successor is None and self._clock.seconds() < until:
            if len(record.sent) - record.acked < MAX_UNACKED:
                waiting.append(self._append(ledger, record).addErrback(failed))
            await deferLater(self._clock, INTERVAL)
            if len(record.sent) > LONG_ENOUGH:
                successor = await self._create()
        await _all(waiting)
        if alive and successor is None:
            return ledger
        with contextlib.suppress(BookKeeperError):  # it says that appends failed; the ledger is closed all the same
            await ledger.close()
        return successor

    def _append(self, ledger: LedgerWriter, record: LedgerRecord) -> "Deferred[None]":
        payloads = [self._payload() for _ in range(BATCH)]
        record.send(payloads)
        return ledger.append_many(payloads).addCallback(self._acked, record.ack)

    def _acked(self, ids: tuple[int, int], ack: Callable[[int, int], None]) -> None:
        ack(*ids)
        self._rhythm.beat(self._clock.seconds())

    def _payload(self) -> bytes:
        """Bytes that no other entry has, of a size that varies."""
        self._sent += 1
        return sha256(f"{self._name}/{self._sent}".encode()).digest() * (1 + self._sent % 16)


async def _all(waiting: "list[Deferred[None]]") -> None:
    """Waits for all; an unexpected failure is raised only then."""
    await DeferredList(waiting)
    await gatherResults(waiting)
