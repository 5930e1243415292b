"""TLS connections of the library kazoo to ZooKeeper servers.

kazoo's own TLS has three faults.  It trusts the system's certificates in addition to the configured certificates.  It
reads its key and certificate files for each connection, and logs nothing about them.  It also waits for new bytes from
the network although decrypted bytes are waiting to be read.
"""

import socket
from collections.abc import Callable
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler

from ...security.contexts import SocketTls

_NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class EncryptedHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """A kazoo handler (the object that creates kazoo's threads and sockets) that makes connections over TLS.

    :param tls: makes the TLS handshake on each connection.
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
        :param hostname: the configured host name.  Versions of kazoo before 2.11 do not pass it; then the host in
            ``address`` is used.
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

        :param rlist: sockets to read from.  A socket with decrypted bytes that were not read yet is ready immediately.
        """
        ready = [each for each in rlist if getattr(each, "pending", int)()]
        if not ready:
            return super().select(rlist, wlist, xlist, timeout)
        others = [each for each in rlist if each not in ready]
        found, *rest = super().select(others, wlist, xlist, 0) if others or wlist else ([], [], [])
        return (ready + found, *rest)
