"""The command ``decommissionbookie``: wait until no ledger needs a stopped bookie, then delete its cookie."""

from argparse import Namespace
from collections.abc import Callable
from itertools import islice

from ...autorecovery.operations.decommission import Decommission, Remaining, unjudged
from ...errors import CookieNotFoundError
from ...model import check_bookie_id
from ..shell_command import FAILED, FORCE, OK, PROGRESS, REFUSED, Argument, Command, ShellContext, above_0
from ..shell_text import line

_SHOWN = 20
_QUESTION = "Are you sure to decommission bookie {}? Its ledgers are copied to others, then its cookie is deleted."


async def decommissionbookie(shell: ShellContext, options: Namespace) -> int:
    """Wait until replication workers have copied the ledgers of a stopped bookie, then delete its cookie."""
    bookie_id = check_bookie_id(options.bookieid or shell.local_bookie())
    if not shell.confirmed(_QUESTION.format(bookie_id), options.force):
        return REFUSED
    async with await shell.admin() as admin:
        driver = admin.client.metadata
        decommission = Decommission(shell.world.reactor, driver, bookie_id, options.patience)
        with shell.progress("decommissioning", unit="ledgers") as advance:
            remaining = await decommission.run(_RemainingReporter(shell, advance).report)
        if remaining.blockers:
            shell.out(line("Nothing has changed for a while", seconds=f"{options.patience:g}", bookieId=bookie_id))
            _list(shell, remaining)
        if remaining.undecoded:
            why = unjudged(remaining.undecoded, shell.format_id)
            shell.out(line(f"The cookie stays: {why}", bookieId=bookie_id))
        if remaining.blockers or remaining.undecoded:
            return FAILED
        shell.out(
            line(
                "The ledgers stored in the given decommissioning bookie are properly replicated",
                bookieAddress=bookie_id,
            )
        )
        try:
            await admin.delete_cookie(bookie_id)
            what = "Cookie of the decommissioned bookie is deleted successfully"
        except CookieNotFoundError:
            what = "There is no cookie: the bookie was decommissioned before, or never existed"
    shell.out(line(what, bookieAddress=bookie_id))
    return OK


class _RemainingReporter:
    """Prints how many ledgers still need the bookie, and the estimated time until no ledger needs the bookie."""

    def __init__(self, shell: ShellContext, advance: Callable[[int], object]) -> None:
        self._shell = shell
        self._advance = advance
        self._printed: int | None = None
        self._found = 0
        self._since = 0.0
        self._is_unreachable = False

    def report(self, remaining: Remaining) -> None:
        """If the number of ``remaining`` ledgers has changed, print it with the estimated time until it is 0.

        While the metadata store cannot be reached, print nothing but one line at the begin.
        """
        was_unreachable, self._is_unreachable = self._is_unreachable, bool(remaining.unreachable)
        if remaining.unreachable:
            if not was_unreachable:
                self._shell.out(line("Waiting for the metadata store", error=remaining.unreachable))
            return
        count, now = len(remaining.blockers), self._shell.world.reactor.seconds()
        if remaining.found > self._found:
            self._found, self._since = remaining.found, now
        if count and count != self._printed:
            done = self._found - count
            left = {"secondsLeft": round((now - self._since) * count / done)} if done else {}
            self._shell.out(line("Ledgers remain", count=count, found=self._found, **left))
        if self._printed is not None:
            self._advance(self._printed - count)
        self._printed = count


def _list(shell: ShellContext, remaining: Remaining) -> None:
    """Print some of the ledgers that still need the bookie, each with the reason, and the number of other ledgers."""
    for ledger_id, reason in islice(remaining.blockers.items(), _SHOWN):
        shell.out(line("Ledger remains", ledgerId=shell.format_id(ledger_id), reason=reason))
    if len(remaining.blockers) > _SHOWN:
        shell.out(line("And more", count=len(remaining.blockers) - _SHOWN))


COMMANDS = (
    Command(
        "decommissionbookie", "Wait until the ledgers of a bookie that left are copied, and delete its cookie",
        decommissionbookie,
        (
            Argument(("-bookieid",), "id of the bookie, which must not run; else of the configured one"),
            Argument(("-patience",), "seconds without progress until it gives up; 600 if left out", above_0, 600.0),
            FORCE,
            PROGRESS,
        ),
    ),
)  # fmt: skip
