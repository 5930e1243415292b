"""Cold messages survive their encoding."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ClientDecoder, ServerDecoder
from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.wire_protocol import IWireProtocol
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.errors import Status

from .wire_examples import KEY


def v3_header(operation: Operation, priority: int = 0) -> m.Header:
    """A header as a V3 client sends it."""
    return m.Header(V3, 3, operation, 12345, priority)


LAC_PACKET = (7).to_bytes(8, "big") + bytes(12)

REQUESTS: list[object] = [
    m.ReadRequest(v3_header(Operation.READ, 100), 7, -1, True, True, KEY),
    m.ReadRequest(v3_header(Operation.READ), 7, -1, previous_lac=-1, timeout_ms=1000, piggyback=True),
    m.ReadRequest(v3_header(Operation.READ), 7, 3, timeout_ms=0),
    m.AuthRequest(v3_header(Operation.AUTH), "sasl", b""),
    m.WriteLacRequest(v3_header(Operation.WRITE_LAC), 7, 5, KEY, LAC_PACKET),
    m.ReadLacRequest(v3_header(Operation.READ_LAC), 1 << 40),
    m.BookieInfoRequest(v3_header(Operation.BOOKIE_INFO), 3),
    m.BookieInfoRequest(v3_header(Operation.BOOKIE_INFO)),
    m.StartTlsRequest(v3_header(Operation.START_TLS)),
    m.ForceLedgerRequest(v3_header(Operation.FORCE_LEDGER), 7),
    m.ListEntriesRequest(v3_header(Operation.LIST_ENTRIES), 7),
    m.ReadRequest(m.Header(V2, 2, V2Op.READ), 7, -1, True, True, KEY),
    m.ReadRequest(m.Header(V2, 1, V2Op.READ), 7, -1, True, False, None),
    m.AuthRequest(m.Header(V2, 2, V2Op.AUTH), "sasl", b"\x00token"),
]

RESPONSES: list[object] = [
    m.AuthResponse(v3_header(Operation.AUTH, 7), "AuthDisabledPlugin", b""),
    m.WriteLacResponse(v3_header(Operation.WRITE_LAC), Status.EREADONLY, 7),
    m.ReadLacResponse(v3_header(Operation.READ_LAC), Status.EOK, 7, LAC_PACKET, b"entry"),
    m.ReadLacResponse(v3_header(Operation.READ_LAC), Status.ENOENTRY, 7),
    m.BookieInfoResponse(v3_header(Operation.BOOKIE_INFO), Status.EOK, 1 << 50, 0),
    m.BookieInfoResponse(v3_header(Operation.BOOKIE_INFO), Status.EIO),
    m.StartTlsResponse(v3_header(Operation.START_TLS), Status.EOK),
    m.StartTlsResponse(v3_header(Operation.START_TLS), Status.EBADREQ),
    m.ForceLedgerResponse(v3_header(Operation.FORCE_LEDGER), Status.EOK, 7),
    m.ListEntriesResponse(v3_header(Operation.LIST_ENTRIES), Status.EOK, 7, ((0, 9), (20, 20))),
    m.ListEntriesResponse(v3_header(Operation.LIST_ENTRIES), Status.ENOLEDGER, 7),
    m.ErrorResponse(v3_header(Operation.ADD), Status.EUA),
    m.ErrorResponse(v3_header(Operation.AUTH), Status.EUA),
    m.AuthResponse(m.Header(V2, 2, V2Op.AUTH), "sasl", b"challenge"),
]


class RoundTripTests(SynchronousTestCase):
    """What one side encodes the other side reads as the same value."""

    def test_requests(self) -> None:
        """Every cold request."""
        for message in REQUESTS:
            wire: IWireProtocol = message.header.wire  # type: ignore[attr-defined]
            decoder = ServerDecoder()
            self.assertEqual(decoder.receive(wire.encode_request(message)), [message])
            self.assertIsNone(decoder.error)

    def test_responses(self) -> None:
        """Every cold response."""
        for message in RESPONSES:
            wire: IWireProtocol = message.header.wire  # type: ignore[attr-defined]
            decoder = ClientDecoder(wire)
            self.assertEqual(decoder.receive(wire.encode_response(message)), [message])
            self.assertIsNone(decoder.error)
