"""Plants in the encryption of connections, and in what peers may do before they have proven who they are."""

from .plant import Plant

_FIRST = ["tests.bookie.requests.test_encryption"]
_CLIENT = ["tests.client.connections.test_encryption"]
_CONFIG = ["tests.config.test_tls"]
_TOKENS = ["tests.client.connections.test_authentication"]
_SERVER = "protocol/server/connection.py"
_SESSION = "bookie/requests/encryption.py"
_STARTING = "protocol/client/encryption.py"
_LAYER, _LAYERS = "protocol/tls_layer.py", ["tests.protocol.test_tls_layer"]
_RECORDS, _OF_RECORDS = "security/records.py", ["tests.security.test_records"]
_LEFT = ["tests.protocol.test_tls_leftovers"]

_BROKEN = ["tests.protocol.test_broken_tls"]

PLANTS = (
    Plant(
        "a bookie does not count TLS that breaks", _SERVER,
        "self._factory.metrics.broken_tls.value += 1", "pass", _BROKEN,
        where="ServerConnection._no_longer_encrypted",
    ),
    Plant(
        "one way in which TLS breaks hides another", _SERVER,
        "lines.log(self._log.info, 'the TLS connection of {peer} broke: {error}', self.peer, cause=error, error=error)",
        "lines.log(self._log.info, 'the TLS connection of {peer} broke: {error}', self.peer, error=error)", _BROKEN,
        where="ServerConnection._no_longer_encrypted",
    ),
    Plant(
        "a connection that is cut within a record counts as ended", "protocol/server/tls.py",
        "self._ends.is_inside or super().expects_more", "super().expects_more", _BROKEN,
        where="ServerTlsLayer.expects_more",
    ),
    Plant(
        "a connection that is lost while bytes wait counts as cut", "protocol/server/tls.py",
        "not self._arrived and (self._ends.is_inside or super().expects_more)",
        "self._ends.is_inside or super().expects_more", _BROKEN, where="ServerTlsLayer.expects_more",
    ),
    Plant(
        "the end of TLS within a frame counts as a cut", _LAYER,
        "self.getHandle().is_ended", "False", _BROKEN, where="TlsLayer._reason_of",
    ),
    Plant(
        "a connection that this side drops counts as broken", _LAYER,
        "not self._above.is_open or self.disconnecting", "not self._above.is_open", _BROKEN,
        where="TlsLayer._reason_of",
    ),
    Plant(
        "a client does not count TLS that breaks", "client/connections/bookie_peer.py",
        "self.n_broken_tls += _has_broken_tls(socket)", "pass", ["tests.client.connections.test_bookie_peer"],
        where="BookiePeer._ended",
    ),
    Plant(
        "the metric of a certificate's end does not see a new certificate", "security/contexts.py",
        "self._context.get()", "pass", ["tests.security.test_renewal"], where="ServerTls.expires_at",
    ),
    Plant(
        "a bookie does not export the end of its certificate", "bookie/lifecycle/settings.py",
        'watch_certificate(instruments, "bookie", server.expires_at)', "pass",
        ["tests.bookie.lifecycle.test_settings"], where="_encryption",
    ),
    Plant(
        "requests in clear are answered though TLS is required", _SESSION,
        "self._encryption.is_required", "False", _FIRST, where="FirstFrameSession.received",
    ),
    Plant(
        "refused tokens are not counted", "bookie/requests/encryption.py",
        "self._refused.value += 1", "pass", ["tests.bookie.requests.test_authentication"], where="PeerRefusals.refuse",
    ),
    Plant(
        "a peer that need not encrypt has to send something soon", _SESSION,
        "connection.permit_clear()", "pass", _FIRST, where="FirstFrameSession.__init__",
    ),
    Plant(
        "a peer that cannot be served in clear may fill the memory with half a frame", _SERVER,
        "self._decoder.limit(min(LONGEST_TOKEN_FRAME, self._factory.limits.max_frame_size))", "pass", _FIRST,
        where="ServerConnection.expect_hello",
    ),
    Plant(
        "a bookie with optional TLS refuses large frames in clear", _SERVER,
        "self._decoder.limit(self._factory.limits.max_frame_size)", "pass", _FIRST,
        where="ServerConnection.permit_clear",
    ),
    Plant(
        "a connection that was refused in clear stays open", _SESSION,
        "self._connection.end()", "pass", _FIRST, where="FirstFrameSession._refuse",
    ),
    Plant(
        "bytes that came in clear are kept for the session above TLS", _SERVER,
        "rest, self._decoder = self._decoder.rest, self._factory.new_decoder()", "rest = self._decoder.rest", _FIRST,
        where="ServerConnection.encrypt",
    ),
    Plant(
        "a handshake may take for ever", _SERVER,
        "self.expecting_since = self._factory.clock.seconds()", "self.expecting_since = None", _FIRST,
        where="ServerConnection.encrypt",
    ),
    Plant(
        "the certificate of a peer is not looked at", _SERVER,
        "certificate is not None", "False", _CLIENT, where="ServerConnection.handshakeCompleted",
    ),
    Plant(
        "handshakes that fail are not counted", _SERVER,
        "self.state is ConnectionState.ENCRYPTING", "False", _CLIENT, where="ServerConnection.connectionLost",
    ),
    Plant(
        "a token has any length", "bookie/requests/authentication.py",
        "len(request.payload) > MAX_TOKEN", "False", _FIRST, where="AuthenticatingSession._authenticate",
    ),
    Plant(
        "a client goes on in clear with a bookie that has no TLS", _STARTING,
        "isinstance(reply, StartTlsResponse) and reply.status is Status.EOK", "isinstance(reply, StartTlsResponse)",
        _CLIENT, where="EncryptingConnection._begin",
    ),
    Plant(
        "an answer that refuses StartTLS is not named", _STARTING,
        "status in ERROR_OF_STATUS", "False", _CLIENT, where="_refusal",
    ),
    Plant(
        "bytes of a peer are shown if its answer is not one to StartTLS", _STARTING,
        "'its answer was of another kind'", "f'its answer was {reply!r}'", _CLIENT, where="_refusal",
    ),
    Plant(
        "a client takes no notice of bytes in clear behind the answer to StartTLS", _STARTING,
        "if has_more: ...", "", _CLIENT, where="EncryptingConnection._begin",
    ),
    Plant(
        "a client takes no notice of half a frame behind the answer to StartTLS", _STARTING,
        "len(items) > 1 or self._decoder.keeps or error is not None", "len(items) > 1 or error is not None", _CLIENT,
        where="EncryptingConnection.dataReceived",
    ),
    Plant(
        "a client waits for a TLS handshake for ever", "protocol/client/handshake.py",
        "self._clock.callLater(self._timeout, lambda: self._fail(RequestTimeoutError(self._late)))", "None", _CLIENT,
        where="Handshake.connectionMade",
    ),
    Plant(
        "a client that must be authenticated takes a bookie that authenticates nobody",
        "protocol/client/authentication.py",
        "self._is_required and not self._exchange.complete", "False", _TOKENS,
        where="AuthenticatedConnection._not_asked",
    ),
    Plant(
        "a key of TLS without TLS is ignored", "config/tls.py",
        'value not in _OFF | {"false"} and not self.allow_insecure_connections', "False", _CONFIG,
        where="TlsConfig._check",
    ),
    Plant(
        "any class stands for TLS", "config/tls.py",
        "not self.tls_provider_factory_class.endswith(_FACTORY)", "False", _CONFIG, where="TlsConfig._check",
    ),
    Plant(
        "tlsRequired has no effect without TLS", "config/bookie.py",
        "self.tls_required and not self.encrypts", "False", _CONFIG, where="BookieConfig._check_tls",
    ),
    Plant(
        "a bookie answers in clear though its configuration says no", "bookie/lifecycle/settings.py",
        "Encryption(server, config.tls_required)", "Encryption(server)", ["tests.integration.test_tls"],
        where="_encryption",
    ),
    Plant(
        "a bookie's certificate is taken for any host", "client/production.py",
        "await addresses.host_of(bookie_id)", "bookie_id", ["tests.integration.test_tls"], where="tls_to_bookies",
    ),
    Plant(
        "a peer that does not read makes OpenSSL write without end", _LAYER,
        "self.reading_paused or self._is_put_off or self._answers > MAX_ANSWERS",
        "self.reading_paused or self._is_put_off", _LAYERS, where="_LowerTransport._read_or_wait",
    ),
    Plant(
        "reading goes on when the transport is empty, although the connection wants none", _LAYER,
        "self._read_or_wait()", "self._transport.resumeProducing()", _LAYERS, where="_LowerTransport.resumeProducing",
    ),
    Plant(
        "reading goes on when the connection wants it, although answers wait", _LAYER,
        "self._read_or_wait()", "self._transport.resumeProducing()", _LAYERS,
        where="_LowerTransport.set_reading_paused",
    ),
    Plant(
        "two ends that write first wait for each other", _LAYER,
        "self._is_full = True", "self._is_full, self._answers = True, 1 << 20", _LAYERS,
        where="_LowerTransport.pauseProducing",
    ),
    Plant(
        "answers that waited once stop the reading for ever", _LAYER,
        "answers, self._answers = self._answers, 0", "answers = self._answers", _LAYERS,
        where="_LowerTransport.resumeProducing",
    ),
    Plant(
        "answers that wait beneath TLS are no unread bytes", _LAYER,
        "self._answers_wait is not None", "False", _LAYERS, where="_LowerTransport.count_answers",
    ),
    Plant(
        "answers to a large chunk stay in OpenSSL", _RECORDS,
        "len(pieces[-1]) == bufsiz", "False", _OF_RECORDS, where="RecordConnection.bio_read",
    ),
    Plant(
        "only one record of what is encrypted is taken from OpenSSL", _RECORDS,
        "_bio_size(self._from_ssl, _start)", "min(1 << 14, _bio_size(self._from_ssl, _start))", _LAYERS,
        where="RecordConnection.take",
    ),
    Plant(
        "an error of OpenSSL is lost when records are decrypted", _RECORDS,
        "if _error(ssl, count) != _WANT_READ: ...", "", _OF_RECORDS,
        where="RecordConnection.decrypt",
    ),
    Plant(
        "a large chunk is given to OpenSSL whole", _RECORDS,
        "range(0, len(data), GROUP)", "range(0, len(data), len(data))", _OF_RECORDS,
        where="RecordConnection.decrypt",
    ),
    Plant(
        "an error of OpenSSL is lost when records are encrypted", _RECORDS,
        "self._failure = type(error), error.args", "pass", _OF_RECORDS, where="RecordConnection._encrypt",
    ),
    Plant(
        "an error of OpenSSL is raised twice", _RECORDS,
        "failure, self._failure = self._failure, None", "failure = self._failure", _OF_RECORDS,
        where="RecordConnection._raise_failure",
    ),
    Plant(
        "a record is encrypted in part", _RECORDS,
        "at < size", "at == 0", _OF_RECORDS, where="RecordConnection._encrypt",
    ),
    Plant(
        "Twisted's layer does not learn that TLS has ended", _LAYER,
        "self._receive(b'') if records.has_failed else 0", "0", _LAYERS,
        where="TlsLayer._decrypt",
    ),
    Plant(
        "answers of OpenSSL are not sent", _LAYER,
        "if answers: ...", "", _LAYERS, where="TlsLayer._decrypt",
    ),
    Plant(
        "what is written while a connection closes is encrypted", _LAYER,
        "not self.disconnecting", "True", _LAYERS, where="TlsLayer.writeSequence",
    ),
    Plant(
        "a connection goes on when OpenSSL cannot encrypt", _LAYER,
        "not records.has_failed", "True", _LAYERS, where="TlsLayer.writeSequence",
    ),
    Plant(
        "a client never waits for room beneath TLS", _LAYER,
        "implementer(IGatheringTransport, IConsumer)", "implementer(IGatheringTransport)", _LAYERS, where="",
    ),
    Plant(
        "a client does not learn that the transport is full already", _LAYER,
        "if self._is_full: ...", "", _LAYERS, where="_LowerTransport.registerProducer",
    ),
    Plant(
        "a peer that does not answer the end of TLS keeps its connection", _LAYER,
        "self._clock.callLater(SECONDS_TO_CLOSE, self.abortConnection)", "None", _LAYERS,
        where="TlsLayer._close_in_time",
    ),
    Plant(
        "bytes behind the end of TLS are kept", _LAYER,
        "if self._below.is_closing: ...", "", _LAYERS, where="TlsLayer.dataReceived",
    ),
    Plant(
        "the answer to the end of TLS is not read", _LAYER,
        "self._below.set_reading_paused(False)", "", _LAYERS, where="TlsLayer.loseConnection",
    ),
    Plant(
        "a full transport beneath TLS does not close", _LAYER,
        "self._transport.unregisterProducer()", "", _LAYERS, where="_LowerTransport.loseConnection",
    ),
    Plant(
        "the error that ended TLS keeps its frames", _LAYER,
        "reason.cleanFailure()", "", _LEFT, where="_Receiver.connectionLost",
    ),
    Plant(
        "a lost layer keeps its protocol", _LAYER,
        "protocol, self.protocol = self.protocol, None", "protocol = self.protocol", _LEFT,
        where="_Receiver.connectionLost",
    ),
    Plant(
        "a lost layer keeps its producer", _LAYER,
        "self.unregisterProducer()", "", _LEFT, where="TlsLayer.connectionLost",
    ),
    Plant(
        "a lost layer keeps its timer", _LAYER,
        "closing, self._closing = self._closing, None", "closing = self._closing", _LEFT,
        where="TlsLayer.connectionLost",
    ),
    Plant(
        "a lost connection keeps its session's way on", _SERVER,
        "self._encrypted = None", "", _LEFT, where="ServerConnection.connectionLost",
    ),
    Plant(
        "a client whose handshake took too long keeps its timer", "protocol/client/handshake.py",
        "timer, self._timer = self._timer, None", "timer = self._timer", _LEFT, where="Handshake._end_timer",
    ),
    Plant(
        "the end of a peer's bytes is an error with frames", "security/openssl.py",
        "not _is_end(error)", "True", _LEFT, where="EncryptedConnection.recv",
    ),
    Plant(
        "a client's connection refers to itself", "protocol/client/connection.py",
        "ClientConnection._read_reply", "lambda _, reply: self._read_reply(reply)", _LEFT,
        where="ClientConnection.__init__",
    ),
    Plant(
        "a client's closed socket keeps its connection", "client/connections/bookie_socket.py",
        "self.connection = None", "", _CLIENT, where="BookieSocket._disconnected",
    ),
    Plant(
        "a peer that is not authenticated may send frames of any length", "protocol/server/connection.py",
        "min(LONGEST_TOKEN_FRAME, self._factory.limits.max_frame_size)", "self._factory.limits.max_frame_size",
        ["tests.bookie.requests.test_authentication"], where="ServerConnection.enter",
    ),
    Plant(
        "frames stay short after the authentication", "protocol/server/connection.py",
        "self._decoder.limit(self._factory.limits.max_frame_size)", "pass",
        ["tests.bookie.requests.test_authentication"], where="ServerConnection.enter",
    ),
    Plant(
        "an authenticated peer is dropped before untrusted ones", "protocol/server/shared_limits.py",
        "connection.state in _UNTRUSTED", "False", ["tests.protocol.server.test_held_bytes"], where="is_untrusted",
    ),
    Plant(
        "a peer may ask OpenSSL for answers without an end", "protocol/tls_layer.py",
        "self._idle_answers > MAX_IDLE_ANSWERS", "False", ["tests.protocol.test_tls_layer"],
        where="TlsLayer.dataReceived",
    ),
    Plant(
        "a bookie takes the handshake of TLS for a frame", _SERVER,
        "hello is not None and data[:1] == HANDSHAKE", "False", _FIRST, where="ServerConnection._receive",
    ),
    Plant(
        "TLS may begin behind frames in clear", _SERVER,
        "hello, self._hello = self._hello, None", "hello = self._hello", _FIRST,
        where="ServerConnection._receive",
    ),
    Plant(
        "the first bytes of a handshake are lost", _SERVER,
        "self.transport.protocol.dataReceived(data)", "pass", _CLIENT, where="ServerConnection._receive",
    ),
    Plant(
        "a client with direct TLS begins in clear", _STARTING,
        "self._is_direct", "False", _CLIENT, where="EncryptingConnection.connectionMade",
    ),
    Plant(
        "direct TLS is configured and StartTLS is sent", "client/connections/bookie_client.py",
        "config.tls_direct", "False", _CLIENT, where="NetworkBookieClient.__init__",
    ),
    Plant(
        "an endpoint speaks TLS within TLS", "config/bookie.py",
        "self.encrypts and self.listen_endpoint.startswith('ssl:')", "False", _CONFIG, where="BookieConfig._check_tls",
    ),
    Plant(
        "direct TLS is configured and TLS is not", "config/tls.py",
        "value not in _OFF | {'false'} and (not self.allow_insecure_connections)", "False", _CONFIG,
        where="TlsConfig._check",
    ),
)  # fmt: skip
