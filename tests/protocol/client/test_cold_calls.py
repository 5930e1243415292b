"""The rare requests and their replies."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.v3.replies_out import encode_response
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import (
    BookieIOError,
    NoSuchLedgerError,
    RequestTimeoutError,
    Status,
    UnexpectedConditionError,
)
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.protocol.client import cold_calls
from bookkeeper_twisted.protocol.client.cold_calls import ColdCall
from bookkeeper_twisted.protocol.client.connection import ClientConnection, ConnectionOwner
from bookkeeper_twisted.protocol.client.connection_limits import ConnectionLimits
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.protocol.client.traffic import Traffic

PACKET = Digester(DigestType.CRC32C, b"").seal_lac(5, 9)


class ColdCallTests(SynchronousTestCase):
    """Each call over a V3 connection."""

    def setUp(self) -> None:
        """Connects."""
        self.clock = Clock()
        flow_ids = FlowIds()
        self.ids = RequestIds(flow_ids.allocate())
        owner = ConnectionOwner("bookie:1", flow_ids, Traffic(self.clock.seconds), lambda error: None)
        self.connection = ClientConnection(self.clock, V3, ConnectionLimits(), owner)
        self.transport = StringTransport()
        self.connection.makeConnection(self.transport)

    def _ask(self, call: ColdCall[Any]) -> tuple[Any, "Deferred[Any]"]:
        asked = self.connection.ask(self.ids, call)
        self.clock.advance(0)
        (request,) = ServerDecoder().receive(self.transport.value())
        return request, asked

    def _result(self, call: ColdCall[Any], request_type: type, make: Any) -> Any:
        request, asked = self._ask(call)
        self.assertIsInstance(request, request_type)
        self.connection.dataReceived(encode_response(make(request)))
        return self.successResultOf(asked)

    def test_read_lac(self) -> None:
        """READ_LAC gives the explicit packet and the last entry."""
        result = self._result(
            cold_calls.read_lac(5), m.ReadLacRequest,
            lambda r: m.ReadLacResponse(r.header, Status.EOK, r.ledger_id, PACKET, b"entry"),
        )  # fmt: skip
        self.assertEqual(result, (PACKET, b"entry"))

    def test_write_lac(self) -> None:
        """WRITE_LAC carries key, LAC and packet."""

        def answer(request: m.WriteLacRequest) -> m.WriteLacResponse:
            self.assertEqual((request.ledger_id, request.lac), (5, 9))
            self.assertEqual((request.master_key, request.body), (b"k" * 20, PACKET))
            return m.WriteLacResponse(request.header, Status.EOK, 5)

        self.assertIsNone(self._result(cold_calls.write_lac(5, b"k" * 20, 9, PACKET), m.WriteLacRequest, answer))

    def test_force(self) -> None:
        """FORCE_LEDGER has no result."""
        result = self._result(
            cold_calls.force(5), m.ForceLedgerRequest, lambda r: m.ForceLedgerResponse(r.header, Status.EOK, 5)
        )
        self.assertIsNone(result)

    def test_list_entries(self) -> None:
        """A listing gives ranges."""
        result = self._result(
            cold_calls.list_entries(5), m.ListEntriesRequest,
            lambda r: m.ListEntriesResponse(r.header, Status.EOK, 5, ((0, 4), (9, 9))),
        )  # fmt: skip
        self.assertEqual(list(result), [(0, 4), (9, 9)])

    def test_bookie_info(self) -> None:
        """Bookie info asks for both figures."""

        def answer(request: m.BookieInfoRequest) -> m.BookieInfoResponse:
            self.assertEqual(request.requested, 3)
            return m.BookieInfoResponse(request.header, Status.EOK, 1000, 10)

        self.assertEqual(self._result(cold_calls.bookie_info(), m.BookieInfoRequest, answer), (1000, 10))

    def test_error(self) -> None:
        """An error status is its exception, with the ledger asked for."""
        request, asked = self._ask(cold_calls.read_lac(5))
        self.connection.dataReceived(encode_response(m.ReadLacResponse(request.header, Status.ENOLEDGER, 5)))
        self.assertEqual(self.failureResultOf(asked, NoSuchLedgerError).value.ledger_id, 5)

    def test_bare_error(self) -> None:
        """So is one without a sub-message."""
        request, asked = self._ask(cold_calls.force(5))
        self.connection.dataReceived(encode_response(m.ErrorResponse(request.header, Status.EIO)))
        self.failureResultOf(asked, BookieIOError)

    def test_wrong_reply(self) -> None:
        """A reply of another kind under the same number is not taken for the right one."""
        request, asked = self._ask(cold_calls.force(5))
        self.connection.ask(self.ids, cold_calls.read_lac(5)).addErrback(lambda _: None)
        reply = m.ReadLacResponse(request.header, Status.EOK, 5, b"", b"")
        self.connection.dataReceived(encode_response(reply))
        error = self.failureResultOf(asked, UnexpectedConditionError).value
        self.assertEqual(str(error), "bookie bookie:1 answered a sync of ledger 5 with ErrorResponse")

    def test_time_outs(self) -> None:
        """The error of a call that is not answered says what was asked for."""
        calls = (
            cold_calls.read_lac(5), cold_calls.write_lac(5, b"k" * 20, 9, PACKET), cold_calls.force(5),
            cold_calls.list_entries(5), cold_calls.bookie_info(),
        )  # fmt: skip
        asked = [self.connection.ask(self.ids, call) for call in calls]
        self.clock.pump([1.0] * 6)
        found = [self.failureResultOf(each, RequestTimeoutError).getErrorMessage() for each in asked]
        self.assertEqual(found, [f"bookie bookie:1 gave no reply in 5 s to {what}" for what in (
            "a read of the LAC of ledger 5", "an explicit LAC of ledger 5", "a sync of ledger 5",
            "a list of the entries of ledger 5", "a request for its disk space",
        )])  # fmt: skip
