"""Plants in checkpoints and in the rebuilding of indexes."""

from .plant import Plant

_CHECKPOINT = ["tests.storage.test_checkpoint", "tests.bookie.test_checkpointer"]
_UNCOMMITTED = ["tests.storage.test_uncommitted"]
_REBUILD = ["tests.storage.test_rebuild"]
_FULL = ["tests.storage.files.test_space_reserve"]
_FULL_LIVES = ["tests.bookie.maintenance.test_full_disk_lives"]
_OLDER = ["tests.storage.test_older_index"]
_STORE = ["tests.bookie.lifecycle.test_store"]
_CONTRACT = ["tests.storage.index.test_run_index.SqliteContractTests"]
_INDEX_FILES = ["tests.storage.apache.test_index_files"]

PLANTS = (
    Plant(
        "a retry writes entries again that are in entry logs already", "storage/directory_storage.py",
        "left is not None and left.taken is not None", "False", _UNCOMMITTED, where="DirectoryStorage.write",
    ),
    Plant(
        "a deletion that was committed with refused rows is committed again", "storage/directory_storage.py",
        "(done if done is not None else set()).update(deleted)", "", _UNCOMMITTED, where="DirectoryStorage.write",
    ),
    Plant(
        "entries whose rows were committed at last stay in memory", "storage/directory_storage.py",
        "self.flushing, self._rest = self._rest, None", "self._rest = None", _UNCOMMITTED,
        where="DirectoryStorage.not_written",
    ),
    Plant(
        "entries of a deleted ledger come back that a flush wrote after it had committed rows",
        "storage/directory_storage.py", "rest.discard_ledger(ledger_id)", "pass", _UNCOMMITTED,
        where="DirectoryStorage.forget",
    ),
    Plant(
        "entries in entry logs count as space that they take again", "storage/directory_storage.py",
        "left.later if left else self.active", "self.active", _UNCOMMITTED, where="DirectoryStorage.unwritten",
    ),
    Plant(
        "a compaction gets higher log ids than refused rows", "storage/directory_storage.py",
        "self.uncommitted is not None", "False", _UNCOMMITTED, where="DirectoryStorage.reserve_logs",
    ),
    Plant(
        "refused rows of a ledger that was deleted since are committed", "storage/uncommitted.py",
        "self._forgotten.add(ledger_id)", "", _UNCOMMITTED, where="UncommittedEntries.forget",
    ),
    Plant(
        "refused rows of a ledger that was deleted during their flush are committed", "storage/uncommitted.py",
        "self._forgotten |= forgotten", "", _UNCOMMITTED, where="UncommittedEntries.not_written",
    ),
    Plant(
        "entries that came during a failed retry are not written", "storage/uncommitted.py",
        "self.taken.absorb(self.later)", "", _UNCOMMITTED, where="UncommittedEntries.not_written",
    ),
    Plant(
        "logs of refused rows are deleted", "storage/maintenance/log_space.py",
        "left.log_ids if left is not None else ()", "()", _UNCOMMITTED, where="LogSpace.sealed_logs",
    ),
    Plant(
        "the log does not say how much space a checkpoint needs", "bookie/checkpointer.py",
        "isinstance(each, ReserveShortageError)", "False", ["tests.bookie.test_checkpointer"], where="described",
    ),
    Plant(
        "a start on a full disk does not say which disk is full", "bookie/lifecycle/service.py",
        "self._log.warn(text, reason=self._store.no_space)", 'self._log.warn(text, reason="")',
        ["tests.bookie.lifecycle.test_service_disks"], where="BookieService._open_store",
    ),
    Plant(
        "a disk without inodes is said to have no space", "bookie/engine.py",
        "is_out_of_inodes(errors[0])", "False", ["tests.bookie.test_checkpointer"], where="_reason",
    ),
    Plant(
        "the cause of an error of the storage is not looked at", "bookie/checkpointer.py",
        "error = error.__cause__", "error = None", ["tests.bookie.test_checkpointer"], where="_with_causes",
    ),
    Plant(
        "a compaction does not use the blocks that only root may take", "bookie/maintenance/compactor.py",
        "if self._borrows: ...", "if False: ...", _FULL_LIVES, where="Compactor._free",
    ),
    Plant(
        "the reserve cannot be taken of the blocks that only root may take", "storage/files/space_reserve.py",
        "self._fs.allocatable(directory)", "self._fs.usage(directory)[1]", ["tests.storage.files.test_space_reserve"],
        where="SpaceReserve._extended",
    ),
    Plant(
        "deletions wait for entries for which a full disk has no space", "storage/checkpoint.py",
        "self._directories[directory].make_room(rows, deleted, self._gone[directory])", "", [*_FULL, *_FULL_LIVES],
        where="Checkpoint.write",
    ),
    Plant(
        "deletions that were committed alone are committed again", "storage/checkpoint.py",
        "self._gone[number]", "set()", _FULL, where="Checkpoint.finish",
    ),
    Plant(
        "the fence of a deleted ledger is not committed with its deletion", "storage/directory_storage.py",
        "[rows[ledger_id] for ledger_id in part if ledger_id in rows]", "[]", _FULL, where="DirectoryStorage._delete",
    ),
    Plant(
        "a deletion leaves the reserve to other files", "storage/directory_storage.py",
        "self.restore_reserve()", "pass", _FULL, where="DirectoryStorage.make_room",
    ),
    Plant(
        "the log that was written last cannot be collected while the disk is full", "storage/directory_storage.py",
        "with suppress(OSError):\n    self.log.close()", "", _FULL, where="DirectoryStorage.make_room",
    ),
    Plant(
        "clients use the reserve up", "storage/files/space_reserve.py",
        "free < needed", "False", _FULL, where="SpaceReserve.check",
    ),
    Plant(
        "a checkpoint takes the reserve from a compaction", "storage/files/space_reserve.py",
        "if self.released:\n    return", "", _FULL, where="SpaceReserve.check",
    ),
    Plant(
        "Apache's bookie is handed directories with a reserve that it does not know", "bookie/lifecycle/hand_back.py",
        "remove_reserve(self.fs, current(path))", "pass", ["tests.bookie.lifecycle.test_service_take_over"],
        where="HandBack.run",
    ),
    Plant(
        "a read-only disk costs another one its reserve", "storage/files/space_reserve.py",
        "self.restore()", "pass", ["tests.storage.files.test_space_reserve"], where="SpaceReserve.release",
    ),
    Plant(
        "the reserve is not durable", "storage/files/space_reserve.py",
        "file.sync(metadata=True)", "", _FULL, where="SpaceReserve._extended",
    ),
    Plant(
        "a start has no space for an index although there is a reserve", "storage/ledger_storage.py",
        "reserve is None or not reserve.release()", "True", _FULL, where="_open_index_with",
    ),
    Plant(
        "a compaction does not use the reserve where no log fits", "bookie/maintenance/compactor.py",
        "not group and await self._borrow()", "False", _FULL_LIVES, where="Compactor._next_group",
    ),
    Plant(
        "a compaction that runs out of space does not use the reserve", "bookie/maintenance/compactor.py",
        "is_disk_full(error) and await self._borrow()", "False", _FULL_LIVES, where="Compactor.run",
    ),
    Plant(
        "a compaction keeps the reserve", "bookie/maintenance/compactor.py",
        "await self._directory.in_flush_thread(self._directory.storage.restore_reserve)", "", _FULL_LIVES,
        where="Compactor.run",
    ),
    Plant(
        "a deletion that is not durable is no failure of a collection", "bookie/maintenance/garbage_collector.py",
        "await self._tried(self._ledgers.confirm())", "", ["tests.bookie.maintenance.test_collection"],
        where="GarbageCollector._collect",
    ),
    Plant(
        "a failure of checkpoints that goes on is logged once", "bookie/checkpointer.py",
        "not errors or now - self._logged_at < _LOG_INTERVAL", "True", _CHECKPOINT,
        where="Checkpointer._log_change",
    ),
    Plant(
        "a directory that stays broken is logged for each entry log that is tried", "bookie/checkpointer.py",
        '_ENTRY_LOG.sub("", "; ".join([str(error) or repr(error) for error in errors]))',
        '"; ".join([str(error) or repr(error) for error in errors])', _CHECKPOINT,
        where="Checkpointer._log_change",
    ),
    Plant(
        "an unforeseen error of a disk check is logged with each check", "bookie/lifecycle/disk_monitor.py",
        'if not self._is_new("the check of the disks", text): ...', "",
        ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor._check_failed",
    ),
    Plant(
        "a disk check that fails again is not logged again", "bookie/lifecycle/disk_monitor.py",
        'self._logged.pop("the check of the disks", None)', "pass",
        ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor.check",
    ),
    Plant(
        "only the first broken directory is logged", "bookie/checkpointer.py",
        '"; ".join(dict.fromkeys([described(error) or repr(error) for error in errors]))', "described(errors[0])",
        _CHECKPOINT, where="Checkpointer._log_change",
    ),
    Plant(
        "an unforeseen error of a checkpoint is logged with each attempt", "bookie/checkpointer.py",
        "for failure in failures if is_new else (): ...",
        'for failure in failures: self._log.failure("a checkpoint ended in a way it should not", failure)',
        _CHECKPOINT, where="Checkpointer._log_change",
    ),
    Plant(
        "a checkpoint without space is not counted", "bookie/checkpointer.py",
        "self._metrics.flush_without_space.value += is_disk_full(errors[0])", "", _CHECKPOINT,
        where="Checkpointer._run",
    ),
    Plant(
        "a ledger is found in a directory that it has left", "storage/rebuild.py",
        "{row.ledger_id for row in kept if row.forgotten_at}.union(elsewhere)",
        "{row.ledger_id for row in kept if row.forgotten_at}",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_another_place"], where="rebuild_index",
    ),
    Plant(
        "a start that rebuilds finds a ledger in a directory that it has left", "storage/ledger_storage.py",
        "elsewhere = known_elsewhere(fs, index_dirs, make_index)", "pass",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_another_place"],
        where="LedgerStorage.open",
    ),
    Plant(
        "log marks move before every directory is written", "storage/checkpoint.py",
        "len(self._written) < len(self._directories)", "not self._written", _CHECKPOINT,
        where="Checkpoint.persist_log_marks",
    ),
    Plant(
        "a directory that failed counts as written", "storage/checkpoint.py",
        "self._directories[directory].write(rows, deleted, self._gone[directory])",
        "self._written.add(directory)\nself._directories[directory].write(rows, deleted, self._gone[directory])",
        _CHECKPOINT,
        where="Checkpoint.write",
    ),
    Plant(
        "states of a directory that failed are forgotten", "storage/checkpoint.py",
        "self._states.not_stored(self._rows[number])", "", _CHECKPOINT, where="Checkpoint.finish",
    ),
    Plant(
        "entries of a directory that failed are forgotten", "storage/checkpoint.py",
        "directory.not_written()", "directory.written()", _CHECKPOINT, where="Checkpoint.finish",
    ),
    Plant(
        "a checkpoint whose log marks failed succeeds", "storage/checkpoint.py",
        "self._ended(self._log_marks_moved)", "self._ended(len(self._written) == len(self._directories))", _CHECKPOINT,
        where="Checkpoint.finish",
    ),
    Plant(
        "caches are swapped before the states are taken", "storage/checkpoint.py",
        "for directory in directories: ...", "for directory in directories[:1]: ...", _CHECKPOINT,
        where="Checkpoint.__init__",
    ),
    Plant(
        "log marks are taken after the caches are swapped", "bookie/checkpointer.py",
        "self._storage.begin_checkpoint(log_marks)",
        "self._storage.begin_checkpoint([commit.journal.position for commit in self._commits])", _CHECKPOINT,
        where="Checkpointer.checkpoint",
    ),
    Plant(
        "a checkpoint does not wait for the other directories", "bookie/checkpointer.py",
        "DeferredList(writing, consumeErrors=True)",
        "DeferredList(writing, fireOnOneCallback=True, consumeErrors=True)", _CHECKPOINT,
        where="Checkpointer._write",
    ),
    Plant(
        "journals are released after a failed checkpoint", "bookie/checkpointer.py",
        "if not errors: ...\nelse: ...", "if True: ...\nelse: ...", _CHECKPOINT, where="Checkpointer._run",
    ),
    Plant(
        "a failed checkpoint is reported as a success", "bookie/checkpointer.py",
        "result.callback(not errors)", "result.callback(True)", _CHECKPOINT, where="Checkpointer._run",
    ),
    Plant(
        "a rebuild forgets the fences of the old index", "storage/rebuild.py",
        "IndexBatch(without_runs=True, ledgers=outdated)",
        "IndexBatch(without_runs=True, deleted_ledgers=[row.ledger_id for row in states])", _REBUILD,
        where="_without_runs",
    ),
    Plant(
        "a rebuild forgets the states that it is given", "storage/rebuild.py",
        "index.commit(IndexBatch(ledgers=list(states)))", "pass", ["tests.bookie.lifecycle.test_ledger_rebuild"],
        where="_anew",
    ),
    Plant(
        "a rebuild leaves unknown ledgers unfenced", "storage/rebuild.py",
        'LedgerRow(row.ledger_id, b"", True)', 'LedgerRow(row.ledger_id, b"", False)', _REBUILD, where="_take_log",
    ),
    Plant(
        "a rebuild is complete before it ends", "storage/rebuild.py",
        "IndexBatch(without_runs=True, ledgers=outdated)", "IndexBatch(without_runs=True, complete=True)", _REBUILD,
        where="_without_runs",
    ),
    Plant(
        "a rebuild goes on in an index that may be damaged", "storage/rebuild.py",
        "not index.checked", "False", _REBUILD, where="_without_runs",
    ),
    Plant(
        "a rebuild takes a sealed log that is torn", "storage/rebuild.py",
        "scan.torn_at is not None", "False", _REBUILD, where="check_sealed",
    ),
    Plant(
        "a rebuild does not count what a log should hold", "storage/rebuild.py",
        "expected is not None and expected != sizes", "False", _REBUILD, where="check_sealed",
    ),
    Plant(
        "a rebuild joins entries with a gap", "storage/rebuild.py",
        "record.entry_id == head.entry_id + len(sizes)", "record.entry_id > head.entry_id", _REBUILD, where="rows_of",
    ),
    Plant(
        "a rebuild joins records that are apart", "storage/rebuild.py",
        "record.offset == end and len(sizes) < MAX_ROW_ENTRIES", "len(sizes) < MAX_ROW_ENTRIES", _REBUILD,
        where="rows_of",
    ),
    Plant(
        "a rebuild brings deleted ledgers back", "storage/rebuild.py",
        "if row.ledger_id in dead:\n    continue", "", _REBUILD, where="_take_log",
    ),
    Plant(
        "a ledger with a damaged index file is open", "storage/apache/index_files.py",
        "LedgerRow(ledger_id, fenced=True)", "LedgerRow(ledger_id)", _INDEX_FILES, where="_state",
    ),
    Plant(
        "each disk has a reserve, however much of it is free", "storage/files/space_reserve.py",
        "self._fs.usage(directory)[1] < PLENTY", "True", ["tests.storage.files.test_space_reserve"],
        where="SpaceReserve._needs_reserve",
    ),
    Plant(
        "a reserve that is not made is not missing", "storage/files/space_reserve.py",
        "self._held[directory] > 0 or self._fs.usage(directory)[1] < PLENTY",
        "self._held[directory] > 0 and self._fs.usage(directory)[1] < PLENTY",
        ["tests.storage.files.test_space_reserve"], where="SpaceReserve._needs_reserve",
    ),
    Plant(
        "an older copy of an index is served", "storage/ledger_storage.py",
        "index.complete and index.commits < least_commits", "False", _OLDER, where="_open_index",
    ),
    Plant(
        "an index that is as new as the log mark is refused", "storage/ledger_storage.py",
        "index.commits < least_commits", "index.commits <= least_commits", _OLDER, where="_open_index",
    ),
    Plant(
        "the log marks do not have the commits of the indexes", "bookie/lifecycle/store.py",
        "log_mark.advance(position, commits, lambda number: directories[number].marking())",
        "log_mark.advance(position)", _STORE, where="Store.open",
    ),
    Plant(
        "a new index is older than the log mark", "storage/rebuild.py",
        "IndexBatch(complete=True, least_commits=least_commits)", "IndexBatch(complete=True)", [*_OLDER, *_REBUILD],
        where="rebuild_index",
    ),
    Plant(
        "the states in an outdated index are taken for the present ones", "storage/rebuild.py",
        "if index.commits < least_commits: ...", "pass", _REBUILD, where="_without_runs",
    ),
    Plant(
        "the number of commits is only in memory", "storage/index/run_index.py",
        "save_commits(self._writer, self._next(batch))", "pass", _CONTRACT, where="SqliteRunIndex._commit",
    ),
    Plant(
        "only the log mark of one journal is looked at", "storage/journal/log_mark.py",
        "filter(_NAME.fullmatch, fs.list(directory))", "['lastMark']",
        ["tests.storage.journal.test_log_mark", *_STORE], where="log_mark_commits",
    ),
)  # fmt: skip
