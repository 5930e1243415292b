"""The bytes of a peer between StartTLS and its first TLS record."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.messages import AuthRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.protocol.server.greeting import LONGEST, Greeting
from bookkeeper_twisted.protocol.turns import Turns


def token(wire: int = 3, payload: bytes = b"", plugin: str = "sasl") -> bytes:
    """The frame of a token."""
    spoken = V2 if wire == 2 else V3
    frame: bytes = spoken.encode_request(AuthRequest(spoken.header(Operation.AUTH, 1, 0), plugin, payload))
    return frame


HELLO = b"\x16\x03\x01\x00\x06\x01\x00\x00\x02hi"


class _Layer:
    """What begins TLS, and its connection."""

    closed = False

    def __init__(self) -> None:
        self.begun = self.aborted = 0
        self.received = b""
        self.taken: list[object] = []
        self.turns = Turns(Clock(), lambda: None)
        self.greeting = Greeting(self, ServerDecoder(), self.take, self.begin)

    def take(self, item: object) -> bool:
        self.taken.append(item)
        return isinstance(item, AuthRequest) and not item.payload

    @property
    def transport(self) -> "_Layer":
        return self

    def abortConnection(self) -> None:
        self.aborted += 1

    def begin(self) -> "_Layer":
        self.begun += 1
        return self

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def send(self, data: bytes, size: int) -> None:
        """Send bytes in pieces, to the layer once it has begun."""
        for at in range(0, len(data), size):
            to = self if self.begun else self.greeting
            to.dataReceived(data[at : at + size])


class GreetingTests(SynchronousTestCase):
    """One frame in clear, and the begin of TLS."""

    def test_token(self) -> None:
        """An empty token in V2 or V3 is taken in any pieces, and no byte of it is in TLS."""
        for wire in (2, 3):
            for size in (1, 3, 4, 5, 100):
                layer = _Layer()
                layer.send(token(wire), size)
                self.assertEqual((len(layer.taken), layer.begun), (1, 0))
                layer.send(HELLO, size)
                self.assertEqual((len(layer.taken), layer.begun, layer.received), (1, 1, HELLO))

    def test_half_record(self) -> None:
        """TLS begins with a whole record, and with whatever cannot become one."""
        for size in range(1, len(HELLO)):
            layer = _Layer()
            layer.greeting.dataReceived(HELLO[:size])
            self.assertEqual(layer.begun, 0)
            layer.send(HELLO[size:] + b"more", 100)
            self.assertEqual((layer.begun, layer.received), (1, HELLO + b"more"))
        for data in (b"\x15", b"G", b"\x80\x2e\x01"):
            layer = _Layer()
            layer.greeting.dataReceived(data)
            self.assertEqual((layer.begun, layer.received), (1, data))
        layer = _Layer()
        layer.send(HELLO[:7] + token(), 1)  # no frame in clear behind the begin of a record
        self.assertEqual((layer.taken, layer.begun), ([], 1))

    def test_long_record(self) -> None:
        """A first record of any permitted length is kept until it is whole; one that is longer ends the connection."""
        body = b"\x01" + (16_380).to_bytes(3, "big") + bytes(16_380)
        whole = b"\x16\x03\x01\x40\x00" + body
        layer = _Layer()
        layer.send(whole[:-1], 1000)
        self.assertEqual((layer.begun, layer.aborted), (0, 0))
        layer.greeting.dataReceived(whole[-1:])
        self.assertEqual((layer.begun, layer.received), (1, whole))
        layer = _Layer()
        layer.greeting.dataReceived(b"\x16\x03\x01\x40\x01" + body[:100])
        self.assertEqual((layer.begun, layer.aborted), (0, 1))

    def test_none(self) -> None:
        """TLS without a token."""
        for size in (1, 100):
            layer = _Layer()
            layer.send(HELLO, size)
            self.assertEqual((layer.taken, layer.begun, layer.received), ([], 1, HELLO))

    def test_one(self) -> None:
        """A second token is none of TLS either; nor is one that comes when none is to come."""
        for size in (1, 100):
            layer = _Layer()
            layer.send(token() * 2, size)
            self.assertEqual((len(layer.taken), layer.begun, layer.received), (1, 1, token()))
        layer = _Layer()
        layer.greeting._take = None
        layer.send(token(), 100)
        self.assertEqual((layer.taken, layer.begun, layer.received), ([], 1, token()))

    def test_other_frames(self) -> None:
        """Frames that are not taken go to TLS as they are, which ends the connection; none is kept at length."""
        others = (
            token(payload=b"token"), bytes(4), bytes(8), b"\0\0\0\1x", token(plugin="x" * LONGEST), b"\0\0\1", b"\0\1",
            b"\0\0\0\x14" + b"\xff" * 20,
        )  # fmt: skip
        for data in others:
            for size in (1, 2, 100_000):
                layer = _Layer()
                layer.send(data, size)
                layer.send(bytes(LONGEST), size)
                self.assertEqual((layer.begun, layer.received[: len(data)]), (1, data))
                self.assertLessEqual(len(layer.taken), 1)
                self.assertLessEqual(len(layer.greeting._received), LONGEST)

    def test_closed(self) -> None:
        """A connection that is closed begins nothing."""
        layer = _Layer()
        layer.closed = True
        layer.greeting.dataReceived(HELLO)
        self.assertEqual(layer.begun, 0)
