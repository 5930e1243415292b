"""Flows over shared sockets: replies, failures and ends are those of one flow."""

import struct
from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint

from bookkeeper_twisted.client.connections.bookie_client import NetworkBookieClient
from bookkeeper_twisted.client.connections.flow import Flow
from bookkeeper_twisted.client.writing.exclusive_log import ExclusiveLog
from bookkeeper_twisted.client.writing.frame_shape import V2Shape
from bookkeeper_twisted.client.writing.log_terms import TermPool
from bookkeeper_twisted.client.writing.mixed_frames import MixedFrames, seal_mixed
from bookkeeper_twisted.client.writing.pending_run import RunSealer
from bookkeeper_twisted.client.writing.sealed_adds import SealedAdds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.bookie import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, ClientClosedError, RequestTimeoutError
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.adds import adds_of

from .test_bookie_client import HOST, PORT, RealBookieCase

BOOKIE = f"{HOST}:{PORT}"
DIGESTER = Digester(DigestType.CRC32C, b"secret")


def _adds(ledger_id: int, first: int) -> SealedAdds:
    run = DIGESTER.seal(ledger_id, first, -1, 0, [b"%d" % ledger_id])
    return adds_of(V2Shape(ledger_id, 0, DIGESTER.master_key), run)


class FlowTests(RealBookieCase):
    """Two flows of one client, and a real bookie."""

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = Flow(self.client._world), Flow(self.client._world)
        self.answers: list[Any] = []

    def _add(self, flow: Flow, ledger_id: int, first: int = 0) -> None:
        def done(bookie_id: str, start: int, count: int, error: Exception | None) -> None:
            self.answers.append((ledger_id, start, count, error and type(error)))

        flow.add(BOOKIE, _adds(ledger_id, first), done)

    def _flows(self) -> list[int]:
        return [counts.flows for counts in self.client.pool.counts().values()]

    def test_one_socket(self) -> None:
        """Two flows share the socket; each gets the replies to its requests."""
        self._add(self.one, 1)
        self._add(self.two, 2)
        self.settle()
        self.assertEqual(sorted(self.answers), [(1, 0, 1, None), (2, 0, 1, None)])
        reads = [self.two.read(BOOKIE, 2, 0), self.one.read(BOOKIE, 1, 0)]
        self.settle()
        self.assertEqual([self.successResultOf(each).ledger_id for each in reads], [2, 1])
        self.assertEqual(len(self.network.attempts), 1)

    def test_connection_is_late(self) -> None:
        """What waits for a connection is sent as it was, though the log has used its memory again meanwhile."""
        shape = self.one.add_shape(1, DIGESTER.size, DIGESTER.master_key)
        log = ExclusiveLog.unbounded(shape, TermPool(1024, prepared=1))
        sealer = RunSealer(1, shape, DIGESTER, Schedule(1, 1, 1))
        log.offer_many([b"first"] * 3)
        run = sealer.take(log, 1024, -1)
        assert run is not None
        self.one.add(BOOKIE, run.adds(0, 3), lambda *answer: self.answers.append(answer))
        run.complete(3)  # by other bookies
        log.trim()
        log.offer_many([b"later"] * 3)
        sealer.take(log, 1024, -1)
        self.assertEqual(self.answers, [])
        self.settle()
        self.assertEqual(self.answers, [(BOOKIE, 0, 3, None)])
        reading = self.one.read_batch(BOOKIE, 1, 0, 3, 1 << 20)
        self.settle()
        entries = self.successResultOf(reading).entries
        assert entries is not None
        DIGESTER.verify(entries)
        self.assertEqual(list(DIGESTER.payloads(entries)), [b"first"] * 3)

    def test_one_ledger(self) -> None:
        """Two flows that read one entry of one ledger at a time both get it."""
        self._add(self.one, 1)
        self.settle()
        reads = [flow.read(BOOKIE, 1, 0) for flow in (self.one, self.two, self.one)]
        self.settle()
        self.assertEqual([self.successResultOf(each).entry_id for each in reads], [0, 0, 0])

    def test_close(self) -> None:
        """Closing a flow fails what it asked, in order, and nothing of another; the socket stays."""
        self._add(self.one, 1)
        self._add(self.one, 1, 1)
        self._add(self.two, 2)
        self.successResultOf(self.one.close())
        self.assertEqual(self.answers, [(1, 0, 1, ClientClosedError), (1, 1, 1, ClientClosedError)])
        self.settle()
        self.assertEqual(self.answers[2:], [(2, 0, 1, None)])
        self.failureResultOf(self.one.read(BOOKIE, 1, 0), ClientClosedError)
        self.assertEqual((len(self.network.attempts), self._flows()), (1, [1]))

    def test_retire(self) -> None:
        """A flow that retires ends with its last answer, and asks nothing more."""
        self._add(self.one, 1)
        self.one.retire()
        self.failureResultOf(self.one.read(BOOKIE, 1, 0), ClientClosedError)
        self.assertEqual(self._flows(), [1])
        self.settle()
        self.assertEqual((self.answers, self._flows()), ([(1, 0, 1, None)], [0]))

    def test_retire_before_the_connection(self) -> None:
        """A flow that retires while its first add waits for a connection sends it, and ends with the answer."""
        address: Deferred[IStreamClientEndpoint] = Deferred()
        self.client = NetworkBookieClient(self.rig.clock, lambda _: address, ClientConfig())
        flow = Flow(self.client._world)
        self._add(flow, 1)
        flow.retire()
        self.assertEqual((self.answers, self._flows()), ([], [1]))
        address.callback(self.network.endpoint(HOST, PORT))
        self.assertEqual((self.answers, self._flows()), ([], [1]))
        self.settle()
        self.assertEqual((self.answers, self._flows()), ([(1, 0, 1, None)], [0]))

    def test_retired(self) -> None:
        """A flow that retired adds nothing more, though its connection is there."""
        self._add(self.one, 1)
        self.settle()
        self._add(self.one, 1, 1)
        self.one.retire()
        self._add(self.one, 1, 2)
        self.settle()
        self.assertEqual(self.answers[1:], [(1, 2, 1, ClientClosedError), (1, 1, 1, None)])

    def test_retire_after_a_loss(self) -> None:
        """A flow that retires ends when the connection is lost on which it still waited."""
        self._add(self.one, 1)
        self.settle()
        before = len(self.client.pool.settings.flow_ids)
        self._add(self.one, 1, 1)
        self.one.retire()
        self.assertEqual(len(self.client.pool.settings.flow_ids), before)
        self.network.break_connections((HOST, PORT))
        self.assertEqual(self.answers[1:], [(1, 1, 1, BookieHandleNotAvailableError)])
        self.assertEqual(len(self.client.pool.settings.flow_ids), before - 1)

    def test_loss(self) -> None:
        """A lost connection fails each request on it once, in order; an errback may ask again at once."""
        again: list[Any] = []
        self._add(self.one, 1)
        reading = self.two.read(BOOKIE, 1, 0)
        reading.addErrback(lambda failure: again.append(self.two.read(BOOKIE, 1, 0)))
        self._add(self.one, 1, 1)
        self.network.break_connections((HOST, PORT))
        failed = BookieHandleNotAvailableError
        self.assertEqual(self.answers, [(1, 0, 1, failed), (1, 1, 1, failed)])
        self._add(self.one, 1)
        self.settle()
        self.assertEqual(self.answers[2:], [(1, 0, 1, None)])
        self.assertEqual((len(again), len(self.network.attempts)), (1, 2))
        again[0].addErrback(lambda _: None)

    def test_broken_callback(self) -> None:
        """A callback that fails harms neither its connection nor another flow."""

        def broken(*_: object) -> None:
            raise RuntimeError("of the application")

        self.one.add(BOOKIE, _adds(1, 0), broken)
        self._add(self.two, 2)
        self.settle()
        self.assertEqual(self.answers, [(2, 0, 1, None)])
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.one.retire()
        self.assertEqual(self._flows(), [1])

    def test_request_that_cannot_be_made(self) -> None:
        """A request that no frame can say fails as any other does, whether the connection is there or not."""
        for _ in range(2):
            self.failureResultOf(self.one.read(BOOKIE, 1 << 64, 0), struct.error)
            self._add(self.one, 1)
            self.settle()
        self.one.retire()
        self.assertEqual(self._flows(), [0])

    def test_ids(self) -> None:
        """The id of a flow is free once it ended and nothing is owed."""
        before = len(self.client.pool.settings.flow_ids)
        flow = Flow(self.client._world)
        info = flow.bookie_info(BOOKIE)
        self.rig.clock.advance(0)
        flow.close()
        self.failureResultOf(info, ClientClosedError)
        self.assertEqual(len(self.client.pool.settings.flow_ids), before + 1)
        self.settle()
        self.assertEqual(len(self.client.pool.settings.flow_ids), before)

    def test_client_close(self) -> None:
        """The end of the client is the end of all flows."""
        reading = self.one.read(BOOKIE, 1, 0)
        closed = self.client.close()
        self.failureResultOf(reading, ClientClosedError)
        self.settle()
        self.successResultOf(closed)
        self.failureResultOf(self.one.read(BOOKIE, 1, 0), ClientClosedError)


def _mixed(*keys: tuple[int, int]) -> MixedFrames:
    ledger_ids, entry_ids = zip(*keys, strict=True)
    count = len(keys)
    return seal_mixed(DIGESTER, ledger_ids, entry_ids, [-1] * count, [1] * count, [b"x"] * count)


class MixedTests(RealBookieCase):
    """Mixed adds of a flow, and plain ones of another."""

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = Flow(self.client._world), Flow(self.client._world)
        self.answers: list[Any] = []

    def _note(self, bookie_id: str, places: Sequence[int], error: Exception | None) -> None:
        self.answers += [(place, error and type(error)) for place in places]

    def _add(self, flow: Flow, ledger_id: int, entry_id: int) -> None:
        def done(bookie_id: str, first: int, count: int, error: Exception | None) -> None:
            self.answers.append((ledger_id, first, error and type(error)))

        flow.add(BOOKIE, _adds(ledger_id, entry_id), done)

    def _connect(self, *flows: Flow) -> None:
        """Both are connected."""
        for flow in flows:
            self.assertFalse(flow.can_add_mixed(BOOKIE, _mixed((1, 0), (2, 0))))
        self.settle()

    def test_connection(self) -> None:
        """Without a connection nothing can be sent mixed, but one is made for the next time, and only one."""
        address: Deferred[IStreamClientEndpoint] = Deferred()
        self.client = NetworkBookieClient(self.rig.clock, lambda _: address, ClientConfig())
        flow, adds = Flow(self.client._world), _mixed((1, 0), (2, 0))
        for _ in range(3):
            self.assertFalse(flow.can_add_mixed(BOOKIE, adds))
        address.callback(self.network.endpoint(HOST, PORT))
        self.assertTrue(flow.can_add_mixed(BOOKIE, adds))
        flow.add_mixed(BOOKIE, adds, self._note)
        self.assertEqual(self.answers, [])
        self.settle()
        self.assertEqual(self.answers, [(0, None), (1, None)])
        self.assertEqual(len(self.network.attempts), 1)

    def test_no_bookie(self) -> None:
        """That there is none is no failure of anything."""
        self.network.listeners.clear()
        self._connect(self.one)
        self.assertFalse(self.one.can_add_mixed(BOOKIE, _mixed((1, 0), (2, 0))))
        self.settle()

    def test_taken(self) -> None:
        """Keys that a plain add has on the connection cannot be mixed until it is answered."""
        self._connect(self.one, self.two)
        self._add(self.two, 2, 0)
        self.assertFalse(self.one.can_add_mixed(BOOKIE, _mixed((1, 0), (2, 0))))
        self.assertTrue(self.one.can_add_mixed(BOOKIE, _mixed((1, 0), (2, 1))))
        self.settle()
        self.assertTrue(self.one.can_add_mixed(BOOKIE, _mixed((1, 0), (2, 0))))

    def test_taken_by_mixed(self) -> None:
        """A plain add whose key is among mixed ones is sent in V3; each hears of its own."""
        self._connect(self.one, self.two)
        self.one.add_mixed(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self._add(self.two, 2, 0)
        self._add(self.two, 2, 1)
        self.settle()
        self.assertEqual(sorted(self.answers, key=str), [(0, None), (1, None), (2, 0, None), (2, 1, None)])
        self.assertEqual(len(self.network.attempts), 2)

    def test_loss(self) -> None:
        """A connection that is lost fails all places at once, in the order of the requests."""
        self._connect(self.one)
        self._add(self.one, 5, 0)
        self.one.add_mixed(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self._add(self.one, 6, 0)
        self.network.break_connections((HOST, PORT))
        lost = BookieHandleNotAvailableError
        self.assertEqual(self.answers, [(5, 0, lost), (0, lost), (1, lost), (6, 0, lost)])
        self.assertFalse(self.one.can_add_mixed(BOOKIE, _mixed((1, 1), (2, 1))))
        self.settle()
        self.assertTrue(self.one.can_add_mixed(BOOKIE, _mixed((1, 0), (2, 0))))

    def test_time_out(self) -> None:
        """A bookie that does not answer fails them when their time is over; their keys stay taken on its connection,
        and whoever hears of requests hears of it."""
        told: list[Any] = []
        self.client = NetworkBookieClient(
            self.rig.clock, self.client.pool.settings.resolve, ClientConfig(),
            lambda bookie_id, error: told.append((bookie_id, error and type(error))),
        )  # fmt: skip
        flow = Flow(self.client._world)
        self._connect(flow)
        flow.add_mixed(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self.assertEqual((self.answers, told), ([], []))
        for _ in range(6):
            self.rig.clock.advance(1)
        late = RequestTimeoutError
        self.assertEqual((self.answers, told), ([(0, late), (1, late)], [(BOOKIE, late)]))
        self.assertFalse(flow.can_add_mixed(BOOKIE, _mixed((3, 0), (2, 0))))
        self.assertTrue(flow.can_add_mixed(BOOKIE, _mixed((3, 0), (2, 1))))
        self.settle()
        self.assertTrue(flow.can_add_mixed(BOOKIE, _mixed((3, 0), (2, 0))))
        self.assertEqual(len(self.answers), 2)

    def test_close(self) -> None:
        """Closing a flow fails what it sent mixed, and it can send nothing more."""
        self._connect(self.one, self.two)
        self.one.add_mixed(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self.two.add_mixed(BOOKIE, _mixed((3, 0), (4, 0)), self._note)
        self.one.close()
        self.assertEqual(self.answers, [(0, ClientClosedError), (1, ClientClosedError)])
        self.assertFalse(self.one.can_add_mixed(BOOKIE, _mixed((1, 1), (2, 1))))
        self.settle()
        self.assertEqual(self.answers[2:], [(0, None), (1, None)])

    def test_retire(self) -> None:
        """A flow that retires ends with the answer to what it sent mixed."""
        self._connect(self.one)
        self.one.add_mixed(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self.one.retire()
        (counts,) = self.client.pool.counts().values()
        self.assertEqual(counts.flows, 1)
        self.settle()
        (counts,) = self.client.pool.counts().values()
        self.assertEqual((self.answers, counts.flows), ([(0, None), (1, None)], 0))
        self.assertFalse(self.one.can_add_mixed(BOOKIE, _mixed((1, 1), (2, 1))))


class MixedV3Tests(RealBookieCase):
    """Where V3 is spoken."""

    wire_protocol = "v3"

    def test_refused(self) -> None:
        """Nothing can be sent mixed, and no connection is made for it."""
        self.assertFalse(Flow(self.client._world).can_add_mixed(BOOKIE, _mixed((1, 0), (2, 0))))
        self.settle()
        self.assertEqual(self.network.attempts, [])
