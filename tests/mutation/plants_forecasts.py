"""Mistakes in what the console expects: when a disk is full, when a job ends, for what requests wait."""

from .plant import Plant

_HISTORY, _GROWS = "bookie/lifecycle/disk_history.py", ["tests.bookie.lifecycle.test_disk_history"]
_PROGRESSED = ["tests.bookie.maintenance.test_progress"]
_FORECAST = ["tests.bookie.maintenance.test_forecast"]

PLANTS = (
    Plant(
        "a growth that has ended goes on", _HISTORY, "min(_slope(samples), _slope(_newest(samples, NEWER)))",
        "_slope(samples)", _GROWS, where="_growth",
    ),
    Plant(
        "a disk that has just been emptied is soon full", _HISTORY, "min(growth.speed, 0.0)", "growth.speed", _GROWS,
        where="DiskHistory.recent",
    ),
    Plant(
        "a suspension does not hold in the wait for writes", "bookie/maintenance/compactor.py",
        "await self._idle(self.suspension.passed())", "pass",
        ["tests.bookie.maintenance.test_suspended_compaction"], where="Compactor._may_write",
    ),
    Plant(
        "a suspension holds only before a rest", "bookie/maintenance/compactor.py",
        "await self._idle(self.suspension.passed())", "pass",
        ["tests.bookie.maintenance.test_rests"], where="Compactor._admitted",
    ),
    Plant(
        "a collection whose turn has come was requested by an operator", "bookie/maintenance/garbage_collector.py",
        "self._waiting is not None and self._waiting.forced", "self._waiting is not None",
        ["tests.bookie.maintenance.test_suspended_compaction"], where="GarbageCollector.has_waiting",
    ),
    Plant(
        "nobody learns that a requested collection waits for a suspended one", "http/console/bookie_parts.py",
        "', which is suspended' if suspended else ''", "''", ["tests.http.console.test_bookie_pages"],
        where="_waiting",
    ),
    Plant(
        "a repair has the speed that it had before a limit was changed", "autorecovery/service.py",
        "progress.forget_speed(now)", "pass", ["tests.autorecovery.test_service"], where="forget_speeds",
    ),
    Plant(
        "repairs do not learn that a limit was changed", "limits/adaptive.py", "self._changed()", "pass",
        ["tests.autorecovery.test_service"], where="SpeedLimits.set_limits",
    ),
    Plant(
        "the end of a step is as far away after half of its wait", "bookie/maintenance/progress.py",
        "user and not any(left)", "False", _PROGRESSED, where="Progress._seconds_at",
    ),
    Plant(
        "the end waits for what was requested already", "bookie/maintenance/progress.py",
        "self._entries_done + self.entries_left - entries", "self.entries_left", _PROGRESSED,
        where="Progress._unrequested",
    ),
    Plant(
        "the end waits for requests that come after", "limits/throttle.py", "return entries, n_bytes", "pass",
        _PROGRESSED, where="Throttle.backlog",
    ),
    Plant(
        "a debt is paid without time", "limits/ratelimit.py", "max(-self._entries.balance, 0.0)", "0.0", _PROGRESSED,
        where="TokenBucket.debt",
    ),
    Plant(
        "requests that wait now have not waited", "limits/throttle.py", "now - waiter.since", "0.0",
        ["tests.limits.test_throttle"], where="Throttle.status",
    ),
    Plant(
        "a tiny limit is accepted, and shown as none", "http/limits_api.py", "0 < value < _LEAST", "False",
        ["tests.http.test_limits_api"], where="_number",
    ),
    Plant(
        "a tiny limit in force is shown as none", "http/limits_api.py",
        "_shown(status.in_force.bytes) or status.in_force.bytes", "_shown(status.in_force.bytes)",
        ["tests.http.test_limits_api"], where="_limiter",
    ),
    Plant(
        "a full disk of a journal says nothing of what is allocated", "http/console/diagnosis.py",
        "f'{disk.free:,} bytes are left for the journal: once it needs more than what is allocated, the bookie ends'",
        "f'{disk.free:,} bytes are left for the journal: without space, the bookie ends at the next append'",
        ["tests.http.console.test_bookie_pages"], where="journal_warning",
    ),
    Plant(
        "requests that wait at the same time wait longer than the clock", "http/console/diagnosis.py",
        "max(start, until)", "start", ["tests.http.console.test_diagnosis"], where="_covered",
    ),
    Plant(
        "the growth of some hours counts more than a last hour without", "http/console/diagnosis.py", "_FEW_HOURS",
        "_HOUR", ["tests.http.console.test_diagnosis"], where="full_forecast",
    ),
    Plant(
        "a compaction is said to copy damaged logs", "bookie/maintenance/forecast.py",
        "directory.logs_to_compact(logs, kind.threshold, options.target_size)",
        "[log for log in logs if log.live and log.share(options.target_size) < kind.threshold]", _FORECAST,
        where="SpaceForecaster._space",
    ),
    Plant(
        "what is deleted in metadata alone counts as live", "bookie/maintenance/forecast.py",
        "directory.log_usage_without(sorted(self._present()))", "directory.log_usage()", _FORECAST,
        where="SpaceForecaster._measure",
    ),
    Plant(
        "deletions that a disk has refused count as done", "bookie/maintenance/ledger_collector.py",
        "stored | self._storage.undeleted_ids()", "stored", _FORECAST, where="LedgerCollector.present",
    ),
    Plant(
        "ledgers that were collected are said to be collected next", "bookie/maintenance/forecast.py",
        "self._ledgers.present(self._deleted.result or ())", "self._deleted.result or frozenset()", _FORECAST,
        where="SpaceForecaster._present",
    ),
    Plant(
        "all ledgers count as dead if the store is of another cluster", "bookie/maintenance/ledger_collector.py",
        "await self._confirm_cluster()", "", _FORECAST, where="LedgerCollector.deleted",
    ),
    Plant(
        "metadata that cannot be read are not said to be old", "bookie/maintenance/forecast.py",
        "reading.unread_since if reason else None", "None", _FORECAST, where="SpaceForecaster._told_of_deleted",
    ),
    Plant(
        "metadata that do not answer are waited for", "bookie/maintenance/latest_reading.py",
        "reading.wait().addTimeout(PATIENCE, self._clock)", "reading.wait()", _FORECAST, where="LatestReading.latest",
    ),
    Plant(
        "a disk that does not answer seems to have answered", "bookie/maintenance/forecast.py",
        "f'the disk has not answered for {reading.overdue:.0f} s'", "''", _FORECAST, where="_told_of",
    ),
    Plant(
        "each request to a disk that does not answer sends it another one", "bookie/maintenance/latest_reading.py",
        "reading is None", "True", _FORECAST, where="LatestReading.latest",
    ),
    Plant(
        "what another caller begins to read seems not to answer", "bookie/maintenance/latest_reading.py",
        "seconds < PATIENCE", "False", _FORECAST, where="LatestReading.overdue",
    ),
    Plant(
        "metadata are read anew for each request", "bookie/maintenance/latest_reading.py",
        "now - self.read_at < self._kept", "False", _FORECAST, where="LatestReading.latest",
    ),
    Plant(
        "small logs are not said to be merged", "bookie/maintenance/forecast.py",
        "directory.logs_to_compact(logs, kind.threshold, options.target_size)",
        "directory.logs_to_compact(logs, kind.threshold, 0)", _FORECAST, where="SpaceForecaster._space",
    ),
    Plant(
        "a log that cannot be read is compacted because it seems small", "bookie/maintenance/maintained.py",
        "not log.error and log.log_id not in self.damaged", "log.log_id not in self.damaged", _FORECAST,
        where="MaintainedDirectory.logs_to_compact",
    ),
)
