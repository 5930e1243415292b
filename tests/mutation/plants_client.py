"""Plants in ``client``."""

from .plant import Plant

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
    ),
    Plant(
        "a ledger is created with any id", _CREATION,
        "            check_ledger_id(self.ledger_id)\n", "            pass\n", _CREATION_TESTS,
    ),
    Plant(
        "all payloads of a trial are made at once", "client/sanity.py",
        "rest = iter(payloads)", "rest = iter(list(islice(payloads, 5000)))", ["tests.client.test_sanity"],
    ),
    Plant(
        "the shell passes any number on as a ledger id", "cli/shell.py",
        "            return check_ledger_id(value)\n", "            return value\n", ["tests.cli.test_shell"],
    ),
    Plant(
        "an empty value is no value", "cli/shell.py", "str: _text}", "}", ["tests.cli.test_shell"],
    ),
    Plant(
        "a busy command outlives signals", "cli/main.py",
        "    reactor.callWhenRunning(heed_signals, patience)\n", "", ["tests.cli.test_main"],
    ),
    Plant(
        "a mark is read by any number", "metadata/embedded/underreplication.py",
        "self._store.read_mark, check_ledger_id(ledger_id)", "self._store.read_mark, ledger_id",
        ["tests.metadata.embedded.test_sqlite"],
    ),
    Plant(
        "a list of all ledgers takes one turn", "client/bookkeeper.py",
        "            if not count % _LISTED_A_TURN:\n", "            if False:\n", ["tests.client.test_listing"],
    ),
    Plant(
        "open claims are read before the tail", "client/claims/claim_log.py",
        "        committed = self.tail\n        for producer in self._producers:\n"
        "            start = producer.start\n",
        "        starts = [each.start for each in self._producers]\n        committed = self.tail\n"
        "        for start in starts:\n", _STEPPED,
    ),
    Plant(
        "a log is disarmed behind the look", "client/claims/thread_appender.py",
        "        log.disarm()  # first: what is committed from now on leads to another look\n"
        "        self._take_up_flushes()\n        if log.lost_from is not None and log.failure is not None:\n"
        "            log.abandon(log.failure)\n            return\n        self._drain()\n",
        "        self._take_up_flushes()\n        if log.lost_from is not None and log.failure is not None:\n"
        "            log.abandon(log.failure)\n            return\n        self._drain()\n"
        "        log.disarm()\n", _STEPPED,
    ),
    Plant(
        "a log is disarmed behind the futures", "client/claims/thread_appender.py",
        "        log.disarm()  # first: what is committed from now on leads to another look\n"
        "        self._take_up_flushes()\n",
        "        self._take_up_flushes()\n        log.disarm()\n", _STEPPED,
    ),
    Plant(
        "the sender is called before the log is armed", "client/claims/claim_log.py",
        "            self.armed = True\n            self._wake()",
        "            self._wake()\n            self.armed = True", _STEPPED,
    ),
    Plant(
        "an offer wakes before it commits", "client/claims/producer.py",
        "        # the very number that was stored: where positions are large, comparing takes longer\n"
        "        if self.start is start: self.start = IDLE  # fmt: skip\n        else:\n"
        "            self._revoked()\n        if not log.armed:\n            log.wake()\n",
        "        if not log.armed:\n            log.wake()\n"
        "        # the very number that was stored: where positions are large, comparing takes longer\n"
        "        if self.start is start: self.start = IDLE  # fmt: skip\n        else:\n"
        "            self._revoked()\n", _STEPPED,
    ),
    Plant(
        "an offer decides whether to wake before it commits", "client/claims/producer.py",
        "        # the very number that was stored: where positions are large, comparing takes longer\n"
        "        if self.start is start: self.start = IDLE  # fmt: skip\n        else:\n"
        "            self._revoked()\n        if not log.armed:\n",
        "        armed = log.armed\n"
        "        # the very number that was stored: where positions are large, comparing takes longer\n"
        "        if self.start is start: self.start = IDLE  # fmt: skip\n        else:\n"
        "            self._revoked()\n        if not armed:\n", _STEPPED,
    ),
    Plant(
        "a claim's commit wakes first", "client/claims/producer.py",
        "        if self.start >= 0: self.start = IDLE  # fmt: skip\n        else:\n"
        "            self._revoked()\n        self._log.wake()\n",
        "        self._log.wake()\n        if self.start >= 0: self.start = IDLE  # fmt: skip\n        else:\n"
        "            self._revoked()\n", _STEPPED,
    ),
    Plant(
        "an abort wakes first", "client/claims/producer.py",
        "        self.give_up(self.term)\n        self._log.wake()\n",
        "        self._log.wake()\n        self.give_up(self.term)\n", _STEPPED,
    ),
    Plant(
        "a hole is reported when its place is free", "client/claims/producer.py",
        "            term.aborted.append((self.start, self.start + self.size))\n        self.start = IDLE\n",
        "            start, self.start = self.start, IDLE\n"
        "            term.aborted.append((start, start + self.size))\n        self.start = IDLE\n", _STEPPED,
    ),
    Plant(
        "a flush wakes first", "client/claims/thread_appender.py",
        "        self._asked.append((position, future))\n        self.log.wake()\n",
        "        self.log.wake()\n        self._asked.append((position, future))\n", _STEPPED,
    ),
    Plant(
        "a look takes up one future", "client/claims/thread_appender.py",
        "        while self._asked:", "        if self._asked:", _STEPPED,
    ),
    Plant(
        "a thread begins to wait when the gate is open", "client/claims/claim_log.py",
        "                blocked = _Blocked(producer, self._threads.signal())\n"
        "                self._blocked.append(blocked)\n            finally:\n"
        "                self._open_gate()\n",
        "            finally:\n                self._open_gate()\n"
        "        blocked = _Blocked(producer, self._threads.signal())\n        self._blocked.append(blocked)\n",
        _STEPPED,
    ),
    Plant(
        "acknowledgements do not take the lock", "client/claims/claim_log.py",
        "        with self._lock:\n            self.limit = 0\n            skipped, terms = ",
        "        if self._lock:\n            self.limit = 0\n            skipped, terms = ", _STEPPED,
    ),
    Plant(
        "a log is shut without the lock", "client/claims/claim_log.py",
        "        with self._lock:\n            if self.failure is None:\n",
        "        if self._lock:\n            if self.failure is None:\n", _STEPPED,
    ),
    Plant(
        "a log is trimmed with the gate open", "client/claims/claim_log.py",
        "            self.limit = 0\n            if self._terms and self.tail == self.acknowledged and ",
        "            if self._terms and self.tail == self.acknowledged and ", _STEPPED,
    ),
    Plant(
        "a claim moves the tail before it is published", "client/claims/claim_log.py",
        "        producer.start = self.tail\n        self.tail += producer.size\n",
        "        self.tail += producer.size\n        producer.start = self.tail - producer.size\n", _STEPPED,
    ),
    Plant(
        "an offer overtakes those that wait for room", "client/claims/claim_log.py",
        "ClaimResult.BACK_PRESSURED if self._blocked else self._claim(producer)", "self._claim(producer)", _ORDER,
    ),
    Plant(
        "the gate opens while threads wait for room", "client/claims/claim_log.py",
        "and not self._blocked and not self._locked:", "and not self._locked:", _ORDER,
    ),
    Plant(
        "the thread that came last gets room first", "client/claims/claim_log.py",
        "            self._blocked.popleft()\n",
        "            blocked = self._blocked.pop()\n            blocked.producer = blocked.producer\n", _ORDER,
    ),
    Plant(
        "a thread that waits no more leaves room unused", "client/claims/claim_log.py",
        "                self._blocked.remove(blocked)\n                self._serve()\n",
        "                self._blocked.remove(blocked)\n", _ORDER,
    ),
    Plant(
        "an entry is sealed anew when it is sent again", "client/writing/batch.py",
        "self.adds.some(request.places), request, False)",
        "(lambda adds: Adds(adds.ledger_ids, adds.entry_ids, adds.frames[:44] + bytes(8) + adds.frames[52:], adds.offsets))("
        "self.adds.some(request.places)), request, False)",
        ["tests.client.writing.test_batch_failures"],
    ),
    Plant(
        "explicit LACs are not verified", "client/reading/lac_coverage.py",
        "self._digester.verify_lac(self._ledger_id, lac_packet)", "int.from_bytes(lac_packet[8:16])", _COVERAGE,
    ),
    Plant(
        "a recovery goes on behind a hole", "client/recovery/recovery_reads.py",
        "                    self._end = first + len(stored)\n                    break\n",
        "                    self._end = first + len(stored)\n                    continue\n", _VOTES,
    ),
    Plant(
        "an error behind found votes loses the entries before it", "client/recovery/recovery_reads.py",
        "            if not stored:\n                raise\n", "            raise\n", _VOTES,
    ),
    Plant(
        "a recovery forgets that a bookie refused batch reads", "client/recovery/recovery_reads.py",
        "self._support.refused(source)", "pass", _VOTES,
    ),
    Plant(
        "a reader forgets that a bookie refused batch reads", "client/reading/replica_reads.py",
        "            self._support.refused(bookie_id)\n", "", ["tests.client.reading.test_replica_reads.SupportTests"],
    ),
    Plant(
        "a tail forgets that a bookie refused batch reads", "client/reading/lac_reads.py",
        "            self._support.refused(bookie_id)\n", "", ["tests.client.reading.test_lac_reads"],
    ),
    Plant(
        "a recovery leaves its flow open", "client/recovery/ledger_recovery.py",
        "self._context.bookies.retire()", "pass", ["tests.client.recovery.test_ledger_recovery_failures"],
    ),
    Plant(
        "news leaves the pause of a tail long", "client/reading/tailing.py",
        "            self._pause = FIRST_PAUSE\n        elif", "            pass\n        elif",
        ["tests.client.reading.test_tailing.PatienceTests"],
    ),
    Plant(
        "a recovery that ends leaves its adds in flight", "client/recovery/ledger_recovery.py",
        "        finally:\n" "            back.abandon()\n",
        "        finally:\n" "            pass\n", ["tests.client.recovery.test_ledger_recovery_failures"],
    ),
    Plant(
        "a recovery reads batches where they are off", "client/recovery/ledger_recovery.py",
        "batch_size = config.netty_max_frame_size_bytes if config.batch_read_enabled else 0",
        "batch_size = config.netty_max_frame_size_bytes", ["tests.client.recovery.test_ledger_recovery"],
    ),
    Plant(
        "a recovery reads batches of striped ledgers", "client/recovery/recovery_reads.py",
        "0 if rules.schedule.striped else batch_size", "batch_size", ["tests.client.recovery.test_ledger_recovery"],
    ),
    Plant(
        "votes go on when a recovery is cancelled", "client/recovery/recovery_reads.py",
        "                vote.addErrback(lambda _: None)\n" "                vote.cancel()",
        "                vote.addErrback(lambda _: None)", _VOTES,
    ),
    Plant(
        "more entries are put to the vote than allowed", "client/recovery/recovery_reads.py",
        "min(2 * self._window, self._max_votes)", "2 * self._window", _VOTES,
    ),
    Plant(
        "a failing batch read puts many entries to the vote", "client/recovery/recovery_reads.py",
        " and not self._gives_batches(self._source):", ":", _VOTES,
    ),
    Plant(
        "a bookie that does not answer a batch read is asked again before every entry", "client/recovery/recovery_reads.py",
        "            self._unanswered.add(source)\n", "", _VOTES,
    ),
    Plant(
        "a recovery forgets that a bookie did not answer batch reads", "client/recovery/recovery_reads.py",
        "            self._support.unanswered(poll.source)\n", "", _VOTES,
    ),
    Plant(
        "a reader gives up where no bookie answers batch reads", "client/reading/replica_reads.py",
        "if not attempt.incomplete and not attempt.unanswered:", "if not attempt.incomplete:",
        ["tests.client.reading.test_replica_reads"],
    ),
    Plant(
        "entries that came are not verified together", "ledger/read_answers.py",
        "        if not self.stored and self._is_sound(", "        if self.stored and self._is_sound(",
        ["tests.ledger.test_read_answers"],
    ),
    Plant(
        "entries that came are taken without a look", "ledger/read_answers.py",
        "        except DigestMatchError:\n            return False\n        self.stored", "        except DigestMatchError:\n            pass\n        self.stored",
        ["tests.ledger.test_read_answers"],
    ),
    Plant(
        "what a bookie gave damaged is not asked of the next while another is slow", "client/reading/replica_reads.py",
        "        self._check(reads)  # a round under way has answers\n", "", ["tests.client.reading.test_replica_reads"],
    ),
    Plant(
        "the LAC of a bookie whose entries are damaged counts", "client/reading/replica_reads.py",
        "            if bookie_id in reads.gave:\n                self._heard_lac(lac)\n", "            self._heard_lac(lac)\n",
        ["tests.client.reading.test_replica_reads"],
    ),
    Plant(
        "many entries are asked for before the size of one is known", "ledger/read_answers.py",
        "most if self._is_known else min(most, FIRST_ENTRIES)", "most", ["tests.ledger.test_read_answers"],
    ),
)  # fmt: skip
