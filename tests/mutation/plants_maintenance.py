"""Plants in the background work on what a bookie stores."""

from .plant import Plant

_CRASH = ["tests.bookie.maintenance.test_maintenance_crash.MaintenanceCrashTests.test_delete_and_collect"]
_COPYING = ["tests.storage.maintenance.test_copying"]
_QUEUE = ["tests.storage.files.test_disk_queue"]
_REPORT = ["tests.bookie.maintenance.test_collection_report"]
_COLLECTION = ["tests.bookie.maintenance.test_collection"]
_SUSPENDED = ["tests.bookie.maintenance.test_suspended_compaction"]

PLANTS = (
    Plant(
        "a compaction that never ran has ended at the start", "bookie/maintenance/control.py",
        "CompactionStatus(at_work, suspended, total, last, kind.threshold, obstacles, cancelled, refusals)",
        "CompactionStatus(at_work, suspended, total, last or self._collector.began, kind.threshold, obstacles, "
        "cancelled, refusals)",
        ["tests.bookie.lifecycle.test_admin"], where="BackgroundControl._status",
    ),
    Plant(
        "a major compaction does not move the time of minor ones", "http/background_api.py",
        "_latest(status.began, status.minor.last, status.major.last)", "_latest(status.began, status.minor.last)",
        ["tests.http.test_background_api"], where="_details",
    ),
    Plant(
        "a bookie that finds no space says that it can compact", "bookie/maintenance/garbage_collector.py",
        "(*found, *self.troubles(), *self.refusals())", "(*found, *self.refusals())",
        ["tests.bookie.lifecycle.test_service_disks"], where="GarbageCollector.obstacles",
    ),
    Plant(
        "a compaction that uses the space reserve is said to fail", "bookie/lifecycle/admin.py",
        "each.startswith(NO_SPACE)", "False", ["tests.bookie.lifecycle.test_service_disks"],
        where="BookieAdmin._troubles",
    ),
    Plant(
        "a directory that is gone is no obstacle of a compaction", "bookie/lifecycle/admin.py",
        "self._disks.unusable.items()", "()", ["tests.bookie.lifecycle.test_service_disks"],
        where="BookieAdmin._troubles",
    ),
    Plant(
        "the reason does not name the ledger directory that is gone", "bookie/lifecycle/disk_monitor.py",
        "current(path) in self.unusable", "False", ["tests.bookie.lifecycle.test_service_disks"],
        where="DiskState.reasons",
    ),
    Plant(
        "a ledger directory that is gone makes the free space of the bookie unknown",
        "bookie/lifecycle/disk_monitor.py", "suppress(OSError)", "suppress(KeyError)",
        ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor._space",
    ),
    Plant(
        "a ledger directory that is not mounted has the space of another disk", "bookie/lifecycle/disk_monitor.py",
        "each not in self.unusable", "True", ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor._space",
    ),
    Plant(
        "a directory that is gone keeps its last usage", "bookie/lifecycle/disk_monitor.py",
        "self._used[directory] = None", "pass", ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor.check",
    ),
    Plant(
        "where a directory is gone, the log says that space is short", "bookie/lifecycle/disk_monitor.py",
        '", and ".join(f"{path} cannot be used: {text}" for path, text in unusable.items())',
        '"less than minUsableSizeForHighPriorityWrites is free"', ["tests.bookie.lifecycle.test_service_disks"],
        where="DiskState.shortage",
    ),
    Plant(
        "a directory that is gone is usable for an alert", "metrics/storage.py",
        "used(directory) is not None", "True", ["tests.test_metrics"], where="_is_usable",
    ),
    Plant(
        "a compaction that failed counts as one", "bookie/maintenance/garbage_collector.py",
        "before == self.state.failures or self._work_done().compacted > compacted", "True",
        ["tests.bookie.maintenance.test_collection_report"], where="GarbageCollector._compact_as",
    ),
    Plant(
        "a directory that fails hides the compaction of the others", "bookie/maintenance/garbage_collector.py",
        "before == self.state.failures or self._work_done().compacted > compacted",
        "before == self.state.failures",
        ["tests.bookie.maintenance.test_garbage_collector"], where="GarbageCollector._compact_as",
    ),
    Plant(
        "a compaction that was cancelled counts as one", "bookie/maintenance/garbage_collector.py",
        "not self._cancelled and (before == self.state.failures or self._work_done().compacted > compacted)",
        "before == self.state.failures or self._work_done().compacted > compacted", _SUSPENDED,
        where="GarbageCollector._compact_as",
    ),
    Plant(
        "the time of a compaction that was cancelled is among those of the others",
        "bookie/maintenance/garbage_collector.py", "failures == self.state.failures and not self._cancelled",
        "failures == self.state.failures", _SUSPENDED, where="GarbageCollector._compact_as",
    ),
    Plant(
        "nobody learns that a compaction was cancelled", "bookie/maintenance/garbage_collector.py",
        "self.state.cancelled[phase] = self._clock.seconds()", "pass", _SUSPENDED,
        where="GarbageCollector._compact_as",
    ),
    Plant(
        "the log does not say that a compaction was cancelled", "bookie/maintenance/garbage_collector.py",
        "copied or self._cancelled", "copied", _SUSPENDED, where="GarbageCollector._compact_as",
    ),
    Plant(
        "a compaction that has ended seems cancelled", "bookie/maintenance/garbage_collector.py",
        "self.state.cancelled.pop(phase, None)", "pass", _SUSPENDED, where="GarbageCollector._compact_as",
    ),
    Plant(
        "an entry log that cannot be read keeps all others", "storage/maintenance/log_space.py",
        "try: ...\nexcept OSError as error: ...",
        "return LogUsage(log_id, self._record_bytes(log_id), live, live_entries=entries)",
        [*_COLLECTION, "tests.storage.maintenance.test_log_space"], where="LogSpace._usage_of",
    ),
    Plant(
        "an entry log that cannot be read is not named", "bookie/maintenance/log_collector.py",
        "log.error and log.log_id not in self._directory.damaged", "False", _COLLECTION, where="LogCollector.run",
    ),
    Plant(
        "an entry log that cannot be read is named at each collection", "bookie/maintenance/log_collector.py",
        "log.error and log.log_id not in self._directory.damaged", "log.error", _COLLECTION,
        where="LogCollector.run",
    ),
    Plant(
        "an entry log that is missing is not noticed", "bookie/maintenance/log_collector.py",
        "missing.keys() - self._missing", "()", _COLLECTION, where="LogCollector.clean",
    ),
    Plant(
        "an entry log that is missing is named at each collection", "bookie/maintenance/log_collector.py",
        "missing.keys() - self._missing", "missing", _COLLECTION, where="LogCollector.clean",
    ),
    Plant(
        "an entry log that is there counts as missing", "storage/maintenance/log_space.py",
        "log_id not in found", "True", ["tests.storage.maintenance.test_log_space"], where="LogSpace.missing",
    ),
    Plant(
        "a ledger that was replicated elsewhere is never taken again", "bookie/bookie.py",
        "[self._storage.ledger(ledger_id) for ledger_id in forgotten] if is_elsewhere else ()",
        "[self._storage.ledger(ledger_id) for ledger_id in forgotten] if False else ()", _COLLECTION,
        where="Bookie.forget",
    ),
    Plant(
        "a replica that was given back is not deleted again after a restart", "bookie/lifecycle/replay.py",
        "row is not None and row.forgotten_at", "False", _COLLECTION, where="_Player._end_run",
    ),
    Plant(
        "a lock that the store did not release keeps replication away", "bookie/maintenance/ledger_collector.py",
        "self._unreleased.add(ledger_id)", "", _COLLECTION, where="LedgerCollector._forget_locked",
    ),
    Plant(
        "the index refers to a copy that is not synced", "storage/maintenance/copying.py",
        "self._log.seal_unnamed(self._fs)", "self._log._write_rest()", _CRASH, where="LogCopy.finish",
    ),
    Plant(
        "the index refers to a copy whose name is not durable", "storage/maintenance/copying.py",
        "self._fs.sync_directory(self._directory.path)", "", _CRASH, where="LogCopy.finish",
    ),
    Plant(
        "old logs are removed before the index has the copies", "bookie/maintenance/compactor.py",
        "await committed",
        "await committed\n"
        "[await self._directory.in_thread(self._directory.space.remove, log_id) for log_id in sources]",
        _CRASH, where="Compactor._finish",
    ),
    Plant(
        "a compaction ends before the commit of a log", "bookie/maintenance/compactor.py",
        "await committed", "", ["tests.bookie.maintenance.test_garbage_collector.CompactionTests"],
        where="Compactor._compact",
    ),
    Plant(
        "the commit of a log before fails unseen", "bookie/maintenance/compactor.py",
        "await committed", "", ["tests.bookie.maintenance.test_garbage_collector.CompactionTests"],
        where="Compactor._finish",
    ),
    Plant(
        "a listing that ends early deletes what it lacks", "bookie/maintenance/ledger_collector.py",
        "not await self._exists(ledger_id)", "True", _COLLECTION, where="LedgerCollector._forget_missing",
    ),
    Plant(
        "an over-replicated ledger is deleted by metadata of before", "bookie/maintenance/ledger_collector.py",
        "await self._ledgers.sync()", "", _COLLECTION, where="LedgerCollector._forget_unless_needed",
    ),
    Plant(
        "a new log has no header", "storage/entry_log/writer.py",
        "file.pwrite(layout.new_header(), 0)", "pass", ["tests.storage.maintenance.test_copying", *_CRASH],
        where="create_log",
    ),
    Plant(
        "a copy takes the place of a newer one", "storage/index/rows.py",
        "row.log_id not in moved_from", "False", _COPYING, where="still_at",
    ),
    Plant(
        "entries are appended to a log below that of copies", "storage/entry_log/writer.py",
        "self._overtaken = True", "pass",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_locations"],
        where="EntryLogWriter.reserve",
    ),
    Plant(
        "a stale copy is moved", "storage/index/rows.py",
        "row.log_id not in moved_from", "not moved_from",
        ["tests.bookie.maintenance.test_maintenance_crash.MaintenanceCrashTests.test_overwritten"], where="still_at",
    ),
    Plant(
        "a new log begins with the header of a sealed one", "storage/entry_log/writer.py",
        "layout.new_header()", "layout.new_header()[:8] + layout.seal(1400, 2)[0]", _CRASH, where="create_log",
    ),
    Plant(
        "damage is copied", "storage/maintenance/row_reader.py",
        "first_bad_block(row, len(data), 0, data) is not None", "False", _COPYING, where="RowReader._verify",
    ),
    Plant(
        "records without checksums are copied unseen", "storage/maintenance/row_reader.py",
        "row.checksums", "True", _COPYING, where="RowReader._verify",
    ),
    Plant(
        "memory is read into that is still to be written from", "storage/entry_log/writer.py",
        'self._pieces = [b"".join(self._pieces)]', "", _COPYING, where="OpenLog.write_blocks",
    ),
    Plant(
        "a row of a copy has the checksums of other blocks", "storage/maintenance/copying.py",
        "CHECKSUM_BLOCK - self._n_bytes % CHECKSUM_BLOCK", "CHECKSUM_BLOCK", _COPYING, where="_JoinedRow.append",
    ),
    Plant(
        "a step is read when the one in front of it is written", "bookie/maintenance/compactor.py",
        "after = None\nif following is not None: ...\n"
        "return (deque(reader.verified(step) if step is not None else ()), after)",
        "rows, after = (deque(reader.verified(step) if step is not None else ()), None)\n"
        "if following is not None: ...\nreturn (rows, after)",
        ["tests.bookie.maintenance.test_garbage_collector.CompactionTests.test_reads_ahead"], where="_turn",
    ),
    Plant(
        "a step of a copy ends within a page", "storage/maintenance/row_reader.py",
        "whole_pages if whole_pages > 0 else room", "room", _COPYING, where="next_piece",
    ),
    Plant(
        "pieces that are far from each other are read together", "storage/maintenance/row_reader.py",
        "start - last.end <= passed_over", "True", _COPYING, where="extents_of",
    ),
    Plant(
        "a piece inside of another one cuts it off", "storage/maintenance/row_reader.py",
        "Extent(log_id, last.start, max(end, last.end))", "Extent(log_id, last.start, end)", _COPYING,
        where="extents_of",
    ),
    Plant(
        "an unreadable place ends a compaction of other logs", "storage/maintenance/row_reader.py",
        "(errno.EIO, errno.ENOENT)", "(errno.ENOENT,)", _COPYING, where="",
    ),
    Plant(
        "rows of a deleted ledger after the first of them count as live", "storage/maintenance/log_space.py",
        "index.page((ledger_id, last.first), _STEP_ROWS) if last.ledger_id == ledger_id else []", "[]",
        ["tests.storage.maintenance.test_log_space"], where="LogSpace.bytes_of",
    ),
    Plant(
        "copies take more space than the disk has", "storage/maintenance/plan.py",
        "min(MOST_TARGETS * size_limit, free // 2)", "MOST_TARGETS * size_limit",
        ["tests.storage.maintenance.test_plan"], where="next_group",
    ),
    Plant(
        "a scrub takes a released journal file for damage", "storage/journal/scrub.py",
        "self._fs.exists(self._path(file_id))", "True", ["tests.storage.journal.test_scrub"],
        where="JournalScrub._found",
    ),
    Plant(
        "a scrub stops at damage of a journal as at its end", "storage/journal/scrub.py",
        "reader.end < end", "False", ["tests.storage.journal.test_scrub"], where="JournalScrub._verify",
    ),
    Plant(
        "damage of a journal stays the only copy of what is in memory", "bookie/maintenance/scrubber.py",
        "await self._checkpoint()", "pass", ["tests.bookie.maintenance.test_scrubber"],
        where="Scrubber._scrub_journal",
    ),
    Plant(
        "a restarted pass forgets what it had found", "storage/maintenance/scrub.py",
        "attrs.evolve(record, after=after)", "attrs.evolve(record, after=after, findings=())",
        ["tests.bookie.maintenance.test_scrubber"], where="Scrub.__init__",
    ),
    Plant(
        "findings are durable at the end of a pass only", "bookie/maintenance/scrubber.py",
        "found or now - saved_at >= _SAVED_EVERY", "False", ["tests.bookie.maintenance.test_scrubber"],
        where="Scrubber._verify",
    ),
    Plant(
        "damage that a compaction has found is marked before it is durable", "bookie/maintenance/known_damage.py",
        "await self.keep(directory, record)\nself.marker.found([found])",
        "self.marker.found([found])\nawait self.keep(directory, record)",
        ["tests.bookie.maintenance.test_maintenance_crash.MaintenanceCrashTests.test_unreadable"],
        where="KnownDamage.join",
    ),
    Plant(
        "a scrub ends where the disk takes no file of damage", "bookie/maintenance/known_damage.py",
        "before, self._refused[number] = self._refused.get(number), error.errno", "raise",
        ["tests.bookie.maintenance.test_scrubber"], where="KnownDamage.keep",
    ),
    Plant(
        "damage that a compaction has found is known to its process only", "bookie/maintenance/compactor.py",
        "await self._damage_found(damage)", "", ["tests.bookie.maintenance.test_scrubber"],
        where="Compactor._compact_whole",
    ),
    Plant(
        "a pass at work forgets what a compaction has found", "bookie/maintenance/known_damage.py",
        "scrub.record = record", "pass", ["tests.bookie.maintenance.test_scrubber"], where="KnownDamage.join",
    ),
    Plant(
        "a compaction keeps the old logs of all groups although space is scarce", "bookie/maintenance/compactor.py",
        "not is_first and is_scarce(chosen, size_limit, free)", "False",
        ["tests.bookie.maintenance.test_garbage_collector"], where="Compactor._next_group",
    ),
    Plant(
        "scarce space has the logs looked through before the first group, too", "bookie/maintenance/compactor.py",
        "not is_first and is_scarce(chosen, size_limit, free)", "is_scarce(chosen, size_limit, free)",
        ["tests.bookie.maintenance.test_garbage_collector"], where="Compactor._next_group",
    ),
    Plant(
        "a full disk does not end a minor compaction", "bookie/maintenance/garbage_collector.py",
        "full or (almost_full and self.state.phase == MAJOR)", "almost_full and self.state.phase == MAJOR",
        ["tests.bookie.maintenance.test_garbage_collector"],
        where="GarbageCollector.disk_changed",
    ),
    Plant(
        "a requested run does not say what it did", "bookie/maintenance/garbage_collector.py",
        "self._say(request, compaction, before, failures)", "pass", _REPORT, where="GarbageCollector._run",
    ),
    Plant(
        "each run that a full disk forces is told", "bookie/maintenance/garbage_collector.py",
        "if request.results: ...", "self._say(request, compaction, before, failures)", _REPORT,
        where="GarbageCollector._run",
    ),
    Plant(
        "an almost full disk is said to prevent minor compactions", "bookie/maintenance/garbage_collector.py",
        "text if full else ''", "text", _REPORT, where="GarbageCollector.disk_changed",
    ),
    Plant(
        "a suspension is not said to prevent a compaction", "bookie/maintenance/collection_report.py",
        "if suspended: ...", "pass", [*_REPORT, "tests.bookie.lifecycle.test_admin"], where="obstacles",
    ),
    Plant(
        "a disk that is full until it is half empty seems not to be", "bookie/lifecycle/disk_monitor.py",
        "if full: ...\nelse: ...", "found, limit = [], ''", ["tests.bookie.lifecycle.test_disk_monitor"],
        where="DiskMonitor._described",
    ),
    Plant(
        "the status does not say which compactions are refused", "bookie/maintenance/control.py",
        "self._collector.prevented()[phase]", "()", ["tests.bookie.lifecycle.test_admin"],
        where="BackgroundControl._status",
    ),
    Plant(
        "bytes are promised that no compaction frees, as a disk is full", "http/console/bookie_pages.py",
        "log.major and major", "log.major", ["tests.http.console.test_bookie_pages"],
        where="BookiePages._freed_logs",
    ),
    Plant(
        "nobody learns why no compaction frees the bytes of a ledger", "http/console/bookie_pages.py",
        "each.threshold and each.refusals", "False", ["tests.http.console.test_bookie_pages"], where="_stays",
    ),
    Plant(
        "the gain of a compaction that cannot run comes without the reason", "http/console/bookie_pages.py",
        "list(status.obstacles)", "[]", ["tests.http.console.test_bookie_pages"], where="_told_of",
    ),
    Plant(
        "a scrub reads on in a row that failed", "storage/maintenance/scrub.py",
        "self.cutter.skip(piece.row)", "pass", ["tests.storage.maintenance.test_scrub"], where="Scrub.read",
    ),
    Plant(
        "a scrub takes a deleted ledger for damage", "storage/maintenance/scrub.py",
        "row is None or (row.first, row.last, row.log_id) != (damage.first, damage.last, damage.log_id)", "False",
        ["tests.bookie.maintenance.test_scrubber"], where="damage_now",
    ),
    Plant(
        "a log goes by an index that may hide rows", "bookie/maintenance/log_collector.py",
        "if unneeded: ...", "if False: ...", _COLLECTION, where="LogCollector.run",
    ),
    Plant(
        "a rebuild that is cut off loses the states of ledgers", "storage/rebuild.py",
        "index.commit(IndexBatch(without_runs=True, ledgers=outdated))", "raise DamageError(index_directory)",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_locations"], where="_without_runs",
    ),
    Plant(
        "an index that is opened unchecked stays so", "bookie/maintenance/maintenance.py",
        "[Deferred.fromCoroutine(directory.check_index()) for directory in self.directories]", "[]",
        ["tests.bookie.maintenance.test_maintenance"], where="Maintenance.start",
    ),
    Plant(
        "a log goes although a row refers to it", "storage/maintenance/log_space.py",
        "row.log_id in self._log_ids", "False", ["tests.storage.maintenance.test_log_space"],
        where="RemovalChecks._run",
    ),
    Plant(
        "a log that must stay keeps the others", "bookie/maintenance/log_collector.py",
        "len(log_ids) > 1", "False", _COLLECTION, where="LogCollector._remove",
    ),
    Plant(
        "a write that the kernel refused is forgotten", "storage/files/disk_queue.py",
        "found != size", "False", _QUEUE, where="DiskQueue._written",
    ),
    Plant(
        "a log is sealed while it is being written", "storage/files/disk_queue.py",
        "while self._n_writes: ...", "while False: ...", _QUEUE, where="DiskQueue.wait_for_writes",
    ),
    Plant(
        "what is being written is written over", "storage/files/disk_queue.py",
        "self._buffers.pop(at)", "self._buffers[at]", _QUEUE, where="DiskQueue._acquire_buffer",
    ),
    Plant(
        "a short read counts as a whole one", "storage/files/disk_queue.py",
        "found == each.size", "found >= 0", _QUEUE, where="_QueuedReads.datas",
    ),
    Plant(
        "the log that is written to counts as sealed", "storage/maintenance/log_space.py",
        "self.directory.log.active_log_id", "None",
        ["tests.storage.maintenance.test_log_space"], where="LogSpace.sealed_logs",
    ),
    Plant(
        "the fence of a deleted ledger is forgotten", "storage/ledger_states.py",
        "if row.fenced: ...", "if False: ...", _COLLECTION, where="LedgerStates.forget",
    ),
    Plant(
        "the journal brings a deleted, fenced ledger back", "bookie/lifecycle/replay.py",
        "self._storage.was_fenced(ledger_id)", "False", ["tests.bookie.lifecycle.test_replay"],
        where="_Player._apply",
    ),
    Plant(
        "a deletion that failed is not done again", "storage/ledger_states.py",
        "if not succeeded:\n    self._deleted.update(ledger_ids)", "",
        ["tests.storage.test_ledger_states", "tests.storage.test_ledger_storage"], where="LedgerStates.deleted",
    ),
    Plant(
        "background work does not yield to clients", "limits/adaptive.py",
        "if latency > self.bound: ...\nelse: ...", "if False: ...\nelse: ...", ["tests.limits.test_adaptive"],
        where="YieldController.observe",
    ),
    Plant(
        "work without a limit does not yield", "limits/throttle.py",
        "Rate(known.entries or speed.entries, known.bytes or speed.bytes)", "UNLIMITED",
        ["tests.limits.test_throttle", "tests.limits.test_adaptive"], where="Throttle.yield_to",
    ),
    Plant(
        "the speed of work that yields counts as its full speed", "limits/throttle.py",
        "known.bytes or speed.bytes", "speed.bytes or known.bytes", ["tests.limits.test_throttle"],
        where="Throttle.yield_to",
    ),
    Plant(
        "a suspended scrub reads on", "bookie/maintenance/scrubber.py",
        "await progress.idle(self.suspension.passed(), self._clock)", "", ["tests.bookie.maintenance.test_scrubber"],
        where="Scrubber._verify",
    ),
    Plant(
        "limits are not changed", "limits/adaptive.py",
        "for throttle, rate in changes:\n    throttle.change(rate)", "changes = []", ["tests.limits.test_adaptive"],
        where="SpeedLimits.set_limits",
    ),
    Plant(
        "changed keys do not reach the work", "bookie/lifecycle/admin.py",
        "self._parts.maintenance.change(maintenance_options(config))", "pass", ["tests.bookie.lifecycle.test_admin"],
        where="BookieAdmin.take",
    ),
    Plant(
        "a forced run that joins another one forces nothing more", "bookie/maintenance/garbage_collector.py",
        "self.minor or other.minor", "False", ["tests.bookie.maintenance.test_garbage_collector"],
        where="_Request.join",
    ),
    Plant(
        "a rebuild fences all ledgers of a damaged index", "storage/rebuild.py",
        "error.states", "states", ["tests.storage.test_rebuild"], where="_without_runs",
    ),
)
