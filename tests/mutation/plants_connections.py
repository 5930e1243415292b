"""Plants in transports, in the authentication of connections, and in the administration of a bookie."""

from .plant import Plant

_GATE, _HANDSHAKE = "bookie/requests/authentication.py", "protocol/client/authentication.py"
_GATED, _SHAKEN = ["tests.bookie.requests.test_authentication"], ["tests.client.connections.test_authentication"]
_TRANSPORT, _SENT = "protocol/direct_transport.py", ["tests.protocol.test_direct_transport"]
_SERVER, _SERVED = "protocol/server/connection.py", ["tests.protocol.server.test_connection"]
_LINES = ["tests.protocol.test_peer_lines"]
_ADMIN, _ASKED = "bookie/lifecycle/admin.py", ["tests.bookie.lifecycle.test_admin"]
_PEERS = "protocol/server/connected_peers.py"

PLANTS = (
    Plant(
        "requests pass before their peer is authenticated", _GATE,
        "self._making is None and self._exchange.complete", "True", _GATED, where="AuthenticatingSession.received",
    ),
    Plant(
        "a peer is read while its token is made", _GATE,
        "self._connection.set_reading_paused(True)", "", _GATED, where="AuthenticatingSession._authenticate",
    ),
    Plant(
        "a token that was made late is not sent", _GATE,
        "self._connection.flush()", "", _GATED, where="AuthenticatingSession._go_on",
    ),
    Plant(
        "a token is made for a peer that left", _GATE,
        "self._making.cancel()", "pass", _GATED, where="AuthenticatingSession.lost",
    ),
    Plant(
        "any plugin will do", _GATE,
        "request.plugin != self._plugin", "False", _GATED, where="AuthenticatingSession._authenticate",
    ),
    Plant(
        "a client waits for more from a bookie that asks for nothing", _HANDSHAKE,
        "response.plugin == AUTH_DISABLED_PLUGIN", "False", _SHAKEN, where="AuthenticatedConnection._received",
    ),
    Plant(
        "a time limit outlives the exchange", "protocol/client/handshake.py",
        "timer.cancel()", "pass", _SHAKEN, where="Handshake._end_timer",
    ),
    Plant(
        "an authenticated connection gets neither bytes nor its loss", "protocol/client/handshake.py",
        "self.transport.protocol = protocol", "pass", _SHAKEN, where="Handshake._pass_on",
    ),
    Plant(
        "a write overtakes what is queued", _TRANSPORT,
        "not self._queued and (self.producer is None or self.streamingProducer)",
        "self.producer is None or self.streamingProducer", _SENT, where="DirectConnection._send_or_queue",
    ),
    Plant(
        "a half-closed connection takes writes", _TRANSPORT,
        "self._aborted or self._writeDisconnected", "self._aborted", _SENT, where="DirectConnection._send_or_queue",
    ),
    Plant(
        "an aborted connection takes writes", _TRANSPORT,
        "not self.connected or self._aborted", "not self.connected", _SENT, where="DirectConnection._send_or_queue",
    ),
    Plant(
        "a lost connection keeps its queue", _TRANSPORT,
        "self._pieces.clear()\nself._queued = 0", "", _SENT, where="DirectConnection.connectionLost",
    ),
    Plant(
        "a pull producer is asked from inside its write", _TRANSPORT,
        "not self._queued and (self.producer is None or self.streamingProducer)", "not self._queued", _SENT,
        where="DirectConnection._send_or_queue",
    ),
    Plant(
        "a read-only setting made before the start is lost", _ADMIN,
        "registration.set_read_only(ADMINISTRATOR, self._read_only)", "", _ASKED, where="BookieAdmin.attach",
    ),
    Plant(
        "disks are measured after the stop", _ADMIN,
        "self._disks is None or self._phase is not Phase.SERVING", "self._disks is None", _ASKED,
        where="BookieAdmin.disks",
    ),
    Plant(
        "a bookie that has stopped takes orders", _ADMIN,
        "self._parts is None or self._phase is not Phase.SERVING", "self._parts is None", _ASKED,
        where="BookieAdmin._serving",
    ),
    Plant(
        "a connection is closed before it was needed", _SERVER,
        "self._expect_rest()", "pass", _SERVED, where="ServerConnection.enter",
    ),
    Plant(
        "what is sent before the authentication ends prolongs it", _SERVER,
        "self.state in _ASKING and (items or self.expecting_since is None)",
        "items or self.expecting_since is None", _SERVED, where="ServerConnection._receive",
    ),
    Plant(
        "each byte prolongs the time of its frame", _SERVER,
        "items or self.expecting_since is None", "True", _SERVED, where="ServerConnection._receive",
    ),
    Plant(
        "a connection that goes for a newcomer is reset", _PEERS,
        "len(self._leaving) >= MAX_LEAVING", "True", _SERVED, where="ConnectedPeers._drop",
    ),
    Plant(
        "any number of connections may be leaving", _PEERS,
        "len(self._leaving) >= MAX_LEAVING", "False", _SERVED, where="ConnectedPeers._drop",
    ),
    Plant(
        "a connection that does not read is closed behind its replies", _PEERS,
        "is_many or not connection.has_room", "is_many", _SERVED, where="ConnectedPeers._drop",
    ),
    Plant(
        "a connection that has left makes no room", _PEERS,
        "self._leaving.discard(connection)", "", _SERVED, where="ConnectedPeers.left",
    ),
    Plant(
        "every line that a host causes is logged", "protocol/peer_lines.py",
        "cause in causes", "False", _LINES, where="PeerLines.log",
    ),
    Plant(
        "any number of hosts cause lines", "protocol/peer_lines.py",
        "host not in kind.logged_at and len(kind.logged_at) >= MAX_HOSTS", "False", _LINES, where="PeerLines.log",
    ),
    Plant(
        "a host causes any number of lines by many reasons", "protocol/peer_lines.py",
        "len(causes) >= MAX_CAUSES", "False", _LINES, where="PeerLines.log",
    ),
    Plant(
        "a refusal hides those for another reason", _GATE,
        "cause_of(str(error))", "''", _GATED, where="AuthenticatingSession._failed",
    ),
    Plant(
        "each user that is refused is a line", _GATE,
        "cause_of(str(error))", "str(error)", _GATED, where="AuthenticatingSession._failed",
    ),
    Plant(
        "lines that were left out are not counted", "protocol/peer_lines.py",
        "kind.left_out += 1", "", _LINES, where="PeerLines.log",
    ),
    Plant(
        "a line about a peer hides lines of other kinds", "protocol/peer_lines.py",
        "self._kinds.setdefault(template, _LinesOfKind())", "self._kinds.setdefault('', _LinesOfKind())", _LINES,
        where="PeerLines.log",
    ),
    Plant(
        "a reply may be longer than a client takes", "bookie/requests/request_processor.py",
        "len(reply) > self._context.limits.max_frame_size", "False",
        ["tests.bookie.requests.test_request_processor.ColdRequestTests"], where="RequestProcessor._encoded",
    ),
)
