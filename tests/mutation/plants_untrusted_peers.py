"""Plants in what keeps untrusted peers from taking the bookie from all others."""

from .plant import Plant

_TURNS, _ALL = "protocol/turns.py", ["tests.protocol.test_turns"]
_TLS, _CONNECTION = "protocol/server/tls.py", "protocol/server/connection.py"
_GREETING = "protocol/server/greeting.py"
_OF_TLS = ["tests.protocol.server.test_tls_turns"]
_OF_CHUNKS = ["tests.protocol.server.test_chunks"]
_HTTP, _OF_HTTP = "http/encryption.py", ["tests.http.test_encryption"]
_ENDS, _OF_ENDS = "security/records.py", ["tests.security.test_records"]

PLANTS = (
    Plant(
        "peers that are not let in use the time of those that are", _TURNS,
        "self._untrusted if is_untrusted else self._trusted", "self._trusted", _ALL, where="Turns.begin",
    ),
    Plant(
        "all peers that are not let in have their turn at once", _TURNS,
        "if self.is_spent_for(is_untrusted=True): ...", "", _ALL, where="Turns._go_on",
    ),
    Plant(
        "handshakes that begin wait until none goes on", _TURNS,
        "self._beginning if self._last_untrusted is self._entering else self._entering", "self._entering", _ALL,
        where="Turns._go_on",
    ),
    Plant(
        "those who send much keep those who had a share from going on", _TURNS,
        "self._trusted.spent >= TURN - SHARE", "False", _ALL, where="Turns._go_on",
    ),
    Plant(
        "one that had no share waits behind those who had one", _TURNS,
        "self._more if self._has_had_share(is_small) else self._little", "self._more", _ALL, where="Turns.wait",
    ),
    Plant(
        "one whose turn fails keeps its connection", _TURNS,
        "connection.abort()", "", _ALL, where="Turns._serve",
    ),
    Plant(
        "requests of a peer that is not let in are refused chunk by chunk", _CONNECTION,
        "len(data) > UNTRUSTED_PIECE", "False", _OF_TLS, where="ServerConnection._receive",
    ),
    Plant(
        "refused requests count as those of peers that are let in", _CONNECTION,
        "self.is_untrusted", "False", _OF_TLS, where="ServerConnection._wait",
    ),
    Plant(
        "who sends requests all the time need not be let in in time", _CONNECTION,
        "self._waits and not self.is_untrusted", "self._waits", _OF_TLS, where="ServerConnection.is_late",
    ),
    Plant(
        "much is received at a time from a peer that is not let in", _CONNECTION,
        "min(self._factory.limits.chunk, UNTRUSTED_CHUNK)", "self._factory.limits.chunk", _OF_TLS,
        where="ServerConnection.connectionMade",
    ),
    Plant(
        "little is received at a time from a peer that is let in", _CONNECTION,
        "self._socket.bufferSize = self._factory.limits.chunk", "pass", _OF_TLS, where="ServerConnection.enter",
    ),
    Plant(
        "chunks of quick requests do not grow", _CONNECTION,
        "seconds < QUICK", "False", _OF_CHUNKS, where="ServerConnection.fit_chunk",
    ),
    Plant(
        "a chunk that was not full makes the next one larger", _CONNECTION,
        "2 * n_bytes > socket.bufferSize", "True", _OF_CHUNKS, where="ServerConnection.fit_chunk",
    ),
    Plant(
        "a small chunk that took long makes the next ones smaller", _CONNECTION,
        "n_bytes <= FULL_CHUNK", "False", _OF_CHUNKS, where="ServerConnection.fit_chunk",
    ),
    Plant(
        "chunks of slow requests stay as large", _CONNECTION,
        "seconds > SLOW", "False", _OF_CHUNKS, where="ServerConnection.fit_chunk",
    ),
    Plant(
        "chunks grow without a limit", _CONNECTION,
        "min(2 * socket.bufferSize, most)", "2 * socket.bufferSize", _OF_CHUNKS,
        where="ServerConnection.fit_chunk",
    ),
    Plant(
        "chunks grow however many connections there are", _CONNECTION,
        "len(self._factory.peers) <= FEW_PEERS", "True", _OF_CHUNKS, where="ServerConnection.fit_chunk",
    ),
    Plant(
        "chunks stay large when many have connected", _CONNECTION,
        "socket.bufferSize > most", "False", _OF_CHUNKS, where="ServerConnection.fit_chunk",
    ),
    Plant(
        "chunks within TLS do not grow", _TLS,
        "connection.fit_chunk(len(data), turns.end())", "turns.end()", _OF_CHUNKS, where="ServerTlsLayer.dataReceived",
    ),
    Plant(
        "first flights after StartTLS are all processed in one turn", _GREETING,
        "turns.is_spent_for(True)", "False", _OF_TLS, where="Greeting._begin_in_turn",
    ),
    Plant(
        "a handshake that waits is read from", _GREETING,
        "self._connection.transport.pauseProducing()", "pass", _OF_TLS, where="Greeting._begin_in_turn",
    ),
    Plant(
        "a connection that was lost has its turn for a handshake", _GREETING,
        "self._connection.turns.withdraw(self)", "pass", _OF_TLS, where="Greeting.connectionLost",
    ),
    Plant(
        "all records of a chunk are decrypted in one turn", _TLS,
        "self._arrived and self._turns.is_over()", "False", _OF_TLS, where="ServerTlsLayer._work",
    ),
    Plant(
        "records are decrypted when the turn is spent", _TLS,
        "turns.is_spent_for(untrusted)", "False", _OF_TLS, where="ServerTlsLayer.dataReceived",
    ),
    Plant(
        "what arrives on a connection that is being dropped is kept", _TLS,
        "not self._below.is_closing", "True", _OF_TLS, where="ServerTlsLayer.dataReceived",
    ),
    Plant(
        "a peer is read while records of it wait", _TLS,
        "self._below.put_off(True)", "pass", _OF_TLS, where="ServerTlsLayer._wait",
    ),
    Plant(
        "a peer whose records have waited is never read again", _TLS,
        "self._below.put_off(False)", "pass", _OF_TLS, where="ServerTlsLayer.take_turn",
    ),
    Plant(
        "records are decrypted for a connection that must not be read", _TLS,
        "not below.reading_paused", "True", _OF_TLS, where="ServerTlsLayer._work",
    ),
    Plant(
        "records that waited for a connection stay where they are", _TLS,
        "if self._arrived: ...", "", _OF_TLS, where="ServerTlsLayer.resumeProducing",
    ),
    Plant(
        "the records of a connection that was lost have their turn", _TLS,
        "self._turns.withdraw(self)", "pass", _OF_TLS, where="ServerTlsLayer.connectionLost",
    ),
    Plant(
        "a head of a record in two chunks is not seen", _ENDS,
        "self._head + data[at:at + missing]", "data[at:at + missing]", _OF_ENDS, where="RecordEnds.find",
    ),
    Plant(
        "a body of a record in two chunks is taken for a head", _ENDS,
        "if self._body: ...", "", _OF_ENDS, where="RecordEnds.find",
    ),
    Plant(
        "records over HTTPS do not take turns", _HTTP,
        "if not self._arrived: ...", "if self._channel.handshaken:\n    super().dataReceived(data)\n    return",
        _OF_HTTP, where="EncryptedHttpConnection.dataReceived",
    ),
)  # fmt: skip
