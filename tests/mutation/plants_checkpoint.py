"""Plants in checkpoints and in the rebuilding of indexes."""

from .plant import Plant

_CHECKPOINT = ["tests.storage.test_checkpoint", "tests.bookie.test_checkpointer"]
_REBUILD = ["tests.storage.test_rebuild"]
_FULL = ["tests.storage.files.test_space_reserve"]
_FULL_LIVES = ["tests.bookie.maintenance.test_full_disk_lives"]
_INDEX_FILES = ["tests.storage.apache.test_index_files"]

PLANTS = (
    Plant(
        "a compaction does not use the blocks that only root may take", "bookie/maintenance/compactor.py",
        "        if self._borrows:\n            return await", "        if False:\n            return await", _FULL_LIVES,
    ),
    Plant(
        "the reserve cannot be taken of the blocks that only root may take", "storage/files/space_reserve.py",
        "self._fs.allocatable(directory) // _BLOCK", "self._fs.usage(directory)[1] // _BLOCK",
        ["tests.storage.files.test_space_reserve"],
    ),
    Plant(
        "deletions wait for entries for which a full disk has no space", "storage/checkpoint.py",
        "            self._directories[directory].make_room(rows, deleted, self._gone[directory])\n", "", [*_FULL, *_FULL_LIVES],
    ),
    Plant(
        "deletions that were committed alone are committed again", "storage/checkpoint.py",
        "else self._gone[number]\n", "else set()\n", _FULL,
    ),
    Plant(
        "the fence of a deleted ledger is not committed with its deletion", "storage/directory_storage.py",
        "            states = [rows[ledger_id] for ledger_id in part if ledger_id in rows]\n", "            states = []\n", _FULL,
    ),
    Plant(
        "a deletion leaves the reserve to other files", "storage/directory_storage.py",
        "            finally:\n                self.take_reserve_back()\n", "            finally:\n                pass\n", _FULL,
    ),
    Plant(
        "the log that was written last cannot be collected while the disk is full", "storage/directory_storage.py",
        "        with suppress(OSError):  # a log that is not sealed is scanned before it is removed\n            self.log.close()\n", "",
        _FULL,
    ),
    Plant(
        "clients use the reserve up", "storage/files/space_reserve.py",
        "            if self._fs.usage(directory)[1] < needed:\n", "            if False:\n", _FULL,
    ),
    Plant(
        "a checkpoint takes the reserve from a compaction", "storage/files/space_reserve.py",
        "        if self.lent:\n            return\n", "", _FULL,
    ),
    Plant(
        "Apache's bookie is handed directories with a reserve that it does not know", "bookie/lifecycle/hand_back.py",
        "            remove_reserve(self.fs, current(path))\n", "            pass\n",
        ["tests.bookie.lifecycle.test_service_take_over"],
    ),
    Plant(
        "the reserve is not durable", "storage/files/space_reserve.py", "            file.sync(metadata=True)\n", "", _FULL,
    ),
    Plant(
        "a start has no space for an index although there is a reserve", "storage/ledger_storage.py",
        "        if reserve is None or not reserve.lend():\n", "        if True:\n", _FULL,
    ),
    Plant(
        "a compaction does not use the reserve where no log fits", "bookie/maintenance/compactor.py",
        "        if not group and await self._borrow():\n", "        if False:\n", _FULL_LIVES,
    ),
    Plant(
        "a compaction that runs out of space does not use the reserve", "bookie/maintenance/compactor.py",
        "                    if is_disk_full(error) and await self._borrow():\n", "                    if False:\n", _FULL_LIVES,
    ),
    Plant(
        "a compaction keeps the reserve", "bookie/maintenance/compactor.py",
        "                await self._directory.on_flush_lane(self._directory.storage.take_reserve_back)\n", "", _FULL_LIVES,
    ),
    Plant(
        "a deletion that is not durable is no failure of a collection", "bookie/maintenance/garbage_collector.py",
        "        await self._tried(self._ledgers.confirm())\n", "",
        ["tests.bookie.maintenance.test_collection"],
    ),
    Plant(
        "a failure of checkpoints that goes on is logged once", "bookie/checkpointer.py",
        "(failure is None or now - self._logged_at < _LOG_INTERVAL):", "True:", _CHECKPOINT,
    ),
    Plant(
        "a checkpoint without space is not counted", "bookie/checkpointer.py",
        "            self._metrics.flush_without_space.value += is_disk_full(failure)\n", "", _CHECKPOINT,
    ),
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
        "            self._directories[directory].write(rows, deleted)\n",
        "            self._written.add(directory)\n            self._directories[directory].write(rows, deleted)\n", _CHECKPOINT,
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
        "a ledger with a damaged index file is open", "storage/apache/index_files.py",
        "LedgerRow(ledger_id, fenced=True)", "LedgerRow(ledger_id)", _INDEX_FILES,
    ),
    Plant(
        "each disk has a reserve, however much of it is free", "storage/files/space_reserve.py",
        "self._fs.usage(directory)[1] < PLENTY", "True", ["tests.storage.files.test_space_reserve"],
    ),
    Plant(
        "a reserve that is not made is not missing", "storage/files/space_reserve.py",
        "self._held[directory] > 0 or self._fs", "self._held[directory] > 0 and self._fs", ["tests.storage.files.test_space_reserve"],
    ),
)  # fmt: skip
