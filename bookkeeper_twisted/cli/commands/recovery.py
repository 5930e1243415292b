"""``recover``: ledgers whose writer or bookies are lost.

What a client can do is closing ledgers that were left open.  Copying the entries of a lost bookie to
others is the work of autorecovery; where it would be needed, the command says so and fails, and nothing
is changed by halves.
"""

from argparse import Namespace

from ...client.admin import BookKeeperAdmin
from ...model import LedgerMetadata
from ..shell_command import FAILED, OK, Argument, Command, ShellContext
from ..shell_text import line

_NO_COPIES = (
    "copying the entries of a lost bookie to other bookies is not available here: use Apache's shell, or its"
    " autorecovery; -q lists what is concerned, -l closes a ledger that was left open"
)


async def recover(shell: ShellContext, options: Namespace) -> int:
    """Lists what a loss concerns, or closes one ledger with recovery."""
    bookies = [bookie_id for bookie_id in (options.bookies or "").split(",") if bookie_id]
    if not bookies and options.ledger is None:
        shell.out("Must specify bookies, or a ledger with -l")
        return FAILED
    if options.query:
        return await _query(shell, bookies, options.ledger)
    if options.ledger is None:
        shell.out(f"recover: {_NO_COPIES}")
        return FAILED
    question = f"Are you sure to recover ledger {shell.format_id(options.ledger)} : (Y/N)"
    if not (options.force or options.dryrun or shell.world.ask(question)):
        shell.out("Give up!")
        return FAILED
    async with await shell.admin() as admin:
        return await _recover_ledger(shell, admin, options, bookies)


async def _recover_ledger(shell: ShellContext, admin: BookKeeperAdmin, options: Namespace, bookies: list[str]) -> int:
    metadata = (await admin.client.ledger_metadata(options.ledger)).value
    name = shell.format_id(options.ledger)
    if not metadata.closed and options.skipOpenLedgers:
        shell.out(line("Skipped: the ledger is open", ledgerId=name))
        return OK
    if options.dryrun:
        plan = "nothing to do: the ledger is closed" if metadata.closed else "the ledger would be closed"
        shell.out(line(plan, ledgerId=name))
    else:
        metadata = await admin.recover_ledger(options.ledger)
        shell.out(line("Closed", ledgerId=name, lastEntryId=metadata.last_entry_id, length=metadata.length))
    if _segments_with(metadata, bookies):
        shell.out(f"recover: ledger {name} still names {', '.join(bookies)}; {_NO_COPIES}")
        return FAILED
    return OK


async def _query(shell: ShellContext, bookies: list[str], only: int | None) -> int:
    """Prints the ledgers that name any of the bookies, theirs marked."""
    shell.out("NOTE: Bookies in inspection list are marked with '*'.")
    async with await shell.admin() as admin:
        async for ledger_id, metadata in admin.ledgers():
            concerned = _segments_with(metadata, bookies)
            if not concerned or only not in (None, ledger_id):
                continue
            shell.out(f"ledger {shell.format_id(ledger_id)} : {metadata.state.name}")
            for segment in metadata.segments:
                marked = " ".join(b + ("*" if b in bookies else "") for b in segment.bookies)
                shell.out(f"{segment.first_entry_id}:\t{marked}")
            shell.out(f"summary: [{', '.join(f'{first}={count}' for first, count in concerned.items())}]")
    shell.out("Done")
    return OK


def _segments_with(metadata: LedgerMetadata, bookies: list[str]) -> dict[int, int]:
    """First entry id of each segment that names some of the bookies, and how many."""
    counts = {s.first_entry_id: len(set(bookies).intersection(s.bookies)) for s in metadata.segments}
    return {first: count for first, count in counts.items() if count}


COMMANDS = (
    Command(
        "recover", "Recover ledgers after the loss of a writer or of bookies", recover,
        (
            Argument(("bookies",), "lost bookies, separated by commas"),
            Argument(("-q", "query"), "list the ledgers that name these bookies", bool),
            Argument(("-dr", "dryrun"), "say what would be done", bool),
            Argument(("-f", "force"), "do not ask", bool),
            Argument(("-l", "ledger"), "recover this ledger", "ledger id"),
            Argument(("-sk", "skipOpenLedgers"), "leave open ledgers alone", bool),
        ),
    ),
)  # fmt: skip
