"""Limits the log lines about peers, so that a peer that sends invalid requests cannot fill the log.

In each interval of :data:`INTERVAL` seconds, at most one line is logged for each combination of three things:

- the host of the peer,
- the *kind* of the line, which is its message template,
- the *cause*, which may distinguish lines of one kind: for example, the reason why a user is refused.

So a peer that causes many lines of one kind does not suppress other lines.  Omitted lines are counted, and the next
logged line of their kind says how many were omitted.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from twisted.internet.interfaces import IAddress

INTERVAL = 60.0
"""Minimum number of seconds between two lines with the same message template and cause about peers of one host."""

MAX_HOSTS = 100
"""Maximum number of hosts about which lines with one message template are logged in an interval.

Lines about further hosts are omitted.
"""


def peer_name(address: IAddress | None) -> str:
    """Return the name of a peer for log lines: its host and port, or the text of an ``address`` without them."""
    host = getattr(address, "host", None)
    return f"{host}:{getattr(address, 'port', 0)}" if host else str(address)


MAX_CAUSES = 16
"""Maximum number of different causes for which lines about one host, with one template, are logged in an interval.

Lines with further causes are omitted.
"""

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def cause_of(reason: str) -> str:
    """Return a ``reason`` without the texts in quotation marks, such as the names that peers have sent.

    So the refusals of different users have the same cause.
    """
    return _QUOTED.sub("''", reason)


@attrs.define(eq=False)
class _LinesOfKind:
    """A record of the logged and the omitted lines with one message template.

    :ivar logged_at: the time of the last logged line, by host and then by cause.
    :ivar left_out: the number of lines that were omitted since the last logged line.
    """

    logged_at: dict[str, dict[str, float]] = attrs.field(factory=dict)
    left_out: int = 0


class PeerLines:
    """A logger that limits repeated lines: one line per :data:`INTERVAL` for each host, message template and cause.

    :param seconds: returns the time of the clock.
    """

    __slots__ = ("_seconds", "_kinds")

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._kinds: dict[str, _LinesOfKind] = {}

    def log(self, write: Callable[..., None], template: str, peer: str, *, cause: str = "", **fields: Any) -> None:
        """Log a line about a ``peer``; if many such lines were logged recently, only count it as omitted.

        :param write: the method of a logger that logs the line.
        :param template: text with the names of fields in braces, including ``{peer}``.  Lines with the same template
            share a limit, so it must not contain text that a peer has sent.
        :param peer: host and port, or another name.
        :param cause: why the line is logged; lines with different causes do not share a limit.
        """
        host, now = peer.rpartition(":")[0] or peer, self._seconds()
        kind = self._kinds.setdefault(template, _LinesOfKind())
        if len(kind.logged_at) >= MAX_HOSTS:
            kind.logged_at = {known: at for known, at in kind.logged_at.items() if _recent(at, now)}
        causes = _recent(kind.logged_at.get(host, {}), now)
        is_full = len(causes) >= MAX_CAUSES or (host not in kind.logged_at and len(kind.logged_at) >= MAX_HOSTS)
        if is_full or cause in causes:
            kind.left_out += 1
            return
        kind.logged_at[host] = {**causes, cause: now}
        left_out, kind.left_out = kind.left_out, 0
        if left_out:
            template += " ({left_out} such lines were left out before this one)"
        write(template, peer=peer, left_out=left_out, **fields)


def _recent(causes: Mapping[str, float], now: float) -> dict[str, float]:
    """Return the causes that were logged in the last :data:`INTERVAL` seconds, with the times of their log lines."""
    return {cause: at for cause, at in causes.items() if now - at < INTERVAL}
