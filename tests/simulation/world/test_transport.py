"""The bytes of a connection: all of them, in order, in pieces; producers; both ways to close."""

from twisted.internet.error import ConnectionAborted, ConnectionDone
from twisted.internet.interfaces import ITCPTransport
from zope.interface.verify import verifyObject

from .connected import NetworkCase


class _Producer:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def pauseProducing(self) -> None:
        self.heard.append("pause")

    def resumeProducing(self) -> None:
        self.heard.append("resume")


class TransportTests(NetworkCase):
    """:class:`SimTransport`."""

    def test_interface(self) -> None:
        """It is a TCP transport."""
        near, _ = self.connected()
        verifyObject(ITCPTransport, near.transport)
        self.assertEqual(near.transport.getPeer().host, "server")

    def test_bytes(self) -> None:
        """Everything arrives once, in order, cut at other points than it was written."""
        near, far = self.connected()
        written = [b"%d " % number * 10 for number in range(100)]
        for data in written:
            near.transport.write(data)
        self.pass_time()
        self.assertEqual(far.data, b"".join(written))
        self.assertNotEqual(far.chunks, written)

    def test_delay(self) -> None:
        """A slow link takes longer."""
        near, far = self.connected()
        self.network.links.between("client", "server").scale = 100_000
        near.transport.writeSequence([b"sl", b"ow"])
        self.pass_time()
        self.assertEqual(far.data, b"")
        self.pass_time(10_000)
        self.assertEqual(far.data, b"slow")

    def test_one_way_silence(self) -> None:
        """In a silence in one direction the other one works; what was sent arrives behind it."""
        near, far = self.connected()
        link = self.network.links.between("client", "server")
        link.silent = True
        near.transport.write(b"request")
        far.transport.write(b"reply")
        self.pass_time(60)
        self.assertEqual((far.data, near.data), (b"", b"reply"))
        link.heal()
        self.pass_time()
        self.assertEqual(far.data, b"request")

    def test_producer(self) -> None:
        """Who writes more than the buffer holds is paused, and goes on once it is empty."""
        near, far = self.connected()
        producer = _Producer()
        near.transport.registerProducer(producer, True)
        near.transport.bufferSize = 100
        near.transport.write(b"x" * 100)
        self.assertEqual(producer.heard, [])
        far.transport.pauseProducing()
        near.transport.write(b"x")
        self.assertEqual(producer.heard, ["pause"])
        self.pass_time(10)
        self.assertEqual(producer.heard, ["pause"])
        far.transport.resumeProducing()
        self.pass_time()
        self.assertEqual(producer.heard, ["pause", "resume"])
        self.assertEqual(far.data, b"x" * 101)

    def test_lose_connection(self) -> None:
        """``loseConnection`` sends what was written; both sides learn of an orderly end."""
        near, far = self.connected()
        near.transport.write(b"bye")
        near.transport.loseConnection()
        self.assertIsNone(near.reason)
        self.pass_time()
        self.assertEqual((far.data, far.reason, near.reason), (b"bye", ConnectionDone, ConnectionDone))

    def test_abort_connection(self) -> None:
        """``abortConnection`` ends it at once; what is written later goes nowhere."""
        near, far = self.connected()
        near.transport.abortConnection()
        self.pass_time()
        near.transport.write(b"too late")
        self.pass_time()
        self.assertEqual((far.data, near.reason), (b"", ConnectionAborted))
        self.assertIsNotNone(far.reason)
