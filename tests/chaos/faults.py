"""One bookie after the other is killed or paused."""

from itertools import cycle
from random import Random
from typing import Any

from twisted.internet.task import deferLater

from .cluster import ProcessCluster

QUIET = (2.0, 4.0)
"""Seconds between faults: a client that was refused for a while tries a bookie again after three at the latest."""

DOWN = (0.2, 1.5)
"""Seconds between a kill and the restart."""


class Faults:
    """Makes faults until told to stop, one at a time, so that every quorum survives.

    :ivar counts: how many there were of each kind.
    """

    def __init__(self, clock: Any, cluster: ProcessCluster, chance: Random, add_timeout: float) -> None:
        """:param add_timeout: of the clients; some pauses are shorter, some longer."""
        self.counts = {"kills": 0, "short pauses": 0, "long pauses": 0}
        self._clock = clock
        self._cluster = cluster
        self._chance = chance
        self._add_timeout = add_timeout

    async def run(self, until: float) -> None:
        """Goes on until a time of the clock; returns when all bookies are up again."""
        kinds = cycle([self._kill, self._pause_long, self._pause_briefly])  # in turn: a short run has all of them
        await self._wait(*QUIET)
        while self._clock.seconds() < until:
            await next(kinds)(self._chance.choice(self._cluster.names))
            await self._wait(*QUIET)

    async def _kill(self, name: str) -> None:
        self.counts["kills"] += 1
        await self._cluster.kill(name)
        await self._wait(*DOWN)
        await self._cluster.restart(name)

    async def _pause_briefly(self, name: str) -> None:
        self.counts["short pauses"] += 1
        await self._pause(name, 0.2 * self._add_timeout, 0.8 * self._add_timeout)

    async def _pause_long(self, name: str) -> None:
        self.counts["long pauses"] += 1
        await self._pause(name, self._add_timeout + 1, self._add_timeout + 3)

    async def _pause(self, name: str, least: float, most: float) -> None:
        self._cluster.pause(name)
        try:
            await self._wait(least, most)
        finally:
            self._cluster.resume(name)

    async def _wait(self, least: float, most: float) -> None:
        await deferLater(self._clock, self._chance.uniform(least, most))
