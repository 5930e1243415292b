"""The load generator's end of TLS, and the certificates that are made for it."""

import socket
import ssl
from pathlib import Path
from threading import Thread

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.shared import tls_socket
from benchmarks.shared.certificates import make_files
from benchmarks.shared.tls_socket import TlsSocket
from bookkeeper_twisted.codec.messages import StartTlsRequest, StartTlsResponse
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import Status

from ..protocol.tls_ends import missing

SIZE = 3 << 20


class TlsSocketTests(SynchronousTestCase):
    """A server that sends back what it receives, in a thread."""

    skip = missing()

    def setUp(self) -> None:
        self.files = make_files(Path(self.mktemp()))
        self.patch(tls_socket, "SUITE", "TLS_AES_256_GCM_SHA384")  # what the standard library prefers
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)

    def _serve(self, status: Status) -> None:
        sock, _ = self.listener.accept()
        with sock:
            request = StartTlsRequest(V3.header(Operation.START_TLS, 1, 0))
            assert sock.recv(1000) == V3.encode_request(request)
            sock.sendall(V3.encode_response(StartTlsResponse(request.header, status)))
            if status is not Status.EOK:
                return
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.files.folder / "chain.pem", self.files.folder / "key.pem")
            with context.wrap_socket(sock, server_side=True) as end:
                data = bytearray()
                while len(data) < SIZE and (part := end.recv(1 << 16)):
                    data += part
                end.sendall(data)

    def _connected(self, status: Status = Status.EOK) -> TlsSocket:
        thread = Thread(target=self._serve, args=(status,))
        thread.start()
        self.addCleanup(thread.join)
        sock = socket.create_connection(self.listener.getsockname(), timeout=10)
        self.addCleanup(sock.close)
        return TlsSocket(sock, self.files.trusted)

    def test_bytes(self) -> None:
        """What is sent comes back, as much as fits the buffer."""
        sock = self._connected()
        sent = bytes(range(256)) * (SIZE // 256)
        sock.sendall(memoryview(sent))
        received, buffer = b"", bytearray(100_000)
        while len(received) < SIZE:
            received += buffer[: sock.recv_into(buffer)]
        self.assertEqual(received, sent)

    def test_refused(self) -> None:
        """A bookie without TLS is no bookie to measure."""
        self.assertRaises(ValueError, self._connected, Status.EBADREQ)

    def test_other_suite(self) -> None:
        """A bookie that chooses another suite is not comparable."""
        self.patch(tls_socket, "SUITE", "TLS_CHACHA20_POLY1305_SHA256")
        self.assertRaises(ValueError, self._connected)
