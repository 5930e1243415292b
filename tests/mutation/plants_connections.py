"""Plants in transports, in the authentication of connections, and in the administration of a bookie."""

from .plant import Plant

_GATE, _HANDSHAKE = "bookie/requests/authentication.py", "protocol/client/authentication.py"
_GATED, _SHAKEN = ["tests.bookie.requests.test_authentication"], ["tests.client.connections.test_authentication"]
_TRANSPORT, _SENT = "protocol/direct_transport.py", ["tests.protocol.test_direct_transport"]
_SERVER, _SERVED = "protocol/server/connection.py", ["tests.protocol.server.test_connection"]
_LINES = ["tests.protocol.test_peer_lines"]
_ADMIN, _ASKED = "bookie/lifecycle/admin.py", ["tests.bookie.lifecycle.test_admin"]
_PEERS, _CONNECTED = "protocol/server/connected_peers.py", ["tests.protocol.server.test_connected_peers"]

_CLEAR = "bookie/requests/encryption.py"

PLANTS = (
    Plant(
        "that a client in clear is refused is no line", _CLEAR,
        "self._refusals.say(self._connection, 'it sends requests in clear, and tlsRequired=true')", "pass",
        ["tests.bookie.requests.test_encryption"], where="FirstFrameSession._refuse",
    ),
    Plant(
        "requests in clear are not counted", _CLEAR,
        "self._refused.value += 1", "pass", ["tests.bookie.requests.test_encryption"], where="PeerRefusals.refuse",
    ),
    Plant(
        "that a peer sends no token is no line", _GATE,
        "self._refusals.say(self._connection, reason)", "pass", _GATED, where="AuthenticatingSession._refuse",
    ),
    Plant(
        "each request of a peer without a token is a line", _GATE,
        "self._has_said = True", "pass", _GATED, where="AuthenticatingSession._refuse",
    ),
    Plant(
        "a peer writes long names of plugins into the log", _GATE,
        "request.plugin[:_LONGEST_NAME]", "request.plugin", _GATED, where="AuthenticatingSession._authenticate",
    ),
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
        "a refusal hides those for another reason", _CLEAR,
        "cause_of(reason)", "''", _GATED, where="PeerRefusals.say",
    ),
    Plant(
        "each user that is refused is a line", _CLEAR,
        "cause_of(reason)", "reason", _GATED, where="PeerRefusals.say",
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
    Plant(
        "peers that are not let in displace clients", _PEERS,
        "len(self._entering) > max(self._limits.max_connections // ENTERING_SHARE, LEAST_ENTERING)", "False",
        _CONNECTED, where="ConnectedPeers._evict",
    ),
    Plant(
        "a single newcomer displaces another", _PEERS,
        "max(self._limits.max_connections // ENTERING_SHARE, LEAST_ENTERING)",
        "self._limits.max_connections // ENTERING_SHARE", _CONNECTED, where="ConnectedPeers._evict",
    ),
    Plant(
        "the newest of those who are not let in goes", _PEERS,
        "next(iter(self._entering))", "next(reversed(self._entering))", _CONNECTED, where="ConnectedPeers._evict",
    ),
    Plant(
        "clients count as not let in", _PEERS,
        "self._entering.pop(connection, None)", "pass", _CONNECTED, where="ConnectedPeers.identified",
    ),
    Plant(
        "that a stranger was displaced is a line", _PEERS,
        "leaves not in self._entering", "True", _CONNECTED, where="ConnectedPeers._evict",
    ),
    Plant(
        "all connections are searched for each new one", _PEERS,
        "now - self._searched_at < len(self._connections) * SECONDS_FOR_EACH", "False", _CONNECTED,
        where="ConnectedPeers._search",
    ),
    Plant(
        "a connection that was found idle goes although it is used again", _PEERS,
        "_idle_seconds(connection) is not None", "True", _CONNECTED, where="ConnectedPeers._idlest",
    ),
    Plant(
        "a search keeps all connections", _PEERS,
        "heapq.nsmallest(MAX_FOUND, idle, key=itemgetter(0, 1))", "sorted(idle, key=itemgetter(0, 1))", _CONNECTED,
        where="ConnectedPeers._search",
    ),
    Plant(
        "a connection that has ended is ended for a new one", _PEERS,
        "(self._connections, self._entering, self._idle)", "(self._connections, self._entering)", _CONNECTED,
        where="ConnectedPeers.left",
    ),
)
