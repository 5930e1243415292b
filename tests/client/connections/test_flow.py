"""Flows over shared sockets: replies, failures and ends are those of one flow."""

import struct
from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint

from bookkeeper_twisted.client.connections.bookie_client import NetworkBookieClient
from bookkeeper_twisted.client.connections.flow import Flow
from bookkeeper_twisted.codec.adds import Adds, mix_headers, seal_adds, stored_adds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, ClientClosedError, RequestTimeoutError
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

from .test_bookie_client import HOST, PORT, RealBookieCase

BOOKIE = f"{HOST}:{PORT}"
DIGESTER = Digester(DigestType.CRC32C, b"secret")


def _adds(ledger_id: int, first: int) -> Adds:
    return stored_adds(DIGESTER.master_key, sealed(DIGESTER, ledger_id, first, -1, 0, [b"%d" % ledger_id]))


class FlowTests(RealBookieCase):
    """Two flows of one client, and a real bookie."""

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = self.client.open_flow(), self.client.open_flow()
        self.answers: list[Any] = []

    def _add(self, flow: Flow, ledger_id: int, first: int = 0) -> None:
        def done(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            self.answers.append((ledger_id, first + indexes[0], len(indexes), error and type(error)))

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
        """What waits for a connection is sent once it is there."""
        adds = stored_adds(DIGESTER.master_key, sealed(DIGESTER, 1, 0, -1, 0, [b"first"] * 3))
        self.one.add(BOOKIE, adds, lambda *answer: self.answers.append(answer))
        self.assertEqual(self.answers, [])
        self.settle()
        self.assertEqual(self.answers, [(BOOKIE, range(3), None)])
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
        flow = self.client.open_flow()
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
        """The id of a flow is free once it ended and no reply is to come."""
        before = len(self.client.pool.settings.flow_ids)
        flow = self.client.open_flow()
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


def _mixed(*keys: tuple[int, int]) -> Adds:
    ledger_ids, entry_ids = zip(*keys, strict=True)
    count = len(keys)
    headers = mix_headers(ledger_ids, entry_ids, [-1] * count, [1] * count)
    return seal_adds(DIGESTER, ledger_ids, entry_ids, headers, [b"x"] * count)


class ManyLedgersTests(RealBookieCase):
    """Adds of many ledgers of a flow, and those of one ledger of another."""

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = self.client.open_flow(), self.client.open_flow()
        self.answers: list[Any] = []

    def _note(self, bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
        self.answers += [(index, error and type(error)) for index in indexes]

    def _add(self, flow: Flow, ledger_id: int, entry_id: int) -> None:
        def done(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            self.answers.append((ledger_id, entry_id, error and type(error)))

        flow.add(BOOKIE, _adds(ledger_id, entry_id), done)

    def _connect(self, *flows: Flow) -> None:
        """All are connected."""
        for flow in flows:
            flow.add(BOOKIE, _adds(99, 0), lambda *_: None)
            self.settle()

    def test_connection(self) -> None:
        """Without a connection they wait for one, which is the only one that is made."""
        address: Deferred[IStreamClientEndpoint] = Deferred()
        self.client = NetworkBookieClient(self.rig.clock, lambda _: address, ClientConfig())
        flow = self.client.open_flow()
        flow.add(BOOKIE, _mixed((1, 0), (2, 0)), self._note, True)
        flow.add(BOOKIE, _mixed((1, 1), (2, 1)), self._note, True)
        address.callback(self.network.endpoint(HOST, PORT))
        self.assertEqual(self.answers, [])
        self.settle()
        self.assertEqual(self.answers, [(0, None), (1, None)] * 2)
        self.assertEqual(len(self.network.attempts), 1)

    def test_no_bookie(self) -> None:
        """That there is none fails all of them together."""
        self.network.listeners.clear()
        self.one.add(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self.settle()
        self.assertEqual(self.answers, [(index, BookieHandleNotAvailableError) for index in (0, 1)])

    def test_taken(self) -> None:
        """Adds with one key that is in use on the connection are sent in V3; each is answered by itself."""
        self._connect(self.one, self.two)
        attempts = len(self.network.attempts)
        self._add(self.two, 2, 0)
        self.one.add(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self._add(self.two, 2, 1)
        self.settle()
        self.assertEqual(sorted(self.answers, key=str), [(0, None), (1, None), (2, 0, None), (2, 1, None)])
        self.assertEqual(len(self.network.attempts), attempts + 1)

    def test_loss(self) -> None:
        """A connection that is lost fails all adds at once, in the order of the requests."""
        self._connect(self.one)
        self._add(self.one, 5, 0)
        self.one.add(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self._add(self.one, 6, 0)
        self.network.break_connections((HOST, PORT))
        lost = BookieHandleNotAvailableError
        self.assertEqual(self.answers, [(5, 0, lost), (0, lost), (1, lost), (6, 0, lost)])
        self.answers.clear()
        self.one.add(BOOKIE, _mixed((1, 1), (2, 1)), self._note)
        self.settle()
        self.assertEqual(self.answers, [(0, None), (1, None)])

    def test_time_out(self) -> None:
        """A bookie that does not answer fails them when their time is over; their keys stay in use on its connection,
        and the callback for answers is invoked."""
        told: list[Any] = []
        self.client = NetworkBookieClient(
            self.rig.clock, self.client.pool.settings.resolve, ClientConfig(),
            lambda bookie_id, error: told.append((bookie_id, error and type(error))),
        )  # fmt: skip
        flow = self.client.open_flow()
        self._connect(flow)
        told.clear()
        attempts = len(self.network.attempts)
        flow.add(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self.assertEqual((self.answers, told), ([], []))
        for _ in range(6):
            self.rig.clock.advance(1)
        late = RequestTimeoutError
        self.assertEqual((self.answers, told), ([(0, late), (1, late)], [(BOOKIE, late)]))
        self.answers.clear()
        flow.add(BOOKIE, _mixed((3, 0), (2, 0)), self._note)
        self.settle()
        self.assertEqual((self.answers, len(self.network.attempts)), ([(0, None), (1, None)], attempts + 1))

    def test_close(self) -> None:
        """Closing a flow fails what it sent, and it can send nothing more."""
        self._connect(self.one, self.two)
        self.one.add(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self.two.add(BOOKIE, _mixed((3, 0), (4, 0)), self._note)
        self.one.close()
        closed = [(0, ClientClosedError), (1, ClientClosedError)]
        self.assertEqual(self.answers, closed)
        self.one.add(BOOKIE, _mixed((1, 1), (2, 1)), self._note)
        self.assertEqual(self.answers, closed * 2)
        self.settle()
        self.assertEqual(self.answers[4:], [(0, None), (1, None)])

    def test_retire(self) -> None:
        """A flow that retires ends with the answer to what it sent."""
        self._connect(self.one)
        self.one.add(BOOKIE, _mixed((1, 0), (2, 0)), self._note)
        self.one.retire()
        (counts,) = self.client.pool.counts().values()
        self.assertEqual(counts.flows, 1)
        self.settle()
        (counts,) = self.client.pool.counts().values()
        self.assertEqual((self.answers, counts.flows), ([(0, None), (1, None)], 0))


class ManyLedgersV3Tests(RealBookieCase):
    """Where V3 is spoken."""

    wire_protocol = "v3"

    def test_sent(self) -> None:
        """They are sent together, too, over the one connection."""
        answers: list[Any] = []
        flow = self.client.open_flow()
        adds = _mixed((1, 0), (2, 0))
        flow.add(BOOKIE, adds, lambda _, indexes, error: answers.extend([(i, error) for i in indexes]))
        self.settle()
        self.assertEqual((sorted(answers), len(self.network.attempts)), ([(0, None), (1, None)], 1))
