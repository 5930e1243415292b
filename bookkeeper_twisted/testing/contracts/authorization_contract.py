"""The test suite for authorizer plugins.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...authorization.interfaces import IAuthorizer, IAuthorizerPlugin, Permission, Surroundings
from ...config.bookie import BookieConfig
from ...security.principals import NOBODY, Principal

PRINCIPALS = (
    NOBODY, Principal("sasl", "alice"), Principal("token", "\N{SNOWMAN}"),
    Principal("certificate", "CN=x", ("writer",), ("spiffe://cluster/reader",)),
)  # fmt: skip
"""Principals of every kind."""

LEDGERS = (None, -1, 0, 5, (1 << 63) - 1)


class AuthorizationContract(SynchronousTestCase):
    """The tests that each authorizer plugin passes; a subclass makes the plugin."""

    def make(self) -> Any:
        """Return the authorizer plugin to test."""
        raise NotImplementedError

    def make_config(self) -> BookieConfig:
        """Return the configuration from which the plugin makes its authorizer."""
        return BookieConfig()

    def setUp(self) -> None:
        self.clock = Clock()
        self.answers: list[Deferred[Mapping[str, bytes]]] = []
        self.plugin = self.make()
        self.authorizer = self.plugin.make(self.make_config(), Surroundings(self.clock, self._custom_metadata))
        if self.authorizer is not None:
            self.authorizer.start()
            self.addCleanup(self.authorizer.stop)

    async def _custom_metadata(self, ledger_id: int) -> Mapping[str, bytes]:
        answer: Deferred[Mapping[str, bytes]] = Deferred()
        self.answers.append(answer)
        return await answer

    def _decide(self, principal: Principal, action: Permission, ledger_id: int | None) -> bool:
        """Return the authorizer's decision; if it reads the metadata of a ledger, answer this read."""
        found = self.authorizer.decide(principal, action, ledger_id)
        if not isinstance(found, Deferred):
            self.assertIsInstance(found, bool)
            return bool(found)
        for answer in self.answers:
            if not answer.called:
                answer.callback({"application": b"pulsar"})
        result = self.successResultOf(found)
        self.assertIsInstance(result, bool)
        return bool(result)

    def _decide_all(self) -> list[bool]:
        return [self._decide(who, action, ledger) for who in PRINCIPALS for action in Permission for ledger in LEDGERS]

    def test_interfaces(self) -> None:
        """The plugin and its authorizer provide all names of their interfaces."""
        verifyObject(IAuthorizerPlugin, self.plugin)
        self.assertTrue(self.plugin.names)
        if self.authorizer is not None:
            verifyObject(IAuthorizer, self.authorizer)

    def test_same_answers(self) -> None:
        """An authorizer makes a decision about every access.

        It makes the same decision about the same access until its ``revision`` changes.
        """
        if self.authorizer is not None:
            revision = self.authorizer.revision
            first = self._decide_all()
            self.assertEqual(self._decide_all(), first)
            self.assertEqual(self.authorizer.revision, revision)

    def test_equal_principals(self) -> None:
        """Equal principals have the same permissions."""
        if self.authorizer is not None:
            who = Principal("certificate", "CN=x", ("writer",), ("spiffe://cluster/reader",))
            for action in Permission:
                self.assertEqual(self._decide(who, action, 5), self._decide(PRINCIPALS[-1], action, 5))

    def test_cancel(self) -> None:
        """If one of several calls that wait for a decision is cancelled, the other calls still return the decision."""
        if self.authorizer is None:
            return
        for who in PRINCIPALS:
            first, second = [self.authorizer.decide(who, Permission.READ, 77) for _ in range(2)]
            if isinstance(first, Deferred) and isinstance(second, Deferred):
                first.addErrback(lambda failure: None)
                first.cancel()
                self.assertNoResult(second)
                for answer in self.answers:
                    if not answer.called:
                        answer.callback({})
                self.assertIsInstance(self.successResultOf(second), bool)

    def test_stop(self) -> None:
        """A stopped authorizer has no calls scheduled on the clock, and ends all waits for decisions."""
        if self.authorizer is None:
            return
        waits = [self.authorizer.decide(who, Permission.READ, 78) for who in PRINCIPALS]
        self.authorizer.stop()
        for wait in waits:
            if isinstance(wait, Deferred):
                self.assertTrue(wait.called)
                wait.addErrback(lambda failure: None)
        self.assertEqual(self.clock.getDelayedCalls(), [])
