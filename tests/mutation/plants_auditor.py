"""Plants in the auditor, its election and its checks."""

from .plant import Plant

_AUDITOR = ["tests.autorecovery.auditing.test_auditor"]
_LEFT_OUT = ["tests.autorecovery.auditing.test_left_out"]
_CHECKS = ["tests.autorecovery.auditing.test_ledger_checks"]
_WALKS = ["tests.autorecovery.auditing.test_shared_walks"]
_OUTAGE = ["tests.autorecovery.auditing.test_store_outage"]
_ELECTION = ["tests.metadata.zookeeper.test_auditing", "tests.simulation.world.test_metadata"]
_LEADER = ["tests.metadata.zookeeper.election.test_leader_node"]

PLANTS = (
    Plant(
        "a process that has left office exports its count of marked ledgers", "autorecovery/auditing/auditor.py",
        "self._findings.marked = 0", "pass", ["tests.autorecovery.auditing.test_auditor"], where="MarkCount.stop",
    ),
    Plant(
        "an auditor marks when a watch has yet to report that autorecovery is off",
        "autorecovery/auditing/bookie_audit.py", "await self._switch.confirm()", "pass", _AUDITOR, where="Marker.mark",
    ),
    Plant(
        "an auditor that has waited for the switch does not notice that it is on again", "autorecovery/switch.py",
        "told.callback(None) if is_on and not told.called else None", "None", _AUDITOR, where="Switch.confirm",
    ),
    Plant(
        "bookies that an outage of the store has unregistered are lost", "autorecovery/auditing/detection.py",
        "while await self._may_return(self._missing()): ...", "pass", _OUTAGE,
        where="LostBookieDetector._until_settled",
    ),
    Plant(
        "an outage while bookies are waited for does not begin the wait anew", "autorecovery/auditing/detection.py",
        "while await self._may_return(self._missing()): ...", "await self._may_return(self._missing())", _OUTAGE,
        where="LostBookieDetector._until_settled",
    ),
    Plant(
        "an audit after an outage marks for bookies that have yet to register", "autorecovery/auditing/detection.py",
        "while await self._may_return(self._bookies.missing(registered)): ...", "pass", _OUTAGE,
        where="LostBookieDetector._audit_once",
    ),
    Plant(
        "an outage is logged as a new connection, again and again", "autorecovery/auditing/detection.py",
        "not connection.outage()", "True", _OUTAGE, where="LostBookieDetector._may_return",
    ),
    Plant(
        "only the first connection gives bookies time to register", "metadata/zookeeper/session.py",
        "self._connected_at = self.clock.seconds()", "pass", [*_OUTAGE, "tests.metadata.zookeeper.test_driver"],
        where="Session._changed",
    ),
    Plant(
        "the loss of a bookie is not waited for", "autorecovery/auditing/lost_bookies.py",
        "self.delay > 0", "False", _AUDITOR, where="LostBookies._decide",
    ),
    Plant(
        "a bookie that no ledger names ends the delay of another", "autorecovery/auditing/detection.py",
        "self._bookies.leave_out(unnamed)", "", _AUDITOR, where="LostBookieDetector._consider",
    ),
    Plant(
        "the delay of a lost bookie is what one without ledgers leaves of its own",
        "autorecovery/auditing/lost_bookies.py",
        "self.state = Detection.CALM", "", _AUDITOR, where="LostBookies.leave_out",
    ),
    Plant(
        "a bookie that was back during the search for its ledgers is left out", "autorecovery/auditing/detection.py",
        "(unnamed | (lost - named)) - self._back", "unnamed | (lost - named)", _AUDITOR,
        where="LostBookieDetector._consider",
    ),
    Plant(
        "lost bookies are looked into no more after a search that failed", "autorecovery/auditing/detection.py",
        "try: ...\nexcept BookKeeperError as error: ...", "try: ...\nexcept ZeroDivisionError as error: ...",
        _AUDITOR, where="LostBookieDetector._consider",
    ),
    Plant(
        "a search of all ledgers takes a bookie in its delay for lost", "autorecovery/auditing/bookie_audit.py",
        "not is_expected(bookie_id)", "True", _AUDITOR, where="BookieAudit._marking.on_ledger",
    ),
    Plant(
        "a periodic check begins while a lost bookie is waited for", "autorecovery/auditing/detection.py",
        "self.is_waiting", "False", [*_AUDITOR, *_CHECKS], where="LostBookieDetector.when_calm",
    ),
    Plant(
        "a check of all ledgers marks for a bookie in its delay", "autorecovery/auditing/ledger_checks.py",
        "loss.kind is LossKind.GONE and self.is_expected(loss.bookie_id)", "False", _CHECKS,
        where="AllLedgersCheck._is_waited_for",
    ),
    Plant(
        "a bookie that cannot answer has its ledgers marked", "autorecovery/auditing/ledger_checks.py",
        "if bad: ...", "bad.update((i.bookie_id for one in report.fragments for i in one.inconclusive))\nif bad: ...",
        _CHECKS, where="AllLedgersCheck._check",
    ),
    Plant(
        "a check that fails is recorded as done", "autorecovery/auditing/repeating.py",
        '_log.warn("{what}: {error}; again in {pause:.0f} s", what=what, error=error, pause=pause)',
        'return None\n_log.warn("{what}: {error}; again in {pause:.0f} s", what=what, error=error, pause=pause)',
        _CHECKS, where="until_done",
    ),
    Plant(
        "a check that is cut short is recorded as done", "autorecovery/auditing/repeating.py",
        "raise", "return None", _AUDITOR, where="until_done",
    ),
    Plant(
        "checks that are due together have a walk each", "autorecovery/auditing/ledger_scan.py",
        "self._next is None or not self._next.is_open", "True", _WALKS, where="SharedWalks.run",
    ),
    Plant(
        "a check that comes too late joins a walk that has begun", "autorecovery/auditing/ledger_scan.py",
        "not self._next.is_open", "False", [*_CHECKS, *_WALKS], where="SharedWalks.run",
    ),
    Plant(
        "the mark of a lost bookie waits until entries are read", "autorecovery/auditing/ledger_scan.py",
        "item[1][0]", "-item[1][0]", _WALKS, where="_SharedWalk._walk",
    ),
    Plant(
        "a check that fails at a ledger ends the walk of the others", "autorecovery/auditing/ledger_scan.py",
        "if not self._callbacks: ...", "if True:\n    raise", _WALKS, where="_SharedWalk._call_all",
    ),
    Plant(
        "a check that failed at a ledger counts as complete", "autorecovery/auditing/ledger_scan.py",
        "ended.errback(error)", "ended.callback(None)", _WALKS, where="_SharedWalk._call_all",
    ),
    Plant(
        "a walk goes on when everything that shares it has failed", "autorecovery/auditing/ledger_scan.py",
        "if not self._callbacks: ...", "", _WALKS, where="_SharedWalk._call_all",
    ),
    Plant(
        "a walk that fails counts for those that share it", "autorecovery/auditing/ledger_scan.py",
        "ended.errback(result)", "ended.callback(None)", [*_CHECKS, *_WALKS], where="_SharedWalk._ended",
    ),
    Plant(
        "a shared walk goes on after its auditor was stopped", "autorecovery/auditing/ledger_scan.py",
        "self._walking.cancel()", "pass", _WALKS, where="_SharedWalk._leave",
    ),
    Plant(
        "checks walk beside an audit of lost bookies", "autorecovery/auditing/detection.py",
        "self._auditing_now is None", "True", _WALKS, where="LostBookieDetector.when_calm",
    ),
    Plant(
        "checks that wait for an audit are not told of its end", "autorecovery/auditing/detection.py",
        "self._fire_waiting()", "", _WALKS, where="LostBookieDetector._audited",
    ),
    Plant(
        "lost bookies are searched for again after an audit", "autorecovery/auditing/bookie_audit.py",
        "self.ended_ms = self.now_ms()", "self.ended_ms = None", _WALKS, where="BookieAudit.run",
    ),
    Plant(
        "a check writes the mark again that an audit has made", "autorecovery/auditing/ledger_checks.py",
        "gone.difference(await marker.marked_bookies(ledger_id) or ())", "gone", _WALKS, where="AllLedgersCheck._check",
    ),
    Plant(
        "lost entries do not renew a mark that names their bookie", "autorecovery/auditing/ledger_checks.py",
        "bad |= gone.difference(await marker.marked_bookies(ledger_id) or ())",
        "bad.difference_update(await marker.marked_bookies(ledger_id) or ())", _WALKS, where="AllLedgersCheck._check",
    ),
    Plant(
        "a ledger that is asked again is marked again", "autorecovery/auditing/ledger_checks.py",
        "loss not in known", "True", _CHECKS, where="AllLedgersCheck._check",
    ),
    Plant(
        "another loss of a ledger that is asked again is left out", "autorecovery/auditing/ledger_checks.py",
        "loss not in known", "not known", _CHECKS, where="AllLedgersCheck._check",
    ),
    Plant(
        "the first call that fails does not end a walk", "client/steps.py",
        "if self._failure is not None:\n    self._failure.raiseException()", "",
        [*_AUDITOR, *_CHECKS, "tests.client.test_steps"], where="_Crew.down_to",
    ),
    Plant(
        "a walk goes on after its auditor was stopped", "client/steps.py",
        "running.cancel()", "pass", [*_AUDITOR, "tests.client.test_steps"], where="_Crew.cancel",
    ),
    Plant(
        "an auditor out of office goes on", "autorecovery/auditing/auditor.py",
        "auditor.stop()", "pass", _AUDITOR, where="AuditorElection._dismiss",
    ),
    Plant(
        "a loss during an audit is forgotten", "autorecovery/auditing/detection.py",
        "self._audit_again = True", "", _AUDITOR, where="LostBookieDetector._start_audit",
    ),
    Plant(
        "work goes on while autorecovery is switched off", "autorecovery/switch.py",
        "if self.is_on: ...", "if True: ...", ["tests.autorecovery.replication.test_worker"], where="Switch.wait",
    ),
    Plant(
        "the loss of an auditor's vote is not noticed", "metadata/zookeeper/election/votes.py",
        'self._znodes.exists(f"{self._path}/{self._vote}", watch)',
        'self._znodes.exists(f"{self._path}/{self._vote}")', _ELECTION, where="VoteCandidacy._stand",
    ),
    Plant(
        "an auditor whose session has expired stays in office", "metadata/zookeeper/auditing.py",
        "self._candidacy.lose()", "pass", _ELECTION, where="ZooKeeperAuditing._expired",
    ),
    Plant(
        "an auditor without a connection stays in office", "metadata/zookeeper/election/candidacy.py",
        "self.lose()", "", _ELECTION, where="Candidacy._look",
    ),
    Plant(
        "a candidate votes again after a lost answer", "metadata/zookeeper/election/votes.py",
        "own = await self._own(votes)", "own: list[str] = []", _ELECTION, where="VoteCandidacy._cast",
    ),
    Plant(
        "a cluster of Pulsar gets a second auditor by votes", "metadata/zookeeper/auditing.py",
        "self._of_pulsar", "False", _LEADER, where="ZooKeeperAuditing.stand",
    ),
    Plant(
        "a voter takes office beside Pulsar's leader", "metadata/zookeeper/election/votes.py",
        "own is not None and leader is None", "own is not None", _LEADER, where="VoteCandidacy._stand",
    ),
    Plant(
        "a leader keeps its node beside a voter", "metadata/zookeeper/election/leader_node.py",
        "votes and leads", "False", _LEADER, where="LeaderCandidacy._stand",
    ),
    Plant(
        "the loss of the leader's node is not noticed", "metadata/zookeeper/election/leader_node.py",
        "self._znodes.exists(self._path, watch)", "self._znodes.exists(self._path)", _LEADER,
        where="LeaderCandidacy._stand",
    ),
    Plant(
        "a candidate that withdraws ends the office of another", "metadata/zookeeper/election/leader_node.py",
        "stat is not None and self._owns(stat.owner)", "stat is not None", _LEADER, where="LeaderCandidacy.remove",
    ),
    Plant(
        "a bookie is lost since the restart of the auditor", "autorecovery/auditing/loss_log.py",
        "self._lost_before = frozenset(missing)", "self._lost_before = frozenset()",
        ["tests.autorecovery.auditing.test_auditor"], where="LossLog.bookies_are",
    ),
    Plant(
        "a bookie that was back is lost before the auditor began", "autorecovery/auditing/loss_log.py",
        "self._lost_before -= frozenset(available)", "pass",
        ["tests.autorecovery.auditing.test_auditor"], where="LossLog.bookies_are",
    ),
    Plant(
        "one ledger whose metadata cannot be decoded ends every walk", "metadata/undecoded.py",
        "self.ids.add(ledger_id)", "raise",
        ["tests.autorecovery.auditing.test_shared_walks"], where="UndecodedLedgers.read",
    ),
    Plant(
        "a ledger that an audit cannot read waits for the next audit", "autorecovery/auditing/ledger_scan.py",
        "UndecodedLedgers(self.noted)", "UndecodedLedgers()", _LEFT_OUT, where="LedgerScan.run",
    ),
    Plant(
        "ledgers that an audit cannot read are read again once", "autorecovery/auditing/left_out.py",
        "self._changed(False)", "pass", _LEFT_OUT, where="LeftOutAudits._ended",
    ),
    Plant(
        "ledgers that can never be read are read every ten seconds", "autorecovery/auditing/left_out.py",
        "self._pause = min(2 * self._pause, LONGEST_PAUSE)", "pass", _LEFT_OUT, where="LeftOutAudits._begin",
    ),
    Plant(
        "a new audit leaves the long pause before ledgers are read again", "autorecovery/auditing/left_out.py",
        "self._timer.reset(self._pause)", "pass", _LEFT_OUT, where="LeftOutAudits._changed",
    ),
    Plant(
        "an audit judges a ledger that a later audit has left out", "autorecovery/auditing/bookie_audit.py",
        "self.ids.get(ledger_id, begun + 1) <= begun", "ledger_id in self.ids", _LEFT_OUT,
        where="LeftOutLedgers.judged",
    ),
    Plant(
        "a deleted ledger is left out for ever", "autorecovery/auditing/bookie_audit.py",
        "self.left_out.judged(ledger_id, begun)", "pass", _LEFT_OUT, where="BookieAudit.run_again.one",
    ),
    Plant(
        "an auditor out of office reads ledgers again", "autorecovery/auditing/left_out.py",
        "timer.cancel()", "pass", _LEFT_OUT, where="LeftOutAudits.stop",
    ),
)  # fmt: skip
