"""TLS between kazoo and ZooKeeper.

kazoo's own TLS trusts the certificates of the system beside those that it is given, reads its files again for each
connection without a word, and waits for the socket while decrypted answers are waiting for it.
"""

import socket
from collections.abc import Callable
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler

from ...security.contexts import SocketTls

_NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class EncryptedHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """The handler of kazoo's threads and sockets, which makes connections over TLS.

    :param tls: makes the TLS of each connection.
    :param connect: connects a socket to an address within some seconds.
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
        :param hostname: the host in the configuration; kazoo before 2.11 does not tell it, and names the address.
        :raises OSError: there is no connection, or a side refuses the other.
        """
        plain = self._connect(address, timeout)
        try:
            plain.setsockopt(*_NO_DELAY)
            return self._tls.wrapped(plain, (hostname or address[0]).strip("[]"))
        except BaseException:
            plain.close()
            raise

    def select(self, rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
        """Wait until one of some sockets can be read or written.

        :param rlist: sockets to wait for.  One of them that has decrypted bytes is ready at once, because the socket
            below it may never become readable again.
        """
        ready = [each for each in rlist if getattr(each, "pending", int)()]
        if not ready:
            return super().select(rlist, wlist, xlist, timeout)
        others = [each for each in rlist if each not in ready]
        found, *rest = super().select(others, wlist, xlist, 0) if others or wlist else ([], [], [])
        return (ready + found, *rest)
