"""Many connections to a bookie at once, in a process of their own: ``python -m tests.fuzz.attacker PORT KIND COUNT``.

Prints a line when all are open, and ends when its input does.  Connections of the kinds of :data:`BURSTS` are silent
until it reads a line; then they all send at once, and another line is printed when all is sent.  It uses nothing of the
project but StartTLS, and KeyUpdates, which OpenSSL does not make.
"""

import resource
import selectors
import socket
import sys

_START_TLS = bytes.fromhex("0000000b0a06080310091801d20600")
_PER_ADDRESS = 10_000
_RECORD = 16_384
BURSTS = ("refused", "updates", "first-flights")
"""Reads of peers that have proven nothing, KeyUpdates that ask for no answer, and first flights of handshakes."""

_READ = bytes.fromhex("0000000f0a06080310011801a2060408011001")
_READS, _UPDATES = 40_000, 6_000
"""Reads, or KeyUpdates, of one connection."""

_EACH = 0.2
"""Seconds between two bytes of a slow connection."""


def hello() -> bytes:
    """The first flight of a client."""
    from OpenSSL import SSL

    end = SSL.Connection(SSL.Context(SSL.TLS_METHOD), None)
    end.set_connect_state()
    try:
        end.do_handshake()
    except SSL.WantReadError:
        pass
    return end.bio_read(1 << 16)


def long_hello() -> bytes:
    """The longest first message that OpenSSL takes, without its last bytes; a bookie refuses it."""
    body = b"\x01" + (131_000).to_bytes(3, "big") + b"\x03\x03" + bytes(130_000)
    parts = [body[at : at + _RECORD] for at in range(0, len(body), _RECORD)]
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in parts)


def opened(port: int, number: int) -> socket.socket:
    """A connection from one of several addresses of this machine."""
    made = socket.socket()
    made.bind((f"127.0.0.{2 + number // _PER_ADDRESS}", 0))
    made.connect(("127.0.0.1", port))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _shaken(peer: socket.socket, kind: str) -> bytes:
    """Make the handshake of TLS; return what a connection of the kind sends within it."""
    from OpenSSL import SSL

    from ..security.key_updates import SUITE, KeyUpdates

    context = SSL.Context(SSL.TLS_METHOD)
    context.set_cipher_list(b"ECDHE+AESGCM")
    context.set_tls13_ciphersuites(SUITE.encode())
    updates = KeyUpdates(context, "CLIENT_TRAFFIC_SECRET_0")
    end = SSL.Connection(context, None)
    end.set_connect_state()
    while True:
        try:
            end.do_handshake()
            break
        except SSL.WantReadError:
            peer.sendall(end.bio_read(1 << 16))
            end.bio_write(peer.recv(1 << 16))
    peer.sendall(end.bio_read(1 << 16))
    if kind == "updates":
        return updates.records(_UPDATES, requests=False)
    sent = bytearray()
    for _ in range(_READS // 1000):
        end.sendall(_READ * 1000)
        sent += end.bio_read(1 << 16)
    return bytes(sent)


def _send_all(sending: dict[socket.socket, memoryview]) -> None:
    """Send bytes over all connections at once, as far as the other end reads."""
    waiting = selectors.DefaultSelector()
    for peer in sending:
        waiting.register(peer, selectors.EVENT_WRITE)
    while sending:
        waiting.select()
        for peer, data in list(sending.items()):
            try:
                sending[peer] = data[peer.send(data) :]
            except BlockingIOError:
                continue
            except OSError:
                sending[peer] = data[:0]
            if not sending[peer]:
                waiting.unregister(peer)
                del sending[peer]


def burst(port: int, kind: str, count: int) -> None:
    """Open silent connections, and let them send all at once when a line is read."""
    sending: dict[socket.socket, memoryview] = {}
    for number in range(count):
        peer = opened(port, number)
        data = hello() if kind == "first-flights" else b""
        if not data:
            peer.sendall(_START_TLS)
            peer.recv(100)
            data = _shaken(peer, kind)
        peer.setblocking(False)
        sending[peer] = memoryview(data)
    peers = list(sending)
    print("open", flush=True)
    sys.stdin.readline()
    _send_all(sending)
    print("sent", flush=True)
    sys.stdin.read()
    for peer in peers:
        peer.close()


def main(port: int, kind: str, count: int) -> None:
    """See the module."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if kind in BURSTS:
        burst(port, kind, count)
        return
    flight = long_hello() if kind == "long" else hello()
    peers = []
    for number in range(count):
        peer = opened(port, number)
        if kind != "idle":
            peer.sendall(_START_TLS)
            peer.recv(100)
        if kind in ("half-open", "long"):
            peer.sendall(flight)
        peers.append(peer)
    print("open", flush=True)
    waiting = selectors.DefaultSelector()
    waiting.register(sys.stdin, selectors.EVENT_READ)
    at = 0
    while not waiting.select(_EACH if kind == "slow" else 600):
        for peer in peers if at < len(flight) else ():
            try:
                peer.send(flight[at : at + 1])
            except OSError:
                pass
        at += 1


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
