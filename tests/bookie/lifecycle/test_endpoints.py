"""Where a bookie listens: at endpoint strings, or refusing them in the words of their user."""

from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IStreamServerEndpoint
from twisted.internet.protocol import ServerFactory
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.bookie.lifecycle.endpoints import (
    bookie_endpoint,
    http_endpoint,
    listen,
    listen_for_metrics,
    opened,
)
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.model import Endpoint

from .test_service import StepTestCase

_BAD = {
    "3181": "Unknown endpoint type: '3181'",
    "carrier:pigeon": "Unknown endpoint type: 'carrier'",
    "tcp": "these are not the arguments of an endpoint of type tcp",
    "tcp:3181:address=::1": "these are not the arguments of an endpoint of type tcp",
    "tcp:http": "invalid literal for int() with base 10: 'http'",
    "systemd:domain=INET:index=9": "there is no such systemd socket",
    "systemd:domain=INET:name=bookie": "there is no such systemd socket",
}

PROVIDER: dict[str, Any] = {"stats_provider_class": "org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider"}


@implementer(IStreamServerEndpoint)
class _Impossible:
    """An endpoint with a port that cannot be."""

    def listen(self, protocolFactory: IProtocolFactory) -> "Deferred[IListeningPort]":
        return fail(OverflowError("bind(): port must be 0-65535."))


class _Taken(MemoryReactorClock):
    """A reactor on a machine whose ports are all taken."""

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> IListeningPort:
        raise CannotListenError(interface, port, OSError(98, "Address already in use"))


class _Listening:
    """A port that listens at an address."""

    def __init__(self, address: object) -> None:
        self.getHost = lambda: address


class OpenedTests(SynchronousTestCase):
    """:func:`opened`: the site learns who reaches it, the log says it."""

    def test_local(self) -> None:
        """Loopback addresses and UNIX sockets are for this machine alone; all others, unknown ones too, are not."""
        told: list[bool] = []

        class Site:
            def opened(self, local: bool) -> str:
                told.append(local)
                return "open"

        for address, text in (
            (IPv4Address("TCP", "127.0.0.1", 80), "127.0.0.1:80"), (IPv6Address("TCP", "::1", 80), "::1:80"),
            (UNIXAddress("/run/s"), "UNIXAddress('/run/s')"), (IPv4Address("TCP", "0.0.0.0", 80), "0.0.0.0:80"),
            (IPv4Address("TCP", "10.0.0.1", 80), "10.0.0.1:80"), (IPv6Address("TCP", "::", 80), ":::80"),
            ("somewhere", "somewhere"),
        ):  # fmt: skip
            listening: Any = _Listening(address)
            self.assertEqual(opened(Site(), listening), f"the HTTP server listens on {text}, open")
        self.assertEqual(told, [True] * 3 + [False] * 4)


class EndpointTests(SynchronousTestCase):
    """:func:`bookie_endpoint` and :func:`http_endpoint`."""

    def test_bad_strings(self) -> None:
        """The refusal has the key, the value, where it came from and the reason."""
        places: list[tuple[str, str, Any]] = [
            ("listenEndpoint", "listen_endpoint", bookie_endpoint),
            ("httpServerEndpoint", "http_server_endpoint", http_endpoint),
        ]
        for key, name, make in places:
            for text, reason in _BAD.items():
                config = BookieConfig(**{name: text}, origins={name: "bk.conf:7"})  # type: ignore[arg-type]
                error = self.assertRaises(ConfigError, make, MemoryReactorClock(), config)
                self.assertEqual(str(error), f"{key} = {text!r}, bk.conf:7: {reason}")

    def test_default(self) -> None:
        """Without a string the keys of Apache's bookie say where, and many connections may wait to be accepted."""
        reactor = MemoryReactorClock()
        config = BookieConfig(listening_interface="127.0.0.1", bookie_port=4000)
        factory = ServerFactory()
        self.successResultOf(bookie_endpoint(reactor, config).listen(factory))
        self.assertEqual(reactor.tcpServers, [(4000, factory, 1024, "127.0.0.1")])

    def test_no_such_port(self) -> None:
        """A port that cannot be is found when it is listened on; the error has the key."""
        listening = Deferred.fromCoroutine(listen(_Impossible(), ServerFactory(), "listenEndpoint"))
        error = self.failureResultOf(listening, ConfigError).value
        self.assertEqual(str(error), "listenEndpoint: bind(): port must be 0-65535.")


class ServiceTests(StepTestCase):
    """A bookie at an endpoint."""

    def test_endpoint(self) -> None:
        """An endpoint string takes the place of interface and port; identity and registration keep Apache's keys."""
        service, _ = self.start(listen_endpoint="tcp:3181:interface=127.0.0.1")
        [(port, _, _, interface)] = self.world.reactor.tcpServers
        self.assertEqual((port, interface, service.bookie_id), (3181, "127.0.0.1", "me:3181"))
        self.assertEqual(self.endpoints(), [Endpoint("bookie", "me", 3181, "bookie-rpc")])

    def test_endpoint_on_another_port(self) -> None:
        """A port that something else forwards to is not the one that clients are given; the log says so."""
        with capturedLogs() as events:
            service, _ = self.start(listen_endpoint="tcp:4000")
        self.assertEqual((service.port, service.bookie_id), (3181, "me:3181"))
        self.assertEqual(self.world.reactor.tcpServers[0][0], 4000)
        self.assertEqual(self.endpoints(), [Endpoint("bookie", "me", 3181, "bookie-rpc")])
        text = "\n".join(map(formatEvent, events))
        self.assertIn("listens on port 4000 (listenEndpoint), clients are given port 3181 (bookiePort)", text)
        self.assertIn("serves on tcp:4000:", text)

    def test_endpoint_with_any_port(self) -> None:
        """With port 0 clients are given the port of the endpoint, as part of the identity, too."""
        service, _ = self.start(listen_endpoint="tcp:4000", bookie_port=0)
        self.assertEqual((service.port, service.bookie_id), (4000, "me:4000"))

    def test_socket(self) -> None:
        """A bookie behind a socket in the file system is registered with the port that clients connect to."""
        service, executor = self.start(listen_endpoint="unix:bookie.sock:lockfile=0")
        self.assertEqual((self.world.reactor.unixServers[0][0], service.port), ("bookie.sock", 3181))
        self.assertEqual(self.world.reactor.tcpServers, [])
        self.stop(service, executor)

    def test_socket_without_port(self) -> None:
        """There is no port to be given to clients: refused, whether or not the identity has a port in it."""
        for more in ({}, {"bookie_id": "b"}):
            service, executor = self.world.service(listen_endpoint="unix:b.sock:lockfile=0", bookie_port=0, **more)
            starting = service.start()
            self.settle(executor)
            error = self.failureResultOf(starting, ConfigError).value
            self.assertIn("set bookiePort to the port that clients connect to", str(error))
            self.assertEqual(self.world.store.cookies, {})

    def endpoints(self) -> list[Endpoint]:
        """The endpoints of the registered bookie, as clients find them."""
        driver = self.world.store.driver(self.world.reactor)
        self.successResultOf(Deferred.fromCoroutine(driver.open()))
        registration: Any = driver.registration
        [bookie_id] = self.successResultOf(Deferred.fromCoroutine(registration.writable_bookies()))
        info = self.successResultOf(Deferred.fromCoroutine(registration.service_info(bookie_id)))
        self.successResultOf(Deferred.fromCoroutine(driver.close()))
        return list(info.endpoints)

    def test_http_default(self) -> None:
        """The HTTP server, which asks for no password, is for its own machine unless it is opened."""
        self.start(http_server_enabled=True)
        self.assertEqual(self.world.reactor.tcpServers[1][3], "127.0.0.1")

    def test_http_endpoint(self) -> None:
        """An endpoint string takes the place of host and port."""
        self.start(http_server_enabled=True, http_server_endpoint="tcp:8001:interface=127.0.0.1")
        port, _, _, interface = self.world.reactor.tcpServers[1]
        self.assertEqual((port, interface), (8001, "127.0.0.1"))

    def test_metrics_alone(self) -> None:
        """With Apache's Prometheus provider and no HTTP server metrics have a port of their own, for every machine."""
        service, _ = self.start(**PROVIDER)
        port, _, _, interface = self.world.reactor.tcpServers[1]
        self.assertEqual((port, interface, service.http_port), (8000, "0.0.0.0", 0))
        self.assertEqual([endpoint.id for endpoint in self.endpoints()], ["bookie"])

    def test_metrics_elsewhere(self) -> None:
        """That port and its address can be chosen."""
        self.start(**PROVIDER, prometheus_stats_http_address="127.0.0.1", prometheus_stats_http_port=8001)
        port, _, _, interface = self.world.reactor.tcpServers[1]
        self.assertEqual((port, interface), (8001, "127.0.0.1"))

    def test_metrics_beside(self) -> None:
        """Beside an HTTP server there is such a port if it is asked for: all else may then be for this machine."""
        service, _ = self.start(**PROVIDER, http_server_enabled=True, prometheus_stats_http_always=True)
        places = [(port, interface) for port, _, _, interface in self.world.reactor.tcpServers[1:]]
        self.assertEqual((places, service.http_port), ([(8000, "0.0.0.0"), (8080, "127.0.0.1")], 8080))
        # The server with metrics alone can be asked by any name, and the other one by names of this machine.
        sites: list[Any] = [site for _, site, _, _ in self.world.reactor.tcpServers[1:]]
        self.assertEqual([site.hosts.allow(b"elsewhere") for site in sites], [True, False])

    def test_no_metrics_alone(self) -> None:
        """No such port is opened beside the HTTP server, without the provider, or where it is switched off."""
        for more in (
            {}, {"stats_provider_class": "org.apache.bookkeeper.stats.codahale.CodahaleMetricsProvider"},
            {**PROVIDER, "prometheus_stats_http_enable": False}, {**PROVIDER, "enable_statistics": False},
            {**PROVIDER, "http_server_enabled": True},
        ):  # fmt: skip
            self.setUp()
            self.start(**more)
            ports = [server[0] for server in self.world.reactor.tcpServers]
            self.assertNotIn(8000, ports, more)

    def test_metrics_port_is_taken(self) -> None:
        """A port that is taken is an error with key, place and remedy."""
        config = BookieConfig(**PROVIDER)
        starting = Deferred.fromCoroutine(listen_for_metrics(_Taken(), config, ServerFactory()))
        error = str(self.failureResultOf(starting, ConfigError).value)
        self.assertEqual(
            error,
            "prometheusStatsHttpPort = 8000, default: cannot listen on 0.0.0.0:8000 for /metrics: Address already in "
            "use; prometheusStatsHttpEnable=false opens no port",
        )

    def test_http_socket(self) -> None:
        """A socket in the file system has no port."""
        service, _ = self.start(http_server_enabled=True, http_server_endpoint="unix:http.sock:lockfile=0")
        self.assertEqual((self.world.reactor.unixServers[0][0], service.http_port), ("http.sock", 0))
