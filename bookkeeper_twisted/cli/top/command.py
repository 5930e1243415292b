"""The command ``top``: shows the load of all bookies; live on a terminal, otherwise as one table or as JSON."""

from argparse import ArgumentTypeError, Namespace

from twisted.internet.task import deferLater

from ..shell_command import OK, Argument, Command, ShellContext, above_0
from .live import LiveTable
from .load import COLUMNS, BookieLoad, title_line
from .table import SORTS, ordered
from .watch import ClusterWatch

_INTERVAL = 2.0
_LONGEST = 86400.0
_LEAST_PATIENCE = 2.0


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
