"""The test suite for authentication plugins.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...authentication.plugins import IAuthenticationPlugin
from ...config.authentication import AuthenticationConfig
from ...protocol.authentication import IAuthenticationExchange, IBookieAuthentication, IClientAuthentication, Peer

_MOST_ROUNDS = 100


class AuthenticationContract(SynchronousTestCase):
    """The tests that each authentication plugin passes; a subclass makes a plugin whose two sides accept each other."""

    def make(self) -> Any:
        """Return the authentication plugin to test; each subclass defines this method."""
        raise NotImplementedError

    def make_config(self) -> AuthenticationConfig:
        """Return the configuration from which the plugin makes both sides."""
        return AuthenticationConfig()

    def peers(self) -> tuple[Peer, Peer]:
        """Return the peer of the bookie, which is the client, and the peer of the client, which is the bookie."""
        return Peer("127.0.0.1:1"), Peer("bookie:3181")

    def setUp(self) -> None:
        self.plugin = self.make()
        config = self.make_config()
        self.bookie, self.client = self.plugin.for_bookie(config), self.plugin.for_client(config)

    def exchanges(self) -> tuple[Any, Any]:
        """Return the bookie's and the client's side of the authentication of a new connection."""
        client, bookie = self.peers()
        return self.bookie.bookie_exchange(client), self.client.client_exchange(bookie)

    def talk(self, bookie: Any, client: Any) -> int:
        """Pass tokens between ``bookie`` and ``client`` until both are done; return how many the client has sent."""
        if bookie.complete and client.complete:
            return 0
        token = self.successResultOf(client.next_token(None))
        for count in range(1, _MOST_ROUNDS):
            self.assertIsInstance(token, bytes)
            answer = b"" if bookie.complete else self.successResultOf(bookie.next_token(token))
            self.assertIsInstance(answer, bytes)
            token = self.successResultOf(client.next_token(answer))
            if bookie.complete and client.complete:
                return count
        raise AssertionError("the exchange does not end")

    def test_interfaces(self) -> None:
        """The plugin, and the objects that it makes for a bookie and a client, have all members of their interfaces."""
        verifyObject(IAuthenticationPlugin, self.plugin)
        verifyObject(IBookieAuthentication, self.bookie)
        verifyObject(IClientAuthentication, self.client)
        for exchange in self.exchanges():
            verifyObject(IAuthenticationExchange, exchange)

    def test_names(self) -> None:
        """The plugin has a name for the configuration, and both sides have the same name for AUTH frames."""
        self.assertTrue(self.plugin.names)
        self.assertTrue(self.bookie.plugin)
        self.assertEqual(self.bookie.plugin, self.client.plugin)

    def test_exchange(self) -> None:
        """Both sides complete the authentication after a few tokens, and stay in this state."""
        bookie, client = self.exchanges()
        self.talk(bookie, client)
        self.assertTrue(bookie.complete and client.complete)

    def test_connections(self) -> None:
        """The authentications of two connections do not influence each other."""
        rounds = self.talk(*self.exchanges())
        fresh = self.exchanges()
        if rounds:
            self.assertFalse(fresh[0].complete or fresh[1].complete)
        self.assertEqual(self.talk(*fresh), rounds)
