"""The commands ``updateledgers`` and ``updateBookieInLedger``: they replace a bookie id in the metadata of ledgers."""

from argparse import Namespace
from collections.abc import Callable

import attrs

from ...bookie.lifecycle.identity import bookie_id
from ...client.admin import BookKeeperAdmin
from ...client.renaming import BookieRenaming, RenamingProgress
from ..shell_command import FAILED, OK, PROGRESS, REFUSED, Argument, Command, OperandError, ShellContext, above_0, from_
from ..shell_text import line

_READS_PER_UPDATE = 5


async def updateledgers(shell: ShellContext, options: Namespace) -> int:
    """Replace the local bookie's id in the metadata of all ledgers.

    With ``useHostNameAsBookieID=true``, the id that contains its address is replaced by the id that contains its host
    name; with ``false``, the other way round.
    """
    config = shell.config
    by_name = config.use_host_name_as_bookie_id
    if options.bookieId not in ("hostname", "ip"):
        shell.out("-bookieId hostname or -bookieId ip must be specified")
        return FAILED
    if (options.bookieId == "hostname") != by_name:
        shell.out(f"useHostNameAsBookieID is {str(by_name).lower()}, and does not agree with {options.bookieId}")
        return FAILED
    other = attrs.evolve(config, use_host_name_as_bookie_id=not by_name)
    old = bookie_id(attrs.evolve(other, advertised_address=shell.world.own_host(other)), "", config.bookie_port)
    return await _rename(shell, options, old, shell.local_bookie())


async def update_bookie_in_ledger(shell: ShellContext, options: Namespace) -> int:
    """Replace one bookie id by another in the metadata of all ledgers."""
    if not options.srcBookie or not options.destBookie:
        shell.out("Source bookie and destination bookie must be specified: -srcBookie, -destBookie")
        return FAILED
    return await _rename(shell, options, options.srcBookie, options.destBookie)


async def _rename(shell: ShellContext, options: Namespace, old: str, new: str) -> int:
    async with await shell.admin() as admin:
        if refused := await _refused(admin, old, new):
            shell.out(refused)
            return REFUSED
        clock = shell.world.reactor
        renaming = BookieRenaming(
            clock, admin.client.metadata.ledgers, old, new, options.updatespersec,
            options.maxOutstandingReads or max(1, round(_READS_PER_UPDATE * options.updatespersec)), options.limit,
        )  # fmt: skip
        with shell.progress("looking for ledgers", unit="ledgers") as advance:
            progress = await renaming.run(_RenamingReporter(shell, options, advance).examined)
    if not progress.updated:
        shell.out(f"No ledger names bookie {old}")
    shell.out(line("Ledgers updated", examined=progress.examined, updated=progress.updated))
    return OK


async def _refused(admin: BookKeeperAdmin, old: str, new: str) -> str:
    """Return why the bookie id ``old`` must not be replaced; return an empty text if it may be replaced."""
    if old in await admin.registered_bookies():
        return f"Bookie {old} is running: its ledgers keep its name"
    if new not in await admin.all_bookies():
        raise OperandError(f"no bookie {new} is known: it has no cookie")
    return ""


class _RenamingReporter:
    """Prints every few seconds how many ledgers were examined and changed, if the options ask for this."""

    def __init__(self, shell: ShellContext, options: Namespace, advance: Callable[[int], object]) -> None:
        self._shell = shell
        self._advance = advance
        self._examined = 0
        self._interval: float | None = options.printprogress if options.verbose else None
        self._printed_at: float = shell.world.reactor.seconds()

    def examined(self, progress: RenamingProgress) -> None:
        """Print the ``progress`` if the interval since the last line has passed; called after each ledger."""
        self._advance(progress.examined - self._examined)
        self._examined = progress.examined
        now = self._shell.world.reactor.seconds()
        if self._interval is not None and now - self._printed_at >= self._interval:
            self._printed_at = now
            self._shell.out(line("Progress", examined=progress.examined, updated=progress.updated))


_PACE = (
    Argument(("-s", "updatespersec"), "ledgers that are updated in a second; 5 if left out", above_0, 5.0),
    Argument(("-r", "maxOutstandingReads"), "ledgers in work; 5 times the updates of a second if left out", from_(1)),
    Argument(("-l", "limit"), "ledgers that are updated at most", from_(1)),
    Argument(("-v", "verbose"), "print the progress", bool),
    Argument(("-p", "printprogress"), "seconds between two lines of progress; 10 if left out", float, 10.0),
    PROGRESS,
)

COMMANDS = (
    Command(
        "updateledgers", "Put the id that the configuration gives this bookie now into the metadata of ledgers",
        updateledgers,
        (Argument(("-b", "bookieId"), "hostname or ip, as useHostNameAsBookieID says"), *_PACE),
    ),
    Command(
        "updateBookieInLedger", "Put one bookie in the place of another in the metadata of ledgers",
        update_bookie_in_ledger,
        (
            Argument(("-sb", "srcBookie"), "bookie to be replaced; it must not run"),
            Argument(("-db", "destBookie"), "bookie that keeps its entries now"),
            *_PACE,
        ),
    ),
)  # fmt: skip
