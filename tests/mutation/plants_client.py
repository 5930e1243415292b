"""Plants in ``client``."""

from .plant import Plant, TextPlant

_COVERAGE = ["tests.client.reading.test_lac_coverage"]
_VOTES = ["tests.client.recovery.test_recovery_reads"]
_STEPPED = ["tests.client.claims.test_interleavings"]
_ORDER = ["tests.client.claims.test_claim_log_threads.OrderTests"]
_AGAIN = ["tests.client.test_bookkeeper_writers.SentAgainTests"]

_CREATION = "client/writing/ledger_creation.py"
_CREATION_TESTS = ["tests.client.writing.test_ledger_creation"]

PLANTS = (
    Plant(
        "every ensemble size is tried", _CREATION,
        "max(wanted.write_quorum, min(size - 1, len(watcher.writable)))", "size - 1", _CREATION_TESTS,
        where="choose_ensemble",
    ),
    Plant(
        "a ledger is created with any id", _CREATION,
        "check_ledger_id(self.ledger_id)", "pass", _CREATION_TESTS, where="NewLedger.__attrs_post_init__",
    ),
    Plant(
        "all payloads of a trial are made at once", "client/sanity.py",
        "iter(payloads)", "iter(list(islice(payloads, 5000)))", ["tests.client.test_sanity"], where="append_all",
    ),
    Plant(
        "the shell passes any number on as a ledger id", "cli/shell.py",
        "check_ledger_id(value)", "value", ["tests.cli.test_shell"], where="_parser.ledger_id",
    ),
    Plant(
        "an empty value is no value", "cli/shell.py",
        '{"ledger id": ledger_id, "any text": str, "file": _text, str: _text}',
        '{"ledger id": ledger_id, "any text": str, "file": _text}',
        ["tests.cli.test_shell"], where="_parser",
    ),
    Plant(
        "a busy command outlives signals", "cli/main.py",
        "signal.alarm(patience)", "", ["tests.cli.test_main"], where="heed_signals.interrupted",
    ),
    Plant(
        "a mark is read by any number", "metadata/embedded/underreplication.py",
        "check_ledger_id(ledger_id)", "ledger_id", ["tests.metadata.embedded.test_sqlite"],
        where="EmbeddedUnderreplication.read_mark",
    ),
    Plant(
        "a list of all ledgers takes one turn", "client/bookkeeper.py",
        "not count % _LISTED_A_TURN", "False", ["tests.client.test_listing"], where="BookKeeper._listed",
    ),
    Plant(
        "open claims are read before the tail", "client/claims/claim_log.py",
        "committed = self.tail\nfor producer in self._producers:\n"
        "    start = producer.start\n    if 0 <= start < committed:\n        committed = start",
        "starts = [each.start for each in self._producers]\ncommitted = self.tail\n"
        "for start in starts:\n    if 0 <= start < committed:\n        committed = start",
        _STEPPED, where="ClaimLog._committed",
    ),
    Plant(
        "a log is disarmed behind the look", "client/claims/thread_appender.py",
        "log.disarm()\nself._take_up_flushes()\n"
        "if log.lost_from is not None and log.failure is not None: ...\nself._drain()",
        "self._take_up_flushes()\nif log.lost_from is not None and log.failure is not None: ...\n"
        "self._drain()\nlog.disarm()",
        _STEPPED, where="ThreadAppends.look",
    ),
    Plant(
        "a log is disarmed behind the futures", "client/claims/thread_appender.py",
        "log.disarm()\nself._take_up_flushes()", "self._take_up_flushes()\nlog.disarm()", _STEPPED,
        where="ThreadAppends.look",
    ),
    Plant(
        "the sender is called before the log is armed", "client/claims/claim_log.py",
        "self.armed = True\nself._wake()", "self._wake()\nself.armed = True", _STEPPED, where="ClaimLog.wake",
    ),
    Plant(
        "an offer wakes before it commits", "client/claims/producer.py",
        "if self.start is start:\n    self.start = IDLE\n"
        "else:\n    self._revoked()\n"
        "if not log.armed:\n    log.wake()",
        "if not log.armed:\n    log.wake()\n"
        "if self.start is start:\n    self.start = IDLE\n"
        "else:\n    self._revoked()",
        _STEPPED, where="Producer.offer",
    ),
    Plant(
        "an offer decides whether to wake before it commits", "client/claims/producer.py",
        "if self.start is start: ...\nelse: ...\nif not log.armed: ...",
        "armed = log.armed\nif self.start is start: ...\n"
        "else: ...\nif not armed: ...",
        _STEPPED, where="Producer.offer",
    ),
    Plant(
        "a claim's commit wakes first", "client/claims/producer.py",
        "if self.start >= 0: ...\nelse: ...\nself._log.wake()",
        "self._log.wake()\nif self.start >= 0: ...\nelse: ...", _STEPPED, where="Producer.commit",
    ),
    Plant(
        "an abort wakes first", "client/claims/producer.py",
        "self.give_up(self.block)\nself._log.wake()", "self._log.wake()\nself.give_up(self.block)", _STEPPED,
        where="Producer.abort",
    ),
    Plant(
        "a hole is reported when its place is free", "client/claims/producer.py",
        "block.aborted.append((self.start, self.start + self.size))",
        "start, self.start = self.start, IDLE\nblock.aborted.append((start, start + self.size))", _STEPPED,
        where="Producer.give_up",
    ),
    Plant(
        "a flush wakes first", "client/claims/thread_appender.py",
        "self._asked.append((position, future))\nself.log.wake()",
        "self.log.wake()\nself._asked.append((position, future))", _STEPPED, where="ThreadAppends.flush",
    ),
    Plant(
        "a look takes up one future", "client/claims/thread_appender.py",
        "while self._asked: ...", "if self._asked: ...", _STEPPED, where="ThreadAppends._take_up_flushes",
    ),
    TextPlant(
        "a thread begins to wait when the gate is open", "client/claims/claim_log.py",
        "                blocked = _Blocked(producer, self._threads.signal())\n"
        "                self._blocked.append(blocked)\n            finally:\n"
        "                self._restore_limit()\n",
        "            finally:\n                self._restore_limit()\n"
        "        blocked = _Blocked(producer, self._threads.signal())\n        self._blocked.append(blocked)\n",
        _STEPPED,
    ),
    Plant(
        "acknowledgements do not take the lock", "client/claims/claim_log.py",
        "with self._lock: ...", "if self._lock: ...", _STEPPED, where="ClaimLog._advance_acknowledged",
    ),
    Plant(
        "a log is shut without the lock", "client/claims/claim_log.py",
        "with self._lock: ...", "if self._lock: ...", _STEPPED, where="ClaimLog.shut",
    ),
    Plant(
        "a log is trimmed with the gate open", "client/claims/claim_log.py",
        "self.limit = 0", "", _STEPPED, where="ClaimLog.trim",
    ),
    Plant(
        "a claim moves the tail before it is published", "client/claims/claim_log.py",
        "producer.start = self.tail\nself.tail += producer.size",
        "self.tail += producer.size\nproducer.start = self.tail - producer.size", _STEPPED, where="ClaimLog._claim",
    ),
    Plant(
        "an offer overtakes those that wait for room", "client/claims/claim_log.py",
        "ClaimResult.BACK_PRESSURED if self._blocked else self._claim(producer)", "self._claim(producer)", _ORDER,
        where="ClaimLog.claim_slowly",
    ),
    Plant(
        "the gate opens while threads wait for room", "client/claims/claim_log.py",
        "not self._blocked and not self._locked", "not self._locked", _ORDER, where="ClaimLog._restore_limit",
    ),
    Plant(
        "the thread that came last gets room first", "client/claims/claim_log.py",
        "self._blocked.popleft()", "blocked = self._blocked.pop()\nblocked.producer = blocked.producer", _ORDER,
        where="ClaimLog._serve",
    ),
    Plant(
        "a thread that waits no more leaves room unused", "client/claims/claim_log.py",
        "self._serve()", "", _ORDER, where="ClaimLog._withdraw",
    ),
    Plant(
        "an entry is sealed anew when it is sent again", "client/writing/batch.py",
        "self.adds.some(request.indexes)",
        "(lambda adds: Adds(adds.ledger_ids, adds.entry_ids, adds.frames[:44] + bytes(8) + "
        "adds.frames[52:], adds.offsets))(self.adds.some(request.indexes))",
        ["tests.client.writing.test_batch_failures"], where="Batch.ask_again",
    ),
    Plant(
        "explicit LACs are not verified", "ledger/lac_answers.py",
        "digester.verify_lac(ledger_id, packet)", "int.from_bytes(packet[8:16])", _COVERAGE, where="verified_lac",
    ),
    Plant(
        "a recovery goes on behind a hole", "client/recovery/recovery_reads.py",
        "break", "continue", _VOTES, where="RecoveryReads._by_votes",
    ),
    Plant(
        "a recovery goes on behind the highest id", "client/recovery/recovery_reads.py",
        "first == self._end or first > MAX_ENTRY_ID", "first == self._end", _VOTES, where="RecoveryReads.entries_from",
    ),
    Plant(
        "entries behind the highest id are put to the vote", "client/recovery/recovery_reads.py",
        "min(first + self._window, MAX_ENTRY_ID + 1)", "first + self._window", _VOTES, where="RecoveryReads._by_votes",
    ),
    Plant(
        "an error behind found votes loses the entries before it", "client/recovery/recovery_reads.py",
        "if not stored: ...", "...", _VOTES, where="RecoveryReads._by_votes",
    ),
    Plant(
        "a recovery forgets that a bookie refused batch reads", "client/recovery/recovery_reads.py",
        "self._support.refused(source)", "pass", _VOTES, where="RecoveryReads._by_batch",
    ),
    Plant(
        "a reader forgets that a bookie refused batch reads", "ledger/batch_support.py",
        "self._support.refused(bookie_id)", "", ["tests.client.reading.test_replica_reads.SupportTests"],
        where="BatchAttempt.failed",
    ),
    Plant(
        "a tail forgets that a bookie refused batch reads", "client/reading/lac_reads.py",
        "self._support.refused(bookie_id)", "", ["tests.client.reading.test_lac_reads"], where="LacReads._batch_from",
    ),
    Plant(
        "a recovery leaves its flow open", "client/recovery/ledger_recovery.py",
        "self._context.bookies.retire()", "pass", ["tests.client.recovery.test_ledger_recovery_failures"],
        where="LedgerRecovery.run",
    ),
    Plant(
        "news leaves the pause of a tail long", "client/reading/tailing.py",
        "self._pause = FIRST_PAUSE", "pass", ["tests.client.reading.test_tailing.PatienceTests"], where="Tail._news",
    ),
    Plant(
        "a recovery that ends leaves its adds in flight", "client/recovery/ledger_recovery.py",
        "back.abandon()", "pass", ["tests.client.recovery.test_ledger_recovery_failures"],
        where="LedgerRecovery._rescue",
    ),
    Plant(
        "a recovery reads batches where they are off", "client/recovery/ledger_recovery.py",
        "config.netty_max_frame_size_bytes if context.reads_batches(rules.schedule) else 0",
        "config.netty_max_frame_size_bytes",
        ["tests.client.recovery.test_ledger_recovery"], where="LedgerRecovery._rescue",
    ),
    Plant(
        "a recovery reads batches of striped ledgers", "client/reading/context.py",
        "self.config.batch_read_enabled and not schedule.striped", "self.config.batch_read_enabled",
        ["tests.client.recovery.test_ledger_recovery"], where="ReadingContext.reads_batches",
    ),
    Plant(
        "votes go on when a recovery is cancelled", "client/recovery/recovery_reads.py",
        "vote.cancel()", "", _VOTES, where="RecoveryReads._by_votes",
    ),
    Plant(
        "more entries are put to the vote than allowed", "client/recovery/recovery_reads.py",
        "min(2 * self._window, self._max_votes)", "2 * self._window", _VOTES, where="RecoveryReads._by_votes",
    ),
    Plant(
        "a failing batch read puts many entries to the vote", "client/recovery/recovery_reads.py",
        "self._source is not None and not self._gives_batches(self._source)", "self._source is not None", _VOTES,
        where="RecoveryReads._by_votes",
    ),
    Plant(
        "a bookie that does not answer a batch read is asked again before every entry",
        "client/recovery/recovery_reads.py",
        "self._unanswered.add(source)", "", _VOTES, where="RecoveryReads._by_batch",
    ),
    Plant(
        "a recovery forgets that a bookie did not answer batch reads", "client/recovery/recovery_reads.py",
        "self._support.unanswered(poll.source)", "", _VOTES, where="RecoveryReads._vote",
    ),
    Plant(
        "the LAC of bookies that were replaced while they were asked counts", "client/reading/lac_reads.py",
        "asked = metadata.segments[-1]", "asked = view.metadata.segments[-1]",
        ["tests.client.reading.test_lac_reads"], where="LacReads.read",
    ),
    Plant(
        "a step that is cancelled leaves requests under way", "client/reading/read_ahead.py",
        "self.close()", "", ["tests.client.reading.test_read_handle"], where="ReadAhead._something",
    ),
    Plant(
        "a reader gives up where no bookie answers batch reads", "ledger/batch_support.py",
        "self._has_incapable or any(isinstance(error, UNANSWERED) for error in self.errors.values())",
        "self._has_incapable", ["tests.client.reading.test_replica_reads"], where="BatchAttempt.leaves_open",
    ),
    Plant(
        "late replies that come together count as replies to come", "protocol/client/in_flight.py",
        "self.abandoned -= self._by_key", "pass", ["tests.protocol.client.test_sent_reads"], where="InFlight._file",
    ),
    Plant(
        "a late reply leaves its id in use", "protocol/client/in_flight.py",
        "self._reads.remove(scope, (ids[at],))", "pass", ["tests.protocol.client.test_sent_reads"],
        where="InFlight._file",
    ),
    Plant(
        "replies to other reads are filed with those of the first", "protocol/client/in_flight.py",
        "self._reads.of(reads, answered)", "len(answered)", ["tests.protocol.client.test_sent_reads"],
        where="InFlight._file",
    ),
    Plant(
        "replies of several ledgers are taken for replies of the first", "protocol/client/in_flight.py",
        "(0, *changes, len(replies))", "(0, len(replies))", ["tests.protocol.client.test_sent_reads"],
        where="InFlight.answered_reads",
    ),
    Plant(
        "a reply that comes twice stands for two", "protocol/client/sent_reads.py",
        "len(self.ids) - len(self._replies)", "len(self.ids) - len(self._replies) - (len(self._replies) == 1)",
        ["tests.protocol.client.test_sent_reads"], where="SentReads.n_missing",
    ),
    Plant(
        "a range of ids is not compared with the ids of other reads", "protocol/client/sent_reads.py",
        "not known.keys().isdisjoint(ids)", "not isinstance(ids, range) and not known.keys().isdisjoint(ids)",
        ["tests.protocol.client.test_sent_reads"], where="ReadsById.are_in_use",
    ),
    Plant(
        "ids of a ledger that is read no more stay in the index", "protocol/client/sent_reads.py",
        "not known", "False", ["tests.protocol.client.test_sent_reads"], where="ReadsById.remove",
    ),
    Plant(
        "two positions of one bookie are asked for the first of them", "client/reading/replica_reads.py",
        "parts[0] if len(parts) == 1 else sorted(chain.from_iterable(parts))", "parts[0]",
        ["tests.client.reading.test_replica_reads"], where="ReplicaReader._by_bookie",
    ),
    Plant(
        "all entries of a batch are made for the first one", "ledger/entry_batch.py",
        "map(_new_entry, zip(*columns, strict=False))", "iter(list(map(_new_entry, zip(*columns, strict=False))))",
        ["tests.ledger.test_entry_batch"], where="EntryBatch.__iter__",
    ),
    Plant(
        "replies that do not say so have entries", "client/reading/replica_reads.py",
        "None in found or [reply.status for reply in replies].count(Status.EOK) < len(replies)", "None in found",
        ["tests.client.reading.test_replica_reads"], where="ReplicaReader._read_from",
    ),
    Plant(
        "entries that came are not verified together", "ledger/read_answers.py",
        "not self.stored", "self.stored", ["tests.ledger.test_read_answers"], where="SingleReads.check",
    ),
    Plant(
        "entries that came are taken without a look", "ledger/read_answers.py",
        "try: ...\nexcept DigestMatchError:\n    return False", "try: ...\nexcept DigestMatchError:\n    pass",
        ["tests.ledger.test_read_answers"], where="SingleReads._is_sound",
    ),
    Plant(
        "what a bookie gave damaged is not asked of the next while another is slow", "client/reading/replica_reads.py",
        "self._check(reads)\nlacs: dict[str, int] = {}", "lacs: dict[str, int] = {}",
        ["tests.client.reading.test_replica_reads"], where="ReplicaReader._round",
    ),
    Plant(
        "the LAC of a bookie whose entries are damaged counts", "client/reading/replica_reads.py",
        "if bookie_id in reads.gave: ...", "...", ["tests.client.reading.test_replica_reads"],
        where="ReplicaReader._round",
    ),
    Plant(
        "many entries are asked for before the size of one is known", "ledger/read_answers.py",
        "most if self._is_known else min(most, FIRST_ENTRIES)", "most", ["tests.ledger.test_read_answers"],
        where="UsualSize.entries_in",
    ),
)  # fmt: skip
