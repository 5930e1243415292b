"""The network client where bookies ask for authentication: the whole contract, and what is refused."""

from typing import TYPE_CHECKING, Any
from unittest import mock

from twisted.internet.defer import Deferred, succeed

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import AuthenticationDisabled
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.testing.authentication import CONTINUE, TokenAuthentication
from bookkeeper_twisted.testing.contracts import bookie_client_contract as contract

from ...bookie.rig import Rig
from .test_bookie_client import HOST, PORT, RealBookieCase


class AuthenticatedCase(RealBookieCase):
    """A client and a bookie with providers."""

    provider: Any = TokenAuthentication(rounds=3)
    own_provider: Any = TokenAuthentication()

    def setUp(self) -> None:
        super().setUp()
        self.rig = Rig(options=EngineOptions(authentication=self.provider))
        self.network.listeners[HOST, PORT] = self.rig.engine.factory
        addresses = BookieAddresses(self.driver.registration, self.network.endpoint)
        config = ClientConfig(wire_protocol=self.wire_protocol, max_connections_per_bookie=self.max_connections)
        self.client = NetworkBookieClient(self.rig.clock, addresses.resolve, config, authentication=self.own_provider)



class _OnRealBookie(AuthenticatedCase, contract.BookieClientContract if TYPE_CHECKING else object):  # type: ignore[misc]
    """The contract."""


class ContractTests(_OnRealBookie, contract.BookieClientContract):
    """V2 and, for what only V3 has, V3."""


class V3ContractTests(_OnRealBookie, contract.BookieClientContract):
    """V3 for everything."""

    wire_protocol = "v3"


class NotAskedTests(_OnRealBookie, contract.BookieClientContract):
    """A client that would authenticate, and a bookie that asks for nothing."""

    provider = AuthenticationDisabled()


class RequiredTests(AuthenticatedCase):
    """A client that requires bookies to authenticate it, and a bookie that asks for nothing."""

    provider = AuthenticationDisabled()

    def setUp(self) -> None:
        super().setUp()
        addresses = BookieAddresses(self.driver.registration, self.network.endpoint)
        config = ClientConfig(client_auth_required=True, client_auth_provider_factory_class="own")
        self.client = NetworkBookieClient(
            self.rig.clock, addresses.resolve, config, authentication=self.own_provider
        )

    def test_refused(self) -> None:
        """The bookie is refused: it may be somebody else's."""
        reading = self.read()
        self.settle()
        self.assertIn("authenticates nobody", str(self.failureResultOf(reading, UnauthorizedAccessError).value))
        self.assertEqual(self.sockets(), [])


class RefusedTests(AuthenticatedCase):
    """Clients that are not admitted."""

    provider = TokenAuthentication(admits=False)

    def test_refused(self) -> None:
        """What was asked fails as unauthorized, with the bookie and its reason, and the socket is gone."""
        reading = self.read()
        self.settle()
        error = self.failureResultOf(reading, UnauthorizedAccessError).value
        self.assertIn("no connection to bookie:3181: ", str(error))
        self.assertEqual(self.sockets(), [])


class WrongPluginTests(AuthenticatedCase):
    """A bookie whose plugin has another name."""

    provider = TokenAuthentication(plugin="other")

    def test_v2(self) -> None:
        """V2: the bookie closes the connection."""
        reading = self.read()
        self.settle()
        self.failureResultOf(reading, BookieHandleNotAvailableError)

    def test_v3(self) -> None:
        """V3: the bookie says so."""
        forcing: Deferred[Any] = self.client.force(self.bookie_id, 1)
        self.settle()
        self.failureResultOf(forcing, UnauthorizedAccessError)


class SlowTests(AuthenticatedCase):
    """A bookie that takes its time."""

    def setUp(self) -> None:
        self.wait: Deferred[None] = Deferred()
        self.provider = TokenAuthentication(waits=[self.wait])
        super().setUp()

    def test_waits(self) -> None:
        """Requests wait while the exchange goes on, and are sent then."""
        reading = self.read()
        self.settle()
        self.assertNoResult(reading)
        self.assertEqual([socket.state for socket in self.sockets()], [ConnectionState.AUTHENTICATING])
        self.wait.callback(None)
        self.settle()
        self.failureResultOf(reading)
        self.assertEqual([socket.state for socket in self.sockets()], [ConnectionState.READY])
        self.assertNotIn("Handshake", str(self.rig.clock.getDelayedCalls()))

    def test_timeout(self) -> None:
        """An exchange that takes too long fails what waits for it, and leaves no timer behind."""
        reading = self.read()
        self.settle()
        self.rig.clock.advance(ClientConfig().read_entry_timeout_sec)
        self.settle()
        reason = self.failureResultOf(reading).getErrorMessage()
        self.assertIn("no authentication in time; Apache's bookies do not answer whom they refuse", reason)
        self.assertEqual(self.sockets(), [])

    def test_own_timeout(self) -> None:
        """A client whose own token takes too long says so, and does not suspect the bookie."""
        self.provider.waits.clear()
        for received in (None, b""):
            silent: Any = mock.Mock(complete=False)
            silent.next_token.side_effect = [Deferred()] if received is None else [succeed(CONTINUE), Deferred()]
            with mock.patch.object(TokenAuthentication, "client_exchange", return_value=silent):
                reading = self.read()
                self.settle()
            self.rig.clock.advance(ClientConfig().read_entry_timeout_sec)
            self.settle()
            reason = self.failureResultOf(reading).getErrorMessage()
            self.assertIn("no authentication in time; this client does not have its own token yet", reason)
            self.assertIn("its KDC does not answer", reason)

    def test_closed(self) -> None:
        """A client that is closed meanwhile ends the connection."""
        reading = self.read()
        self.settle()
        closing = self.client.close()
        self.settle()
        self.successResultOf(closing)
        self.failureResultOf(reading)
        self.assertEqual(self.sockets(), [])
