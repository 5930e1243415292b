"""Limits the log lines about peers, so that a peer that sends invalid requests cannot fill the log.

Each kind of line is limited on its own, so that a peer that causes many lines of one kind hides no other kind.
Omitted lines are counted, and the next logged line of their kind says how many were omitted.
"""

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.interfaces import IAddress

INTERVAL = 60.0
"""Seconds between two lines of one kind about peers of one host."""

MAX_HOSTS = 100
"""Most hosts that lines of one kind are logged about in one interval; lines about further hosts are omitted."""


def peer_name(address: IAddress | None) -> str:
    """Return the name of a peer for log lines: its host and port, or the text of an ``address`` without them."""
    host = getattr(address, "host", None)
    return f"{host}:{getattr(address, 'port', 0)}" if host else str(address)


@attrs.define(eq=False)
class _LinesOfKind:
    """A record of the logged and the omitted log lines of one kind.

    :ivar logged_at: the time of the last logged line about each host.
    :ivar left_out: the number of lines that were omitted since the last logged line.
    """

    logged_at: dict[str, float] = attrs.field(factory=dict)
    left_out: int = 0


class PeerLines:
    """A logger that writes at most one line of a kind for each host per :data:`INTERVAL`.

    :param seconds: returns the time of the clock.
    """

    __slots__ = ("_seconds", "_kinds")

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._kinds: dict[str, _LinesOfKind] = {}

    def log(self, write: Callable[..., None], template: str, peer: str, **fields: Any) -> None:
        """Log a line about a ``peer``, or count the line as omitted.

        :param write: the method of a logger that logs the line.
        :param template: text with the names of fields, ``{peer}`` among them.  It is the kind of the line, so it
            contains no text that a peer has sent.
        :param peer: host and port, or another name.
        """
        host, now = peer.rpartition(":")[0] or peer, self._seconds()
        kind = self._kinds.setdefault(template, _LinesOfKind())
        if len(kind.logged_at) >= MAX_HOSTS:
            kind.logged_at = {known: at for known, at in kind.logged_at.items() if now - at < INTERVAL}
        last = kind.logged_at.get(host)
        if len(kind.logged_at) >= MAX_HOSTS if last is None else now - last < INTERVAL:
            kind.left_out += 1
            return
        kind.logged_at[host] = now
        left_out, kind.left_out = kind.left_out, 0
        if left_out:
            template += " ({left_out} such lines were left out before this one)"
        write(template, peer=peer, left_out=left_out, **fields)
