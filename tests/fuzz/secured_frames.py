"""Bytes for a bookie with TLS and SASL: records that are none, and tokens of rounds that are none."""

from random import Random
from typing import Any

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.protocol.client.encryption import START_TLS

from .frames import Frames

START: Any = V3.encode_request(START_TLS)
_HANDSHAKE, _DATA = 22, 23
_DIRECTIVES = (
    b'username="a-bookkeeper-user"', b'username="' + b"x" * 5000 + b'"', b'realm="bookkeeper"', b'nonce="0"',
    b'cnonce="00"', b"nc=00000001", b"nc=-1", b"qop=auth", b"qop=auth-conf", b'digest-uri="bookkeeper/bookkeeper"',
    b"response=" + b"0" * 32, b"charset=utf-8", b'authzid="\xff\xfe"', b'="', b"maxbuf=99999999999999", b"\0" * 40,
)  # fmt: skip


def record(kind: int, body: bytes, version: int = 0x0301) -> bytes:
    """A record of TLS."""
    return bytes((kind,)) + version.to_bytes(2, "big") + len(body).to_bytes(2, "big") + body


class SecuredFrames:
    """Draws what a peer sends that is not let in.

    :param random: all that is drawn comes from it.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def clear(self) -> bytes:
        """Requests and tokens in clear, before or without StartTLS."""
        data, _ = Frames(self._random).stream()
        return self._random.choice((data, self.token() + data, self._random.randbytes(300), START[:9]))

    def behind(self) -> bytes:
        """What is sent in clear behind StartTLS."""
        random = self._random
        some: Any = m.AuthRequest(V3.header(Operation.AUTH, 1, 0), "sasl", b"")
        empty: Any = V3.encode_request(some)
        noise = random.randbytes(random.randrange(4, 120))
        return random.choice((
            len(noise).to_bytes(4, "big") + noise, len(noise).to_bytes(4, "big") + noise, empty, empty * 2,
            empty[: random.randrange(len(empty))], self.token(), START * random.randrange(1, 90),
            Frames(random).stream()[0], bytes(random.randrange(1, 300)), random.randbytes(random.randrange(1, 300)),
        ))  # fmt: skip

    def token(self) -> bytes:
        """A frame of the exchange of tokens."""
        random = self._random
        payload = random.choice((
            b"", b"token", b",".join(random.choices(_DIRECTIVES, k=random.randrange(1, 12))), random.randbytes(50),
            bytes(random.choice((65_536, 65_537, 200_000))), b"\0user\0password",
        ))  # fmt: skip
        plugin = random.choice(("sasl", "sasl", "sasl", "sasl", "AuthDisabledPlugin", "", "x" * 3000))
        if random.random() < 0.5:
            header: Any = m.Header(V2, random.choice((2, 2, 1, 3)), V2Op.AUTH)
            data: bytes = V2.encode_request(m.AuthRequest(header, plugin, payload))  # type: ignore[assignment]
        else:
            data = V3.encode_request(m.AuthRequest(V3.header(Operation.AUTH, 1, 0), plugin, payload))  # type: ignore[assignment]
        return data

    def tokens(self) -> bytes:
        """Several, and requests among them."""
        random = self._random
        frames = [self.token() for _ in range(random.randrange(1, 8))]
        if random.random() < 0.7:
            frames.insert(random.randrange(len(frames) + 1), Frames(random).stream()[0])
        return b"".join(frames)

    def damaged(self, flight: bytes) -> bytes:
        """Records of a good handshake that are not good any more."""
        random, data = self._random, bytearray(flight)
        kind = random.randrange(8)
        if kind == 0:
            return flight[: random.randrange(len(flight))]
        if kind == 1:
            for _ in range(random.randrange(1, 6)):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        elif kind == 2:
            data[1:3] = random.choice((b"\x02\x00", b"\x03\x00", b"\x03\x05", b"\xff\xff", b"\x00\x00"))
        elif kind == 3:  # in records of a byte or a few
            size, body = random.choice((1, 2, 50)), flight[5:]
            return b"".join(record(_HANDSHAKE, body[at : at + size]) for at in range(0, len(body), size))
        elif kind == 4:  # a message of up to 16 MiB that never ends
            head = b"\x01" + random.choice((0x4000, 0x1FFFF, 0xFFFFFF)).to_bytes(3, "big") + b"\x03\x03"
            body = head + random.randbytes(30_000)
            return b"".join(record(_HANDSHAKE, body[at : at + 16_384]) for at in range(0, len(body), 16_384))
        elif kind == 5:
            return record(random.choice((20, 21, _DATA, 24, 99)), random.randbytes(random.randrange(1, 60)))
        elif kind == 6:
            return flight + flight
        else:
            return random.randbytes(random.randrange(1, 3000))
        return bytes(data)
