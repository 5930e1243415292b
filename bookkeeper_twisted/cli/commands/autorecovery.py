"""Commands for autorecovery: switch it on or off, list underreplicated ledgers, and control the auditor's checks."""

from argparse import Namespace
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime

import attrs

from ...arguments import whole_number
from ...autorecovery.operations.admin import AutorecoveryAdmin
from ...model import AuditorCheck
from ..shell_command import FAILED, OK, PROGRESS, Argument, Command, ShellContext
from ..shell_rows import Formats, ShellRow
from ..shell_text import line

_CHECKS = {
    "checkallledgerscheck": (AuditorCheck.ALL_LEDGERS, "CheckAllLedgersCTime"),
    "placementpolicycheck": (AuditorCheck.PLACEMENT, "PlacementPolicyCheckCTime"),
    "replicascheck": (AuditorCheck.REPLICAS, "ReplicasCheckCTime"),
}


@attrs.frozen
class AutorecoverySwitch(ShellRow):
    """The state of autorecovery after the command ``autorecovery``.

    :ivar enabled: whether autorecovery is on.
    :ivar changed: whether the command has changed the state; None if the command was only asked to print it.
    """

    enabled: bool
    changed: bool | None = None

    def text(self, formats: Formats) -> Iterable[str]:
        state = "enabled" if self.enabled else "disabled"
        if self.changed is None:
            yield f"Autorecovery is {state}."
        elif self.changed:
            yield "Enabling autorecovery" if self.enabled else "Disabling autorecovery"
        else:
            yield f"Autorecovery already {state}. Doing nothing"


@attrs.frozen
class RepairedNow(ShellRow):
    """A ledger that a replication worker has locked.

    :ivar worker: text in the replication lock: the host of the worker and, if its repair waits, the reason.
    """

    ledger_id: int
    worker: str

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("Recovering ledger", bookieId=self.worker, ledgerId=formats.format_id(self.ledger_id))


@attrs.frozen
class MarkedLedger(ShellRow):
    """A ledger with an underreplicated mark.

    :ivar ctime: time of the underreplicated mark in ms since 1970; None if it is not stored.
    :ivar missing_replicas: bookies whose replicas are missing; None if no option asks for them.
    :ivar worker: text in the replication lock; None if there is no lock, or if no option asks for it.
    """

    ledger_id: int
    ctime: int | None
    missing_replicas: tuple[str, ...] | None
    worker: str | None

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("Under-replicated ledger", ledgerId=formats.format_id(self.ledger_id))
        if self.ctime is not None:
            yield line("Ctime", ctime=self.ctime)
        for replica in self.missing_replicas or ():
            yield line("Missing replica", missingReplica=replica)
        if self.worker is not None:
            yield line("Replication worker", replicationWorkerId=self.worker)


@attrs.frozen
class CurrentAuditor(ShellRow):
    """The bookie id of the auditor."""

    auditor: str

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("Current auditor", auditor=self.auditor)


@attrs.frozen
class LostBookieDelay(ShellRow):
    """The seconds that the auditor waits after the loss of a bookie before it marks ledgers.

    :ivar changed: whether the command has set this delay; False if it only prints the delay.
    """

    delay: int
    changed: bool

    def text(self, formats: Formats) -> Iterable[str]:
        set_ = "Successfully set LostBookieRecoveryDelay value in ZK"
        yield line(set_ if self.changed else "LostBookieRecoveryDelay value in ZK", delay=self.delay)


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
            shell.show(AutorecoverySwitch(await admin.is_enabled()))
        else:
            shell.show(AutorecoverySwitch(options.enable, await admin.set_enabled(options.enable)))
    return OK


async def queryautorecoverystatus(shell: ShellContext, options: Namespace) -> int:
    """Print the ledgers that replication workers have locked, each with the text in its replication lock."""
    async with autorecovery_admin(shell) as admin:
        recovering = await admin.recovering()
    shell.caption("CurrentRecoverLedgerInfo:" if recovering else "No Ledger is being recovered")
    for ledger_id, worker in recovering.items():
        shell.show(RepairedNow(ledger_id, worker))
    return OK


async def listunderreplicated(shell: ShellContext, options: Namespace) -> int:
    """Print the ledgers with an underreplicated mark, and their number."""
    if options.onlydisplayledgercount:
        shell.refuse_json("prints the ledgers, not their number: count its lines")
    count = 0
    async with autorecovery_admin(shell) as admin:
        recovering = await admin.recovering() if options.printreplicationworkerid else {}
        missing, excluding = options.missingreplica or "", options.excludingmissingreplica or ""
        with shell.progress("listing", unit="ledgers") as advance:
            async for ledger_id, mark in admin.underreplicated(missing, excluding):
                count += 1
                advance(1)
                if not options.onlydisplayledgercount:
                    replicas = mark.replicas if options.printmissingreplica else None
                    shell.show(MarkedLedger(ledger_id, mark.ctime, replicas, recovering.get(ledger_id)))
    shell.caption(line("Under replicated ledger count", count=count))
    return OK


async def whoisauditor(shell: ShellContext, options: Namespace) -> int:
    """Print the bookie id of the current auditor; fail if none is elected."""
    async with autorecovery_admin(shell) as admin:
        auditor = await admin.auditor()
    if auditor is None:
        shell.out("No auditor elected")
        return FAILED
    shell.show(CurrentAuditor(auditor))
    return OK


async def triggeraudit(shell: ShellContext, options: Namespace) -> int:
    """Make the auditor check for lost bookies now."""
    async with autorecovery_admin(shell) as admin:
        await admin.trigger_audit()
    return OK


async def forceauditchecks(shell: ShellContext, options: Namespace) -> int:
    """Reset the stored times of the last periodic checks, so that an auditor runs the checks when it starts."""
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
            shell.show(LostBookieDelay(await admin.lost_bookie_delay(), changed=False))
        else:
            await admin.set_lost_bookie_delay(options.set)
            shell.show(LostBookieDelay(options.set, changed=True))
    return OK


COMMANDS = (
    Command(
        "autorecovery", "Switch autorecovery of the cluster on or off, or print which it is", autorecovery,
        (
            Argument(("-e", "enable"), "switch it on", bool),
            Argument(("-d", "disable"), "switch it off", bool),
        ),
        AutorecoverySwitch,
    ),
    Command(
        "queryautorecoverystatus", "Print the ledgers that are repaired now", queryautorecoverystatus, row=RepairedNow
    ),
    Command(
        "listunderreplicated", "Print the ledgers that are marked as under-replicated", listunderreplicated,
        (
            Argument(("-c", "onlydisplayledgercount"), "print their number only", bool),
            Argument(("-mr", "missingreplica"), "only ledgers that lack the replica of this bookie"),
            Argument(("-emr", "excludingmissingreplica"), "only ledgers that do not lack the replica of this bookie"),
            Argument(("-pmr", "printmissingreplica"), "print the bookies whose replicas are missing", bool),
            Argument(("-prw", "printreplicationworkerid"), "print workers, and why they do not repair ledgers", bool),
            PROGRESS,
        ),
        MarkedLedger,
    ),
    Command("whoisauditor", "Print the bookie id of the auditor", whoisauditor, row=CurrentAuditor),
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
        LostBookieDelay,
    ),
)  # fmt: skip
