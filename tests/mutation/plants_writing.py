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
_FAILED = ["tests.client.writing.test_failed_bookies"]

PLANTS = (
    Plant(
        "the bytes of an entry that is not sent any more return in part", "client/writing/batch.py",
        "size += overhead + len(row[3])", "size += len(row[3])", _SHARING,
    ),
    Plant(
        "sealed entries that are not sent any more return too few bytes", "client/writing/batch.py",
        "give_back(size if self.adds is None else self.adds.offsets[-1])", "give_back(size)", _SHARING,
    ),
    Plant(
        "entries of one ledger carry a LAC that was not synced", "client/writing/batchers.py",
        "headers = pack_headers(first.ledger_id, ids[0], first.confirmed, lengths[0] - sizes[0], sizes)",
        "headers = pack_headers(first.ledger_id, ids[0], first.completed, lengths[0] - sizes[0], sizes)", _LACS,
    ),
    Plant(
        "entries of many ledgers carry a LAC that was not synced", "client/writing/batchers.py",
        "[writer.confirmed for writer in writers], lengths",
        "[writer.completed for writer in writers], lengths", _SHARING,
    ),
    Plant(
        "what another bookie gets counts as sent for the first time", "client/writing/batch.py",
        "some(request.places), request, False)", "some(request.places), request, True)", _SHARING,
    ),
    Plant(
        "a batch that is acknowledged before its turn is forgotten", "client/writing/quorum_writer.py",
        "            only._ahead = only.alert = True", "            pass", _OVERLAP,
    ),
    Plant(
        "a late failure counts as one in time beside another writer's", "client/writing/quorum_writer.py",
        "writer.failed(batch, bookie_id, some, error)", "writer.failed(batch, bookie_id, bits, error)", _SHARING,
    ),
    Plant(
        "a ledger has the length of another in its batch", "client/writing/quorum_writer.py",
        "        writer.length = length\n", "        writer.length = batch.lengths[0]\n", _SHARING,
    ),
    Plant(
        "waiters stay until their batch ends", "client/writing/batch.py",
        "        for place in places:\n" "            self._waiters[place] = None\n",
        "", _COMPLETION,
    ),
    Plant(
        "entries that completed are sent to another bookie", "client/writing/batch.py",
        "        self._ended |= set_of(places)\n", "", _SHARING,
    ),
    Plant(
        "an entry completes before the one in front of it", "client/writing/batch.py",
        "                break\n" "            places.append(place)",
        "                continue\n" "            places.append(place)", _SHARING,
    ),
    Plant(
        "two bookies that replace others count as one", "client/writing/batch.py",
        "len(self._requests) + len(new), bookie_id", "len(self._requests), bookie_id", _CHANGES,
    ),
    Plant(
        "entries of one batch fail in reverse", "client/writing/batch.py",
        "        _, waiters = self.take(places)\n" "        waiters.reverse()\n",
        "        _, waiters = self.take(places)\n", _SHARING,
    ),
    Plant(
        "the lost entry of another writer ends a writer", "client/writing/batch.py",
        "for p in self.open_places(owner) if lost >> p & 1",
        "for p in range(len(self.owners)) if lost >> p & 1", _SHARING,
    ),
    Plant(
        "a bookie that failed an entry before is replaced for another", "client/writing/batch.py",
        "open_places = self.open_places(owner) if", "open_places = range(len(self.owners)) if", _SHARING,
    ),
    Plant(
        "sealed entries count with too few bytes", "client/writing/appends.py",
        "self._joined(writer, batch, adds.offsets[-1])", "self._joined(writer, batch, adds.offsets[-2])", _SHARING,
    ),
    Plant(
        "only the first writer of a batch watches its time", "client/writing/batchers.py",
        "for writer in dict.fromkeys(writers):\n" "                writer.watch",
        "for writer in writers[:1]:\n" "                writer.watch", _SHARING,
    ),
    Plant(
        "what has joined a batch takes no part of its bytes", "client/writing/appends.py",
        "ends[done] + MAX_BYTES - self.size", "ends[done] + MAX_BYTES", _BATCHERS,
    ),
    Plant(
        "entries join a batch that is sealed", "client/writing/appends.py",
        "batch, self.open = self.begin(), None", "batch = self.begin()", _SHARING,
    ),
    Plant(
        "sealed entries take no part of the client's bytes", "client/writing/appends.py",
        "        self._budget.used += size\n        writer.source", "        writer.source", _SHARING,
    ),
    Plant(
        "the writers of a batch that was not sent wait for ever", "client/writing/batchers.py",
        "for writer in dict.fromkeys(writers):\n"
        "                    writer.stop(WriteError(f\"a batch was not sent: {error!r}\"))",
        "pass", _SHARING,
    ),
    Plant(
        "adds with and without flags share a batch", "client/writing/batchers.py",
        "schedule.ack_quorum, flags, deferred_sync\n" "        )  # fmt: skip\n" "        if",
        "schedule.ack_quorum, deferred_sync\n" "        )  # fmt: skip\n" "        if", _SHARING,
    ),
    Plant(
        "a writer keeps its batches for ever", "client/writing/quorum_writer.py",
        "        while batches and batches[0].sent and not batches[0].left:\n" "            del batches[0]\n",
        "", _COMPLETION,
    ),
    Plant(
        "the answer of a replaced bookie ends a writer", "client/writing/quorum_writer.py",
        "if not self.state.listens or bookie_id not in self.ensemble:", "if not self.state.listens:", _SHARING,
    ),
    Plant(
        "what has its ack quorum fails with the writer", "client/writing/quorum_writer.py",
        "            self.advance()\n" "            if error is not None:\n" "                self.stop(error)",
        "            if error is not None:\n" "                self.stop(error)\n" "            self.advance()",
        _CHANGES,
    ),
    Plant(
        "batches of a writer fail in reverse", "client/writing/quorum_writer.py",
        "for batch in batches for waiter in batch.abandon(self)]",
        "for batch in batches[::-1] for waiter in batch.abandon(self)]", _FAILURES,
    ),
    Plant(
        "a writer ends twice", "client/writing/quorum_writer.py",
        "        if not self.state.listens:\n" "            return\n" "        self.failure = error",
        "        self.failure = error", _CHANGES,
    ),
    Plant(
        "a writer keeps the times of its batches for ever", "client/writing/quorum_timeout.py",
        "for each, time in self._begun.items() if self._waits(each)}",
        "for each, time in self._begun.items()}", _CHANGES,
    ),
    Plant(
        "neighbouring adds lose deferred sync", "codec/adds.py",
        "offsets[last + 1]], bounds, self.deferred_sync)", "offsets[last + 1]], bounds)", _ADDS,
    ),
    Plant(
        "adds at some places lose deferred sync", "codec/adds.py",
        "_offsets(sizes), self.deferred_sync)", "_offsets(sizes))", _ADDS,
    ),
    Plant(
        "what is held back is not limited for appends together", "client/writing/appends.py",
        "largest > self._largest or self.joined_bytes - self._quorum.ended_bytes + self._held_size > self._most_held",
        "largest > self._largest or self.joined_bytes - self._quorum.ended_bytes > self._most_held", _ROOM,
    ),
    Plant(
        "a busy writer appends when its client has no room", "client/writing/appends.py",
        "in_flight >= self._max_in_flight or budget.used >= budget.limit",
        "in_flight >= self._max_in_flight", _ROOM,
    ),
    Plant(
        "what is held back counts without the rest of its frames", "client/writing/appends.py",
        "        size += len(payloads) * self._overhead\n", "", _ROOM,
    ),
    Plant(
        "what was held back counts for ever", "client/writing/appends.py",
        "            self._held_size -= ends[count]\n", "", _ROOM,
    ),
    Plant(
        "the rest of what was held back has another length", "client/writing/appends.py",
        "head.length + ends[count] - count * overhead", "head.length + ends[count]", _ROOM,
    ),
    Plant(
        "a writer with nothing in flight gets no room", "client/writing/appends.py",
        "return room if room > 0 or self._quorum.idle else None", "return room if room > 0 else None", _ROOM,
    ),
    Plant(
        "a close waits for ever behind several batches", "client/writing/base_writer.py",
        "return bool(self._held) or self._drained is not None", "return bool(self._held)", _ROOM,
    ),
    Plant(
        "what is held back fails first", "client/writing/base_writer.py",
        "for waiter in (*waiters, *self._take_held()):",
        "for waiter in (*self._take_held(), *waiters):", _ROOM,
    ),
    Plant(
        "a force confirms what is acknowledged meanwhile", "client/writing/base_writer.py",
        "            quorum.confirm(completed)\n", "            quorum.confirm(quorum.completed)\n", _ROOM,
    ),
    Plant(
        "a force counts the length of what is acknowledged meanwhile", "client/writing/base_writer.py",
        "            self._synced_length = length\n", "            self._synced_length = quorum.length\n", _ROOM,
    ),
    Plant(
        "a force takes back what a later one has confirmed", "client/writing/base_writer.py",
        "        if completed > quorum.confirmed:", "        if True:", _ROOM,
    ),
    Plant(
        "bookies are not told of the LAC that a force has moved", "client/writing/base_writer.py",
        "            self._ledger.context.notices.sent((quorum,))\n", "", _ROOM,
    ),
    Plant(
        "a writer that waits for bookies is taken for idle", "client/writing/lac_notices.py",
        "if not writer.idle or notice.due", "if notice.due", _NOTICES,
    ),
    Plant(
        "a notice is sent to the bookies of the last entry alone", "client/writing/lac_notices.py",
        "for bookie_id in writer.ensemble]", "for bookie_id in writer.ensemble[: writer.schedule.write_quorum]]", _NOTICES,
    ),
    Plant(
        "one look sends the notices of all writers", "client/writing/lac_notices.py",
        "                room -= 1\n", "", _NOTICES,
    ),
    Plant(
        "a notice that is not taken is sent at every look", "client/writing/lac_notices.py",
        "            notice.due = self._clock.seconds() + notice.rest\n", "", _NOTICES,
    ),
    Plant(
        "the notices of a closed client go on", "client/bookkeeper.py",
        "        self._context.notices.stop()\n", "", ["tests.client.test_bookkeeper"],
    ),
    Plant(
        "a closed writer keeps its flow", "client/writing/base_writer.py",
        "            self._closing.wait().addBoth(lambda _: self._ledger.bookies.retire())\n", "", _ROOM,
    ),
    Plant(
        "entries behind a gap fail in the order of their calls", "client/writing/adv_write_handle.py",
        "for entry_id in sorted(later):", "for entry_id in later:", _ROOM,
    ),
    Plant(
        "a reply that comes once more confirms the next entry", "protocol/client/sent_adds.py",
        "data[at:end] != self.replies[start : start + end - at]",
        "data[at:end] != self.replies[: end - at]", ["tests.protocol.client.test_in_flight_adds.ConfirmedTests"],
    ),
    Plant(
        "the data of an entry confirm an add", "protocol/client/connection.py",
        "        if self._decoder.keeps:\n            data = self._decoder.add(data)\n        at, end = 0, len(data)\n"
        "        while at < end and self.wire.add_reply_size:\n            start = at\n"
        "            adds, at = self.in_flight.confirmed(data, start)\n",
        "        chunk = data\n        if self._decoder.keeps:\n            data = self._decoder.add(data)\n"
        "        at, end = 0, len(data)\n"
        "        while at < end and self.wire.add_reply_size:\n            start = at\n"
        "            adds, at = self.in_flight.confirmed(chunk, start)\n", ["tests.protocol.client.test_connection"],
    ),
    Plant(
        "the encoding with numbers of one connection is sent on another", "protocol/client/connection.py",
        "            encoded = wire.encode_adds(adds, first)\n        elif",
        "            encoded = adds.encodings.setdefault(wire, wire.encode_adds(adds, first))\n        elif",
        ["tests.protocol.client.test_connection_adds"],
    ),
    Plant(
        "what a recovery sends counts as sent for the first time", "client/writing/batchers.py",
        "fresh=not flags", "fresh=True", _SHARING,
    ),
    Plant(
        "a recovery chooses a bookie that has failed again", "client/writing/ensemble_change.py",
        "{*excluded, *self._failed})", "{*excluded})", ["tests.client.writing.test_ensemble_change"],
    ),
    Plant(
        "a writer ends although its entries can reach their ack quorums", "client/writing/quorum_writer.py",
        "out_of_reach = self._out_of_reach(failures, shortage)", "out_of_reach = shortage or self._out_of_reach(failures, shortage)", _SHORTAGES,
    ),
    Plant(
        "a writer waits for a bookie that none can take the place of", "client/writing/quorum_writer.py",
        "(self._clock.seconds() < until or not self._changes.has_spare(self.ensemble))",
        "self._clock.seconds() < until", _SHORTAGES,
    ),
    Plant(
        "a spare bookie that comes later takes no place", "client/writing/failed_bookies.py",
        "dict.fromkeys(bookies, now + SPARE_SECONDS)", "dict.fromkeys(bookies, float('inf'))", _SHORTAGES,
    ),
    Plant(
        "a batch that is not sent yet has failures", "client/writing/batch.py",
        "open_places = self.open_places(owner) if self.sent else ()", "open_places = self.open_places(owner)", _SHORTAGES,
    ),
    Plant(
        "an idle writer keeps the last batch of its entries", "client/writing/quorum_writer.py",
        "        if ended == writer.source.joined_bytes:\n            writer.batches.clear()\n", "", _COMPLETION,
    ),
    Plant(
        "entries in flight are forgotten with the writer's end", "client/writing/quorum_writer.py",
        "        self.ended_bytes = self.source.joined_bytes\n        self._ended(error", "        self._ended(error",
        ["tests.client.writing.test_quorum_writer"],
    ),
    Plant(
        "a full batch takes one more entry of another ledger", "client/writing/appends.py",
        "        if batch_size >= MAX_BYTES or len(joined) >= FULL:\n            batcher.open = None\n", "", _BATCHERS,
    ),
    Plant(
        "entries complete during an ensemble change", "client/writing/states.py",
        "CHANGING = State(\"open, changing its ensemble\", appends=True, completes=False)",
        "CHANGING = State(\"open, changing its ensemble\", appends=True, completes=True)", _CHANGES,
    ),
    Plant(
        "a change of bookies ends the close of a writer", "client/writing/states.py",
        "CLOSING: {Event.BOOKIES_FAILED: CHANGING_TO_CLOSE,", "CLOSING: {Event.BOOKIES_FAILED: CHANGING,", _STATES,
    ),
    Plant(
        "a writer that ended listens on", "client/writing/states.py", "completes=False, listens=False)", "completes=False)", _STATES,
    ),
    Plant(
        "a bookie is replaced again and again in one change", "client/writing/failed_bookies.py",
        " and (n, member) not in tried}", "}", _FAILED,
    ),
    Plant(
        "a bookie that failed a moment ago is chosen again", "client/writing/failed_bookies.py",
        "        self.useless.update(dict.fromkeys(found.values()))\n", "", _FAILED,
    ),
    Plant(
        "the last error of a bookie explains a shortage", "client/writing/failed_bookies.py",
        "return self._errors.setdefault(bookie_id, error) is error",
        "self._errors[bookie_id] = error\n        return True", _FAILED,
    ),
    Plant(
        "bookies are asked again for a writer that has ended", "client/writing/quorum_writer.py",
        "                    if self.failure is None:  # a", "                    if True:  # a", _SHARING,
    ),
    Plant(
        "bookies are not told of last entries by default", "config/client.py",
        '"explicitLacInterval", 15,', '"explicitLacInterval", 0,', ["tests.client.reading.test_tailing.DefaultTests"],
    ),
    Plant(
        "the first entry of a ledger comes seconds late", "client/reading/tailing.py",
        "if is_empty and began < self._prompt_until:", "if False:", ["tests.client.reading.test_tailing.DefaultTests"],
    ),
    Plant(
        "every ledger says that it goes on without a bookie", "placement/bookie_watcher.py",
        "if bookie_id not in self._missed]", "]", _SHORTAGES,
    ),
    Plant(
        "a bookie that fails while the metadata store is gone ends a writer", "placement/bookie_watcher.py",
        "except MetadataError as error:", "except ZeroDivisionError as error:", _SHORTAGES,
    ),
    Plant(
        "a flow that was answered has replies to come for ever", "protocol/client/connection.py",
        "        for start, end in stretches(numbers) if numbers else ():\n"
        "            self.in_flight.replied(numbers[start], end - start)\n",
        "", ["tests.protocol.client.test_connection"],
    ),
    Plant(
        "any number of replies may be overdue", "protocol/client/connection.py",
        "if self.in_flight.abandoned > _MAX_ABANDONED:", "if False:", ["tests.protocol.client.test_connection"],
    ),
)  # fmt: skip
