"""Where a bookie listens: endpoint strings that cannot be used are refused in the words of their user."""

from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IStreamServerEndpoint
from twisted.internet.protocol import ServerFactory
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.bookie.lifecycle.endpoints import bookie_endpoint, http_endpoint, listen
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import ConfigError

_BAD = {
    "3181": "Unknown endpoint type: '3181'",
    "carrier:pigeon": "Unknown endpoint type: 'carrier'",
    "tcp": "these are not the arguments of an endpoint of type tcp",
    "tcp:3181:address=::1": "these are not the arguments of an endpoint of type tcp",
    "tcp:http": "invalid literal for int() with base 10: 'http'",
    "systemd:domain=INET:index=9": "there is no such systemd socket",
    "systemd:domain=INET:name=bookie": "there is no such systemd socket",
}


@implementer(IStreamServerEndpoint)
class _Impossible:
    """An endpoint with a port that cannot be."""

    def listen(self, protocolFactory: IProtocolFactory) -> "Deferred[IListeningPort]":
        return fail(OverflowError("bind(): port must be 0-65535."))


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
