"""Fencing reads, long polls and LAC requests."""

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.messages import (
    Header,
    ReadLacRequest,
    ReadLacResponse,
    ReadRequest,
    WriteLacRequest,
    WriteLacResponse,
)
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import LedgerFencedError, Status

from ..rig import KEY, Peer, Rig, entry, run


def packet(ledger_id: int, lac: int) -> bytes:
    return ledger_id.to_bytes(8, "big") + lac.to_bytes(8, "big", signed=True) + b"digest"


class V3TestCase(SynchronousTestCase):
    """A bookie with entries 0..4 of ledger 1, and a V3 connection."""

    def setUp(self) -> None:
        self.rig = Rig()
        self.rig.add(run(1, 0, 5, lac=3))
        self.rig.drain()
        self.peer = self.rig.connect()
        self.decoder = ClientDecoder(V3)

    def send(self, request: object) -> None:
        self.peer.send(requests_out.encode_request(request))

    def reply(self) -> Any:
        """The only reply since the last call; None without one."""
        found = self.decoder.receive(self.peer.replies())
        self.assertLessEqual(len(found), 1)
        return found[0] if found else None

    def ask(self, request: object) -> Any:
        self.send(request)
        self.rig.drain()
        return self.reply()

    def read(self, entry_id: int, ledger_id: int = 1, **more: Any) -> ReadRequest:
        return ReadRequest(Header(V3, 3, Operation.READ, 1), ledger_id, entry_id, **more)


class FencingReadTests(V3TestCase):
    """Reads that fence."""

    def test_odd_id(self) -> None:
        """An entry id below -1 is a bad request, with a fence and without."""
        for more in ({"fence": True, "master_key": KEY}, {"previous_lac": 1}):
            self.assertIs(self.ask(self.read(-2, **more)).status, Status.EBADREQ)

    def test_waits_for_the_fence(self) -> None:
        """S2: the reply comes behind the sync of the fence record, with the entry and without a LAC."""
        self.send(self.read(2, fence=True, master_key=KEY))
        self.assertIsNone(self.reply())
        self.rig.drain()
        reply = self.reply()
        assert isinstance(reply, ReadReply)
        self.assertEqual((reply.status, reply.entry, reply.max_lac), (Status.EOK, entry(1, 2, lac=3), None))

    def test_negative_waits_as_well(self) -> None:
        """S2, S4: so does "no such entry", and the entry can never be added afterwards."""
        self.send(self.read(9, fence=True, master_key=KEY))
        self.assertIsNone(self.reply())
        refused = self.rig.add(run(1, 9))
        self.rig.drain()
        self.assertEqual(self.reply().status, Status.ENOENTRY)
        for done in (refused, self.rig.restart().add(run(1, 9))):
            self.assertEqual([type(error) for error in done], [LedgerFencedError])

    def test_unknown_ledger(self) -> None:
        """S2: an unknown ledger becomes known, fenced and empty."""
        self.assertEqual(self.ask(self.read(-1, 7, fence=True, master_key=KEY)).status, Status.ENOENTRY)
        self.assertEqual([type(e) for e in self.rig.restart().add(run(7, 0))], [LedgerFencedError])

    def test_keys(self) -> None:
        """No key and a wrong key fence nothing."""
        for key in (None, b"x" * 20):
            self.assertEqual(self.ask(self.read(2, fence=True, master_key=key)).status, Status.EUA)
        done = self.rig.add(run(1, 5))
        self.rig.drain()
        self.assertEqual(done, [None])

    def test_failed(self) -> None:
        """S2: a fence that is not durable is an I/O error, whatever was read."""
        self.rig.fail("sync", "/journal0/")
        self.assertEqual(self.ask(self.read(2, fence=True, master_key=KEY)).status, Status.EIO)


class LongPollTests(V3TestCase):
    """Reads that wait for the LAC."""

    def poll(self, previous: int, **more: Any) -> ReadRequest:
        more = {"entry_id": -1, "timeout_ms": 5000, "piggyback": True, **more}
        return self.read(previous_lac=previous, **more)

    def test_news_already(self) -> None:
        """A LAC that has passed is answered at once, with the entry behind what was known."""
        reply = self.ask(self.poll(1))
        self.assertEqual((reply.entry_id, reply.entry, reply.max_lac), (2, entry(1, 2, lac=3), 3))
        self.assertIsNone(reply.lac_update_timestamp)

    def test_woken(self) -> None:
        """An add whose LAC passes ends the wait; the reply says when."""
        self.rig.clock.advance(100)
        self.assertIsNone(self.ask(self.poll(3)))
        self.rig.add(run(1, 5, lac=4))
        self.rig.drain()
        reply = self.reply()
        self.assertEqual((reply.entry_id, reply.max_lac, reply.lac_update_timestamp), (4, 4, 100_000))

    def test_timeout(self) -> None:
        """The time limit is not an error: no entry, and the LAC as it is."""
        self.assertIsNone(self.ask(self.poll(3)))
        self.rig.clock.advance(5)
        reply = self.reply()
        self.assertEqual((reply.status, reply.entry_id, reply.entry, reply.max_lac), (Status.EOK, -1, None, 3))

    def test_no_time_to_wait(self) -> None:
        """Without a time limit, or with a negative one, no request waits."""
        self.assertEqual(self.ask(self.poll(3, timeout_ms=None)).status, Status.EOK)
        self.send(self.poll(3, timeout_ms=-1))
        self.rig.clock.advance(0)
        self.assertEqual(self.reply().status, Status.EOK)

    def test_entry_is_elsewhere(self) -> None:
        """A LAC whose entry other bookies have is told without an entry."""
        self.rig.add(run(1, 20, lac=10))
        reply = self.ask(self.poll(8))
        self.assertEqual((reply.status, reply.entry_id, reply.entry, reply.max_lac), (Status.EOK, -1, None, 10))

    def test_fence_wakes(self) -> None:
        """A fence ends the wait without a time stamp."""
        self.assertIsNone(self.ask(self.poll(3)))
        self.rig.bookie.fence(1, KEY)
        self.rig.drain()
        reply = self.reply()
        self.assertEqual((reply.status, reply.lac_update_timestamp), (Status.EOK, None))

    def test_without_piggyback(self) -> None:
        """A poll for an entry is a plain read after the wait."""
        self.assertIsNone(self.ask(self.poll(3, entry_id=5, piggyback=False)))
        self.rig.add(run(1, 5, lac=4))
        self.rig.drain()
        reply = self.reply()
        self.assertEqual((reply.entry_id, reply.entry, reply.max_lac), (5, entry(1, 5, lac=4), 4))

    def test_bad_request(self) -> None:
        """A piggyback asks for -1."""
        self.assertEqual(self.ask(self.poll(3, entry_id=2)).status, Status.EBADREQ)

    def test_unknown_ledger(self) -> None:
        """There is nothing to wait for in a ledger that is not here."""
        self.assertEqual(self.ask(self.poll(3, ledger_id=9)).status, Status.ENOLEDGER)

    def test_longest(self) -> None:
        """No wait is longer than the bookie's own limit; meanwhile the connection counts as idle, so that it goes for
        a new one where there are too many."""
        self.assertIsNone(self.ask(self.poll(3, timeout_ms=1 << 62)))
        limits = self.rig.engine.context.limits
        self.rig.clock.advance(limits.max_poll_time - 1)
        self.assertEqual((self.reply(), self.peer.connection.idle_for), (None, limits.max_poll_time - 1))
        self.rig.clock.advance(1)
        self.assertEqual(self.reply().status, Status.EOK)

    def test_share_of_an_address(self) -> None:
        """The connections from one address have a part of all waits: what they ask for beyond that is refused, and
        others still wait."""
        rig = Rig(options=EngineOptions(requests=RequestLimits(max_polls_of_a_host=2)))
        rig.add(run(1, 0, 5, lac=3))
        rig.drain()
        peers = [Peer(rig.engine.factory.buildProtocol(IPv4Address("TCP", host, port)))
                 for host, port in (("10.0.0.1", 1), ("10.0.0.1", 2), ("10.0.0.1", 3), ("10.0.0.2", 1))]  # fmt: skip
        for peer in peers:
            peer.send(requests_out.encode_request(self.poll(3)))
        found = [ClientDecoder(V3).receive(peer.replies()) for peer in peers]
        self.assertEqual([len(replies) for replies in found], [0, 0, 1, 0])
        refused: Any = found[2][0]
        self.assertEqual(refused.status, Status.ETOOMANYREQUESTS)
        peers[0].leave()
        peers[2].send(requests_out.encode_request(self.poll(3)))
        self.assertEqual(peers[2].replies(), b"")
        rig.bookie.fence(1, KEY)
        rig.drain()
        self.assertEqual(rig.engine.context.polls, {})

    def test_gone_peer(self) -> None:
        """A peer that leaves takes its wait along."""
        self.assertIsNone(self.ask(self.poll(3)))
        self.peer.leave()
        self.assertEqual(self.rig.clock.getDelayedCalls(), [])


class LacRequestTests(V3TestCase):
    """READ_LAC and WRITE_LAC."""

    def read_lac(self, ledger_id: int) -> ReadLacResponse:
        response = self.ask(ReadLacRequest(Header(V3, 3, Operation.READ_LAC, 1), ledger_id))
        assert isinstance(response, ReadLacResponse)
        return response

    def write_lac(self, ledger_id: int, body: bytes, key: bytes = KEY) -> WriteLacResponse:
        response = self.ask(WriteLacRequest(Header(V3, 3, Operation.WRITE_LAC, 1), ledger_id, 0, key, body))
        assert isinstance(response, WriteLacResponse)
        return response

    def test_what_is_there(self) -> None:
        """Explicit LAC and last entry are answered where there are any."""
        self.assertEqual(self.read_lac(1).last_entry, entry(1, 4, lac=3))
        self.assertEqual(self.write_lac(1, packet(1, 4)).status, Status.EOK)
        self.assertEqual(self.read_lac(1).lac_body, packet(1, 4))
        self.assertEqual(self.write_lac(2, packet(2, 0)).status, Status.EOK)
        only = self.read_lac(2)
        self.assertEqual((only.status, only.lac_body, only.last_entry), (Status.EOK, packet(2, 0), None))

    def test_nothing(self) -> None:
        """Where there is neither the answer is "no such entry", also for an unknown ledger."""
        self.assertEqual(self.read_lac(9).status, Status.ENOENTRY)

    def test_last_entry_unreadable(self) -> None:
        """S5: an I/O error is told where there is no explicit LAC to tell instead."""
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.rig = self.rig.restart()
        self.peer = self.rig.connect()
        self.rig.fail("pread", "/ledger0/", times=2)
        self.assertEqual(self.read_lac(1).status, Status.EIO)
        self.assertEqual(self.write_lac(1, packet(1, 4)).status, Status.EOK)
        self.assertEqual(self.read_lac(1).status, Status.EOK)

    def test_write_refused(self) -> None:
        """A body that is no LAC packet of the ledger, and a wrong key."""
        self.assertEqual(self.write_lac(1, b"short").status, Status.EBADREQ)
        self.assertEqual(self.write_lac(1, packet(1, 4), b"x" * 20).status, Status.EUA)
        self.rig.bookie.mode.read_only = True
        self.assertEqual(self.write_lac(1, packet(1, 4)).status, Status.EREADONLY)
