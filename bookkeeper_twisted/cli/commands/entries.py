"""``readledger``."""

from argparse import Namespace
from collections.abc import AsyncIterator

from ...client.admin import BookKeeperAdmin
from ...errors import NoSuchEntryError
from ...model import Entry
from ..shell_command import FAILED, OK, Argument, Command, ShellContext, from_
from ..shell_text import line


async def readledger(shell: ShellContext, options: Namespace) -> int:
    """Prints a range of entries of a ledger."""
    if options.ledgerid is None:
        shell.out("Must specify a ledger id")
        return FAILED
    wanted, recovered = options.ledgerid, options.force_recovery
    async with await shell.admin() as admin, await admin.open_ledger(wanted, recovered) as reader:
        last = reader.last_add_confirmed
        if options.lastentryid >= 0:
            last = min(last, options.lastentryid)
        if options.bookie:
            entries = _of_bookie(admin, options, last)
        else:
            entries = reader.entries(options.firstentryid, last)
        async for entry in entries:
            _print(shell, entry, options.msg)
    return OK


async def _of_bookie(admin: BookKeeperAdmin, options: Namespace, last: int) -> AsyncIterator[Entry]:
    """The entries that one bookie holds."""
    for entry_id in range(options.firstentryid, last + 1):
        try:
            entry = await admin.read_entry_from(options.bookie, options.ledgerid, entry_id)
        except NoSuchEntryError:
            continue
        yield entry


def _print(shell: ShellContext, entry: Entry, with_data: bool) -> None:
    ledger_id = shell.format_id(entry.ledger_id)
    shell.out(line("Entry", entryId=entry.entry_id, entrySize=len(entry.data), ledgerId=ledger_id))
    if with_data:
        shell.out(shell.format_entry(entry.data))


COMMANDS = (
    Command(
        "readledger", "Print a range of entries of a ledger", readledger,
        (
            Argument(("-m", "msg"), "print their data, see -entryformat", bool),
            Argument(("-l", "ledgerid"), "ledger id", "ledger id"),
            Argument(("-fe", "firstentryid"), "first entry id", from_(0), 0),
            Argument(("-le", "lastentryid"), "last entry id; -1: the last add confirmed", from_(-1), -1),
            Argument(("-r", "force-recovery"), "close the ledger properly before reading", bool),
            Argument(("-b", "bookie"), "only what this bookie holds"),
        ),
    ),
)  # fmt: skip
