"""Commands for autorecovery: switch it on or off, list underreplicated ledgers, ask and direct the auditor."""

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from ...arguments import whole_number
from ...autorecovery.operations.admin import AutorecoveryAdmin
from ...model import AuditorCheck
from ..shell_command import FAILED, OK, Argument, Command, ShellContext
from ..shell_text import line

_CHECKS = {
    "checkallledgerscheck": (AuditorCheck.ALL_LEDGERS, "CheckAllLedgersCTime"),
    "placementpolicycheck": (AuditorCheck.PLACEMENT, "PlacementPolicyCheckCTime"),
    "replicascheck": (AuditorCheck.REPLICAS, "ReplicasCheckCTime"),
}


@asynccontextmanager
async def autorecovery_admin(shell: ShellContext) -> AsyncIterator[AutorecoveryAdmin]:
    """Connect to the cluster of the ``shell`` for commands about autorecovery; close the connection after the block.

    :raises bookkeeper_twisted.errors.MetadataError: the metadata store cannot be reached.
    """
    async with await shell.admin() as admin:
        yield AutorecoveryAdmin(admin.client.metadata)


async def autorecovery(shell: ShellContext, options: Namespace) -> int:
    """Switch the autorecovery of the cluster on or off, or print whether it is on."""
    if options.enable and options.disable:
        shell.out("Only one of -enable and -disable can be supplied")
        return FAILED
    async with autorecovery_admin(shell) as admin:
        if not (options.enable or options.disable):
            shell.out(f"Autorecovery is {'enabled' if await admin.is_enabled() else 'disabled'}.")
        elif not await admin.set_enabled(options.enable):
            shell.out(f"Autorecovery already {'enabled' if options.enable else 'disabled'}. Doing nothing")
        else:
            shell.out("Enabling autorecovery" if options.enable else "Disabling autorecovery")
    return OK


async def queryautorecoverystatus(shell: ShellContext, options: Namespace) -> int:
    """Print the ledgers that replication workers have locked, each with the text in its replication lock."""
    async with autorecovery_admin(shell) as admin:
        recovering = await admin.recovering()
    if not recovering:
        shell.out("No Ledger is being recovered")
        return OK
    shell.out("CurrentRecoverLedgerInfo:")
    for ledger_id, host in recovering.items():
        shell.out(line("Recovering ledger", bookieId=host, ledgerId=shell.format_id(ledger_id)))
    return OK


async def listunderreplicated(shell: ShellContext, options: Namespace) -> int:
    """Print the ledgers with an underreplicated mark, and their number."""
    count = 0
    async with autorecovery_admin(shell) as admin:
        recovering = await admin.recovering() if options.printreplicationworkerid else {}
        async for ledger_id, mark in admin.underreplicated(
            options.missingreplica or "", options.excludingmissingreplica or ""
        ):
            count += 1
            if options.onlydisplayledgercount:
                continue
            shell.out(line("Under-replicated ledger", ledgerId=shell.format_id(ledger_id)))
            if mark.ctime is not None:
                shell.out(line("Ctime", ctime=mark.ctime))
            if options.printmissingreplica:
                for replica in mark.replicas:
                    shell.out(line("Missing replica", missingReplica=replica))
            if ledger_id in recovering:
                shell.out(line("Replication worker", replicationWorkerId=recovering[ledger_id]))
    shell.out(line("Under replicated ledger count", count=count))
    return OK


async def whoisauditor(shell: ShellContext, options: Namespace) -> int:
    """Print the bookie id of the current auditor; fail if none is elected."""
    async with autorecovery_admin(shell) as admin:
        auditor = await admin.auditor()
    if auditor is None:
        shell.out("No auditor elected")
        return FAILED
    shell.out(line("Current auditor", auditor=auditor))
    return OK


async def triggeraudit(shell: ShellContext, options: Namespace) -> int:
    """Make the auditor check for lost bookies now."""
    async with autorecovery_admin(shell) as admin:
        await admin.trigger_audit()
    return OK


async def forceauditchecks(shell: ShellContext, options: Namespace) -> int:
    """Reset the times of periodic checks, so that the next auditor that starts runs them."""
    chosen = [check for name, check in _CHECKS.items() if getattr(options, name)]
    if not chosen:
        shell.out("Command line args must contain at least one type of check: -calc, -ppc or -rc")
        return FAILED
    async with autorecovery_admin(shell) as admin:
        ms = await admin.force_checks([check for check, _ in chosen], shell.world.reactor.seconds())
    time = datetime.fromtimestamp(ms / 1000).strftime("%Y-%m-%d %H:%M:%S") + f".{ms % 1000:03}"
    for _, name in chosen:
        shell.out(line(f"Resetting {name}", time=time))
    return OK


async def lostbookierecoverydelay(shell: ShellContext, options: Namespace) -> int:
    """Print or set how many seconds the auditor waits after the loss of a bookie before it marks ledgers."""
    if options.get == (options.set is not None):
        shell.out("One and only one of -get and -set must be specified")
        return FAILED
    async with autorecovery_admin(shell) as admin:
        if options.get:
            shell.out(line("LostBookieRecoveryDelay value in ZK", delay=await admin.lost_bookie_delay()))
        else:
            await admin.set_lost_bookie_delay(options.set)
            shell.out(line("Successfully set LostBookieRecoveryDelay value in ZK", delay=options.set))
    return OK


COMMANDS = (
    Command(
        "autorecovery", "Switch autorecovery of the cluster on or off, or print which it is", autorecovery,
        (
            Argument(("-e", "enable"), "switch it on", bool),
            Argument(("-d", "disable"), "switch it off", bool),
        ),
    ),
    Command("queryautorecoverystatus", "Print the ledgers that are repaired now", queryautorecoverystatus),
    Command(
        "listunderreplicated", "Print the ledgers that are marked as under-replicated", listunderreplicated,
        (
            Argument(("-c", "onlydisplayledgercount"), "print their number only", bool),
            Argument(("-mr", "missingreplica"), "only ledgers that lack the replica of this bookie"),
            Argument(("-emr", "excludingmissingreplica"), "only ledgers that do not lack the replica of this bookie"),
            Argument(("-pmr", "printmissingreplica"), "print the bookies whose replicas are missing", bool),
            Argument(("-prw", "printreplicationworkerid"), "print workers, and why they do not repair ledgers", bool),
        ),
    ),
    Command("whoisauditor", "Print the bookie id of the auditor", whoisauditor),
    Command("triggeraudit", "Have the auditor look for lost bookies now", triggeraudit),
    Command(
        "forceauditchecks", "Make periodic checks of the auditor due when one starts next", forceauditchecks,
        (
            Argument(("-calc", "checkallledgerscheck"), "the check of all ledgers", bool),
            Argument(("-ppc", "placementpolicycheck"), "the check of placement", bool),
            Argument(("-rc", "replicascheck"), "the check of replicas", bool),
        ),
    ),
    Command(
        "lostbookierecoverydelay", "Print or set the seconds between the loss of a bookie and the audit",
        lostbookierecoverydelay,
        (
            Argument(("-g", "get"), "print it", bool),
            Argument(("-s", "set"), "seconds; 0, or the value it has, triggers an audit as well", whole_number),
        ),
    ),
)  # fmt: skip
