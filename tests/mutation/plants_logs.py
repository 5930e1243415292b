"""Plants in the log: its lines as JSON, its levels, what is read again while a process runs, slow requests."""

from .plant import Plant

_JSON = "logs/json_lines.py"
_JSON_TESTS = ["tests.logs.test_json_lines"]
_LEVELS = "http/limits_api.py"
_RELOADING, _RELOADED = "cli/process/reloading.py", ["tests.cli.process.test_reloading"]
_LIVE, _LIVE_TESTS = "config/live.py", ["tests.config.test_live"]
_SLOW, _SLOW_TESTS = "bookie/requests/slow_requests.py", ["tests.bookie.requests.test_slow_requests"]
_READS, _PRESENT = "bookie/disk_reads.py", ["tests.bookie.test_present_waits"]
_ADMIN = ["tests.bookie.lifecycle.test_admin"]

PLANTS = (
    Plant(
        "the event loop is blamed for its delays of long ago", "bookie/requests/loop_watch.py",
        "delay.end <= began", "False", _SLOW_TESTS, where="LoopWatch.late_since",
    ),
    Plant(
        "a stopped process counts as a busy one", "bookie/requests/loop_watch.py",
        "self._worked() - self._worked_before < half", "False", _SLOW_TESTS, where="LoopWatch._delay",
    ),
    Plant(
        "CPU time from before the delay hides a stop", "bookie/requests/loop_watch.py",
        "self._worked_before, self._held_before = self._worked(), self._held()", "self._held_before = self._held()",
        _SLOW_TESTS, where="LoopWatch.start",
    ),
    Plant(
        "a freeze from before the delay hides a stop", "bookie/requests/loop_watch.py",
        "self._worked_before, self._held_before = self._worked(), self._held()", "self._worked_before = self._worked()",
        _SLOW_TESTS, where="LoopWatch.start",
    ),
    Plant(
        "a standstill is no line of the log", "bookie/requests/loop_watch.py",
        "seconds >= STANDSTILL", "False", _SLOW_TESTS, where="LoopWatch._tick",
    ),
    Plant(
        "clients are said to have waited though there was none", "bookie/requests/loop_watch.py",
        "'the event loop answered nobody for {seconds:.1f} s, as {what} {why}'",
        "'clients have waited for {seconds:.1f} s for the event loop, which {why}'", _SLOW_TESTS,
        where="LoopWatch._tick",
    ),
    Plant(
        "restarts within the hour are counted", "http/console/history/kept_events.py",
        'event.get("is_change")', "False", ["tests.http.console.history.test_events"], where="key_of",
    ),
    Plant(
        "a process that was killed ends as one that was stopped", "http/console/history/events.py",
        "past and past[-1].key != _END", "False", ["tests.http.console.history.test_events"], where="EventLog._loaded",
    ),
    Plant(
        "events of this process are read as those of the process before", "http/console/history/event_file.py",
        "self._writing is None and not self._is_loading", "self._writing is None",
        ["tests.http.console.history.test_event_file"], where="EventFile.append",
    ),
    Plant(
        "the file of events stays open behind the event of the end", "http/console/history/event_file.py",
        "self._is_closed and not is_last", "False", ["tests.http.console.history.test_event_file"],
        where="EventFile._close_behind",
    ),
    Plant(
        "a clock that was ahead hides the end of a process", "http/console/history/event_file.py",
        "alone.append((number, event))", "alone.append((int(event.at), event))",
        ["tests.http.console.history.test_events"], where="EventFile._load",
    ),
    Plant(
        "a step of the clock is a standstill", "bookie/requests/loop_watch.py",
        "self._call.getTime()", "self._worked_before", _SLOW_TESTS, where="LoopWatch._delay",
    ),
    Plant(
        "a wait for a processor is a stop", "bookie/requests/loop_watch.py",
        "int(found[1]) / 1e9 if len(found) == 3 else 0.0", "0.0", _SLOW_TESTS, where="processor_seconds",
    ),
    Plant(
        "a standstill that is over hides a client that does not read", "http/console/diagnosis.py",
        "not held_up or is_unread", "not held_up", ["tests.http.console.test_diagnosis"], where="bottleneck",
    ),
    Plant(
        "a read behind many others waits for the disk", _READS,
        "ReadTimes(took + waited, 0.0) if is_disk else ReadTimes(took, waited)", "ReadTimes(took + waited, 0.0)",
        _SLOW_TESTS, where="DiskReads._measure",
    ),
    Plant(
        "a read behind few that take long waits for a thread", _READS,
        "2 * (in_long - self.long_before) >= in_all - self.all_before", "False", [*_SLOW_TESTS, *_PRESENT],
        where="_ReadUnderWay.is_behind_long",
    ),
    Plant(
        "a read that hangs on its thread lets others wait for a thread", _READS,
        "in_long += took if each.is_long(took) else 0.0", "pass", _PRESENT, where="DiskReads.present",
    ),
    Plant(
        "a batch read behind the load of another one waits for the disk", "bookie/requests/batch_processor.py",
        "times.add(await others)", "await others", _SLOW_TESTS, where="BatchProcessor._load",
    ),
    Plant(
        "the reads of a run forget what they waited for before", "bookie/requests/read_processor.py",
        "times.add(cursor.times)", "pass", _SLOW_TESTS, where="ReadProcessor._load",
    ),
    Plant(
        "a stop of the process is forgotten where no request was slow", "bookie/requests/loop_watch.py",
        "self.long.append(delay)", "pass", _SLOW_TESTS, where="LoopWatch._tick",
    ),
    Plant(
        "the console does not tell of a stopped process", "http/console/diagnosis.py",
        "now - delay.end <= WINDOW", "False", ["tests.http.console.test_diagnosis"], where="bottleneck",
    ),
    Plant(
        "a stop of long ago is the cause", "http/console/diagnosis.py",
        "now - delay.end <= WINDOW", "True", ["tests.http.console.test_diagnosis"], where="bottleneck",
    ),
    Plant(
        "a frozen file system of the journal passes for a stopped process", "bookie/requests/loop_watch.py",
        "self._held() - self._held_before >= half", "False", _SLOW_TESTS, where="LoopWatch._delay",
    ),
    Plant(
        "the event loop is not told that a file system has held it up", "bookie/group_commit.py",
        "self.held_seconds += group.held", "pass", ["tests.bookie.test_group_commit_at_once"],
        where="GroupCommit._accepted_slowly",
    ),
    Plant(
        "a frozen file system of the journal passes for its queue", "bookie/group_commit.py",
        "group.held, group.began, group.written = group.began - began, began, began",
        "group.began = group.written = group.began", ["tests.bookie.test_group_commit_at_once"],
        where="GroupCommit._began_write",
    ),
    Plant(
        "the reactor begins writes though the file system has held it up", "bookie/group_commit.py",
        "self._by_thread_until = group.began + group.held + BY_THREAD", "pass",
        ["tests.bookie.test_group_commit_at_once"], where="GroupCommit._accepted_slowly",
    ),
    Plant(
        "an add behind a write that hangs is said to wait for its turn", "bookie/group_commit.py",
        "max(item.queued_at, group.behind)", "item.queued_at", _SLOW_TESTS, where="GroupCommit.waits",
    ),
    Plant("a JSON line has the password of a field", _JSON, "SECRET_NAME.search(name)", "False", _JSON_TESTS,
          where="_fields"),
    Plant("a JSON line has the token in a mapping", _JSON, "SECRET_NAME.search(name)", "False", _JSON_TESTS,
          where="_members"),
    Plant("a JSON line has the credentials of a URI", _JSON, "without_credentials(_text(value))", "_text(value)",
          _JSON_TESTS, where="_plain"),
    Plant("an exception in a JSON line has credentials", _JSON, "without_credentials(_text(error))", "_text(error)",
          _JSON_TESTS, where="_exception"),
    Plant("an object without a text ends the log", _JSON, "Exception", "KeyError", _JSON_TESTS, where="_text"),
    Plant("logFormat=json has no effect", "cli/tap.py", "config.log_format == JSON", "False", ["tests.cli.test_tap"],
          where="begin_log.begin_wrapped"),
    Plant("a file of zeros is a configuration without keys", "config/fields.py", "if '\\0' in text: ...", "pass",
          ["tests.cli.process.test_reloading"], where="from_file"),
    Plant(
        "a change of levels hides its own line", "logs/levels.py",
        'event.get("log_always")', "False",
        ["tests.logs.test_levels"], where="LogLevels.__call__",
    ),
    Plant(
        "a refused login shows its password", "masking.py", "_ASSIGNED.sub(rf'\\1{MASK}', masked_uris)", "masked_uris",
        ["tests.config.test_authentication"], where="without_credentials",
    ),
    Plant(
        "a URI shows the password in its query", "masking.py",
        "_PARAMETER.sub(_parameter_without_secret, _CREDENTIALS.sub(MASK, text))", "_CREDENTIALS.sub(MASK, text)",
        ["tests.test_secrets"], where="without_credentials",
    ),
    Plant("an unknown key that SIGHUP finds is no warning", _RELOADING, "self._log.warn", "self._log.info", _RELOADED,
          where="Reload.__call__"),
    Plant("levels of before are left", "logs/levels.py", "LogLevel.levelWithName(levels[DEFAULT])",
          "getattr(self, '_predicate', None) and self._predicate.defaultLogLevel or LogLevel.info",
          ["tests.logs.test_levels"], where="LogLevels.set"),
    Plant("a level cannot be taken back", _LEVELS, "levels.pop(namespace, None)", "pass",
          ["tests.http.test_log_levels_api"], where="LogLevelsApi._set"),
    Plant("levels change without a line", _LEVELS, "log_changes(before, self._configuration(), request.peer)", "",
          ["tests.http.test_log_levels_api"], where="LogLevelsApi._set"),
    Plant("changed levels do not reach the log", "bookie/lifecycle/admin.py", "self._levels.set(config.levels)", "pass",
          _ADMIN, where="BookieAdmin.take"),
    Plant("changed thresholds do not reach the disks", "bookie/lifecycle/admin.py",
          "self._disks.change(disk_thresholds(config), config.disk_check_interval / 1000)", "pass", _ADMIN,
          where="BookieAdmin.take"),
    Plant("changed thresholds wait for the next check", "bookie/lifecycle/disk_monitor.py", "self.look()", "",
          ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor.change"),
    Plant("changed limits of autorecovery undo those of an operator", "autorecovery/service.py", "rate != old[name]",
          "True", ["tests.autorecovery.test_service"], where="AutoRecovery.change"),
    Plant("a port is changed while its bookie runs", _LIVE, "{name: getattr(wanted, name) for name in names}",
          "{name: getattr(wanted, name) for name in fields_of(type(present))}", _LIVE_TESTS, where="with_live"),
    Plant("a service has changed when another one refuses", _RELOADING,
          "(service, with_live(service.config, config))",
          "(service, service.take(with_live(service.config, config)) or service.config)", _RELOADED,
          where="Reload.__call__"),
    Plant("a broken file is an error of SIGHUP", _RELOADING, "ConfigError", "KeyError", _RELOADED,
          where="Reload.__call__"),
    Plant("a key that needs a restart is not named", _RELOADING, "not each.live", "False", _RELOADED,
          where="Reload._for_restart"),
    Plant("SIGHUP reads the file of another directory", "cli/options.py", "self._absolute('conf')", "self['conf']",
          _RELOADED, where="ConfigOptions._file"),
    Plant("SIGHUP has no effect", "cli/process/exit_status.py", "self.on_hangup()", "pass",
          ["tests.cli.process.test_exit_status"],
          where="ExitStatus._hang_up"),
    Plant("a quick add is a line of slow requests", "bookie/requests/session.py", "took >= context.slow.threshold",
          "True", _SLOW_TESTS, where="RequestSession._added"),
    Plant("a slow read is no line", "bookie/requests/read_processor.py", "elapsed >= self._context.slow.threshold",
          "False", _SLOW_TESTS, where="ReadProcessor._done"),
    Plant("a long poll is slow", "bookie/requests/request_processor.py",
          "getattr(request, 'timeout_ms', None) is not None", "False", _SLOW_TESTS, where="RequestProcessor._say_slow"),
    Plant("a threshold of 0 logs all requests", _SLOW, "millis or math.inf", "millis", _SLOW_TESTS,
          where="SlowRequests.limit"),
    Plant("a changed threshold of slow requests has no effect", "bookie/lifecycle/admin.py",
          "self._slow.limit(self.config.slow_request_threshold_ms)", "pass", _ADMIN, where="BookieAdmin._limit_slow"),
    Plant("each time-out of a dead bookie is a line", "client/connections/bookie_peer.py",
          "now >= self._overdue_silent_until", "True",
          ["tests.client.connections.test_bookie_peer", "tests.client.test_lines_of_a_dead_bookie"],
          where="BookiePeer._count_overdue"),
    Plant("one more reason to be read-only is no line", "bookie/lifecycle/registration.py",
          "self._log_change(reason, was_read_only)", "was_read_only or self._log_change(reason, was_read_only)",
          ["tests.bookie.lifecycle.test_registration"], where="BookieRegistration.set_read_only"),
    Plant("a bookie that fails says why after its last checkpoint", "bookie/lifecycle/admin.py",
          "self._phase is Phase.SERVING", "False", _ADMIN, where="BookieAdmin.fail"),
)  # fmt: skip
