"""The authorizer of tests passes the contract, at once and late."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.authorization.interfaces import Permission
from bookkeeper_twisted.testing.authorization import FakeAuthorizer
from bookkeeper_twisted.testing.contracts import authorization_contract


class FakeAuthorizerTests(authorization_contract.AuthorizationContract):
    """The contract on it."""

    def make(self) -> FakeAuthorizer:
        return FakeAuthorizer()

    def test_late(self) -> None:
        """A late answer is that of the rule when it is given."""
        fake: Any = self.authorizer
        fake.is_late = True
        found = fake.decide(authorization_contract.PRINCIPALS[1], Permission.READ, 1)
        assert isinstance(found, Deferred)
        fake.change(lambda *question: False)
        fake.answer()
        self.assertEqual(self.successResultOf(found), False)
