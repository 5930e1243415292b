"""How wire protocols are found, which a client uses, and that a third one takes part on both sides."""

from twisted.plugin import IPlugin, getPlugins
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.codec.connection import ClientDecoder, ServerDecoder
from bookkeeper_twisted.codec.runs import AddRun, ReadRun
from bookkeeper_twisted.codec.wire_protocol import IWireProtocol
from bookkeeper_twisted.codec.wires import INCLUDED, V2Protocol
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import ConfigError, Status
from bookkeeper_twisted.protocol import wire_protocols
from bookkeeper_twisted.protocol.wire_protocols import V2, V3, ClientWires, client_wires

MAGIC = b"\0\0\0\x04SEAL"


@implementer(IPlugin, IWireProtocol)
class SealedProtocol(V2Protocol):
    """V2 behind a frame that names it."""

    names = frozenset({"sealed"})
    number = 9
    rank = 10

    def scan_requests(self, data: bytes, at: int, limit: int, items: list[object]) -> tuple[int, bool]:
        """See :meth:`.IWireProtocol.scan_requests`."""
        if data[at : at + len(MAGIC)] == MAGIC:
            return super().scan_requests(data, at + len(MAGIC), limit, items)
        return at, False


SEALED = SealedProtocol()


def wires(name: str, limit: int = 2) -> ClientWires:
    """Of a client with one setting or two."""
    return client_wires(ClientConfig(wire_protocol=name, max_connections_per_bookie=limit))


class FindingTests(SynchronousTestCase):
    """By plugin."""

    def test_included(self) -> None:
        """The included ones are plugins, and are tried in their order."""
        self.assertEqual(tuple(wire_protocols.wire_protocols()), INCLUDED)
        self.assertLessEqual({V2, V3}, set(getPlugins(IWireProtocol)))

    def test_names(self) -> None:
        """Entries go over V2 unless V3 is asked for, or has the only socket; what V2 lacks over V3, or not at all."""
        self.assertEqual(wires("auto"), ClientWires(V2, V3))
        self.assertEqual(wires("auto", 0), ClientWires(V2, V3))
        self.assertEqual(wires("auto", 1), ClientWires(V3, V3))
        self.assertEqual(wires("v2"), ClientWires(V2, V3, strict=True))
        self.assertEqual(wires("v3"), ClientWires(V3, V3))

    def test_unknown(self) -> None:
        """A name that no plugin answers to is refused with the known ones."""
        with self.assertRaisesRegex(ConfigError, "wireProtocol = 'v9', default: .*known are auto, v2, v3"):
            wires("v9")

    def test_one_socket_for_v2(self) -> None:
        """V2 does not do alone, so one socket is refused, with the reason."""
        with self.assertRaisesRegex(ConfigError, "maxConnectionsPerBookie = '1'.*wireProtocol = v2"):
            wires("v2", 1)

    def test_sockets(self) -> None:
        """One socket is for what the main protocol lacks; 0 is no limit."""
        self.assertEqual([wires("v2", 5).sockets(wire, 5) for wire in (V2, V3)], [4, 1])
        self.assertEqual([wires("v3", 5).sockets(V3, 5), wires("auto", 0).sockets(V2, 0)], [5, 0])

    def test_third(self) -> None:
        """A protocol of another package is found by its name."""
        self.patch(wire_protocols, "getPlugins", lambda interface: [V2, SEALED, V3])
        self.addCleanup(wire_protocols.wire_protocols.cache_clear)
        wire_protocols.wire_protocols.cache_clear()
        self.assertEqual(tuple(wire_protocols.wire_protocols()), (SEALED, V3, V2))
        self.assertEqual(wires("sealed"), ClientWires(SEALED, V3, strict=True))


class SealedTests(SynchronousTestCase):
    """A third protocol: a bookie finds out which of three a peer speaks."""

    def test_bookie(self) -> None:
        """The first frame decides; what comes behind it is of that protocol."""
        order = (SEALED, V3, V2)
        reads = V2.encode_reads(1, [2], 0)
        for stream, expected in ((MAGIC + reads, SEALED), (V3.encode_reads(1, [2], 5), V3), (reads, V2)):
            decoder = ServerDecoder(1000, order)
            (run,) = decoder.receive(stream)
            self.assertIsInstance(run, ReadRun)
            self.assertIs(run.wire, expected)  # type: ignore[attr-defined]
            self.assertIs(decoder.wire, expected)

    def test_answer(self) -> None:
        """A run is answered by the protocol it came in."""
        run = AddRun(SEALED, 2, 0, False, b"", EntryRun.of_entries(1, 2, [bytes(40)]))
        (reply,) = ClientDecoder(SEALED).receive(run.replies(Status.EFENCED))
        self.assertIs(reply.status, Status.EFENCED)  # type: ignore[attr-defined]

    def test_unknown(self) -> None:
        """A peer that speaks none of them is disconnected."""
        decoder = ServerDecoder(1000, (SEALED,))
        self.assertEqual(decoder.receive(V2.encode_reads(1, [2], 0)), [])
        self.assertIn("no protocol", str(decoder.error))
