"""Plants in ``bookie``."""

from .plant import Plant, TextPlant

_SESSION = ["tests.bookie.requests.test_session"]
_ERRORS = ["tests.bookie.test_thread_errors"]
_GROUPS = ["tests.bookie.test_group_commit"]
_QUEUE = ["tests.bookie.test_group_commit_interleavings"]
_EXECUTOR = ["tests.bookie.test_executor"]
_AT_ONCE = ["tests.bookie.test_group_commit_at_once"]
_WRITER = ["tests.storage.files.test_durable_writer"]
_WINDOW = ["tests.bookie.requests.test_fencing_window"]
_HANDLES = ["tests.bookie.test_ledger_handle"]
_READS = ["tests.bookie.test_bookie_reads"]
_IN_TURN = ["tests.storage.test_ledgers_in_turn"]
_SINGLES = ["tests.bookie.requests.test_read_processor.ResidentTests"]

_IDS = ["tests.bookie.requests.test_hostile_ids"]
_CHECKPOINTS = ["tests.bookie.test_checkpointer"]
_READ_PROCESSOR = "bookie/requests/read_processor.py"

PLANTS = (
    Plant(
        "reads of reserved ids are looked up", _READ_PROCESSOR,
        "self._refuse_reserved(session, cursor)", "", _IDS, where="ReadProcessor.start",
    ),
    Plant(
        "reads behind those of reserved ids are forgotten", _READ_PROCESSOR,
        "start + reserved < end", "not reserved", _IDS, where="ReadProcessor._refuse_reserved",
    ),
    Plant(
        "a batch goes on behind the highest id", "bookie/requests/batch_processor.py",
        "run.last < self.next <= MAX_ENTRY_ID", "run.last < self.next", _IDS, where="Gathering.take",
    ),
    Plant(
        "a batch read of a reserved id fences", "bookie/requests/batch_processor.py",
        "check_ids(request.ledger_id, request.first)", "", _IDS, where="BatchProcessor._serve",
    ),
    Plant(
        "a read of a reserved id fences", "bookie/requests/lac_processor.py",
        "check_ids(request.ledger_id, request.entry_id)", "", _IDS, where="LacProcessor.read",
    ),
    Plant(
        "reads that cannot be encoded stay unanswered", _READ_PROCESSOR,
        "for index in range(start, start + count):\n    self._refuse(session, cursor, index, error)", "del error",
        _ERRORS, where="ReadProcessor._reply",
    ),
    Plant(
        "a request that cannot be answered keeps its permits", "bookie/requests/session.py",
        "self.connection.end()", "", _ERRORS, where="RequestSession._failed",
    ),
    Plant(
        "used up file descriptors count as a failed disk", "bookie/engine.py",
        "not is_out_of_files(errors[0])", "True", _CHECKPOINTS, where="Engine._not_checkpointed",
    ),
    Plant(
        "disks are looked at by the clock alone", "bookie/lifecycle/service.py",
        "self._disks.look()", "", ["tests.bookie.lifecycle.test_service_disks"], where="BookieService._checkpointed",
    ),
    Plant(
        "entries that are in memory only take no space", "bookie/lifecycle/service.py",
        "self._store.unwritten", "tuple", ["tests.bookie.lifecycle.test_service_disks"],
        where="BookieService._start_engine",
    ),
    Plant(
        "a checkpoint in progress makes a disk full", "bookie/lifecycle/disk_monitor.py",
        "in_checkpoint if is_full else 0", "in_checkpoint", ["tests.bookie.lifecycle.test_disk_monitor"],
        where="DiskMonitor._with_unwritten",
    ),
    Plant(
        "a disk has space again while a checkpoint fills it", "bookie/lifecycle/disk_monitor.py",
        "in_checkpoint if is_full else 0", "0", ["tests.bookie.lifecycle.test_disk_monitor"],
        where="DiskMonitor._with_unwritten",
    ),
    Plant(
        "entries of another disk take space", "bookie/lifecycle/disk_monitor.py",
        "space == (total, free)", "True", ["tests.bookie.lifecycle.test_disk_monitor"],
        where="DiskMonitor._with_unwritten",
    ),
    Plant(
        "a step of the clock spoils the forecast of a disk", "bookie/lifecycle/disk_monitor.py",
        "history()", "DiskHistory(clock.seconds)", ["tests.bookie.lifecycle.test_disk_monitor"],
        where="DiskMonitor.__init__",
    ),
    Plant(
        "nobody learns which disk is full", "bookie/lifecycle/disk_monitor.py",
        "compress(self._directories, self._full if full else ())", "(self._directories if full else ())",
        ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor.check",
    ),
    Plant(
        "a bookie is writable between two full disks", "bookie/lifecycle/disk_monitor.py",
        "sorted(found, key=lambda each: not each[1])", "found", ["tests.bookie.lifecycle.test_service_disks"],
        where="DiskState.reasons",
    ),
    Plant(
        "every checkpoint begins a look of its own", "bookie/lifecycle/disk_monitor.py",
        "self._timer.running and not self._looking", "self._timer.running",
        ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor.look",
    ),
    Plant(
        "disks are looked at after the end of the monitor", "bookie/lifecycle/disk_monitor.py",
        "self._timer.running and not self._looking", "not self._looking",
        ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor.look",
    ),
    Plant(
        "a disk check without file descriptors loses the directories", "bookie/lifecycle/disk_monitor.py",
        "if error.errno in NO_FILES:\n    raise", "", ["tests.bookie.lifecycle.test_disk_monitor"],
        where="DiskMonitor._what_is_wrong",
    ),
    Plant(
        "a batch counts as one value in a histogram", "instruments.py",
        "self._counts[bisect_left(self._bounds, value)] += count",
        "self._counts[bisect_left(self._bounds, value)] += 1",
        ["tests.test_instruments"], where="BucketSeries.record",
    ),
    Plant(
        "the disk of a lost journal counts as empty", "bookie/lifecycle/disk_monitor.py",
        "if not text: ...", "if True: ...", ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor.check",
    ),
    Plant(
        "a ledger disk that takes no writes is not noticed", "bookie/lifecycle/disk_monitor.py",
        "LOCK_NAME in names and not self._fs.takes_writes(posixpath.join(directory, LOCK_NAME))",
        "directory not in self._directories and LOCK_NAME in names and not "
        "self._fs.takes_writes(posixpath.join(directory, LOCK_NAME))",
        ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor._what_is_wrong",
    ),
    Plant(
        "a withdrawn read counts as failed", "bookie/disk_reads.py",
        "isinstance(outcome, Failure) and not outcome.check(CancelledError)", "isinstance(outcome, Failure)",
        ["tests.bookie.test_disk_reads"], where="DiskReads._in_thread",
    ),
    Plant(
        "refused reads are not counted", "bookie/disk_reads.py", "self._metrics.reads.refused += len(wanted)", "pass",
        ["tests.bookie.test_disk_reads"], where="DiskReads.load",
    ),
    Plant(
        "the read cache counts entries that it has dropped", "storage/cache/read_cache.py",
        "self.n_entries -= run.count", "pass", ["tests.storage.cache.test_cache"], where="ReadCache._forget",
    ),
    Plant(
        "a name that old dashboards read is gone", "metrics/maintenance.py",
        '"DELETED_LEDGER_COUNT"', '"DELETED_LEDGERS"', ["tests.integration.test_dashboards"],
        where="MaintenanceMetrics.__init__",
    ),
    TextPlant(
        "the threads that read are in no pool", "metrics/bookie.py",
        '_READ_THREADS = "BookieReadThreadPool-read"', '_READ_THREADS = "read"', ["tests.integration.test_dashboards"],
    ),
    Plant(
        "entries of a lost log are I/O errors", "bookie/disk_reads.py",
        "DataUnknownError if isinstance(error, LostLogError) else BookieIOError", "BookieIOError",
        ["tests.bookie.test_disk_reads"], where="DiskReads._guarded",
    ),
    Plant(
        "a fencing read looks the entry up before it fences", "bookie/requests/lac_processor.py",
        "await self._context.bookie.fence(request.ledger_id, request.master_key)\n"
        "entry = await read_entry_or_last(session, request.ledger_id, request.entry_id)",
        "try:\n    entry = await read_entry_or_last(session, request.ledger_id, request.entry_id)\n"
        "finally:\n    await self._context.bookie.fence(request.ledger_id, request.master_key)",
        _WINDOW, where="LacProcessor._fencing_read",
    ),
    Plant(
        "a fence holds when it is durable, not before", "bookie/bookie.py",
        "handle.fencing = [result]", "handle.fencing, handle.row = [result], attrs.evolve(handle.row, fenced=False)",
        _WINDOW, where="Bookie.fence",
    ),
    Plant(
        "a fencing batch read looks the last entry up first", "bookie/requests/batch_processor.py",
        "await self._prepare(session, request)\nawait session.room()\n"
        "more = True\nif request.first == INVALID_ENTRY_ID: ...",
        "more = True\nif request.first == INVALID_ENTRY_ID: ...\n"
        "await self._prepare(session, request)\nawait session.room()",
        _WINDOW, where="BatchProcessor._serve",
    ),
    Plant(
        "an explicit LAC lowers the LAC", "bookie/bookie.py",
        "handle.advance_lac(lac)", "handle.last_add_confirmed = lac", _READS, where="Bookie.set_explicit_lac",
    ),
    Plant(
        "the LAC learnt from disk lowers the LAC", "bookie/bookie.py",
        "lac > handle.last_add_confirmed", "lac != handle.last_add_confirmed", _READS, where="Bookie._learn_lac",
    ),
    Plant(
        "an older explicit LAC replaces the newer one", "bookie/bookie.py",
        "lac_of_packet(handle.row.explicit_lac)", "0", _READS, where="Bookie.set_explicit_lac",
    ),
    Plant(
        "adds that wait for a checkpoint outlive the journal", "bookie/engine.py",
        'self.bookie.refuse_waiting(StorageFailedError("a journal has failed"))', "", _READS,
        where="Engine._journal_failed",
    ),
    Plant(
        "an add overtakes those that wait for room", "bookie/bookie.py",
        "self._waiting or not self._has_room(entries)", "not self._has_room(entries)", _READS, where="Bookie.add",
    ),
    Plant(
        "an add waits for a journal that it does not need", "entries/entry_run.py",
        "(self.ledger_id % n,)", "range(n)", ["tests.bookie.test_bookie"], where="EntryRun.part_numbers",
    ),
    Plant(
        "adds of many ledgers need room in one journal only", "entries/mixed_runs.py",
        "range(n)", "(0,)", ["tests.bookie.test_bookie"], where="RunSequence.part_numbers",
    ),
    Plant(
        "a fencing read does not wait for its fence", "bookie/requests/lac_processor.py",
        "await self._context.bookie.fence(request.ledger_id, request.master_key)",
        "self._context.bookie.fence(request.ledger_id, request.master_key)", _WINDOW,
        where="LacProcessor._fencing_read",
    ),
    Plant(
        "a fencing batch read does not wait for its fence", "bookie/requests/batch_processor.py",
        "await bookie.fence(request.ledger_id, request.master_key)",
        "bookie.fence(request.ledger_id, request.master_key)", _WINDOW, where="BatchProcessor._prepare",
    ),
    Plant(
        "a mixed group is acknowledged before it is written", "bookie/group_commit.py",
        "if records: ...\nif waiting:\n"
        "    if records:\n        self._complete_early(group, waiting)\n    self.journal.sync()",
        "if waiting and records:\n    self._complete_early(group, waiting)\n"
        "if records: ...\nif waiting:\n    self.journal.sync()",
        _GROUPS, where="GroupCommit._write_and_sync",
    ),
    Plant(
        "only errors of the disk fail a group", "bookie/group_commit.py",
        "try: ...\nexcept Exception: ...", "try: ...\nexcept OSError: ...", _GROUPS, where="GroupCommit._commit",
    ),
    Plant(
        "an item is left behind when the journal thread ends", "bookie/group_commit.py",
        "not self._queue or not self._take_token()", "True", _QUEUE, where="GroupCommit._drain",
    ),
    Plant(
        "a write is begun beside a result of the journal thread", "bookie/group_commit.py",
        "not self._drains and self._began_write()", "self._began_write()", _AT_ONCE, where="GroupCommit._submit",
    ),
    Plant(
        "a write that ends before a result of the journal thread is completed first", "bookie/group_commit.py",
        "self._drains -= 1", "", _AT_ONCE, where="GroupCommit._drained",
    ),
    Plant(
        "the first add of a turn is a group of its own", "bookie/group_commit.py",
        "self._is_enough", "True", _AT_ONCE, where="GroupCommit._begin",
    ),
    Plant(
        "each record is written at once, also beside others", "bookie/group_commit.py",
        "self._n_lone > LONE", "True", _AT_ONCE, where="GroupCommit._begin",
    ),
    Plant(
        "records that arrive one by one wait for the end of the turn", "bookie/group_commit.py",
        "self._n_lone > LONE", "False", _AT_ONCE, where="GroupCommit._begin",
    ),
    Plant(
        "a lone record does not wait for more, although it is told to", "bookie/group_commit.py",
        "not self._options.max_wait", "True", _AT_ONCE, where="GroupCommit._begin",
    ),
    Plant(
        "records count as lone although others arrived beside them", "bookie/group_commit.py",
        "self._n_lone = 0", "", _AT_ONCE, where="GroupCommit._append",
    ),
    Plant(
        "a large group waits for the end of the turn", "bookie/group_commit.py",
        "options.enough_bytes if options.max_wait else AT_ONCE_BYTES", "options.enough_bytes", _AT_ONCE,
        where="GroupCommit._is_enough",
    ),
    Plant(
        "a write that the system has not begun counts as begun", "bookie/executor.py",
        "not found.begin(item, file, parts, offset)", "found.begin(item, file, parts, offset) is None", _EXECUTOR,
        where="ThreadExecutor.write",
    ),
    Plant(
        "a write is begun while another one is in progress", "bookie/group_commit.py",
        "self._start is None and self._take_token()", "self._start is None", _AT_ONCE, where="GroupCommit._append",
    ),
    Plant(
        "a large group is written by the reactor thread", "bookie/group_commit.py",
        "self.queued_bytes > AT_ONCE_BYTES", "False", _AT_ONCE, where="GroupCommit._began_write",
    ),
    Plant(
        "what waits for no sync is left out of a begun group", "bookie/group_commit.py",
        "not records or len(records) < len(self._queue)", "not records", _AT_ONCE, where="GroupCommit._began_write",
    ),
    Plant(
        "the journal is not told that a write has failed", "bookie/group_commit.py",
        "self.journal.end_group(failure.value)", "", _AT_ONCE, where="GroupCommit._written",
    ),
    Plant(
        "the token of a write is lost", "bookie/group_commit.py",
        "self._idle.append(None)", "", _AT_ONCE, where="GroupCommit._written",
    ),
    Plant(
        "what arrived during a write waits for ever", "bookie/group_commit.py",
        "if self._queue: ...\nelse: ...", "self._idle.append(None)", _AT_ONCE, where="GroupCommit._written",
    ),
    Plant(
        "a begun write need not be durable", "storage/files/durable_writer.py",
        "_DSYNC | _NOWAIT", "_NOWAIT", _WRITER, where="DurableWriter.begin",
    ),
    Plant(
        "a part of a write counts as the whole", "storage/files/durable_writer.py",
        "result == self._size", "result >= 0", _WRITER, where="DurableWriter.end",
    ),
    Plant(
        "that too many writes are in use is not said", "storage/files/kernel_context.py",
        '"asynchronous I/O: all of fs.aio-max-nr is in use"', '"asynchronous I/O"', _WRITER,
        where="KernelContext.__init__",
    ),
    Plant(
        "a write whose result cannot be read never ends", "storage/files/kernel_context.py",
        "number != errno.EINTR", "False", _WRITER, where="KernelContext.ended_write",
    ),
    Plant(
        "an interrupted look for the result fails the write", "storage/files/kernel_context.py",
        "number != errno.EINTR", "True", _WRITER, where="KernelContext.ended_write",
    ),
    Plant(
        "a failed write is made again", "storage/files/durable_writer.py",
        "error.errno not in REFUSED", "False", _WRITER, where="DurableWriter.end",
    ),
    Plant(
        "a kernel that is busy is never asked again", "storage/files/durable_writer.py",
        "error.errno != errno.EAGAIN", "True", _WRITER, where="DurableWriter.begin",
    ),
    Plant(
        "a stop does not wait for a begun write", "bookie/executor.py",
        "self._unfinished.join().addCallback(lambda _: self._close())", "self._close()", _EXECUTOR,
        where="ThreadExecutor.stop",
    ),
    Plant(
        "a write that the kernel has not made counts as made", "bookie/executor.py",
        "if is_made: ...\nelse: ...", "self._ended(work, None)", _EXECUTOR, where="_Writes.doRead",
    ),
    Plant(
        "the system is asked again and again for what it refuses", "bookie/executor.py",
        "if writer.refusal is not None: ...", "", _EXECUTOR, where="_Writes.begin",
    ),
    Plant(
        "the second journal that fails leaves its replies", "bookie/group_commit.py",
        "self._flush()", "", _ERRORS, where="GroupCommit._fail",
    ),
    Plant(
        "an odd error ends a thread", "bookie/executor.py",
        "try: ...\nexcept BaseException: ...", "try: ...\nexcept Exception: ...", _EXECUTOR, where="Work.run",
    ),
    Plant(
        "an error of a callback reaches the reactor, which polls the writes no more", "bookie/executor.py",
        "try: ...\nexcept Exception: ...", "self.done(outcome)", _EXECUTOR, where="Work.deliver",
    ),
    Plant(
        "files are closed under work that ended work has caused", "bookie/executor.py",
        "self._works.discard(work)\nwork.deliver(outcome)", "work.deliver(outcome)\nself._works.clear()",
        ["tests.bookie.test_executor"], where="Unfinished.ended",
    ),
    Plant(
        "the last entry that memory has seen is taken for the last one", "bookie/bookie.py",
        "handle is not None and handle.last_complete", "handle is not None", _READS, where="Bookie.known_last",
    ),
    Plant(
        "all reads of a striped ledger are loaded before any row is known", "bookie/requests/read_processor.py",
        "len(missing) >= _FIRST_LOADS and not cursor.has_loaded", "False", _SINGLES,
        where="ReadProcessor._answer_scattered",
    ),
    Plant(
        "reads of two striped ledgers are one piece", "bookie/requests/read_cursor.py",
        "ledger_ids[before.start] == ledger_ids[start]", "True", ["tests.bookie.requests.test_read_cursor"],
        where="pieces_of",
    ),
    Plant(
        "reads of ledgers in turn are searched for ledger by ledger", "bookie/requests/read_cursor.py",
        "sum(map(ne, ledger_ids, ledger_ids[1:])) * FEW_A_RUN >= count", "False",
        ["tests.bookie.requests.test_read_cursor"], where="pieces_of",
    ),
    Plant(
        "reads of ledgers in turn are answered with entries of the first one", "storage/ledger_storage.py",
        "ledger_ids.count(ledger_id) < len(ledger_ids)", "False", _IN_TURN, where="LedgerStorage.scattered",
    ),
    Plant(
        "a search in many ledgers goes on beyond its bytes", "storage/ledger_storage.py",
        "max_bytes <= 0", "False", _IN_TURN, where="LedgerStorage._of_many_ledgers",
    ),
    Plant(
        "rows of entries are looked up entry by entry", "bookie/requests/read_cursor.py",
        "piece.is_row and piece.end - piece.start >= SHORT", "False", ["tests.bookie.requests.test_read_cursor"],
        where="_is_long",
    ),
    Plant(
        "replies to reads of entries in memory are long, although replies must be small",
        "bookie/requests/read_processor.py", "min(REPLY_BYTES, session.connection.reply_limit)", "REPLY_BYTES",
        ["tests.bookie.requests.test_read_processor.MemoryTests"], where="_most_bytes",
    ),
    Plant(
        "a look-up of big entries looks up many more than it takes", "bookie/requests/read_processor.py",
        "min(max_bytes * len(sizes) // sum(sizes), MOST_TOGETHER)", "MOST_TOGETHER", _SINGLES,
        where="ReadProcessor._learn_together",
    ),
    Plant(
        "look-ups stay small after one of big entries", "bookie/requests/read_processor.py",
        "min(max_bytes * len(sizes) // sum(sizes), MOST_TOGETHER)",
        "min(max_bytes * len(sizes) // sum(sizes), self._together)", _SINGLES,
        where="ReadProcessor._learn_together",
    ),
    Plant(
        "a look-up that found nothing makes the next ones small", "bookie/requests/read_processor.py",
        "self._together = MOST_TOGETHER", "self._together = 1", _SINGLES, where="ReadProcessor._learn_together",
    ),
    Plant(
        "reads that memory does not hold are loaded a few at a time", "bookie/requests/read_processor.py",
        "ReadCursor(run, left, cursor.began, times)", "ReadCursor(run, left, cursor.began)", _SINGLES,
        where="ReadProcessor._load",
    ),
    Plant(
        "reads that wait for the first loads of their run are not counted", "bookie/requests/read_processor.py",
        "sum([max_bytes for _, _, max_bytes in wanted]) + n_waiting * FIRST_WINDOW",
        "sum([max_bytes for _, _, max_bytes in wanted])", _SINGLES,
        where="ReadProcessor._load",
    ),
    Plant(
        "reads that wait for the first loads of their run are lost", "bookie/requests/read_processor.py",
        "left.extend(waiting)", "pass", _SINGLES, where="ReadProcessor._load",
    ),
    Plant(
        "an odd error of the read thread is not answered", "bookie/requests/read_processor.py",
        "try: ...\nexcept Exception as error: ...", "try: ...\nexcept OSError as error: ...", _ERRORS,
        where="ReadProcessor._load",
    ),
    Plant(
        "an odd error of the flush thread is not survived", "bookie/checkpointer.py",
        "[outcome for succeeded, outcome in outcomes if not succeeded]",
        "[outcome for succeeded, outcome in outcomes if not succeeded and outcome.check(OSError)]", _ERRORS,
        where="Checkpointer._write",
    ),
    Plant(
        "a batch waits for a load that failed", "bookie/requests/batch_processor.py",
        "try: ...\nfinally: ...",
        "try: ...\nexcept OSError:\n"
        "    raise\n...",
        _ERRORS, where="BatchProcessor._read",
    ),
    Plant(
        "small runs pass a large one that waits for permits", "bookie/requests/context.py",
        "not self._fits(count) or (self._waiting and not is_turn)", "not self._fits(count)",
        ["tests.bookie.requests.test_permits"], where="Permits.acquire",
    ),
    Plant(
        "a run acquires more permits than are left", "bookie/requests/context.py",
        "self.in_progress + count <= self._limit", "self.in_progress < self._limit",
        ["tests.bookie.requests.test_permits"], where="Permits._fits",
    ),
    Plant(
        "a request that waits goes behind later ones", "bookie/requests/session.py",
        "self._backlog.appendleft(item)", "self._backlog.append(item)", _SESSION, where="RequestSession.pump",
    ),
    Plant(
        "the last entry is looked up in the index alone", "bookie/bookie.py",
        "max(handle.last_entry, self._storage.last_cached(ledger_id))", "handle.last_entry", _READS,
        where="Bookie.last_entry",
    ),
    Plant(
        "an explicit LAC brings a deleted, fenced ledger back", "bookie/bookie.py",
        "if self._storage.was_fenced(ledger_id):\n    raise LedgerFencedError(ledger_id)", "", _READS,
        where="Bookie.set_explicit_lac",
    ),
    Plant(
        "a request is put back after its connection is lost", "bookie/requests/session.py",
        "not self.connection.closed", "True", _SESSION, where="RequestSession.again",
    ),
    Plant(
        "a connection that is being closed is still read", "protocol/server/connection.py",
        "self._session is None or self.state in _ENDING", "self._session is None",
        ["tests.protocol.server.test_connection"], where="ServerConnection.dataReceived",
    ),
    Plant(
        "what was gathered counts for ever where a load fails", "bookie/requests/batch_processor.py",
        "try: ...\nfinally: ...", "...\n...", ["tests.bookie.requests.test_batch_processor.DiskTests"],
        where="BatchProcessor._go_on",
    ),
    Plant(
        "the time of an answer tells of a key", "bookie/ledger_handle.py",
        "not compare_digest(master_key, self.row.master_key)", "master_key != self.row.master_key", _HANDLES,
        where="LedgerHandle.authorize",
    ),
    Plant(
        "the time of an answer to ledgers in turn tells of a key", "bookie/ledger_handle.py",
        "not compare_digest(handle.accepts, master_key)", "handle.accepts != master_key", _HANDLES,
        where="LedgerHandles.accepting",
    ),
    Plant(
        "the key of the first ledger opens all", "bookie/ledger_handle.py",
        "handle.accepts is not compared", "compared is None", _HANDLES, where="LedgerHandles.accepting",
    ),
)  # fmt: skip
