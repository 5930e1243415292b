"""Plants in how old what the console shows may be, and in what it says is unknown."""

from .plant import Plant

_CLUSTER = "http/console/cluster_parts.py"
_SURVEYED = [f"tests.http.console.test_{name}" for name in ("cluster_parts", "repair", "reasons")]
_MARKED = "http/console/marked_ledgers.py"

_ENDS, _ENDED = "autorecovery/operations/decommission.py", ["tests.autorecovery.operations.test_decommission"]
_BOOKIE_PAGES = ["tests.http.console.test_bookie_pages"]
_MONITOR, _MONITORED = "bookie/lifecycle/disk_monitor.py", ["tests.bookie.lifecycle.test_disk_monitor"]

_FEED, _FED = "http/console/feed.py", ["tests.http.console.test_feed"]

PLANTS = (
    Plant(
        "the disk of an index is never full", _MONITOR, "_used(total, free) > limit", "False", _MONITORED,
        where="DiskMonitor._see_indexes",
    ),
    Plant(
        "recovery adds need no reserve on the disk of an index", _MONITOR,
        "[*usage, *(space for _, space, _ in seen_indexes.values() if space[0])]", "usage", _MONITORED,
        where="DiskMonitor.check",
    ),
    Plant(
        "recovery adds are taken without inodes", "bookie/lifecycle/service.py",
        '"" if reason.startswith(NO_SPACE) else reason', "reason if reason.startswith(FAILED) else ''",
        ["tests.bookie.lifecycle.test_service_disks"], where="BookieService._checkpointed",
    ),
    Plant(
        "an index beside a ledger directory counts as on another disk", _MONITOR, "self._disk(directory) not in disks",
        "True", _MONITORED, where="DiskMonitor._own_disks",
    ),
    Plant(
        "the full disk of an index is no reason", _MONITOR, "(*paths.ledgers, *paths.index_only)", "paths.ledgers",
        _MONITORED, where="DiskState.reasons",
    ),
    Plant(
        "the disk of an index is not shown", "http/console/bookie_parts.py", "await self._admin.index_disks()", "()",
        _BOOKIE_PAGES, where="BookieParts.bookie",
    ),
    Plant(
        "a collection that can free nothing is offered", "bookie/maintenance/garbage_collector.py",
        "tuple(logs.obstacle for logs in self._logs if logs.obstacle)", "()",
        ["tests.bookie.maintenance.test_collection_report"], where="GarbageCollector.refusals",
    ),
    Plant(
        "the page does not learn that a collection can free nothing", "http/console/bookie_pages.py",
        "list(status.obstacles)", "[]", _BOOKIE_PAGES, where="BookiePages._entry_logs",
    ),
    Plant(
        "a decommission does not say that no worker is there", _ENDS, "MARKED if recovering else UNATTENDED", "MARKED",
        _ENDED, where="Decommission._blockers",
    ),
    Plant(
        "a missing worker is no fact against a loss", _CLUSTER,
        "bool(marked) and found.locks is not None and not found.locks", "False", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "a decommission has an end for 30 s after the store was lost", "http/console/bookie_parts.py",
        "remaining.unreachable or outage", "remaining.unreachable", _BOOKIE_PAGES, where="_remaining",
    ),
    Plant(
        "a decommission does not say from its begin on that it waits for the store", "http/autorecovery_api.py",
        "Remaining({}, 0, str(error))", "Remaining({}, 0)", ["tests.http.console.test_assembly"],
        where="AutorecoveryApi._decommission",
    ),
    Plant(
        "a decommission that has failed waits for the store", "http/autorecovery_api.py",
        "attrs.evolve(operation.remaining, unreachable='')", "operation.remaining",
        ["tests.http.console.test_assembly"], where="AutorecoveryApi._keep",
    ),
    Plant(
        "before its first check, a decommission has no ledgers left", "http/console/bookie_parts.py",
        "not remaining.found", "False", _BOOKIE_PAGES, where="_remaining",
    ),
    Plant(
        "operations do not hear of a lost connection to the store", "http/console/assembly.py",
        "parts.disconnection()", "''", ["tests.http.console.test_assembly"], where="_of_cluster.operations",
    ),
    Plant(
        "a decommission takes a mark that cannot be decoded for none", _ENDS, "unread.add(ledger_id)", "pass", _ENDED,
        where="Decommission._blockers",
    ),
    Plant(
        "ledgers wait for a worker while autorecovery is switched off", _ENDS,
        "unattended if is_on else SWITCHED_OFF", "unattended", _ENDED, where="Decommission._blockers",
    ),
    Plant(
        "a bookie that logs no slow request has no standstills", "bookie/requests/slow_requests.py",
        "self._loop.start(PERIOD if millis else RARE_PERIOD)", "self._loop.start() if millis else self._loop.stop()",
        ["tests.bookie.requests.test_slow_requests"], where="SlowRequests.limit",
    ),
    Plant(
        "a stream goes on after its token has expired", "http/console/stream.py",
        "self._clock.callLater(MOST_SECONDS, self._end_in_time)", "None", ["tests.http.console.test_stream"],
        where="EventStream.begin",
    ),
    Plant(
        "the timer of a stream stays when its viewer has gone", "http/console/stream.py",
        "self._ending.cancel()", "pass", ["tests.http.console.test_stream"], where="EventStream._gone",
    ),
    Plant(
        "a lone page calls what it shows old every ten minutes", "http/console/stream.py",
        "self._feed.expect_return()", "pass", ["tests.http.console.test_stream"], where="EventStream._end_in_time",
    ),
    Plant(
        "the sources are read for ever for a viewer that does not return", _FEED,
        "self._clock.seconds() < self._expected_until", "True", _FED, where="ConsoleFeed._tick",
    ),
    Plant(
        "the timer for a viewer that may return outlives the server", _FEED,
        "self._stop()", "pass", _FED, where="ConsoleFeed.close",
    ),
    Plant(
        "what is said of the repair needs the part cluster", _CLUSTER,
        "self._without_mark(lost, len(marked))", "()",
        _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "more ledgers are being repaired than there are", "http/console/diagnosis.py",
        "max(count, len(locks))", "count", ["tests.http.console.test_reasons"], where="repair_limit",
    ),
    Plant(
        "iterations that are dropped are continued", "client/steps.py",
        "self._one_ended = None", "pass", ["tests.client.test_steps"], where="_Crew.cancel",
    ),
    Plant(
        "a far store is asked for one thing after the other", "client/steps.py",
        "for_each(range(len(works)), run, len(works))", "for_each(range(len(works)), run, 1)", _SURVEYED,
        where="together",
    ),
    Plant(
        "no bookie is shown before the newest ledgers are read", _CLUSTER,
        "sizing.wait().addTimeout(DETAILS_SECONDS, self._clock, lambda *_: None)", "sizing.wait()", _SURVEYED,
        where="ClusterParts._survey_sizes",
    ),
    Plant(
        "what a new ledger needs is known before it is read", _CLUSTER, "self._is_sized()", "True", _SURVEYED,
        where="ClusterParts.cluster",
    ),
    Plant(
        "nothing has to be repaired while a bookie does not answer", _CLUSTER,
        "sorted(silent - self._known_unneeded())", "[]", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "a bookie that no ledger needed an hour ago is not needed now", _CLUSTER,
        "self._seconds() - self._sampled <= SEEN_SECONDS", "True", _SURVEYED, where="ClusterParts._known_unneeded",
    ),
    Plant(
        "all clusters need three bookies", "http/console/diagnosis.py",
        "len(writable) > ensemble", "len(writable) > USUAL_ENSEMBLE",
        _SURVEYED, where="risks",
    ),
    Plant(
        "a bookie that does not answer would be left", "http/console/diagnosis.py",
        'row.state == "writable" and not row.why',
        'row.state == "writable"', _SURVEYED, where="risks",
    ),
    Plant(
        "a bookie that does not answer is there", "http/console/diagnosis.py",
        "row.why and row.id not in unneeded", "False", _SURVEYED,
        where="risks",
    ),
    Plant(
        "nobody learns how many bookies are not counted", "http/console/diagnosis.py",
        "len(writable) + len(silent) - len(known)", "0",
        _SURVEYED, where="risks",
    ),
    Plant(
        "the racks of bookies do not count for the loss of one more", _CLUSTER,
        "placement.new_ensemble(*sizes, Candidates(racks.keys() - {lost}))", "pass", _SURVEYED,
        where="unplaceable_without",
    ),
    Plant(
        "a loss after which no ensemble can be chosen is safe", "http/console/diagnosis.py",
        "len(writable) > ensemble and not unplaceable", "len(writable) > ensemble", _SURVEYED, where="risks",
    ),
    Plant(
        "a number that is too large is none", "http/api.py", '"is too large"', '"is not a number"',
        ["tests.http.test_api"], where="ApiRequest.number",
    ),
    Plant(
        "nobody learns in which directory a checkpoint failed", "bookie/checkpointer.py",
        "directory.startswith('/')", "False", ["tests.bookie.lifecycle.test_service_disks"], where="directory_of",
    ),
    Plant(
        "nobody learns which index a checkpoint could not change", "bookie/checkpointer.py",
        "path = str(each.filename or '') if isinstance(each, OSError) else str(each)",
        "path = str(getattr(each, 'filename', ''))", ["tests.bookie.test_checkpointer"], where="directory_of",
    ),
    Plant(
        "a full disk hides that another one has failed", "bookie/checkpointer.py",
        "sorted([each.value for each in failures if each.value is not None], key=_rank)",
        "[each.value for each in failures if each.value is not None]", ["tests.bookie.test_checkpointer"],
        where="Checkpointer._run",
    ),
    Plant(
        "of several full disks, the operator learns of one", "bookie/engine.py",
        "map(directory_of, alike)", "map(directory_of, alike[:1])", ["tests.bookie.test_checkpointer"],
        where="_reason",
    ),
    Plant(
        "of several failed disks, the operator learns of one", "bookie/engine.py",
        "map(cause_of, alike)", "map(cause_of, alike[:1])", ["tests.bookie.test_checkpointer"],
        where="_reason",
    ),
    Plant(
        "after a start on a full disk, nobody learns which directory is on it", "bookie/engine.py",
        "_reason([error])", "NO_SPACE", ["tests.bookie.lifecycle.test_service_disks"],
        where="Engine.disk_is_full",
    ),
    Plant(
        "a lack of descriptors hides that a disk is full", "bookie/checkpointer.py", "is_out_of_files(error)", "False",
        ["tests.bookie.test_checkpointer"], where="_rank",
    ),
    Plant(
        "the forecast of a compaction does not name the logs that it leaves out", "http/console/bookie_pages.py",
        "each.damaged.items()", "()", _BOOKIE_PAGES, where="BookiePages._entry_logs",
    ),
    Plant(
        "after a pause, the states of before seem to be the present ones", _FEED,
        "now - self._ticked >= INTERVAL + LATE", "False", _FED, where="ConsoleFeed._note_pause",
    ),
    Plant(
        "a reading of before a pause is a present one", _FEED, "began >= self._resumed", "True", _FED,
        where="ConsoleFeed._read_into",
    ),
    Plant(
        "a state that was being read in a pause is OLD until its next turn", _FEED, "source.name in self._paused",
        "False", _FED, where="ConsoleFeed._sample",
    ),
    Plant(
        "a viewer that comes back takes what it has for the present state", _FEED,
        "None if is_first else self._missed(last_event_id)", "self._missed(last_event_id)", _FED,
        where="ConsoleFeed.join",
    ),
    Plant(
        "nobody says that a ledger without replicas ends no decommission", _ENDS, "ledger_id in self._gone", "False",
        _ENDED, where="Decommission._blockers",
    ),
    Plant(
        "a ledger whose bookies come back cannot be repaired", _ENDS, "self._gone.clear()", "pass", _ENDED,
        where="Decommission._remaining",
    ),
    Plant(
        "a ledger that one bookie has counts as gone", _ENDS,
        "any(present[position] for position in fragment.schedule.write_set(entry_id))",
        "all(present[position] for position in fragment.schedule.write_set(entry_id))", _ENDED, where="is_gone",
    ),
    Plant(
        "a decommission that cannot end seems to wait for workers alone", "http/console/bookie_parts.py",
        """f"{begin}{obstacle}{'; ' if obstacle else ''}{ledgers(left)} left{most}\"""",
        'f"{ledgers(left)} left{most}"',
        _BOOKIE_PAGES, where="_remaining",
    ),
    Plant(
        "marks are not counted before all of their ledgers are read", _CLUSTER,
        "await within(self._clock, left, found.read(marked[:MOST_LOOKED_AT], MOST_MARKS))",
        "await found.read(marked[:MOST_LOOKED_AT], MOST_MARKS)", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "no bookie is shown before all ledgers are read", _CLUSTER,
        "looked.addTimeout(DETAILS_SECONDS, self._clock, lambda *_: frozenset())", "pass", _SURVEYED,
        where="ClusterParts._look",
    ),
    Plant(
        "no bookie is shown before all marks are counted", _MARKED,
        "seconds() - began >= (patience if len(found) >= enough else DETAILS_SECONDS)", "False", _SURVEYED,
        where="list_marks",
    ),
    Plant(
        "no ledger is looked at before all locks are read", _CLUSTER,
        "await within(self._clock, DETAILS_SECONDS, found.read_locks())", "await found.read_locks()", _SURVEYED,
        where="ClusterParts.repair",
    ),
    Plant(
        "no worker is at a ledger whose lock could not be read", _MARKED,
        "UNREAD if self.locks is None else self.locks.get(ledger_id)", "(self.locks or {}).get(ledger_id)", _SURVEYED,
        where="MarkedLedgers._read_row",
    ),
    Plant(
        "a repair that has just ended is one of another process", _CLUSTER,
        "(*jobs, *self.jobs(MOST_LOOKED_AT))", "self.jobs(MOST_LOOKED_AT)", _SURVEYED, where="ClusterParts._elsewhere",
    ),
    Plant(
        "a worker that holds very many ledgers shows them all", "http/console/bookie_parts.py",
        "at_work_first[:SHOWN_JOBS]", "at_work_first", _BOOKIE_PAGES, where="replication_value",
    ),
    Plant(
        "what a worker repairs is hidden by what it holds", "http/console/bookie_parts.py",
        'job.state != "repairing"', "False", _BOOKIE_PAGES, where="replication_value",
    ),
    Plant(
        "no ledger is repaired behind the marks that could be listed", _MARKED,
        "ledger_id in among or ledger_id > last", "ledger_id in among", _SURVEYED, where="of_marked",
    ),
    Plant(
        "no details are read before all marks are listed", _CLUSTER,
        "list_marks(marks, self._seconds, LISTING_SECONDS, MOST_MARKS)",
        "list_marks(marks, self._seconds, 1000)", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "of few marks one is listed while the store is slow", _CLUSTER,
        "list_marks(marks, self._seconds, LISTING_SECONDS, MOST_MARKS)",
        "list_marks(marks, self._seconds, LISTING_SECONDS)", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "a long listing of few marks makes the repair late", _CLUSTER,
        "min(max(left, LISTING_SECONDS), DETAILS_SECONDS)", "DETAILS_SECONDS", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "a lock without a mark is a ledger that waits", _CLUSTER,
        "of_marked(found.locks, marked, is_more)", "found.locks", _SURVEYED,
        where="ClusterParts.repair",
    ),
)
