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
        "a cluster is nuked that has another instance id", "cli/commands/clusters.py",
        "not options.force and options.instanceid != found", "False", ["tests.cli.commands.test_clusters"],
        where="_nuke",
    ),
)  # fmt: skip
