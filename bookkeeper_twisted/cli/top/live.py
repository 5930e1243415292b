"""Draws the table of ``top`` again and again until the user quits."""

from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from ...errors import MetadataError
from ..shell_command import Screen
from .load import BookieLoad
from .table import HELP, KEYS, ordered, table_lines


class SamplesBookies(Protocol):
    """An object that samples the bookies of a cluster."""

    async def loads(self) -> list[BookieLoad]:
        """Return the load of each bookie since the last call.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed.
        """


class LiveTable:
    """The table on a screen.

    :param clock: makes the pauses between two samples.
    :param watch: samples the bookies.
    :param screen: shows the table; this object sets its ``on_key`` and ``on_resize``.
    :param interval: seconds between two samples.
    :param sort: order of the table at first.
    """

    def __init__(self, clock: Any, watch: SamplesBookies, screen: Screen, interval: float, sort: str) -> None:
        self._clock = clock
        self._watch = watch
        self._screen = screen
        self._interval = interval
        self._sort = sort
        self._loads: list[BookieLoad] = []
        self._problem = "asking the bookies"
        self._quit = False
        self._round: Deferred[None] | None = None
        screen.on_key = self._key_pressed
        screen.on_resize = self._draw

    async def run(self) -> None:
        """Sample and draw until the user presses ``q`` or the terminal is closed.

        If the metadata store fails, the table stays as it was and the first line says why, until the store is back.
        """
        self._draw()
        while not self._quit:
            self._round = Deferred.fromCoroutine(self._sample_and_wait())
            try:
                await self._round
            except CancelledError:
                if not self._quit:
                    raise

    async def _sample_and_wait(self) -> None:
        try:
            self._loads = await self._watch.loads()
            self._problem = ""
        except MetadataError as error:
            self._problem = str(error)
        self._draw()
        await deferLater(self._clock, self._interval)

    def _key_pressed(self, key: str) -> None:
        """Obey a key; the empty text stands for the end of the terminal."""
        if key in ("q", "Q", ""):
            self._quit = True
            if self._round is not None:
                self._round.cancel()  # a bookie that does not answer must not hold the user up
        elif key in KEYS:
            self._sort = KEYS[key]
            self._draw()

    def _draw(self) -> None:
        width, height = self._screen.size()
        states = [load.state for load in self._loads]
        numbers = ", ".join(f"{states.count(state)} {state}" for state in ("writable", "readOnly", "down"))
        first = self._problem or f"{len(states)} bookies: {numbers}; every {self._interval:g} s, by {self._sort}"
        table = table_lines(ordered(self._loads, self._sort), width, height - 2, self._screen.has_colours)
        self._screen.draw([first[:width], HELP[:width], *table])
