"""Plants in what keeps one peer from taking the bookie from all others."""

from .plant import Plant

_CONNECTION, _SESSION = "protocol/server/connection.py", "bookie/requests/session.py"
_UNREAD, _POLLS = ["tests.protocol.server.test_unread_replies"], ["tests.bookie.requests.test_lac_processor"]
_FRAMES, _HALVES = "protocol/server/shared_limits.py", ["tests.protocol.server.test_held_bytes"]
_FRAMES_LEFT = ["tests.protocol.server.test_connection"]
_TURNS = ["tests.bookie.requests.test_turns"]
_BIG, _ALL = ["tests.bookie.test_engine_bounds.BigEntryTests"], ["tests.protocol.test_turns"]
_GONE = ["tests.bookie.requests.test_gone_peers"]
_PEERS = "protocol/server/connected_peers.py"

PLANTS = (
    Plant(
        "a connection with unread replies is never evicted", _CONNECTION,
        "stalled if stalled >= SECONDS_STALLED else None", "None", _UNREAD, where="ServerConnection.idle_for",
    ),
    Plant(
        "a peer that reads slowly is taken for one that does not read", _CONNECTION,
        "confirmed != self._last_read[0] or not waits", "not waits", _UNREAD, where="ServerConnection.stalled_for",
    ),
    Plant(
        "unread replies are kept for ever", _PEERS,
        "limits.read_timeout is not None", "False", _UNREAD, where="ConnectedPeers.end_late",
    ),
    Plant(
        "bytes sent by a write event are not counted as read", "protocol/direct_transport.py",
        "self.bytes_accepted += sent", "", ["tests.protocol.test_direct_transport"], where="DirectConnection._drop",
    ),
    Plant(
        "a long poll keeps its connection in use", _SESSION,
        "len(self._serving) - self._polls", "len(self._serving)", _POLLS, where="RequestSession._n_served",
    ),
    Plant(
        "a long poll is as long as the peer says", _SESSION,
        "min(max(0, timeout_ms) / 1000, context.limits.max_poll_time)", "min(max(0, timeout_ms) / 1000, 1e18)",
        _POLLS, where="RequestSession.wait_lac",
    ),
    Plant(
        "one address takes all long polls", _SESSION,
        "context.polls[host] >= context.limits.max_polls_of_a_host", "False", _POLLS, where="RequestSession.wait_lac",
    ),
    Plant(
        "the share of an address counts waits that have ended", _SESSION,
        "context.polls[host] -= 1", "", _POLLS, where="RequestSession.wait_lac",
    ),
    Plant(
        "requests outlive their connection", _SESSION,
        "serving.cancel()", "pass", _GONE, where="RequestSession.lost",
    ),
    Plant(
        "a peer that is gone keeps its place among those that wait for permits", _SESSION,
        "self._awaited.withdraw(self._permitted)", "pass", _GONE, where="RequestSession.lost",
    ),
    Plant(
        "what others get from a peer that is gone is not sent", _CONNECTION,
        "self._factory.outbox.flush()", "pass", _GONE, where="ServerConnection.connectionLost",
    ),
    Plant(
        "LAC requests, forces and lists take no permits", "bookie/requests/request_processor.py",
        "session.admit(self._context.others)", "True", _GONE, where="RequestProcessor._start_cold",
    ),
    Plant(
        "a connection has any number of requests under way", _SESSION,
        "self.has_room and self._n_served < self.context.limits.max_served", "self.has_room", _GONE,
        where="RequestSession.may_begin",
    ),
    Plant(
        "what many requests waited for is made into replies at once", _SESSION,
        "not self.has_room", "False", _GONE, where="RequestSession.room",
    ),
    Plant(
        "what was loaded is made into replies whether there is room or not", "bookie/requests/read_processor.py",
        "session.has_room and not isinstance(found, LoadLaterError)", "not isinstance(found, LoadLaterError)", _GONE,
        where="ReadProcessor._load",
    ),
    Plant(
        "requests begin on a connection that is being closed", _CONNECTION,
        "self._unsent < self._factory.unsent_limit and self.state not in _ENDING",
        "self._unsent < self._factory.unsent_limit", _GONE, where="ServerConnection.has_room",
    ),
    Plant(
        "lists take all threads that read", "bookie/disk_reads.py",
        "not self._is_listing", "True", ["tests.bookie.test_disk_reads"], where="DiskReads.entry_ranges",
    ),
    Plant(
        "a list that was withdrawn is made", "bookie/disk_reads.py",
        "if result.called: ...", "if False: ...", ["tests.bookie.test_disk_reads"], where="DiskReads._list_all",
    ),
    Plant(
        "half frames hold any memory", _FRAMES,
        "self.n_bytes > self._limit", "False", _HALVES, where="HeldBytes.record",
    ),
    Plant(
        "a frame that has just begun is taken for an old one", _FRAMES,
        "if begun: ...", "if False: ...", _HALVES, where="HeldBytes.record",
    ),
    Plant(
        "a half frame counts when its connection is gone", _CONNECTION,
        "self._factory.incomplete.record(self, 0)", "", _HALVES, where="ServerConnection.connectionLost",
    ),
    Plant(
        "each connection dropped for its half frame is a line of the log", _FRAMES,
        "self._dropping = True", "", _HALVES, where="HeldBytes._drop_heaviest",
    ),
    Plant(
        "a chunk of small V2 requests is read in one turn", "codec/v2/requests_in.py",
        "end - at >= LENGTH_SIZE and len(items) < MOST_ITEMS", "end - at >= LENGTH_SIZE", _TURNS, where="scan",
    ),
    Plant(
        "a chunk of small V3 requests is read in one turn", "codec/v3/requests_in.py",
        "len(data) - at >= LENGTH_SIZE and n_parsed < MOST_ITEMS", "len(data) - at >= LENGTH_SIZE", _TURNS,
        where="scan",
    ),
    Plant(
        "all requests of a chunk are begun in one turn", _SESSION,
        "self._may_start() and not turn_is_over()", "self._may_start()", _TURNS, where="RequestSession.pump",
    ),
    Plant(
        "all reads of a run are answered in one turn", "bookie/requests/read_processor.py",
        "pieces[0] is not first and session.connection.turn_is_over()", "False", _TURNS,
        where="ReadProcessor.proceed",
    ),
    Plant(
        "replies that were made in a turn of their own are not sent", "protocol/turns.py",
        "self._flush()", "", _TURNS, where="Turns._serve",
    ),
    Plant(
        "a batch read gathers its entries from any number of places", "bookie/requests/batch_processor.py",
        "if len(gathering.runs) % _MANY_RUNS == _MANY_RUNS - 1 and clock.seconds() - began >= SHARE:\n"
        "    return True",
        "if len(gathering.runs) % _MANY_RUNS == _MANY_RUNS - 1 and clock.seconds() - began >= SHARE:\n    pass",
        _TURNS, where="BatchProcessor._from_memory",
    ),
    Plant(
        "the turn of a connection outlives it", _CONNECTION,
        "self.turns.withdraw(self)", "", ["tests.bookie.requests.test_session"],
        where="ServerConnection.connectionLost",
    ),
    Plant(
        "a peer is read while frames of it are left for later", _CONNECTION,
        "paused or self._waits", "paused", _FRAMES_LEFT, where="ServerConnection.set_reading_paused",
    ),
    Plant(
        "any number of big entries is read for a peer that does not read", "bookie/requests/read_processor.py",
        "size >= most", "False", _BIG, where="ReadProcessor._answer_scattered",
    ),
    Plant(
        "big entries are loaded together, however many were asked for", "bookie/disk_reads.py",
        "room <= 0", "False", _BIG, where="DiskReads._load_all",
    ),
    Plant(
        "each of many reads of a hand-over gets as much as a single one", "bookie/requests/read_processor.py",
        "max(_LOAD_BYTES // len(missing), FIRST_WINDOW)", "1 << 20", _BIG, where="ReadProcessor._load",
    ),
    Plant(
        "replies that are not read hold any memory", _CONNECTION,
        "self._factory.unread.record(self, self._unread)", "", _BIG, where="ServerConnection._count_unread",
    ),
    Plant(
        "replies that were read count as unread", _CONNECTION,
        "self._factory.unread.record(self, 0)", "", _BIG, where="ServerConnection._all_accepted",
    ),
    Plant(
        "the requests of all connections take any time of a turn", "protocol/turns.py",
        "budget.spent >= budget.most", "False", _ALL, where="Turns.is_spent_for",
    ),
    Plant(
        "those who ask for little wait behind all others", "protocol/turns.py",
        "(self._more if is_last else self._little) or self._little or self._much or self._more",
        "self._more or self._much or self._little", _ALL, where="Turns._go_on",
    ),
    Plant(
        "one that asks for little and loses the processor waits behind all others", "protocol/turns.py",
        "not is_small", "True", ["tests.protocol.test_turns"], where="Turns._has_had_share",
    ),
    Plant(
        "one that asks for little has its share by the time of the processor before it came", "protocol/turns.py",
        "self._processed = None", "pass", ["tests.protocol.test_turns"], where="Turns._serve",
    ),
    Plant(
        "a large entry waits behind many small requests", _CONNECTION,
        "self._decoder.has_few(self._put_off, FEW)", "len(self._put_off) <= 4096", _TURNS,
        where="ServerConnection._wait",
    ),
    Plant(
        "a large entry that had to stop waits behind many small requests", _CONNECTION,
        "self._decoder.has_few(data, FEW)", "len(data) <= 4096", _TURNS, where="ServerConnection._receive",
    ),
    Plant(
        "an encrypted entry of several KB waits behind many requests", "protocol/server/tls.py",
        "len(self._arrived) - self._at <= SMALL", "len(self._arrived) - self._at <= 4096",
        ["tests.protocol.server.test_tls_turns"], where="ServerTlsLayer._wait",
    ),
    Plant(
        "many encrypted requests come before few", "protocol/server/tls.py",
        "len(self._arrived) - self._at <= SMALL", "True",
        ["tests.protocol.server.test_tls_turns"], where="ServerTlsLayer._wait",
    ),
    Plant(
        "frames that are buffered already are few", "codec/framing.py",
        "self.ready", "False", ["tests.codec.test_framing"], where="FrameBuffer.has_few",
    ),
    Plant(
        "a frame of unknown length is as long as its bytes say", "codec/framing.py",
        "0 < self.n_bytes < LENGTH_SIZE", "False", ["tests.codec.test_framing"], where="FrameBuffer.has_few",
    ),
    Plant(
        "time that was taken counts in all later turns", "protocol/turns.py",
        "self._trusted.spent = self._untrusted.spent = 0.0", "", _ALL, where="Turns._go_on",
    ),
    Plant(
        "what many requests waited for is answered in one turn", "bookie/requests/request_processor.py",
        "await session.turn()", "", _TURNS, where="RequestProcessor._serve",
    ),
    Plant(
        "every question for the space of the disks is a look at them", "bookie/requests/request_processor.py",
        "asking is None", "True", _TURNS, where="RequestProcessor._info",
    ),
    Plant(
        "a peer with requests under way is in use, read or not", _CONNECTION,
        "self._paused or (self._is_busy and self._gathers and self.transport.unread > 0)", "self._paused", _UNREAD,
        where="ServerConnection.stalled_for",
    ),
    Plant(
        "replies in the kernel count as read", _CONNECTION,
        "self.transport.bytes_accepted - self.transport.unread", "self.transport.bytes_accepted", _UNREAD,
        where="ServerConnection._bytes_confirmed",
    ),
    Plant(
        "every connection for which there is no descriptor is a line of the log", "protocol/direct_transport.py",
        "self._next = now + INTERVAL", "", ["tests.protocol.test_direct_transport.PortTests"],
        where="_OneAMinute.__call__",
    ),
    Plant(
        "where few files may be open there is one connection", "embedding/production.py",
        "limit // _SHARE", "1", ["tests.embedding.test_production"], where="with_descriptors",
    ),
    Plant(
        "a number of HTTP may be spelled as in Python", "http/api.py",
        "whole_number(text)", "int(text)", ["tests.http.test_api"], where="ApiRequest.number",
    ),
    Plant(
        "a number may have digits of any script", "arguments.py",
        "not _WHOLE.fullmatch(text)", "False", ["tests.test_arguments"], where="whole_number",
    ),
    Plant(
        "a request that cannot be read is refused without a word", "http/channel.py",
        "head + text", "head", ["tests.http.test_channel"], where="BoundedChannel.refuse",
    ),
    Plant(
        "each read of a damaged entry is a line in the log", "bookie/disk_reads.py",
        'self._lines.log(self._log.error, "reading ledger {peer} failed: {error}", str(ledger_id), error=error)',
        'self._log.error("reading ledger {peer} failed: {error}", peer=ledger_id, error=error)',
        ["tests.bookie.test_disk_reads"], where="DiskReads._guarded",
    ),
)
