"""The plugin of tests passes the contract of authentication plugins, and refuses whom it is to refuse."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.testing.authentication import CONTINUE, FAILURE, TokenAuthentication
from bookkeeper_twisted.testing.contracts import authentication_contract


class TokenAuthenticationTests(authentication_contract.AuthenticationContract):
    """The contract on it."""

    def make(self) -> TokenAuthentication:
        return TokenAuthentication(rounds=3)


class RefusalTests(SynchronousTestCase):
    """Peers that are refused."""

    def test_not_admitted(self) -> None:
        """A bookie that does not admit is never complete, and its client fails."""
        provider = TokenAuthentication(admits=False)
        bookie, client = provider.bookie_exchange(Peer("p")), provider.client_exchange(Peer("b"))
        self.assertEqual(self.successResultOf(bookie.next_token(CONTINUE)), FAILURE)
        self.failureResultOf(client.next_token(FAILURE), UnauthorizedAccessError)
        self.assertFalse(bookie.complete or client.complete)

    def test_wrong_token(self) -> None:
        """A token that is none is refused."""
        self.failureResultOf(TokenAuthentication().bookie_exchange(Peer("p")).next_token(b"?"), UnauthorizedAccessError)
