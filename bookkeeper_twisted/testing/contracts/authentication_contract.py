"""The contract of authentication providers.

Test modules import this module, not its class, which a test runner would take for a case of theirs.
"""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...protocol.authentication import IAuthenticationExchange, IAuthenticationProvider, Peer

_MOST_ROUNDS = 100


class AuthenticationContract(SynchronousTestCase):
    """The contract, to be derived from; a subclass makes a provider whose two sides admit each other."""

    def make(self) -> Any:
        """Return a provider."""
        raise NotImplementedError

    def setUp(self) -> None:
        self.provider = self.make()

    def talk(self, bookie: Any, client: Any) -> int:
        """Carry tokens between two sides until both are complete; return the number of the client's tokens."""
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
        """The provider and its exchanges have every name of their interfaces."""
        verifyObject(IAuthenticationProvider, self.provider)
        verifyObject(IAuthenticationExchange, self.provider.bookie_exchange(Peer("127.0.0.1:1")))
        verifyObject(IAuthenticationExchange, self.provider.client_exchange(Peer("bookie:3181")))

    def test_names(self) -> None:
        """The provider answers to a name of the configuration, and has a name for the wire."""
        self.assertTrue(self.provider.names)
        self.assertTrue(self.provider.plugin)

    def test_exchange(self) -> None:
        """Both sides complete the exchange after a few tokens, and stay complete."""
        bookie = self.provider.bookie_exchange(Peer("127.0.0.1:1"))
        client = self.provider.client_exchange(Peer("bookie:3181"))
        self.talk(bookie, client)
        self.assertTrue(bookie.complete and client.complete)

    def test_connections(self) -> None:
        """The exchanges of two connections are independent."""
        used = self.provider.bookie_exchange(Peer("127.0.0.1:1")), self.provider.client_exchange(Peer("bookie:3181"))
        rounds = self.talk(*used)
        fresh = self.provider.bookie_exchange(Peer("127.0.0.1:2")), self.provider.client_exchange(Peer("bookie:3181"))
        if rounds:
            self.assertFalse(fresh[0].complete or fresh[1].complete)
        self.assertEqual(self.talk(*fresh), rounds)
