"""Many connections to a bookie at once, in a process of their own: ``python -m tests.fuzz.attacker PORT KIND COUNT``.

Prints a line when all are open, and ends when its input does.  It uses nothing of the project but StartTLS.
"""

import resource
import selectors
import socket
import sys

_START_TLS = bytes.fromhex("0000000b0a06080310091801d20600")
_PER_ADDRESS = 10_000
_RECORD = 16_384
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


def main(port: int, kind: str, count: int) -> None:
    """See the module."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
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
