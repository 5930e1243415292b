"""Requests and what only looks like them, drawn by the parts of HTTP, over sockets that block."""

import random
import re
import socket
import struct
from collections.abc import Callable, Sequence

HEARTBEAT = b"GET /heartbeat HTTP/1.1\r\nHost: localhost\r\n"
_PATHS = (
    b"/heartbeat", b"/metrics", b"/api/v1/bookie/state", b"/api/v1/bookie/throttles", b"/api/v1/ledger/list", b"*",
    b"/api/v1/config/server_config", b"/api/v1/ledger/read?ledger_id=-1", b"/api/v1/nothing?%ff=%00", b"http://h/metrics",
    b"/api/v1/ledger/metadata?ledger_id=" + b"9" * 5000, b"/api/v1/bookie/entry_logs?directory=%00&log_id=-1",
)  # fmt: skip
_BODIES = (
    b"", b"{", b'{"limiters":{"\\ud800":{}}}', b'{"\\udfff":1}', b"[" * 60_000, b"9" * 6000, b"\xff\xfe", b'{"a":NaN}',
    b'{"gcWaitTime":"\\udc00"}', bytes(65_536),
)  # fmt: skip
_FORM = b"Content-Type: multipart/form-data; boundary=x\r\n"
_TIME = 20.0


class Fuzzer:
    """One peer, or many, of an HTTP server on this machine.

    :ivar wrong: what was not answered, or not as it had to be.
    :ivar asked: how many whole requests were sent.
    :ivar kept: connections that stay open, half of a request in them or answers that are not read.
    """

    def __init__(self, port: int, seed: int) -> None:
        self.wrong: list[str] = []
        self.asked = 0
        self.kept: list[socket.socket] = []
        self._port = port
        self._draw = random.Random(seed)

    def run(self, count: int) -> None:
        """Does some of all that it can do, in an order that its seed draws."""
        ways: Sequence[Callable[[], None]] = (
            self._request, self._request, self._request, self._pipeline, self._short, self._behind, self._too_long,
            self._chunks, self._bad_chunks, self._head, self._half, self._half, self._unread, self._reset, self._noise,
        )  # fmt: skip
        for _ in range(count):
            self._draw.choice(ways)()

    def close(self) -> None:
        """Closes what is open."""
        for each in self.kept:
            each.close()

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), _TIME)

    def _expect(self, sent: bytes, answers: int, statuses: Sequence[int] = ()) -> None:
        """Send bytes in pieces and read the answers until the connection ends or there are enough."""
        self.asked += answers
        found: list[int] = []
        with self._connect() as peer:
            try:
                at = 0
                while at < len(sent):
                    size = self._draw.choice((1, 7, 100, 5000, 1 << 20))
                    peer.sendall(sent[at : at + size])
                    at += size
            except OSError:
                pass  # refused before all was sent: the answer is there
            found = _statuses(peer, answers)
        if len(found) < answers or (statuses and not set(found) <= set(statuses)):
            self.wrong.append(f"{sent[:60]!r}, {len(sent)} bytes: {found}, {answers} were due")

    def _whole(self, last: bool = True) -> bytes:
        method = self._draw.choice((b"GET", b"GET", b"HEAD", b"PUT", b"POST", b"DELETE", b"PATCH"))
        path, body = self._draw.choice(_PATHS), self._draw.choice(_BODIES) if method in (b"PUT", b"POST") else b""
        end = b"Connection: close\r\n" if last else b""
        kind = self._draw.choice((b"", _FORM, b"Expect: 100-continue\r\n"))
        head = b"%b %b HTTP/1.1\r\nHost: localhost\r\n" % (method, path)
        return b"%b%b%bContent-Length: %d\r\n\r\n" % (head, end, kind, len(body)) + body

    def _request(self) -> None:
        self._expect(self._whole(), 1)

    def _pipeline(self) -> None:
        count = self._draw.randrange(2, 30)
        self._expect((HEARTBEAT + b"\r\n") * count + self._whole(), count + 1)

    def _short(self) -> None:
        with self._connect() as peer:
            peer.sendall(b"PUT /heartbeat HTTP/1.0\r\nContent-Length: 100\r\n\r\nabc")

    def _behind(self) -> None:
        self._expect(HEARTBEAT + b"Connection: close\r\n\r\n" + self._draw.randbytes(3000), 1, [200])

    def _too_long(self) -> None:
        size, body = self._draw.choice((65_537, 10**8, 10**30)), bytes(self._draw.choice((0, 300_000)))
        self._expect(HEARTBEAT + b"Content-Length: %d\r\n\r\n" % size + body, 1, [413])

    def _chunks(self) -> None:
        body = b"".join(b"%x;a=b\r\n%b\r\n" % (n, bytes(n)) for n in self._draw.choices(range(1, 3000), k=20))
        head = HEARTBEAT + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._expect(head + body + b"0\r\nTrailer: x\r\n\r\n", 1, [200])
        self._expect(head + b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n", 1, [200])

    def _bad_chunks(self) -> None:
        wrong = self._draw.choice((b"-1\r\n", b"zz\r\n", b"1\r\nab\r\n", b"f" * 2000, b"\x00\r\n"))
        self._expect(HEARTBEAT + b"Transfer-Encoding: chunked\r\n\r\n" + wrong, 1, [400])

    def _head(self) -> None:
        wrong = self._draw.choice((
            b"a: " + b"x" * 100_000, b"a: b\r\n" * 1000, b"no colon\r\n", b"a\x00: b\r\n", b": b\r\n",
            b"Content-Length: -1\r\n", b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", b"a: \x00\r\n",
            b"Content-Length: " + b"9" * 5000 + b"\r\n", b"Host: localhost\r\n",
        ))  # fmt: skip
        self._expect(HEARTBEAT + wrong + b"\r\n\r\n", 1, [400, 413, 431])

    def _half(self) -> None:
        peer = self._connect()
        most = b"PUT / HTTP/1.0\r\nContent-Length: 65536\r\n\r\n" + bytes(65_535)
        peer.sendall(self._draw.choice((b"", b"G", HEARTBEAT, most)))
        self.kept.append(peer)

    def _unread(self) -> None:
        peer = self._connect()
        peer.settimeout(0.01)
        try:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20_000)
        except OSError:
            pass  # the server reads no more
        self.kept.append(peer)

    def _reset(self) -> None:
        peer = self._connect()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.sendall(self._whole())
        peer.close()

    def _noise(self) -> None:
        with self._connect() as peer:
            try:
                peer.sendall(self._draw.randbytes(self._draw.randrange(1, 50_000)))
            except OSError:
                pass


def _statuses(peer: socket.socket, count: int) -> list[int]:
    """The statuses of answers, those that ask for a body left out."""
    peer.settimeout(_TIME)
    found: list[int] = []
    rest = b""
    try:
        while len(found) < count and (data := peer.recv(1 << 16)):
            rest += data
            while (line := re.search(rb"HTTP/1\.[01] (\d\d\d) [^\r]*\r\n", rest)) is not None:
                rest = rest[line.end() :]
                if line[1] != b"100":
                    found.append(int(line[1]))
    except OSError:
        pass
    return found
