"""Producer threads against a sender whose connections break, and what has to come out of it.

The plan (sizes, aborts, who dies where, where connections break) follows from a seed; which thread runs
when does not.
"""

import random
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

from bookkeeper_twisted.client.claims.claim_log import ClaimLog
from bookkeeper_twisted.client.claims.memory_blocks import MemoryPool
from bookkeeper_twisted.client.claims.producer import Producer, WhenFull
from bookkeeper_twisted.client.claims.threads import system_threads

from ...bounds import in_thread, join, until
from .log_case import DIGESTER, LEDGER, layout, payloads

_HEAD = struct.Struct(">II")
_LARGEST = 60
_MOST_LOOKS = 10_000


class Producers:
    """``threads`` threads with ``offers`` messages each, of which some are given up; one dies with a claim open.

    :ivar errors: what none of them should raise.
    """

    def __init__(self, chance: random.Random, threads: int, offers: int) -> None:
        self.errors: list[BaseException] = []
        self._chance = chance
        self._plans = [self._plan(i, offers) for i in range(threads)]
        self._victim, self._death = chance.randrange(threads), chance.randrange(offers)
        self._workers: list[threading.Thread] = []

    def _plan(self, producer: int, offers: int) -> list[tuple[str, bytes]]:
        choices = self._chance.choices(("offer", "claim", "abort", "wrong"), (90, 4, 4, 2), k=offers)
        fill = self._chance.choices(range(_LARGEST), k=offers)
        return [
            (choice, _HEAD.pack(producer, i) + bytes([i & 255]) * size)
            for i, (choice, size) in enumerate(zip(choices, fill, strict=True))
        ]

    def start(self, log: ClaimLog, ended: Callable[[], object] = lambda: None) -> None:
        """Starts the threads; each calls ``ended`` at its end."""
        self._workers = [in_thread(partial(self._produce, log, i, ended)) for i in range(len(self._plans))]

    @property
    def alive(self) -> bool:
        """Whether any is at work."""
        return any(worker.is_alive() for worker in self._workers)

    def _produce(self, log: ClaimLog, index: int, ended: Callable[[], object]) -> None:
        try:
            producer = log.producer(WhenFull.BLOCK)
            for i, (choice, payload) in enumerate(self._plans[index]):
                if index == self._victim and i == self._death:
                    producer.claim(30)
                    return
                self._do(producer, choice, payload)
        except BaseException as error:
            self.errors.append(error)
        finally:
            ended()

    @staticmethod
    def _do(producer: Producer, choice: str, payload: bytes) -> None:
        if choice == "offer":
            assert producer.offer(payload) > 0
        elif choice == "wrong":
            try:
                producer.offer(cast(bytes, payload.decode("latin-1")))
            except struct.error:
                return
            raise AssertionError("text was taken")
        else:
            assert producer.claim(len(payload)) > 0
            producer.payload[:] = payload
            producer.abort() if choice == "abort" else producer.commit()

    def check(self, stored: Iterable[bytes]) -> None:
        """:raises AssertionError: something was lost, torn, doubled or out of order."""
        join(*self._workers)
        assert not self.errors, self.errors
        received: list[list[int]] = [[] for _ in self._plans]
        for payload in stored:
            producer, number = _HEAD.unpack_from(payload)
            assert payload == self._plans[producer][number][1], "a frame is torn"
            received[producer].append(number)
        for i, plan in enumerate(self._plans):
            end = self._death if i == self._victim else len(plan)
            expected = [n for n, (choice, _) in enumerate(plan[:end]) if choice in ("offer", "claim")]
            assert received[i] == expected, f"producer {i}"


Unacknowledged = deque[tuple[int, int, bytes]]
"""Of what was taken together: the end in the log, the entries up to there, the sealed frames."""


class Stress:
    """Producers and a sender whose connections break, in the middle of frames too."""

    def __init__(self, chance: random.Random, threads: int, offers: int, locked: bool = False) -> None:
        self._stored: list[bytes] = []  # by the bookie, index is the entry id
        self._acknowledged = 0
        self._chance = chance
        self._producers = Producers(chance, threads, offers)
        self._looks = threading.Semaphore(0)
        self.log = ClaimLog(LEDGER, layout(), MemoryPool(4096), system_threads(None), self._looks.release)
        if locked:
            self.log.use_lock()

    def run(self) -> None:
        """:raises AssertionError: something was lost, torn, doubled or out of order."""
        self._producers.start(self.log, self._looks.release)
        entries = length = 0
        unacknowledged: Unacknowledged = deque()
        for _ in until(lambda: False, _MOST_LOOKS):
            over = not self._producers.alive
            self.log.disarm()
            while (frames := self.log.take(self._chance.randrange(100, 3000))) is not None:
                adds, lengths = frames.seal(DIGESTER, LEDGER, entries, -1, length)
                entries, length = entries + len(adds), lengths[-1]
                unacknowledged.append((frames.end, entries, adds.frames))
                if self._chance.random() < 0.3:
                    self._deliver(unacknowledged)
            self._deliver(unacknowledged)
            waits = self.log.unblock(0.0)
            if over and not waits and self.log.in_flight == 0:
                break
            if not over:
                self._looks.acquire(timeout=0.05)
        self._producers.check(self._stored)
        assert length == sum(map(len, self._stored))

    def _deliver(self, unacknowledged: "Unacknowledged") -> None:
        """Sends what is not acknowledged, again and again: connections break, in the middle of frames too."""
        for _ in until(lambda: not unacknowledged):
            end, _, _ = unacknowledged[-1]
            data = b"".join([frames for _, _, frames in unacknowledged])
            broken = self._chance.random() < 0.2
            delivered = self._receive(data[: self._chance.randrange(len(data))] if broken else data)
            if not broken:
                unacknowledged.clear()
                self.log.acknowledge(end)
            elif self._chance.random() < 0.5:  # else the acknowledgements were lost with the connection
                while unacknowledged and unacknowledged[0][1] <= delivered:
                    position, self._acknowledged, _ = unacknowledged.popleft()
                    self.log.acknowledge(position)
        self._acknowledged = len(self._stored)

    def _receive(self, data: bytes) -> int:
        """As a bookie does: whole frames count, an entry may come twice; how many entries there are."""
        for entry_id, payload in enumerate(payloads(data, self._acknowledged), self._acknowledged):
            if entry_id < len(self._stored):
                assert self._stored[entry_id] == payload, "sent again, but not the same"
            else:
                self._stored.append(payload)
        return len(self._stored)
