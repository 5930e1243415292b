"""Plants in starts of a bookie and in the lane of its journal."""

from .plant import Plant

_STORE = ["tests.bookie.lifecycle.test_store", "tests.bookie.lifecycle.test_replay"]
_GROUPS = ["tests.bookie.test_group_commit"]

PLANTS = (
    Plant(
        "a status of thousands of digits keeps a bookie from starting", "storage/bookie_status.py",
        're.compile("[0-9]{1,19}")', 're.compile("[0-9]+")', ["tests.storage.test_bookie_status"],
    ),
    Plant(
        "a status has a time beyond 64 bits", "storage/bookie_status.py",
        "        if millis >= _NO_TIME:\n", "        if millis == _NO_TIME:\n", ["tests.storage.test_bookie_status"],
    ),
    Plant(
        "files are closed while a lane works", "bookie/lifecycle/service.py",
        "        await self._executor.join()\n", "", ["tests.bookie.lifecycle.test_service_stop"],
    ),
    Plant(
        "work that was cancelled after it had begun is not waited for", "bookie/executor.py",
        "            self._reactor.callFromThread(self._unfinished.ended, work, None if work.cancelled else work.run())\n",
        "            outcome = None if work.cancelled else work.run()\n"
        "            if not work.cancelled:\n"
        "                self._reactor.callFromThread(self._unfinished.ended, work, outcome)\n",
        ["tests.bookie.test_executor"],
    ),
    Plant(
        "a stop waits for the whole check of an index", "bookie/maintenance/maintenance.py",
        "            directory.storage.index.interrupt()\n", "            pass\n",
        ["tests.bookie.maintenance.test_maintenance"],
    ),
    Plant(
        "a check that is interrupted as it begins goes on", "storage/index/index_file.py",
        "        connection.set_progress_handler(lambda: self._interrupted, _INSTRUCTIONS)\n", "",
        ["tests.storage.index.test_index_file"],
    ),
    Plant(
        "a refused start makes the directories that it refuses", "bookie/lifecycle/service.py",
        "            await check.must_stamp(self._registrations, self._on_flush_lane)\n        await", "        await",
        ["tests.bookie.lifecycle.test_service"],
    ),
    Plant(
        "a bookie's process switches threads as seldom as any", "cli/tap.py", "    switch_often()\n", "", ["tests.cli.test_tap"],
    ),
    Plant(
        "a start on a full disk releases what it has replayed", "bookie/lifecycle/store.py",
        "        if self.disk_full:\n            return\n", "", ["tests.bookie.maintenance.test_drawn_lives"],
    ),
    Plant(
        "a first start writes an identity on a disk without space", "bookie/lifecycle/store.py",
        "if free < needed:", "if False:", ["tests.bookie.lifecycle.test_service"],
    ),
    Plant(
        "a bookie at an endpoint is registered with the port it listens on", "bookie/lifecycle/service.py",
        "self.port = given or bound", "self.port = bound or given", ["tests.bookie.lifecycle.test_endpoints"],
    ),
    Plant(
        "a start whose flush fails goes on", "bookie/lifecycle/replay.py",
        "        if not is_disk_full(error):\n            raise\n", "", _STORE,
    ),
    Plant(
        "a start flushes the first ledger directory only", "bookie/lifecycle/replay.py",
        "range(checkpoint.n_directories)", "range(1)", _STORE,
    ),
    Plant(
        "a start persists marks before it flushes", "bookie/lifecycle/replay.py",
        "        for directory in range(checkpoint.n_directories):\n", "        checkpoint.persist_marks()\n"
        "        for directory in range(checkpoint.n_directories):\n", _STORE,
    ),
    Plant(
        "a start releases its journals before it flushes", "bookie/lifecycle/store.py",
        "        self.disk_full = not checkpoint_now(self.storage, ends)\n",
        "        for journal, end in zip(self.journals, ends, strict=True):\n            journal.release(end)\n"
        "        self.disk_full = not checkpoint_now(self.storage, ends)\n", _STORE,
    ),
    Plant(
        "a start releases the journals that a full disk needs", "bookie/engine.py",
        "            commit.make_ready()  # files", "            commit.release_files(commit.mark)  # files",
        ["tests.bookie.lifecycle.test_service"],
    ),
    Plant(
        "a start does not flush", "bookie/lifecycle/store.py",
        "self.disk_full = not checkpoint_now(self.storage, ends)", "pass", _STORE,
    ),
    Plant(
        "a journal lane goes on after a failure", "bookie/group_commit.py",
        "                return group  # and the token stays taken: nothing is written after a failure (S10)",
        "                self._idle.append(None)\n                return group",
        ["tests.bookie.test_group_commit.FailureTests.test_nothing_is_written_before_the_failure_is_known"],
    ),
    Plant(
        "a journal lane writes the next group after a failure", "bookie/group_commit.py",
        "            if group.failure is not None:\n                return group  # and",
        "            if group.failure is not None and not self._queue:\n                return group  # and", _GROUPS,
    ),
    Plant(
        "what was queued behind a failure is not refused", "bookie/group_commit.py",
        "        for item in (*items, *left):\n", "        for item in items:\n", _GROUPS,
    ),
    Plant(
        "an append after a failure waits for ever", "bookie/group_commit.py",
        '            done(StorageFailedError(f"{self.lane} has failed"))\n            return\n', "            return\n", _GROUPS,
    ),
    Plant(
        "a failed completion takes the others with it", "bookie/group_commit.py",
        '            self._log.failure("a completion failed")', "            raise", _GROUPS,
    ),
    Plant(
        "deferred-sync items move the mark", "bookie/group_commit.py",
        "        early.durable = self.journal.durable\n", "        early.durable = self.journal.position\n", _GROUPS,
    ),
    Plant(
        "the mark is where the journal was written", "bookie/group_commit.py",
        "        group.durable = self.journal.durable\n        group.synced",
        "        group.durable = self.journal.position\n        group.synced", _GROUPS,
    ),
    Plant(
        "a group that waits for its sync is acknowledged early", "bookie/group_commit.py",
        "early = _CommitGroup([item for item in group.items if not item.sync], group.began)",
        "early = _CommitGroup(group.items, group.began)",
        _GROUPS,
    ),
    Plant(
        "connections are taken while the bookie stops", "protocol/server/connection.py",
        "        if self.stopping:\n            return None", "        if False:\n            return None",
        ["tests.protocol.server.test_connection"],
    ),
    Plant(
        "a journal that is closed takes groups", "bookie/group_commit.py",
        "        self._closed = True\n", "", _GROUPS,
    ),
    Plant(
        "the queues of journals stay open at a stop", "bookie/engine.py",
        "            await commit.close()\n", "            pass\n", ["tests.bookie.test_engine"],
    ),
    Plant(
        "a port that was bound early is closed last", "bookie/lifecycle/service.py",
        "        self._then_undo(self._stop_listening)  # before", "        # before", ["tests.bookie.lifecycle.test_service_stop"],
    ),
)  # fmt: skip
