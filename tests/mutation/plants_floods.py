"""Plants in what bounds the memory of peers that are not let in."""

from .plant import Plant

_LIMIT, _LIMITED = "protocol/server/shared_limits.py", ["tests.protocol.server.test_handshakes"]
_SERVER = "protocol/server/connection.py"
_GREETING, _GREETED = "protocol/server/greeting.py", ["tests.protocol.server.test_greeting"]

PLANTS = (
    Plant(
        "handshakes are under way without a limit", _LIMIT,
        "count <= MOST_TIMES * self._limit", "True", _LIMITED, where="Handshakes._drop_first",
    ),
    Plant(
        "slow handshakes are not dropped", _LIMIT,
        "self._under_way[first] > latest", "True", _LIMITED, where="Handshakes._drop_first",
    ),
    Plant(
        "handshakes of many who connect at once are dropped", _LIMIT,
        "self._under_way[first] > latest", "False", _LIMITED, where="Handshakes._drop_first",
    ),
    Plant(
        "beyond the limit the newest handshake is dropped", _LIMIT,
        "next(iter(self._under_way))", "next(reversed(self._under_way))", _LIMITED, where="Handshakes._drop_first",
    ),
    Plant(
        "OpenSSL keeps a long first message", _GREETING,
        "_is_too_long(received)", "False", _LIMITED, where="Greeting.dataReceived",
    ),
    Plant(
        "each handshake that is dropped is a line of the log", _LIMIT,
        "self._dropping = True", "pass", _LIMITED, where="Handshakes._drop_first",
    ),
    Plant(
        "a second flood of handshakes is no line of the log", _LIMIT,
        "self._dropping = False", "pass", _LIMITED, where="Handshakes.ended",
    ),
    Plant(
        "handshakes do not count", _SERVER,
        "self._factory.handshakes.begun(self)", "pass", _LIMITED, where="ServerConnection._begin_tls",
    ),
    Plant(
        "a peer that is let in counts as a handshake", _SERVER,
        "self._factory.handshakes.ended(self)", "pass", _LIMITED, where="ServerConnection.enter",
    ),
    Plant(
        "a connection that was lost counts as a handshake", _SERVER,
        "self._factory.handshakes.ended(self)", "pass", _LIMITED, where="ServerConnection.connectionLost",
    ),
    Plant(
        "TLS begins with the first byte of a record", _GREETING,
        "_is_half_record(received)", "False", _GREETED, where="Greeting.dataReceived",
    ),
    Plant(
        "a first record of any length is kept", _GREETING,
        "body <= LONGEST_RECORD", "True", _GREETED, where="_is_half_record",
    ),
    Plant(
        "TLS begins with a part of a long record", _GREETING,
        "LONGEST_RECORD = 16 * 1024", "LONGEST_RECORD = 4096", _GREETED, where="",
    ),
    Plant(
        "OpenSSL waits for the rest of a record that is too long", _GREETING,
        "body_size(data) > LONGEST_RECORD", "False", _GREETED, where="_is_too_long",
    ),
)  # fmt: skip
