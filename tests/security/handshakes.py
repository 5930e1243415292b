"""Handshakes between the TLS of a bookie and of a client, in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
from OpenSSL import SSL
from twisted.internet.task import Clock
from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.security import files
from bookkeeper_twisted.security.contexts import ClientTls, ServerTls

from .certificates import Folder, authority, bookie, client

NOW = 1_767_225_600.0
"""The begin of 2026."""


@attrs.define
class Ends:
    """The two ends of a connection.

    :ivar errors: what ended the handshake of the server and of the client, or what the client reads
        first; None: nothing.
    """

    server: SSL.Connection
    client: SSL.Connection
    errors: list[SSL.Error | None] = attrs.field(factory=lambda: [None, None])

    def move(self) -> bool:
        """Give each end what the other has written; return whether there was anything."""
        return bool(_copied(self.server, self.client) + _copied(self.client, self.server))

    def shake(self) -> None:
        """Make the handshake, as far as it goes."""
        done = [False, False]
        for _ in range(10):
            for i, end in enumerate((self.server, self.client)):
                if self.errors[i] is None:
                    # a client of TLS 1.3 is done before the server has looked at its certificate
                    done[i] = done[i] or self._try(i, end.do_handshake)
                    if done[i]:
                        self._try(i, lambda end=end: end.recv(1))  # type: ignore[misc]
            if not self.move():
                return

    def _try(self, i: int, step: Callable[[], Any]) -> bool:
        try:
            step()
        except SSL.WantReadError:
            return False
        except SSL.Error as error:
            self.errors[i] = error
            return False
        return True

    @property
    def reasons(self) -> tuple[str, str]:
        """The texts of the errors of server and client."""
        server, client = ("" if error is None else str(error) for error in self.errors)
        return server, client

    def say(self) -> bytes:
        """Send bytes from the client to the server; return what arrives."""
        self.client.send(b"entry")
        self.move()
        return self.server.recv(100)


def _copied(source: SSL.Connection, target: SSL.Connection) -> int:
    count = 0
    while True:
        try:
            data = source.bio_read(1 << 16)
        except SSL.Error:
            return count
        target.bio_write(data)
        count += len(data)


def shaken(server: ServerTls, client: ClientTls, host: str = "bookie.example") -> Ends:
    """The ends of a connection after its handshake."""
    unused: Any = None
    ends = Ends(server.serverConnectionForTLS(unused), client.connecting_to(host).clientConnectionForTLS(unused))
    ends.server.set_accept_state()
    ends.client.set_connect_state()
    ends.shake()
    return ends


def greeting(version: bytes) -> bytes:
    """The first record of a client that speaks this version at most."""

    def counted(data: bytes, size: int = 2) -> bytes:
        return len(data).to_bytes(size) + data

    suites = b"\xc0\x09\xc0\x0a\xc0\x13\xc0\x14\xc0\x2b\xc0\x23"
    groups, points, signatures = b"\x00\x17\x00\x18", b"\x00", b"\x04\x03\x02\x03\x04\x01"
    extensions = b"".join(
        kind.to_bytes(2) + counted(counted(data, size))
        for kind, data, size in ((10, groups, 2), (11, points, 1), (13, signatures, 2))
    )
    body = version + bytes(32) + b"\x00" + counted(suites) + b"\x01\x00" + counted(extensions)
    return b"\x16\x03\x01" + counted(b"\x01" + counted(body, 3))


class TlsCase(SynchronousTestCase):
    """Has the files of a bookie and of a client that trust one authority."""

    def setUp(self) -> None:
        """Writes them."""
        self.clock = Clock()
        self.clock.advance(NOW)
        self.bookie, self.client = Folder(Path(self.mktemp())), Folder(Path(self.mktemp()))
        self.bookie.put_pair(bookie(), authority())
        self.client.put_pair(client(), authority())
        self.logged: list[dict[str, Any]] = []
        self.patch(files, "_log", Logger(observer=self.logged.append))  # type: ignore[arg-type]
        for kind in (ServerTls, ClientTls):
            self.patch(kind, "_log", kind._log.__class__(observer=self.logged.append))  # type: ignore[arg-type]

    def server(self, **others: object) -> ServerTls:
        """The TLS of the bookie."""
        return ServerTls(self.bookie.settings(**others), self.clock.seconds)

    def peer(self, **others: object) -> ClientTls:
        """The TLS of the client."""
        return ClientTls(self.client.settings(**others), self.clock.seconds)

    def lines(self) -> list[tuple[str, str]]:
        """Level and text of what was logged since the last call."""
        found = [(e["log_level"].name, str(e["log_format"]).format(**e)) for e in self.logged]
        self.logged.clear()
        return found
