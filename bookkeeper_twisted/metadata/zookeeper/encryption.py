"""TLS connections of the library kazoo to ZooKeeper servers.

kazoo has TLS of its own, but this has three faults.  It trusts the certificates of the system in addition to the
configured ones.  It reads its files again for each connection without a log line.  And it waits for the socket even if
it has decrypted answers already.
"""

import socket
from collections.abc import Callable
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler

from ...security.contexts import SocketTls

_NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class EncryptedHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """The handler of kazoo's threads and sockets, which makes connections over TLS.

    :param tls: begins TLS on each connection.
    :param connect: opens a socket to an address, with a time limit in seconds.
    """

    def __init__(self, tls: SocketTls, connect: Callable[..., socket.socket] = socket.create_connection) -> None:
        super().__init__()
        self._tls = tls
        self._connect = connect

    def create_connection(
        self, address: tuple[str, int], timeout: float | None = None, hostname: str | None = None, **_: object
    ) -> Any:
        """Connect to a ZooKeeper server, and make the TLS handshake.

        :param timeout: seconds for each step.
        :param hostname: the host as configured.  Before version 2.11, kazoo passes no host name; the address is then
            used instead.
        :raises OSError: the server cannot be reached, or one side refuses the TLS handshake.
        """
        plain = self._connect(address, timeout)
        try:
            plain.setsockopt(*_NO_DELAY)
            return self._tls.wrapped(plain, (hostname or address[0]).strip("[]"))
        except BaseException:
            plain.close()
            raise

    def select(self, rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
        """Wait until a socket can be read or written; return the sockets as :func:`select.select` does.

        :param rlist: sockets to read from.  A socket that has decrypted bytes is ready immediately: the network may
            bring no more bytes, so waiting could take for ever.
        """
        ready = [each for each in rlist if getattr(each, "pending", int)()]
        if not ready:
            return super().select(rlist, wlist, xlist, timeout)
        others = [each for each in rlist if each not in ready]
        found, *rest = super().select(others, wlist, xlist, 0) if others or wlist else ([], [], [])
        return (ready + found, *rest)
