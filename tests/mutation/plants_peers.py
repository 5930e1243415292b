"""Plants in what keeps one peer from taking the bookie from all others."""

from .plant import Plant

_CONNECTION, _SESSION = "protocol/server/connection.py", "bookie/requests/session.py"
_UNREAD, _POLLS = ["tests.protocol.server.test_unread_replies"], ["tests.bookie.requests.test_lac_processor"]
_FRAMES, _HALVES = "protocol/server/incomplete_frames.py", ["tests.protocol.server.test_incomplete_frames"]
_GONE = ["tests.bookie.requests.test_gone_peers"]

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
    Plant("a long poll keeps its connection in use", _SESSION, "len(self._serving) - self._polls\n", "len(self._serving)\n", _POLLS),
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
    Plant(
        "requests outlive their connection",
        _SESSION,
        "            serving.cancel()\n",
        "            pass\n",
        _GONE,
    ),
    Plant(
        "a peer that is gone keeps its place among those that wait for permits",
        _SESSION,
        "            self._awaited.withdraw(self._permitted)\n",
        "            pass\n",
        _GONE,
    ),
    Plant(
        "what others get from a peer that is gone is not sent",
        _CONNECTION,
        "            self._factory.outbox.flush()  # others",
        "            pass  # others",
        _GONE,
    ),
    Plant(
        "LAC requests, forces and lists take no permits",
        "bookie/requests/request_processor.py",
        " else session.admit(self._context.others)):",
        " else True):",
        _GONE,
    ),
    Plant(
        "a connection has any number of requests under way",
        _SESSION,
        "self.has_room and self._n_served < self.context.limits.max_served",
        "self.has_room",
        _GONE,
    ),
    Plant(
        "what many requests waited for is made into replies at once",
        _SESSION,
        "        if not self.has_room:\n            waiter",
        "        if False:\n            waiter",
        _GONE,
    ),
    Plant(
        "what was loaded is made into replies whether there is room or not",
        "bookie/requests/read_processor.py",
        " if session.has_room else [(start, end)])",
        ")",
        _GONE,
    ),
    Plant(
        "requests begin on a connection that is being closed",
        _CONNECTION,
        " and self.state not in _ENDING\n",
        "\n",
        _GONE,
    ),
    Plant(
        "lists take all threads that read",
        "bookie/disk_reads.py",
        "        if not self._is_listing:\n",
        "        if True:\n",
        ["tests.bookie.test_disk_reads"],
    ),
    Plant(
        "a list that was withdrawn is made",
        "bookie/disk_reads.py",
        "            if result.called:  # it was cancelled\n",
        "            if False:  # it was cancelled\n",
        ["tests.bookie.test_disk_reads"],
    ),
    Plant(
        "half frames hold any memory",
        _FRAMES,
        "        if self.n_bytes > self._limit:\n",
        "        if False:\n",
        _HALVES,
    ),
    Plant(
        "a frame that has just begun is taken for an old one",
        _FRAMES,
        "        elif begun:\n",
        "        elif False:\n",
        _HALVES,
    ),
    Plant(
        "a half frame counts when its connection is gone",
        _CONNECTION,
        "        self._factory.incomplete.hold(self, 0)\n",
        "",
        _HALVES,
    ),
    Plant(
        "each connection dropped for its half frame is a line of the log",
        _FRAMES,
        "            self._dropping = True\n",
        "",
        _HALVES,
    ),
)
