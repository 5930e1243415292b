"""Plants in transports, in the authentication of connections, and in the administration of a bookie."""

from .plant import Plant

_GATE, _HANDSHAKE = "bookie/requests/authentication.py", "protocol/client/authentication.py"
_GATED, _SHAKEN = ["tests.bookie.requests.test_authentication"], ["tests.client.connections.test_authentication"]
_TRANSPORT, _SENT = "protocol/direct_transport.py", ["tests.protocol.test_direct_transport"]
_SERVER, _SERVED = "protocol/server/connection.py", ["tests.protocol.server.test_connection"]
_LINES = ["tests.protocol.test_peer_lines"]
_ADMIN, _ASKED = "bookie/lifecycle/admin.py", ["tests.bookie.lifecycle.test_admin"]

PLANTS = (
    Plant(
        "requests pass before their peer is authenticated",
        _GATE,
        "        if self._making is None and self._exchange.complete:\n",
        "        if True:\n",
        _GATED,
    ),
    Plant("a peer is read while its token is made", _GATE, "        self._connection.hold(True)\n", "", _GATED),
    Plant("a token that was made late is not sent", _GATE, "        self._connection.flush()\n", "", _GATED),
    Plant(
        "a token is made for a peer that left",
        _GATE,
        "            self._making.cancel()\n",
        "            pass\n",
        _GATED,
    ),
    Plant("any plugin will do", _GATE, "        if request.plugin != self._plugin:\n", "        if False:\n", _GATED),
    Plant(
        "a client waits for more from a bookie that asks for nothing",
        _HANDSHAKE,
        "        elif response.plugin == AUTH_DISABLED_PLUGIN:",
        "        elif False:",
        _SHAKEN,
    ),
    Plant(
        "a time limit outlives the exchange",
        _HANDSHAKE,
        "                timer.cancel()\n",
        "                pass\n",
        _SHAKEN,
    ),
    Plant(
        "an authenticated connection is not told of its loss",
        _HANDSHAKE,
        "            self._connection.connectionLost(reason)\n",
        "            pass\n",
        _SHAKEN,
    ),
    Plant("a write overtakes what is queued", _TRANSPORT, "        if not self._queued and (", "        if (", _SENT),
    Plant(
        "a half-closed connection takes writes",
        _TRANSPORT,
        " or self._aborted or self._writeDisconnected:",
        " or self._aborted:",
        _SENT,
    ),
    Plant(
        "an aborted connection takes writes",
        _TRANSPORT,
        " or self._aborted or self._writeDisconnected:",
        " or self._writeDisconnected:",
        _SENT,
    ),
    Plant(
        "a lost connection keeps its queue",
        _TRANSPORT,
        "        self._pieces.clear()\n        self._queued = 0\n",
        "",
        _SENT,
    ),
    Plant(
        "a pull producer is asked from inside its write",
        _TRANSPORT,
        " and (self.producer is None or self.streamingProducer)",
        "",
        _SENT,
    ),
    Plant(
        "a read-only setting made before the start is lost",
        _ADMIN,
        "        registration.set_read_only(ADMINISTRATOR, self._read_only)\n",
        "",
        _ASKED,
    ),
    Plant(
        "disks are measured after the stop", _ADMIN,
        "self._disks is None or self._phase is not Phase.SERVING", "self._disks is None", _ASKED,
    ),
    Plant(
        "a bookie that has stopped takes orders", _ADMIN,
        "self._parts is None or self._phase is not Phase.SERVING", "self._parts is None", _ASKED,
    ),
    Plant(
        "a connection is closed before it was needed",
        _SERVER,
        "        if state is ConnectionState.READY:\n            self._expect_rest()\n",
        "",
        _SERVED,
    ),
    Plant(
        "what is sent before the authentication ends prolongs it",
        _SERVER,
        "        if self.state is ConnectionState.READY and (items",
        "        if (items",
        _SERVED,
    ),
    Plant(
        "each byte prolongs the time of its frame",
        _SERVER,
        "(items or self.expecting_since is None)",
        "True",
        _SERVED,
    ),
    Plant(
        "a connection that goes for a newcomer is reset",
        _SERVER,
        "        is_many = len(self._leaving) >= MAX_LEAVING\n",
        "        is_many = True\n",
        _SERVED,
    ),
    Plant(
        "any number of connections may be leaving",
        _SERVER,
        "        is_many = len(self._leaving) >= MAX_LEAVING\n",
        "        is_many = False\n",
        _SERVED,
    ),
    Plant(
        "a connection that does not read is closed behind its replies",
        _SERVER,
        "        if is_many or not connection.has_room:\n",
        "        if is_many:\n",
        _SERVED,
    ),
    Plant(
        "a connection that has left makes no room",
        _SERVER,
        "        self._leaving.discard(connection)\n",
        "",
        _SERVED,
    ),
    Plant(
        "every line that a host causes is logged", "protocol/peer_lines.py",
        "else now - last < INTERVAL:", "else False:", _LINES,
    ),
    Plant(
        "any number of hosts cause lines", "protocol/peer_lines.py",
        "        if len(self._logged_at) >= MAX_HOSTS if last is None", "        if False if last is None", _LINES,
    ),
    Plant(
        "lines that were left out are not counted", "protocol/peer_lines.py",
        "            self._left_out += 1\n", "", _LINES,
    ),
    Plant(
        "a reply may be longer than a client takes", "bookie/requests/request_processor.py",
        "        if len(reply) > self._context.limits.max_frame_size:\n", "        if False:\n",
        ["tests.bookie.requests.test_request_processor.ColdRequestTests"],
    ),
)
