"""V2 and V3 pass the contract of wire protocols."""

from bookkeeper_twisted.codec.wires import INCLUDED, V2, V3, V2Protocol, V3Protocol
from bookkeeper_twisted.errors import CodecError, Status
from bookkeeper_twisted.testing.contracts import wire_protocol_contract


class V2Tests(wire_protocol_contract.WireProtocolContract):
    """Fixed layouts."""

    def make(self) -> V2Protocol:
        return V2

    def test_last(self) -> None:
        """It comes last, because it leaves no frame to another protocol."""
        self.assertIs(INCLUDED[-1], V2)
        self.assertRaises(CodecError, V2.scan_requests, wire_protocol_contract.NO_PROTOCOL, 0, 1000, [])

    def test_no_refusal(self) -> None:
        """A batch read cannot be refused before it is looked at."""
        self.assertIsNone(V2.refusal(V2.batch_read(1, 0, 1, 1, 100), Status.EUA))


class V3Tests(wire_protocol_contract.WireProtocolContract):
    """Protobuf."""

    def make(self) -> V3Protocol:
        return V3

    def test_numbers(self) -> None:
        """A refusal has the number of each request."""
        (run,) = self.requests(V3.encode_reads(7, [3, 4, 5], 500))
        found = self.replies(V3.refusal(run, Status.EUA) or b"")
        self.assertEqual([reply.header.txn_id for reply in found], [500, 501, 502])
