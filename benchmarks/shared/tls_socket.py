"""The load generator's end of TLS: StartTLS in clear, then a socket whose bytes are encrypted.

It costs little: one system call receives what many records hold, and one sends a whole window of requests.  OpenSSL of
the standard library decrypts into the generator's own buffer.  All runs have one suite, so that no bookie gets a
cheaper one than another: Apache's would choose the client's favourite, ours chooses its own.
"""

import socket
import ssl
from pathlib import Path
from typing import Any

from bookkeeper_twisted.codec.messages import StartTlsRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.wires import V3

from .certificates import SUITE

_RECEIVED = 1 << 20


class TlsSocket:
    """A blocking socket that has begun TLS.

    :param sock: connected to a bookie; nothing was sent on it.
    :param trusted: a file with the certificate of the bookie's authority, in PEM.
    :raises ValueError: the bookie refuses, or chooses another suite.
    :raises ssl.SSLError: the handshake fails.
    """

    def __init__(self, sock: socket.socket, trusted: Path) -> None:
        self._sock = sock
        self._encrypted = bytearray(_RECEIVED)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        _start_tls(sock)
        context = ssl.create_default_context(cafile=trusted)
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=sock.getpeername()[0])
        self._shake()
        suite = self._tls.cipher()
        if suite is None or suite[0] != SUITE:
            raise ValueError(f"the bookie has chosen {suite} and not {SUITE}")

    def _shake(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                if not self._receive():
                    raise ConnectionError("the bookie has ended the handshake") from None
            else:
                self._flush()
                return

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._sock.sendall(self._outgoing.read())

    def _receive(self) -> bool:
        """Wait for bytes; return False at their end."""
        got = self._sock.recv_into(self._encrypted)
        self._incoming.write(memoryview(self._encrypted)[:got])
        return got > 0

    def sendall(self, data: bytes | memoryview) -> None:
        """Send all ``data`` by one call of the socket."""
        if data:
            self._tls.write(data)
            self._flush()

    def recv_into(self, buffer: bytearray | memoryview) -> int:
        """Fill a buffer with what is there, as a socket does: all complete records; return the number of bytes."""
        view, at = memoryview(buffer), 0
        while True:
            try:
                while at < len(view):
                    at += self._read(view[at:])
            except ssl.SSLWantReadError:
                pass
            if at or not self._receive():
                return at

    def _read(self, view: Any) -> int:
        count: Any = self._tls.read(len(view), view)  # a number, as there is a buffer
        return int(count)

    def fileno(self) -> int:
        """The socket's; what is decrypted already does not show there."""
        return self._sock.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()


def _start_tls(sock: socket.socket) -> None:
    """Ask for TLS by V3, which Apache's clients do for V2 as well."""
    sock.sendall(V3.encode_request(StartTlsRequest(V3.header(Operation.START_TLS, 1, 0))))
    answer = sock.recv(1024)
    status_at = 4 + answer[5] + 3 if len(answer) > 5 else len(answer)
    if answer[status_at : status_at + 1] != b"\0":
        raise ValueError(f"the bookie refuses TLS: {answer.hex()}")
