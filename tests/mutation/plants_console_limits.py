"""Plants in what bounds the console and its askers, and in what it says about slow requests and past events."""

from .plant import Plant

_SLOW, _SLOW_TESTS = "bookie/requests/slow_requests.py", ["tests.bookie.requests.test_slow_requests"]
_TIMES, _TIMED = "bookie/checkpoint_times.py", ["tests.bookie.test_checkpoint_times"]
_PRESENT = ["tests.bookie.test_present_waits"]
_ASKED = ["tests.http.test_parameters"]
_RESTARTED = ["tests.bookie.lifecycle.test_service_disks"]
_REPEATED = ["tests.http.console.history.test_kept_events"]
_FILE, _KEPT = "http/console/history/event_file.py", ["tests.http.console.history.test_event_file"]
_FOUND = ["tests.http.console.history.test_events"]
_CHANNEL = ["tests.http.test_channel"]
_LEDGERS, _SEARCHED = "http/console/ledger_pages.py", ["tests.http.console.test_ledger_pages"]

_CLUSTER = "http/console/cluster_parts.py"
_SURVEYED = [f"tests.http.console.test_{name}" for name in ("cluster_parts", "repair", "reasons")]
_MARKED = "http/console/marked_ledgers.py"

_ANSWERS, _ANSWERED = "http/console/bookie_answers.py", ["tests.http.console.test_bookie_answers"]
_BOOKIE_PAGES = ["tests.http.console.test_bookie_pages"]
_MONITOR, _MONITORED = "bookie/lifecycle/disk_monitor.py", ["tests.bookie.lifecycle.test_disk_monitor"]
_PROGRESS, _PROGRESSED = "bookie/maintenance/progress.py", ["tests.bookie.maintenance.test_progress"]

PLANTS = (
    Plant(
        "nobody learns why a checkpoint failed", "bookie/engine.py", 'f"{reason}: {what}" if what else reason',
        "reason", ["tests.bookie.lifecycle.test_service_disks"], where="_reason",
    ),
    Plant(
        "an earlier reason of a failed checkpoint stays", "bookie/engine.py",
        "each.startswith((NO_SPACE, NO_INODES, FAILED))", "each == present",
        ["tests.bookie.lifecycle.test_service_disks"], where="checkpoint_reasons",
    ),
    Plant(
        "a decommissioned bookie counts as lost for ever", _CLUSTER, "bookie_ids - needed", "frozenset()", _SURVEYED,
        where="unneeded_bookies",
    ),
    Plant(
        "a bookie that has come back is decommissioned", "autorecovery/operations/decommission.py",
        'await self._check_gone("has come back: it may get entries again")', "pass",
        ["tests.autorecovery.operations.test_decommission"], where="Decommission._remaining",
    ),
    Plant(
        "a bookie that never existed is decommissioned", "http/autorecovery_api.py",
        "not remaining.found and not await decommission.has_trace()", "False",
        ["tests.http.console.test_assembly"], where="AutorecoveryApi._finish",
    ),
    Plant(
        "a line of a change does not say what was changed", "http/api.py",
        '"" if route is None else asked.shown(route)', '""', ["tests.http.test_autorecovery_api"],
        where="ApiPage._say",
    ),
    Plant(
        "a line of a change shows secrets", "http/api.py", "SECRET_NAME.search(name)", "False",
        ["tests.http.test_api"], where="_shown",
    ),
    Plant(
        "a disk that fills faster is full by its growth of days", "http/console/diagnosis.py",
        "sorted(known, key=lambda each: math.inf if each[0] is None else each[0])", "reversed(known)",
        ["tests.http.console.test_diagnosis"], where="full_forecast",
    ),
    Plant(
        "an hour without samples is not noticed", "bookie/lifecycle/disk_history.py",
        "now - sample[0] <= RECENT_STEP * MOST_RECENT", "True", ["tests.bookie.lifecycle.test_disk_history"],
        where="DiskHistory.recent",
    ),
    Plant(
        "old ledgers tell what new ones need", _CLUSTER, "newest, step = later[0], step * 2 if is_growing else step",
        "newest, step = newest, 0", _SURVEYED, where="newest_sizes",
    ),
    Plant(
        "a scrub seems to end before its limit allows it", "bookie/maintenance/progress.py",
        "max(self.left * (self._recent_seconds * weight + elapsed) / recent_bytes, at_limits)",
        "self.left * (self._recent_seconds * weight + elapsed) / recent_bytes",
        ["tests.bookie.maintenance.test_forecast"], where="Progress.eta",
    ),
    Plant(
        "a suspended scrub seems to end", "bookie/maintenance/control.py",
        "None if suspended else progress.eta(self._clock.seconds(), beside)",
        "progress.eta(self._clock.seconds(), beside)",
        ["tests.bookie.maintenance.test_forecast"], where="BackgroundControl._progress",
    ),
    Plant(
        "a repair seems to end before its limit allows it", "autorecovery/service.py",
        "max(eta or 0.0, at_limits) if at_limits else eta", "eta", ["tests.autorecovery.test_service"],
        where="_job_of",
    ),
    Plant(
        "each of two repairs has the whole limit", "autorecovery/interfaces.py", "beside or (self,)", "(self,)",
        ["tests.autorecovery.test_service"], where="CopyProgress.seconds_at",
    ),
    Plant(
        "a decommission that waits seems to end", "http/console/bookie_parts.py", "done and not obstacle", "done",
        _BOOKIE_PAGES, where="_remaining",
    ),
    Plant(
        "a decommission without progress seems to end soon", "http/console/bookie_parts.py",
        "max(seconds * left / done, recent, least)", "max(seconds * left / done, least)", _BOOKIE_PAGES,
        where="_remaining",
    ),
    Plant(
        "ledgers that wait for the same wait for their ids", "autorecovery/replication/lock_reasons.py",
        '_NUMBER.sub("...", _TIME.sub("a time", _WORKER.sub(r"\\1 by a worker", reason)))',
        '_TIME.sub("a time", _WORKER.sub(r"\\1 by a worker", reason))', _BOOKIE_PAGES, where="kind_of",
    ),
    Plant(
        "a speed limit is not named while other ledgers wait", "http/console/diagnosis.py",
        'obstacles = [f"the speed limit {waiting}"] if waiting else []',
        'obstacles = [f"the speed limit {waiting}"] if waiting and not any(map(reason_of, locks.values())) else []',
        _SURVEYED, where="repair_limit",
    ),
    Plant(
        "a full disk of a journal is not logged", _MONITOR, "(total, free) not in at_present", "False", _MONITORED,
        where="DiskMonitor.check",
    ),
    Plant(
        "nobody learns that a disk has no inodes", _MONITOR, "self._say_inodes(directory, *inodes)", "pass",
        _MONITORED, where="DiskMonitor.check",
    ),
    Plant(
        "the console does not warn of a full journal", "http/console/bookie_parts.py",
        "journal_warning(disk) or disk_warning(disk)", "disk_warning(disk)",
        ["tests.http.console.test_bookie_pages"], where="BookieParts.bookie",
    ),
    Plant(
        "only ledgers that are shown count as unavailable", _MARKED, "ledger_ids[most:]", "()", _SURVEYED,
        where="MarkedLedgers.read",
    ),
    Plant(
        "a disk is blamed while the event loop did not run", _SLOW,
        "sum(late.values()) * 1000 > millis / 2", "False", _SLOW_TESTS,
        where="SlowRequests.say",
    ),
    Plant(
        "an add that had room waited for it", _SLOW,
        "self._lacked_room(began, began + rest) or LOOP", "'room'", _SLOW_TESTS, where="SlowRequests.say_add",
    ),
    Plant(
        "the queue is blamed for a checkpoint that hangs on the disk", "bookie/engine.py",
        "on_disk > (ended - began) / 2", "False", _SLOW_TESTS, where="Engine._lacked_room",
    ),
    Plant(
        "a checkpoint is blamed although the write cache has room", _TIMES,
        "self._began is not None and self._is_full()", "self._began is not None", [*_SLOW_TESTS, *_TIMED],
        where="CheckpointTimes.blocked_seconds",
    ),
    Plant(
        "a checkpoint that hangs is not told", _TIMES, "self._clock.callLater(delay, self._say)", "None", _TIMED,
        where="CheckpointTimes.begin",
    ),
    Plant(
        "each of many long checkpoints is told", _TIMES,
        "max(VERY_LONG, self._logged_at + LINE_INTERVAL - self._began)", "VERY_LONG", _TIMED,
        where="CheckpointTimes.begin",
    ),
    Plant(
        "a checkpoint that writes a log mark waits for the journals", "storage/directory_storage.py",
        "self.is_marking = True", "pass", _TIMED, where="DirectoryStorage.marking",
    ),
    Plant(
        "an index on a disk of its own is not told of", "storage/ledger_storage.py",
        '"" if index_path == path else index_path', '""', _TIMED, where="_open_directory",
    ),
    Plant(
        "the console does not say for which directory a checkpoint waits", "bookie/engine.py", 'where.get(name, "")',
        '""', _PRESENT, where="Engine.present_waits",
    ),
    Plant(
        "a directory that is written counts as one that hangs", _TIMES,
        "self._unwritten.pop(directory, None)", "pass", _TIMED, where="CheckpointTimes.written",
    ),
    Plant(
        "a disk that hangs is not seen before the request ends", "http/console/diagnosis.py",
        "wait.seconds >= _LASTING", "False", ["tests.http.console.test_diagnosis"], where="_present",
    ),
    Plant(
        "the queue is blamed while the disk hangs", "http/console/diagnosis.py",
        '(_CAUSES[wait.waited_for] != "queue", wait.seconds)', "wait.seconds", ["tests.http.console.test_diagnosis"],
        where="_present",
    ),
    Plant(
        "a disk hangs while the process is stopped", "bookie/engine.py",
        "seconds - held_up(seconds)", "seconds", _PRESENT, where="Engine.present_waits",
    ),
    Plant(
        "adds that wait for a checkpoint wait for the queue", "bookie/engine.py",
        "times.is_blocking", "False", _PRESENT, where="Engine.present_waits",
    ),
    Plant(
        "each checkpoint counts as a wait", "bookie/engine.py",
        "times.seconds >= VERY_LONG", "True", _PRESENT, where="Engine.present_waits",
    ),
    Plant(
        "a read that has ended hangs", "bookie/disk_reads.py",
        "del self._under_way[result]", "pass", _PRESENT, where="DiskReads._in_thread",
    ),
    Plant(
        "the event loop is watched after the stop", _SLOW,
        "self._loop.stop()", "pass", _SLOW_TESTS, where="SlowRequests.stop",
    ),
    Plant(
        "a default stays when the value that it follows changes", "config/settings.py",
        "default.factory(self)", "object()", ["tests.config.test_bookie"], where="Config._is_derived",
    ),
    Plant(
        "a mark of its own follows the threshold", "config/settings.py",
        "name in self.origins", "False", ["tests.config.test_bookie"], where="Config._is_derived",
    ),
    Plant(
        "simple requests of other sites are answered", "http/hosts.py",
        "site not in _OWN and not is_link", "False", _CHANNEL, where="HostNames.foreign",
    ),
    Plant(
        "any site shows the console in a frame", "http/hosts.py",
        "all(request.getHeader(name) == value for name, value in _NAVIGATION.items())", "True", _CHANNEL,
        where="HostNames.foreign",
    ),
    Plant(
        "any origin may change something", "http/hosts.py",
        "self._is_own(origin, request.getHeader('Host') or '')", "True", _CHANNEL, where="HostNames.foreign",
    ),
    Plant(
        "an unknown parameter is ignored", "http/api.py",
        'check_members(self.parameters, [each.name for each in route.parameters], "the query string")', "pass", _ASKED,
        where="ApiRequest.check",
    ),
    Plant(
        "a number below the least is taken", "http/api.py", "number < known.least", "False", _ASKED,
        where="ApiRequest._check_value",
    ),
    Plant(
        "the stream takes any query", "http/console/stream.py", "api_request_of(request).check(self.routes[0])", "pass",
        _ASKED, where="StreamPage.render",
    ),
    Plant(
        "the file of events grows without a bound", _FILE, "os.replace(self._path, self._path + BEFORE)", "pass", _KEPT,
        where="EventFile._write_now",
    ),
    Plant(
        "an administrator's reason begins with the restart", "bookie/lifecycle/remembered_status.py",
        "registration.set_read_only(ADMINISTRATOR, True, began)", "pass", _RESTARTED, where="RememberedStatus.restore",
    ),
    Plant(
        "a later reason hides when the administrator's began", "storage/bookie_status.py",
        "reason if at == self.millis else f'{reason}\\t{at}'", "reason", _RESTARTED, where="BookieStatus.encode",
    ),
    Plant(
        "a disk is full since the restart", "bookie/lifecycle/registration.py",
        "reason not in self._reasons and since is None and not self._has_registered", "False",
        ["tests.bookie.lifecycle.test_registration"], where="BookieRegistration.set_read_only",
    ),
    Plant(
        "a reason that began anew may be older than the process", "bookie/lifecycle/registration.py",
        "self._began_before.discard(reason)", "pass", ["tests.bookie.lifecycle.test_registration"],
        where="BookieRegistration.set_read_only",
    ),
    Plant(
        "damage found by a scrub is an event of the space", "http/console/history/events.py",
        "'bookie.maintenance.known_damage'", "'bookie.maintenance.no_module'", _FOUND, where="",
    ),
    Plant(
        "events that repeat displace the others", "http/console/history/kept_events.py",
        "before.times > 1", "False", _REPEATED, where="KeptEvents.append",
    ),
    Plant(
        "a counter makes each event another one", "http/console/history/kept_events.py",
        "is_id or not isinstance(value, int | float)", "True", _REPEATED, where="key_of",
    ),
    Plant(
        "an event of the last year is counted further", "http/console/history/kept_events.py",
        "0 <= event.at - before.at < REPEATED_WITHIN", "True", _REPEATED, where="KeptEvents.append",
    ),
    Plant(
        "each repetition is a line in the file", "http/console/history/events.py",
        "now - self._written_at.get(event.key, 0.0) >= pause", "True", _FOUND, where="EventLog._is_due",
    ),
    Plant(
        "the last count of an event is not stored", "http/console/history/events.py",
        "file.append(self._unwritten.pop(event.key))", "pass", _FOUND, where="EventLog._write",
    ),
    Plant(
        "moved events hide those before them", "http/console/sources.py", "len(ring.after(count))",
        "(ring.count - count)", ["tests.http.console.test_sources"], where="_up_to",
    ),
    Plant(
        "a torn line hides the events", _FILE, "return None", "raise", _KEPT, where="_event_of",
    ),
    Plant(
        "events that found no space are lost", _FILE, "id(line) not in kept", "False", _KEPT,
        where="EventFile._written",
    ),
    Plant(
        "a failing disk is logged for each event", _FILE, "not self._has_failed", "True", _KEPT, where="EventFile._say",
    ),
    Plant(
        "the file of events makes a new bookie look used", "storage/cookies.py",
        "{COOKIE_NAME, COOKIE_NAME + '.tmp', LOCK_NAME, EVENTS_NAME}", "{COOKIE_NAME, COOKIE_NAME + '.tmp', LOCK_NAME}",
        ["tests.storage.test_cookies"], where="",
    ),
    Plant(
        "the page cannot tell a deleted ledger from one that cannot be read", "http/cluster_api.py",
        'Answer(f"Not Found\\n{error}", _NOT_FOUND)', 'Answer("Not Found", _NOT_FOUND)', _SEARCHED,
        where="or_not_found.answer",
    ),
    Plant(
        "a quiet stream sends nothing", "http/console/feed.py", 'self._send(b":\\n\\n")', "pass",
        ["tests.http.console.test_feed"], where="ConsoleFeed._flush",
    ),
    Plant(
        "a page waits longer than it says before it is old", "http/console/feed.py", "KEEP_ALIVE = 5.0",
        "KEEP_ALIVE = 15.0", ["tests.http.console.test_feed"], where="",
    ),
    Plant(
        "viewers that have stopped reading keep their places on a quiet cluster", "http/console/feed.py",
        "self._clock.seconds() - joined < LEAST_TURN", "True", ["tests.http.console.test_feed"],
        where="ConsoleFeed.make_room",
    ),
    Plant(
        "each new viewer ends the response of another at once", "http/console/feed.py",
        "self._clock.seconds() - joined < LEAST_TURN", "False", ["tests.http.console.test_feed"],
        where="ConsoleFeed.make_room",
    ),
    Plant(
        "an empty ledger is at risk", _LEDGERS, "(live <= 1 or not promised) and not is_empty(metadata)", "live <= 1",
        _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "write sets without entries count", "http/console/replicas.py",
        "range(segment.first_entry_id, end)[: schedule.ensemble_size]", "range(schedule.ensemble_size)",
        ["tests.http.console.test_replicas"], where="live_replicas",
    ),
    Plant(
        "events that are left out are not counted", "http/console/history/events.py",
        "max(len(found) - begin - len(shown), 0)", "0", _FOUND, where="EventPages._found",
    ),
    Plant(
        "of too many events only the newest are found", "http/console/history/events.py",
        'nearest(within, request.number("around", 0))', "0", _FOUND, where="EventPages._found",
    ),
    Plant(
        "the events after a time hide those before it", "http/console/history/events.py",
        "at - events[end].at <= events[begin - 1].at - at", "False", _FOUND, where="nearest",
    ),
    Plant(
        "a replica that cannot be asked for is damaged", "http/console/replicas.py",
        "_DAMAGED if isinstance(stored, BookieIOError) else _UNKNOWN", "_DAMAGED",
        ["tests.http.console.test_replicas"], where="judged",
    ),
    Plant(
        "an entry that is not written yet is lost", "http/console/replicas.py",
        "each.outcome == _MISSING and may_lack", "False", ["tests.http.console.test_replicas"], where="compared",
    ),
    Plant(
        "an entry behind the end of a closed ledger may not be written yet", _LEDGERS,
        "metadata.closed and may_lack", "False", _SEARCHED, where="LedgerPages._entry",
    ),
    Plant(
        "browsers round high ids of the stream", "http/console/sources.py", "_LONG.search(text)", "False",
        ["tests.http.console.test_sources"], where="dumped",
    ),
    Plant(
        "browsers round high ids", "http/console/sources.py", "abs(value) <= MOST_EXACT", "True", _SEARCHED,
        where="exact",
    ),
    Plant(
        "all rows are sent when one has changed", "http/console/sources.py", "before[1].get(name) != row", "True",
        ["tests.http.console.test_sources"], where="KnownState.change",
    ),
    Plant(
        "rows that are gone stay", "http/console/sources.py", "name not in rows", "False",
        ["tests.http.console.test_sources"], where="KnownState.change",
    ),
    Plant(
        "a job that waits for a limiter is no user of it", "limits/throttle.py", "at >= since or user in waiting",
        "at >= since", ["tests.limits.test_throttle"], where="Throttle._present_users",
    ),
    Plant(
        "copies are not counted as progress", "autorecovery/replication/copying.py",
        "self._copied(len(adds) - n_refused, stored)", "pass", ["tests.autorecovery.test_service"],
        where="FragmentCopy._write_to",
    ),
    Plant(
        "work of which entries are limited has an end as if they were not", "limits/ratelimit.py",
        "max(entries, 0)", "0", _PROGRESSED, where="Rate.shared_seconds",
    ),
    Plant(
        "each of two jobs has the whole limit", _PROGRESS, "beside or (self,)", "(self,)", _PROGRESSED,
        where="Progress.eta",
    ),
    Plant(
        "a wait counts for the speed", _PROGRESS, "self._idle += max(clock.seconds() - self._idle_since, 0.0)", "pass",
        _PROGRESSED, where="Progress.idle",
    ),
    Plant(
        "one long step is the speed", _PROGRESS,
        "max(_MEMORY, _STEPS * self._recent_seconds / self._recent_steps) if self._recent_steps else _MEMORY",
        "_MEMORY", _PROGRESSED, where="Progress._since_last",
    ),
    Plant(
        "a scrub ends with the directory at hand", "bookie/maintenance/scrubber.py",
        "{each.number: self._measure(each) for each in directories[1:]}", "{}",
        ["tests.bookie.maintenance.test_pass_totals"], where="PassTotals.__init__",
    ),
    Plant(
        "what was left of a directory that cannot be read is left to the end", "bookie/maintenance/scrubber.py",
        "self.progress.entries_left = self.progress.left = 0", "pass",
        ["tests.bookie.maintenance.test_pass_totals"], where="PassTotals.end",
    ),
    Plant(
        "a suspension slows a scrub down for ever", "bookie/maintenance/scrubber.py",
        "progress.idle(self.suspension.passed(), self._clock)", "self.suspension.passed()",
        ["tests.bookie.maintenance.test_scrubber"], where="Scrubber._verify",
    ),
    Plant(
        "the entries of a compaction are not counted", "bookie/maintenance/compactor.py",
        "self.progress.advance(step.n_bytes, self._clock.seconds(), step.n_entries)",
        "self.progress.advance(step.n_bytes, self._clock.seconds())",
        ["tests.bookie.maintenance.test_garbage_collector"], where="Compactor._advance",
    ),
    Plant(
        "the limits of other workers seem to be known", "http/console/diagnosis.py", "not elsewhere", "True", _SURVEYED,
        where="repair_limit",
    ),
    Plant(
        "the limits of this worker seem to be unknown", _CLUSTER,
        "ledger_id not in own", "True", _SURVEYED, where="ClusterParts._elsewhere",
    ),
    Plant(
        "a decommission waits for a time that is past", "http/console/bookie_parts.py", "without_past(reason, now)",
        "reason", _BOOKIE_PAGES, where="_remaining",
    ),
    Plant(
        "a ledger waits for a time that is past", _MARKED, "without_past(text, now)", "text", _SURVEYED,
        where="present_locks",
    ),
    Plant(
        "the other ledgers of a decommission are not told", "autorecovery/replication/lock_reasons.py",
        "reason not in times", "False", _BOOKIE_PAGES, where="obstacle_of",
    ),
    Plant(
        "nobody knows when the ledgers of a decommission were read", "autorecovery/operations/decommission.py",
        "Remaining(blockers, max(before.found, len(blockers)), undecoded=undecoded, read_at=began)",
        "Remaining(blockers, max(before.found, len(blockers)))", ["tests.autorecovery.operations.test_decommission"],
        where="Decommission._remaining",
    ),
    Plant(
        "nobody knows when a repair ends", "autorecovery/interfaces.py",
        "(now - self._measured_from) * left / copied if copied else None", "None", ["tests.autorecovery.test_service"],
        where="CopyProgress.eta",
    ),
    Plant(
        "one bookie that does not answer hides the cluster", _ANSWERS,
        "question.wait().addTimeout(max(left, 0), self._clock, lambda *_: None)", "question.wait()", _ANSWERED,
        where="BookieAnswers._wait",
    ),
    Plant(
        "a bookie has been silent since the newest question", _ANSWERS, "each.unanswered_since is None", "True",
        _ANSWERED, where="BookieAnswers._begin",
    ),
    Plant(
        "each sample waits for a bookie that does not answer", _ANSWERS, "each.question and not each.why",
        "each.question", _ANSWERED, where="BookieAnswers._wait",
    ),
    Plant(
        "a process that was held up blames the bookies", _ANSWERS, "await deferLater(self._clock, 0)", "pass",
        _ANSWERED, where="BookieAnswers._wait",
    ),
    Plant(
        "nobody learns why the cluster cannot be read", "http/console/feed.py", "source.why_late()", '""',
        ["tests.http.console.test_feed"], where="ConsoleFeed._read_in_time",
    ),
    Plant(
        "viewers do not learn why the cluster cannot be read", "http/console/feed.py",
        'self._known.setdefault("whyLate", KnownState("")).take(why)', "pass", ["tests.http.console.test_feed"],
        where="ConsoleFeed._note_late",
    ),
    Plant(
        "the console does not ask the driver why it waits", _CLUSTER, "str(connection.outage())", '""', _SURVEYED,
        where="ClusterParts.disconnection",
    ),
    Plant(
        "a new bookie is asked later", _ANSWERS, "new + again", "again", _ANSWERED, where="BookieAnswers._due",
    ),
    Plant(
        "a bookie that no ledger needs is listed when another is lost", _CLUSTER,
        "risks(rows, found.marked > 0, found.enabled, found.auditor, self._placed[0][0], self._unneeded, found.unread, "
        "self._unplaceable, has_racks, self._is_idle, self._is_sized())",
        "risks(rows, found.marked > 0, True, 'a', self._sizes[0], () if found.marked else self._unneeded)", _SURVEYED,
        where="ClusterParts.cluster",
    ),
    Plant(
        "a bookie that is lost now may be needed for half a minute", _CLUSTER, "away != self._away", "False",
        _SURVEYED, where="ClusterParts._look",
    ),
)
