"""kazoo's connections over TLS: what they are made of, and answers that are decrypted already."""

import socket
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.metadata.zookeeper.encryption import EncryptedHandler

_SECONDS = 2
"""How long a socket is waited for that is ready at once."""


class _Tls:
    """Wraps sockets by nothing.

    :ivar hosts: that were connected to.
    """

    def __init__(self, error: Exception | None = None) -> None:
        self.hosts: list[str] = []
        self._error = error

    def wrapped(self, plain: Any, host: str) -> Any:
        """See :meth:`SocketTls.wrapped`."""
        self.hosts.append(host)
        if self._error is not None:
            raise self._error
        return plain


class _Socket:
    """A socket that is never readable, below which bytes are decrypted."""

    def __init__(self, descriptor: Any, pending: int) -> None:
        self.pending = lambda: pending
        self.fileno = descriptor.fileno
        self.options: list[object] = []
        self.closed = False

    def setsockopt(self, *option: object) -> None:
        """Keep an option."""
        self.options.append(option)

    def close(self) -> None:
        """Note the close."""
        self.closed = True


class EncryptedHandlerTests(SynchronousTestCase):
    """:class:`EncryptedHandler`."""

    def setUp(self) -> None:
        self.pair = socket.socketpair()
        for each in self.pair:
            self.addCleanup(each.close)

    def handler(self, tls: _Tls) -> Any:
        """A handler whose connections are to nobody."""
        self.connected: list[tuple[object, object]] = []
        self.plain = _Socket(self.pair[0], 0)

        def connect(address: object, timeout: object) -> Any:
            self.connected.append((address, timeout))
            return self.plain

        return EncryptedHandler(tls, connect)  # type: ignore[arg-type]

    def test_host(self) -> None:
        """The certificate has to be that of the host of the configuration, or of the address if kazoo tells no host."""
        tls = _Tls()
        handler = self.handler(tls)
        made = handler.create_connection(address=("10.0.0.1", 2281), hostname="zk1", timeout=4.0, use_ssl=True, ca=None)
        self.assertIs(made, self.plain)
        handler.create_connection(address=("10.0.0.1", 2281), timeout=4.0)
        handler.create_connection(address=("::1", 2281), hostname="[::1]", timeout=4.0)
        self.assertEqual(tls.hosts, ["zk1", "10.0.0.1", "::1"])
        self.assertEqual(self.connected[0], (("10.0.0.1", 2281), 4.0))
        self.assertIn((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), self.plain.options)

    def test_refused(self) -> None:
        """A refused connection is closed."""
        handler = self.handler(_Tls(OSError("no")))
        self.assertRaises(OSError, handler.create_connection, ("10.0.0.1", 2281), 4.0)
        self.assertTrue(self.plain.closed)

    def test_decrypted(self) -> None:
        """A socket with decrypted bytes is ready at once, whatever else is waited for."""
        handler = self.handler(_Tls())
        waiting, other = _Socket(self.pair[0], 5), self.pair[1]
        self.assertEqual(handler.select([waiting], [], [], _SECONDS), ([waiting], [], []))
        self.assertEqual(handler.select([waiting, other], [], [], _SECONDS)[0], [waiting])
        self.pair[0].send(b"x")
        self.assertEqual(handler.select([waiting, other], [], [], _SECONDS)[0], [waiting, other])
        idle = _Socket(self.pair[0], 0)
        self.assertEqual(handler.select([idle], [], [], 0)[0], [])
        self.assertEqual(handler.select([], [self.pair[1]], [], _SECONDS)[1], [self.pair[1]])
