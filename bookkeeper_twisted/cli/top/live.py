"""Draws the table of ``top`` again and again until the user quits."""

from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from ...errors import MetadataError
from ..shell_command import Screen
from .load import BookieLoad
from .table import HELP, KEYS, ordered, table_lines


class SamplesBookies(Protocol):
    """An object that measures the load of all bookies of a cluster."""

    async def loads(self) -> list[BookieLoad]:
        """Return the load of each bookie since the last call.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed.
        """


class LiveTable:
    """Draws the table on a screen, and sorts it by the key that the user presses.

    :param clock: the reactor, for the pauses between two samples.
    :param watch: measures the load of the bookies.
    :param screen: shows the table; this object sets the ``on_key`` and ``on_resize`` of the screen.
    :param interval: seconds between two samples.
    :param sort: the first order of the table, one of :data:`~.table.SORTS`.
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
        """Sample the bookies and draw the table, until the user presses ``q`` or the terminal is closed.

        If the metadata store fails, the table does not change, and the first line shows the error until the store
        answers again.
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
        """Quit or change the order, depending on the key; an empty text means that the terminal was closed."""
        if key in ("q", "Q", ""):
            self._quit = True
            if self._round is not None:
                self._round.cancel()  # quit at once, even if a bookie has not answered yet
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
