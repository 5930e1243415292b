"""Plants in the background work on what a bookie stores."""

from .plant import Plant

_CRASH = ["tests.bookie.maintenance.test_maintenance_crash.MaintenanceCrashTests.test_delete_and_collect"]
_COPYING = ["tests.storage.maintenance.test_copying"]
_QUEUE = ["tests.storage.files.test_disk_queue"]
_COLLECTION = ["tests.bookie.maintenance.test_collection"]

PLANTS = (
    Plant(
        "a ledger that was replicated elsewhere is never taken again", "bookie/bookie.py",
        "for ledger_id in forgotten] if is_elsewhere else ()\n", "for ledger_id in forgotten] if False else ()\n",
        _COLLECTION,
    ),
    Plant(
        "a replica that was given back is not deleted again after a restart", "bookie/lifecycle/replay.py",
        "        if row is not None and row.forgotten_at:\n", "        if False:\n", _COLLECTION,
    ),
    Plant(
        "a lock that the store did not release keeps replication away", "bookie/maintenance/ledger_collector.py",
        "            self._unreleased.add(ledger_id)\n", "", _COLLECTION,
    ),
    Plant(
        "the index refers to a copy that is not synced", "storage/maintenance/copying.py",
        "self._log.seal_unnamed(self._fs)", "self._log._write_rest()", _CRASH,
    ),
    Plant(
        "the index refers to a copy whose name is not durable", "storage/maintenance/copying.py",
        "        self._log = None\n        self._fs.sync_directory(self._directory.path)\n", "        self._log = None\n",
        _CRASH,
    ),
    Plant(
        "old logs are removed before the index has the copies", "bookie/maintenance/compactor.py",
        "        return Deferred.fromCoroutine(self._commit(rows, sources))\n",
        "        [await self._directory.on_lane(self._directory.space.remove, log_id) for log_id in sources]\n"
        "        return Deferred.fromCoroutine(self._commit(rows, sources))\n", _CRASH,
    ),
    Plant(
        "a compaction ends before the commit of a log", "bookie/maintenance/compactor.py",
        "                await on_lane(copy.abandon)\n            await committed\n",
        "                await on_lane(copy.abandon)\n",
        ["tests.bookie.maintenance.test_garbage_collector.CompactionTests"],
    ),
    Plant(
        "the commit of a log before fails unseen", "bookie/maintenance/compactor.py",
        "        await committed\n        return Deferred.fromCoroutine(self._commit(rows, sources))\n",
        "        return Deferred.fromCoroutine(self._commit(rows, sources))\n",
        ["tests.bookie.maintenance.test_garbage_collector.CompactionTests"],
    ),
    Plant(
        "a listing that ends early deletes what it lacks", "bookie/maintenance/ledger_collector.py",
        "if not await self._exists(ledger_id)", "if True", _COLLECTION,
    ),
    Plant(
        "an over-replicated ledger is deleted by metadata of before", "bookie/maintenance/ledger_collector.py",
        "        await self._ledgers.sync()\n        return await", "        return await",
        _COLLECTION,
    ),
    Plant(
        "a new log has no header", "storage/entry_log/writer.py",
        "file.pwrite(layout.new_header(), 0)", "pass", ["tests.storage.maintenance.test_copying", *_CRASH],
    ),
    Plant(
        "a copy takes the place of a newer one", "storage/index/rows.py",
        "if row.log_id not in moved_from:", "if False:", _COPYING,
    ),
    Plant(
        "entries are appended to a log below that of copies", "storage/entry_log/writer.py",
        "        self._overtaken = True\n", "        pass\n",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_locations"],
    ),
    Plant(
        "a stale copy is moved", "storage/index/rows.py",
        "if row.log_id not in moved_from:", "if not moved_from:",
        ["tests.bookie.maintenance.test_maintenance_crash.MaintenanceCrashTests.test_overwritten"],
    ),
    Plant(
        "a new log begins with the header of a sealed one", "storage/entry_log/writer.py",
        "file.pwrite(layout.new_header(), 0)", "file.pwrite(layout.new_header()[:8] + layout.seal(1400, 2)[0], 0)", _CRASH,
    ),
    Plant(
        "damage is copied", "storage/maintenance/row_reader.py",
        "if first_bad_block(row, len(data), 0, data) is not None:", "if False:", _COPYING,
    ),
    Plant(
        "records without checksums are copied unseen", "storage/maintenance/row_reader.py",
        "if row.checksums else range(count):", "if True else range(count):", _COPYING,
    ),
    Plant(
        "memory is read into that is still to be written from", "storage/entry_log/writer.py",
        "        self._pieces = [b\"\".join(self._pieces)]\n", "", _COPYING,
    ),
    Plant(
        "a row of a copy has the checksums of other blocks", "storage/maintenance/copying.py",
        "CHECKSUM_BLOCK - self._n_bytes % CHECKSUM_BLOCK]", "CHECKSUM_BLOCK]", _COPYING,
    ),
    Plant(
        "a step is read when the one in front of it is written", "bookie/maintenance/compactor.py",
        "    after = None\n"
        "    if following is not None:\n"
        "        reader.begin(following)\n"
        "        after = cutter.next_step(*limits)\n"
        "    return deque(reader.verified(step) if step is not None else ()), after\n",
        "    rows, after = deque(reader.verified(step) if step is not None else ()), None\n"
        "    if following is not None:\n"
        "        reader.begin(following)\n"
        "        after = cutter.next_step(*limits)\n"
        "    return rows, after\n",
        ["tests.bookie.maintenance.test_garbage_collector.CompactionTests.test_reads_ahead"],
    ),
    Plant(
        "a step of a copy ends within a page", "storage/maintenance/row_reader.py",
        "whole_pages if whole_pages > 0 else room", "room", _COPYING,
    ),
    Plant(
        "pieces that are far from each other are read together", "storage/maintenance/row_reader.py",
        "and start - last.end <= passed_over", "and True", _COPYING,
    ),
    Plant(
        "a piece inside of another one cuts it off", "storage/maintenance/row_reader.py",
        "Extent(log_id, last.start, max(end, last.end))", "Extent(log_id, last.start, end)", _COPYING,
    ),
    Plant(
        "an unreadable place ends a compaction of other logs", "storage/maintenance/row_reader.py",
        "_UNREADABLE = (errno.EIO, errno.ENOENT)", "_UNREADABLE = (errno.ENOENT,)", _COPYING,
    ),
    Plant(
        "copies take more space than the disk has", "storage/maintenance/plan.py",
        "min(MOST_TARGETS * size_limit, free // 2)", "MOST_TARGETS * size_limit",
        ["tests.storage.maintenance.test_plan"],
    ),
    Plant(
        "a scrub takes a released journal file for damage", "storage/journal/scrub.py",
        "        if self._fs.exists(self._path(file_id)):\n", "        if True:\n", ["tests.storage.journal.test_scrub"],
    ),
    Plant(
        "a scrub stops at damage of a journal as at its end", "storage/journal/scrub.py",
        "and reader.end < end:", "and False:", ["tests.storage.journal.test_scrub"],
    ),
    Plant(
        "damage of a journal stays the only copy of what is in memory", "bookie/maintenance/scrubber.py",
        "            await self._checkpoint()\n", "            pass\n", ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "a restarted pass forgets what it had found", "storage/maintenance/scrub.py",
        "self.record = attrs.evolve(record, after=after)", "self.record = attrs.evolve(record, after=after, findings=())",
        ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "findings are durable at the end of a pass only", "bookie/maintenance/scrubber.py",
        "if found or now - saved_at >= _SAVED_EVERY:", "if False:", ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "damage that a compaction has found is marked before it is durable", "bookie/maintenance/known_damage.py",
        "        try:\n            await self.keep(directory, record)\n        finally:\n            self.marks.found([found])\n",
        "        self.marks.found([found])\n        await self.keep(directory, record)\n",
        ["tests.bookie.maintenance.test_maintenance_crash.MaintenanceCrashTests.test_unreadable"],
    ),
    Plant(
        "damage that a compaction has found is known to its process only", "bookie/maintenance/compactor.py",
        "                await self._damage_found(damage)\n", "", ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "a pass at work forgets what a compaction has found", "bookie/maintenance/known_damage.py",
        "            scrub.record = record\n", "            pass\n", ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "a compaction keeps the old logs of all groups although space is scarce", "bookie/maintenance/compactor.py",
        "if not is_first and is_scarce(chosen, size_limit, free):", "if False:",
        ["tests.bookie.maintenance.test_garbage_collector"],
    ),
    Plant(
        "scarce space has the logs looked through before the first group, too", "bookie/maintenance/compactor.py",
        "if not is_first and is_scarce(chosen, size_limit, free):", "if is_scarce(chosen, size_limit, free):",
        ["tests.bookie.maintenance.test_garbage_collector"],
    ),
    Plant(
        "a full disk does not end a minor compaction", "bookie/maintenance/garbage_collector.py",
        'if full or (almost_full and self.state.phase == "major compaction"):',
        'if almost_full and self.state.phase == "major compaction":',
        ["tests.bookie.maintenance.test_garbage_collector"],
    ),
    Plant(
        "a scrub reads on in a row that failed", "storage/maintenance/scrub.py",
        "self.cutter.skip(piece.row)", "pass", ["tests.storage.maintenance.test_scrub"],
    ),
    Plant(
        "a scrub takes a deleted ledger for damage", "storage/maintenance/scrub.py",
        "if row is None or (row.first, row.last, row.log_id) != (damage.first, damage.last, damage.log_id):", "if False:",
        ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "a log goes by an index that may hide rows", "bookie/maintenance/log_collector.py",
        "        if unneeded:\n", "        if False:\n", _COLLECTION,
    ),
    Plant(
        "a rebuild that is cut off loses the states of ledgers", "storage/rebuild.py",
        "        index.commit(IndexBatch(without_runs=True))\n", "        raise DamageError(index_directory)\n",
        ["tests.bookie.maintenance.test_rebuild_crash.RebuildCrashTests.test_locations"],
    ),
    Plant(
        "an index that is opened unchecked stays so", "bookie/maintenance/maintenance.py",
        "[Deferred.fromCoroutine(directory.check_index()) for directory in self.directories]", "[]",
        ["tests.bookie.maintenance.test_maintenance"],
    ),
    Plant(
        "a log goes although a row refers to it", "storage/maintenance/log_space.py",
        "if row.log_id in self._log_ids:", "if False:", ["tests.storage.maintenance.test_log_space"],
    ),
    Plant(
        "a log that must stay keeps the others", "bookie/maintenance/log_collector.py",
        "            if len(log_ids) > 1:\n", "            if False:\n", _COLLECTION,
    ),
    Plant(
        "a write that the kernel refused is forgotten", "storage/files/disk_queue.py",
        "        if found != size:\n", "        if False:\n", _QUEUE,
    ),
    Plant(
        "a log is sealed while it is being written", "storage/files/disk_queue.py",
        "        while self._n_writes:\n", "        while False:\n", _QUEUE,
    ),
    Plant(
        "what is being written is written over", "storage/files/disk_queue.py",
        "return self._rooms.pop(at)", "return self._rooms[at]", _QUEUE,
    ),
    Plant(
        "a short read counts as a whole one", "storage/files/disk_queue.py",
        "if found == each.size else", "if found >= 0 else", _QUEUE,
    ),
    Plant(
        "the log that is written to counts as sealed", "storage/maintenance/log_space.py",
        "if log_id != active]", "]", ["tests.storage.maintenance.test_log_space"],
    ),
    Plant(
        "the fence of a deleted ledger is forgotten", "storage/ledger_states.py",
        "        if row.fenced:\n            self._forgotten", "        if False:\n            self._forgotten", _COLLECTION,
    ),
    Plant(
        "the journal brings a deleted, fenced ledger back", "bookie/lifecycle/replay.py",
        "if self._storage.was_fenced(ledger_id):", "if False:", ["tests.bookie.lifecycle.test_replay"],
    ),
    Plant(
        "a deletion that failed is not done again", "storage/ledger_states.py",
        "        if not succeeded:\n            self._deleted.update(ledger_ids)\n", "",
        ["tests.storage.test_ledger_states", "tests.storage.test_ledger_storage"],
    ),
    Plant(
        "background work does not yield to clients", "limits/adaptive.py",
        "elif latency > self.bound:", "elif False:", ["tests.limits.test_adaptive"],
    ),
    Plant(
        "work without a limit does not yield", "limits/throttle.py",
        "self._speed = Rate(known.entries or speed.entries, known.bytes or speed.bytes)", "self._speed = UNLIMITED",
        ["tests.limits.test_throttle", "tests.limits.test_adaptive"],
    ),
    Plant(
        "the speed of work that yields counts as its full speed", "limits/throttle.py",
        "known.bytes or speed.bytes", "speed.bytes or known.bytes", ["tests.limits.test_throttle"],
    ),
    Plant(
        "a suspended scrub reads on", "bookie/maintenance/scrubber.py",
        "            await self.suspension.passed()\n            found", "            found",
        ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "limits are not changed", "limits/adaptive.py",
        "for throttle, rate in changes:\n            throttle.change(rate)", "changes = []",
        ["tests.limits.test_adaptive"],
    ),
    Plant(
        "changed keys do not reach the work", "bookie/lifecycle/admin.py",
        "parts.maintenance.change(maintenance_options(self._config))", "pass", ["tests.bookie.lifecycle.test_admin"],
    ),
    Plant(
        "a forced run that joins another one forces nothing more", "bookie/maintenance/garbage_collector.py",
        "            self.minor or other.minor, self.results + other.results,", "            False, self.results + other.results,",
        ["tests.bookie.maintenance.test_garbage_collector"],
    ),
    Plant(
        "a rebuild fences all ledgers of a damaged index", "storage/rebuild.py",
        "        return _anew(fs, index_directory, make_index, error.states)\n",
        "        return _anew(fs, index_directory, make_index, states)\n", ["tests.storage.test_rebuild"],
    ),
)  # fmt: skip
