"""Plants in the encryption of connections, and in what peers may do before they have proven who they are."""

from .plant import Plant

_FIRST = ["tests.bookie.requests.test_encryption"]
_CLIENT = ["tests.client.connections.test_encryption"]
_CONFIG = ["tests.config.test_tls"]
_TOKENS = ["tests.client.connections.test_authentication"]
_SERVER = "protocol/server/connection.py"
_SESSION = "bookie/requests/encryption.py"
_STARTING = "protocol/client/encryption.py"

PLANTS = (
    Plant(
        "requests in clear are answered though TLS is required", _SESSION,
        "self._encryption.is_required", "False", _FIRST, where="FirstFrameSession.received",
    ),
    Plant(
        "a peer that need not encrypt has to send something soon", _SESSION,
        "connection.permit_silence()", "pass", _FIRST, where="FirstFrameSession.__init__",
    ),
    Plant(
        "a connection that was refused in clear stays open", _SESSION,
        "self._connection.end()", "pass", _FIRST, where="FirstFrameSession._refuse",
    ),
    Plant(
        "bytes that came in clear are kept for the session above TLS", _SERVER,
        "self._decoder = self._factory.new_decoder()", "", _FIRST, where="ServerConnection.encrypt",
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
        "a client waits for a TLS handshake for ever", _STARTING,
        "self._clock.callLater(self._timeout, self._fail, error)", "None", _CLIENT,
        where="EncryptingConnection.connectionMade",
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
        "Encryption(ServerTls(settings_of(config), seconds), config.tls_required)",
        "Encryption(ServerTls(settings_of(config), seconds))", ["tests.integration.test_tls"], where="_encryption",
    ),
    Plant(
        "a bookie's certificate is taken for any host", "client/production.py",
        "await addresses.host_of(bookie_id)", "bookie_id", ["tests.integration.test_tls"], where="tls_to_bookies",
    ),
)  # fmt: skip
