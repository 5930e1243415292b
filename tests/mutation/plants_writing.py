"""Plants in ``client/writing`` and in the columns it sends: batches, their writers, completion, changes of bookies."""

from .plant import Plant

_SHARING = ["tests.client.writing.test_batch_sharing"]
_LACS = ["tests.client.recovery.test_write_back"]
_OVERLAP = ["tests.client.writing.test_batch_overlap"]
_COMPLETION = ["tests.client.writing.test_batch_completion.MemoryTests"]
_BATCHERS = ["tests.client.writing.test_batchers.LimitTests"]
_FAILURES = ["tests.client.writing.test_batch_failures"]
_CHANGES = ["tests.client.writing.test_quorum_writer_changes"]
_SHORTAGES = ["tests.client.writing.test_quorum_writer_shortages"]
_ADDS = ["tests.codec.test_adds"]
_ROOM = ["tests.client.writing.test_room"]
_NOTICES = ["tests.client.writing.test_lac_notices"]
_STATES = ["tests.client.writing.test_states"]
_THREADS = ["tests.client.writing.test_write_handle_threads.AppenderTests"]
_FAILED = ["tests.client.writing.test_failed_bookies"]

PLANTS = (
    Plant(
        "the bytes of an entry that is not sent any more return in part", "client/writing/batch.py",
        "overhead + len(row[3])", "len(row[3])", _SHARING, where="Batch.drop",
    ),
    Plant(
        "sealed entries that are not sent any more return too few bytes", "client/writing/batch.py",
        "size if self.adds is None else self.adds.offsets[-1]", "size", _SHARING, where="Batch.drop",
    ),
    Plant(
        "entries of one ledger carry a LAC that was not synced", "client/writing/batchers.py",
        "pack_headers(first.ledger_id, ids[0], first.confirmed, lengths[0] - sizes[0], sizes)",
        "pack_headers(first.ledger_id, ids[0], first.completed, lengths[0] - sizes[0], sizes)", _LACS,
        where="Batcher._seal",
    ),
    Plant(
        "entries of many ledgers carry a LAC that was not synced", "client/writing/batchers.py",
        "[writer.confirmed for writer in writers]", "[writer.completed for writer in writers]", _SHARING,
        where="Batcher._seal",
    ),
    Plant(
        "what another bookie gets counts as sent for the first time", "client/writing/batch.py",
        "False", "True", _SHARING, where="Batch.ask_again",
    ),
    Plant(
        "a batch that is acknowledged before its turn is forgotten", "client/writing/quorum_writer.py",
        "only._ahead = only.alert = True", "pass", _OVERLAP, where="QuorumWriter.reached",
    ),
    Plant(
        "a late failure counts as one in time beside another writer's", "client/writing/quorum_writer.py",
        "writer.failed(batch, bookie_id, some, error)", "writer.failed(batch, bookie_id, index_set, error)", _SHARING,
        where="QuorumWriter.failed_at",
    ),
    Plant(
        "a ledger has the length of another in its batch", "client/writing/quorum_writer.py",
        "writer.length = length", "writer.length = batch.lengths[0]", _SHARING, where="_complete",
    ),
    Plant(
        "waiters stay until their batch ends", "client/writing/batch.py",
        "for index in indexes:\n    self._waiters[index] = None", "", _COMPLETION, where="Batch.take",
    ),
    Plant(
        "entries that completed are sent to another bookie", "client/writing/batch.py",
        "self._ended |= set_of(indexes)", "", _SHARING, where="Batch.take",
    ),
    Plant(
        "an entry completes before the one in front of it", "client/writing/batch.py",
        "break", "continue", _SHARING, where="Batch.acked_next",
    ),
    Plant(
        "two bookies that replace others count as one", "client/writing/batch.py",
        "len(self._requests) + len(new)", "len(self._requests)", _CHANGES, where="Batch.replace",
    ),
    Plant(
        "entries of one batch fail in reverse", "client/writing/batch.py",
        "waiters.reverse()", "", _SHARING, where="Batch.abandon",
    ),
    Plant(
        "the lost entry of another writer ends a writer", "client/writing/batch.py",
        "self.open_indexes(owner)", "range(len(self.owners))", _SHARING, where="Batch.unreachable",
    ),
    Plant(
        "a bookie that failed an entry before is replaced for another", "client/writing/batch.py",
        "self.open_indexes(owner)", "range(len(self.owners))", _SHARING, where="Batch.failed_bookies",
    ),
    Plant(
        "sealed entries count with too few bytes", "client/writing/appends.py",
        "-1", "-2", _SHARING, where="Gatherer.put",
    ),
    Plant(
        "only the first writer of a batch watches its time", "client/writing/batchers.py",
        "dict.fromkeys(writers)", "writers[:1]", _SHARING, where="Batcher._send",
    ),
    Plant(
        "what has joined a batch takes no part of its bytes", "client/writing/appends.py",
        "ends[done] + MAX_BYTES - self.size", "ends[done] + MAX_BYTES", _BATCHERS, where="Gatherer.join_many",
    ),
    Plant(
        "entries join a batch that is sealed", "client/writing/appends.py",
        "batch, self.open = self.begin(), None", "batch = self.begin()", _SHARING, where="Gatherer.put",
    ),
    Plant(
        "sealed entries take no part of the client's bytes", "client/writing/appends.py",
        "self._budget.used += size", "", _SHARING, where="Gatherer._joined",
    ),
    Plant(
        "the writers of a batch that was not sent wait for ever", "client/writing/batchers.py",
        "for writer in dict.fromkeys(writers):\n    "
        "writer.stop(WriteError(f'ledger {writer.ledger_id}: a batch was not sent: {error!r}'))",
        "pass", _SHARING, where="Batcher._send_all",
    ),
    Plant(
        "adds with and without flags share a batch", "client/writing/batchers.py",
        "(digester.digest_type, digester.master_key, schedule.write_quorum, schedule.ack_quorum, flags, "
        "deferred_sync)",
        "(digester.digest_type, digester.master_key, schedule.write_quorum, schedule.ack_quorum, deferred_sync)",
        _SHARING, where="Batchers.batcher",
    ),
    Plant(
        "a writer keeps its batches for ever", "client/writing/quorum_writer.py",
        "while batches and batches[0].sent and (not batches[0].left):\n    del batches[0]", "", _COMPLETION,
        where="QuorumWriter.follow",
    ),
    Plant(
        "the answer of a replaced bookie ends a writer", "client/writing/quorum_writer.py",
        "not self.state.listens or bookie_id not in self.ensemble", "not self.state.listens", _SHARING,
        where="QuorumWriter.failed",
    ),
    Plant(
        "what has its ack quorum fails with the writer", "client/writing/quorum_writer.py",
        "self.advance()\nif error is not None: ...", "if error is not None: ...\nself.advance()", _CHANGES,
        where="QuorumWriter._end_change",
    ),
    Plant(
        "batches of a writer fail in reverse", "client/writing/quorum_writer.py",
        "[waiter for batch in batches for waiter in batch.abandon(self)]",
        "[waiter for batch in batches[::-1] for waiter in batch.abandon(self)]", _FAILURES, where="QuorumWriter.stop",
    ),
    Plant(
        "a writer ends twice", "client/writing/quorum_writer.py",
        "if not self.state.listens:\n    return", "", _CHANGES, where="QuorumWriter.stop",
    ),
    Plant(
        "a writer keeps the times of its batches for ever", "client/writing/quorum_timeout.py",
        "{each: time for each, time in self._begun.items() if self._waits(each)}",
        "{each: time for each, time in self._begun.items()}", _CHANGES, where="QuorumTimeout.watch",
    ),
    Plant(
        "neighbouring adds lose deferred sync", "codec/adds.py",
        "Adds(*ids, frames[start : offsets[last + 1]], bounds, self.deferred_sync)",
        "Adds(*ids, frames[start : offsets[last + 1]], bounds)", _ADDS, where="Adds.some",
    ),
    Plant(
        "adds at some indexes lose deferred sync", "codec/adds.py",
        'Adds(*ids, b"".join(parts), _offsets(sizes), self.deferred_sync)',
        'Adds(*ids, b"".join(parts), _offsets(sizes))', _ADDS, where="Adds.some",
    ),
    Plant(
        "what is held back is not limited for appends together", "client/writing/appends.py",
        "self.joined_bytes - self._quorum.ended_bytes + self._held_size",
        "self.joined_bytes - self._quorum.ended_bytes", _ROOM, where="InOrderWriter.append_many",
    ),
    Plant(
        "a busy writer appends when its client has no room", "client/writing/appends.py",
        "in_flight >= self._max_in_flight or budget.used >= budget.limit", "in_flight >= self._max_in_flight", _ROOM,
        where="AppendingWriter._push",
    ),
    Plant(
        "what is held back counts without the rest of its frames", "client/writing/appends.py",
        "size += len(payloads) * self._overhead", "", _ROOM, where="AppendingWriter._push_many",
    ),
    Plant(
        "what was held back counts for ever", "client/writing/appends.py",
        "self._held_size -= ends[count]", "", _ROOM, where="AppendingWriter._resume",
    ),
    Plant(
        "the rest of what was held back has another length", "client/writing/appends.py",
        "head.length + ends[count] - count * overhead", "head.length + ends[count]", _ROOM,
        where="AppendingWriter._resume",
    ),
    Plant(
        "a writer with nothing in flight gets no room", "client/writing/appends.py",
        "room > 0 or self._quorum.idle", "room > 0", _ROOM, where="AppendingWriter._room",
    ),
    Plant(
        "a close waits for ever behind several batches", "client/writing/base_writer.py",
        "bool(self._held) or self._drained is not None", "bool(self._held)", _ROOM, where="BaseWriter._advanced",
    ),
    Plant(
        "a close waits for ever behind a claim", "client/writing/write_handle.py",
        "log.wake()", "pass", _THREADS, where="LedgerWriter._drop_later",
    ),
    Plant(
        "a close waits for one claim after the other", "client/claims/claim_log.py",
        "now - self._shut_since >= STUCK_SECONDS", "False", _THREADS, where="ClaimLog.unblock",
    ),
    Plant(
        "a close gives up the claims of dead threads only once they are the first", "client/claims/claim_log.py",
        "not producer.alive()", "(producer is oldest and not producer.alive())", _THREADS, where="ClaimLog.unblock",
    ),
    Plant(
        "nothing tells of claims that are given up", "client/claims/thread_appender.py",
        "log.revoked > before", "False", _THREADS, where="ThreadAppends.look",
    ),
    Plant(
        "what is held back fails first", "client/writing/base_writer.py",
        "(*waiters, *self._take_held())", "(*self._take_held(), *waiters)", _ROOM, where="BaseWriter._ended",
    ),
    Plant(
        "a force confirms what is acknowledged meanwhile", "client/writing/base_writer.py",
        "quorum.confirm(completed)", "quorum.confirm(quorum.completed)", _ROOM, where="BaseWriter._force",
    ),
    Plant(
        "a force counts the length of what is acknowledged meanwhile", "client/writing/base_writer.py",
        "self._synced_length = length", "self._synced_length = quorum.length", _ROOM, where="BaseWriter._force",
    ),
    Plant(
        "a force takes back what a later one has confirmed", "client/writing/base_writer.py",
        "completed > quorum.confirmed", "True", _ROOM, where="BaseWriter._force",
    ),
    Plant(
        "bookies are not told of the LAC that a force has moved", "client/writing/base_writer.py",
        "self._ledger.context.notices.sent((quorum,))", "", _ROOM, where="BaseWriter._force",
    ),
    Plant(
        "a writer that waits for bookies is taken for idle", "client/writing/lac_notices.py",
        "not writer.idle or notice.due > now", "notice.due > now", _NOTICES, where="LacNotices._look",
    ),
    Plant(
        "a notice is sent to the bookies of the last entry alone", "client/writing/lac_notices.py",
        "writer.ensemble", "writer.ensemble[: writer.schedule.write_quorum]", _NOTICES, where="LacNotices._send",
    ),
    Plant(
        "one look sends the notices of all writers", "client/writing/lac_notices.py",
        "room -= 1", "", _NOTICES, where="LacNotices._look",
    ),
    Plant(
        "a notice that is not taken is sent at every look", "client/writing/lac_notices.py",
        "notice.due = self._clock.seconds() + notice.retry_delay", "", _NOTICES, where="LacNotices._answered",
    ),
    Plant(
        "the notices of a closed client go on", "client/bookkeeper.py",
        "self._context.notices.stop()", "", ["tests.client.test_bookkeeper"], where="BookKeeper._close",
    ),
    Plant(
        "a closed writer keeps its flow", "client/writing/base_writer.py",
        "self._closing.wait().addBoth(lambda _: self._ledger.bookies.retire())", "", _ROOM, where="BaseWriter.close",
    ),
    Plant(
        "entries behind a gap fail in the order of their calls", "client/writing/adv_write_handle.py",
        "sorted(later)", "later", _ROOM, where="AdvLedgerWriter._drop_later",
    ),
    Plant(
        "a reply that comes once more confirms the next entry", "protocol/client/sent_adds.py",
        "self.replies[start : start + end - at]", "self.replies[: end - at]",
        ["tests.protocol.client.test_in_flight_adds.ConfirmedTests"], where="SentAdds.confirmed",
    ),
    Plant(
        "an acknowledgement of another entry completes an add", "protocol/client/connection.py",
        "if adds.is_mistaken: ...", "pass", ["tests.protocol.client.test_client_wires"],
        where="ClientConnection._complete_adds",
    ),
    Plant(
        "an acknowledgement of another ledger completes an add", "protocol/client/sent_adds.py",
        "self._entry_ids[index] == entry_id and self._ledger_ids[index] == ledger_id",
        "self._entry_ids[index] == entry_id", ["tests.protocol.client.test_in_flight_adds.NamedTests"],
        where="SentAdds.is_entry",
    ),
    Plant(
        "entries of replies out of order are not compared", "protocol/client/sent_adds.py",
        "self._by_number is None and isinstance(indexes, range)", "True",
        ["tests.protocol.client.test_in_flight_adds.NamedTests"], where="NamedEntries.are_those",
    ),
    Plant(
        "the data of an entry confirm an add", "protocol/client/connection.py",
        "if self._decoder.keeps: ...\nat, end = (0, len(data))\n"
        "while at < end and self.wire.add_reply_size:\n    start = at\n"
        "    adds, at = self.in_flight.confirmed(data, start)\n    if at == start:\n"
        "        break\n    if adds is None:\n"
        "        continue\n    try:\n"
        "        adds.done(self._owner.bookie_id, adds.indexes, None)\n    except Exception:\n"
        "        self._log.failure('completing adds failed')\n    if adds.flow.quiet is not None:\n"
        "        self._call_if_quiet(adds)",
        "chunk = data\nif self._decoder.keeps: ...\n"
        "at, end = (0, len(data))\nwhile at < end and self.wire.add_reply_size:\n"
        "    start = at\n    adds, at = self.in_flight.confirmed(chunk, start)\n"
        "    if at == start:\n        break\n"
        "    if adds is None:\n        continue\n"
        "    try:\n        adds.done(self._owner.bookie_id, adds.indexes, None)\n"
        "    except Exception:\n        self._log.failure('completing adds failed')\n"
        "    if adds.flow.quiet is not None:\n        self._call_if_quiet(adds)",
        ["tests.protocol.client.test_connection"], where="ClientConnection.dataReceived",
    ),
    Plant(
        "the encoding with numbers of one connection is sent on another", "protocol/client/connection.py",
        "encoded = wire.encode_adds(adds, first)",
        "encoded = adds.encodings.setdefault(wire, wire.encode_adds(adds, first))",
        ["tests.protocol.client.test_connection_adds"], where="ClientConnection.add",
    ),
    Plant(
        "what a recovery sends counts as sent for the first time", "client/writing/batchers.py",
        "BatchSettings[QuorumWriter](bookies, self._budget.give_back, schedule.write_quorum, "
        "schedule.ack_quorum, fresh=not flags, overhead=FRAME_OVERHEAD + digester.size, "
        "reached=QuorumWriter.reached, failed=QuorumWriter.failed_at)",
        "BatchSettings[QuorumWriter](bookies, self._budget.give_back, schedule.write_quorum, "
        "schedule.ack_quorum, fresh=True, overhead=FRAME_OVERHEAD + digester.size, "
        "reached=QuorumWriter.reached, failed=QuorumWriter.failed_at)",
        _SHARING, where="Batchers._new",
    ),
    Plant(
        "a recovery chooses a bookie that has failed again", "client/writing/ensemble_change.py",
        "{*excluded, *self._failed}", "{*excluded}", ["tests.client.writing.test_ensemble_change"],
        where="RememberedEnsembleChange.replace",
    ),
    Plant(
        "a writer ends although its entries can reach their ack quorums", "client/writing/quorum_writer.py",
        "self._out_of_reach(failures, shortage)", "shortage or self._out_of_reach(failures, shortage)", _SHORTAGES,
        where="QuorumWriter._replace_failed",
    ),
    Plant(
        "a writer waits for a bookie that none can take the place of", "client/writing/quorum_writer.py",
        "self._clock.seconds() < until or not self._changes.has_spare(self.ensemble)",
        "self._clock.seconds() < until", _SHORTAGES, where="QuorumWriter._stays",
    ),
    Plant(
        "a spare bookie that comes later takes no place", "client/writing/failed_bookies.py",
        "now + SPARE_SECONDS", "float('inf')", _SHORTAGES, where="FailedBookies.stay",
    ),
    Plant(
        "a batch that is not sent yet has failures", "client/writing/batch.py",
        "self.open_indexes(owner) if self.sent else ()", "self.open_indexes(owner)", _SHORTAGES,
        where="Batch.failed_bookies",
    ),
    Plant(
        "an idle writer keeps the last batch of its entries", "client/writing/quorum_writer.py",
        "if ended == writer.source.joined_bytes:\n    writer.batches.clear()", "", _COMPLETION, where="_complete",
    ),
    Plant(
        "entries in flight are forgotten with the writer's end", "client/writing/quorum_writer.py",
        "self.ended_bytes = self.source.joined_bytes", "", ["tests.client.writing.test_quorum_writer"],
        where="QuorumWriter.stop",
    ),
    Plant(
        "a full batch takes one more entry of another ledger", "client/writing/appends.py",
        "if batch_size >= MAX_BYTES or len(joined) >= FULL:\n    batcher.open = None", "", _BATCHERS,
        where="AppendingWriter._push",
    ),
    Plant(
        "entries complete during an ensemble change", "client/writing/states.py",
        'State("open, changing its ensemble", appends=True, completes=False)',
        'State("open, changing its ensemble", appends=True, completes=True)', _CHANGES, where="",
    ),
    Plant(
        "a change of bookies ends the close of a writer", "client/writing/states.py",
        "{Event.BOOKIES_FAILED: CHANGING_TO_CLOSE, Event.END: ENDED}",
        "{Event.BOOKIES_FAILED: CHANGING, Event.END: ENDED}", _STATES, where="",
    ),
    Plant(
        "a writer that ended listens on", "client/writing/states.py",
        'State("ended", appends=False, completes=False, listens=False)',
        'State("ended", appends=False, completes=False)', _STATES, where="",
    ),
    Plant(
        "a bookie is replaced again and again in one change", "client/writing/failed_bookies.py",
        "member in failed and (n, member) not in tried", "member in failed", _FAILED, where="FailedBookies.take",
    ),
    Plant(
        "a bookie that failed a moment ago is chosen again", "client/writing/failed_bookies.py",
        "self.useless.update(dict.fromkeys(found.values()))", "", _FAILED, where="FailedBookies.take",
    ),
    Plant(
        "the last error of a bookie explains a shortage", "client/writing/failed_bookies.py",
        "return self._errors.setdefault(bookie_id, error) is error", "self._errors[bookie_id] = error\nreturn True",
        _FAILED, where="FailedBookies.note",
    ),
    Plant(
        "bookies are asked again for a writer that has ended", "client/writing/quorum_writer.py",
        "if self.failure is None: ...", "if True: ...", _SHARING, where="QuorumWriter._resend",
    ),
    Plant(
        "bookies are not told of last entries by default", "config/client.py",
        "15", "0", ["tests.client.reading.test_tailing.DefaultTests"], where="ClientConfig",
    ),
    Plant(
        "the first entry of a ledger comes seconds late", "client/reading/tailing.py",
        "is_empty and began < self._prompt_until", "False", ["tests.client.reading.test_tailing.DefaultTests"],
        where="Tail._news",
    ),
    Plant(
        "every ledger says that it goes on without a bookie", "placement/bookie_watcher.py",
        "[bookie_id for bookie_id in bookies if bookie_id not in self._missed]",
        "[bookie_id for bookie_id in bookies ]", _SHORTAGES, where="BookieWatcher.missed",
    ),
    Plant(
        "a bookie that fails while the metadata store is gone ends a writer", "placement/bookie_watcher.py",
        "try: ...\nexcept MetadataError as error: ...", "try: ...\nexcept ZeroDivisionError as error: ...",
        _SHORTAGES, where="BookieWatcher.replace_bookie",
    ),
    Plant(
        "a flow that was answered has replies to come for ever", "protocol/client/connection.py",
        "for start, end in stretches(numbers) if numbers else ():\n"
        "    self.in_flight.replied(numbers[start], end - start)",
        "", ["tests.protocol.client.test_connection"], where="ClientConnection._add_replies",
    ),
    Plant(
        "any number of replies may be overdue", "protocol/client/connection.py",
        "self.in_flight.abandoned > _MAX_ABANDONED", "False", ["tests.protocol.client.test_connection"],
        where="ClientConnection._scan",
    ),
)  # fmt: skip
