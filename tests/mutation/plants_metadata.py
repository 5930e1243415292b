"""Plants in ``metadata``."""

from .plant import Plant

_STORE = ["tests.metadata.embedded.test_sqlite_store", "tests.metadata.embedded.test_sqlite"]
_FULL = ["tests.metadata.embedded.test_sqlite_reserve"]
_LOOP = ["tests.metadata.test_update_loop"]
_SESSIONS = ["tests.metadata.embedded.test_sqlite_sessions", "tests.metadata.embedded.test_sqlite"]
_WATCHES = ["tests.metadata.test_watches"]
_CONTRACT = ["tests.metadata.embedded.test_memory", "tests.metadata.embedded.test_ledgers"]
_REPAIRS = "tests.spark.pipelines.test_repairs"
_ZK = ["tests.metadata.zookeeper"]

PLANTS = (
    Plant(
        "the root of a cluster of Pulsar is its chroot", "metadata/zookeeper/uris.py",
        "chroot + _PULSAR_ROOT", "chroot or _PULSAR_ROOT", ["tests.metadata.zookeeper.test_uris"],
    ),
    Plant(
        "racks that cannot be read are no racks", "metadata/zookeeper/racks.py",
        "            if self._has_read:\n                return\n", "", ["tests.metadata.zookeeper.test_racks"],
    ),
    Plant(
        "a change of racks is not looked up", "placement/racks.py",
        "            self._looked_up.clear()  #", "            pass  #", ["tests.placement.test_racks"],
    ),
    Plant(
        "a look-up of racks waits for ever", "placement/stored_racks.py",
        "await waiter.addTimeout(PATIENCE, self._clock)", "await waiter", ["tests.placement.test_stored_racks"],
    ),
    Plant(
        "racks in a store that has none are not warned of", "placement/factories.py",
        "        if store is None:\n            self._log.warn(", "        if store is None:\n            self._log.debug(",
        ["tests.placement.test_factories"],
    ),
    Plant(
        "a cluster that Pulsar's tool made is refused", "metadata/zookeeper/driver.py",
        "        if self._target.of_pulsar:\n", "        if False:\n", ["tests.metadata.zookeeper.test_driver"],
    ),
    Plant(
        "a full disk keeps ledgers from being deleted", "metadata/embedded/sqlite_store.py",
        "    @_with_reserve\n    def remove_ledger(", "    def remove_ledger(", _FULL,
    ),
    Plant(
        "a session finds no space for its file on a full disk", "metadata/embedded/sqlite_store.py",
        "            if error.errno not in NO_SPACE:\n                raise\n", "            raise\n", _FULL,
    ),
    Plant(
        "a store that takes no change of mode fills the log", "bookie/lifecycle/registration.py",
        "            if self._logged_at is None or now - self._logged_at >= _LOG_INTERVAL:\n", "            if True:\n",
        ["tests.bookie.lifecycle.test_registration"],
    ),
    Plant(
        "new ledgers use the reserve of the store up", "metadata/embedded/sqlite_store.py",
        "    def create_ledger(", "    @_with_reserve\n    def create_ledger(", _FULL,
    ),
    Plant(
        "the log of the store eats its reserve up", "metadata/embedded/sqlite_store.py",
        '                self._run("PRAGMA wal_checkpoint(PASSIVE)")\n', "                pass\n", _FULL,
    ),
    Plant(
        "a store cannot be opened on a full disk", "metadata/embedded/sqlite_store.py",
        "    @_with_reserve\n    def _initialize(", "    def _initialize(", _FULL,
    ),
    Plant(
        "the list of bookies takes space", "metadata/embedded/sqlite_store.py",
        "        with suppress(MetadataSpaceError):\n            for session in dead:\n",
        "        if True:\n            for session in dead:\n", _FULL,
    ),
    Plant(
        "a change for which there is no space leaves its transaction open", "metadata/embedded/sqlite_store.py",
        '            yield\n            self._run("COMMIT")\n        except',
        '            yield\n        finally:\n            self._run("COMMIT")\n        try:\n            pass\n        except', _FULL,
    ),
    Plant(
        "another process takes the reserve of a store while it is in use", "metadata/embedded/sqlite_reserve.py",
        "                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", "", _FULL,
    ),
    Plant(
        "a reserve that was used is not taken again", "metadata/embedded/sqlite_store.py",
        "        store.reserve.fill()\n        return result\n", "        return result\n", _FULL,
    ),
    Plant(
        "a call goes into a session that nothing is known of", "metadata/zookeeper/kazoo_client.py",
        "client_id is not None and client_id[0] != self.session_id", "False",
        ["tests.metadata.zookeeper.test_kazoo_client"],
    ),
    Plant(
        "a watch that its listener ends goes on", "metadata/zookeeper/watches/watch_loop.py",
        " or self._stopped:\n", ":\n", ["tests.metadata.zookeeper.watches.test_watch_loop"],
    ),
    Plant(
        "work goes on whose lock is lost", "metadata/locked_work.py",
        "            self._running.cancel()\n", "            pass\n", ["tests.metadata.test_locked_work", _REPAIRS],
    ),
    Plant(
        "work begins whose lock is lost", "metadata/locked_work.py",
        "        if self._is_lost:\n            raise lost\n", "", ["tests.metadata.test_locked_work", _REPAIRS],
    ),
    Plant(
        "a mark that says nothing new keeps its version", "metadata/embedded/underreplication.py",
        "        await self._session.write(self._store.write_mark, ",
        "            if mark is stored.value:\n                return\n"
        "        await self._session.write(self._store.write_mark, ", [*_CONTRACT, "tests.autorecovery.replication.test_worker"],
    ),
    Plant(
        "a mark on ZooKeeper that says nothing new keeps its version", "metadata/zookeeper/underreplication.py",
        "            try:\n                await self.replace_mark(",
        "            if stored.value.with_replicas(replicas, ctime) is stored.value:\n                return\n"
        "            try:\n                await self.replace_mark(", _ZK,
    ),
    Plant(
        "registered bookies are read from a server that lags behind", "metadata/zookeeper/watches/bookie_sets.py",
        "        await self._znodes.sync(self._path)\n", "", _ZK,
    ),
    Plant(
        "an ended session registers a bookie", "metadata/embedded/memory.py",
        "        self._check_alive()  # nothing would end a registration of it\n", "", ["tests.metadata.embedded.test_memory"],
    ),
    Plant(
        "a mark made after its group was listed is not noticed", "metadata/zookeeper/underreplication.py",
        "                tree.wait_for(path)\n", "                pass\n", ["tests.metadata.zookeeper.watches.test_mark_watch"],
    ),
    Plant(
        "locks are lost in silence", "metadata/zookeeper/underreplication.py",
        "        return self._znodes.session.on_expiry(listener)\n", "        return lambda: None\n",
        ["tests.metadata.zookeeper.test_underreplication"],
    ),
    Plant(
        "commits of the embedded store are not synced", "metadata/embedded/sqlite_store.py",
        "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF", _STORE,
    ),
    Plant(
        "commits of the embedded store are synced now and then", "metadata/embedded/sqlite_store.py",
        "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL", _STORE,
    ),
    Plant(
        "a lost race is an error", "metadata/update_loop.py",
        "            doubts += not lost_race\n", "            doubts += 1\n", _LOOP,
    ),
    Plant(
        "doubts are never too many", "metadata/update_loop.py",
        "doubts > MAX_DOUBTS or", "doubts > MAX_DOUBTS * 100 or", _LOOP,
    ),
    Plant(
        "lost races are never too many", "metadata/update_loop.py", " or races > MAX_RACES:", ":", _LOOP,
    ),
    Plant(
        "an update goes back to an older value", "metadata/update_loop.py",
        "if found.version >= current.version:", "if True:", _LOOP,
    ),
    Plant(
        "a value that needs no update any more is written again", "metadata/update_loop.py",
        "    while needs_update(current.value):\n", "    first = True\n    while first or needs_update(current.value):\n        first = False\n", _LOOP,
    ),
    Plant(
        "a write over a newer version wins", "metadata/embedded/sqlite_store.py",
        '            _check_version(f"ledger {ledger_id}", self.read_ledger(ledger_id).version, version)\n', "", _STORE + _CONTRACT,
    ),
    Plant(
        "a version is compared before the transaction", "metadata/embedded/sqlite_store.py",
        '        with self._transaction():\n            _check_version(f"ledger {ledger_id}", self.read_ledger(ledger_id).version, version)\n            self._run(\n',
        '        _check_version(f"ledger {ledger_id}", self.read_ledger(ledger_id).version, version)\n        with self._transaction():\n            self._run(\n',
        [*_STORE, *_CONTRACT, "tests.integration.test_sqlite_processes"],
    ),
    Plant(
        "a transaction does not wait for the other writers", "metadata/embedded/sqlite_store.py",
        'self._run("BEGIN IMMEDIATE")', 'self._run("BEGIN")', [*_STORE, *_CONTRACT, "tests.integration.test_sqlite_processes"],
    ),
    Plant(
        "a failed change is committed half", "metadata/embedded/sqlite_store.py",
        '            self._run("ROLLBACK")\n            raise', '            self._run("COMMIT")\n            raise', _STORE + _CONTRACT,
    ),
    Plant(
        "ledger ids are given again", "metadata/embedded/sqlite_store.py",
        'next_ledger_id = ?", ledger_id + 1)', 'next_ledger_id = ?", ledger_id)', _STORE + _CONTRACT,
    ),
    Plant(
        "a drawn id may be one of a ledger", "metadata/embedded/sqlite_store.py",
        "                ledger_id += 1\n", "                break\n", _STORE + _CONTRACT,
    ),
    Plant(
        "a bookie id is taken from a living session", "metadata/embedded/sqlite_store.py",
        "if session != self._sessions.session_id and self._is_alive(session):", "if False:", _STORE + _CONTRACT,
    ),
    Plant(
        "a bookie id of a dead session stays taken", "metadata/embedded/sqlite_store.py",
        "if session != self._sessions.session_id and self._is_alive(session):", "if session != self._sessions.session_id:", _STORE + _CONTRACT,
    ),
    Plant(
        "dead bookies are seen", "metadata/embedded/sqlite_store.py",
        "dead = {session for session in sessions if not self._is_alive(session)}", "dead: set[str] = set()", _STORE + _CONTRACT,
    ),
    Plant(
        "a session is dead while its process lives", "metadata/embedded/sqlite_sessions.py",
        "        except BlockingIOError:\n            return True\n", "        except BlockingIOError:\n            return False\n", _SESSIONS,
    ),
    Plant(
        "a session file that was removed under its lock is held", "metadata/embedded/sqlite_sessions.py",
        "            if self._is_path_of(session_id, file):\n", "            if True:\n", _SESSIONS,
    ),
    Plant(
        "probing a session keeps it locked", "metadata/embedded/sqlite_sessions.py",
        "        finally:\n            os.close(file)\n        return False", "        finally:\n            pass\n        return False", _SESSIONS,
    ),
    Plant(
        "the folder of a new store is not durable", "metadata/embedded/sqlite_sessions.py",
        "        os.fsync(directory)\n", "        pass\n", _SESSIONS,
    ),
    Plant(
        "a change while listeners are called is missed", "metadata/watches.py",
        "        if self._round is not None:\n            self._again = True\n        elif", "        if self._round is not None:\n            pass\n        elif", _WATCHES,
    ),
    Plant(
        "the revision is read after the values", "metadata/watches.py",
        "        self._revision = revision\n", "        self._revision = await self._read_revision()\n", _WATCHES,
    ),
    Plant(
        "a round that fails counts as done", "metadata/watches.py",
        "changed, self._revision = revision != self._revision, None", "changed, self._revision = revision != self._revision, revision", _WATCHES,
    ),
    Plant(
        "a round that failed is the last", "metadata/watches.py",
        "return RETRY_SECONDS if self._interval is None else self._interval", "return None  # type: ignore", _WATCHES,
    ),
    Plant(
        "a listener that ends another one's watch does not keep it quiet", "metadata/watches.py",
        "            if watch not in self._watches:\n                continue", "            if False:\n                continue", _WATCHES,
    ),
    Plant(
        "a listing ends at a full page", "metadata/embedded/ledgers.py",
        "if len(page) < _PAGE or page[-1] >= end:", "if len(page) <= _PAGE or page[-1] >= end:", [*_CONTRACT, "tests.metadata.embedded.test_ledgers"],
    ),
    Plant(
        "a repeated create is a conflict", "metadata/embedded/ledgers.py",
        "if stored is not None and metadata.c_token and metadata.c_token == stored.value.c_token:", "if False:", [*_CONTRACT, "tests.metadata.embedded.test_ledgers"],
    ),
    Plant(
        "two creates without tokens are one", "metadata/embedded/ledgers.py",
        "if stored is not None and metadata.c_token and metadata.c_token", "if stored is not None and metadata.c_token", [*_CONTRACT, "tests.metadata.embedded.test_ledgers"],
    ),
    Plant(
        "version -1 writes whatever is stored", "metadata/zookeeper/ledgers/ledgers.py",
        "        if not 0 <= version <= _MAX_VERSION:", "        if not -1 <= version <= _MAX_VERSION:", _ZK,
    ),
    Plant(
        "a create whose answer was lost takes another client's ledger", "metadata/zookeeper/ledgers/ledgers.py",
        "            if stored.value.c_token == c_token:\n", "            if True:\n", _ZK,
    ),
    Plant(
        "an older value follows a newer one", "metadata/zookeeper/ledgers/ledgers.py",
        "        if stored.version > self._delivered_version:\n", "        if stored.version != self._delivered_version:\n", _ZK,
    ),
    Plant(
        "a write of unknown outcome is taken by its version alone", "metadata/zookeeper/znodes.py",
        "if stored == data and stat.version == version + 1:", "if stat.version == version + 1:", _ZK,
    ),
    Plant(
        "a write of unknown outcome is taken by its bytes alone", "metadata/zookeeper/znodes.py",
        "if stored == data and stat.version == version + 1:", "if stored == data:", _ZK,
    ),
    Plant(
        "an outcome is resolved by a server that lags behind", "metadata/zookeeper/znodes.py",
        "                await self.sync(path)\n                stored, stat", "                stored, stat", _ZK,
    ),
    Plant(
        "a conflict at the first try is resolved like a repetition", "metadata/zookeeper/session.py",
        "if not made or resolve is None:", "if resolve is None:", _ZK,
    ),
    Plant(
        "another session's claim is given up", "metadata/zookeeper/claims.py",
        "            if stat is not None and self._owns(stat):\n                await self._znodes.delete", "            if stat is not None:\n                await self._znodes.delete", _ZK,
    ),
    Plant(
        "a bookie changes its mode by leaving first", "metadata/zookeeper/claims.py",
        "        await self._until_free(bookie_id, old)\n        try:", "        await self._until_free(bookie_id, old)\n        await self._give_up(old)\n        try:", _ZK,
    ),
    Plant(
        "a registration made in a session that ended counts", "metadata/zookeeper/registration.py",
        "        while session_id != self._session.zookeeper.session_id:", "        while session_id is None:", _ZK,
    ),
    Plant(
        "a session that expired before the first one is a renewal", "metadata/zookeeper/session.py",
        "            if self._has_expired:\n", "            if True:\n", _ZK,
    ),
    Plant(
        "an id is drawn before its ledger is looked for", "metadata/zookeeper/ledgers/ledger_ids.py",
        "            if taken is None:\n", "            if True:\n", _ZK,
    ),
    Plant(
        "a drawn id below zero is one", "metadata/zookeeper/ledgers/ledger_ids.py",
        "number if 0 <= number <= MAX_SHORT_ID else None", "number if number <= MAX_SHORT_ID else None", _ZK,
    ),
    Plant(
        "the high bits of an id are one too few", "metadata/zookeeper/ledgers/ledger_ids.py",
        "(high << 32) + low", "(high << 31) + low", _ZK,
    ),
    Plant(
        "a set of bookies goes back to an older one", "metadata/zookeeper/watches/bookie_sets.py",
        "        if seen <= self._seen:\n            return False\n", "", _ZK,
    ),
    Plant(
        "a cluster that is not there has no bookies", "metadata/zookeeper/watches/bookie_sets.py",
        "            if not self._read_only:\n                raise", "            if False:\n                raise", _ZK,
    ),
    Plant(
        "a call to ZooKeeper waits for ever", "metadata/zookeeper/session.py",
        "return await answer.addTimeout(seconds, self.clock, too_late)", "return await answer",
        ["tests.metadata.zookeeper.test_session"],
    ),
    Plant(
        "waits for a connection have no common limit", "metadata/zookeeper/session.py",
        "return max(0.0, began + self.options.operation_timeout - self.clock.seconds())", "return 10.0",
        ["tests.metadata.zookeeper.test_session"],
    ),
    Plant(
        "the error of a call that may have been executed says that it was not", "metadata/zookeeper/session.py",
        "made and not reads", "False", ["tests.metadata.zookeeper.test_session"],
    ),
    Plant(
        "every watch logs an outage", "metadata/zookeeper/watches/watch_loop.py",
        "if not failing and not isinstance(error, MetadataUnavailableError):", "if not failing:",
        ["tests.metadata.zookeeper.watches.test_watch_loop"],
    ),
    Plant(
        "a round of watches that fails is logged each time", "metadata/watches.py",
        "elif not self._stopped and not self._failing:", "elif not self._stopped:", _WATCHES,
    ),
    Plant(
        "a store that is gone is asked again and again", "metadata/update_loop.py",
        "if _was_not_made(error) or doubts", "if doubts", _LOOP,
    ),
    Plant(
        "an outcome that is unknown is forgotten", "metadata/update_loop.py",
        "raise error from None", "raise", _LOOP,
    ),
    Plant(
        "a call to an embedded store waits for ever", "metadata/embedded/session.py",
        "if self._limit is not None:", "if False:", ["tests.metadata.embedded.test_session"],
    ),
    Plant(
        "a call that nobody waits for is made", "metadata/embedded/workers.py",
        "return None if wanted.called else work(*args)", "return work(*args)", ["tests.metadata.embedded.test_workers"],
    ),
    Plant(
        "a store goes on in a file that was removed", "metadata/embedded/sqlite_store.py",
        "if not self._db.in_transaction and file_identity(self._path) != self._identity:", "if False:", _STORE,
    ),
    Plant(
        "a store that is locked is an error like any other", "metadata/embedded/sqlite_store.py",
        "== sqlite3.SQLITE_BUSY", "is NotImplemented", _STORE,
    ),
    Plant(
        "a client knows no bookies when it is connected", "client/bookkeeper.py",
        "            await client._watcher.look()\n", "            pass\n", ["tests.client.test_bookkeeper.LifeTests"],
    ),
    Plant(
        "an outage is reported without what was asked", "client/bookkeeper.py",
        'raise type(error)(f"{asked}: {error}") from error', "raise", ["tests.client.test_bookkeeper.LifeTests"],
    ),
    Plant(
        "a recovery hides that the metadata store is gone", "client/recovery/ledger_recovery.py",
        "ClientClosedError, MetadataUnavailableError)", "ClientClosedError)",
        ["tests.client.recovery.test_ledger_recovery_failures.FailureTests"],
    ),
)  # fmt: skip
