"""Limits the log lines that peers can cause, so that a peer that sends nonsense cannot fill the log.

Lines that are left out are counted, and the next logged line gives their number.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IAddress

INTERVAL = 60.0
"""Seconds between two lines about peers of one host."""

MAX_HOSTS = 100
"""Hosts with lines in one interval; lines about more hosts are left out."""


def peer_name(address: IAddress | None) -> str:
    """Return the name of a peer for log lines: host and port, or the text of an ``address`` that has none."""
    host = getattr(address, "host", None)
    return f"{host}:{getattr(address, 'port', 0)}" if host else str(address)


class PeerLines:
    """A logger that writes at most one line for each host per :data:`INTERVAL`.

    :param seconds: returns the time of the clock.
    """

    __slots__ = ("_seconds", "_logged_at", "_left_out")

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._logged_at: dict[str, float] = {}
        self._left_out = 0

    def log(self, write: Callable[..., None], template: str, peer: str, **fields: Any) -> None:
        """Write a line about a ``peer``, or count the line as omitted.

        :param write: the method of a logger.
        :param template: text with the names of fields, ``{peer}`` among them.
        :param peer: host and port, or another name.
        """
        host, now = peer.rpartition(":")[0] or peer, self._seconds()
        if len(self._logged_at) >= MAX_HOSTS:
            self._logged_at = {known: at for known, at in self._logged_at.items() if now - at < INTERVAL}
        last = self._logged_at.get(host)
        if len(self._logged_at) >= MAX_HOSTS if last is None else now - last < INTERVAL:
            self._left_out += 1
            return
        self._logged_at[host] = now
        left_out, self._left_out = self._left_out, 0
        if left_out:
            template += " ({left_out} such lines were left out before this one)"
        write(template, peer=peer, left_out=left_out, **fields)
