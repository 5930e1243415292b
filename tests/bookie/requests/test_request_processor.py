"""Requests as Apache's client sends them, answered as Apache's bookie answers them."""

from collections import Counter

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.messages import (
    BookieInfoRequest,
    BookieInfoResponse,
    ForceLedgerRequest,
    ForceLedgerResponse,
    Header,
    ListEntriesRequest,
    ListEntriesResponse,
    StartTlsRequest,
    StartTlsResponse,
)
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import Status

from ...vectors.wire import REQUEST, RESPONSE, Scenario, scenarios
from ..rig import Peer, Rig, run

NOT_OURS = {
    "auth-plugin": "needs an authentication plugin",
    "auth-required": "needs an authentication plugin",
    "start-tls": "needs TLS, or says that there is none",
    "cluster-": "takes several bookies",
    "read-only-bookie": "the bookie was made read-only in between",
    "wrong-password-after-restart": "the bookie was restarted in between",
    "bookie-info": "disk sizes",
    "long-poll-woken": "time stamps of notices",
    "-sorted": "another ledger storage; the same requests are there for the one that ours is like",
}
OURS = {"v2/read-odd-forms-sorted"}
"""Of those that are not, what ours does as this other storage."""

OTHERWISE = {
    "explicit-lac-crc32": "an explicit LAC never goes back (S13)",
    "explicit-lac-mac": "an explicit LAC never goes back (S13)",
    "explicit-lac-dummy": "an explicit LAC never goes back (S13)",
    "explicit-lac-unknown-ledger": "an explicit LAC that is there is answered",
    "list-entries": "entries are listed",
    "batch-read-request-field-109": "V3 batch reads exist",
    "ids-disagree": "adds whose ids disagree are refused",
    "v3/long-poll": "time stamps of notices",
    "v2/read-odd-forms": "an entry id below -1 is a bad request, as with Java's other storages",
    "v3/negative-entry": "an entry id below -1 is a bad request",
    "no-submessage": "a request without its message is refused, and the connection goes on",
}


def _frames(stream: bytes) -> Counter[str]:
    found: Counter[str] = Counter()
    while stream:
        end = int.from_bytes(stream[:4], "big") + 4
        found[stream[:end].hex()] += 1
        stream = stream[end:]
    return found


class _Conversation:
    """A scenario, spoken again with a bookie of ours."""

    def __init__(self, scenario: Scenario) -> None:
        self.rig = Rig()
        self.peers: dict[int, Peer] = {}
        for frame in scenario.frames:
            if frame.direction == REQUEST:
                peer = self.peers.get(frame.conn)
                if peer is None:
                    peer = self.peers[frame.conn] = self.rig.connect()
                if not peer.ended:
                    peer.send(frame.data)
                self.rig.drain()
        self.rig.clock.advance(10)
        self.rig.drain()


class CapturedConversationTests(SynchronousTestCase):
    """Every captured conversation that a bookie like ours can have."""

    def test_answers(self) -> None:
        """The same frames come back on each connection, and the same connections are closed."""
        spoken = 0
        for scenario in scenarios():
            if scenario.name not in OURS and any(part in scenario.name for part in (*NOT_OURS, *OTHERWISE)):
                continue
            conversation = _Conversation(scenario)
            for conn, peer in conversation.peers.items():
                with self.subTest(scenario.name, conn=conn):
                    expected = _frames(b"".join(frame.data for frame in scenario.stream(conn, RESPONSE)))
                    self.assertEqual(_frames(peer.replies()), expected)
                    self.assertEqual(peer.ended, conn in scenario.closed_by_bookie)
                    spoken += 1
        self.assertGreater(spoken, 148)

    def test_listed_differences(self) -> None:
        """Where ours is better on purpose the statuses of its answers are still sane, and nothing closes."""
        for scenario in scenarios():
            if any(part in scenario.name for part in OTHERWISE) and not any(part in scenario.name for part in NOT_OURS):
                with self.subTest(scenario.name):
                    conversation = _Conversation(scenario)
                    for conn, peer in conversation.peers.items():
                        n_requests = len(scenario.stream(conn, REQUEST))
                        self.assertEqual(sum(_frames(peer.replies()).values()), n_requests)
                        self.assertFalse(peer.ended)


class ColdRequestTests(SynchronousTestCase):
    """Requests that only V3 has."""

    def setUp(self) -> None:
        self.rig = Rig()
        self.peer = self.rig.connect()
        self.decoder = ClientDecoder(V3)

    def ask(self, request: object) -> object:
        self.peer.send(requests_out.encode_request(request))
        self.rig.drain()
        (response,) = self.decoder.receive(self.peer.replies())
        return response

    def header(self, operation: Operation) -> Header:
        return Header(V3, 3, operation, 1)

    def test_list_entries(self) -> None:
        """Entries are listed as ranges; an unknown ledger is unknown."""
        self.rig.add(run(1, 0, 3))
        self.rig.add(run(1, 5))
        response = self.ask(ListEntriesRequest(self.header(Operation.LIST_ENTRIES), 1))
        assert isinstance(response, ListEntriesResponse)
        self.assertEqual((response.status, response.ranges), (Status.EOK, ((0, 2), (5, 5))))
        response = self.ask(ListEntriesRequest(self.header(Operation.LIST_ENTRIES), 2))
        assert isinstance(response, ListEntriesResponse)
        self.assertEqual(response.status, Status.ENOLEDGER)

    def test_reply_over_the_limit(self) -> None:
        """S11: a list that a client would refuse for its size, with its connection, is an I/O error instead, and the
        next request of the connection is answered."""
        self.rig = Rig(options=EngineOptions(requests=RequestLimits(max_frame_size=64 + 24 * 3)))
        self.peer = self.rig.connect()
        request = ListEntriesRequest(self.header(Operation.LIST_ENTRIES), 1)
        for entry_id, expected in ((0, Status.EOK), (2, Status.EOK), (4, Status.EIO), (1, Status.EOK)):
            self.rig.add(run(1, entry_id))
            self.rig.drain()
            response = self.ask(request)
            assert isinstance(response, ListEntriesResponse)
            self.assertEqual((response.status, response.ledger_id), (expected, 1))

    def test_bookie_info(self) -> None:
        """What is asked for is told."""
        for requested, expected in ((0, (None, None)), (1, (1000, None)), (2, (None, 400)), (3, (1000, 400))):
            response = self.ask(BookieInfoRequest(self.header(Operation.BOOKIE_INFO), requested))
            assert isinstance(response, BookieInfoResponse)
            self.assertEqual((response.total_disk_capacity, response.free_disk_space), expected)

    def test_force(self) -> None:
        """S1: a force is answered behind a sync, and refused when the journal has failed."""
        self.rig.add(run(1, 0), deferred=True)
        self.rig.drain()
        request = ForceLedgerRequest(self.header(Operation.FORCE_LEDGER), 1)
        response = self.ask(request)
        assert isinstance(response, ForceLedgerResponse)
        self.assertEqual(response.status, Status.EOK)
        self.rig.fail("sync", "/journal0/")
        self.rig.add(run(1, 1), deferred=True)
        response = self.ask(request)
        assert isinstance(response, ForceLedgerResponse)
        self.assertEqual(response.status, Status.EIO)

    def test_start_tls(self) -> None:
        """There is no TLS."""
        response = self.ask(StartTlsRequest(self.header(Operation.START_TLS)))
        assert isinstance(response, StartTlsResponse)
        self.assertEqual(response.status, Status.EBADREQ)
