"""Plants in ``metadata``."""

from .plant import Plant

_STORE = ["tests.metadata.embedded.test_sqlite_store", "tests.metadata.embedded.test_sqlite"]
_FULL = ["tests.metadata.embedded.test_sqlite_reserve"]
_LOOP = ["tests.metadata.test_update_loop"]
_SESSIONS = ["tests.metadata.embedded.test_sqlite_sessions", "tests.metadata.embedded.test_sqlite"]
_WATCHES = ["tests.metadata.test_watches"]
_WORKERS = ["tests.metadata.embedded.test_workers"]
_LOCKED = "tests.metadata.embedded.test_sqlite.LockedTests"
_CONTRACT = ["tests.metadata.embedded.test_memory", "tests.metadata.embedded.test_ledgers"]
_REPAIRS = "tests.spark.pipelines.test_repairs"
_ZK = ["tests.metadata.zookeeper"]

PLANTS = (
    Plant(
        "each attempt of kazoo to connect is a line", "metadata/zookeeper/kazoo_client.py",
        "_KAZOO_LOG.debug if is_known else _KAZOO_LOG.info", "_KAZOO_LOG.info",
        ["tests.metadata.zookeeper.test_kazoo_client"], where="_ToTwisted.emit",
    ),
    Plant(
        "nobody learns why there is no connection to ZooKeeper", "metadata/zookeeper/session.py",
        'f" ({self.zookeeper.trouble})" if self.zookeeper.trouble else ""', '""',
        ["tests.metadata.zookeeper.test_session"], where="Session._why",
    ),
    Plant(
        "the end of a session does not say which bookie is unregistered", "metadata/zookeeper/registration.py",
        "self._session.held = self._held", "pass", ["tests.metadata.zookeeper.test_registration"],
        where="ZooKeeperRegistration.__init__",
    ),
    Plant(
        "the root of a cluster of Pulsar is its chroot", "metadata/zookeeper/uris.py",
        "chroot + _PULSAR_ROOT", "chroot or _PULSAR_ROOT", ["tests.metadata.zookeeper.test_uris"],
        where="ZooKeeperUri._parse_pulsar",
    ),
    Plant(
        "racks that cannot be read are no racks", "metadata/zookeeper/racks.py",
        "if self._has_read:\n    return", "", ["tests.metadata.zookeeper.test_racks"], where="RackReader.__call__",
    ),
    Plant(
        "a change of racks is not looked up", "placement/racks.py",
        "self._looked_up.clear()", "pass", ["tests.placement.test_racks"], where="BookieRacks.learn",
    ),
    Plant(
        "a look-up of racks waits for ever", "placement/stored_racks.py",
        "waiter.addTimeout(PATIENCE, self._clock)", "waiter", ["tests.placement.test_stored_racks"],
        where="StoredRacks.racks",
    ),
    Plant(
        "racks in a store that has none are not warned of", "placement/factories.py",
        "self._log.warn", "self._log.debug", ["tests.placement.test_factories"], where="PulsarRacksFactory.create",
    ),
    Plant(
        "a cluster that Pulsar's tool made is refused", "metadata/zookeeper/driver.py",
        "if self._target.of_pulsar: ...", "if False: ...", ["tests.metadata.zookeeper.test_driver"],
        where="ZooKeeperDriver._ensure_read_only",
    ),
    Plant(
        "a full disk keeps ledgers from being deleted", "metadata/embedded/sqlite_store.py",
        "@_with_reserve\ndef remove_ledger(self, ledger_id: int, version: int) -> None: ...",
        "def remove_ledger(self, ledger_id: int, version: int) -> None: ...", _FULL, where="SqliteStore",
    ),
    Plant(
        "a session finds no space for its file on a full disk", "metadata/embedded/sqlite_store.py",
        "if error.errno not in NO_SPACE: ...", "...", _FULL, where="SqliteStore._begin_session",
    ),
    Plant(
        "a store that takes no change of mode fills the log", "bookie/lifecycle/registration.py",
        "self._logged_at is None or now - self._logged_at >= _LOG_INTERVAL", "True",
        ["tests.bookie.lifecycle.test_registration"], where="BookieRegistration._follow",
    ),
    Plant(
        "new ledgers use the reserve of the store up", "metadata/embedded/sqlite_store.py",
        "def create_ledger(self, ledger_id: int, metadata: bytes) -> None: ...",
        "@_with_reserve\ndef create_ledger(self, ledger_id: int, metadata: bytes) -> None: ...", _FULL,
        where="SqliteStore",
    ),
    Plant(
        "the log of the store eats its reserve up", "metadata/embedded/sqlite_store.py",
        'self._run("PRAGMA wal_checkpoint(PASSIVE)")', "pass", _FULL, where="SqliteStore.change_in_reserve",
    ),
    Plant(
        "a store cannot be opened on a full disk", "metadata/embedded/sqlite_store.py",
        "@_with_reserve\ndef _initialize(self) -> bool: ...", "def _initialize(self) -> bool: ...", _FULL,
        where="SqliteStore",
    ),
    Plant(
        "the list of bookies changes the store", "metadata/embedded/sqlite_store.py",
        "rows = self._live(self._run('SELECT bookie_id, read_only, session FROM registrations'))",
        "self._remove_dead('registrations')\n"
        "rows = self._live(self._run('SELECT bookie_id, read_only, session FROM registrations'))",
        _FULL, where="SqliteStore.bookies",
    ),
    Plant(
        "a change for which there is no space leaves its transaction open", "metadata/embedded/sqlite_store.py",
        "try:\n    yield\n"
        "    self._run('COMMIT')\nexcept BaseException: ...",
        "try:\n    yield\n"
        "finally:\n    self._run('COMMIT')\n"
        "try:\n    pass\nexcept BaseException: ...",
        _FULL, where="SqliteStore._transaction",
    ),
    Plant(
        "another process takes the reserve of a store while it is in use", "metadata/embedded/sqlite_reserve.py",
        "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "", _FULL, where="StoreReserve.fill",
    ),
    Plant(
        "a reserve that was used is not taken again", "metadata/embedded/sqlite_store.py",
        "store.reserve.fill()", "", _FULL, where="_with_reserve.changed",
    ),
    Plant(
        "a call goes into a session that nothing is known of", "metadata/zookeeper/kazoo_client.py",
        "client_id is not None and client_id[0] != self.session_id", "False",
        ["tests.metadata.zookeeper.test_kazoo_client"], where="KazooZooKeeper._call",
    ),
    Plant(
        "a watch that its listener ends goes on", "metadata/zookeeper/watches/watch_loop.py",
        "not await self._look(self._changed) or self._stopped", "not await self._look(self._changed)",
        ["tests.metadata.zookeeper.watches.test_watch_loop"], where="WatchLoop._run",
    ),
    Plant(
        "work goes on whose lock is lost", "metadata/locked_work.py",
        "self._running.cancel()", "pass", ["tests.metadata.test_locked_work", _REPAIRS], where="LedgerLock._lost",
    ),
    Plant(
        "work begins whose lock is lost", "metadata/locked_work.py",
        "if self._is_lost:\n    raise lost", "", ["tests.metadata.test_locked_work", _REPAIRS],
        where="LedgerLock.run",
    ),
    Plant(
        "a mark that says nothing new keeps its version", "metadata/embedded/underreplication.py",
        "mark, version = stored.value.with_replicas(replicas, ctime), stored.version",
        "mark, version = stored.value.with_replicas(replicas, ctime), stored.version\nif mark is stored.value:\n"
        "    return",
        [*_CONTRACT, "tests.autorecovery.replication.test_worker"], where="EmbeddedUnderreplication._mark",
    ),
    Plant(
        "a mark on ZooKeeper that says nothing new keeps its version", "metadata/zookeeper/underreplication.py",
        "try: ...\nexcept NotUnderreplicatedError: ...",
        "try: ...\nexcept NotUnderreplicatedError: ...\n"
        "if stored.value.with_replicas(replicas, ctime) is stored.value:\n    return",
        _ZK, where="ZooKeeperUnderreplication.mark",
    ),
    Plant(
        "registered bookies are read from a server that lags behind", "metadata/zookeeper/watches/bookie_sets.py",
        "await self._znodes.sync(self._path)", "", _ZK, where="BookieSet.read",
    ),
    Plant(
        "an ended session registers a bookie", "metadata/embedded/memory.py",
        "self._check_alive()", "", ["tests.metadata.embedded.test_memory"], where="MemorySession.register",
    ),
    Plant(
        "a mark made after its group was listed is not noticed", "metadata/zookeeper/underreplication.py",
        "tree.wait_for(path)", "pass", ["tests.metadata.zookeeper.watches.test_mark_watch"],
        where="ZooKeeperUnderreplication._walk",
    ),
    Plant(
        "locks are lost in silence", "metadata/zookeeper/underreplication.py",
        "self._znodes.session.on_expiry(listener)", "lambda: None",
        ["tests.metadata.zookeeper.test_underreplication"], where="ZooKeeperUnderreplication.watch_lost_locks",
    ),
    Plant(
        "commits of the embedded store are not synced", "metadata/embedded/sqlite_store.py",
        '"PRAGMA synchronous = FULL"', '"PRAGMA synchronous = OFF"', _STORE, where="SqliteStore._initialize",
    ),
    Plant(
        "commits of the embedded store are synced now and then", "metadata/embedded/sqlite_store.py",
        '"PRAGMA synchronous = FULL"', '"PRAGMA synchronous = NORMAL"', _STORE, where="SqliteStore._initialize",
    ),
    Plant("a lost race is an error", "metadata/update_loop.py", "not lost_race", "1", _LOOP, where="update"),
    Plant(
        "doubts are never too many", "metadata/update_loop.py",
        "doubts > MAX_DOUBTS", "doubts > MAX_DOUBTS * 100", _LOOP, where="update",
    ),
    Plant(
        "lost races are never too many", "metadata/update_loop.py",
        "doubts > MAX_DOUBTS or races > MAX_RACES", "doubts > MAX_DOUBTS", _LOOP, where="update",
    ),
    Plant(
        "an update goes back to an older value", "metadata/update_loop.py",
        "found.version >= current.version", "True", _LOOP, where="update",
    ),
    Plant(
        "a value that needs no update any more is written again", "metadata/update_loop.py",
        "while needs_update(current.value): ...",
        "first = True\nwhile first or needs_update(current.value):\n"
        "    first = False\n    ...",
        _LOOP, where="update",
    ),
    Plant(
        "a write over a newer version wins", "metadata/embedded/sqlite_store.py",
        '_check_version(f"ledger {ledger_id}", self.read_ledger(ledger_id).version, version)', "", _STORE + _CONTRACT,
        where="SqliteStore.write_ledger",
    ),
    Plant(
        "a version is compared before the transaction", "metadata/embedded/sqlite_store.py",
        "with self._transaction():\n"
        "    _check_version(f'ledger {ledger_id}', self.read_ledger(ledger_id).version, version)\n"
        "    self._run('UPDATE ledgers SET version = ?, metadata = ? WHERE ledger_id = ?', version + 1, "
        "metadata, ledger_id)\n    return version + 1",
        '_check_version(f"ledger {ledger_id}", self.read_ledger(ledger_id).version, version)\n'
        "with self._transaction():\n"
        "    self._run('UPDATE ledgers SET version = ?, metadata = ? WHERE ledger_id = ?', version + 1, "
        "metadata, ledger_id)\n    return version + 1",
        [*_STORE, *_CONTRACT, "tests.integration.test_sqlite_processes"], where="SqliteStore.write_ledger",
    ),
    Plant(
        "a transaction does not wait for the other writers", "metadata/embedded/sqlite_store.py",
        '"BEGIN IMMEDIATE"', '"BEGIN"', [*_STORE, *_CONTRACT, "tests.integration.test_sqlite_processes"],
        where="SqliteStore._transaction",
    ),
    Plant(
        "a failed change is committed half", "metadata/embedded/sqlite_store.py",
        '"ROLLBACK"', '"COMMIT"', _STORE + _CONTRACT, where="SqliteStore._transaction",
    ),
    Plant(
        "ledger ids are given again", "metadata/embedded/sqlite_store.py",
        "ledger_id + 1", "ledger_id", _STORE + _CONTRACT, where="SqliteStore.next_ledger_id",
    ),
    Plant(
        "a drawn id may be one of a ledger", "metadata/embedded/sqlite_store.py",
        "ledger_id += 1", "break", _STORE + _CONTRACT, where="SqliteStore.next_ledger_id",
    ),
    Plant(
        "a bookie id is taken from a living session", "metadata/embedded/sqlite_store.py",
        'self._run("SELECT 1 FROM registrations WHERE bookie_id = ? AND session <> ?", bookie_id, own)', "False",
        _STORE + _CONTRACT, where="SqliteStore.register",
    ),
    Plant(
        "a bookie id of a dead session stays taken", "metadata/embedded/sqlite_store.py",
        'self._remove_dead("registrations")', "pass", _STORE + _CONTRACT, where="SqliteStore.register",
    ),
    Plant(
        "a replication lock of a dead session stays taken", "metadata/embedded/sqlite_store.py",
        'self._remove_dead("replication_locks")', "pass", _STORE + _CONTRACT, where="SqliteStore.lock_ledger",
    ),
    Plant(
        "votes of dead sessions are kept for ever", "metadata/embedded/sqlite_store.py",
        'self._remove_dead("auditor_votes")', "pass", _STORE, where="SqliteStore.vote",
    ),
    Plant(
        "dead bookies are seen", "metadata/embedded/sqlite_store.py",
        "self._sessions.is_alive(session)", "True", _STORE + _CONTRACT, where="SqliteStore._live",
    ),
    Plant(
        "a session is dead while its process lives", "metadata/embedded/sqlite_sessions.py",
        "try: ...\nexcept BlockingIOError:\n"
        "    return True\nfinally: ...",
        "try: ...\nexcept BlockingIOError:\n"
        "    return False\nfinally: ...",
        _SESSIONS, where="SessionFiles.is_alive",
    ),
    Plant(
        "a session file that was removed under its lock is held", "metadata/embedded/sqlite_sessions.py",
        "self._is_path_of(session_id, file)", "True", _SESSIONS, where="SessionFiles.begin",
    ),
    Plant(
        "probing a session keeps it locked", "metadata/embedded/sqlite_sessions.py",
        "os.close(file)", "pass", _SESSIONS, where="SessionFiles.is_alive",
    ),
    Plant(
        "a pipe in the place of a session is waited for", "metadata/embedded/sqlite_sessions.py",
        "os.O_RDONLY | os.O_NONBLOCK", "os.O_RDONLY", _SESSIONS, where="SessionFiles.is_alive",
    ),
    Plant(
        "the file of an unused store goes before its log", "metadata/embedded/sqlite_sessions.py",
        '("-wal", "-shm", "-reserve", "")', '("", "-wal", "-shm", "-reserve")', _SESSIONS,
        where="SessionFiles.remove_all",
    ),
    Plant(
        "a store is made in the place of a lost file", "metadata/embedded/sqlite_store.py",
        "has_lost_file(self._path)", "False", _STORE, where="SqliteStore.open",
    ),
    Plant(
        "a new store has its tables in its log alone", "metadata/embedded/sqlite_store.py",
        'self._run("PRAGMA wal_checkpoint(PASSIVE)")', "pass", _STORE, where="SqliteStore._initialize",
    ),
    Plant(
        "the folder of a new store is not durable", "metadata/embedded/sqlite_sessions.py",
        "os.fsync(directory)", "pass", _SESSIONS, where="_make_folder",
    ),
    Plant(
        "a change while listeners are called is missed", "metadata/watches.py",
        "self._again = True", "pass", _WATCHES, where="Watches.wake",
    ),
    Plant(
        "the revision is read after the values", "metadata/watches.py",
        "self._revision = revision", "self._revision = await self._read_revision()", _WATCHES,
        where="Watches._tell_all",
    ),
    Plant(
        "a round that fails counts as done", "metadata/watches.py",
        "revision != self._revision, None", "revision != self._revision, revision", _WATCHES,
        where="Watches._tell_all",
    ),
    Plant(
        "a round that failed is the last", "metadata/watches.py",
        "RETRY_SECONDS if self._interval is None else self._interval", "None", _WATCHES, where="Watches._failed",
    ),
    Plant(
        "a listener that ends another one's watch does not keep it quiet", "metadata/watches.py",
        "watch not in self._watches", "False", _WATCHES, where="Watches._tell",
    ),
    Plant(
        "a listing ends at a full page", "metadata/embedded/ledgers.py",
        "len(page) < _PAGE", "len(page) <= _PAGE", [*_CONTRACT, "tests.metadata.embedded.test_ledgers"],
        where="EmbeddedLedgers.ledger_ids",
    ),
    Plant(
        "a repeated create is a conflict", "metadata/embedded/ledgers.py",
        "stored is not None and metadata.c_token and metadata.c_token == stored.value.c_token", "False",
        [*_CONTRACT, "tests.metadata.embedded.test_ledgers"], where="EmbeddedLedgers.create",
    ),
    Plant(
        "two creates without tokens are one", "metadata/embedded/ledgers.py",
        "stored is not None and metadata.c_token", "stored is not None",
        [*_CONTRACT, "tests.metadata.embedded.test_ledgers"], where="EmbeddedLedgers.create",
    ),
    Plant(
        "version -1 writes whatever is stored", "metadata/zookeeper/ledgers/ledgers.py",
        "0 <= version <= _MAX_VERSION", "-1 <= version <= _MAX_VERSION", _ZK, where="ZooKeeperLedgers.write",
    ),
    Plant(
        "a create whose answer was lost takes another client's ledger", "metadata/zookeeper/ledgers/ledgers.py",
        "stored.value.c_token == c_token", "True", _ZK, where="ZooKeeperLedgers._own",
    ),
    Plant(
        "an older value follows a newer one", "metadata/zookeeper/ledgers/ledgers.py",
        "stored.version > self._delivered_version", "stored.version != self._delivered_version", _ZK,
        where="LedgerWatch._look",
    ),
    Plant(
        "a write of unknown outcome is taken by its version alone", "metadata/zookeeper/znodes.py",
        "stored == data and stat.version == version + 1", "stat.version == version + 1", _ZK,
        where="Znodes.set.resolve",
    ),
    Plant(
        "a write of unknown outcome is taken by its bytes alone", "metadata/zookeeper/znodes.py",
        "stored == data and stat.version == version + 1", "stored == data", _ZK, where="Znodes.set.resolve",
    ),
    Plant(
        "an outcome is resolved by a server that lags behind", "metadata/zookeeper/znodes.py",
        "await self.sync(path)", "", _ZK, where="Znodes.set.resolve",
    ),
    Plant(
        "a conflict at the first try is resolved like a repetition", "metadata/zookeeper/session.py",
        "not made or resolve is None", "resolve is None", _ZK, where="Session.run",
    ),
    Plant(
        "another session's claim is given up", "metadata/zookeeper/claims.py",
        "stat is not None and self._owns(stat)", "stat is not None", _ZK, where="Claims._give_up",
    ),
    Plant(
        "a bookie changes its mode by leaving first", "metadata/zookeeper/claims.py",
        "await self._until_free(bookie_id, old)", "await self._until_free(bookie_id, old)\nawait self._give_up(old)",
        _ZK, where="Claims.register",
    ),
    Plant(
        "a registration made in a session that ended counts", "metadata/zookeeper/registration.py",
        "session_id != self._session.zookeeper.session_id", "session_id is None", _ZK,
        where="ZooKeeperRegistration._register",
    ),
    Plant(
        "a session that expired before the first one is a renewal", "metadata/zookeeper/session.py",
        "if self._has_expired: ...", "if True: ...", _ZK, where="Session._changed",
    ),
    Plant(
        "an id is drawn before its ledger is looked for", "metadata/zookeeper/ledgers/ledger_ids.py",
        "taken is None", "True", _ZK, where="LedgerIds.draw",
    ),
    Plant(
        "a drawn id below zero is one", "metadata/zookeeper/ledgers/ledger_ids.py",
        "0 <= number <= MAX_SHORT_ID", "number <= MAX_SHORT_ID", _ZK, where="LedgerIds._next",
    ),
    Plant(
        "the high bits of an id are one too few", "metadata/zookeeper/ledgers/ledger_ids.py",
        "high << 32", "high << 31", _ZK, where="LedgerIds._draw_long",
    ),
    Plant(
        "a set of bookies goes back to an older one", "metadata/zookeeper/watches/bookie_sets.py",
        "if seen <= self._seen:\n    return False", "", _ZK, where="BookieSet.look",
    ),
    Plant(
        "a cluster that is not there has no bookies", "metadata/zookeeper/watches/bookie_sets.py",
        "not self._read_only", "False", _ZK, where="BookieSet._children",
    ),
    Plant(
        "a call to ZooKeeper waits for ever", "metadata/zookeeper/session.py",
        "answer.addTimeout(seconds, self.clock, too_late)", "answer", ["tests.metadata.zookeeper.test_session"],
        where="Session._answer",
    ),
    Plant(
        "waits for a connection have no common limit", "metadata/zookeeper/session.py",
        "max(0.0, began + self.options.operation_timeout - self.clock.seconds())", "10.0",
        ["tests.metadata.zookeeper.test_session"], where="Session._left",
    ),
    Plant(
        "the error of a call that may have been executed says that it was not", "metadata/zookeeper/session.py",
        "made and not reads", "False", ["tests.metadata.zookeeper.test_session"], where="Session.run",
    ),
    Plant(
        "every watch logs an outage", "metadata/zookeeper/watches/watch_loop.py",
        "not failing and not isinstance(error, MetadataUnavailableError)", "not failing",
        ["tests.metadata.zookeeper.watches.test_watch_loop"], where="WatchLoop._run",
    ),
    Plant(
        "a round of watches that fails is logged each time", "metadata/watches.py",
        "not self._stopped and not self._failing", "not self._stopped", _WATCHES, where="Watches._failed",
    ),
    Plant(
        "a store that is gone is asked again and again", "metadata/update_loop.py",
        "_was_not_made(error) or doubts > MAX_DOUBTS", "doubts > MAX_DOUBTS", _LOOP, where="update",
    ),
    Plant(
        "an outcome that is unknown is forgotten", "metadata/update_loop.py",
        "raise error from None", "raise", _LOOP, where="update",
    ),
    Plant(
        "a call to an embedded store waits for ever", "metadata/embedded/session.py",
        "self._limit is not None", "False", ["tests.metadata.embedded.test_session"], where="EmbeddedSession._answer",
    ),
    Plant(
        "a call that nobody waits for is made", "metadata/embedded/workers.py",
        "if wanted.called:\n    return", "", _WORKERS, where="ThreadWorker._run",
    ),
    Plant(
        "a read waits behind a write that waits", "metadata/embedded/workers.py",
        "reads = list(self._reads)", "reads = []", [f"{_LOCKED}.test_reads"], where="ThreadWorker.serve_reads",
    ),
    Plant(
        "a read that was served early is served again", "metadata/embedded/workers.py",
        "self._reads.pop(wanted)()", "self._reads[wanted]()", _WORKERS, where="ThreadWorker.serve_reads",
    ),
    Plant(
        "a read that waits serves other reads", "metadata/embedded/workers.py",
        "change is None", "self._reads is None", _WORKERS, where="ThreadWorker.serve_reads",
    ),
    Plant(
        "a write that was given up is made later", "metadata/embedded/workers.py",
        "change.called", "False", [f"{_LOCKED}.test_given_up"], where="ThreadWorker.serve_reads",
    ),
    Plant(
        "a late read may have changed the store", "metadata/embedded/session.py",
        "MetadataUnavailableError", "MetadataOutcomeUnknownError", ["tests.metadata.embedded.test_session"],
        where="EmbeddedSession.read",
    ),
    Plant(
        "reads are served as changes", "metadata/embedded/session.py",
        "self._worker.read(method, *args)", "self._worker.call(method, *args)", [f"{_LOCKED}.test_reads"],
        where="EmbeddedSession.read",
    ),
    Plant(
        "a waiting write of a driver serves no reads", "metadata/embedded/sqlite.py",
        "worker.serve_reads", "lambda: None", [f"{_LOCKED}.test_reads"], where="_store",
    ),
    Plant(
        "a statement is repeated without its transaction", "metadata/embedded/sqlite_store.py",
        "in_transaction or monotonic() >= until", "monotonic() >= until", _STORE, where="SqliteStore._run",
    ),
    Plant(
        "a recovery of the store's log is not waited for", "metadata/embedded/sqlite_store.py",
        'getattr(error, "sqlite_errorcode", 0) & 255', 'getattr(error, "sqlite_errorcode", 0)', _STORE,
        where="SqliteStore._errors",
    ),
    Plant(
        "a store goes on in a file that was removed", "metadata/embedded/sqlite_store.py",
        "not in_transaction and file_identity(self._path) != self._identity", "False", _STORE,
        where="SqliteStore._run",
    ),
    Plant(
        "a store that is locked is an error like any other", "metadata/embedded/sqlite_store.py",
        'getattr(error, "sqlite_errorcode", 0) & 255 == sqlite3.SQLITE_BUSY', "error is NotImplemented", _STORE,
        where="SqliteStore._errors",
    ),
    Plant(
        "a client knows no bookies when it is connected", "client/bookkeeper.py",
        "await client._watcher.look()", "pass", ["tests.client.test_bookkeeper.LifeTests"],
        where="BookKeeper._connect",
    ),
    Plant(
        "an outage is reported without what was asked", "client/bookkeeper.py",
        'raise type(error)(f"{asked}: {error}") from error', "raise", ["tests.client.test_bookkeeper.LifeTests"],
        where="_named",
    ),
    Plant(
        "a recovery hides that the metadata store is gone", "client/recovery/ledger_recovery.py",
        "(UnauthorizedAccessError, RequestTimeoutError, ClientClosedError, MetadataUnavailableError)",
        "(UnauthorizedAccessError, RequestTimeoutError, ClientClosedError)",
        ["tests.client.recovery.test_ledger_recovery_failures.FailureTests"], where="",
    ),
)  # fmt: skip
