"""Autorecovery on the real world, over a metadata store in memory: order of start and stop, names, retries."""

from pathlib import Path
from typing import Any

from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding.autorecovery import AutorecoveryService, make_autorecovery, make_daemon
from bookkeeper_twisted.errors import ConfigError, MetadataError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.adaptive import AdaptiveThrottles
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metrics import new_registry, render

_LOCAL: dict[str, Any] = {"advertised_address": "127.0.0.1", "allow_loopback": True, "http_server_host": "127.0.0.1"}


class AutorecoveryServiceTests(SynchronousTestCase):
    """One process."""

    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()

    def _settle(self, seconds: float = 0.0) -> None:
        for _ in range(10):
            self.reactor.advance(seconds / 10)

    def _made(self, **config: Any) -> AutorecoveryService:
        made = BookieConfig(**{"metadata_service_uri": "memory:", **_LOCAL, **config})
        return make_autorecovery(self.reactor, made, ClientConfig())

    def _stop(self, service: AutorecoveryService) -> None:
        stopped = service.stop()
        self._settle()
        self.successResultOf(stopped)

    def test_life(self) -> None:
        """It stands under the id of a bookie of this machine, is elected, and leaves nothing behind."""
        service = self._made(bookie_port=3281)
        started = service.start()
        self._settle()
        self.successResultOf(started)
        self.assertEqual(service.bookie_id, "127.0.0.1:3281")
        assert service.autorecovery is not None
        self.assertTrue(service.autorecovery.election.in_office)
        self.assertTrue(service.autorecovery.worker.running)
        self._stop(service)
        self.assertFalse(service.autorecovery.election.in_office)
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_role(self) -> None:
        """Its client is one of the cluster's own, which has a user of its own."""
        self.assertEqual(self._made()._client_config.client_role, "system")

    def test_configured_id(self) -> None:
        """A configured bookie id is the name in the election."""
        service = self._made(bookie_id="bookie-four")
        service.start()
        self._settle()
        self.assertEqual(service.bookie_id, "bookie-four")
        self._stop(service)

    def test_http(self) -> None:
        """It serves HTTP where that is configured, and only there."""
        service = self._made(http_server_enabled=True, http_server_port=8080)
        service.start()
        self._settle()
        self.assertEqual([server[0] for server in self.reactor.tcpServers], [8080])
        self._stop(service)
        without = self._made()
        without.start()
        self._settle()
        self.assertEqual(len(self.reactor.tcpServers), 1)
        self._stop(without)

    def test_rules(self) -> None:
        """Its HTTP server follows the rules; rules that are none fail the start."""
        path = Path(self.mktemp())
        path.write_text("allow nobody read\n")
        rules = {"authorizer_class": "rules", "authorization_rules": str(path)}
        service = self._made(http_server_enabled=True, http_server_port=8080, http_authentication="none", **rules)
        service.start()
        self._settle()
        site: Any = self.reactor.tcpServers[0][1]
        for method, status in (("PUT", b"403"), ("GET", b"200")):
            channel, transport = site.buildProtocol(None), StringTransport()
            channel.makeConnection(transport)
            channel.dataReceived(f"{method} /api/v1/bookie/throttles HTTP/1.0\r\n\r\n".encode())
            self._settle(1.0)
            self.assertEqual(transport.value().split()[1], status)
        self._stop(service)
        path.write_text("permit everybody\n")
        broken = self._made(http_server_enabled=True, http_server_port=8080, **rules)
        started = broken.start()
        self._settle()
        self.failureResultOf(started, ConfigError)
        self._stop(broken)

    def test_metrics_alone(self) -> None:
        """With Apache's Prometheus provider and no HTTP server its metrics have a port of their own."""
        provider = "org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider"
        service = self._made(stats_provider_class=provider, prometheus_stats_http_port=8001)
        service.start()
        self._settle()
        self.assertEqual([(server[0], server[3]) for server in self.reactor.tcpServers], [(8001, "0.0.0.0")])
        self._stop(service)

    def test_store_fails_at_the_end(self) -> None:
        """A metadata store that fails at the end of the session is one line, and the stop ends."""
        service = self._made()
        service.start()
        self._settle()

        async def close(driver: object) -> None:
            raise MetadataError("locked")

        self.patch(EmbeddedDriver, "close", close)
        with capturedLogs() as events:
            self._stop(service)
        said = [(event["log_level"], formatEvent(event)) for event in events if "locked" in formatEvent(event)]
        text = "the end of autorecovery's session with the metadata store failed: locked"
        self.assertEqual(said, [(LogLevel.warn, text)])

    def test_failing_start(self) -> None:
        """A client that cannot be made fails the start, with everything undone."""
        config = BookieConfig(**{"metadata_service_uri": "memory:", **_LOCAL})
        service = make_autorecovery(self.reactor, config, ClientConfig(ensemble_placement_policy="nope"))
        started = service.start()
        self._settle()
        self.failureResultOf(started, ConfigError)
        self._stop(service)
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_wrong_address(self) -> None:
        """An address that others cannot reach is refused."""
        config = BookieConfig(metadata_service_uri="memory:", listening_interface="nope0")
        self.assertRaises(ConfigError, make_autorecovery, self.reactor, config, ClientConfig())

    def test_daemon(self) -> None:
        """In the process of a bookie it counts where the bookie does, and its start waits for nothing."""
        instruments = Instruments()
        AdaptiveThrottles(self.reactor, Throttles(self.reactor), lambda: None, instruments=instruments)  # the bookie's
        config = BookieConfig(**{"metadata_service_uri": "memory:", **_LOCAL})
        attached: list[Any] = []
        daemon = make_daemon(self.reactor, config, ClientConfig(), lambda: "b:1", instruments, attached.append)
        self.successResultOf(daemon.start())
        self._settle()
        self.assertEqual(daemon.bookie_id, "b:1")
        text = render(new_registry(instruments)).decode()
        self.assertIn("auditor_in_office 1", text)
        series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(series), len(set(series)))  # none is exported twice
        (limits,) = attached
        self.assertIn("replication-read", {each.name for each in limits.limits().throttles})
        self._stop(daemon)
        self.assertEqual(attached, [limits, None])
        self.assertEqual(self.reactor.getDelayedCalls(), [])
