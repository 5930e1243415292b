"""Plants in starts of a bookie and in its journal threads."""

from .plant import Plant

_STORE = ["tests.bookie.lifecycle.test_store", "tests.bookie.lifecycle.test_replay"]
_GROUPS = ["tests.bookie.test_group_commit"]

PLANTS = (
    Plant(
        "a full disk of the journal is a traceback in the log", "bookie/group_commit.py",
        "first and failure.check(OSError, StorageFailedError)", "False", _GROUPS, where="GroupCommit._fail",
    ),
    Plant(
        "a status of thousands of digits keeps a bookie from starting", "storage/bookie_status.py",
        '"[0-9]{1,19}"', '"[0-9]+"', ["tests.storage.test_bookie_status"], where="",
    ),
    Plant(
        "a status has a time beyond 64 bits", "storage/bookie_status.py",
        "millis >= _NO_TIME", "millis == _NO_TIME", ["tests.storage.test_bookie_status"], where="BookieStatus.parse",
    ),
    Plant(
        "files are closed while a thread works", "bookie/lifecycle/service.py",
        "await self._executor.join()", "", ["tests.bookie.lifecycle.test_service_stop"],
        where="BookieService._close_store",
    ),
    Plant(
        "work that was cancelled after it had begun is not waited for", "bookie/executor.py",
        "self._reactor.callFromThread(self._unfinished.ended, work, None if work.cancelled else work.run())",
        "outcome = None if work.cancelled else work.run()\nif not work.cancelled:\n"
        "    self._reactor.callFromThread(self._unfinished.ended, work, outcome)",
        ["tests.bookie.test_executor"], where="_WorkerThreads._serve",
    ),
    Plant(
        "a stop waits for the whole check of an index", "bookie/maintenance/maintenance.py",
        "directory.storage.index.interrupt()", "pass", ["tests.bookie.maintenance.test_maintenance"],
        where="Maintenance.stop",
    ),
    Plant(
        "a check that is interrupted as it begins goes on", "storage/index/index_file.py",
        "connection.set_progress_handler(lambda: self._interrupted, _INSTRUCTIONS)", "",
        ["tests.storage.index.test_index_file"], where="StructureCheck.run",
    ),
    Plant(
        "a refused start makes the directories that it refuses", "bookie/lifecycle/service.py",
        "await check.must_stamp(self._registrations, self._in_flush_thread)", "",
        ["tests.bookie.lifecycle.test_service"], where="BookieService._lock",
    ),
    Plant(
        "a bookie's process switches threads as seldom as any", "cli/tap.py",
        "switch_often()", "", ["tests.cli.test_tap"], where="makeService",
    ),
    Plant(
        "every bookie imports a client", "embedding/temporary.py",
        "if TYPE_CHECKING:\n    from ..blocking import ReactorThread", "from ..blocking import ReactorThread",
        ["tests.cli.test_tap.ImportTests"], where="",
    ),
    Plant(
        "a start on a full disk releases what it has replayed", "bookie/lifecycle/store.py",
        "return", "pass", ["tests.bookie.maintenance.test_drawn_lives"], where="Store.recover",
    ),
    Plant(
        "a first start writes an identity on a disk without space", "bookie/lifecycle/store.py",
        "free < needed", "False", ["tests.bookie.lifecycle.test_service"], where="StorePaths.check_space",
    ),
    Plant(
        "a bookie at an endpoint is registered with the port it listens on", "bookie/lifecycle/service.py",
        "given or bound", "bound or given", ["tests.bookie.lifecycle.test_endpoints"], where="BookieService._bind",
    ),
    Plant(
        "a start whose flush fails goes on", "bookie/lifecycle/replay.py",
        "if not is_disk_full(error):\n    raise", "", _STORE, where="checkpoint_now",
    ),
    Plant(
        "a start flushes the first ledger directory only", "bookie/lifecycle/replay.py",
        "range(len(checkpoint.paths))", "range(1)", _STORE, where="checkpoint_now",
    ),
    Plant(
        "a start persists log marks before it flushes", "bookie/lifecycle/replay.py",
        "for directory in range(len(checkpoint.paths)): ...",
        "checkpoint.persist_log_marks()\nfor directory in range(len(checkpoint.paths)): ...", _STORE,
        where="checkpoint_now",
    ),
    Plant(
        "a start releases its journals before it flushes", "bookie/lifecycle/store.py",
        "ends = [journal.durable for journal in self.journals]",
        "ends = [journal.durable for journal in self.journals]\n"
        "for journal, end in zip(self.journals, ends, strict=True):\n    journal.release(end)",
        _STORE, where="Store.recover",
    ),
    Plant(
        "a start releases the journals that a full disk needs", "bookie/engine.py",
        "commit.make_ready()", "commit.release_files(commit.log_mark)", ["tests.bookie.lifecycle.test_service"],
        where="Engine.start",
    ),
    Plant(
        "a start leaves the disk of a journal full", "bookie/lifecycle/store.py",
        "journal.release(end)", "pass", ["tests.bookie.test_full_journal"], where="Store.recover",
    ),
    Plant(
        "a start does not flush", "bookie/lifecycle/store.py",
        "self.shortage = checkpoint_now(self.storage, ends)", "pass", _STORE, where="Store.recover",
    ),
    Plant(
        "a journal thread goes on after a failure", "bookie/group_commit.py",
        "if group.failure is not None: ...", "if group.failure is not None:\n    self._idle.append(None)\n    ...",
        ["tests.bookie.test_group_commit.FailureTests.test_nothing_is_written_before_the_failure_is_known"],
        where="GroupCommit._drain",
    ),
    Plant(
        "a journal thread writes the next group after a failure", "bookie/group_commit.py",
        "group.failure is not None", "group.failure is not None and not self._queue", _GROUPS,
        where="GroupCommit._drain",
    ),
    Plant(
        "what was queued behind a failure is not refused", "bookie/group_commit.py",
        "(*items, *left)", "items", _GROUPS, where="GroupCommit._fail",
    ),
    Plant(
        "an append after a failure waits for ever", "bookie/group_commit.py",
        'done(StorageFailedError(f"{self.thread} has failed"))', "", _GROUPS, where="GroupCommit._append",
    ),
    Plant(
        "a failed completion takes the others with it", "bookie/group_commit.py",
        'self._log.failure("a completion failed")', "raise", _GROUPS, where="GroupCommit._call",
    ),
    Plant(
        "deferred-sync items move the log mark", "bookie/group_commit.py",
        "early.durable = self.journal.durable", "early.durable = self.journal.position", _GROUPS,
        where="GroupCommit._complete_early",
    ),
    Plant(
        "the log mark is where the journal was written", "bookie/group_commit.py",
        "group.durable = self.journal.durable", "group.durable = self.journal.position", _GROUPS,
        where="GroupCommit._record_end",
    ),
    Plant(
        "a group that waits for its sync is acknowledged early", "bookie/group_commit.py",
        "[item for item in group.items if not item.sync]", "group.items", _GROUPS,
        where="GroupCommit._complete_early",
    ),
    Plant(
        "connections are taken while the bookie stops", "protocol/server/factory.py",
        "if self.stopping: ...", "if False: ...", ["tests.protocol.server.test_connection"],
        where="BookieServerFactory.buildProtocol",
    ),
    Plant(
        "a journal that is closed takes groups", "bookie/group_commit.py",
        "self._closed = True", "", _GROUPS, where="GroupCommit.close",
    ),
    Plant(
        "the queues of journals stay open at a stop", "bookie/engine.py",
        "await commit.close()", "pass", ["tests.bookie.test_engine"], where="Engine.stop",
    ),
    Plant(
        "a port that was bound early is closed last", "bookie/lifecycle/service.py",
        "self._then_undo(self._stop_listening)", "", ["tests.bookie.lifecycle.test_service_stop"],
        where="BookieService._listen",
    ),
)  # fmt: skip
