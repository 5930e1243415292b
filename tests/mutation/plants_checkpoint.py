"""Plants in checkpoints and in the rebuilding of indexes."""

from .plant import Plant

_CHECKPOINT = ["tests.storage.test_checkpoint", "tests.bookie.test_checkpointer"]
_REBUILD = ["tests.storage.test_rebuild"]
_INDEX_FILES = ["tests.storage.test_index_files"]

PLANTS = (
    Plant(
        "a ledger is found in a directory that it has left", "storage/rebuild.py",
        "if row.forgotten_at}.union(elsewhere)\n", "if row.forgotten_at}\n",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_another_place"],
    ),
    Plant(
        "a start that rebuilds finds a ledger in a directory that it has left", "storage/ledger_storage.py",
        "                elsewhere = known_elsewhere(fs, index_dirs, make_index)\n", "                pass\n",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_another_place"],
    ),
    Plant(
        "marks move before every directory is written", "storage/checkpoint.py",
        "        if len(self._written) < self.n_directories:\n", "        if not self._written:\n", _CHECKPOINT,
    ),
    Plant(
        "a directory that failed counts as written", "storage/checkpoint.py",
        "        self._directories[directory].write(self._rows[directory], self._deleted[directory])\n        self._written.add(directory)\n",
        "        self._written.add(directory)\n        self._directories[directory].write(self._rows[directory], self._deleted[directory])\n", _CHECKPOINT,
    ),
    Plant(
        "states of a directory that failed are forgotten", "storage/checkpoint.py",
        "                self._states.not_stored(self._rows[number])\n", "", _CHECKPOINT,
    ),
    Plant(
        "entries of a directory that failed are forgotten", "storage/checkpoint.py",
        "                directory.not_written()\n", "                directory.written()\n", _CHECKPOINT,
    ),
    Plant(
        "a checkpoint whose marks failed succeeds", "storage/checkpoint.py",
        "        self._ended(self._marked)\n", "        self._ended(len(self._written) == self.n_directories)\n", _CHECKPOINT,
    ),
    Plant(
        "caches are swapped before the states are taken", "storage/checkpoint.py",
        "        for directory in directories:\n            directory.swap()\n", "        for directory in directories[:1]:\n            directory.swap()\n", _CHECKPOINT,
    ),
    Plant(
        "marks are taken after the caches are swapped", "bookie/checkpointer.py",
        "            checkpoint = self._storage.begin_checkpoint(marks)\n",
        "            checkpoint = self._storage.begin_checkpoint([commit.journal.position for commit in self._commits])\n", _CHECKPOINT,
    ),
    Plant(
        "a checkpoint does not wait for the other directories", "bookie/checkpointer.py",
        "await DeferredList(writing, consumeErrors=True)", "await DeferredList(writing, fireOnOneCallback=True, consumeErrors=True)", _CHECKPOINT,
    ),
    Plant(
        "journals are released after a failed checkpoint", "bookie/checkpointer.py",
        "        if failure is None:\n            # Journal files", "        if True:\n            # Journal files", _CHECKPOINT,
    ),
    Plant(
        "a failed checkpoint is reported as a success", "bookie/checkpointer.py",
        "            result.callback(failure is None)", "            result.callback(True)", _CHECKPOINT,
    ),
    Plant(
        "a rebuild forgets the fences of the old index", "storage/rebuild.py",
        "        index.commit(IndexBatch(without_runs=True))\n",
        "        index.commit(IndexBatch(without_runs=True, deleted_ledgers=[row.ledger_id for row in states]))\n", _REBUILD,
    ),
    Plant(
        "a rebuild forgets the states that it is given", "storage/rebuild.py",
        "            index.commit(IndexBatch(ledgers=list(states)))\n", "            pass\n",
        ["tests.bookie.lifecycle.test_ledger_rebuild"],
    ),
    Plant(
        "a rebuild leaves unknown ledgers unfenced", "storage/rebuild.py",
        'LedgerRow(row.ledger_id, b"", fenced)', 'LedgerRow(row.ledger_id, b"", False)', _REBUILD,
    ),
    Plant(
        "a rebuild is complete before it ends", "storage/rebuild.py",
        "        index.commit(IndexBatch(without_runs=True))\n",
        "        index.commit(IndexBatch(without_runs=True, complete=True))\n", _REBUILD,
    ),
    Plant(
        "a rebuild goes on in an index that may be damaged", "storage/rebuild.py",
        "        if not index.checked:\n", "        if False:\n", _REBUILD,
    ),
    Plant(
        "a rebuild takes a sealed log that is torn", "storage/rebuild.py",
        "    if scan.torn_at is not None:\n        raise", "    if False:\n        raise", _REBUILD,
    ),
    Plant(
        "a rebuild does not count what a log should hold", "storage/rebuild.py",
        "    if expected is not None and expected != sizes:\n", "    if False:\n", _REBUILD,
    ),
    Plant(
        "a rebuild joins entries with a gap", "storage/rebuild.py",
        "            and record.entry_id == head.entry_id + len(sizes)\n", "            and record.entry_id > head.entry_id\n", _REBUILD,
    ),
    Plant(
        "a rebuild joins records that are apart", "storage/rebuild.py",
        "            and record.offset == end\n", "", _REBUILD,
    ),
    Plant(
        "a rebuild brings deleted ledgers back", "storage/rebuild.py",
        "        if row.ledger_id in dead:\n            continue\n", "", _REBUILD,
    ),
    Plant(
        "a ledger with a damaged index file is open", "storage/index_files.py",
        "LedgerRow(ledger_id, fenced=True)", "LedgerRow(ledger_id)", _INDEX_FILES,
    ),
)  # fmt: skip
