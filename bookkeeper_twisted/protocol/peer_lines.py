"""Limits the log lines about peers, so that a peer that sends invalid requests cannot fill the log.

Omitted lines are counted, and the next logged line says how many were omitted.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IAddress

INTERVAL = 60.0
"""Seconds between two lines about peers of one host."""

MAX_HOSTS = 100
"""Most hosts that lines are logged about in one interval; lines about further hosts are omitted."""


def peer_name(address: IAddress | None) -> str:
    """Return the name of a peer for log lines: its host and port, or the text of an ``address`` without them."""
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
        """Log a line about a ``peer``, or count the line as omitted.

        :param write: the method of a logger that logs the line.
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
