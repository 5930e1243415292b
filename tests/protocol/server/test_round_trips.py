"""What the kernel measures of a connection."""

import socket
import sys
from typing import Any

import attrs
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.server.round_trips import round_trip_of


@attrs.frozen
class _Transport:
    socket: Any

    def getHandle(self) -> Any:
        """Return what Twisted's transports return."""
        return self.socket


class RoundTripTests(SynchronousTestCase):
    """Sockets of this machine."""

    def test_tcp(self) -> None:
        """A TCP connection over the loopback has a round trip of less than a second, on Linux."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        client = socket.create_connection(listener.getsockname())
        self.addCleanup(client.close)
        server, _ = listener.accept()
        self.addCleanup(server.close)
        client.sendall(b"x")
        server.recv(1)
        found = round_trip_of(_Transport(client))
        if sys.platform.startswith("linux"):
            assert found is not None
            self.assertTrue(0 < found < 1, found)
        else:
            self.assertIsNone(found)

    def test_unknown(self) -> None:
        """A connection that is no TCP, has ended, or is none of the kernel's has no round trip."""
        one, other = socket.socketpair(socket.AF_UNIX)
        other.close()
        self.assertIsNone(round_trip_of(_Transport(one)))
        one.close()
        self.assertIsNone(round_trip_of(_Transport(one)))
        for transport in (_Transport(None), StringTransport(), None):
            self.assertIsNone(round_trip_of(transport))
