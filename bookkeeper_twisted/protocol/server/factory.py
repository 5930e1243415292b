"""The factory of a bookie's connections, which limits their number."""

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import ServerFactory
from twisted.logger import Logger

from ..peer_lines import peer_name
from .connection import ServerConnection
from .shared_limits import SharedLimits


class BookieServerFactory(SharedLimits[ServerConnection], ServerFactory):
    """The factory of a bookie's connections.

    :cvar protocol: the class of the connections.
    """

    noisy = False
    protocol: type[ServerConnection] = ServerConnection
    _log = Logger()

    def buildProtocol(self, addr: IAddress | None) -> ServerConnection | None:
        if self.stopping:
            return None  # refuse: the port may still be open, but the bookie will not serve a connection any more
        host = getattr(addr, "host", None)
        peer = peer_name(addr)
        return self.protocol(self, peer, host or peer)

    def stop_accepting(self) -> None:
        """Accept no more requests and connections, because the bookie stops."""
        self.stopping = True
        self.peers.stop()
        for connection in self.peers:
            connection.set_reading_paused(True)

    def end_all(self) -> "Deferred[None]":
        """Close every connection after its queued replies; return a Deferred that fires when all have ended."""
        ended = self.peers.when_gone()
        for connection in list(self.peers):
            connection.end()
        return ended

    def abort_all(self) -> None:
        """Drop every connection immediately, without its queued replies."""
        for connection in list(self.peers):
            connection.abort()
