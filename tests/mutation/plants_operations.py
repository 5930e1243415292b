"""Plants in what an operator reads and does: lines of the log, verbs of the shell, metrics."""

from .plant import Plant

_DIRECTORIES = ["tests.cli.commands.test_directories"]
_INDEX_FILES = ["tests.storage.apache.test_index_file_export"]
_AUDITOR = ["tests.autorecovery.auditing.test_auditor"]

PLANTS = (
    Plant(
        "the log has lines below its least level", "cli/tap.py",
        "[predicate]", "[]", ["tests.cli.test_tap"], where="begin_log.begin_wrapped",
    ),
    Plant(
        "each read over HTTP is a line", "protocol/peer_lines.py",
        "cause in causes", "False", ["tests.http.test_cluster_api"], where="PeerLines.log",
    ),
    Plant(
        "ledgers are counted although their bookie is back", "autorecovery/auditing/detection.py",
        "self._losses.stop()\nself._cancel_timer()\nself._metrics.cancelled.value += 1",
        "self._cancel_timer()\nself._metrics.cancelled.value += 1", _AUDITOR, where="LostBookieDetector._act",
    ),
    Plant(
        "a stop claims a checkpoint that failed", "bookie/checkpointer.py",
        "if not await self.checkpoint():\n    return None", "await self.checkpoint()",
        ["tests.bookie.lifecycle.test_service_stop"], where="Checkpointer.finish",
    ),
    Plant(
        "directories that were erased in part have a cookie", "storage/cookies.py",
        "COOKIE_NAME in fs.list(path)", "not fs.list(path)", _DIRECTORIES, where="erase",
    ),
    Plant(
        "directories are emptied without a question", "cli/commands/directories.py",
        "(options.force or not options.nonInteractive) and shell.confirmed(_FORMAT, options.force)", "True",
        _DIRECTORIES, where="_confirmed",
    ),
    Plant(
        "Apache's bookie finds half a page at the end of an index file", "storage/apache/index_files.py",
        "self._file.truncate(HEAD_SIZE + pages * WRITTEN_PAGE)", "", _INDEX_FILES, where="IndexFileWriter.close",
    ),
    Plant(
        "a regenerated index file has a ledger that is not fenced", "storage/apache/index_file_export.py",
        "LedgerRow(ledger_id, master_key, True)", "LedgerRow(ledger_id, master_key, False)", _INDEX_FILES,
        where="regenerate",
    ),
    Plant(
        "a cookie is deleted although metadata cannot be decoded", "http/autorecovery_api.py",
        "delete and not operation.failed and not left_out", "delete and not operation.failed",
        ["tests.http.test_autorecovery_api"], where="AutorecoveryApi._copy",
    ),
    Plant(
        "a recovery past metadata that cannot be decoded is a success", "cli/commands/recovery.py",
        "self._totals.failed or self._recovery.undecoded.ids", "self._totals.failed",
        ["tests.cli.commands.test_recovery"], where="_BookiesCommand._status",
    ),
    Plant(
        "a list of concerned ledgers is complete without those that cannot be decoded", "cli/commands/recovery.py",
        "if undecoded.ids: ...", "", ["tests.cli.commands.test_recovery"], where="_query",
    ),
    Plant(
        "a search for the ledgers of a bookie shows no progress before it finds one", "cli/commands/ledgers.py",
        "admin.ledgers(undecoded=undecoded)", "admin.ledgers(options.bookieid, undecoded)",
        ["tests.cli.commands.test_progress"], where="_listed",
    ),
    Plant(
        "the ledgers of a bookie whose cookie is deleted are counted without progress", "cli/commands/directories.py",
        "advance(1)", "pass", ["tests.cli.commands.test_progress"], where="_count_ledgers",
    ),
    Plant(
        "a list past metadata that cannot be decoded is a success", "cli/commands/ledgers.py",
        "FAILED if undecoded.ids else OK", "OK", ["tests.cli.commands.test_ledgers"], where="listledgers",
    ),
    Plant(
        "a ledger that cannot be decoded ends a recovery", "autorecovery/operations/bookie_recovery.py",
        "self._admin.ledgers(undecoded=self.undecoded)", "self._admin.ledgers()",
        ["tests.http.test_autorecovery_api"], where="BookieRecovery.plan",
    ),
    Plant(
        "a bookie is mistyped although ledgers that cannot be decoded may name it",
        "autorecovery/operations/bookie_recovery.py", "if self.undecoded.ids: ...", "",
        ["tests.cli.commands.test_recovery"], where="BookieRecovery.unknown",
    ),
    Plant(
        "a list without the ledgers that cannot be decoded ends well", "client/admin.py",
        "if undecoded is None and left_out.ids: ...", "", ["tests.client.test_admin"], where="BookKeeperAdmin.ledgers",
    ),
    Plant(
        "a ledger that may not be read seems to be damaged", "metadata/undecoded.py",
        "f'{len(ledger_ids)} {which} {what}, as {whose} metadata cannot be read or decoded, such as ledger {first}'",
        "f'{len(ledger_ids)} {which} {what}, as {whose} metadata cannot be decoded, such as ledger {first}'",
        ["tests.metadata.test_undecoded"], where="undecoded_text",
    ),
    Plant(
        "a ledger that can be decoded again is named", "metadata/undecoded.py",
        "self.ids.discard(ledger_id)", "pass", ["tests.metadata.test_undecoded"], where="UndecodedLedgers.read",
    ),
    Plant(
        "a ledger is not active as its metadata cannot be decoded", "cli/commands/stored_ledgers.py",
        "metadata is not None or ledger_id in undecoded.ids", "metadata is not None",
        ["tests.cli.commands.test_stored_ledgers"], where="_known",
    ),
    Plant(
        "a cluster is nuked that has another instance id", "cli/commands/clusters.py",
        "not options.force and options.instanceid != found", "False", ["tests.cli.commands.test_clusters"],
        where="_nuke",
    ),
    Plant(
        "there is no auditor as soon as the store is back", "autorecovery/operations/decommission.py", "left <= 0",
        "True", ["tests.autorecovery.operations.test_decommission"], where="Decommission.check",
    ),
    Plant(
        "an auditor is waited for without end", "autorecovery/operations/decommission.py", "left <= 0", "False",
        ["tests.autorecovery.operations.test_decommission"], where="Decommission.check",
    ),
    Plant(
        "of two decommissions of a bookie, one fails", "http/autorecovery_api.py",
        "if not remaining.found: ...", "if True: ...",
        ["tests.http.test_autorecovery_api"], where="AutorecoveryApi._finish",
    ),
)  # fmt: skip
