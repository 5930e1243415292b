"""Plants in ``autorecovery`` and in what it stands on in ``ledger``."""

from .plant import Plant

_SCANS = ["tests.ledger.test_replica_scan", "tests.autorecovery.replication.test_checker"]
_CHECKS = ["tests.autorecovery.replication.test_checker"]
_COPIES = ["tests.autorecovery.replication.test_fragment_replicator"]
_FAILURES = ["tests.autorecovery.replication.test_failure_log"]
_WORKER = ["tests.autorecovery.replication.test_worker"]
_OPEN = ["tests.autorecovery.replication.test_open_ledgers"]
_MARKER = "autorecovery/replication/worker.py"
_REMOVAL = ["tests.metadata.test_mark_removal", "tests.autorecovery.replication.test_worker_beside_apache"]
_SESSIONS = ["tests.autorecovery.replication.test_worker_sessions"]

PLANTS = (
    Plant(
        "the kind of a reason is sought for each of its ledgers", "autorecovery/replication/lock_reasons.py",
        "set(reasons.values())", "list(reasons.values())", ["tests.autorecovery.replication.test_lock_reasons"],
        where="by_kind",
    ),
    Plant(
        "each ledger that lacks the same bookies is a line of the log", "autorecovery/replication/failure_log.py",
        "kind_of(reason)", "reason", _FAILURES, where="FailureLog.failed",
    ),
    Plant(
        "the other ledgers that were not repaired are not counted", "autorecovery/replication/failure_log.py",
        "failures.more.add(ledger_id)", "pass", _FAILURES, where="FailureLog.failed",
    ),
    Plant(
        "any number of causes is logged", "autorecovery/replication/failure_log.py",
        "len(self._causes) >= MAX_CAUSES", "False", _FAILURES, where="FailureLog.failed",
    ),
    Plant(
        "the order of a ledger's bookies makes another cause", "autorecovery/replication/fragment_replicator.py",
        "sorted(losses)", "losses", _FAILURES, where="_lost_everywhere",
    ),
    Plant(
        "a worker that stops does not log how many ledgers it could not repair", "autorecovery/replication/worker.py",
        "self._failure_log.flush()", "pass", _FAILURES, where="ReplicationWorker._stop",
    ),
    Plant(
        "metadata change before the copy", "autorecovery/replication/fragment_replicator.py",
        "await copies.run(without(plan, work.hopeless))",
        "early = fragment.moves(targets)\n"
        "await update(self._context.ledgers, fragment.ledger_id, None, early.are_needed, early.apply)\n"
        "await copies.run(without(plan, work.hopeless))",
        _COPIES, where="FragmentReplicator._round",
    ),
    Plant(
        "a mark goes on naming bookies that came back", _MARKER,
        "await self._narrow_mark(ledger_id, mark, attempt.report)", "pass", _WORKER,
        where="ReplicationWorker._repair_marked",
    ),
    Plant(
        "a bookie that could not be checked leaves a mark", "ledger/findings.py",
        "yield from (one.bookie_id for one in report.inconclusive)", "pass", _WORKER, where="CheckReport.lacking",
    ),
    Plant(
        "a mark whose names cannot be removed hides why its repair failed", _MARKER,
        'self._log.debug("the mark of ledger {ledger_id}: {error}", ledger_id=ledger_id, error=error)', "raise",
        _WORKER, where="ReplicationWorker._narrow_mark",
    ),
    Plant(
        "a mark without names gets some", "metadata/mark_removal.py", "not (removed or mark.value.problem)", "False",
        _REMOVAL, where="narrow_mark",
    ),
    Plant(
        "a bookie that is lost after the check leaves the mark", "metadata/mark_removal.py",
        "await marks.mark(ledger_id, sorted(gone), mark.value.ctime)", "pass", _REMOVAL, where="narrow_mark",
    ),
    Plant(
        "a mark that is added to begins anew", "model.py", "ctime if self.ctime is None else self.ctime", "ctime",
        _WORKER, where="UnderreplicatedLedger.with_replicas",
    ),
    Plant(
        "a mark is removed at a newer version", "metadata/mark_removal.py",
        "marks.remove_mark(ledger_id, mark.version)",
        "marks.remove_mark(ledger_id, (await marks.read_mark(ledger_id)).version)", [*_REMOVAL, *_WORKER],
        where="remove_mark",
    ),
    Plant(
        "the mark goes of a bookie that Apache's auditor has found lost again", "metadata/mark_removal.py",
        "if gone: ...", "if False: ...", _REMOVAL, where="remove_mark",
    ),
    Plant(
        "a mark of Apache's auditor does not renew the version", "metadata/mark_removal.py",
        "UnderreplicatedLedger((), mark.value.ctime)", "mark.value", _REMOVAL, where="remove_mark",
    ),
    Plant(
        "a bookie that is still in the ledger may be lost before its mark goes", "autorecovery/replication/worker.py",
        "report.bookies if report is not None else ()", "()", _REMOVAL, where="ReplicationWorker._remove_mark",
    ),
    Plant(
        "entries are copied outside of their write sets", "ledger/copy_plan.py",
        "fragment.schedule.stretches(position, low, high)", "((low, high - low + 1),)",
        ["tests.ledger.test_copy_plan", *_COPIES], where="_kept",
    ),
    Plant(
        "an overload is taken for a loss", "ledger/replica_scan.py",
        "DAMAGED if isinstance(error, BookieIOError | DigestMatchError) else UNREACHABLE", "DAMAGED", _SCANS,
        where="state_of",
    ),
    Plant(
        "all ledgers that a worker holds are listed every second", "autorecovery/replication/worker.py",
        "most is not None", "False", ["tests.autorecovery.replication.test_worker"], where="ReplicationWorker.status",
    ),
    Plant(
        "the console lists all ledgers that a worker holds", "http/console/assembly.py",
        "replication_value(parts.jobs(SHOWN_JOBS))", "replication_value(parts.jobs())",
        ["tests.http.console.test_assembly"], where="_of_cluster",
    ),
    Plant(
        "all jobs are listed for who wants the limits", "limits/adaptive.py",
        "LimitsStatus(self._adaptive.status, statuses, self._jobs)",
        "LimitsStatus(self._adaptive.status, statuses, lambda most, found=tuple(self._jobs(None)): found)",
        ["tests.limits.test_adaptive"], where="SpeedLimits.limits",
    ),
    Plant(
        "the lock of another worker is not looked at", "autorecovery/replication/worker.py",
        "self._refused[ledger_id] = self._clock.seconds() + self._settings.backoff\nreturn False", "pass", _WORKER,
        where="ReplicationWorker._take",
    ),
    Plant(
        "a lock that went before its release hides the ledger", "autorecovery/replication/worker.py",
        "self._walk_at(self._clock.seconds() + self._settings.backoff)", "pass", _SESSIONS,
        where="ReplicationWorker._locked",
    ),
    Plant(
        "work goes on without its lock", "autorecovery/replication/worker.py",
        "[self._underreplication.watch_marks(self._marks_changed), "
        "self._registration.watch_bookies(self._bookies_changed), "
        "self._underreplication.watch_lost_locks(self._cancel_jobs)]",
        "[self._underreplication.watch_marks(self._marks_changed), "
        "self._registration.watch_bookies(self._bookies_changed)]",
        _SESSIONS, where="ReplicationWorker.startService",
    ),
    Plant(
        "a lock that could not be released stays", "autorecovery/replication/worker.py",
        "not self.running", "True", _SESSIONS, where="ReplicationWorker._unlock",
    ),
    Plant(
        "a lock of unknown outcome stays", "autorecovery/replication/worker.py",
        "(BookKeeperError, CancelledError)", "CancelledError", _SESSIONS, where="ReplicationWorker._take",
    ),
    Plant(
        "the release of a lock is cut short by the stop", "autorecovery/replication/worker.py",
        "job.running is not None and not job.is_ending", "job.running is not None", _WORKER,
        where="ReplicationWorker._cancel_jobs",
    ),
    Plant(
        "the text of another worker's lock is replaced", "metadata/embedded/memory.py",
        "ledger_id in self._shared.locks and self._shared.locks[ledger_id][0] is self",
        "ledger_id in self._shared.locks", ["tests.metadata.embedded.test_memory"],
        where="MemorySession.describe_lock",
    ),
    Plant(
        "an auditor alone repairs, too", "autorecovery/service.py",
        "if WORKER in self._services: ...", "...", ["tests.autorecovery.test_service"], where="AutoRecovery.start",
    ),
    Plant(
        "latency bounds are not changed over HTTP", "http/limits_api.py",
        "bounds[key]", "None", ["tests.http.test_limits_api"], where="LimitsApi._set_limits",
    ),
    Plant(
        "a ledger counts as whole while a bookie could not be asked", "ledger/findings.py",
        "report.losses or report.inconclusive", "report.losses", ["tests.ledger.test_copy_plan", *_WORKER],
        where="CheckReport.is_whole",
    ),
    Plant(
        "suspects are read in samples", "autorecovery/replication/checker.py",
        "EVERY_ENTRY if bookie_id in self._suspects else self._percentage", "self._percentage", [*_CHECKS, *_WORKER],
        where="_LedgerCheck._check_position",
    ),
    Plant(
        "what was copied is not read at the end of a repair", "ledger/findings.py",
        "position not in bad", "bad or not bad", [*_CHECKS, *_WORKER], where="CheckReport.whole",
    ),
    Plant(
        "suspects that were whole once are not read again", "autorecovery/replication/checker.py",
        "bookie_id in suspects or (fragment.first, fragment.last, position, bookie_id) not in whole",
        "(fragment.first, fragment.last, position, bookie_id) not in whole", [*_CHECKS, *_WORKER],
        where="_LedgerCheck._positions",
    ),
    Plant(
        "marks of the placement check are removed, and nothing moves", "autorecovery/replication/repair.py",
        "await self._place(stored, report, progress)", "", ["tests.autorecovery.replication.test_placement"],
        where="LedgerRepair._rounds",
    ),
    Plant(
        "replicas move that need not", "autorecovery/replication/placement.py",
        "(some for count in range(len(ensemble)) for some in combinations(range(len(ensemble)), count + 1))",
        "(some for count in reversed(range(len(ensemble))) for some in "
        "combinations(range(len(ensemble)), count + 1))",
        ["tests.autorecovery.replication.test_placement"], where="Placement._positions",
    ),
    Plant(
        "the watch is believed of bookies that a mark names", "autorecovery/replication/checker.py",
        "self._presence.gone(metadata.bookies, suspects)", "self._presence.gone(metadata.bookies)", _OPEN,
        where="LedgerChecker.check",
    ),
    Plant(
        "an earlier answer of the store is believed of bookies that a mark names", "autorecovery/presence.py",
        "anew or self._clock.seconds() - self._asked_at >= _FRESH_SECONDS",
        "self._clock.seconds() - self._asked_at >= _FRESH_SECONDS", ["tests.autorecovery.test_presence"],
        where="Presence._ask",
    ),
    Plant(
        "a bookie is gone as soon as the watch does not name it", "autorecovery/presence.py",
        "doubtful - self._writable - self._read_only if doubtful else doubtful", "missing", _CHECKS,
        where="Presence.gone",
    ),
    Plant(
        "a target that failed counts as done", "autorecovery/replication/fragment_replicator.py",
        "target in failed", "False", _COPIES, where="_FragmentWork.done",
    ),
    Plant(
        "a bookie takes the place of another with part of its entries", "ledger/copy_plan.py",
        "target != fragment.ensemble[position] and ends is not None", "False",
        ["tests.ledger.test_copy_plan", *_COPIES], where="losses_of_targets",
    ),
    Plant(
        "a bookie that did not take everything is named", "spark/pipelines/repairs.py",
        "{position: target for position, target in self.targets.items() if position not in self.problems}",
        "{position: target for position, target in self.targets.items()}", ["tests.spark.pipelines.test_repairs"],
        where="FragmentRepair.repaired",
    ),
    Plant(
        "a bulk repair names bookies without its lock", "spark/pipelines/repairs.py",
        "repair.lock.run(partial(self._finish, repair))", "self._finish(repair)",
        ["tests.spark.pipelines.test_repairs"], where="Repairs.end",
    ),
    Plant(
        "a bulk repair completes marks of bookies that it could not check", "spark/pipelines/repairs.py",
        "bool(replicas) and not unsure", "bool(replicas)", ["tests.spark.pipelines.test_repairs"],
        where="LockedLedger.completes",
    ),
    Plant(
        "a bulk repair completes marks that are newer than its check", "spark/pipelines/repairs.py",
        "self._check.marks.get(repair.ledger_id)", "await self._marks.read_mark(repair.ledger_id)",
        ["tests.spark.pipelines.test_repairs"], where="Repairs._finish",
    ),
    Plant(
        "bookies are named although the job that copies has failed", "spark/pipelines/replicate.py",
        "not self._copied", "False", ["tests.spark.pipelines.test_replicate"], where="_RepairBatch.end",
    ),
    Plant(
        "entries that no bookie gave are passed over", "autorecovery/replication/fragment_replicator.py",
        "if copies.unreadable: ...", "if False: ...", _COPIES, where="FragmentReplicator._round",
    ),
    Plant(
        "the newest ensemble of a writer is changed", "ledger/fragments.py",
        "metadata.segments if metadata.closed else metadata.segments[:-1]", "metadata.segments",
        ["tests.ledger.test_fragments"], where="Moves._segments",
    ),
    Plant(
        "the end of a fragment is final while its writer lives", "ledger/fragments.py",
        "metadata.closed or (settled and not is_newest)", "True", ["tests.ledger.test_fragments", *_WORKER],
        where="fragments_of",
    ),
    Plant(
        "the flow of a replicator never ends", "autorecovery/replication/fragment_replicator.py",
        "context.bookies.retire()", "pass", ["tests.autorecovery.replication.test_fragment_replicator"],
        where="FragmentReplicator.repair",
    ),
    Plant(
        "two losses of one single entry are taken for two entries", "autorecovery/replication/repair.py",
        "low <= last and first <= high", "low < last and first < high", _OPEN, where="_overlap",
    ),
    Plant(
        "a writer is fenced for entries on their way", "autorecovery/replication/repair.py",
        "known is not None and (loss.kind is LossKind.GONE or _overlap(loss.ranges, known.ranges))",
        "known is not None", _OPEN, where="_lasting",
    ),
    Plant(
        "writes are not paid for each bookie", "autorecovery/replication/copying.py",
        "self._limits.writes.acquire(n_bytes, len(adds), self._user)",
        "self._limits.writes.acquire(n_bytes // 2, len(adds) // 2)", _COPIES, where="FragmentCopy._write_to",
    ),
    Plant(
        "a read is paid for after it has come", "autorecovery/replication/copying.py",
        "await self._limits.reads.acquire(expected[1], entries, self._user)", "", _COPIES, where="FragmentCopy._pay",
    ),
    Plant(
        "what a check expected to read is not corrected", "autorecovery/replication/bookie_reads.py",
        "self._throttle.correct(n_bytes - expected_bytes, entries - expected)", "", _CHECKS,
        where="BookieReads._settle",
    ),
    Plant(
        "a latency bound watches whole windows", "autorecovery/replication/copying.py",
        "entries == 1", "entries", ["tests.autorecovery.replication.test_latency_probe"],
        where="FragmentCopy._count_read",
    ),
    Plant(
        "a target of a striped ledger that refuses ends all copies", "autorecovery/replication/copying.py",
        "if not self._alive(run.targets):\n    continue", "if not self._alive(run.targets):\n    break",
        ["tests.autorecovery.replication.test_fragment_replicator"], where="FragmentCopy._striped_loads",
    ),
    Plant(
        "a striped replica that is lost is a finding a stripe", "ledger/replica_scan.py",
        "self._schedule.ends(self._position, before.last + 1, one.first - 1) is None", "one.first == before.last + 1",
        ["tests.ledger.test_replica_scan"], where="ReplicaScan._continues",
    ),
    Plant(
        "an answer for all entries counts none", "ledger/replica_scan.py",
        "Finding(first, last, state_of(error), count, detail=str(error))",
        "Finding(first, last, state_of(error), 0, detail=str(error))", ["tests.ledger.test_replica_scan"],
        where="ReplicaScan._rest",
    ),
    Plant(
        "damage is judged by the slice of a log alone", "ledger/replica_scan.py",
        "return", "self._note(Finding(error.entry_id, error.entry_id, DAMAGED, 1, 0, str(error)))\nreturn",
        ["tests.ledger.test_replica_scan", "tests.autorecovery.replication.test_damaged_bookies"],
        where="ReplicaScan._batch",
    ),
    Plant(
        "damage is marked once, whether the store takes it or not", "bookie/maintenance/damaged_ledger_marker.py",
        "continue", "", ["tests.bookie.maintenance.test_scrubber"], where="DamagedLedgerMarker._work",
    ),
    Plant(
        "a recovery forgets that its bookie runs", "cli/commands/recovery.py",
        "await self._recovery.check_gone()", "pass", ["tests.cli.commands.test_recovery"],
        where="_BookiesCommand.run",
    ),
    Plant(
        "a recovery goes on without a metadata store", "autorecovery/operations/bookie_recovery.py",
        "await self._admin.instance_id()", "pass", ["tests.autorecovery.operations.test_bookie_recovery"],
        where="BookieRecovery.recover",
    ),
    Plant(
        "a decommission that begins without a store fails", "autorecovery/operations/decommission.py",
        "await when_reachable(self._clock, self.check, report)", "await self.check()",
        ["tests.autorecovery.operations.test_decommission"], where="Decommission.run",
    ),
    Plant(
        "a decommission over HTTP fails if its client cannot connect yet", "http/autorecovery_api.py",
        "await when_reachable(self._clock, self._connect, report)", "await self._connect()",
        ["tests.http.test_autorecovery_api"], where="AutorecoveryApi._finish",
    ),
    Plant(
        "a decommission takes a store that is away for no ledgers", "autorecovery/operations/decommission.py",
        "remaining.unreachable", "False", ["tests.autorecovery.operations.test_decommission"], where="Decommission.run",
    ),
    Plant(
        "the time without a store uses up the patience of a decommission", "autorecovery/operations/decommission.py",
        "least = -1", "pass", ["tests.autorecovery.operations.test_decommission"], where="Decommission.run",
    ),
    Plant(
        "a list of ledgers that was interrupted counts as whole", "autorecovery/operations/decommission.py",
        "self._is_listed", "True", ["tests.autorecovery.operations.test_decommission"], where="Decommission._remaining",
    ),
    Plant(
        "each attempt without a store is a line of the shell", "cli/commands/decommission.py",
        "not was_unreachable", "True", ["tests.cli.commands.test_decommission"], where="_RemainingReporter.report",
    ),
    Plant(
        "ledgers are renamed before all were looked at", "client/renaming.py",
        "await for_each(self._ledgers.ledger_ids(), self._check, self._at_once)", "", ["tests.client.test_renaming"],
        where="BookieRenaming.run",
    ),
    Plant(
        "a shell does not wait for a command that is interrupted", "cli/main.py",
        "return ended", "return None", ["tests.cli.test_main"], where="interrupt",
    ),
    Plant(
        "inconclusive ledgers are asked again one by one", "autorecovery/auditing/ledger_checks.py",
        "for_each(others, again_if_answered, self.context.scan.parallel)", "for_each(others, again_if_answered, 1)",
        ["tests.autorecovery.auditing.test_ledger_checks"], where="AllLedgersCheck._run",
    ),
    Plant(
        "a writer is fenced for copies that no bookie could take", "autorecovery/replication/repair.py",
        "lasting and (shortage := await self._shortage(stored.value, lasting)) is not None", "False",
        ["tests.autorecovery.replication.test_open_ledgers"], where="LedgerRepair.attempt_after_grace",
    ),
    Plant(
        "a writer is fenced by autorecovery without a word", "autorecovery/replication/repair.py",
        "self._log.info", "self._log.debug", ["tests.autorecovery.replication.test_open_ledgers"],
        where="LedgerRepair._recover",
    ),
    Plant(
        "the grace period hides that no bookie can take the place of a lost one", "autorecovery/replication/repair.py",
        "shortage is not None", "False", ["tests.autorecovery.replication.test_open_ledgers"], where="_verdict",
    ),
    Plant(
        "the grace period hides that older fragments cannot be repaired", "autorecovery/replication/repair.py",
        'reason += f"; older fragments cannot be repaired: {lasting}"', "pass",
        ["tests.autorecovery.replication.test_open_ledgers"], where="_verdict",
    ),
    Plant(
        "a guess at the size of entries counts as known", "ledger/read_answers.py",
        "metadata.closed and count", "metadata.closed or count == 0", ["tests.ledger.test_read_answers"],
        where="usual_size_of",
    ),
    Plant(
        "a check does not learn the size of entries before its end", "autorecovery/replication/bookie_reads.py",
        "self._usual_size.learn(entries, n_bytes)", "pass", _CHECKS, where="BookieReads._settle",
    ),
    Plant(
        "entries of bookies that refuse to answer count as lost", "autorecovery/replication/copying.py",
        "ReplicaReader(context, self._digester, ledger_id, metadata, choose=least_certain)",
        "ReplicaReader(context, self._digester, ledger_id, metadata)", _COPIES, where="FragmentCopy.__init__",
    ),
    Plant(
        "entries whose read was refused count as lost", "autorecovery/replication/copying.py",
        "isinstance(error, NO_COPY)", "not is_transient(error)", _COPIES, where="FragmentCopy._fetch",
    ),
    Plant(
        "entries of a striped ledger whose reads were refused count as lost", "autorecovery/replication/copying.py",
        "isinstance(error, NO_COPY)", "not is_transient(error)", _COPIES, where="FragmentCopy._fetch_each",
    ),
    Plant(
        "a bookie that did not answer counts as one without the entry", "ledger/read_answers.py",
        "unclear[0] if unclear else most_telling(errors)", "most_telling(errors)",
        ["tests.ledger.test_read_answers"], where="least_certain",
    ),
)
