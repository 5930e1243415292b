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

PLANTS = (
    Plant(
        "the bytes of an entry that is not sent any more return in part", "client/writing/batch.py",
        "size += overhead + len(row[3])", "size += len(row[3])", _SHARING,
    ),
    Plant(
        "sealed entries that are not sent any more return too few bytes", "client/writing/batch.py",
        "        size = size if self._adds is None else self.size\n", "", _SHARING,
    ),
    Plant(
        "a batch counts entries that its writer took out", "client/writing/batch.py",
        "        self.size -= size\n" "        self._settings",
        "        self._settings", _FAILURES,
    ),
    Plant(
        "entries of one ledger carry a LAC that was not synced", "client/writing/batch.py",
        "header = pack_headers(first.ledger_id, ids[0], first.confirmed, lengths[0] - sizes[0], sizes)",
        "header = pack_headers(first.ledger_id, ids[0], first.completed, lengths[0] - sizes[0], sizes)", _LACS,
    ),
    Plant(
        "entries of many ledgers carry a LAC that was not synced", "client/writing/batch.py",
        "[writer.confirmed for writer in self._writers], lengths",
        "[writer.completed for writer in self._writers], lengths", _SHARING,
    ),
    Plant(
        "what another bookie gets counts as sent for the first time", "client/writing/batch.py",
        "adds.some(request.places), request, False)", "adds.some(request.places), request, True)", _SHARING,
    ),
    Plant(
        "a batch that is acknowledged before its turn is forgotten", "client/writing/batch.py",
        "                    only.ahead = only.alert = True", "                    pass", _OVERLAP,
    ),
    Plant(
        "a late failure counts as one in time beside another writer's", "client/writing/batch.py",
        "writer.failed(self, request.bookie_id, some, error)",
        "writer.failed(self, request.bookie_id, places, error)", _SHARING,
    ),
    Plant(
        "a ledger has the length of another in its batch", "client/writing/batch.py",
        "            writer.length = length\n", "            writer.length = self._lengths[0]\n", _SHARING,
    ),
    Plant(
        "waiters stay until their batch ends", "client/writing/batch.py",
        "            for place in places:\n" "                waiters[place] = None\n",
        "", _COMPLETION,
    ),
    Plant(
        "entries that completed are sent to another bookie", "client/writing/batch.py",
        "            self._ended |= set_of(places)\n", "", _SHARING,
    ),
    Plant(
        "an entry completes before the one in front of it", "client/writing/batch.py",
        "                break\n" "            places.append(place)",
        "                continue\n" "            places.append(place)", _SHARING,
    ),
    Plant(
        "two bookies that replace others count as one", "client/writing/batch.py",
        "number = len(self._requests) + len(new)", "number = len(self._requests)", _CHANGES,
    ),
    Plant(
        "entries of one batch fail in reverse", "client/writing/batch.py",
        "        waiters = self._take_waiters(places)\n" "        waiters.reverse()\n" "        return waiters",
        "        return self._take_waiters(places)", _SHARING,
    ),
    Plant(
        "the lost entry of another writer ends a writer", "client/writing/batch.py",
        "for p in self.open_places(writer) if lost >> p & 1",
        "for p in range(len(self._writers)) if lost >> p & 1", _SHARING,
    ),
    Plant(
        "a bookie that failed an entry before is replaced for another", "client/writing/batch.py",
        "open_places = self.open_places(writer) if", "open_places = range(len(self._writers)) if", _SHARING,
    ),
    Plant(
        "sealed entries count with too few bytes", "client/writing/batch.py",
        "self.size = adds.offsets[count]", "self.size = adds.offsets[count - 1]", _SHARING,
    ),
    Plant(
        "only the first writer of a batch watches its time", "client/writing/batch.py",
        "for writer in dict.fromkeys(writers):\n" "                writer.watch",
        "for writer in writers[:1]:\n" "                writer.watch", _SHARING,
    ),
    Plant(
        "what has joined a batch takes no part of its bytes", "client/writing/batchers.py",
        "ends[done] + MAX_BYTES - batch.size", "ends[done] + MAX_BYTES", _BATCHERS,
    ),
    Plant(
        "entries join a batch that is sealed", "client/writing/batchers.py",
        "batch, self.open = self.begin(), None", "batch = self.begin()", _SHARING,
    ),
    Plant(
        "sealed entries count twice", "client/writing/batchers.py",
        "size, batch.size = batch.size, 0", "size = batch.size", _SHARING,
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
        "if self._deaf or bookie_id not in self.ensemble:", "if self._deaf:", _SHARING,
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
        "        if self._deaf:\n" "            return\n" "        self.failure = error",
        "        self.failure = error", _CHANGES,
    ),
    Plant(
        "a writer keeps the times of its batches for ever", "client/writing/quorum_writer.py",
        "for each, time in self._times.items() if each in self.batches}",
        "for each, time in self._times.items()}", _CHANGES,
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
        "what is held back is not limited for appends together", "client/writing/base_writer.py",
        "largest > self._largest or self._quorum.in_flight + self._held_size > self._most_held",
        "largest > self._largest or self._quorum.in_flight > self._most_held", _ROOM,
    ),
    Plant(
        "a busy writer appends when its client has no room", "client/writing/base_writer.py",
        "in_flight >= self._max_in_flight or self._budget.used >= self._budget.limit",
        "in_flight >= self._max_in_flight", _ROOM,
    ),
    Plant(
        "what is held back counts without the rest of its frames", "client/writing/base_writer.py",
        "        size += len(payloads) * self._overhead\n", "", _ROOM,
    ),
    Plant(
        "what was held back counts for ever", "client/writing/base_writer.py",
        "            self._held_size -= ends[count]\n", "", _ROOM,
    ),
    Plant(
        "the rest of what was held back has another length", "client/writing/base_writer.py",
        "head.length + ends[count] - count * overhead", "head.length + ends[count]", _ROOM,
    ),
    Plant(
        "a writer with nothing in flight gets no room", "client/writing/base_writer.py",
        "return room if room > 0 or self._quorum.idle else None", "return room if room > 0 else None", _ROOM,
    ),
    Plant(
        "a close waits for ever behind several batches", "client/writing/base_writer.py",
        "return bool(self._held) or self._drained is not None", "return bool(self._held)", _ROOM,
    ),
    Plant(
        "what is held back fails first", "client/writing/base_writer.py",
        "for waiter in (*waiters, *[each.waiter for each in held]):",
        "for waiter in (*[each.waiter for each in held], *waiters):", _ROOM,
    ),
    Plant(
        "a force confirms what is acknowledged meanwhile", "client/writing/base_writer.py",
        "            quorum.confirmed, self._synced_length = completed, length",
        "            quorum.confirmed, self._synced_length = quorum.completed, length", _ROOM,
    ),
    Plant(
        "a force counts the length of what is acknowledged meanwhile", "client/writing/base_writer.py",
        "            quorum.confirmed, self._synced_length = completed, length",
        "            quorum.confirmed, self._synced_length = completed, quorum.length", _ROOM,
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
        "if writer.in_flight or notice.due", "if notice.due", _NOTICES,
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
        "a reply that comes once more confirms the next entry", "protocol/client/outstanding_adds.py",
        "data[at:end] != self.replies[start : start + end - at]",
        "data[at:end] != self.replies[: end - at]", ["tests.protocol.client.test_outstanding_adds.ConfirmedTests"],
    ),
    Plant(
        "the data of an entry confirm an add", "protocol/client/connection.py",
        "        data, at = self._decoder.add(data), 0\n        if self._foretold:\n"
        "            self._finish_adds(self._adds.confirmed(data), None)\n",
        "        chunk, data, at = data, self._decoder.add(data), 0\n        if self._foretold:\n"
        "            self._finish_adds(self._adds.confirmed(chunk), None)\n", ["tests.protocol.client.test_connection"],
    ),
    Plant(
        "what a recovery sends counts as sent for the first time", "client/writing/batch.py",
        "fresh = not self._settings.flags", "fresh = True", _SHARING,
    ),
    Plant(
        "a recovery chooses a bookie that has failed again", "client/writing/ensemble_change.py",
        "{*excluded, *self._failed})", "{*excluded})", ["tests.client.writing.test_ensemble_change"],
    ),
    Plant(
        "a writer ends although its entries can reach their ack quorums", "client/writing/quorum_writer.py",
        "out_of_reach = self._out_of_reach(shortage)", "out_of_reach = shortage or self._out_of_reach(shortage)", _SHORTAGES,
    ),
    Plant(
        "a writer waits for a bookie that none can take the place of", "client/writing/quorum_writer.py",
        "return self._clock.seconds() < self._staying[bookie_id] or not self._changes.has_spare(self.ensemble)",
        "return self._clock.seconds() < self._staying[bookie_id]", _SHORTAGES,
    ),
    Plant(
        "a spare bookie that comes later takes no place", "client/writing/quorum_writer.py",
        "until = self._clock.seconds() + SPARE_SECONDS", "until = float('inf')", _SHORTAGES,
    ),
    Plant(
        "a batch that is not sent yet has failures", "client/writing/batch.py",
        "open_places = self.open_places(writer) if self.sent else ()", "open_places = self.open_places(writer)", _SHORTAGES,
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
        "            self.in_flight.flows.replied(numbers[start], end - start)\n",
        "", ["tests.protocol.client.test_connection"],
    ),
    Plant(
        "any number of replies may be overdue", "protocol/client/connection.py",
        "if self.in_flight.abandoned > _MAX_ABANDONED:", "if False:", ["tests.protocol.client.test_connection"],
    ),
)  # fmt: skip
