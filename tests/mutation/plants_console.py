"""Plants in the console, and in what a bookie records for it."""

from .plant import Plant

_RING = ["tests.test_instruments"]
_HISTORY, _GROWS = "bookie/lifecycle/disk_history.py", ["tests.bookie.lifecycle.test_disk_history"]
_VERDICTS, _JUDGED = "http/console/diagnosis.py", ["tests.http.console.test_diagnosis"]
_FEED, _FED = "http/console/feed.py", ["tests.http.console.test_feed"]
_STREAMED = ["tests.http.console.test_stream"]
_LEDGERS, _SEARCHED = "http/console/ledger_pages.py", ["tests.http.console.test_ledger_pages"]
_CLUSTER = "http/console/cluster_parts.py"
_SURVEYED = [f"tests.http.console.test_{name}" for name in ("cluster_parts", "repair", "reasons")]
_EVENTS = "http/console/history/events.py"

PLANTS = (
    Plant(
        "the groups of ledgers have values of any length", "http/console/ledger_pages.py",
        "_cut(name)", "name", ["tests.http.console.test_ledger_pages"], where="LedgerPages._groups",
    ),
    Plant(
        "a client that does not read is not called slow", "http/console/diagnosis.py",
        "if peer.stalled >= _STALLED: ...", "", ["tests.http.console.test_diagnosis"], where="_network",
    ),
    Plant(
        "a client that is far away is not called slow", "http/console/diagnosis.py",
        "peer.round_trip >= _FAR", "False", ["tests.http.console.test_diagnosis"], where="_network",
    ),
    Plant(
        "the farthest client hides one that does not read", "protocol/server/connected_peers.py",
        "(delay.stalled, delay.round_trip or 0.0)", "(delay.round_trip or 0.0, delay.stalled)",
        ["tests.protocol.server.test_unread_replies"], where="ConnectedPeers.slowest",
    ),
    Plant(
        "a connection that is no TCP breaks the console", "protocol/server/round_trips.py",
        "(OSError, AttributeError)", "AttributeError", ["tests.protocol.server.test_round_trips"],
        where="round_trip_of",
    ),
    Plant(
        "a ring gives records again", "instruments.py",
        "self.count - number", "len(self._records)", _RING, where="Ring.after",
    ),
    Plant(
        "a group is not recorded for the console", "bookie/group_commit.py",
        "metrics.groups.append(JournalGroup(group.ended, n_entries, n_bytes, waited, written, synced))", "pass",
        ["tests.bookie.test_group_commit_metrics"], where="GroupCommit._measure",
    ),
    Plant(
        "a reason that is given again begins again", "bookie/lifecycle/registration.py",
        "self._reasons.setdefault(reason, self._clock.seconds() if since is None else since)",
        "self._reasons[reason] = self._clock.seconds()",
        ["tests.bookie.lifecycle.test_registration"], where="BookieRegistration.set_read_only",
    ),
    Plant(
        "a checkpoint that fails with another error begins to fail", "bookie/lifecycle/service.py",
        "self._registration.set_read_only(reason, holds, kind=FAILED)",
        "self._registration.set_read_only(reason, holds)", ["tests.bookie.lifecycle.test_service_disks"],
        where="BookieService._set_read_only",
    ),
    Plant(
        "a failure of before the start that has another text began after it", "bookie/lifecycle/registration.py",
        "earlier[0] in self._began_before", "False", ["tests.bookie.lifecycle.test_registration"],
        where="BookieRegistration.set_read_only",
    ),
    Plant(
        "a disk's growth is guessed from a few seconds", _HISTORY,
        "(span := samples[-1][0] - samples[0][0]) < LEAST_SPAN", "(span := samples[-1][0] - samples[0][0]) <= 0",
        _GROWS, where="_growth",
    ),
    Plant(
        "a disk is full only when nothing is free", _VERDICTS,
        "disk.free - (1 - threshold) * disk.total", "disk.free", _JUDGED, where="full_forecast",
    ),
    Plant(
        "a disk that is full in a minute is full", _VERDICTS,
        "max(round(left / growth / _DAY, 4), _SOON)", "round(left / growth / _DAY, 1)", _JUDGED, where="_days",
    ),
    Plant(
        "live bytes that a compaction copies count as freed", _VERDICTS,
        "sum(log.n_bytes for log in chosen) - live", "sum(log.n_bytes for log in chosen)", _JUDGED,
        where="compaction_gain",
    ),
    Plant(
        "what was slow long ago is a cause", _VERDICTS,
        "now - request.ended <= WINDOW", "True", _JUDGED, where="bottleneck",
    ),
    Plant(
        "entry logs are counted twice", "http/console/bookie_pages.py",
        "log_id > after", "log_id >= after", ["tests.http.console.test_bookie_pages"],
        where="BookiePages._disk_ledgers",
    ),
    Plant(
        "a collection frees the bytes of deleted ledgers in every log", "http/console/bookie_pages.py",
        "log_id in self._freed[directory]", "True", ["tests.http.console.test_bookie_pages"],
        where="BookiePages._disk_ledgers",
    ),
    Plant(
        "a compaction that had nothing to do in a failed collection counts as one",
        "bookie/maintenance/garbage_collector.py", "before = self._failures_before", "before = failures",
        ["tests.bookie.maintenance.test_collection_report"], where="GarbageCollector._compact_as",
    ),
    Plant(
        "a collection frees bytes on a disk that takes no writes", "http/console/bookie_pages.py",
        "not prevented", "True", ["tests.http.console.test_bookie_pages"], where="BookiePages._disk_ledgers",
    ),
    Plant(
        "a collection frees bytes though no checkpoint succeeds", "http/console/bookie_pages.py",
        "each.startswith((FAILED, INDEX_DIRECTORY))", "False", ["tests.http.console.test_bookie_pages"],
        where="_prevented",
    ),
    Plant(
        "a failed disk prevents the collection of every directory", "http/console/bookie_pages.py",
        "_names(each, here) or not _names(each, known)", "True", ["tests.http.console.test_bookie_pages"],
        where="_prevented",
    ),
    Plant(
        "a collection copies each log that has dead bytes", "http/console/bookie_pages.py",
        "not log.live or (log.major and major) or (log.minor and minor)", "log.live < log.n_bytes",
        ["tests.http.console.test_bookie_pages"], where="BookiePages._freed_logs",
    ),
    Plant(
        "each viewer has its own sample", _FEED,
        "if is_first: ...", "self._sample()", _FED, where="ConsoleFeed.join",
    ),
    Plant(
        "a viewer gets states of hours ago as present", _FEED,
        "self._forget()", "pass", _FED, where="ConsoleFeed.join",
    ),
    Plant(
        "the snapshot of hours ago is sent again", _FEED,
        'self._ticks, self._snapshot = 0, (-1, b"")', "self._ticks = 0", _FED, where="ConsoleFeed._forget",
    ),
    Plant(
        "a bookie that was lost unseen is lost since now", _CLUSTER,
        "self._states.clear()", "pass", _SURVEYED, where="ClusterParts._forget",
    ),
    Plant(
        "what a new ledger needs is as old as some samples take", _CLUSTER,
        "not 0 <= self._sampled - self._surveyed < SURVEY_SECONDS", "False", _SURVEYED, where="ClusterParts._bookies",
    ),
    Plant(
        "any console on the host of a worker knows its speed limit", "http/console/diagnosis.py",
        'f"{known}; whether a speed limit slows those on {\', \'.join(elsewhere)}, {_OWN_CONSOLE}"',
        'f"{known}; whether a speed limit slows those on {\', \'.join(elsewhere)}, the consoles there know"',
        _SURVEYED, where="repair_limit",
    ),
    Plant(
        "a lost bookie has space", _CLUSTER,
        'state == "writable"', "True", _SURVEYED, where="ClusterParts._row",
    ),
    Plant(
        "a state that cannot be read seems to be the present one", _FEED,
        "self._note_late()", "pass", _FED, where="ConsoleFeed._tick",
    ),
    Plant(
        "a state is read again while it is being read", _FEED,
        "source.name not in self._readings", "True", _FED, where="ConsoleFeed._sample",
    ),
    Plant(
        "a state that was read is being read for ever", _FEED,
        "del self._readings[name]", "pass", _FED, where="ConsoleFeed._ended",
    ),
    Plant(
        "a reading goes on after the stop of the server", _FEED,
        "reading.ended.cancel()", "pass", _FED, where="ConsoleFeed.close",
    ),
    Plant(
        "a state seems late for ever", _FEED,
        'late or "late" in self._known', "late", _FED, where="ConsoleFeed._note_late",
    ),
    Plant(
        "a decommission that has failed is forgotten", "http/autorecovery_api.py",
        "operation.failure = failure", "pass", ["tests.http.console.test_assembly"], where="AutorecoveryApi._keep",
    ),
    Plant(
        "a decommission that has failed cannot be begun again", "http/autorecovery_api.py",
        "self.operations[name].ended is None", "True", ["tests.http.console.test_assembly"],
        where="AutorecoveryApi._continues",
    ),
    Plant(
        "a number in an event has no format", _EVENTS,
        'name != "log_flattened"', "True", ["tests.http.console.history.test_events"], where="EventLog.__call__",
    ),
    Plant(
        "samples go on while nobody looks", _FEED,
        "if self._viewers or self._clock.seconds() < self._expected_until: ...", "self._sample()", _FED,
        where="ConsoleFeed._tick",
    ),
    Plant(
        "a timer is left when the last viewer goes", _FEED,
        "self._timer.cancel()", "pass", _FED, where="ConsoleFeed._stop",
    ),
    Plant(
        "a viewer that reconnects misses changes that are not kept", _FEED,
        "not oldest - 1 <= number <= self._number", "number > self._number", _FED, where="ConsoleFeed._missed",
    ),
    Plant(
        "the changes of another process count as missed", _FEED,
        "start != self._start", "False", _FED, where="ConsoleFeed._missed",
    ),
    Plant(
        "kept changes may have any size", _FEED,
        "sum([len(each) for _, each in self._kept]) > KEPT_BYTES", "False", _FED, where="ConsoleFeed._keep",
    ),
    Plant(
        "a viewer that never reads stays", _FEED,
        "viewer.idle_for() >= PATIENCE", "False", _FED, where="ConsoleFeed._tick",
    ),
    Plant(
        "a viewer may leave any number of bytes unread", _FEED,
        "viewer.unread >= MOST_UNREAD", "False", _FED, where="ConsoleFeed._tick",
    ),
    Plant(
        "the place of a viewer that does not read is not given away", _FEED,
        "self._drop(slowest)", "return False", _FED, where="ConsoleFeed.make_room",
    ),
    Plant(
        "what the kernel holds for a viewer is not counted", "http/console/stream.py",
        "unread_bytes(descriptor())", "0", ["tests.integration.test_console_stream"], where="EventStream.unread",
    ),
    Plant(
        "an event is written whole, whatever room there is", "http/console/stream.py",
        "self._rest and not self._is_full", "self._rest", _STREAMED, where="EventStream._write",
    ),
    Plant(
        "a full connection gets more events", "http/console/stream.py",
        "self._is_full", "False", _STREAMED, where="EventStream.send",
    ),
    Plant(
        "a viewer that was behind misses a snapshot", "http/console/stream.py",
        "self.send(self._feed.snapshot())", "pass", _STREAMED, where="EventStream.resumeProducing",
    ),
    Plant(
        "viewers stay at the stop of the server", "http/console/feed.py",
        "viewer.end()", "pass", _STREAMED, where="ConsoleFeed.close",
    ),
    Plant(
        "a search reads all ledgers at once", _LEDGERS,
        "ledger_ids_from(admin, after + 1, SCANNED)", "ledger_ids_from(admin, after + 1, 10**9)", _SEARCHED,
        where="LedgerPages._next",
    ),
    Plant(
        "a search forgets the ledgers after a full page", _LEDGERS,
        "len(ids) < SCANNED and (not ids or last == ids[-1])", "len(ids) < SCANNED", _SEARCHED,
        where="LedgerPages._ledgers",
    ),
    Plant(
        "a ledger with one replica left is safe", _LEDGERS,
        "live <= 1 or not promised", "live < 1", _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "a replica counts that no acknowledgement promises", "http/console/replicas.py",
        "live - (metadata.write_quorum_size - metadata.ack_quorum_size)", "live", _SEARCHED, where="promised_replicas",
    ),
    Plant(
        "the bookies of which no acknowledgement is promised are left", _LEDGERS,
        "live <= 1 or not promised", "live <= 1", _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "an empty ledger may lose entries", _LEDGERS,
        "promised == 1 and not is_empty(metadata)", "promised == 1", _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "the best kept entries of a ledger count", "http/console/replicas.py",
        "min", "max", ["tests.http.console.test_replicas"], where="live_replicas",
    ),
    Plant(
        "a damaged replica counts as valid", "http/console/replicas.py",
        'Replica(bookie_id, f"wrong digest: {error.detail}", _DAMAGED, stored[payload_at:])',
        "Replica(bookie_id, _OK, _OK, stored)", _SEARCHED, where="judged",
    ),
    Plant(
        "a damaged replica is compared with its head", "http/console/replicas.py", "stored[payload_at:]", "stored",
        ["tests.http.console.test_replicas"], where="judged",
    ),
    Plant(
        "the first replica is right, whatever the others have", "http/console/replicas.py",
        "max(valid, key=lambda each: alike[each.content], default=None)", "valid[0] if valid else None",
        ["tests.http.console.test_replicas"], where="compared",
    ),
    Plant(
        "a state is said to be old since the newest attempt", "http/console/feed.py",
        "not isinstance(state, _Unread)", "True", ["tests.http.console.test_feed"], where="ConsoleFeed._read_into",
    ),
    Plant(
        "one state that cannot be read holds up the whole console", "http/console/feed.py",
        "Deferred.fromCoroutine(self._read(source)).addTimeout(LATE, self._clock, late)",
        "Deferred.fromCoroutine(self._read(source))", ["tests.http.console.test_feed"],
        where="ConsoleFeed._read_in_time",
    ),
    Plant(
        "each asker for the whole console has it read", "http/console/feed.py", "now - self._whole_at >= INTERVAL",
        "True", ["tests.http.console.test_feed"], where="ConsoleFeed.read_all",
    ),
    Plant(
        "a disabled autorecovery limits no repair", "http/console/diagnosis.py",
        "not enabled", "False", _SURVEYED, where="repair_limit",
    ),
    Plant(
        "ledgers that wait for the same until another time wait for something else",
        "autorecovery/replication/lock_reasons.py",
        '_TIME.sub("a time", _WORKER.sub(r"\\1 by a worker", reason))', 'reason',
        ["tests.http.console.test_bookie_pages"], where="kind_of",
    ),
    Plant(
        "a bookie has its state since now", _CLUSTER,
        "before is None or before[0] != state", "True", _SURVEYED, where="ClusterParts._note",
    ),
    Plant(
        "a bookie whose rack is not known has one", _CLUSTER,
        '"" if rack == DEFAULT_RACK else rack', "rack", _SURVEYED, where="ClusterParts._row",
    ),
    Plant(
        "nobody learns for what a decommission waits", "http/autorecovery_api.py",
        "operation.note(remaining, self._clock.seconds())", "pass", ["tests.http.console.test_assembly"],
        where="AutorecoveryApi._finish",
    ),
    Plant(
        "each attempt of a decommission without a store is a line of the log", "http/autorecovery_api.py",
        "before and before.unreachable", "False", ["tests.http.console.test_assembly"],
        where="AutorecoveryApi._finish",
    ),
    Plant(
        "events show credentials", _EVENTS,
        "without_credentials(formatEvent(whole))", "formatEvent(whole)", ["tests.http.console.history.test_events"],
        where="EventLog.__call__",
    ),
    Plant(
        "each request is an event", _EVENTS,
        "module.startswith(_OF_REQUESTS)", "False", ["tests.http.console.history.test_events"], where="_kind_of",
    ),
    Plant(
        "a bundle shows credentials", "http/console/bundle.py",
        "without_credentials(await make())", "(await make())", ["tests.http.console.test_bundle"],
        where="BundlePage._made",
    ),
    Plant(
        "a bundle has any size", "http/console/bundle.py",
        "left -= len(text)", "pass", ["tests.http.console.test_bundle"], where="BundlePage._made",
    ),
    Plant(
        "the page may load from elsewhere", "http/console/files.py",
        "_HEADERS", "{}", ["tests.http.console.test_files"], where="ConsoleFiles.__init__",
    ),
    Plant(
        "a page does not know its version", "http/console/files.py",
        "_content(name).replace(_VERSION_MARK, page_version().encode())", "_content(name)",
        ["tests.http.console.test_files"], where="ConsoleFiles.__init__",
    ),
    Plant(
        "a changed script leaves the version of the page", "http/console/files.py",
        'b"".join(contents)', "next(iter(contents))", ["tests.http.console.test_files"], where="version_of",
    ),
    Plant(
        "one directory that is gone hides all disks", "bookie/lifecycle/disk_monitor.py",
        "return str(error), (0, 0), (0, 0)", "raise", ["tests.bookie.lifecycle.test_disk_monitor"],
        where="DiskMonitor._seen",
    ),
    Plant(
        "a directory that is gone has the space of nothing", "bookie/lifecycle/disk_monitor.py",
        "if reason: ...", "", ["tests.bookie.lifecycle.test_disk_monitor"], where="DiskMonitor._usage_of",
    ),
    Plant(
        "a directory that is gone is a full disk", "http/console/bookie_parts.py",
        "FullForecast(None, '') if disk.reason else full_forecast(disk, threshold)", "full_forecast(disk, threshold)",
        ["tests.http.console.test_bookie_pages"], where="_disk",
    ),
    Plant(
        "a directory that is gone hides the ledgers of the others", "http/console/bookie_pages.py",
        "work.entry_logs(directory)", "work.entry_logs()", ["tests.http.console.test_bookie_pages"],
        where="BookiePages._disk_ledgers",
    ),
    Plant(
        "each check of a disk is kept", _HISTORY,
        "not self._samples or now - self._samples[-1][0] >= STEP", "True", _GROWS, where="DiskHistory.record",
    ),
    Plant(
        "a ledger whose metadata cannot be decoded is not named", _LEDGERS, "sorted(undecoded.ids)", "[]",
        _SEARCHED, where="LedgerPages._next",
    ),
    Plant(
        "a ledger whose metadata cannot be decoded is named twice", _LEDGERS,
        "[each for each in scan.undecoded if each <= last]", "scan.undecoded", _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "a bookie of a ledger whose metadata cannot be decoded is not needed", _CLUSTER,
        "frozenset() if undecoded.ids else bookie_ids - needed", "bookie_ids - needed", _SEARCHED,
        where="unneeded_bookies",
    ),
    Plant(
        "a ledger whose metadata cannot be decoded does not need the bookie",
        "autorecovery/operations/decommission.py", "tuple(sorted(self._undecoded.ids))", "()",
        ["tests.autorecovery.operations.test_decommission"], where="Decommission._remaining",
    ),
    Plant(
        "the cookie of a bookie that may be needed is deleted", "http/autorecovery_api.py",
        "if remaining.undecoded: ...", "",
        ["tests.http.test_autorecovery_api"], where="AutorecoveryApi._finish",
    ),
    Plant(
        "a page of a ledger does not say what is unknown of it", _LEDGERS, 'f"{text}: {error}"', "str(error)",
        _SEARCHED, where="_metadata",
    ),
    Plant(
        "metadata that cannot be decoded are missing in the list", "http/cluster_api.py",
        "found[str(ledger_id)] = None", "pass", _SEARCHED, where="ClusterApi._list_ledgers",
    ),
)  # fmt: skip
