"""Plants in what a process reports to its service manager, and in what orchestrators are given."""

from .plant import Plant

_MANAGER = ["tests.cli.process.test_service_manager"]
_BOOKIES = ["tests.cli.process.test_bookies"]
_PATH = "cli/process/service_manager.py"

_STEPS = ["tests.cli.process.test_clock_steps"]

PLANTS = (
    Plant(
        "nobody learns that steps of the clock are not noticed", "cli/process/clock_steps.py",
        "error.errno == errno.ENOSYS", "True", _STEPS, where="ClockSteps.start",
    ),
    Plant(
        "a clock that is set back delays all timers", "cli/process/clock_steps.py",
        "call.reset(max(call.getTime() + step - now, 0.0))", "pass", _STEPS, where="ClockSteps.doRead",
    ),
    Plant(
        "the second step of a clock moves timers by the first one, too", "cli/process/clock_steps.py",
        "self._difference - before", "self._difference", _STEPS, where="ClockSteps.doRead",
    ),
    Plant(
        "small steps of a clock are forgotten", "cli/process/clock_steps.py",
        "self._difference = before", "pass", _STEPS, where="ClockSteps.doRead",
    ),
    Plant(
        "nobody watches the clock", "cli/process/bookies.py",
        "self._clock_steps.start()", "pass", _BOOKIES, where="Bookies.startService",
    ),
    Plant(
        "the clock is watched after the end", "cli/process/bookies.py",
        "self._clock_steps.stop()", "pass", _BOOKIES, where="Bookies._stop",
    ),
    Plant(
        "a service manager that was gone once gets no messages any more", _PATH,
        "self._is_lost = True", "self._is_lost, self._send = True, None", _MANAGER, where="ServiceManager._say",
    ),
    Plant(
        "a time of a service manager that is no time ends the start", "cli/process/service_manager.py",
        "len(text) <= _MOST_DIGITS", "True",
        ["tests.cli.process.test_service_manager"], where="ServiceManager._watchdog_of",
    ),
    Plant(
        "SIGHUP during the imports of a service is lost", "cli/process/exit_status.py",
        "release_hangups()", "pass",
        ["tests.cli.test_entry"], where="ExitStatus._install",
    ),
    Plant(
        "SIGHUP during the imports of a service ends it", "cli/ending.py",
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})", "pass",
        ["tests.cli.test_entry"], where="hold_hangups",
    ),
    Plant(
        "a service of a background job takes Ctrl-C", "cli/process/exit_status.py",
        "on_signal(signal.SIGINT, interrupt)", "pass",
        ["tests.cli.process.test_exit_status"], where="ExitStatus._install",
    ),
    Plant(
        "every SIGHUP of a thousand reads the configuration", "cli/process/exit_status.py",
        "not self._has_hung_up", "True",
        ["tests.cli.process.test_exit_status"], where="ExitStatus._on_sighup",
    ),
    Plant(
        "a second SIGHUP has no effect", "cli/process/exit_status.py",
        "self._has_hung_up = False", "pass",
        ["tests.cli.process.test_exit_status"], where="ExitStatus._hang_up",
    ),
    Plant(
        "a signal to a process at its end is its status", "cli/process/exit_status.py",
        "self._on_signal(number, signal.SIG_IGN)", "pass",
        ["tests.cli.process.test_exit_status"], where="ExitStatus._at_exit",
    ),
    Plant(
        "a process is ready before its services have started", "cli/process/bookies.py",
        "self._manager.watch(self._conditions)", "self._manager.watch(self._conditions)\nself._manager.ready()",
        _BOOKIES, where="Bookies.startService",
    ),
    Plant(
        "a process never says that it is ready", "cli/process/bookies.py", "self._manager.ready()", "", _BOOKIES,
        where="Bookies._start",
    ),
    Plant(
        "a process does not say that it stops", "cli/process/bookies.py", "self._manager.stopping()", "", _BOOKIES,
        where="Bookies.stopService",
    ),
    Plant(
        "a service manager is not told why a process ends", "cli/process/bookies.py",
        'self._manager.stopping(f"{what}: {reason}")', "", _BOOKIES, where="Bookies._report",
    ),
    Plant(
        "SIGHUP makes a process ready that starts", _PATH, "self._is_ready and not self._ends", "not self._ends",
        _MANAGER, where="ServiceManager.reload",
    ),
    Plant(
        "SIGHUP makes a process ready that stops", _PATH, "self._is_ready and not self._ends", "self._is_ready",
        _MANAGER, where="ServiceManager.reload",
    ),
    Plant(
        "the end of a reload is not reported", _PATH, 'self._say("READY=1")', "", _MANAGER,
        where="ServiceManager.reload",
    ),
    Plant(
        "a process gives signs of life while its journal is stuck", _PATH, "return not stuck", "return True", _MANAGER,
        where="ServiceManager._is_alive",
    ),
    Plant(
        "signs of life come later than at half of their time", _PATH, "self._watchdog / 2", "self._watchdog", _MANAGER,
        where="ServiceManager._is_due",
    ),
    Plant(
        "signs of life of one process are those of another", _PATH,
        "environ.get('WATCHDOG_PID', '') not in ('', str(os.getpid()))", "False", _MANAGER,
        where="ServiceManager.of_process",
    ),
    Plant(
        "a start asks for more time without any progress", _PATH, "self._progress != before", "True", _MANAGER,
        where="ServiceManager._look",
    ),
    Plant(
        "a report for which there is no room is lost", _PATH,
        "self._send(self._unsent[0])\nself._unsent.popleft()", "self._send(self._unsent.popleft())", _MANAGER,
        where="ServiceManager._say",
    ),
    Plant(
        "a name in the abstract namespace is taken for a path", _PATH, 'f"\\0{address[1:]}"', "address", _MANAGER,
        where="datagrams_to",
    ),
    Plant(
        "a reason with two lines is two messages", _PATH, "' '.join(text.split())", "text", _MANAGER, where="_line",
    ),
    Plant(
        "a journal that writes for long counts from its last group", "bookie/group_commit.py",
        "self._began = self._appended_at", "", ["tests.bookie.test_group_commit"], where="GroupCommit._begin",
    ),
    Plant(
        "a journal that writes one group after the other counts as stuck", "bookie/group_commit.py",
        "self._began = group.began", "", ["tests.bookie.test_group_commit"], where="GroupCommit._take_group",
    ),
    Plant(
        "what a replay skips is no progress", "bookie/lifecycle/replay.py", "self._progress.n_bytes += self._bytes",
        "self._progress.n_bytes += self._bytes * (self._storage.ledger(self._ledger_id) is not None)",
        ["tests.bookie.lifecycle.test_replay"], where="_Player._end_run",
    ),
    Plant(
        "the progress of a replay is not seen", "bookie/lifecycle/service.py",
        "self._in_flush_thread(self._store.recover, self._replay)", "self._in_flush_thread(self._store.recover)",
        ["tests.bookie.lifecycle.test_condition"], where="BookieService._open_store",
    ),
    Plant(
        "a bookie that is read-only does not say why", "bookie/lifecycle/condition.py",
        'f"read-only: {reasons}" if state.read_only else state.phase.value', "state.phase.value",
        ["tests.bookie.lifecycle.test_condition"], where="condition_of",
    ),
    Plant(
        "a bookie that does not serve is ready", "cli/probe.py", 'command == "probe alive"', "True",
        ["tests.cli.test_probe"], where="run",
    ),
    Plant(
        "a bookie that does not serve is not alive", "cli/probe.py", 'status == 200 or command == "probe alive"',
        "status == 200", ["tests.cli.test_probe"], where="run",
    ),
    Plant(
        "a probe asks an address that means all", "cli/probe.py", '_ANY.get(host.strip("[]"), host)', "host",
        ["tests.cli.test_probe"], where="run",
    ),
)  # fmt: skip
