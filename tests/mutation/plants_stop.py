"""Plants in the stop of a process whose metadata store does not answer."""

from .plant import Plant

_REGISTRATION = ["tests.bookie.lifecycle.test_registration"]
_SERVICE = ["tests.bookie.lifecycle.test_service_stop"]
_PROCESS = ["tests.cli.process.test_bookies"]
_AUTORECOVERY = ["tests.autorecovery.test_service"]
_KAZOO = ["tests.metadata.zookeeper.test_kazoo_client"]
_LOCKED = ["tests.metadata.test_locked_work"]

PLANTS = (
    Plant(
        "a stop accepts requests for as long as the store does not answer", "bookie/lifecycle/registration.py",
        "await ended_within(self._withdrawing, self._clock, FIRST_WAIT)",
        "await ended_within(self._withdrawing, self._clock, 1e9)", _SERVICE, where="BookieRegistration.withdraw",
    ),
    Plant(
        "the port is closed before the registration is withdrawn", "bookie/lifecycle/service.py",
        "self._then_undo(self._registration.withdraw)", "self._undo_early = self._registration.withdraw", _SERVICE,
        where="BookieService._register",
    ),
    Plant(
        "a stop ends before its withdrawal", "bookie/lifecycle/service.py",
        "self._then_undo(self._registration.end_withdrawal, 'the withdrawal of the registration of the bookie')", "",
        _SERVICE, where="BookieService._start_engine",
    ),
    Plant(
        "the checkpoint waits for the end of the withdrawal", "bookie/lifecycle/service.py",
        "self._then_undo(self._registration.end_withdrawal, 'the withdrawal of the registration of the bookie')\n"
        "self._then_undo(self._stop_engine)",
        "self._then_undo(self._stop_engine)\n"
        "self._then_undo(self._registration.end_withdrawal, 'the withdrawal of the registration of the bookie')",
        _SERVICE, where="BookieService._start_engine",
    ),
    Plant(
        "a long checkpoint is followed by a whole wait for the store", "bookie/lifecycle/registration.py",
        "max(0.0, left)", "WITHDRAWAL_SECONDS", _REGISTRATION, where="BookieRegistration.end_withdrawal",
    ),
    Plant(
        "a withdrawal that was given up goes on", "bookie/lifecycle/registration.py",
        "withdrawing.addErrback(_ignore_cancellation).cancel()", "withdrawing.addErrback(_ignore_cancellation)",
        _REGISTRATION, where="BookieRegistration.end_withdrawal",
    ),
    Plant(
        "a change of mode without an answer outlives the stop", "bookie/lifecycle/registration.py",
        "self._following.cancel()", "pass", _REGISTRATION, where="BookieRegistration.end_withdrawal",
    ),
    Plant(
        "a bookie serves while autorecovery beside it waits for the store", "cli/process/bookies.py",
        "await ended_within(stopping[-1], self._clock, PATIENCE)", "await ended_within(stopping[-1], self._clock, 1e9)",
        _PROCESS, where="Bookies._stop",
    ),
    Plant(
        "all bookies of a process stop at once", "cli/process/bookies.py",
        "await ended_within(stopping[-1], self._clock, PATIENCE)", "pass", _PROCESS, where="Bookies._stop",
    ),
    Plant(
        "a process ends before the slow one of its bookies", "cli/process/bookies.py",
        "await result_of(each)", "pass", _PROCESS, where="Bookies._stop",
    ),
    Plant(
        "a failed stop ends the process before a bookie has stopped", "cli/process/bookies.py",
        "self._log.failure('a service of this process did not stop as it should')", "raise", _PROCESS,
        where="Bookies._stop",
    ),
    Plant(
        "autorecovery stops when the store answers", "autorecovery/service.py",
        "max(0.0, until - self._clock.seconds())", "1e9", _AUTORECOVERY, where="AutoRecovery.stop",
    ),
    Plant(
        "the worker of autorecovery stops when its auditor has", "autorecovery/service.py",
        "stopping = [ensureDeferred(stop()) for name, stop in services.items() if name in self._services]",
        "stopping = (ensureDeferred(stop()) for name, stop in services.items() if name in self._services)",
        _AUTORECOVERY, where="AutoRecovery.stop",
    ),
    Plant(
        "what autorecovery asked of the store outlives its stop", "autorecovery/service.py",
        "each.cancel()", "return", _AUTORECOVERY, where="AutoRecovery.stop",
    ),
    Plant(
        "one lock of many is given up at the end of autorecovery", "autorecovery/replication/worker.py",
        "await gatherResults(jobs)", "for running in jobs:\n    await running", _AUTORECOVERY,
        where="ReplicationWorker._stop",
    ),
    Plant(
        "a store that fails at the end is a failed stop of autorecovery", "embedding/autorecovery.py",
        "self._log.warn(\"the end of autorecovery's session with the metadata store failed: {error}\", error=error)",
        "raise", ["tests.embedding.test_autorecovery"], where="AutorecoveryService._close",
    ),
    Plant(
        "the end of a session waits for kazoo", "metadata/zookeeper/kazoo_client.py",
        "closed.addTimeout(CLOSE_SECONDS, self._reactor, self._not_closed)", "pass", _KAZOO,
        where="KazooZooKeeper.close",
    ),
    Plant(
        "a late answer to the end of a session is a failure", "metadata/zookeeper/kazoo_client.py",
        "if closed.called: ...", "if False: ...", _KAZOO, where="KazooZooKeeper.close",
    ),
    Plant(
        "the end of a session waits long for locks of SQLite", "metadata/embedded/sqlite_store.py",
        "self._patience = min(self._patience, PATIENCE_AT_END)", "self._patience = min(self._patience, 0.5)",
        ["tests.metadata.embedded.test_sqlite_store"], where="SqliteStore.close",
    ),
    Plant(
        "a cancelled collection waits for the release of its lock", "metadata/locked_work.py",
        "await ended_within(releasing, clock, RELEASE_SECONDS)", "await ended_within(releasing, clock, 1e9)", _LOCKED,
        where="under_lock",
    ),
    Plant(
        "a cancelled collection leaves its lock at once", "metadata/locked_work.py",
        "await ended_within(releasing, clock, RELEASE_SECONDS)", "pass", _LOCKED, where="under_lock",
    ),
    Plant(
        "a stop of the collector waits for the store", "bookie/maintenance/ledger_collector.py",
        "self._clock", "None", ["tests.bookie.maintenance.test_collection"], where="LedgerCollector._forget_locked",
    ),
    Plant(
        "what took too long counts as ended", "shared_result.py",
        "lambda *_: False", "lambda *_: True", ["tests.test_shared_result"], where="ended_within",
    ),
    Plant(
        "a stop waits until a former registration has ended", "bookie/lifecycle/service.py",
        "self._registration.abandon()", "pass", _SERVICE, where="BookieService._abandon",
    ),
    Plant(
        "an error of what was waited for cannot be raised", "shared_result.py",
        "running.addBoth(waiter.callback)\nreturn waiter", "return running", ["tests.test_shared_result"],
        where="result_of",
    ),
)
