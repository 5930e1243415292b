"""``listledgers``, ``ledgermetadata``, ``deleteledger``."""

from argparse import Namespace
from typing import cast

from ...codec.metadata_formats import decode_ledger_metadata, encode_ledger_metadata
from ...metadata.interfaces import ILedgerManager
from ..shell_command import FAILED, OK, Argument, Command, ShellContext
from ..shell_text import line, metadata_text

_LEDGER = Argument(("-l", "ledgerid"), "ledger id", "ledger id")


async def listledgers(shell: ShellContext, options: Namespace) -> int:
    """Prints the ids of all ledgers, or of the ledgers that a bookie keeps a part of."""
    async with await shell.admin() as admin:
        if options.bookieid or options.meta:
            async for ledger_id, metadata in admin.ledgers(options.bookieid):
                fields = {"metadata": metadata_text(metadata)} if options.meta else {}
                shell.out(line("log entry", ledgerId=shell.format_id(ledger_id), **fields))
        else:
            async for ledger_id in admin.client.list_ledgers():
                shell.out(line("log entry", ledgerId=shell.format_id(ledger_id)))
    return OK


async def ledgermetadata(shell: ShellContext, options: Namespace) -> int:
    """Prints the metadata of a ledger, or moves them to or from a file."""
    if options.ledgerid is None:
        shell.out("Must specify a ledger id")
        return FAILED
    async with await shell.admin() as admin:
        if options.restorefromfile:
            await _restore(shell, cast(ILedgerManager, admin.client.metadata.ledgers), options)
            return OK
        metadata = (await admin.client.ledger_metadata(options.ledgerid)).value
        if options.dumptofile:
            shell.world.files.write(options.dumptofile, encode_ledger_metadata(metadata))
            return OK
        shell.out(line("ledgerID", ledgerId=shell.format_id(options.ledgerid)))
        shell.out(line("log entry", metadata=metadata_text(metadata)))
    return OK


async def _restore(shell: ShellContext, ledgers: ILedgerManager, options: Namespace) -> None:
    metadata = decode_ledger_metadata(shell.world.files.read(options.restorefromfile))
    if options.update:
        stored = await ledgers.read(options.ledgerid)
        await ledgers.write(options.ledgerid, metadata, stored.version)
    else:
        await ledgers.create(options.ledgerid, metadata)


async def deleteledger(shell: ShellContext, options: Namespace) -> int:
    """Deletes a ledger after a question."""
    if options.ledgerid is None:
        shell.out("Ledger id error.")
        return FAILED
    name = shell.format_id(options.ledgerid)
    if options.force or shell.world.ask(f"Are your sure to delete Ledger : {name}?"):
        async with await shell.admin() as admin:
            await admin.delete_ledger(options.ledgerid)
    return OK


COMMANDS = (
    Command(
        "listledgers", "List the ledgers of the cluster (this may take a while)", listledgers,
        (
            Argument(("-m", "meta"), "print their metadata", bool),
            Argument(("-bookieid",), "only ledgers that this bookie keeps a part of"),
        ),
    ),
    Command(
        "ledgermetadata", "Print the metadata of a ledger", ledgermetadata,
        (
            _LEDGER,
            Argument(("-dumptofile",), "write them to this file instead"),
            Argument(("-restorefromfile",), "store what this file holds as the metadata of the ledger"),
            Argument(("-update",), "with -restorefromfile: replace the metadata of a ledger that exists", bool),
        ),
    ),
    Command(
        "deleteledger", "Delete a ledger", deleteledger,
        (_LEDGER, Argument(("-f", "force"), "do not ask", bool)),
    ),
)  # fmt: skip
