"""Commands for a whole cluster: create it, format or remove its metadata, or print facts about it."""

from argparse import Namespace
from collections.abc import Iterable

import attrs

from ...autorecovery.operations.admin import cluster_info
from ...errors import NotInitializedError
from ...http.api import json_answer
from ...masking import without_credentials
from ...metadata.zookeeper.uris import root_of
from ..shell_command import FORCE, OK, REFUSED, Argument, Command, ShellContext
from ..shell_rows import Formats, ShellRow
from ..shell_text import line

_QUESTION = "Ledger root already exists. Are you sure to format bookkeeper metadata? This may cause data loss."
_NUKE = "Are you sure to remove all metadata of the cluster {instance_id} at {root}? Its ledgers will be lost."


@attrs.frozen
class ClusterFacts(ShellRow):
    """The numbers of bookies and the state of autorecovery, under the names that Apache BookKeeper uses."""

    auditor_elected: bool
    auditor_id: str
    cluster_under_replicated: bool
    ledger_replication_enabled: bool
    total_bookies_count: int
    writable_bookies_count: int
    readonly_bookies_count: int
    unavailable_bookies_count: int

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("log entry", value=json_answer(self.json_object()).body)


@attrs.frozen
class InstanceId(ShellRow):
    """The instance id of a cluster."""

    metadata_service_uri: str
    instance_id: str

    def text(self, formats: Formats) -> Iterable[str]:
        fields = {"metadataServiceUriUnchecked": self.metadata_service_uri, "readInstanceId": self.instance_id}
        yield line("Metadata Service Uri: InstanceId", **fields)


async def metaformat(shell: ShellContext, options: Namespace) -> int:
    """Remove all metadata of the cluster and create a new cluster in its place."""
    async with shell.cluster_admin(create=True) as admin:
        if await admin.exists():
            if options.nonInteractive and not options.force:
                shell.out("Ledger root already exists: -force formats it")
                return REFUSED
            if not shell.confirmed(_QUESTION, options.force):
                return REFUSED
        await admin.format()
    return OK


async def initnewcluster(shell: ShellContext, options: Namespace) -> int:
    """Create the metadata of a new cluster; refuse if there is a cluster."""
    uri = shell.config.metadata_service_uri
    async with shell.cluster_admin(create=True) as admin:
        if not await admin.initialize():
            shell.out(line("Ledger root path already exists", ledgersRootPath=_root(uri)))
            return REFUSED
    return OK


def _root(uri: str) -> str:
    """Return the part of a metadata service URI that names the cluster.

    It is the root path of the cluster, or the path of the file of an embedded metadata store.
    """
    path = root_of(uri)
    return f"/{path.lstrip('/')}" if path.startswith("/") else path


async def nukeexistingcluster(shell: ShellContext, options: Namespace) -> int:
    """Remove the metadata of a cluster; the user must give its root path, and either its instance id or -force."""
    if options.force is (options.instanceid is not None):
        shell.out("Either force option or instanceid should be specified (but no both)")
        return REFUSED
    uri = shell.config.metadata_service_uri
    root = _root(uri)
    if options.zkledgersrootpath != root:
        fields = {"ledgersRootPath": options.zkledgersrootpath, "confLedgersRootPath": root}
        text = "Provided ledgerRootPath does not match config's ledgerRootPath, exiting nuke operation"
        shell.out(line(text, **fields))
        return REFUSED
    try:
        return await _nuke(shell, options, uri, root)
    except NotInitializedError:
        shell.out(line("There is no existing cluster, exiting nuke operation", ledgersRootPath=root))
        return OK


async def _nuke(shell: ShellContext, options: Namespace, uri: str, root: str) -> int:
    """Remove the metadata of a cluster if the user confirms it.

    :raises NotInitializedError: there is no cluster.
    """
    async with shell.cluster_admin() as admin:
        if not await admin.exists():
            raise NotInitializedError(root)
        found = await admin.instance_id()
        if not options.force and options.instanceid != found:
            fields = {"instanceId": options.instanceid, "readInstanceId": found}
            shell.out(line("Provided InstanceId is not matching with cluster InstanceId", **fields))
            return REFUSED
        if not shell.confirmed(_NUKE.format(root=root, instance_id=found), options.force):
            return REFUSED
        await admin.nuke(found)
    shell.out(line("The metadata of the cluster are removed", ledgersRootPath=root, instanceId=found))
    return OK


async def clusterinfo(shell: ShellContext, options: Namespace) -> int:
    """Print the numbers of bookies, the auditor, and whether any ledger has an underreplicated mark."""
    shell.caption("Starting fill cluster info.")
    async with await shell.admin() as admin:
        found = await cluster_info(admin)
    shell.caption("--------- Cluster Info ---------")
    shell.show(ClusterFacts.of(found))
    return OK


async def whatisinstanceid(shell: ShellContext, options: Namespace) -> int:
    """Print the instance id of the cluster."""
    uri = shell.config.metadata_service_uri
    async with shell.cluster_admin() as admin:
        instance_id = await admin.instance_id()
    shell.show(InstanceId(without_credentials(uri), instance_id))
    return OK


COMMANDS = (
    Command(
        "metaformat", "Format the metadata of the cluster", metaformat,
        (
            Argument(("-n", "nonInteractive"), "do not ask: refuse if there is a cluster, unless forced", bool),
            FORCE,
        ),
    ),
    Command("initnewcluster", "Initialize a new cluster", initnewcluster),
    Command(
        "nukeexistingcluster", "Remove the metadata of a cluster whose bookies do not run", nukeexistingcluster,
        (
            Argument(
                ("-p", "zkledgersrootpath"), "root of the cluster, as metadataServiceUri has it", "any text",
                required=True,
            ),
            Argument(("-i", "instanceid"), "instance id of the cluster, see whatisinstanceid"),
            Argument(("-f", "force"), "in the place of the instance id, and do not ask", bool),
        ),
    ),
    Command(
        "clusterinfo", "Print numbers of bookies, the auditor, and whether ledgers are marked", clusterinfo,
        row=ClusterFacts,
    ),
    Command("whatisinstanceid", "Print the instance id of the cluster", whatisinstanceid, row=InstanceId),
)  # fmt: skip
