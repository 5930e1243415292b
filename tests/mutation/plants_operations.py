"""Plants in what an operator reads and does: lines of the log, verbs of the shell, metrics."""

from .plant import Plant

_DIRECTORIES = ["tests.cli.commands.test_directories"]
_INDEX_FILES = ["tests.storage.apache.test_index_file_export"]
_AUDITOR = ["tests.autorecovery.auditing.test_auditor"]

PLANTS = (
    Plant(
        "the log has lines below its least level", "cli/tap.py",
        "FilteringLogObserver(observer, [threshold])", "FilteringLogObserver(observer, [])", ["tests.cli.test_tap"],
    ),
    Plant(
        "each read over HTTP is a line", "protocol/peer_lines.py",
        "else now - last < INTERVAL:", "else False:", ["tests.http.test_cluster_api"],
    ),
    Plant(
        "ledgers are counted although their bookie is back", "autorecovery/auditing/detection.py",
        "            self._losses.stop()\n            self._cancel_timer()\n            self._metrics.cancelled",
        "            self._cancel_timer()\n            self._metrics.cancelled", _AUDITOR,
    ),
    Plant(
        "a stop claims a checkpoint that failed", "bookie/checkpointer.py",
        "        if not await self.checkpoint():\n            return None\n        return LastCheckpoint(",
        "        await self.checkpoint()\n        return LastCheckpoint(", ["tests.bookie.lifecycle.test_service_stop"],
    ),
    Plant(
        "directories that were erased in part have a cookie", "storage/cookies.py",
        "        if COOKIE_NAME in fs.list(path):\n", "        if not fs.list(path):\n", _DIRECTORIES,
    ),
    Plant(
        "directories are emptied without a question", "cli/commands/directories.py",
        "options.force or (not options.nonInteractive and shell.world.ask(_FORMAT))", "True", _DIRECTORIES,
    ),
    Plant(
        "Apache's bookie finds half a page at the end of an index file", "storage/apache/index_files.py",
        "                self._file.truncate(HEAD_SIZE + pages * WRITTEN_PAGE)\n", "", _INDEX_FILES,
    ),
    Plant(
        "a regenerated index file has a ledger that is not fenced", "storage/apache/index_file_export.py",
        "LedgerRow(ledger_id, master_key, True)", "LedgerRow(ledger_id, master_key, False)", _INDEX_FILES,
    ),
    Plant(
        "a cluster is nuked that has another instance id", "cli/commands/clusters.py",
        "        if not options.force and options.instanceid != found:\n", "        if False:\n",
        ["tests.cli.commands.test_clusters"],
    ),
)  # fmt: skip
