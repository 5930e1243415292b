"""The network client: the contract against a real bookie, wires, addresses."""

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.codec.operations import FENCE
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, IllegalOperationError, NoSuchEntryError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint
from bookkeeper_twisted.testing.contracts import bookie_client_contract as contract
from bookkeeper_twisted.testing.memory_network import MemoryNetwork

from ...bookie.rig import Rig

HOST, PORT = "bookie", 3181


class RealBookieCase(SynchronousTestCase):
    """A bookie with its engine, disk and threads simulated; connections in memory."""

    wire_protocol = "auto"
    max_connections = 2
    bookie_id = f"{HOST}:{PORT}"

    def setUp(self) -> None:
        """Starts the bookie."""
        self.rig = Rig()
        self.network = MemoryNetwork()
        self.network.listeners[HOST, PORT] = self.rig.engine.factory
        self.driver: Any = MemoryStore().driver(self.rig.clock)
        self.successResultOf(Deferred.fromCoroutine(self.driver.open()))
        addresses = BookieAddresses(self.driver.registration, self.network.endpoint)
        config = ClientConfig(
            wire_protocol=self.wire_protocol, max_connections_per_bookie=self.max_connections
        )  # fmt: skip
        self.client: Any = NetworkBookieClient(self.rig.clock, addresses.resolve, config)

    def settle(self) -> None:
        """Everything goes its way: turns, bytes, threads."""
        for _ in range(8):
            self.rig.clock.advance(0)
            self.network.move()
            self.rig.drain()
        self.network.move()

    def read(self) -> "Deferred[Any]":
        """A read of an entry that is not there."""
        reading: Deferred[Any] = Deferred.fromCoroutine(_awaited(self.client.read(self.bookie_id, 1, 0)))
        return reading

    def sockets(self) -> list[Any]:
        """All sockets there are."""
        return [socket for peer in self.client.pool._peers.values() for socket in peer.sockets]


async def _awaited(something: Any) -> Any:
    return await something


class _OnRealBookie(RealBookieCase, contract.BookieClientContract if TYPE_CHECKING else object):  # type: ignore[misc]
    """The contract over the network."""


class UnpooledTests(_OnRealBookie, contract.BookieClientContract):
    """Every handle has sockets of its own."""

    max_connections = 0

    def test_own_sockets(self) -> None:
        """The sockets of a flow are made and closed with it."""
        flow = self.client.open_flow()
        self.add(self.run_of(0, [b"a"]))
        self.result(flow.read(self.bookie_id, contract.LEDGER, 0))
        self.assertEqual(len(self.network.attempts), 2)
        flow.retire()
        self.settle()
        (counts,) = self.client.pool.counts().values()
        self.assertEqual((counts.open, counts.sockets, counts.flows), (1, 1, 1))


class OneSocketTests(_OnRealBookie, contract.BookieClientContract):
    """There may be one socket only."""

    max_connections = 1

    def test_one_connection(self) -> None:
        """Everything shares it, what only V3 has included."""
        self.add(self.run_of(0, [b"a"]))
        self.result(self.client.read(self.bookie_id, contract.LEDGER, 0))
        self.result(self.client.force(self.bookie_id, contract.LEDGER))
        self.assertEqual(len(self.network.attempts), 1)


class AnsweredTests(_OnRealBookie, contract.BookieClientContract):
    """With a callback for the outcome of each request."""

    def setUp(self) -> None:
        """Writes down what it is told."""
        super().setUp()
        self.answers: list[tuple[str, type | None]] = []
        addresses = BookieAddresses(self.driver.registration, self.network.endpoint)
        self.client = NetworkBookieClient(self.rig.clock, addresses.resolve, ClientConfig(), self._answered)

    def _answered(self, bookie_id: str, error: Exception | None) -> None:
        self.answers.append((bookie_id, None if error is None else type(error)))

    def test_told(self) -> None:
        """Adds, reads and other requests are told, with their errors and those of items."""
        self.add(self.run_of(0, [b"a"]))
        self.result(self.client.read_batch(self.bookie_id, contract.LEDGER, 0, 1, 1000))
        self.result(self.client.bookie_info(self.bookie_id))
        self.assertEqual(self.answers, [(self.bookie_id, None)] * 3)
        self.answers.clear()
        self.result(self.client.read_many(self.bookie_id, contract.LEDGER, (0, 7)))
        self.assertIn((self.bookie_id, NoSuchEntryError), self.answers)

    def test_no_connection(self) -> None:
        """A bookie that cannot be reached is told as well, for adds and for reads."""
        del self.network.listeners[HOST, PORT]
        self.add(self.run_of(0, [b"a"]))
        self.failureResultOf(self.client.read(self.bookie_id, contract.LEDGER, 0), BookieHandleNotAvailableError)
        self.assertEqual(set(self.answers), {(self.bookie_id, BookieHandleNotAvailableError)})


class AutoTests(_OnRealBookie, contract.BookieClientContract):
    """V2 where it serves, V3 where it must be."""

    def test_one_connection(self) -> None:
        """Adds, reads and batch reads share one connection; V3 is opened when it is needed."""
        self.add(self.run_of(0, [b"a"]))
        self.result(self.client.read(self.bookie_id, contract.LEDGER, 0))
        self.result(self.client.read_batch(self.bookie_id, contract.LEDGER, 0, 1, 1000))
        self.assertEqual(len(self.network.attempts), 1)
        self.result(self.client.force(self.bookie_id, contract.LEDGER))
        self.result(self.client.bookie_info(self.bookie_id))
        self.assertEqual(len(self.network.attempts), 2)

    def test_fencing_beside_plain_read(self) -> None:
        """A plain read is never taken for a fencing one: they travel apart."""
        self.add(self.run_of(0, [b"a"]))
        plain = self.client.read(self.bookie_id, contract.LEDGER, 0)
        fencing = self.client.read(self.bookie_id, contract.LEDGER, 0, FENCE, self.digester.master_key)
        self.rig.clock.advance(0)
        self.assertEqual(len(self.network.attempts), 2)
        self.result(plain)
        self.successResultOf(fencing)
        ((_, _, refused),) = self.add(self.run_of(1, [b"b"]))
        self.assertIsNotNone(refused)

    def test_deferred_sync(self) -> None:
        """Deferred sync goes over V3."""
        answers: list[Any] = []
        self.client.add(
            self.bookie_id, self.adds(self.run_of(0, [b"a"]), deferred_sync=True), lambda *a: answers.append(a)
        )
        self.settle()
        self.assertEqual(answers, [(self.bookie_id, range(1), None)])

    def test_reconnect(self) -> None:
        """After a lost connection the next request makes a new one."""
        self.add(self.run_of(0, [b"a"]))
        reading = self.client.read(self.bookie_id, contract.LEDGER, 0)
        self.network.break_connections((HOST, PORT))
        self.failureResultOf(reading, BookieHandleNotAvailableError)
        self.assertEqual(self.result(self.client.read(self.bookie_id, contract.LEDGER, 0)).entry_id, 0)

    def test_same_run_to_two_bookies(self) -> None:
        """A run goes to several bookies as the same bytes."""
        other = Rig()
        self.network.listeners[HOST, PORT + 1] = other.engine.factory
        adds, answers = self.adds(self.run_of(0, [b"a", b"b"])), []
        for bookie_id in (self.bookie_id, f"{HOST}:{PORT + 1}"):
            self.client.add(bookie_id, adds, lambda *a: answers.append(a))
        self.settle()
        other.drain()
        self.settle()
        self.assertEqual(sorted(answers), [(self.bookie_id, range(2), None), (f"{HOST}:{PORT + 1}", range(2), None)])


class V2Tests(_OnRealBookie, contract.BookieClientContract):
    """V2 as far as it goes."""

    wire_protocol = "v2"

    def test_deferred_sync(self) -> None:
        """V2 has no deferred sync; nothing is sent."""
        answers: list[Any] = []
        self.client.add(
            self.bookie_id, self.adds(self.run_of(0, [b"a"]), deferred_sync=True), lambda *a: answers.append(a)
        )
        ((_, indexes, error),) = answers
        self.assertEqual((list(indexes), type(error)), ([0], IllegalOperationError))
        self.assertEqual(self.network.attempts, [])


class V3Tests(_OnRealBookie, contract.BookieClientContract):
    """V3 only."""

    wire_protocol = "v3"

    def test_one_connection(self) -> None:
        """Everything shares one connection."""
        self.add(self.run_of(0, [b"a"]))
        self.result(self.client.read(self.bookie_id, contract.LEDGER, 0, FENCE, self.digester.master_key))
        self.result(self.client.force(self.bookie_id, contract.LEDGER))
        self.assertEqual(len(self.network.attempts), 1)


class BookieAddressesTests(SynchronousTestCase):
    """From an id to an address."""

    def setUp(self) -> None:
        """A registration and a network that notes what is asked for."""
        store = MemoryStore()
        self.driver: Any = store.driver(None)  # type: ignore[arg-type]
        self._do(self.driver.open())
        self.asked: list[tuple[str, int]] = []
        self.addresses = BookieAddresses(self.driver.registration, self._endpoint)

    def _do(self, work: Any) -> Any:
        return self.successResultOf(Deferred.fromCoroutine(work))

    def _endpoint(self, host: str, port: int) -> IStreamClientEndpoint:
        self.asked.append((host, port))
        return MemoryNetwork().endpoint(host, port)

    def _resolve(self, bookie_id: str) -> tuple[str, int]:
        self.successResultOf(self.addresses.resolve(bookie_id))
        return self.asked[-1]

    def test_registered(self) -> None:
        """The endpoint of the bookie's protocol is taken, whatever the id looks like."""
        endpoints = (Endpoint("http", "10.0.0.1", 8080, "http"), Endpoint("bookie", "10.0.0.2", 3182, "bookie-rpc"))
        self._do(self.driver.registration.register_bookie("id:1", False, BookieServiceInfo(endpoints)))
        self.assertEqual(self._resolve("id:1"), ("10.0.0.2", 3182))

    def test_fallback(self) -> None:
        """Without one, the id itself is an address."""
        self._do(self.driver.registration.register_bookie("h:5", False, BookieServiceInfo()))
        self.assertEqual(self._resolve("h:5"), ("h", 5))
        self.assertEqual(self._resolve("other:6"), ("other", 6))
        self.assertEqual(self._resolve("[::1]:6"), ("::1", 6))

    def test_no_address(self) -> None:
        """An unregistered id that is no address is an error."""
        for wrong in ("name", "h:", ":5", "h:x", "h:0", "h:70000", "h:٣"):
            self.failureResultOf(self.addresses.resolve(wrong), BookieHandleNotAvailableError)
