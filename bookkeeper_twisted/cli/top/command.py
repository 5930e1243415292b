"""The command ``top``: shows the load of all bookies; live on a terminal, otherwise as one table or as JSON."""

from argparse import ArgumentTypeError, Namespace
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from ...errors import MetadataError
from ..shell_command import OK, Argument, Command, Screen, ShellContext, above_0
from .load import COLUMNS, BookieLoad, title_line
from .table import HELP, KEYS, SORTS, ordered, table_lines
from .watch import ClusterWatch

_INTERVAL = 2.0
_LONGEST = 86400.0
_LEAST_PATIENCE = 2.0


class LiveTable:
    """Draws the table on a screen, and sorts it by the key that the user presses.

    :param clock: the reactor, for the pauses between two samples.
    :param watch: measures the load of the bookies.
    :param screen: shows the table; this object sets the ``on_key`` and ``on_resize`` of the screen.
    :param interval: seconds between two samples.
    :param sort: the first order of the table, one of :data:`~.table.SORTS`.
    """

    def __init__(self, clock: Any, watch: ClusterWatch, screen: Screen, interval: float, sort: str) -> None:
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


async def top(shell: ShellContext, options: Namespace) -> int:
    """Show the load of the bookies until the user quits; without a terminal, print one table."""
    async with await shell.admin() as admin:
        watch = ClusterWatch(shell, admin, max(options.interval, _LEAST_PATIENCE))
        screen = None if options.once or shell.json else shell.world.open_screen()
        if screen is not None:
            with screen as opened:
                await LiveTable(shell.world.reactor, watch, opened, options.interval, options.sort).run()
            return OK
        await watch.loads()  # rates are computed from two samples; this is the first
        await deferLater(shell.world.reactor, options.interval)
        loads = await watch.loads()
    shell.caption(title_line(COLUMNS))
    for load in ordered(loads, options.sort):
        shell.show(load)
    return OK


def _seconds(text: str) -> float:
    value = above_0(text)
    if not 0.1 <= value <= _LONGEST:
        raise ArgumentTypeError(f"{text} is not between 0.1 and {_LONGEST:g}")
    return value


_seconds.__name__ = "number"  # argparse shows this name in its error message


COMMANDS = (
    Command(
        "top", "Show the load of the bookies, live on a terminal: keys sort, q quits", top,
        (
            Argument(("-i", "interval"), "seconds between two samples; 2 if left out", _seconds, _INTERVAL),
            Argument(("-s", "sort"), f"order: {', '.join(SORTS)}", default=SORTS[0], choices=SORTS),
            Argument(("-once",), "print one table and end, as where there is no terminal", bool),
        ),
        BookieLoad,
    ),
)  # fmt: skip
