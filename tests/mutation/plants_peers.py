"""Plants in what keeps one peer from taking the bookie from all others."""

from .plant import Plant

_CONNECTION, _SESSION = "protocol/server/connection.py", "bookie/requests/session.py"
_UNREAD, _POLLS = ["tests.protocol.server.test_unread_replies"], ["tests.bookie.requests.test_lac_processor"]

PLANTS = (
    Plant(
        "a connection with unread replies is never evicted",
        _CONNECTION,
        "            return stalled if stalled >= SECONDS_STALLED else None\n",
        "            return None\n",
        _UNREAD,
    ),
    Plant(
        "a peer that reads slowly is taken for one that does not read",
        _CONNECTION,
        "        if taken != self._last_read[0]:\n",
        "        if False:\n",
        _UNREAD,
    ),
    Plant(
        "unread replies are kept for ever",
        _CONNECTION,
        "            if limits.read_timeout is not None:\n",
        "            if False:\n",
        _UNREAD,
    ),
    Plant(
        "bytes sent by a write event are not counted as read",
        "protocol/direct_transport.py",
        "        self._queued -= sent\n        self.taken += sent\n",
        "        self._queued -= sent\n",
        ["tests.protocol.test_direct_transport"],
    ),
    Plant("a long poll keeps its connection in use", _SESSION, "self._reads > len(self._polls)", "self._reads", _POLLS),
    Plant("a long poll is as long as the peer says", _SESSION, ", context.limits.max_poll_time)", ", 1e18)", _POLLS),
    Plant(
        "one address takes all long polls",
        _SESSION,
        "        if context.polls[host] >= context.limits.max_polls_of_a_host:\n",
        "        if False:\n",
        _POLLS,
    ),
    Plant(
        "the share of an address counts waits that have ended",
        _SESSION,
        "            context.polls[host] -= 1\n",
        "",
        _POLLS,
    ),
)
