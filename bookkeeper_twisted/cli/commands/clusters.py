"""``metaformat``, ``initnewcluster``, ``whatisinstanceid``: the cluster as a whole."""

from argparse import Namespace
from urllib.parse import urlsplit

from ...client.admin import cluster_admin
from ...errors import without_credentials
from ..shell_command import OK, REFUSED, Argument, Command, ShellContext
from ..shell_text import line

_QUESTION = "Ledger root already exists. Are you sure to format bookkeeper metadata? This may cause data loss."


async def metaformat(shell: ShellContext, options: Namespace) -> int:
    """Removes what the metadata store holds of the cluster and makes a new one in its place."""
    async with cluster_admin(shell.world.reactor, shell.config.metadata_service_uri) as admin:
        if await admin.exists():
            if options.nonInteractive and not options.force:
                shell.out("Ledger root already exists: -force formats it")
                return REFUSED
            if not options.nonInteractive and not shell.world.ask(_QUESTION):
                return REFUSED
        await admin.format()
    return OK


async def initnewcluster(shell: ShellContext, options: Namespace) -> int:
    """Makes a cluster where there is none."""
    uri = shell.config.metadata_service_uri
    async with cluster_admin(shell.world.reactor, uri) as admin:
        if not await admin.initialize():
            shell.out(line("Ledger root path already exists", ledgersRootPath=urlsplit(uri).path))
            return REFUSED
    return OK


async def whatisinstanceid(shell: ShellContext, options: Namespace) -> int:
    """Prints the id of the cluster."""
    uri = shell.config.metadata_service_uri
    async with cluster_admin(shell.world.reactor, uri) as admin:
        instance_id = await admin.instance_id()
    fields = {"metadataServiceUriUnchecked": without_credentials(uri), "readInstanceId": instance_id}
    shell.out(line("Metadata Service Uri: InstanceId", **fields))
    return OK


COMMANDS = (
    Command(
        "metaformat", "Format the metadata of the cluster", metaformat,
        (
            Argument(("-n", "nonInteractive"), "do not ask: refuse if there is a cluster", bool),
            Argument(("-f", "force"), "with -n: format without asking", bool),
        ),
    ),
    Command("initnewcluster", "Initialize a new cluster", initnewcluster),
    Command("whatisinstanceid", "Print the instance id of the cluster", whatisinstanceid),
)  # fmt: skip
