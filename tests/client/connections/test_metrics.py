"""What a client exports."""

from typing import Any

from bookkeeper_twisted.client import ClientMetrics
from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.metrics import Instruments, new_registry

from .test_bookie_client import HOST, PORT, RealBookieCase

LABELS = frozenset({("bookie", f"{HOST}:{PORT}"), ("wire", "2")})
READ_SIZE = 24
"""Bytes of a V2 read request."""

PER_BOOKIE = {
    "per_channel_bookie_client_ACTIVE_NON_TLS_CHANNEL_COUNTER": 1,
    "per_channel_bookie_client_FAILED_CONNECTION_COUNTER": 0,
    "bookkeeper_client_connections_lost": 1,
    "bookkeeper_client_reconnects": 1,
    "bookkeeper_client_flows": 1,
    "bookkeeper_client_queued_bytes": 0,
    "bookkeeper_client_unacknowledged_bytes": 0,
    "bookkeeper_client_orphaned_replies": 0,
}


class ClientMetricsTests(RealBookieCase):
    """A client with one flow, on a real bookie."""

    def setUp(self) -> None:
        """Counts."""
        super().setUp()
        instruments = Instruments()
        self.registry = new_registry(instruments)
        resolve = BookieAddresses(self.driver.registration, self.network.endpoint).resolve
        metrics = ClientMetrics(instruments)
        self.client: Any = NetworkBookieClient(self.rig.clock, resolve, ClientConfig(), None, metrics)

    def _samples(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        found = [sample for metric in self.registry.collect() for sample in metric.samples]
        return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in found}

    def _read(self, *entry_ids: int) -> None:
        answer = self.client.read_many(self.bookie_id, 1, entry_ids)
        self.settle()
        self.successResultOf(answer)

    def test_bookies(self) -> None:
        """Every bookie that was connected to is exported with its wire version, from then on."""
        self.assertFalse([name for name, labels in self._samples() if "bookie" in dict(labels)])
        self._read(0)
        self.network.break_connections((HOST, PORT))
        self._read(0)
        samples = self._samples()
        self.assertEqual({name: samples[name, LABELS] for name in PER_BOOKIE}, PER_BOOKIE)

    def test_waiting(self) -> None:
        """Requests without an answer are exported as bytes, and as orphans once they were given up."""
        flow = self.client.open_flow()
        answer = flow.read_many(self.bookie_id, 1, (0, 1))
        answer.addErrback(lambda _: None)
        queued = self._samples()["bookkeeper_client_queued_bytes", LABELS]
        self.assertGreater(queued, 0)
        self.assertEqual(self._samples()["bookkeeper_client_unacknowledged_bytes", LABELS], queued)
        answer.cancel()
        samples = self._samples()
        self.assertEqual(samples["bookkeeper_client_unacknowledged_bytes", LABELS], 0)
        self.assertEqual(samples["bookkeeper_client_orphaned_replies", LABELS], 2)

    def test_writes(self) -> None:
        """Requests and bytes of each write are counted."""
        self._read(0)
        self._read(0, 1, 2)
        samples, none = self._samples(), frozenset[tuple[str, str]]()
        self.assertEqual(samples["bookkeeper_client_requests_per_write_sum", none], 4)
        self.assertEqual(samples["bookkeeper_client_requests_per_write_count", none], 2)
        self.assertEqual(samples["bookkeeper_client_bytes_per_write_count", none], 2)
        self.assertEqual(samples["bookkeeper_client_bytes_per_write_sum", none], 4 * READ_SIZE)
